//! `todo_update`

use std::time::Duration;

use async_trait::async_trait;
use manyhands_agent::{Minds, json_in};
use manyhands_core::{
    CallContext, Clock, Effects, ErrorCode, Group, Outcome, Problem, Timestamp, ToolError,
    ToolSpec, TypedTool,
};
use manyhands_host::machine::blocking;
use manyhands_llm::ModelRequest;
use manyhands_people::contacts::{ContactSnapshot, Sighting};
use manyhands_people::todo::{
    MAX_CONTENT, MAX_PEOPLE, MAX_SHOWN, Match, ModelMatch, Notebook, Recurrence, ReferenceError,
    ReferenceQuery, Rewritten, Speaker, TodoChange, TodoEntry, TodoItem, TodoModel, alike, check,
    ensure_available, find, is_chat_id, items_to_keep, match_item, one_line, resolve, same,
    speaks_of_self, with_references, without_references,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::agent_deps::AgentToolDeps;
use crate::registration::{Registration, typed};

/// A person could not be mapped to a reference id, so the text was stored unchanged.
const UNRESOLVED: &str = "reference_unresolved_write_raw";
/// The people who could not be mapped.
const MISSING: &str = "missing_reference_id";
/// A model inserted references and changed other words too.
const REWRITTEN: &str = "content_rewritten_by_llm";
/// Most items a model compares a new one with.
const MAX_ALIKE: usize = 50;
/// Platforms whose users have addresses.
const CHATS: [&str; 5] = ["telegram", "slack", "line", "discord", "whatsapp"];

/// Maintain `TODO.md` and `TODO.DONE.md` under `file_state_dir`: write an item down, tick one off, or write down what
/// comes again (`TODO.RECUR.md`).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// `add`, `complete`, or `add_recurring`.
    action: TodoAction,
    /// For `add`: item text. For `complete`: matching query, an item's text, a part of it, or its id.
    #[schemars(length(min = 1))]
    content: String,
    /// Mentioned people (usually speaker, addressee, and other mentioned users), by name or reference id. `$SPEAKER` is
    /// whoever speaks, `$AGENT` is you. Required for `add`.
    people: Option<Vec<String>>,
    /// Task-context chat ID (for example `tg:-1001234567890`); the current Telegram chat when not given.
    chat_id: Option<String>,
    /// For `add_recurring`: when it is first due, as `YYYY-MM-DD HH:MM`.
    next: Option<String>,
    /// For `add_recurring`: `daily`, `weekly`, `every N days` or `every N hours`.
    repeat: Option<String>,
    /// For `add_recurring`: the time zone of `next`, such as `Europe/Berlin`; UTC when not given.
    tz: Option<String>,
}

/// The action.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TodoAction {
    Add,
    Complete,
    AddRecurring,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether the operation succeeded.
    ok: bool,
    /// The action.
    action: TodoAction,
    /// Number of items after the change.
    updated_counts: Counts,
    /// Number of changed lines.
    changed: Changed,
    /// The affected item.
    entry: ShownEntry,
    /// Warnings, such as `reference_unresolved_write_raw`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// Open duplicates that were removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    removed: Vec<ShownEntry>,
}

/// Number of items.
#[derive(Serialize, JsonSchema)]
struct Counts {
    /// Open items.
    open_count: usize,
    /// Done items.
    done_count: usize,
}

/// Number of changed lines.
#[derive(Serialize, JsonSchema)]
struct Changed {
    /// Lines added to TODO.md.
    wip_added: usize,
    /// Lines removed from TODO.md.
    wip_removed: usize,
    /// Lines added to TODO.DONE.md.
    done_added: usize,
    /// Lines added to TODO.RECUR.md.
    #[serde(skip_serializing_if = "Option::is_none")]
    recurring_added: Option<usize>,
}

/// An item.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Todo")]
pub struct ShownEntry {
    /// Its id; `complete` accepts it as `content`.
    id: String,
    /// When it was added, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    /// When it was completed, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    done_at: Option<String>,
    /// Chat it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_id: Option<String>,
    /// When it is next due.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How it recurs.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<String>,
    /// Time zone of `next`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tz: Option<String>,
    /// Text.
    content: String,
}

impl From<TodoItem> for ShownEntry {
    fn from(TodoItem { id, entry }: TodoItem) -> Self {
        Self {
            id,
            created_at: entry.created_at,
            done_at: entry.done_at,
            chat_id: entry.chat_id,
            next: entry.next,
            repeat: entry.repeat,
            tz: entry.tz,
            content: entry.content,
        }
    }
}

pub(crate) const TOOL: Registration = Registration {
    name: "todo_update",
    enabled: |tools| tools.todo_update.enabled,
    build: |deps| typed(TodoUpdate(deps.agents())),
};

struct TodoUpdate(AgentToolDeps);

impl TypedTool for TodoUpdate {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::WRITES.and(Effects::LEAVES))
            .group(Group::Extra)
            .deadline(Duration::from_secs(300))
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        check_arguments(arguments)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let content = one_line(&params.content);
        if content.is_empty() {
            return Err(invalid("content", "content is required"));
        }
        if content.chars().count() > MAX_CONTENT {
            let message = format!("must have at most {MAX_CONTENT} characters");
            return Err(ToolError::parameter("content", message));
        }
        let output = match params.action {
            TodoAction::Add => self.add(content, &params, context).await?,
            TodoAction::Complete => self.complete(&content, &params, context).await?,
            TodoAction::AddRecurring => self.add_recurring(content, &params, context).await?,
        };
        Outcome::of(&output)
    }
}

/// The errors whose wording is specified.
fn check_arguments(arguments: &Value) -> Result<(), ToolError> {
    // Before the schema is applied, whose messages would not be the specified ones.
    let text = |key: &str| match &arguments[key] {
        Value::Null => Some(""),
        Value::String(text) => Some(text.trim()),
        _ => None, // the schema says what is wrong
    };
    let action = text("action");
    if action == Some("") {
        return Err(invalid("action", "action is required")
            .hint("action is add, complete or add_recurring"));
    }
    if let Some(action) = action
        && !["add", "complete", "add_recurring"].contains(&action)
    {
        let message = format!(
            "invalid action: {action}; must be one of \"add\", \"complete\", \"add_recurring\""
        );
        return Err(invalid("action", &message));
    }
    if text("content") == Some("") {
        return Err(invalid("content", "content is required"));
    }
    let people = match &arguments["people"] {
        Value::Null => &[],
        Value::Array(people) if people.iter().all(Value::is_string) => &people[..],
        _ => return Err(invalid("people", "people must be an array of strings")),
    };
    let named = |one: &Value| one.as_str().is_some_and(|name| !name.trim().is_empty());
    if action == Some("add") && !people.iter().any(named) {
        return Err(invalid("people", "people is required for add action")
            .hint("name who the item is about; $SPEAKER is whoever speaks, $AGENT is you"));
    }
    if people.len() > MAX_PEOPLE {
        let message = format!("must have at most {MAX_PEOPLE} items");
        return Err(ToolError::parameter("people", message));
    }
    Ok(())
}

/// An error about one parameter, with exactly this wording.
fn invalid(parameter: &str, message: &str) -> ToolError {
    ToolError {
        problems: vec![Problem {
            parameter: parameter.to_owned(),
            message: message.to_owned(),
        }],
        ..ToolError::new(ErrorCode::InvalidArguments, message)
    }
}

fn reference_error(error: &ReferenceError) -> ToolError {
    invalid("content", &error.to_string()).hint(
        "a reference is tg:<number>, tg:@<username>, slack:<channel_id> or discord:<channel_id> of a contact in file_state_dir/contacts",
    )
}

/// The text of an item, and warnings about it.
struct ResolvedText {
    content: String,
    warnings: Vec<String>,
}

impl TodoUpdate {
    /// Runs file operations off the async threads.
    async fn with_todos<T: Send + 'static>(
        &self,
        work: impl FnOnce(Notebook) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let todos = self.0.people.todos.clone();
        blocking(move || work(todos)).await
    }

    async fn add(
        &self,
        content: String,
        params: &Params,
        context: &CallContext,
    ) -> Result<Output, ToolError> {
        let chat_id = chat_id(params, context)?;
        let resolved = self.resolve_people(content, params, context).await?;
        let open = self.with_todos(|todos| Ok(todos.list()?.open)).await?;
        let entry = TodoEntry {
            chat_id,
            content: resolved.content.clone(),
            ..TodoEntry::default()
        };
        // The model answers while the files are unlocked; `add` ignores items that are gone by then.
        let instead_of = self.duplicates(&entry, &open, context).await?;
        let change = self
            .with_todos(move |todos| Ok(todos.add(entry, &instead_of)?))
            .await?;
        let changed = Changed {
            wip_added: 1,
            wip_removed: change.removed.len(),
            done_added: 0,
            recurring_added: None,
        };
        Ok(output(TodoAction::Add, change, changed, resolved))
    }

    async fn add_recurring(
        &self,
        content: String,
        params: &Params,
        context: &CallContext,
    ) -> Result<Output, ToolError> {
        let given = |name: &str, value: &Option<String>| {
            let given = value.clone().filter(|value| !value.trim().is_empty());
            given.ok_or_else(|| {
                invalid(
                    name,
                    &format!("{name} is required for add_recurring action"),
                )
            })
        };
        let (next, repeat) = (
            given("next", &params.next)?,
            given("repeat", &params.repeat)?,
        );
        let tz = params.tz.clone().filter(|tz| !tz.trim().is_empty());
        let when = Recurrence::parse(&next, &repeat, tz.as_deref());
        let when = when.map_err(|e| ToolError::new(ErrorCode::InvalidArguments, e.to_string()))?;
        let chat_id = chat_id(params, context)?;
        let resolved = self.resolve_people(content, params, context).await?;
        let entry = TodoEntry {
            chat_id,
            tz,
            content: resolved.content.clone(),
            ..TodoEntry::default()
        };
        let change = self
            .with_todos(move |todos| Ok(todos.add_recurring(entry, &when)?))
            .await?;
        let changed = Changed {
            wip_added: 0,
            wip_removed: 0,
            done_added: 0,
            recurring_added: Some(1),
        };
        Ok(output(TodoAction::AddRecurring, change, changed, resolved))
    }

    async fn complete(
        &self,
        query: &str,
        params: &Params,
        context: &CallContext,
    ) -> Result<Output, ToolError> {
        let chat = chat_id(params, context)?;
        let open = self.with_todos(|todos| Ok(todos.list()?.open)).await?;
        let id = self
            .find_item(query, &open, chat.as_deref(), context)
            .await?;
        let change = self
            .with_todos(move |todos| Ok(todos.complete(&id)?))
            .await?;
        let changed = Changed {
            wip_added: 0,
            wip_removed: 1,
            done_added: 1,
            recurring_added: None,
        };
        let resolved = ResolvedText {
            content: String::new(),
            warnings: Vec::new(),
        };
        Ok(output(TodoAction::Complete, change, changed, resolved))
    }

    /// The model of the agent that makes the call.
    fn model<'a>(&'a self, context: &'a CallContext) -> Result<CallingModel<'a>, ToolError> {
        Ok(CallingModel {
            minds: self.0.minds()?,
            clock: &*self.0.people.clock,
            context,
        })
    }

    /// The matching item: exact, by a unique part, or chosen by a model.
    async fn find_item(
        &self,
        query: &str,
        open: &[TodoItem],
        chat: Option<&str>,
        context: &CallContext,
    ) -> Result<String, ToolError> {
        let model = self.model(context)?;
        let candidates: Vec<&TodoItem> = match find(open, query) {
            Match::One(item) => return Ok(item.id.clone()),
            Match::None if open.is_empty() => return Err(no_match()),
            Match::None => {
                ensure_available(&model)?;
                open.iter().take(MAX_SHOWN).collect()
            }
            Match::Many(many) => {
                let here =
                    |item: &&&TodoItem| chat.is_some() && item.entry.chat_id.as_deref() == chat;
                // Of several matches the only one from this chat is meant.
                let mut near = many.iter().filter(here);
                if let (Some(one), None) = (near.next(), near.next()) {
                    return Ok(one.id.clone());
                }
                if ensure_available(&model).is_err() {
                    return Err(ambiguous(&many));
                }
                many.into_iter().take(MAX_SHOWN).collect()
            }
        };
        match match_item(&model, query, &candidates).await? {
            ModelMatch::One(at) => Ok(candidates[at].id.clone()),
            ModelMatch::None => Err(no_match()),
            ModelMatch::Ambiguous(places) if places.is_empty() => Err(ambiguous(&candidates)),
            ModelMatch::Ambiguous(places) => {
                let many: Vec<&TodoItem> = places.iter().map(|at| candidates[*at]).collect();
                Err(ambiguous(&many))
            }
        }
    }

    /// The text with references to the people it mentions.
    async fn resolve_people(
        &self,
        content: String,
        params: &Params,
        context: &CallContext,
    ) -> Result<ResolvedText, ToolError> {
        let place = context.chat.as_deref();
        let place = place.filter(|place| CHATS.contains(&place.channel.as_str()));
        let seen = place.and_then(Sighting::in_place);
        let contacts = self.0.people.contacts.clone();
        let (snapshot, known): (ContactSnapshot, _) = blocking(move || {
            let who = match &seen {
                Some(seen) => contacts.who(seen)?,
                None => None,
            };
            Ok((contacts.snapshot()?, who))
        })
        .await?;
        check(&content, &snapshot).map_err(|e| reference_error(&e))?;
        let speaker = place.map(|place| {
            let id = known.map(|contact| contact.profile.contact_id);
            let mut all = snapshot.contacts.iter();
            Speaker {
                known: all
                    .find(|known| Some(&known.contact_id) == id.as_ref())
                    .cloned(),
                name: place.sender_name.clone(),
            }
        });
        let people = params.people.clone().unwrap_or_default();
        let resolved = resolve(&content, &people, speaker.as_ref(), &snapshot);
        let resolved = resolved.map_err(|e| reference_error(&e))?;
        if resolved.missing.is_empty() {
            return Ok(ResolvedText {
                content: resolved.content,
                warnings: Vec::new(),
            });
        }
        let raw = |missing: &[String]| ResolvedText {
            content: content.clone(),
            warnings: vec![
                UNRESOLVED.to_owned(),
                format!("{MISSING}: {}", missing.join(", ")),
            ],
        };
        let model = self.model(context)?;
        if ensure_available(&model).is_err() {
            return Ok(raw(&resolved.missing)); // the exact paths work without a model
        }
        let spoken = ReferenceQuery {
            content: &content,
            people: &people,
            speaker: speaker.as_ref().map(|speaker| {
                let id = speaker.known.as_ref().and_then(|known| known.ids.first());
                let name = speaker.name.clone().unwrap_or_default();
                (name, id.map(ToString::to_string))
            }),
            contacts: &snapshot,
        };
        // Read only now: the exact paths need no model.
        let text = match with_references(&model, &spoken).await? {
            Rewritten::Text(text) => text,
            Rewritten::Missing(missing) => {
                let named = !missing.is_empty();
                return Ok(raw(if named { &missing } else { &resolved.missing }));
            }
        };
        check(&text, &snapshot).map_err(|e| reference_error(&e))?;
        let speaks = people.iter().any(|one| one.trim() == "$SPEAKER");
        if speaks && speaker.is_some() && speaks_of_self(&text) {
            return Ok(raw(&["$SPEAKER".to_owned()]));
        }
        let warnings = match without_references(&text) == content {
            true => Vec::new(),
            false => vec![REWRITTEN.to_owned()],
        };
        Ok(ResolvedText {
            content: text,
            warnings,
        })
    }

    /// Open items of the same chat with the same meaning: identical, or according to a model.
    async fn duplicates(
        &self,
        entry: &TodoEntry,
        open: &[TodoItem],
        context: &CallContext,
    ) -> Result<Vec<String>, ToolError> {
        let here: Vec<TodoItem> = open
            .iter()
            .filter(|item| item.entry.chat_id == entry.chat_id)
            .cloned()
            .collect();
        let mut gone: Vec<String> = same(&here, &entry.content)
            .into_iter()
            .map(|item| item.id.clone())
            .collect();
        let alike: Vec<&TodoItem> = alike(&here, &entry.content, MAX_ALIKE)
            .into_iter()
            .filter(|item| !gone.contains(&item.id))
            .collect();
        let model = self.model(context)?;
        // Without a model only identical items are replaced.
        if alike.is_empty() || ensure_available(&model).is_err() {
            return Ok(gone);
        }
        let new = TodoItem {
            id: String::new(),
            entry: entry.clone(),
        };
        let items: Vec<&TodoItem> = std::iter::once(&new).chain(alike).collect();
        let kept = items_to_keep(&model, &items).await?;
        let left_out = items
            .iter()
            .enumerate()
            .filter(|(at, _)| !kept.contains(at));
        gone.extend(left_out.map(|(_, item)| item.id.clone()));
        Ok(gone)
    }
}

/// The model of the agent that makes a call, which also pays for it.
struct CallingModel<'a> {
    minds: &'a Minds,
    clock: &'a dyn Clock,
    context: &'a CallContext,
}

#[async_trait]
impl TodoModel for CallingModel<'_> {
    fn has_provider(&self) -> bool {
        self.minds.has_models()
    }

    fn has_model(&self) -> Result<bool, ToolError> {
        self.minds.has_model_for(&self.context.agent)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn user_input(&self) -> Option<String> {
        let input = self.minds.input_of(self.context).await?;
        Some(input.text)
    }

    async fn ask(&self, request: ModelRequest) -> Result<Option<Value>, ToolError> {
        let reply = self.minds.ask_once(request, self.context).await?;
        Ok(json_in(&reply.text()))
    }
}

fn output(
    action: TodoAction,
    change: TodoChange,
    changed: Changed,
    resolved: ResolvedText,
) -> Output {
    Output {
        ok: true,
        action,
        updated_counts: Counts {
            open_count: change.open,
            done_count: change.done,
        },
        changed,
        entry: change.item.into(),
        warnings: resolved.warnings,
        removed: change.removed.into_iter().map(ShownEntry::from).collect(),
    }
}

/// The chat of an item: the named one, or the current Telegram chat.
fn chat_id(params: &Params, context: &CallContext) -> Result<Option<String>, ToolError> {
    let named = params.chat_id.as_deref().map(str::trim);
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return match is_chat_id(named) {
            true => Ok(Some(named.to_owned())),
            false => Err(invalid("chat_id", &format!("invalid chat_id: {named}"))
                .hint("chat_id is tg:<chat-id>, a signed number that is not zero, as in tg:-1001234567890")),
        };
    }
    let place = context.chat.as_deref();
    let here = place.filter(|place| place.channel == "telegram");
    let here = here.map(|place| format!("tg:{}", place.chat));
    Ok(here.filter(|here| is_chat_id(here)))
}

fn no_match() -> ToolError {
    ToolError::not_found("no matching todo item in TODO.md")
        .hint("see what is open with read_file on file_state_dir/TODO.md")
}

fn ambiguous(items: &[&TodoItem]) -> ToolError {
    let shown = items.iter().take(5);
    let shown: Vec<String> = shown
        .map(|item| format!("{} ({})", item.entry.content, item.id))
        .collect();
    let ids: Vec<&str> = items.iter().take(50).map(|item| item.id.as_str()).collect();
    let message = format!("ambiguous todo item match: {}", shown.join(" | "));
    invalid("content", &message)
        .hint("call again with the id of the item you mean")
        .details(json!({ "candidates": ids }))
}
