//! The routes of chats on platforms, each beside its description.

use axum::routing::any;
use manyhands_gateway::Credentials;

use super::admin::{channels, mail};
use super::hooks;
use super::openapi::{Access, Operation};
use super::routes::Route;

/// Accounts, people and messages.
pub(super) fn table() -> Vec<Route> {
    use Access::{Open, Owner};
    let op = Operation::new;
    vec![
        op(
            "get",
            "/api/channels",
            Owner,
            "All accounts on chat platforms, and how they stand",
        )
        .by(channels::list),
        op(
            "post",
            "/api/channels/{channel}/{account}/start",
            Owner,
            "Start an account, or begin anew with it",
        )
        .by(channels::start),
        op(
            "post",
            "/api/channels/{channel}/{account}/stop",
            Owner,
            "Stop an account",
        )
        .by(channels::stop),
        op(
            "post",
            "/api/channels/{channel}/{account}/login",
            Owner,
            "Give an account its credentials",
        )
        .request::<Credentials>()
        .by(channels::login),
        op(
            "post",
            "/api/channels/{channel}/{account}/bridge",
            Owner,
            "Let a program of yours carry another service, as a bridge",
        )
        .by(channels::bridge),
        op(
            "post",
            "/api/channels/{channel}/{account}/logout",
            Owner,
            "Forget an account and its credentials",
        )
        .by(channels::logout),
        op(
            "get",
            "/api/pairs",
            Owner,
            "People who ask to be known, and those who are",
        )
        .by(channels::pairs),
        op(
            "post",
            "/api/pairs/{channel}/{who}/approve",
            Owner,
            "Let somebody speak, by id or code",
        )
        .request::<channels::Approve>()
        .by(channels::approve),
        op(
            "post",
            "/api/pairs/{channel}/{who}/reject",
            Owner,
            "Let somebody not speak",
        )
        .by(channels::reject),
        op(
            "delete",
            "/api/pairs/{channel}/{who}",
            Owner,
            "Forget somebody",
        )
        .by(channels::forget),
        op(
            "get",
            "/api/outbox",
            Owner,
            "Messages that wait, did not arrive, or may not have",
        )
        .query::<mail::Which>()
        .by(mail::outbox),
        op(
            "post",
            "/api/outbox/{id}/resend",
            Owner,
            "Try a message again that did not arrive",
        )
        .by(mail::resend),
        op(
            "delete",
            "/api/outbox/{id}",
            Owner,
            "Let go of a message that did not arrive",
        )
        .by(mail::let_go),
        op(
            "get",
            "/api/inbox",
            Owner,
            "Messages that were heard and could not be worked on",
        )
        .by(mail::inbox),
        op(
            "post",
            "/api/inbox/{id}/retry",
            Owner,
            "Work on such a message again",
        )
        .by(mail::retry),
        (
            op(
                "post",
                "/hooks/{channel}",
                Open,
                "Where a platform calls; signed by it",
            )
            .answers_in("what the platform expects"),
            any(hooks::default),
        ),
        (
            op(
                "post",
                "/hooks/{channel}/{account}",
                Open,
                "The same for an account that is not called default",
            )
            .answers_in("what the platform expects"),
            any(hooks::account),
        ),
    ]
}
