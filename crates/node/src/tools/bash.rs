//! `Bash`

use manyhands_hands::jobs::{BashRequest, Jobs};
use manyhands_hands::local::LocalFiles;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{NodeTool, to_json, tool};

/// Execute a shell command on this machine with the user's login shell: to its end, in the
/// background, or in the background once it has taken longer than `yieldMs`. Standard output and
/// standard error are both in `output`, at most 200000 characters, of which the end is kept.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Params {
    /// Shell command to execute. Must not be empty.
    #[schemars(length(min = 1))]
    command: String,
    /// Working directory. Relative paths start at the node's workspace, and `~` is the home of its user.
    workdir: Option<String>,
    /// Timeout in milliseconds, in the background too: a program still running then is stopped. Default 300000.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
    /// Run in background immediately and return a sessionId.
    background: Option<bool>,
    /// Wait this many milliseconds, then background the process if still running. Clamped to
    /// 10-120000.
    yield_ms: Option<i64>,
}

pub(super) fn bash(files: LocalFiles, jobs: Jobs) -> NodeTool {
    tool::<Params, _>("Bash", "shell.exec", move |params, call| {
        let (files, jobs) = (files.clone(), jobs.clone());
        Box::pin(async move {
            let yield_ms = params.yield_ms.map(|wait| u64::try_from(wait).unwrap_or(0));
            let request = BashRequest {
                command: params.command,
                workdir: files
                    .absolute("workdir", params.workdir.as_deref().unwrap_or_default())?,
                timeout_ms: params.timeout,
                background: params.background == Some(true),
                yield_ms,
                origin: Some(call.call_id),
                progress: call.progress,
                full_output: call.full_output,
            };
            to_json(&jobs.bash(request, &call.cancel).await?)
        })
    })
}
