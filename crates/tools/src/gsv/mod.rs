//! The gateway's native tools, `gsv__*`.

include!(concat!(env!("OUT_DIR"), "/gsv.rs"));

fn spec(name: &str) -> manyhands_core::ToolSpec {
    manyhands_core::ToolSpec::new(name, "gsv")
}
