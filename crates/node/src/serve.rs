//! Serving one connection: calls in, results out, pings both ways.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::SplitStream;
use manyhands_wire::{
    CLOSE_UNAUTHENTICATED, Event, EventKind, Frame, LogsGetEvent, LogsResultParams, Params,
    Payload, ProcessUnwatchEvent, ProcessWatchEvent, Response, ToolCancelEvent, ToolInvokeEvent,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::calls::Calls;
use crate::dial::{Greeted, Socket, parting, told};
use crate::memory::Memory;
use crate::run::Node;
use crate::transfer::Transfers;
use crate::watches::Watches;
use crate::writer::{Gone, Outgoing, write};

const PING: Duration = Duration::from_secs(10);
/// A gateway that says nothing for this long is gone.
const DEAD: Duration = Duration::from_secs(30);
/// How long what the gateway said last may take to be read when writing has failed, and how
/// long our own goodbye may take.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How many answers may wait to be looked at.
const ANSWERS: usize = 64;
/// How the reason begins with which a gateway closes when another socket has this node's name.
const REPLACED: &str = "replaced";

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// This node was told to stop.
    Stopped,
    /// The gateway does not want it back.
    Refused(String),
    /// Another process has this node's place.
    Replaced(String),
    /// It broke; dial again.
    Lost(String),
}

/// Serves until the connection ends.
pub(crate) async fn serve(
    greeted: Greeted,
    node: &Arc<Node>,
    memory: &mut Memory,
    stop: &CancellationToken,
) -> Ended {
    let (sink, mut stream) = greeted.socket.split();
    let (outgoing, queues) = Outgoing::new();
    let mut writer = AbortOnDropHandle::new(tokio::spawn(write(sink, queues)));
    let (answers, answered) = mpsc::channel(ANSWERS);
    let heard = Heard::new();
    let mut session = Session {
        node,
        memory,
        outgoing: outgoing.clone(),
        answers,
        calls: Calls::new(),
        watches: Watches::new(),
        transfers: Transfers::new(node.clone(), outgoing.clone(), greeted.checked),
    };
    let ended = {
        let mut reading = pin!(session.read(&mut stream, &heard));
        tokio::select! {
            ended = &mut reading => ended,
            () = heard.nothing_more(&outgoing) => Ended::Lost("the gateway went silent".to_owned()),
            never = node.outbox.tell(&outgoing, answered) => match never {},
            failed = &mut writer => {
                let why = failed.map_or_else(|e| e.to_string(), |e| told(&e));
                let last = timeout(LAST_WORDS, reading).await;
                last.unwrap_or(Ended::Lost(why))
            }
            () = stop.cancelled() => Ended::Stopped,
        }
    };
    let Session {
        calls,
        watches,
        transfers,
        ..
    } = session;
    drop((calls, watches));
    transfers.close().await;
    if ended == Ended::Stopped {
        outgoing.close();
        drop(outgoing);
        // What is left unread would make the system reset the connection under our goodbye.
        let rest = async { while let Some(Ok(_)) = stream.next().await {} };
        let _ = timeout(LAST_WORDS, async { tokio::join!(writer, rest) }).await;
    }
    ended
}

/// When the gateway was last heard of.
struct Heard(Mutex<Instant>);

impl Heard {
    fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn something(&self) {
        *self.0.lock().expect("no panic while held") = Instant::now();
    }

    /// Pings, and returns when nothing was heard for too long; also while a write is stuck.
    async fn nothing_more(&self, outgoing: &Outgoing) {
        let mut pings = interval(PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            pings.tick().await;
            let heard = *self.0.lock().expect("no panic while held");
            if heard.elapsed() >= DEAD {
                return;
            }
            outgoing.ping();
        }
    }
}

struct Session<'a> {
    node: &'a Arc<Node>,
    memory: &'a mut Memory,
    outgoing: Outgoing,
    answers: mpsc::Sender<Response>,
    calls: Calls,
    watches: Watches,
    transfers: Transfers,
}

impl Session<'_> {
    async fn read(&mut self, stream: &mut SplitStream<Socket>, heard: &Heard) -> Ended {
        loop {
            let message = tokio::select! {
                message = stream.next() => message,
                () = self.calls.ended() => continue,
                () = self.watches.ended() => continue,
                () = self.transfers.ended() => continue,
            };
            heard.something();
            match message {
                // When nothing can be written any more there may still be something to read:
                // why the gateway closes.
                Some(Ok(Message::Text(text))) => drop(self.take(&text).await),
                Some(Ok(Message::Binary(bytes))) => self.transfers.take(bytes).await,
                Some(Ok(Message::Close(frame))) => return closed(parting(frame)),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Ended::Lost(told(&error)),
                None => return Ended::Lost("the connection was closed".to_owned()),
            }
        }
    }

    async fn take(&mut self, text: &str) -> Result<(), Gone> {
        match Frame::decode(text) {
            Ok(Frame::Evt(event)) => self.hear(event).await,
            Ok(Frame::Res(answer)) => {
                self.transfers.answered(&answer);
                // Only news wait for answers, one at a time; what they miss they ask for again.
                let _ = self.answers.try_send(answer);
                Ok(())
            }
            // Nobody asks a node for anything by request.
            Ok(Frame::Req(_)) | Err(_) => Ok(()),
        }
    }

    async fn hear(&mut self, event: Event) -> Result<(), Gone> {
        let Some(kind) = EventKind::from_name(&event.event) else {
            return Ok(()); // from a newer gateway
        };
        match kind {
            EventKind::ToolInvoke => {
                let Some(ask) = ToolInvokeEvent::read(event) else {
                    return Ok(());
                };
                let (node, outgoing) = (self.node, &self.outgoing);
                self.calls.start(ask, node, self.memory, outgoing).await
            }
            EventKind::ToolCancel => {
                if let Some(ask) = ToolCancelEvent::read(event) {
                    self.calls.cancel(&ask.call_id);
                }
                Ok(())
            }
            EventKind::ProcessWatch => match ProcessWatchEvent::read(event) {
                Some(ask) => self.watches.ask(ask, self.node, &self.outgoing).await,
                None => Ok(()),
            },
            EventKind::ProcessUnwatch => {
                if let Some(ask) = ProcessUnwatchEvent::read(event) {
                    self.watches.end(&ask.watch_id);
                }
                Ok(())
            }
            EventKind::LogsGet => match LogsGetEvent::read(event) {
                Some(ask) => self.outgoing.text(self.log(&ask)).await,
                None => Ok(()),
            },
            about_a_transfer => self.transfers.hear(about_a_transfer, event).await,
        }
    }

    fn log(&self, ask: &LogsGetEvent) -> String {
        let (lines, truncated) = self.node.log.last(ask.lines as usize);
        let answer = LogsResultParams {
            call_id: ask.call_id.clone(),
            lines: Some(lines),
            truncated: Some(truncated),
            error: None,
        };
        answer.encode(&ask.call_id)
    }
}

fn closed((code, why): (u16, String)) -> Ended {
    match code {
        CLOSE_UNAUTHENTICATED => Ended::Refused(why),
        _ if why.starts_with(REPLACED) => Ended::Replaced(why),
        _ => Ended::Lost(why),
    }
}
