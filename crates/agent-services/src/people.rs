//! Contacts and their to-dos, with the way to deliver messages to them.

use std::sync::{Arc, OnceLock};

use manyhands_people::contacts::Contacts;
use manyhands_people::todo::Notebook;
use manyhands_core::{Clock, Ids};
use manyhands_guard::Jail;

use crate::contact_delivery::Deliver;
use crate::recent::Recent;

/// Contacts, what is to be done for them, and the way to them. Clones are the same.
#[derive(Clone)]
pub struct People {
    /// The TODO files.
    pub todos: Notebook,
    /// The files of contacts.
    pub contacts: Contacts,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// What was sent to them not long ago.
    pub recent: Arc<Recent>,
    /// There once chats are connected.
    pub courier: Arc<OnceLock<Arc<dyn Deliver>>>,
}

impl People {
    /// Those whose files are in `folder`.
    pub fn new(folder: &Jail, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        Self {
            todos: Notebook::new(folder, clock.clone(), ids),
            contacts: Contacts::new(folder, clock.clone()),
            clock,
            recent: Arc::default(),
            courier: Arc::default(),
        }
    }
}
