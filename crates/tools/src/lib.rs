//! The built-in tools, one file each, in a folder per spec text, and the search over the catalogue.
//!
//! [`Families`] holds what the tools use and makes the catalogue of those that are switched on.

mod all;
mod ceiling;
mod finder;
mod gateway;
mod ground;
mod gsv;
mod tool;
mod unified;

pub use all::Families;
pub use finder::{Finder, FinderParts};
pub use gateway::{Connections, Scripts};
pub use unified::todo_update::ShownEntry;
