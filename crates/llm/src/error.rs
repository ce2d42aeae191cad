//! Why there is no reply.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::ModelId;
use crate::reply::Attempt;

/// What sort of failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Too many requests, or tokens, in too little time.
    RateLimited {
        /// How long the provider said to wait.
        retry_after: Option<Duration>,
    },
    /// The provider has too much to do.
    Overloaded,
    /// The provider failed.
    Server {
        /// Its HTTP status; 0 when it failed within a reply.
        status: u16,
    },
    /// No connection.
    Unreachable,
    /// The reply ended in the middle.
    Cut,
    /// What came is no reply.
    Garbage,
    /// Nothing came for too long.
    Silent,
    /// The key or the account was not accepted.
    Auth,
    /// The provider does not take the request.
    BadRequest,
    /// The conversation is longer than the model can read.
    ContextOverflow,
    /// The provider's safety rules refuse an answer.
    Refused,
    /// The caller stopped it.
    Cancelled,
    /// It would have cost more than is allowed.
    OverBudget,
    /// The settings have no such model or provider.
    NotConfigured,
}

impl ErrorKind {
    /// Whether the same request to the same model may work a little later.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Overloaded
                | Self::Server { .. }
                | Self::Unreachable
                | Self::Cut
                | Self::Garbage
                | Self::Silent
        )
    }

    /// Whether another model may do better.
    pub fn fails_over(&self) -> bool {
        self.may_pass() || matches!(self, Self::Auth | Self::BadRequest | Self::NotConfigured)
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => {
                "wait, add a model to models.fallbacks, or ask the provider for a higher limit"
            }
            Self::Overloaded | Self::Server { .. } => {
                "try again later, or add a model to models.fallbacks"
            }
            Self::Unreachable => {
                "check that the server runs and that base_url of the provider is right"
            }
            Self::Cut | Self::Garbage => {
                "try again; if it stays, check base_url and kind of the provider"
            }
            Self::Silent => "try again, or raise the provider's timeouts in models.providers",
            Self::Auth => {
                "check the key with `manyhands models test`, store it anew with `manyhands secret set`, and check the account's billing"
            }
            Self::BadRequest => {
                "check the model's name with `manyhands models`; what the provider says is above"
            }
            Self::ContextOverflow => {
                "shorten the conversation with /compact, or start anew with /new"
            }
            Self::Refused => "say it differently, or choose another model with /model",
            Self::Cancelled => "send the message again when you want an answer",
            Self::OverBudget => "raise models.limits, or wait until the limit starts anew",
            Self::NotConfigured => "set models.default and models.providers in config.toml",
        }
    }
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// What sort of failure.
    pub kind: ErrorKind,
    /// Who was asked. After a failover: the first, whose failure this is.
    pub model: ModelId,
    /// What happened.
    pub message: String,
    /// Every try.
    pub attempts: Vec<Attempt>,
}

impl ModelError {
    pub(crate) fn new(model: &ModelId, fault: Fault) -> Self {
        Self {
            kind: fault.kind,
            model: model.clone(),
            message: fault.message,
            attempts: Vec::new(),
        }
    }

    /// How long the provider said to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.kind {
            ErrorKind::RateLimited { retry_after } => retry_after,
            _ => None,
        }
    }
}

impl std::error::Error for ModelError {}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.model, self.message)?;
        let mut told = vec![&self.model];
        for attempt in &self.attempts {
            let Some(failure) = &attempt.failure else {
                continue;
            };
            if !told.contains(&&attempt.model) {
                write!(f, "; then {}: {}", attempt.model, failure.message)?;
                told.push(&attempt.model);
            }
        }
        write!(f, "\n{}", self.kind.hint())
    }
}

/// A failure before it is known whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    pub(crate) fn garbage(what: impl fmt::Display) -> Self {
        Self::new(
            ErrorKind::Garbage,
            format!("sent what cannot be read as a reply: {what}"),
        )
    }

    pub(crate) fn cut() -> Self {
        Self::new(ErrorKind::Cut, "the reply ended in the middle")
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "stopped")
    }
}
