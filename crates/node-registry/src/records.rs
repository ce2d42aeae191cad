//! Persistence of node records, and the owner's changes to them.

use std::sync::Arc;
use std::time::Duration;

use manyhands_core::{ErrorCode, NodeId, ToolError};
use manyhands_store::{NodeProcessEvent, NodeRecord, StoreError};
use manyhands_wire::{NodeExecEventParams, NodeForgetResult};

use super::origins::ProcessOrigin;
use super::{Nodes, ProcessNotice};

/// How long changes are collected before they are written, so that many reconnecting nodes cost one
/// transaction.
const GATHER: Duration = Duration::from_millis(200);

impl Nodes {
    /// Writes changed records in batches, until dropped.
    pub async fn persist_records(&self) {
        loop {
            self.unsaved.notified().await;
            tokio::time::sleep(GATHER).await;
            if let Err(error) = self.flush().await {
                tracing::warn!(event = "node_last_seen_save_failed", %error, "failed to persist when nodes were last seen; will retry");
            }
        }
    }

    /// Writes changed records now.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let _saving = self.saving.lock().await;
        let (names, records) = {
            let mut state = self.state();
            let names = std::mem::take(&mut state.unsaved);
            let known = |id: &NodeId| state.known.get(id).cloned();
            let records: Vec<NodeRecord> = names.iter().filter_map(known).collect();
            (names, records)
        };
        let saved = self.records.put(&records).await;
        // Put the names back, or a full disk would lose the change until the node connects again.
        if saved.is_err() {
            self.state().unsaved.extend(names);
        }
        saved
    }

    /// Removes expired records.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        self.records.sweep(self.now()).await
    }

    fn record(&self, id: &NodeId) -> Result<NodeRecord, ToolError> {
        let known = self.state().known.get(id).cloned();
        known.ok_or_else(|| {
            ToolError::not_found(format!("node {id} not found"))
                .hint("`manyhands nodes` lists them")
        })
    }

    /// Returns the record of a node.
    pub fn on_record(&self, id: &str) -> Result<NodeRecord, ToolError> {
        let id = id
            .parse()
            .map_err(|e| ToolError::parameter("nodeId", format!("{e}")))?;
        self.record(&id)
    }

    /// Renames a node. It is disconnected and reconnects under its new name.
    pub async fn rename(&self, old: &str, new: &str) -> Result<NodeId, ToolError> {
        let old = self.on_record(old)?;
        let new: NodeId = new
            .parse()
            .map_err(|e| ToolError::parameter("to", format!("{e}")))?;
        let record = {
            let mut state = self.state();
            let another = |node: &&NodeRecord| {
                node.id != old.id && (node.id == new || node.former.contains(&new))
            };
            if let Some(taken) = state.known.values().find(another) {
                let message = format!("the name {new} is or was used by node {}", taken.id);
                return Err(ToolError::new(ErrorCode::Conflict, message)
                    .hint("choose another name, or forget that node first"));
            }
            if new == old.id {
                return Ok(new);
            }
            let mut record = old.clone();
            record.former.retain(|name| *name != new);
            record.former.push(old.id.clone());
            record.id = new.clone();
            state.known.remove(&old.id);
            state.unsaved.remove(&old.id);
            state.known.insert(new.clone(), record.clone());
            record
        };
        // The map was changed first so that no other rename can take the name meanwhile; on failure
        // the change is undone below.
        let saving = self.saving.lock().await;
        let renamed = self.records.rename(&old.id, &record).await;
        drop(saving);
        if let Err(error) = renamed {
            let mut state = self.state();
            state.known.remove(&new);
            state.known.insert(old.id.clone(), old);
            return Err(error.into());
        }
        self.disconnect(&old.id, "the node was renamed and must reconnect");
        self.node_changes.notify();
        Ok(new)
    }

    /// Removes a node. A connected one only with `force`.
    pub async fn forget(
        &self,
        id: &str,
        force: bool,
    ) -> Result<(NodeForgetResult, NodeRecord), ToolError> {
        let record = self.on_record(id)?;
        if !force && self.find(id).is_ok() {
            let message = format!("node {id} is connected");
            return Err(ToolError::new(ErrorCode::Conflict, message)
                .hint("stop it first, or use force, which disconnects it"));
        }
        // The record may not be on disk yet; the lock keeps a concurrent flush from writing it
        // again.
        let saving = self.saving.lock().await;
        let removed = self.records.remove(&record.id).await;
        removed?;
        {
            let mut state = self.state();
            state.known.remove(&record.id);
            state.unsaved.remove(&record.id);
        }
        drop(saving);
        let disconnected = self.disconnect(&record.id, "the owner removed the node");
        self.node_changes.notify();
        let result = NodeForgetResult {
            ok: true,
            node_id: record.id.to_string(),
            removed: true,
            disconnected,
        };
        Ok((result, record))
    }

    /// Closes the connection of a node. Returns whether there was one.
    pub fn disconnect(&self, id: &NodeId, why: &str) -> bool {
        let node = self.state().online.get(id).cloned();
        match node {
            Some(node) => {
                node.end(why);
                self.leave(&node);
                true
            }
            None => false,
        }
    }

    /// Stores a state change of a background process and announces it once. Returns whether it is
    /// new, and the stored notice. Nodes repeat a notice until it is acknowledged, so duplicates
    /// are normal.
    pub async fn record_notice(
        &self,
        node: &NodeId,
        params: NodeExecEventParams,
    ) -> Result<(bool, Arc<ProcessNotice>), StoreError> {
        let call = params.call_id.as_deref();
        let origin = call.and_then(|call| self.origins.of(node, call));
        let mut stored = NodeProcessEvent {
            node: node.clone(),
            event_id: params.event_id.clone(),
            session_id: params.session_id.clone(),
            event: params.event.as_str().to_owned(),
            caller: origin.as_ref().map(|origin| origin.caller.clone()),
            agent: origin.as_ref().map(|origin| origin.agent.clone()),
            session_key: origin.as_ref().and_then(|origin| origin.session.clone()),
            token: origin
                .and_then(|origin| origin.token)
                .map(|token| token.to_string()),
            payload: serde_json::to_string(&params).unwrap_or_default(),
            at: self.now(),
        };
        let new = self.records.record_event(&mut stored).await?;
        let token = stored.token.and_then(|token| token.parse().ok());
        let origin = stored
            .caller
            .zip(stored.agent)
            .map(|(caller, agent)| ProcessOrigin {
                caller,
                agent,
                session: stored.session_key,
                token,
            });
        let node = node.clone();
        let stored = Arc::new(ProcessNotice {
            node,
            origin,
            params,
        });
        if new {
            let _ = self.notices.send(stored.clone()); // no subscribers is fine: it is stored
        }
        Ok((new, stored))
    }
}
