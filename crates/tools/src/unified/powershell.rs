//! `powershell`

use std::time::Duration;

use manyhands_core::{CallContext, Effects, ErrorCode, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_hands::shell::find_program;
use manyhands_host::machine::{Host, SEARCH_PATH, Syntax};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::command::{self, CommandLine, CommandOutput};
use crate::registration::{Registration, typed};

/// Execute a local PowerShell command, confined like `bash`. A failing command is a result, not an error.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// PowerShell command to execute. Supports `file_cache_dir/...`, `file_state_dir/...`, and backslash variants
    /// such as `file_cache_dir\...`.
    #[schemars(length(min = 1))]
    cmd: String,
    /// Working directory for command execution; the workspace when not given. Supports `file_cache_dir/...` and
    /// `file_state_dir/...` aliases.
    cwd: Option<String>,
    /// Timeout in seconds, at most what `tools.powershell.timeout` says.
    #[schemars(extend("exclusiveMinimum" = 0))]
    timeout_seconds: Option<f64>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "powershell",
    enabled: |tools| tools.powershell.enabled,
    build: |deps| typed(PowerShell(deps.host.clone())),
};

struct PowerShell(Host);

impl TypedTool for PowerShell {
    type Params = Params;
    type Output = CommandOutput;

    fn spec(&self) -> ToolSpec {
        let effects = Effects::READS.and(Effects::WRITES).and(Effects::RUNS);
        super::spec(TOOL.name)
            .effects(effects)
            .deadline(Duration::from_secs(3_660))
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let all = self.0.settings();
        let settings = &all.tools.powershell;
        let command = self.0.expand_aliases(&params.cmd, Syntax::Plain);
        let shell = find_program("pwsh", SEARCH_PATH).map_err(|e| {
            ToolError::new(ErrorCode::Unavailable, format!("PowerShell (pwsh) {e}"))
                .hint("install PowerShell, or set tools.powershell.enabled = false")
        });
        let line = CommandLine {
            typed: &params.cmd,
            denied: (&settings.deny_paths, "tools.powershell.deny_paths"),
            shell,
            args: [
                "-NoLogo",
                // A profile could change what a command means, and nobody could answer a prompt.
                "-NoProfile",
                "-NonInteractive",
                "-Command",
                &command,
            ]
            .map(Into::into)
            .to_vec(),
            cwd: params.cwd.as_deref(),
            timeout_seconds: params.timeout_seconds,
            ceiling: (settings.timeout, "tools.powershell.timeout"),
            max_output: settings.max_output_bytes,
            injected: &settings.injected_env_vars,
        };
        let output = command::run(&self.0, line, context).await?;
        Ok(Outcome::of(&output)?.shortened(output.cut))
    }
}
