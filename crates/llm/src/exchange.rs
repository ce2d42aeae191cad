//! One HTTP exchange with a provider: request, streamed response, timeouts.

use std::time::Duration;

use bytes::Bytes;
use manyhands_core::{Clock, Secret};
use manyhands_guard::{EgressError, FetchLimits, Method, Response, SseParser};
use manyhands_telemetry::inject_headers;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::draft::{On, ReplyDraft};
use crate::error::{ErrorKind, Fault};
use crate::provider::{HttpEndpoint, Secrets};
use crate::status;
use crate::wire::{Decoder, Prepared};

/// Maximum size of a reply.
const MAX_REPLY: u64 = 64 * 1024 * 1024;
/// Maximum size of other responses, such as lists and errors.
const MAX_OTHER: u64 = 8 * 1024 * 1024;

/// Maximum event size: the largest event is a complete tool call.
pub(crate) const MAX_EVENT: usize = 16 * 1024 * 1024;

/// Timeouts of an exchange.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExchangeTimeouts {
    /// Until the first byte.
    pub(crate) first: Duration,
    /// Between bytes.
    pub(crate) between: Duration,
    /// In total.
    pub(crate) total: Duration,
}

/// What an exchange needs besides the endpoint.
pub(crate) struct ExchangeContext<'a> {
    pub(crate) secrets: &'a dyn Secrets,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) timeouts: ExchangeTimeouts,
}

/// Sends `prepared` and fills `draft` from the response.
pub(crate) async fn stream(
    endpoint: &HttpEndpoint,
    prepared: Prepared,
    decoder: &mut dyn Decoder,
    draft: &mut ReplyDraft,
    on: On<'_>,
    context: &ExchangeContext<'_>,
) -> Result<(), Fault> {
    // Read for each request: the owner may have replaced the key meanwhile.
    let (mut headers, used) = within(context, endpoint.headers(context.secrets)).await??;
    inject_headers(&mut headers);
    // A reply may take minutes: release the JSON tree as soon as it is serialized.
    let Prepared { path, body, .. } = prepared;
    let text = Bytes::from(body.to_string());
    drop(body);
    let work = async {
        // One deadline for both attempts: a resend must not double the time until the first byte.
        let deadline = Instant::now() + context.timeouts.first;
        let body = text;
        let send = || {
            let limits = limits(context, MAX_REPLY);
            let (headers, body) = (headers.clone(), Some(body.clone()));
            let sent = endpoint
                .client
                .fetch(Method::POST, &path, headers, body, limits);
            timeout_at(deadline, sent)
        };
        let late = |_| timed_out(context.timeouts.first);
        let mut answer = send().await.map_err(late)?;
        // A pooled connection may be closed just as it is reused. That says nothing about the server, so
        // the request is sent once more. No byte of a reply has been seen, so nothing is repeated.
        if answer.as_ref().is_err_and(is_stale_connection) {
            answer = send().await.map_err(late)?;
        }
        let answer = answer.map_err(|error| egress_fault(&error))?;
        drop(body);
        let answer = expect_stream(answer, deadline, context).await?;
        read(answer, deadline, decoder, draft, on, context).await
    };
    let done = within(context, work).await?;
    done.map_err(|fault| redacted(fault, &used))
}

/// Fetches `path` as JSON.
pub(crate) async fn get(
    endpoint: &HttpEndpoint,
    path: &str,
    context: &ExchangeContext<'_>,
) -> Result<Value, Fault> {
    let (headers, used) = within(context, endpoint.headers(context.secrets)).await??;
    let work = async {
        let sent =
            endpoint
                .client
                .fetch(Method::GET, path, headers, None, limits(context, MAX_OTHER));
        let deadline = Instant::now() + context.timeouts.first;
        let answer = timeout_at(deadline, sent)
            .await
            .map_err(|_| timed_out(context.timeouts.first))?;
        let answer = answer.map_err(|error| egress_fault(&error))?;
        let (status, headers) = (answer.status, answer.headers.clone());
        let body = read_body(answer, deadline).await?;
        if !status.is_success() {
            return Err(status::of_answer(
                status,
                &headers,
                &body,
                context.clock.now(),
            ));
        }
        serde_json::from_slice(&body).map_err(Fault::garbage)
    };
    let done = within(context, work).await?;
    done.map_err(|fault| redacted(fault, &used))
}

/// The result of `work`, unless the caller cancels first.
async fn within<T>(
    context: &ExchangeContext<'_>,
    work: impl Future<Output = T>,
) -> Result<T, Fault> {
    tokio::select! {
        // Biased: a cancelled request must not return a result that the caller no longer expects.
        biased;
        () = context.cancel.cancelled() => Err(Fault::cancelled()),
        done = work => Ok(done),
    }
}

fn limits(context: &ExchangeContext<'_>, max_bytes: u64) -> FetchLimits {
    FetchLimits {
        total_timeout: Some(context.timeouts.total),
        max_bytes: Some(max_bytes),
        max_redirects: None,
    }
}

/// The response, if it can be a streamed reply.
async fn expect_stream(
    answer: Response,
    deadline: Instant,
    context: &ExchangeContext<'_>,
) -> Result<Response, Fault> {
    let (status, headers) = (answer.status, answer.headers.clone());
    let kind = headers.get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
    // Some servers report an error as JSON with status 200 where a stream was expected.
    let json = kind.starts_with("application/json");
    if status.is_success() && !json {
        return Ok(answer);
    }
    // An error response that is itself cut off still has its status.
    let body = read_body(answer, deadline).await.unwrap_or_default();
    if !status.is_success() {
        return Err(status::of_answer(
            status,
            &headers,
            &body,
            context.clock.now(),
        ));
    }
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    match value.get("error").filter(|error| !error.is_null()) {
        Some(error) => Err(status::of_event(error)),
        None => Err(Fault::garbage("a single document instead of a stream")),
    }
}

/// The body of a response that is not a reply.
async fn read_body(mut answer: Response, deadline: Instant) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    loop {
        let next = timeout_at(deadline, answer.body.chunk()).await;
        match next.map_err(|_| timed_out(Duration::ZERO))? {
            Ok(Some(chunk)) if body.len() as u64 + chunk.len() as u64 <= MAX_OTHER => {
                body.extend_from_slice(&chunk);
            }
            Ok(_) => return Ok(body),
            Err(error) => return Err(egress_fault(&error)),
        }
    }
}

/// Reads events until the reply is complete.
async fn read(
    mut answer: Response,
    first: Instant,
    decoder: &mut dyn Decoder,
    draft: &mut ReplyDraft,
    on: On<'_>,
    context: &ExchangeContext<'_>,
) -> Result<(), Fault> {
    let mut parser = SseParser::new(MAX_EVENT);
    let mut deadline = first;
    let mut limit = context.timeouts.first;
    loop {
        let end = match timeout_at(deadline, answer.body.chunk()).await {
            Ok(Ok(Some(chunk))) => {
                // The reply may be complete before the server closes the stream; waiting for the
                // close would delay every reply.
                decode(&mut parser, &chunk, decoder, draft, on)?;
                if draft.ended {
                    return Ok(());
                }
                // The first byte may take long (queueing, prompt processing); after it, silence is suspicious.
                limit = context.timeouts.between;
                deadline = Instant::now() + limit;
                continue;
            }
            Ok(Ok(None)) => None,
            Ok(Err(error)) => Some(stream_fault(&error)),
            Err(_) => Some(timed_out(limit)),
        };
        // Some formats have no end marker: what arrived may be complete.
        decoder.end(draft);
        return match end {
            Some(fault) if !draft.ended => Err(fault),
            _ => Ok(()),
        };
    }
}

/// Passes the events that `chunk` completes to `decoder`.
pub(crate) fn decode(
    parser: &mut SseParser,
    chunk: &[u8],
    decoder: &mut dyn Decoder,
    draft: &mut ReplyDraft,
    on: On<'_>,
) -> Result<(), Fault> {
    let events = parser
        .push(chunk)
        .map_err(|_| Fault::garbage("one event is larger than 16 MiB"))?;
    for event in events {
        // Lossy: one broken character in a text must not cost the whole reply.
        decoder.event(&String::from_utf8_lossy(&event.data), draft, on)?;
    }
    Ok(())
}

fn timed_out(limit: Duration) -> Fault {
    let seconds = limit.as_secs_f32();
    Fault::new(
        ErrorKind::Silent,
        format!("sent nothing for {seconds} seconds"),
    )
}

fn egress_fault(error: &EgressError) -> Fault {
    let text = error.to_string();
    let message = text.lines().next().unwrap_or_default();
    let kind = match error {
        EgressError::Connect { .. } | EgressError::Lookup { .. } => ErrorKind::Unreachable,
        EgressError::TimedOut(_) => ErrorKind::Silent,
        EgressError::TooLarge { .. } => ErrorKind::Garbage,
        EgressError::Http(_) => ErrorKind::Cut,
        _ => ErrorKind::NotConfigured,
    };
    Fault::new(kind, message)
}

/// Whether the server closed the connection instead of responding.
fn is_stale_connection(error: &EgressError) -> bool {
    let EgressError::Http(reason) = error else {
        return false;
    };
    // The HTTP client has no structured error for this, only these texts.
    ["closed", "reset", "roken pipe"]
        .iter()
        .any(|word| reason.contains(word))
}

/// An error while a reply arrives.
fn stream_fault(error: &EgressError) -> Fault {
    match error {
        EgressError::Connect { .. } | EgressError::Http(_) => Fault::cut(),
        error => egress_fault(error),
    }
}

/// `fault` without secrets that the provider may have echoed.
fn redacted(mut fault: Fault, used: &[Secret]) -> Fault {
    for secret in used.iter().filter(|secret| !secret.expose().is_empty()) {
        // Some providers quote the key in their error message.
        fault.message = fault.message.replace(secret.expose().trim(), "***");
    }
    fault
}
