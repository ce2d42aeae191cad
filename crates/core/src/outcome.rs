//! What a call gives back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::ContentBlock;
use crate::error::{ErrorCode, Problem, ToolError};
use crate::id::ArtifactId;

/// That a result was cut, and where the whole of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The size of the whole, in bytes.
    pub full_size: u64,
    /// Where the whole is kept, unless it was too large for that too.
    pub artifact: Option<ArtifactId>,
}

/// What a tool gives back: a structured value, and content to show beside it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// The structured value.
    pub value: Value,
    /// What to show beside it (pictures, links). Empty: the value says it all.
    pub blocks: Vec<ContentBlock>,
    /// Set by the path when the value is only a part.
    pub cut: Option<Cut>,
    /// The result as a far MCP server gave it, for a face that hands it on whole.
    pub raw: Option<Value>,
    /// The tool vouches that no words from outside are in it, whatever its effects suggest.
    pub clean: bool,
}

impl Outcome {
    /// An outcome that is just a value.
    pub fn value(value: Value) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }

    /// The same, known to hold no words from outside.
    #[must_use]
    pub fn clean(mut self, clean: bool) -> Self {
        self.clean = clean;
        self
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
