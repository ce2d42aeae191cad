//! A second process that outlives a gateway killed without warning, just long enough to kill the
//! programs that the gateway had started.
//!
//! Every program announces its own group to the keeper before it starts, over a socket whose other
//! end it holds open until then: at no moment can the gateway die and leave a program unknown to the
//! keeper. When the last holder of that end is gone, the keeper kills the remaining groups and exits.
#![allow(unsafe_code)] // pre_exec, and a call that is safe there

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use rustix::process::Pid;
use tokio::process::Command;

use super::groups::{ProcessGroup, end_all};

/// The supervisor's side.
#[derive(Debug, Clone)]
pub(super) struct Keeper(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    program: PathBuf,
    args: Vec<String>,
    link: Mutex<KeeperLink>,
}

#[derive(Debug, Default)]
struct KeeperLink {
    /// Connected once the first program was started.
    socket: Option<KeeperSocket>,
    /// The groups running now.
    groups: BTreeSet<u32>,
}

impl Keeper {
    pub(super) fn new(program: PathBuf, args: Vec<String>) -> Self {
        Self(Arc::new(Inner {
            program,
            args,
            link: Mutex::default(),
        }))
    }

    /// Ensures that a keeper runs, and makes `command` announce its group before its program starts.
    pub(super) fn watch(&self, command: &mut Command) -> io::Result<()> {
        let socket = self.socket()?;
        // SAFETY: `announce` only makes system calls: it does not allocate, take locks, or touch
        // state another thread may have been changing at the moment of the fork.
        unsafe {
            command.pre_exec(move || {
                socket.announce();
                Ok(())
            });
        }
        Ok(())
    }

    /// A socket to a live keeper.
    fn socket(&self) -> io::Result<KeeperSocket> {
        let mut link = self.0.link.lock().unwrap_or_else(|held| held.into_inner());
        if let Some(open) = link
            .socket
            .as_ref()
            .filter(|open| open.send_line("\n").is_ok())
        {
            return Ok(open.clone());
        }
        let fresh = self.start()?;
        // A keeper that died is replaced by one with the same knowledge.
        for group in &link.groups {
            fresh.send_line(&format!("+{group}\n"))?;
        }
        link.socket = Some(fresh.clone());
        Ok(fresh)
    }

    /// Remembers an announced group for a replacement keeper.
    pub(super) fn started(&self, group: u32) {
        let mut link = self.0.link.lock().unwrap_or_else(|held| held.into_inner());
        link.groups.insert(group);
    }

    /// Announces a group that a program is about to create.
    pub(super) fn announce(&self, group: u32) -> io::Result<()> {
        let socket = self.socket()?;
        self.started(group);
        socket.send_line(&format!("+{group}\n"))
    }

    /// Reports a group that is gone.
    pub(super) fn ended(&self, group: u32) {
        self.notify(Some(group), &format!("-{group}\n"));
    }

    /// Makes the keeper drop a group that announced itself but whose program failed to start.
    pub(super) fn failed(&self) {
        self.notify(None, "?\n");
    }

    fn notify(&self, gone: Option<u32>, message: &str) {
        let mut link = self.0.link.lock().unwrap_or_else(|held| held.into_inner());
        if let Some(gone) = gone {
            link.groups.remove(&gone);
        }
        if let Some(open) = &link.socket {
            let _ = open.send_line(message); // the next program that starts finds it gone
        }
    }

    #[allow(clippy::disallowed_methods)] // the keeper is the one program that must outlive its supervisor
    fn start(&self) -> io::Result<KeeperSocket> {
        use std::os::unix::process::CommandExt;
        let (ours, its) = UnixStream::pair()?;
        let mut child = std::process::Command::new(&self.0.program)
            .args(&self.0.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(its)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        // It exits by itself when the socket closes; the thread reaps it.
        std::thread::Builder::new()
            .name("keeper".to_owned())
            .stack_size(64 * 1024)
            .spawn(move || child.wait())?;
        Ok(KeeperSocket(Arc::new(ours)))
    }
}

/// A socket to the keeper, closed when the last holder is gone. A program that is about to start
/// holds it too.
#[derive(Debug, Clone)]
struct KeeperSocket(Arc<UnixStream>);

impl KeeperSocket {
    /// Sends a short message in one piece: several threads may send at the same time.
    fn send_line(&self, message: &str) -> io::Result<()> {
        self.send(message.as_bytes())
    }

    /// Announces the calling process between fork and exec.
    fn announce(&self) {
        // format! would allocate, which is not async-signal-safe between fork and exec.
        let mut message = [0; 12];
        let mut at = message.len() - 1;
        message[at] = b'\n';
        let mut number = std::process::id();
        while number > 0 {
            at -= 1;
            message[at] = b'0' + (number % 10) as u8;
            number /= 10;
        }
        at -= 1;
        message[at] = b'+';
        let _ = self.send(&message[at..]); // the next program that starts finds the keeper gone
    }

    fn send(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: the descriptor is open as long as `self`, and the buffer has the given length.
        // MSG_NOSIGNAL: writing to a keeper that is gone must not kill the sender with SIGPIPE.
        let sent = unsafe {
            libc::send(
                self.0.as_raw_fd(),
                message.as_ptr().cast(),
                message.len(),
                libc::MSG_NOSIGNAL,
            )
        };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

/// The keeper's main loop: reads announcements until the supervisor is gone, then kills what is left.
pub fn run_keeper(input: impl Read) {
    let mut groups = BTreeMap::new();
    for line in BufReader::new(input).lines().map_while(Result::ok) {
        let number = line.get(1..).and_then(|number| number.parse::<i32>().ok());
        match (line.as_bytes().first(), number.and_then(Pid::from_raw)) {
            (Some(b'+'), Some(group)) => {
                groups.insert(group.as_raw_nonzero(), ProcessGroup::led_by(group));
            }
            // A number that was reused after `-` must not be killed, so ended groups are dropped at once.
            (Some(b'-'), Some(group)) => drop(groups.remove(&group.as_raw_nonzero())),
            (Some(b'?'), None) => groups.retain(|_, group| !group.is_over()),
            _ => {}
        }
    }
    let groups: Vec<ProcessGroup> = groups.into_values().collect();
    let mut over = false;
    for _ in 0..PASSES {
        // A shell in a terminal makes groups that were never announced. Once more after the leaders have ended, because
        // they start programs while a pass looks for them.
        let gone = groups
            .iter()
            .fold(true, |gone, group| group.end_session() & gone);
        if over && gone {
            break;
        }
        over = end_all(&groups);
        pause();
    }
}

/// How many times the keeper retries, five milliseconds apart.
const PASSES: usize = 40;

fn pause() {
    // SAFETY: no descriptors at all, and a timeout in milliseconds.
    unsafe { libc::poll(std::ptr::null_mut(), 0, 5) };
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // starts the programs that the keeper is to kill
mod tests {
    use super::*;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Command;

    #[test]
    fn running_groups_are_killed_when_the_pipe_closes_and_ended_ones_are_not() {
        let sleeper = || {
            Command::new("/bin/sleep")
                .arg("1000")
                .process_group(0)
                .spawn()
                .unwrap()
        };
        let (mut left, mut ended) = (sleeper(), sleeper());
        let announcements = format!(
            "+{}\n+{}\nnonsense\n-{}\n",
            left.id(),
            ended.id(),
            ended.id()
        );
        run_keeper(announcements.as_bytes());
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        assert!(ended.try_wait().unwrap().is_none(), "it goes on");
        ended.kill().unwrap();
        ended.wait().unwrap();
    }
    #[test]
    fn a_check_drops_ended_groups_and_keeps_running_ones() {
        let mut sleeper = Command::new("/bin/sleep")
            .arg("1000")
            .process_group(0)
            .spawn()
            .unwrap();
        let mut brief = Command::new("/bin/true").process_group(0).spawn().unwrap();
        brief.wait().unwrap();
        let announcements = format!("+{}\n+{}\n?\n", sleeper.id(), brief.id());
        run_keeper(announcements.as_bytes());
        assert_eq!(sleeper.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_program_announces_itself_before_it_starts_and_holds_the_socket_until_then() {
        let (ours, its) = UnixStream::pair().unwrap();
        let socket = KeeperSocket(Arc::new(ours));
        let mut command = Command::new("/bin/true");
        let announcing = socket.clone();
        // SAFETY: as in the code that is tested.
        unsafe {
            command.pre_exec(move || {
                announcing.announce();
                Ok(())
            });
        }
        let mut child = command.spawn().unwrap();
        child.wait().unwrap();
        drop((command, socket));
        let mut received = String::new();
        (&its).read_to_string(&mut received).unwrap();
        assert_eq!(received, format!("+{}\n", child.id()));
    }

    #[test]
    fn writing_to_a_dead_keeper_fails_without_a_signal() {
        let (ours, its) = UnixStream::pair().unwrap();
        let socket = KeeperSocket(Arc::new(ours));
        socket.send_line("\n").unwrap();
        drop(its);
        assert!(socket.send_line("\n").is_err());
        socket.announce();
    }
}
