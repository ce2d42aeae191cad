//! Settings of skills.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Skills: which are used, and what they need.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Skills {
    /// What is said of a skill, by its name, its folder or the whole path of its file.
    #[schemars(extend("x-mask" = "names"))]
    pub entries: BTreeMap<String, SkillEntry>,
}

impl Skills {
    /// What is said of a skill: under the path of its file, else its folder, else its name.
    pub fn entry(&self, path: &str, folder: &str, name: &str) -> Option<&SkillEntry> {
        let mut said = [path, folder, name].into_iter();
        said.find_map(|key| self.entries.get(key))
    }
}

/// What is said of one skill, over what its own file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SkillEntry {
    /// Whether it is used at all.
    pub enabled: bool,
    /// Whether it is shown whatever the machines can do; as its file says unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<bool>,
    /// What it needs, in place of what its file says.
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

/// What a skill needs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SkillNeeds {
    /// What one connected machine must be able to do, such as `shell.exec`.
    pub capabilities: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrower_word_counts() {
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
