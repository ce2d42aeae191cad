//! Downloads of files from a platform.

use std::time::Duration;

use manyhands_guard::{EgressError, FetchLimits, HeaderMap, Method, Request};

use crate::api::{Api, ApiResponse, failure};
use crate::channel::SendError;

/// Timeout of a download.
const WITHIN: Duration = Duration::from_secs(60);
/// Maximum size of an error response.
const REFUSAL: u64 = 64 * 1024;

/// Downloads a file of at most `most` bytes. It has no effect, so any failure can be retried.
pub(crate) async fn download(
    api: &Api,
    url: String,
    headers: HeaderMap,
    most: u64,
) -> Result<ApiResponse, SendError> {
    let request = Request {
        headers,
        limits: FetchLimits {
            total_timeout: Some(WITHIN),
            max_bytes: Some(most.max(REFUSAL)),
            max_redirects: Some(3),
        },
        ..Request::new(Method::GET, url)
    };
    let response = api.egress().fetch(request).await.map_err(lost)?;
    let (status, headers) = (response.status, response.headers.clone());
    let body = response.bytes().await.map_err(lost)?;
    if status.is_success() && body.len() as u64 > most {
        return Err(too_large());
    }
    Ok(ApiResponse {
        status,
        headers,
        body,
    })
}

fn lost(error: EgressError) -> SendError {
    match error {
        EgressError::TooLarge { .. } => too_large(),
        other => harmless(failure(other)),
    }
}

fn too_large() -> SendError {
    SendError::Never("the file is larger than the limit".to_owned())
}

/// An unknown outcome can be retried if the request has no effect.
pub(crate) fn harmless(error: SendError) -> SendError {
    match error {
        SendError::Unknown(why) => SendError::Later { after: None, why },
        other => other,
    }
}
