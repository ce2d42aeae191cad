//! What a check of the gateway or its machine found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "FindingState")]
pub enum State {
    /// In order.
    Ok,
    /// It keeps nothing from working, though somebody should look at it.
    Look,
    /// Something does not work, or is not safe.
    Wrong,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What was looked at, in a word or two.
    pub what: String,
    /// How it stands.
    pub state: State,
    /// What was found.
    pub about: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    /// It is in order.
    pub fn fine(what: &str, about: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            state: State::Ok,
            about: about.into(),
            remedy: None,
        }
    }

    /// It is wrong, and this mends it.
    pub fn wrong(what: &str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            state: State::Wrong,
            about: why.into(),
            remedy: Some(remedy.into()),
        }
    }

    /// Nothing fails because of it, but somebody should look.
    pub fn look(what: &str, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            state: State::Look,
            ..Self::wrong(what, why, remedy)
        }
    }
}
