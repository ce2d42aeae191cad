//! Catalogue names for the tools of a server.

use std::collections::BTreeSet;

use manyhands_core::{ServerName, ToolName};
use sha2::{Digest as _, Sha256};

/// Gives each tool of one server a unique name that every client accepts.
pub(super) struct Naming<'a> {
    server: &'a ServerName,
    taken: BTreeSet<String>,
}

impl<'a> Naming<'a> {
    pub(super) fn new(server: &'a ServerName) -> Self {
        Self {
            server,
            taken: BTreeSet::new(),
        }
    }

    /// `server__tool`; illegal or duplicate names get a hash suffix.
    pub(super) fn name(&mut self, tool: &str) -> ToolName {
        let plain = format!("{}__{tool}", self.server);
        if let Ok(name) = plain.parse::<ToolName>()
            && self.taken.insert(name.wire())
        {
            return name;
        }
        let legal = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let readable: String = tool.chars().take(100).map(legal).collect();
        let hash = Sha256::digest(tool.as_bytes());
        let hash: String = hash
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let name = format!("{}__{readable}_{hash}", self.server);
        let name: ToolName = name.parse().expect("letters, digits and underscores");
        self.taken.insert(name.wire());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_where_they_can_be_and_never_shared() {
        let server = "files".parse().unwrap();
        let mut naming = Naming::new(&server);
        let mut name = |tool: &str| naming.name(tool);
        assert_eq!(name("read_file").as_str(), "files__read_file");
        assert_eq!(name("list.all").as_str(), "files__list.all");
        let clash = name("list_all");
        assert!(clash.as_str().starts_with("files__list_all_"), "{clash}");
        let odd = name("größe ändern");
        assert!(odd.as_str().starts_with("files__gr__e__ndern_"), "{odd}");
        let long = name(&"x".repeat(300));
        assert_eq!(long.wire().len(), 64);
    }
}
