//! What to start, and within which bounds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::sandbox::Sandbox;

/// What a program reads from its standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stdin {
    /// Nothing.
    #[default]
    None,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// Whatever the holder of [`Running`](crate::Running) writes.
    Piped,
}

/// A program to start: exact arguments, an environment that holds only what was
/// put there, and bounds on time and output.
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
    /// The program at `path`, which must be absolute: what was approved is what runs,
    /// whatever a search path says. It starts with an empty environment, no input, no
    /// timeout, and keeps 1 MiB of each output.
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

    /// Puts one variable into the environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// The directory it starts in.
    #[must_use]
    pub fn cwd(mut self, path: impl Into<PathBuf>) -> Self {
        self.cwd = Some(path.into());
        self
    }

    /// What it reads.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Where it is confined; `None` leaves it free.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Option<Sandbox>) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// How long it may run before it is stopped.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How many bytes of each output [`run`](crate::Supervisor::run) keeps.
    #[must_use]
    pub fn max_output(mut self, bytes: usize) -> Self {
        self.max_output = bytes;
        self
    }
}
