//! Makes calls in a confined program's place that Landlock does not look at: modes, owners and
//! times of files in what the program may write, and process groups that end with its call.
//!
//! The kernel stops the program in the call and tells a listener. For files, the broker copies
//! the arguments once, opens what they name as a handle, sees that the program still waits, looks
//! where *that handle* lies, and changes it through the handle: nothing that is swapped
//! meanwhile counts. For groups, the arguments are numbers, which nobody can change; the new
//! group is recorded, and then the program makes the call itself.
//!
//! A thread of its own serves each program, from its first such call to its end. As root it gives up
//! the rights over others' files first, so that the kernel decides as it would for the program.

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
use notice::{Answer, Call, Listener};

/// More than the deepest call needs, which holds one path.
const STACK: usize = 128 * 1024;

const CAP_SYS_PTRACE: u32 = 19;

/// Who decides about new sessions and process groups.
pub(crate) trait NewGroups: Send + Sync {
    /// The process of thread `caller` may lead a session of its own.
    fn session(&self, caller: i32) -> Result<(), Errno>;

    /// `process` may move to `group`, both as in `setpgid`.
    fn group(&self, caller: i32, process: i32, group: i32) -> Result<(), Errno>;
}

/// Serves one program until it is dropped.
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
        groups: Arc<impl NewGroups + 'static>,
    ) -> io::Result<Self> {
        #[allow(deprecated)] // unsound only for handles that change their descriptor
        let listener = AsyncFd::with_interest(listener, Interest::READABLE)?;
        Ok(Self(tokio::spawn(async move {
            // Most programs make no such call: no thread for those.
            let called = listener.readable().await;
            if called.is_ok_and(|ready| !ready.ready().is_read_closed()) {
                let listener = Listener::new(listener.into_inner());
                let served = serve(listener, Folders::new(folders), groups);
                match served {
                    Ok(open) => {
                        std::future::pending::<()>().await;
                        drop(open); // when this task is aborted: the thread ends then
                    }
                    Err(error) => tracing::warn!(%error, "cannot serve a sandboxed program"),
                }
            }
        })))
    }
}

/// Starts the thread, which ends when what is handed back is dropped.
fn serve(
    listener: Listener,
    folders: Folders,
    groups: Arc<impl NewGroups + 'static>,
) -> io::Result<UnixStream> {
    let (open, until) = UnixStream::pair()?;
    std::thread::Builder::new()
        .name("broker".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            // Rights over others' files, which root has and the program has not; what is left is to
            // look into the program. Where that fails the listener closes, and the program is told
            // that there are no such calls.
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

fn decide(call: &Call, listener: &Listener, folders: &Folders, groups: &impl NewGroups) -> Answer {
    let number = |argument: usize| call.arguments[argument] as i32;
    let allowed = match call.number {
        libc::SYS_setsid => groups.session(call.thread),
        libc::SYS_setpgid => groups.group(call.thread, number(0), number(1)),
        _ => {
            return match files::change(call, listener, folders) {
                Ok(()) => Answer::Done,
                Err(error) => Answer::Failed(error),
            };
        }
    };
    // What was recorded is about this caller only if it still waits for the answer; if not, nobody does.
    match allowed {
        Ok(()) => Answer::Continue,
        Err(error) => Answer::Failed(error),
    }
}

#[cfg(test)]
mod tests;
