//! Fetching a file from a platform.

use std::time::Duration;

use manyhands_guard::{EgressError, FetchLimits, HeaderMap, Method, Request};

use crate::api::{Answer, Api, failure};
use crate::channel::SendError;

/// How long a file may take.
const WITHIN: Duration = Duration::from_secs(60);
/// How much of a refusal is read, however small the file may be.
const REFUSAL: u64 = 64 * 1024;

/// Asks for a file of at most `most` bytes. Nothing is changed by that, so that whatever goes wrong
/// on the way can be tried again.
pub(crate) async fn download(
    api: &Api,
    url: String,
    headers: HeaderMap,
    most: u64,
) -> Result<Answer, SendError> {
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
    Ok(Answer {
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
    SendError::Never("the file is larger than what is taken".to_owned())
}

/// What an unknown end means where nothing can have arrived.
pub(crate) fn harmless(error: SendError) -> SendError {
    match error {
        SendError::Unknown(why) => SendError::Later { after: None, why },
        other => other,
    }
}
