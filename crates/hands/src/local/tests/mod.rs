//! Claims about the file tools, each refusal with its control.

mod glob;
mod grep;
mod jail;
mod race;
mod read;
mod transfer;
mod write;

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Uid, geteuid};
use tokio_util::sync::CancellationToken;

use super::*;

struct Fixture {
    dir: tempfile::TempDir,
    files: LocalFiles,
}

impl Fixture {
    /// An empty workspace beside a folder `out` that is not part of it.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["work", "out"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let files = LocalFiles::open(&dir.path().join("work"), None).unwrap();
        Self { dir, files }
    }

    /// The same with the workspace as the jail.
    fn jailed() -> Self {
        let fixture = Self::new();
        let work = fixture.at("");
        let files = LocalFiles::open(&work, Some(&work)).unwrap();
        Self { files, ..fixture }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join("work").join(path)
    }

    fn out(&self, path: &str) -> PathBuf {
        self.dir.path().join("out").join(path)
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        put(&self.at(path), content);
    }

    fn get(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// Every name below the workspace.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut waiting = vec![self.at("")];
        while let Some(dir) = waiting.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                let below = entry.path();
                let below = below.strip_prefix(self.at("")).unwrap();
                names.push(below.to_str().unwrap().to_owned());
                if entry.file_type().unwrap().is_dir() {
                    waiting.push(entry.path());
                }
            }
        }
        names.sort();
        names
    }

    /// A shown path, from the workspace down.
    fn below(&self, shown: &str) -> String {
        let root = format!("{}/", self.files.workspace().display());
        shown.strip_prefix(&root).unwrap_or(shown).to_owned()
    }
}

fn put(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

fn never() -> CancellationToken {
    CancellationToken::new()
}

/// Runs a test as somebody to whom mode bits mean something: root gives up its rights in a
/// thread of its own, and threads started from there have none either.
fn as_ordinary_user(test: impl FnOnce() + Send) {
    let run = || {
        if geteuid().is_root() {
            let unprivileged = Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(unprivileged, unprivileged, unprivileged).unwrap();
        }
        test();
    };
    std::thread::scope(|scope| {
        if let Err(panic) = scope.spawn(run).join() {
            std::panic::resume_unwind(panic);
        }
    });
}
