//! The files of a built page. Beside the build script because development builds read them while they run, too.

use std::path::{Path, PathBuf};

/// All of them, sorted: each with its name below the root, its path, and whether that is its compressed copy.
pub fn list(folder: &Path) -> Vec<(String, PathBuf, bool)> {
    let mut files = Vec::new();
    collect(folder, "", &mut files);
    files.sort();
    files
}

fn collect(folder: &Path, under: &str, files: &mut Vec<(String, PathBuf, bool)>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue; // markers of the tools that built it
        }
        let path = entry.path().canonicalize().unwrap_or_else(|_| entry.path());
        if path.is_dir() {
            collect(&path, &format!("{under}{name}/"), files);
        } else if !name.ends_with(".gz") && !name.ends_with(".map") {
            let small = PathBuf::from(format!("{}.gz", path.display()));
            let packed = small.is_file();
            let stored = if packed { small } else { path };
            files.push((format!("{under}{name}"), stored, packed));
        }
    }
}
