//! `tool::shell_exec`

use std::time::Duration;

use manyhands_core::{CallContext, Effects, ErrorCode, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_hands::shell::find_program;
use manyhands_host::machine::{
    Host, ResolvedPath, SEARCH_PATH, ShellCommand, located, store_output,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ceiling::{Ceilings, Lowered};
use crate::registration::{Registration, typed};

/// Bytes of each stream shown in a result.
const MAX_STDOUT: usize = 100_000;
const MAX_STDERR: usize = 50_000;

/// Variables passed to a program if the gateway has them, besides a private `HOME`.
const ENVIRONMENT: [&str; 4] = ["USER", "LANG", "TERM", "NODE_ENV"];

/// Run a program in the workspace folder: a name from the allowed ones and its exact arguments, no shell between. It can
/// change the workspace and nothing else, sees none of your home, and has no network unless a policy rule grants it.
/// A failing program is a result, not an error.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The program's bare name, one of the allowed ones, and its arguments.
    #[schemars(length(min = 1, max = 4096))]
    argv: Vec<String>,
    /// Working directory relative to the workspace root.
    cwd: Option<String>,
    /// Milliseconds it may run. Default and most: 120000, or what `tools.shell_exec.timeout` says.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Exit code: 0 for success, 124 after a timeout, 128 plus the number for a signal.
    exit_code: i32,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    /// Present if it was stopped by the timeout.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    timed_out: bool,
    /// Present if a stream is not shown in full.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Bytes of standard output, if not all are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_size: Option<u64>,
    /// Bytes of standard error, if not all are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_size: Option<u64>,
    /// Artifact with the full standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_artifact_id: Option<String>,
    /// Artifact with the full standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_artifact_id: Option<String>,
    /// Requested values lowered to a limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lowered: Vec<Lowered>,
    /// Standard output; beyond 100 KB only its beginning and end.
    stdout: String,
    /// Standard error; beyond 50 KB only its beginning and end.
    stderr: String,
}

pub(crate) const TOOL: Registration = Registration {
    name: "tool::shell_exec",
    enabled: |tools| tools.shell_exec.enabled,
    build: |deps| typed(ShellExec(deps.host.clone())),
};

struct ShellExec(Host);

impl TypedTool for ShellExec {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        let effects = Effects::READS.and(Effects::WRITES).and(Effects::RUNS);
        super::spec(TOOL.name)
            .effects(effects)
            .deadline(Duration::from_secs(3_660))
    }

    fn canonical(&self, arguments: Value) -> Value {
        self.0.canonical_in_workspace(arguments, "cwd")
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let settings = self.0.settings();
        let (name, args) = params
            .argv
            .split_first()
            .ok_or_else(|| ToolError::parameter("argv", "must not be empty"))?;
        // The bare name: programs are looked up only in the system's folders, never in the
        // workspace, where an agent could place one.
        if !settings.tools.shell_exec.allow.contains(name) {
            let message = format!("{name:?} is not an allowed program");
            return Err(
                ToolError::new(ErrorCode::Forbidden, format!("argv.0: {message}")).hint(format!(
                    "allowed: {}",
                    settings.tools.shell_exec.allow.join(", ")
                )),
            );
        }
        // The kernel ends an argument at a NUL, so the program would not see the rest.
        if args.iter().any(|arg| arg.contains('\0')) {
            return Err(ToolError::parameter(
                "argv",
                "must not contain a NUL character",
            ));
        }
        let program = find_program(name, SEARCH_PATH).map_err(|e| {
            ToolError::new(ErrorCode::Unavailable, format!("argv.0: {name} {e}"))
                .hint("install it on the gateway's machine")
        })?;
        let root = self.0.workspace().clone();
        let path = located(root.locate(params.cwd.as_deref().unwrap_or("")), "cwd")?;
        let mut ceilings = Ceilings::default();
        let most = settings.tools.shell_exec.timeout.saturating_mul(1_000);
        let timeout = ceilings.at_most("timeout", params.timeout, most, "tools.shell_exec.timeout");
        let ran = self
            .0
            .run(
                ShellCommand {
                    program,
                    args: args.iter().map(Into::into).collect(),
                    writable: vec![root.jail().clone()],
                    cwd: ResolvedPath { root, path },
                    env: self.0.inherit(ENVIRONMENT),
                    timeout: Duration::from_millis(timeout),
                    max_stdout: MAX_STDOUT,
                    max_stderr: MAX_STDERR,
                },
                context,
            )
            .await?;
        let (exit_code, signal, timed_out) =
            (ran.code(), ran.signal().map(str::to_owned), ran.timed_out);
        let streams = store_output(&self.0, ran.stdout, ran.stderr, context).await;
        let (out, err) = (streams.stdout, streams.stderr);
        let outcome = Outcome::of(&Output {
            exit_code,
            // After a timeout the signal is the supervisor's own and would mislead.
            signal: signal.filter(|_| !timed_out),
            timed_out,
            truncated: out.truncated || err.truncated,
            stdout_size: out.truncated.then_some(out.total),
            stderr_size: err.truncated.then_some(err.total),
            stdout: out.text,
            stderr: err.text,
            stdout_artifact_id: streams.stdout_artifact,
            stderr_artifact_id: streams.stderr_artifact,
            lowered: ceilings.into_lowered(),
        })?;
        Ok(outcome.shortened(streams.cut))
    }
}
