//! The families of tools, each the tools of one spec text.

mod all;
mod ceiling;
pub(crate) mod gateway;
mod ground;
pub mod gsv;
pub mod tool;
pub mod unified;

pub(crate) use all::Families;
pub(crate) use ground::{MindGround, People};
