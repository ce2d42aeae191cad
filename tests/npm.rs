//! npm packages that tests run, in the versions that the lock files below `tests/` pin.

#![allow(
    clippy::disallowed_methods,
    reason = "tests run the installer directly; there is no gateway whose supervisor could"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder `tests/{name}`, with its packages installed in `node_modules`.
#[track_caller]
pub fn packages(name: &str) -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = top.join("tests").join(name);
    let folder = folder.canonicalize().expect("a folder below tests/");
    let installed = Command::new(top.join("tools/npm-packages"))
        .arg(&folder)
        .output()
        .expect("tools/npm-packages");
    assert!(
        installed.status.success(),
        "npm packages of tests/{name} are missing: {}",
        String::from_utf8_lossy(&installed.stderr)
    );
    folder
}
