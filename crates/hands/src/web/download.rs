//! A body straight to disk: never whole in memory, and whole or absent in its place.

use bytes::Bytes;
use manyhands_guard::{Body, Egress, EgressError, Jail, JailError, Kind, RelPath, WriteMode};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::auth::AuthProfile;
use super::fetch::{FetchError, send, text_of};
use super::html::one_line;
use super::request::FetchRequest;

/// How large a download may be where nobody says: 100 MiB.
pub const DOWNLOAD_LIMIT: u64 = 100 * 1024 * 1024;
/// Pieces on their way from the network to the disk.
const IN_FLIGHT: usize = 4;
const MAX_EXCERPT: usize = 300;

/// What was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    /// Where, inside the jail.
    pub path: RelPath,
    /// How much.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// Its content type, as the server wrote it.
    pub content_type: Option<String>,
    /// The status of the answer.
    pub status: u16,
    /// Where it came from, after redirects.
    pub url: String,
}

/// One step of the file being written. Without [`Step::Done`] it never appears.
enum Step {
    Piece(Bytes),
    Done,
}

/// Saves the answer to `asked` at `path` in `jail`, creating the directories above it.
/// What was there before stays unless the whole answer arrived with a good status and in
/// no more than `asked.max_bytes`.
pub async fn download(
    egress: &Egress,
    asked: FetchRequest,
    profile: Option<&AuthProfile>,
    jail: &Jail,
    path: &RelPath,
) -> Result<Downloaded, FetchError> {
    check_target(jail.clone(), path.clone()).await?;
    let limit = asked.max_bytes;
    let answer = send(egress, asked, profile).await?;
    let status = answer.status.as_u16();
    let mut body = answer.body;
    if !answer.status.is_success() {
        let excerpt = excerpt(&mut body).await;
        return Err(FetchError::Status { status, excerpt });
    }
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

/// Sees early, before a request with effects is sent, that there is no place for its answer.
async fn check_target(jail: Jail, path: RelPath) -> Result<(), FetchError> {
    if path.is_root() {
        return Err(JailError::IsDirectory.into());
    }
    let found = tokio::task::spawn_blocking(move || jail.metadata(&path));
    match lost(found.await)?? {
        Some(meta) if meta.kind == Kind::Dir => Err(JailError::IsDirectory.into()),
        Some(meta) if meta.kind == Kind::Other => Err(JailError::NotRegular.into()),
        _ => Ok(()),
    }
}

/// Dropped in the middle, it takes the writer with it, and nothing appears.
async fn save(
    body: &mut Body,
    limit: u64,
    jail: Jail,
    path: RelPath,
) -> Result<(u64, String), FetchError> {
    let (steps, taken) = mpsc::channel(IN_FLIGHT);
    let writer = tokio::task::spawn_blocking(move || write(&jail, &path, taken));
    let pumped = pump(body, limit, steps).await;
    // Also after a failure: the half-written file is gone when this returns.
    let digest = lost(writer.await)?;
    let size = pumped?;
    let ended = digest?.ok_or_else(|| FetchError::Lost("the writer stopped early".to_owned()));
    Ok((size, ended?))
}

/// The network's half: how much arrived.
async fn pump(body: &mut Body, limit: u64, steps: mpsc::Sender<Step>) -> Result<u64, FetchError> {
    let mut size = 0;
    loop {
        let step = match body.chunk().await {
            Ok(Some(chunk)) => Step::Piece(chunk),
            Ok(None) => Step::Done,
            Err(EgressError::TooLarge { limit }) => return Err(FetchError::TooLarge { limit }),
            Err(error) => return Err(error.into()),
        };
        let last = matches!(step, Step::Done);
        if let Step::Piece(chunk) = &step {
            size += chunk.len() as u64;
            if size > limit {
                return Err(FetchError::TooLarge { limit });
            }
        }
        // A writer that has gone says why when it is asked.
        if steps.send(step).await.is_err() || last {
            return Ok(size);
        }
    }
}

/// The disk's half: the digest of what was written, or `None` where the end never came.
fn write(
    jail: &Jail,
    path: &RelPath,
    mut steps: mpsc::Receiver<Step>,
) -> Result<Option<String>, JailError> {
    let mut file = jail.begin_write(path)?;
    let mut digest = Sha256::new();
    while let Some(step) = steps.blocking_recv() {
        match step {
            Step::Piece(bytes) => {
                digest.update(&bytes);
                file.write_all(&bytes)?;
            }
            Step::Done => {
                file.commit(WriteMode::Overwrite)?;
                return Ok(Some(hex(&digest.finalize())));
            }
        }
    }
    Ok(None)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// How a refusal begins, for whoever has to understand it.
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
