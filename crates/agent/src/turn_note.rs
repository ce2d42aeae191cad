//! Notes: how a turn without an answer ended, for people who read the conversation later.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// How a turn without an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TurnNote {
    /// Whether somebody stopped it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnFailure>,
}

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnFailure {
    /// The code that a failed request would have.
    pub code: String,
    /// Stable name of the failure, such as `provider_rate_limited`.
    pub failure: String,
    /// The reason; the last line may be a hint.
    pub message: String,
    /// Whether the same message may succeed later without a change of it or of the settings.
    pub retryable: bool,
    /// Milliseconds to wait before a retry, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl From<&Failure> for TurnFailure {
    fn from(failure: &Failure) -> Self {
        let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Self {
            code: failure.kind.code().as_str().to_owned(),
            failure: failure.kind.word().to_owned(),
            message: failure.text.clone(),
            retryable: failure.kind.is_retryable(),
            retry_after_ms: failure.retry_after.map(millis),
        }
    }
}

impl TurnNote {
    pub(crate) fn stopped() -> Self {
        Self {
            stopped: true,
            error: None,
        }
    }

    pub(crate) fn failed(failure: &Failure) -> Self {
        Self {
            stopped: false,
            error: Some(failure.into()),
        }
    }

    pub(crate) fn body(&self) -> String {
        serde_json::to_string(self).expect("a note is plain data with text keys")
    }

    /// The note in the body of an entry.
    pub(crate) fn of(body: &str) -> Self {
        // An unreadable one still says that the turn ended here.
        serde_json::from_str(body).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;

    #[test]
    fn a_note_is_read_as_it_was_stored() {
        let failure = Failure {
            retry_after: Some(Duration::from_secs(2)),
            ..Failure::new(FailureKind::ProviderRateLimited, "slow down")
        };
        for note in [TurnNote::stopped(), TurnNote::failed(&failure)] {
            assert_eq!(TurnNote::of(&note.body()), note);
        }
        let error = TurnNote::failed(&failure).error.unwrap();
        assert_eq!(
            (error.code.as_str(), error.retryable),
            ("rate_limited", true)
        );
        assert_eq!(error.retry_after_ms, Some(2_000));
        assert_eq!(TurnNote::of("?"), TurnNote::default());
        let body = TurnNote::failed(&failure).body();
        assert!(
            serde_json::from_str::<manyhands_llm::Message>(&body).is_err(),
            "no message"
        );
    }
}
