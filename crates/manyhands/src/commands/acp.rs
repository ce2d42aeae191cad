//! `acp`: an agent of a gateway on standard input and output, for editors.

mod servers;

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{join_all, try_join_all};
use manyhands_acp::{Answer, Command, House, Listed, McpProgram, Page, Sent, Told, serve};
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
use crate::ground::Ground;
use crate::lending;
use crate::output::{Done, Failure};
use crate::remote::text;
use crate::socket::{Heard, Socket};
use servers::Running;

/// How long a gateway that went away is waited for.
const COMES_BACK_WITHIN: Duration = Duration::from_secs(600);
/// The first and the longest wait before it is dialed again.
const AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How many sessions a page of the list has.
const PAGE: u32 = 100;
/// How many messages of a session are told again, in pages of so many.
const EARLIER: (usize, u32) = (2_000, 500);

/// Serves until the editor closes its end.
pub async fn run(acp: Acp, ground: &Ground) -> Done {
    let there = Arc::new(There {
        ground: ground.clone(),
        agent: acp.agent,
        session: acp.session,
        supervisor: lending::supervisor(ground)?,
    });
    there.dial().await.map_err(|e| Failure(words(&e)))?; // a gateway that is not there is said at once
    let editors = Arc::new(Editors {
        there: there.clone(),
        servers: Mutex::default(),
    });
    let pipes = (tokio::io::stdin(), tokio::io::stdout());
    let served = serve(editors.clone(), ground.here()?, pipes).await;
    editors.end().await;
    served.map_err(Failure)?;
    Ok(ExitCode::SUCCESS)
}

/// A gateway elsewhere.
struct There {
    ground: Ground,
    agent: AgentId,
    /// The one session of all, where one was named.
    session: Option<String>,
    /// Starts the editor's MCP servers.
    supervisor: Supervisor,
}

impl There {
    async fn dial(&self) -> Result<Socket, Envelope> {
        self.connect(None).await
    }

    /// Dials with another greeting than a client's, or with that.
    async fn connect(&self, greeting: Option<&ConnectParams>) -> Result<Socket, Envelope> {
        // A gateway that was started again may listen elsewhere.
        let remote = self.ground.remote().map_err(|failure| {
            Envelope::from(Err(ToolError::new(ErrorCode::Unavailable, failure.0)))
        })?;
        match greeting {
            Some(greeting) => Socket::open_as(remote.url(), remote.token(), greeting).await,
            None => Socket::open(remote.url(), remote.token()).await,
        }
    }

    /// Dials until the gateway is back.
    async fn redial(&self, greeting: Option<&ConnectParams>) -> Result<Socket, String> {
        let until = Instant::now() + COMES_BACK_WITHIN;
        let (mut wait, longest) = AGAIN;
        loop {
            sleep(wait).await;
            wait = (wait * 2).min(longest);
            match self.connect(greeting).await {
                Ok(socket) => return Ok(socket),
                Err(gone) if is_outage(&gone) && Instant::now() < until => {}
                Err(gone) => return Err(words(&gone)),
            }
        }
    }

    /// One question and its answer.
    async fn ask<P: Params, T: DeserializeOwned>(&self, params: &P) -> Result<T, String> {
        let mut socket = self.dial().await.map_err(|e| words(&e))?;
        let answer = socket.ask(params, |_| {}).await.map_err(|e| words(&e))?;
        serde_json::from_value(answer).map_err(|e| format!("the gateway answers oddly: {e}"))
    }

    /// Says it over this connection and tells what comes of it; an error means that the connection is gone.
    async fn over(
        &self,
        socket: &mut Socket,
        send: &ChatSendParams,
        told: &mpsc::Sender<Told>,
    ) -> Result<Result<Sent, String>, Envelope> {
        let sent = socket.say(send).await?;
        loop {
            let end = match socket.hear().await? {
                Heard::Event(event) => heard(event, send, told).await,
                Heard::Answer(id, said) if id == sent => match said {
                    Ok(said) => match serde_json::from_value(said) {
                        Ok(became) => self.became(became, send, told).await,
                        Err(e) => return Ok(Err(format!("the gateway answers oddly: {e}"))),
                    },
                    Err(gone) if is_outage(&gone) => return Err(gone),
                    Err(refused) => return Ok(Err(words(&refused))),
                },
                Heard::Answer(..) => None,
            };
            if let Some(end) = end {
                return Ok(Ok(end));
            }
        }
    }

    /// What became of the message.
    async fn became(
        &self,
        became: ChatSendResult,
        send: &ChatSendParams,
        told: &mpsc::Sender<Told>,
    ) -> Option<Sent> {
        match became {
            ChatSendResult::Started { .. } => None,
            ChatSendResult::Command {
                response, error, ..
            } => Some(Sent::Command(match error {
                Some(error) => format!("error: {error}"),
                None => response,
            })),
            ChatSendResult::DirectiveOnly { response, .. } => Some(Sent::Command(response)),
            ChatSendResult::Paused { approval_id, .. } => {
                // A run before this one waits; whoever is here can let it go on.
                let approval = approval_id?;
                let listed = self
                    .ground
                    .remote()
                    .ok()?
                    .get("/api/approvals")
                    .await
                    .ok()?;
                let waiting = listed["approvals"].as_array()?;
                let one = waiting.iter().find(|one| one["id"] == approval.as_str())?;
                let run = send.run_id.clone();
                let mut paused = ChatEventPayload::new(run, &send.session_key, ChatState::Paused);
                paused.tool = Some(text(&one["tool"]));
                paused.arguments = Some(one["arguments"].clone());
                paused.approval_id = Some(approval);
                let _ = told.send(Told::Chat(Box::new(paused))).await;
                None
            }
        }
    }
}

/// Tells an event of this run; the end of it comes back.
async fn heard(event: Event, send: &ChatSendParams, told: &mpsc::Sender<Told>) -> Option<Sent> {
    if let Some(tool) = ChatToolEvent::read(event.clone()) {
        if send.run_id.as_ref() == Some(&tool.run_id) {
            let _ = told.send(Told::Tool(Box::new(tool))).await; // nobody listens to a turn that was left
        }
        return None;
    }
    let chat = ChatEventPayload::read(event)?;
    if chat.run_id != send.run_id {
        return None;
    }
    let end = match chat.state {
        ChatState::Final => Some(Sent::Answered),
        ChatState::Error if chat.stopped == Some(true) => Some(Sent::Stopped),
        ChatState::Error => {
            let error = chat.error.clone();
            Some(Sent::Failed(
                error.unwrap_or_else(|| "there is no answer".to_owned()),
            ))
        }
        _ => None,
    };
    let _ = told.send(Told::Chat(Box::new(chat))).await;
    end
}

/// The gateway and what was started here for an editor's sessions.
struct Editors {
    there: Arc<There>,
    /// The MCP servers of each session, by its key.
    servers: Mutex<HashMap<String, Vec<Running>>>,
}

impl Editors {
    /// Ends all that was started.
    async fn end(&self) {
        let all = std::mem::take(&mut *self.servers.lock().await);
        join_all(all.into_values().flatten().map(Running::stop)).await;
    }
}

#[async_trait]
impl House for Editors {
    async fn equip(
        &self,
        session: &str,
        cwd: &Path,
        servers: Vec<McpProgram>,
    ) -> Result<(), String> {
        self.close(session).await; // a session that is loaded again gets the servers of the new request
        if servers.is_empty() {
            return Ok(());
        }
        // An older gateway would take them for machines, and give their tools to everybody.
        let gateway = self.there.dial().await.map_err(|e| words(&e))?;
        if !gateway.knows(ADDITION_SESSION) {
            let why = "the gateway is older than this program and takes no MCP servers of an editor; update it";
            return Err(why.to_owned());
        }
        let start = |server| Running::start(&self.there, session, cwd, server);
        let started = try_join_all(servers.into_iter().map(start)).await?;
        let before = self
            .servers
            .lock()
            .await
            .insert(session.to_owned(), started);
        join_all(before.into_iter().flatten().map(Running::stop)).await;
        Ok(())
    }

    async fn close(&self, session: &str) {
        let ended = self.servers.lock().await.remove(session);
        join_all(ended.into_iter().flatten().map(Running::stop)).await;
    }

    fn commands(&self) -> Vec<Command> {
        let known = slash_commands().map(|(word, usage, about)| Command {
            name: word.to_owned(),
            about: about.to_owned(),
            hint: usage.trim().to_owned(),
        });
        known.collect()
    }

    async fn open(&self) -> Result<String, String> {
        Ok(match &self.there.session {
            Some(key) if key.starts_with("agent:") => key.clone(),
            Some(key) => format!("agent:{}:{key}", self.there.agent),
            None => {
                let id = self
                    .there
                    .ground
                    .ids
                    .next::<uuid::Uuid>()
                    .simple()
                    .to_string();
                format!("agent:{}:acp-{id}", self.there.agent)
            }
        })
    }

    async fn history(&self, session: &str) -> Result<Vec<ChatMessage>, String> {
        let (most, page) = EARLIER;
        let mut pages = Vec::new();
        let (mut before, mut count) = (None, 0);
        loop {
            let params = SessionHistoryParams {
                session_key: session.to_owned(),
                limit: Some(page),
                before,
            };
            let part: SessionHistoryResult = self.there.ask(&params).await?;
            count += part.messages.len();
            pages.push(part.messages);
            before = part.next_before;
            if before.is_none() || count >= most {
                break;
            }
        }
        Ok(pages.into_iter().rev().flatten().collect())
    }

    async fn list(&self, offset: u32) -> Result<Page, String> {
        let params = SessionsListParams {
            offset: Some(offset),
            limit: Some(PAGE),
        };
        let part: SessionsListResult = self.there.ask(&params).await?;
        let more = u64::from(offset) + (part.sessions.len() as u64) < part.count;
        let sessions = part.sessions.into_iter().map(|entry| Listed {
            title: entry.label,
            session: entry.session_key,
            updated_at: Timestamp(entry.last_active_at).rfc3339(),
        });
        Ok(Page {
            sessions: sessions.collect(),
            more,
        })
    }

    async fn say(
        &self,
        session: &str,
        message: String,
        told: mpsc::Sender<Told>,
    ) -> Result<Sent, String> {
        // With an id of its own: sent twice, it counts once.
        let send = ChatSendParams {
            session_key: session.to_owned(),
            message,
            run_id: Some(self.there.ground.ids.next::<uuid::Uuid>().to_string()),
        };
        let mut socket = self.there.dial().await.map_err(|e| words(&e))?;
        loop {
            match self.there.over(&mut socket, &send, &told).await {
                Ok(end) => return end,
                Err(_) => socket = self.there.redial(None).await?,
            }
        }
    }

    async fn stop(&self, session: &str) {
        let stop = ChatStopParams {
            session_key: session.to_owned(),
        };
        let stopped = self.there.ask::<_, serde_json::Value>(&stop).await;
        if let Err(why) = stopped {
            tracing::warn!(why, "the turn was not stopped");
        }
    }

    async fn decide(&self, approval: &str, answer: Answer) -> Result<(), String> {
        let (decision, scope) = match answer {
            Answer::Once => ("approve", "once"),
            Answer::Conversation => ("approve", "conversation"),
            Answer::Always => ("approve", "always"),
            Answer::Deny => ("deny", "once"),
        };
        let path = format!("/api/approvals/{}", segment(approval));
        let remote = self.there.ground.remote().map_err(|e| e.0)?;
        let decision = json!({ "decision": decision, "scope": scope });
        let decided = remote.expect_post(&path, &decision).await;
        decided.map(drop).map_err(|e| e.0)
    }
}

fn is_outage(envelope: &Envelope) -> bool {
    envelope.code == Some(ErrorCode::Unavailable)
}

fn words(envelope: &Envelope) -> String {
    let error = envelope.error.clone();
    error.unwrap_or_else(|| "the gateway refused".to_owned())
}
