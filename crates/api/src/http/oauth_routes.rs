//! Routes of OAuth, with their descriptions.

use axum::routing::get;
use manyhands_federation::servers::oauth::Returned;
use manyhands_federation::servers::oauth::client::DOCUMENT;

use super::openapi::{Access, Operation};
use super::routes::Route;
use super::{oauth, oauth_login};

/// Logins at servers, and metadata for external tokens.
pub(super) fn table() -> Vec<Route> {
    use Access::{Open, Owner};
    let op = Operation::new;
    vec![
        op(
            "post",
            "/api/servers/{name}/login",
            Owner,
            "Start a login at an MCP server; returns the URL to open in a browser",
        )
        .request::<oauth_login::Login>()
        .by(oauth_login::begin),
        op(
            "get",
            "/api/servers/{name}/login",
            Owner,
            "Get the status of the last login at an MCP server",
        )
        .by(oauth_login::status),
        op(
            "delete",
            "/api/servers/{name}/login",
            Owner,
            "Log out of an MCP server",
        )
        .query::<oauth_login::LogoutQuery>()
        .by(oauth_login::end),
        (
            op(
                "get",
                "/oauth/callback",
                Open,
                "OAuth callback of a login; an HTML page",
            )
            .query::<Returned>()
            .shows("text/html"),
            get(oauth::callback),
        ),
        (
            op(
                "get",
                DOCUMENT,
                Open,
                "Client id metadata document of the gateway",
            )
            .answers_in("the format of client id metadata documents"),
            get(oauth::client),
        ),
        (
            op(
                "get",
                "/.well-known/oauth-protected-resource",
                Open,
                "Protected-resource metadata of /mcp",
            )
            .answers_in("the format of RFC 9728"),
            get(oauth::resource),
        ),
        (
            op(
                "get",
                "/.well-known/oauth-protected-resource/mcp",
                Open,
                "Protected-resource metadata of /mcp",
            )
            .answers_in("the format of RFC 9728"),
            get(oauth::resource),
        ),
        (
            op(
                "get",
                "/.well-known/oauth-protected-resource/mcp/{server}",
                Open,
                "Protected-resource metadata of one MCP server",
            )
            .answers_in("the format of RFC 9728"),
            get(oauth::resource_of),
        ),
    ]
}
