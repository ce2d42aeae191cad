//! The HTTP face: routes, who may use them, and how outcomes become responses.

mod admin;
mod asker;
mod chat;
mod door;
mod oauth;
mod oauth_login;
mod oauth_routes;
mod openapi;
mod probes;
mod refusal;
mod routes;
mod run;
mod stream;
mod tools;
mod v1;

pub(crate) use asker::bearer;
pub use door::Listening;
pub use openapi::document;
pub use routes::router;
