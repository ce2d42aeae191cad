//! Converts the gateway's events of a turn to session updates for an editor.

use std::collections::HashMap;

use agent_client_protocol::v1::schema::{
    ContentChunk, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use manyhands_wire::{
    ChatBlock, ChatEventPayload, ChatMessage, ChatRole, ChatState, ChatToolEvent, ChatToolState,
};
use serde_json::Value;

/// Maximum number of calls remembered for their approvals.
const MAX_CALLS: usize = 256;
/// How much tool output is shown while it runs, in bytes, from the end.
const MAX_PRINTED: usize = 8 * 1024;
/// Maximum length of an argument in a title, in characters.
const MAX_TITLE: usize = 120;

/// The state of one turn.
#[derive(Default)]
pub(crate) struct TurnUpdates {
    /// Text streamed since the last complete message.
    streamed: String,
    /// Started calls: tool and arguments by id.
    calls: HashMap<String, (String, Value)>,
    /// Output of running calls.
    printed: HashMap<String, OutputTail>,
}

impl TurnUpdates {
    /// Converts a chat event.
    pub(crate) fn chat(&mut self, event: &ChatEventPayload) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        match event.state {
            ChatState::Delta => {
                if let Some(because) = &event.restart {
                    // TurnOutcome chunks cannot be withdrawn, so the restart is marked.
                    if !self.streamed.is_empty() {
                        updates.push(message_chunk(format!(
                            "\n\n[reply restarted: {because}]\n\n"
                        )));
                    }
                    self.streamed.clear();
                }
                if let Some(thinking) = filled(&event.thinking) {
                    let chunk = ContentChunk::new(thinking.into());
                    updates.push(SessionUpdate::AgentThoughtChunk(chunk));
                }
                if let Some(text) = filled(&event.text) {
                    self.streamed.push_str(text);
                    updates.push(message_chunk(text.to_owned()));
                }
            }
            ChatState::Partial | ChatState::Final => {
                let message = event.message.as_ref().map(ChatMessage::text);
                let complete = message.or_else(|| event.text.clone()).unwrap_or_default();
                updates.extend(self.remainder(&complete).map(message_chunk));
                self.streamed.clear();
            }
            ChatState::Paused | ChatState::Error => {}
        }
        updates
    }

    /// Returns the part of a complete text that was not streamed yet.
    fn remainder(&self, complete: &str) -> Option<String> {
        let remainder = match complete.strip_prefix(self.streamed.as_str()) {
            Some(remainder) => remainder.to_owned(),
            // Some providers trim the end of a streamed text.
            None if self.streamed.trim() == complete.trim() => String::new(),
            // Chunks were missed: send the complete text.
            None => format!("\n\n{complete}"),
        };
        (!remainder.is_empty()).then_some(remainder)
    }

    /// Converts tool output: always all of it, because editors replace what they show.
    fn printed(&mut self, event: &ChatToolEvent) -> Option<SessionUpdate> {
        let piece = filled(&event.text)?;
        // Bounds memory; the result of such a call is still shown when it ends.
        if !self.printed.contains_key(&event.call_id) && self.printed.len() >= MAX_CALLS {
            return None;
        }
        let printed = self.printed.entry(event.call_id.clone()).or_default();
        printed.append(piece);
        let fields = ToolCallUpdateFields::new()
            .status(ToolCallStatus::InProgress)
            .content(vec![ToolCallContent::from(printed.preview())]);
        let update = ToolCallUpdate::new(event.call_id.clone(), fields);
        Some(SessionUpdate::ToolCallUpdate(update))
    }

    /// Converts a tool event.
    pub(crate) fn tool(&mut self, event: ChatToolEvent) -> Option<SessionUpdate> {
        let update = match event.state {
            ChatToolState::Output => return self.printed(&event),
            ChatToolState::Started => {
                let arguments = event.args.unwrap_or_default();
                if self.calls.len() < MAX_CALLS {
                    let call = (event.tool.clone(), arguments.clone());
                    self.calls.insert(event.call_id.clone(), call);
                }
                let call = tool_call(&event.call_id, &event.tool, arguments);
                SessionUpdate::ToolCall(call.status(ToolCallStatus::InProgress))
            }
            ChatToolState::Done => {
                self.calls.remove(&event.call_id);
                self.printed.remove(&event.call_id);
                let ok = event.ok.unwrap_or(true);
                done(&event.call_id, event.shown, ok)
            }
        };
        Some(update)
    }

    /// The call an approval is about, with the id of a started call, so that both are shown as one.
    pub(crate) fn call(&self, approval: &str, tool: &str, arguments: &Value) -> ToolCallUpdate {
        let same = |(_, (name, started_arguments)): &(&String, &(String, Value))| {
            name == tool && started_arguments == arguments
        };
        let id = self.calls.iter().find(same).map(|(id, _)| id.as_str());
        let fields = ToolCallUpdateFields::new()
            .title(title(tool, arguments))
            .kind(kind(tool))
            .status(ToolCallStatus::Pending)
            .raw_input(arguments.clone());
        ToolCallUpdate::new(id.unwrap_or(approval).to_owned(), fields)
    }
}

/// The end of a call's output.
#[derive(Default)]
struct OutputTail {
    text: String,
    cut: bool,
}

impl OutputTail {
    fn append(&mut self, piece: &str) {
        self.text.push_str(piece);
        if self.text.len() > MAX_PRINTED {
            let start = self.text.ceil_char_boundary(self.text.len() - MAX_PRINTED);
            // Starts at a line, if there is one.
            let line = self.text[start..].find('\n').map_or(0, |end| end + 1);
            self.text.drain(..start + line);
            self.cut = true;
        }
    }

    fn preview(&self) -> String {
        match self.cut {
            true => format!("[earlier output omitted]\n{}", self.text),
            false => self.text.clone(),
        }
    }
}

/// Converts an earlier message.
pub(crate) fn replay(message: &ChatMessage) -> Vec<SessionUpdate> {
    let text = message.text();
    let chunk = || ContentChunk::new(text.as_str().into());
    let mut updates = Vec::new();
    for block in &message.content {
        if let ChatBlock::Thinking { thinking } = block {
            let chunk = ContentChunk::new(thinking.as_str().into());
            updates.push(SessionUpdate::AgentThoughtChunk(chunk));
        }
    }
    match message.role {
        ChatRole::User if !text.is_empty() => {
            updates.push(SessionUpdate::UserMessageChunk(chunk()));
        }
        ChatRole::Assistant if !text.is_empty() => {
            updates.push(SessionUpdate::AgentMessageChunk(chunk()));
        }
        ChatRole::ToolResult => {
            let id = message.tool_call_id.as_deref().unwrap_or_default();
            let ok = !message.is_error.unwrap_or(false);
            updates.push(done(id, Some(text.clone()), ok));
        }
        _ => {}
    }
    for block in &message.content {
        if let ChatBlock::ToolCall {
            id,
            name,
            arguments,
        } = block
        {
            let call = tool_call(id, name, arguments.clone());
            updates.push(SessionUpdate::ToolCall(call));
        }
    }
    updates
}

/// A message of the agent.
pub(crate) fn message_chunk(text: String) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()))
}

fn tool_call(id: &str, tool: &str, arguments: Value) -> ToolCall {
    ToolCall::new(id.to_owned(), title(tool, &arguments))
        .kind(kind(tool))
        .raw_input(arguments)
}

fn done(id: &str, shown: Option<String>, ok: bool) -> SessionUpdate {
    let status = match ok {
        true => ToolCallStatus::Completed,
        false => ToolCallStatus::Failed,
    };
    let shown = shown.filter(|shown| !shown.is_empty());
    let content: Vec<ToolCallContent> = shown.into_iter().map(ToolCallContent::from).collect();
    let fields = ToolCallUpdateFields::new().status(status).content(content);
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields))
}

fn filled(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// Title of a call: the tool and its most telling argument.
fn title(tool: &str, arguments: &Value) -> String {
    let described_by = ["cmd", "command", "path", "url", "query", "q", "task"];
    let preview = described_by.iter().find_map(|key| arguments[key].as_str());
    match preview.and_then(|text| text.lines().next()) {
        Some(line) => {
            let short: String = line.chars().take(MAX_TITLE).collect();
            format!("{tool}: {short}")
        }
        None => tool.to_owned(),
    }
}

/// Kind of a tool by its name; editors choose an icon by it.
fn kind(tool: &str) -> ToolKind {
    let name = tool.to_ascii_lowercase();
    let kinds = [
        (&["bash", "shell", "exec", "process"][..], ToolKind::Execute),
        (&["search", "grep", "glob"], ToolKind::Search),
        (&["fetch"], ToolKind::Fetch),
        (&["delete", "remove"], ToolKind::Delete),
        (&["write", "edit", "patch"], ToolKind::Edit),
        (&["read", "list"], ToolKind::Read),
        (&["plan"], ToolKind::Think),
    ];
    let fits = |keywords: &&[&str]| keywords.iter().any(|word| name.contains(word));
    let found = kinds.iter().find(|(keywords, _)| fits(keywords));
    found.map_or(ToolKind::Other, |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text_of(updates: &[SessionUpdate]) -> String {
        let text = |update: &SessionUpdate| {
            let encoded = serde_json::to_value(update).unwrap();
            encoded["content"]["text"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        updates.iter().map(text).collect()
    }

    fn event(state: ChatState, text: &str) -> ChatEventPayload {
        let mut event = ChatEventPayload::new(Some("r".into()), "main", state);
        event.text = Some(text.to_owned());
        event
    }

    #[track_caller]
    fn check(events: &[(ChatState, &str)], expect: &str) {
        let mut stream = TurnUpdates::default();
        let updates: Vec<SessionUpdate> = events
            .iter()
            .flat_map(|(state, text)| stream.chat(&event(*state, text)))
            .collect();
        assert_eq!(text_of(&updates), expect);
    }

    #[test]
    fn text_is_sent_once() {
        use ChatState::{Delta, Final, Partial};
        check(&[(Delta, "he"), (Delta, "llo"), (Final, "hello")], "hello");
        check(&[(Delta, "he"), (Final, "hello")], "hello");
        check(&[(Final, "hello")], "hello");
        check(&[(Delta, "hello\n"), (Final, "hello")], "hello\n");
        check(
            &[(Delta, "a"), (Partial, "a"), (Delta, "b"), (Final, "b")],
            "ab",
        );
        check(&[(Delta, "llo"), (Final, "hello")], "llo\n\nhello");
    }

    #[test]
    fn a_restarted_reply_is_announced() {
        let mut stream = TurnUpdates::default();
        stream.chat(&event(ChatState::Delta, "hal"));
        let mut again = ChatEventPayload::new(None, "main", ChatState::Delta);
        again.restart = Some("the model broke off".to_owned());
        assert!(text_of(&stream.chat(&again)).contains("the model broke off"));
        assert_eq!(
            text_of(&stream.chat(&event(ChatState::Final, "hello"))),
            "hello"
        );
    }

    #[test]
    fn a_question_is_about_the_call_that_was_shown() {
        let mut stream = TurnUpdates::default();
        let started = ChatToolEvent {
            result: Default::default(),
            run_id: "r".into(),
            session_key: "main".into(),
            call_id: "c1".into(),
            tool: "bash".into(),
            state: ChatToolState::Started,
            args: Some(json!({ "cmd": "ls\nls" })),
            ok: None,
            shown: None,
            duration_ms: None,
            text: None,
            audit_call: None,
            offset: None,
        };
        let preview = serde_json::to_value(stream.tool(started.clone())).unwrap();
        assert_eq!(
            (&preview["title"], &preview["kind"], &preview["status"]),
            (&json!("bash: ls"), &json!("execute"), &json!("in_progress"))
        );
        let id = |stream: &TurnUpdates, arguments: Value| {
            let call = stream.call("approval", "bash", &arguments);
            call.tool_call_id.to_string()
        };
        assert_eq!(id(&stream, json!({ "cmd": "ls\nls" })), "c1");
        assert_eq!(id(&stream, json!({ "cmd": "rm" })), "approval");
        let done = ChatToolEvent {
            state: ChatToolState::Done,
            ok: Some(false),
            shown: Some("no".into()),
            ..started
        };
        let preview = serde_json::to_value(stream.tool(done)).unwrap();
        assert_eq!(preview["status"], "failed");
        assert_eq!(preview["content"][0]["content"]["text"], "no");
        assert_eq!(id(&stream, json!({ "cmd": "ls\nls" })), "approval");
    }

    fn prints(text: &str) -> ChatToolEvent {
        ChatToolEvent {
            result: Default::default(),
            run_id: "r".into(),
            session_key: "main".into(),
            call_id: "c1".into(),
            tool: "bash".into(),
            state: ChatToolState::Output,
            args: None,
            ok: None,
            shown: None,
            duration_ms: None,
            text: Some(text.to_owned()),
            audit_call: None,
            offset: None,
        }
    }

    #[test]
    fn what_a_tool_prints_is_shown_as_it_stands_so_far_and_its_end_is_kept() {
        let mut stream = TurnUpdates::default();
        let mut preview = |text: &str| serde_json::to_value(stream.tool(prints(text))).unwrap();
        let encoded = preview("one\n");
        assert_eq!(
            (
                &encoded["sessionUpdate"],
                &encoded["toolCallId"],
                &encoded["status"]
            ),
            (
                &json!("tool_call_update"),
                &json!("c1"),
                &json!("in_progress")
            )
        );
        assert_eq!(
            preview("two\n")["content"][0]["content"]["text"],
            "one\ntwo\n"
        );
        assert_eq!(preview(""), Value::Null);
        for line in 0..10_000 {
            let encoded = preview(&format!("\u{e4} {line}\n"));
            let text = encoded["content"][0]["content"]["text"].as_str().unwrap();
            assert!(text.len() <= MAX_PRINTED + 40, "{}", text.len());
            assert!(text.ends_with(&format!("\u{e4} {line}\n")));
            let first = text.lines().next().unwrap();
            assert!(
                first == "one" || first == "[earlier output omitted]",
                "{first}"
            );
        }
        let long = preview(&"x".repeat(100_000));
        let text = long["content"][0]["content"]["text"].as_str().unwrap();
        assert!(text.len() <= MAX_PRINTED + 40 && text.ends_with("xxx"));
    }

    #[test]
    fn a_loaded_session_replays_its_history() {
        let user = ChatMessage::new(ChatRole::User, vec![ChatBlock::text("hi")]);
        let encoded = serde_json::to_value(&replay(&user)[0]).unwrap();
        assert_eq!(encoded["sessionUpdate"], "user_message_chunk");
        let call = ChatBlock::ToolCall {
            id: "c".into(),
            name: "read_file".into(),
            arguments: json!({ "path": "a" }),
        };
        let thought = ChatBlock::Thinking {
            thinking: "it is in a file".to_owned(),
        };
        let content = vec![thought, ChatBlock::text("I look"), call];
        let agent = replay(&ChatMessage::new(ChatRole::Assistant, content));
        let encoded = serde_json::to_value(&agent).unwrap();
        assert_eq!(encoded[0]["sessionUpdate"], "agent_thought_chunk");
        assert_eq!(encoded[1]["content"]["text"], "I look");
        assert_eq!(encoded[2]["title"], "read_file: a");
        let mut result = ChatMessage::new(ChatRole::ToolResult, vec![ChatBlock::text("tea")]);
        result.tool_call_id = Some("c".into());
        let encoded = serde_json::to_value(&replay(&result)[0]).unwrap();
        assert_eq!(
            (&encoded["toolCallId"], &encoded["status"]),
            (&json!("c"), &json!("completed"))
        );
    }
}
