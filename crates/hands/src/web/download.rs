//! Downloads straight to disk: never whole in memory, and complete or absent at the destination.

use bytes::Bytes;
use manyhands_guard::{Body, Egress, EgressError, EntryKind, Jail, JailError, RelPath, WriteMode};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::auth::AuthProfile;
use super::fetch::{FetchError, send, text_of};
use super::html::one_line;
use super::request::FetchRequest;

/// Default maximum size: 100 MiB.
pub const DOWNLOAD_LIMIT: u64 = 100 * 1024 * 1024;
/// Chunks in flight from the network to the disk.
const IN_FLIGHT: usize = 4;
const MAX_EXCERPT: usize = 300;

/// A completed download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    /// Its path inside the jail.
    pub path: RelPath,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// Its content type, as sent.
    pub content_type: Option<String>,
    /// The response status.
    pub status: u16,
    /// Its URL, after redirects.
    pub url: String,
}

/// A step of writing the file. Without [`WriteStep::Done`] it never appears.
enum WriteStep {
    Piece(Bytes),
    Done,
}

/// Saves the response to `request` at `path` in `jail`, creating missing directories. An existing file is
/// kept unless the complete response arrived with a success status and within `request.max_bytes`.
pub async fn download(
    egress: &Egress,
    request: FetchRequest,
    profile: Option<&AuthProfile>,
    jail: &Jail,
    path: &RelPath,
) -> Result<Downloaded, FetchError> {
    // Before the request: a POST must not take effect if its response has nowhere to go.
    check_target(jail.clone(), path.clone()).await?;
    let limit = request.max_bytes;
    let answer = send(egress, request, profile).await?;
    let status = answer.status.as_u16();
    let mut body = answer.body;
    if !answer.status.is_success() {
        let excerpt = excerpt(&mut body).await;
        return Err(FetchError::Status { status, excerpt });
    }
    // A declared size over the limit fails before the transfer instead of after `limit` bytes.
    let declared = text_of(&answer.headers, "content-length");
    if declared.is_some_and(|length| length.parse().is_ok_and(|length: u64| length > limit)) {
        return Err(FetchError::TooLarge { limit });
    }
    let (bytes, sha256) = save(&mut body, limit, jail.clone(), path.clone()).await?;
    Ok(Downloaded {
        path: path.clone(),
        bytes,
        sha256,
        content_type: text_of(&answer.headers, "content-type"),
        status,
        url: answer.final_url.into(),
    })
}

/// Checks the destination before a request with effects is sent.
async fn check_target(jail: Jail, path: RelPath) -> Result<(), FetchError> {
    if path.is_root() {
        return Err(JailError::IsDirectory.into());
    }
    let found = tokio::task::spawn_blocking(move || jail.metadata(&path));
    match lost(found.await)?? {
        Some(meta) if meta.kind == EntryKind::Dir => Err(JailError::IsDirectory.into()),
        Some(meta) if meta.kind == EntryKind::Other => Err(JailError::NotRegular.into()),
        _ => Ok(()),
    }
}

/// Dropped midway, it stops the writer, and nothing appears.
async fn save(
    body: &mut Body,
    limit: u64,
    jail: Jail,
    path: RelPath,
) -> Result<(u64, String), FetchError> {
    let (steps, taken) = mpsc::channel(IN_FLIGHT);
    let writer = tokio::task::spawn_blocking(move || write(&jail, &path, taken));
    let pumped = pump(body, limit, steps).await;
    // Also after a failure: the temporary file is gone when this returns.
    let digest = lost(writer.await)?;
    let size = pumped?;
    let ended = digest?.ok_or_else(|| FetchError::Lost("the writer stopped early".to_owned()));
    Ok((size, ended?))
}

/// The network side: number of bytes received.
async fn pump(
    body: &mut Body,
    limit: u64,
    steps: mpsc::Sender<WriteStep>,
) -> Result<u64, FetchError> {
    let mut size = 0;
    loop {
        let step = match body.chunk().await {
            Ok(Some(chunk)) => WriteStep::Piece(chunk),
            Ok(None) => WriteStep::Done,
            Err(EgressError::TooLarge { limit }) => return Err(FetchError::TooLarge { limit }),
            Err(error) => return Err(error.into()),
        };
        let last = matches!(step, WriteStep::Done);
        if let WriteStep::Piece(chunk) = &step {
            size += chunk.len() as u64;
            if size > limit {
                return Err(FetchError::TooLarge { limit });
            }
        }
        // A writer that has stopped reports its error when joined.
        if steps.send(step).await.is_err() || last {
            return Ok(size);
        }
    }
}

/// The disk side: the digest of what was written, or `None` if the end never came.
fn write(
    jail: &Jail,
    path: &RelPath,
    mut steps: mpsc::Receiver<WriteStep>,
) -> Result<Option<String>, JailError> {
    let mut file = jail.begin_write(path)?;
    let mut digest = Sha256::new();
    while let Some(step) = steps.blocking_recv() {
        match step {
            WriteStep::Piece(bytes) => {
                digest.update(&bytes);
                file.write_all(&bytes)?;
            }
            WriteStep::Done => {
                // Only here: without `Done` the file is dropped and its temporary removed.
                file.commit(WriteMode::Overwrite)?;
                return Ok(Some(hex::encode(digest.finalize())));
            }
        }
    }
    Ok(None)
}

/// The beginning of an error response.
async fn excerpt(body: &mut Body) -> String {
    let first = body.chunk().await.ok().flatten().unwrap_or_default();
    let text = one_line(&String::from_utf8_lossy(&first[..first.len().min(2048)]));
    text[..text.floor_char_boundary(MAX_EXCERPT)].to_owned()
}

fn lost<T>(joined: Result<T, tokio::task::JoinError>) -> Result<T, FetchError> {
    joined.map_err(|error| FetchError::Lost(error.to_string()))
}

#[cfg(test)]
mod tests;
