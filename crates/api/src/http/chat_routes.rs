//! Routes of chat platforms, with their descriptions.

use axum::routing::any;
use manyhands_gateway::Credentials;

use super::admin::{channels, mail};
use super::openapi::{Access, Operation};
use super::routes::Route;
use super::webhooks;

/// Accounts, people and messages.
pub(super) fn table() -> Vec<Route> {
    use Access::{Open, Owner};
    let op = Operation::new;
    vec![
        op(
            "get",
            "/api/channels",
            Owner,
            "List chat accounts and their status",
        )
        .by(channels::list),
        op(
            "post",
            "/api/channels/{channel}/{account}/start",
            Owner,
            "Start or restart an account",
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
            "Set the credentials of an account",
        )
        .request::<Credentials>()
        .by(channels::login),
        op(
            "post",
            "/api/channels/{channel}/{account}/bridge",
            Owner,
            "Create an account served by a bridge",
        )
        .by(channels::bridge),
        op(
            "post",
            "/api/channels/{channel}/{account}/logout",
            Owner,
            "Remove an account and its credentials",
        )
        .by(channels::logout),
        op(
            "get",
            "/api/pairs",
            Owner,
            "List pairing requests, pending and decided",
        )
        .by(channels::pairs),
        op(
            "post",
            "/api/pairs/{channel}/{who}/approve",
            Owner,
            "Approve a pairing request, by id or code",
        )
        .request::<channels::Approve>()
        .by(channels::approve),
        op(
            "post",
            "/api/pairs/{channel}/{who}/reject",
            Owner,
            "Reject a pairing request",
        )
        .by(channels::reject),
        op(
            "delete",
            "/api/pairs/{channel}/{who}",
            Owner,
            "Remove a paired person",
        )
        .by(channels::forget),
        op(
            "get",
            "/api/outbox",
            Owner,
            "List outgoing messages that are queued or undelivered",
        )
        .query::<mail::OutboxQuery>()
        .by(mail::outbox),
        op(
            "post",
            "/api/outbox/{id}/resend",
            Owner,
            "Retry an undelivered message",
        )
        .by(mail::resend),
        op(
            "delete",
            "/api/outbox/{id}",
            Owner,
            "Drop an undelivered message",
        )
        .by(mail::drop_message),
        op(
            "get",
            "/api/inbox",
            Owner,
            "List incoming messages that could not be processed",
        )
        .by(mail::inbox),
        op(
            "post",
            "/api/inbox/{id}/retry",
            Owner,
            "Retry an incoming message",
        )
        .by(mail::retry),
        (
            op(
                "post",
                "/hooks/{channel}",
                Open,
                "Webhook of a platform; authenticated by its signature",
            )
            .answers_in("what the platform expects"),
            any(webhooks::default),
        ),
        (
            op(
                "post",
                "/hooks/{channel}/{account}",
                Open,
                "Webhook of a platform, for an account other than default",
            )
            .answers_in("what the platform expects"),
            any(webhooks::account),
        ),
    ]
}
