//! The built-in tools, one file each, in a folder per spec text, and the search over the catalogue.
//!
//! [`BuiltinTools`] holds their dependencies and builds the catalogue of the enabled ones.
//!
//! - **Discovery** (`finder`) follows the catalogue, skills, accounts and resources, and answers only with what the caller may call. Word vectors
//!   are optional, loaded on use and released.
//! - **Scripts** run in pre-started workers, confined twice (by the supervisor's sandbox, then by themselves) and used once. A call that needs
//!   approval ends the run: a script cannot catch that, and occupies no worker while the owner decides.

mod all;
mod ceiling;
mod finder;
mod gateway;
mod ground;
mod gsv;
mod tool;
mod unified;

pub use all::BuiltinTools;
pub use finder::{Finder, FinderParts};
pub use gateway::{Connections, Scripts};
pub use unified::todo_update::ShownEntry;
