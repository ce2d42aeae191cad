//! The routes of OAuth, each beside its description.

use axum::routing::get;
use manyhands_federation::servers::oauth::Returned;
use manyhands_federation::servers::oauth::client::DOCUMENT;

use super::openapi::{Access, Operation};
use super::routes::Route;
use super::{oauth, oauth_login};

/// Logins at servers, and what is told of guests.
pub(super) fn table() -> Vec<Route> {
    use Access::{Open, Owner};
    let op = Operation::new;
    vec![
        op(
            "post",
            "/api/servers/{name}/login",
            Owner,
            "Begin a login at an MCP server: the address to open in a browser",
        )
        .request::<oauth_login::Login>()
        .by(oauth_login::begin),
        op(
            "get",
            "/api/servers/{name}/login",
            Owner,
            "How the last login at an MCP server stands",
        )
        .by(oauth_login::status),
        op(
            "delete",
            "/api/servers/{name}/login",
            Owner,
            "Log out of an MCP server",
        )
        .query::<oauth_login::Which>()
        .by(oauth_login::end),
        (
            op(
                "get",
                "/oauth/callback",
                Open,
                "Where a browser brings the end of a login; a page",
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
                "The gateway as a client of authorization servers",
            )
            .answers_in("the format of client id metadata documents"),
            get(oauth::client),
        ),
        (
            op(
                "get",
                "/.well-known/oauth-protected-resource",
                Open,
                "Whose access tokens are taken at /mcp",
            )
            .answers_in("the format of RFC 9728"),
            get(oauth::resource),
        ),
        (
            op(
                "get",
                "/.well-known/oauth-protected-resource/mcp",
                Open,
                "Whose access tokens are taken at /mcp",
            )
            .answers_in("the format of RFC 9728"),
            get(oauth::resource),
        ),
        (
            op(
                "get",
                "/.well-known/oauth-protected-resource/mcp/{server}",
                Open,
                "Whose access tokens are taken at the path of one MCP server",
            )
            .answers_in("the format of RFC 9728"),
            get(oauth::resource_of),
        ),
    ]
}
