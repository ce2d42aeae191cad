//! The routes of MCP servers and accounts of services, each beside its description.

use super::admin::{connections, servers};
use super::openapi::{Access, Operation};
use super::routes::Route;

/// How MCP servers and accounts of services are looked after.
pub(super) fn table() -> Vec<Route> {
    use Access::Owner;
    let op = Operation::new;
    vec![
        op("get", "/api/servers", Owner, "All MCP servers").by(servers::list),
        op(
            "post",
            "/api/servers",
            Owner,
            "Add an MCP server by its address",
        )
        .request::<servers::Add>()
        .by(servers::add),
        op(
            "get",
            "/api/servers/{name}",
            Owner,
            "One MCP server with its tools and what of them is held back",
        )
        .by(servers::show),
        op(
            "delete",
            "/api/servers/{name}",
            Owner,
            "Remove an MCP server",
        )
        .by(servers::remove),
        op(
            "post",
            "/api/servers/{name}/refresh",
            Owner,
            "Ask an MCP server for its tools now",
        )
        .by(servers::refresh),
        op(
            "post",
            "/api/servers/{name}/accept",
            Owner,
            "Take on what an MCP server's tools now say of themselves",
        )
        .request::<servers::Accept>()
        .by(servers::accept),
        op("get", "/api/connections", Owner, "All accounts of services").by(connections::list),
        op(
            "post",
            "/api/connections",
            Owner,
            "Open an account of a service",
        )
        .request::<connections::Add>()
        .by(connections::add),
        op("get", "/api/connections/{id}", Owner, "One account").by(connections::show),
        op("put", "/api/connections/{id}", Owner, "Change an account")
            .request::<connections::Change>()
            .by(connections::change),
        op(
            "delete",
            "/api/connections/{id}",
            Owner,
            "Close an account and forget its credentials",
        )
        .by(connections::remove),
        op(
            "post",
            "/api/connections/{id}/test",
            Owner,
            "Try an account",
        )
        .by(connections::test),
    ]
}
