//! One message and what comes of it, through outages of the gateway.

use std::collections::VecDeque;
use std::time::Duration;

use manyhands_core::{Envelope, ErrorCode};
use manyhands_wire::{
    ChatEventPayload, ChatSendParams, ChatSendResult, ChatState, ChatStopParams, ChatToolEvent,
    ChatToolState, ChatUsage, Event, Payload,
};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep};

use super::screen::{Screen, ToolCall, ToolEnd};
use crate::commands::call::segment;
use crate::editor::{Question, somebody_is_there};
use crate::ground::Ground;
use crate::output::Failure;
use crate::remote::text;
use crate::socket::{Heard, Socket};

/// How long a gateway that went away is waited for.
const COMES_BACK_WITHIN: Duration = Duration::from_secs(600);
/// The first and the longest wait before it is dialed again.
const AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// A message, with an id of its own: sent twice, it counts once.
pub struct Saying {
    pub session: String,
    pub run: String,
    pub message: String,
}

/// How it ended.
#[derive(Debug, PartialEq)]
pub enum End {
    /// There is an answer.
    Answer {
        text: String,
        /// Why the model said no more.
        stop: Option<String>,
        usage: Option<ChatUsage>,
    },
    /// It was a command, and this came of it.
    Command {
        response: String,
        error: Option<String>,
    },
    /// There is no answer.
    Failed {
        error: String,
        stopped: bool,
        sort: Sort,
    },
    /// It waits for the owner, and nobody is here to be asked.
    Waits(Asked),
    /// The person left before it ended.
    Left,
}

/// What sort of failure, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sort {
    /// A stable word.
    pub failure: Option<String>,
    /// The code of a refusal.
    pub code: Option<String>,
    /// How long to wait before asking again.
    pub retry_after_ms: Option<u64>,
}

/// What the owner is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub approval: String,
    pub tool: String,
    pub arguments: Value,
}

/// Says it and follows what comes of it.
pub async fn follow(saying: &Saying, ground: &Ground, screen: &mut Screen) -> Result<End, Failure> {
    screen.begin();
    let mut turn = Turn {
        saying,
        ground,
        screen,
        interrupts: signal(SignalKind::interrupt())?,
        stopping: false,
        asked: VecDeque::new(),
        question: None,
    };
    let mut socket = turn.dial().await.map_err(failure)?;
    loop {
        let lost = match turn.over(&mut socket).await {
            Ok(end) => return end,
            Err(lost) => lost,
        };
        turn.take_back();
        turn.screen.missed();
        turn.screen.note(&format!(
            "{}; waiting for it to come back",
            first_line(&lost)
        ));
        match turn.redial().await? {
            Some(again) => socket = again,
            None => return Ok(End::Left),
        }
        turn.screen.note("the gateway is back");
    }
}

struct Turn<'a> {
    saying: &'a Saying,
    ground: &'a Ground,
    screen: &'a mut Screen,
    interrupts: Signal,
    stopping: bool,
    /// What the owner is asked, the first of them now.
    asked: VecDeque<Asked>,
    question: Option<Question>,
}

/// Something that has to be seen to.
#[allow(clippy::large_enum_variant)] // there is one at a time
enum Happened {
    Heard(Heard),
    Answered(Option<String>),
    Interrupted,
}

impl Turn<'_> {
    async fn dial(&self) -> Result<Socket, Envelope> {
        // A gateway that was started again may listen elsewhere.
        let remote = self.ground.remote().map_err(|failure| {
            let error = manyhands_core::ToolError::new(ErrorCode::Unavailable, failure.0);
            Envelope::from(Err(error))
        })?;
        Socket::open(remote.url(), remote.token()).await
    }

    /// Dials until the gateway is back; `None` when the person has seen enough.
    async fn redial(&mut self) -> Result<Option<Socket>, Failure> {
        let until = Instant::now() + COMES_BACK_WITHIN;
        let (mut wait, longest) = AGAIN;
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

    /// Says it over this connection and listens until it ends; an error means that the connection did.
    async fn over(&mut self, socket: &mut Socket) -> Result<Result<End, Failure>, Envelope> {
        let send = ChatSendParams {
            session_key: self.saying.session.clone(),
            message: self.saying.message.clone(),
            run_id: Some(self.saying.run.clone()),
        };
        let sent = socket.say(&send).await?;
        loop {
            let happened = tokio::select! {
                heard = socket.hear() => Happened::Heard(heard?),
                answer = answered(&mut self.question) => Happened::Answered(answer),
                _ = self.interrupts.recv() => Happened::Interrupted,
            };
            let end = match happened {
                Happened::Heard(Heard::Event(event)) => self.told(event).await,
                Happened::Heard(Heard::Answer(id, said)) if id == sent => match said {
                    Ok(said) => match serde_json::from_value(said) {
                        Ok(became) => self.became(became).await,
                        Err(e) => {
                            return Ok(Err(Failure(format!("the gateway answers oddly: {e}"))));
                        }
                    },
                    Err(gone) if is_outage(&gone) => return Err(gone),
                    Err(refused) => return Ok(Err(failure(refused))),
                },
                Happened::Heard(Heard::Answer(..)) => None,
                Happened::Answered(answer) => self.decide(answer).await,
                Happened::Interrupted if self.stopping => Some(End::Left),
                Happened::Interrupted => {
                    self.stopping = true;
                    self.take_back();
                    self.screen
                        .note("stopping; Ctrl-C again leaves without waiting");
                    let stop = ChatStopParams {
                        session_key: self.saying.session.clone(),
                    };
                    socket.say(&stop).await?;
                    None
                }
            };
            if let Some(end) = end {
                self.take_back();
                self.screen.end_line();
                return Ok(Ok(end));
            }
        }
    }

    /// What became of the message.
    async fn became(&mut self, became: ChatSendResult) -> Option<End> {
        match became {
            ChatSendResult::Started { queued, .. } => {
                if queued {
                    self.screen.note("another message is before this one");
                }
                None
            }
            ChatSendResult::Command {
                response, error, ..
            } => Some(End::Command { response, error }),
            ChatSendResult::DirectiveOnly { response, .. } => Some(End::Command {
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
                    Some(asked) => self.paused(asked),
                    // Nobody is asked about what they are not shown.
                    None if somebody_is_there() => None,
                    None => Some(End::Waits(Asked {
                        approval,
                        tool: "a call before this message".to_owned(),
                        arguments: Value::Null,
                    })),
                }
            }
        }
    }

    /// What an approval is about.
    async fn look_up(&self, approval: &str) -> Option<Asked> {
        let listed = self
            .ground
            .remote()
            .ok()?
            .get("/api/approvals")
            .await
            .ok()?;
        let waiting = listed["approvals"].as_array()?;
        let one = waiting.iter().find(|one| one["id"] == approval)?;
        Some(Asked {
            approval: approval.to_owned(),
            tool: text(&one["tool"]),
            arguments: one["arguments"].clone(),
        })
    }

    async fn told(&mut self, event: Event) -> Option<End> {
        match ChatToolEvent::read(event.clone()) {
            Some(tool) if tool.run_id == self.saying.run => self.tool(tool),
            Some(_) => {}
            None => {
                let chat = ChatEventPayload::read(event)?;
                if chat.run_id.as_deref() == Some(&self.saying.run) {
                    return self.chat(chat);
                }
            }
        }
        None
    }

    fn tool(&mut self, event: ChatToolEvent) {
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
                    // Somebody else answered.
                    self.answered();
                }
                let end = ToolEnd {
                    id: event.call_id,
                    ok: event.ok.unwrap_or(true),
                    shown: event.shown.unwrap_or_default(),
                    took_ms: event.duration_ms,
                };
                self.screen.tool_done(&event.tool, end);
            }
        }
    }

    fn chat(&mut self, event: ChatEventPayload) -> Option<End> {
        let whole = || {
            let message = event
                .message
                .as_ref()
                .map(manyhands_wire::ChatMessage::text);
            message.or_else(|| event.text.clone()).unwrap_or_default()
        };
        match event.state {
            ChatState::Delta => {
                if let Some(because) = &event.restart {
                    self.screen.restart(because);
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
                self.paused(Asked {
                    approval,
                    tool: event.tool.unwrap_or_default(),
                    arguments: event.arguments.unwrap_or_default(),
                })
            }
            ChatState::Final => {
                let text = whole();
                self.screen.whole(&text);
                if event.stop_reason.as_deref() == Some("length") {
                    self.screen.remark("the answer was cut off at its longest");
                }
                Some(End::Answer {
                    text,
                    stop: event.stop_reason,
                    usage: event.usage,
                })
            }
            ChatState::Error => Some(End::Failed {
                error: why(event.error, event.retry_after_ms),
                stopped: event.stopped.unwrap_or(false),
                sort: Sort {
                    failure: event.failure,
                    code: event.code,
                    retry_after_ms: event.retry_after_ms,
                },
            }),
        }
    }

    /// The owner is asked, if somebody is here to be asked.
    fn paused(&mut self, asked: Asked) -> Option<End> {
        if !somebody_is_there() {
            return Some(End::Waits(asked));
        }
        if self
            .asked
            .iter()
            .any(|known| known.approval == asked.approval)
        {
            return None;
        }
        self.asked.push_back(asked);
        if self.question.is_none() {
            self.ask();
        }
        None
    }

    fn ask(&mut self) {
        let Some(asked) = self.asked.front() else {
            return;
        };
        let arguments = serde_json::to_string_pretty(&asked.arguments).unwrap_or_default();
        self.screen.ask(&format!(
            "{} waits for your approval. It will run with exactly this:\n{arguments}\nlet it run? [y/n] ",
            asked.tool
        ));
        self.question = Some(Question::new());
    }

    /// The first question is answered: on to the next.
    fn answered(&mut self) {
        self.question = None;
        self.asked.pop_front();
        self.ask();
    }

    /// No question stands any more.
    fn take_back(&mut self) {
        self.question = None;
        self.asked.clear();
    }

    async fn decide(&mut self, answer: Option<String>) -> Option<End> {
        self.question = None;
        let asked = self.asked.front()?.clone();
        let decision = match answer.as_deref().map(str::trim) {
            None => return Some(End::Waits(asked)),
            Some("y" | "Y" | "yes") => "approve",
            Some("n" | "N" | "no") => "deny",
            Some(_) => {
                self.screen.ask("y lets it run, n does not: ");
                self.question = Some(Question::new());
                return None;
            }
        };
        if let Err(failure) = self.post(&asked.approval, decision).await {
            self.screen.remark(&format!("error: {}", failure.0));
        }
        self.answered();
        None
    }

    async fn post(&self, approval: &str, decision: &str) -> Result<(), Failure> {
        let path = format!("/api/approvals/{}", segment(approval));
        let remote = self.ground.remote()?;
        remote
            .expect_post(&path, &json!({ "decision": decision }))
            .await?;
        Ok(())
    }
}

/// The answer to a question; never, where none was asked.
async fn answered(question: &mut Option<Question>) -> Option<String> {
    match question {
        Some(question) => question.answer().await,
        None => std::future::pending().await,
    }
}

/// Why there is no answer, and when to ask again.
fn why(error: Option<String>, retry_after_ms: Option<u64>) -> String {
    let error = error.unwrap_or_else(|| "there is no answer".to_owned());
    match retry_after_ms {
        Some(wait) => format!("{error}\nhint: ask again in {} s", wait.div_ceil(1_000)),
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
            .unwrap_or_else(|| "the gateway refused".to_owned()),
    )
}

fn first_line(envelope: &Envelope) -> String {
    let error = envelope.error.as_deref().unwrap_or("the connection broke");
    error.lines().next().unwrap_or_default().to_owned()
}
