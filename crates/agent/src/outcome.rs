//! How a turn ended, as it is stored and as it is published.

use std::time::Duration;

use manyhands_core::{Taint, Timestamp, ToolError};
use manyhands_llm::StopReason;
use manyhands_store::{StoreError, TurnEnd, TurnRecord, TurnState};
use serde::{Deserialize, Serialize};

use crate::event::TurnEvent;
use crate::failure::{Failure, FailureKind};
use crate::progress::TurnProgress;
use crate::runtime::{Minds, MindsInner};
use crate::usage::TurnUsage;

/// The most merges to follow from one turn to the next.
const MAX_MERGED: usize = 16;
/// The suffix of truncated answers in old records, which have no stop reason.
const CUT: &str = "\n[the answer was cut off at its longest]";

/// The stored outcome of a turn. Every field may be missing: older records have fewer.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct StoredOutcome {
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

impl StoredOutcome {
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

    fn answer(self) -> TurnEvent {
        let mut text = self.text.unwrap_or_default();
        let stop = self.stop.unwrap_or(match text.strip_suffix(CUT) {
            Some(before) => {
                text = before.to_owned();
                StopReason::Length
            }
            None => StopReason::End,
        });
        let usage = self.usage;
        TurnEvent::Final { text, stop, usage }
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

/// The final event of a turn; `None` while it is open, and if it was merged into another.
pub fn ended(turn: &TurnRecord) -> Option<TurnEvent> {
    Some(match turn.state {
        TurnState::Queued | TurnState::Running | TurnState::Waiting | TurnState::Merged => {
            return None;
        }
        TurnState::Done => {
            let mut outcome = StoredOutcome::of(turn);
            outcome.usage.duration_ms = took(turn.started, turn.ended);
            outcome.answer()
        }
        TurnState::Failed => TurnEvent::Error(StoredOutcome::of(turn).failure()),
        TurnState::Stopped => TurnEvent::Stopped,
    })
}

/// Duration in milliseconds, if start and end are known.
pub(crate) fn took(started: Option<Timestamp>, ended: Option<Timestamp>) -> Option<u64> {
    u64::try_from(ended?.0 - started?.0).ok()
}

/// Usage of a finished turn; `None` if no model replied or the record has none.
pub(crate) fn spent(end: &TurnEnd) -> Option<TurnUsage> {
    let outcome: StoredOutcome = serde_json::from_str(end.outcome.as_deref()?).ok()?;
    let usage = TurnUsage {
        duration_ms: took(end.started, end.ended),
        ..outcome.usage
    };
    (usage.replies > 0).then_some(usage)
}

/// The untrusted text that a turn read. An unreadable record counts as tainted: trust needs evidence.
pub(crate) fn taint_of(turn: &TurnRecord) -> Taint {
    let progress = TurnProgress::of(turn);
    progress.map_or_else(|| Taint::by("an unreadable turn"), |known| known.tainted)
}

impl MindsInner {
    /// A turn, or the one it was merged into.
    pub(crate) async fn whole_turn(&self, turn: &str) -> Result<Option<TurnRecord>, StoreError> {
        let mut found = self.sessions.turn(turn).await?;
        // Bounded: a damaged record could point to itself.
        for _ in 0..MAX_MERGED {
            match found {
                Some(merged) if merged.state == TurnState::Merged => {
                    let into = StoredOutcome::of(&merged).into.unwrap_or_default();
                    found = self.sessions.turn(&into).await?;
                }
                other => return Ok(other),
            }
        }
        Ok(None)
    }

    /// Fails every open turn of a session and returns their runs. Nobody may be working on them.
    pub(crate) async fn end_open(
        &self,
        key: &str,
        why: &Failure,
    ) -> Result<Vec<String>, StoreError> {
        let outcome = StoredOutcome::failed(why, TurnUsage::default()).json();
        let mut runs = Vec::new();
        for turn in self.sessions.open_turns(key).await? {
            self.sessions
                .fail_turn(&turn.id, &outcome, self.clock.now())
                .await?;
            runs.push(turn.run_id);
        }
        Ok(runs)
    }
}

impl Minds {
    /// A turn, or the one it was merged into; `None` if it is no longer stored.
    pub async fn turn(&self, turn: &str) -> Result<Option<TurnRecord>, ToolError> {
        self.inner.whole_turn(turn).await.map_err(ToolError::from)
    }

    /// The final event of a turn; `None` while it is open.
    pub async fn ended(&self, turn: &str) -> Result<Option<TurnEvent>, ToolError> {
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
    fn a_stored_outcome_reads_as_it_was_published() {
        let usage = TurnUsage {
            replies: 2,
            ..TurnUsage::default()
        };
        let failure = Failure {
            retry_after: Some(Duration::from_secs(7)),
            acted: true,
            ..Failure::new(FailureKind::ProviderRateLimited, "slow down\nhint: wait")
        };
        let failed = turn(
            TurnState::Failed,
            &StoredOutcome::failed(&failure, usage).json(),
        );
        assert_eq!(ended(&failed), Some(TurnEvent::Error(failure)));
        let answered = StoredOutcome::answered("half", StopReason::Length, usage).json();
        let event = TurnEvent::Final {
            text: "half".to_owned(),
            stop: StopReason::Length,
            usage,
        };
        assert_eq!(ended(&turn(TurnState::Done, &answered)), Some(event));
        assert_eq!(ended(&turn(TurnState::Running, "{}")), None);
    }

    #[test]
    fn older_records_can_still_be_read() {
        let usage = TurnUsage::default();
        let failed = turn(TurnState::Failed, r#"{"error":"no luck","usage":{}}"#);
        let failure = Failure::new(FailureKind::Other, "no luck");
        assert_eq!(ended(&failed), Some(TurnEvent::Error(failure)));
        for (outcome, text, stop) in [
            (r#"{"text":"whole"}"#, "whole", StopReason::End),
            (
                r#"{"text":"half\n[the answer was cut off at its longest]","usage":{}}"#,
                "half",
                StopReason::Length,
            ),
        ] {
            let text = text.to_owned();
            let event = TurnEvent::Final { text, stop, usage };
            assert_eq!(ended(&turn(TurnState::Done, outcome)), Some(event));
        }
        let newer = r#"{"error":"?","kind":"something_of_later"}"#;
        let failure = Failure::new(FailureKind::Other, "?");
        let event = ended(&turn(TurnState::Failed, newer));
        assert_eq!(event, Some(TurnEvent::Error(failure)));
    }
}
