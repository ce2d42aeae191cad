//! Why a job was refused or could not be spoken to.

use std::path::PathBuf;

use manyhands_guard::SuperviseError;

use super::SessionId;

/// Why a job was refused or could not be spoken to.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// Nothing to run.
    #[error("command must not be empty")]
    EmptyCommand,
    /// No program can be given such an argument.
    #[error("command contains a NUL character, which no shell can be given; remove it")]
    NulInCommand,
    /// The system takes no argument of this length.
    #[error(
        "command is {bytes} bytes long and the system takes at most {max}\nwrite it to a file and run that file"
    )]
    CommandTooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// There is no such place to start in.
    #[error("workdir {} {why}", path.display())]
    Workdir {
        /// The place.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The timeout is none.
    #[error("timeout is {given} ms; it must be from 1 to {max} ms")]
    Timeout {
        /// What was asked for.
        given: u64,
        /// The longest.
        max: u64,
    },
    /// As many background jobs as allowed run already.
    #[error(
        "{max} background jobs run already\nwait for one to finish, or end one with the Process action \"kill\""
    )]
    TooManyJobs {
        /// The ceiling.
        max: usize,
    },
    /// No line would be given back.
    #[error("limit is 0; it must be at least 1")]
    LogLimit,
    /// No session of that id runs in the background or did so lately.
    #[error(
        "no background session {0}\nthe Process action \"list\" names them; finished ones are kept for 30 minutes"
    )]
    NotFound(String),
    /// It is over.
    #[error("session {0} has already exited")]
    Exited(SessionId),
    /// Nobody reads what would be written.
    #[error("session {0}: stdin is not writable, the program has closed it")]
    StdinClosed(SessionId),
    /// The pipe is full and the program does not read on.
    #[error(
        "session {session} does not read its input: {written} of {total} bytes were written\nwrite the rest when it reads again"
    )]
    NotReading {
        /// Which session.
        session: SessionId,
        /// What it was given.
        written: usize,
        /// What it was to be given.
        total: usize,
    },
    /// The caller took the call back; the program has ended.
    #[error("the call was cancelled and its program ended")]
    Cancelled,
    /// It ran, and the system would not tell how it ended.
    #[error("{0}")]
    Lost(String),
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] SuperviseError),
}
