//! The child's side: between fork and exec, where only bare system calls are safe.
#![allow(unsafe_code)] // pre_exec and the calls no safe crate offers in a form fit for it

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::BpfProgram;
use tokio::process::Command;

const CLOSE_ON_EXEC: libc::c_uint = 4; // CLOSE_RANGE_CLOEXEC
/// More than any kernel has today.
const LAST_CAPABILITY: libc::c_ulong = 63;

/// Everything a child needs to confine itself, ready before the fork. Only the
/// supervisor can put it to use.
#[derive(Debug)]
pub struct PreparedSandbox {
    rules: OwnedFd,
    filters: Vec<BpfProgram>,
    limits: Vec<(Resource, Rlimit)>,
    root: bool,
}

impl PreparedSandbox {
    pub(super) fn new(
        rules: OwnedFd,
        filters: Vec<BpfProgram>,
        limits: Vec<(Resource, Rlimit)>,
    ) -> Self {
        Self {
            rules,
            filters,
            limits,
            root: rustix::process::geteuid().is_root(),
        }
    }

    /// Makes `command` confine itself before its program starts; if it cannot, the
    /// program does not start.
    pub(crate) fn confine(self, command: &mut Command) {
        // SAFETY: `apply` only makes system calls on data prepared here: it does not
        // allocate, take locks, or touch state another thread may have been changing
        // at the moment of the fork. Its errors are bare error numbers.
        unsafe {
            command.pre_exec(move || self.apply());
        }
    }

    fn apply(&self) -> io::Result<()> {
        for (resource, limit) in &self.limits {
            setrlimit(*resource, *limit)?;
        }
        // What the gateway holds open is not the program's, whoever opened it.
        // SAFETY: plain numbers as arguments; descriptors are only marked, not closed.
        checked(unsafe {
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_ON_EXEC)
        })?;
        if self.root {
            for capability in 0..=LAST_CAPABILITY {
                // SAFETY: plain numbers as arguments. One that the kernel does not know is none.
                unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
            }
        }
        // SAFETY: plain numbers as arguments.
        checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
        // SAFETY: the first argument is an open Landlock ruleset, the second no flags.
        checked(unsafe {
            libc::syscall(libc::SYS_landlock_restrict_self, self.rules.as_raw_fd(), 0)
        })?;
        self.filters.iter().try_for_each(install)
    }
}

fn install(filter: &BpfProgram) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        // The two crates spell the same kernel structure; the kernel only reads it.
        filter: filter.as_ptr().cast_mut().cast(),
    };
    // SAFETY: `program` points to `len` instructions that outlive the call.
    checked(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        )
    })
}

fn checked(result: libc::c_long) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The version of Landlock the kernel has switched on.
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

/// Whether the kernel can filter system calls and answer with an error.
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
