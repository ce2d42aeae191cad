//! Routes for single messages of sessions and for arranging sessions, with their descriptions.

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

use super::admin::{branch, delete, pictures, rewind, search, transcribe};
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
            "post",
            "/api/sessions/{key}/branch",
            Token,
            "Create a session with the messages before a user message",
        )
        .request::<branch::Branch>()
        .by(branch::branch),
        op(
            "get",
            "/api/sessions/{key}/tree",
            Token,
            "Get the sub-agent sessions that a session started",
        )
        .by(branch::tree),
        op(
            "delete",
            "/api/sessions/{key}",
            Token,
            "Delete a session with its messages and archives; stops its running turn",
        )
        .by(delete::delete),
        (
            op(
                "post",
                transcribe::PATH,
                Token,
                "Transcribe a recording: the body, with a Content-Type of audio/*",
            )
            .takes_bytes("audio/*")
            .answers::<transcribe::Transcribed>(),
            post(transcribe::transcribe).layer(DefaultBodyLimit::max(transcribe::MAX_RECORDING)),
        ),
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
