//! Being an agent: an editor at one end, a house of agents at the other.

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

use crate::lines::{Bounds, Flow, lines};
use crate::prompt::text_of;
use crate::translate::{Stream, replay, words};

/// How many requests of an editor are worked on at a time.
const MAX_REQUESTS: usize = 32;
/// How many sessions an editor may open over one connection.
const MAX_SESSIONS: usize = 1_000;
/// How many MCP servers it may name for a session.
const MAX_SERVERS: usize = 16;
/// How many events of a turn wait for an editor that reads slowly.
const EVENTS: usize = 64;
/// How many updates may wait for it before what a tool prints is left out.
const MAX_UNREAD: usize = 16;
/// The answers that an editor offers, by their option ids.
const ANSWERS: [(&str, &str, PermissionOptionKind, Answer); 4] = [
    (
        "allow",
        "Allow once",
        PermissionOptionKind::AllowOnce,
        Answer::Once,
    ),
    (
        "conversation",
        "Allow in this conversation",
        PermissionOptionKind::AllowAlways,
        Answer::Conversation,
    ),
    (
        "always",
        "Always allow",
        PermissionOptionKind::AllowAlways,
        Answer::Always,
    ),
    (
        "reject",
        "Deny",
        PermissionOptionKind::RejectOnce,
        Answer::Deny,
    ),
];

/// The answer to an approval request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// This call may run.
    Once,
    /// So may calls like it, until the conversation is reset.
    Conversation,
    /// So may calls like it from now on.
    Always,
    /// It may not run.
    Deny,
}

/// Something a person can type after a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The word, without its slash.
    pub name: String,
    /// What it does.
    pub about: String,
    /// What may follow the word; empty when nothing may.
    pub hint: String,
}

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its key.
    pub session: String,
    /// What the user calls it.
    pub title: Option<String>,
    /// When it was last used, as RFC 3339 writes it.
    pub updated_at: String,
}

/// A part of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The sessions.
    pub sessions: Vec<Listed>,
    /// Whether there are more.
    pub more: bool,
}

/// Something that is told of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// The agent says something, or waits for the owner.
    Chat(Box<ChatEventPayload>),
    /// One of its tools began or ended.
    Tool(Box<ChatToolEvent>),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// With an answer, which was told.
    Answered,
    /// It was a command, and this came of it.
    Command(String),
    /// Somebody stopped it.
    Stopped,
    /// Without an answer.
    Failed(String),
}

/// An MCP server that an editor names for a session: a program on its machine.
#[derive(Clone, PartialEq, Eq)]
pub struct McpProgram {
    /// What the editor calls it.
    pub name: String,
    /// The program: an absolute path, or a name that is looked for in `PATH`.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// What its environment has besides.
    pub env: Vec<(String, String)>,
}

/// The agents behind an editor's agent.
#[async_trait]
pub trait House: Send + Sync + 'static {
    /// What a person can type after a slash.
    fn commands(&self) -> Vec<Command>;
    /// The key of a new session.
    async fn open(&self) -> Result<String, String>;
    /// Starts MCP servers for a session, in place of those it had, and gives its agent their tools. The error names the
    /// server that could not be started; none is left running then.
    async fn equip(
        &self,
        session: &str,
        cwd: &Path,
        servers: Vec<McpProgram>,
    ) -> Result<(), String>;
    /// Ends what was started for a session.
    async fn close(&self, session: &str);
    /// What was said in a session, oldest first; an error when there is none of this key.
    async fn history(&self, session: &str) -> Result<Vec<ChatMessage>, String>;
    /// Sessions, the latest first, without the first `offset`.
    async fn list(&self, offset: u32) -> Result<Page, String>;
    /// Says something in a session and tells what comes of it, until that has ended.
    async fn say(
        &self,
        session: &str,
        message: String,
        told: mpsc::Sender<Told>,
    ) -> Result<Sent, String>;
    /// Stops what runs in a session.
    async fn stop(&self, session: &str);
    /// Answers an approval request.
    async fn decide(&self, approval: &str, answer: Answer) -> Result<(), String>;
}

/// Serves an editor at the other end of two pipes until it closes its end. `cwd` is where the
/// editor started this.
pub async fn serve<R, W>(house: Arc<dyn House>, cwd: PathBuf, pipes: (R, W)) -> Result<(), String>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let flow = Arc::new(Flow::default());
    let bounds = Bounds {
        line: 64 * 1024 * 1024,
        total: u64::MAX,
        ..Bounds::default()
    };
    let transport = lines(pipes.0, pipes.1, bounds, &flow);
    let desk = Arc::new(Desk {
        house: house.clone(),
        cwd,
        opened: Mutex::default(),
        busy: AtomicUsize::new(0),
        flow: flow.clone(),
    });
    let asked = desk.clone();
    let served = Agent
        .v1()
        .name("manyhands")
        .on_receive_request(
            async move |request: ClientRequest,
                        responder: Responder,
                        connection: ConnectionTo<Client>| {
                asked.clone().take(request, responder, &connection)
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: ClientNotification, connection: ConnectionTo<Client>| {
                if let ClientNotification::CancelNotification(cancel) = notification
                    // Nobody answers a notification, so one for an unknown session is ignored.
                    && desk.has(&cancel.session_id)
                {
                    let house = house.clone();
                    connection.spawn(async move {
                        house.stop(&cancel.session_id.to_string()).await;
                        Ok(())
                    })?;
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(transport)
        .await;
    match (served, flow.trouble()) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(why)) => Err(why),
        (Err(error), None) => Err(error.message),
    }
}

/// Where an editor's requests are taken and answered.
struct Desk {
    house: Arc<dyn House>,
    cwd: PathBuf,
    /// The sessions that this editor opened, loaded or resumed.
    opened: Mutex<HashSet<String>>,
    busy: AtomicUsize,
    flow: Arc<Flow>,
}

/// One request that is worked on.
struct Busy(Arc<Desk>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Desk {
    /// Every request is answered by a task of its own, so that a turn holds up no other request.
    fn take(
        self: Arc<Self>,
        request: ClientRequest,
        responder: Responder,
        connection: &ConnectionTo<Client>,
    ) -> Result<(), Error> {
        if self.busy.fetch_add(1, Ordering::AcqRel) >= MAX_REQUESTS {
            self.busy.fetch_sub(1, Ordering::AcqRel);
            let why = format!("{MAX_REQUESTS} requests are worked on already");
            return responder.respond_with_error(wrong(why));
        }
        let busy = Busy(self);
        let line = Line(connection.clone(), busy.0.flow.clone());
        connection.spawn(async move {
            let cancelled = responder.cancellation();
            let answer = busy.0.answer(request, &line, cancelled).await;
            match answer {
                Ok((answer, opened)) => {
                    responder.respond(answer)?;
                    match opened {
                        Some(session) => line.commands(session, busy.0.house.commands()),
                        None => Ok(()),
                    }
                }
                Err(error) => responder.respond_with_error(error),
            }
        })
    }

    /// The answer, and the session that was opened by it.
    async fn answer(
        &self,
        request: ClientRequest,
        line: &Line,
        cancelled: RequestCancellation,
    ) -> Result<(Value, Option<SessionId>), Error> {
        let answer = match request {
            ClientRequest::InitializeRequest(_) => value(greeting()),
            ClientRequest::NewSessionRequest(asked) => {
                let servers = wanted(&asked.cwd, asked.mcp_servers)?;
                self.has_room()?;
                let key = self.house.open().await.map_err(broken)?;
                let id = SessionId::new(key);
                self.enter(&id, &asked.cwd, servers).await?;
                let opened = NewSessionResponse::new(id.clone());
                return Ok((value(opened)?, Some(id)));
            }
            ClientRequest::LoadSessionRequest(asked) => {
                let servers = wanted(&asked.cwd, asked.mcp_servers)?;
                self.has_room()?;
                let said = self.known(&asked.session_id).await?;
                self.enter(&asked.session_id, &asked.cwd, servers).await?;
                for update in said.iter().flat_map(replay) {
                    line.tell(&asked.session_id, update)?;
                }
                return Ok((value(LoadSessionResponse::new())?, Some(asked.session_id)));
            }
            ClientRequest::ResumeSessionRequest(asked) => {
                let servers = wanted(&asked.cwd, asked.mcp_servers)?;
                self.has_room()?;
                self.known(&asked.session_id).await?;
                self.enter(&asked.session_id, &asked.cwd, servers).await?;
                return Ok((value(ResumeSessionResponse::new())?, Some(asked.session_id)));
            }
            ClientRequest::ListSessionsRequest(asked) => value(self.list(asked).await?),
            ClientRequest::CloseSessionRequest(asked) => {
                self.must_have(&asked.session_id)?;
                let key = asked.session_id.to_string();
                self.house.stop(&key).await;
                self.house.close(&key).await;
                self.opened().remove(&key);
                value(CloseSessionResponse::new())
            }
            ClientRequest::PromptRequest(asked) => {
                self.must_have(&asked.session_id)?;
                value(self.prompt(asked, line, cancelled).await?)
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

    fn has_room(&self) -> Result<(), Error> {
        match self.opened().len() < MAX_SESSIONS {
            true => Ok(()),
            false => Err(broken(format!(
                "{MAX_SESSIONS} sessions are open over this connection; close some with session/close"
            ))),
        }
    }

    /// Starts the session's MCP servers; from then on it is known.
    async fn enter(
        &self,
        session: &SessionId,
        cwd: &Path,
        servers: Vec<McpProgram>,
    ) -> Result<(), Error> {
        let key = session.to_string();
        let equipped = self.house.equip(&key, cwd, servers).await;
        equipped.map_err(broken)?;
        self.opened().insert(key);
        Ok(())
    }

    async fn known(&self, session: &SessionId) -> Result<Vec<ChatMessage>, Error> {
        let said = self.house.history(&session.to_string()).await;
        said.map_err(|why| Error::new(ErrorCode::RESOURCE_NOT_FOUND, why))
    }

    async fn list(&self, asked: ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let offset = match asked.cursor.as_deref().map(str::parse::<u32>) {
            None => 0,
            Some(Ok(offset)) => offset,
            Some(Err(_)) => return Err(wrong("the cursor is none of ours".to_owned())),
        };
        let page = self.house.list(offset).await.map_err(broken)?;
        let next = offset.saturating_add(u32::try_from(page.sessions.len()).unwrap_or(u32::MAX));
        let info = |one: Listed| {
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

    /// One turn: what is told of it goes to the editor, what the owner is asked is asked there.
    async fn prompt(
        &self,
        prompt: PromptRequest,
        line: &Line,
        cancelled: RequestCancellation,
    ) -> Result<PromptResponse, Error> {
        let session = prompt.session_id;
        let key = session.to_string();
        let message = text_of(prompt.prompt).map_err(wrong)?;
        let (sender, mut events) = mpsc::channel(EVENTS);
        let mut saying = std::pin::pin!(self.house.say(&key, message, sender));
        let mut cancelled = std::pin::pin!(cancelled.cancelled());
        let mut stream = Stream::default();
        let mut questions = FuturesUnordered::new();
        let mut asked: HashMap<String, CancellationToken> = HashMap::new();
        let mut stopping = false;
        let mut ended = None;
        loop {
            tokio::select! {
                told = events.recv() => match told {
                    Some(Told::Tool(event)) => {
                        if event.state == ChatToolState::Done
                            && let Some(open) = asked.remove(&event.call_id)
                        {
                            // Somebody else answered.
                            open.cancel();
                        }
                        // Who reads slowly is told more of what is printed at a time.
                        let room = event.state != ChatToolState::Output || line.has_room();
                        if let Some(update) = stream.tool(*event).filter(|_| room) {
                            line.tell(&session, update)?;
                        }
                    }
                    Some(Told::Chat(event)) => {
                        for update in stream.chat(&event) {
                            line.tell(&session, update)?;
                        }
                        if let (ChatState::Paused, Some(approval)) = (event.state, event.approval_id) {
                            let arguments = event.arguments.unwrap_or_default();
                            let tool = event.tool.unwrap_or_default();
                            let call = stream.call(&approval, &tool, &arguments);
                            let open = CancellationToken::new();
                            asked.insert(call.tool_call_id.to_string(), open.clone());
                            questions.push(self.ask(line, &session, approval, call, open));
                        }
                    }
                    // All was told: the turn has ended.
                    None => break,
                },
                sent = &mut saying, if ended.is_none() => ended = Some(sent),
                Some(()) = questions.next() => {}
                () = &mut cancelled, if !stopping => {
                    stopping = true;
                    self.house.stop(&key).await;
                }
            }
        }
        let sent = match ended {
            Some(sent) => sent,
            None => saying.await,
        };
        match sent.map_err(broken)? {
            Sent::Answered => Ok(PromptResponse::new(StopReason::EndTurn)),
            Sent::Command(response) => {
                line.tell(&session, words(response))?;
                Ok(PromptResponse::new(StopReason::EndTurn))
            }
            Sent::Stopped => Ok(PromptResponse::new(StopReason::Cancelled)),
            Sent::Failed(why) => Err(broken(why)),
        }
    }
}

impl Desk {
    /// Asks the person at the editor what the owner was asked, until somebody has answered.
    async fn ask(
        &self,
        line: &Line,
        session: &SessionId,
        approval: String,
        call: ToolCallUpdate,
        open: CancellationToken,
    ) {
        let options = ANSWERS.map(|(id, name, kind, _)| PermissionOption::new(id, name, kind));
        let options = options.to_vec();
        let question = RequestPermissionRequest::new(session.clone(), call, options);
        let answered = tokio::select! {
            answered = line.0.send_request(question).block_task() => answered,
            () = open.cancelled() => return,
        };
        let answer = match answered.map(|answer| answer.outcome) {
            Ok(RequestPermissionOutcome::Selected(chosen)) => {
                let chosen = chosen.option_id.to_string();
                let known = ANSWERS.iter().find(|(id, ..)| *id == chosen);
                known.map_or(Answer::Deny, |(.., answer)| *answer)
            }
            Ok(_) => return, // the turn was called off
            Err(error) => {
                let ways = format!("/approve {approval} allows it, /deny {approval} does not");
                let note = format!("\n\n[needs your approval: {ways}]\n\n");
                tracing::warn!(error = error.message, "the editor cannot be asked");
                let _ = line.tell(session, words(note));
                return;
            }
        };
        if let Err(why) = self.house.decide(&approval, answer).await {
            tracing::warn!(why, "failed to answer an approval request");
            let _ = line.tell(session, words(format!("\n\n[{why}]\n\n")));
        }
    }
}

/// The way to the editor.
struct Line(ConnectionTo<Client>, Arc<Flow>);

impl Line {
    /// Whether there is room for what may be left out.
    fn has_room(&self) -> bool {
        self.1.unread() < MAX_UNREAD
    }

    fn tell(&self, session: &SessionId, update: SessionUpdate) -> Result<(), Error> {
        self.1.said();
        self.0
            .send_notification(SessionNotification::new(session.clone(), update))
    }

    fn commands(&self, session: SessionId, commands: Vec<Command>) -> Result<(), Error> {
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
        self.tell(&session, SessionUpdate::AvailableCommandsUpdate(update))
    }
}

fn greeting() -> InitializeResponse {
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

/// The MCP servers of a request for a session, checked together with its folder.
fn wanted(cwd: &Path, servers: Vec<McpServer>) -> Result<Vec<McpProgram>, Error> {
    if !cwd.is_absolute() {
        let why = format!(
            "cwd: must be an absolute path, and {:?} is not",
            cwd.display()
        );
        return Err(wrong(why));
    }
    if servers.len() > MAX_SERVERS {
        let why = format!(
            "mcpServers: {} are given, and at most {MAX_SERVERS} are started",
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
                let fault = fault.or(twice.then_some(("name", "is there twice")));
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

/// The field of a server that cannot be used, and why.
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
        return Some((
            "command",
            "must be an absolute path, or a name to be found in PATH",
        ));
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

/// What an editor did wrong.
fn wrong(why: String) -> Error {
    let mut error = Error::invalid_params();
    error.message = why;
    error
}

/// What went wrong here.
fn broken(why: String) -> Error {
    let mut error = Error::internal_error();
    error.message = why;
    error
}
