//! Archives: what a session no longer shows, as gzipped lines of JSON.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use manyhands_core::{ErrorCode, ToolError};
use manyhands_store::object_store::{ObjectStoreExt as _, path::Path};
use manyhands_store::{SessionRecord, StoreError};
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
    let place = format!(
        "archives/{}/{}/{:010}-{:010}.jsonl.gz",
        session.agent, session.id, first.seq, last.seq
    );
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
    put.map_err(|error| match StoreError::from(error) {
        StoreError::Full => ToolError::new(ErrorCode::StorageFull, "the disk is full"),
        other => ToolError::new(ErrorCode::Unavailable, other.to_string()),
    })?;
    minds.sessions.memory().archived(&place);
    Ok(place)
}
