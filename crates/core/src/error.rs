//! Errors of tool calls: a stable code, a message and a hint.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Stable codes. Faces map them to their own numbers; scripts may match on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// No tool of that name is in the caller's view.
    UnknownTool,
    /// The arguments do not fit the tool's schema or rules.
    InvalidArguments,
    /// The caller did not say who it is, or not believably.
    Unauthenticated,
    /// The caller may not do this.
    Forbidden,
    /// A policy rule refuses the call.
    DeniedByPolicy,
    /// The owner has to agree first.
    ApprovalRequired,
    /// The owner said no.
    ApprovalDenied,
    /// Too many calls in too short a time.
    RateLimited,
    /// The caller's allowance is used up.
    BudgetExceeded,
    /// The call took longer than it may.
    DeadlineExceeded,
    /// The caller went away or took the call back.
    Cancelled,
    /// What the call names does not exist.
    NotFound,
    /// The thing changed meanwhile, or is not in the state the call needs.
    Conflict,
    /// Something is larger than its limit.
    TooLarge,
    /// The disk is full.
    StorageFull,
    /// A part that the call needs is not there now; trying later may work.
    Unavailable,
    /// The tool ran and failed.
    Failed,
    /// A defect of ours.
    Internal,
}

impl ErrorCode {
    /// The code as it appears on every interface.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::InvalidArguments => "invalid_arguments",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::DeniedByPolicy => "denied_by_policy",
            Self::ApprovalRequired => "approval_required",
            Self::ApprovalDenied => "approval_denied",
            Self::RateLimited => "rate_limited",
            Self::BudgetExceeded => "budget_exceeded",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::Cancelled => "cancelled",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::StorageFull => "storage_full",
            Self::Unavailable => "unavailable",
            Self::Failed => "failed",
            Self::Internal => "internal",
        }
    }

    /// Whether the same call may succeed later without being changed.
    pub fn retryable(self) -> bool {
        matches!(
            self,
            Self::ApprovalRequired
                | Self::RateLimited
                | Self::BudgetExceeded
                | Self::Conflict
                | Self::StorageFull
                | Self::Unavailable
        )
    }
}

/// What is wrong with one parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The parameter, as a dotted path (`schedule.kind`).
    pub parameter: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// Why a call did not give a result.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    /// The stable code.
    pub code: ErrorCode,
    /// What was wrong, lower-case and without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Every parameter that is wrong, all at once.
    pub problems: Vec<Problem>,
    /// How long to wait before trying again.
    pub retry_after: Option<Duration>,
    /// More for programs, such as the id of an approval.
    pub details: Option<Value>,
}

impl ToolError {
    /// An error with a code and a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            problems: Vec::new(),
            retry_after: None,
            details: None,
        }
    }

    /// One parameter is wrong.
    pub fn parameter(name: &str, message: impl Into<String>) -> Self {
        Self::problems(vec![Problem {
            parameter: name.to_owned(),
            message: message.into(),
        }])
    }

    /// Several parameters are wrong; the message lists them all.
    pub fn problems(problems: Vec<Problem>) -> Self {
        let listed: Vec<String> = problems
            .iter()
            .map(|p| format!("{}: {}", p.parameter, p.message))
            .collect();
        Self {
            problems,
            ..Self::new(ErrorCode::InvalidArguments, listed.join("; "))
        }
    }

    /// What the call names does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// An internal error: a bug in manyhands.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says what was attempted, in front of the message.
    #[must_use]
    pub fn context(mut self, attempted: impl fmt::Display) -> Self {
        self.message = format!("{attempted}: {}", self.message);
        self
    }

    /// Adds how long to wait.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Adds more for programs.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The text that every interface shows: the message, then the hint on its own line.
    pub fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\nhint: {hint}", self.message),
            None => self.message.clone(),
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl std::error::Error for ToolError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_print_as_they_serialise() {
        for code in [
            ErrorCode::UnknownTool,
            ErrorCode::InvalidArguments,
            ErrorCode::DeniedByPolicy,
            ErrorCode::StorageFull,
            ErrorCode::Internal,
        ] {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn a_hint_follows_on_its_own_line() {
        let error =
            ToolError::not_found("no file at a.md").hint("list the directory with gsv__ReadFile");
        assert_eq!(
            error.text(),
            "no file at a.md\nhint: list the directory with gsv__ReadFile"
        );
    }

    #[test]
    fn all_problems_are_named_at_once() {
        let problem = |parameter: &str| Problem {
            parameter: parameter.to_owned(),
            message: "is required".to_owned(),
        };
        let error = ToolError::problems(vec![problem("path"), problem("content")]);
        assert_eq!(error.message, "path: is required; content: is required");
    }
}
