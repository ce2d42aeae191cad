use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{
    CallContext, CallRequest, Caller, Catalogue, Effects, ErrorCode, Ids, Invoke, ManualClock,
    Outcome, Pattern, Principal, Rights, Role, SeededEntropy, Taint, Timestamp, Tool, ToolError,
    ToolSpec,
};
use manyhands_llm::{
    Arguments, Cost, Delta, ErrorKind, Message, ModelError, ModelRequest, Reply, ReplyBlock,
    StopReason, ToolCall, Usage,
};
use manyhands_store::{Store, TranscriptEntry};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::env::ModelClient;
use crate::origin::Origin;
use crate::testing::{FakeEnv, verdict};
use crate::{
    AgentSettings, ChatEvent, ChatListener, Input, InputReceipt, MindParts, Minds, SessionKey,
    Subscription, TurnEvent,
};

/// What the model does when it is asked.
pub(super) enum ScriptedReply {
    /// Says this.
    Says(&'static str),
    /// Says this, and would say more.
    Cut(&'static str),
    /// Calls these two by one id.
    Twins((&'static str, &'static str), (&'static str, &'static str)),
    /// Calls these, with these arguments as text.
    Calls(Vec<(&'static str, &'static str)>),
    /// Fails like this.
    Fails(ErrorKind),
    /// Thinks until it is stopped.
    Hangs,
    /// Says something and goes on until it is stopped.
    SaysAndHangs(&'static str),
    /// Panics.
    Panics,
}

/// A model that follows its lines, and remembers what it was asked.
#[derive(Default)]
pub(super) struct Actor {
    pub(super) lines: Mutex<VecDeque<ScriptedReply>>,
    pub(super) asked: Mutex<Vec<ModelRequest>>,
    /// Fires when it begins to hang.
    pub(super) hanging: Notify,
}

pub(super) fn model() -> manyhands_llm::ModelId {
    "test/actor".parse().unwrap()
}

#[async_trait]
impl ModelClient for Actor {
    async fn reply(
        &self,
        request: &ModelRequest,
        on: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        self.asked.lock().unwrap().push(request.clone());
        let line = self.lines.lock().unwrap().pop_front();
        let failed = |kind| ModelError {
            kind,
            model: model(),
            message: "as told".to_owned(),
            attempts: Vec::new(),
        };
        let mut cut = false;
        let content = match line {
            Some(ScriptedReply::Cut(text)) => {
                cut = true;
                vec![ReplyBlock::text(text)]
            }
            Some(ScriptedReply::Twins(first, second)) => {
                let call = |(name, raw): (&str, &str)| {
                    ReplyBlock::Call(ToolCall {
                        id: "twin".to_owned(),
                        name: name.to_owned(),
                        arguments: Arguments::parse(raw),
                        opaque: None,
                    })
                };
                vec![call(first), call(second)]
            }
            None => vec![ReplyBlock::text("(no more lines)")],
            Some(ScriptedReply::Says(text)) => {
                on(Delta::Text(text.to_owned()));
                vec![ReplyBlock::text(text)]
            }
            Some(ScriptedReply::Calls(calls)) => {
                let step = self.asked.lock().unwrap().len();
                let call = |(at, (name, raw)): (usize, (&str, &str))| {
                    ReplyBlock::Call(ToolCall {
                        id: format!("c{step}-{at}"),
                        name: name.to_owned(),
                        arguments: Arguments::parse(raw),
                        opaque: None,
                    })
                };
                calls.into_iter().enumerate().map(call).collect()
            }
            Some(ScriptedReply::Fails(kind)) => return Err(failed(kind)),
            Some(ScriptedReply::Panics) => panics(),
            Some(ScriptedReply::SaysAndHangs(text)) => {
                on(Delta::Text(text.to_owned()));
                self.hanging.notify_one();
                cancel.cancelled().await;
                return Err(failed(ErrorKind::Cancelled));
            }
            Some(ScriptedReply::Hangs) => {
                self.hanging.notify_one();
                cancel.cancelled().await;
                return Err(failed(ErrorKind::Cancelled));
            }
        };
        let calls = content
            .iter()
            .any(|block| matches!(block, ReplyBlock::Call(_)));
        Ok(Reply {
            stop: match (calls, cut) {
                (true, _) => StopReason::Calls,
                (_, true) => StopReason::Length,
                _ => StopReason::End,
            },
            content,
            usage: Usage {
                input: 10,
                output: 2,
                ..Usage::default()
            },
            cost: Cost::MicroDollars(3),
            model: model(),
            attempts: Vec::new(),
            notes: Vec::new(),
            scripted: false,
        })
    }
}

/// Panics without a word on the terminal.
fn panics() -> ! {
    std::panic::resume_unwind(Box::new("as told, with a secret-detail"))
}

pub(super) struct NamedTool(pub(super) ToolSpec);

#[async_trait]
impl Tool for NamedTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: Value, _: &CallContext) -> Result<Outcome, ToolError> {
        Err(ToolError::internal("only the path is asked"))
    }
}

/// Tools that note what was asked of them: `look`, `act` and `run`, which prints, answer, `wait` waits until it
/// is let go, `meet` waits until two of it run, `ask` needs the owner. Asked for `panics`, all of them do.
pub(super) struct Tools {
    catalogue: Mutex<Arc<Catalogue>>,
    pub(super) calls: Mutex<Vec<CallRequest>>,
    pub(super) waiting: Notify,
    pub(super) go: Notify,
    meeting: tokio::sync::Barrier,
    pub(super) approved: Notify,
}

impl Tools {
    fn new() -> Self {
        Self {
            catalogue: Mutex::new(Self::all_but("")),
            calls: Mutex::default(),
            waiting: Notify::new(),
            go: Notify::new(),
            meeting: tokio::sync::Barrier::new(2),
            approved: Notify::new(),
        }
    }

    fn all_but(missing: &str) -> Arc<Catalogue> {
        let mut catalogue = Catalogue::default();
        for (name, effects) in [
            ("look", Effects::READS),
            ("meet", Effects::READS),
            ("act", Effects::WRITES),
            ("run", Effects::RUNS),
            ("wait", Effects::RUNS),
            ("ask", Effects::RUNS),
            ("plan_create", Effects::LEAVES),
        ] {
            if name != missing {
                let spec = ToolSpec::new(name, "test").effects(effects);
                catalogue.add(Arc::new(NamedTool(spec))).unwrap();
            }
        }
        Arc::new(catalogue)
    }

    /// One of the tools goes, or with an empty name all are there.
    pub(super) fn lack(&self, missing: &str) {
        *self.catalogue.lock().unwrap() = Self::all_but(missing);
    }

    pub(super) fn names(&self) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|call| call.tool.clone()).collect()
    }
}

#[async_trait]
impl Invoke for Tools {
    async fn invoke(&self, request: CallRequest) -> Result<Outcome, ToolError> {
        if self.catalogue().resolve(&request.tool).is_none() {
            let message = format!("there is no tool {:?}", request.tool);
            return Err(ToolError::new(ErrorCode::UnknownTool, message));
        }
        let witness = request.witness.clone();
        if request.tool == "ask" {
            if let Some(witness) = &witness {
                witness
                    .approval_pending(
                        Ids::new(
                            Arc::new(ManualClock::at(Timestamp(1))),
                            Arc::new(SeededEntropy::new(1)),
                        )
                        .next(),
                    )
                    .await;
            }
            self.approved.notified().await;
        }
        if let Some(witness) = &witness {
            witness.starting().await?;
        }
        self.calls.lock().unwrap().push(request.clone());
        if request.arguments["panics"] == true {
            panics();
        }
        match request.tool.as_str() {
            "wait" => {
                self.waiting.notify_one();
                self.go.notified().await;
            }
            "meet" => {
                self.meeting.wait().await;
            }
            "run" => request.progress.print("it runs\n"),
            "plan_create" => {
                return Ok(Outcome::value(
                    json!({ "plan": { "thought": "", "steps": ["mix", "bake", "eat"] } }),
                ));
            }
            _ => {}
        }
        Ok(Outcome::value(
            json!({ "did": request.tool, "with": *request.arguments }),
        ))
    }

    fn authorize(&self, question: manyhands_core::Question<'_>) -> manyhands_core::Verdict {
        verdict(&question)
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.lock().unwrap().clone()
    }
}

/// The owner, or a guest for an origin that names a person.
fn caller_of(origin: &Origin) -> Result<Arc<Caller>, ToolError> {
    Ok(Arc::new(match &origin.person {
        Some(person) => Caller::new(
            Principal::person(person),
            "guest",
            Rights::new(Role::Client, vec![Pattern::new("*")]),
        ),
        None => Caller::gateway(),
    }))
}

pub(super) struct Fixture {
    pub(super) minds: Minds,
    pub(super) env: Arc<FakeEnv>,
    pub(super) actor: Arc<Actor>,
    pub(super) tools: Arc<Tools>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) store: Store,
    pub(super) events: ChatListener,
    home: tempfile::TempDir,
}

pub(super) fn owner() -> Origin {
    Origin {
        token: None,
        person: None,
        place: None,
        name: "owner".to_owned(),
        trusted: true,
        depth: 0,
        tainted: Taint::NONE,
        job: None,
        lineage: Vec::new(),
    }
}

pub(super) fn key() -> SessionKey {
    "main".parse().unwrap()
}

impl Fixture {
    pub(super) async fn new(lines: Vec<ScriptedReply>) -> Self {
        let home = tempfile::tempdir().unwrap();
        Self::on(home, lines).await
    }

    /// With a conversation of two long replies that was compacted into a summary.
    pub(super) async fn compacted() -> Self {
        let long: &'static str = Box::leak("word ".repeat(400).into_boxed_str());
        let lines = vec![
            ScriptedReply::Says(long),
            ScriptedReply::Says(long),
            ScriptedReply::Says("brief"),
        ];
        let mut fixture = Fixture::new(lines).await;
        for run in ["r1", "r2"] {
            fixture.say(run, "hi").await;
            fixture.answer(run).await;
        }
        fixture.until_idle().await;
        let done = fixture.minds.compact(&key()).await.unwrap();
        assert!(done.trimmed > 0, "{done:?}");
        fixture
    }

    async fn on(home: tempfile::TempDir, lines: Vec<ScriptedReply>) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp(1_794_700_000_000)));
        let ids = Ids::new(clock.clone(), Arc::new(manyhands_core::OsEntropy));
        let path = home.path().join("home");
        let store = Store::open(&path, clock.clone(), ids.clone(), None)
            .await
            .unwrap();
        let actor = Arc::new(Actor {
            lines: Mutex::new(lines.into()),
            ..Actor::default()
        });
        let tools = Arc::new(Tools::new());
        let env = Arc::new(FakeEnv {
            default_model: Some(model()),
            agents: |id| {
                let known = ["main", "helper"].contains(&id.as_str());
                known.then(|| AgentSettings::new(id.clone()))
            },
            callers: Box::new(caller_of),
            ..FakeEnv::new(actor.clone())
        });
        let minds = Minds::new(MindParts {
            sessions: store.sessions().clone(),
            blobs: store.blobs().clone(),
            path: tools.clone(),
            env: env.clone(),
            clock: clock.clone(),
            ids,
        });
        Self {
            events: minds.listen(Subscription::All),
            minds,
            env,
            actor,
            tools,
            clock,
            store,
            home,
        }
    }

    /// Stops as a closing house does, and starts again with other lines.
    pub(super) async fn restart(self, lines: Vec<ScriptedReply>) -> Self {
        self.env.stopping.cancel();
        self.minds.rest().await;
        self.store.close().await.unwrap();
        let Self { home, .. } = self;
        Self::on(home, lines).await
    }

    pub(super) async fn say(&self, run: &str, text: &str) -> InputReceipt {
        let input = Input::text(text);
        self.send_as(run, input, &owner()).await
    }

    pub(super) async fn send_as(&self, run: &str, input: Input, origin: &Origin) -> InputReceipt {
        let run = Some(run.to_owned());
        self.minds.send(&key(), run, input, origin).await.unwrap()
    }

    /// The next event that fits.
    pub(super) async fn until(&mut self, fits: impl Fn(&ChatEvent) -> bool) -> Arc<ChatEvent> {
        let wait = async {
            loop {
                let event = self.events.next().await.unwrap();
                if fits(&event) {
                    return event;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), wait)
            .await
            .expect("it happens")
    }

    /// Waits until nothing is being worked on in the session.
    pub(super) async fn until_idle(&self) {
        while self.minds.is_busy(&key()) {
            tokio::task::yield_now().await;
        }
    }

    /// How a run ends.
    pub(super) async fn end(&mut self, run: &str) -> TurnEvent {
        let event = self
            .until(|event| event.run_id == run && event.what.is_end())
            .await;
        event.what.clone()
    }

    pub(super) async fn answer(&mut self, run: &str) -> String {
        match self.end(run).await {
            TurnEvent::Final { text, .. } => text,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn entries(&self) -> Vec<TranscriptEntry> {
        let session = self.minds.get(&key()).await.unwrap();
        self.store
            .sessions()
            .entries(&session.id, session.floor, 1_000)
            .await
            .unwrap()
    }

    /// The conversation as it is kept: no call without its result, none twice.
    pub(super) async fn messages(&self) -> Vec<Message> {
        let entries = self.entries().await;
        let messages: Vec<Message> = entries
            .iter()
            .filter(|entry| entry.kind != "note")
            .map(|entry| serde_json::from_str(&entry.body).unwrap())
            .collect();
        check_pairs(&messages);
        messages
    }

    pub(super) fn last_request(&self) -> ModelRequest {
        self.actor.asked.lock().unwrap().last().unwrap().clone()
    }
}

/// Every call is followed at once by its result, and every result has its call.
pub(super) fn check_pairs(messages: &[Message]) {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        match message {
            Message::Assistant { content } => {
                assert!(open.is_empty(), "calls without results: {open:?}");
                let calls = crate::conversation::calls(content);
                open = calls.into_iter().map(|call| call.id).collect();
            }
            Message::Tool { results } => {
                let given: Vec<String> = results.iter().map(|result| result.id.clone()).collect();
                assert_eq!(given, open);
                open.clear();
            }
            Message::User { .. } => assert!(open.is_empty(), "calls without results: {open:?}"),
        }
    }
}
