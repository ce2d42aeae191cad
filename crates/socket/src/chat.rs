//! Chats and sessions on the socket: what is asked, and what is told meanwhile.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use manyhands_agent::{
    ChatEvent, Heard, Kept, Mark, Minds, Missed, SessionKey, TurnUsage, What, Whose,
};
use manyhands_agent_services::session_key;
use manyhands_core::{AgentId, Caller, ToolError};
use manyhands_gateway::{Admitted, Gateway, origin};
use manyhands_wire::{
    ChatEventPayload, ChatGapEvent, ChatMessage, ChatSendParams, ChatSendResult, ChatState,
    ChatStopParams, ChatStopResult, ChatTakenEvent, ChatToolEvent, ChatToolState, ChatUsage,
    ErrorShape, Payload as _, SessionDeletedEvent,
};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

use super::methods::shape;
use super::sessions::{directives, said};

/// With less room than this in a peer's queue, deltas are put together instead of queued.
const ROOM_FOR_DELTAS: usize = 64;
/// How much text of deltas that were put together is held.
const MAX_HELD: usize = 64 * 1024;
/// How many runs of one socket are remembered to make sure that it hears of their end.
const MAX_RUNS: usize = 1_024;
/// The longest id of a run.
const MAX_RUN_ID: usize = 200;

/// What one socket asked for and is still to hear of.
#[derive(Default)]
pub(super) struct Runs {
    /// The turns.
    open: Mutex<HashMap<Run, String>>,
}

/// A run: the session, and the asker's id of it there.
type Run = (SessionKey, String);

impl Runs {
    fn open(&self) -> MutexGuard<'_, HashMap<Run, String>> {
        self.open.lock().expect("no panic while held")
    }

    fn add(&self, run: &str, key: &SessionKey, turn: &str) {
        let mut open = self.open();
        if open.len() < MAX_RUNS {
            open.insert((key.clone(), run.to_owned()), turn.to_owned());
        }
    }
}

/// The session that somebody names.
pub(super) fn key(asker: &Admitted, text: &str) -> Result<SessionKey, ErrorShape> {
    session_key(&asker.caller, &AgentId::main(), text).map_err(shape)
}

/// What became of a message, and what the socket is told after that.
pub(super) struct Sent {
    pub(super) result: ChatSendResult,
    pub(super) after: Option<Message>,
}

impl From<ChatSendResult> for Sent {
    fn from(result: ChatSendResult) -> Self {
        Self {
            result,
            after: None,
        }
    }
}

/// Takes a message, or does what it commands.
pub(super) async fn send(
    gateway: &Gateway,
    asker: &Admitted,
    params: ChatSendParams,
    runs: &Runs,
) -> Result<Sent, ErrorShape> {
    let key = key(asker, &params.session_key)?;
    check(&params).map_err(shape)?;
    let (minds, origin) = (gateway.minds(), origin(asker));
    let heard = minds.hear(&key, &params.message, &asker.caller);
    let (input, said) = match heard.await.map_err(shape)? {
        Heard::Command(reply) => {
            return Ok(Sent::from(ChatSendResult::Command {
                command: reply.command,
                response: reply.response,
                error: reply.error,
            }));
        }
        Heard::OnlyDirectives {
            directives: said,
            response,
        } => {
            return Ok(Sent::from(ChatSendResult::DirectiveOnly {
                response,
                directives: directives(&said),
            }));
        }
        Heard::Message { input, directives } => (input, directives),
    };
    let sent = minds.send(&key, params.run_id, input, &origin);
    let sent = sent.await.map_err(shape)?;
    runs.add(&sent.run_id, &key, &sent.turn);
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
            mark: Mark::default(),
        };
        let told = told(&event).map(|told| told.encode());
        return Ok(Sent {
            result: ChatSendResult::Started {
                run_id: sent.run_id,
                queued: false,
                directives: None,
            },
            after: told,
        });
    }
    if let Some((approval, tool)) = minds.question(&key) {
        return Ok(Sent::from(ChatSendResult::Paused {
            run_id: sent.run_id,
            response: format!(
                "it is kept, and goes on when the owner answers: {tool} waits for approval {approval}"
            ),
            approval_id: Some(approval.to_string()),
        }));
    }
    Ok(Sent::from(ChatSendResult::Started {
        run_id: sent.run_id,
        queued: sent.queued,
        directives: (!said.is_empty()).then(|| directives(&said)),
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

/// Stops what is running in a session.
pub(super) fn stop(
    gateway: &Gateway,
    asker: &Admitted,
    params: &ChatStopParams,
) -> Result<ChatStopResult, ErrorShape> {
    let key = key(asker, &params.session_key)?;
    Ok(ChatStopResult {
        ok: true,
        stopped: gateway.minds().stop(&key),
    })
}

/// Which sessions somebody sees.
pub(super) enum Sight {
    /// All of them.
    All,
    /// Those whose key goes on like this after the agent.
    Own(String),
    /// None.
    Nothing,
}

impl Sight {
    pub(super) fn of(caller: &Caller) -> Self {
        if caller.is_owner() {
            return Self::All;
        }
        let any = session_key(caller, &AgentId::main(), "x");
        match any.as_ref().map(|key| key.rest().strip_suffix('x')) {
            Ok(Some(own)) => Self::Own(own.to_owned()),
            _ => Self::Nothing,
        }
    }

    pub(super) fn sees(&self, key: &SessionKey) -> bool {
        match self {
            Self::All => true,
            Self::Own(own) => key.rest().starts_with(own.as_str()),
            Self::Nothing => false,
        }
    }
}

/// Tells a socket what happens in the sessions that its owner sees, as long as it is open.
pub(super) async fn forward(
    minds: &Minds,
    caller: &Caller,
    outbox: &mpsc::Sender<Message>,
    runs: &Runs,
) {
    let sight = Sight::of(caller);
    let mut events = minds.listen(match &sight {
        Sight::All => Whose::All,
        Sight::Own(own) => Whose::Group(own),
        // No chats; the socket has other things to do.
        Sight::Nothing => return std::future::pending().await,
    });
    // Runs whose end was told already, though its event may still come.
    let mut caught_up: HashSet<Run> = HashSet::new();
    let mut desk = Desk { outbox, held: None };
    loop {
        match events.next().await {
            Ok(event) if sight.sees(&event.session) => {
                let run = (event.session.clone(), event.run_id.clone());
                let ends = event.what.is_end();
                if ends {
                    runs.open().remove(&run);
                }
                if !(ends && caught_up.remove(&run)) {
                    desk.take(&event).await;
                }
                if events.is_empty() {
                    caught_up.clear();
                }
            }
            Ok(_) => {}
            Err(Missed(missed)) => {
                tracing::warn!(
                    event = "socket_lagged",
                    missed,
                    client = caller.name,
                    "client reads its socket too slowly; skipped chat events"
                );
                desk.missed(missed).await;
                caught_up.extend(catch_up(minds, &mut desk, runs).await);
            }
        }
    }
}

/// Whoever missed something still hears how its own runs ended: these.
async fn catch_up(minds: &Minds, desk: &mut Desk<'_>, runs: &Runs) -> Vec<Run> {
    let open: Vec<(Run, String)> = runs.open().clone().into_iter().collect();
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
            mark: Mark::default(),
        };
        desk.take(&event).await;
        ended.push(run);
    }
    ended
}

/// Writes events into a peer's queue: all of them, except that deltas are put together when the
/// peer is slow, and left out when that becomes too much.
struct Desk<'a> {
    outbox: &'a mpsc::Sender<Message>,
    held: Option<ChatEventPayload>,
}

impl Desk<'_> {
    /// Says that events were left out, so that whoever reads looks at the records.
    async fn missed(&mut self, missed: u64) {
        self.held = None;
        let _ = self
            .outbox
            .send(Told::Gap(ChatGapEvent { missed }).encode())
            .await; // the peer may have gone
    }

    async fn take(&mut self, event: &ChatEvent) {
        let Some(told) = told(event) else { return };
        let told = match told {
            Told::Chat(told) if is_delta(&told) => *told,
            Told::Tool(told) if told.state == ChatToolState::Output => {
                // The result says it too: whoever is slow does without.
                if self.outbox.capacity() > ROOM_FOR_DELTAS {
                    let _ = self.outbox.try_send(Told::Tool(told).encode());
                }
                return;
            }
            other => {
                // What was said is in it, or does not matter any more.
                self.held = None;
                let _ = self.outbox.send(other.encode()).await; // the peer may have gone
                return;
            }
        };
        let held = self.held.take();
        let told = match held {
            Some(held) => join(held, told),
            None => told,
        };
        if self.outbox.capacity() > ROOM_FOR_DELTAS {
            let _ = self.outbox.try_send(Told::Chat(Box::new(told)).encode());
        } else {
            self.held = Some(told).filter(|told| size(told) <= MAX_HELD);
        }
    }
}

fn is_delta(told: &ChatEventPayload) -> bool {
    told.state == ChatState::Delta && told.restart.is_none()
}

fn size(told: &ChatEventPayload) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    length(&told.text) + length(&told.thinking)
}

/// Two deltas as one; of different replies only the later counts.
fn join(held: ChatEventPayload, told: ChatEventPayload) -> ChatEventPayload {
    let reply = |told: &ChatEventPayload| {
        let run = (told.run_id.clone(), told.session_key.clone());
        (run, told.reply)
    };
    if reply(&held) != reply(&told) {
        return told;
    }
    let both = |first: Option<String>, then: Option<String>| match (first, then) {
        (Some(first), Some(then)) => Some(first + &then),
        (first, then) => first.or(then),
    };
    ChatEventPayload {
        text: both(held.text, told.text),
        thinking: both(held.thinking, told.thinking),
        offset: held.offset.or(told.offset),
        thinking_offset: held.thinking_offset.or(told.thinking_offset),
        ..told
    }
}

/// An event as the wire says it.
enum Told {
    Chat(Box<ChatEventPayload>),
    Tool(Box<ChatToolEvent>),
    Gap(ChatGapEvent),
    Taken(Box<ChatTakenEvent>),
    Deleted(SessionDeletedEvent),
}

impl Told {
    fn encode(&self) -> Message {
        let text = match self {
            Self::Chat(told) => told.encode(),
            Self::Tool(told) => told.encode(),
            Self::Gap(told) => told.encode(),
            Self::Taken(told) => told.encode(),
            Self::Deleted(told) => told.encode(),
        };
        Message::Text(text.into())
    }
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

/// What a turn used up, as the wire says it.
pub(super) fn used(usage: &TurnUsage) -> ChatUsage {
    ChatUsage {
        replies: usage.replies,
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cost_micros: usage.cost_micros,
        duration_ms: usage.duration_ms,
    }
}

/// What a socket is told of an event, if anything.
fn told(event: &ChatEvent) -> Option<Told> {
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
    };
    let told = match &event.what {
        What::Delta(text) => ChatEventPayload {
            text: Some(text.clone()),
            reply,
            offset: reply.map(|_| mark.offset),
            ..chat(ChatState::Delta)
        },
        What::Thinking(text) => ChatEventPayload {
            thinking: Some(text.clone()),
            reply,
            thinking_offset: reply.map(|_| mark.offset),
            ..chat(ChatState::Delta)
        },
        What::Restart { because } => ChatEventPayload {
            restart: Some(because.clone()),
            reply,
            ..chat(ChatState::Delta)
        },
        What::Partial(text) => spoken(ChatState::Partial, text),
        What::Final { text, stop, usage } => ChatEventPayload {
            stop_reason: Some(stop.word().to_owned()),
            usage: Some(used(usage)),
            ..spoken(ChatState::Final, text)
        },
        What::Paused {
            approval,
            tool,
            arguments,
        } => ChatEventPayload {
            text: Some(format!(
                "{tool} waits for the owner\nhint: /approve {approval} or /deny {approval}"
            )),
            approval_id: Some(approval.to_string()),
            tool: Some(tool.clone()),
            arguments: Some(arguments.clone()),
            call_id: mark.call_id.clone(),
            ..chat(ChatState::Paused)
        },
        What::Error(failure) => ChatEventPayload {
            error: Some(failure.text.clone()),
            failure: Some(failure.kind.word().to_owned()),
            code: Some(failure.kind.code().word().to_owned()),
            retry_after_ms: failure.retry_after.map(millis),
            ..chat(ChatState::Error)
        },
        What::Stopped => ChatEventPayload {
            error: Some("it was stopped".to_owned()),
            stopped: Some(true),
            ..chat(ChatState::Error)
        },
        What::ToolOutput {
            call_id,
            tool: name,
            text,
        } => {
            return Some(Told::Tool(Box::new(ChatToolEvent {
                text: Some(text.clone()),
                offset: reply.map(|_| mark.offset),
                ..tool(call_id, name, ChatToolState::Output)
            })));
        }
        What::ToolStarted {
            call_id,
            tool: name,
            arguments,
            call,
        } => {
            return Some(Told::Tool(Box::new(ChatToolEvent {
                args: Some(arguments.clone()),
                audit_call: call.map(|call| call.to_string()),
                ..tool(call_id, name, ChatToolState::Started)
            })));
        }
        What::ToolDone {
            call_id,
            tool: name,
            ok,
            shown,
            took_ms,
            call,
        } => {
            return Some(Told::Tool(Box::new(ChatToolEvent {
                ok: Some(*ok),
                audit_call: call.map(|call| call.to_string()),
                shown: Some(shown.clone()),
                duration_ms: Some(*took_ms),
                ..tool(call_id, name, ChatToolState::Done)
            })));
        }
        What::Resumed => return None, // the tool's end says it
        What::Taken { at, message, into } => {
            let kept = Kept {
                seq: mark.seq?,
                at: *at,
                message: message.clone(),
                usage: None,
                made: Vec::new(),
            };
            return Some(Told::Taken(Box::new(ChatTakenEvent {
                run_id: event.run_id.clone(),
                session_key: event.session.to_string(),
                message: said(kept).pop()?,
                into: into.clone(),
            })));
        }
        What::Deleted => {
            return Some(Told::Deleted(SessionDeletedEvent {
                session_key: event.session.to_string(),
            }));
        }
    };
    Some(Told::Chat(Box::new(told)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_llm::StopReason;
    use serde_json::Value;

    fn event(run: &str, what: What) -> ChatEvent {
        ChatEvent {
            session: "main".parse().unwrap(),
            run_id: run.to_owned(),
            what,
            mark: Mark::default(),
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
        let mut desk = Desk {
            outbox: &outbox,
            held: None,
        };
        for word in ["a", "b", "c", "d"] {
            desk.take(&event("r", What::Delta(word.to_owned()))).await;
        }
        let first: Vec<Value> = payloads(&mut queue);
        let texts: Vec<&str> = first.iter().filter_map(|p| p["text"].as_str()).collect();
        assert_eq!(texts, ["a", "b"], "the others find no room");
        desk.take(&event("r", What::Delta("e".to_owned()))).await;
        assert_eq!(payloads(&mut queue)[0]["text"], "cde");
        for word in ["x", "y", "z"] {
            desk.take(&event("r", What::Delta(word.to_owned()))).await;
        }
        let whole = What::Final {
            text: "whole".to_owned(),
            stop: StopReason::End,
            usage: TurnUsage::default(),
        };
        desk.take(&event("r", whole)).await;
        let last = payloads(&mut queue);
        assert_eq!(last.len(), 3);
        assert_eq!(last[2]["state"], "final");
        assert!(desk.held.is_none());
    }

    #[test]
    fn deltas_of_two_runs_are_not_mixed() {
        let delta = |run: &str, text: &str| match told(&event(run, What::Delta(text.to_owned()))) {
            Some(Told::Chat(told)) => *told,
            _ => panic!("no delta"),
        };
        assert_eq!(join(delta("r", "a"), delta("r", "b")).text.unwrap(), "ab");
        assert_eq!(join(delta("r", "a"), delta("s", "b")).text.unwrap(), "b");
    }

    #[test]
    fn deltas_that_are_put_together_stand_where_the_first_stood() {
        let delta = |reply: u64, offset: u64, what: What| {
            let mut event = event("r", what);
            event.mark.reply = reply;
            event.mark.offset = offset;
            match told(&event) {
                Some(Told::Chat(told)) => *told,
                _ => panic!("no delta"),
            }
        };
        let text = |reply, offset, text: &str| delta(reply, offset, What::Delta(text.to_owned()));
        let both = join(text(1, 4, "a"), text(1, 5, "b"));
        assert_eq!((both.reply, both.offset), (Some(1), Some(4)));
        let thought = delta(1, 7, What::Thinking("x".to_owned()));
        let both = join(thought, both);
        assert_eq!((both.offset, both.thinking_offset), (Some(4), Some(7)));
        let next = join(both, text(2, 0, "c"));
        assert_eq!(next.text.as_deref(), Some("c"), "of the reply before");
        assert_eq!((next.reply, next.offset), (Some(2), Some(0)));
    }
}
