//! Hearing on the gateway's socket.

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
use super::calls::{Body, Call, me};
use super::session::{Point, Session};
use crate::backoff::Backoff;
use crate::channel::{ChannelError, Ear, SendError, Standing};
use crate::socket::{self, Frame, Socket};
use crate::words::{Heard, Inbound};

/// What we want to be told: servers, messages and reactions there and in direct chats, and what
/// the messages say.
const INTENTS: u64 = 1 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 13 | 1 << 15;
/// The largest event: servers with thousands of channels are described in one.
const MOST: usize = 16 * 1024 * 1024;
/// How long Discord may take to greet us on a new socket, and then to let us in.
const GREETING: Duration = Duration::from_secs(30);
/// How long a frame may take to be written.
const WRITE: Duration = Duration::from_secs(10);
/// How many pressed buttons may wait to be answered.
const WAITING: usize = 32;

/// Something that Discord says on the socket.
#[derive(Debug, Deserialize)]
struct Said {
    op: u64,
    #[serde(default)]
    d: Value,
    #[serde(default)]
    s: Option<u64>,
    #[serde(default)]
    t: Option<String>,
}

/// Why hearing on a socket came to an end.
#[derive(Debug)]
pub(super) enum End {
    /// Trying again changes nothing.
    Refused(String),
    /// It goes on where it was, not before some time has passed where that is said.
    Broken {
        why: String,
        after: Option<Duration>,
    },
    /// Discord asks us to come again.
    Asked,
    /// It begins anew.
    Anew(String),
}

/// One connection.
struct Line<'a> {
    socket: Socket,
    /// When the next heartbeat is due, and how often.
    beat: Instant,
    every: Duration,
    /// Whether the last one was answered.
    answered: bool,
    /// By when Discord must have let us in; none once it has.
    greeted: Option<Instant>,
    /// Buttons that are being answered.
    pressed: FuturesUnordered<BoxFuture<'a, ()>>,
}

impl Discord {
    /// Hears until it is stopped.
    pub(super) async fn listen_on_gateway(
        &self,
        ear: &dyn Ear,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let mut session = Session::noted(ear).await?;
        let mut backoff = Backoff::new(self.api.ids().clone());
        loop {
            ear.stands(Standing::Connecting);
            let started = Instant::now();
            let heard = stop.run_until_cancelled(self.hear(&mut session, ear));
            let end = heard.await;
            // Nothing is lost where this fails: more is told again.
            let settled = session.settle(ear).await;
            let Some(end) = end else {
                return settled;
            };
            backoff.connected(started.elapsed());
            let mut wait = backoff.wait();
            match end {
                End::Refused(why) => {
                    session.forget(ear).await?;
                    return Err(ChannelError::Refused(why));
                }
                End::Asked => {}
                End::Anew(why) => {
                    session.forget(ear).await?;
                    ear.stands(Standing::Broken { why });
                    // Discord wants one to five seconds, at random.
                    let [random] = self.api.ids().random::<1>();
                    wait = wait.max(Duration::from_millis(1_000 + u64::from(random) * 15));
                }
                End::Broken { why, after } => {
                    ear.stands(Standing::Broken { why });
                    wait = wait.max(after.unwrap_or_default());
                }
            }
            let waited = stop.run_until_cancelled(tokio::time::sleep(wait));
            if waited.await.is_none() {
                return Ok(());
            }
        }
    }

    /// Opens a socket and hears on it until it ends.
    async fn hear(&self, session: &mut Session, ear: &dyn Ear) -> End {
        let mut line = match self.open(session).await {
            Ok(line) => line,
            Err(end) => return end,
        };
        loop {
            let greeted = line.greeted.unwrap_or(line.beat + line.every);
            let end = tokio::select! {
                frame = line.socket.next() => match frame {
                    Some(Ok(frame)) => self.take(frame, &mut line, session, ear).await,
                    Some(Err(error)) => Err(broken(error.to_string())),
                    None => Err(broken("Discord closed the socket")),
                },
                () = sleep_until(line.beat) => match line.overdue() {
                    // The answer may only wait to be read.
                    Some(frame) => self.take(frame, &mut line, session, ear).await,
                    None => line.heartbeat(session, true).await,
                },
                () = sleep_until(greeted), if line.greeted.is_some() => {
                    Err(broken("Discord did not let us in on the socket"))
                }
                Some(()) = line.pressed.next(), if !line.pressed.is_empty() => Ok(()),
            };
            if let Err(end) = end {
                return end;
            }
        }
    }

    /// Opens a socket, and goes on with the session or asks for a new one.
    async fn open<'a>(&'a self, session: &Session) -> Result<Line<'a>, End> {
        if self.own().is_none() {
            self.users_me().await?;
        }
        let base = match session.point() {
            Some(point) => point.url.clone(),
            None => self.gateway_url().await?,
        };
        let url = self.socket_url(&base)?;
        let opened = socket::open(self.api.egress(), &url, HeaderMap::new(), MOST).await;
        let mut socket = opened.map_err(|error| broken(error.to_string()))?;
        let every = match timeout(GREETING, hello(&mut socket)).await {
            Ok(hello) => hello?,
            Err(_) => return Err(broken("Discord did not say hello on the socket")),
        };
        let token = self.account.token.expose();
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
        // The first heartbeat is somewhere in the first interval, so that not all beat together.
        let [high, low] = self.api.ids().random::<2>();
        let share = f64::from(u16::from_be_bytes([high, low])) / 65_536.0;
        let now = Instant::now();
        Ok(Line {
            socket,
            beat: now + every.mul_f64(share),
            every,
            answered: true,
            greeted: Some(now + GREETING),
            pressed: FuturesUnordered::new(),
        })
    }

    /// Where the gateway is, if we may begin a session now.
    async fn gateway_url(&self) -> Result<String, End> {
        let call = Call::get("GET gateway/bot", "", "gateway/bot".to_owned());
        let said = self.call(call).await?;
        let limit = &said["session_start_limit"];
        if limit["remaining"].as_u64() == Some(0) {
            let after = limit["reset_after"].as_u64().unwrap_or(60_000);
            return Err(End::Broken {
                why: "Discord lets the bot begin no more sessions for now".to_owned(),
                after: Some(Duration::from_millis(after.min(86_400_000))),
            });
        }
        let url = said["url"].as_str().unwrap_or_default();
        Ok(url.to_owned())
    }

    /// The address of a socket. The token is told there, so it must be Discord's own and safe
    /// wherever the interface is.
    pub(super) fn socket_url(&self, base: &str) -> Result<String, End> {
        let unfit = || broken("Discord names an address for the socket that is not safe");
        let mut url = Url::parse(base).map_err(|_| unfit())?;
        let host = url.host_str().unwrap_or_default();
        let api = &self.account.api;
        let own = host == "discord.gg" || host.ends_with(".discord.gg");
        let safe = api.scheme() != "https" || url.scheme() == "wss";
        if !safe || (api.host_str() == Some("discord.com") && !own) {
            return Err(unfit());
        }
        url.set_query(Some("v=10&encoding=json"));
        Ok(url.to_string())
    }

    /// Takes a frame.
    async fn take<'a>(
        &'a self,
        frame: Frame,
        line: &mut Line<'a>,
        session: &mut Session,
        ear: &dyn Ear,
    ) -> Result<(), End> {
        let text = match frame {
            Frame::Text(text) => text,
            Frame::Close(close) => return Err(closed(close.map(|close| u16::from(close.code)))),
            _ => return Ok(()),
        };
        let Ok(said) = serde_json::from_str::<Said>(&text) else {
            return Err(broken("Discord said something unreadable on the socket"));
        };
        match said.op {
            0 => self.dispatch(said, line, session, ear).await,
            1 => line.heartbeat(session, false).await,
            7 => Err(End::Asked),
            9 if said.d == true => Err(broken("Discord wants the session resumed once more")),
            9 => Err(End::Anew("Discord began a new session".to_owned())),
            11 => {
                line.answered = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes an event: it is kept before the sequence moves on.
    async fn dispatch<'a>(
        &'a self,
        said: Said,
        line: &mut Line<'a>,
        session: &mut Session,
        ear: &dyn Ear,
    ) -> Result<(), End> {
        let name = said.t.as_deref().unwrap_or("");
        let sequence = said.s.unwrap_or(0);
        match name {
            "READY" => {
                let Some(point) = ready(&said.d, sequence) else {
                    return Err(broken("Discord's greeting cannot be read"));
                };
                me(&said.d["user"])
                    .into_iter()
                    .for_each(|me| self.learn_me(me));
                session.begin(point, ear).await.map_err(broken)?;
            }
            "RESUMED" => session.advance(sequence, ear).await.map_err(broken)?,
            _ => {
                let of = session.point().map_or("", |point| point.id.as_str());
                let mark = format!("{of}:{sequence}");
                if let Some(event) = self.read_event(name, &said.d, &mark).await {
                    ear.hear(vec![event.clone()]).await.map_err(broken)?;
                    self.answer_press(event, line).await;
                }
                return session.advance(sequence, ear).await.map_err(broken);
            }
        }
        line.greeted = None;
        ear.stands(Standing::Connected);
        Ok(())
    }

    /// Tells Discord that a pressed button was heard, within the three seconds that it gives, and
    /// beside hearing.
    async fn answer_press<'a>(&'a self, event: Inbound, line: &mut Line<'a>) {
        let Heard::Button {
            callback: Some(callback),
            ..
        } = event.what
        else {
            return;
        };
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
        let call = Call {
            bare: true,
            ..Call::post(
                "POST interactions/callback",
                &id,
                format!("interactions/{id}/{token}/callback"),
                // 6: heard, and the message is changed later if at all.
                Body::Json(json!({ "type": 6 })),
            )
        };
        if let Err(error) = self.call(call).await {
            let account = &self.account.name;
            tracing::warn!(account, %error, "a pressed button was not answered");
        }
    }
}

impl Line<'_> {
    /// What has arrived already while the answer to a heartbeat is missing.
    fn overdue(&mut self) -> Option<Frame> {
        if self.answered {
            return None;
        }
        self.socket.next().now_or_never()??.ok()
    }

    /// Sends a heartbeat; one that is due by the clock needs an answer to the last one.
    async fn heartbeat(&mut self, session: &Session, due: bool) -> Result<(), End> {
        if due && !self.answered {
            return Err(broken("Discord no longer answers on the socket"));
        }
        if due {
            self.beat = Instant::now() + self.every;
        }
        self.answered = false;
        let sequence = session.point().map(|point| point.sequence);
        let beat = json!({ "op": 1, "d": sequence });
        write(&mut self.socket, &beat).await
    }
}

async fn write(socket: &mut Socket, what: &Value) -> Result<(), End> {
    match timeout(WRITE, socket.send(Frame::text(what.to_string()))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(broken(error)),
        Err(_) => Err(broken("the socket to Discord takes nothing")),
    }
}

/// Waits for Discord's hello, and says how often it wants to hear our heart.
async fn hello(socket: &mut Socket) -> Result<Duration, End> {
    loop {
        let frame = match socket.next().await {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Err(broken(error)),
            None => return Err(broken("Discord closed the socket at once")),
        };
        let text = match frame {
            Frame::Text(text) => text,
            Frame::Close(close) => return Err(closed(close.map(|close| u16::from(close.code)))),
            _ => continue,
        };
        let said = serde_json::from_str::<Said>(&text)
            .ok()
            .filter(|said| said.op == 10);
        let every = said.and_then(|said| said.d["heartbeat_interval"].as_u64());
        let every = every.ok_or_else(|| broken("Discord did not begin with hello"))?;
        return Ok(Duration::from_millis(every.clamp(100, 600_000)));
    }
}

/// The session that a greeting begins.
fn ready(greeting: &Value, sequence: u64) -> Option<Point> {
    Some(Point {
        id: greeting["session_id"].as_str()?.to_owned(),
        url: greeting["resume_gateway_url"].as_str()?.to_owned(),
        sequence,
    })
}

/// What it means that Discord closed the socket.
fn closed(code: Option<u16>) -> End {
    let refused = |why: &str| End::Refused(why.to_owned());
    match code {
        Some(4004) => refused(
            "Discord does not accept the token of the bot; copy it again from the developer portal",
        ),
        Some(4011) => refused("the bot is in too many servers for one connection"),
        Some(4013) => refused("Discord does not know what we want to be told (4013)"),
        Some(4014) => refused(
            "Discord does not let the bot read messages; turn on \"Message Content Intent\" for it \
             in the developer portal",
        ),
        Some(code @ (4010 | 4012)) => refused(&format!("Discord refuses the connection ({code})")),
        Some(code @ (4003 | 4007 | 4009)) => {
            End::Anew(format!("Discord ended the session ({code})"))
        }
        Some(code) => broken(format!("Discord closed the socket ({code})")),
        None => broken("Discord closed the socket"),
    }
}

fn broken(why: impl ToString) -> End {
    End::Broken {
        why: why.to_string(),
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
