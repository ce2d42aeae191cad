//! Tokens: made, listed, taken back.

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
use crate::http::shapes;

/// A hundred years, in seconds.
const MAX_LIFETIME: u64 = 3_153_600_000;

/// What a new token is to be.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Create {
    /// What you call it, 1-64 characters.
    #[schemars(regex(pattern = shapes::NAME))]
    name: String,
    /// What it is for.
    role: Role,
    /// Which tools it may call; all when not said.
    #[serde(default)]
    tools: Vec<Pattern>,
    /// Which agents it may act for and talk to; `main` when not said, all for an owner.
    #[serde(default)]
    agents: Vec<Pattern>,
    /// How many seconds it lives; for ever when not said.
    #[schemars(range(min = 1, max = 3_153_600_000_u64))]
    expires_in_seconds: Option<u64>,
}

/// A token as it is shown: never its text.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// Its id, by which it is taken back.
    id: TokenId,
    /// What its owner calls it.
    name: String,
    /// What it is for.
    role: Role,
    /// Which tools it may call.
    tools: Vec<Pattern>,
    /// Which agents it may act for and talk to.
    agents: Vec<Pattern>,
    /// When it was made.
    created_at: String,
    /// When it ends; never where it is null.
    expires_at: Option<String>,
    /// When it was taken back.
    revoked_at: Option<String>,
    /// When it was last shown.
    last_used_at: Option<String>,
    /// Whether it is good.
    state: TokenState,
}

/// Whether a token is good.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenState {
    /// It is.
    Active,
    /// Its time is over.
    Expired,
    /// It was taken back.
    Revoked,
}

/// All tokens.
#[derive(Serialize, JsonSchema)]
pub struct TokenList {
    /// The tokens, newest first.
    tokens: Vec<Token>,
}

/// A token that was made.
#[derive(Serialize, JsonSchema)]
pub struct TokenMade {
    /// Its text, which is told this once.
    token: String,
    /// What is on record of it.
    record: Token,
}

/// A token that was taken back.
#[derive(Serialize, JsonSchema)]
pub struct TokenRevoked {
    /// What is on record of it.
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

/// All tokens, newest first.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<TokenList> {
    let now = gateway.clock.now();
    let tokens = gateway
        .doorman
        .list()
        .into_iter()
        .map(|record| Token::new(record, now))
        .collect();
    answer(TokenList { tokens })
}

/// Makes a token; its text is in the answer and nowhere else.
pub async fn create(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    new: Result<Json<Create>, JsonRejection>,
) -> Answer<TokenMade> {
    let new = body(new)?;
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
    let agents = match (new.agents.is_empty(), new.role) {
        (false, _) => new.agents,
        (true, Role::Owner) => vec![Pattern::new("*")],
        (true, _) => vec![Pattern::new("main")],
    };
    let about = format!("{} token {:?}", new.role, new.name);
    let (record, text) = gateway
        .doorman
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

/// Takes a token back; open sockets that showed it are closed at once.
pub async fn revoke(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<TokenRevoked> {
    let id: TokenId = id.parse().map_err(|_| {
        Refusal(ToolError::parameter(
            "id",
            "must be the id of a token, from `manyhands token list`",
        ))
    })?;
    if !gateway.doorman.knows(id) {
        return Err(Refusal(ToolError::not_found(format!(
            "there is no token {id}"
        ))));
    }
    if gateway.doorman.is_last_owner(id) {
        let message =
            "this is the last owner's token; without it nobody could administer the gateway";
        let hint = "make another first: `manyhands token create NAME --role owner`";
        return Err(Refusal(
            ToolError::new(ErrorCode::Conflict, message).hint(hint),
        ));
    }
    let record = gateway.doorman.revoke(id).await?;
    gateway
        .note(&owner.caller, "token.revoke", &id.to_string())
        .await?;
    answer(TokenRevoked {
        record: Token::new(record, gateway.clock.now()),
    })
}
