//! People and agents that can be written to: `contacts/ACTIVE.md` and `contacts/INACTIVE.md`, which are read and edited
//! by hand too.

mod book;
mod document;
mod profile;
mod route;
mod seen;
mod snapshot;

pub use book::{Contact, ContactError, Contacts, FAILURE_COOLDOWN, MAX_ACTIVE};
pub use profile::Profile;
pub use route::{RouteError, Target, is_speaking, route};
pub use seen::Seen;
pub use snapshot::{Known, Snapshot};
