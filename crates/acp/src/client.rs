//! Driving an agent: one session, as many prompts as its task needs, and a desk for what it asks.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentNotification, AgentRequest, CancelNotification, ClientCapabilities,
    FileSystemCapabilities, Implementation, InitializeRequest, KillTerminalResponse,
    NewSessionRequest, PermissionOption, PermissionOptionKind, PromptRequest, ReadTextFileResponse,
    ReleaseTerminalResponse, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, SessionId, StopReason,
    WriteTextFileResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, Error, ErrorCode, is_connection_terminated, is_incoming_transport_closed,
    on_receive_notification, on_receive_request,
};
use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::lines::{Bounds, Flow, lines};
use crate::said::{Said, kind_of, shortened, told};
use crate::terminals::Terminals;

/// How long an agent may take to say hello, and to begin a session.
const GREETED_WITHIN: Duration = Duration::from_secs(120);
/// How long a turn that was cancelled may take to end.
const CANCELLED_WITHIN: Duration = Duration::from_secs(2);
/// How many requests of an agent are worked on at a time.
const MAX_REQUESTS: usize = 32;

/// Why a task came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcpError {
    /// It does not answer.
    #[error("it did not answer {what} within {} seconds", .within.as_secs())]
    Silent {
        /// What was asked.
        what: &'static str,
        /// How long was waited.
        within: Duration,
    },
    /// It speaks another version.
    #[error("it speaks version {0} of the protocol, and only version 1 is understood here")]
    Version(String),
    /// It wants somebody to log in first.
    #[error("it wants a login before it works: {0}")]
    Login(String),
    /// It answered with an error.
    #[error("{what} failed: {why}")]
    Refused {
        /// What was asked.
        what: &'static str,
        /// What it said.
        why: String,
    },
    /// It is gone, or was no longer listened to.
    #[error("{0}")]
    Ended(String),
    /// The task was called off.
    #[error("it was cancelled")]
    Cancelled,
}

/// What an agent is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offer {
    /// `fs/read_text_file`.
    pub read: bool,
    /// `fs/write_text_file`.
    pub write: bool,
    /// `terminal/*`.
    pub terminal: bool,
}

/// How a session begins.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The folder it works in.
    pub cwd: PathBuf,
    /// What it is offered.
    pub offer: Offer,
    /// How much it may say.
    pub bounds: Bounds,
}

/// Something an agent does.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// It began to use a tool of its own.
    ToolStarted {
        /// What it calls that.
        title: String,
        /// What kind of tool it is.
        kind: &'static str,
        /// With which arguments.
        input: Value,
    },
    /// The tool is done.
    ToolDone {
        /// What it called that.
        title: String,
        /// What kind of tool it is.
        kind: &'static str,
        /// Whether it worked.
        ok: bool,
        /// How long it took.
        took: Duration,
    },
}

/// What an agent wants to be allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What it calls that.
    pub title: String,
    /// What kind of tool it is.
    pub kind: &'static str,
    /// With which arguments.
    pub input: Value,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    /// Yes, this once.
    Allow,
    /// No.
    Deny,
}

/// A command an agent wants run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// A program, or a whole command line where there are no arguments.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it sees besides.
    pub env: Vec<(String, String)>,
    /// Where it starts.
    pub cwd: Option<PathBuf>,
    /// How much output is kept, the last of it.
    pub output_bytes: Option<u64>,
}

/// What a terminal shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Screen {
    /// What was written; the end of it where that is much.
    pub text: String,
    /// Whether the beginning is no longer there.
    pub cut: bool,
    /// How the command ended, once it has.
    pub exited: Option<Exited>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exited {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(String),
}

/// A command that was started for an agent. Dropped, it is stopped.
#[async_trait]
pub trait Terminal: Send + Sync {
    /// What it shows now.
    fn screen(&self) -> Screen;
    /// How it ended, when it has.
    async fn exited(&self) -> Exited;
    /// Stops it.
    fn kill(&self);
}

/// Who answers what an agent asks. What was not offered never comes here.
#[async_trait]
pub trait Desk: Send + Sync + 'static {
    /// It does something; this must not wait.
    fn news(&self, news: News);
    /// May it do this?
    async fn permit(&self, question: Question) -> Permit;
    /// The text of a file; an error says why not.
    async fn read(&self, path: PathBuf) -> Result<String, String>;
    /// Writes a file whole; an error says why not.
    async fn write(&self, path: PathBuf, content: String) -> Result<(), String>;
    /// Starts a command; an error says why not.
    async fn run(&self, command: CommandLine) -> Result<Arc<dyn Terminal>, String>;
}

/// What a prompt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// What it said last.
    pub text: String,
    /// Whether that is only the beginning.
    pub cut: bool,
    /// Why it ended without being done, if so.
    pub unfinished: Option<&'static str>,
}

/// A session with an agent.
pub struct Session {
    connection: ConnectionTo<Agent>,
    id: SessionId,
    said: Arc<Said>,
    cancel: CancellationToken,
}

/// Speaks with the agent at the other end of two pipes: says hello, begins a session, and hands it
/// to `talk`. The connection ends with it. `cancel` calls it off: the agent is told so, and gets a
/// moment to end; whoever started it kills it then.
pub async fn drive<R, W, T, F>(
    pipes: (R, W),
    opening: Opening,
    desk: Arc<dyn Desk>,
    cancel: CancellationToken,
    talk: impl FnOnce(Session) -> F + Send,
) -> Result<T, AcpError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
    T: Send,
    F: Future<Output = Result<T, AcpError>> + Send,
{
    let flow = Arc::new(Flow::default());
    let said = Arc::new(Said::default());
    let transport = lines(pipes.0, pipes.1, opening.bounds, &flow);
    let counter = Arc::new(Counter {
        desk: desk.clone(),
        offer: opening.offer,
        terminals: Terminals::default(),
        busy: AtomicUsize::new(0),
        cancel: cancel.clone(),
    });
    let heard = said.clone();
    let mut came = None;
    let ran = Client
        .v1()
        .name("manyhands")
        .on_receive_notification(
            async move |notification: AgentNotification, _| {
                if let AgentNotification::SessionNotification(update) = notification
                    && let Some(news) = heard.take(update.update)
                {
                    desk.news(news);
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: AgentRequest,
                        responder: Responder,
                        connection: ConnectionTo<Agent>| {
                counter.clone().take(request, responder, &connection)
            },
            on_receive_request!(),
        )
        .connect_with(transport, async |connection: ConnectionTo<Agent>| {
            let begun = async {
                let id = begin(&connection, &opening, &cancel).await?;
                let (said, cancel) = (said.clone(), cancel.clone());
                let session = Session {
                    connection,
                    id,
                    said,
                    cancel,
                };
                talk(session).await
            };
            came = Some(begun.await);
            Ok(())
        })
        .await;
    let came = came.filter(|came| came.is_ok() || !cancel.is_cancelled());
    match (flow.trouble(), came, ran) {
        (_, None, _) if cancel.is_cancelled() => Err(AcpError::Cancelled),
        (Some(why), None | Some(Err(_)), _) => Err(AcpError::Ended(why)),
        (_, Some(came), _) => came,
        (None, None, Err(error)) => Err(AcpError::Ended(words(&error))),
        (None, None, Ok(())) => Err(AcpError::Ended("it ended the conversation".to_owned())),
    }
}

/// Says hello and begins a session.
async fn begin(
    connection: &ConnectionTo<Agent>,
    opening: &Opening,
    cancel: &CancellationToken,
) -> Result<SessionId, AcpError> {
    let files = FileSystemCapabilities::new()
        .read_text_file(opening.offer.read)
        .write_text_file(opening.offer.write);
    let hello = InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(
            ClientCapabilities::new()
                .fs(files)
                .terminal(opening.offer.terminal),
        )
        .client_info(Implementation::new("manyhands", env!("CARGO_PKG_VERSION")));
    let greeted = connection.send_request(hello).block_task();
    let greeted = within("initialize", greeted, cancel).await?;
    if greeted.protocol_version != ProtocolVersion::V1 {
        let version = serde_json::to_string(&greeted.protocol_version).unwrap_or_default();
        return Err(AcpError::Version(version));
    }
    let asked = connection.send_request(NewSessionRequest::new(opening.cwd.clone()));
    let begun = within("session/new", asked.block_task(), cancel).await?;
    Ok(begun.session_id)
}

async fn within<T>(
    what: &'static str,
    answer: impl Future<Output = Result<T, Error>>,
    cancel: &CancellationToken,
) -> Result<T, AcpError> {
    tokio::select! {
        answered = timeout(GREETED_WITHIN, answer) => match answered {
            Ok(answered) => answered.map_err(|error| failed(what, &error)),
            Err(_) => Err(AcpError::Silent { what, within: GREETED_WITHIN }),
        },
        () = cancel.cancelled() => Err(AcpError::Cancelled),
    }
}

impl Session {
    /// Says something, and waits for what comes of it.
    pub async fn ask(&self, text: &str) -> Result<Reply, AcpError> {
        self.said.begin();
        let prompt = PromptRequest::new(self.id.clone(), vec![text.into()]);
        let mut answer = std::pin::pin!(self.connection.send_request(prompt).block_task());
        let answered = tokio::select! {
            answered = &mut answer => answered,
            () = self.cancel.cancelled() => {
                let told = self.connection.send_notification(CancelNotification::new(self.id.clone()));
                if told.is_ok() {
                    // What it says now is no longer of use; that it ends in order may be.
                    let _ = timeout(CANCELLED_WITHIN, answer).await;
                }
                return Err(AcpError::Cancelled);
            }
        };
        let ended = answered.map_err(|error| failed("session/prompt", &error))?;
        let (text, cut) = self.said.answer();
        let unfinished = match ended.stop_reason {
            StopReason::EndTurn => None,
            StopReason::MaxTokens => Some("it ran out of tokens"),
            StopReason::MaxTurnRequests => Some("it made as many requests as one turn may"),
            StopReason::Refusal => Some("it refused to go on"),
            StopReason::Cancelled => Some("it called the turn off"),
            _ => Some("it stopped for a reason that is not known here"),
        };
        Ok(Reply {
            text,
            cut,
            unfinished,
        })
    }
}

/// What an agent's error means here.
fn failed(what: &'static str, error: &Error) -> AcpError {
    if is_connection_terminated(error) || is_incoming_transport_closed(error) {
        return AcpError::Ended(format!("it ended before it answered {what}"));
    }
    match error.code {
        ErrorCode::AUTH_REQUIRED => AcpError::Login(words(error)),
        _ => AcpError::Refused {
            what,
            why: words(error),
        },
    }
}

/// An error in words: the message, and what it says besides.
fn words(error: &Error) -> String {
    let more = match &error.data {
        Some(Value::String(text)) => Some(text.clone()),
        Some(data) => data["details"]
            .as_str()
            .or(data["message"].as_str())
            .map(str::to_owned),
        None => None,
    };
    let all = match more {
        Some(more) if more != error.message => format!("{}: {more}", error.message),
        _ => error.message.clone(),
    };
    all.chars().take(2_000).collect()
}

/// An error as an agent is told it.
pub(crate) fn refused(why: &str) -> Error {
    Error::invalid_request().data(Value::from(why))
}

/// Where an agent's requests are taken and answered.
struct Counter {
    desk: Arc<dyn Desk>,
    offer: Offer,
    terminals: Terminals,
    busy: AtomicUsize,
    cancel: CancellationToken,
}

/// One request that is worked on.
struct Busy(Arc<Counter>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Counter {
    /// Every request is answered: at once, or by a task of its own.
    fn take(
        self: Arc<Self>,
        request: AgentRequest,
        responder: Responder,
        connection: &ConnectionTo<Agent>,
    ) -> Result<(), Error> {
        if self.busy.fetch_add(1, Ordering::AcqRel) >= MAX_REQUESTS {
            self.busy.fetch_sub(1, Ordering::AcqRel);
            let why = format!("{MAX_REQUESTS} requests are worked on already: wait for an answer");
            return responder.respond_with_error(refused(&why));
        }
        let busy = Busy(self);
        connection.spawn(async move {
            let answer = busy.0.answer(request).await;
            responder.respond_with_result(answer)
        })
    }

    async fn answer(&self, request: AgentRequest) -> Result<Value, Error> {
        let offer = self.offer;
        let terminals = &self.terminals;
        match request {
            AgentRequest::RequestPermissionRequest(asked) => value(self.permission(asked).await),
            AgentRequest::ReadTextFileRequest(asked) if offer.read => {
                let text = self.desk.read(asked.path).await;
                let text = text.map_err(|why| refused(&why))?;
                let part = part(&text, asked.line, asked.limit);
                value(ReadTextFileResponse::new(part))
            }
            AgentRequest::WriteTextFileRequest(asked) if offer.write => {
                let written = self.desk.write(asked.path, asked.content).await;
                written.map_err(|why| refused(&why))?;
                value(WriteTextFileResponse::new())
            }
            AgentRequest::CreateTerminalRequest(asked) if offer.terminal => {
                value(terminals.create(asked, &*self.desk).await?)
            }
            AgentRequest::TerminalOutputRequest(asked) if offer.terminal => {
                value(terminals.output(&asked.terminal_id.to_string())?)
            }
            AgentRequest::WaitForTerminalExitRequest(asked) if offer.terminal => {
                value(terminals.wait(&asked.terminal_id.to_string()).await?)
            }
            AgentRequest::KillTerminalRequest(asked) if offer.terminal => {
                terminals.kill(&asked.terminal_id.to_string())?;
                value(KillTerminalResponse::new())
            }
            AgentRequest::ReleaseTerminalRequest(asked) if offer.terminal => {
                terminals.release(&asked.terminal_id.to_string())?;
                value(ReleaseTerminalResponse::new())
            }
            other => Err(Error::method_not_found().data(Value::from(other.method()))),
        }
    }

    /// A question is put to the desk; when the task is called off, that is the answer.
    async fn permission(&self, asked: RequestPermissionRequest) -> RequestPermissionResponse {
        let fields = asked.tool_call.fields;
        let question = Question {
            title: shortened(fields.title.as_deref().unwrap_or("a tool")),
            kind: kind_of(fields.kind.unwrap_or_default()),
            input: told(fields.raw_input),
        };
        let outcome = tokio::select! {
            permit = self.desk.permit(question) => chosen(permit, &asked.options),
            () = self.cancel.cancelled() => RequestPermissionOutcome::Cancelled,
        };
        RequestPermissionResponse::new(outcome)
    }
}

/// The option for an answer, by its kind and never by its place or name; the narrower first.
fn chosen(permit: Permit, options: &[PermissionOption]) -> RequestPermissionOutcome {
    let kinds = match permit {
        Permit::Allow => [
            PermissionOptionKind::AllowOnce,
            PermissionOptionKind::AllowAlways,
        ],
        Permit::Deny => [
            PermissionOptionKind::RejectOnce,
            PermissionOptionKind::RejectAlways,
        ],
    };
    let fits = kinds
        .iter()
        .find_map(|kind| options.iter().find(|option| option.kind == *kind));
    match fits {
        Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(
            option.option_id.clone(),
        )),
        None => RequestPermissionOutcome::Cancelled,
    }
}

fn value(answer: impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(Error::into_internal_error)
}

/// The lines of a text from `line` on, counted from 1, `limit` of them.
fn part(text: &str, line: Option<u32>, limit: Option<u32>) -> String {
    if line.is_none() && limit.is_none() {
        return text.to_owned();
    }
    let skip = line.unwrap_or(1).saturating_sub(1) as usize;
    let take = limit.map_or(usize::MAX, |limit| limit as usize);
    text.split_inclusive('\n').skip(skip).take(take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let text = "a\nb\nc";
        for (line, limit, expect) in [
            (None, None, "a\nb\nc"),
            (Some(1), Some(1), "a\n"),
            (Some(2), None, "b\nc"),
            (Some(0), Some(2), "a\nb\n"),
            (Some(3), Some(9), "c"),
            (Some(4), None, ""),
            (None, Some(0), ""),
        ] {
            assert_eq!(part(text, line, limit), expect, "{line:?} {limit:?}");
        }
    }

    #[test]
    fn an_option_is_chosen_by_its_kind_and_narrowly() {
        let option = |id: &str, kind| PermissionOption::new(id.to_owned(), "Yes!", kind);
        let all = [
            option("1", PermissionOptionKind::RejectAlways),
            option("2", PermissionOptionKind::AllowAlways),
            option("3", PermissionOptionKind::RejectOnce),
            option("4", PermissionOptionKind::AllowOnce),
        ];
        let picked = |permit, options: &[PermissionOption]| match chosen(permit, options) {
            RequestPermissionOutcome::Selected(selected) => selected.option_id.to_string(),
            _ => "cancelled".to_owned(),
        };
        assert_eq!(picked(Permit::Allow, &all), "4");
        assert_eq!(picked(Permit::Deny, &all), "3");
        assert_eq!(picked(Permit::Allow, &all[..2]), "2");
        assert_eq!(picked(Permit::Deny, &all[1..2]), "cancelled", "never a yes");
    }
}
