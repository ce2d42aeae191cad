//! The families of tools, each the tools of one spec text.

pub mod gsv;
pub mod tool;
pub mod unified;
