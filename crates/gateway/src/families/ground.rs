//! What the tools of minds stand on.

use std::sync::{Arc, OnceLock};

use manyhands_agent::{Minds, Origin};
use manyhands_core::{CallContext, Clock, ErrorCode, Ids, ToolError};
use manyhands_guard::Jail;
use manyhands_llm::ModelId;
use manyhands_people::contacts::Contacts;
use manyhands_people::todo::Notebook;
use manyhands_store::Blobs;

use super::unified::contacts_send::Deliver;
use super::unified::recent::Recent;
use crate::minds::{Post, origin_of};
use crate::settings::LiveSettings;
use crate::workspace::Workspace;

/// What the tools of minds stand on.
#[derive(Clone)]
pub(crate) struct MindGround {
    /// There once the gateway is put together.
    pub(crate) minds: Arc<OnceLock<Minds>>,
    pub(crate) settings: LiveSettings,
    pub(crate) ids: Ids,
    pub(crate) workspace: Workspace,
    pub(crate) blobs: Blobs,
    /// Messages between agents.
    pub(crate) post: Post,
    /// Contacts, and what is to be done for them.
    pub(crate) people: People,
}

impl MindGround {
    pub(super) fn minds(&self) -> Result<&Minds, ToolError> {
        self.minds
            .get()
            .ok_or_else(|| ToolError::new(ErrorCode::Unavailable, "the gateway is starting"))
    }
}

/// Contacts, what is to be done for them, and the way to them. Clones are the same.
#[derive(Clone)]
pub(crate) struct People {
    /// The TODO files.
    pub(crate) todos: Notebook,
    /// The files of contacts.
    pub(crate) contacts: Contacts,
    /// Time.
    pub(crate) clock: Arc<dyn Clock>,
    /// What was sent to them not long ago.
    pub(crate) recent: Arc<Recent>,
    /// There once chats are connected.
    pub(crate) courier: Arc<OnceLock<Arc<dyn Deliver>>>,
}

impl People {
    /// Those whose files are in `folder`.
    pub(crate) fn new(folder: &Jail, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        Self {
            todos: Notebook::new(folder, clock.clone(), ids),
            contacts: Contacts::new(folder, clock.clone()),
            clock,
            recent: Arc::default(),
            courier: Arc::default(),
        }
    }
}

/// Whoever calls, as the turn remembers them that the call begins.
pub(super) fn asker(context: &CallContext) -> Origin {
    Origin {
        depth: u32::try_from(context.lineage.len()).unwrap_or(u32::MAX),
        tainted: context.taint.clone(),
        lineage: context.lineage.to_vec(),
        ..origin_of(&context.caller)
    }
}

/// Whoever calls, in whose name an agent gives another a task: words to be followed, with what
/// may have come from outside remembered.
pub(super) fn principal(context: &CallContext) -> Origin {
    let asker = asker(context);
    Origin {
        tainted: asker.taint(),
        trusted: true,
        ..asker
    }
}

/// A model that a call names.
pub(super) fn model(named: Option<&str>) -> Result<Option<ModelId>, ToolError> {
    let parsed = named.map(str::parse::<ModelId>).transpose();
    parsed.map_err(|e| ToolError::parameter("model", e.to_string()))
}
