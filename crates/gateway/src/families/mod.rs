//! The families of tools, each the tools of one spec text.

pub mod gsv;
