//! The routes of chats on platforms, each beside its description.

use axum::routing::{any, delete, get, post};

use super::admin::channels;
use super::hooks;
use super::openapi::{Access, Operation};
use super::routes::Route;
use crate::chats::Credentials;

/// Accounts, people and messages.
pub(super) fn table() -> Vec<Route> {
    use Access::{Open, Owner};
    let op = Operation::new;
    vec![
        (
            op(
                "get",
                "/api/channels",
                Owner,
                "All accounts on chat platforms, and how they stand",
            ),
            get(channels::list),
        ),
        (
            op(
                "post",
                "/api/channels/{channel}/{account}/start",
                Owner,
                "Start an account, or begin anew with it",
            ),
            post(channels::start),
        ),
        (
            op(
                "post",
                "/api/channels/{channel}/{account}/stop",
                Owner,
                "Stop an account",
            ),
            post(channels::stop),
        ),
        (
            op(
                "post",
                "/api/channels/{channel}/{account}/login",
                Owner,
                "Give an account its credentials",
            )
            .request::<Credentials>(),
            post(channels::login),
        ),
        (
            op(
                "post",
                "/api/channels/{channel}/{account}/logout",
                Owner,
                "Forget an account and its credentials",
            ),
            post(channels::logout),
        ),
        (
            op(
                "get",
                "/api/pairs",
                Owner,
                "People who ask to be known, and those who are",
            ),
            get(channels::pairs),
        ),
        (
            op(
                "post",
                "/api/pairs/{channel}/{who}/approve",
                Owner,
                "Let somebody speak, by id or code",
            )
            .request::<channels::Approve>(),
            post(channels::approve),
        ),
        (
            op(
                "post",
                "/api/pairs/{channel}/{who}/reject",
                Owner,
                "Let somebody not speak",
            ),
            post(channels::reject),
        ),
        (
            op(
                "delete",
                "/api/pairs/{channel}/{who}",
                Owner,
                "Forget somebody",
            ),
            delete(channels::forget),
        ),
        (
            op(
                "get",
                "/api/outbox",
                Owner,
                "Messages that wait, did not arrive, or may not have",
            )
            .query::<channels::Which>(),
            get(channels::outbox),
        ),
        (
            op(
                "post",
                "/api/outbox/{id}/resend",
                Owner,
                "Try a message again that did not arrive",
            ),
            post(channels::resend),
        ),
        (
            op(
                "delete",
                "/api/outbox/{id}",
                Owner,
                "Let go of a message that did not arrive",
            ),
            delete(channels::let_go),
        ),
        (
            op(
                "get",
                "/api/inbox",
                Owner,
                "Messages that were heard and could not be worked on",
            ),
            get(channels::inbox),
        ),
        (
            op(
                "post",
                "/api/inbox/{id}/retry",
                Owner,
                "Work on such a message again",
            ),
            post(channels::retry),
        ),
        (
            op(
                "post",
                "/hooks/{channel}",
                Open,
                "Where a platform calls; signed by it",
            ),
            any(hooks::default),
        ),
        (
            op(
                "post",
                "/hooks/{channel}/{account}",
                Open,
                "The same for an account that is not called default",
            ),
            any(hooks::account),
        ),
    ]
}
