//! `bash`

use std::time::Duration;

use manyhands_core::{
    CallContext, CallId, Effects, ErrorCode, Ids, Outcome, ToolError, ToolSpec, TypedTool,
};
use manyhands_hands::shell::find_program;
use manyhands_host::machine::{Host, SEARCH_PATH, Syntax};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::{self, CommandLine, CommandOutput};
use crate::registration::{Registration, typed};
use crate::subtask::{Subtask, summary};

/// Execute a local bash command. It can change the workspace, `file_cache_dir` and `file_state_dir` and nothing else, sees none
/// of your home, and has no network unless a policy rule grants it. A failing command is a result, not an error.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Bash command to execute. Supports `file_cache_dir/...` and `file_state_dir/...` aliases.
    #[schemars(length(min = 1))]
    cmd: String,
    /// Working directory for command execution; the workspace when not given. Supports `file_cache_dir/...` and
    /// `file_state_dir/...` aliases.
    cwd: Option<String>,
    /// Timeout in seconds, at most what `tools.bash.timeout` says.
    #[schemars(extend("exclusiveMinimum" = 0))]
    timeout_seconds: Option<f64>,
    /// If true, return the structured subtask envelope. Default false.
    run_in_subtask: Option<bool>,
}

/// The outcome, bare or in the subtask envelope.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Output {
    /// Bare.
    Bare(CommandOutput),
    /// In the envelope.
    Subtask(Subtask<CommandOutput>),
}

pub(crate) const TOOL: Registration = Registration {
    name: "bash",
    enabled: |tools| tools.bash.enabled,
    build: |deps| {
        typed(Bash {
            host: deps.host.clone(),
            ids: deps.ids.clone(),
        })
    },
};

struct Bash {
    host: Host,
    ids: Ids,
}

impl TypedTool for Bash {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        let effects = Effects::READS.and(Effects::WRITES).and(Effects::RUNS);
        super::spec(TOOL.name)
            .effects(effects)
            .deadline(Duration::from_secs(3_660))
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let all = self.host.settings();
        let settings = &all.tools.bash;
        let mut command = self.host.expand_aliases(&params.cmd, Syntax::Bash);
        if settings.rewrite.enabled && !settings.rewrite.binary.is_empty() {
            command = format!("{} {command}", settings.rewrite.binary);
        }
        let shell = find_program("bash", SEARCH_PATH)
            .map_err(|e| ToolError::new(ErrorCode::Unavailable, format!("bash {e}")));
        let line = CommandLine {
            typed: &params.cmd,
            denied: (&settings.deny_paths, "tools.bash.deny_paths"),
            shell,
            // Without startup files, which could change what a command means.
            args: ["--noprofile", "--norc", "-c", &command]
                .map(Into::into)
                .to_vec(),
            cwd: params.cwd.as_deref(),
            timeout_seconds: params.timeout_seconds,
            ceiling: (settings.timeout, "tools.bash.timeout"),
            max_output: settings.max_output_bytes,
            injected: &settings.injected_env_vars,
        };
        let output = command::run(&self.host, line, context).await?;
        let cut = output.cut.clone();
        if params.run_in_subtask == Some(true) {
            let within = cut.into_iter().map(|mut part| {
                // One level deeper than in the bare result.
                part.field = format!("output.{}", part.field);
                part
            });
            let envelope = Outcome::of(&Output::Subtask(self.envelope(output)))?;
            return Ok(envelope.shortened(within.collect()));
        }
        Ok(Outcome::of(&Output::Bare(output))?.shortened(cut))
    }
}

impl Bash {
    fn envelope(&self, output: CommandOutput) -> Subtask<CommandOutput> {
        let failed = output.exit_code != 0;
        let error = match (&output.signal, output.timed_out) {
            (_, true) => "timed out".to_owned(),
            (Some(signal), _) => format!("ended by {signal}"),
            _ if failed => format!("exit code {}", output.exit_code),
            _ => String::new(),
        };
        let first = output.stdout.lines().next().unwrap_or_default();
        let about = if failed { &error } else { first };
        let about = if about.is_empty() { "done" } else { about };
        Subtask {
            task_id: self.ids.next::<CallId>().to_string(),
            status: if failed { "failed" } else { "done" },
            summary: summary(&format!("bash: {about}")),
            output_kind: "json",
            output_schema: "subtask.bash.result.v1".into(),
            output,
            error,
        }
    }
}
