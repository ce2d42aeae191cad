//! Datastores, filestores, knowledge bases and vaults: the tools agents use.
//!
//! Each is a collection that the owner, or an agent with admin access, grants to agents. To an
//! agent without a grant it does not exist, with the same error as one that never did.

use manyhands_core::{Exposure, ToolSpec};

include!(concat!(env!("OUT_DIR"), "/resources.rs"));

/// Such tools are only found by discovery, so that agents without any resources are not shown them.
fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "gateway").exposure(Exposure::Discoverable)
}
