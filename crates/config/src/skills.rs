//! Settings of skills.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Skills: which are enabled, and what they require.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Skills {
    /// Overrides of skills, by name, folder or the full path of the file.
    #[schemars(extend("x-mask" = "names"))]
    pub entries: BTreeMap<String, SkillEntry>,
}

impl Skills {
    /// Returns a skill's overrides: by the path of its file, else its folder, else its name.
    pub fn entry(&self, path: &str, folder: &str, name: &str) -> Option<&SkillEntry> {
        let mut keys = [path, folder, name].into_iter();
        // The most specific one wins: several skills may have the same name.
        keys.find_map(|key| self.entries.get(key))
    }
}

/// Overrides of one skill's own file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SkillEntry {
    /// Enable the skill.
    pub enabled: bool,
    /// Show it whatever the nodes can do. Default: as in its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<bool>,
    /// Its requirements, instead of those in its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires: Option<SkillNeeds>,
}

impl Default for SkillEntry {
    fn default() -> Self {
        Self {
            enabled: true,
            always: None,
            requires: None,
        }
    }
}

/// Requirements of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SkillNeeds {
    /// Capabilities that one connected node must have, such as `shell.exec`.
    pub capabilities: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrower_type_wins() {
        let says = |always| SkillEntry {
            always: Some(always),
            ..SkillEntry::default()
        };
        let mut skills = Skills::default();
        assert_eq!(skills.entry("skills/a/SKILL.md", "a", "alpha"), None);
        skills.entries.insert("alpha".to_owned(), says(true));
        let found = |skills: &Skills| {
            let entry = skills.entry("skills/a/SKILL.md", "a", "alpha");
            entry.and_then(|entry| entry.always)
        };
        assert_eq!(found(&skills), Some(true));
        skills.entries.insert("a".to_owned(), says(false));
        assert_eq!(found(&skills), Some(false));
        let path = "skills/a/SKILL.md".to_owned();
        skills.entries.insert(path, says(true));
        assert_eq!(found(&skills), Some(true));
    }
}
