//! What went wrong with a file of this machine, as a tool says it.

use manyhands_core::{ErrorCode, ToolError};
use manyhands_guard::JailError;
use manyhands_hands::LocateError;
use manyhands_hands::files::FileError;

/// A path that names no place in its folder.
pub fn located<T>(result: Result<T, LocateError>, parameter: &str) -> Result<T, ToolError> {
    result.map_err(|e| ToolError::parameter(parameter, e.to_string()))
}

/// What the file system refused, for the file called `shown`.
pub fn jail_failure(error: &JailError, shown: &str) -> ToolError {
    let (code, hint) = match error {
        JailError::NotFound => (
            ErrorCode::NotFound,
            Some("check the name; list the directory it should be in"),
        ),
        JailError::TooLarge { .. } => (ErrorCode::TooLarge, None),
        JailError::Full => (
            ErrorCode::StorageFull,
            Some("free some space and call again; nothing was changed"),
        ),
        JailError::Changed => (
            ErrorCode::Conflict,
            Some("read it again and repeat the change; nothing was written"),
        ),
        JailError::Exists => (ErrorCode::Conflict, None),
        JailError::Escapes
        | JailError::IsDirectory
        | JailError::NotRegular
        | JailError::NotDirectory => (ErrorCode::InvalidArguments, None),
        _ => (ErrorCode::Failed, None),
    };
    let failure = ToolError::new(code, format!("{shown}: {error}"));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What went wrong when a text file was read.
pub fn file_failure(error: &FileError, shown: &str) -> ToolError {
    match error {
        FileError::Jail(error) => jail_failure(error, shown),
        FileError::NotText { .. } => ToolError::new(ErrorCode::Failed, format!("{shown}: {error}")),
    }
}
