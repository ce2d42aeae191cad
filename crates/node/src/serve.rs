//! Serves one connection: calls in, results out, pings both ways.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::SplitStream;
use manyhands_wire::{
    CLOSE_UNAUTHENTICATED, Event, EventKind, Frame, LogsGetEvent, LogsResultParams, Params,
    Payload, ProcessUnwatchEvent, ProcessWatchEvent, Response, TerminalCloseEvent,
    TerminalInputEvent, TerminalReadEvent, TerminalResizeEvent, ToolCancelEvent, ToolInvokeEvent,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::calls::Calls;
use crate::handshake::{Accepted, Socket, close_reason, describe};
use crate::node::Node;
use crate::seen_calls::SeenCalls;
use crate::transfer::Transfers;
use crate::watches::Watches;
use crate::writer::{ConnectionClosed, Outgoing, write};

const PING: Duration = Duration::from_secs(10);
/// A gateway silent for this long is gone.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long to keep reading after a failed write, and how long our own close may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of queued responses.
const MAX_RESPONSES: usize = 64;
/// Start of the close reason sent when another socket has taken this node's name.
const REPLACED: &str = "replaced";

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Disconnect {
    /// The node was stopped.
    Stopped,
    /// The gateway permanently refuses it.
    Refused(String),
    /// Another process has taken its name.
    Replaced(String),
    /// Lost; reconnect.
    Lost(String),
}

/// Serves until the connection ends.
pub(crate) async fn serve(
    accepted: Accepted,
    node: &Arc<Node>,
    seen_calls: &mut SeenCalls,
    stop: &CancellationToken,
) -> Disconnect {
    let (sink, mut stream) = accepted.socket.split();
    let (outgoing, queues) = Outgoing::new();
    // A task of its own: a peer that does not read must not stop us from reading.
    let mut writer = AbortOnDropHandle::new(tokio::spawn(write(sink, queues)));
    let (answers, answered) = mpsc::channel(MAX_RESPONSES);
    let last_received = LastReceived::new();
    let mut session = Session {
        node,
        seen_calls,
        outgoing: outgoing.clone(),
        answers,
        calls: Calls::new(),
        watches: Watches::new(),
        transfers: Transfers::new(node.clone(), outgoing.clone(), accepted.checked),
    };
    let ended = {
        let mut reading = pin!(session.read(&mut stream, &last_received));
        tokio::select! {
            // One task reads, so that the order of events is kept; calls and transfers run in tasks of their own.
            ended = &mut reading => ended,
            () = last_received.until_silent(&outgoing) => Disconnect::Lost("the gateway stopped responding".to_owned()),
            never = node.outbox.send_all(&outgoing, answered) => match never {},
            failed = &mut writer => {
                // A failed write is often followed by a readable close frame, which has the actual reason.
                let why = failed.map_or_else(|e| e.to_string(), |e| describe(&e));
                let last = timeout(CLOSE_TIMEOUT, reading).await;
                last.unwrap_or(Disconnect::Lost(why))
            }
            () = stop.cancelled() => Disconnect::Stopped,
        }
    };
    let Session {
        calls,
        watches,
        transfers,
        ..
    } = session;
    // Cancelled before the transfers are closed: a call must not start writing once its result is lost.
    drop((calls, watches));
    transfers.close().await;
    if ended == Disconnect::Stopped {
        outgoing.close();
        drop(outgoing);
        // Unread data would make the kernel reset the connection before our close frame is delivered.
        let rest = async { while let Some(Ok(_)) = stream.next().await {} };
        let _ = timeout(CLOSE_TIMEOUT, async { tokio::join!(writer, rest) }).await;
    }
    ended
}

/// When the gateway last sent anything.
struct LastReceived(Mutex<Instant>);

impl LastReceived {
    fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn touch(&self) {
        *self.0.lock().expect("no panic while held") = Instant::now();
    }

    /// Sends pings; returns after too long without a message, even while a write is stuck.
    async fn until_silent(&self, outgoing: &Outgoing) {
        let mut pings = interval(PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            pings.tick().await;
            let last = *self.0.lock().expect("no panic while held");
            if last.elapsed() >= IDLE_TIMEOUT {
                return;
            }
            outgoing.ping();
        }
    }
}

struct Session<'a> {
    node: &'a Arc<Node>,
    seen_calls: &'a mut SeenCalls,
    outgoing: Outgoing,
    answers: mpsc::Sender<Response>,
    calls: Calls,
    watches: Watches,
    transfers: Transfers,
}

impl Session<'_> {
    async fn read(
        &mut self,
        stream: &mut SplitStream<Socket>,
        last_received: &LastReceived,
    ) -> Disconnect {
        loop {
            let message = tokio::select! {
                message = stream.next() => message,
                () = self.calls.ended() => continue,
                () = self.watches.ended() => continue,
                () = self.transfers.ended() => continue,
            };
            // Any message counts, pongs included: a busy gateway may have nothing else to send.
            last_received.touch();
            match message {
                // A failed write is ignored: there may still be a close frame to read, with the reason.
                Some(Ok(Message::Text(text))) => drop(self.take(&text).await),
                Some(Ok(Message::Binary(bytes))) => self.transfers.take(bytes).await,
                Some(Ok(Message::Close(frame))) => return closed(close_reason(frame)),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Disconnect::Lost(describe(&error)),
                None => return Disconnect::Lost("the connection was closed".to_owned()),
            }
        }
    }

    async fn take(&mut self, text: &str) -> Result<(), ConnectionClosed> {
        match Frame::decode(text) {
            Ok(Frame::Evt(event)) => self.on_event(event).await,
            Ok(Frame::Res(answer)) => {
                self.transfers.on_response(&answer);
                // A full queue may drop it: only process events wait for responses, and they are resent.
                let _ = self.answers.try_send(answer);
                Ok(())
            }
            // Nobody sends requests to a node.
            Ok(Frame::Req(_)) | Err(_) => Ok(()),
        }
    }

    async fn on_event(&mut self, event: Event) -> Result<(), ConnectionClosed> {
        let Some(kind) = EventKind::from_name(&event.event) else {
            return Ok(()); // sent by a newer gateway
        };
        match kind {
            EventKind::ToolInvoke => {
                let Some(request) = ToolInvokeEvent::read(event) else {
                    return Ok(());
                };
                let (node, outgoing) = (self.node, &self.outgoing);
                self.calls
                    .start(request, node, self.seen_calls, outgoing)
                    .await
            }
            EventKind::ToolCancel => {
                if let Some(request) = ToolCancelEvent::read(event) {
                    // A cancellation of an unknown call is ignored: its result may be on the way already.
                    self.calls.cancel(&request.call_id);
                }
                Ok(())
            }
            EventKind::ProcessWatch => match ProcessWatchEvent::read(event) {
                Some(request) => self.watches.watch(request, self.node, &self.outgoing).await,
                None => Ok(()),
            },
            EventKind::ProcessUnwatch => {
                if let Some(request) = ProcessUnwatchEvent::read(event) {
                    self.watches.end(&request.watch_id);
                }
                Ok(())
            }
            EventKind::TerminalRead
            | EventKind::TerminalInput
            | EventKind::TerminalResize
            | EventKind::TerminalClose => {
                self.on_terminal(kind, event);
                Ok(())
            }
            EventKind::LogsGet => match LogsGetEvent::read(event) {
                Some(request) => self.outgoing.text(self.log(&request)).await,
                None => Ok(()),
            },
            // The remaining kinds are transfers; those sent to nodes only by mistake are ignored there.
            transfer => self.transfers.on_event(transfer, event).await,
        }
    }

    fn on_terminal(&self, kind: EventKind, event: Event) {
        let terminals = &self.node.terminals;
        if kind == EventKind::TerminalRead {
            if let Some(request) = TerminalReadEvent::read(event) {
                terminals.read(&request);
            }
        } else if kind == EventKind::TerminalInput {
            if let Some(request) = TerminalInputEvent::read(event) {
                terminals.input(request);
            }
        } else if kind == EventKind::TerminalResize {
            if let Some(request) = TerminalResizeEvent::read(event) {
                terminals.resize(&request);
            }
        } else if let Some(request) = TerminalCloseEvent::read(event) {
            terminals.close(&request);
        }
    }

    fn log(&self, request: &LogsGetEvent) -> String {
        let (lines, truncated) = self.node.log.last(request.lines as usize);
        let answer = LogsResultParams {
            call_id: request.call_id.clone(),
            lines: Some(lines),
            truncated: Some(truncated),
            error: None,
        };
        answer.encode(&request.call_id)
    }
}

fn closed((code, why): (u16, String)) -> Disconnect {
    match code {
        CLOSE_UNAUTHENTICATED => Disconnect::Refused(why),
        // There is no close code of its own for this in version 1 of the protocol.
        _ if why.starts_with(REPLACED) => Disconnect::Replaced(why),
        _ => Disconnect::Lost(why),
    }
}
