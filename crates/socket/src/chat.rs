//! Chats on the socket: sending messages, and forwarding the events of the sessions a client may
//! see.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use manyhands_agent::{
    ChatEvent, EventPosition, Lagged, Minds, ParsedMessage, SessionKey, StoredMessage,
    Subscription, TurnEvent, TurnNote,
};
use manyhands_core::{Caller, ToolError};
use manyhands_gateway::{Admitted, Gateway, origin};
use manyhands_wire::{
    CallResult, ChatEventPayload, ChatGapEvent, ChatMessage, ChatSendParams, ChatSendResult,
    ChatState, ChatStopParams, ChatStopResult, ChatTakenEvent, ChatToolEvent, ChatToolState,
    ErrorShape, Payload as _, SessionChangedEvent, SessionDeletedEvent,
};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

use super::access::{SessionScope, key};
use super::messages::{call_result, chat_messages, chat_usage};
use super::sessions::directives;
use super::shape::shape;

/// Free slots in a client's queue below which deltas are merged instead of queued.
const ROOM_FOR_DELTAS: usize = 64;
/// Bytes of merged delta text held back for a slow client.
const MAX_PENDING: usize = 64 * 1024;
/// Runs per socket whose end is guaranteed to be reported.
const MAX_RUNS: usize = 1_024;
/// Longest run id, in bytes.
const MAX_RUN_ID: usize = 200;

/// Runs started on one socket whose end has not been reported yet.
#[derive(Default)]
pub(super) struct Runs {
    /// Turn id of each open run.
    open: Mutex<HashMap<RunKey, String>>,
}

/// A session and the client's id of a run in it.
type RunKey = (SessionKey, String);

impl Runs {
    fn open(&self) -> MutexGuard<'_, HashMap<RunKey, String>> {
        self.open.lock().expect("no panic while held")
    }

    fn add(&self, run: &str, key: &SessionKey, turn: &str) {
        let mut open = self.open();
        // Beyond the cap a run is only not guaranteed its end event after a gap; it still runs.
        if open.len() < MAX_RUNS {
            open.insert((key.clone(), run.to_owned()), turn.to_owned());
        }
    }
}

/// The reply to `chat.send`, and an event to send after it.
pub(super) struct SendReply {
    pub(super) result: ChatSendResult,
    pub(super) after: Option<Message>,
}

impl From<ChatSendResult> for SendReply {
    fn from(result: ChatSendResult) -> Self {
        Self {
            result,
            after: None,
        }
    }
}

/// Queues a message for the session's next turn, or runs the slash command it contains.
pub(super) async fn send(
    gateway: &Gateway,
    admitted: &Admitted,
    params: ChatSendParams,
    runs: &Runs,
) -> Result<SendReply, ErrorShape> {
    let key = key(admitted, &params.session_key)?;
    check(&params).map_err(shape)?;
    let (minds, origin) = (gateway.minds(), origin(admitted));
    let parsed = minds.parse_message(&key, &params.message, &admitted.caller);
    let (input, given) = match parsed.await.map_err(shape)? {
        ParsedMessage::Command(reply) => {
            return Ok(SendReply::from(ChatSendResult::Command {
                command: reply.command,
                response: reply.response,
                error: reply.error,
            }));
        }
        ParsedMessage::OnlyDirectives {
            directives: given,
            response,
        } => {
            return Ok(SendReply::from(ChatSendResult::DirectiveOnly {
                response,
                directives: directives(&given),
            }));
        }
        ParsedMessage::Message { input, directives } => (*input, directives),
    };
    let sent = minds.send(&key, params.run_id, input, &origin);
    let sent = sent.await.map_err(shape)?;
    runs.add(&sent.run_id, &key, &sent.turn);
    // A repeated run id means the client retried after losing the connection. If the turn has
    // ended, no further event will come, so the stored end is sent after the reply.
    let ended = match sent.repeated {
        true => minds.ended(&sent.turn).await.map_err(shape)?,
        false => None,
    };
    if let Some(end) = ended {
        runs.open().remove(&(key.clone(), sent.run_id.clone()));
        let event = ChatEvent {
            session: key,
            run_id: sent.run_id.clone(),
            what: end,
            mark: EventPosition::default(),
        };
        let payload = wire_event(&event).map(|payload| payload.encode());
        return Ok(SendReply {
            result: ChatSendResult::Started {
                run_id: sent.run_id,
                queued: false,
                directives: None,
            },
            after: payload,
        });
    }
    if let Some((approval, tool)) = minds.question(&key) {
        return Ok(SendReply::from(ChatSendResult::Paused {
            run_id: sent.run_id,
            response: format!(
                "message queued: {tool} is waiting for the owner's approval {approval}"
            ),
            approval_id: Some(approval.to_string()),
        }));
    }
    Ok(SendReply::from(ChatSendResult::Started {
        run_id: sent.run_id,
        queued: sent.queued,
        directives: (!given.is_empty()).then(|| directives(&given)),
    }))
}

fn check(params: &ChatSendParams) -> Result<(), ToolError> {
    if params.message.trim().is_empty() {
        return Err(ToolError::parameter("message", "must not be empty"));
    }
    let wrong =
        |id: &String| id.is_empty() || id.len() > MAX_RUN_ID || id.chars().any(char::is_control);
    if params.run_id.as_ref().is_some_and(wrong) {
        let message = format!("must have 1 to {MAX_RUN_ID} printable characters");
        return Err(ToolError::parameter("runId", message));
    }
    Ok(())
}

/// Stops the running turn of a session.
pub(super) fn stop(
    gateway: &Gateway,
    admitted: &Admitted,
    params: &ChatStopParams,
) -> Result<ChatStopResult, ErrorShape> {
    let key = key(admitted, &params.session_key)?;
    Ok(ChatStopResult {
        ok: true,
        stopped: gateway.minds().stop(&key),
    })
}

/// Forwards events of the visible sessions to the client for as long as it is polled.
pub(super) async fn forward(
    minds: &Minds,
    caller: &Caller,
    outbox: &mpsc::Sender<Message>,
    runs: &Runs,
) {
    let scope = SessionScope::of(caller);
    let mut events = minds.listen(match &scope {
        SessionScope::All => Subscription::All,
        SessionScope::Own(own) => Subscription::Group(own),
        // Pending, not returning: returning would end the socket.
        SessionScope::Nothing => return std::future::pending().await,
    });
    // Runs whose end was already sent by `catch_up`; a queued end event for them is a duplicate.
    let mut caught_up: HashSet<RunKey> = HashSet::new();
    let mut forwarder = ChatForwarder {
        outbox,
        pending: None,
    };
    loop {
        match events.next().await {
            Ok(event) if scope.sees(&event.session) => {
                let run = (event.session.clone(), event.run_id.clone());
                let ends = event.what.is_end();
                if ends {
                    runs.open().remove(&run);
                }
                if !(ends && caught_up.remove(&run)) {
                    forwarder.forward(&event).await;
                }
                // Once the backlog is drained no duplicate can follow, so the set stays small.
                if events.is_empty() {
                    caught_up.clear();
                }
            }
            Ok(_) => {}
            Err(Lagged(missed)) => {
                tracing::warn!(
                    event = "socket_lagged",
                    missed,
                    client = caller.name,
                    "client reads its socket too slowly; skipped chat events"
                );
                forwarder.report_gap(missed).await;
                caught_up.extend(catch_up(minds, &mut forwarder, runs).await);
            }
        }
    }
}

/// Reports the end of this socket's runs that ended while events were missed; returns those runs.
async fn catch_up(minds: &Minds, forwarder: &mut ChatForwarder<'_>, runs: &Runs) -> Vec<RunKey> {
    let open: Vec<(RunKey, String)> = runs.open().clone().into_iter().collect();
    let mut ended = Vec::new();
    for (run, turn) in open {
        let Ok(Some(what)) = minds.ended(&turn).await else {
            continue;
        };
        runs.open().remove(&run);
        let (session, run_id) = run.clone();
        let event = ChatEvent {
            session,
            run_id,
            what,
            mark: EventPosition::default(),
        };
        forwarder.forward(&event).await;
        ended.push(run);
    }
    ended
}

/// Writes events into a client's queue. Deltas are merged while the client is slow, and dropped
/// beyond `MAX_PENDING`; all other events wait for room.
struct ChatForwarder<'a> {
    outbox: &'a mpsc::Sender<Message>,
    pending: Option<ChatEventPayload>,
}

impl ChatForwarder<'_> {
    /// Reports a gap, so that the client reloads the history.
    async fn report_gap(&mut self, missed: u64) {
        self.pending = None;
        let _ = self
            .outbox
            .send(WireEvent::Gap(ChatGapEvent { missed }).encode())
            .await; // the client may have disconnected
    }

    async fn forward(&mut self, event: &ChatEvent) {
        let Some(payload) = wire_event(event) else {
            return;
        };
        let payload = match payload {
            WireEvent::Chat(payload) if is_delta(&payload) => *payload,
            WireEvent::Tool(payload) if payload.state == ChatToolState::Output => {
                // The result repeats the output, so a slow client can do without it.
                if self.outbox.capacity() > ROOM_FOR_DELTAS {
                    let _ = self.outbox.try_send(WireEvent::Tool(payload).encode());
                }
                return;
            }
            WireEvent::Changed(payload) => {
                // Says nothing of the text.
                let _ = self.outbox.send(WireEvent::Changed(payload).encode()).await;
                return;
            }
            other => {
                // Every other event contains the text of the pending deltas or supersedes it.
                self.pending = None;
                let _ = self.outbox.send(other.encode()).await; // the client may have disconnected
                return;
            }
        };
        let pending = self.pending.take();
        let payload = match pending {
            Some(pending) => join(pending, payload),
            None => payload,
        };
        if self.outbox.capacity() > ROOM_FOR_DELTAS {
            let _ = self
                .outbox
                .try_send(WireEvent::Chat(Box::new(payload)).encode());
        } else {
            self.pending = Some(payload).filter(|payload| size(payload) <= MAX_PENDING);
        }
    }
}

fn is_delta(payload: &ChatEventPayload) -> bool {
    payload.state == ChatState::Delta && payload.restart.is_none()
}

fn size(payload: &ChatEventPayload) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    length(&payload.text) + length(&payload.thinking)
}

/// Merges two deltas. Deltas of different replies cannot be merged: the later one wins.
fn join(pending: ChatEventPayload, payload: ChatEventPayload) -> ChatEventPayload {
    let reply = |payload: &ChatEventPayload| {
        let run = (payload.run_id.clone(), payload.session_key.clone());
        (run, payload.reply)
    };
    if reply(&pending) != reply(&payload) {
        return payload;
    }
    let both = |first: Option<String>, then: Option<String>| match (first, then) {
        (Some(first), Some(then)) => Some(first + &then),
        (first, then) => first.or(then),
    };
    ChatEventPayload {
        text: both(pending.text, payload.text),
        thinking: both(pending.thinking, payload.thinking),
        offset: pending.offset.or(payload.offset),
        thinking_offset: pending.thinking_offset.or(payload.thinking_offset),
        ..payload
    }
}

/// An event in its wire format.
enum WireEvent {
    Chat(Box<ChatEventPayload>),
    Tool(Box<ChatToolEvent>),
    Gap(ChatGapEvent),
    Taken(Box<ChatTakenEvent>),
    Deleted(SessionDeletedEvent),
    Changed(SessionChangedEvent),
}

impl WireEvent {
    fn encode(&self) -> Message {
        let text = match self {
            Self::Chat(payload) => payload.encode(),
            Self::Tool(payload) => payload.encode(),
            Self::Gap(payload) => payload.encode(),
            Self::Taken(payload) => payload.encode(),
            Self::Deleted(payload) => payload.encode(),
            Self::Changed(payload) => payload.encode(),
        };
        Message::Text(text.into())
    }
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

/// Converts an event; `None` if clients are not informed of it.
fn wire_event(event: &ChatEvent) -> Option<WireEvent> {
    let chat = |state| {
        let run = Some(event.run_id.clone());
        ChatEventPayload::new(run, event.session.as_str(), state)
    };
    let mark = &event.mark;
    let reply = Some(mark.reply).filter(|number| *number > 0);
    let spoken = |state, text: &String| ChatEventPayload {
        message: Some(ChatMessage {
            seq: mark.seq,
            ..ChatMessage::assistant(text)
        }),
        text: Some(text.clone()),
        reply,
        ..chat(state)
    };
    let tool = |call_id: &String, tool: &String, state| ChatToolEvent {
        run_id: event.run_id.clone(),
        session_key: event.session.to_string(),
        call_id: call_id.clone(),
        tool: tool.clone(),
        state,
        args: None,
        ok: None,
        shown: None,
        duration_ms: None,
        text: None,
        audit_call: None,
        offset: None,
        result: CallResult::default(),
    };
    let payload = match &event.what {
        TurnEvent::Delta(text) => ChatEventPayload {
            text: Some(text.clone()),
            reply,
            offset: reply.map(|_| mark.offset),
            ..chat(ChatState::Delta)
        },
        TurnEvent::Thinking(text) => ChatEventPayload {
            thinking: Some(text.clone()),
            reply,
            thinking_offset: reply.map(|_| mark.offset),
            ..chat(ChatState::Delta)
        },
        TurnEvent::Restart { because } => ChatEventPayload {
            restart: Some(because.clone()),
            reply,
            ..chat(ChatState::Delta)
        },
        TurnEvent::Partial(text) => spoken(ChatState::Partial, text),
        TurnEvent::Final { text, stop, usage } => ChatEventPayload {
            stop_reason: Some(stop.word().to_owned()),
            usage: Some(chat_usage(usage)),
            ..spoken(ChatState::Final, text)
        },
        TurnEvent::Paused {
            approval,
            tool,
            arguments,
        } => ChatEventPayload {
            text: Some(format!(
                "{tool} needs the owner's approval\nhint: /approve {approval} or /deny {approval}"
            )),
            approval_id: Some(approval.to_string()),
            tool: Some(tool.clone()),
            arguments: Some(arguments.clone()),
            call_id: mark.call_id.clone(),
            ..chat(ChatState::Paused)
        },
        TurnEvent::Error(failure) => ChatEventPayload {
            error: Some(failure.text.clone()),
            failure: Some(failure.kind.word().to_owned()),
            code: Some(failure.kind.code().as_str().to_owned()),
            retry_after_ms: failure.retry_after.map(millis),
            retryable: Some(failure.kind.is_retryable()),
            ..chat(ChatState::Error)
        },
        TurnEvent::Stopped => ChatEventPayload {
            error: Some("stopped".to_owned()),
            stopped: Some(true),
            retryable: Some(true),
            ..chat(ChatState::Error)
        },
        TurnEvent::ToolOutput {
            call_id,
            tool: name,
            text,
        } => {
            return Some(WireEvent::Tool(Box::new(ChatToolEvent {
                text: Some(text.clone()),
                offset: reply.map(|_| mark.offset),
                ..tool(call_id, name, ChatToolState::Output)
            })));
        }
        TurnEvent::ToolStarted {
            call_id,
            tool: name,
            arguments,
            call,
        } => {
            return Some(WireEvent::Tool(Box::new(ChatToolEvent {
                args: Some(arguments.clone()),
                audit_call: call.map(|call| call.to_string()),
                ..tool(call_id, name, ChatToolState::Started)
            })));
        }
        TurnEvent::ToolDone {
            call_id,
            tool: name,
            ok,
            shown,
            stats,
            pictures,
        } => {
            return Some(WireEvent::Tool(Box::new(ChatToolEvent {
                ok: Some(*ok),
                audit_call: stats.call.map(|call| call.to_string()),
                shown: Some(shown.clone()),
                duration_ms: Some(stats.ms),
                result: call_result(Some(stats), !ok, pictures),
                ..tool(call_id, name, ChatToolState::Done)
            })));
        }
        TurnEvent::Resumed => return None, // the tool's end event implies it
        TurnEvent::Taken { at, message, into } => {
            let stored = StoredMessage {
                seq: mark.seq?,
                at: *at,
                message: message.clone(),
                usage: None,
                made: Vec::new(),
                note: TurnNote::default(),
            };
            return Some(WireEvent::Taken(Box::new(ChatTakenEvent {
                run_id: event.run_id.clone(),
                session_key: event.session.to_string(),
                message: chat_messages(stored).pop()?,
                into: into.clone(),
            })));
        }
        TurnEvent::Deleted => {
            return Some(WireEvent::Deleted(SessionDeletedEvent {
                session_key: event.session.to_string(),
            }));
        }
        TurnEvent::Changed => {
            return Some(WireEvent::Changed(SessionChangedEvent {
                session_key: event.session.to_string(),
            }));
        }
    };
    Some(WireEvent::Chat(Box::new(payload)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_agent::TurnUsage;
    use manyhands_llm::StopReason;
    use serde_json::Value;

    fn event(run: &str, what: TurnEvent) -> ChatEvent {
        ChatEvent {
            session: "main".parse().unwrap(),
            run_id: run.to_owned(),
            what,
            mark: EventPosition::default(),
        }
    }

    fn payloads(queue: &mut mpsc::Receiver<Message>) -> Vec<Value> {
        let mut all = Vec::new();
        while let Ok(Message::Text(text)) = queue.try_recv() {
            let frame: Value = serde_json::from_str(&text).unwrap();
            all.push(frame["payload"].clone());
        }
        all
    }

    #[tokio::test]
    async fn a_slow_reader_gets_deltas_together_and_every_end() {
        let (outbox, mut queue) = mpsc::channel(ROOM_FOR_DELTAS + 2);
        let mut forwarder = ChatForwarder {
            outbox: &outbox,
            pending: None,
        };
        for word in ["a", "b", "c", "d"] {
            forwarder
                .forward(&event("r", TurnEvent::Delta(word.to_owned())))
                .await;
        }
        let first: Vec<Value> = payloads(&mut queue);
        let texts: Vec<&str> = first.iter().filter_map(|p| p["text"].as_str()).collect();
        assert_eq!(texts, ["a", "b"], "the others find no room");
        forwarder
            .forward(&event("r", TurnEvent::Delta("e".to_owned())))
            .await;
        assert_eq!(payloads(&mut queue)[0]["text"], "cde");
        for word in ["x", "y", "z"] {
            forwarder
                .forward(&event("r", TurnEvent::Delta(word.to_owned())))
                .await;
        }
        let whole = TurnEvent::Final {
            text: "whole".to_owned(),
            stop: StopReason::End,
            usage: TurnUsage::default(),
        };
        forwarder.forward(&event("r", whole)).await;
        let last = payloads(&mut queue);
        assert_eq!(last.len(), 3);
        assert_eq!(last[2]["state"], "final");
        assert!(forwarder.pending.is_none());
    }

    #[test]
    fn deltas_of_two_runs_are_not_mixed() {
        let delta = |run: &str, text: &str| match wire_event(&event(
            run,
            TurnEvent::Delta(text.to_owned()),
        )) {
            Some(WireEvent::Chat(payload)) => *payload,
            _ => panic!("no delta"),
        };
        assert_eq!(join(delta("r", "a"), delta("r", "b")).text.unwrap(), "ab");
        assert_eq!(join(delta("r", "a"), delta("s", "b")).text.unwrap(), "b");
    }

    #[test]
    fn merged_deltas_keep_the_position_of_the_first() {
        let delta = |reply: u64, offset: u64, what: TurnEvent| {
            let mut event = event("r", what);
            event.mark.reply = reply;
            event.mark.offset = offset;
            match wire_event(&event) {
                Some(WireEvent::Chat(payload)) => *payload,
                _ => panic!("no delta"),
            }
        };
        let text =
            |reply, offset, text: &str| delta(reply, offset, TurnEvent::Delta(text.to_owned()));
        let both = join(text(1, 4, "a"), text(1, 5, "b"));
        assert_eq!((both.reply, both.offset), (Some(1), Some(4)));
        let thought = delta(1, 7, TurnEvent::Thinking("x".to_owned()));
        let both = join(thought, both);
        assert_eq!((both.offset, both.thinking_offset), (Some(4), Some(7)));
        let next = join(both, text(2, 0, "c"));
        assert_eq!(next.text.as_deref(), Some("c"), "of the reply before");
        assert_eq!((next.reply, next.offset), (Some(2), Some(0)));
    }
}
