//! Claims about patches, most of them held against the system's `git apply`.

#![allow(
    clippy::disallowed_methods,
    reason = "the oracle is the system's git, started plainly; nothing here runs in the product"
)]

mod format;
mod matching;
mod property;
mod tree;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::*;

/// What `git apply` makes of the same patch.
#[derive(Debug, Clone, Copy)]
enum Git {
    /// The same: the same content, or a refusal as well.
    Agrees,
    /// It refuses where we apply; each such row is a leniency we chose.
    Refuses,
    /// It applies where we refuse or do otherwise.
    Gives(&'static str),
}

/// `patch`, applied to a file of `original`, gives `expect`; and git does as `git` says.
#[track_caller]
fn check(original: &str, patch: &str, expect: Result<&str, HunkProblem>, git: Git) {
    let actual = apply_text(original, patch);
    let shown = actual
        .as_ref()
        .map(String::as_str)
        .map_err(|error| error.why);
    assert_eq!(shown, expect, "{actual:?} for {patch}");
    let theirs = git_apply(original, patch, &[]);
    let expected = match git {
        Git::Agrees => expect.ok(),
        Git::Refuses => None,
        Git::Gives(content) => Some(content),
    };
    assert_eq!(
        theirs.as_deref().ok(),
        expected,
        "git: {theirs:?} for {patch}"
    );
}

/// Hunks under the names of one file.
fn named(hunks: &str) -> String {
    format!("--- a/f\n+++ b/f\n{hunks}")
}

fn apply_text(original: &str, patch: &str) -> Result<String, HunkError> {
    let patch = parse(patch).unwrap();
    assert_eq!(patch.files.len(), 1);
    let applied = apply(original.as_bytes(), &patch.files[0])?;
    Ok(String::from_utf8(applied.content).unwrap())
}

/// What git makes of a file `f` of `original`; its complaint if it refuses.
fn git_apply(original: &str, patch: &str, flags: &[&str]) -> Result<String, String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, original).unwrap();
    let output = git(
        dir.path(),
        &[&["apply", "--whitespace=nowarn"], flags].concat(),
        patch,
    );
    if output.status.success() {
        Ok(fs::read_to_string(file).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Runs git in `dir`, without anyone's configuration or repository.
fn git(dir: &Path, arguments: &[&str], stdin: &str) -> Output {
    let mut child = Command::new("git")
        .args(["-c", "core.autocrlf=false", "-c", "core.safecrlf=false"])
        .args(arguments)
        .current_dir(dir)
        .env("GIT_CEILING_DIRECTORIES", dir.parent().unwrap())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git is needed to test patches");
    let mut pipe = child.stdin.take().unwrap();
    // Git may refuse before it has read everything.
    let _ = pipe.write_all(stdin.as_bytes());
    drop(pipe);
    child.wait_with_output().unwrap()
}
