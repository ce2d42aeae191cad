//! Small calls to a node, beside ssh over a connection that is already open.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{Node, beside, median, run};
use crate::daemon::Daemon;

const RUNS: usize = 51;

/// A local sshd with keys of its own, and one open connection to it.
pub struct Ssh {
    server: Child,
    dir: TempDir,
    port: u16,
}

impl Ssh {
    /// Starts it; `None` where there is no sshd.
    pub fn start() -> Result<Option<Self>, Box<dyn Error>> {
        let sshd = PathBuf::from("/usr/sbin/sshd");
        if !sshd.exists() {
            println!("no sshd on this machine: install openssh-server to compare with ssh and scp");
            return Ok(None);
        }
        let dir = tempfile::tempdir()?;
        let file = |name: &str| dir.path().join(name).display().to_string();
        for key in ["host", "user"] {
            run(
                "ssh-keygen",
                &["-q", "-t", "ed25519", "-N", "", "-f", &file(key)],
            )?;
        }
        std::fs::copy(file("user.pub"), file("authorized"))?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?
            .local_addr()?
            .port();
        std::fs::create_dir_all("/run/sshd")?;
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n",
            file("host"),
            file("authorized"),
        );
        std::fs::write(file("sshd_config"), config)?;
        let server = Command::new(sshd)
            .args(["-D", "-e", "-f", &file("sshd_config")])
            .stderr(Stdio::null())
            .spawn()?;
        let ssh = Self { server, dir, port };
        let began = Instant::now();
        while run(
            "ssh",
            &ssh.args(&["true"])?
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
        )
        .is_err()
        {
            if began.elapsed() > Duration::from_secs(10) {
                return Err("sshd does not let us in".into());
            }
        }
        Ok(Some(ssh))
    }

    fn options(&self) -> Vec<String> {
        let file = |name: &str| self.dir.path().join(name).display().to_string();
        [
            "-q".to_owned(),
            "-F".to_owned(),
            "none".to_owned(),
            "-i".to_owned(),
            file("user"),
        ]
        .into_iter()
        .chain(
            [
                "StrictHostKeyChecking=no".to_owned(),
                "UserKnownHostsFile=/dev/null".to_owned(),
                "ControlMaster=auto".to_owned(),
                "ControlPersist=60".to_owned(),
                format!("ControlPath={}", file("control")),
            ]
            .into_iter()
            .flat_map(|option| ["-o".to_owned(), option]),
        )
        .collect()
    }

    /// The arguments of ssh for a command.
    fn args(&self, command: &[&str]) -> Result<Vec<String>, Box<dyn Error>> {
        let mut args = self.options();
        args.extend([
            "-p".to_owned(),
            self.port.to_string(),
            "127.0.0.1".to_owned(),
        ]);
        args.extend(command.iter().map(|word| (*word).to_owned()));
        Ok(args)
    }

    /// Runs a command there.
    pub fn command(&self, command: &[&str]) -> Result<(), Box<dyn Error>> {
        let args = self.args(command)?;
        run("ssh", &args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Copies a file there.
    pub fn copy(&self, from: &str, to: &str) -> Result<(), Box<dyn Error>> {
        let mut args = self.options();
        args.extend(["-P".to_owned(), self.port.to_string()]);
        args.extend([from.to_owned(), format!("127.0.0.1:{to}")]);
        run("scp", &args.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        let _ = self.command(&["-O", "exit"]);
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// `Read` of 1 KB and `Bash true`.
pub fn round_trips(binary: &Path, ssh: Option<&Ssh>) -> Result<(), Box<dyn Error>> {
    let work = tempfile::tempdir()?;
    let file = work.path().join("small.txt").display().to_string();
    std::fs::write(&file, "0123456789abcde\n".repeat(64))?;
    let daemon = Daemon::start(binary, tempfile::tempdir()?)?;
    let _node = Node::start(binary, &daemon, "bench", work.path())?;
    let mut client = daemon.client()?;
    let mut call = |tool: &str, body: &str| -> Result<(), Box<dyn Error>> {
        let (status, answer) =
            client.send("POST", &format!("/api/tools/bench__{tool}"), "", body)?;
        match status {
            200 => Ok(()),
            _ => Err(answer.into()),
        }
    };
    let read = median(RUNS * 10, || call("Read", r#"{"path":"small.txt"}"#))?;
    let bash = median(RUNS, || call("Bash", r#"{"command":"true"}"#))?;
    let Some(ssh) = ssh else {
        crate::stats::line("node Read of 1 KB", &crate::stats::micros(read), "");
        crate::stats::line("node Bash true", &crate::stats::micros(bash), "");
        return daemon.stop().map(drop);
    };
    let theirs = median(RUNS, || ssh.command(&["cat", &file]))?;
    beside(
        "node Read of 1 KB",
        read,
        ("ssh cat, multiplexed", theirs),
        " (goal 0.10)",
    );
    let theirs = median(RUNS, || ssh.command(&["true"]))?;
    beside(
        "node Bash true",
        bash,
        ("ssh true, multiplexed", theirs),
        " (goal 0.50)",
    );
    daemon.stop().map(drop)
}
