//! The HTTP face: routes, access control, and responses.

mod admin;
mod answering;
mod chat;
mod chat_answer;
mod chat_routes;
mod door;
mod hooks;
mod house_routes;
mod mind_routes;
mod oauth;
mod oauth_login;
mod oauth_routes;
mod object;
mod openapi;
mod page;
mod probes;
mod routes;
mod run;
mod server_routes;
mod session_routes;
mod shapes;
mod stream;
mod tools;
mod v1;

pub use openapi::document;
pub use routes::router;
