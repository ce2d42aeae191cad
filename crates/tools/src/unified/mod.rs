//! The unified agent's tools. They work in `file_cache_dir` and `file_state_dir`.

use manyhands_core::{RunsOn, ToolSpec};

include!(concat!(env!("OUT_DIR"), "/unified.rs"));

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "unified").runs_on(RunsOn::Host)
}
