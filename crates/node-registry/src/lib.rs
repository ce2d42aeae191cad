//! Nodes: other machines that share their tools. A node dials `/ws`, says which tools it offers,
//! and answers calls; it never asks for anything itself.
//!
//! This crate holds the connections, the stored records and the nodes' tools in the catalogue. It
//! knows nothing of the WebSocket itself: the `socket` crate feeds it messages and drains a
//! [`NodeOutbox`].
//!
//! - **Presence.** A node's tools are in the catalogue exactly as long as its connection is open. A
//!   second connection under a connected name replaces the first at once, and what waited for the
//!   old one fails as retryable. The catalogue is a persistent map, and nodes with identical tool
//!   definitions share them, so thousands of nodes can come and go.
//! - **Names.** A node token is valid for one name. The name is the gateway's record, so renaming
//!   needs nothing of the node.
//! - **Calls** carry the path's own id. A node runs an id once, whatever is sent twice. A call that
//!   nobody waits for is cancelled; one whose node disconnects fails as retryable.
//!   `Tool::deadline_of` lets a command's own timeout count.
//! - **Files** ([`transfer`]): source and destination are a node or a workspace, and one loop
//!   relays the pieces, at most 4 MiB ahead of what the destination has stored. Pieces use a queue
//!   of their own behind messages, so a call never waits for a file. A partial file stays hidden
//!   until its SHA-256 is right, and is named by the file's state and both ends, so that a repeated
//!   request resumes it.
//! - **Process notices** of background processes are repeated by the node until acknowledged,
//!   stored once, and announced to the conversation that started the process.
//! - **Watches** are pulled: the gateway asks a node for the output after what it has, as its
//!   reader has room, and each piece passes only while the call that opened the watch would still
//!   be allowed.
//! - **Terminals** are calls of a tool that is in no catalogue, with output, input and size beside the call. Output is pulled
//!   like that of watches.
//! - **Confinement** (`--jail`, `--sandbox`) belongs to the node's owner and cannot be changed over
//!   the wire. A sandboxed node says so when it connects, and agents use it without approval; on
//!   others they ask first.
//! - **Editor servers** (`editor_servers`) are MCP servers that `manyhands acp` runs on an editor's
//!   machine for one session. They are connected like nodes, under names that begin with `acp-`.

mod editor_servers;
mod enrollment;
mod names;
mod node;
mod offer;
mod origins;
mod records;
mod terminal;
#[cfg(test)]
mod tests;
mod tool;
pub mod transfer;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use arc_swap::ArcSwap;
use manyhands_core::{
    Caller, Catalogue, Clock, ErrorCode, Ids, NodeId, Role, Timestamp, TokenId, Tool, ToolError,
};
use manyhands_store::{Changes, NodeRecord, Nodes as Records, StoreError};
use manyhands_wire::{LeftOutTool, NodeEntry};
use serde_json::Value;
use tokio::sync::{Notify, broadcast, watch};

pub use editor_servers::EditorServer;
pub use node::{ConnectedNode, FromNode, NodeOutbox, ProcessWatch};
pub use offer::Offer;
pub use origins::{Origins, ProcessNotice};
pub use terminal::{NodeTerminal, TerminalControls};

pub use names::plain_path;
use node::NodeInfo;
use tool::NodeTool;

/// The most connected nodes.
const MAX_NODES: usize = 20_000;
/// Buffered notices per subscriber; a slower one misses some.
const MAX_NOTICES: usize = 256;

/// A tool definition, shared by all nodes that declare the same.
pub(crate) struct Definition {
    description: Arc<str>,
    schema: Arc<Value>,
}

/// The nodes of one gateway.
pub struct Nodes {
    state: Mutex<State>,
    records: Records,
    catalogue: Arc<ArcSwap<Catalogue>>,
    origins: Arc<Origins>,
    clock: Arc<dyn Clock>,
    ids: Ids,
    changed: watch::Sender<u64>,
    /// Changes of the connected or stored nodes.
    node_changes: Changes,
    notices: broadcast::Sender<Arc<ProcessNotice>>,
    /// Signals that records have to be written.
    unsaved: Notify,
    /// Held while records are written or removed, so that a removed one is not written again.
    saving: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    online: HashMap<NodeId, Arc<ConnectedNode>>,
    /// Editor servers, with the session that may use them.
    editor_servers: HashMap<NodeId, Arc<str>>,
    known: BTreeMap<NodeId, NodeRecord>,
    /// Changed in memory and not on disk yet.
    unsaved: BTreeSet<NodeId>,
    definitions: HashMap<String, Weak<Definition>>,
}

impl Nodes {
    /// Loads the records.
    pub async fn open(
        records: Records,
        catalogue: Arc<ArcSwap<Catalogue>>,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Result<Self, StoreError> {
        let known = records.list().await?;
        let state = State {
            known: known
                .into_iter()
                .map(|node| (node.id.clone(), node))
                .collect(),
            ..State::default()
        };
        Ok(Self {
            state: Mutex::new(state),
            records,
            catalogue,
            origins: Arc::default(),
            clock,
            ids,
            changed: watch::Sender::new(0),
            node_changes: Changes::default(),
            notices: broadcast::Sender::new(MAX_NOTICES),
            unsaved: Notify::new(),
            saving: tokio::sync::Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while held")
    }

    /// Notifies when tools came or went.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Notifies when a node connected, disconnected, was renamed or removed.
    pub fn node_changes(&self) -> &Changes {
        &self.node_changes
    }

    /// Subscribes to notices of background processes.
    pub fn notices(&self) -> broadcast::Receiver<Arc<ProcessNotice>> {
        self.notices.subscribe()
    }

    /// Notifies subscribers of [`changes`](Self::changes) that another part changed the catalogue.
    pub fn note_change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// Returns the name under which `caller` may connect with `token`, having called itself `requested`.
    ///
    /// A node token is valid for one name: the stored one, or else the token's own. The owner's
    /// token may use any. A node that still uses a former name gets its present one.
    pub fn name_for(
        &self,
        caller: &Caller,
        token: TokenId,
        requested: &str,
    ) -> Result<NodeId, ToolError> {
        let requested: NodeId = requested
            .parse()
            .map_err(|e| ToolError::parameter("client.id", format!("{e}")))?;
        let state = self.state();
        let called = |node: &NodeRecord| node.id == requested || node.former.contains(&requested);
        let by_name = || {
            let former = || state.known.values().find(|node| called(node));
            state
                .known
                .get(&requested)
                .or_else(former)
                .map(|node| &node.id)
        };
        let bound = match caller.rights.role {
            Role::Owner => return Ok(by_name().cloned().unwrap_or(requested)),
            Role::Node => {
                let own = |node: &&NodeRecord| node.token == Some(token);
                state.known.values().find(own)
            }
            Role::Client | Role::ReadOnly | Role::Channel => {
                let message = "only a node token or the owner's token can connect a node";
                return Err(ToolError::new(ErrorCode::Forbidden, message)
                    .hint("make one with `manyhands nodes code NAME` or `manyhands token create NAME --role node`"));
            }
        };
        let refused = |name: &str| {
            let message = format!("this token belongs to node {name}, not {requested}");
            ToolError::new(ErrorCode::Forbidden, message).hint(format!(
                "connect as {name}, or get a code with `manyhands nodes code {requested}`"
            ))
        };
        match bound {
            Some(node) if called(node) => Ok(node.id.clone()),
            Some(node) => Err(refused(node.id.as_str())),
            // A token that was never used is bound to the name it was made for.
            None if caller.name == requested.as_str() => Ok(requested),
            None => {
                let own: Option<NodeId> = caller.name.parse().ok();
                let own = own.and_then(|own| state.known.get(&own));
                match own.filter(|node| called(node)) {
                    Some(node) => Ok(node.id.clone()),
                    None => Err(refused(&caller.name)),
                }
            }
        }
    }

    /// The present name of a node that was once called `id`.
    pub fn present_name(&self, id: &NodeId) -> NodeId {
        let state = self.state();
        if state.known.contains_key(id) {
            return id.clone();
        }
        let renamed = state.known.values().find(|node| node.former.contains(id));
        renamed.map_or_else(|| id.clone(), |node| node.id.clone())
    }

    /// Connects a node. Its tools are in the catalogue when this returns.
    pub fn join(
        &self,
        id: NodeId,
        mut offer: Offer,
        token: Option<TokenId>,
        outbox: NodeOutbox,
    ) -> Result<Arc<ConnectedNode>, ToolError> {
        let about = NodeInfo {
            id: id.clone(),
            cancels: offer.cancels,
            checked: offer.checked,
            prints: offer.prints,
            full_output: offer.full_output,
            watched: offer.watched,
            sandboxed: offer.sandboxed,
            terminals: offer.terminals,
            readers: offer.able_to(&id, "filesystem.read"),
            writers: offer.able_to(&id, "filesystem.write"),
            left_out: std::mem::take(&mut offer.left_out).into(),
        };
        for LeftOutTool { tool, reason } in &about.left_out {
            tracing::warn!(event = "node_tool_rejected", node = %id, tool, reason, "a tool of a node is not added to the catalogue");
        }
        let node = Arc::new(ConnectedNode::new(about, outbox));
        let mut state = self.state();
        if state.online.len() >= MAX_NODES && !state.online.contains_key(&id) {
            let message = format!("too many nodes are connected (limit {MAX_NODES})");
            return Err(ToolError::new(ErrorCode::Unavailable, message));
        }
        // Nodes and servers share one name space; a server of that name must not be shadowed.
        if !state.online.contains_key(&id) && self.catalogue.load().has_namespace(id.as_str()) {
            let message = format!("an MCP server of this gateway is called {id}");
            return Err(ToolError::new(ErrorCode::Conflict, message)
                .hint("connect under another name, or rename the server in config.toml"));
        }
        // Published before the old connection ends, so that the tools never disappear in between.
        // All of it under the state lock, so that the catalogue follows the order of connections.
        let tools = self.tools(&mut state, &node, &offer);
        self.publish(&id, Some(tools))?;
        if let Some(old) = state.online.insert(id.clone(), node.clone()) {
            old.end("replaced by another connection under this name");
        }
        self.record_connected(&mut state, id, offer, token);
        drop(state);
        self.note_change();
        self.node_changes.notify();
        Ok(node)
    }

    fn tools(
        &self,
        state: &mut State,
        node: &Arc<ConnectedNode>,
        offer: &Offer,
    ) -> Vec<Arc<dyn Tool>> {
        let one = |tool: &offer::Tool| -> Arc<dyn Tool> {
            let definition = state.share(tool);
            let tool = NodeTool::new(
                node,
                &tool.name,
                definition,
                &tool.capabilities,
                &self.origins,
            );
            Arc::new(tool)
        };
        offer.tools.iter().map(one).collect()
    }

    /// Publishes or removes a node's tools. Called with the state locked, so that the catalogue
    /// follows the order of connections.
    fn publish(&self, id: &NodeId, tools: Option<Vec<Arc<dyn Tool>>>) -> Result<(), ToolError> {
        // `rcu` may run the closure several times, so the last result counts.
        let mut refused = None;
        self.catalogue.rcu(|all| {
            let mut all = Catalogue::clone(all);
            match &tools {
                Some(tools) => refused = all.set_namespace(id.as_str(), tools.clone()).err(),
                None => all.remove_namespace(id.as_str()),
            }
            all
        });
        match refused {
            Some(error) => Err(ToolError::parameter("tools", error.to_string())),
            None => Ok(()),
        }
    }

    fn record_connected(
        &self,
        state: &mut State,
        id: NodeId,
        offer: Offer,
        token: Option<TokenId>,
    ) {
        let now = self.clock.now();
        let old = state.known.get(&id);
        let record = NodeRecord {
            id: id.clone(),
            // The owner's token is not recorded: it is valid for every name.
            token: token.or_else(|| old.and_then(|old| old.token)),
            former: old.map(|old| old.former.clone()).unwrap_or_default(),
            platform: offer.platform,
            version: offer.version,
            capabilities: offer.capabilities,
            tools: offer.tools.into_iter().map(|tool| tool.name).collect(),
            first_seen: old.map_or(now, |old| old.first_seen),
            last_seen: now,
        };
        state.known.insert(id.clone(), record);
        state.unsaved.insert(id);
        self.unsaved.notify_one();
    }

    /// Disconnects a node.
    pub fn leave(&self, node: &Arc<ConnectedNode>) {
        node.end("its connection was lost");
        let mut state = self.state();
        // A late notice of a replaced connection must not remove the tools of its successor.
        let current = state.online.get(node.id());
        if !current.is_some_and(|current| Arc::ptr_eq(current, node)) {
            return; // replaced by a newer connection
        }
        state.online.remove(node.id());
        let _ = self.publish(node.id(), None); // removing cannot fail
        let now = self.clock.now();
        if let Some(record) = state.known.get_mut(node.id()) {
            record.last_seen = now;
            state.unsaved.insert(node.id().clone());
            self.unsaved.notify_one();
        }
        drop(state);
        self.note_change();
        self.node_changes.notify();
    }

    /// Returns a connected node.
    pub fn find(&self, id: &str) -> Result<Arc<ConnectedNode>, ToolError> {
        let state = self.state();
        let found = id.parse().ok().and_then(|id: NodeId| state.online.get(&id));
        // One that has ended is about to be removed.
        let found = found.filter(|node| !node.closed().is_cancelled());
        found.cloned().ok_or_else(|| {
            let message = format!("node {id} is not connected");
            let there: Vec<&str> = state.online.keys().take(20).map(NodeId::as_str).collect();
            let hint = if there.is_empty() {
                "no node is connected; start one with `manyhands node --id NAME`".to_owned()
            } else {
                format!("connected are: {}", there.join(", "))
            };
            ToolError::new(ErrorCode::Unavailable, message).hint(hint)
        })
    }

    /// The same, but a name that no node ever had is reported as that.
    pub fn find_known(&self, id: &str) -> Result<Arc<ConnectedNode>, ToolError> {
        let known = id
            .parse()
            .is_ok_and(|id: NodeId| self.state().known.contains_key(&id));
        self.find(id).map_err(|error| match known {
            true => error,
            false => {
                let shown: String = id.chars().take(80).collect();
                ToolError::new(ErrorCode::NotFound, format!("there is no node {shown:?}"))
                    .hint("list them with `manyhands nodes`")
            }
        })
    }

    /// The names of connected nodes, sorted.
    pub fn online(&self) -> Vec<NodeId> {
        let mut names: Vec<NodeId> = self.state().online.keys().cloned().collect();
        names.sort();
        names
    }

    /// The connected nodes and their capabilities, by name.
    pub fn abilities(&self) -> Vec<(String, Vec<String>)> {
        let state = self.state();
        let online = state
            .known
            .values()
            .filter(|node| state.online.contains_key(&node.id));
        online
            .map(|node| (node.id.to_string(), node.capabilities.clone()))
            .collect()
    }

    /// Every stored node, by name.
    pub fn list(&self) -> Vec<NodeEntry> {
        let state = self.state();
        let entry = |node: &NodeRecord| NodeEntry {
            node_id: node.id.to_string(),
            online: state.online.contains_key(&node.id),
            client_platform: node.platform.clone(),
            client_version: node.version.clone(),
            host_capabilities: node.capabilities.clone(),
            tools: node.tools.clone(),
            first_seen_at: node.first_seen.rfc3339(),
            last_seen_at: node.last_seen.rfc3339(),
            former_ids: node.former.iter().map(NodeId::to_string).collect(),
            left_out: match state.online.get(&node.id) {
                Some(online) => online.left_out().to_vec(),
                None => Vec::new(),
            },
            terminal: state
                .online
                .get(&node.id)
                .is_some_and(|online| online.allows_terminals()),
        };
        state.known.values().map(entry).collect()
    }

    /// A new id for a message.
    pub fn new_id(&self) -> String {
        self.ids.next::<manyhands_core::CallId>().to_string()
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl State {
    /// Returns a shared definition equal to `tool`'s.
    fn share(&mut self, tool: &offer::Tool) -> Arc<Definition> {
        const MANY: usize = 4_096;
        let key = format!("{}\n{}", tool.description, tool.schema);
        if let Some(shared) = self.definitions.get(&key).and_then(Weak::upgrade) {
            return shared;
        }
        // Entries of dropped definitions are removed only now and then; a sweep per connection
        // would be quadratic for thousands of nodes.
        if self.definitions.len() >= MANY {
            self.definitions
                .retain(|_, shared| shared.strong_count() > 0);
        }
        let shared = Arc::new(Definition {
            description: tool.description.as_str().into(),
            schema: Arc::new(tool.schema.clone()),
        });
        self.definitions.insert(key, Arc::downgrade(&shared));
        shared
    }
}
