//! Models: their names, and what servers say about those they offer.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A model by the name of its provider and its own: `openrouter/anthropic/claude-opus-5.5` is
/// `anthropic/claude-opus-5.5` at `openrouter`.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct ModelId {
    /// Who serves it, as the settings name it.
    pub provider: String,
    /// The model, as its provider names it.
    pub model: String,
}

/// Not a model name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a model name; write provider/model, such as anthropic/claude-sonnet-5-5")]
pub struct InvalidModel(pub String);

impl FromStr for ModelId {
    type Err = InvalidModel;

    fn from_str(text: &str) -> Result<Self, InvalidModel> {
        let invalid = || InvalidModel(text.chars().take(200).collect());
        let (provider, model) = text.trim().split_once('/').ok_or_else(invalid)?;
        let plain = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
        if !plain(provider) || !plain(model) || model.contains(['?', '#']) {
            return Err(invalid());
        }
        Ok(Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
        })
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

impl TryFrom<String> for ModelId {
    type Error = InvalidModel;

    fn try_from(text: String) -> Result<Self, InvalidModel> {
        text.parse()
    }
}

impl From<ModelId> for String {
    fn from(id: ModelId) -> Self {
        id.to_string()
    }
}

/// A model offered by a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedModel {
    /// Its name at the server.
    pub model: String,
    /// Its display name.
    pub title: Option<String>,
    /// Its context window in tokens.
    pub context_tokens: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_slash_ends_the_provider() {
        let id: ModelId = "openrouter/anthropic/claude-opus-5.5".parse().unwrap();
        assert_eq!(
            (&*id.provider, &*id.model),
            ("openrouter", "anthropic/claude-opus-5.5")
        );
        assert_eq!(id.to_string(), "openrouter/anthropic/claude-opus-5.5");
        for wrong in ["", "claude", "/x", "x/", "x/ y", "x/y?z"] {
            let error = wrong.parse::<ModelId>().unwrap_err().to_string();
            assert!(error.contains("provider/model"), "{error}");
        }
    }
}
