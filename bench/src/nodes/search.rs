//! Searching a large tree through a node, beside ripgrep and fd.

use std::error::Error;
use std::path::Path;

use super::{Node, beside, median, run};
use crate::daemon::Daemon;

const FILES: usize = 50_000;
const RUNS: usize = 11;

/// Grep and Glob over 50,000 files.
pub fn search(binary: &Path) -> Result<(), Box<dyn Error>> {
    let tree = tempfile::tempdir()?;
    plant(tree.path())?;
    let daemon = Daemon::start(binary, tempfile::tempdir()?)?;
    let _node = Node::start(binary, &daemon, "bench", tree.path())?;
    let mut client = daemon.client()?;
    let mut call = |tool: &str, body: &str, says: &str| -> Result<(), Box<dyn Error>> {
        let (status, answer) =
            client.send("POST", &format!("/api/tools/bench__{tool}"), "", body)?;
        match status == 200 && answer.contains(says) {
            true => Ok(()),
            false => Err(answer.into()),
        }
    };
    let shown = tree.path().display().to_string();
    let rg = ["--no-config", "-n", "needle_[0-9]+", &shown];
    let theirs = median(RUNS, || run("rg", &rg))?;
    let ours = median(RUNS, || {
        call("Grep", r#"{"pattern":"needle_[0-9]+"}"#, "\"count\":50")
    })?;
    beside(
        "node Grep, 50 matches in 50,000 files",
        ours,
        ("rg", theirs),
        " (goal 1.15 + 5 ms)",
    );
    let fd = ["--glob", "*.rs", &shown];
    let theirs = median(RUNS, || run("fdfind", &fd).or_else(|_| run("fd", &fd)))?;
    let ours = median(RUNS, || {
        call("Glob", r#"{"pattern":"**/*.rs"}"#, "\"count\":500")
    })?;
    beside(
        "node Glob, 500 of 50,000 files, newest first",
        ours,
        ("fd", theirs),
        " (goal 1.15 + 5 ms)",
    );
    daemon.stop().map(drop)
}

/// 50,000 files of about 2 KB in 500 folders; every thousandth holds what is looked for, every
/// hundredth is a Rust file.
fn plant(tree: &Path) -> Result<(), Box<dyn Error>> {
    let filler =
        "The quick brown fox jumps over the lazy dog, again and again and again.\n".repeat(28);
    for number in 0..FILES {
        let folder = tree.join(format!("d{}/e{}", number / 1_000, number / 100 % 10));
        if number % 100 == 0 {
            std::fs::create_dir_all(&folder)?;
        }
        let kind = if number % 100 == 0 { "rs" } else { "txt" };
        let needle = match number % 1_000 {
            500 => format!("needle_{number}\n"),
            _ => String::new(),
        };
        std::fs::write(
            folder.join(format!("f{number}.{kind}")),
            format!("{filler}{needle}"),
        )?;
    }
    Ok(())
}
