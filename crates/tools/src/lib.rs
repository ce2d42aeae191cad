//! The built-in tools, one file each, in a folder per spec text, and the search over the catalogue.
//!
//! A tool's file holds its parameters, its result, its code, its switch and its registration; the build script collects the files,
//! and [`built_in`] makes the catalogue of the enabled ones from [`ToolDeps`]. What several tools share is in the files of `src` itself.
//!
//! - **Discovery** (`finder`) follows the catalogue, skills, accounts and resources, and answers only with what the caller may call. Word vectors
//!   are optional, loaded on use and released.
//! - **Scripts** run in pre-started workers, confined twice (by the supervisor's sandbox, then by themselves) and used once. A call that needs
//!   approval ends the run: a script cannot catch that, and occupies no worker while the owner decides.

mod acp_handler;
mod agent_deps;
mod catalogue;
mod ceiling;
mod command;
mod connections;
mod finder;
mod gateway;
mod gsv;
mod registration;
mod resources;
mod scripts;
mod subtask;
mod telegram;
mod tool;
mod unified;
mod web_search;

pub use catalogue::built_in;
pub use connections::Connections;
pub use finder::{Finder, FinderParts};
pub use registration::ToolDeps;
pub use scripts::Scripts;
pub use unified::todo_update::ShownEntry;
