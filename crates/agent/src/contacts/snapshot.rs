//! Who there is, as far as it matters for naming people.

use crate::todo::ReferenceId;

/// A contact by names and addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The contact's name for ever.
    pub contact_id: String,
    /// What they are called.
    pub names: Vec<String>,
    /// Their addresses, the best first.
    pub ids: Vec<ReferenceId>,
}

/// Everybody there is at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// One by one.
    pub contacts: Vec<Known>,
}

impl Snapshot {
    /// Every address that reaches somebody.
    pub fn reachable_ids(&self) -> impl Iterator<Item = String> {
        let all = self.contacts.iter().flat_map(|known| &known.ids);
        all.map(ToString::to_string)
    }

    /// Whether an address reaches somebody.
    pub fn reaches(&self, id: &ReferenceId) -> bool {
        self.contacts.iter().any(|known| known.ids.contains(id))
    }

    /// Whoever has this address before all others, else anybody who has it.
    pub fn by_id(&self, id: &ReferenceId) -> Option<&Known> {
        let first = |known: &&Known| known.ids.first() == Some(id);
        let any = |known: &&Known| known.ids.contains(id);
        let mut all = self.contacts.iter();
        all.clone().find(first).or_else(|| all.find(any))
    }

    /// Everybody who is called like that.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Known> {
        let wanted = name.trim().trim_start_matches('@').to_lowercase();
        let is = move |known: &&Known| {
            let mut names = known.names.iter();
            names.any(|name| name.to_lowercase() == wanted) || known.contact_id == wanted
        };
        self.contacts.iter().filter(is)
    }
}
