//! What can be wrong with a configuration, all of it at once.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1; none when the value is not in the file.
    pub line: Option<usize>,
    /// The column, from 1, for errors of syntax.
    pub column: Option<usize>,
    /// The key, dotted; empty for errors of syntax.
    pub key: String,
    /// What is wrong and what would be right. Never holds a value.
    pub message: String,
    /// The known key that an unknown one resembles.
    pub nearest: Option<String>,
}

impl Problem {
    pub(crate) fn at(line: usize, key: impl fmt::Display, message: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            column: None,
            key: key.to_string(),
            message: message.into(),
            nearest: None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

/// A path that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Not written as a path.
    #[error(
        "`{path}` is not a path: {why}; write keys with dots between, as in `limits.request_bytes`"
    )]
    Malformed {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// No such setting.
    #[error("there is no setting `{path}`{}", suggestion(.nearest.as_deref()))]
    Unknown {
        /// The path as given.
        path: String,
        /// The setting it resembles.
        nearest: Option<String>,
    },
    /// A list has no such entry.
    #[error("`{list}` has {len} entries, so `{path}` does not exist; count from 0")]
    OutOfRange {
        /// The path as given.
        path: String,
        /// The list.
        list: String,
        /// How many entries it has.
        len: usize,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => "; see docs/config.md for all of them".to_owned(),
    }
}

/// Why a configuration was not read or not written.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The contents are wrong; every problem is listed, in the order of the file.
    #[error("{}", listed(.file, .problems))]
    Invalid {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problems: Vec<Problem>,
    },
    /// The path does not name a setting.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The value cannot be written there.
    #[error("`{path}` {why}")]
    Value {
        /// Where.
        path: String,
        /// Why not, and what would work.
        why: &'static str,
    },
    /// Somebody else wrote the file in between.
    #[error("{} was changed by somebody else meanwhile; nothing was written, try again", .file.display())]
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// The file was there and is gone.
    #[error(
        "{} is gone; the settings in force stay until it is back, or restart to use the defaults",
        .file.display()
    )]
    Gone {
        /// The file.
        file: PathBuf,
    },
    /// The file system refused.
    #[error("cannot {doing} {}: {source}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl ConfigError {
    /// The problems, when the contents are what is wrong.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid { problems, .. } => problems,
            _ => &[],
        }
    }

    pub(crate) fn io(file: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_owned();
        move |source| Self::Io {
            file,
            doing,
            source,
        }
    }
}

fn listed(file: &Path, problems: &[Problem]) -> String {
    let file = file.display();
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| match (problem.line, problem.column) {
            (Some(line), Some(column)) => format!("{file}:{line}:{column}: {problem}"),
            (Some(line), None) => format!("{file}:{line}: {problem}"),
            (None, _) => format!("{file}: {problem}"),
        })
        .collect();
    lines.join("\n")
}
