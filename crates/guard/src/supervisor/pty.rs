//! A terminal as the standard streams of a program, which then leads a session of its own.
#![allow(unsafe_code)] // pre_exec, and two calls that are safe there

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::io::unix::AsyncFd;
use tokio::process::Command;

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Characters in a line.
    pub cols: u16,
    /// Lines.
    pub rows: u16,
}

impl From<TerminalSize> for Winsize {
    fn from(size: TerminalSize) -> Self {
        Self {
            ws_row: size.rows,
            ws_col: size.cols,
            ws_xpixel: 0,
            ws_ypixel: 0,
        }
    }
}

/// The holder's side of a terminal. Dropping it hangs up.
#[derive(Debug)]
pub struct Terminal {
    fd: AsyncFd<OwnedFd>,
}

#[allow(deprecated)] // unsound only for handles that change their descriptor; an OwnedFd does not
fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(fd)
}

impl Terminal {
    /// Makes `command` start in a new terminal of this size, as the leader of a new session.
    pub(super) fn attach(command: &mut Command, size: TerminalSize) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        unlockpt(&ours)?;
        // By descriptor: a path in /dev/pts may name another terminal by the time it is opened.
        let its = ioctl_tiocgptpeer(&ours, flags)?;
        tcsetwinsize(&ours, size.into())?;
        fcntl_setfl(&ours, fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
        command
            .stdin(Stdio::from(its.try_clone()?))
            .stdout(Stdio::from(its.try_clone()?))
            .stderr(Stdio::from(its));
        // SAFETY: the closure only makes system calls: it does not allocate, take locks, or touch state
        // another thread may have been changing at the moment of the fork.
        unsafe {
            command.pre_exec(|| {
                // SAFETY: plain numbers as arguments; descriptor 0 is the terminal already.
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY as _, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            });
        }
        Ok(Self { fd: watched(ours)? })
    }

    /// Reads what was printed, as much as there is; 0 when no program has the terminal open any more.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut read = self.once(buffer).await?;
        // The kernel gives a page at most; fewer, larger pieces cost less on the way.
        while read > 0 && read < buffer.len() {
            match rustix::io::read(self.fd.as_fd(), &mut buffer[read..]) {
                Ok(more @ 1..) => read += more,
                // Whatever it is, the next call meets it again.
                Ok(0) | Err(_) => break,
            }
        }
        Ok(read)
    }

    async fn once(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.fd.readable().await?;
            let tried = ready
                .try_io(|fd| rustix::io::read(fd.as_fd(), &mut *buffer).map_err(io::Error::from));
            match tried {
                // How Linux reports that the other side is closed.
                Ok(Err(error)) if error.raw_os_error() == Some(libc::EIO) => return Ok(0),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(read) => return read,
                Err(_would_block) => {}
            }
        }
    }

    /// Types `bytes`; waits while the program does not read.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let mut ready = self.fd.writable().await?;
            let tried =
                ready.try_io(|fd| rustix::io::write(fd.as_fd(), bytes).map_err(io::Error::from));
            match tried {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(written) => bytes = bytes.get(written?..).unwrap_or_default(),
                Err(_would_block) => {}
            }
        }
        Ok(())
    }

    /// Changes its size; its programs get SIGWINCH.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        Ok(tcsetwinsize(self.fd.as_fd(), size.into())?)
    }
}
