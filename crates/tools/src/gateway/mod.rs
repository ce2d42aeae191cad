//! Discovery, artifacts and scripts: `gateway_*` and related tools.

include!(concat!(env!("OUT_DIR"), "/gateway.rs"));

pub(crate) fn spec(name: &str) -> manyhands_core::ToolSpec {
    manyhands_core::ToolSpec::new(name, "gateway")
}
