//! Objects influenced by untrusted text, and the owner's decision to trust them.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use manyhands_core::{Timestamp, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, answer};
use manyhands_store::ObjectKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::http::object::Json;

/// Sessions listed.
const MAX_SESSIONS: u32 = 200;

/// Kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A file in a workspace, by its key such as `agents/main/SOUL.md`.
    File,
    /// A spawned agent.
    Agent,
    /// A scheduled job.
    Job,
    /// A session, by its key.
    Session,
}

/// An object written or changed after untrusted text was read.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Untrusted {
    /// What kind of object.
    kind: Kind,
    /// Id.
    id: String,
    /// Author, if recorded.
    author: Option<String>,
    /// The untrusted text read before.
    source: String,
    /// When, if recorded.
    at: Option<String>,
}

/// A list of untrusted objects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UntrustedList {
    /// Files and agents, then jobs, then sessions with the latest first.
    objects: Vec<Untrusted>,
}

/// An object to trust.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// What kind of object.
    kind: Kind,
    /// Id, as listed.
    id: String,
}

/// The response after an object was trusted.
#[derive(Serialize, JsonSchema)]
pub struct Trusted {
    /// Whether it was untrusted before.
    changed: bool,
}

/// Lists untrusted objects.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<UntrustedList> {
    let marks = gateway.store.provenance().list().into_iter();
    let mut objects: Vec<Untrusted> = marks
        .map(|mark| Untrusted {
            kind: match mark.kind {
                ObjectKind::File => Kind::File,
                ObjectKind::Agent => Kind::Agent,
            },
            id: mark.id,
            author: Some(mark.author),
            source: mark.source,
            at: Some(mark.at.rfc3339()),
        })
        .collect();
    // Jobs and sessions record what tainted them, but not by whom.
    let jobs = gateway.cron().tainted().await?.into_iter();
    objects.extend(jobs.map(|(id, source)| Untrusted {
        kind: Kind::Job,
        id,
        author: None,
        source,
        at: None,
    }));
    let sessions = gateway.store.sessions().tainted(MAX_SESSIONS).await?;
    let shown = |(id, source, at): (String, String, Timestamp)| Untrusted {
        kind: Kind::Session,
        id,
        author: None,
        source,
        at: Some(at.rfc3339()),
    };
    objects.extend(sessions.into_iter().map(shown));
    answer(UntrustedList { objects })
}

/// Trusts an object in its current state.
pub async fn trust(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    wanted: Result<Json<Trust>, JsonRejection>,
) -> Answer<Trusted> {
    let Trust { kind, id } = body(wanted)?;
    let provenance = gateway.store.provenance();
    let changed = match kind {
        Kind::File => provenance.clear(ObjectKind::File, &id).await?,
        Kind::Agent => provenance.clear(ObjectKind::Agent, &id).await?,
        Kind::Job => gateway.cron().trust(&id).await?,
        Kind::Session => {
            let key = id.parse().map_err(|e: manyhands_agent::InvalidKey| {
                ToolError::parameter("id", e.to_string())
            })?;
            gateway.minds().trust(&key).await?
        }
    };
    let about = serde_json::to_string(&kind).unwrap_or_default();
    gateway
        .note(&owner.caller, "trust", &format!("{about} {id}"))
        .await?;
    answer(Trusted { changed })
}
