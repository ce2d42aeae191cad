//! The process groups that a sandboxed program creates besides its own, so that they end with it.
//!
//! Each is recorded here and with the keeper before it exists, while the program is suspended in
//! its system call. Once the list is closed, no new group can be created.
#![allow(unsafe_code)] // a flag of pidfd_send_signal and an answer of getsid that no safe crate offers

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal,
    test_kill_process_group,
};

use super::keeper::Keeper;
use crate::sandbox::GroupPolicy;

/// Maximum number of additional groups per program at a time.
const MOST: usize = 64;

/// A process group, identified by a handle of its leader so that a reused number is never signalled.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    number: Pid,
    /// `None` if the leader had already exited.
    leader: Option<OwnedFd>,
}

impl ProcessGroup {
    pub(super) fn led_by(number: Pid) -> Self {
        Self {
            number,
            leader: pidfd_open(number, PidfdFlags::empty()).ok(),
        }
    }

    /// Sends a signal to all members; 0 only checks that there are any.
    fn signal(&self, signal: i32) -> Result<(), Errno> {
        /// Since Linux 6.9: signal the group led by this process, even if the process has exited.
        const PROCESS_GROUP: libc::c_uint = 1 << 2;
        if let Some(leader) = &self.leader {
            // SAFETY: an open descriptor, plain numbers, and no further information.
            let sent = unsafe {
                libc::syscall(
                    libc::SYS_pidfd_send_signal,
                    leader.as_raw_fd(),
                    signal,
                    std::ptr::null::<libc::siginfo_t>(),
                    PROCESS_GROUP,
                )
            };
            let error = (sent < 0).then(io::Error::last_os_error);
            match error.as_ref().and_then(Errno::from_io_error) {
                None => return Ok(()),
                Some(Errno::INVAL) => {} // an older kernel
                Some(error) => return Err(error),
            }
        }
        if self.is_anothers() {
            return Err(Errno::SRCH);
        }
        match Signal::from_named_raw(signal) {
            Some(signal) => kill_process_group(self.number, signal),
            None => test_kill_process_group(self.number),
        }
    }

    /// Whether the number now belongs to another process. The kernel does not reuse a number while
    /// its group has members, so a running leader is ours unless ours has exited.
    fn is_anothers(&self) -> bool {
        let now = Process::read(self.number.as_raw_nonzero().get());
        self.leader.is_some() && self.leader_ended() && now.is_some_and(|now| !now.zombie)
    }

    fn leader_ended(&self) -> bool {
        let Some(leader) = &self.leader else {
            return true;
        };
        let mut watched = libc::pollfd {
            fd: leader.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one entry that outlives the call, which does not wait.
        unsafe { libc::poll(&raw mut watched, 1, 0) > 0 }
    }

    /// Kills the session that its leader leads, if it leads one; true if no member but the leader is left.
    pub(super) fn end_session(&self) -> bool {
        // The kernel does not reuse a number while a session of that number has members.
        self.is_anothers() || end_session(self.number)
    }

    /// Whether it has no members and will get none. A leader that still runs may be about to create it.
    pub(super) fn is_over(&self) -> bool {
        self.leader_ended() && self.signal(0) == Err(Errno::SRCH)
    }
}

/// Kills all `groups`; true if none has members left.
///
/// Several passes: a process that moves between two groups during a pass can be missed by it. Once
/// the list is closed, only moves that were already allowed can still happen.
pub(super) fn end_all(groups: &[ProcessGroup]) -> bool {
    for _ in 0..3 {
        for group in groups {
            let _ = group.signal(Signal::KILL.as_raw());
        }
    }
    groups.iter().all(ProcessGroup::is_over)
}

/// Kills every process of a session but its leader; true if there is none left. The caller knows that the number is
/// still that session's.
pub(super) fn end_session(session: Pid) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return true;
    };
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let members = numbers
        .filter_map(Pid::from_raw)
        .filter(|process| *process != session);
    let mut gone = true;
    for process in members {
        // By handle, and asked for its session only then: the number may have got another owner.
        let Ok(handle) = pidfd_open(process, PidfdFlags::empty()) else {
            continue;
        };
        if in_session(process, session) && pidfd_send_signal(&handle, Signal::KILL).is_ok() {
            gone &= Process::read(process.as_raw_nonzero().get()).is_none_or(|now| now.zombie);
        }
    }
    gone
}

fn in_session(process: Pid, session: Pid) -> bool {
    // Not rustix's, which panics where the answer is 0: for the kernel's own threads.
    // SAFETY: a plain number as argument.
    let found = unsafe { libc::getsid(process.as_raw_nonzero().get()) };
    found == session.as_raw_nonzero().get()
}

/// The groups of one program besides its own.
#[derive(Debug)]
pub(super) struct ExtraGroups {
    own: Pid,
    keeper: Option<Keeper>,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    closed: bool,
    groups: Vec<ProcessGroup>,
}

impl ExtraGroups {
    pub(super) fn beside(own: Pid, keeper: Option<Keeper>) -> Self {
        Self {
            own,
            keeper,
            list: Mutex::default(),
        }
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(|held| held.into_inner())
    }

    /// Sends SIGTERM to all.
    pub(super) fn terminate(&self) {
        for group in &self.list().groups {
            let _ = group.signal(Signal::TERM.as_raw());
        }
    }

    /// Closes the list and kills all groups; true if none is left.
    pub(super) fn end(&self) -> bool {
        let mut list = self.list();
        list.closed = true;
        end_all(&list.groups)
    }

    fn forget(&self, group: &ProcessGroup) {
        if let Some(keeper) = &self.keeper {
            keeper.ended(group.number.as_raw_nonzero().get().unsigned_abs());
        }
    }

    /// Records the group that `leader` is about to create, if `is_callers` confirms that the number
    /// still belongs to the caller or its child. A reused number would get strangers killed.
    fn record(&self, leader: Pid, is_callers: impl Fn() -> bool) -> Result<(), Errno> {
        let mut list = self.list();
        if list.closed {
            return Err(Errno::PERM);
        }
        if leader == self.own {
            return Ok(());
        }
        list.groups.retain(|group| {
            let over = group.is_over();
            if over {
                self.forget(group);
            }
            !over
        });
        if list.groups.iter().any(|group| group.number == leader) {
            return Ok(());
        }
        if list.groups.len() >= MOST {
            return Err(Errno::PERM);
        }
        let group = ProcessGroup::led_by(leader);
        // In this order: a process that is alive after the check had this number during it.
        if !is_callers() || group.leader_ended() {
            return Err(Errno::SRCH);
        }
        if let Some(keeper) = &self.keeper {
            let number = leader.as_raw_nonzero().get().unsigned_abs();
            keeper.announce(number).map_err(|_| Errno::AGAIN)?;
        }
        list.groups.push(group);
        Ok(())
    }
}

impl Drop for ExtraGroups {
    fn drop(&mut self) {
        for group in std::mem::take(&mut self.list().groups) {
            self.forget(&group);
        }
    }
}

impl GroupPolicy for ExtraGroups {
    fn session(&self, caller: i32, suspended: &dyn Fn() -> bool) -> Result<(), Errno> {
        let caller = Process::read(caller).ok_or(Errno::SRCH)?;
        self.record(caller.id, suspended)
    }

    fn group(
        &self,
        caller: i32,
        process: i32,
        group: i32,
        suspended: &dyn Fn() -> bool,
    ) -> Result<(), Errno> {
        if process < 0 || group < 0 {
            return Err(Errno::INVAL);
        }
        let caller = Process::read(caller).ok_or(Errno::SRCH)?.id;
        let process = Pid::from_raw(process).unwrap_or(caller);
        let is_callers = || {
            let found = Process::read(process.as_raw_nonzero().get());
            let child = found.is_some_and(|p| p.id == process && p.parent == Some(caller));
            (process == caller || child) && suspended()
        };
        // Refused here instead of by the kernel: by then the number could belong to a new child,
        // whose group would not be recorded.
        if !is_callers() {
            return Err(Errno::SRCH);
        }
        let group = Pid::from_raw(group).unwrap_or(process);
        if group == process {
            return self.record(process, is_callers);
        }
        // Other groups in the gateway's session, including its own, would not end with the call.
        let list = self.list();
        let known = group == self.own || list.groups.iter().any(|known| known.number == group);
        if known && !list.closed {
            Ok(())
        } else {
            Err(Errno::PERM)
        }
    }
}

/// The fields of `/proc/PID/status` that matter here.
#[derive(Debug)]
struct Process {
    id: Pid,
    parent: Option<Pid>,
    zombie: bool,
}

impl Process {
    /// Reads the process that a thread belongs to.
    fn read(thread: i32) -> Option<Self> {
        let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()
        };
        let id = |name| field(name)?.parse().ok().and_then(Pid::from_raw);
        Some(Self {
            id: id("Tgid:")?,
            parent: id("PPid:"),
            zombie: field("State:") == Some("Z"),
        })
    }
}
