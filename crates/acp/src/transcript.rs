//! Collects what an agent sends during a turn, within limits.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate, ToolKind,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::host::AgentEvent;

/// Maximum size of a reply, in bytes.
const MAX_TEXT: usize = 1024 * 1024;
/// Maximum number of concurrent tool calls that are tracked.
const MAX_CALLS: usize = 256;
/// Maximum number of events reported per turn.
const MAX_EVENTS: u32 = 1_000;
/// Maximum size of reported arguments, in bytes.
const MAX_INPUT: usize = 16 * 1024;
/// Maximum length of a reported title, in characters.
const MAX_TITLE: usize = 300;

/// What an agent sends during a turn.
#[derive(Default)]
pub(crate) struct TurnTranscript(Mutex<TurnState>);

#[derive(Default)]
struct TurnState {
    /// Text since the last tool call.
    text: String,
    /// Text before it.
    before: String,
    cut: bool,
    calls: HashMap<String, TrackedCall>,
    reported: u32,
}

struct TrackedCall {
    title: String,
    kind: &'static str,
    since: Instant,
    /// Whether its start was reported; that waits until its arguments are known.
    reported: bool,
}

impl TurnTranscript {
    /// Starts a new turn.
    pub(crate) fn reset(&self) {
        *self.state() = TurnState::default();
    }

    /// Returns the reply and whether it was truncated.
    pub(crate) fn reply(&self) -> (String, bool) {
        let mut state = self.state();
        let text = match state.text.trim().is_empty() {
            // Some agents end with a tool call; their reply is the text before it.
            true => std::mem::take(&mut state.before),
            false => std::mem::take(&mut state.text),
        };
        (text, state.cut)
    }

    /// Processes one update; returns an event to report, if any.
    pub(crate) fn record(&self, update: SessionUpdate) -> Option<AgentEvent> {
        let mut state = self.state();
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                state.append_text(&chunk);
                None
            }
            SessionUpdate::ToolCall(call) => state.tool_started(call),
            SessionUpdate::ToolCallUpdate(update) => state.tool_updated(update),
            _ => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.0.lock().expect("no panic while held")
    }
}

impl TurnState {
    fn append_text(&mut self, chunk: &ContentChunk) {
        let ContentBlock::Text(content) = &chunk.content else {
            return;
        };
        // The rest is dropped rather than refused: the agent's work is done by then.
        let free = MAX_TEXT.saturating_sub(self.text.len());
        let length = content
            .text
            .floor_char_boundary(free.min(content.text.len()));
        self.cut |= length < content.text.len();
        self.text.push_str(&content.text[..length]);
    }

    fn tool_started(&mut self, call: ToolCall) -> Option<AgentEvent> {
        // Text before a tool call is a comment on it, not the reply.
        if !self.text.trim().is_empty() {
            self.before = std::mem::take(&mut self.text);
        }
        self.text.clear();
        let known = is_known(call.raw_input.as_ref());
        let tracked = TrackedCall {
            title: shortened(&call.title),
            kind: kind_of(call.kind),
            since: Instant::now(),
            reported: known,
        };
        let started = known.then(|| tracked.started(call.raw_input));
        // Beyond the limit calls still run; only their end is not reported.
        if self.calls.len() < MAX_CALLS {
            self.calls.insert(call.tool_call_id.to_string(), tracked);
        }
        self.report(started?)
    }

    fn tool_updated(&mut self, update: ToolCallUpdate) -> Option<AgentEvent> {
        let id = update.tool_call_id.to_string();
        let fields = update.fields;
        let call = self.calls.get_mut(&id)?;
        if let Some(title) = &fields.title {
            call.title = shortened(title);
        }
        let ok = match fields.status {
            Some(ToolCallStatus::Completed) => true,
            Some(ToolCallStatus::Failed) => false,
            _ if !call.reported && is_known(fields.raw_input.as_ref()) => {
                call.reported = true;
                let started = call.started(fields.raw_input);
                return self.report(started);
            }
            _ => return None,
        };
        // Removed, so that a repeated end is reported once.
        let call = self.calls.remove(&id)?;
        self.report(AgentEvent::ToolDone {
            title: call.title,
            kind: call.kind,
            ok,
            took: call.since.elapsed(),
        })
    }

    fn report(&mut self, event: AgentEvent) -> Option<AgentEvent> {
        self.reported += 1;
        (self.reported <= MAX_EVENTS).then_some(event)
    }
}

impl TrackedCall {
    fn started(&self, input: Option<Value>) -> AgentEvent {
        AgentEvent::ToolStarted {
            title: self.title.clone(),
            kind: self.kind,
            input: reported_input(input),
        }
    }
}

/// Returns whether arguments are present; some agents announce a call before they are.
fn is_known(input: Option<&Value>) -> bool {
    input.is_some_and(|input| input.as_object().is_none_or(|fields| !fields.is_empty()))
}

/// Shortens a title to one line of limited length.
pub(crate) fn shortened(title: &str) -> String {
    let line = title.lines().next().unwrap_or_default();
    line.chars().take(MAX_TITLE).collect()
}

/// Arguments as reported; large ones are omitted.
pub(crate) fn reported_input(input: Option<Value>) -> Value {
    let input = input.unwrap_or_default();
    match input.to_string().len() <= MAX_INPUT {
        true => input,
        false => Value::from("too large to show"),
    }
}

/// Name of a kind of tool.
pub(crate) fn kind_of(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch_mode",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::v1::schema::ToolCallUpdateFields;
    use serde_json::json;

    fn append_text(text: &str) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()))
    }

    #[test]
    fn the_reply_is_the_text_after_the_last_call() {
        let chunk = TurnTranscript::default();
        chunk.record(append_text("I look "));
        chunk.record(append_text("first."));
        chunk.record(SessionUpdate::ToolCall(ToolCall::new("1", "Read a")));
        chunk.record(append_text("It says "));
        chunk.record(append_text("tea."));
        assert_eq!(chunk.reply(), ("It says tea.".to_owned(), false));
        chunk.reset();
        chunk.record(append_text("Done: tea."));
        chunk.record(SessionUpdate::ToolCall(ToolCall::new("2", "Tidy up")));
        chunk.record(append_text("\n"));
        assert_eq!(chunk.reply().0, "Done: tea.");
    }

    #[test]
    fn an_endless_answer_is_cut_between_characters() {
        let chunk = TurnTranscript::default();
        for _ in 0..3 {
            chunk.record(append_text(&"ü".repeat(MAX_TEXT / 4)));
        }
        chunk.record(append_text("x"));
        let (text, cut) = chunk.reply();
        assert!(cut && text.len() == MAX_TEXT && text.chars().all(|c| c == 'ü'));
    }

    #[test]
    fn events_of_a_flood_of_calls_are_limited() {
        let chunk = TurnTranscript::default();
        let mut count = 0;
        for n in 0..10_000 {
            let call = ToolCall::new(n.to_string(), "x").raw_input(json!({ "n": n }));
            count += u32::from(chunk.record(SessionUpdate::ToolCall(call)).is_some());
        }
        assert_eq!(count, MAX_EVENTS);
        assert_eq!(chunk.state().calls.len(), MAX_CALLS);
    }

    #[test]
    fn start_and_end_of_a_call_are_reported() {
        let chunk = TurnTranscript::default();
        let call = ToolCall::new("1", "ls\n-la")
            .kind(ToolKind::Execute)
            .raw_input(json!({ "command": "ls" }));
        let call = chunk.record(SessionUpdate::ToolCall(call)).unwrap();
        assert!(
            matches!(&call, AgentEvent::ToolStarted { title, kind, input }
                if title == "ls" && *kind == "execute" && input["command"] == "ls"),
            "{call:?}"
        );
        let change = |status| {
            let fields = ToolCallUpdateFields::new().status(status);
            chunk.record(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(
                "1", fields,
            )))
        };
        assert!(change(ToolCallStatus::InProgress).is_none());
        let ended = change(ToolCallStatus::Failed).unwrap();
        assert!(matches!(&ended, AgentEvent::ToolDone { ok: false, title, .. } if title == "ls"));
        assert!(change(ToolCallStatus::Failed).is_none(), "once");
    }

    #[test]
    fn the_start_of_a_call_is_reported_once_its_arguments_are_known() {
        let chunk = TurnTranscript::default();
        let call = ToolCall::new("1", "Write").raw_input(json!({}));
        assert!(chunk.record(SessionUpdate::ToolCall(call)).is_none());
        let fields = ToolCallUpdateFields::new()
            .title("Write a".to_owned())
            .raw_input(json!({ "path": "a" }));
        let update = || SessionUpdate::ToolCallUpdate(ToolCallUpdate::new("1", fields.clone()));
        let call = chunk.record(update()).unwrap();
        assert!(matches!(&call, AgentEvent::ToolStarted { title, .. } if title == "Write a"));
        assert!(chunk.record(update()).is_none(), "once");
    }
}
