//! Finds a program by its bare name on a fixed search path.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Why a program was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lookup {
    /// It is a path or empty; only bare names are looked up.
    #[error("must be the bare name of a program, not a path")]
    NotAName,
    /// No such program on the search path.
    #[error("is not installed on {path}")]
    NotFound {
        /// The search path.
        path: String,
    },
}

/// The program called `name`, with links resolved, so that what was found is what runs.
pub fn find_program(name: &str, search_path: &str) -> Result<PathBuf, Lookup> {
    let bare =
        !name.is_empty() && !name.starts_with(['-', '.']) && !name.contains(['/', '\\', '\0']);
    if !bare {
        return Err(Lookup::NotAName);
    }
    let folders = search_path
        .split(':')
        .filter(|folder| folder.starts_with('/'));
    folders
        .map(|folder| Path::new(folder).join(name))
        .find(|file| is_program(file))
        .ok_or_else(|| Lookup::NotFound {
            path: search_path.to_owned(),
        })
}

fn is_program(file: &Path) -> bool {
    let meta = std::fs::metadata(file);
    meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_names_are_found_and_paths_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let tool = dir.path().join("tool");
        std::fs::write(&tool, "#!/bin/sh\n").unwrap();
        std::fs::write(dir.path().join("text"), "").unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("relative:{}", dir.path().display());
        assert_eq!(find_program("tool", &path), Ok(tool.clone()));
        assert!(matches!(
            find_program("text", &path),
            Err(Lookup::NotFound { .. })
        ));
        for name in [
            "",
            "./tool",
            "../tool",
            "-x",
            tool.to_str().unwrap(),
            "a\0b",
        ] {
            assert_eq!(find_program(name, &path), Err(Lookup::NotAName), "{name:?}");
        }
    }
}
