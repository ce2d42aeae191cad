//! Sends a message and follows its turn, across outages of the gateway.

use std::collections::VecDeque;
use std::time::Duration;

use manyhands_core::{Envelope, ErrorCode};
use manyhands_wire::{
    ChatEventPayload, ChatSendParams, ChatSendResult, ChatState, ChatStopParams, ChatToolEvent,
    ChatToolState, ChatUsage, Event, Payload,
};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, sleep};

use super::approval::{self, Answer, PendingApproval};
use super::calls::{ToolCall, ToolEnd};
use super::screen::Screen;
use super::view::FRAME;
use crate::commands::call::segment;
use crate::context::CliContext;
use crate::remote::text;
use crate::socket::{Incoming, Socket};
use manyhands_terminal::editor::{HiddenInput, Question, discard_input, is_interactive};
use manyhands_terminal::output::Failure;

/// How long to wait for a gateway that went away.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(600);
/// First and longest delay between reconnects.
const RECONNECT_DELAYS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// A message with a unique run id, so that resending it is idempotent.
pub struct OutgoingMessage {
    pub session: String,
    pub run: String,
    pub message: String,
}

/// Outcome of a turn.
#[derive(Debug, PartialEq)]
pub enum TurnOutcome {
    /// The agent replied.
    Reply {
        text: String,
        /// Why the model stopped.
        stop: Option<String>,
        usage: Option<ChatUsage>,
    },
    /// The message was a slash command.
    Command {
        response: String,
        error: Option<String>,
    },
    /// The turn failed.
    Failed {
        error: String,
        stopped: bool,
        sort: FailureDetails,
    },
    /// It needs an approval, and there is no interactive user to ask.
    NeedsApproval(PendingApproval),
    /// The user left before the turn ended.
    Detached,
}

/// Machine-readable details of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FailureDetails {
    /// Stable name of the failure.
    pub failure: Option<String>,
    /// Error code.
    pub code: Option<String>,
    /// Delay before a retry.
    pub retry_after_ms: Option<u64>,
}

/// Sends a message and follows its turn; `about` is shown while it runs.
pub async fn follow(
    outgoing: &OutgoingMessage,
    ctx: &CliContext,
    screen: &mut Screen,
    about: &str,
) -> Result<TurnOutcome, Failure> {
    screen.begin(about);
    let outcome = follow_turn(outgoing, ctx, screen).await;
    screen.end();
    outcome
}

async fn follow_turn(
    outgoing: &OutgoingMessage,
    ctx: &CliContext,
    screen: &mut Screen,
) -> Result<TurnOutcome, Failure> {
    let hidden = screen.is_live().then(HiddenInput::start);
    let mut turn = Turn {
        outgoing,
        ctx,
        screen,
        // Installed before the message is sent: Ctrl-C has to stop the turn, not kill the client.
        interrupts: signal(SignalKind::interrupt())?,
        stopping: false,
        asked: VecDeque::new(),
        question: None,
        hidden,
    };
    let mut socket = turn.dial().await.map_err(failure)?;
    loop {
        let lost = match turn.over(&mut socket).await {
            Ok(end) => return end,
            Err(lost) => lost,
        };
        turn.cancel_prompts();
        // Prompts come again after the reconnect, unless they were answered meanwhile.
        turn.screen.missed();
        turn.screen
            .note(&format!("{}; reconnecting", first_line(&lost)));
        match turn.redial().await? {
            Some(again) => socket = again,
            None => return Ok(TurnOutcome::Detached),
        }
        turn.screen.note("reconnected");
    }
}

struct Turn<'a> {
    outgoing: &'a OutgoingMessage,
    ctx: &'a CliContext,
    screen: &'a mut Screen,
    interrupts: Signal,
    stopping: bool,
    /// Pending approval requests; the first one is shown.
    asked: VecDeque<PendingApproval>,
    question: Option<Question>,
    /// Typed keys are not shown, except while a question waits for its answer.
    hidden: Option<HiddenInput>,
}

/// Input the turn has to handle.
#[allow(clippy::large_enum_variant)] // there is one at a time
enum TurnInput {
    Received(Incoming),
    Answered(Option<String>),
    Interrupted,
    Tick,
}

impl Turn<'_> {
    async fn dial(&self) -> Result<Socket, Envelope> {
        // Resolved each time: a restarted gateway may listen on another port.
        let remote = self.ctx.remote().map_err(|failure| {
            let error = manyhands_core::ToolError::new(ErrorCode::Unavailable, failure.0);
            Envelope::from(Err(error))
        })?;
        Socket::open(remote.url(), remote.token()).await
    }

    /// Reconnects with backoff; `None` if the user interrupts.
    async fn redial(&mut self) -> Result<Option<Socket>, Failure> {
        let until = Instant::now() + RECONNECT_TIMEOUT;
        let (mut wait, longest) = RECONNECT_DELAYS;
        loop {
            tokio::select! {
                () = sleep(wait) => {}
                _ = self.interrupts.recv() => return Ok(None),
            }
            wait = (wait * 2).min(longest);
            match self.dial().await {
                Ok(socket) => return Ok(Some(socket)),
                Err(gone) if is_outage(&gone) && Instant::now() < until => {}
                Err(gone) => return Err(failure(gone)),
            }
        }
    }

    /// Sends the message and handles events until the turn ends; an outer error means the connection is lost.
    async fn over(
        &mut self,
        socket: &mut Socket,
    ) -> Result<Result<TurnOutcome, Failure>, Envelope> {
        let send = ChatSendParams {
            session_key: self.outgoing.session.clone(),
            message: self.outgoing.message.clone(),
            run_id: Some(self.outgoing.run.clone()),
        };
        let sent = socket.send(&send).await?;
        let mut frames = tokio::time::interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let input = tokio::select! {
                message = socket.receive() => TurnInput::Received(message?),
                answer = answered(&mut self.question) => TurnInput::Answered(answer),
                _ = self.interrupts.recv() => TurnInput::Interrupted,
                _ = frames.tick(), if self.screen.is_live() => TurnInput::Tick,
            };
            let end = match input {
                TurnInput::Tick => {
                    self.screen.tick();
                    None
                }
                TurnInput::Received(Incoming::Event(event)) => self.on_event(event).await,
                TurnInput::Received(Incoming::Response(id, said)) if id == sent => match said {
                    Ok(said) => match serde_json::from_value(said) {
                        Ok(response) => self.on_response(response).await,
                        Err(e) => {
                            return Ok(Err(Failure(format!(
                                "unexpected response from the gateway: {e}"
                            ))));
                        }
                    },
                    // The gateway is shutting down: reconnect instead of reporting a failed
                    // message.
                    Err(gone) if is_outage(&gone) => return Err(gone),
                    Err(refused) => return Ok(Err(failure(refused))),
                },
                // The response to `stop`; the end of the turn comes as an event.
                TurnInput::Received(Incoming::Response(..)) => None,
                TurnInput::Answered(answer) => self.decide(answer).await,
                // The gateway may not react; the user must be able to leave anyway.
                TurnInput::Interrupted if self.stopping => Some(TurnOutcome::Detached),
                TurnInput::Interrupted => {
                    self.stopping = true;
                    self.cancel_prompts();
                    self.screen
                        .note("stopping; press Ctrl-C again to leave without waiting");
                    let stop = ChatStopParams {
                        session_key: self.outgoing.session.clone(),
                    };
                    socket.send(&stop).await?;
                    None
                }
            };
            if let Some(end) = end {
                self.cancel_prompts();
                self.screen.end_line();
                return Ok(Ok(end));
            }
        }
    }

    /// Handles the response to the message.
    async fn on_response(&mut self, response: ChatSendResult) -> Option<TurnOutcome> {
        match response {
            ChatSendResult::Started { queued, .. } => {
                if queued {
                    self.screen.note("queued behind another message");
                }
                None
            }
            ChatSendResult::Command {
                response, error, ..
            } => Some(TurnOutcome::Command { response, error }),
            ChatSendResult::DirectiveOnly { response, .. } => Some(TurnOutcome::Command {
                error: Some(response),
                response: String::new(),
            }),
            ChatSendResult::Paused {
                response,
                approval_id,
                ..
            } => {
                self.screen.note(&response);
                let approval = approval_id?;
                match self.look_up(&approval).await {
                    Some(asked) => self.paused(asked).await,
                    // Without the details there is nothing the user could decide on.
                    None if is_interactive() => None,
                    None => Some(TurnOutcome::NeedsApproval(PendingApproval {
                        approval,
                        tool: "an earlier call".to_owned(),
                        ..PendingApproval::default()
                    })),
                }
            }
        }
    }

    /// Fetches the details of an approval request.
    async fn look_up(&self, approval: &str) -> Option<PendingApproval> {
        let listed = self.ctx.remote().ok()?.get("/api/approvals").await.ok()?;
        let waiting = listed["approvals"].as_array()?;
        let one = waiting.iter().find(|one| one["id"] == approval)?;
        Some(PendingApproval {
            approval: approval.to_owned(),
            tool: text(&one["tool"]),
            arguments: one["arguments"].clone(),
            details: one.clone(),
        })
    }

    async fn on_event(&mut self, event: Event) -> Option<TurnOutcome> {
        match ChatToolEvent::read(event.clone()) {
            Some(tool) if tool.run_id == self.outgoing.run => {
                // Additions that this version's type may not have.
                self.tool(tool, event.payload.unwrap_or_default());
            }
            Some(_) => {}
            None => {
                let chat = ChatEventPayload::read(event)?;
                // Other clients may write in the same session.
                if chat.run_id.as_deref() == Some(&self.outgoing.run) {
                    return self.chat(chat).await;
                }
            }
        }
        None
    }

    fn tool(&mut self, event: ChatToolEvent, whole: Value) {
        match event.state {
            ChatToolState::Started => self.screen.tool_started(ToolCall {
                id: event.call_id,
                tool: event.tool,
                arguments: event.args.unwrap_or_default(),
            }),
            ChatToolState::Output => {
                let text = event.text.unwrap_or_default();
                self.screen.tool_output(&event.call_id, &text);
            }
            ChatToolState::Done => {
                let arguments = self.screen.arguments(&event.call_id).cloned();
                let asked = self.asked.front();
                if asked.is_some_and(|a| {
                    a.tool == event.tool && Some(&a.arguments) == arguments.as_ref()
                }) {
                    // Answered elsewhere, such as on the web page.
                    self.next_prompt();
                }
                let end = ToolEnd {
                    id: event.call_id,
                    ok: event.ok.unwrap_or(true),
                    shown: event.shown.unwrap_or_default(),
                    took_ms: event.duration_ms,
                    outcome: whole["outcome"].as_str().map(str::to_owned),
                    exit_code: whole["exitCode"].as_i64(),
                    diff: whole["diff"].as_str().map(str::to_owned),
                };
                self.screen.tool_done(&event.tool, end);
            }
        }
    }

    async fn chat(&mut self, event: ChatEventPayload) -> Option<TurnOutcome> {
        let whole = || {
            let message = event
                .message
                .as_ref()
                .map(manyhands_wire::ChatMessage::text);
            message.or_else(|| event.text.clone()).unwrap_or_default()
        };
        match event.state {
            ChatState::Delta => {
                // Before the text: a restart withdraws what was streamed so far.
                if let Some(because) = &event.restart {
                    self.screen.restart(because);
                }
                if event.thinking.is_some() {
                    self.screen.thinking();
                }
                if let Some(text) = &event.text {
                    self.screen.delta(text);
                }
                None
            }
            ChatState::Partial => {
                self.screen.whole(&whole());
                None
            }
            ChatState::Paused => {
                let approval = event.approval_id.clone()?;
                self.paused(PendingApproval {
                    approval,
                    tool: event.tool.unwrap_or_default(),
                    arguments: event.arguments.unwrap_or_default(),
                    details: Value::Null,
                })
                .await
            }
            ChatState::Final => {
                let text = whole();
                self.screen.whole(&text);
                if event.stop_reason.as_deref() == Some("length") {
                    self.screen
                        .remark("the reply was cut off at the model's length limit");
                }
                Some(TurnOutcome::Reply {
                    text,
                    stop: event.stop_reason,
                    usage: event.usage,
                })
            }
            ChatState::Error => Some(TurnOutcome::Failed {
                error: why(event.error, event.retry_after_ms),
                stopped: event.stopped.unwrap_or(false),
                sort: FailureDetails {
                    failure: event.failure,
                    code: event.code,
                    retry_after_ms: event.retry_after_ms,
                },
            }),
        }
    }

    /// Prompts for an approval, if there is an interactive user.
    async fn paused(&mut self, mut asked: PendingApproval) -> Option<TurnOutcome> {
        if !is_interactive() {
            return Some(TurnOutcome::NeedsApproval(asked));
        }
        // Repeated after a reconnect.
        if self
            .asked
            .iter()
            .any(|known| known.approval == asked.approval)
        {
            return None;
        }
        if asked.details.is_null()
            && let Some(listed) = self.look_up(&asked.approval).await
        {
            asked.details = listed.details;
        }
        self.asked.push_back(asked);
        if self.question.is_none() {
            self.ask();
        }
        None
    }

    fn ask(&mut self) {
        let Some(asked) = self.asked.front() else {
            self.screen.answered();
            if self.hidden.is_none() && self.screen.is_live() {
                self.hidden = Some(HiddenInput::start());
            }
            return;
        };
        let (width, styled) = self.screen.size();
        let question = approval::question(asked, width, styled);
        self.hidden = None;
        discard_input();
        self.screen.ask(&question);
        self.question = Some(Question::start());
    }

    /// Removes the answered prompt and shows the next one.
    fn next_prompt(&mut self) {
        self.question = None;
        self.asked.pop_front();
        self.ask();
    }

    /// Removes all prompts.
    fn cancel_prompts(&mut self) {
        self.question = None;
        self.asked.clear();
        self.screen.answered();
    }

    async fn decide(&mut self, answer: Option<String>) -> Option<TurnOutcome> {
        self.question = None;
        let asked = self.asked.front()?.clone();
        let decision = match answer.as_deref().map(approval::answer) {
            None => return Some(TurnOutcome::NeedsApproval(asked)),
            Some(Answer::Allow(scope)) => json!({ "decision": "approve", "scope": scope }),
            Some(Answer::Deny(message)) => json!({ "decision": "deny", "message": message }),
            Some(Answer::Unclear) => {
                self.screen.ask("type y, c, a or n: ");
                self.question = Some(Question::start());
                return None;
            }
        };
        if let Err(failure) = self.post(&asked.approval, &decision).await {
            self.screen.remark(&format!("error: {}", failure.0));
        }
        self.next_prompt();
        None
    }

    async fn post(&self, approval: &str, decision: &Value) -> Result<(), Failure> {
        let path = format!("/api/approvals/{}", segment(approval));
        let remote = self.ctx.remote()?;
        remote.expect_post(&path, decision).await.map(drop)
    }
}

/// Waits for the answer to a prompt; never returns if there is none.
async fn answered(question: &mut Option<Question>) -> Option<String> {
    match question {
        Some(question) => question.answer().await,
        None => std::future::pending().await,
    }
}

/// Formats a turn's error with its retry delay.
fn why(error: Option<String>, retry_after_ms: Option<u64>) -> String {
    let error = error.unwrap_or_else(|| "no reply".to_owned());
    match retry_after_ms {
        Some(wait) => format!("{error}\nhint: retry in {} s", wait.div_ceil(1_000)),
        None => error,
    }
}

fn is_outage(envelope: &Envelope) -> bool {
    envelope.code == Some(ErrorCode::Unavailable)
}

fn failure(envelope: Envelope) -> Failure {
    Failure(
        envelope
            .error
            .unwrap_or_else(|| "the gateway refused the request".to_owned()),
    )
}

fn first_line(envelope: &Envelope) -> String {
    let error = envelope.error.as_deref().unwrap_or("connection lost");
    error.lines().next().unwrap_or_default().to_owned()
}
