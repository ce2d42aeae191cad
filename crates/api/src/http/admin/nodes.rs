//! Nodes: listed, invited, renamed, revoked, forgotten.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use http::request::Parts;
use manyhands_core::{ErrorCode, NodeId, Role, ToolError};
use manyhands_gateway::{Failed, Gateway, NewToken};
use manyhands_http_common::{Answer, Asker, Owner, Refusal, answer, client};
use manyhands_wire::{NodeEntry, NodeForgetResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{body, query};
use crate::http::object::Json;
use crate::http::shapes;

/// How long a code is good unless said: 15 minutes.
const CODE_SECONDS: u64 = 900;
/// How long it may be good at most: a week.
const MAX_CODE_SECONDS: u64 = 7 * 86_400;

/// Nodes.
#[derive(Serialize, JsonSchema)]
pub struct NodeList {
    /// How many.
    count: usize,
    /// Every node on record.
    nodes: Vec<NodeEntry>,
}

/// Every node on record.
pub async fn list(State(gateway): State<Arc<Gateway>>, Asker(asker): Asker) -> Answer<NodeList> {
    if asker.caller.rights.role.only_serves() {
        let message = "a node's token does not look at other nodes";
        return Err(Refusal(ToolError::new(ErrorCode::Forbidden, message)));
    }
    let nodes = gateway.nodes.list();
    answer(NodeList {
        count: nodes.len(),
        nodes,
    })
}

/// Who is to come.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Invite {
    /// The name the machine will have, 1-32 of a-z, 0-9 and -.
    #[schemars(regex(pattern = shapes::NODE))]
    node_id: String,
    /// How many seconds the code is good; 900 when not said, a week at most.
    #[schemars(range(min = 1, max = 604_800))]
    expires_in_seconds: Option<u64>,
}

/// A code by which a machine becomes a node, once.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeCode {
    /// The code.
    code: String,
    /// The name the machine will have.
    node_id: String,
    /// Until when it is good.
    expires_at: String,
}

/// Makes a code by which a machine becomes a node, once.
pub async fn invite(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    invite: Result<Json<Invite>, JsonRejection>,
) -> Answer<NodeCode> {
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
    answer(NodeCode {
        code,
        node_id: id.to_string(),
        expires_at: expires.rfc3339(),
    })
}

/// Who comes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Enrol {
    /// The code, as `manyhands nodes code` printed it.
    code: String,
}

/// A machine that became a node.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeEnrolled {
    /// Its name.
    node_id: String,
    /// The text of its own token, which is told this once.
    token: String,
}

/// Uses a code up: the bearer gets the node's own token, and older ones of that node end.
pub async fn enrol(
    State(gateway): State<Arc<Gateway>>,
    parts: Parts,
    enrol: Result<Json<Enrol>, JsonRejection>,
) -> Answer<NodeEnrolled> {
    let enrol = body(enrol)?;
    let client = client(&parts, &gateway)?;
    let Some(id) = gateway.nodes.use_code(&enrol.code).await? else {
        let message = "invalid or expired code";
        let error = ToolError::new(ErrorCode::Unauthenticated, message)
            .hint("get another from the gateway's owner: `manyhands nodes code NAME`");
        let refused = gateway.doorman.refuse(client, Failed::NodeCode, error);
        return Err(Refusal(refused));
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
            agents: Vec::new(),
            lifetime: None,
            browser: false,
        })
        .await?;
    let gateway_itself = manyhands_core::Caller::gateway();
    let about = format!("{id} from {client} gets token {}", record.id);
    gateway.note(&gateway_itself, "node.enrol", &about).await?;
    answer(NodeEnrolled {
        node_id: id.to_string(),
        token: text.expose().to_owned(),
    })
}

/// Another name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    /// The new name.
    to: String,
}

/// A node that was renamed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRenamed {
    /// The name it has now.
    node_id: String,
}

/// Gives a node another name; it connects again by itself.
pub async fn rename(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
    rename: Result<Json<Rename>, JsonRejection>,
) -> Answer<NodeRenamed> {
    let rename = body(rename)?;
    let new = gateway.nodes.rename(&id, &rename.to).await?;
    gateway
        .note(&owner.caller, "node.rename", &format!("{id} to {new}"))
        .await?;
    answer(NodeRenamed {
        node_id: new.to_string(),
    })
}

/// A node whose token was taken back.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRevoked {
    /// The node.
    node_id: String,
    /// Whether it was connected.
    disconnected: bool,
}

/// Takes a node's own token back and disconnects it.
pub async fn revoke(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<NodeRevoked> {
    let disconnected = gateway.revoke_node(&owner.caller, &id).await?;
    answer(NodeRevoked {
        node_id: id,
        disconnected,
    })
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
) -> Answer<NodeForgetResult> {
    let how = query(how)?;
    let forgotten = gateway.forget_node(&owner.caller, &id, how.force).await?;
    answer(forgotten)
}
