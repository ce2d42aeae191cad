//! The families of tools, each the tools of one spec text.

pub(crate) mod gateway;
mod ground;
pub mod gsv;
pub mod tool;
pub mod unified;

pub(crate) use ground::MindGround;
