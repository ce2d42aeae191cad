//! A user with a service manager: programs named `systemctl`, `journalctl`, `launchctl` and `xdg-open` that really
//! start, stop and follow one gateway, and note how they were called.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal};

use crate::harness::{BINARY, Home, Ran, eventually, free_address, run};
use crate::http::{Connection, Request};

const SYSTEMCTL: &str = include_str!("systemctl.sh");
const JOURNALCTL: &str = include_str!("journalctl.sh");
const LAUNCHCTL: &str = include_str!("launchctl.sh");
const XDG_OPEN: &str = "#!/bin/sh\necho \"$1\" >> \"@STATE@/opened\"\n";

/// The user, and the gateway that the service manager runs.
pub struct Stage {
    pub home: Home,
    pub address: std::net::SocketAddr,
}

impl Stage {
    /// A user whose gateway will listen on an address of its own.
    pub fn new() -> Self {
        Self::with_config("")
    }

    /// The same, with more settings.
    pub fn with_config(more: &str) -> Self {
        let address = free_address();
        let home = Home::new().with_config(&format!(
            "listen = \"{address}\"\nnode.enabled = false\n{more}"
        ));
        let stage = Self { home, address };
        for folder in ["state", "bin", "tools"] {
            std::fs::create_dir(stage.path(folder)).expect("a folder");
        }
        for (name, text) in [
            ("systemctl", SYSTEMCTL),
            ("journalctl", JOURNALCTL),
            ("launchctl", LAUNCHCTL),
            ("xdg-open", XDG_OPEN),
        ] {
            let state = stage.path("state").display().to_string();
            let text = text.replace("@STATE@", &state);
            script(&stage.path("tools").join(name), &text);
        }
        link(Path::new(BINARY), &stage.program());
        stage
    }

    /// A path beside the home.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.outside(name)
    }

    /// The installed program.
    pub fn program(&self) -> PathBuf {
        self.path("bin/manyhands")
    }

    /// The unit of the gateway.
    pub fn unit(&self) -> PathBuf {
        self.path("user/.config/systemd/user/manyhands.service")
    }

    /// A command of the installed program, which finds the service manager.
    pub fn command(&self, args: &[&str]) -> Command {
        self.command_of(&self.program(), args)
    }

    /// A command of this program.
    pub fn command_of(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = self.home.wrap(Command::new(program));
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.path("tools").display());
        command.env("PATH", path).args(args);
        command
    }

    /// Runs the installed program.
    #[track_caller]
    pub fn cli(&self, args: &[&str]) -> Ran {
        run(self.command(args), "")
    }

    /// Installs the service.
    #[track_caller]
    pub fn install(&self) -> Ran {
        self.cli(&["install", "--no-browser"]).ok()
    }

    /// What the service manager was asked to do.
    pub fn calls(&self) -> String {
        self.read("state/calls")
    }

    /// What was opened in the browser.
    pub fn opened(&self) -> String {
        self.read("state/opened")
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The process that the service manager runs.
    pub fn pid(&self) -> Option<Pid> {
        let pid = self.read("state/pid").trim().parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // Ended, and nobody has asked how.
        (!stat.contains(") Z ")).then(|| Pid::from_raw(pid))?
    }

    /// Whether the gateway answers that it is ready.
    pub fn is_ready(&self) -> bool {
        let asked = Connection::open(self.address)
            .and_then(|mut connection| connection.send(&Request::get("/readyz")));
        asked.is_ok_and(|answer| answer.status == 200)
    }

    /// Kills the gateway without any warning.
    pub fn kill_gateway(&self) {
        if let Some(pid) = self.pid() {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            eventually("the gateway is gone", || self.pid().is_none());
        }
    }

    /// Kills whoever calls the service manager with this verb, before or after it is done; once.
    pub fn kill_at(&self, when: &str, verb: &str) {
        std::fs::write(self.path(&format!("state/kill-{when}-{verb}")), "").expect("a note");
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "--- calls of the service manager\n{}--- log of the gateway\n{}",
                self.calls(),
                self.read("state/log")
            );
        }
        self.kill_gateway();
    }
}

/// Writes a program.
pub fn script(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a program");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("a mode");
}

/// The same program under another name, without a copy where the file system allows it.
pub fn link(program: &Path, name: &Path) {
    // Never copied onto a second name of the same file, which would empty it.
    let _ = std::fs::remove_file(name);
    if std::fs::hard_link(program, name).is_err() {
        std::fs::copy(program, name).expect("a copy of the program");
    }
}
