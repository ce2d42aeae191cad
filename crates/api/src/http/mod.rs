//! The HTTP face: routes, access control, and responses.

mod admin;
mod agent_routes;
mod answer_type;
mod chat;
mod chat_answer;
mod chat_routes;
mod gateway_routes;
mod host_check;
mod oauth;
mod oauth_login;
mod oauth_routes;
mod object;
mod openapi;
mod page;
mod patterns;
mod probes;
mod routes;
mod run;
mod server_routes;
mod session_routes;
mod stream;
mod tools;
mod v1;
mod webhooks;

pub use openapi::document;
pub use routes::router;
