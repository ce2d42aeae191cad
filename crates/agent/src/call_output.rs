//! The result of a tool call, as it is stored and as a model is shown it.

use manyhands_core::{
    CallId, ContentBlock, Effects, ErrorCode, Outcome, Taint, ToolError, content_of,
};
use manyhands_llm::Block;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fence;
use crate::plan::TaskPlan;

/// Characters of one result that a model sees.
const MAX_RESULT: usize = 100_000;
/// Bytes of a result that the path returns to a turn; larger ones it stores as artifacts and shortens. Below
/// [`MAX_RESULT`], to leave room for the links to the artifacts.
pub(crate) const RESULT_ROOM: u64 = 96_000;
/// Pictures of one result that a model sees.
const MAX_PICTURES: usize = 8;

/// The result of a call, as it is stored and as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallOutput {
    /// Text and pictures.
    pub content: Vec<Block>,
    /// Whether it failed.
    pub is_error: bool,
    /// The untrusted text in it.
    pub taints: Taint,
    /// The plan, if the tool made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<TaskPlan>,
    /// Stats of the call, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<CallStats>,
}

/// Duration and audit id of a call, stored with its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStats {
    /// Duration in milliseconds.
    pub ms: u64,
    /// The audit id, if the call reached the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

impl CallOutput {
    /// Converts the outcome of a tool.
    pub fn of(tool: &str, effects: Effects, result: Result<Outcome, ToolError>) -> Self {
        let source = format!("tool:{tool}");
        match result {
            Ok(outcome) => Self {
                is_error: false,
                taints: outcome
                    .taint
                    .clone()
                    .unwrap_or_else(|| Taint::when(effects.may_return_untrusted_text(), source)),
                plan: TaskPlan::given_by(tool, &outcome.value),
                content: content(tool, outcome),
                made: None,
            },
            Err(error) => Self {
                taints: Taint::when(error_taints(effects, error.code), source),
                ..Self::error(tool, &error.text())
            },
        }
    }

    /// The error of a call.
    pub fn error(tool: &str, text: &str) -> Self {
        Self {
            content: vec![Block::text(fence::fenced(&format!("tool:{tool}"), text))],
            is_error: true,
            taints: Taint::NONE,
            plan: None,
            made: None,
        }
    }

    /// The result of a call that was running when the gateway stopped.
    pub fn unknown(tool: &str) -> Self {
        // Not retried here: only the model can find out whether the effect is there and whether it is still wanted.
        let text = "interrupted, outcome unknown: the gateway stopped while this was running. It may have taken effect; look before doing it again.";
        Self {
            content: vec![Block::text(text)],
            ..Self::error(tool, "")
        }
    }

    /// The beginning of its text, without the fence.
    pub fn shown(&self) -> String {
        let text = self.content.iter().find_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Image { .. } => None,
        });
        let text = text.map_or("(a picture)", fence::inside);
        text.chars().take(2_000).collect()
    }
}

/// Whether an error may contain text from outside: the tool's own error message may, the reason why it was never run
/// does not.
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
        | ErrorCode::Internal => effects.returns_external_output(),
        ErrorCode::Failed
        | ErrorCode::TooLarge
        | ErrorCode::DeadlineExceeded
        | ErrorCode::Cancelled => effects.may_return_untrusted_text(),
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
    // First, so that it survives further cuts: it says how to read the rest.
    if let Some(cut) = &outcome.cut {
        text = format!("{}\n{text}", cut.note());
    }
    let mut content = vec![Block::text(fence::fenced(&format!("tool:{tool}"), &text))];
    // Bounded by count as well: providers reject requests with too many pictures, and every later turn would fail.
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
