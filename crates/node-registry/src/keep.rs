//! Keeping the records of nodes: what was seen, and what the owner changes.

use std::sync::Arc;
use std::time::Duration;

use manyhands_core::{ErrorCode, NodeId, ToolError};
use manyhands_store::{NodeNews, NodeRecord, StoreError};
use manyhands_wire::{NodeExecEventParams, NodeForgetResult};

use super::origins::Origin;
use super::{News, Nodes};

/// How long what was seen may wait for more of it before it is put on disk.
const GATHER: Duration = Duration::from_millis(200);

impl Nodes {
    /// Puts what was seen on disk, many nodes at a time, for as long as it is polled.
    pub async fn keep_records(&self) {
        loop {
            self.unkept.notified().await;
            tokio::time::sleep(GATHER).await;
            if let Err(error) = self.flush().await {
                tracing::warn!(event = "node_last_seen_save_failed", %error, "failed to persist when nodes were last seen; will retry");
            }
        }
    }

    /// Puts what was seen on disk.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let _keeping = self.keeping.lock().await;
        let (names, records) = {
            let mut state = self.state();
            let names = std::mem::take(&mut state.unkept);
            let known = |id: &NodeId| state.known.get(id).cloned();
            let records: Vec<NodeRecord> = names.iter().filter_map(known).collect();
            (names, records)
        };
        let kept = self.records.put(&records).await;
        if kept.is_err() {
            self.state().unkept.extend(names);
        }
        kept
    }

    /// Forgets what nobody needs any more.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        self.records.sweep(self.now()).await
    }

    fn record(&self, id: &NodeId) -> Result<NodeRecord, ToolError> {
        let known = self.state().known.get(id).cloned();
        known.ok_or_else(|| {
            ToolError::not_found(format!("there is no node {id} on record"))
                .hint("`manyhands nodes` lists them")
        })
    }

    /// What is on record of a node.
    pub fn on_record(&self, id: &str) -> Result<NodeRecord, ToolError> {
        let id = id
            .parse()
            .map_err(|e| ToolError::parameter("nodeId", format!("{e}")))?;
        self.record(&id)
    }

    /// Gives a node another name. It has to connect again, and does.
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
                let message = format!("{new} is, or was, the name of node {}", taken.id);
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
            state.unkept.remove(&old.id);
            state.known.insert(new.clone(), record.clone());
            record
        };
        let keeping = self.keeping.lock().await;
        let renamed = self.records.rename(&old.id, &record).await;
        drop(keeping);
        if let Err(error) = renamed {
            let mut state = self.state();
            state.known.remove(&new);
            state.known.insert(old.id.clone(), old);
            return Err(ToolError::internal(error.to_string()));
        }
        self.disconnect(&old.id, "it was given another name, and connects again");
        self.roll.note();
        Ok(new)
    }

    /// Forgets a node. One that is connected only when told to.
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
        // It may be on record here and not on disk yet.
        let keeping = self.keeping.lock().await;
        let removed = self.records.remove(&record.id).await;
        removed.map_err(|e| ToolError::internal(e.to_string()))?;
        {
            let mut state = self.state();
            state.known.remove(&record.id);
            state.unkept.remove(&record.id);
        }
        drop(keeping);
        let disconnected = self.disconnect(&record.id, "the owner forgot it");
        self.roll.note();
        let result = NodeForgetResult {
            ok: true,
            node_id: record.id.to_string(),
            removed: true,
            disconnected,
        };
        Ok((result, record))
    }

    /// Ends a node's connection; whether there was one.
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

    /// Takes news of a program in the background: kept, and told to whom it concerns, once.
    /// Answers with whether it is new, and what is known of it.
    pub async fn tell(
        &self,
        node: &NodeId,
        told: NodeExecEventParams,
    ) -> Result<(bool, Arc<News>), StoreError> {
        let call = told.call_id.as_deref();
        let origin = call.and_then(|call| self.origins.of(node, call));
        let mut news = NodeNews {
            node: node.clone(),
            event_id: told.event_id.clone(),
            session_id: told.session_id.clone(),
            event: told.event.word().to_owned(),
            caller: origin.as_ref().map(|origin| origin.caller.clone()),
            agent: origin.as_ref().map(|origin| origin.agent.clone()),
            session_key: origin.as_ref().and_then(|origin| origin.session.clone()),
            token: origin
                .and_then(|origin| origin.token)
                .map(|token| token.to_string()),
            payload: serde_json::to_string(&told).unwrap_or_default(),
            at: self.now(),
        };
        let new = self.records.tell(&mut news).await?;
        let token = news.token.and_then(|token| token.parse().ok());
        let origin = news.caller.zip(news.agent).map(|(caller, agent)| Origin {
            caller,
            agent,
            session: news.session_key,
            token,
        });
        let node = node.clone();
        let news = Arc::new(News { node, origin, told });
        if new {
            let _ = self.news.send(news.clone()); // nobody listening is no failure: it is kept
        }
        Ok((new, news))
    }
}
