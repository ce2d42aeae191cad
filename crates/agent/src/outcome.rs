//! How a turn ended, as it is kept and as it is told: one reading for everybody who asks.

use std::time::Duration;

use manyhands_core::{ErrorCode, Taint, Timestamp, ToolError};
use manyhands_llm::{ErrorKind, ModelError, StopReason};
use manyhands_store::{StoreError, TurnEnd, TurnRecord, TurnState};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::event::{TurnUsage, What};
use crate::minds::{Inner, Minds};
use crate::turn::Work;

/// How often a turn can have become part of another.
const MAX_MERGED: usize = 16;
/// What stood at the end of an answer that was as long as it may be, before the reason was kept.
const CUT: &str = "\n[the answer was cut off at its longest]";

/// What sort of failure a turn ended with: a word that stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The provider takes no more requests, or tokens, for now.
    ProviderRateLimited,
    /// The provider has too much to do.
    ProviderOverloaded,
    /// The provider failed, or what it sent was no whole reply.
    ProviderFailed,
    /// There is no connection to the provider.
    ProviderUnreachable,
    /// The provider said nothing for too long.
    ProviderTimeout,
    /// The provider does not accept the key or the account.
    ProviderAuth,
    /// The provider does not take the request.
    ProviderBadRequest,
    /// The conversation is longer than the model can read.
    ContextOverflow,
    /// The provider's safety rules refuse an answer.
    Refused,
    /// It would have cost more than is allowed.
    OverBudget,
    /// The settings have no such model or provider.
    NotConfigured,
    /// The turn took longer than it may.
    TurnTimeout,
    /// The model made the same call over and over.
    Looping,
    /// A step could not be kept.
    Storage,
    /// Whoever asked may not any more, or what was asked is gone.
    Forbidden,
    /// The gateway stopped, and nobody waits for it any more.
    Interrupted,
    /// Something else; also where an older record does not say.
    #[serde(other)]
    #[default]
    Other,
}

impl FailureKind {
    /// The word, as it is on every face.
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

    /// The code under which it is refused.
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

/// Why a turn has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure {
    /// What sort of failure.
    pub kind: FailureKind,
    /// What happened, in words; the last line may be a hint.
    pub text: String,
    /// How long to wait before asking again, where it is known.
    pub retry_after: Option<Duration>,
    /// Whether tools were called before it failed, so that asking again may do things twice.
    pub acted: bool,
}

impl Failure {
    /// A failure of that sort.
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            ..Self::default()
        }
    }

    /// The failure as a refusal: its code, the hint apart, the sort for programs.
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

/// What is kept of a turn that ended. Every part may be missing: older records have fewer.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Outcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<StopReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<FailureKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    acted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    into: Option<String>,
    usage: TurnUsage,
}

impl Outcome {
    pub(crate) fn answered(text: &str, stop: StopReason, usage: TurnUsage) -> Self {
        Self {
            text: Some(text.to_owned()),
            stop: Some(stop),
            usage,
            ..Self::default()
        }
    }

    pub(crate) fn failed(failure: &Failure, usage: TurnUsage) -> Self {
        let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Self {
            error: Some(failure.text.clone()),
            kind: Some(failure.kind),
            retry_after_ms: failure.retry_after.map(millis),
            acted: failure.acted,
            usage,
            ..Self::default()
        }
    }

    pub(crate) fn stopped(usage: TurnUsage) -> Self {
        Self {
            usage,
            ..Self::default()
        }
    }

    pub(crate) fn merged(into: &str) -> Self {
        Self {
            into: Some(into.to_owned()),
            ..Self::default()
        }
    }

    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("an outcome is plain data with text keys")
    }

    fn of(turn: &TurnRecord) -> Self {
        let text = turn.outcome.as_deref().unwrap_or("{}");
        serde_json::from_str(text).unwrap_or_default()
    }

    fn answer(self) -> What {
        let mut text = self.text.unwrap_or_default();
        let stop = self.stop.unwrap_or(match text.strip_suffix(CUT) {
            Some(before) => {
                text = before.to_owned();
                StopReason::Length
            }
            None => StopReason::End,
        });
        let usage = self.usage;
        What::Final { text, stop, usage }
    }

    fn failure(self) -> Failure {
        Failure {
            kind: self.kind.unwrap_or_default(),
            text: self.error.unwrap_or_default(),
            retry_after: self.retry_after_ms.map(Duration::from_millis),
            acted: self.acted,
        }
    }
}

/// How a turn ended; `None` while it has not, and for one that became part of another.
pub fn ended(turn: &TurnRecord) -> Option<What> {
    Some(match turn.state {
        TurnState::Queued | TurnState::Running | TurnState::Waiting | TurnState::Merged => {
            return None;
        }
        TurnState::Done => {
            let mut outcome = Outcome::of(turn);
            outcome.usage.duration_ms = took(turn.started, turn.ended);
            outcome.answer()
        }
        TurnState::Failed => What::Error(Outcome::of(turn).failure()),
        TurnState::Stopped => What::Stopped,
    })
}

/// How long a turn took, where both ends are known.
pub(crate) fn took(started: Option<Timestamp>, ended: Option<Timestamp>) -> Option<u64> {
    u64::try_from(ended?.0 - started?.0).ok()
}

/// What a turn that has ended used up; `None` where no model answered, or the record does not say.
pub(crate) fn spent(end: &TurnEnd) -> Option<TurnUsage> {
    let outcome: Outcome = serde_json::from_str(end.outcome.as_deref()?).ok()?;
    let usage = TurnUsage {
        duration_ms: took(end.started, end.ended),
        ..outcome.usage
    };
    (usage.replies > 0).then_some(usage)
}

/// The untrusted text that a turn read; one whose record cannot be read counts as tainted.
pub(crate) fn taint_of(turn: &TurnRecord) -> Taint {
    let work: Option<Work> = serde_json::from_str(&turn.work).ok();
    work.map_or_else(|| Taint::by("an unreadable turn"), |work| work.tainted)
}

impl Inner {
    /// A turn, or the one that it became part of.
    pub(crate) async fn whole_turn(&self, turn: &str) -> Result<Option<TurnRecord>, StoreError> {
        let mut found = self.sessions.turn(turn).await?;
        for _ in 0..MAX_MERGED {
            match found {
                Some(merged) if merged.state == TurnState::Merged => {
                    let into = Outcome::of(&merged).into.unwrap_or_default();
                    found = self.sessions.turn(&into).await?;
                }
                other => return Ok(other),
            }
        }
        Ok(None)
    }
}

impl Minds {
    /// A turn, or the one that it became part of; `None` when it is no longer kept.
    pub async fn turn(&self, turn: &str) -> Result<Option<TurnRecord>, ToolError> {
        self.inner.whole_turn(turn).await.map_err(ToolError::from)
    }

    /// How a turn ended; `None` while it has not.
    pub async fn ended(&self, turn: &str) -> Result<Option<What>, ToolError> {
        let turn = self.turn(turn).await?;
        Ok(turn.as_ref().and_then(ended))
    }
}

#[cfg(test)]
mod tests {
    use manyhands_core::Timestamp;

    use super::*;

    fn turn(state: TurnState, outcome: &str) -> TurnRecord {
        TurnRecord {
            id: "t".to_owned(),
            session_key: "agent:main:main".to_owned(),
            run_id: "r".to_owned(),
            state,
            input: "{}".to_owned(),
            origin: "{}".to_owned(),
            work: "{}".to_owned(),
            outcome: Some(outcome.to_owned()),
            created: Timestamp(1),
            started: None,
            ended: None,
        }
    }

    #[test]
    fn what_is_kept_reads_as_it_was_told() {
        let usage = TurnUsage {
            replies: 2,
            ..TurnUsage::default()
        };
        let failure = Failure {
            retry_after: Some(Duration::from_secs(7)),
            acted: true,
            ..Failure::new(FailureKind::ProviderRateLimited, "slow down\nhint: wait")
        };
        let failed = turn(TurnState::Failed, &Outcome::failed(&failure, usage).json());
        assert_eq!(ended(&failed), Some(What::Error(failure)));
        let answered = Outcome::answered("half", StopReason::Length, usage).json();
        let told = What::Final {
            text: "half".to_owned(),
            stop: StopReason::Length,
            usage,
        };
        assert_eq!(ended(&turn(TurnState::Done, &answered)), Some(told));
        assert_eq!(ended(&turn(TurnState::Running, "{}")), None);
    }

    #[test]
    fn records_of_before_still_read() {
        let usage = TurnUsage::default();
        let failed = turn(TurnState::Failed, r#"{"error":"no luck","usage":{}}"#);
        let failure = Failure::new(FailureKind::Other, "no luck");
        assert_eq!(ended(&failed), Some(What::Error(failure)));
        for (outcome, text, stop) in [
            (r#"{"text":"whole"}"#, "whole", StopReason::End),
            (
                r#"{"text":"half\n[the answer was cut off at its longest]","usage":{}}"#,
                "half",
                StopReason::Length,
            ),
        ] {
            let text = text.to_owned();
            let told = What::Final { text, stop, usage };
            assert_eq!(ended(&turn(TurnState::Done, outcome)), Some(told));
        }
        let newer = r#"{"error":"?","kind":"something_of_later"}"#;
        let failure = Failure::new(FailureKind::Other, "?");
        let told = ended(&turn(TurnState::Failed, newer));
        assert_eq!(told, Some(What::Error(failure)));
    }

    #[test]
    fn words_print_as_they_are_kept() {
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
    fn a_refusal_has_the_code_and_the_hint_apart() {
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
