//! What a script can access.

use async_trait::async_trait;
use serde_json::Value;

use crate::report::LogLine;

/// A request of a script.
#[derive(Debug, Clone, PartialEq)]
pub enum HostRequest {
    /// `callTool(server, tool, arguments)`.
    Tool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// The arguments.
        arguments: Value,
    },
    /// `codeExec.createArtifact(filename, content, fileType)`.
    CreateArtifact {
        /// File name.
        filename: String,
        /// Contents.
        content: String,
        /// Type, such as `csv`; default: from the file name.
        file_type: Option<String>,
    },
    /// `codeExec.readArtifact(identifier)`.
    ReadArtifact {
        /// Its id, name or URL.
        identifier: String,
    },
}

/// An error that the script can catch: an `Error` with this `code` and `message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError {
    /// Stable code.
    pub code: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl HostError {
    /// Creates an error.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }
}

/// Answers the requests of a script. Called concurrently; a call that is no longer needed is dropped.
#[async_trait]
pub trait Host: Send + Sync {
    /// Executes a request, with the rights of the caller who started the run.
    async fn call(&self, ask: HostRequest) -> Result<Value, HostError>;
    /// Receives a console line as it is printed; must not block.
    fn on_log(&self, _line: &LogLine) {}
}
