//! What a call gives back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::ContentBlock;
use crate::error::{ErrorCode, Problem, ToolError};
use crate::id::ArtifactId;
use crate::taint::Taint;

/// What a result does not show, and where the whole of it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cut {
    /// The parts that are shortened.
    pub parts: Vec<CutPart>,
}

/// One shortened part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutPart {
    /// The field that is shortened, such as `stdout`; empty for the result itself.
    pub field: String,
    /// The size of the whole, in bytes.
    pub size: u64,
    /// Where the whole is stored, unless it was too large for that too.
    pub artifact: Option<ArtifactId>,
    /// The type of what is stored.
    pub mime: String,
}

impl CutPart {
    /// A text that is shown in part.
    pub fn text(field: &str, size: u64, artifact: Option<ArtifactId>) -> Self {
        Self {
            field: field.to_owned(),
            size,
            artifact,
            mime: "text/plain; charset=utf-8".to_owned(),
        }
    }
}

impl Cut {
    /// The size of everything that is shortened, in bytes.
    pub fn full_size(&self) -> u64 {
        self.parts.iter().map(|part| part.size).sum()
    }

    /// The artifact to read first.
    pub fn artifact(&self) -> Option<ArtifactId> {
        self.parts.iter().find_map(|part| part.artifact)
    }

    /// What is missing and how to read it, in a line for a model: to stand before the shortened text.
    pub fn note(&self) -> String {
        let parts = self.parts.iter().map(|part| {
            let what = match part.field.as_str() {
                "" => "the whole result",
                field => field,
            };
            match part.artifact {
                Some(id) => format!("{what} ({} bytes) is artifact {id}", part.size),
                None => format!("{what} ({} bytes) was too large to store", part.size),
            }
        });
        let parts: Vec<String> = parts.collect();
        let how = self.artifact().map(|id| {
            format!(
                ". Read more with gateway_read_artifact {{\"file_id\": \"{id}\", \"start_line\": 1, \"end_line\": 200}} or search it with {{\"file_id\": \"{id}\", \"search\": \"...\"}}"
            )
        });
        format!(
            "[truncated: {}{}]",
            parts.join("; "),
            how.unwrap_or_default()
        )
    }
}

/// What a tool gives back: a structured value, and content to show beside it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// The structured value.
    pub value: Value,
    /// Content to show beside it (pictures, links).
    pub blocks: Vec<ContentBlock>,
    /// What of the value is only a part: set by the tool that shortened it, or by the path.
    pub cut: Option<Cut>,
    /// How a program that was the whole call ended, such as `exit 3` or `SIGHUP`, for the audit.
    pub exit: Option<String>,
    /// All of a text that the value shows in part, by the name of its field, for the path to store.
    pub full_texts: Vec<(String, String)>,
    /// The unchanged result of an MCP server, only for callers that forward it ([`CallRequest::wants_raw`](crate::CallRequest)).
    pub raw: Option<Value>,
    /// What the tool knows of untrusted text in it, where its effects suggest otherwise.
    pub taint: Option<Taint>,
}

impl Outcome {
    /// An outcome that is just a value.
    pub fn value(value: Value) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }

    /// The same, known to hold no untrusted text.
    #[must_use]
    pub fn clean(mut self, clean: bool) -> Self {
        self.taint = clean.then_some(Taint::NONE);
        self
    }

    /// The same, with this taint instead of the one its effects suggest.
    #[must_use]
    pub fn tainted_by(mut self, taint: Taint) -> Self {
        self.taint = Some(taint);
        self
    }

    /// The same, with parts that the tool shortened itself.
    #[must_use]
    pub fn shortened(mut self, parts: Vec<CutPart>) -> Self {
        self.cut = (!parts.is_empty()).then_some(Cut { parts });
        self
    }

    /// Whether the tool vouches that no untrusted text is in it.
    pub fn is_clean(&self) -> bool {
        self.taint.as_ref().is_some_and(|taint| !taint.is_tainted())
    }

    /// An outcome that is a typed value.
    pub fn of<T: Serialize>(value: &T) -> Result<Self, ToolError> {
        serde_json::to_value(value)
            .map(Self::value)
            .map_err(|e| ToolError::internal(format!("the result does not serialise: {e}")))
    }
}

/// The shape of every answer on HTTP, WebSocket and the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// Whether the call gave a result.
    pub ok: bool,
    /// The result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// What to show beside the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentBlock>,
    /// What was wrong, and on its own line what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The stable code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// Every parameter that is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// How long to wait before trying again, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// More for programs, such as the id of an approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl Envelope {
    /// A result that did not come from a tool, such as a listing.
    pub fn ok(result: Value) -> Self {
        Self::from(Ok(Outcome::value(result)))
    }
}

impl From<Result<Outcome, ToolError>> for Envelope {
    fn from(result: Result<Outcome, ToolError>) -> Self {
        match result {
            Ok(outcome) => Self {
                ok: true,
                result: Some(outcome.value),
                content: outcome.blocks,
                error: None,
                code: None,
                problems: Vec::new(),
                retry_after_ms: None,
                details: None,
            },
            Err(error) => Self {
                ok: false,
                result: None,
                content: Vec::new(),
                error: Some(error.text()),
                code: Some(error.code),
                problems: error.problems,
                retry_after_ms: error
                    .retry_after
                    .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
                details: error.details,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(result: Result<Outcome, ToolError>, expect: Value) {
        assert_eq!(
            serde_json::to_value(Envelope::from(result)).unwrap(),
            expect
        );
    }

    #[test]
    fn envelopes_have_the_shape_of_the_spec() {
        check(
            Ok(Outcome::value(json!({ "path": "a.md" }))),
            json!({ "ok": true, "result": { "path": "a.md" } }),
        );
        check(
            Err(ToolError::parameter("path", "is required")),
            json!({
                "ok": false,
                "error": "path: is required",
                "code": "invalid_arguments",
                "problems": [{ "parameter": "path", "message": "is required" }],
            }),
        );
    }
}
