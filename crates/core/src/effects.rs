//! What a tool does to the world, as far as policy must know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One kind of effect.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Looks at something and changes nothing.
    Reads,
    /// Changes files, records or settings.
    Writes,
    /// Starts programs or evaluates code.
    Runs,
    /// Speaks to a person or another agent.
    Sends,
    /// Reaches beyond this machine.
    Leaves,
}

impl Effect {
    /// Every effect there is.
    pub const ALL: [Self; 5] = [
        Self::Reads,
        Self::Writes,
        Self::Runs,
        Self::Sends,
        Self::Leaves,
    ];

    /// The word used in configuration, listings and the audit.
    pub fn word(self) -> &'static str {
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
    /// Only looks.
    pub const READS: Self = Self(1 << Effect::Reads as u8);
    /// Changes files, records or settings.
    pub const WRITES: Self = Self(1 << Effect::Writes as u8);
    /// Starts programs.
    pub const RUNS: Self = Self(1 << Effect::Runs as u8);
    /// Speaks to somebody.
    pub const SENDS: Self = Self(1 << Effect::Sends as u8);
    /// Reaches beyond this machine.
    pub const LEAVES: Self = Self(1 << Effect::Leaves as u8);

    /// Both sets together.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `effect` is in the set.
    pub fn has(self, effect: Effect) -> bool {
        self.0 & (1 << effect as u8) != 0
    }

    /// Whether the tool only looks, so that repeating or losing a call harms nobody.
    pub fn only_reads(self) -> bool {
        self == Self::READS
    }

    /// Whether a call may leave something behind: here, or with whoever was reached. A tool that
    /// looks at something far away does not, one whose effects nobody knows does.
    pub fn changes(self) -> bool {
        let looks = Self::READS.and(Self::LEAVES);
        self.0 == 0 || self.0 & !looks.0 != 0
    }

    /// Whether what a call gives may hold words of others: read here, or brought from elsewhere.
    pub fn brings_words(self) -> bool {
        self.has(Effect::Reads) || self.comes_from_elsewhere()
    }

    /// Whether what a call gives is said by a program or by somebody beyond this machine, also
    /// where it fails.
    pub fn comes_from_elsewhere(self) -> bool {
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
    fn effects_travel_as_words() {
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
    fn looking_changes_nothing_however_far_away_and_all_else_may() {
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
