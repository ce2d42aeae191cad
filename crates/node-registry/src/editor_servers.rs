//! Editor servers: tools for one session, from the MCP servers that an editor names in
//! `session/new`.
//!
//! `manyhands acp` runs them on the editor's machine, with the rights of the editor's user, and
//! offers their tools here over a socket of their own, as a node does. They are in the catalogue
//! while that socket is open, and only for the one session:
//! [`Audience::session`](manyhands_core::Audience) is checked in the same decision as everything
//! else. Nothing about them is stored.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_agent::SessionKey;
use manyhands_core::{
    CallContext, Effects, ErrorCode, Group, NodeId, Outcome, RunsOn, Tool, ToolError, ToolSpec,
};
use manyhands_upstream::outcome;
use serde_json::Value;

use super::names::full_name;
use super::node::{ConnectedNode, NodeInfo, NodeOutbox};
use super::offer::{self, Offer};
use super::tool::failure;
use super::{Definition, Nodes};

/// Prefix of their names, so that none can pass for a server or node that the owner's rules name.
const PREFIX: &str = "acp-";
/// The most editor servers of one session.
const MAX_IN_SESSION: usize = 16;
/// The most editor servers in total.
const MAX_IN_ALL: usize = 1_000;
/// The deadline of a call.
const DEADLINE: Duration = Duration::from_secs(310);
/// The longest description shown.
const MAX_DESCRIPTION: usize = 20_000;

/// An editor server that connects.
pub struct EditorServer {
    /// The requested name.
    pub name: String,
    /// Its tools.
    pub offer: Offer,
    /// The session that may use them.
    pub session: SessionKey,
}

impl Nodes {
    /// Publishes the tools for their session. If the name is taken, for instance by the same server
    /// in another session, a number is appended.
    pub fn connect_editor_server(
        &self,
        editor_server: EditorServer,
        outbox: NodeOutbox,
    ) -> Result<Arc<ConnectedNode>, ToolError> {
        let EditorServer {
            name,
            mut offer,
            session,
        } = editor_server;
        let key: Arc<str> = session.to_string().into();
        if !name.starts_with(PREFIX) {
            let message = format!("must begin with {PREFIX:?} for tools of one session");
            return Err(ToolError::parameter("client.id", message));
        }
        let mut state = self.state();
        // Checked under the lock that also inserts, so that concurrent connections cannot exceed
        // the limit.
        let own = state
            .editor_servers
            .values()
            .filter(|of| **of == key)
            .count();
        if own >= MAX_IN_SESSION || state.editor_servers.len() >= MAX_IN_ALL {
            let message = format!(
                "too many editor servers (limit {MAX_IN_SESSION} per session, {MAX_IN_ALL} in total)"
            );
            return Err(ToolError::new(ErrorCode::Unavailable, message).hint("use fewer of them"));
        }
        let catalogue = self.catalogue.load();
        let free = |id: &NodeId| {
            let known = state.known.contains_key(id) || state.online.contains_key(id);
            !known && !catalogue.has_namespace(id.as_str())
        };
        let mut names = std::iter::once(name.clone())
            .chain((2..=MAX_IN_ALL).map(|number| format!("{}-{number}", short(&name))))
            .map(|name| name.parse::<NodeId>());
        // An invalid name ends the search at once, and is reported below.
        let id = names.find(|id| id.as_ref().map_or(true, free));
        let id = id.ok_or_else(|| ToolError::internal("no name is free"))?;
        let id = id.map_err(|e| ToolError::parameter("client.id", e.to_string()))?;
        let left_out = std::mem::take(&mut offer.left_out);
        let about = NodeInfo {
            id: id.clone(),
            cancels: offer.cancels,
            // An editor's machine takes no part in transfers.
            checked: false,
            prints: offer.prints,
            full_output: false,
            watched: false,
            terminals: false,
            sandboxed: false,
            readers: Box::default(),
            writers: Box::default(),
            left_out: left_out.into(),
        };
        let node = Arc::new(ConnectedNode::new(about, outbox));
        let tools = offer.tools.iter().map(|tool| -> Arc<dyn Tool> {
            let definition = state.share(tool);
            Arc::new(EditorTool::new(&node, tool, definition, &key))
        });
        let tools = tools.collect();
        self.publish(&id, Some(tools))?;
        state.editor_servers.insert(id, key);
        drop(state);
        self.note_change();
        Ok(node)
    }

    /// Removes the tools.
    pub fn disconnect_editor_server(&self, node: &Arc<ConnectedNode>) {
        // Calls in flight fail first, before their tools disappear.
        node.end("the editor disconnected");
        let mut state = self.state();
        state.editor_servers.remove(node.id());
        let _ = self.publish(node.id(), None); // removing cannot fail
        drop(state);
        self.note_change();
    }
}

/// A name shortened to leave room for a number.
fn short(name: &str) -> &str {
    let end = name.floor_char_boundary(name.len().min(NodeId::MAX - 5));
    name[..end].trim_end_matches('-')
}

/// One tool of an editor server.
struct EditorTool {
    spec: ToolSpec,
    /// Its name on the editor server.
    name: String,
    node: Arc<ConnectedNode>,
    /// Keeps the shared definition alive for other nodes with the same tool.
    _definition: Arc<Definition>,
}

impl EditorTool {
    fn new(
        node: &Arc<ConnectedNode>,
        tool: &offer::Tool,
        definition: Arc<Definition>,
        session: &Arc<str>,
    ) -> Self {
        let id = node.id();
        // As for configured servers: a tool without `readOnlyHint` may do anything and send
        // anything anywhere.
        let reads = Effects::READS.and(Effects::LEAVES);
        let only_reads = tool.capabilities.iter().all(|one| one == "filesystem.read");
        let effects = match only_reads {
            true => reads,
            false => reads.and(Effects::WRITES).and(Effects::SENDS),
        };
        let mut spec = ToolSpec::new(&full_name(id, &tool.name), id.as_str())
            .effects(effects)
            .deadline(DEADLINE)
            .runs_on(RunsOn::Server {
                name: id.to_string(),
            });
        spec.group = Group::Extra;
        // The session is part of the audience, so the usual authorization hides the tools from
        // everyone else.
        spec.audience.session = Some(session.clone());
        spec.description = match definition.description.len() > MAX_DESCRIPTION {
            true => definition
                .description
                .chars()
                .take(MAX_DESCRIPTION)
                .collect::<String>()
                .into(),
            false => definition.description.clone(),
        };
        spec.input_schema = definition.schema.clone();
        Self {
            spec,
            name: tool.name.clone(),
            node: node.clone(),
            _definition: definition,
        }
    }
}

#[async_trait]
impl Tool for EditorTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Value, context: &CallContext) -> Result<Outcome, ToolError> {
        let answer = self.node.call(&self.name, arguments, context).await;
        let answer = answer.map_err(|lost| match self.spec.effects.only_reads() {
            // Only calls with effects need the warning: repeating a read is harmless.
            true => lost,
            false => lost.hint("the call may have taken effect; check before calling again"),
        })?;
        match answer.error {
            Some(error) => Err(failure(answer.code.as_deref(), error)),
            None => outcome(answer.result.unwrap_or_default(), context.wants_raw),
        }
    }
}
