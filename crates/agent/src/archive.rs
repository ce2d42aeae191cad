//! Archives: what a session no longer shows, as gzipped lines of JSON.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::TryStreamExt as _;
use manyhands_core::ToolError;
use manyhands_store::object_store::{Error, ObjectStoreExt as _, path::Path};
use manyhands_store::{SessionRecord, StoreError, archive_folder};
use serde_json::json;

use crate::conversation::Said;
use crate::minds::Inner;

/// Keeps what was said, and says where. Keeping the same part again keeps it once.
pub(crate) async fn keep(
    minds: &Inner,
    session: &SessionRecord,
    said: &[Said],
) -> Result<String, ToolError> {
    let (Some(first), Some(last)) = (said.first(), said.last()) else {
        return Ok(String::new());
    };
    let folder = archive_folder(&session.agent, &session.id);
    let place = format!("{folder}/{:010}-{:010}.jsonl.gz", first.seq, last.seq);
    let mut zipped = GzEncoder::new(Vec::new(), Compression::default());
    for one in said {
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
    minds.sessions.memory().archived(&place);
    Ok(place)
}

/// Removes the archives in a folder; how many there were.
pub(crate) async fn remove(minds: &Inner, folder: &str) -> Result<usize, StoreError> {
    let mut archives = minds.blobs.list(Some(&Path::from(folder)));
    let mut places = Vec::new();
    while let Some(archive) = archives.try_next().await? {
        places.push(archive.location);
    }
    for place in &places {
        match minds.blobs.delete(place).await {
            Ok(()) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    minds.sessions.removed(folder).await?;
    Ok(places.len())
}
