//! Archives: messages that a model no longer sees, as gzipped JSON lines.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::TryStreamExt as _;
use manyhands_core::ToolError;
use manyhands_store::object_store::{Error, ObjectStoreExt as _, path::Path};
use manyhands_store::{SessionRecord, StoreError, archive_folder};
use serde_json::json;

use crate::conversation::ConversationMessage;
use crate::runtime::MindsInner;

/// Archives messages and returns the archive's path. The path follows from the range of messages, so that archiving the
/// same range again after a crash overwrites the same file.
pub(crate) async fn write(
    minds: &MindsInner,
    session: &SessionRecord,
    messages: &[ConversationMessage],
) -> Result<String, ToolError> {
    let (Some(first), Some(last)) = (messages.first(), messages.last()) else {
        return Ok(String::new());
    };
    let folder = archive_folder(&session.agent, &session.id);
    let place = format!("{folder}/{:010}-{:010}.jsonl.gz", first.seq, last.seq);
    let mut zipped = GzEncoder::new(Vec::new(), Compression::default());
    for one in messages {
        let line = json!({
            "session": session.key,
            "sessionId": session.id,
            "seq": one.seq,
            "turn": one.turn,
            "message": one.message,
        });
        writeln!(zipped, "{line}").map_err(|e| ToolError::internal(e.to_string()))?;
    }
    let bytes = zipped
        .finish()
        .map_err(|e| ToolError::internal(e.to_string()))?;
    let put = minds
        .blobs
        .put(&Path::from(place.as_str()), bytes.into())
        .await;
    put.map_err(StoreError::from)?;
    // Only now: the memory index reads the archive as soon as it learns of it.
    minds.sessions.memory().add_archive(&place);
    Ok(place)
}

/// Removes the archives in a folder; returns how many.
pub(crate) async fn remove(minds: &MindsInner, folder: &str) -> Result<usize, StoreError> {
    let mut archives = minds.blobs.list(Some(&Path::from(folder)));
    let mut places = Vec::new();
    while let Some(archive) = archives.try_next().await? {
        places.push(archive.location);
    }
    for place in &places {
        match minds.blobs.delete(place).await {
            // Another attempt may have removed it already.
            Ok(()) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // Last: until then the folder stays on the list of folders to remove after a restart.
    minds.sessions.archive_removed(folder).await?;
    Ok(places.len())
}
