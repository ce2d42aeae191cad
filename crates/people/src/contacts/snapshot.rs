//! All contacts at one moment, reduced to what resolving names needs.

use crate::reference_id::ReferenceId;

/// A contact by names and addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedContact {
    /// The permanent id.
    pub contact_id: String,
    /// All names.
    pub names: Vec<String>,
    /// Addresses, best first.
    pub ids: Vec<ReferenceId>,
}

/// All contacts at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContactSnapshot {
    /// The contacts, active ones first.
    pub contacts: Vec<NamedContact>,
}

impl ContactSnapshot {
    /// All addresses of all contacts.
    pub fn reachable_ids(&self) -> impl Iterator<Item = String> {
        let all = self.contacts.iter().flat_map(|known| &known.ids);
        all.map(ToString::to_string)
    }

    /// Whether any contact has this address.
    pub fn reaches(&self, id: &ReferenceId) -> bool {
        self.contacts.iter().any(|known| known.ids.contains(id))
    }

    /// The contact whose preferred address this is, else any contact that has it.
    pub fn by_id(&self, id: &ReferenceId) -> Option<&NamedContact> {
        // A group's address belongs to many contacts; the one who has it first is meant.
        let first = |known: &&NamedContact| known.ids.first() == Some(id);
        let any = |known: &&NamedContact| known.ids.contains(id);
        let mut all = self.contacts.iter();
        all.clone().find(first).or_else(|| all.find(any))
    }

    /// All contacts with this name or contact id, ignoring case.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &NamedContact> {
        let wanted = name.trim().trim_start_matches('@').to_lowercase();
        let is = move |known: &&NamedContact| {
            let mut names = known.names.iter();
            names.any(|name| name.to_lowercase() == wanted) || known.contact_id == wanted
        };
        self.contacts.iter().filter(is)
    }
}
