//! Seccomp notifications: receiving calls, reading the caller's memory, sending replies.
#![allow(unsafe_code)] // calls that no safe crate offers

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;

/// The longest path the kernel accepts, including its final NUL.
const PATH_MAX: usize = 4096;
/// Memory is mapped in pages; no supported machine has smaller ones.
const PAGE: u64 = 4096;

/// A suspended system call.
#[derive(Debug)]
pub(super) struct SuspendedCall {
    id: u64,
    /// The thread that made it, whose files and memory are meant.
    pub(super) thread: i32,
    pub(super) number: i64,
    pub(super) arguments: [u64; 6],
}

/// The reply to a call.
#[derive(Debug)]
pub(super) enum SyscallReply {
    /// Success, without the kernel doing anything.
    Done,
    /// The kernel executes the call itself.
    Continue,
    Failed(Errno),
}

pub(super) struct SeccompListener(OwnedFd);

impl SeccompListener {
    pub(super) fn new(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// The next call; `None` when no program is left that could make one, or when the other end
    /// of `until` is closed.
    pub(super) fn next(&self, until: &UnixStream) -> Option<SuspendedCall> {
        loop {
            let watched = |descriptor| libc::pollfd {
                fd: descriptor,
                events: libc::POLLIN,
                revents: 0,
            };
            let mut both = [watched(self.0.as_raw_fd()), watched(until.as_raw_fd())];
            // SAFETY: two entries that outlive the call.
            let ready = unsafe { libc::poll(both.as_mut_ptr(), 2, -1) };
            if ready < 0 && Errno::from_io_error(&io::Error::last_os_error()) == Some(Errno::INTR) {
                continue;
            }
            if ready < 0 || both[1].revents != 0 || both[0].revents & libc::POLLIN == 0 {
                return None;
            }
            // SAFETY: all zeroes is what the kernel asks for, and it writes no more than this type.
            let mut notice: libc::seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: as above. A notification is pending and this thread is the only reader, so the call
            // does not block; a caller killed meanwhile yields an error, and the loop takes the next one.
            let got = unsafe {
                libc::ioctl(
                    self.0.as_raw_fd(),
                    libc::SECCOMP_IOCTL_NOTIF_RECV,
                    &raw mut notice,
                )
            };
            if got == 0 {
                return Some(SuspendedCall {
                    id: notice.id,
                    thread: notice.pid.cast_signed(),
                    number: notice.data.nr.into(),
                    arguments: notice.data.args,
                });
            }
        }
    }

    /// Whether the caller is still suspended in this call. If so, its thread id has not been reused,
    /// and everything read through that id so far was the caller's own.
    pub(super) fn is_valid(&self, call: &SuspendedCall) -> bool {
        // SAFETY: the kernel reads one number that outlives the call.
        let answer = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
                &raw const call.id,
            )
        };
        answer == 0
    }

    pub(super) fn answer(&self, call: &SuspendedCall, answer: SyscallReply) {
        let (error, flags) = match answer {
            SyscallReply::Done => (0, 0),
            SyscallReply::Continue => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
            SyscallReply::Failed(error) => (-error.raw_os_error(), 0),
        };
        let mut reply = libc::seccomp_notif_resp {
            id: call.id,
            val: 0,
            error,
            flags,
        };
        // SAFETY: the kernel reads a structure that outlives the call. A caller that is gone needs
        // no answer.
        let _ = unsafe {
            libc::ioctl(
                self.0.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SEND,
                &raw mut reply,
            )
        };
    }
}

impl SuspendedCall {
    /// The path at an address in the caller's memory.
    pub(super) fn path(&self, address: u64) -> Result<Vec<u8>, Errno> {
        let mut path = Vec::new();
        let mut room = [0; PAGE as usize];
        while path.len() < PATH_MAX {
            let at = address.checked_add(path.len() as u64).ok_or(Errno::FAULT)?;
            // Only up to the end of a page: the next page may be unmapped, and the path may not need it.
            let whole = (PAGE - at % PAGE) as usize;
            let part = &mut room[..whole.min(PATH_MAX - path.len())];
            self.read(at, part)?;
            if let Some(end) = part.iter().position(|byte| *byte == 0) {
                path.extend_from_slice(&part[..end]);
                return Ok(path);
            }
            path.extend_from_slice(part);
        }
        Err(Errno::NAMETOOLONG)
    }

    /// Numbers at an address in the caller's memory.
    pub(super) fn numbers<const COUNT: usize>(&self, address: u64) -> Result<[i64; COUNT], Errno> {
        let mut bytes = vec![0; COUNT * 8];
        self.read(address, &mut bytes)?;
        let mut numbers = [0; COUNT];
        for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
            *number = i64::from_ne_bytes(*bytes);
        }
        Ok(numbers)
    }

    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Errno> {
        let ours = libc::iovec {
            iov_base: into.as_mut_ptr().cast(),
            iov_len: into.len(),
        };
        let theirs = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(address as usize),
            iov_len: into.len(),
        };
        // SAFETY: `ours` is writable and as long as said; the kernel checks the other address.
        let read = unsafe {
            libc::process_vm_readv(self.thread, &raw const ours, 1, &raw const theirs, 1, 0)
        };
        match usize::try_from(read) {
            Ok(read) if read == into.len() => Ok(()),
            Ok(_) => Err(Errno::FAULT),
            // Not allowed, for example for an orphaned process with Yama's ptrace_scope = 1.
            Err(_) if io::Error::last_os_error().raw_os_error() == Some(libc::EPERM) => {
                Err(Errno::PERM)
            }
            Err(_) => Err(Errno::FAULT),
        }
    }
}
