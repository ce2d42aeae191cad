//! Performs system calls on behalf of a sandboxed program that Landlock does not check: modes,
//! owners and times of files in its writable folders, and process groups that end with the call.
//!
//! The kernel suspends the caller and notifies the listener. For files, the broker copies the
//! arguments once, opens the target as a handle, verifies that the caller is still suspended,
//! checks where *that handle* is located, and applies the change through the handle, so swapping
//! links or folders meanwhile has no effect. For groups, the arguments are integers in registers,
//! which no other thread can change; the group is recorded and the kernel continues the call.
//!
//! Each program that makes such calls has a thread of its own. As root the thread first drops the
//! capabilities over other users' files, so that the kernel decides as it would for the program.

mod files;
mod notice;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::JoinHandle;

use super::apply::Capabilities;
use files::Folders;
use notice::{SeccompListener, SuspendedCall, SyscallReply};

/// More than the deepest call needs, which holds one path.
const STACK: usize = 128 * 1024;

const CAP_SYS_PTRACE: u32 = 19;

/// Decides about new sessions and process groups. `suspended` tells whether the caller is still
/// suspended in its call, and so whether its id has not been reused.
pub(crate) trait GroupPolicy: Send + Sync {
    /// Whether the process of thread `caller` may call `setsid`.
    fn session(&self, caller: i32, suspended: &dyn Fn() -> bool) -> Result<(), Errno>;

    /// Whether thread `caller` may call `setpgid` with these arguments.
    fn group(
        &self,
        caller: i32,
        process: i32,
        group: i32,
        suspended: &dyn Fn() -> bool,
    ) -> Result<(), Errno>;
}

/// The broker of one program. Dropping it stops the thread and closes the listener.
#[derive(Debug)]
pub(crate) struct Broker(JoinHandle<()>);

impl Drop for Broker {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Broker {
    pub(crate) fn start(
        listener: OwnedFd,
        folders: Vec<OwnedFd>,
        groups: Arc<impl GroupPolicy + 'static>,
    ) -> io::Result<Self> {
        #[allow(deprecated)] // unsound only for handles that change their descriptor
        let listener = AsyncFd::with_interest(listener, Interest::READABLE)?;
        Ok(Self(tokio::spawn(async move {
            // Most programs never make such a call; they get no thread.
            let called = listener.readable().await;
            if called.is_ok_and(|ready| !ready.ready().is_read_closed()) {
                let listener = SeccompListener::new(listener.into_inner());
                let served = serve(listener, Folders::new(folders), groups);
                match served {
                    Ok(open) => {
                        std::future::pending::<()>().await;
                        drop(open); // when this task is aborted: the thread ends then
                    }
                    Err(error) => {
                        tracing::warn!(event = "sandbox_broker_failed", %error, "cannot start the broker of a sandboxed program")
                    }
                }
            }
        })))
    }
}

/// Starts the thread, which ends when the returned stream is dropped.
fn serve(
    listener: SeccompListener,
    folders: Folders,
    groups: Arc<impl GroupPolicy + 'static>,
) -> io::Result<UnixStream> {
    let (open, until) = UnixStream::pair()?;
    std::thread::Builder::new()
        .name("broker".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            // Root's rights over other users' files, which the program does not have. Reading the
            // program's memory needs CAP_SYS_PTRACE. On failure the listener closes, and the
            // program's calls fail with ENOSYS.
            let dropped = Capabilities::get().and_then(|all| all.only(CAP_SYS_PTRACE).set());
            if dropped.is_err() {
                return;
            }
            while let Some(call) = listener.next(&until) {
                let answer = decide(&call, &listener, &folders, groups.as_ref());
                listener.answer(&call, answer);
            }
        })?;
    Ok(open)
}

fn decide(
    call: &SuspendedCall,
    listener: &SeccompListener,
    folders: &Folders,
    groups: &impl GroupPolicy,
) -> SyscallReply {
    let number = |argument: usize| call.arguments[argument] as i32;
    let suspended = || listener.is_valid(call);
    let allowed = match call.number {
        libc::SYS_setsid => groups.session(call.thread, &suspended),
        libc::SYS_setpgid => groups.group(call.thread, number(0), number(1), &suspended),
        _ => {
            return match files::change(call, listener, folders) {
                Ok(()) => SyscallReply::Done,
                Err(error) => SyscallReply::Failed(error),
            };
        }
    };
    match allowed {
        Ok(()) => SyscallReply::Continue,
        Err(error) => SyscallReply::Failed(error),
    }
}

#[cfg(test)]
mod tests;
