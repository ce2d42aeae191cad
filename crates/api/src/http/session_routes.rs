//! Routes for single messages of sessions and for arranging sessions, with their descriptions.

use axum::routing::get;

use super::admin::{delete, pictures, rewind, search};
use super::openapi::{Access, Operation};
use super::routes::Route;

/// Search, rewind, deletion and pictures.
pub(super) fn table() -> Vec<Route> {
    use Access::Token;
    let op = Operation::new;
    vec![
        op(
            "get",
            "/api/search",
            Token,
            "Search the messages of sessions as somebody types",
        )
        .query::<search::SearchQuery>()
        .by(search::search),
        op(
            "post",
            "/api/sessions/{key}/rewind",
            Token,
            "Rewind a session to before a user message; what follows is archived",
        )
        .request::<rewind::Rewind>()
        .by(rewind::rewind),
        op(
            "delete",
            "/api/sessions/{key}",
            Token,
            "Delete a session with its messages and archives; stops its running turn",
        )
        .by(delete::delete),
        (
            op(
                "get",
                "/api/sessions/{key}/pictures/{seq}/{index}",
                Token,
                "Get a picture of a session by its `ref` in a message",
            )
            .gives("image/*"),
            get(pictures::get),
        ),
    ]
}
