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

/// How a call went, stored with its result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CallStats {
    /// Duration of its execution in milliseconds.
    pub ms: u64,
    /// The audit id, if the call reached the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// How it ended; `None` in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CallVerdict>,
    /// Exit code of the program that it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Milliseconds it waited for approval.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ms: u64,
    /// The change of a file, as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallVerdict {
    /// It did what it was asked to.
    Ok,
    /// It failed, or its program did.
    Failed,
    /// A rule or the owner denied it.
    Denied,
    /// It was stopped, or never started because its turn was stopped.
    Stopped,
}

impl CallVerdict {
    /// The word on every interface.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Stopped => "stopped",
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl CallStats {
    /// What a result says of its call.
    pub fn of(result: &Result<Outcome, ToolError>) -> Self {
        let outcome = match result {
            Ok(outcome) => return Self::of_value(&outcome.value),
            Err(error) => match error.code {
                ErrorCode::ApprovalDenied
                | ErrorCode::ApprovalRequired
                | ErrorCode::DeniedByPolicy
                | ErrorCode::Forbidden => CallVerdict::Denied,
                ErrorCode::Cancelled => CallVerdict::Stopped,
                _ => CallVerdict::Failed,
            },
        };
        Self::ended(outcome)
    }

    /// A call that ended like this and did not run.
    pub fn ended(outcome: CallVerdict) -> Self {
        Self {
            outcome: Some(outcome),
            ..Self::default()
        }
    }

    /// Programs report their end in the value: as the tools of nodes spell it, or as those of this machine do, which may
    /// wrap it as the output of a subtask.
    fn of_value(value: &Value) -> Self {
        let program = match value.get("output") {
            Some(output @ Value::Object(_)) => output,
            _ => value,
        };
        let field = |names: [&str; 2]| names.iter().find_map(|name| program.get(name));
        let exit_code = field(["exitCode", "exit_code"]).and_then(Value::as_i64);
        let timed_out = field(["timedOut", "timed_out"]) == Some(&Value::Bool(true));
        let killed = program.get("signal").is_some_and(Value::is_string)
            && field(["exitCode", "exit_code"]).is_some();
        let failed = exit_code.is_some_and(|code| code != 0) || timed_out || killed;
        Self {
            exit_code,
            ..Self::ended(match failed {
                true => CallVerdict::Failed,
                false => CallVerdict::Ok,
            })
        }
    }

    /// How the call ended; for older records, what its result says.
    pub fn verdict(stats: Option<&Self>, is_error: bool) -> CallVerdict {
        let known = stats.and_then(|stats| stats.outcome);
        known.unwrap_or(match is_error {
            true => CallVerdict::Failed,
            false => CallVerdict::Ok,
        })
    }
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

    /// The same, with how the call went.
    #[must_use]
    pub(crate) fn with(self, stats: CallStats) -> Self {
        Self {
            made: Some(stats),
            ..self
        }
    }

    /// Whether it has pictures.
    pub(crate) fn has_pictures(&self) -> bool {
        let picture = |block: &Block| matches!(block, Block::Image { .. });
        self.content.iter().any(picture)
    }

    /// The result of a call that was running when the gateway stopped.
    pub fn unknown(tool: &str) -> Self {
        // Not retried here: only the model can find out whether the effect is there and whether it is still wanted.
        let text = "interrupted, outcome unknown: the gateway stopped while this was running. It may have taken effect; look before doing it again.";
        Self {
            content: vec![Block::text(text)],
            made: Some(CallStats::ended(CallVerdict::Stopped)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_ended_as_its_program_or_its_refusal_says() {
        use CallVerdict::{Denied, Failed, Ok as Fine, Stopped};
        for (value, verdict, code) in [
            (json!("text"), Fine, None),
            (json!({ "exitCode": 0, "signal": null }), Fine, Some(0)),
            (json!({ "exitCode": 2 }), Failed, Some(2)),
            (
                json!({ "exit_code": 2, "timed_out": false }),
                Failed,
                Some(2),
            ),
            (
                json!({ "exitCode": null, "signal": "SIGKILL" }),
                Failed,
                None,
            ),
            (json!({ "exitCode": null, "timedOut": true }), Failed, None),
            (json!({ "output": { "exit_code": 3 } }), Failed, Some(3)),
            (json!({ "output": "exit_code" }), Fine, None),
            (json!({ "signal": "strong" }), Fine, None),
        ] {
            let stats = CallStats::of(&Ok(Outcome::value(value.clone())));
            assert_eq!(
                (stats.outcome, stats.exit_code),
                (Some(verdict), code),
                "{value}"
            );
        }
        for (code, verdict) in [
            (ErrorCode::ApprovalDenied, Denied),
            (ErrorCode::DeniedByPolicy, Denied),
            (ErrorCode::Forbidden, Denied),
            (ErrorCode::Cancelled, Stopped),
            (ErrorCode::Failed, Failed),
            (ErrorCode::DeadlineExceeded, Failed),
        ] {
            let stats = CallStats::of(&Err(ToolError::new(code, "no")));
            assert_eq!(stats.outcome, Some(verdict), "{code:?}");
        }
    }

    #[test]
    fn older_records_say_only_whether_it_failed() {
        let old: CallStats = serde_json::from_str(r#"{"ms":7}"#).unwrap();
        assert_eq!((old.ms, old.outcome, old.waited_ms), (7, None, 0));
        assert_eq!(CallStats::verdict(Some(&old), true), CallVerdict::Failed);
        assert_eq!(CallStats::verdict(None, false), CallVerdict::Ok);
    }
}
