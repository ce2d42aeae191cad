//! Agents spawned by agents: their records, limits and retirement.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use manyhands_agent::{AgentSettings, Minds, ResetPolicy, SessionKey};
use manyhands_core::{AgentId, Pattern, Timestamp, ToolError};
use manyhands_host::workspace::Author;
use manyhands_llm::{ModelId, Thinking};
use manyhands_store::{Blobs, ObjectKind, Provenance, Store, StoreError, TaintMark};
use object_store::ObjectStoreExt as _;
use object_store::path::Path as Key;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, MutexGuard};

/// The folder of the records: outside their workspaces, so that no agent can change its own.
const FOLDER: &str = "kin";
/// The folder of archived records.
const ARCHIVED: &str = "archives/kin";
/// The most sessions of an agent that are checked.
const MAX_SESSIONS: u32 = 500;
/// How long an idle child counts as living; it can be woken later all the same.
const LIFE: Duration = Duration::from_secs(24 * 3_600);

/// A spawned agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Child {
    /// Its id.
    pub id: AgentId,
    /// The agent that spawned it.
    pub parent: AgentId,
    /// The configured agent at the top of its ancestry, whose budget it uses.
    pub root: AgentId,
    /// Its depth below the configured agent.
    pub depth: u32,
    /// The template it was spawned from.
    pub template: String,
    /// Its model; the default when `None`.
    pub model: Option<ModelId>,
    /// Its reasoning effort.
    pub thinking: Option<Thinking>,
    /// The tools it may use.
    pub tools: Vec<Pattern>,
    /// Its system prompt.
    pub prompt: String,
    /// When it was spawned.
    pub created: Timestamp,
}

impl Child {
    fn settings(&self) -> AgentSettings {
        AgentSettings {
            model: self.model.clone(),
            thinking: self.thinking,
            tools: self.tools.clone(),
            system_prompt: Some(self.prompt.clone()),
            reset: ResetPolicy::Manual,
            payer: Some(self.root.clone()),
            ..AgentSettings::new(self.id.clone())
        }
    }
}

/// All spawned agents.
pub struct SpawnedAgents {
    records: Blobs,
    archive: Blobs,
    provenance: Provenance,
    known: RwLock<BTreeMap<AgentId, Child>>,
    making: Mutex<()>,
}

impl SpawnedAgents {
    /// Loads the records.
    pub async fn open(store: &Store) -> Result<Self, StoreError> {
        let blobs = store.blobs();
        let records = blobs.scoped(&Key::from(FOLDER))?;
        let archive = blobs.scoped(&Key::from(ARCHIVED))?;
        let listed = records
            .list_with_delimiter(Some(&Key::from(FOLDER)))
            .await?;
        let mut known = BTreeMap::new();
        for object in listed.objects {
            let bytes = records.get(&object.location).await?.bytes().await?;
            match serde_json::from_slice::<Child>(&bytes) {
                Ok(child) => drop(known.insert(child.id.clone(), child)),
                Err(error) => {
                    tracing::error!(event = "spawned_agent_record_unreadable", file = %object.location, %error, "cannot read the record of a spawned agent; ignoring it");
                }
            }
        }
        Ok(Self {
            records,
            archive,
            provenance: store.provenance().clone(),
            known: RwLock::new(known),
            making: Mutex::default(),
        })
    }

    fn with<T>(&self, look: impl FnOnce(&BTreeMap<AgentId, Child>) -> T) -> T {
        look(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The settings of a spawned agent.
    pub fn settings(&self, id: &AgentId) -> Option<AgentSettings> {
        let settings = self.with(|known| known.get(id).map(Child::settings))?;
        Some(AgentSettings {
            taint: self.provenance.taint(ObjectKind::Agent, id.as_str()),
            ..settings
        })
    }

    /// Records, before the agent exists, that it was spawned after untrusted text was read. In this
    /// order a crash cannot leave an unmarked agent.
    pub async fn mark(
        &self,
        id: &AgentId,
        author: &Author,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some(source) = author.taint.source() else {
            return Ok(());
        };
        let mark = TaintMark {
            kind: ObjectKind::Agent,
            id: id.to_string(),
            author: author.name.clone(),
            source: source.to_owned(),
            at: now,
        };
        self.provenance.mark(mark).await
    }

    /// The names of all spawned agents.
    pub fn names(&self) -> Vec<AgentId> {
        self.with(|known| known.keys().cloned().collect())
    }

    /// The depth of an agent and its configured ancestor.
    pub fn position(&self, id: &AgentId) -> (u32, AgentId) {
        let of = |child: &Child| (child.depth, child.root.clone());
        self.with(|known| known.get(id).map_or_else(|| (0, id.clone()), of))
    }

    /// Returns whether an agent is `ancestor` or its descendant.
    pub fn is_within(&self, id: &AgentId, ancestor: &AgentId) -> bool {
        self.with(|known| {
            let above = |at: &AgentId| known.get(at).map(|child| child.parent.clone());
            std::iter::successors(Some(id.clone()), above).any(|at| at == *ancestor)
        })
    }

    /// Held from counting the children to adding one, so that two calls cannot exceed the limit
    /// together.
    pub async fn lock_creation(&self) -> MutexGuard<'_, ()> {
        self.making.lock().await
    }

    /// How many children of an agent are working or were active within the last day.
    pub async fn active_children(&self, minds: &Minds, parent: &AgentId, now: Timestamp) -> usize {
        let own = |child: &&Child| child.parent == *parent;
        let children: Vec<Child> = self.with(|known| known.values().filter(own).cloned().collect());
        let mut living = 0;
        for child in children {
            let key = SessionKey::main(&child.id);
            let active = match minds.get(&key).await {
                Ok(session) => session.last_active,
                Err(_) => child.created,
            };
            living += usize::from(minds.is_busy(&key) || now.since(active) < LIFE);
        }
        living
    }

    /// Archives spawned agents that are idle since `before` and have no children: their sessions
    /// and records. Their workspaces stay. Returns how many.
    pub async fn sweep(&self, minds: &Minds, before: Timestamp) -> Result<usize, ToolError> {
        let _making = self.lock_creation().await;
        let old: Vec<Child> = self.with(|known| {
            let parent = |id: &AgentId| known.values().any(|child| child.parent == *id);
            let old = known.values().filter(|child| child.created < before);
            old.filter(|child| !parent(&child.id)).cloned().collect()
        });
        let mut gone = 0;
        for child in old {
            if self.retire(minds, &child, before).await? {
                gone += 1;
            }
        }
        Ok(gone)
    }

    async fn retire(
        &self,
        minds: &Minds,
        child: &Child,
        before: Timestamp,
    ) -> Result<bool, ToolError> {
        let (sessions, _) = minds.list(Some(&child.id), MAX_SESSIONS, 0).await?;
        if sessions.len() == MAX_SESSIONS as usize
            || sessions.iter().any(|one| one.last_active >= before)
        {
            return Ok(false);
        }
        for session in sessions {
            let Ok(key) = session.key.parse::<SessionKey>() else {
                return Ok(false);
            };
            if !minds.retire(&key).await? {
                return Ok(false);
            }
        }
        self.archive(child).await.map_err(|e| {
            ToolError::from(e).context(format_args!("failed to archive agent {}", child.id))
        })?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.remove(&child.id);
        Ok(true)
    }

    async fn archive(&self, child: &Child) -> Result<(), StoreError> {
        let text = serde_json::to_vec(child).expect("a record is plain data with text keys");
        // The archive first: a crash in between leaves both copies, never none.
        let archived = Key::from(format!("{ARCHIVED}/{}.json", child.id));
        self.archive.put(&archived, text.into()).await?;
        let place = Key::from(format!("{FOLDER}/{}.json", child.id));
        Ok(self.records.delete(&place).await?)
    }

    /// Adds an agent. Its record is on disk when this returns.
    pub async fn add(&self, child: Child) -> Result<(), StoreError> {
        let place = Key::from(format!("{FOLDER}/{}.json", child.id));
        let text = serde_json::to_vec(&child).expect("a record is plain data with text keys");
        self.records.put(&place, text.into()).await?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(child.id.clone(), child);
        Ok(())
    }
}
