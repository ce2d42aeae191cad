//! The routes by which the owner looks at the house itself, each beside its description.

use super::admin::{calls, config, doctor, schema};
use super::openapi::{Access, Operation};
use super::routes::Route;

/// What the owner looks at the house by.
pub(super) fn table() -> Vec<Route> {
    use Access::Owner;
    let op = Operation::new;
    vec![
        op(
            "get",
            "/api/doctor",
            Owner,
            "What is in order, and what to do where it is not",
        )
        .by(doctor::look),
        op(
            "get",
            "/api/config/schema",
            Owner,
            "What can be set, and what it means",
        )
        .by(schema::get),
        op(
            "delete",
            "/api/config",
            Owner,
            "Take one value out, so that its default holds",
        )
        .query::<config::Unset>()
        .by(config::unset),
        op(
            "post",
            "/api/config/reload",
            Owner,
            "Take over at once what was written into config.toml",
        )
        .by(config::reload),
        op(
            "get",
            "/api/usage/calls",
            Owner,
            "How many calls ended and how long they took, by day and tool",
        )
        .query::<calls::Since>()
        .by(calls::list),
    ]
}
