//! A shell in a terminal, confined exactly as a command.

use std::path::PathBuf;
use std::time::Duration;

use encoding_rs::{Decoder, UTF_8};
use manyhands_guard::{
    Exit, Program, RunningProgram, Stdin, SuperviseError, Terminal, TerminalSize,
};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{DRAIN_TIMEOUT, JobError, Jobs, check_workdir};
use crate::shell::private::Private;

/// Largest piece of output, in bytes.
const PIECE: usize = 16 * 1024;
/// How long a shell that was told to stop may take to disappear.
const DYING: Duration = Duration::from_secs(2);

/// A terminal to open.
#[derive(Debug, Clone)]
pub struct TerminalRequest {
    /// Absolute path of the folder it starts in.
    pub workdir: PathBuf,
    /// Its size.
    pub size: TerminalSize,
}

/// An open terminal. Dropping it ends what runs in it.
pub struct OpenTerminal {
    running: RunningProgram,
    pty: Terminal,
    private: Option<Private>,
}

/// How a shell ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellExit {
    /// Its exit code, unless a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
}

impl Jobs {
    /// Opens a terminal with the user's login shell.
    pub async fn terminal(
        &self,
        request: TerminalRequest,
        cancel: &CancellationToken,
    ) -> Result<OpenTerminal, JobError> {
        check_workdir(&request.workdir).await?;
        let private = self.private_folder()?;
        let mut program = self
            .program(["-l"], &request.workdir, private.as_ref())
            .env("TERM", "xterm-256color")
            .env("COLORTERM", "truecolor")
            .stdin(Stdin::Terminal(request.size));
        program = self.with_locale(program);
        let mut running = self.inner.supervisor.start(program, cancel)?;
        let pty = running.terminal.take();
        let pty = pty.ok_or_else(|| JobError::Lost("the shell has no terminal".to_owned()))?;
        Ok(OpenTerminal {
            running,
            pty,
            private,
        })
    }

    /// Without a locale, shells would treat every byte beyond ASCII as a character of its own.
    fn with_locale(&self, program: Program) -> Program {
        let set = |name: &str| self.inner.settings.env.contains_key(name);
        match ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().any(set) {
            true => program,
            false => program.env("LANG", "C.UTF-8"),
        }
    }
}

impl OpenTerminal {
    /// The terminal, and a future that waits for the shell to end.
    pub fn parts(
        &mut self,
    ) -> (
        &Terminal,
        impl Future<Output = Result<ShellExit, SuperviseError>> + '_,
    ) {
        let (running, private) = (&mut self.running, &mut self.private);
        (&self.pty, ended(running, private))
    }

    /// Ends everything that runs in it.
    pub async fn close(&mut self) -> Option<ShellExit> {
        self.running.stop();
        let ended = ended(&mut self.running, &mut self.private);
        timeout(DYING, ended).await.ok()?.ok()
    }
}

async fn ended(
    running: &mut RunningProgram,
    private: &mut Option<Private>,
) -> Result<ShellExit, SuperviseError> {
    let (exit, _) = running.wait().await?;
    private.take();
    Ok(match exit {
        Exit::Code(code) => ShellExit {
            exit_code: Some(code),
            signal: None,
        },
        Exit::Signal(name) => ShellExit {
            exit_code: None,
            signal: Some(name),
        },
    })
}

/// The output of a terminal as text.
pub struct TerminalReader {
    decoder: Decoder,
    buffer: Vec<u8>,
}

impl Default for TerminalReader {
    fn default() -> Self {
        Self {
            // A piece may end inside a character.
            decoder: UTF_8.new_decoder_without_bom_handling(),
            buffer: vec![0; PIECE],
        }
    }
}

impl TerminalReader {
    /// The next piece of output, as soon as there is one; `None` at its end.
    pub async fn next(&mut self, pty: &Terminal) -> Option<String> {
        loop {
            let read = pty.read(&mut self.buffer).await.unwrap_or(0);
            let room = self.decoder.max_utf8_buffer_length(read);
            let mut text = String::with_capacity(room.unwrap_or(4 * PIECE));
            let _ = self
                .decoder
                .decode_to_string(&self.buffer[..read], &mut text, false);
            if read == 0 {
                return None;
            }
            if !text.is_empty() {
                return Some(text);
            }
        }
    }

    /// The same once the shell has ended: a process that left its session may hold the terminal open forever.
    pub async fn rest(&mut self, pty: &Terminal) -> Option<String> {
        timeout(DRAIN_TIMEOUT, self.next(pty)).await.ok().flatten()
    }
}
