//! How far a turn has come: stored with its record, so that it resumes there after a crash.

use manyhands_core::Taint;
use manyhands_store::TurnRecord;
use serde::{Deserialize, Serialize};

use crate::plan::TaskPlan;
use crate::usage::TurnUsage;

/// Progress of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TurnProgress {
    /// Number of finished replies, each with the results of its calls.
    pub(crate) step: i64,
    /// Their usage.
    pub(crate) usage: TurnUsage,
    /// The untrusted text that was read, by its first source.
    pub(crate) tainted: Taint,
    /// Runs whose inputs were merged into this turn.
    pub(crate) merged: Vec<String>,
    /// The last call and how often it was repeated in a row.
    pub(crate) repeated: (String, u32),
    /// The current plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<TaskPlan>,
}

impl TurnProgress {
    /// The progress stored with a turn; `None` if it cannot be parsed.
    pub(crate) fn of(turn: &TurnRecord) -> Option<Self> {
        serde_json::from_str(&turn.work).ok()
    }
}
