//! The agent side: serves an editor with the agents of a gateway.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate,
    ClientNotification, ClientRequest, CloseSessionResponse, Implementation, InitializeResponse,
    ListSessionsRequest, ListSessionsResponse, LoadSessionResponse, McpServer, NewSessionResponse,
    PermissionOption, PermissionOptionKind, PromptCapabilities, PromptRequest, PromptResponse,
    RequestPermissionOutcome, RequestPermissionRequest, ResumeSessionResponse, SessionCapabilities,
    SessionCloseCapabilities, SessionId, SessionInfo, SessionListCapabilities, SessionNotification,
    SessionResumeCapabilities, SessionUpdate, StopReason, ToolCallUpdate, UnstructuredCommandInput,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, Error, ErrorCode, RequestCancellation, on_receive_notification,
    on_receive_request,
};
use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use manyhands_wire::{ChatEventPayload, ChatMessage, ChatState, ChatToolEvent, ChatToolState};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::lines::{Bounds, FlowControl, lines};
use crate::prompt::text_of;
use crate::translate::{TurnUpdates, message_chunk, replay};

/// Maximum number of concurrent requests of an editor.
const MAX_REQUESTS: usize = 32;
/// Maximum number of sessions per connection.
const MAX_SESSIONS: usize = 1_000;
/// Maximum number of MCP servers per session.
const MAX_SERVERS: usize = 16;
/// Maximum number of queued events per turn, for an editor that reads slowly.
const MAX_EVENTS: usize = 64;
/// Number of unread updates above which tool output is dropped.
const MAX_UNREAD: usize = 16;
/// Answers offered to the editor, by option id.
const ANSWERS: [(&str, &str, PermissionOptionKind, ApprovalAnswer); 4] = [
    (
        "allow",
        "Allow once",
        PermissionOptionKind::AllowOnce,
        ApprovalAnswer::Once,
    ),
    (
        "conversation",
        "Allow in this conversation",
        PermissionOptionKind::AllowAlways,
        ApprovalAnswer::Conversation,
    ),
    (
        "always",
        "Always allow",
        PermissionOptionKind::AllowAlways,
        ApprovalAnswer::Always,
    ),
    (
        "reject",
        "Deny",
        PermissionOptionKind::RejectOnce,
        ApprovalAnswer::Deny,
    ),
];

/// ApprovalAnswer to an approval request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Allow this call.
    Once,
    /// Also allow similar calls until the session is cleared.
    Conversation,
    /// Also allow similar calls from now on.
    Always,
    /// Deny it.
    Deny,
}

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    /// Name without the slash.
    pub name: String,
    /// Description.
    pub about: String,
    /// Hint for its arguments; empty if it has none.
    pub hint: String,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// Its key.
    pub session: String,
    /// Its label.
    pub title: Option<String>,
    /// Time of last use (RFC 3339).
    pub updated_at: String,
}

/// One page of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionSummary>,
    /// Whether there are more.
    pub more: bool,
}

/// An event of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// A reply, or a pause for an approval.
    Chat(Box<ChatEventPayload>),
    /// A tool call started or ended.
    Tool(Box<ChatToolEvent>),
}

/// Outcome of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOutcome {
    /// The agent replied; the reply was sent as events.
    Answered,
    /// It was a slash command with this response.
    Command(String),
    /// It was stopped.
    Stopped,
    /// It failed.
    Failed(String),
}

/// An MCP server that an editor configures for a session: a program on the editor's machine.
#[derive(Clone, PartialEq, Eq)]
pub struct McpProgram {
    /// The editor's name for it.
    pub name: String,
    /// The program: an absolute path, or a name to be found in `PATH`.
    pub command: PathBuf,
    /// Arguments.
    pub args: Vec<String>,
    /// Additional environment variables.
    pub env: Vec<(String, String)>,
}

/// The agents offered to an editor.
#[async_trait]
pub trait AgentBackend: Send + Sync + 'static {
    /// The available slash commands.
    fn commands(&self) -> Vec<SlashCommand>;
    /// Creates a session key.
    async fn open(&self) -> Result<String, String>;
    /// Starts MCP servers for a session, replacing earlier ones, and offers their tools to its agent. The error names the
    /// server that failed to start; none is left running then.
    async fn start_servers(
        &self,
        session: &str,
        cwd: &Path,
        servers: Vec<McpProgram>,
    ) -> Result<(), String>;
    /// Stops what was started for a session.
    async fn close(&self, session: &str);
    /// Messages of a session, oldest first; an error if it does not exist.
    async fn history(&self, session: &str) -> Result<Vec<ChatMessage>, String>;
    /// Sessions, most recently used first, starting at `offset`.
    async fn list(&self, offset: u32) -> Result<SessionPage, String>;
    /// Sends a message and forwards the events of its turn until it ends.
    async fn prompt(
        &self,
        session: &str,
        message: String,
        events: mpsc::Sender<TurnEvent>,
    ) -> Result<TurnOutcome, String>;
    /// Stops the running turn of a session.
    async fn stop(&self, session: &str);
    /// Answers an approval request.
    async fn decide(&self, approval: &str, answer: ApprovalAnswer) -> Result<(), String>;
}

/// Serves an editor until it closes its end. `cwd` is the directory in which the editor started this process.
pub async fn serve<R, W>(
    backend: Arc<dyn AgentBackend>,
    cwd: PathBuf,
    pipes: (R, W),
) -> Result<(), String>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let flow = Arc::new(FlowControl::default());
    let bounds = Bounds {
        // An editor is trusted more than an external agent: prompts may embed whole files.
        line: 64 * 1024 * 1024,
        total: u64::MAX,
        ..Bounds::default()
    };
    let transport = lines(pipes.0, pipes.1, bounds, &flow);
    let requests = Arc::new(EditorRequests {
        backend: backend.clone(),
        cwd,
        opened: Mutex::default(),
        busy: AtomicUsize::new(0),
        flow: flow.clone(),
    });
    let params = requests.clone();
    let served = Agent
        .v1()
        .name("manyhands")
        .on_receive_request(
            async move |request: ClientRequest,
                        responder: Responder,
                        connection: ConnectionTo<Client>| {
                params.clone().dispatch(request, responder, &connection)
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: ClientNotification, connection: ConnectionTo<Client>| {
                if let ClientNotification::CancelNotification(cancel) = notification
                    // A notification has no response, so one for an unknown session is ignored.
                    && requests.has(&cancel.session_id)
                {
                    let backend = backend.clone();
                    // In a task: stopping waits for the gateway, and the handler must stay free for requests.
                    connection.spawn(async move {
                        backend.stop(&cancel.session_id.to_string()).await;
                        Ok(())
                    })?;
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(transport)
        .await;
    // Our own reason, such as a line that was too long, explains more than the library's error.
    match (served, flow.failure()) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(why)) => Err(why),
        (Err(error), None) => Err(error.message),
    }
}

/// Receives and answers an editor's requests.
struct EditorRequests {
    backend: Arc<dyn AgentBackend>,
    cwd: PathBuf,
    /// Sessions this editor has opened, loaded or resumed.
    opened: Mutex<HashSet<String>>,
    busy: AtomicUsize,
    flow: Arc<FlowControl>,
}

/// A running request; frees its slot when dropped.
struct RequestSlot(Arc<EditorRequests>);

impl Drop for RequestSlot {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

impl EditorRequests {
    /// Answers every request in its own task, so that a turn does not block other requests.
    fn dispatch(
        self: Arc<Self>,
        request: ClientRequest,
        responder: Responder,
        connection: &ConnectionTo<Client>,
    ) -> Result<(), Error> {
        // Counted before the check: two requests arriving together must not both take the last slot.
        if self.busy.fetch_add(1, Ordering::AcqRel) >= MAX_REQUESTS {
            self.busy.fetch_sub(1, Ordering::AcqRel);
            let why = format!("too many concurrent requests (limit {MAX_REQUESTS})");
            return responder.respond_with_error(wrong(why));
        }
        let busy = RequestSlot(self);
        let editor = EditorLink(connection.clone(), busy.0.flow.clone());
        connection.spawn(async move {
            let cancelled = responder.cancellation();
            let answer = busy.0.answer(request, &editor, cancelled).await;
            match answer {
                Ok((answer, opened)) => {
                    responder.respond(answer)?;
                    // After the response: editors ignore updates of a session they do not know yet.
                    match opened {
                        Some(session) => editor.commands(session, busy.0.backend.commands()),
                        None => Ok(()),
                    }
                }
                Err(error) => responder.respond_with_error(error),
            }
        })
    }

    /// Returns the response, and the session it opened.
    async fn answer(
        &self,
        request: ClientRequest,
        editor: &EditorLink,
        cancelled: RequestCancellation,
    ) -> Result<(Value, Option<SessionId>), Error> {
        let answer = match request {
            ClientRequest::InitializeRequest(_) => value(initialize_response()),
            ClientRequest::NewSessionRequest(params) => {
                let servers = mcp_programs(&params.cwd, params.mcp_servers)?;
                // Checked before the servers are started: a refused session must not leave programs running.
                self.can_queue()?;
                let key = self.backend.open().await.map_err(broken)?;
                let id = SessionId::new(key);
                self.enter(&id, &params.cwd, servers).await?;
                let opened = NewSessionResponse::new(id.clone());
                return Ok((value(opened)?, Some(id)));
            }
            ClientRequest::LoadSessionRequest(params) => {
                let servers = mcp_programs(&params.cwd, params.mcp_servers)?;
                self.can_queue()?;
                let session = self.known(&params.session_id).await?;
                self.enter(&params.session_id, &params.cwd, servers).await?;
                // Replayed before the response, as the protocol requires for session/load.
                for update in session.iter().flat_map(replay) {
                    editor.update(&params.session_id, update)?;
                }
                return Ok((value(LoadSessionResponse::new())?, Some(params.session_id)));
            }
            ClientRequest::ResumeSessionRequest(params) => {
                let servers = mcp_programs(&params.cwd, params.mcp_servers)?;
                self.can_queue()?;
                self.known(&params.session_id).await?;
                self.enter(&params.session_id, &params.cwd, servers).await?;
                return Ok((
                    value(ResumeSessionResponse::new())?,
                    Some(params.session_id),
                ));
            }
            ClientRequest::ListSessionsRequest(params) => value(self.list(params).await?),
            ClientRequest::CloseSessionRequest(params) => {
                self.must_have(&params.session_id)?;
                let key = params.session_id.to_string();
                self.backend.stop(&key).await;
                self.backend.close(&key).await;
                self.opened().remove(&key);
                value(CloseSessionResponse::new())
            }
            ClientRequest::PromptRequest(params) => {
                self.must_have(&params.session_id)?;
                value(self.prompt(params, editor, cancelled).await?)
            }
            other => Err(Error::method_not_found().data(Value::from(other.method()))),
        };
        Ok((answer?, None))
    }

    fn opened(&self) -> MutexGuard<'_, HashSet<String>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has(&self, session: &SessionId) -> bool {
        self.opened().contains(&session.to_string())
    }

    /// Refuses a session that was not opened over this connection.
    fn must_have(&self, session: &SessionId) -> Result<(), Error> {
        if self.has(session) {
            return Ok(());
        }
        let why = format!(
            "sessionId: unknown session {session}; open it with session/new or session/load"
        );
        Err(Error::new(ErrorCode::RESOURCE_NOT_FOUND, why))
    }

    fn can_queue(&self) -> Result<(), Error> {
        match self.opened().len() < MAX_SESSIONS {
            true => Ok(()),
            false => Err(broken(format!(
                "{MAX_SESSIONS} sessions are open over this connection; close some with session/close"
            ))),
        }
    }

    /// Starts the session's MCP servers, then registers the session.
    async fn enter(
        &self,
        session: &SessionId,
        cwd: &Path,
        servers: Vec<McpProgram>,
    ) -> Result<(), Error> {
        let key = session.to_string();
        let started = self.backend.start_servers(&key, cwd, servers).await;
        started.map_err(broken)?;
        // Registered last: a session whose servers did not start cannot be used.
        self.opened().insert(key);
        Ok(())
    }

    async fn known(&self, session: &SessionId) -> Result<Vec<ChatMessage>, Error> {
        let session = self.backend.history(&session.to_string()).await;
        session.map_err(|why| Error::new(ErrorCode::RESOURCE_NOT_FOUND, why))
    }

    async fn list(&self, params: ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let offset = match params.cursor.as_deref().map(str::parse::<u32>) {
            None => 0,
            Some(Ok(offset)) => offset,
            // Cursors are offsets; another one comes from another program.
            Some(Err(_)) => return Err(wrong("invalid cursor".to_owned())),
        };
        let page = self.backend.list(offset).await.map_err(broken)?;
        let next = offset.saturating_add(u32::try_from(page.sessions.len()).unwrap_or(u32::MAX));
        let info = |one: SessionSummary| {
            SessionInfo::new(one.session, self.cwd.clone())
                .title(one.title)
                .updated_at(one.updated_at)
        };
        let listed = ListSessionsResponse::new(page.sessions.into_iter().map(info).collect());
        Ok(match page.more {
            true => listed.next_cursor(next.to_string()),
            false => listed,
        })
    }

    /// Runs one turn: forwards its events to the editor and asks the editor's user for approvals.
    async fn prompt(
        &self,
        prompt: PromptRequest,
        editor: &EditorLink,
        cancelled: RequestCancellation,
    ) -> Result<PromptResponse, Error> {
        let session = prompt.session_id;
        let key = session.to_string();
        let message = text_of(prompt.prompt).map_err(wrong)?;
        let (sender, mut events) = mpsc::channel(MAX_EVENTS);
        let mut running = std::pin::pin!(self.backend.prompt(&key, message, sender));
        let mut cancelled = std::pin::pin!(cancelled.cancelled());
        let mut stream = TurnUpdates::default();
        let mut questions = FuturesUnordered::new();
        let mut params: HashMap<String, CancellationToken> = HashMap::new();
        let mut stopping = false;
        let mut ended = None;
        loop {
            tokio::select! {
                events = events.recv() => match events {
                    Some(TurnEvent::Tool(event)) => {
                        if event.state == ChatToolState::Done
                            && let Some(open) = params.remove(&event.call_id)
                        {
                            // Answered elsewhere, such as on the web page.
                            open.cancel();
                        }
                        // A slow reader gets fewer, larger output updates; each contains everything printed so far.
                        let show = event.state != ChatToolState::Output || editor.can_queue();
                        if let Some(update) = stream.tool(*event).filter(|_| show) {
                            editor.update(&session, update)?;
                        }
                    }
                    Some(TurnEvent::Chat(event)) => {
                        for update in stream.chat(&event) {
                            editor.update(&session, update)?;
                        }
                        if let (ChatState::Paused, Some(approval)) = (event.state, event.approval_id) {
                            let arguments = event.arguments.unwrap_or_default();
                            let tool = event.tool.unwrap_or_default();
                            let call = stream.call(&approval, &tool, &arguments);
                            let open = CancellationToken::new();
                            params.insert(call.tool_call_id.to_string(), open.clone());
                            questions.push(self.request_permission(editor, &session, approval, call, open));
                        }
                    }
                    // The channel is closed: all events were forwarded and the turn has ended.
                    None => break,
                },
                // The result may arrive before the last events, which still have to be forwarded.
                sent = &mut running, if ended.is_none() => ended = Some(sent),
                Some(()) = questions.next() => {}
                () = &mut cancelled, if !stopping => {
                    stopping = true;
                    self.backend.stop(&key).await;
                }
            }
        }
        let sent = match ended {
            Some(sent) => sent,
            None => running.await,
        };
        match sent.map_err(broken)? {
            TurnOutcome::Answered => Ok(PromptResponse::new(StopReason::EndTurn)),
            TurnOutcome::Command(response) => {
                editor.update(&session, message_chunk(response))?;
                Ok(PromptResponse::new(StopReason::EndTurn))
            }
            TurnOutcome::Stopped => Ok(PromptResponse::new(StopReason::Cancelled)),
            TurnOutcome::Failed(why) => Err(broken(why)),
        }
    }
}

impl EditorRequests {
    /// Asks the editor's user for an approval, until someone has answered.
    async fn request_permission(
        &self,
        editor: &EditorLink,
        session: &SessionId,
        approval: String,
        call: ToolCallUpdate,
        open: CancellationToken,
    ) {
        let options = ANSWERS.map(|(id, name, kind, _)| PermissionOption::new(id, name, kind));
        let options = options.to_vec();
        let question = RequestPermissionRequest::new(session.clone(), call, options);
        let answered = tokio::select! {
            answered = editor.0.send_request(question).block_task() => answered,
            () = open.cancelled() => return,
        };
        let answer = match answered.map(|answer| answer.outcome) {
            Ok(RequestPermissionOutcome::Selected(chosen)) => {
                let chosen = chosen.option_id.to_string();
                let known = ANSWERS.iter().find(|(id, ..)| *id == chosen);
                // An option we did not offer counts as a denial.
                known.map_or(ApprovalAnswer::Deny, |(.., answer)| *answer)
            }
            Ok(_) => return, // the turn was cancelled
            Err(error) => {
                let alternatives =
                    format!("/approve {approval} allows it, /deny {approval} denies it");
                let note = format!("\n\n[needs your approval: {alternatives}]\n\n");
                tracing::warn!(
                    event = "editor_approval_failed",
                    error = error.message,
                    "failed to ask the editor for an approval"
                );
                let _ = editor.update(session, message_chunk(note));
                return;
            }
        };
        if let Err(why) = self.backend.decide(&approval, answer).await {
            tracing::warn!(
                event = "approval_answer_failed",
                error = why,
                "failed to answer an approval request"
            );
            let _ = editor.update(session, message_chunk(format!("\n\n[{why}]\n\n")));
        }
    }
}

/// The connection to the editor.
struct EditorLink(ConnectionTo<Client>, Arc<FlowControl>);

impl EditorLink {
    /// Returns whether there is room for updates that may be dropped.
    fn can_queue(&self) -> bool {
        self.1.unread() < MAX_UNREAD
    }

    fn update(&self, session: &SessionId, update: SessionUpdate) -> Result<(), Error> {
        self.1.queued();
        self.0
            .send_notification(SessionNotification::new(session.clone(), update))
    }

    fn commands(&self, session: SessionId, commands: Vec<SlashCommand>) -> Result<(), Error> {
        let offered = commands.into_iter().map(|command| {
            let offered = AvailableCommand::new(command.name, command.about);
            match command.hint.is_empty() {
                true => offered,
                false => offered.input(AvailableCommandInput::Unstructured(
                    UnstructuredCommandInput::new(command.hint),
                )),
            }
        });
        let update = AvailableCommandsUpdate::new(offered.collect());
        self.update(&session, SessionUpdate::AvailableCommandsUpdate(update))
    }
}

fn initialize_response() -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().embedded_context(true))
        .session_capabilities(sessions);
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(Implementation::new("manyhands", env!("CARGO_PKG_VERSION")))
}

/// Validates the MCP servers and the directory of a session request.
fn mcp_programs(cwd: &Path, servers: Vec<McpServer>) -> Result<Vec<McpProgram>, Error> {
    if !cwd.is_absolute() {
        let why = format!(
            "cwd: must be an absolute path, and {:?} is not",
            cwd.display()
        );
        return Err(wrong(why));
    }
    if servers.len() > MAX_SERVERS {
        let why = format!(
            "mcpServers: {} given, the limit is {MAX_SERVERS}",
            servers.len()
        );
        return Err(wrong(why));
    }
    let mut names = BTreeSet::new();
    let program = |(at, server): (usize, McpServer)| {
        let kind = match server {
            McpServer::Stdio(server) => {
                let program = McpProgram {
                    name: server.name,
                    command: server.command,
                    args: server.args,
                    env: server
                        .env
                        .into_iter()
                        .map(|one| (one.name, one.value))
                        .collect(),
                };
                let fault = fault_of(&program);
                let twice = !names.insert(program.name.clone());
                let fault = fault.or(twice.then_some(("name", "is not unique")));
                return match fault {
                    Some((field, why)) => Err(wrong(format!("mcpServers[{at}].{field}: {why}"))),
                    None => Ok(program),
                };
            }
            McpServer::Http(_) => "http",
            McpServer::Sse(_) => "sse",
            _ => "this",
        };
        Err(wrong(format!(
            "mcpServers[{at}].type: {kind} is not supported here; give a command, or add the server to the gateway"
        )))
    };
    servers.into_iter().enumerate().map(program).collect()
}

/// Returns the invalid field of a server, and the reason.
fn fault_of(server: &McpProgram) -> Option<(&'static str, &'static str)> {
    let has_nul = |text: &str| text.contains('\0');
    let command = server.command.to_string_lossy();
    if server.name.trim().is_empty() || server.name.len() > 100 {
        return Some(("name", "must be 1 to 100 bytes"));
    }
    if command.is_empty() || has_nul(&command) {
        return Some(("command", "must be a program"));
    }
    if command.contains('/') && !server.command.is_absolute() {
        return Some(("command", "must be an absolute path or a name in PATH"));
    }
    if server.args.iter().any(|arg| has_nul(arg)) {
        return Some(("args", "cannot have a NUL byte"));
    }
    let odd = |(name, value): &(String, String)| {
        name.is_empty() || name.contains('=') || has_nul(name) || has_nul(value)
    };
    server.env.iter().any(odd).then_some((
        "env",
        "has a name that is empty or has `=` in it, or a NUL byte",
    ))
}

fn value(answer: impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(Error::into_internal_error)
}

/// An error of the editor.
fn wrong(why: String) -> Error {
    let mut error = Error::invalid_params();
    error.message = why;
    error
}

/// An error of ours.
fn broken(why: String) -> Error {
    let mut error = Error::internal_error();
    error.message = why;
    error
}
