//! Hearing: Socket Mode, and waiting for webhooks.

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
use crate::channel::{ChannelError, Ear, SendError, Standing};
use crate::socket::{self, Frame, MOST, Socket};
use crate::standby;

/// How long Slack may take to greet us on a new socket.
const HELLO: Duration = Duration::from_secs(20);
/// How long a socket may be silent before we ask whether it is still there, and then again.
const SILENCE: Duration = Duration::from_secs(30);
/// How long an old socket is still heard after a new one took its place.
const DRAIN: Duration = Duration::from_secs(30);
/// How long an acknowledgement may take to be written.
const WRITE: Duration = Duration::from_secs(10);

/// Something that Slack says on a socket.
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

/// Why hearing on a socket came to an end.
#[derive(Debug)]
pub(super) enum End {
    /// Trying again changes nothing.
    Refused(String),
    /// It can be tried again, where Slack says so not before some time.
    Broken {
        why: String,
        after: Option<Duration>,
    },
}

/// What comes after a frame.
enum Next {
    /// The next frame.
    Hear,
    /// A new socket: this one is about to go.
    Renew,
    /// Nothing: this one is gone.
    Gone(String),
    /// Nothing ever.
    Refused(String),
}

type Opening<'a> = Pin<Box<dyn Future<Output = Result<Socket, End>> + Send + 'a>>;

impl Slack {
    /// Sees to it that the token is good, and looks names up while webhooks come.
    pub(super) async fn await_hooks(
        &self,
        ear: &dyn Ear,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let prepare = async || self.auth_test().await.map(|_| ());
        if standby::ready(ear, stop, self.api.ids(), prepare).await? {
            self.look_up_wanted(stop).await;
        }
        Ok(())
    }

    /// Hears on sockets, one after the other.
    pub(super) async fn listen_on_socket(
        &self,
        token: &Secret,
        ear: &dyn Ear,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let mut backoff = Backoff::new(self.api.ids().clone());
        loop {
            ear.stands(Standing::Connecting);
            let started = Instant::now();
            let heard = stop.run_until_cancelled(self.hear_on_sockets(token, ear));
            let Some(end) = heard.await else {
                return Ok(());
            };
            let (why, after) = match end {
                End::Refused(why) => return Err(ChannelError::Refused(why)),
                End::Broken { why, after } => (why, after),
            };
            backoff.connected(started.elapsed());
            ear.stands(Standing::Broken { why });
            let wait = backoff.wait().max(after.unwrap_or_default());
            let waited = stop.run_until_cancelled(tokio::time::sleep(wait));
            if waited.await.is_none() {
                return Ok(());
            }
        }
    }

    /// Opens a socket and hears on it; where Slack announces that it goes, the next one is open
    /// before.
    async fn hear_on_sockets(&self, token: &Secret, ear: &dyn Ear) -> End {
        if let Err(error) = self.auth_test().await {
            return error.into();
        }
        let mut current = match self.open_socket(token).await {
            Ok(socket) => Some(socket),
            Err(end) => return end,
        };
        ear.stands(Standing::Connected);
        let mut old: Option<Socket> = None;
        let mut drained = Instant::now();
        let mut opening: Option<Opening<'_>> = None;
        let (mut silent, mut asked) = (Instant::now() + SILENCE, false);
        let mut why = "Slack closed the socket".to_owned();
        loop {
            if current.is_none() && opening.is_none() {
                return End::Broken { why, after: None };
            }
            tokio::select! {
                frame = next(&mut current) => {
                    (silent, asked) = (Instant::now() + SILENCE, false);
                    match self.take(frame, &mut current, ear).await {
                        Next::Hear => {}
                        Next::Renew => {
                            opening.get_or_insert_with(|| Box::pin(self.open_socket(token)));
                        }
                        Next::Gone(reason) => (current, why) = (None, reason),
                        Next::Refused(why) => return End::Refused(why),
                    }
                }
                frame = next(&mut old), if old.is_some() => {
                    if let Next::Gone(_) = self.take(frame, &mut old, ear).await {
                        old = None;
                    }
                }
                opened = opened(&mut opening), if opening.is_some() => {
                    opening = None;
                    match opened {
                        Ok(socket) => {
                            old = current.replace(socket);
                            drained = Instant::now() + DRAIN;
                            (silent, asked) = (Instant::now() + SILENCE, false);
                        }
                        Err(end @ End::Refused(_)) => return end,
                        // The old one may still be good for a while.
                        Err(End::Broken { why: reason, .. }) => why = reason,
                    }
                }
                () = sleep_until(drained), if old.is_some() => old = None,
                () = sleep_until(silent), if current.is_some() => {
                    let lost = asked || ping(&mut current).await.is_err();
                    (silent, asked) = (Instant::now() + SILENCE, true);
                    if lost {
                        (current, why) = (None, "Slack is silent on the socket".to_owned());
                    }
                }
            }
        }
    }

    /// Asks for a socket, opens it and waits to be greeted.
    pub(super) async fn open_socket(&self, token: &Secret) -> Result<Socket, End> {
        let said = self.post_as(token, "apps.connections.open", &[]).await;
        let said = said.map_err(|failed| End::from(SendError::from(failed)))?;
        let url = said["url"].as_str().unwrap_or_default();
        let safe = self.account.api.scheme() != "https" || url.starts_with("wss://");
        if !safe {
            return Err(broken(
                "Slack names an address for the socket that is not safe",
            ));
        }
        let opened = socket::open(self.api.egress(), url, HeaderMap::new(), MOST).await;
        let mut socket = opened.map_err(|error| broken(&error.to_string()))?;
        let hello = timeout(HELLO, greeted(&mut socket)).await;
        match hello {
            Ok(Ok(())) => Ok(socket),
            Ok(Err(why)) => Err(broken(&why)),
            Err(_) => Err(broken("Slack did not say hello on the socket")),
        }
    }

    /// Takes a frame of a socket.
    async fn take(
        &self,
        frame: Result<Frame, String>,
        socket: &mut Option<Socket>,
        ear: &dyn Ear,
    ) -> Next {
        let text = match frame {
            Ok(Frame::Text(text)) => text,
            Ok(Frame::Close(_)) => return Next::Gone("Slack closed the socket".to_owned()),
            // Pings are answered by the socket itself.
            Ok(_) => return Next::Hear,
            Err(why) => return Next::Gone(why),
        };
        let Ok(envelope) = serde_json::from_str::<Envelope>(&text) else {
            tracing::warn!(
                account = self.account.name,
                "Slack said something unreadable"
            );
            return Next::Hear;
        };
        if envelope.kind == "disconnect" {
            return match envelope.reason.as_deref() {
                Some("link_disabled") => Next::Refused(
                    "Socket Mode was turned off for the app; turn it on in its settings".to_owned(),
                ),
                _ => Next::Renew,
            };
        }
        let Some(id) = &envelope.envelope_id else {
            return Next::Hear;
        };
        if !self.keep(&envelope, ear).await {
            return Next::Hear;
        }
        let Some(socket) = socket else {
            return Next::Hear;
        };
        let answer = Frame::text(json!({ "envelope_id": id }).to_string());
        match timeout(WRITE, socket.send(answer)).await {
            Ok(Ok(())) => Next::Hear,
            // It is told again, and known by its id then.
            _ => Next::Gone("the socket to Slack broke".to_owned()),
        }
    }

    /// Keeps what an envelope holds; whether it may be acknowledged.
    async fn keep(&self, envelope: &Envelope, ear: &dyn Ear) -> bool {
        self.learn(self.names_in(&envelope.payload)).await;
        let read = match envelope.kind.as_str() {
            "events_api" => self.read_event(&envelope.payload),
            "interactive" => self.read_press(&envelope.payload),
            "slash_commands" => self.read_command(&envelope.payload),
            _ => Ok(None),
        };
        let event = match read {
            Ok(Some(event)) => event,
            Ok(None) => return true,
            Err(why) => {
                let account = &self.account.name;
                tracing::warn!(account, why, "an event of Slack's cannot be read");
                return true;
            }
        };
        match ear.hear(vec![event]).await {
            Ok(()) => true,
            Err(error) => {
                // Without an acknowledgement Slack tells it again.
                let account = &self.account.name;
                tracing::warn!(account, %error, "an event of Slack's was not kept");
                false
            }
        }
    }
}

/// Waits for Slack's hello.
async fn greeted(socket: &mut Socket) -> Result<(), String> {
    loop {
        let frame = match socket.next().await {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("Slack closed the socket at once".to_owned()),
        };
        let Frame::Text(text) = frame else {
            continue;
        };
        let said: Value = serde_json::from_str(&text).unwrap_or_default();
        return match said["type"].as_str() {
            Some("hello") => Ok(()),
            _ => Err("Slack did not begin with hello on the socket".to_owned()),
        };
    }
}

async fn next(socket: &mut Option<Socket>) -> Result<Frame, String> {
    match socket {
        Some(socket) => match socket.next().await {
            Some(Ok(frame)) => Ok(frame),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("Slack closed the socket".to_owned()),
        },
        None => pending().await,
    }
}

async fn opened(opening: &mut Option<Opening<'_>>) -> Result<Socket, End> {
    match opening {
        Some(opening) => opening.await,
        None => pending().await,
    }
}

async fn ping(socket: &mut Option<Socket>) -> Result<(), ()> {
    let Some(socket) = socket else {
        return Err(());
    };
    let ping = socket.send(Frame::Ping(bytes::Bytes::new()));
    match timeout(WRITE, ping).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(()),
    }
}

fn broken(why: &str) -> End {
    End::Broken {
        why: why.to_owned(),
        after: None,
    }
}

impl From<SendError> for End {
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
