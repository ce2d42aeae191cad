//! Artifacts as scripts name and read them.

use manyhands_core::{ArtifactId, ErrorCode, ToolError};
use manyhands_hands::documents::may_be_document;
use manyhands_store::{ArtifactFilter, ArtifactRecord};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{ArtifactReader, ArtifactStore};

/// The most artifacts searched for a name.
const MAX_LOOKED: u32 = 1_000;

impl ArtifactStore {
    /// Finds an artifact by id, link or file name: the newest of that name, those of `chat` first.
    pub async fn named(
        &self,
        identifier: &str,
        chat: Option<&str>,
        reader: &ArtifactReader,
    ) -> Result<ArtifactRecord, ToolError> {
        let shown: String = identifier.chars().take(100).collect();
        let absent = || {
            ToolError::not_found(format!("there is no artifact {shown:?}"))
                .hint("name it by its id, its URL or its file name")
        };
        if let Some(id) = id_of(identifier) {
            let record = self.store.get(id).await?;
            // Same error for a foreign artifact as for an unknown one.
            let record = record.filter(|record| Self::is_of(record, reader));
            return record.ok_or_else(absent);
        }
        if let Some(chat) = chat
            && let Some(chat) = self.chat(chat, reader).await?
        {
            let own = self.list(Some(chat), reader, MAX_LOOKED, 0).await?;
            if let Some(found) = own.into_iter().find(|record| record.name == identifier) {
                return Ok(found);
            }
        }
        let filter = ArtifactFilter {
            agent: Some(reader.agent.clone()),
            caller: (!reader.caller.is_owner()).then(|| reader.caller.key()),
            chat: None,
        };
        let all = self.store.list(&filter, MAX_LOOKED, 0).await;
        let mut all = all?.into_iter();
        all.find(|record| record.name == identifier)
            .ok_or_else(absent)
    }

    /// Returns whether an artifact belongs to this reader.
    fn is_of(record: &ArtifactRecord, reader: &ArtifactReader) -> bool {
        let own = reader.caller.is_owner() || record.caller == reader.caller.key();
        own && record.agent == reader.agent
    }

    /// The whole text of an artifact, decoded or extracted, with known secrets removed.
    pub async fn text(
        &self,
        record: &ArtifactRecord,
        cancel: &CancellationToken,
    ) -> Result<String, ToolError> {
        let mut source = self.source(record).await?;
        if may_be_document(source.head().await?, &record.name) {
            let document = self.document(record, false, cancel).await;
            let named = |mut error: ToolError| {
                error.message = format!("{}: {}", record.name, error.message);
                error
            };
            source = document.map_err(named)?.1;
        } else if !source.is_text().await? {
            let message = format!("{} is not text ({})", record.name, record.mime);
            return Err(ToolError::new(ErrorCode::Failed, message));
        }
        source.all(usize::MAX).await.map(|(text, _)| text)
    }
}

fn id_of(identifier: &str) -> Option<ArtifactId> {
    let plain = identifier.strip_prefix("artifact:").unwrap_or(identifier);
    let direct = plain.parse().ok();
    direct.or_else(|| {
        let url = Url::parse(identifier).ok()?;
        let last = url.path_segments()?.next_back()?.to_owned();
        url.path()
            .contains("/artifacts/")
            .then(|| last.parse().ok())?
    })
}
