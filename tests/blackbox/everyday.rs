//! Everyday commands do in the sandbox what they do outside: the same exit status, the same files.
//!
//! Every command of the table runs freely, through `tool::shell_exec`, through `bash` and through
//! the `Bash` of a sandboxed node. Programs that are not installed here are named in the output,
//! and enough commands must have run.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, eventually};
use crate::http::Request;
use crate::nodes::fixture::tools_of;
use table::{GIT, ROWS, Row};

/// Where programs are looked for, in the product and here.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How many commands must have run for the claim to mean something.
const ENOUGH: usize = 60;
/// Files whose bytes hold inode numbers, times or random names.
const VOLATILE: [&str; 14] = [
    "RECORD", "index", ".pyc", ".tar", ".gz", ".tgz", ".xz", ".zst", ".zip", ".whl", ".cpio",
    ".pack", ".idx", ".rev",
];

/// What is seen of a file: its kind, mode, size, bytes or where it leads, and time.
type Seen = BTreeMap<String, (String, u32, Vec<u8>, Option<i64>)>;

/// What the threads share of a running gateway.
struct Stage {
    dir: PathBuf,
    addr: SocketAddr,
    owner: String,
}

/// How a run ended: the exit status, what was written to standard error, and the files.
#[derive(Debug, PartialEq)]
struct Ended {
    code: i64,
    complaints: String,
    files: Seen,
}

fn installed(row: &Row) -> bool {
    row.needs.split_whitespace().all(|name| {
        let mut folders = SEARCH_PATH.split(':');
        folders.any(|folder| Path::new(folder).join(name).is_file())
    })
}

/// A line without anything for a shell as its words.
fn words(line: &str) -> Option<Vec<&str>> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " -./=".contains(c);
    let builtin = line.starts_with("set ");
    (line.chars().all(plain) && !builtin).then(|| line.split(' ').collect())
}

impl Stage {
    fn new() -> (Gateway, Self) {
        let home = Home::new();
        let names: BTreeSet<&str> = ROWS
            .iter()
            .filter_map(|row| words(row.line)?.first().copied())
            .chain(["bash"])
            .collect();
        let names: Vec<&str> = names.into_iter().collect();
        let work = home.outside("work");
        let settings = format!(
            "workspace_root = {work:?}\n[node]\nid = \"own\"\n[tools.shell_exec]\nallow = {names:?}\n"
        );
        let home = home.with_config(&settings);
        let mut command = home.command();
        command
            .args(["up", "--listen", "127.0.0.1:0"])
            .env("PATH", SEARCH_PATH)
            .env("SHELL", "/bin/bash"); // the node's shell is its user's
        let gateway = Gateway::from(home, command);
        eventually("its own node", || !tools_of(&gateway, "own").is_empty());
        let stage = Self {
            dir: gateway.home.outside(""),
            addr: gateway.addr,
            owner: gateway.owner.clone(),
        };
        (gateway, stage)
    }

    /// An empty folder in the workspace.
    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.dir.join("work").join(name);
        std::fs::create_dir(&folder).expect("a folder");
        folder
    }

    fn freely(&self, row: &Row, number: usize) -> Ended {
        let folder = self.dir.join(format!("free-{number}"));
        let private = self.dir.join(format!("home-{number}"));
        for folder in [&folder, &private] {
            std::fs::create_dir(folder).expect("a folder");
        }
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-c", &line(row)])
            .env_clear()
            .env("PATH", SEARCH_PATH)
            .env("HOME", &private)
            .env("TMPDIR", &private)
            .env("PWD", &folder)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output()
            .expect("bash");
        let signal = output.status.signal().map(|signal| 128 + signal);
        let code = output.status.code().or(signal).expect("an end");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        Ended::new(code.into(), text, &folder)
    }

    /// Runs a row through one of the tools.
    fn confined(&self, row: &Row, number: usize, tool: &str) -> Ended {
        let short = tool.trim_start_matches(|c: char| !c.is_alphabetic());
        let name = format!("{number}-{}", short.replace([':', '_'], "-"));
        let folder = self.folder(&name);
        let call = |arguments: Value| {
            let request = Request::post(&format!("/api/tools/{tool}"), &arguments);
            let answer = request.bearer(&self.owner).try_send(self.addr);
            let said = answer.expect("an answer").json();
            assert_eq!(said["ok"], true, "{}: {said}", row.name);
            said["result"].clone()
        };
        let line = line(row);
        let result = match tool {
            "tool::shell_exec" => {
                let argv = match words(row.line) {
                    Some(words) => words,
                    None => vec!["bash", "--noprofile", "--norc", "-c", &line],
                };
                call(json!({ "argv": argv, "cwd": name }))
            }
            "bash" => call(json!({ "cmd": line, "cwd": name })),
            _ => call(json!({ "command": line, "workdir": folder })),
        };
        let code = ["exitCode", "exit_code"]
            .iter()
            .find_map(|key| result[key].as_i64());
        let code = code.unwrap_or_else(|| panic!("{}: {result}", row.name));
        let text = result["stderr"].as_str().unwrap_or_default().to_owned();
        Ended::new(code, text, &folder)
    }
}

/// The command line of a row, with what makes commits the same everywhere.
fn line(row: &Row) -> String {
    if !row.needs.split_whitespace().any(|name| name == "git") {
        return row.line.to_owned();
    }
    let set: Vec<String> = GIT
        .iter()
        .map(|(name, value)| format!("{name}='{value}'"))
        .collect();
    format!("export {}; {}", set.join(" "), row.line)
}

impl Ended {
    /// Takes down what a folder holds, and empties it.
    fn new(code: i64, complaints: String, folder: &Path) -> Self {
        let mut files = Seen::new();
        look(folder, folder, &mut files);
        std::fs::remove_dir_all(folder).expect("an empty place");
        Self {
            code,
            complaints: complaints.replace(&*folder.to_string_lossy(), "@"),
            files,
        }
    }
}

fn look(top: &Path, folder: &Path, seen: &mut Seen) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(top).expect("below").display().to_string();
        let meta = std::fs::symlink_metadata(&path).expect("an entry");
        let kind = meta.file_type();
        let here = top.to_string_lossy();
        let without_place = |bytes: Vec<u8>| match String::from_utf8(bytes) {
            Ok(text) => text.replace(&*here, "@").into_bytes(),
            Err(binary) => binary.into_bytes(),
        };
        let (kind, bytes) = if kind.is_dir() {
            look(top, &path, seen);
            ("folder", Vec::new())
        } else if kind.is_symlink() {
            let target = std::fs::read_link(&path).expect("a link");
            (
                "link",
                without_place(target.to_string_lossy().into_owned().into_bytes()),
            )
        } else if kind.is_fifo() {
            ("fifo", Vec::new())
        } else if VOLATILE.iter().any(|end| name.ends_with(end)) {
            ("file", Vec::new())
        } else {
            ("file", without_place(std::fs::read(&path).expect("a file")))
        };
        // Of files that say when they were made only those that were given another time.
        let set = (900_000_000..1_300_000_000).contains(&meta.mtime());
        let time = set.then(|| meta.mtime());
        seen.insert(name, (kind.to_owned(), meta.mode(), bytes, time));
    }
}

/// How two runs differ, in words.
fn difference(free: &Ended, confined: &Ended) -> Option<String> {
    let mut said = Vec::new();
    if free.code != confined.code {
        said.push(format!("status {} and not {}", confined.code, free.code));
    }
    // A complaint that there is only in the sandbox is a warning that nobody wants.
    if free.complaints.is_empty() && !confined.complaints.is_empty() {
        said.push("complaints".to_owned());
    }
    let names: BTreeSet<&String> = free.files.keys().chain(confined.files.keys()).collect();
    for name in names {
        let (one, other) = (free.files.get(name), confined.files.get(name));
        if one != other {
            let shown = |seen: Option<&(String, u32, Vec<u8>, Option<i64>)>| match seen {
                Some((kind, mode, bytes, time)) => {
                    let text: String = String::from_utf8_lossy(bytes).chars().take(200).collect();
                    format!("{kind} {mode:o} {time:?} {text:?}")
                }
                None => "nothing".to_owned(),
            };
            said.push(format!("{name}: {} and not {}", shown(other), shown(one)));
        }
    }
    let complaints = &confined.complaints;
    (!said.is_empty()).then(|| format!("{}\n  {complaints}", said.join("\n  ")))
}

#[test]
fn everyday_commands_end_the_same_inside_the_sandbox_and_outside() {
    let (_gateway, stage) = Stage::new();
    let (next, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (wrong, missing) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::SeqCst);
            let Some(row) = ROWS.get(number) else {
                return;
            };
            if !installed(row) {
                missing.lock().expect("the list").push(row.needs);
                continue;
            }
            let free = stage.freely(row, number);
            for tool in ["tool::shell_exec", "bash", "own__Bash"] {
                let confined = stage.confined(row, number, tool);
                if let Some(how) = difference(&free, &confined) {
                    let problem = format!("{} through {tool}: {how}", row.name);
                    wrong.lock().expect("the list").push(problem);
                }
            }
            ran.fetch_add(1, Ordering::SeqCst);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let (ran, missing) = (ran.into_inner(), missing.into_inner().expect("the list"));
    println!(
        "{ran} of {} commands ran; not installed: {missing:?}",
        ROWS.len()
    );
    let wrong = wrong.into_inner().expect("the list");
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(ran >= ENOUGH, "only {ran} commands could be run");
}
