//! Terminals: shells that the owner types into, if this node's owner allows that.
//!
//! A terminal is a call whose output is asked for piece by piece. Nothing is read from it in between, so a program that
//! prints faster than its reader reads is held back by the kernel. It ends with its call, and so with the connection.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use manyhands_core::{ErrorCode, ToolError};
use manyhands_guard::{Terminal, TerminalSize};
use manyhands_hands::jobs::{JobError, OpenTerminal, ShellExit, TerminalReader, TerminalRequest};
use manyhands_wire::{
    MAX_TERMINAL_INPUT, MAX_TERMINAL_SIZE, Payload, TERMINAL_TOOL, TerminalArgs,
    TerminalCloseEvent, TerminalEnd, TerminalInputEvent, TerminalOutputEvent, TerminalReadEvent,
    TerminalResizeEvent,
};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::Toolbox;
use crate::writer::Outgoing;

/// Maximum number of open terminals.
const MAX_TERMINALS: usize = 32;
/// Maximum number of inputs that were not typed yet.
const MAX_INPUTS: usize = 1_024;
/// Printed where input is lost, because the shell's own echo would not show it either.
const INPUT_DROPPED: &str = "\r\n[manyhands: input was dropped: the program does not read it]\r\n";

/// The open terminals of a node, by their calls.
#[derive(Default)]
pub(crate) struct Terminals {
    open: Mutex<HashMap<String, Arc<Controls>>>,
}

/// What the gateway controls of an open terminal.
struct Controls {
    /// Signalled when output is wanted.
    wanted: Notify,
    keys: mpsc::Sender<String>,
    /// Bytes of input that still fit into the queue.
    room: Semaphore,
    /// Signalled when input was dropped.
    dropped: Notify,
    size: watch::Sender<Option<TerminalSize>>,
    /// Closes it.
    close: CancellationToken,
}

impl Terminals {
    fn open(&self) -> MutexGuard<'_, HashMap<String, Arc<Controls>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &str) -> Option<Arc<Controls>> {
        self.open().get(id).cloned()
    }

    /// Asks for the next output.
    pub(crate) fn read(&self, request: &TerminalReadEvent) {
        if let Some(controls) = self.find(&request.terminal_id) {
            controls.wanted.notify_one();
        }
    }

    /// Queues what was typed; never waits.
    pub(crate) fn input(&self, request: TerminalInputEvent) {
        let Some(controls) = self.find(&request.terminal_id) else {
            return;
        };
        let bytes = u32::try_from(request.data.len()).unwrap_or(u32::MAX);
        match controls.room.try_acquire_many(bytes) {
            // Returned when it was typed.
            Ok(taken) if controls.keys.try_send(request.data).is_ok() => taken.forget(),
            _ => controls.dropped.notify_one(),
        }
    }

    /// Changes the size.
    pub(crate) fn resize(&self, request: &TerminalResizeEvent) {
        if let (Some(controls), Ok(size)) = (
            self.find(&request.terminal_id),
            size_of(request.cols, request.rows),
        ) {
            controls.size.send_replace(Some(size));
        }
    }

    /// Closes a terminal.
    pub(crate) fn close(&self, request: &TerminalCloseEvent) {
        if let Some(controls) = self.find(&request.terminal_id) {
            controls.close.cancel();
        }
    }

    /// Runs a shell in a terminal until it ends, is closed, or `cancel` fires: how it ended.
    pub(crate) async fn run(
        &self,
        id: &str,
        arguments: Value,
        toolbox: &Toolbox,
        outgoing: &Outgoing,
        cancel: &CancellationToken,
    ) -> Result<Value, ToolError> {
        let request = request(arguments, toolbox)?;
        let (keys, typed) = mpsc::channel(MAX_INPUTS);
        let controls = Arc::new(Controls {
            wanted: Notify::new(),
            keys,
            room: Semaphore::new(MAX_TERMINAL_INPUT),
            dropped: Notify::new(),
            size: watch::Sender::new(None),
            close: cancel.child_token(),
        });
        let _registered = self.register(id, controls.clone())?;
        let opened = toolbox.jobs().terminal(request, cancel).await;
        let mut shell = opened.map_err(|error| match error {
            JobError::Workdir { path, why } => {
                ToolError::parameter("cwd", format!("{} {why}", path.display()))
            }
            other => other.into(),
        })?;
        let screen = Screen { id, outgoing };
        screen.show(String::new()).await;
        let exit = tokio::select! {
            biased;
            exit = shown(&mut shell, &controls, &screen, typed) => exit?,
            () = controls.close.cancelled() => shell.close().await.unwrap_or(ShellExit {
                exit_code: None,
                signal: None,
            }),
        };
        let end = TerminalEnd {
            exit_code: exit.exit_code,
            signal: exit.signal,
        };
        Ok(json!(end))
    }

    fn register(&self, id: &str, controls: Arc<Controls>) -> Result<Registered<'_>, ToolError> {
        let mut open = self.open();
        if open.len() >= MAX_TERMINALS {
            let message = format!("this node already has {MAX_TERMINALS} open terminals");
            return Err(ToolError::new(ErrorCode::Unavailable, message).hint("close one and retry"));
        }
        open.insert(id.to_owned(), controls);
        Ok(Registered {
            terminals: self,
            id: id.to_owned(),
        })
    }
}

/// An entry of the open terminals, removed on drop: a call can be aborted at any point.
struct Registered<'a> {
    terminals: &'a Terminals,
    id: String,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.terminals.open().remove(&self.id);
    }
}

/// Sends output of a terminal.
struct Screen<'a> {
    id: &'a str,
    outgoing: &'a Outgoing,
}

impl Screen<'_> {
    async fn show(&self, data: String) {
        let terminal_id = self.id.to_owned();
        // A closed connection takes no output, and ends the call.
        let _ = self
            .outgoing
            .text(TerminalOutputEvent { terminal_id, data }.encode())
            .await;
    }
}

/// Connects a shell to its user until it has ended and all of its output was asked for.
async fn shown(
    shell: &mut OpenTerminal,
    controls: &Controls,
    screen: &Screen<'_>,
    typed: mpsc::Receiver<String>,
) -> Result<ShellExit, ToolError> {
    let (pty, ended) = shell.parts();
    let over = CancellationToken::new();
    let mut ended = pin!(ended);
    let mut printed = pin!(print(pty, controls, screen, &over));
    let mut typing = pin!(type_in(pty, controls, typed));
    let mut resizing = pin!(resized(pty, controls));
    let mut exit = None;
    loop {
        tokio::select! {
            biased;
            how = &mut ended, if exit.is_none() => {
                over.cancel();
                exit = Some(how);
            }
            () = &mut printed => break,
            never = &mut typing => match never {},
            never = &mut resizing => match never {},
        }
    }
    let exit = match exit {
        Some(exit) => exit,
        None => ended.await,
    };
    exit.map_err(|error| ToolError::new(ErrorCode::Failed, error.to_string()))
}

/// Sends output as it is asked for, until there is no more. Once the shell is over, what it left in the terminal is sent,
/// however long its reader takes.
async fn print(pty: &Terminal, controls: &Controls, screen: &Screen<'_>, over: &CancellationToken) {
    let mut reader = TerminalReader::default();
    loop {
        controls.wanted.notified().await;
        let text = tokio::select! {
            biased;
            () = controls.dropped.notified() => Some(INPUT_DROPPED.to_owned()),
            text = reader.next(pty) => text,
            () = over.cancelled() => reader.rest(pty).await,
        };
        match text {
            Some(text) => screen.show(text).await,
            // Not answered: a reader that waits for more receives the end of the call instead.
            None => return,
        }
    }
}

async fn type_in(
    pty: &Terminal,
    controls: &Controls,
    mut typed: mpsc::Receiver<String>,
) -> Infallible {
    while let Some(data) = typed.recv().await {
        // A shell that has gone takes no input, and its end is noticed elsewhere.
        let _ = pty.write_all(data.as_bytes()).await;
        controls.room.add_permits(data.len());
    }
    pending().await
}

async fn resized(pty: &Terminal, controls: &Controls) -> Infallible {
    let mut sizes = controls.size.subscribe();
    loop {
        let size = *sizes.borrow_and_update();
        if let Some(size) = size {
            let _ = pty.resize(size); // as above
        }
        if sizes.changed().await.is_err() {
            pending::<()>().await;
        }
    }
}

fn request(arguments: Value, toolbox: &Toolbox) -> Result<TerminalRequest, ToolError> {
    if !toolbox.allows_terminals() {
        let message = "this node does not allow terminals";
        return Err(ToolError::new(ErrorCode::Forbidden, message)
            .hint("its owner can allow them: start it with `manyhands node --terminal`"));
    }
    let args: TerminalArgs = serde_json::from_value(arguments)
        .map_err(|error| ToolError::parameter(TERMINAL_TOOL, error.to_string()))?;
    Ok(TerminalRequest {
        workdir: toolbox
            .files()
            .absolute("cwd", args.cwd.as_deref().unwrap_or_default())?,
        size: size_of(args.cols, args.rows)?,
    })
}

fn size_of(cols: u16, rows: u16) -> Result<TerminalSize, ToolError> {
    for (name, value) in [("cols", cols), ("rows", rows)] {
        if !(1..=MAX_TERMINAL_SIZE).contains(&u32::from(value)) {
            let message = format!("must be from 1 to {MAX_TERMINAL_SIZE}");
            return Err(ToolError::parameter(name, message));
        }
    }
    Ok(TerminalSize { cols, rows })
}
