//! File uploads and downloads.

use std::time::Duration;

use bytes::Bytes;
use manyhands_guard::{EgressError, FetchLimits, HeaderMap, Method, Request};
use serde_json::json;
use url::Url;

use super::send::again;
use super::{Slack, render};
use crate::api::{Api, failure};
use crate::channel::{SendError, SendReceipt};
use crate::message::Media;

/// Timeout of a transfer.
const WITHIN: Duration = Duration::from_secs(300);
/// Maximum response to an upload.
const ANSWER: u64 = 64 * 1024;
/// Maximum length of a file name.
const NAME: usize = 200;

impl Slack {
    /// Uploads a file: requests an upload URL, sends the content, and then shares it. Until the last step
    /// nobody sees it, so all earlier steps can be retried.
    pub(super) async fn upload(
        &self,
        chat: &str,
        thread: Option<&str>,
        (name, mime, bytes): (&str, &str, Bytes),
        caption: Option<&str>,
    ) -> Result<SendReceipt, SendError> {
        if bytes.is_empty() {
            return Err(SendError::Never(
                "Slack does not accept empty files".to_owned(),
            ));
        }
        let name = plain(name);
        // Invisible until completed, so an unknown outcome can be retried.
        let id = self.put(&name, mime, bytes).await.map_err(again)?;
        let files = json!([{ "id": id, "title": name }]).to_string();
        let caption = caption.map(render::mrkdwn).unwrap_or_default();
        let mut fields = vec![("files", files.as_str()), ("channel_id", chat)];
        if !caption.trim().is_empty() {
            fields.push(("initial_comment", &caption));
        }
        if let Some(thread) = thread {
            fields.push(("thread_ts", thread));
        }
        self.post("files.completeUploadExternal", &fields).await?;
        // Slack does not report the message that shows it.
        Ok(SendReceipt::default())
    }

    async fn put(&self, name: &str, mime: &str, bytes: Bytes) -> Result<String, SendError> {
        let length = bytes.len().to_string();
        let fields = [("filename", name), ("length", &length)];
        let said = self.post("files.getUploadURLExternal", &fields).await?;
        let (Some(url), Some(id)) = (said["upload_url"].as_str(), said["file_id"].as_str()) else {
            let why = "Slack returned no upload URL".to_owned();
            return Err(SendError::Later { after: None, why });
        };
        if !self.is_slacks(url) {
            return Err(foreign());
        }
        let body = Some((mime.to_owned(), bytes));
        let put = self.api.send_within(
            Method::POST,
            url.to_owned(),
            HeaderMap::new(),
            body,
            WITHIN,
            ANSWER,
        );
        let answer = put.await?;
        if answer.status.is_success() {
            return Ok(id.to_owned());
        }
        let why = format!("Slack rejected the upload ({})", answer.status);
        match answer.status.is_client_error() && answer.status.as_u16() != 429 {
            true => Err(SendError::Never(why)),
            false => Err(SendError::Later {
                after: answer.retry_after(),
                why,
            }),
        }
    }

    /// The content of a file, by URL or by id.
    pub(super) async fn download(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        // Before any request: the size is known from the event.
        if media.size.is_some_and(|size| size > most) {
            return Err(too_large(most));
        }
        let address = match media.id.contains("://") {
            true => media.id.clone(),
            false => self.address(&media.id).await?,
        };
        if !self.is_slacks(&address) {
            return Err(foreign());
        }
        let request = Request {
            headers: Api::bearer(&self.account.token)?,
            limits: FetchLimits {
                total_timeout: Some(WITHIN),
                max_bytes: Some(most),
                max_redirects: Some(3),
            },
            ..Request::get(address)
        };
        let failed = |error| match error {
            EgressError::TooLarge { limit } => too_large(limit),
            other => again(failure(other)),
        };
        let answer = self.api.egress().fetch(request).await.map_err(failed)?;
        match answer.status.as_u16() {
            200 => {}
            401 | 403 | 404 => {
                return Err(SendError::Never(format!(
                    "Slack refused the download ({}); the app may lack the scope `files:read`",
                    answer.status
                )));
            }
            status => {
                return Err(SendError::Later {
                    after: None,
                    why: format!("the download from Slack failed ({status})"),
                });
            }
        }
        let kind = answer.headers.get("content-type");
        let page = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        let expected = media
            .mime
            .as_deref()
            .is_some_and(|mime| mime.starts_with("text/html"));
        if page && !expected {
            // Without the scope to read files, Slack redirects to a login page.
            return Err(SendError::Never(
                "Slack returned a web page instead of the file; add the scope `files:read` to the app"
                    .to_owned(),
            ));
        }
        answer.bytes().await.map_err(failed)
    }

    /// The URL of a file of which only the id is known, as in channels shared between workspaces.
    async fn address(&self, id: &str) -> Result<String, SendError> {
        let said = self.get("files.info", &[("file", id)]).await;
        let said = said.map_err(SendError::from).map_err(again)?;
        let file = &said["file"];
        let address = file["url_private_download"].as_str();
        let address = address.or_else(|| file["url_private"].as_str());
        address
            .map(str::to_owned)
            .ok_or_else(|| SendError::Never("Slack did not return the file URL".to_owned()))
    }

    /// Whether a URL is Slack's own: our token is sent nowhere else.
    pub(super) fn is_slacks(&self, address: &str) -> bool {
        let Ok(url) = Url::parse(address) else {
            return false;
        };
        let api = &self.account.api;
        if url.origin() == api.origin() {
            return true;
        }
        let (Some(host), Some(home)) = (url.domain(), api.domain()) else {
            return false;
        };
        // `evilslack.com` must not pass for a subdomain.
        let below = host
            .strip_suffix(home)
            .is_some_and(|rest| rest.ends_with('.'));
        url.scheme() == "https" && url.port().is_none() && (host == home || below)
    }
}

fn foreign() -> SendError {
    SendError::Never(
        "the file is not hosted by Slack, and our token is sent nowhere else".to_owned(),
    )
}

fn too_large(most: u64) -> SendError {
    SendError::Never(format!("the file is larger than {most} bytes"))
}

/// A file name without path separators.
fn plain(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let fit = |c: &char| !c.is_control();
    let name: String = last.chars().filter(fit).take(NAME).collect();
    if name.trim().is_empty() {
        "file".to_owned()
    } else {
        name
    }
}
