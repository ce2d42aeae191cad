//! Why a job was refused or could not be spoken to.

use std::path::PathBuf;

use manyhands_core::{ErrorCode, ToolError};
use manyhands_guard::{SandboxError, SuperviseError};

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
    /// It has no folder of its own to work in.
    #[error("cannot make a folder for temporary files in {}: {error}", path.display())]
    Scratch {
        /// Where.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] SuperviseError),
}

impl JobError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::EmptyCommand
            | Self::NulInCommand
            | Self::CommandTooLong { .. }
            | Self::Workdir { .. }
            | Self::Timeout { .. }
            | Self::LogLimit => ErrorCode::InvalidArguments,
            Self::NotFound(_) => ErrorCode::NotFound,
            Self::Exited(_) | Self::StdinClosed(_) | Self::NotReading { .. } => ErrorCode::Conflict,
            Self::Cancelled => ErrorCode::Cancelled,
            Self::TooManyJobs { .. }
            | Self::Start(SuperviseError::Busy { .. } | SuperviseError::Sandbox(_)) => {
                ErrorCode::Unavailable
            }
            Self::Scratch { .. } | Self::Lost(_) | Self::Start(_) => ErrorCode::Failed,
        }
    }
}

impl From<JobError> for ToolError {
    fn from(error: JobError) -> Self {
        let code = error.code();
        if let JobError::Start(SuperviseError::Sandbox(SandboxError::Unavailable {
            what,
            remedy,
        })) = error
        {
            let why = format!("the sandbox cannot start, so nothing was run: {what}");
            return Self::new(code, why).hint(remedy);
        }
        let text = error.to_string();
        match text.split_once('\n') {
            Some((message, hint)) => Self::new(code, message).hint(hint),
            None => Self::new(code, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_that_cannot_start_is_told_with_its_remedy() {
        let error = JobError::Start(SuperviseError::Sandbox(SandboxError::Unavailable {
            what: "landlock is not switched on".to_owned(),
            remedy: "use Linux 6.2 or newer".to_owned(),
        }));
        let told = ToolError::from(error);
        assert_eq!(told.code, ErrorCode::Unavailable);
        assert_eq!(
            told.text(),
            "the sandbox cannot start, so nothing was run: landlock is not switched on\n\
             hint: use Linux 6.2 or newer"
        );
    }

    #[test]
    fn advice_that_follows_on_a_line_is_the_hint() {
        let told = ToolError::from(JobError::TooManyJobs { max: 3 });
        assert_eq!(told.message, "3 background jobs run already");
        assert!(told.hint.unwrap().contains("kill"));
        let told = ToolError::from(JobError::EmptyCommand);
        assert_eq!((told.code, told.hint), (ErrorCode::InvalidArguments, None));
    }
}
