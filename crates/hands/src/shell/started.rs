//! A running program whose pipes belong to its holder.

use std::path::Path;

use manyhands_guard::{
    Program, RunningProgram, Sandbox, SandboxLimits, Stdin, SuperviseError, Supervisor,
};
use tokio_util::sync::CancellationToken;

use super::private::Private;
use super::{Job, by_handle};
use crate::root::Root;

/// Additional options of a program.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Its standard input.
    pub stdin: Stdin,
    /// A persistent home; a private one if absent.
    pub home: Option<Root>,
    /// Its sandbox limits; `None` runs it unconfined.
    pub sandbox: Option<SandboxLimits>,
}

/// A running program with a private temporary folder. Dropping it ends both.
pub struct Started {
    /// The program and its pipes.
    pub running: RunningProgram,
    _private: Private,
}

/// Starts `job`; its holder enforces the output limits.
pub fn start(
    job: &Job,
    terms: Terms,
    supervisor: &Supervisor,
    scratch: &Path,
    cancel: &CancellationToken,
) -> Result<Started, SuperviseError> {
    let start_error = |error| SuperviseError::Start {
        path: job.program.clone(),
        error,
    };
    let private = tempfile::Builder::new()
        .prefix("run-")
        .tempdir_in(scratch)
        .map_err(start_error)?;
    // Wrapped before anything can fail, so that the folder is removed in every case.
    let private = Private::new(private, supervisor);
    let sandbox = terms.sandbox.map(|limits| {
        let mut sandbox = Sandbox::system_read_only().writing(private.path());
        sandbox.write.extend(job.writable.iter().map(by_handle));
        let home = terms.home.iter().map(|home| by_handle(home.jail()));
        sandbox.write.extend(home);
        sandbox.read.extend(job.readable.iter().cloned());
        sandbox.network = job.network;
        sandbox.limits = limits;
        sandbox
    });
    // Started through the handle: nobody can swap the folder between check and start.
    let mut program = Program::new(&job.program)
        .args(job.args.iter().cloned())
        .cwd(by_handle(&job.cwd))
        .stdin(terms.stdin)
        .sandbox(sandbox)
        .timeout(job.timeout);
    for (name, value) in &job.env {
        program = program.env(name, value);
    }
    let home = terms.home.as_ref().map_or(private.path(), Root::folder);
    let program = program
        .env("PWD", &job.cwd_shown)
        .env("HOME", home)
        .env("TMPDIR", private.path());
    Ok(Started {
        running: supervisor.start(program, cancel)?,
        _private: private,
    })
}
