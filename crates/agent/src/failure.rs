//! Why a turn failed: a stable code and a message.

use std::time::Duration;

use manyhands_core::{ErrorCode, ToolError};
use manyhands_llm::{ErrorKind, ModelError};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The kind of failure: a stable code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The provider's request or token rate limit.
    ProviderRateLimited,
    /// The provider is overloaded.
    ProviderOverloaded,
    /// The provider failed or sent an incomplete reply.
    ProviderFailed,
    /// The provider cannot be reached.
    ProviderUnreachable,
    /// The provider did not respond in time.
    ProviderTimeout,
    /// The provider rejected the API key or account.
    ProviderAuth,
    /// The provider rejected the request.
    ProviderBadRequest,
    /// The conversation exceeds the model's context window.
    ContextOverflow,
    /// The provider's safety rules blocked the answer.
    Refused,
    /// The spending limit would have been exceeded.
    OverBudget,
    /// The model or provider is not configured.
    NotConfigured,
    /// The turn exceeded its time limit.
    TurnTimeout,
    /// The model repeated the same call too often.
    Looping,
    /// A step could not be stored.
    Storage,
    /// The caller lost the right, or the session or agent no longer exists.
    Forbidden,
    /// The gateway stopped, and nobody waits for the answer any more.
    Interrupted,
    /// Anything else, including unknown codes in stored records.
    #[serde(other)]
    #[default]
    Other,
}

impl FailureKind {
    /// The code, the same on every interface.
    pub fn word(self) -> &'static str {
        match self {
            Self::ProviderRateLimited => "provider_rate_limited",
            Self::ProviderOverloaded => "provider_overloaded",
            Self::ProviderFailed => "provider_failed",
            Self::ProviderUnreachable => "provider_unreachable",
            Self::ProviderTimeout => "provider_timeout",
            Self::ProviderAuth => "provider_auth",
            Self::ProviderBadRequest => "provider_bad_request",
            Self::ContextOverflow => "context_overflow",
            Self::Refused => "refused",
            Self::OverBudget => "over_budget",
            Self::NotConfigured => "not_configured",
            Self::TurnTimeout => "turn_timeout",
            Self::Looping => "looping",
            Self::Storage => "storage",
            Self::Forbidden => "forbidden",
            Self::Interrupted => "interrupted",
            Self::Other => "other",
        }
    }

    /// Whether the same message may succeed later, without a change of it or of the settings.
    pub fn is_retryable(self) -> bool {
        match self {
            Self::ProviderRateLimited
            | Self::ProviderOverloaded
            | Self::ProviderFailed
            | Self::ProviderUnreachable
            | Self::ProviderTimeout
            | Self::TurnTimeout
            | Self::Storage
            | Self::Interrupted
            | Self::Other => true,
            Self::ProviderAuth
            | Self::ProviderBadRequest
            | Self::ContextOverflow
            | Self::Refused
            | Self::OverBudget
            | Self::NotConfigured
            | Self::Looping
            | Self::Forbidden => false,
        }
    }

    /// The error code for callers.
    pub fn code(self) -> ErrorCode {
        match self {
            Self::ProviderRateLimited => ErrorCode::RateLimited,
            Self::ProviderOverloaded
            | Self::ProviderFailed
            | Self::ProviderUnreachable
            | Self::Storage
            | Self::Interrupted => ErrorCode::Unavailable,
            Self::ProviderTimeout | Self::TurnTimeout => ErrorCode::DeadlineExceeded,
            Self::ContextOverflow => ErrorCode::TooLarge,
            Self::OverBudget => ErrorCode::BudgetExceeded,
            Self::Forbidden => ErrorCode::Forbidden,
            Self::ProviderAuth
            | Self::ProviderBadRequest
            | Self::Refused
            | Self::NotConfigured
            | Self::Looping
            | Self::Other => ErrorCode::Failed,
        }
    }
}

impl From<&ErrorKind> for FailureKind {
    fn from(kind: &ErrorKind) -> Self {
        match kind {
            ErrorKind::RateLimited { .. } => Self::ProviderRateLimited,
            ErrorKind::Overloaded => Self::ProviderOverloaded,
            ErrorKind::Server { .. } | ErrorKind::Cut | ErrorKind::Garbage => Self::ProviderFailed,
            ErrorKind::Unreachable => Self::ProviderUnreachable,
            ErrorKind::Silent => Self::ProviderTimeout,
            ErrorKind::Auth => Self::ProviderAuth,
            ErrorKind::BadRequest => Self::ProviderBadRequest,
            ErrorKind::ContextOverflow => Self::ContextOverflow,
            ErrorKind::Refused => Self::Refused,
            ErrorKind::OverBudget => Self::OverBudget,
            ErrorKind::NotConfigured => Self::NotConfigured,
            ErrorKind::Cancelled => Self::Interrupted,
        }
    }
}

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// Description; the last line may be a hint.
    pub text: String,
    /// How long to wait before a retry, if known.
    pub retry_after: Option<Duration>,
    /// Whether tools were called before it failed, so that a retry may repeat their effects.
    pub acted: bool,
}

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            ..Self::default()
        }
    }

    /// The failure as an error with code and separate hint; the details name the kind.
    pub fn refusal(&self) -> ToolError {
        let code = self.kind.code();
        let mut error = match self.text.rsplit_once("\nhint: ") {
            Some((message, hint)) => ToolError::new(code, message).hint(hint),
            None => ToolError::new(code, self.text.as_str()),
        };
        error.retry_after = self.retry_after;
        error.details(json!({ "failure": self.kind.word(), "acted": self.acted }))
    }
}

impl From<&ModelError> for Failure {
    fn from(error: &ModelError) -> Self {
        let text = error.to_string();
        // Marked, because the stored text is split again into message and hint when it is returned to a caller.
        let text = match text.rsplit_once('\n') {
            Some((what, hint)) => format!("{what}\nhint: {hint}"),
            None => text,
        };
        Self {
            retry_after: error.retry_after(),
            ..Self::new(FailureKind::from(&error.kind), text)
        }
    }
}

impl From<&ToolError> for Failure {
    fn from(error: &ToolError) -> Self {
        let kind = match error.code {
            ErrorCode::Unauthenticated | ErrorCode::Forbidden | ErrorCode::NotFound => {
                FailureKind::Forbidden
            }
            ErrorCode::StorageFull | ErrorCode::Unavailable => FailureKind::Storage,
            _ => FailureKind::Other,
        };
        Self::new(kind, error.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_print_as_they_are_stored() {
        for kind in [
            FailureKind::ProviderRateLimited,
            FailureKind::ProviderAuth,
            FailureKind::ContextOverflow,
            FailureKind::TurnTimeout,
            FailureKind::Interrupted,
            FailureKind::Other,
        ] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
        }
    }

    #[test]
    fn a_refusal_separates_code_and_hint() {
        let failure = Failure {
            retry_after: Some(Duration::from_secs(7)),
            ..Failure::new(FailureKind::ProviderRateLimited, "slow down\nhint: wait")
        };
        let refusal = failure.refusal();
        assert_eq!(refusal.code, ErrorCode::RateLimited);
        assert_eq!(refusal.message, "slow down");
        assert_eq!(refusal.hint.as_deref(), Some("wait"));
        assert_eq!(refusal.retry_after, Some(Duration::from_secs(7)));
        assert_eq!(refusal.details.unwrap()["failure"], "provider_rate_limited");
    }
}
