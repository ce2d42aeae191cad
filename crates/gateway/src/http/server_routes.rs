//! The routes of MCP servers and accounts of services, each beside its description.

use axum::routing::{delete, get, post, put};

use super::admin::{connections, servers};
use super::openapi::{Access, Operation};
use super::routes::Route;

/// How MCP servers and accounts of services are looked after.
pub(super) fn table() -> Vec<Route> {
    use Access::Owner;
    let op = Operation::new;
    vec![
        (
            op("get", "/api/servers", Owner, "All MCP servers"),
            get(servers::list),
        ),
        (
            op(
                "post",
                "/api/servers",
                Owner,
                "Add an MCP server by its address",
            )
            .request::<servers::Add>(),
            post(servers::add),
        ),
        (
            op(
                "get",
                "/api/servers/{name}",
                Owner,
                "One MCP server with its tools and what of them is held back",
            ),
            get(servers::show),
        ),
        (
            op(
                "delete",
                "/api/servers/{name}",
                Owner,
                "Remove an MCP server",
            ),
            delete(servers::remove),
        ),
        (
            op(
                "post",
                "/api/servers/{name}/refresh",
                Owner,
                "Ask an MCP server for its tools now",
            ),
            post(servers::refresh),
        ),
        (
            op(
                "post",
                "/api/servers/{name}/accept",
                Owner,
                "Take on what an MCP server's tools now say of themselves",
            )
            .request::<servers::Accept>(),
            post(servers::accept),
        ),
        (
            op("get", "/api/connections", Owner, "All accounts of services"),
            get(connections::list),
        ),
        (
            op(
                "post",
                "/api/connections",
                Owner,
                "Open an account of a service",
            )
            .request::<connections::Add>(),
            post(connections::add),
        ),
        (
            op("get", "/api/connections/{id}", Owner, "One account"),
            get(connections::show),
        ),
        (
            op("put", "/api/connections/{id}", Owner, "Change an account")
                .request::<connections::Change>(),
            put(connections::change),
        ),
        (
            op(
                "delete",
                "/api/connections/{id}",
                Owner,
                "Close an account and forget its credentials",
            ),
            delete(connections::remove),
        ),
        (
            op(
                "post",
                "/api/connections/{id}/test",
                Owner,
                "Try an account",
            ),
            post(connections::test),
        ),
    ]
}
