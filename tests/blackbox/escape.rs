//! Breaking out: crafted calls that, run freely, read, write, run or reach beyond the
//! workspace, and that in the product do nothing of the kind.
//!
//! Each try is made twice: freely, by the test itself, where it must work, and through the
//! product, where it must not. A canary is a text that exists only in files outside.

mod argv;
mod changes;
mod closed;
mod command_line;
mod folders;
mod kernel;
mod network;
mod outlive;
mod resources;
mod state;
mod swaps;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, tree};

/// Where programs are looked for, in the product and here.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A gateway with its workspace, and beside them what it must never touch:
///
/// - `work`: the workspace
/// - `free`: a copy of it, for the control
/// - `outside`: a file `secret` that holds the canary, and one that is named like it
/// - `user`: the gateway's home directory
struct Yard {
    gateway: Gateway,
    canary: String,
}

/// What a program said and how it ended.
#[derive(Debug)]
struct Said {
    stdout: String,
    /// Both streams.
    text: String,
    code: i32,
}

impl Yard {
    fn new() -> Self {
        Self::with("")
    }

    /// A yard with more settings than its workspace.
    fn with(settings: &str) -> Self {
        let home = Home::new();
        let root = home.outside("work");
        let config = format!("workspace_root = {:?}\n{settings}", text(&root));
        Self::on(Gateway::on(home.with_config(&config)))
    }

    fn on(gateway: Gateway) -> Self {
        let dir = gateway.home.outside("");
        let name = dir.file_name().expect("a name").to_string_lossy();
        let unique = name.rsplit('-').next().expect("a suffix");
        let yard = Self {
            canary: format!("~canary~{unique}~!"),
            gateway,
        };
        yard.lay_out();
        yard
    }

    fn outside(&self) -> PathBuf {
        self.gateway.home.outside("outside")
    }

    fn secret(&self) -> PathBuf {
        self.outside().join("secret")
    }

    fn work(&self) -> PathBuf {
        self.gateway.home.outside("work")
    }

    fn free(&self) -> PathBuf {
        self.gateway.home.outside("free")
    }

    /// Both workspaces empty, the outside as it should be.
    fn lay_out(&self) {
        for folder in [self.outside(), self.free()] {
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir(&folder).expect("a folder");
        }
        // The gateway holds the workspace itself: only what is in it goes.
        for entry in std::fs::read_dir(self.work()).expect("the workspace") {
            let path = entry.expect("an entry").path();
            let gone = if path.is_dir() && !path.is_symlink() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
            gone.expect("an empty workspace");
        }
        let canary = format!("{}\n", self.canary);
        std::fs::write(self.secret(), canary).expect("the secret");
        std::fs::write(self.outside().join(&self.canary), "").expect("a telling name");
    }

    /// Puts a file into both workspaces.
    fn put(&self, name: &str, content: impl AsRef<[u8]>, mode: u32) {
        for folder in [self.work(), self.free()] {
            let path = folder.join(name);
            let parent = path.parent().expect("a folder");
            std::fs::create_dir_all(parent).expect("a folder");
            std::fs::write(&path, &content).expect("a file");
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).expect("its mode");
        }
    }

    /// Runs a program through `tool::shell_exec`.
    #[track_caller]
    fn shell(&self, argv: &[String]) -> Said {
        let said = self.gateway.call(
            "tool::shell_exec",
            json!({ "argv": argv, "timeout": 20_000 }),
        );
        Said::of(&said, "exitCode")
    }

    /// Runs a command line through `bash`.
    #[track_caller]
    fn bash(&self, command: &str) -> Said {
        Said::of(
            &self.gateway.call("bash", json!({ "cmd": command })),
            "exit_code",
        )
    }

    /// Runs a program freely in the copy of the workspace.
    #[track_caller]
    fn freely(&self, argv: &[String]) -> Said {
        let output = self.command(argv).output().expect("the program");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        Said {
            text: format!("{stdout}{}", String::from_utf8_lossy(&output.stderr)),
            stdout,
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// A program in the copy of the workspace, as free as this test.
    fn command(&self, argv: &[String]) -> Command {
        let mut command = Command::new(&argv[0]);
        command
            .args(&argv[1..])
            .env_clear()
            .env("PATH", SEARCH_PATH)
            .env("HOME", self.free())
            .current_dir(self.free())
            .stdin(Stdio::null());
        command
    }

    /// That the canary is neither in `said` nor in the workspace.
    #[track_caller]
    fn assert_untold(&self, said: &Said, what: &str) {
        assert!(!said.text.contains(&self.canary), "{what} told: {said:?}");
        assert!(!self.holds_canary(&self.work()), "{what} took it: {said:?}");
    }

    fn holds_canary(&self, folder: &Path) -> bool {
        let canary = self.canary.as_bytes();
        let holds = |bytes: &[u8]| bytes.windows(canary.len()).any(|part| part == canary);
        tree(folder)
            .iter()
            .any(|(name, bytes)| name.contains(&self.canary) || holds(bytes))
    }

    /// How many processes the gateway has as its children, beside the keeper that ends
    /// them should it be killed.
    fn children(&self) -> usize {
        let pid = self.gateway.daemon.pid().to_string();
        let is_keeper = |process: &PathBuf| {
            let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
            line.ends_with(b"\0keeper\0")
        };
        processes()
            .filter(|process| parent(process) == Some(pid.clone()) && !is_keeper(process))
            .count()
    }

    /// That the gateway answers, and that nothing it started is left.
    #[track_caller]
    fn assert_well(&self) {
        assert_eq!(self.gateway.get("/readyz").status, 200);
        crate::harness::eventually("no program runs", || self.children() == 0);
        assert_eq!(self.bash("echo well").stdout, "well\n");
    }
}

impl Said {
    #[track_caller]
    fn of(answer: &Value, code: &str) -> Self {
        assert_eq!(answer["ok"], true, "{answer}");
        let result = &answer["result"];
        let stream = |name: &str| result[name].as_str().expect("text").to_owned();
        let stdout = stream("stdout");
        Self {
            text: format!("{stdout}{}", stream("stderr")),
            stdout,
            code: i32::try_from(result[code].as_i64().expect("a code")).expect("a code"),
        }
    }
}

/// A command line as an argv, for the control.
fn bash_argv(script: &str) -> Vec<String> {
    ["bash", "--noprofile", "--norc", "-c", script]
        .map(str::to_owned)
        .to_vec()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// The folders of all processes in `/proc`.
fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir("/proc").expect("the processes");
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(is_number))
}

fn is_number(name: &std::ffi::OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The parent's id of a process that is more than a zombie.
fn parent(process: &Path) -> Option<String> {
    let status = std::fs::read_to_string(process.join("status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next().map(str::to_owned)
    };
    (field("State:")? != "Z").then(|| field("PPid:"))?
}

/// A number of a process's `/proc/PID/status`, in bytes where that says kB.
fn status_bytes(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.expect("a number") * 1024
}

/// The processes that carry `mark` in their arguments or their environment.
fn marked(mark: &str) -> Vec<i32> {
    let carries = |process: &PathBuf| {
        ["cmdline", "environ"].iter().any(|file| {
            let bytes = std::fs::read(process.join(file)).unwrap_or_default();
            bytes
                .windows(mark.len())
                .any(|part| part == mark.as_bytes())
        })
    };
    processes()
        .filter(carries)
        .filter_map(|process| process.file_name()?.to_str()?.parse().ok())
        .collect()
}
