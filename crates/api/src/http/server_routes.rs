//! Routes of MCP servers and connected accounts, with their descriptions.

use super::admin::{connections, new_servers, servers};
use super::openapi::{Access, Operation};
use super::routes::Route;

/// MCP servers and connected accounts.
pub(super) fn table() -> Vec<Route> {
    use Access::Owner;
    let op = Operation::new;
    vec![
        op("get", "/api/servers", Owner, "List MCP servers").by(servers::list),
        op("post", "/api/servers", Owner, "Add an MCP server")
            .request::<new_servers::NewServer>()
            .by(new_servers::add),
        op(
            "post",
            "/api/servers/preview",
            Owner,
            "Show what adding an MCP server would do",
        )
        .request::<new_servers::PreviewServer>()
        .by(new_servers::preview),
        op(
            "get",
            "/api/servers/import",
            Owner,
            "List MCP servers of other programs on the gateway's machine",
        )
        .by(new_servers::importable),
        op(
            "post",
            "/api/servers/import",
            Owner,
            "Import MCP servers of another program",
        )
        .request::<new_servers::ImportServers>()
        .by(new_servers::import),
        op(
            "put",
            "/api/servers/{name}",
            Owner,
            "Enable or disable an MCP server and its tools",
        )
        .request::<servers::ChangeServer>()
        .by(servers::change),
        op(
            "get",
            "/api/servers/{name}/log",
            Owner,
            "Get the last log lines of an MCP server",
        )
        .query::<servers::ServerLogQuery>()
        .by(servers::log),
        op(
            "get",
            "/api/directory/servers",
            Owner,
            "List well-known MCP servers that can be added",
        )
        .query::<servers::DirectoryQuery>()
        .by(servers::directory),
        op(
            "get",
            "/api/servers/{name}",
            Owner,
            "Get an MCP server with its tools and definitions held back",
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
            "Refresh the tools of an MCP server",
        )
        .by(servers::refresh),
        op(
            "post",
            "/api/servers/{name}/accept",
            Owner,
            "Accept the current tool definitions of an MCP server",
        )
        .request::<servers::Accept>()
        .by(servers::accept),
        op("get", "/api/connections", Owner, "List connected accounts").by(connections::list),
        op(
            "post",
            "/api/connections",
            Owner,
            "Add an account of a service",
        )
        .request::<connections::NewConnection>()
        .by(connections::add),
        op("get", "/api/connections/{id}", Owner, "Get an account").by(connections::show),
        op("put", "/api/connections/{id}", Owner, "Change an account")
            .request::<connections::ConnectionChange>()
            .by(connections::change),
        op(
            "delete",
            "/api/connections/{id}",
            Owner,
            "Remove an account and its credentials",
        )
        .by(connections::remove),
        op(
            "post",
            "/api/connections/{id}/test",
            Owner,
            "Test an account",
        )
        .by(connections::test),
    ]
}
