//! The house around the minds for a month: a calendar, a model that does what each message says,
//! and tools that remember what they really did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{
    AgentId, ApprovalId, CallRequest, Caller, Catalogue, Clock, Effects, Entropy as _, ErrorCode,
    Ids, Invoke, Outcome, SeededEntropy, Timestamp, ToolError, ToolSpec,
};
use manyhands_llm::{
    Arguments, Block, Cost, Delta, ErrorKind, Message, ModelError, ModelRequest, Reply, ReplyBlock,
    StopReason, ToolCall, ToolChoice, Usage,
};
use serde_json::json;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::super::fixture::NamedTool;
use crate::env::{AgentEnv, LocalTime, ModelClient, SkillNote};
use crate::origin::Origin;
use crate::{AgentSettings, ResetPolicy, TurnLimits};

/// A day in milliseconds.
pub(super) const DAY: i64 = 86_400_000;
/// How many messages may wait in one session.
pub(super) const QUEUED: usize = 4;

/// Rolls that follow from the seed alone.
pub(super) struct Dice(Arc<SeededEntropy>);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Arc::new(SeededEntropy::new(seed)))
    }

    /// A number below `sides`.
    pub(super) fn roll(&self, sides: u32) -> u32 {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        u32::from_le_bytes(bytes) % sides
    }

    /// Whether it happens this time, which it does once in `times`.
    pub(super) fn once_in(&self, times: u32) -> bool {
        self.roll(times) == 0
    }
}

/// The time, which is moved by hand, and whose wall clock is sometimes set.
pub(super) struct Calendar {
    wall: AtomicI64,
    steady: AtomicI64,
}

impl Calendar {
    pub(super) fn pass(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
        self.steady.fetch_add(ms, Ordering::SeqCst);
    }

    /// Somebody sets the clock; no time passes.
    pub(super) fn set_off(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for Calendar {
    fn now(&self) -> Timestamp {
        Timestamp(self.wall.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.steady.load(Ordering::SeqCst)).unwrap_or(0))
    }
}

/// What stays when a process dies.
pub(super) struct SimulatedWorld {
    pub(super) dice: Dice,
    pub(super) calendar: Arc<Calendar>,
    pub(super) ids: Ids,
    /// What was really done, and how often.
    pub(super) deeds: Mutex<BTreeMap<String, u32>>,
}

impl SimulatedWorld {
    pub(super) fn new(seed: u64) -> Arc<Self> {
        let calendar = Arc::new(Calendar {
            wall: AtomicI64::new(1_794_700_800_000),
            steady: AtomicI64::new(0),
        });
        let ids = Ids::new(calendar.clone(), Arc::new(SeededEntropy::new(seed ^ 0xff)));
        Arc::new(Self {
            dice: Dice::new(seed),
            calendar,
            ids,
            deeds: Mutex::default(),
        })
    }
}

/// What a message asks the model to do; it is written into the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskPlan {
    Says,
    Acts(u32),
    Asks,
    Waits,
    Hangs,
    Fails(u32),
    Garbage,
    Nothing,
    Long,
    Overflows,
}

/// The words that people are told of how models fail.
pub(super) const FAILURES: [&str; 5] = [
    "provider_rate_limited",
    "provider_overloaded",
    "provider_auth",
    "provider_failed",
    "provider_timeout",
];

/// How a model fails, by the place of its word.
fn failure(place: u32) -> ErrorKind {
    match place {
        0 => ErrorKind::RateLimited {
            retry_after: Some(Duration::from_secs(9)),
        },
        1 => ErrorKind::Overloaded,
        2 => ErrorKind::Auth,
        3 => ErrorKind::Garbage,
        _ => ErrorKind::Silent,
    }
}

impl TaskPlan {
    pub(super) fn draw(dice: &Dice) -> Self {
        match dice.roll(40) {
            0..=14 => Self::Says,
            15..=24 => Self::Acts(1 + dice.roll(3)),
            25..=27 => Self::Asks,
            28..=29 => Self::Waits,
            30 => Self::Hangs,
            31..=33 => Self::Fails(dice.roll(5)),
            34..=35 => Self::Garbage,
            36 => Self::Nothing,
            37 => Self::Long,
            _ => Self::Overflows,
        }
    }

    pub(super) fn text(self, number: u32) -> String {
        let filler = "and some more words to fill the page ".repeat((number % 4) as usize);
        let (word, detail) = match self {
            Self::Says => ("says", 0),
            Self::Acts(rounds) => ("acts", rounds),
            Self::Asks => ("asks", 0),
            Self::Waits => ("waits", 0),
            Self::Hangs => ("hangs", 0),
            Self::Fails(how) => ("fails", how),
            Self::Garbage => ("garbage", 0),
            Self::Nothing => ("nothing", 0),
            Self::Long => ("long", 0),
            Self::Overflows => ("overflows", 0),
        };
        format!("#{number} {word} {detail} {filler}")
    }

    /// The number and the plan of a message, if it has one.
    fn read(text: &str) -> Option<(u32, Self)> {
        let mut words = text.split_once('#')?.1.split_whitespace();
        let number = words.next()?.parse().ok()?;
        let (word, detail) = (words.next()?, words.next()?.parse().ok()?);
        let plan = match word {
            "says" => Self::Says,
            "acts" => Self::Acts(detail),
            "asks" => Self::Asks,
            "waits" => Self::Waits,
            "hangs" => Self::Hangs,
            "fails" => Self::Fails(detail),
            "garbage" => Self::Garbage,
            "nothing" => Self::Nothing,
            "long" => Self::Long,
            _ => Self::Overflows,
        };
        Some((number, plan))
    }
}

/// Whether somebody else than the owner says it.
pub(super) fn is_of_stranger(number: u32) -> bool {
    number.is_multiple_of(9)
}

/// The number of the message, if somebody said it.
pub(super) fn number_of(message: &Message) -> Option<u32> {
    let Message::User { content } = message else {
        return None;
    };
    content.iter().find_map(|block| match block {
        Block::Text { text } => TaskPlan::read(text).map(|(number, _)| number),
        Block::Image { .. } => None,
    })
}

/// One life of the process, as the model, the tools and the owner see it.
pub(super) struct Day {
    pub(super) world: Arc<SimulatedWorld>,
    catalogue: Arc<Catalogue>,
    /// Sessions whose model thinks until it is stopped.
    pub(super) hanging: Mutex<BTreeSet<String>>,
    /// What waits for the owner: `true` lets it run.
    pub(super) questions: Mutex<Vec<oneshot::Sender<bool>>>,
    pub(super) gate: Notify,
    pub(super) stopping: CancellationToken,
}

impl Day {
    pub(super) fn new(world: &Arc<SimulatedWorld>) -> Arc<Self> {
        let mut catalogue = Catalogue::default();
        for (name, effects) in [
            ("look", Effects::READS),
            ("act", Effects::WRITES),
            ("wait", Effects::RUNS),
            ("ask", Effects::RUNS),
        ] {
            let spec = ToolSpec::new(name, "test").effects(effects);
            catalogue.add(Arc::new(NamedTool(spec))).unwrap();
        }
        Arc::new(Self {
            world: world.clone(),
            catalogue: Arc::new(catalogue),
            hanging: Mutex::default(),
            questions: Mutex::default(),
            gate: Notify::new(),
            stopping: CancellationToken::new(),
        })
    }
}

#[async_trait]
impl Invoke for Day {
    async fn invoke(&self, request: CallRequest) -> Result<Outcome, ToolError> {
        if self.catalogue.resolve(&request.tool).is_none() {
            return Err(ToolError::new(
                ErrorCode::UnknownTool,
                "there is no such tool",
            ));
        }
        let witness = request.witness.clone().expect("a turn witnesses its calls");
        if request.tool == "ask" {
            witness
                .approval_pending(self.world.ids.next::<ApprovalId>())
                .await;
            let (answer, answered) = oneshot::channel();
            self.questions.lock().unwrap().push(answer);
            if !answered.await.unwrap_or(false) {
                return Err(ToolError::new(
                    ErrorCode::ApprovalDenied,
                    "the owner said no",
                ));
            }
        }
        witness.starting().await?;
        let deed = request.arguments["deed"]
            .as_str()
            .unwrap_or("none")
            .to_owned();
        if request.tool != "look" {
            let mut deeds = self.world.deeds.lock().unwrap();
            *deeds.entry(deed.clone()).or_default() += 1;
        }
        if request.tool == "wait" {
            self.gate.notified().await;
        }
        Ok(Outcome::value(json!({ "did": deed })))
    }

    fn authorize(&self, question: manyhands_core::Question<'_>) -> manyhands_core::Verdict {
        let denied =
            question.caller.rights.tools.is_empty() || !question.reach.contains(question.spec);
        let decision = [
            manyhands_core::Decision::Allow,
            manyhands_core::Decision::Deny,
        ][usize::from(denied)];
        manyhands_core::Verdict::default_rule(decision, "test")
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.clone()
    }
}

fn call(id: &str, tool: &str, deed: &str) -> ReplyBlock {
    ReplyBlock::Call(ToolCall {
        id: id.to_owned(),
        name: tool.to_owned(),
        arguments: Arguments::parse(&json!({ "deed": deed }).to_string()),
        opaque: None,
    })
}

/// What the model says, from the conversation alone.
fn content(request: &ModelRequest, number: u32, plan: TaskPlan, round: u32) -> Vec<ReplyBlock> {
    let deed = |place: u32| format!("{number}.{round}.{place}");
    let acts = |tool: &str| {
        vec![
            ReplyBlock::text("I shall do it."),
            call(&deed(1), "look", &deed(1)),
            call(&deed(2), tool, &deed(2)),
        ]
    };
    match plan {
        _ if request.tool_choice == ToolChoice::None => vec![ReplyBlock::text("enough")],
        TaskPlan::Acts(rounds) if round < rounds => acts("act"),
        TaskPlan::Asks if round == 0 => acts("ask"),
        TaskPlan::Waits if round == 0 => acts("wait"),
        TaskPlan::Garbage if round == 0 => vec![
            call("same", "act", &deed(1)),
            call("same", "act", &deed(2)),
            call(&deed(3), "no_such_tool", &deed(3)),
            ReplyBlock::Call(ToolCall {
                id: deed(4),
                name: "act".to_owned(),
                arguments: Arguments::parse("{\"deed\": "),
                opaque: None,
            }),
        ],
        TaskPlan::Nothing => Vec::new(),
        TaskPlan::Long => vec![ReplyBlock::text("on and on ".repeat(40))],
        _ => vec![ReplyBlock::text(format!("heard {number}"))],
    }
}

#[async_trait]
impl ModelClient for Day {
    async fn reply(
        &self,
        request: &ModelRequest,
        on: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let failed = |kind| ModelError {
            kind,
            model: "test/month".parse().unwrap(),
            message: "as told".to_owned(),
            attempts: Vec::new(),
        };
        let last = request
            .messages
            .iter()
            .rposition(|m| number_of(m).is_some());
        let summary = request
            .system
            .iter()
            .any(|part| part.text.starts_with("Summarise"));
        let content = match last {
            _ if summary => match request.messages[0] == Message::user("") {
                true => return Err(failed(ErrorKind::Server { status: 500 })),
                false => vec![ReplyBlock::text("they spoke at length")],
            },
            None => vec![ReplyBlock::text("about what?")],
            Some(at) => {
                let Message::User { content: said } = &request.messages[at] else {
                    unreachable!("only people's messages have numbers");
                };
                let Block::Text { text } = &said[0] else {
                    unreachable!("they are texts");
                };
                let (number, plan) = TaskPlan::read(text).unwrap();
                let rounds = request.messages[at..].iter();
                let rounds = rounds.filter(|m| matches!(m, Message::Tool { .. })).count();
                match plan {
                    TaskPlan::Fails(how) => return Err(failed(failure(how))),
                    TaskPlan::Overflows if request.messages.len() > 3 => {
                        return Err(failed(ErrorKind::ContextOverflow));
                    }
                    TaskPlan::Hangs => {
                        let session = request.account.session.clone().unwrap_or_default();
                        self.hanging.lock().unwrap().insert(session);
                        cancel.cancelled().await;
                        return Err(failed(ErrorKind::Cancelled));
                    }
                    _ => content(request, number, plan, u32::try_from(rounds).unwrap()),
                }
            }
        };
        on(Delta::Text("so".to_owned()));
        tokio::task::yield_now().await;
        let text = content.iter().any(
            |block| matches!(block, ReplyBlock::Text { text, .. } if text.starts_with("on and on")),
        );
        Ok(Reply {
            stop: if text {
                StopReason::Length
            } else {
                StopReason::End
            },
            content,
            usage: Usage::default(),
            cost: Cost::MicroDollars(1),
            model: "test/month".parse().unwrap(),
            attempts: Vec::new(),
            notes: Vec::new(),
            scripted: false,
        })
    }
}

/// The house of one life.
pub(super) struct MonthEnv(pub(super) Arc<Day>);

#[async_trait]
impl AgentEnv for MonthEnv {
    fn models(&self) -> Arc<dyn ModelClient> {
        self.0.clone()
    }

    fn agent(&self, id: &AgentId) -> Option<AgentSettings> {
        let mut settings = AgentSettings::new(id.clone());
        settings.reset = match id.as_str() {
            "daily" => ResetPolicy::Daily { at_hour: 4 },
            "idle" => ResetPolicy::Idle { idle_minutes: 200 },
            _ => ResetPolicy::Manual,
        };
        Some(settings)
    }

    fn limits(&self) -> TurnLimits {
        TurnLimits {
            steps: 8,
            queued: QUEUED,
            window: 700,
            tools: Duration::ZERO, // a tool that it has not, it never has
            ..TurnLimits::default()
        }
    }

    fn caller(&self, _: &Origin) -> Result<Arc<Caller>, ToolError> {
        Ok(Arc::new(Caller::gateway()))
    }

    async fn file(&self, _: &AgentId, _: &str) -> Option<(String, manyhands_core::Taint)> {
        None
    }

    async fn skills(&self, _: &AgentId) -> Vec<SkillNote> {
        Vec::new()
    }

    fn facts(&self) -> Vec<String> {
        Vec::new()
    }

    fn local_time(&self) -> LocalTime {
        LocalTime {
            day: "2026-11-15".to_owned(),
            day_before: "2026-11-14".to_owned(),
            clock: "09:30".to_owned(),
            zone: "UTC".to_owned(),
            since_midnight_ms: self.0.world.calendar.now().0.rem_euclid(DAY),
        }
    }

    fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }
}
