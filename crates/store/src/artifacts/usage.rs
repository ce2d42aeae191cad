//! Number and size of artifacts by agent and caller, counted in the transaction that changes them: a check costs the same
//! however many there are, and a crash cannot make the counts wrong.

use std::collections::BTreeMap;

use super::Artifacts;
use crate::artifact_record::{ArtifactQuota, ArtifactRecord};
use crate::error::StoreError;
use crate::quota::human_size;
use crate::sql::{Row, Statement, Tx};

/// Scopes of `artifact_usage`. The name is empty for all artifacts.
const AGENT: &str = "agent";
const CALLER: &str = "caller";
const ALL: &str = "all";

impl Artifacts {
    /// Current usage of an agent, a caller and in total.
    pub(super) async fn used(
        &self,
        agent: &str,
        caller: &str,
    ) -> Result<ArtifactUsage, StoreError> {
        ArtifactUsage::of(&self.sql.all(select(agent, caller)).await?)
    }
}

pub(super) fn select(agent: &str, caller: &str) -> Statement {
    Statement::new(
        "SELECT scope, files, bytes FROM artifact_usage
         WHERE (scope = 'agent' AND name = $1) OR (scope = 'caller' AND name = $2)
            OR (scope = 'all' AND name = '')",
    )
    .bind(agent)
    .bind(caller)
}

/// Counts one more.
pub(super) async fn added(
    tx: &mut Tx,
    agent: &str,
    caller: &str,
    size: i64,
) -> Result<(), StoreError> {
    for (scope, name) in [(AGENT, agent), (CALLER, caller), (ALL, "")] {
        change(tx, scope, name, 1, size).await?;
    }
    Ok(())
}

/// Uncounts deleted artifacts, given as their rows.
pub(super) async fn removed(tx: &mut Tx, rows: &[Row]) -> Result<(), StoreError> {
    // Summed first: a sweep removes hundreds of artifacts of few agents, and each change is a statement.
    let mut gone: BTreeMap<(&str, String), (i64, i64)> = BTreeMap::new();
    for row in rows {
        let size = row.int("size")?;
        for (scope, name) in [
            (AGENT, row.text("agent")?),
            (CALLER, row.text("caller")?),
            (ALL, String::new()),
        ] {
            let sum = gone.entry((scope, name)).or_default();
            *sum = (sum.0 + 1, sum.1 + size);
        }
    }
    for ((scope, name), (files, bytes)) in gone {
        change(tx, scope, &name, -files, -bytes).await?;
    }
    // Callers come and go: rows that count nothing are removed, so that the table stays small.
    let empty = Statement::new("DELETE FROM artifact_usage WHERE files <= 0");
    tx.run(empty).await.map(drop)
}

async fn change(
    tx: &mut Tx,
    scope: &str,
    name: &str,
    files: i64,
    bytes: i64,
) -> Result<(), StoreError> {
    let upsert = Statement::new(
        "INSERT INTO artifact_usage (scope, name, files, bytes) VALUES ($1, $2, $3, $4)
         ON CONFLICT (scope, name) DO UPDATE
         SET files = artifact_usage.files + excluded.files,
             bytes = artifact_usage.bytes + excluded.bytes",
    );
    let upsert = upsert.bind(scope).bind(name).bind(files).bind(bytes);
    tx.run(upsert).await.map(drop)
}

#[derive(Debug, Clone, Copy, Default)]
struct ArtifactTotals {
    files: u64,
    bytes: u64,
}

/// Current usage.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ArtifactUsage {
    agent: ArtifactTotals,
    caller: ArtifactTotals,
    all: ArtifactTotals,
}

impl ArtifactUsage {
    pub(super) fn of(rows: &[Row]) -> Result<Self, StoreError> {
        let mut used = Self::default();
        for row in rows {
            let number = |column| row.int(column).map(|n| u64::try_from(n).unwrap_or(0));
            let kept = ArtifactTotals {
                files: number("files")?,
                bytes: number("bytes")?,
            };
            match row.text("scope")?.as_str() {
                AGENT => used.agent = kept,
                CALLER => used.caller = kept,
                _ => used.all = kept,
            }
        }
        Ok(used)
    }

    /// Maximum size of one more artifact.
    pub(super) fn remaining(&self, room: &ArtifactQuota) -> u64 {
        // Files are checked apart from bytes: many empty artifacts would otherwise fill the database.
        if self.agent.files >= room.agent_files || self.caller.files >= room.caller_files {
            return 0;
        }
        [
            room.one,
            room.agent.saturating_sub(self.agent.bytes),
            room.caller.saturating_sub(self.caller.bytes),
            room.all.saturating_sub(self.all.bytes),
        ]
        .into_iter()
        .min()
        .unwrap_or(0)
    }

    /// Checks whether there is room for `record`.
    pub(super) fn admit(
        &self,
        record: &ArtifactRecord,
        room: &ArtifactQuota,
    ) -> Result<(), StoreError> {
        let agent = record.agent.as_str();
        match self.refusal(record.size, agent, room) {
            Some(refusal) => Err(refusal),
            None => Ok(()),
        }
    }

    /// Why an artifact of `size` bytes is refused, if it is.
    pub(super) fn refusal(
        &self,
        size: u64,
        agent: &str,
        room: &ArtifactQuota,
    ) -> Option<StoreError> {
        let over = |kept: ArtifactTotals, most: u64| kept.bytes.saturating_add(size) > most;
        if size > room.one {
            let what = format!(
                "it has more than {} bytes, the most of one artifact (limits.artifact_file_bytes)",
                room.one
            );
            return Some(StoreError::Limit { what });
        }
        if over(self.agent, room.agent) {
            let what = format!(
                "the artifacts of {agent} would have more than {} bytes (limits.artifact_agent_bytes): remove some first",
                room.agent
            );
            return Some(StoreError::Limit { what });
        }
        if over(self.all, room.all) {
            let what = format!(
                "all artifacts together would have more than {} bytes (limits.artifact_total_bytes): remove some first",
                room.all
            );
            return Some(StoreError::Limit { what });
        }
        let what = if self.agent.files >= room.agent_files {
            format!(
                "{agent} has {} of {} artifacts (limits.artifact_agent_files); remove some first",
                self.agent.files, room.agent_files
            )
        } else if self.caller.files >= room.caller_files {
            format!(
                "this caller has {} of {} artifacts (limits.artifact_caller_files); remove some first, or ask the owner to raise the limit",
                self.caller.files, room.caller_files
            )
        } else if over(self.caller, room.caller) {
            format!(
                "this caller's artifacts have {} of {} (limits.artifact_caller_bytes); remove some first, or ask the owner to raise the limit",
                human_size(self.caller.bytes),
                human_size(room.caller)
            )
        } else {
            return None;
        };
        Some(StoreError::Quota { what })
    }
}
