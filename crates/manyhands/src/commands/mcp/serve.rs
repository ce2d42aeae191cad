//! `mcp` by itself: the tools of a gateway over standard input and output.
//!
//! What the gateway tells of changes comes on the stream of its `GET /mcp`, which looks at them
//! with the rights of this token. The stream is opened anew when it ends, until the token no
//! longer holds.

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
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::commands::call::name;
use crate::ground::Ground;
use crate::output::{Done, Failure};
use crate::remote::Remote;

/// How long the stream may take to open.
const OPEN_WITHIN: Duration = Duration::from_secs(10);
/// A stream that is silent for this long is gone; the gateway says something every 15 seconds.
const DEAD: Duration = Duration::from_secs(45);
/// How long one stream is followed, if nothing ends it before.
const FOLLOWED: Duration = Duration::from_secs(30 * 86_400);
/// How long to wait before the stream is opened again, at first and at the most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
/// The longest line that is kept to be understood.
const MAX_LINE: usize = 64 * 1024;

/// A gateway elsewhere.
#[derive(Clone)]
struct There {
    remote: Arc<Remote>,
    /// What is shown; as the gateway's settings say unless named.
    profile: String,
    /// Counts the changes since this process began.
    changes: watch::Receiver<u64>,
}

impl Hands for There {
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
        _: &RequestContext<RoleServer>,
    ) -> Result<Envelope, ErrorData> {
        Ok(self
            .remote
            .post(&format!("/api/tools/{}", name(&tool)), &arguments)
            .await)
    }

    /// What changed before the client asked is told too: nobody knows what it saw by then.
    fn changes(&self, _: &Extensions) -> Result<Changes, ErrorData> {
        let changes = unfold(self.changes.clone(), async |mut changes| {
            changes.changed().await.ok()?;
            Some(((), changes))
        });
        Ok(changes.boxed())
    }
}

/// Serves until the client closes its end.
pub async fn run(ground: &Ground, profile: Option<&str>) -> Done {
    let remote = Arc::new(ground.remote()?);
    let asked = profile.map(|profile| format!("?profile={}", name(profile)));
    let shown = profile.unwrap_or("default").to_owned();
    // A gateway that is not there, or has no such profile, is said at once.
    remote
        .get(&format!("/api/tools?profile={}", name(&shown)))
        .await?;
    let feed = Feed::of(&remote, asked.as_deref().unwrap_or_default())?;
    let (tell, changes) = watch::channel(0);
    // It is open before the client can list anything, so that no change falls in between.
    let first = feed.open().await;
    let following = tokio::spawn(async move { feed.follow(first, &tell).await });
    let served = serve_stdio(There {
        remote,
        profile: shown,
        changes,
    })
    .await;
    following.abort();
    served.map_err(Failure)?;
    Ok(ExitCode::SUCCESS)
}

/// Where the gateway tells of changes.
struct Feed {
    client: GatewayClient,
    path: String,
    headers: HeaderMap,
}

/// Why there is no stream.
enum Closed {
    /// The gateway does not answer, or has no room for one.
    ForNow,
    /// It does not take this token, or has no such stream.
    ForGood,
}

impl Feed {
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

    async fn open(&self) -> Result<Body, Closed> {
        let limits = FetchLimits {
            total_timeout: Some(FOLLOWED),
            max_bytes: Some(u64::MAX),
            ..FetchLimits::default()
        };
        let asked = self
            .client
            .fetch(Method::GET, &self.path, self.headers.clone(), None, limits);
        match timeout(OPEN_WITHIN, asked).await {
            Ok(Ok(response)) => match response.status.as_u16() {
                200 => Ok(response.body),
                429 | 500.. => Err(Closed::ForNow),
                _ => Err(Closed::ForGood),
            },
            Ok(Err(_)) | Err(_) => Err(Closed::ForNow),
        }
    }

    /// Tells every change, and once more whenever the stream had to be opened anew: what
    /// happened meanwhile is not known.
    async fn follow(&self, first: Result<Body, Closed>, tell: &watch::Sender<u64>) {
        let (shortest, longest) = PAUSES;
        let (mut opened, mut pause) = (first, shortest);
        loop {
            match opened {
                Ok(body) => {
                    pause = shortest;
                    listen(body, tell).await;
                }
                Err(Closed::ForNow) => {}
                Err(Closed::ForGood) => {
                    tracing::warn!("the gateway does not tell this token of changes of the tools");
                    return;
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(longest);
            opened = self.open().await;
            if opened.is_ok() {
                tell.send_modify(|count| *count += 1);
            }
        }
    }
}

/// Tells the changes on one stream, until it ends.
async fn listen(mut body: Body, tell: &watch::Sender<u64>) {
    let mut rest = Vec::new();
    while let Ok(Ok(Some(chunk))) = timeout(DEAD, body.chunk()).await {
        rest.extend_from_slice(&chunk);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            if is_change(&line) {
                tell.send_modify(|count| *count += 1);
            }
        }
        if rest.len() > MAX_LINE {
            return;
        }
    }
}

/// Whether a line of the stream is the notification.
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
        let told = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        let line = |before: &[u8], after: &[u8]| [before, told, after].concat();
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
