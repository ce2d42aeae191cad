//! Translates file errors of this machine into tool errors.

use manyhands_core::{ErrorCode, ToolError};
use manyhands_guard::JailError;
use manyhands_hands::LocateError;
use manyhands_hands::files::FileError;

/// The error for a path outside its folder.
pub fn located<T>(result: Result<T, LocateError>, parameter: &str) -> Result<T, ToolError> {
    result.map_err(|e| ToolError::parameter(parameter, e.to_string()))
}

/// The error of the file system for the file shown as `shown`.
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

/// The error of reading a text file.
pub fn file_failure(error: &FileError, shown: &str) -> ToolError {
    match error {
        FileError::Jail(error) => jail_failure(error, shown),
        FileError::NotText { .. } => ToolError::new(ErrorCode::Failed, format!("{shown}: {error}")),
    }
}
