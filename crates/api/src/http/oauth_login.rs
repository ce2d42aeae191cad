//! Logins at MCP servers: start, status and logout.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use manyhands_core::{ConnectionId, Timestamp, ToolError};
use manyhands_federation::servers::Server;
use manyhands_federation::servers::oauth::{LoginState, LoginTarget};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_store::{ConnectionKind, ConnectionRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The account to log in to.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Login {
    /// PCID of an account created by an earlier login; the first one by default.
    connection: Option<String>,
    /// Name of an additional account.
    name: Option<String>,
}

/// A started login.
#[derive(Serialize, JsonSchema)]
pub struct LoginBegun {
    /// URL to open in a browser.
    url: String,
    /// Login id.
    login: String,
    /// When it expires.
    until: Timestamp,
}

/// Starts a login and returns the URL to open in a browser.
pub async fn begin(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(name): Path<String>,
    login: Result<Json<Login>, JsonRejection>,
) -> Answer<LoginBegun> {
    let Json(login) = login.map_err(|e| Refusal(ToolError::parameter("body", e.body_text())))?;
    let server = gateway.servers.get(&name)?;
    let target = target(&gateway, &server, login)?;
    let oauth = gateway.servers.oauth();
    let started = oauth
        .begin(
            server.name(),
            server.config(),
            server.service(),
            owner.token,
            target,
        )
        .await?;
    // Starting a login may have registered a client, whose secret is stored by now.
    gateway.redact_stored_secrets().await?;
    gateway
        .note(&owner.caller, "server.login.begin", server.name().as_str())
        .await?;
    answer(LoginBegun {
        url: started.url,
        login: started.login,
        until: started.until,
    })
}

fn target(gateway: &Gateway, server: &Server, login: Login) -> Result<LoginTarget, ToolError> {
    let accounts = logins(gateway, server);
    match (login.connection, login.name) {
        (Some(_), Some(_)) => Err(ToolError::parameter(
            "name",
            "cannot be combined with connection; use one of them",
        )),
        (Some(id), None) => Ok(LoginTarget::Known(one(&accounts, &id)?.id)),
        (None, Some(name)) => Ok(LoginTarget::New(name)),
        // Logging in again renews the first account instead of adding another one.
        (None, None) => Ok(match accounts.first() {
            Some(first) => LoginTarget::Known(first.id),
            None => LoginTarget::New(free_name(gateway, server)),
        }),
    }
}

/// The accounts of a server that were created by a login.
fn logins(gateway: &Gateway, server: &Server) -> Vec<ConnectionRecord> {
    let all = gateway.servers.accounts().all();
    let own = |one: &&ConnectionRecord| {
        one.service == server.service() && one.kind == ConnectionKind::Oauth
    };
    all.iter().filter(own).cloned().collect()
}

fn one<'a>(accounts: &'a [ConnectionRecord], id: &str) -> Result<&'a ConnectionRecord, ToolError> {
    let found = accounts.iter().find(|one| one.id.to_string() == id);
    found.ok_or_else(|| {
        let message = "the server has no connection of this id created by a login";
        ToolError::parameter("connection", message)
            .hint("list them with `manyhands connection list`")
    })
}

/// The service's name, with a number if it is taken.
fn free_name(gateway: &Gateway, server: &Server) -> String {
    let (all, service) = (gateway.servers.accounts().all(), server.service());
    let taken = |name: &String| {
        all.iter()
            .any(|one| one.service == service && one.name == *name)
    };
    let numbered = (2..).map(|number| format!("{service} {number}"));
    let mut names = std::iter::once(service.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or_default()
}

/// Status of the last login at a server.
#[derive(Serialize, JsonSchema)]
pub struct LoginStatus {
    /// `none`, `waiting`, `done` or `failed`.
    state: &'static str,
    #[serde(flatten)]
    last: Option<LastLogin>,
    /// Accounts created by a login.
    connections: Vec<ConnectionRecord>,
}

/// The last login.
#[derive(Serialize, JsonSchema)]
struct LastLogin {
    /// Login id.
    login: String,
    /// What went wrong, if anything.
    detail: Option<String>,
    /// The account it created.
    pcid: Option<ConnectionId>,
    /// When it expires.
    until: Timestamp,
}

impl From<LoginState> for LastLogin {
    fn from(last: LoginState) -> Self {
        Self {
            login: last.login,
            detail: last.detail,
            pcid: last.connection,
            until: last.until,
        }
    }
}

/// Returns the status of the last login at a server, and its accounts.
pub async fn status(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    Path(name): Path<String>,
) -> Answer<LoginStatus> {
    let server = gateway.servers.get(&name)?;
    let last = gateway.servers.oauth().last(server.name());
    answer(LoginStatus {
        state: last.as_ref().map_or("none", |last| last.state),
        last: last.map(LastLogin::from),
        connections: logins(&gateway, &server),
    })
}

/// The account to log out of.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogoutQuery {
    /// PCID of the account; required if there are several.
    connection: Option<String>,
}

/// The response after a logout.
#[derive(Serialize, JsonSchema)]
pub struct LoginEnded {
    /// The account.
    pcid: ConnectionId,
    /// Always true.
    removed: bool,
    /// Error of the authorization server while revoking the tokens, if any.
    note: Option<String>,
}

/// Logs out: revokes the tokens if possible and removes them.
pub async fn end(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(name): Path<String>,
    which: Result<Query<LogoutQuery>, QueryRejection>,
) -> Answer<LoginEnded> {
    let Query(which) = which.map_err(|e| Refusal(ToolError::parameter("query", e.body_text())))?;
    let server = gateway.servers.get(&name)?;
    let accounts = logins(&gateway, &server);
    let account = match (&which.connection, accounts.as_slice()) {
        (Some(id), all) => one(all, id)?,
        (None, [only]) => only,
        (None, []) => {
            let message = format!("not logged in at {}", server.name());
            return Err(Refusal(ToolError::not_found(message)));
        }
        (None, several) => {
            let named = several
                .iter()
                .map(|one| format!("{} ({})", one.id, one.name));
            let named: Vec<String> = named.collect();
            let message = format!("required, since there are several: {}", named.join(", "));
            return Err(Refusal(ToolError::parameter("connection", message)));
        }
    };
    let note = gateway
        .servers
        .oauth()
        .log_out(server.name(), account)
        .await?;
    // Open connections still use the revoked token.
    gateway.servers.reconnect(account).await;
    let about = format!("{}: {}", server.name(), account.id);
    gateway.note(&owner.caller, "server.logout", &about).await?;
    answer(LoginEnded {
        pcid: account.id,
        removed: true,
        note,
    })
}
