//! Receiving: Socket Mode, and waiting for webhooks.

use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use manyhands_core::Secret;
use manyhands_guard::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::Slack;
use crate::backoff::Backoff;
use crate::channel::{ChannelError, ConnectionStatus, EventSink, SendError};
use crate::socket::{self, Frame, MOST, PlatformSocket};
use crate::webhook_setup;

/// Timeout of Slack's hello on a new socket.
const HELLO: Duration = Duration::from_secs(20);
/// Silence after which a socket is pinged, and then given up.
const PING_AFTER: Duration = Duration::from_secs(30);
/// How long an old socket is still read after its replacement.
const DRAIN: Duration = Duration::from_secs(30);
/// Timeout of writing an acknowledgement.
const WRITE: Duration = Duration::from_secs(10);

/// A Socket Mode envelope.
#[derive(Debug, Deserialize)]
struct Envelope {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    envelope_id: Option<String>,
    #[serde(default)]
    payload: Value,
    #[serde(default)]
    reason: Option<String>,
}

/// Why receiving ended.
#[derive(Debug)]
pub(super) enum DisconnectReason {
    /// Retrying is pointless.
    Refused(String),
    /// Retry, after a delay if Slack specifies one.
    Broken {
        why: String,
        after: Option<Duration>,
    },
}

/// What to do after a frame.
enum Next {
    /// Read the next frame.
    Hear,
    /// Open a new socket: this one will be closed soon.
    Renew,
    /// Reconnect: this one is closed.
    Lost(String),
    /// Give up.
    Refused(String),
}

type Opening<'a> =
    Pin<Box<dyn Future<Output = Result<PlatformSocket, DisconnectReason>> + Send + 'a>>;

impl Slack {
    /// Verifies the token, and looks names up while webhooks arrive.
    pub(super) async fn await_hooks(
        &self,
        sink: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let prepare = async || self.auth_test().await.map(|_| ());
        if webhook_setup::ready(sink, stop, self.api.ids(), prepare).await? {
            self.look_up_wanted(stop).await;
        }
        Ok(())
    }

    /// Receives on sockets, one after the other.
    pub(super) async fn listen_on_socket(
        &self,
        token: &Secret,
        sink: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let mut backoff = Backoff::new(self.api.ids().clone());
        loop {
            sink.set_status(ConnectionStatus::Connecting);
            let started = Instant::now();
            let heard = stop.run_until_cancelled(self.receive_on_sockets(token, sink));
            let Some(end) = heard.await else {
                return Ok(());
            };
            let (why, after) = match end {
                DisconnectReason::Refused(why) => return Err(ChannelError::Refused(why)),
                DisconnectReason::Broken { why, after } => (why, after),
            };
            // Only a connection that lasted resets the delay; one that failed at once must not.
            backoff.connected(started.elapsed());
            sink.set_status(ConnectionStatus::Broken { why });
            let wait = backoff.wait().max(after.unwrap_or_default());
            let waited = stop.run_until_cancelled(tokio::time::sleep(wait));
            if waited.await.is_none() {
                return Ok(());
            }
        }
    }

    /// Opens a socket and receives on it; when Slack announces that it will close, the next one is opened
    /// first, so that no event is missed.
    async fn receive_on_sockets(&self, token: &Secret, sink: &dyn EventSink) -> DisconnectReason {
        // Our own messages come back as events; without our identity they look like anyone's.
        if let Err(error) = self.auth_test().await {
            return error.into();
        }
        let mut current = match self.open_socket(token).await {
            Ok(socket) => Some(socket),
            Err(end) => return end,
        };
        sink.set_status(ConnectionStatus::Connected);
        // While sockets are exchanged, both deliver events and both need acknowledgements.
        let mut old: Option<PlatformSocket> = None;
        let mut drained = Instant::now();
        let mut opening: Option<Opening<'_>> = None;
        let (mut silent, mut asked) = (Instant::now() + PING_AFTER, false);
        let mut why = "Slack closed the socket".to_owned();
        loop {
            // Only now: while a replacement is being opened, losing the current socket is expected.
            if current.is_none() && opening.is_none() {
                return DisconnectReason::Broken { why, after: None };
            }
            tokio::select! {
                frame = next(&mut current) => {
                    (silent, asked) = (Instant::now() + PING_AFTER, false);
                    match self.take(frame, &mut current, sink).await {
                        Next::Hear => {}
                        Next::Renew => {
                            // Slack may announce the close several times; one replacement is
                            // enough.
                            opening.get_or_insert_with(|| Box::pin(self.open_socket(token)));
                        }
                        Next::Lost(reason) => (current, why) = (None, reason),
                        Next::Refused(why) => return DisconnectReason::Refused(why),
                    }
                }
                frame = next(&mut old), if old.is_some() => {
                    if let Next::Lost(_) = self.take(frame, &mut old, sink).await {
                        old = None;
                    }
                }
                opened = opened(&mut opening), if opening.is_some() => {
                    opening = None;
                    match opened {
                        Ok(socket) => {
                            old = current.replace(socket);
                            drained = Instant::now() + DRAIN;
                            (silent, asked) = (Instant::now() + PING_AFTER, false);
                        }
                        Err(end @ DisconnectReason::Refused(_)) => return end,
                        // The old socket may still work for a while.
                        Err(DisconnectReason::Broken { why: reason, .. }) => why = reason,
                    }
                }
                // Slack may send events on the old socket for a while after the new one is open.
                () = sleep_until(drained), if old.is_some() => old = None,
                () = sleep_until(silent), if current.is_some() => {
                    // Nothing arrived since the last ping either: the connection is dead.
                    let lost = asked || ping(&mut current).await.is_err();
                    (silent, asked) = (Instant::now() + PING_AFTER, true);
                    if lost {
                        (current, why) = (None, "Slack stopped responding on the socket".to_owned());
                    }
                }
            }
        }
    }

    /// Requests a socket URL, opens it and waits for hello.
    pub(super) async fn open_socket(
        &self,
        token: &Secret,
    ) -> Result<PlatformSocket, DisconnectReason> {
        let said = self.post_as(token, "apps.connections.open", &[]).await;
        let said = said.map_err(|failed| DisconnectReason::from(SendError::from(failed)))?;
        let url = said["url"].as_str().unwrap_or_default();
        // The URL contains a ticket; it must not travel unencrypted unless the API itself is a test
        // server.
        let safe = self.account.api.scheme() != "https" || url.starts_with("wss://");
        if !safe {
            return Err(broken("Slack returned an unsafe WebSocket URL"));
        }
        let opened = socket::open(self.api.egress(), url, HeaderMap::new(), MOST).await;
        let mut socket = opened.map_err(|error| broken(&error.to_string()))?;
        let hello = timeout(HELLO, await_hello(&mut socket)).await;
        match hello {
            Ok(Ok(())) => Ok(socket),
            Ok(Err(why)) => Err(broken(&why)),
            Err(_) => Err(broken("Slack did not send hello in time")),
        }
    }

    /// Processes a frame.
    async fn take(
        &self,
        frame: Result<Frame, String>,
        socket: &mut Option<PlatformSocket>,
        sink: &dyn EventSink,
    ) -> Next {
        let text = match frame {
            Ok(Frame::Text(text)) => text,
            Ok(Frame::Close(_)) => return Next::Lost("Slack closed the socket".to_owned()),
            // The WebSocket library answers pings itself.
            Ok(_) => return Next::Hear,
            Err(why) => return Next::Lost(why),
        };
        let Ok(envelope) = serde_json::from_str::<Envelope>(&text) else {
            tracing::warn!(
                event = "slack_frame_invalid",
                account = self.account.name,
                "ignored an invalid Slack frame"
            );
            return Next::Hear;
        };
        if envelope.kind == "disconnect" {
            return match envelope.reason.as_deref() {
                // Retrying cannot help: only the owner can turn it on again.
                Some("link_disabled") => Next::Refused(
                    "Socket Mode was turned off for the app; turn it on in its settings".to_owned(),
                ),
                _ => Next::Renew,
            };
        }
        let Some(id) = &envelope.envelope_id else {
            return Next::Hear;
        };
        // Not acknowledged: Slack sends the event again later.
        if !self.keep(&envelope, sink).await {
            return Next::Hear;
        }
        let Some(socket) = socket else {
            return Next::Hear;
        };
        let answer = Frame::text(json!({ "envelope_id": id }).to_string());
        match timeout(WRITE, socket.send(answer)).await {
            Ok(Ok(())) => Next::Hear,
            // Slack sends the event again, and its id is known then.
            _ => Next::Lost("the Slack socket failed".to_owned()),
        }
    }

    /// Stores the content of an envelope; returns whether to acknowledge it.
    async fn keep(&self, envelope: &Envelope, sink: &dyn EventSink) -> bool {
        // Before conversion, so that mentions are shown as names; bounded, because Slack waits.
        self.learn(self.names_in(&envelope.payload)).await;
        let read = match envelope.kind.as_str() {
            "events_api" => self.read_event(&envelope.payload),
            "interactive" => self.read_press(&envelope.payload),
            "slash_commands" => self.read_command(&envelope.payload),
            // Acknowledged like the others, or Slack would send it again and again.
            _ => Ok(None),
        };
        let event = match read {
            Ok(Some(event)) => event,
            Ok(None) => return true,
            Err(why) => {
                let account = &self.account.name;
                tracing::warn!(
                    event = "slack_event_invalid",
                    account,
                    error = why,
                    "ignored an invalid Slack event"
                );
                return true;
            }
        };
        match sink.receive(vec![event]).await {
            Ok(()) => true,
            Err(error) => {
                // Without an acknowledgement Slack sends it again.
                let account = &self.account.name;
                tracing::warn!(event = "slack_event_not_stored", account, %error, "cannot store a Slack event; not acknowledged");
                false
            }
        }
    }
}

/// Waits for Slack's hello.
async fn await_hello(socket: &mut PlatformSocket) -> Result<(), String> {
    loop {
        let frame = match socket.next().await {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("Slack closed the socket immediately".to_owned()),
        };
        let Frame::Text(text) = frame else {
            continue;
        };
        let said: Value = serde_json::from_str(&text).unwrap_or_default();
        return match said["type"].as_str() {
            Some("hello") => Ok(()),
            _ => Err("Slack did not start with hello".to_owned()),
        };
    }
}

async fn next(socket: &mut Option<PlatformSocket>) -> Result<Frame, String> {
    match socket {
        Some(socket) => match socket.next().await {
            Some(Ok(frame)) => Ok(frame),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("Slack closed the socket".to_owned()),
        },
        None => pending().await,
    }
}

async fn opened(opening: &mut Option<Opening<'_>>) -> Result<PlatformSocket, DisconnectReason> {
    match opening {
        Some(opening) => opening.await,
        None => pending().await,
    }
}

async fn ping(socket: &mut Option<PlatformSocket>) -> Result<(), ()> {
    let Some(socket) = socket else {
        return Err(());
    };
    let ping = socket.send(Frame::Ping(bytes::Bytes::new()));
    match timeout(WRITE, ping).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(()),
    }
}

fn broken(why: &str) -> DisconnectReason {
    DisconnectReason::Broken {
        why: why.to_owned(),
        after: None,
    }
}

impl From<SendError> for DisconnectReason {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Account(why) => Self::Refused(why),
            SendError::Later { after, why } => Self::Broken { why, after },
            SendError::Never(why) | SendError::Unreachable(why) | SendError::Unknown(why) => {
                Self::Broken { why, after: None }
            }
        }
    }
}
