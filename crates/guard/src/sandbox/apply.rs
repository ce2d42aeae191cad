//! The child's side: between fork and exec, where only bare system calls are safe.
#![allow(unsafe_code)] // pre_exec and the calls no safe crate offers in a form fit for it

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;

use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::BpfProgram;
use tokio::process::Command;

use super::seccomp::Filters;

const CLOSE_ON_EXEC: libc::c_uint = 4; // CLOSE_RANGE_CLOEXEC
/// SECBIT_NOROOT and SECBIT_NOROOT_LOCKED.
const NO_ROOT: libc::c_ulong = 0b11;

/// Everything a child needs to confine itself, prepared before the fork. Only the supervisor can
/// apply it.
#[derive(Debug)]
pub struct PreparedSandbox {
    rules: OwnedFd,
    folders: Vec<OwnedFd>,
    filters: &'static Filters,
    limits: Vec<(Resource, Rlimit)>,
    root: bool,
}

/// The parent's end of the socket over which a child sends its seccomp listener.
#[derive(Debug)]
pub(crate) struct PendingListener {
    socket: UnixDatagram,
    folders: Vec<OwnedFd>,
}

impl PreparedSandbox {
    pub(super) fn new(
        rules: OwnedFd,
        folders: Vec<OwnedFd>,
        filters: &'static Filters,
        limits: Vec<(Resource, Rlimit)>,
    ) -> Self {
        Self {
            rules,
            folders,
            filters,
            limits,
            root: rustix::process::geteuid().is_root(),
        }
    }

    /// Makes `command` confine itself before its program starts; if that fails, the program does not
    /// start.
    pub(crate) fn confine(mut self, command: &mut Command) -> io::Result<PendingListener> {
        let (ours, its) = UnixDatagram::pair()?;
        let folders = std::mem::take(&mut self.folders);
        // SAFETY: `apply` only makes system calls on data prepared here: it does not
        // allocate, take locks, or touch state another thread may have been changing
        // at the moment of the fork. Its errors are bare error numbers.
        unsafe {
            command.pre_exec(move || self.apply(&its));
        }
        Ok(PendingListener {
            socket: ours,
            folders,
        })
    }

    fn apply(&self, parent: &UnixDatagram) -> io::Result<()> {
        for (resource, limit) in &self.limits {
            setrlimit(*resource, *limit)?;
        }
        // Descriptors of the gateway must not leak into the program, whoever opened them.
        // SAFETY: plain numbers as arguments; descriptors are only marked, not closed.
        checked(unsafe {
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_ON_EXEC)
        })?;
        if self.root {
            // With no_new_privs, set below, dropped capabilities cannot be regained. The securebits
            // are a second safeguard where a container allows setting them.
            // SAFETY: plain numbers as arguments.
            unsafe { libc::prctl(libc::PR_SET_SECUREBITS, NO_ROOT, 0, 0, 0) };
            Capabilities::none().set()?;
        }
        // SAFETY: plain numbers as arguments.
        checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
        // SAFETY: the first argument is an open Landlock ruleset, the second no flags.
        checked(unsafe {
            libc::syscall(libc::SYS_landlock_restrict_self, self.rules.as_raw_fd(), 0)
        })?;
        install(&self.filters.refused, 0)?;
        // Installed last: nobody answers brokered calls before the program runs.
        match install(&self.filters.brokered, LISTEN) {
            Ok(listener) => send(parent, listener),
            // Not supported, or a container runtime has a listener already: only one is allowed.
            Err(_) => {
                let mut instead = self.filters.unbrokered.iter();
                instead.try_for_each(|filter| install(filter, 0).map(drop))
            }
        }
    }
}

/// Create a listener; while it handles a call, non-fatal signals are deferred.
const LISTEN: libc::c_ulong =
    libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;

/// Installs a filter; with [`LISTEN`], returns the listener's descriptor.
fn install(filter: &BpfProgram, flags: libc::c_ulong) -> io::Result<RawFd> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        // The two crates declare the same kernel structure; the kernel only reads it.
        filter: filter.as_ptr().cast_mut().cast(),
    };
    // SAFETY: `program` points to `len` instructions that outlive the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    };
    checked(answer)?;
    Ok(answer as RawFd)
}

/// Room for one descriptor and its header, aligned as the kernel wants it.
type Control = [u64; 4];

/// A message of one byte that carries one descriptor.
fn message(byte: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: all zeroes is a message without address, parts or control data.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = byte;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: plain arithmetic.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as _;
    message
}

/// Sends a descriptor to the parent. The child's copy is closed when its program starts.
fn send(parent: &UnixDatagram, descriptor: RawFd) -> io::Result<()> {
    let (mut byte, mut control) = (0_u8, Control::default());
    let mut part = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    let message = message(&mut part, &mut control);
    // SAFETY: `message` has room for the header and one descriptor, and everything it points to
    // outlives the call.
    let sent = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        libc::CMSG_DATA(header)
            .cast::<RawFd>()
            .write_unaligned(descriptor);
        libc::sendmsg(parent.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    checked(sent as libc::c_long)
}

impl PendingListener {
    /// The listener of a child whose program has started, and its writable folders; `None` if it has
    /// no listener. The child sends before its program starts, so this does not block.
    pub(crate) fn receive(self) -> Option<(OwnedFd, Vec<OwnedFd>)> {
        let (mut byte, mut control) = (0_u8, Control::default());
        let mut part = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        let mut message = message(&mut part, &mut control);
        let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
        // SAFETY: everything `message` points to outlives the call; the header is looked at only
        // where the kernel wrote one, and the descriptor in it is ours alone.
        let listener = unsafe {
            let got = libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, flags);
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            if got < 0 || header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
                return None;
            }
            OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned())
        };
        Some((listener, self.folders))
    }
}

/// The capabilities of a thread, in the kernel's layout.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Capabilities([CapabilitySet; 2]);

#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct CapabilitySet {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// `_LINUX_CAPABILITY_VERSION_3`, and the calling thread.
const OF_THIS_THREAD: [u32; 2] = [0x2008_0522, 0];

impl Capabilities {
    fn none() -> Self {
        Self::default()
    }

    /// The calling thread's capabilities.
    pub(super) fn get() -> io::Result<Self> {
        let (mut header, mut sets) = (OF_THIS_THREAD, Self::none());
        // SAFETY: a header and two sets, as this version has them, that outlive the call.
        checked(unsafe {
            libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.0.as_mut_ptr())
        })?;
        Ok(sets)
    }

    /// Drops all effective capabilities except one.
    pub(super) fn only(mut self, capability: u32) -> Self {
        self.0[0].effective &= 1 << capability;
        self.0[1].effective = 0;
        self
    }

    /// Applies them to the calling thread only.
    pub(super) fn set(&self) -> io::Result<()> {
        let mut header = OF_THIS_THREAD;
        // SAFETY: as above.
        checked(unsafe { libc::syscall(libc::SYS_capset, header.as_mut_ptr(), self.0.as_ptr()) })
    }
}

fn checked(result: libc::c_long) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The Landlock version that the kernel supports and has enabled.
pub(super) fn landlock_abi() -> Option<i32> {
    const ASK_VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no memory and answers a number.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0usize,
            ASK_VERSION,
        )
    };
    i32::try_from(answer).ok().filter(|abi| *abi > 0)
}

/// Whether the kernel can filter system calls and return an error.
pub(super) fn has_seccomp() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads one u32 that outlives the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            &raw const action,
        )
    };
    answer == 0
}
