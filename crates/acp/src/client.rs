//! The client side: drives an external agent for one task.

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
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::host::{AgentHost, HostCapabilities, Permission, PermissionRequest, refused};
use crate::lines::{Bounds, FlowControl, lines};
use crate::terminals::Terminals;
use crate::transcript::{TurnTranscript, kind_of, reported_input, shortened};

/// Timeout of the handshake and of creating a session.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a cancelled turn may take to end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of concurrent requests of an agent.
const MAX_REQUESTS: usize = 32;

/// Why a task failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcpError {
    /// No response in time.
    #[error("no response to {what} within {} seconds", .within.as_secs())]
    Silent {
        /// The request.
        what: &'static str,
        /// The timeout.
        within: Duration,
    },
    /// Unsupported protocol version.
    #[error("unsupported protocol version {0}; only version 1 is supported")]
    Version(String),
    /// It needs a login first.
    #[error("login required: {0}")]
    Login(String),
    /// It returned an error.
    #[error("{what} failed: {why}")]
    Refused {
        /// The request.
        what: &'static str,
        /// The error.
        why: String,
    },
    /// It exited, or was disconnected for misbehaving.
    #[error("{0}")]
    Ended(String),
    /// The task was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// How a session starts.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// Working directory.
    pub cwd: PathBuf,
    /// What it may use.
    pub capabilities: HostCapabilities,
    /// Limits of its messages.
    pub bounds: Bounds,
}

/// Result of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The last message.
    pub text: String,
    /// Whether it was truncated.
    pub cut: bool,
    /// Why it ended early, if it did.
    pub unfinished: Option<&'static str>,
}

/// A session with an agent.
pub struct Session {
    connection: ConnectionTo<Agent>,
    id: SessionId,
    transcript: Arc<TurnTranscript>,
    cancel: CancellationToken,
}

/// Connects to an agent over a pair of pipes: performs the handshake, creates a session, and passes it to `talk`. The
/// connection ends with it. `cancel` cancels it: the agent is notified and gets a moment to stop; the caller kills it
/// then.
pub async fn drive<R, W, T, F>(
    pipes: (R, W),
    options: SessionOptions,
    host: Arc<dyn AgentHost>,
    cancel: CancellationToken,
    talk: impl FnOnce(Session) -> F + Send,
) -> Result<T, AcpError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
    T: Send,
    F: Future<Output = Result<T, AcpError>> + Send,
{
    let flow = Arc::new(FlowControl::default());
    let transcript = Arc::new(TurnTranscript::default());
    let transport = lines(pipes.0, pipes.1, options.bounds, &flow);
    let requests = Arc::new(AgentRequests {
        host: host.clone(),
        capabilities: options.capabilities,
        terminals: Terminals::default(),
        busy: AtomicUsize::new(0),
        cancel: cancel.clone(),
    });
    let updates = transcript.clone();
    let mut result = None;
    let ran = Client
        .v1()
        .name("manyhands")
        .on_receive_notification(
            async move |notification: AgentNotification, _| {
                if let AgentNotification::SessionNotification(update) = notification
                    && let Some(event) = updates.record(update.update)
                {
                    host.on_event(event);
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: AgentRequest,
                        responder: Responder,
                        connection: ConnectionTo<Agent>| {
                requests.clone().dispatch(request, responder, &connection)
            },
            on_receive_request!(),
        )
        .connect_with(transport, async |connection: ConnectionTo<Agent>| {
            let session = async {
                let id = create_session(&connection, &options, &cancel).await?;
                let (transcript, cancel) = (transcript.clone(), cancel.clone());
                let session = Session {
                    connection,
                    id,
                    transcript,
                    cancel,
                };
                talk(session).await
            };
            result = Some(session.await);
            Ok(())
        })
        .await;
    // After a cancellation every error is a consequence of it; only a finished result still counts.
    let result = result.filter(|result| result.is_ok() || !cancel.is_cancelled());
    match (flow.failure(), result, ran) {
        (_, None, _) if cancel.is_cancelled() => Err(AcpError::Cancelled),
        (Some(why), None | Some(Err(_)), _) => Err(AcpError::Ended(why)),
        (_, Some(result), _) => result,
        (None, None, Err(error)) => Err(AcpError::Ended(error_text(&error))),
        (None, None, Ok(())) => Err(AcpError::Ended("it closed the connection".to_owned())),
    }
}

/// Performs the handshake and creates a session.
async fn create_session(
    connection: &ConnectionTo<Agent>,
    options: &SessionOptions,
    cancel: &CancellationToken,
) -> Result<SessionId, AcpError> {
    let files = FileSystemCapabilities::new()
        .read_text_file(options.capabilities.read)
        .write_text_file(options.capabilities.write);
    let hello = InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(
            ClientCapabilities::new()
                .fs(files)
                .terminal(options.capabilities.terminal),
        )
        .client_info(Implementation::new("manyhands", env!("CARGO_PKG_VERSION")));
    let initialized = connection.send_request(hello).block_task();
    let initialized = within("initialize", initialized, cancel).await?;
    // Checked before a session is created: a later version may attach another meaning to it.
    if initialized.protocol_version != ProtocolVersion::V1 {
        let version = serde_json::to_string(&initialized.protocol_version).unwrap_or_default();
        return Err(AcpError::Version(version));
    }
    let request = connection.send_request(NewSessionRequest::new(options.cwd.clone()));
    let session = within("session/new", request.block_task(), cancel).await?;
    Ok(session.session_id)
}

async fn within<T>(
    what: &'static str,
    answer: impl Future<Output = Result<T, Error>>,
    cancel: &CancellationToken,
) -> Result<T, AcpError> {
    tokio::select! {
        answered = timeout(START_TIMEOUT, answer) => match answered {
            Ok(answered) => answered.map_err(|error| failed(what, &error)),
            Err(_) => Err(AcpError::Silent { what, within: START_TIMEOUT }),
        },
        () = cancel.cancelled() => Err(AcpError::Cancelled),
    }
}

impl Session {
    /// Sends a prompt and waits for the reply.
    pub async fn prompt(&self, text: &str) -> Result<Reply, AcpError> {
        self.transcript.reset();
        // The transcript is cleared first, so that chunks of an earlier prompt cannot end up in
        // this reply.
        let prompt = PromptRequest::new(self.id.clone(), vec![text.into()]);
        let mut answer = std::pin::pin!(self.connection.send_request(prompt).block_task());
        let answered = tokio::select! {
            answered = &mut answer => answered,
            () = self.cancel.cancelled() => {
                let notified = self.connection.send_notification(CancelNotification::new(self.id.clone()));
                if notified.is_ok() {
                    // The reply is discarded, but a clean end lets the agent save its state.
                    let _ = timeout(CANCEL_TIMEOUT, answer).await;
                }
                return Err(AcpError::Cancelled);
            }
        };
        let ended = answered.map_err(|error| failed("session/prompt", &error))?;
        let (text, cut) = self.transcript.reply();
        let unfinished = match ended.stop_reason {
            StopReason::EndTurn => None,
            StopReason::MaxTokens => Some("it reached its token limit"),
            StopReason::MaxTurnRequests => Some("it reached its request limit"),
            StopReason::Refusal => Some("it refused to continue"),
            StopReason::Cancelled => Some("it cancelled the turn"),
            _ => Some("it stopped for an unknown reason"),
        };
        Ok(Reply {
            text,
            cut,
            unfinished,
        })
    }
}

/// Converts an agent's error.
fn failed(what: &'static str, error: &Error) -> AcpError {
    if is_connection_terminated(error) || is_incoming_transport_closed(error) {
        return AcpError::Ended(format!("it exited before responding to {what}"));
    }
    match error.code {
        ErrorCode::AUTH_REQUIRED => AcpError::Login(error_text(error)),
        _ => AcpError::Refused {
            what,
            why: error_text(error),
        },
    }
}

/// Formats an error with its details.
fn error_text(error: &Error) -> String {
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
    // Bounded: the text ends up in a model's context.
    all.chars().take(2_000).collect()
}

/// Receives and answers an agent's requests.
struct AgentRequests {
    host: Arc<dyn AgentHost>,
    capabilities: HostCapabilities,
    terminals: Terminals,
    busy: AtomicUsize,
    cancel: CancellationToken,
}

/// A running request; frees its slot when dropped.
struct RequestSlot(Arc<AgentRequests>);

impl Drop for RequestSlot {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

impl AgentRequests {
    /// Answers every request in its own task.
    fn dispatch(
        self: Arc<Self>,
        request: AgentRequest,
        responder: Responder,
        connection: &ConnectionTo<Agent>,
    ) -> Result<(), Error> {
        // Counted before the check: two requests arriving together must not both take the last slot.
        if self.busy.fetch_add(1, Ordering::AcqRel) >= MAX_REQUESTS {
            self.busy.fetch_sub(1, Ordering::AcqRel);
            let why =
                format!("too many concurrent requests (limit {MAX_REQUESTS}); wait for a response");
            return responder.respond_with_error(refused(&why));
        }
        // Dropped with the task, so that a panic or a lost connection frees the slot too.
        let busy = RequestSlot(self);
        connection.spawn(async move {
            let answer = busy.0.answer(request).await;
            responder.respond_with_result(answer)
        })
    }

    async fn answer(&self, request: AgentRequest) -> Result<Value, Error> {
        let capabilities = self.capabilities;
        let terminals = &self.terminals;
        match request {
            AgentRequest::RequestPermissionRequest(request) => {
                value(self.permission(request).await)
            }
            AgentRequest::ReadTextFileRequest(request) if capabilities.read => {
                let text = self.host.read(request.path).await;
                let text = text.map_err(|why| refused(&why))?;
                let line_range = line_range(&text, request.line, request.limit);
                value(ReadTextFileResponse::new(line_range))
            }
            AgentRequest::WriteTextFileRequest(request) if capabilities.write => {
                let written = self.host.write(request.path, request.content).await;
                written.map_err(|why| refused(&why))?;
                value(WriteTextFileResponse::new())
            }
            AgentRequest::CreateTerminalRequest(request) if capabilities.terminal => {
                value(terminals.create(request, &*self.host).await?)
            }
            AgentRequest::TerminalOutputRequest(request) if capabilities.terminal => {
                value(terminals.output(&request.terminal_id.to_string())?)
            }
            AgentRequest::WaitForTerminalExitRequest(request) if capabilities.terminal => {
                value(terminals.wait(&request.terminal_id.to_string()).await?)
            }
            AgentRequest::KillTerminalRequest(request) if capabilities.terminal => {
                terminals.kill(&request.terminal_id.to_string())?;
                value(KillTerminalResponse::new())
            }
            AgentRequest::ReleaseTerminalRequest(request) if capabilities.terminal => {
                terminals.release(&request.terminal_id.to_string())?;
                value(ReleaseTerminalResponse::new())
            }
            other => Err(Error::method_not_found().data(Value::from(other.method()))),
        }
    }

    /// Asks for a permission; a cancelled task cancels the request.
    async fn permission(&self, request: RequestPermissionRequest) -> RequestPermissionResponse {
        let fields = request.tool_call.fields;
        let question = PermissionRequest {
            title: shortened(fields.title.as_deref().unwrap_or("a tool")),
            kind: kind_of(fields.kind.unwrap_or_default()),
            input: reported_input(fields.raw_input),
        };
        let outcome = tokio::select! {
            permit = self.host.request_permission(question) => chosen(permit, &request.options),
            () = self.cancel.cancelled() => RequestPermissionOutcome::Cancelled,
        };
        RequestPermissionResponse::new(outcome)
    }
}

/// Chooses an option by its kind, never by position or name; the narrower one first.
fn chosen(permit: Permission, options: &[PermissionOption]) -> RequestPermissionOutcome {
    let kinds = match permit {
        Permission::Allow => [
            PermissionOptionKind::AllowOnce,
            PermissionOptionKind::AllowAlways,
        ],
        Permission::Deny => [
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
        // Never the wrong kind: an agent that offers only "yes" gets no answer at all.
        None => RequestPermissionOutcome::Cancelled,
    }
}

fn value(answer: impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(Error::into_internal_error)
}

/// Returns `limit` lines of a text, starting at `line` (1-based).
fn line_range(text: &str, line: Option<u32>, limit: Option<u32>) -> String {
    if line.is_none() && limit.is_none() {
        return text.to_owned();
    }
    // Lines are 1-based in the protocol.
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
            assert_eq!(line_range(text, line, limit), expect, "{line:?} {limit:?}");
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
        assert_eq!(picked(Permission::Allow, &all), "4");
        assert_eq!(picked(Permission::Deny, &all), "3");
        assert_eq!(picked(Permission::Allow, &all[..2]), "2");
        assert_eq!(
            picked(Permission::Deny, &all[1..2]),
            "cancelled",
            "never a yes"
        );
    }
}
