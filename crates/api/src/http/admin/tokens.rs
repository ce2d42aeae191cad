//! Tokens: create, list and revoke.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use manyhands_core::{ErrorCode, Pattern, Role, Timestamp, TokenId, ToolError};
use manyhands_gateway::{Gateway, NewToken};
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_store::TokenRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::http::object::Json;
use crate::http::patterns;

/// A hundred years, in seconds.
const MAX_LIFETIME: u64 = 3_153_600_000;

/// A token to create.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CreateToken {
    /// Name, 1-64 characters.
    #[schemars(regex(pattern = patterns::NAME))]
    name: String,
    /// Role of its bearer.
    role: Role,
    /// Tools it may call; all by default.
    #[serde(default)]
    tools: Vec<Pattern>,
    /// Agents it may act for and talk to; `main` by default, all for an owner.
    #[serde(default)]
    agents: Vec<Pattern>,
    /// Lifetime in seconds; unlimited by default.
    #[schemars(range(min = 1, max = 3_153_600_000_u64))]
    expires_in_seconds: Option<u64>,
}

/// A token, without its text.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// Id used to revoke it.
    id: TokenId,
    /// Name.
    name: String,
    /// Role of its bearer.
    role: Role,
    /// Tools it may call.
    tools: Vec<Pattern>,
    /// Agents it may act for and talk to.
    agents: Vec<Pattern>,
    /// When it was created.
    created_at: String,
    /// When it expires; null for never.
    expires_at: Option<String>,
    /// When it was revoked.
    revoked_at: Option<String>,
    /// When it was last used.
    last_used_at: Option<String>,
    /// Whether it is valid.
    state: TokenState,
}

/// Whether a token is valid.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenState {
    /// Valid.
    Active,
    /// Expired.
    Expired,
    /// Revoked.
    Revoked,
}

/// A list of tokens.
#[derive(Serialize, JsonSchema)]
pub struct TokenList {
    /// Tokens, newest first.
    tokens: Vec<Token>,
}

/// The response with a new token.
#[derive(Serialize, JsonSchema)]
pub struct TokenMade {
    /// Its text, shown once.
    token: String,
    /// Its record.
    record: Token,
}

/// The response after a token was revoked.
#[derive(Serialize, JsonSchema)]
pub struct TokenRevoked {
    /// Its record.
    record: Token,
}

impl Token {
    fn new(record: TokenRecord, now: Timestamp) -> Self {
        let state = match (record.revoked, record.is_live(now)) {
            (Some(_), _) => TokenState::Revoked,
            (None, true) => TokenState::Active,
            (None, false) => TokenState::Expired,
        };
        Self {
            id: record.id,
            name: record.name,
            role: record.role,
            tools: record.tools,
            agents: record.agents,
            created_at: record.created.rfc3339(),
            expires_at: record.expires.map(Timestamp::rfc3339),
            revoked_at: record.revoked.map(Timestamp::rfc3339),
            last_used_at: record.last_used.map(Timestamp::rfc3339),
            state,
        }
    }
}

/// Lists all tokens, newest first.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<TokenList> {
    let now = gateway.clock.now();
    let tokens = gateway
        .auth
        .list()
        .into_iter()
        .map(|record| Token::new(record, now))
        .collect();
    answer(TokenList { tokens })
}

/// Creates a token; its text is returned here and nowhere else.
pub async fn create(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    new: Result<Json<CreateToken>, JsonRejection>,
) -> Answer<TokenMade> {
    let new = body(new)?;
    // Names appear in logs and audit entries, so control characters are rejected.
    if new.name.trim().is_empty()
        || new.name.chars().count() > 64
        || new.name.chars().any(char::is_control)
    {
        return Err(Refusal(ToolError::parameter(
            "name",
            "must have 1 to 64 printable characters",
        )));
    }
    if new.expires_in_seconds == Some(0) {
        return Err(Refusal(ToolError::parameter(
            "expiresInSeconds",
            "must be more than 0",
        )));
    }
    // Longer lifetimes would overflow timestamps.
    if new
        .expires_in_seconds
        .is_some_and(|seconds| seconds > MAX_LIFETIME)
    {
        let message = "must be at most 3153600000, a hundred years";
        return Err(Refusal(ToolError::parameter("expiresInSeconds", message)));
    }
    let tools = if new.tools.is_empty() {
        vec![Pattern::new("*")]
    } else {
        new.tools
    };
    // Least privilege: a client's token reaches only `main` unless told otherwise.
    let agents = match (new.agents.is_empty(), new.role) {
        (false, _) => new.agents,
        (true, Role::Owner) => vec![Pattern::new("*")],
        (true, _) => vec![Pattern::new("main")],
    };
    let about = format!("{} token {:?}", new.role, new.name);
    let (record, text) = gateway
        .auth
        .create(NewToken {
            name: new.name,
            role: new.role,
            tools,
            agents,
            lifetime: new.expires_in_seconds.map(Duration::from_secs),
            browser: false,
        })
        .await?;
    gateway
        .note(
            &owner.caller,
            "token.create",
            &format!("{about} {}", record.id),
        )
        .await?;
    answer(TokenMade {
        token: text.expose().to_owned(),
        record: Token::new(record, gateway.clock.now()),
    })
}

/// Revokes a token; open sockets that use it are closed immediately.
pub async fn revoke(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<TokenRevoked> {
    let id: TokenId = id.parse().map_err(|_| {
        Refusal(ToolError::parameter(
            "id",
            "must be a token id from `manyhands token list`",
        ))
    })?;
    if !gateway.auth.knows(id) {
        return Err(Refusal(ToolError::not_found(format!("no token {id}"))));
    }
    // Without an owner token nobody could create another one.
    if gateway.auth.is_last_owner(id) {
        let message =
            "this is the last owner token; without it nobody could administer the gateway";
        let hint = "create another first with `manyhands token create NAME --role owner`";
        return Err(Refusal(
            ToolError::new(ErrorCode::Conflict, message).hint(hint),
        ));
    }
    let record = gateway.auth.revoke(id).await?;
    gateway
        .note(&owner.caller, "token.revoke", &id.to_string())
        .await?;
    answer(TokenRevoked {
        record: Token::new(record, gateway.clock.now()),
    })
}
