//! Why somebody could not be logged in.

use manyhands_guard::EgressError;

/// Why somebody could not be logged in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OauthError {
    /// The authorization server says no, in a word of OAuth.
    #[error("{}", said(.code, .description))]
    Refused {
        /// The word.
        code: String,
        /// More about it.
        description: String,
    },
    /// What was said cannot be trusted or used.
    #[error("{0}")]
    Unusable(String),
    /// It was not asked, or answered that it cannot now.
    #[error("{0}")]
    Unreachable(String),
    /// The request was sent, and whether it was carried out is not known.
    #[error("{0}")]
    Unanswered(String),
}

impl OauthError {
    pub(super) fn unusable(why: impl Into<String>) -> Self {
        Self::Unusable(why.into())
    }

    /// Whether asking again later could help.
    pub(super) fn passes(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Unanswered(_) => true,
            Self::Refused { code, .. } => {
                matches!(
                    code.as_str(),
                    "temporarily_unavailable" | "server_error" | "slow_down"
                )
            }
            Self::Unusable(_) => false,
        }
    }
}

impl From<EgressError> for OauthError {
    fn from(error: EgressError) -> Self {
        match error {
            EgressError::Connect { .. } | EgressError::Lookup { .. } => {
                Self::Unreachable(error.to_string())
            }
            EgressError::Http(_) | EgressError::TimedOut(_) => Self::Unanswered(error.to_string()),
            _ => Self::Unusable(error.to_string()),
        }
    }
}

fn said(code: &str, description: &str) -> String {
    match description.is_empty() {
        true => format!("the authorization server says {code}"),
        false => format!("the authorization server says {code}: {description}"),
    }
}

/// Words of a stranger, short and on one line.
pub(super) fn tame(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(300).collect::<String>().trim().to_owned()
}
