//! Contacts and to-dos, and the delivery of messages to contacts.

use std::sync::{Arc, OnceLock};

use manyhands_core::{Clock, Ids};
use manyhands_guard::Jail;
use manyhands_people::contacts::Contacts;
use manyhands_people::todo::Notebook;

use crate::contact_delivery::Deliver;
use crate::recent::RecentMessages;

/// Contacts, their to-dos and message delivery. Clones share state.
#[derive(Clone)]
pub struct People {
    /// The TODO files.
    pub todos: Notebook,
    /// The files of contacts.
    pub contacts: Contacts,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Recently sent messages.
    pub recent: Arc<RecentMessages>,
    /// Set once messaging is running.
    pub courier: Arc<OnceLock<Arc<dyn Deliver>>>,
}

impl People {
    /// Contacts and to-dos whose files are in `folder`.
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
