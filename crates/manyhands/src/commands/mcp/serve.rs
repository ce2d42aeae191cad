//! `mcp` without a command: serves a gateway's tools on stdio.
//!
//! Changes of the tools arrive on the stream of `GET /mcp`, which filters them by the rights of this token. The
//! stream is reopened whenever it ends, until the token is no longer valid.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::unfold;
use manyhands_core::Envelope;
use manyhands_gateway::ToolListing;
use manyhands_guard::{Body, Egress, FetchLimits, GatewayClient, HeaderMap, HeaderValue, Method};
use manyhands_mcp_server::{
    Changes, ErrorData, Extensions, Hands, RequestContext, RoleServer, serve_stdio,
};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::commands::call::name;
use crate::context::CliContext;
use crate::remote::Remote;
use manyhands_terminal::output::{self, Done, Failure};

/// Said to a person who starts it by hand.
const AT_TERMINAL: &str = "waiting for an MCP client on standard input; AI clients start this command themselves\n\
    hint: set them up with `manyhands connect`, list MCP servers with `manyhands mcp list`; Ctrl-C leaves";
/// Timeout for opening the stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// A stream silent for this long is dead; the gateway sends a keep-alive every 15 seconds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(45);
/// Maximum lifetime of one stream.
const STREAM_LIFETIME: Duration = Duration::from_secs(30 * 86_400);
/// First and longest delay before the stream is reopened.
const REOPEN_DELAYS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
/// Longest line of the stream.
const MAX_LINE: usize = 64 * 1024;

/// The tools of a gateway.
#[derive(Clone)]
struct RemoteTools {
    remote: Arc<Remote>,
    /// The profile to list; `default` follows the gateway's settings.
    profile: String,
    /// Number of changes since the start of this process.
    changes: watch::Receiver<u64>,
}

impl Hands for RemoteTools {
    async fn list(&self, _: &RequestContext<RoleServer>) -> Result<Vec<ToolListing>, ErrorData> {
        let path = format!("/api/tools?profile={}", name(&self.profile));
        let listed = self.remote.get(&path).await;
        let listed = listed.map_err(|e| ErrorData::internal_error(e.0, None))?;
        serde_json::from_value(listed["tools"].clone())
            .map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }

    async fn call(
        &self,
        tool: String,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Envelope, ErrorData> {
        let path = format!("/api/tools/{}", name(&tool));
        let trace = trace_headers(&context.meta);
        Ok(self.remote.post_with(&path, &arguments, trace).await)
    }

    /// Also reports changes from before the subscription: the client may have listed the tools earlier.
    fn changes(&self, _: &Extensions) -> Result<Changes, ErrorData> {
        let changes = unfold(self.changes.clone(), async |mut changes| {
            changes.changed().await.ok()?;
            Some(((), changes))
        });
        Ok(changes.boxed())
    }
}

/// The trace that the client's request names, for the gateway's request.
fn trace_headers(meta: &Map<String, Value>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for name in ["traceparent", "tracestate"] {
        let value = meta.get(name).and_then(Value::as_str);
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(name, value);
        }
    }
    headers
}

/// Serves until the client closes its end.
pub async fn run(ctx: &CliContext, profile: Option<&str>) -> Done {
    let remote = Arc::new(ctx.remote()?);
    let asked = profile.map(|profile| format!("?profile={}", name(profile)));
    let shown = profile.unwrap_or("default").to_owned();
    // Fails early if the gateway is missing or has no such profile.
    remote
        .get(&format!("/api/tools?profile={}", name(&shown)))
        .await?;
    let feed = ChangeFeed::of(&remote, asked.as_deref().unwrap_or_default())?;
    let (notify, changes) = watch::channel(0);
    // Opened before the client can list tools, so that no change is missed in between.
    let first = feed.open().await;
    let following = tokio::spawn(async move { feed.follow(first, &notify).await });
    if std::io::stdin().is_terminal() {
        output::print_note(AT_TERMINAL);
    }
    let served = serve_stdio(RemoteTools {
        remote,
        profile: shown,
        changes,
    })
    .await;
    following.abort();
    served.map_err(Failure)?;
    Ok(ExitCode::SUCCESS)
}

/// The stream of change notifications.
struct ChangeFeed {
    client: GatewayClient,
    path: String,
    headers: HeaderMap,
}

/// Why a stream could not be opened.
enum FeedError {
    /// The gateway is unreachable or busy; retry.
    Temporary,
    /// The token is not accepted, or there is no such stream.
    Permanent,
}

impl ChangeFeed {
    fn of(remote: &Remote, query: &str) -> Result<Self, Failure> {
        let wrong = |e: &dyn std::fmt::Display| Failure(format!("{}: {e}", remote.url()));
        let client = Egress::gateway(remote.url()).map_err(|e| wrong(&e))?;
        let mut headers = HeaderMap::new();
        if let Some(token) = remote.token() {
            let bearer = HeaderValue::try_from(format!("Bearer {}", token.expose()));
            let mut bearer = bearer.map_err(|e| wrong(&e))?;
            bearer.set_sensitive(true);
            headers.insert("authorization", bearer);
        }
        let said = [
            ("accept", "text/event-stream"),
            // The last version of the protocol with a stream on `GET /mcp`.
            ("mcp-protocol-version", "2025-11-25"),
        ];
        for (name, value) in said {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Ok(Self {
            client,
            path: format!("/mcp{query}"),
            headers,
        })
    }

    async fn open(&self) -> Result<Body, FeedError> {
        let limits = FetchLimits {
            total_timeout: Some(STREAM_LIFETIME),
            max_bytes: Some(u64::MAX),
            ..FetchLimits::default()
        };
        let asked = self
            .client
            .fetch(Method::GET, &self.path, self.headers.clone(), None, limits);
        match timeout(OPEN_TIMEOUT, asked).await {
            Ok(Ok(response)) => match response.status.as_u16() {
                200 => Ok(response.body),
                // 429: no free stream slot; another client may release one.
                429 | 500.. => Err(FeedError::Temporary),
                _ => Err(FeedError::Permanent),
            },
            Ok(Err(_)) | Err(_) => Err(FeedError::Temporary),
        }
    }

    /// Forwards every change, and notifies once more whenever the stream was reopened, because changes in between
    /// were missed.
    async fn follow(&self, first: Result<Body, FeedError>, notify: &watch::Sender<u64>) {
        let (shortest, longest) = REOPEN_DELAYS;
        let (mut opened, mut pause) = (first, shortest);
        loop {
            match opened {
                Ok(body) => {
                    pause = shortest;
                    listen(body, notify).await;
                }
                Err(FeedError::Temporary) => {}
                Err(FeedError::Permanent) => {
                    tracing::warn!(
                        event = "change_feed_refused",
                        "the gateway refused the change feed; tool changes are not reported"
                    );
                    return;
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(longest);
            opened = self.open().await;
            if opened.is_ok() {
                notify.send_modify(|count| *count += 1);
            }
        }
    }
}

/// Forwards the changes of one stream until it ends.
async fn listen(mut body: Body, notify: &watch::Sender<u64>) {
    let mut rest = Vec::new();
    while let Ok(Ok(Some(chunk))) = timeout(IDLE_TIMEOUT, body.chunk()).await {
        rest.extend_from_slice(&chunk);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            if is_change(&line) {
                notify.send_modify(|count| *count += 1);
            }
        }
        // No gateway sends such a line; reading on would only fill memory.
        if rest.len() > MAX_LINE {
            return;
        }
    }
}

/// Returns whether a line is a change notification.
fn is_change(line: &[u8]) -> bool {
    let Some(data) = line.strip_prefix(b"data:") else {
        return false;
    };
    let message: Value = serde_json::from_slice(data).unwrap_or_default();
    message["method"] == "notifications/tools/list_changed"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_notification_is_a_change() {
        let notification = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        let line = |before: &[u8], after: &[u8]| [before, notification, after].concat();
        assert!(is_change(&line(b"data: ", b"\n")));
        assert!(is_change(&line(b"data:", b"\r\n")));
        for other in [
            &line(b"", b"\n")[..],
            b"data:\n",
            b": \n",
            b"id: 7\n",
            b"\n",
        ] {
            assert!(!is_change(other), "{}", String::from_utf8_lossy(other));
        }
    }
}
