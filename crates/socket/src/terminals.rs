//! `terminal.*`: terminals on nodes, for the owner.
//!
//! A terminal is one call of the node's `Terminal`, from opening to closing, so rules and the audit apply. Its output is
//! asked for piece by piece, as the client has room for it, and goes to the client that opened it and nowhere else.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use manyhands_core::{CallId, CallRequest, ErrorCode, Outcome, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_node_registry::{NodeTerminal, TerminalControls};
use manyhands_wire::{
    ErrorShape, MAX_TERMINAL_INPUT, MAX_TERMINAL_SIZE, Payload, TerminalClosedEvent, TerminalEnd,
    TerminalInputParams, TerminalOpenParams, TerminalOpenResult, TerminalOutputEvent,
    TerminalResizeParams, TerminalResult,
};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use super::shape::shape;
use super::socket::MAX_QUEUED;

/// Terminals one socket may have open.
const MAX_TERMINALS: usize = 8;
/// Delay between two looks at a full queue.
const BETWEEN: Duration = Duration::from_millis(20);
/// Queue slots reserved for responses and other events.
const ROOM: usize = MAX_QUEUED - 16;
/// How long a node may take to end what runs in a closed terminal.
const CLOSING: Duration = Duration::from_secs(5);

/// The open terminals of one socket; dropping it closes them.
pub(super) struct Terminals {
    open: Mutex<HashMap<String, Entry>>,
    slots: Arc<Semaphore>,
}

struct Entry {
    controls: TerminalControls,
    /// Asks to close it.
    close: CancellationToken,
    /// Cancelled when it is closed.
    closed: CancellationToken,
    _task: AbortOnDropHandle<()>,
}

impl Default for Terminals {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            slots: Arc::new(Semaphore::new(MAX_TERMINALS)),
        }
    }
}

/// The call that a terminal is.
type Call = Pin<Box<dyn Future<Output = Result<Outcome, ToolError>> + Send>>;

impl Terminals {
    fn open(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, entry| !entry.closed.is_cancelled());
        open
    }

    fn slot(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        self.slots.clone().try_acquire_owned().map_err(|_| {
            let message = format!("this socket already has {MAX_TERMINALS} open terminals");
            ToolError::new(ErrorCode::Unavailable, message)
                .hint("close one with `terminal.close` and retry")
        })
    }

    /// Opens a terminal. Output starts when the returned sender is dropped, which happens after the response.
    pub(super) async fn start(
        &self,
        gateway: &Arc<Gateway>,
        admitted: &Admitted,
        params: TerminalOpenParams,
        outbox: &mpsc::Sender<Message>,
    ) -> Result<(TerminalOpenResult, oneshot::Sender<()>), ErrorShape> {
        let slot = self.slot().map_err(shape)?;
        let node = gateway.nodes.find_known(&params.node_id).map_err(shape)?;
        let id: CallId = gateway.ids.next();
        let mut terminal = node.terminal(id).map_err(shape)?;
        let cols = side("cols", params.cols).map_err(shape)?;
        let rows = side("rows", params.rows).map_err(shape)?;
        let mut arguments = json!({ "cols": cols, "rows": rows });
        if let Some(cwd) = params.cwd {
            arguments["cwd"] = json!(cwd);
        }
        let tool = terminal.tool();
        let name = tool.spec().name.to_string();
        let mut request = CallRequest::new(name, arguments, admitted.caller.clone());
        request.id = Some(id);
        let path = gateway.clone();
        let mut call: Call = Box::pin(async move { path.path.invoke_with(tool, request).await });
        tokio::select! {
            biased;
            () = terminal.opened() => {}
            ended = &mut call => {
                let early = ToolError::new(ErrorCode::Failed, "the terminal closed at once");
                return Err(shape(ended.err().unwrap_or(early)));
            }
        }
        let terminal_id = id.to_string();
        let (close, closed) = (CancellationToken::new(), CancellationToken::new());
        let (answered, after) = oneshot::channel();
        let shown = ShownTerminal {
            id: terminal_id.clone(),
            controls: terminal.controls(),
            outbox: outbox.clone(),
            close: close.clone(),
            slot,
            closed: closed.clone().drop_guard(),
        };
        let entry = Entry {
            controls: terminal.controls(),
            close,
            closed,
            _task: AbortOnDropHandle::new(tokio::spawn(async move {
                let _ = after.await;
                shown.follow(terminal, call).await;
            })),
        };
        self.open().insert(terminal_id.clone(), entry);
        Ok((TerminalOpenResult { terminal_id }, answered))
    }

    fn controls(&self, id: &str) -> Result<TerminalControls, ErrorShape> {
        let open = self.open();
        let found = open.get(id).map(|entry| entry.controls.clone());
        found.ok_or_else(|| unknown(id))
    }

    /// Types into a terminal.
    pub(super) async fn input(
        &self,
        params: TerminalInputParams,
    ) -> Result<TerminalResult, ErrorShape> {
        let controls = self.controls(&params.terminal_id)?;
        if params.data.len() > MAX_TERMINAL_INPUT {
            let message = format!("must be at most {MAX_TERMINAL_INPUT} bytes");
            return Err(shape(ToolError::parameter("data", message)));
        }
        controls.input(params.data).await.map_err(shape)?;
        Ok(TerminalResult { ok: true })
    }

    /// Changes the size of a terminal.
    pub(super) async fn resize(
        &self,
        params: TerminalResizeParams,
    ) -> Result<TerminalResult, ErrorShape> {
        let controls = self.controls(&params.terminal_id)?;
        let cols = side("cols", params.cols).map_err(shape)?;
        let rows = side("rows", params.rows).map_err(shape)?;
        controls.resize(cols, rows).await.map_err(shape)?;
        Ok(TerminalResult { ok: true })
    }

    /// Closes a terminal, and waits for what runs in it to end.
    pub(super) async fn close(&self, id: &str) -> Result<TerminalResult, ErrorShape> {
        let closed = {
            let open = self.open();
            let entry = open.get(id).ok_or_else(|| unknown(id))?;
            entry.close.cancel();
            entry.closed.clone()
        };
        closed.cancelled().await;
        Ok(TerminalResult { ok: true })
    }
}

fn unknown(id: &str) -> ErrorShape {
    let shown: String = id.chars().take(80).collect();
    let message = format!("no terminal {shown:?} is open on this socket");
    shape(ToolError::new(ErrorCode::NotFound, message).hint("open one with `terminal.open`"))
}

fn side(name: &str, value: u32) -> Result<u16, ToolError> {
    let fits = (1..=MAX_TERMINAL_SIZE).contains(&value);
    let value = u16::try_from(value).ok().filter(|_| fits);
    value
        .ok_or_else(|| ToolError::parameter(name, format!("must be from 1 to {MAX_TERMINAL_SIZE}")))
}

/// A terminal whose output is sent to its client.
struct ShownTerminal {
    id: String,
    controls: TerminalControls,
    outbox: mpsc::Sender<Message>,
    close: CancellationToken,
    slot: OwnedSemaphorePermit,
    closed: DropGuard,
}

impl ShownTerminal {
    /// Sends output until the terminal is closed, by either side.
    async fn follow(self, mut terminal: NodeTerminal, mut call: Call) {
        let end = loop {
            tokio::select! {
                biased;
                end = &mut call => break end,
                () = self.close.cancelled() => break self.closing(&mut call).await,
                data = self.piece(&mut terminal) => self.show(data).await,
            }
        };
        // Skipped after `terminal.close`: the client discards further output.
        if !self.close.is_cancelled() {
            while let Some(data) = terminal.rest() {
                self.show(data).await;
            }
        }
        self.send(&self.ended(end)).await;
        // In this order: a client that is notified of the end may open the next one at once.
        drop(self.slot);
        drop(self.closed);
    }

    /// Tells the node to close it. The call ends with how its shell ended, for the audit.
    async fn closing(&self, call: &mut Call) -> Result<Outcome, ToolError> {
        let ended = async {
            self.controls.close().await?;
            call.await
        };
        timeout(CLOSING, ended).await.unwrap_or_else(|_| {
            let message = "the node did not report that the terminal is closed";
            Err(ToolError::new(ErrorCode::DeadlineExceeded, message))
        })
    }

    /// The next output, once the client has room for it.
    async fn piece(&self, terminal: &mut NodeTerminal) -> String {
        while self.outbox.capacity() < ROOM {
            sleep(BETWEEN).await;
        }
        terminal.next().await
    }

    async fn show(&self, data: String) {
        let terminal_id = self.id.clone();
        self.send(&TerminalOutputEvent { terminal_id, data }).await;
    }

    fn ended(&self, end: Result<Outcome, ToolError>) -> TerminalClosedEvent {
        let mut event = TerminalClosedEvent {
            terminal_id: self.id.clone(),
            exit_code: None,
            reason: None,
        };
        match end.map(|outcome| serde_json::from_value(outcome.value)) {
            Ok(Ok(TerminalEnd { exit_code, signal })) => {
                event.exit_code = exit_code;
                event.reason = signal.map(|signal| format!("the shell was ended by {signal}"));
            }
            Ok(Err(_)) => {}
            Err(error) => event.reason = Some(error.text()),
        }
        if self.close.is_cancelled() {
            event.reason = Some("closed".to_owned());
        }
        event
    }

    async fn send<P: Payload>(&self, event: &P) {
        let message = Message::Text(event.encode().into());
        let _ = self.outbox.send(message).await; // the client may have disconnected
    }
}
