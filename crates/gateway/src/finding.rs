//! Results of health checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "FindingState")]
pub enum State {
    /// In order.
    Ok,
    /// Works, but needs attention.
    Look,
    /// Broken or unsafe.
    Wrong,
}

/// One result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What was checked, in a word or two.
    pub what: String,
    /// Severity.
    pub state: State,
    /// What was found.
    pub about: String,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    /// A passed check.
    pub fn fine(what: &str, about: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            state: State::Ok,
            about: about.into(),
            remedy: None,
        }
    }

    /// A failed check, with the way to fix it.
    pub fn wrong(what: &str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            state: State::Wrong,
            about: why.into(),
            remedy: Some(remedy.into()),
        }
    }

    /// A warning: nothing fails, but somebody should look.
    pub fn warning(what: &str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            state: State::Look,
            ..Self::wrong(what, why, remedy)
        }
    }
}
