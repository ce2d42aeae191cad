//! What an agent says in a turn, gathered within bounds.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate, ToolKind,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::client::News;

/// The longest answer that is kept, in bytes.
const MAX_TEXT: usize = 1024 * 1024;
/// How many calls of tools are followed at a time.
const MAX_CALLS: usize = 256;
/// How much news of one turn is told.
const MAX_NEWS: u32 = 1_000;
/// How much of the arguments of a call is told, in bytes.
const MAX_INPUT: usize = 16 * 1024;
/// How much of a title is told, in characters.
const MAX_TITLE: usize = 300;

/// What an agent says in a turn.
#[derive(Default)]
pub(crate) struct Said(Mutex<Gathered>);

#[derive(Default)]
struct Gathered {
    /// What was said since the last call of a tool.
    text: String,
    /// What was said before it.
    before: String,
    cut: bool,
    calls: HashMap<String, Call>,
    told: u32,
}

struct Call {
    title: String,
    kind: &'static str,
    since: Instant,
    /// Whether its begin was told; that waits until its arguments are known.
    told: bool,
}

impl Said {
    /// A new turn begins.
    pub(crate) fn begin(&self) {
        *self.gathered() = Gathered::default();
    }

    /// The answer: what was said last, and whether it had to be cut.
    pub(crate) fn answer(&self) -> (String, bool) {
        let mut gathered = self.gathered();
        let text = match gathered.text.trim().is_empty() {
            true => std::mem::take(&mut gathered.before),
            false => std::mem::take(&mut gathered.text),
        };
        (text, gathered.cut)
    }

    /// Takes one update in; what is worth telling comes back.
    pub(crate) fn take(&self, update: SessionUpdate) -> Option<News> {
        let mut gathered = self.gathered();
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                gathered.words(&chunk);
                None
            }
            SessionUpdate::ToolCall(call) => gathered.called(call),
            SessionUpdate::ToolCallUpdate(update) => gathered.changed(update),
            _ => None,
        }
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.0.lock().expect("no panic while held")
    }
}

impl Gathered {
    fn words(&mut self, chunk: &ContentChunk) {
        let ContentBlock::Text(said) = &chunk.content else {
            return;
        };
        let room = MAX_TEXT.saturating_sub(self.text.len());
        let taken = said.text.floor_char_boundary(room.min(said.text.len()));
        self.cut |= taken < said.text.len();
        self.text.push_str(&said.text[..taken]);
    }

    fn called(&mut self, call: ToolCall) -> Option<News> {
        if !self.text.trim().is_empty() {
            self.before = std::mem::take(&mut self.text);
        }
        self.text.clear();
        let known = is_known(call.raw_input.as_ref());
        let begun = Call {
            title: shortened(&call.title),
            kind: kind_of(call.kind),
            since: Instant::now(),
            told: known,
        };
        let started = known.then(|| begun.started(call.raw_input));
        if self.calls.len() < MAX_CALLS {
            self.calls.insert(call.tool_call_id.to_string(), begun);
        }
        self.news(started?)
    }

    fn changed(&mut self, update: ToolCallUpdate) -> Option<News> {
        let id = update.tool_call_id.to_string();
        let fields = update.fields;
        let call = self.calls.get_mut(&id)?;
        if let Some(title) = &fields.title {
            call.title = shortened(title);
        }
        let ok = match fields.status {
            Some(ToolCallStatus::Completed) => true,
            Some(ToolCallStatus::Failed) => false,
            _ if !call.told && is_known(fields.raw_input.as_ref()) => {
                call.told = true;
                let started = call.started(fields.raw_input);
                return self.news(started);
            }
            _ => return None,
        };
        let call = self.calls.remove(&id)?;
        self.news(News::ToolDone {
            title: call.title,
            kind: call.kind,
            ok,
            took: call.since.elapsed(),
        })
    }

    fn news(&mut self, news: News) -> Option<News> {
        self.told += 1;
        (self.told <= MAX_NEWS).then_some(news)
    }
}

impl Call {
    fn started(&self, input: Option<Value>) -> News {
        News::ToolStarted {
            title: self.title.clone(),
            kind: self.kind,
            input: told(input),
        }
    }
}

/// Whether arguments are there; some agents tell a call before they are.
fn is_known(input: Option<&Value>) -> bool {
    input.is_some_and(|input| input.as_object().is_none_or(|fields| !fields.is_empty()))
}

/// A title as it is told: one line of bounded length.
pub(crate) fn shortened(title: &str) -> String {
    let line = title.lines().next().unwrap_or_default();
    line.chars().take(MAX_TITLE).collect()
}

/// Arguments as they are told; what is too large is left out.
pub(crate) fn told(input: Option<Value>) -> Value {
    let input = input.unwrap_or_default();
    match input.to_string().len() <= MAX_INPUT {
        true => input,
        false => Value::from("too large to show"),
    }
}

/// The word for a kind of tool.
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

    fn words(text: &str) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()))
    }

    #[test]
    fn the_answer_is_what_was_said_after_the_last_call() {
        let said = Said::default();
        said.take(words("I look "));
        said.take(words("first."));
        said.take(SessionUpdate::ToolCall(ToolCall::new("1", "Read a")));
        said.take(words("It says "));
        said.take(words("tea."));
        assert_eq!(said.answer(), ("It says tea.".to_owned(), false));
        said.begin();
        said.take(words("Done: tea."));
        said.take(SessionUpdate::ToolCall(ToolCall::new("2", "Tidy up")));
        said.take(words("\n"));
        assert_eq!(said.answer().0, "Done: tea.");
    }

    #[test]
    fn an_endless_answer_is_cut_between_characters() {
        let said = Said::default();
        for _ in 0..3 {
            said.take(words(&"ü".repeat(MAX_TEXT / 4)));
        }
        said.take(words("x"));
        let (text, cut) = said.answer();
        assert!(cut && text.len() == MAX_TEXT && text.chars().all(|c| c == 'ü'));
    }

    #[test]
    fn a_flood_of_calls_is_told_only_so_far() {
        let said = Said::default();
        let mut count = 0;
        for n in 0..10_000 {
            let call = ToolCall::new(n.to_string(), "x").raw_input(json!({ "n": n }));
            count += u32::from(said.take(SessionUpdate::ToolCall(call)).is_some());
        }
        assert_eq!(count, MAX_NEWS);
        assert_eq!(said.gathered().calls.len(), MAX_CALLS);
    }

    #[test]
    fn a_call_is_told_when_it_begins_and_when_it_ends() {
        let said = Said::default();
        let call = ToolCall::new("1", "ls\n-la")
            .kind(ToolKind::Execute)
            .raw_input(json!({ "command": "ls" }));
        let begun = said.take(SessionUpdate::ToolCall(call)).unwrap();
        assert!(
            matches!(&begun, News::ToolStarted { title, kind, input }
                if title == "ls" && *kind == "execute" && input["command"] == "ls"),
            "{begun:?}"
        );
        let change = |status| {
            let fields = ToolCallUpdateFields::new().status(status);
            said.take(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(
                "1", fields,
            )))
        };
        assert!(change(ToolCallStatus::InProgress).is_none());
        let ended = change(ToolCallStatus::Failed).unwrap();
        assert!(matches!(&ended, News::ToolDone { ok: false, title, .. } if title == "ls"));
        assert!(change(ToolCallStatus::Failed).is_none(), "once");
    }

    #[test]
    fn a_call_is_told_with_its_arguments_where_they_come_later() {
        let said = Said::default();
        let call = ToolCall::new("1", "Write").raw_input(json!({}));
        assert!(said.take(SessionUpdate::ToolCall(call)).is_none());
        let fields = ToolCallUpdateFields::new()
            .title("Write a".to_owned())
            .raw_input(json!({ "path": "a" }));
        let update = || SessionUpdate::ToolCallUpdate(ToolCallUpdate::new("1", fields.clone()));
        let begun = said.take(update()).unwrap();
        assert!(matches!(&begun, News::ToolStarted { title, .. } if title == "Write a"));
        assert!(said.take(update()).is_none(), "once");
    }
}
