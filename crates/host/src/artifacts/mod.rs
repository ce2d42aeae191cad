//! Artifacts as tools, scripts and people see them: chats, links and access.
//!
//! A chat is a bucket of artifacts. It is visible to the caller that created it and to the owner,
//! for the agent that created it or the one it was created for. For everyone else it does not
//! exist, with the same error as an id that never existed. Large results that were stored whole are
//! in no chat; they are read under the name `results`.

mod link;
mod name;
pub mod reading;
mod script;

pub use link::DownloadLinks;
pub use name::{FileType, check_name, mime_by_name};

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use futures_util::Stream;
use manyhands_core::{
    AgentId, ArtifactId, CallContext, CallId, Caller, ChatId, Clock, ErrorCode, Timestamp,
    ToolError,
};
use manyhands_guard::Redactor;
use manyhands_path::artifact_room;
use manyhands_store::{
    ArtifactFilter, ArtifactRecord, Artifacts, Bucket, DiskWatch, NewArtifact, Store, StoreError,
};
use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::settings::LiveSettings;
use reading::{Documents, Extracted, TextSource};

/// The pseudo chat of large results.
pub const RESULTS: &str = "results";

/// The agent that the spec names as the default; it stands for the caller's own agent.
const DEFAULT_AGENT: &str = "system-coworker-agent";

/// Who accesses artifacts, and for which agent.
#[derive(Debug, Clone)]
pub struct ArtifactReader {
    /// The caller.
    pub caller: Arc<Caller>,
    /// The agent it is for.
    pub agent: AgentId,
    /// The call that accesses them.
    pub call: CallId,
}

impl From<&CallContext> for ArtifactReader {
    fn from(context: &CallContext) -> Self {
        Self {
            caller: context.caller.clone(),
            agent: context.agent.clone(),
            call: context.call,
        }
    }
}

/// A file that was kept, as a tool says it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptFile {
    /// Its id.
    id: ArtifactId,
    /// Where it can be downloaded without a token, for a while.
    url: String,
    /// Until when that works, RFC 3339.
    url_expires: String,
    /// Its name.
    filename: String,
    /// Its media type.
    mime_type: String,
    /// Its size in bytes.
    size: u64,
    /// The chat it is in: pass it on to read or list it.
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_id: Option<ChatId>,
}

/// The artifacts of a gateway. Cheap to clone.
#[derive(Clone)]
pub struct ArtifactStore {
    /// The stored artifacts.
    pub store: Artifacts,
    /// Signed download links.
    pub links: DownloadLinks,
    /// Removes known secrets from texts.
    pub redactor: Arc<ArcSwap<Redactor>>,
    /// The free-space watch.
    pub disk: DiskWatch,
    documents: Documents,
    settings: LiveSettings,
    clock: Arc<dyn Clock>,
}

impl ArtifactStore {
    /// The artifacts of `store`.
    pub fn new(
        store: &Store,
        settings: LiveSettings,
        redactor: Arc<ArcSwap<Redactor>>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            store: store.artifacts().clone(),
            links: DownloadLinks::new(store.vault(), clock.clone()),
            redactor,
            disk: store.disk().clone(),
            documents: Documents::default(),
            settings,
            clock,
        }
    }

    /// The bucket of a new file: the named chat, or a new one for the named agent.
    pub async fn bucket(
        &self,
        chat: Option<&str>,
        agent: Option<&str>,
        reader: &ArtifactReader,
    ) -> Result<Bucket, ToolError> {
        if let Some(chat) = chat {
            return match self.chat(chat, reader).await? {
                Some(chat) => Ok(Bucket::Chat(chat)),
                None => Err(ToolError::parameter(
                    "chatId",
                    "artifacts cannot be written to the results chat",
                )),
            };
        }
        let named = agent.filter(|agent| *agent != DEFAULT_AGENT);
        let named = named.map(str::parse::<AgentId>).transpose();
        let named = named.map_err(|e| ToolError::parameter("agentId", e.to_string()))?;
        Ok(Bucket::New(named.unwrap_or_else(|| reader.agent.clone())))
    }

    /// Resolves a chat; `None` means the large results.
    pub async fn chat(
        &self,
        text: &str,
        reader: &ArtifactReader,
    ) -> Result<Option<ChatId>, ToolError> {
        if text == RESULTS {
            return Ok(None);
        }
        let shown: String = text.chars().take(64).collect();
        let absent = || {
            ToolError::not_found(format!("there is no chat {shown:?}")).hint(
                "use the chatId returned when an artifact was written, or \"results\" for large results",
            )
        };
        let id: ChatId = text.parse().map_err(|_| absent())?;
        let chat = self.store.chat(id).await?;
        let chat = chat.ok_or_else(absent)?;
        // The same error for a foreign chat as for an unknown one: ids must not be probed.
        let own = reader.caller.is_owner() || chat.caller == reader.caller.key();
        let for_agent = [&chat.agent, &chat.maker].contains(&&reader.agent);
        match own && for_agent {
            true => Ok(Some(id)),
            false => Err(absent()),
        }
    }

    /// Finds an artifact, in `chat` if one is named. Without one it is searched everywhere under
    /// the same conditions: in a chat that the reader can see, or among the reader's own large
    /// results.
    pub async fn find(
        &self,
        file: &str,
        chat: Option<&str>,
        reader: &ArtifactReader,
    ) -> Result<ArtifactRecord, ToolError> {
        let shown: String = file.chars().take(64).collect();
        let place = if chat.is_some() { " in this chat" } else { "" };
        let absent = || {
            ToolError::not_found(format!("there is no artifact {shown:?}{place}"))
                .hint("list artifacts with gateway_list_artifacts")
        };
        let chat = match chat {
            Some(chat) => Some(self.chat(chat, reader).await?),
            None => None,
        };
        let plain = file.strip_prefix("artifact:").unwrap_or(file);
        let id: ArtifactId = plain.parse().map_err(|_| absent())?;
        let record = self.store.get(id).await?;
        let record = record
            .filter(|record| chat.is_none_or(|chat| record.chat == chat))
            .ok_or_else(absent)?;
        let readable = match record.chat {
            None => Self::may_read(&record, reader),
            Some(_) if chat.is_some() => true,
            Some(own) => self.chat(&own.to_string(), reader).await.is_ok(),
        };
        readable.then_some(record).ok_or_else(absent)
    }

    /// Returns whether a large result belongs to this reader.
    fn may_read(record: &ArtifactRecord, reader: &ArtifactReader) -> bool {
        let own = reader.caller.is_owner() || record.caller == reader.caller.key();
        own && record.agent == reader.agent
    }

    /// Lists artifacts of a chat, newest first.
    pub async fn list(
        &self,
        chat: Option<ChatId>,
        reader: &ArtifactReader,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<ArtifactRecord>, ToolError> {
        let mut filter = ArtifactFilter {
            chat: Some(chat),
            ..ArtifactFilter::default()
        };
        if chat.is_none() {
            filter.agent = Some(reader.agent.clone());
            filter.caller = (!reader.caller.is_owner()).then(|| reader.caller.key());
        }
        let listed = self.store.list(&filter, limit, offset).await;
        listed.map_err(ToolError::from)
    }

    /// Stores a file, all of it or nothing.
    pub async fn store(
        &self,
        name: &str,
        mime: &str,
        bucket: Bucket,
        reader: &ArtifactReader,
        content: impl Stream<Item = Result<Bytes, StoreError>> + Send,
    ) -> Result<ArtifactRecord, StoreError> {
        let new = NewArtifact {
            name: name.to_owned(),
            mime: mime.to_owned(),
            agent: reader.agent.clone(),
            call: reader.call,
            caller: reader.caller.key(),
            bucket,
            expires: self.expires(),
            quota: artifact_room(&self.settings.current().limits, reader.caller.is_owner()),
        };
        // Before the first byte is stored: a full disk must not stop what the owner does to free
        // it.
        self.disk.admit(reader.caller.is_owner())?;
        self.store.put_stream(new, content).await
    }

    /// Opens a file for reading, with known secrets removed.
    pub async fn source(&self, record: &ArtifactRecord) -> Result<TextSource, ToolError> {
        let bytes = self.store.open(record.id, None).await;
        let bytes = bytes?;
        Ok(TextSource::new(bytes, &self.redactor.load()))
    }

    /// The text of a document, and the same as a source with known secrets removed.
    pub async fn document(
        &self,
        record: &ArtifactRecord,
        html: bool,
        cancel: &CancellationToken,
    ) -> Result<(Extracted, TextSource), ToolError> {
        if record.size > reading::MAX_DOCUMENT {
            let message = format!(
                "it has {} bytes; at most {} can be read as a document",
                record.size,
                reading::MAX_DOCUMENT
            );
            return Err(ToolError::new(ErrorCode::TooLarge, message));
        }
        let bytes = self.store.open(record.id, None).await;
        let bytes = bytes?;
        let read = self.documents.read(&record.sha256, html, bytes, cancel);
        let extracted = read.await?;
        let source = TextSource::of_text(extracted.text.clone(), &self.redactor.load());
        Ok((extracted, source))
    }

    /// The largest file accepted, in bytes.
    pub fn most(&self) -> u64 {
        self.settings.current().limits.artifact_file_bytes
    }

    fn expires(&self) -> Option<Timestamp> {
        let days = self.settings.current().limits.artifact_kept_days;
        let kept = Duration::from_secs(u64::from(days) * 86_400);
        (days > 0).then(|| self.clock.now().plus(kept))
    }

    /// The description of a stored file for tool results.
    pub fn describe(&self, record: ArtifactRecord) -> KeptFile {
        let (url, until) = self.link(record.id);
        KeptFile {
            id: record.id,
            url,
            url_expires: until.rfc3339(),
            filename: record.name,
            mime_type: record.mime,
            size: record.size,
            chat_id: record.chat,
        }
    }

    /// A link to download an artifact without a token, and when it expires.
    pub fn link(&self, id: ArtifactId) -> (String, Timestamp) {
        let settings = self.settings.current();
        let minutes = u64::from(settings.limits.artifact_url_minutes);
        let good = Duration::from_secs(minutes * 60);
        self.links.make(id, good, settings.public_url.as_deref())
    }
}
