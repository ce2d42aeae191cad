//! Effects of tools, as far as the policy needs them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One kind of effect.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Reads, and changes nothing.
    Reads,
    /// Changes files, records or settings.
    Writes,
    /// Starts programs or evaluates code.
    Runs,
    /// Sends messages to a person or another agent.
    Sends,
    /// Uses the network.
    Leaves,
}

impl Effect {
    /// All effects.
    pub const ALL: [Self; 5] = [
        Self::Reads,
        Self::Writes,
        Self::Runs,
        Self::Sends,
        Self::Leaves,
    ];

    /// Its name in settings, listings and the audit.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Runs => "runs",
            Self::Sends => "sends",
            Self::Leaves => "leaves",
        }
    }
}

/// A set of effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Effect>", into = "Vec<Effect>")]
pub struct Effects(u8);

impl Effects {
    /// Reads.
    pub const READS: Self = Self(1 << Effect::Reads as u8);
    /// Changes files, records or settings.
    pub const WRITES: Self = Self(1 << Effect::Writes as u8);
    /// Starts programs.
    pub const RUNS: Self = Self(1 << Effect::Runs as u8);
    /// Sends messages.
    pub const SENDS: Self = Self(1 << Effect::Sends as u8);
    /// Uses the network.
    pub const LEAVES: Self = Self(1 << Effect::Leaves as u8);

    /// Both sets together.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `effect` is in the set.
    pub fn has(self, effect: Effect) -> bool {
        self.0 & (1 << effect as u8) != 0
    }

    /// Whether the tool only reads, so that repeating or losing a call does no harm.
    pub fn only_reads(self) -> bool {
        self == Self::READS
    }

    /// Whether a call may change something, here or elsewhere. Reading over the network does not; unknown effects may.
    pub fn changes(self) -> bool {
        let reads = Self::READS.and(Self::LEAVES);
        // No declared effects are treated as all effects, here and below.
        self.0 == 0 || self.0 & !reads.0 != 0
    }

    /// Whether the result may contain untrusted text, read here or received from elsewhere.
    pub fn may_return_untrusted_text(self) -> bool {
        self.has(Effect::Reads) || self.returns_external_output()
    }

    /// Whether the result, or the error, comes from a program or from another machine.
    pub fn returns_external_output(self) -> bool {
        self.0 == 0 || self.has(Effect::Leaves) || self.has(Effect::Runs)
    }

    /// The effects in the set.
    pub fn iter(self) -> impl Iterator<Item = Effect> {
        Effect::ALL.into_iter().filter(move |e| self.has(*e))
    }
}

impl From<Vec<Effect>> for Effects {
    fn from(effects: Vec<Effect>) -> Self {
        Self(effects.into_iter().fold(0, |set, e| set | 1 << e as u8))
    }
}

impl From<Effects> for Vec<Effect> {
    fn from(effects: Effects) -> Self {
        effects.iter().collect()
    }
}

impl JsonSchema for Effects {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Effects".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Vec::<Effect>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_serialise_as_names() {
        let effects = Effects::WRITES.and(Effects::LEAVES);
        let json = serde_json::to_string(&effects).unwrap();
        assert_eq!(json, r#"["writes","leaves"]"#);
        assert_eq!(serde_json::from_str::<Effects>(&json).unwrap(), effects);
        assert!(!effects.only_reads());
        assert!(Effects::READS.only_reads());
        assert!(
            !Effects::default().only_reads(),
            "unknown effects are not harmless"
        );
    }

    #[test]
    fn reads_change_nothing_and_all_other_effects_may() {
        for looks in [
            Effects::READS,
            Effects::LEAVES,
            Effects::READS.and(Effects::LEAVES),
        ] {
            assert!(!looks.changes(), "{looks:?}");
            for more in [Effects::WRITES, Effects::RUNS, Effects::SENDS] {
                assert!(more.changes() && looks.and(more).changes(), "{more:?}");
            }
        }
        assert!(
            Effects::default().changes(),
            "unknown effects may be anything"
        );
    }
}
