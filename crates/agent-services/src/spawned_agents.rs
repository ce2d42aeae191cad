//! Agents that agents made: by whom, from what, and how deep they stand.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use manyhands_agent::{AgentSettings, Minds, ResetPolicy, SessionKey};
use manyhands_core::{AgentId, ErrorCode, Pattern, Timestamp, ToolError};
use manyhands_host::workspace::Author;
use manyhands_llm::{ModelId, Thinking};
use manyhands_store::{Blobs, ObjectKind, Provenance, Store, StoreError, TaintMark};
use object_store::ObjectStoreExt as _;
use object_store::path::Path as Key;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, MutexGuard};

/// Where they are on record: apart from their workspaces, so that none changes its own.
const FOLDER: &str = "kin";
/// Where records of those who went are.
const ARCHIVED: &str = "archives/kin";
/// How many sessions of one are looked at.
const MAX_SESSIONS: u32 = 500;
/// How long a child lives after the last word to it; it can be woken later all the same.
const LIFE: Duration = Duration::from_secs(24 * 3_600);

/// An agent that another made.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Child {
    /// Its id.
    pub id: AgentId,
    /// The agent that spawned it.
    pub parent: AgentId,
    /// The agent of the settings that it goes back to, which pays for it.
    pub root: AgentId,
    /// How many agents stand above it.
    pub depth: u32,
    /// The template it was made from.
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

/// All agents that agents made.
pub struct SpawnedAgents {
    records: Blobs,
    archive: Blobs,
    provenance: Provenance,
    known: RwLock<BTreeMap<AgentId, Child>>,
    making: Mutex<()>,
}

impl SpawnedAgents {
    /// Reads the records.
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

    /// How such an agent is set.
    pub fn settings(&self, id: &AgentId) -> Option<AgentSettings> {
        let settings = self.with(|known| known.get(id).map(Child::settings))?;
        Some(AgentSettings {
            taint: self.provenance.taint(ObjectKind::Agent, id.as_str()),
            ..settings
        })
    }

    /// Notes, before an agent is on record, that it was spawned after untrusted text was read.
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

    /// Their names.
    pub fn names(&self) -> Vec<AgentId> {
        self.with(|known| known.keys().cloned().collect())
    }

    /// How many stand above an agent, and the first of them.
    pub fn place(&self, id: &AgentId) -> (u32, AgentId) {
        let of = |child: &Child| (child.depth, child.root.clone());
        self.with(|known| known.get(id).map_or_else(|| (0, id.clone()), of))
    }

    /// Whether an agent is `ancestor` or was made by it, directly or through others.
    pub fn is_within(&self, id: &AgentId, ancestor: &AgentId) -> bool {
        self.with(|known| {
            let above = |at: &AgentId| known.get(at).map(|child| child.parent.clone());
            std::iter::successors(Some(id.clone()), above).any(|at| at == *ancestor)
        })
    }

    /// Held while a child is counted and made.
    pub async fn making(&self) -> MutexGuard<'_, ()> {
        self.making.lock().await
    }

    /// How many children of an agent were spoken to in the last day, or work now.
    pub async fn living(&self, minds: &Minds, parent: &AgentId, now: Timestamp) -> usize {
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

    /// Lets those go to whom nobody has spoken since `before`, once their own children are gone:
    /// their sessions and records are archived. Their workspaces stay. How many went.
    pub async fn sweep(&self, minds: &Minds, before: Timestamp) -> Result<usize, ToolError> {
        let _making = self.making().await;
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
            let message = format!("the record of {}: {e}", child.id);
            ToolError::new(ErrorCode::Unavailable, message)
        })?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.remove(&child.id);
        Ok(true)
    }

    async fn archive(&self, child: &Child) -> Result<(), StoreError> {
        let text = serde_json::to_vec(child).expect("a record is plain data with text keys");
        let archived = Key::from(format!("{ARCHIVED}/{}.json", child.id));
        self.archive.put(&archived, text.into()).await?;
        let place = Key::from(format!("{FOLDER}/{}.json", child.id));
        Ok(self.records.delete(&place).await?)
    }

    /// Keeps a new one; it is on disk when this returns.
    pub async fn add(&self, child: Child) -> Result<(), StoreError> {
        let place = Key::from(format!("{FOLDER}/{}.json", child.id));
        let text = serde_json::to_vec(&child).expect("a record is plain data with text keys");
        self.records.put(&place, text.into()).await?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(child.id.clone(), child);
        Ok(())
    }
}
