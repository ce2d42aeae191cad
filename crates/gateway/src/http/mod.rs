//! The HTTP face: routes, who may use them, and how outcomes become responses.

mod admin;
mod asker;
mod door;
mod openapi;
mod probes;
mod refusal;
mod routes;
mod tools;

pub(crate) use asker::bearer;
pub use door::Listening;
pub use openapi::document;
pub use routes::router;
