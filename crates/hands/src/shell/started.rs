//! A program whose pipes are its holder's: it is spoken with, or watched while it runs.

use std::path::Path;

use manyhands_guard::{Limits, Program, Running, Sandbox, Stdin, SuperviseError, Supervisor};
use tokio_util::sync::CancellationToken;

use super::private::Private;
use super::{Job, by_handle};
use crate::root::Root;

/// What else a program is given that is not only waited for.
#[derive(Debug, Clone)]
pub struct Terms {
    /// What it reads.
    pub stdin: Stdin,
    /// Its home, which stays; one of its own that goes with it unless said.
    pub home: Option<Root>,
    /// How much it may use up in the sandbox; `None` leaves it free of the sandbox.
    pub sandbox: Option<Limits>,
}

/// A program that runs, with a folder of its own for temporary files. Dropped, both go.
pub struct Started {
    /// The program, and its pipes.
    pub running: Running,
    _private: Private,
}

/// Starts `job`, whose bounds on output are its holder's to keep.
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
    // Started through the handle: nobody can swap the folder between the check and the start.
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
