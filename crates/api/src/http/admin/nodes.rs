//! Nodes: list, enrol, rename, revoke and remove.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use http::request::Parts;
use manyhands_core::{ErrorCode, NodeId, Role, ToolError};
use manyhands_gateway::{FailedLogin, Gateway, NewToken};
use manyhands_http_common::{Answer, Authenticated, Owner, Refusal, answer, client};
use manyhands_wire::{NodeEntry, NodeForgetResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{body, query};
use crate::http::object::Json;
use crate::http::patterns;

/// Default lifetime of an enrolment code: 15 minutes.
const CODE_SECONDS: u64 = 900;
/// Longest lifetime of an enrolment code: a week.
const MAX_CODE_SECONDS: u64 = 7 * 86_400;

/// A list of nodes.
#[derive(Serialize, JsonSchema)]
pub struct NodeList {
    /// Number of nodes.
    count: usize,
    /// All known nodes.
    nodes: Vec<NodeEntry>,
}

/// Lists all known nodes.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
) -> Answer<NodeList> {
    // A node serves calls; it does not need to know which other machines exist.
    if admitted.caller.rights.role.only_serves() {
        let message = "a node's token cannot list nodes";
        return Err(Refusal(ToolError::new(ErrorCode::Forbidden, message)));
    }
    let nodes = gateway.nodes.list();
    answer(NodeList {
        count: nodes.len(),
        nodes,
    })
}

/// A node to invite.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Invite {
    /// Name of the node, 1-32 of a-z, 0-9 and -.
    #[schemars(regex(pattern = patterns::NODE))]
    node_id: String,
    /// Lifetime of the code in seconds; 900 by default, a week at most.
    #[schemars(range(min = 1, max = 604_800))]
    expires_in_seconds: Option<u64>,
}

/// A one-time enrolment code.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeCode {
    /// The code.
    code: String,
    /// Name of the node.
    node_id: String,
    /// When it expires.
    expires_at: String,
}

/// Creates a one-time enrolment code for a node.
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
    let (code, expires) = gateway.nodes.create_code(&id, lifetime).await?;
    gateway
        .note(&owner.caller, "node.code", id.as_str())
        .await?;
    answer(NodeCode {
        code,
        node_id: id.to_string(),
        expires_at: expires.rfc3339(),
    })
}

/// An enrolment.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Enrol {
    /// The code printed by `manyhands nodes code`.
    code: String,
}

/// The response after a node enrolled.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeEnrolled {
    /// Its name.
    node_id: String,
    /// Its token, shown once.
    token: String,
}

/// Redeems a code: the bearer gets the node's own token, and older tokens of that node are revoked.
pub async fn enrol(
    State(gateway): State<Arc<Gateway>>,
    parts: Parts,
    enrol: Result<Json<Enrol>, JsonRejection>,
) -> Answer<NodeEnrolled> {
    let enrol = body(enrol)?;
    let client = client(&parts, &gateway)?;
    // Redeemed before anything else: a code works once, even if a later step fails.
    let Some(id) = gateway.nodes.use_code(&enrol.code).await? else {
        let message = "invalid or expired code";
        let error = ToolError::new(ErrorCode::Unauthenticated, message)
            .hint("get another from the gateway's owner: `manyhands nodes code NAME`");
        let refused = gateway.auth.refuse(client, FailedLogin::NodeCode, error);
        return Err(Refusal(refused));
    };
    // Older tokens end first, so that a node never has two.
    if let Ok(record) = gateway.nodes.on_record(id.as_str()) {
        for token in gateway.auth.of_node(&record) {
            gateway.auth.revoke(token).await?;
        }
    }
    let (record, text) = gateway
        .auth
        .create(NewToken {
            name: id.to_string(),
            role: Role::Node,
            tools: Vec::new(),
            agents: Vec::new(),
            // A node keeps its token until it is revoked or enrolled again.
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

/// A new name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    /// The new name.
    to: String,
}

/// The response after a node was renamed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRenamed {
    /// Its new name.
    node_id: String,
}

/// Renames a node; it reconnects by itself.
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

/// The response after a node's token was revoked.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRevoked {
    /// The node.
    node_id: String,
    /// Whether it was connected.
    disconnected: bool,
}

/// Revokes a node's own token and disconnects it.
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

/// Options of a removal.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetQuery {
    /// Remove it even if it is connected.
    #[serde(default)]
    force: bool,
}

/// Removes a node and revokes its own token.
pub async fn forget(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
    how: Result<Query<ForgetQuery>, QueryRejection>,
) -> Answer<NodeForgetResult> {
    let how = query(how)?;
    let forgotten = gateway.forget_node(&owner.caller, &id, how.force).await?;
    answer(forgotten)
}
