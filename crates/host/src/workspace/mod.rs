//! Workspaces: one tree of files per agent in the blob store, with the global skills visible under
//! `skills/`.

mod stream;

use std::collections::BTreeSet;
use std::sync::Arc;

use manyhands_config::Settings;
use manyhands_core::{AgentId, CallContext, Caller, Clock, ErrorCode, Taint, Timestamp, ToolError};
use manyhands_guard::RelPath;
use manyhands_store::{Blobs, ObjectKind, Provenance, Store, StoreError, TaintMark};
use object_store::path::Path as Key;
use object_store::{
    Attribute, AttributeValue, GetResult, ObjectMeta, ObjectStoreExt, PutMode, PutOptions,
    UpdateVersion,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::settings::LiveSettings;

pub use stream::{OpenFile, Upload};

/// The directory in which global skills are visible.
const SKILLS: &str = "skills";

/// Which copy of a skill was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SkillSource {
    /// The agent's own copy.
    Agent,
    /// The one beside the agents, shared by all.
    Global,
}

/// A file that was read.
#[derive(Debug)]
pub struct WorkspaceFile {
    /// Its text.
    pub text: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written.
    pub modified: Option<Timestamp>,
    /// Its key in the blob store.
    pub key: String,
    /// Under `skills/`: which copy this is.
    pub skill: Option<SkillSource>,
    /// The untrusted text its author had read.
    pub taint: Taint,
    version: Option<String>,
}

impl WorkspaceFile {
    /// The write mode that fails if the file changed since it was read.
    fn unless_changed(&self) -> PutMode {
        match self.skill {
            // The global file is only visible here; the agent has no copy yet.
            Some(SkillSource::Global) => PutMode::Create,
            _ => PutMode::Update(UpdateVersion {
                e_tag: self.version.clone(),
                version: None,
            }),
        }
    }
}

/// The version of a text for clients: its hash.
pub fn version(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is at a path.
#[derive(Debug)]
pub enum WorkspaceEntry {
    /// A file.
    File(WorkspaceFile),
    /// A directory.
    Directory {
        /// Files in it, as paths from the workspace root.
        files: Vec<String>,
        /// Directories in it, as paths from the workspace root, each ending in "/".
        directories: Vec<String>,
        /// The untrusted text the authors of its files had read.
        taint: Taint,
    },
}

/// The author of a file, and what they had read.
#[derive(Debug, Clone)]
pub struct Author {
    /// The name shown to the owner.
    pub name: String,
    /// The untrusted text read before. Callers other than the owner are untrusted themselves.
    pub taint: Taint,
}

impl Author {
    /// The author of a call.
    pub fn of(context: &CallContext) -> Self {
        let Caller {
            principal, actor, ..
        } = &*context.caller;
        let name = match actor {
            Some(actor) => format!("{actor} for {principal}"),
            None => principal.to_string(),
        };
        let stranger = Taint::when(!context.caller.is_owner(), principal.to_string());
        Self {
            name,
            taint: context.taint.clone().or(&stranger),
        }
    }

    /// The same author of a copy, with the taint of the original.
    #[must_use]
    pub fn copying(mut self, from: &Taint) -> Self {
        self.taint.absorb(from);
        self
    }
}

/// The result of a write.
pub struct Written {
    /// The size in bytes.
    pub size: u64,
    /// The content type, from the extension.
    pub content_type: &'static str,
}

/// The agent whose workspace an agent uses: its own, unless the settings name another.
pub fn tree_of(settings: &Settings, agent: &AgentId) -> AgentId {
    let said = settings.agents.get(agent);
    let tree = said.and_then(|said| said.workspace.clone());
    tree.unwrap_or_else(|| agent.clone())
}

/// The workspaces of all agents.
#[derive(Clone)]
pub struct Workspace {
    blobs: Blobs,
    provenance: Provenance,
    clock: Arc<dyn Clock>,
    settings: LiveSettings,
}

impl Workspace {
    /// The workspaces of a store.
    pub fn new(store: &Store, clock: Arc<dyn Clock>, settings: LiveSettings) -> Self {
        Self {
            blobs: store.blobs().clone(),
            provenance: store.provenance().clone(),
            clock,
            settings,
        }
    }

    /// The agent whose tree an agent uses.
    fn tree(&self, agent: &AgentId) -> AgentId {
        tree_of(&self.settings.current(), agent)
    }

    /// Returns the file or directory at `path`; "/" is the root.
    pub async fn find(&self, agent: &AgentId, path: &str) -> Result<WorkspaceEntry, ToolError> {
        let place = WorkspacePath::parse(&self.tree(agent), path)?;
        if !place.means_directory
            && let Some(file) = self.read(&place).await?
        {
            return Ok(WorkspaceEntry::File(file));
        }
        self.list(&place).await
    }

    /// Writes a whole file into the agent's own tree. With `seen`, only if the present text has
    /// that version; an empty `seen` means only if no file exists.
    pub async fn write(
        &self,
        agent: &AgentId,
        path: &str,
        text: String,
        seen: Option<&str>,
        author: &Author,
    ) -> Result<Written, ToolError> {
        let place = WorkspacePath::of_file(&self.tree(agent), path)?;
        let size = text.len() as u64;
        let mode = match seen {
            None => PutMode::Overwrite,
            Some(seen) => match self.read(&place).await? {
                None if seen.is_empty() => PutMode::Create,
                Some(file) if version(&file.text) == seen => file.unless_changed(),
                found => return Err(place.not_as_seen(found.is_some(), seen)),
            },
        };
        // Marked as tainted before the write and cleared after it: a crash in between leaves a
        // trusted file marked, never an untrusted one unmarked.
        self.mark(&place, author).await?;
        if let Err(error) = self.put(&place, text, mode).await {
            return Err(self.not_a_file(&place).await.unwrap_or(error));
        }
        self.unmark(&place, author).await;
        Ok(Written {
            size,
            content_type: content_type(&place.path),
        })
    }

    /// Reads a file, changes its text and writes it into the agent's own tree. Fails if it changed
    /// in between. Returns the file as read.
    pub async fn rewrite(
        &self,
        agent: &AgentId,
        path: &str,
        author: &Author,
        change: impl FnOnce(&str) -> Result<String, ToolError> + Send,
    ) -> Result<WorkspaceFile, ToolError> {
        let place = WorkspacePath::of_file(&self.tree(agent), path)?;
        let Some(file) = self.read(&place).await? else {
            return Err(self.no_file(&place).await);
        };
        let changed = change(&file.text)?;
        // The parts that were not replaced stay tainted: an edit by someone trusted clears nothing.
        let author = author.clone().copying(&file.taint);
        self.mark(&place, &author).await?;
        self.put(&place, changed, file.unless_changed()).await?;
        Ok(file)
    }

    /// Deletes a file of the agent's own tree.
    pub async fn delete(&self, agent: &AgentId, path: &str) -> Result<(), ToolError> {
        let place = WorkspacePath::of_file(&self.tree(agent), path)?;
        let (blobs, key) = (self.own(&place)?, place.own_key()?);
        match blobs.head(&key).await {
            Ok(_) => {
                blobs.delete(&key).await.map_err(|e| place.failed(e))?;
                self.clear(&key).await;
                Ok(())
            }
            Err(object_store::Error::NotFound { .. }) => {
                // A global skill looks like a file of the agent, so say why it cannot be deleted
                // here.
                let shared = match place.global_key()? {
                    Some(global) => self.skills(&place)?.head(&global).await.is_ok(),
                    None => false,
                };
                Err(if shared {
                    place.missing().hint(
                        "this is a global skill; only the agent's own copies can be deleted here",
                    )
                } else {
                    self.no_file(&place).await
                })
            }
            Err(error) => Err(place.failed(error)),
        }
    }

    /// Returns whether a file exists at `path`.
    pub async fn has_file(&self, agent: &AgentId, path: &str) -> bool {
        let Ok(place) = WorkspacePath::of_file(&self.tree(agent), path) else {
            return false;
        };
        match (self.own(&place), place.own_key()) {
            (Ok(blobs), Ok(key)) => blobs.head(&key).await.is_ok(),
            _ => false,
        }
    }

    /// The error for a missing file, which says so if there is a directory.
    async fn no_file(&self, place: &WorkspacePath) -> ToolError {
        let directory = self.not_a_file(place).await;
        directory.unwrap_or_else(|| place.missing())
    }

    /// The error if there is a directory at a path.
    async fn not_a_file(&self, place: &WorkspacePath) -> Option<ToolError> {
        self.list(place).await.ok().map(|_| place.is_directory())
    }

    /// The untrusted text that the author of a file had read.
    pub fn taint_of(&self, agent: &AgentId, path: &str) -> Taint {
        let key = WorkspacePath::of_file(&self.tree(agent), path).and_then(|place| place.own_key());
        key.map_or(Taint::NONE, |key| {
            self.provenance.taint(ObjectKind::File, key.as_ref())
        })
    }

    /// Records, before a file is written, that its author had read untrusted text.
    async fn mark(&self, place: &WorkspacePath, author: &Author) -> Result<(), ToolError> {
        let Some(source) = author.taint.source() else {
            return Ok(());
        };
        let mark = TaintMark {
            kind: ObjectKind::File,
            id: place.own_key()?.to_string(),
            author: author.name.clone(),
            source: source.to_owned(),
            at: self.clock.now(),
        };
        let marked = self.provenance.mark(mark).await;
        marked.map_err(|e| ToolError::new(ErrorCode::Failed, format!("{}: {e}", place.asked)))
    }

    /// Clears the mark of a file that a trusted author wrote as a whole.
    async fn unmark(&self, place: &WorkspacePath, author: &Author) {
        if let (false, Ok(key)) = (author.taint.is_tainted(), place.own_key()) {
            self.clear(&key).await;
        }
    }

    async fn clear(&self, key: &Key) {
        // Not fatal: the mark stays, and the owner is asked once more.
        if let Err(error) = self.provenance.clear(ObjectKind::File, key.as_ref()).await {
            tracing::warn!(event = "provenance_clear_failed", file = %key, %error, "failed to clear the provenance of a file");
        }
    }

    async fn read(&self, place: &WorkspacePath) -> Result<Option<WorkspaceFile>, ToolError> {
        let skill = place.global_key()?.is_some();
        let own = place.own_key()?;
        if let Some(found) = get(&self.own(place)?, place, &own).await? {
            return self
                .text(place, found, &own, skill.then_some(SkillSource::Agent))
                .await
                .map(Some);
        }
        let Some(global) = place.global_key()? else {
            return Ok(None);
        };
        match get(&self.skills(place)?, place, &global).await? {
            Some(found) => self
                .text(place, found, &global, Some(SkillSource::Global))
                .await
                .map(Some),
            None => Ok(None),
        }
    }

    /// The blobs of the agent's own tree, and no others.
    fn own(&self, place: &WorkspacePath) -> Result<Blobs, ToolError> {
        let tree = Key::parse(format!("agents/{}", place.agent)).map_err(|e| place.refused(e))?;
        self.blobs.scoped(&tree).map_err(|e| place.failed(e))
    }

    /// The blobs of the global skills.
    fn skills(&self, place: &WorkspacePath) -> Result<Blobs, ToolError> {
        let scoped = self.blobs.scoped(&Key::from(SKILLS));
        scoped.map_err(|e| place.failed(e))
    }

    async fn text(
        &self,
        place: &WorkspacePath,
        found: GetResult,
        key: &Key,
        skill: Option<SkillSource>,
    ) -> Result<WorkspaceFile, ToolError> {
        let ObjectMeta {
            size,
            last_modified,
            e_tag,
            ..
        } = found.meta.clone();
        // Checked before the bytes are read, so that a huge file cannot fill the memory.
        let limit = self.settings.current().limits.artifact_bytes;
        if size > limit {
            let message = format!(
                "{} has {size} bytes; at most {limit} are read at once",
                place.asked
            );
            return Err(ToolError::new(ErrorCode::TooLarge, message)
                .hint("the owner can raise limits.artifact_bytes"));
        }
        let bytes = found.bytes().await.map_err(|e| place.failed(e))?;
        let text = String::from_utf8(bytes.into()).map_err(|_| {
            ToolError::new(
                ErrorCode::Failed,
                format!("{} is not UTF-8 text ({size} bytes)", place.asked),
            )
        })?;
        Ok(WorkspaceFile {
            text,
            size,
            modified: Some(Timestamp(last_modified.timestamp_millis())),
            key: key.to_string(),
            skill,
            taint: self.provenance.taint(ObjectKind::File, key.as_ref()),
            version: e_tag,
        })
    }

    async fn put(
        &self,
        place: &WorkspacePath,
        text: String,
        mode: PutMode,
    ) -> Result<(), ToolError> {
        let key = place.own_key()?;
        let mut options = PutOptions::from(mode);
        let kind = AttributeValue::from(content_type(&place.path));
        options.attributes.insert(Attribute::ContentType, kind);
        let put = self.own(place)?.put_opts(&key, text.into(), options).await;
        put.map(drop).map_err(|e| place.failed(e))
    }

    async fn list(&self, place: &WorkspacePath) -> Result<WorkspaceEntry, ToolError> {
        let own = place.own_key()?;
        let (mut files, mut directories) = entries(&self.own(place)?, place, &own).await?;
        if place.path.is_root() {
            let global = Key::from(SKILLS);
            let shared = entries(&self.skills(place)?, place, &global).await?;
            if !shared.0.is_empty() || !shared.1.is_empty() {
                directories.insert(format!("{SKILLS}/"));
            }
        } else if place.is_skill() {
            let global = Key::parse(place.path.as_str()).map_err(|e| place.refused(e))?;
            let shared = entries(&self.skills(place)?, place, &global).await?;
            files.extend(shared.0);
            directories.extend(shared.1);
        }
        // Object stores have no empty folders: what has no entries does not exist, except for these
        // two.
        let always_there = place.path.is_root() || place.path.as_str() == SKILLS;
        if files.is_empty() && directories.is_empty() && !always_there {
            return Err(place.missing());
        }
        let below = match place.path.is_root() {
            true => format!("agents/{}/", place.agent),
            false => format!("{own}/"),
        };
        Ok(WorkspaceEntry::Directory {
            files: files.into_iter().collect(),
            directories: directories.into_iter().collect(),
            taint: self.provenance.taint_below(ObjectKind::File, &below),
        })
    }
}

async fn get(
    blobs: &Blobs,
    place: &WorkspacePath,
    key: &Key,
) -> Result<Option<GetResult>, ToolError> {
    match blobs.get(key).await {
        Ok(found) => Ok(Some(found)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(place.failed(error)),
    }
}

/// Files and directories directly under `prefix`, as paths from the workspace root.
async fn entries(
    blobs: &Blobs,
    place: &WorkspacePath,
    prefix: &Key,
) -> Result<(BTreeSet<String>, BTreeSet<String>), ToolError> {
    let listed = blobs.list_with_delimiter(Some(prefix)).await;
    let listed = listed.map_err(|e| place.failed(e))?;
    let shown = |key: &Key| {
        let below = key
            .as_ref()
            .strip_prefix(prefix.as_ref())
            .unwrap_or(key.as_ref());
        let below = below.trim_start_matches('/');
        if place.path.is_root() {
            below.to_owned()
        } else {
            format!("{}/{below}", place.path.as_str())
        }
    };
    let files = listed.objects.iter();
    let files = files.map(|object| shown(&object.location)).collect();
    let directories = listed.common_prefixes.iter();
    let directories = directories.map(|key| format!("{}/", shown(key))).collect();
    Ok((files, directories))
}

/// A parsed path.
struct WorkspacePath {
    agent: AgentId,
    asked: String,
    path: RelPath,
    means_directory: bool,
}

impl WorkspacePath {
    fn parse(agent: &AgentId, asked: &str) -> Result<Self, ToolError> {
        let means_directory = asked.is_empty() || asked.ends_with('/');
        let relative = if asked == "/" { "" } else { asked };
        let path =
            RelPath::parse(relative).map_err(|e| ToolError::parameter("path", e.to_string()))?;
        Ok(Self {
            agent: agent.clone(),
            asked: asked.to_owned(),
            means_directory: means_directory || path.is_root(),
            path,
        })
    }

    fn of_file(agent: &AgentId, asked: &str) -> Result<Self, ToolError> {
        let place = Self::parse(agent, asked)?;
        if place.means_directory || place.path.as_str() == SKILLS {
            return Err(place.is_directory());
        }
        Ok(place)
    }

    fn is_directory(&self) -> ToolError {
        let message = format!("must name a file, and '{}' is a directory", self.asked);
        ToolError::parameter("path", message)
            .hint("name a file inside it; gsv__ReadFile lists what is there")
    }

    fn is_skill(&self) -> bool {
        self.path
            .components()
            .next()
            .is_some_and(|first| first == SKILLS)
    }

    fn own_key(&self) -> Result<Key, ToolError> {
        let key = format!("agents/{}/{}", self.agent, self.path.as_str());
        Key::parse(key).map_err(|e| self.refused(e))
    }

    /// The key of the global skill, for paths below `skills/`.
    fn global_key(&self) -> Result<Option<Key>, ToolError> {
        if !self.is_skill() || self.path.as_str() == SKILLS {
            return Ok(None);
        }
        Key::parse(self.path.as_str())
            .map(Some)
            .map_err(|e| self.refused(e))
    }

    fn missing(&self) -> ToolError {
        let hint = "list what is there with gsv__ReadFile on the directory";
        ToolError::not_found(format!("file not found: {}", self.asked)).hint(hint)
    }

    /// The error for a file that changed since the caller read it.
    fn not_as_seen(&self, there: bool, seen: &str) -> ToolError {
        let (what, hint) = match (there, seen.is_empty()) {
            (true, true) => ("already exists", "open it, or choose another name"),
            (true, false) => ("changed since it was read", "read it again"),
            (false, _) => (
                "was deleted since it was read",
                "write it without ifVersion",
            ),
        };
        ToolError::new(ErrorCode::Conflict, format!("{} {what}", self.asked))
            .hint(format!("{hint}; nothing was written"))
    }

    fn refused(&self, error: impl std::fmt::Display) -> ToolError {
        ToolError::parameter("path", error.to_string())
    }

    fn failed(&self, error: object_store::Error) -> ToolError {
        match error {
            object_store::Error::Precondition { .. }
            | object_store::Error::AlreadyExists { .. } => {
                let message = format!("{} changed while it was being edited", self.asked);
                ToolError::new(ErrorCode::Conflict, message)
                    .hint("read it again and repeat the edit; nothing was written")
            }
            error => {
                let refused = ToolError::from(StoreError::from(error));
                match refused.code {
                    ErrorCode::StorageFull | ErrorCode::BudgetExceeded => {
                        refused.hint(format!("{} was not changed", self.asked))
                    }
                    _ => {
                        let message = format!("{}: {}", self.asked, refused.message);
                        ToolError::new(ErrorCode::Failed, message)
                    }
                }
            }
        }
    }
}

/// Normalises a `path` argument: no `.` and no doubled slashes. An invalid path is left for the
/// tool to reject.
pub fn canonical_path(mut arguments: Value) -> Value {
    if let Some(Value::String(path)) = arguments.get_mut("path")
        && path != "/"
        && let Ok(parsed) = RelPath::parse(path)
    {
        let slash = if path.ends_with('/') && !parsed.is_root() {
            "/"
        } else {
            ""
        };
        *path = if parsed.is_root() {
            "/".to_owned()
        } else {
            format!("{}{slash}", parsed.as_str())
        };
    }
    arguments
}

/// The content type by extension.
pub fn content_type(path: &RelPath) -> &'static str {
    match path.extension() {
        Some("md") => "text/markdown",
        Some("json") => "application/json",
        Some("yaml" | "yml") => "text/yaml",
        _ => "text/plain",
    }
}
