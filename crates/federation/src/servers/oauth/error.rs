//! Errors of OAuth logins.

use manyhands_guard::EgressError;

/// Why a login failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OauthError {
    /// The authorization server refused with an OAuth error code.
    #[error("{}", said(.code, .description))]
    Refused {
        /// The OAuth error code.
        code: String,
        /// The server's description.
        description: String,
    },
    /// A response that cannot be trusted or used.
    #[error("{0}")]
    Unusable(String),
    /// The server was not reached, or is temporarily unavailable.
    #[error("{0}")]
    Unreachable(String),
    /// The request was sent, but whether it was carried out is unknown.
    #[error("{0}")]
    Unanswered(String),
}

impl OauthError {
    pub(super) fn unusable(why: impl Into<String>) -> Self {
        Self::Unusable(why.into())
    }

    /// Returns whether a later retry could help.
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

/// Untrusted text, shortened and on one line.
pub(super) fn tame(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(300).collect::<String>().trim().to_owned()
}
