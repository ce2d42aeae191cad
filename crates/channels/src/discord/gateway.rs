//! Receiving events over the gateway's WebSocket.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, SinkExt, StreamExt};
use manyhands_guard::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::Discord;
use super::calls::{DiscordRequest, RequestBody, me};
use super::session::{GatewaySession, Point};
use crate::backoff::Backoff;
use crate::channel::{ChannelError, ConnectionStatus, EventSink, SendError};
use crate::message::{Inbound, InboundEvent};
use crate::socket::{self, Frame, PlatformSocket};

/// Intents: servers, messages and reactions in servers and direct chats, and message content.
const INTENTS: u64 = 1 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 13 | 1 << 15;
/// Maximum event size: one event describes a server with thousands of channels.
const MOST: usize = 16 * 1024 * 1024;
/// Timeout of Discord's hello, and then of the session.
const HELLO_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of writing a frame.
const WRITE: Duration = Duration::from_secs(10);
/// Maximum pending button acknowledgements.
const WAITING: usize = 32;

/// A gateway frame.
#[derive(Debug, Deserialize)]
struct GatewayFrame {
    op: u64,
    #[serde(default)]
    d: Value,
    #[serde(default)]
    s: Option<u64>,
    #[serde(default)]
    t: Option<String>,
}

/// Why a connection ended.
#[derive(Debug)]
pub(super) enum DisconnectReason {
    /// Retrying is pointless.
    Refused(String),
    /// The session can be resumed, after a delay if one is given.
    Broken {
        why: String,
        after: Option<Duration>,
    },
    /// Discord asked us to reconnect.
    ReconnectRequested,
    /// A new session is needed.
    NewSession(String),
}

/// A gateway connection.
struct GatewayConnection<'a> {
    socket: PlatformSocket,
    /// When the next heartbeat is due, and the interval.
    beat: Instant,
    every: Duration,
    /// Whether the last heartbeat was acknowledged.
    answered: bool,
    /// Deadline for the session to start; `None` once it has.
    greeted: Option<Instant>,
    /// Pending button acknowledgements.
    pressed: FuturesUnordered<BoxFuture<'a, ()>>,
}

impl Discord {
    /// Receives until it is stopped.
    pub(super) async fn listen_on_gateway(
        &self,
        sink: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let mut session = GatewaySession::load_value(sink).await?;
        let mut backoff = Backoff::new(self.api.ids().clone());
        loop {
            sink.set_status(ConnectionStatus::Connecting);
            let started = Instant::now();
            let heard = stop.run_until_cancelled(self.receive(&mut session, sink));
            let end = heard.await;
            // If this fails, nothing is lost: Discord replays more events after a restart.
            let settled = session.settle(sink).await;
            let Some(end) = end else {
                return settled;
            };
            // A connection that lasted resets the delay; one that failed at once must not.
            backoff.connected(started.elapsed());
            let mut wait = backoff.wait();
            match end {
                // The stored session must go: it would be refused again after the owner fixed the
                // token.
                DisconnectReason::Refused(why) => {
                    session.forget(sink).await?;
                    return Err(ChannelError::Refused(why));
                }
                // Discord moves connections between servers this way; the session is resumed there.
                DisconnectReason::ReconnectRequested => {}
                DisconnectReason::NewSession(why) => {
                    session.forget(sink).await?;
                    sink.set_status(ConnectionStatus::Broken { why });
                    // Discord requires a random delay of one to five seconds before a new session.
                    let [random] = self.api.ids().random::<1>();
                    wait = wait.max(Duration::from_millis(1_000 + u64::from(random) * 15));
                }
                DisconnectReason::Broken { why, after } => {
                    sink.set_status(ConnectionStatus::Broken { why });
                    wait = wait.max(after.unwrap_or_default());
                }
            }
            let waited = stop.run_until_cancelled(tokio::time::sleep(wait));
            if waited.await.is_none() {
                return Ok(());
            }
        }
    }

    /// Opens a socket and receives until it ends.
    async fn receive(
        &self,
        session: &mut GatewaySession,
        sink: &dyn EventSink,
    ) -> DisconnectReason {
        let mut line = match self.open(session).await {
            Ok(line) => line,
            Err(end) => return end,
        };
        loop {
            let greeted = line.greeted.unwrap_or(line.beat + line.every);
            let end = tokio::select! {
                frame = line.socket.next() => match frame {
                    Some(Ok(frame)) => self.take(frame, &mut line, session, sink).await,
                    Some(Err(error)) => Err(broken(error.to_string())),
                    None => Err(broken("Discord closed the socket")),
                },
                () = sleep_until(line.beat) => match line.overdue() {
                    // While we were busy, the acknowledgement may have arrived without being read yet: process what is
                    // here before declaring the connection dead.
                    Some(frame) => self.take(frame, &mut line, session, sink).await,
                    None => line.heartbeat(session, true).await,
                },
                () = sleep_until(greeted), if line.greeted.is_some() => {
                    Err(broken("Discord did not start a session in time"))
                }
                Some(()) = line.pressed.next(), if !line.pressed.is_empty() => Ok(()),
            };
            if let Err(end) = end {
                return end;
            }
        }
    }

    /// Opens a socket, and resumes the session or starts a new one.
    async fn open<'a>(
        &'a self,
        session: &GatewaySession,
    ) -> Result<GatewayConnection<'a>, DisconnectReason> {
        // Mentions of us can only be recognised with our id.
        if self.own().is_none() {
            self.users_me().await?;
        }
        // A session can only be resumed at its own URL, and starting one is limited per day.
        let base = match session.point() {
            Some(point) => point.url.clone(),
            None => self.gateway_url().await?,
        };
        let url = self.socket_url(&base)?;
        let opened = socket::open(self.api.egress(), &url, HeaderMap::new(), MOST).await;
        let mut socket = opened.map_err(|error| broken(error.to_string()))?;
        let every = match timeout(HELLO_TIMEOUT, hello(&mut socket)).await {
            Ok(hello) => hello?,
            Err(_) => return Err(broken("Discord did not send hello in time")),
        };
        let token = self.account.token.expose();
        // Resuming replays what was missed; identifying starts with nothing.
        let first = match session.point() {
            Some(point) => json!({
                "op": 6,
                "d": { "token": token, "session_id": point.id, "seq": point.sequence },
            }),
            None => json!({
                "op": 2,
                "d": {
                    "token": token,
                    "intents": INTENTS,
                    "properties": {
                        "os": std::env::consts::OS,
                        "browser": "manyhands",
                        "device": "manyhands",
                    },
                },
            }),
        };
        write(&mut socket, &first).await?;
        // A random first heartbeat, as Discord requires, so that clients do not all beat together.
        let [high, low] = self.api.ids().random::<2>();
        let share = f64::from(u16::from_be_bytes([high, low])) / 65_536.0;
        let now = Instant::now();
        Ok(GatewayConnection {
            socket,
            beat: now + every.mul_f64(share),
            every,
            answered: true,
            greeted: Some(now + HELLO_TIMEOUT),
            pressed: FuturesUnordered::new(),
        })
    }

    /// The gateway's URL, if we may start a session now.
    async fn gateway_url(&self) -> Result<String, DisconnectReason> {
        let call = DiscordRequest::get("GET gateway/bot", "", "gateway/bot".to_owned());
        let said = self.call(call).await?;
        // Beyond the limit Discord resets the bot's token, so no session is started then.
        let limit = &said["session_start_limit"];
        if limit["remaining"].as_u64() == Some(0) {
            let after = limit["reset_after"].as_u64().unwrap_or(60_000);
            return Err(DisconnectReason::Broken {
                why: "the limit of new Discord sessions is reached".to_owned(),
                after: Some(Duration::from_millis(after.min(86_400_000))),
            });
        }
        let url = said["url"].as_str().unwrap_or_default();
        Ok(url.to_owned())
    }

    /// The URL of a socket. The token is sent there, so it must be Discord's own host and encrypted
    /// wherever the API is.
    pub(super) fn socket_url(&self, base: &str) -> Result<String, DisconnectReason> {
        let unfit = || broken("Discord returned an unsafe WebSocket URL");
        let mut url = Url::parse(base).map_err(|_| unfit())?;
        let host = url.host_str().unwrap_or_default();
        let api = &self.account.api;
        let own = host == "discord.gg" || host.ends_with(".discord.gg");
        // Tests use a local API without TLS; its socket need not be encrypted either.
        let safe = api.scheme() != "https" || url.scheme() == "wss";
        if !safe || (api.host_str() == Some("discord.com") && !own) {
            return Err(unfit());
        }
        url.set_query(Some("v=10&encoding=json"));
        Ok(url.to_string())
    }

    /// Processes a frame.
    async fn take<'a>(
        &'a self,
        frame: Frame,
        line: &mut GatewayConnection<'a>,
        session: &mut GatewaySession,
        sink: &dyn EventSink,
    ) -> Result<(), DisconnectReason> {
        let text = match frame {
            Frame::Text(text) => text,
            Frame::Close(close) => return Err(closed(close.map(|close| u16::from(close.code)))),
            _ => return Ok(()),
        };
        let Ok(said) = serde_json::from_str::<GatewayFrame>(&text) else {
            return Err(broken("Discord sent an invalid frame"));
        };
        match said.op {
            0 => self.dispatch(said, line, session, sink).await,
            // Discord may ask for a heartbeat at any time, which does not move the schedule.
            1 => line.heartbeat(session, false).await,
            7 => Err(DisconnectReason::ReconnectRequested),
            // Opcode 9: the payload says whether the session can be resumed.
            9 if said.d == true => Err(broken("Discord asked to resume the session again")),
            9 => Err(DisconnectReason::NewSession(
                "Discord invalidated the session".to_owned(),
            )),
            11 => {
                line.answered = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Processes an event: it is stored before the sequence advances.
    async fn dispatch<'a>(
        &'a self,
        said: GatewayFrame,
        line: &mut GatewayConnection<'a>,
        session: &mut GatewaySession,
        sink: &dyn EventSink,
    ) -> Result<(), DisconnectReason> {
        let name = said.t.as_deref().unwrap_or("");
        let sequence = said.s.unwrap_or(0);
        match name {
            "READY" => {
                let Some(point) = ready(&said.d, sequence) else {
                    return Err(broken("Discord's READY event is invalid"));
                };
                me(&said.d["user"])
                    .into_iter()
                    .for_each(|me| self.learn_me(me));
                session.begin(point, sink).await.map_err(broken)?;
            }
            "RESUMED" => session.advance(sequence, sink).await.map_err(broken)?,
            _ => {
                // Sequence numbers restart with each session, so the session is part of the event's id.
                let of = session.point().map_or("", |point| point.id.as_str());
                let mark = format!("{of}:{sequence}");
                // Stored before `advance`: a crash in between makes Discord replay the event, and its id is known.
                if let Some(event) = self.read_event(name, &said.d, &mark).await {
                    sink.receive(vec![event.clone()]).await.map_err(broken)?;
                    self.answer_press(event, line).await;
                }
                return session.advance(sequence, sink).await.map_err(broken);
            }
        }
        // Only READY and RESUMED get here: the session is established.
        line.greeted = None;
        sink.set_status(ConnectionStatus::Connected);
        Ok(())
    }

    /// Acknowledges a pressed button within Discord's limit of three seconds, concurrently with
    /// receiving.
    async fn answer_press<'a>(&'a self, event: Inbound, line: &mut GatewayConnection<'a>) {
        let InboundEvent::Button {
            callback: Some(callback),
            ..
        } = event.what
        else {
            return;
        };
        // Bounds memory; acknowledging late is better than dropping.
        if line.pressed.len() >= WAITING {
            line.pressed.next().await;
        }
        let id = event
            .event
            .rsplit(':')
            .next()
            .unwrap_or_default()
            .to_owned();
        line.pressed.push(self.defer(id, callback).boxed());
    }

    async fn defer(&self, id: String, callback: String) {
        let token = callback.split_once('/').map_or("", |(_, token)| token);
        let call = DiscordRequest {
            bare: true,
            ..DiscordRequest::post(
                "POST interactions/callback",
                &id,
                format!("interactions/{id}/{token}/callback"),
                // 6: acknowledged; the message may be edited later.
                RequestBody::Json(json!({ "type": 6 })),
            )
        };
        if let Err(error) = self.call(call).await {
            let account = &self.account.name;
            tracing::warn!(event = "discord_button_ack_failed", account, %error, "cannot acknowledge a pressed button");
        }
    }
}

impl GatewayConnection<'_> {
    /// A frame that has already arrived while a heartbeat acknowledgement is missing.
    fn overdue(&mut self) -> Option<Frame> {
        if self.answered {
            return None;
        }
        // Does not wait: only what is already here counts.
        self.socket.next().now_or_never()??.ok()
    }

    /// Sends a heartbeat; a scheduled one requires that the last one was acknowledged.
    async fn heartbeat(
        &mut self,
        session: &GatewaySession,
        due: bool,
    ) -> Result<(), DisconnectReason> {
        if due && !self.answered {
            return Err(broken("Discord stopped acknowledging heartbeats"));
        }
        if due {
            // From now on, not from the due time: after a suspend, missed beats must not be sent in
            // a burst.
            self.beat = Instant::now() + self.every;
        }
        self.answered = false;
        let sequence = session.point().map(|point| point.sequence);
        let beat = json!({ "op": 1, "d": sequence });
        write(&mut self.socket, &beat).await
    }
}

async fn write(socket: &mut PlatformSocket, what: &Value) -> Result<(), DisconnectReason> {
    match timeout(WRITE, socket.send(Frame::text(what.to_string()))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(broken(error)),
        Err(_) => Err(broken("cannot write to the Discord socket")),
    }
}

/// Waits for Discord's hello; returns the heartbeat interval.
async fn hello(socket: &mut PlatformSocket) -> Result<Duration, DisconnectReason> {
    loop {
        let frame = match socket.next().await {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Err(broken(error)),
            None => return Err(broken("Discord closed the socket immediately")),
        };
        let text = match frame {
            Frame::Text(text) => text,
            Frame::Close(close) => return Err(closed(close.map(|close| u16::from(close.code)))),
            _ => continue,
        };
        let said = serde_json::from_str::<GatewayFrame>(&text)
            .ok()
            .filter(|said| said.op == 10);
        let every = said.and_then(|said| said.d["heartbeat_interval"].as_u64());
        let every = every.ok_or_else(|| broken("Discord did not start with hello"))?;
        // Clamped: an interval of zero would send heartbeats in a busy loop.
        return Ok(Duration::from_millis(every.clamp(100, 600_000)));
    }
}

/// The session that READY starts.
fn ready(greeting: &Value, sequence: u64) -> Option<Point> {
    Some(Point {
        id: greeting["session_id"].as_str()?.to_owned(),
        url: greeting["resume_gateway_url"].as_str()?.to_owned(),
        sequence,
    })
}

/// The meaning of a close code.
fn closed(code: Option<u16>) -> DisconnectReason {
    let refused = |why: &str| DisconnectReason::Refused(why.to_owned());
    match code {
        Some(4004) => {
            refused("Discord rejected the bot token; copy it again from the developer portal")
        }
        Some(4011) => refused("the bot is in too many servers for one connection"),
        Some(4013) => refused("Discord rejected our intents (4013)"),
        Some(4014) => refused(
            "the bot may not read messages; turn on \"Message Content Intent\" for it \
             in the developer portal",
        ),
        Some(code @ (4010 | 4012)) => refused(&format!("Discord refused the connection ({code})")),
        Some(code @ (4003 | 4007 | 4009)) => {
            DisconnectReason::NewSession(format!("Discord ended the session ({code})"))
        }
        Some(code) => broken(format!("Discord closed the socket ({code})")),
        None => broken("Discord closed the socket"),
    }
}

fn broken(why: impl ToString) -> DisconnectReason {
    DisconnectReason::Broken {
        why: why.to_string(),
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
