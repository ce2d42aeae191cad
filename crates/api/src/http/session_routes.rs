//! Routes that change or delete messages of sessions, with their descriptions.

use axum::routing::get;

use super::admin::{delete, pictures, rewind};
use super::openapi::{Access, Operation};
use super::routes::Route;

/// Rewind, deletion and pictures.
pub(super) fn table() -> Vec<Route> {
    use Access::Token;
    let op = Operation::new;
    vec![
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
