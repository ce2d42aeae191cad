//! The routes of what is done with the messages of sessions, and with all of them, each beside its description.

use axum::routing::get;

use super::admin::{delete, pictures, rewind};
use super::openapi::{Access, Operation};
use super::routes::Route;

/// What is done with the messages of sessions.
pub(super) fn table() -> Vec<Route> {
    use Access::Token;
    let op = Operation::new;
    vec![
        op(
            "post",
            "/api/sessions/{key}/rewind",
            Token,
            "Take back what was said from a user's message on, to say it anew; it is archived",
        )
        .request::<rewind::Rewind>()
        .by(rewind::rewind),
        op(
            "delete",
            "/api/sessions/{key}",
            Token,
            "Delete a session with all that was said in it, archives too; what runs in it is stopped",
        )
        .by(delete::delete),
        (
            op(
                "get",
                "/api/sessions/{key}/pictures/{seq}/{index}",
                Token,
                "The bytes of a picture in a session, by the `ref` that its messages say",
            )
            .gives("image/*"),
            get(pictures::get),
        ),
    ]
}
