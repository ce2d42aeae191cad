//! What a script can reach.

use async_trait::async_trait;
use serde_json::Value;

use crate::report::LogLine;

/// Something that a script asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// `callTool(server, tool, arguments)`.
    Tool {
        /// Which server.
        server: String,
        /// Which of its tools.
        tool: String,
        /// With what.
        arguments: Value,
    },
    /// `codeExec.createArtifact(filename, content, fileType)`.
    CreateArtifact {
        /// What to call it.
        filename: String,
        /// What it holds.
        content: String,
        /// What it is, such as `csv`; where it is missing the name tells.
        file_type: Option<String>,
    },
    /// `codeExec.readArtifact(identifier)`.
    ReadArtifact {
        /// Its id, name or address.
        identifier: String,
    },
}

/// A refusal, which the script can catch: an `Error` with these as `code` and `message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thrown {
    /// A stable code.
    pub code: String,
    /// What was wrong and what would be right.
    pub message: String,
}

impl Thrown {
    /// A refusal in words.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }
}

/// Whoever answers a script. Calls come several at a time; one that is no longer wanted is dropped.
#[async_trait]
pub trait Host: Send + Sync {
    /// Does what was asked, with the rights of whoever started the run.
    async fn call(&self, ask: Ask) -> Result<Value, Thrown>;
    /// Hears a line of the console as it comes; must not block.
    fn said(&self, _line: &LogLine) {}
}
