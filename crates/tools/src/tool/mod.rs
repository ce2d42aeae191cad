//! The guarded core tools, `tool::*`. They work in the workspace folder of this machine, set by
//! `workspace_root`.

use manyhands_core::{RunsOn, ToolSpec};

include!(concat!(env!("OUT_DIR"), "/tool.rs"));

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "tool").runs_on(RunsOn::Host)
}
