//! A process group, from its start until its last member is gone.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::process::Child;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::groups::{ExtraGroups, end_session};
use super::keeper::Keeper;

/// Time a program gets to clean up after it was asked to stop.
const STOP_GRACE: Duration = Duration::from_millis(250);

/// How long to wait for killed extra groups to disappear, and how often to check.
const GONE_WITHIN: Duration = Duration::from_millis(100);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// It was killed by a signal, such as `SIGKILL`.
    Signal(String),
}

/// How and when the leader ended.
#[derive(Debug)]
pub(super) struct LeaderExit {
    pub(super) exit: Exit,
    pub(super) timed_out: bool,
    pub(super) duration: Duration,
}

/// A group whose leader has not been reaped, so that its id cannot be reused. Dropping it kills
/// the group, which happens when the runtime shuts down around it.
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    others: Arc<ExtraGroups>,
    /// Readable once the leader has exited, reaped or not.
    ended: AsyncFd<OwnedFd>,
    started: Instant,
    reaped: bool,
    /// Whether the leader leads a session as well, in which a shell makes a group per command.
    session: bool,
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
        }
    }
}

impl Group {
    pub(super) fn led_by(child: &Child, keeper: Option<Keeper>, session: bool) -> io::Result<Self> {
        let leader = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other("the program has no process id"))?;
        match watch(leader) {
            Ok(ended) => Ok(Self {
                leader,
                others: Arc::new(ExtraGroups::beside(leader, keeper)),
                ended,
                started: Instant::now(),
                reaped: false,
                session,
            }),
            Err(error) => {
                let _ = kill_process_group(leader, Signal::KILL);
                Err(error)
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.leader.as_raw_nonzero().get().unsigned_abs()
    }

    /// The groups that its program creates.
    pub(super) fn others(&self) -> Arc<ExtraGroups> {
        Arc::clone(&self.others)
    }

    /// Runs until the group ends: by itself, by `timeout`, or by `stop`.
    pub(super) async fn keep(
        mut self,
        mut child: Child,
        timeout: Option<Duration>,
        stop: CancellationToken,
    ) -> io::Result<LeaderExit> {
        let out_of_time = async {
            match timeout {
                Some(timeout) => tokio::time::sleep_until(self.started + timeout).await,
                None => std::future::pending().await,
            }
        };
        let mut timed_out = false;
        let asked_to_stop = tokio::select! {
            biased;
            ended = self.leader_ended() => { ended?; false }
            () = out_of_time => { timed_out = true; true }
            () = stop.cancelled() => true,
        };
        if asked_to_stop {
            // What a terminal sends when it is closed: interactive shells ignore SIGTERM.
            let signal = match self.session {
                true => Signal::HUP,
                false => Signal::TERM,
            };
            let _ = kill_process_group(self.leader, signal);
            self.others.terminate();
            let _ = tokio::time::timeout(STOP_GRACE, self.leader_ended()).await;
        }
        // The leader is not reaped yet, so its id cannot belong to another process.
        if !self.kill() {
            let gone = async {
                while !self.kill() {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            };
            let _ = tokio::time::timeout(GONE_WITHIN, gone).await;
        }
        self.leader_ended().await?;
        let duration = self.started.elapsed();
        self.reaped = true;
        let status = child.wait().await?;
        Ok(LeaderExit {
            exit: exit_of(status),
            timed_out,
            duration,
        })
    }

    async fn leader_ended(&self) -> io::Result<()> {
        self.ended.readable().await?.retain_ready();
        Ok(())
    }

    /// Kills the group and those its program created; true if none of the latter is left.
    fn kill(&self) -> bool {
        // Its own group first: a process moving from it to another group is then hit in one of them.
        let _ = kill_process_group(self.leader, Signal::KILL);
        let gone = self.others.end();
        let _ = kill_process_group(self.leader, Signal::KILL);
        gone & (!self.session || end_session(self.leader))
    }
}

/// A descriptor that becomes readable when the leader has exited.
#[allow(deprecated)] // unsound only for handles that change their descriptor; an OwnedFd does not
fn watch(leader: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    let fd = pidfd_open(leader, PidfdFlags::empty())?;
    AsyncFd::with_interest(fd, Interest::READABLE)
}

fn exit_of(status: ExitStatus) -> Exit {
    match status.signal() {
        Some(signal) => Exit::Signal(signal_name(signal)),
        None => Exit::Code(status.code().unwrap_or(-1)),
    }
}

fn signal_name(number: i32) -> String {
    let known = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    known
        .into_iter()
        .find(|(signal, _)| signal.as_raw() == number)
        .map_or_else(|| format!("signal {number}"), |(_, name)| name.to_owned())
}
