//! Tokens and money.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens that were used up.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ModelUsage")]
pub struct Usage {
    /// Read at full price: neither from the cache nor into it.
    pub input: u64,
    /// Written, thoughts included.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Read, and written to the provider's cache.
    pub cache_write: u64,
    /// How many of the written were thoughts.
    pub reasoning: u64,
}

impl Usage {
    /// All input tokens.
    pub fn total_input(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// All input and output tokens.
    pub fn total(&self) -> u64 {
        self.total_input().saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// A cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// Millionths of a dollar.
    MicroDollars(u64),
    /// The price is unknown.
    Unknown,
}

impl Cost {
    /// Millionths of a dollar, if known.
    pub fn micro_dollars(self) -> Option<u64> {
        match self {
            Self::MicroDollars(micros) => Some(micros),
            Self::Unknown => None,
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MicroDollars(micros) => {
                write!(f, "${}.{:06}", micros / 1_000_000, micros % 1_000_000)
            }
            Self::Unknown => f.write_str("cost unknown: the model has no price in models.prices"),
        }
    }
}

/// Actual usage of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Tokens used.
    pub usage: Usage,
    /// Money spent.
    pub cost: Cost,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_dollars_or_unknown() {
        assert_eq!(Cost::MicroDollars(1_234_567).to_string(), "$1.234567");
        assert_eq!(Cost::MicroDollars(50).to_string(), "$0.000050");
        assert!(Cost::Unknown.to_string().contains("models.prices"));
    }
}
