//! People and agents that can be messaged: `contacts/ACTIVE.md` and `contacts/INACTIVE.md`.

mod book;
mod document;
mod profile;
mod route;
mod sighting;
mod snapshot;

pub use book::{Contact, ContactError, Contacts, FAILURE_COOLDOWN, MAX_ACTIVE};
pub use profile::Profile;
pub use route::{MessageTarget, RouteError, is_speaking, route};
pub use sighting::Sighting;
pub use snapshot::{ContactSnapshot, NamedContact};
