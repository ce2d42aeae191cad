//! Errors of model requests.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::ModelId;
use crate::usage::Spent;

/// The kind of failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Too many requests or tokens per time.
    RateLimited {
        /// Delay requested by the provider.
        retry_after: Option<Duration>,
    },
    /// The provider is overloaded.
    Overloaded,
    /// The provider failed.
    Server {
        /// Its HTTP status; 0 if it failed during a reply.
        status: u16,
    },
    /// No connection.
    Unreachable,
    /// The reply was cut off.
    Cut,
    /// The response is not a valid reply.
    Garbage,
    /// No data for too long.
    Silent,
    /// The key or account was rejected.
    Auth,
    /// The provider rejected the request.
    BadRequest,
    /// The conversation exceeds the model's context window.
    ContextOverflow,
    /// The provider refused to answer for safety reasons.
    Refused,
    /// The caller cancelled it.
    Cancelled,
    /// It would exceed the budget.
    OverBudget,
    /// No such model or provider in the settings.
    NotConfigured,
}

impl ErrorKind {
    /// Whether retrying the same model may succeed.
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

    /// Whether another model may succeed.
    pub fn fails_over(&self) -> bool {
        self.may_pass() || matches!(self, Self::Auth | Self::BadRequest | Self::NotConfigured)
    }

    /// Advice for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => {
                "wait, add a model to models.fallbacks, or ask the provider for a higher limit"
            }
            Self::Overloaded | Self::Server { .. } => {
                "try again later, or add a model to models.fallbacks"
            }
            Self::Unreachable => {
                "check that the server is running and that the provider's base_url is correct"
            }
            Self::Cut | Self::Garbage => {
                "try again; if it persists, check the provider's base_url and kind"
            }
            Self::Silent => "try again, or raise the provider's timeouts in models.providers",
            Self::Auth => {
                "check the key with `manyhands models test`, store it again with `manyhands secret set`, and check the account's billing"
            }
            Self::BadRequest => {
                "check the model's name with `manyhands models`; the provider's message is above"
            }
            Self::ContextOverflow => {
                "shorten the conversation with /compact, or start a new one with /new"
            }
            Self::Refused => "rephrase the message, or choose another model with /model",
            Self::Cancelled => "send the message again when you want a reply",
            Self::OverBudget => "raise models.limits, or wait until the limit resets",
            Self::NotConfigured => "set models.default and models.providers in config.toml",
        }
    }
}

/// A failed model request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The model that failed. After a failover, the first one, whose error this is.
    pub model: ModelId,
    /// The error message.
    pub message: String,
    /// All attempts.
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

    /// Delay requested by the provider.
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
        let mut named = vec![&self.model];
        for attempt in &self.attempts {
            let Some(failure) = &attempt.failure else {
                continue;
            };
            // Each model once: retries of the same model usually fail alike.
            if !named.contains(&&attempt.model) {
                write!(f, "; then {}: {}", attempt.model, failure.message)?;
                named.push(&attempt.model);
            }
        }
        write!(f, "\n{}", self.kind.hint())
    }
}

/// One attempt to get a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The model.
    pub model: ModelId,
    /// Its duration.
    pub took: Duration,
    /// The failure; `None` for the successful attempt.
    pub failure: Option<Failure>,
    /// What it used anyway; `None` if it failed before it started.
    pub spent: Option<Spent>,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The error message.
    pub message: String,
}

/// An error not yet attributed to a model.
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
        Self::new(ErrorKind::Garbage, format!("sent an invalid reply: {what}"))
    }

    pub(crate) fn cut() -> Self {
        Self::new(ErrorKind::Cut, "the reply was cut off")
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "stopped")
    }
}
