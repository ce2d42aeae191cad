//! Tools that somebody brings along for one session: the MCP servers that an editor names in `session/new`.
//!
//! `manyhands acp` runs them on the editor's machine, with the rights of whoever uses the editor, and offers their tools
//! here over a socket of their own, as a node does. They are in the catalogue as long as that socket stands, and only
//! for the one session: [`Audience::session`](manyhands_core::Audience) is checked where every call is decided. Nothing
//! about them is stored.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_agent::SessionKey;
use manyhands_core::{
    CallContext, Effects, ErrorCode, Group, NodeId, Outcome, RunsOn, Tool, ToolError, ToolSpec,
};
use manyhands_upstream::outcome;
use serde_json::Value;

use super::naming::full_name;
use super::node::{About, Node, Outbox};
use super::offer::{self, Offer};
use super::tool::failure;
use super::{Definition, Nodes};

/// What their names begin with, so that none can pass for a server or a machine that the owner's rules name.
const PREFIX: &str = "acp-";
/// How many of them one session may have.
const MAX_IN_SESSION: usize = 16;
/// How many there may be in all.
const MAX_IN_ALL: usize = 1_000;
/// How long a call may take.
const DEADLINE: Duration = Duration::from_secs(310);
/// The longest description that is shown.
const MAX_DESCRIPTION: usize = 20_000;

/// What is offered to a session.
pub struct Brought {
    /// What it is to be called.
    pub name: String,
    /// Its tools.
    pub offer: Offer,
    /// Whose they are.
    pub session: SessionKey,
}

impl Nodes {
    /// Puts the tools up for their session. Where the name is taken, as by the same server in another session, a number
    /// is added to it.
    pub fn bring(&self, brought: Brought, outbox: Outbox) -> Result<Arc<Node>, ToolError> {
        let Brought {
            name,
            mut offer,
            session,
        } = brought;
        let key: Arc<str> = session.to_string().into();
        if !name.starts_with(PREFIX) {
            let message = format!("must begin with {PREFIX:?} for tools of one session");
            return Err(ToolError::parameter("client.id", message));
        }
        let mut state = self.state();
        let own = state.brought.values().filter(|of| **of == key).count();
        if own >= MAX_IN_SESSION || state.brought.len() >= MAX_IN_ALL {
            let message = format!(
                "{MAX_IN_SESSION} servers of an editor are connected to this session already, or {MAX_IN_ALL} to all"
            );
            return Err(ToolError::new(ErrorCode::Unavailable, message).hint("use fewer of them"));
        }
        let catalogue = self.catalogue.load();
        let free = |id: &NodeId| {
            let known = state.known.contains_key(id) || state.online.contains_key(id);
            !known && !catalogue.has_shelf(id.as_str())
        };
        let mut names = std::iter::once(name.clone())
            .chain((2..=MAX_IN_ALL).map(|number| format!("{}-{number}", short(&name))))
            .map(|name| name.parse::<NodeId>());
        let id = names.find(|id| id.as_ref().map_or(true, free));
        let id = id.ok_or_else(|| ToolError::internal("no name is free"))?;
        let id = id.map_err(|e| ToolError::parameter("client.id", e.to_string()))?;
        let left_out = std::mem::take(&mut offer.left_out);
        let about = About {
            id: id.clone(),
            cancels: offer.cancels,
            checked: false,
            prints: offer.prints,
            full_output: false,
            watched: false,
            sandboxed: false,
            readers: Box::default(),
            writers: Box::default(),
            left_out: left_out.into(),
        };
        let node = Arc::new(Node::new(about, outbox));
        let tools = offer.tools.iter().map(|tool| -> Arc<dyn Tool> {
            let definition = state.share(tool);
            Arc::new(BroughtTool::new(&node, tool, definition, &key))
        });
        let tools = tools.collect();
        self.shelve(&id, Some(tools))?;
        state.brought.insert(id, key);
        drop(state);
        self.note_change();
        Ok(node)
    }

    /// Takes them down again.
    pub fn take_away(&self, node: &Arc<Node>) {
        node.end("its editor disconnected");
        let mut state = self.state();
        state.brought.remove(node.id());
        let _ = self.shelve(node.id(), None); // taking down cannot be refused
        drop(state);
        self.note_change();
    }
}

/// A name with room for a number.
fn short(name: &str) -> &str {
    let end = name.floor_char_boundary(name.len().min(NodeId::MAX - 5));
    name[..end].trim_end_matches('-')
}

/// One tool of a server that an editor brought along.
struct BroughtTool {
    spec: ToolSpec,
    /// Its name at the other end.
    name: String,
    node: Arc<Node>,
    /// Held, so that the next that says the same shares it.
    _definition: Arc<Definition>,
}

impl BroughtTool {
    fn new(
        node: &Arc<Node>,
        tool: &offer::Tool,
        definition: Arc<Definition>,
        session: &Arc<str>,
    ) -> Self {
        let id = node.id();
        // As for servers of the settings: what does not say that it only reads may do anything, and tell anybody.
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
impl Tool for BroughtTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Value, context: &CallContext) -> Result<Outcome, ToolError> {
        let answer = self.node.call(&self.name, arguments, context).await;
        let answer = answer.map_err(|lost| match self.spec.effects.only_reads() {
            true => lost,
            false => lost.hint("it may have taken effect there: look before calling again"),
        })?;
        match answer.error {
            Some(error) => Err(failure(answer.code.as_deref(), error)),
            None => outcome(answer.result.unwrap_or_default(), context.wants_raw),
        }
    }
}
