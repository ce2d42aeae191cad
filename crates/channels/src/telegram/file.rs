//! Downloads of files.

use bytes::Bytes;
use manyhands_guard::{HeaderMap, StatusCode};
use serde_json::json;

use crate::channel::SendError;
use crate::download::download;
use crate::message::Media;

use super::Telegram;
use super::call::Idempotency;

/// Maximum file size that Telegram offers to bots.
const MOST: u64 = 20 * 1024 * 1024;

impl Telegram {
    /// Requests a file's path and downloads it.
    pub(super) async fn load(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        let most = most.min(MOST);
        if media.size.is_some_and(|size| size > most) {
            return Err(too_large(most));
        }
        let wanted = json!({"file_id": media.id});
        let asked = self.bot.call("getFile", &wanted).await;
        let file = asked.map_err(|error| error.sent(Idempotency::Same))?;
        if file["file_size"].as_u64().is_some_and(|size| size > most) {
            return Err(too_large(most));
        }
        let path = file["file_path"]
            .as_str()
            .and_then(safe)
            .ok_or_else(|| SendError::Never("Telegram did not return the file path".to_owned()))?;
        let url = self.bot.url("file/", &path)?;
        let loaded = download(self.bot.api(), url, HeaderMap::new(), most).await;
        let answer = loaded.map_err(|error| self.bot.hidden(error))?;
        let status = answer.status;
        if status.is_success() {
            return Ok(answer.body);
        }
        let why = format!("the download from Telegram failed ({status})");
        match status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
            true => Err(SendError::Never(why)),
            false => {
                let after = answer.retry_after();
                Err(SendError::Later { after, why })
            }
        }
    }
}

fn too_large(most: u64) -> SendError {
    SendError::Never(format!("the file is larger than {most} bytes"))
}

/// A path below the file folder, encoded for a URL; `None` if it would lead outside.
fn safe(path: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/@+=".contains(c);
    let steps = path.split('/').all(|step| !matches!(step, "" | "." | ".."));
    let good = !path.is_empty() && path.len() <= 1_024 && steps && path.chars().all(plain);
    good.then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_folder_of_files() {
        for path in ["photos/file_1.jpg", "voice/file_22.oga", "a"] {
            assert_eq!(safe(path).as_deref(), Some(path));
        }
        for path in [
            "",
            "/etc/passwd",
            "../getMe",
            "a/../../b",
            "https://evil.example/x",
            "//evil.example/x",
            "a?b",
            "a#b",
            "a%2e%2e",
            "a b",
        ] {
            assert_eq!(safe(path), None, "{path}");
        }
    }
}
