//! The HTTP face: routes, who may use them, and how outcomes become responses.

mod admin;
mod answering;
mod asker;
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
mod refusal;
mod routes;
mod run;
mod server_routes;
mod session_routes;
mod shapes;
mod stream;
mod tools;
mod v1;

pub(crate) use asker::{bearer, client, seat};
pub use door::Listening;
pub use openapi::document;
pub(crate) use page::Links;
pub(crate) use refusal::Refusal;
pub use routes::router;
