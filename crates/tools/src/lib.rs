//! The built-in tools, one file each, in a folder per spec text, and the search over the catalogue.
//!
//! [`BuiltinTools`] holds their dependencies and builds the catalogue of the enabled ones.

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
