//! Shared by `bash` and `powershell`: environment, checks and result.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use manyhands_core::{CallContext, CutPart, ErrorCode, ToolError};
use manyhands_host::machine::{Host, ShellCommand, store_output};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ceiling::{Ceilings, Lowered};

/// Variables passed to a command if the gateway has them.
// Neither `HOME` nor `PATH`: the sandbox has a home of its own, and a `PATH` of the gateway's user
// could put other programs in front of the system's.
const ENVIRONMENT: [&str; 14] = [
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CommandOutput {
    /// Exit code: 0 for success, 124 after a timeout, 128 plus the number for a signal.
    pub exit_code: i32,
    /// Whether standard output is not shown in full.
    pub stdout_truncated: bool,
    /// Whether standard error is not shown in full.
    pub stderr_truncated: bool,
    /// Present if it was stopped by the timeout.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Bytes of standard output, if not all are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_size: Option<u64>,
    /// Bytes of standard error, if not all are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_size: Option<u64>,
    /// Artifact with the full standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_artifact_id: Option<String>,
    /// Artifact with the full standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_artifact_id: Option<String>,
    /// Requested values lowered to a limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lowered: Vec<Lowered>,
    /// Truncated parts, for the path.
    #[serde(skip)]
    pub cut: Vec<CutPart>,
    /// Standard output; only its beginning and end if very long.
    pub stdout: String,
    /// Standard error; only its beginning and end if very long.
    pub stderr: String,
}

/// A command line for some shell.
pub struct CommandLine<'a> {
    /// The command as the caller wrote it.
    pub typed: &'a str,
    /// What it must not mention, and the settings key of that list.
    pub denied: (&'a [String], &'static str),
    /// Full path of the shell, or why there is none.
    pub shell: Result<PathBuf, ToolError>,
    /// Its arguments, the command last.
    pub args: Vec<OsString>,
    /// Working directory.
    pub cwd: Option<&'a str>,
    /// Timeout requested by the caller, in seconds.
    pub timeout_seconds: Option<f64>,
    /// Timeout allowed by the owner, in seconds, and its settings key.
    pub ceiling: (u64, &'static str),
    /// Bytes of each stream to show.
    pub max_output: u64,
    /// Variables the owner passes on.
    pub injected: &'a [String],
}

/// The environment of a command, including the variables the owner passes on.
pub fn environment(host: &Host, injected: &[String]) -> BTreeMap<String, String> {
    let injected = injected.iter().map(String::as_str);
    host.inherit(ENVIRONMENT.into_iter().chain(injected))
}

/// Runs a command line with the three folders writable.
pub async fn run(
    host: &Host,
    line: CommandLine<'_>,
    context: &CallContext,
) -> Result<CommandOutput, ToolError> {
    let (denied, setting) = line.denied;
    let has_profiles = !host.settings().auth_profiles.is_empty();
    // Here and not in each tool, so that no shell can run a command unchecked.
    check(line.typed, denied, setting, has_profiles)?;
    let mut ceilings = Ceilings::default();
    let (most, setting) = line.ceiling;
    let timeout = ceilings.seconds("timeout_seconds", line.timeout_seconds, most, setting)?;
    // Workspace, cache and state are the only writable folders.
    let folders = [host.workspace(), host.cache(), host.state()];
    let shown = usize::try_from(line.max_output).unwrap_or(usize::MAX);
    let cwd = host.directory(line.cwd)?;
    // Last, so that a wrong argument is named wherever the shell is missing, too.
    let program = line.shell?;
    let ran = host
        .run(
            ShellCommand {
                program,
                args: line.args,
                cwd,
                env: environment(host, line.injected),
                writable: folders.iter().map(|root| root.jail().clone()).collect(),
                timeout,
                max_stdout: shown,
                max_stderr: shown,
            },
            context,
        )
        .await?;
    let (exit_code, signal, timed_out) =
        (ran.code(), ran.signal().map(str::to_owned), ran.timed_out);
    let streams = store_output(host, ran.stdout, ran.stderr, context).await;
    let (out, err) = (streams.stdout, streams.stderr);
    Ok(CommandOutput {
        exit_code,
        stdout_truncated: out.truncated,
        stderr_truncated: err.truncated,
        stdout_size: out.truncated.then_some(out.total),
        stderr_size: err.truncated.then_some(err.total),
        stdout: out.text,
        stderr: err.text,
        timed_out,
        // After a timeout the signal is the supervisor's own and would mislead.
        signal: signal.filter(|_| !timed_out),
        cut: streams.cut,
        stdout_artifact_id: streams.stdout_artifact,
        stderr_artifact_id: streams.stderr_artifact,
        lowered: ceilings.into_lowered(),
    })
}

/// Rejects invalid commands, and those that mention something the owner denied. A convenience only:
/// the sandbox decides what a command can reach.
pub fn check(
    command: &str,
    denied_paths: &[String],
    setting: &str,
    has_auth_profiles: bool,
) -> Result<(), ToolError> {
    if command.trim().is_empty() || command.contains('\0') {
        let message = "must be a non-empty command without NUL characters";
        return Err(ToolError::parameter("cmd", message));
    }
    // Split like a shell would at least: a heuristic, see above.
    let words: Vec<&str> = command
        .split(|c: char| c.is_whitespace() || ";|&()<>\"'`$={}".contains(c))
        .collect();
    for denied in denied_paths {
        let wanted = denied.trim_matches('/');
        let mentions = |word: &&str| {
            // By whole components: `config.yaml.example` is another file.
            word.split(['/', '\\']).any(|part| part == wanted)
                || (wanted.contains('/') && word.contains(wanted))
        };
        if !wanted.is_empty() && words.iter().any(mentions) {
            return Err(ToolError::new(
                ErrorCode::Forbidden,
                format!("the command mentions {denied}, which {setting} denies"),
            ));
        }
    }
    // curl could send a profile's secret anywhere; url_fetch restricts it to its hosts.
    if has_auth_profiles && words.contains(&"curl") {
        return Err(ToolError::new(
            ErrorCode::Forbidden,
            "curl is denied while auth_profiles are configured",
        )
        .hint("use url_fetch with auth_profile: it sends the secret only where it belongs"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_are_refused_by_whole_names() {
        let denied = ["config.yaml".to_owned(), "private/keys".to_owned()];
        for (command, refused) in [
            ("cat config.yaml", true),
            ("cat ./x/config.yaml;ls", true),
            ("cat 'a/config.yaml'", true),
            ("cat private/keys/a", true),
            ("cat config.yaml.example", false),
            ("cat myconfig.yaml", false),
            ("ls private", false),
        ] {
            assert_eq!(
                check(command, &denied, "x", false).is_err(),
                refused,
                "{command}"
            );
        }
        assert!(check("curl x", &[], "x", true).is_err());
        assert!(check("curl x", &[], "x", false).is_ok());
        assert!(check("man curling", &[], "x", true).is_ok());
    }
}
