//! `acp`: serves an agent of a gateway to an editor on stdio.

mod servers;

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{join_all, try_join_all};
use manyhands_acp::{
    AgentBackend, ApprovalAnswer, McpProgram, SessionPage, SessionSummary, SlashCommand, TurnEvent,
    TurnOutcome, serve,
};
use manyhands_agent::slash_commands;
use manyhands_core::{AgentId, Envelope, ErrorCode, Timestamp, ToolError};
use manyhands_guard::Supervisor;
use manyhands_wire::{
    ADDITION_SESSION, ChatEventPayload, ChatMessage, ChatSendParams, ChatSendResult, ChatState,
    ChatStopParams, ChatToolEvent, ConnectParams, Event, Params, Payload, SessionHistoryParams,
    SessionHistoryResult, SessionsListParams, SessionsListResult,
};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep};

use super::call::segment;
use crate::args::Acp;
use crate::context::CliContext;
use crate::remote::text;
use crate::sharing;
use crate::socket::{Incoming, Socket};
use manyhands_terminal::output::{self, Done, Failure};
use servers::SessionServer;

/// Said to a person who starts it by hand.
const AT_TERMINAL: &str = "waiting for an editor on standard input; editors start this command themselves\n\
    hint: enter `manyhands acp` as an agent server in the editor's settings, or talk to an agent with `manyhands chat`; Ctrl-C leaves";
/// How long to wait for a gateway that went away.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(600);
/// First and longest delay between reconnects.
const RECONNECT_DELAYS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Sessions per page of the list.
const PAGE: u32 = 100;
/// Maximum number of messages replayed to the editor, and the page size.
const REPLAY: (usize, u32) = (2_000, 500);

/// Serves until the editor closes its end.
pub async fn run(acp: Acp, ctx: &CliContext) -> Done {
    let gateway = Arc::new(GatewayLink {
        ctx: ctx.clone(),
        agent: acp.agent,
        session: acp.session,
        supervisor: sharing::supervisor(ctx)?,
    });
    // Dialed once now, so that a missing gateway is reported before the editor waits for a session.
    gateway.dial().await.map_err(|e| Failure(message_of(&e)))?;
    let backend = Arc::new(EditorBackend {
        gateway: gateway.clone(),
        servers: Mutex::default(),
    });
    if std::io::stdin().is_terminal() {
        output::print_note(AT_TERMINAL);
    }
    let pipes = (tokio::io::stdin(), tokio::io::stdout());
    let served = serve(backend.clone(), ctx.here()?, pipes).await;
    backend.end().await;
    served.map_err(Failure)?;
    Ok(ExitCode::SUCCESS)
}

/// The connection to a gateway.
struct GatewayLink {
    ctx: CliContext,
    agent: AgentId,
    /// The session used for all conversations, if one was given.
    session: Option<String>,
    /// Runs the editor's MCP servers.
    supervisor: Supervisor,
}

impl GatewayLink {
    async fn dial(&self) -> Result<Socket, Envelope> {
        self.connect(None).await
    }

    /// Connects, optionally with other connect parameters than a client's.
    async fn connect(&self, greeting: Option<&ConnectParams>) -> Result<Socket, Envelope> {
        // Resolved each time: a restarted gateway may listen on another port.
        let remote = self.ctx.remote().map_err(|failure| {
            Envelope::from(Err(ToolError::new(ErrorCode::Unavailable, failure.0)))
        })?;
        match greeting {
            Some(greeting) => Socket::open_as(remote.url(), remote.token(), greeting).await,
            None => Socket::open(remote.url(), remote.token()).await,
        }
    }

    /// Reconnects with backoff until the gateway is back.
    async fn redial(&self, greeting: Option<&ConnectParams>) -> Result<Socket, String> {
        let until = Instant::now() + RECONNECT_TIMEOUT;
        let (mut wait, longest) = RECONNECT_DELAYS;
        loop {
            sleep(wait).await;
            wait = (wait * 2).min(longest);
            match self.connect(greeting).await {
                Ok(socket) => return Ok(socket),
                // Only outages are retried: a revoked token stays revoked.
                Err(gone) if is_outage(&gone) && Instant::now() < until => {}
                Err(gone) => return Err(message_of(&gone)),
            }
        }
    }

    /// Sends one request and returns its response.
    async fn request<P: Params, T: DeserializeOwned>(&self, params: &P) -> Result<T, String> {
        let mut socket = self.dial().await.map_err(|e| message_of(&e))?;
        let answer = socket
            .request(params, |_| {})
            .await
            .map_err(|e| message_of(&e))?;
        serde_json::from_value(answer)
            .map_err(|e| format!("unexpected response from the gateway: {e}"))
    }

    /// Sends a message and forwards its events; an outer error means the connection is lost.
    async fn send_message(
        &self,
        socket: &mut Socket,
        send: &ChatSendParams,
        events: &mpsc::Sender<TurnEvent>,
    ) -> Result<Result<TurnOutcome, String>, Envelope> {
        let sent = socket.send(send).await?;
        loop {
            let end = match socket.receive().await? {
                Incoming::Event(event) => forward(event, send, events).await,
                Incoming::Response(id, said) if id == sent => match said {
                    Ok(said) => match serde_json::from_value(said) {
                        Ok(response) => self.on_response(response, send, events).await,
                        Err(e) => {
                            return Ok(Err(format!("unexpected response from the gateway: {e}")));
                        }
                    },
                    Err(gone) if is_outage(&gone) => return Err(gone),
                    Err(refused) => return Ok(Err(message_of(&refused))),
                },
                Incoming::Response(..) => None,
            };
            if let Some(end) = end {
                return Ok(Ok(end));
            }
        }
    }

    /// Handles the response to the message.
    async fn on_response(
        &self,
        response: ChatSendResult,
        send: &ChatSendParams,
        events: &mpsc::Sender<TurnEvent>,
    ) -> Option<TurnOutcome> {
        match response {
            ChatSendResult::Started { .. } => None,
            ChatSendResult::Command {
                response, error, ..
            } => Some(TurnOutcome::Command(match error {
                Some(error) => format!("error: {error}"),
                None => response,
            })),
            ChatSendResult::DirectiveOnly { response, .. } => Some(TurnOutcome::Command(response)),
            ChatSendResult::Paused { approval_id, .. } => {
                // An earlier run is waiting for an approval; the editor's user can answer it.
                // Without an id nobody can answer; the turn continues when it was answered
                // elsewhere.
                let approval = approval_id?;
                let listed = self.ctx.remote().ok()?.get("/api/approvals").await.ok()?;
                let waiting = listed["approvals"].as_array()?;
                let one = waiting.iter().find(|one| one["id"] == approval.as_str())?;
                let run = send.run_id.clone();
                let mut paused = ChatEventPayload::new(run, &send.session_key, ChatState::Paused);
                paused.tool = Some(text(&one["tool"]));
                paused.arguments = Some(one["arguments"].clone());
                paused.approval_id = Some(approval);
                let _ = events.send(TurnEvent::Chat(Box::new(paused))).await;
                None
            }
        }
    }
}

/// Forwards an event of this run; returns the outcome if the run has ended.
async fn forward(
    event: Event,
    send: &ChatSendParams,
    events: &mpsc::Sender<TurnEvent>,
) -> Option<TurnOutcome> {
    if let Some(tool) = ChatToolEvent::read(event.clone()) {
        if send.run_id.as_ref() == Some(&tool.run_id) {
            // A send error only means that the turn was abandoned.
            let _ = events.send(TurnEvent::Tool(Box::new(tool))).await;
        }
        return None;
    }
    let chat = ChatEventPayload::read(event)?;
    // The socket also receives events of other clients' turns in the same session.
    if chat.run_id != send.run_id {
        return None;
    }
    let end = match chat.state {
        ChatState::Final => Some(TurnOutcome::Answered),
        ChatState::Error if chat.stopped == Some(true) => Some(TurnOutcome::Stopped),
        ChatState::Error => {
            let error = chat.error.clone();
            Some(TurnOutcome::Failed(
                error.unwrap_or_else(|| "no reply".to_owned()),
            ))
        }
        _ => None,
    };
    let _ = events.send(TurnEvent::Chat(Box::new(chat))).await;
    end
}

/// The gateway, and the MCP servers started here for the editor's sessions.
struct EditorBackend {
    gateway: Arc<GatewayLink>,
    /// MCP servers by session key.
    servers: Mutex<HashMap<String, Vec<SessionServer>>>,
}

impl EditorBackend {
    /// Stops all servers.
    async fn end(&self) {
        let all = std::mem::take(&mut *self.servers.lock().await);
        join_all(all.into_values().flatten().map(SessionServer::stop)).await;
    }
}

#[async_trait]
impl AgentBackend for EditorBackend {
    async fn start_servers(
        &self,
        session: &str,
        cwd: &Path,
        servers: Vec<McpProgram>,
    ) -> Result<(), String> {
        // A session that is loaded again gets the servers of the new request.
        self.close(session).await;
        if servers.is_empty() {
            return Ok(());
        }
        // An older gateway would treat them as machines and offer their tools to every session.
        let gateway = self.gateway.dial().await.map_err(|e| message_of(&e))?;
        if !gateway.knows(ADDITION_SESSION) {
            let why = "the gateway is too old for MCP servers of an editor; update it";
            return Err(why.to_owned());
        }
        let start = |server| SessionServer::start(&self.gateway, session, cwd, server);
        let started = try_join_all(servers.into_iter().map(start)).await?;
        let before = self
            .servers
            .lock()
            .await
            .insert(session.to_owned(), started);
        // Two requests for the same session may have raced; only the later one's servers stay.
        join_all(before.into_iter().flatten().map(SessionServer::stop)).await;
        Ok(())
    }

    async fn close(&self, session: &str) {
        let ended = self.servers.lock().await.remove(session);
        join_all(ended.into_iter().flatten().map(SessionServer::stop)).await;
    }

    fn commands(&self) -> Vec<SlashCommand> {
        let known = slash_commands().map(|(word, usage, about)| SlashCommand {
            name: word.to_owned(),
            about: about.to_owned(),
            hint: usage.trim().to_owned(),
        });
        known.collect()
    }

    async fn open(&self) -> Result<String, String> {
        Ok(match &self.gateway.session {
            Some(key) if key.starts_with("agent:") => key.clone(),
            Some(key) => format!("agent:{}:{key}", self.gateway.agent),
            None => {
                // A random key: every conversation of the editor starts empty, whatever its
                // project.
                let id = self
                    .gateway
                    .ctx
                    .ids
                    .next::<uuid::Uuid>()
                    .simple()
                    .to_string();
                format!("agent:{}:acp-{id}", self.gateway.agent)
            }
        })
    }

    async fn history(&self, session: &str) -> Result<Vec<ChatMessage>, String> {
        let (most, page) = REPLAY;
        let mut pages = Vec::new();
        let (mut before, mut count) = (None, 0);
        loop {
            let params = SessionHistoryParams {
                session_key: session.to_owned(),
                limit: Some(page),
                before,
                ..SessionHistoryParams::default()
            };
            let part: SessionHistoryResult = self.gateway.request(&params).await?;
            count += part.messages.len();
            pages.push(part.messages);
            before = part.next_before;
            // Bounded: an editor holds all it is given in memory.
            if before.is_none() || count >= most {
                break;
            }
        }
        // Pages arrive newest first; the editor expects the oldest message first.
        Ok(pages.into_iter().rev().flatten().collect())
    }

    async fn list(&self, offset: u32) -> Result<SessionPage, String> {
        let params = SessionsListParams {
            offset: Some(offset),
            limit: Some(PAGE),
            ..SessionsListParams::default()
        };
        let part: SessionsListResult = self.gateway.request(&params).await?;
        // The gateway has no cursor; new sessions may shift a page by one.
        let more = u64::from(offset) + (part.sessions.len() as u64) < part.count;
        let sessions = part.sessions.into_iter().map(|entry| SessionSummary {
            title: entry.label,
            session: entry.session_key,
            updated_at: Timestamp(entry.last_active_at).rfc3339(),
        });
        Ok(SessionPage {
            sessions: sessions.collect(),
            more,
        })
    }

    async fn prompt(
        &self,
        session: &str,
        message: String,
        events: mpsc::Sender<TurnEvent>,
    ) -> Result<TurnOutcome, String> {
        // The run id makes resending after a reconnect idempotent.
        let send = ChatSendParams {
            session_key: session.to_owned(),
            message,
            run_id: Some(self.gateway.ctx.ids.next::<uuid::Uuid>().to_string()),
        };
        let mut socket = self.gateway.dial().await.map_err(|e| message_of(&e))?;
        loop {
            match self.gateway.send_message(&mut socket, &send, &events).await {
                Ok(end) => return end,
                // Sent again after the reconnect; the gateway recognises the run id.
                Err(_) => socket = self.gateway.redial(None).await?,
            }
        }
    }

    async fn stop(&self, session: &str) {
        let stop = ChatStopParams {
            session_key: session.to_owned(),
        };
        // An editor cancels by a notification, which has no response that could report an error.
        let stopped = self.gateway.request::<_, serde_json::Value>(&stop).await;
        if let Err(why) = stopped {
            tracing::warn!(
                event = "turn_stop_failed",
                error = why,
                "failed to stop the turn"
            );
        }
    }

    async fn decide(&self, approval: &str, answer: ApprovalAnswer) -> Result<(), String> {
        let (decision, scope) = match answer {
            ApprovalAnswer::Once => ("approve", "once"),
            ApprovalAnswer::Conversation => ("approve", "conversation"),
            ApprovalAnswer::Always => ("approve", "always"),
            ApprovalAnswer::Deny => ("deny", "once"),
        };
        let path = format!("/api/approvals/{}", segment(approval));
        let remote = self.gateway.ctx.remote().map_err(|e| e.0)?;
        let decision = json!({ "decision": decision, "scope": scope });
        let decided = remote.expect_post(&path, &decision).await;
        decided.map(drop).map_err(|e| e.0)
    }
}

fn is_outage(envelope: &Envelope) -> bool {
    envelope.code == Some(ErrorCode::Unavailable)
}

fn message_of(envelope: &Envelope) -> String {
    let error = envelope.error.clone();
    error.unwrap_or_else(|| "the gateway refused the request".to_owned())
}
