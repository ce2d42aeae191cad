//! How a tool call of an agent went, live and in a history.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a tool call went. All of it is an addition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct CallResult {
    /// For a call that ended: how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CallOutcome>,
    /// Exit code of the program that it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Milliseconds it waited for approval; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// Images in the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<CallPicture>,
    /// For an edit or a patch: the change as a unified diff. Line numbers are those of the changed piece if the position
    /// in the file is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallOutcome {
    /// It succeeded.
    Ok,
    /// It failed, or the program it ran did.
    Failed,
    /// A rule or the owner denied it.
    Denied,
    /// It was stopped, or never started because its run was stopped.
    Stopped,
}

/// An image in the result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallPicture {
    /// `SEQ/INDEX`: its bytes are at `GET /api/sessions/{key}/pictures/{seq}/{index}`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// MIME type.
    pub mime_type: String,
}
