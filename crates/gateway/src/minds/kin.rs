//! Agents that agents made: by whom, from what, and how deep they stand.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use manyhands_agent::{AgentSettings, Minds, ResetPolicy, SessionKey};
use manyhands_core::{AgentId, Pattern, Timestamp, ToolError};
use manyhands_llm::{ModelId, Thinking};
use manyhands_store::{Blobs, ObjectKind, Provenance, Store, StoreError, TaintMark};
use object_store::ObjectStoreExt as _;
use object_store::path::Path as Key;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, MutexGuard};

use crate::workspace::Author;

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
pub(crate) struct Child {
    pub(crate) id: AgentId,
    pub(crate) parent: AgentId,
    /// The agent of the settings that it goes back to, which pays for it.
    pub(crate) root: AgentId,
    pub(crate) depth: u32,
    pub(crate) template: String,
    pub(crate) model: Option<ModelId>,
    pub(crate) thinking: Option<Thinking>,
    pub(crate) tools: Vec<Pattern>,
    pub(crate) prompt: String,
    pub(crate) created: Timestamp,
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
pub(crate) struct Kin {
    records: Blobs,
    archive: Blobs,
    provenance: Provenance,
    known: RwLock<BTreeMap<AgentId, Child>>,
    making: Mutex<()>,
}

impl Kin {
    /// Reads the records.
    pub(crate) async fn open(store: &Store) -> Result<Self, StoreError> {
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
                    tracing::error!(file = %object.location, %error, "the record of an agent cannot be read");
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
    pub(crate) fn settings(&self, id: &AgentId) -> Option<AgentSettings> {
        let settings = self.with(|known| known.get(id).map(Child::settings))?;
        Some(AgentSettings {
            taint: self.provenance.taint(ObjectKind::Agent, id.as_str()),
            ..settings
        })
    }

    /// Notes, before an agent is on record, that it was spawned after untrusted text was read.
    pub(crate) async fn mark(
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
    pub(crate) fn names(&self) -> Vec<AgentId> {
        self.with(|known| known.keys().cloned().collect())
    }

    /// How many stand above an agent, and the first of them.
    pub(crate) fn place(&self, id: &AgentId) -> (u32, AgentId) {
        let of = |child: &Child| (child.depth, child.root.clone());
        self.with(|known| known.get(id).map_or_else(|| (0, id.clone()), of))
    }

    /// Whether an agent is `ancestor` or was made by it, directly or through others.
    pub(crate) fn is_within(&self, id: &AgentId, ancestor: &AgentId) -> bool {
        self.with(|known| {
            let above = |at: &AgentId| known.get(at).map(|child| child.parent.clone());
            std::iter::successors(Some(id.clone()), above).any(|at| at == *ancestor)
        })
    }

    /// Held while a child is counted and made.
    pub(crate) async fn making(&self) -> MutexGuard<'_, ()> {
        self.making.lock().await
    }

    /// How many children of an agent were spoken to in the last day, or work now.
    pub(crate) async fn living(&self, minds: &Minds, parent: &AgentId, now: Timestamp) -> usize {
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
    pub(crate) async fn sweep(&self, minds: &Minds, before: Timestamp) -> Result<usize, ToolError> {
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
            ToolError::from(e).context(format_args!("failed to archive agent {}", child.id))
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
    pub(crate) async fn add(&self, child: Child) -> Result<(), StoreError> {
        let place = Key::from(format!("{FOLDER}/{}.json", child.id));
        let text = serde_json::to_vec(&child).expect("a record is plain data with text keys");
        self.records.put(&place, text.into()).await?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(child.id.clone(), child);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use manyhands_core::{Clock as _, Ids, ManualClock, OsEntropy};

    use super::*;
    use crate::gateway::{Gateway, Options};

    fn child(id: &str, parent: &str, created: Timestamp) -> Child {
        Child {
            id: id.parse().unwrap(),
            parent: parent.parse().unwrap(),
            root: AgentId::main(),
            depth: 1,
            template: "default".to_owned(),
            model: None,
            thinking: None,
            tools: vec![Pattern::new("*")],
            prompt: "help".to_owned(),
            created,
        }
    }

    #[tokio::test]
    async fn whoever_was_long_forgotten_goes_and_leaves_a_record() {
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp(1_794_700_000_000)));
        let gateway = Gateway::open(Options {
            home: home.path().join("home"),
            clock: clock.clone(),
            ids: Ids::new(clock.clone(), Arc::new(OsEntropy)),
            passphrase: None,
            environment: BTreeMap::new(),
            vectors: None,
        });
        let gateway = gateway.await.unwrap();
        let (kin, minds) = (gateway.post().kin.clone(), gateway.minds().clone());
        let made = clock.now();
        for (id, parent) in [("old", "main"), ("old-child", "old"), ("busy", "main")] {
            kin.add(child(id, parent, made)).await.unwrap();
            let key = SessionKey::main(&id.parse().unwrap());
            minds.open(&key).await.unwrap();
        }
        clock.advance(Duration::from_secs(86_400));
        let before = clock.now();
        assert_eq!(kin.sweep(&minds, made).await.unwrap(), 0, "none is old");
        minds
            .open(&SessionKey::main(&"busy".parse().unwrap()))
            .await
            .unwrap();
        assert_eq!(
            kin.sweep(&minds, before).await.unwrap(),
            1,
            "first the child"
        );
        assert_eq!(
            kin.sweep(&minds, before).await.unwrap(),
            1,
            "then who made it"
        );
        assert_eq!(kin.sweep(&minds, before).await.unwrap(), 0);
        let left: Vec<String> = kin.names().iter().map(AgentId::to_string).collect();
        assert_eq!(left, ["busy"], "somebody spoke to it");
        let gone = SessionKey::main(&"old".parse().unwrap());
        assert!(minds.get(&gone).await.is_err());
        let record = Key::from("archives/kin/old.json");
        assert!(gateway.store.blobs().head(&record).await.is_ok());
        let again = Kin::open(&gateway.store).await.unwrap();
        assert_eq!(again.names(), kin.names(), "also after a start");
        gateway.close().await.unwrap();
    }
}
