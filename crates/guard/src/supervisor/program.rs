//! The program to start and its bounds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::pty::TerminalSize;
use crate::sandbox::Sandbox;

/// A program's standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stdin {
    /// Empty.
    #[default]
    None,
    /// These bytes.
    Bytes(Vec<u8>),
    /// Written by the holder of [`RunningProgram`](crate::RunningProgram).
    Piped,
    /// A new terminal of this size, which is its standard output and error too. What it starts in the terminal's
    /// session ends with it.
    Terminal(TerminalSize),
}

/// A program to start: exact arguments, an environment that contains only what was put there, and
/// bounds on time and output.
#[derive(Debug, Clone)]
pub struct Program {
    pub(super) path: PathBuf,
    pub(super) args: Vec<OsString>,
    pub(super) env: BTreeMap<OsString, OsString>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) stdin: Stdin,
    pub(super) sandbox: Option<Sandbox>,
    pub(super) timeout: Option<Duration>,
    pub(super) max_output: usize,
}

impl Program {
    /// The program at `path`, which must be absolute: what was approved is what runs, regardless of a
    /// search path. It starts with an empty environment, no input, no timeout, and 1 MiB of each output
    /// is kept.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            stdin: Stdin::None,
            sandbox: None,
            timeout: None,
            max_output: 1024 * 1024,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn cwd(mut self, path: impl Into<PathBuf>) -> Self {
        self.cwd = Some(path.into());
        self
    }

    /// Sets its standard input.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Sets its sandbox; `None` runs it unconfined.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Option<Sandbox>) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Sets its timeout.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how many bytes of each output [`run`](crate::Supervisor::run) keeps.
    #[must_use]
    pub fn max_output(mut self, bytes: usize) -> Self {
        self.max_output = bytes;
        self
    }
}
