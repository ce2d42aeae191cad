//! Configuration errors, all problems at once.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line (1-based); `None` if the value is not in the file.
    pub line: Option<usize>,
    /// Column (1-based), for syntax errors.
    pub column: Option<usize>,
    /// Dotted key; empty for syntax errors.
    pub key: String,
    /// What is wrong and what would be right. Never contains the value.
    pub message: String,
    /// The most similar known key, for an unknown one.
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

/// An invalid path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Not a path.
    #[error("`{path}` is not a path: {why}; separate keys with dots, as in `limits.request_bytes`")]
    Malformed {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// No such setting.
    #[error("unknown setting `{path}`{}", suggestion(.nearest.as_deref()))]
    Unknown {
        /// The path as given.
        path: String,
        /// The most similar setting.
        nearest: Option<String>,
    },
    /// No such list entry.
    #[error("`{path}` does not exist: `{list}` has {}, counted from 0", entries(.len))]
    OutOfRange {
        /// The path as given.
        path: String,
        /// The list.
        list: String,
        /// Number of entries.
        len: usize,
    },
}

fn entries(len: &usize) -> String {
    match len {
        1 => "1 entry".to_owned(),
        _ => format!("{len} entries"),
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => "; see docs/config.md for all of them".to_owned(),
    }
}

/// Why a configuration could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The contents are invalid; all problems, in the order of the file.
    #[error("{}", listed(.file, .problems))]
    Invalid {
        /// The file.
        file: PathBuf,
        /// The problems.
        problems: Vec<Problem>,
    },
    /// The path does not name a setting.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The value cannot be set.
    #[error("`{path}` {why}")]
    Value {
        /// The setting.
        path: String,
        /// Why not, and what would work.
        why: &'static str,
    },
    /// The file was changed by another program meanwhile.
    #[error("{} was changed by another program meanwhile; nothing was written, try again", .file.display())]
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// The file was deleted.
    #[error(
        "{} was deleted; the current settings stay active until it is back; restart to use the defaults",
        .file.display()
    )]
    Gone {
        /// The file.
        file: PathBuf,
    },
    /// File system error.
    #[error("cannot {doing} {}: {source}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The attempted operation.
        doing: &'static str,
        /// The cause.
        source: io::Error,
    },
}

impl ConfigError {
    /// Returns the problems, if the contents are invalid.
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
