//! Nodes: listed, invited, renamed, revoked, forgotten.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{ConnectInfo, Path, Query, State};
use manyhands_core::{ErrorCode, NodeId, Role, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{body, query};
use crate::doorman::NewToken;
use crate::gateway::Gateway;
use crate::http::asker::{Asker, Owner};
use crate::http::refusal::{Answer, Refusal, answer};

/// How long a code is good unless said: 15 minutes.
const CODE_SECONDS: u64 = 900;
/// How long it may be good at most: a week.
const MAX_CODE_SECONDS: u64 = 7 * 86_400;

/// Every node on record.
pub async fn list(State(gateway): State<Arc<Gateway>>, Asker(asker): Asker) -> Answer {
    if asker.caller.rights.role == Role::Node {
        let message = "a node's token does not look at other nodes";
        return Err(Refusal(ToolError::new(ErrorCode::Forbidden, message)));
    }
    let nodes = gateway.nodes.list();
    answer(json!({ "count": nodes.len(), "nodes": nodes }))
}

/// Who is to come.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Invite {
    /// The name the machine will have, 1-32 of a-z, 0-9 and -.
    node_id: String,
    /// How many seconds the code is good; 900 when not said, a week at most.
    expires_in_seconds: Option<u64>,
}

/// Makes a code by which a machine becomes a node, once.
pub async fn invite(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    invite: Result<Json<Invite>, JsonRejection>,
) -> Answer {
    let invite = body(invite)?;
    let id: NodeId = invite
        .node_id
        .parse()
        .map_err(|e| Refusal(ToolError::parameter("nodeId", format!("{e}"))))?;
    let seconds = invite.expires_in_seconds.unwrap_or(CODE_SECONDS);
    if !(1..=MAX_CODE_SECONDS).contains(&seconds) {
        let message = format!("must be between 1 and {MAX_CODE_SECONDS}, a week");
        return Err(Refusal(ToolError::parameter("expiresInSeconds", message)));
    }
    let lifetime = Duration::from_secs(seconds);
    let (code, expires) = gateway.nodes.make_code(&id, lifetime).await?;
    gateway
        .note(&owner.caller, "node.code", id.as_str())
        .await?;
    answer(json!({ "code": code, "nodeId": id, "expiresAt": expires.rfc3339() }))
}

/// Who comes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Enrol {
    /// The code, as `manyhands nodes code` printed it.
    code: String,
}

/// Uses a code up: the bearer gets the node's own token, and older ones of that node end.
pub async fn enrol(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    enrol: Result<Json<Enrol>, JsonRejection>,
) -> Answer {
    let enrol = body(enrol)?;
    gateway.doorman.may_guess(peer.ip())?;
    let Some(id) = gateway.nodes.use_code(&enrol.code).await? else {
        gateway.doorman.guessed_wrong(peer.ip());
        let message = "the code is not good: it is unknown, was used, or has expired";
        return Err(Refusal(
            ToolError::new(ErrorCode::Unauthenticated, message)
                .hint("get another from the gateway's owner: `manyhands nodes code NAME`"),
        ));
    };
    if let Ok(record) = gateway.nodes.on_record(id.as_str()) {
        for token in gateway.doorman.of_node(&record) {
            gateway.doorman.revoke(token).await?;
        }
    }
    let (record, text) = gateway
        .doorman
        .create(NewToken {
            name: id.to_string(),
            role: Role::Node,
            tools: Vec::new(),
            lifetime: None,
        })
        .await?;
    let gateway_itself = manyhands_core::Caller::gateway();
    let about = format!("{id} from {} gets token {}", peer.ip(), record.id);
    gateway.note(&gateway_itself, "node.enrol", &about).await?;
    answer(json!({ "nodeId": id, "token": text.expose() }))
}

/// Another name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    /// The new name.
    to: String,
}

/// Gives a node another name; it connects again by itself.
pub async fn rename(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
    rename: Result<Json<Rename>, JsonRejection>,
) -> Answer {
    let rename = body(rename)?;
    let new = gateway.nodes.rename(&id, &rename.to).await?;
    gateway
        .note(&owner.caller, "node.rename", &format!("{id} to {new}"))
        .await?;
    answer(json!({ "nodeId": new }))
}

/// Takes a node's own token back and disconnects it.
pub async fn revoke(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer {
    let disconnected = gateway.revoke_node(&owner.caller, &id).await?;
    answer(json!({ "nodeId": id, "disconnected": disconnected }))
}

/// How to forget.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct How {
    /// Also when it is connected.
    #[serde(default)]
    force: bool,
}

/// Forgets a node and takes its own token back.
pub async fn forget(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
    how: Result<Query<How>, QueryRejection>,
) -> Answer {
    let how = query(how)?;
    let forgotten = gateway.forget_node(&owner.caller, &id, how.force).await?;
    answer(json!(forgotten))
}
