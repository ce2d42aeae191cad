//! Which tools a model is shown, and how a call of it is answered: one function for every face.

use manyhands_core::{
    AgentId, CallId, Caller, Catalogue, ChatRef, ContentBlock, Effects, ErrorCode, Exposure,
    Invoke, Outcome, Pattern, Question, Taint, ToolError, ToolSpec, content_of,
};
use manyhands_llm::{Block, ToolDef};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fence;
use crate::plan::Plan;

/// The most characters of one result that a model is shown.
const MAX_RESULT: usize = 100_000;
/// How many bytes of a result the path gives to a turn: what is larger it stores, and shortens with care. Leaves room
/// for the links to what was stored.
pub(crate) const RESULT_ROOM: u64 = 96_000;
/// The most pictures of one result.
const MAX_PICTURES: usize = 8;

/// What a toolset depends on, and nothing else.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    /// Decides what is allowed.
    pub path: &'a dyn Invoke,
    /// Whose rights count.
    pub caller: &'a Caller,
    /// Whose tools they are.
    pub agent: &'a AgentId,
    /// What the agent is given.
    pub tools: &'a [Pattern],
    /// What it may call without being shown it.
    pub discover: &'a [Pattern],
    /// Only these, where whoever asked chose.
    pub only: Option<&'a [String]>,
    /// The chat in which it is asked.
    pub place: Option<&'a ChatRef>,
    /// The session whose task it is: tools may be there for one session only.
    pub session: Option<&'a str>,
}

/// How a task comes by a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Its model is shown it.
    Direct,
    /// Its model has to look for it first.
    Discovered,
    /// Not at all.
    Not,
}

/// How a task comes by a tool. What was chosen for it by name is shown; what is only to be
/// discovered counts before what is given.
pub fn reach(spec: &ToolSpec, shape: &Shape<'_>) -> Reach {
    if !is_available(spec, shape) {
        return Reach::Not;
    }
    let hidden = spec.exposure != Exposure::Direct || fits(spec, shape.discover);
    match hidden && shape.only.is_none() {
        true => Reach::Discovered,
        false => Reach::Direct,
    }
}

/// The tools of a task that its model is shown, by name.
pub fn toolset(catalogue: &Catalogue, shape: &Shape<'_>) -> Vec<ToolDef> {
    let mut tools: Vec<ToolDef> = catalogue
        .specs()
        .filter(|spec| reach(spec, shape) == Reach::Direct)
        .map(|spec| {
            let (description, input_schema) = spec.shown_in(shape.place);
            ToolDef {
                name: spec.name.wire(),
                description: description.to_owned(),
                input_schema: input_schema.clone(),
            }
        })
        .collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}

/// The tools that somebody names for a sub-agent, of those that the shape has, by their names on
/// the wire; the error lists those it does not have.
pub fn chosen(
    catalogue: &Catalogue,
    shape: &Shape<'_>,
    named: &[String],
) -> Result<Vec<String>, Vec<String>> {
    let known = |name: &String| {
        let tool = catalogue.resolve(name)?;
        let spec = tool.spec();
        is_available(spec, shape).then(|| spec.name.wire())
    };
    let mut names = Vec::new();
    let mut unknown = Vec::new();
    for name in named {
        match known(name) {
            Some(name) if names.contains(&name) => {}
            Some(name) => names.push(name),
            None => unknown.push(name.clone()),
        }
    }
    match unknown.is_empty() {
        true => Ok(names),
        false => Err(unknown),
    }
}

/// Whether a task has a tool: its agent is given it, and some call of it would be allowed.
fn is_available(spec: &ToolSpec, shape: &Shape<'_>) -> bool {
    let question = Question::available(shape.caller, shape.agent, spec).in_session(shape.session);
    is_given(spec, shape) && !shape.path.authorize(question).is_denied()
}

/// Whether a task is given a tool, as far as its agent goes.
pub(crate) fn is_given(spec: &ToolSpec, shape: &Shape<'_>) -> bool {
    let (name, wire) = (spec.name.as_str(), spec.name.wire());
    let chosen = |only: &[String]| only.iter().any(|one| *one == name || *one == wire);
    // What an editor brings along for a session is meant for whichever agent works there.
    let brought = spec.audience.session.as_deref();
    let own = brought.is_some() && brought == shape.session;
    let given = own || fits(spec, shape.tools) || fits(spec, shape.discover);
    let given = given && spec.chats.has(shape.place);
    given && shape.only.is_none_or(chosen)
}

fn fits(spec: &ToolSpec, patterns: &[Pattern]) -> bool {
    let (name, wire) = (spec.name.as_str(), spec.name.wire());
    let mut patterns = patterns.iter();
    patterns.any(|pattern| pattern.matches(name) || pattern.matches(&wire))
}

/// What a call gave, as it is kept and as a model is shown it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// Texts and pictures.
    pub content: Vec<Block>,
    /// Whether it failed.
    pub is_error: bool,
    /// The untrusted text that is in it.
    pub taints: Taint,
    /// The plan that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// How the call went, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
}

/// How a call went, kept beside what it gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// The call as the audit knows it, where it came to the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

impl Given {
    /// What a tool gave.
    pub fn of(tool: &str, effects: Effects, result: Result<Outcome, ToolError>) -> Self {
        let source = format!("tool:{tool}");
        match result {
            Ok(outcome) => Self {
                is_error: false,
                taints: outcome
                    .taint
                    .clone()
                    .unwrap_or_else(|| Taint::when(effects.brings_words(), source)),
                plan: Plan::given_by(tool, &outcome.value),
                content: content(tool, outcome),
                made: None,
            },
            Err(error) => Self {
                taints: Taint::when(error_taints(effects, error.code), source),
                ..Self::error(tool, &error.text())
            },
        }
    }

    /// Why a tool gave nothing.
    pub fn error(tool: &str, text: &str) -> Self {
        Self {
            content: vec![Block::text(fence::fenced(&format!("tool:{tool}"), text))],
            is_error: true,
            taints: Taint::NONE,
            plan: None,
            made: None,
        }
    }

    /// What became of it is not known.
    pub fn unknown(tool: &str) -> Self {
        let text = "interrupted, outcome unknown: the gateway stopped while this was running. It may have taken effect; look before doing it again.";
        Self {
            content: vec![Block::text(text)],
            ..Self::error(tool, "")
        }
    }

    /// The beginning of its text, for people.
    pub fn shown(&self) -> String {
        let text = self.content.iter().find_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Image { .. } => None,
        });
        let text = text.map_or("(a picture)", fence::inside);
        text.chars().take(2_000).collect()
    }
}

/// Whether an error may hold words of others: what a tool says of its failure, not why it was
/// never run.
fn error_taints(effects: Effects, code: ErrorCode) -> bool {
    match code {
        ErrorCode::UnknownTool
        | ErrorCode::Unauthenticated
        | ErrorCode::Forbidden
        | ErrorCode::DeniedByPolicy
        | ErrorCode::ApprovalRequired
        | ErrorCode::ApprovalDenied
        | ErrorCode::RateLimited
        | ErrorCode::BudgetExceeded => false,
        ErrorCode::InvalidArguments
        | ErrorCode::NotFound
        | ErrorCode::Conflict
        | ErrorCode::StorageFull
        | ErrorCode::Unavailable
        | ErrorCode::Internal => effects.comes_from_elsewhere(),
        ErrorCode::Failed
        | ErrorCode::TooLarge
        | ErrorCode::DeadlineExceeded
        | ErrorCode::Cancelled => effects.brings_words(),
    }
}

fn content(tool: &str, outcome: Outcome) -> Vec<Block> {
    let (blocks, value) = match content_of(&outcome.value) {
        Some(blocks) => (blocks, None),
        None => (outcome.blocks, Some(outcome.value)),
    };
    let mut texts = Vec::new();
    if let Some(value) = value {
        texts.push(match value {
            Value::String(text) => text,
            other => other.to_string(),
        });
    }
    let mut pictures = Vec::new();
    for block in blocks {
        match block {
            ContentBlock::Text { text } => texts.push(text),
            ContentBlock::Image { data, mime_type } => {
                pictures.push(Block::Image { data, mime_type })
            }
            ContentBlock::ResourceLink { uri, name, .. } => texts.push(format!("{name}: {uri}")),
        }
    }
    let mut text = shortened(&texts.join("\n"));
    // First, so that it is seen whatever else is cut: how to read the rest.
    if let Some(cut) = &outcome.cut {
        text = format!("{}\n{text}", cut.note());
    }
    let mut content = vec![Block::text(fence::fenced(&format!("tool:{tool}"), &text))];
    let more = pictures.len().saturating_sub(MAX_PICTURES);
    pictures.truncate(MAX_PICTURES);
    content.extend(pictures);
    if more > 0 {
        content.push(Block::text(format!("[{more} more pictures were left out]")));
    }
    content
}

fn shortened(text: &str) -> String {
    let Some((at, _)) = text.char_indices().nth(MAX_RESULT) else {
        return text.to_owned();
    };
    format!("{}\n[cut: {} bytes in all]", &text[..at], text.len())
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use manyhands_core::{CallRequest, Decision, Principal, Rights, Role, Verdict};
    use std::sync::Arc;

    use super::*;

    fn caller(tools: &str) -> Caller {
        let rights = Rights::new(Role::Client, vec![Pattern::new(tools)]);
        Caller::new(Principal::System, "x", rights)
    }

    /// Allows what the caller's patterns name.
    struct Patterns;

    #[async_trait]
    impl Invoke for Patterns {
        async fn invoke(&self, _: CallRequest) -> Result<Outcome, ToolError> {
            Err(ToolError::internal("nothing is called here"))
        }

        fn authorize(&self, question: Question<'_>) -> Verdict {
            let allowed = fits(question.spec, &question.caller.rights.tools);
            let decision = [Decision::Deny, Decision::Allow][usize::from(allowed)];
            Verdict::default_rule(decision, "the caller's patterns")
        }

        fn catalogue(&self) -> Arc<Catalogue> {
            Arc::default()
        }
    }

    #[test]
    fn a_tool_is_shown_found_or_not_there() {
        let all = |patterns: &[&str]| -> Vec<Pattern> {
            patterns.iter().map(|one| Pattern::new(*one)).collect()
        };
        let plain = ToolSpec::new("tool::run", "x").effects(Effects::READS);
        let hidden = ToolSpec::new("deep", "x")
            .effects(Effects::READS)
            .exposure(Exposure::Discoverable);
        let only = |names: &[&str]| Some(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        type Row<'a> = (
            &'a ToolSpec,
            &'a str,
            &'a [&'a str],
            &'a [&'a str],
            Option<Vec<String>>,
            Reach,
        );
        let table: [Row<'_>; 12] = [
            (&plain, "*", &["*"], &[], None, Reach::Direct),
            (&plain, "*", &["tool__*"], &[], None, Reach::Direct),
            (&plain, "*", &["*"], &["tool::*"], None, Reach::Discovered),
            (
                &plain,
                "*",
                &["other"],
                &["tool__run"],
                None,
                Reach::Discovered,
            ),
            (&plain, "*", &["other"], &["another"], None, Reach::Not),
            (&plain, "other", &["*"], &["*"], None, Reach::Not),
            (&hidden, "*", &["*"], &[], None, Reach::Discovered),
            (&hidden, "*", &["*"], &[], only(&["deep"]), Reach::Direct),
            (
                &plain,
                "*",
                &["*"],
                &["*"],
                only(&["tool__run"]),
                Reach::Direct,
            ),
            (&plain, "*", &["*"], &[], only(&["deep"]), Reach::Not),
            (&plain, "*", &[], &[], only(&["tool__run"]), Reach::Not),
            (&plain, "*", &[], &[], None, Reach::Not),
        ];
        for (spec, rights, tools, discover, only, expect) in table {
            let (caller, tools, discover) = (caller(rights), all(tools), all(discover));
            let agent = AgentId::main();
            let shape = Shape {
                path: &Patterns,
                caller: &caller,
                agent: &agent,
                tools: &tools,
                discover: &discover,
                only: only.as_deref(),
                place: None,
                session: None,
            };
            assert_eq!(
                reach(spec, &shape),
                expect,
                "{} {tools:?} {discover:?}",
                spec.name
            );
        }
    }
}
