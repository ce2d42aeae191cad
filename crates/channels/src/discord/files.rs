//! Downloads of attachments.

use std::time::Duration;

use bytes::Bytes;
use manyhands_guard::{EgressError, FetchLimits, HeaderMap, Method, Request, StatusCode};
use url::Url;

use super::Discord;
use crate::api::{ApiResponse, failure};
use crate::channel::SendError;
use crate::message::Media;

/// Timeout of a download.
const WITHIN: Duration = Duration::from_secs(120);

impl Discord {
    /// Downloads an attachment from Discord's file hosts only. No token is sent: the URL itself is
    /// signed.
    pub(super) async fn download(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        if media.size.is_some_and(|size| size > most) {
            return Err(too_large(most));
        }
        let url = Url::parse(&media.id)
            .map_err(|_| SendError::Never("the file URL is invalid".to_owned()))?;
        let known = |from: &Url| from.origin() == url.origin();
        if !self.account.files.iter().any(known) {
            return Err(SendError::Never(
                "the file is not on a Discord host".to_owned(),
            ));
        }
        let request = Request {
            method: Method::GET,
            url: url.to_string(),
            headers: HeaderMap::new(),
            body: None,
            limits: FetchLimits {
                total_timeout: Some(WITHIN),
                max_bytes: Some(most),
                max_redirects: Some(0),
            },
        };
        // Downloads have no effect, so they can always be retried.
        let failed = |error| match error {
            EgressError::TooLarge { .. } => too_large(most),
            EgressError::Redirects { .. } => SendError::Never(error.to_string()),
            error => match failure(error) {
                SendError::Unknown(why) => SendError::Later { after: None, why },
                error => error,
            },
        };
        let response = self.api.egress().fetch(request).await.map_err(failed)?;
        let (status, headers) = (response.status, response.headers.clone());
        let body = response.bytes().await.map_err(failed)?;
        let answer = ApiResponse {
            status,
            headers,
            body,
        };
        match status {
            _ if status.is_success() => Ok(answer.body),
            StatusCode::TOO_MANY_REQUESTS => Err(SendError::Later {
                after: answer.retry_after(),
                why: "rate limited by Discord".to_owned(),
            }),
            _ if status.is_server_error() => Err(SendError::Later {
                after: None,
                why: format!("Discord failed ({status})"),
            }),
            _ => Err(SendError::Never(format!(
                "Discord no longer has the file ({status}); ask for it to be sent again"
            ))),
        }
    }
}

fn too_large(most: u64) -> SendError {
    SendError::Never(format!("the file is larger than {most} bytes"))
}
