//! Runs programs for tools, and stores output that is too long to show.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use manyhands_core::{ArtifactId, CallContext, CutPart, ErrorCode, ToolError};
use manyhands_guard::{Jail, SuperviseError};
use manyhands_hands::shell::{self, Job, Ran, Started, StreamOutput, Terms};
use manyhands_path::artifact_room;
use manyhands_store::{ArtifactQuota, Bucket, NewArtifact};
use tokio_util::sync::CancellationToken;

use super::{Host, ResolvedPath, SEARCH_PATH, blocking, jail_failure};

/// A program and how to run it.
pub struct ShellCommand {
    /// The absolute path of the program.
    pub program: PathBuf,
    /// Its arguments, passed without a shell.
    pub args: Vec<OsString>,
    /// Its working directory.
    pub cwd: ResolvedPath,
    /// Its environment besides `PATH`, `HOME`, `PWD` and `TMPDIR`.
    pub env: BTreeMap<String, String>,
    /// Folders it may write to.
    pub writable: Vec<Jail>,
    /// How long it may run.
    pub timeout: Duration,
    /// How much of standard output is returned.
    pub max_stdout: usize,
    /// How much of standard error is returned.
    pub max_stderr: usize,
}

impl Host {
    /// Runs a command in the sandbox.
    pub async fn run(
        &self,
        command: ShellCommand,
        context: &CallContext,
    ) -> Result<Ran, ToolError> {
        let cwd = command.cwd.clone();
        let shown = cwd.shown();
        let folder = blocking(move || {
            cwd.root
                .sub(&cwd.path)
                .map_err(|e| jail_failure(&e, &cwd.shown()))
        })
        .await;
        let folder = folder.map_err(|e| ToolError::parameter("cwd", e.message))?;
        let mut env = command.env;
        // Always the system folders: a caller's PATH could put its own program in front.
        env.insert("PATH".to_owned(), SEARCH_PATH.to_owned());
        let job = Job {
            program: command.program,
            args: command.args,
            // A handle and not a path, which could lead elsewhere by the time the program starts.
            cwd: folder,
            cwd_shown: shown.into(),
            env,
            writable: command.writable,
            readable: Vec::new(),
            network: context.network,
            timeout: command.timeout,
            max_stdout: command.max_stdout,
            max_stderr: command.max_stderr,
            // No artifact could hold more.
            max_kept: self.settings().limits.artifact_bytes,
            progress: context.progress.clone(),
        };
        let ran = shell::run(job, &self.0.supervisor, &self.0.scratch, &context.cancel).await;
        let ran = ran.map_err(|e| refusal(&e))?;
        if context.cancel.is_cancelled() && ran.signal().is_some() {
            // The path reports why it was cancelled (deadline, caller or stop).
            return Err(ToolError::new(
                ErrorCode::Cancelled,
                "the program was stopped",
            ));
        }
        Ok(ran)
    }

    /// Starts a program whose pipes the caller handles.
    pub fn start(
        &self,
        job: &Job,
        terms: Terms,
        cancel: &CancellationToken,
    ) -> Result<Started, ToolError> {
        let started = shell::start(job, terms, &self.0.supervisor, &self.0.scratch, cancel);
        started.map_err(|e| refusal(&e))
    }

    /// A folder of the gateway's home next to those of the tools.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.0.scratch.with_file_name(name)
    }

    /// The named variables of the gateway's own environment.
    pub fn inherit<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> BTreeMap<String, String> {
        let named = names.into_iter();
        named
            .filter_map(|name| Some((name.to_owned(), self.variable(name)?.to_owned())))
            .collect()
    }
}

fn refusal(error: &SuperviseError) -> ToolError {
    let code = match error {
        SuperviseError::Busy { .. } | SuperviseError::Sandbox(_) => ErrorCode::Unavailable,
        _ => ErrorCode::Failed,
    };
    let failure = ToolError::new(code, error.to_string());
    match error {
        SuperviseError::Sandbox(_) => {
            failure.hint("nothing was run; `manyhands doctor` says what this machine lacks")
        }
        _ => failure,
    }
}

/// The output of a program, with the full text stored if it was truncated.
pub struct Streams {
    /// Standard output.
    pub stdout: StreamOutput,
    /// Standard error.
    pub stderr: StreamOutput,
    /// The artifact with the full standard output.
    pub stdout_artifact: Option<String>,
    /// The artifact with the full standard error.
    pub stderr_artifact: Option<String>,
    /// The truncated parts.
    pub cut: Vec<CutPart>,
}

/// Stores truncated output as artifacts.
pub async fn store_output(
    host: &Host,
    stdout: StreamOutput,
    stderr: StreamOutput,
    context: &CallContext,
) -> Streams {
    let mut streams = Streams {
        stdout,
        stderr,
        stdout_artifact: None,
        stderr_artifact: None,
        cut: Vec::new(),
    };
    let both = [
        ("stdout", &mut streams.stdout, &mut streams.stdout_artifact),
        ("stderr", &mut streams.stderr, &mut streams.stderr_artifact),
    ];
    for (name, output, artifact) in both {
        if !output.truncated {
            continue;
        }
        let stored = match output.retained.take() {
            Some(file) => store(host, file, &format!("{name}.txt"), context).await,
            None => None,
        };
        *artifact = stored.map(|id| id.to_string());
        streams.cut.push(CutPart::text(name, output.total, stored));
    }
    streams
}

async fn store(
    host: &Host,
    mut file: File,
    name: &str,
    context: &CallContext,
) -> Option<ArtifactId> {
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        let read = file.read_to_end(&mut bytes);
        read.map(|_| String::from_utf8_lossy(&bytes).into_owned())
    });
    let text = read.await.ok()?.ok()?;
    host.store_text(name, text, context).await
}

impl Host {
    /// Stores the full text of a truncated result, with known secrets removed. `None` if that
    /// fails: the result is useful without it.
    pub async fn store_text(
        &self,
        name: &str,
        text: String,
        context: &CallContext,
    ) -> Option<ArtifactId> {
        // On a blocking thread: redacting megabytes would hold up other tasks.
        let redactor = self.0.redactor.load_full();
        let clean = tokio::task::spawn_blocking(move || redactor.text(&text).into_owned());
        let text = clean.await.ok()?;
        let limits = self.settings().limits.clone();
        let days = u64::from(limits.artifact_days);
        let new = NewArtifact {
            name: name.to_owned(),
            mime: "text/plain; charset=utf-8".to_owned(),
            agent: context.agent.clone(),
            call: context.call,
            caller: context.caller.key(),
            bucket: Bucket::Results,
            quota: ArtifactQuota {
                one: u64::MAX, // already bounded by the reader
                ..artifact_room(&limits, context.caller.is_owner())
            },
            expires: Some(self.now().plus(Duration::from_secs(days * 86_400))),
        };
        match self.0.artifacts.put(new, text.into_bytes().into()).await {
            Ok(record) => Some(record.id),
            Err(error) => {
                tracing::warn!(event = "output_store_failed", name, %error, "failed to store the full text of truncated output");
                None
            }
        }
    }
}
