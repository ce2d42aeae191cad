//! Errors of shell jobs.

use std::path::PathBuf;

use manyhands_core::{ErrorCode, ToolError};
use manyhands_guard::{SandboxError, SuperviseError};

use super::SessionId;

/// Why a job was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The command is empty.
    #[error("command must not be empty")]
    EmptyCommand,
    /// The command contains a NUL character.
    #[error("command contains a NUL character, which no shell can be given; remove it")]
    NulInCommand,
    /// The command is too long for the system.
    #[error(
        "command is {bytes} bytes long and the system takes at most {max}\nwrite it to a file and run that file"
    )]
    CommandTooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The working directory is invalid.
    #[error("workdir {} {why}", path.display())]
    Workdir {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The timeout is out of range.
    #[error("timeout is {given} ms; it must be from 1 to {max} ms")]
    Timeout {
        /// The requested timeout.
        given: u64,
        /// The maximum.
        max: u64,
    },
    /// The maximum number of background jobs is running.
    #[error(
        "{max} background jobs run already\nwait for one to finish, or end one with the Process action \"kill\""
    )]
    TooManyJobs {
        /// The maximum.
        max: usize,
    },
    /// The limit is zero.
    #[error("limit is 0; it must be at least 1")]
    LogLimit,
    /// No background session with this id exists or ended recently.
    #[error(
        "no background session {0}\nthe Process action \"list\" names them; finished ones are kept for 30 minutes"
    )]
    NotFound(String),
    /// It has ended.
    #[error("session {0} has already exited")]
    Exited(SessionId),
    /// Its standard input is closed.
    #[error("session {0}: stdin is not writable, the program has closed it")]
    StdinClosed(SessionId),
    /// The pipe is full and the program does not read.
    #[error(
        "session {session} does not read its input: {written} of {total} bytes were written\nwrite the rest when it reads again"
    )]
    NotReading {
        /// The session.
        session: SessionId,
        /// Bytes written.
        written: usize,
        /// Bytes requested.
        total: usize,
    },
    /// The caller cancelled; the program has ended.
    #[error("the call was cancelled and its program ended")]
    Cancelled,
    /// The exit status is unknown.
    #[error("{0}")]
    Lost(String),
    /// No temporary folder could be created.
    #[error("cannot make a folder for temporary files in {}: {error}", path.display())]
    Scratch {
        /// The parent folder.
        path: PathBuf,
        /// The system's error.
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
    fn a_sandbox_failure_is_reported_with_its_remedy() {
        let error = JobError::Start(SuperviseError::Sandbox(SandboxError::Unavailable {
            what: "landlock is not switched on".to_owned(),
            remedy: "use Linux 6.2 or newer".to_owned(),
        }));
        let tool_error = ToolError::from(error);
        assert_eq!(tool_error.code, ErrorCode::Unavailable);
        assert_eq!(
            tool_error.text(),
            "the sandbox cannot start, so nothing was run: landlock is not switched on\n\
             hint: use Linux 6.2 or newer"
        );
    }

    #[test]
    fn advice_that_follows_on_a_line_is_the_hint() {
        let tool_error = ToolError::from(JobError::TooManyJobs { max: 3 });
        assert_eq!(tool_error.message, "3 background jobs run already");
        assert!(tool_error.hint.unwrap().contains("kill"));
        let tool_error = ToolError::from(JobError::EmptyCommand);
        assert_eq!(
            (tool_error.code, tool_error.hint),
            (ErrorCode::InvalidArguments, None)
        );
    }
}
