//! A gateway's jobs without the gateway: real records, real minds, a model that follows orders.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_agent::{
    AgentEnv, AgentSettings, LocalTime, MindParts, Minds, ModelClient, Origin, SkillNote,
    TurnLimits,
};
use manyhands_agent_services::SpawnedAgents;
use manyhands_agent_services::job_delivery::{Deliver, DeliveryTarget, JobDelivery};
use manyhands_config::Settings;
use manyhands_core::{
    AgentId, CallRequest, Caller, Catalogue, Clock, ErrorCode, Ids, Invoke, ManualClock, OsEntropy,
    Outcome, Taint, Timestamp, ToolError,
};
use manyhands_host::LiveSettings;
use manyhands_host::workspace::{Author, Workspace};
use manyhands_llm::{
    Block, Cost, Delta, ErrorKind, Message, ModelError, ModelRequest, Reply, ReplyBlock,
    StopReason, Usage,
};
use manyhands_store::{RunRecord, RunState, Store};
use manyhands_wire::CronJob;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{JobInput, JobRequester, JobScheduler, JobSchedulerParts};

/// 2026-11-15 13:00 in UTC, a Sunday.
pub(super) const START: Timestamp = Timestamp(1_794_747_600_000);
pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const HOUR: Duration = Duration::from_secs(3_600);
pub(super) const DAY: Duration = Duration::from_secs(86_400);

/// A model that says `did: ` and what it was asked, unless that says `hang`, `fail` or `say: WORDS`.
#[derive(Default)]
pub(super) struct Model {
    pub(super) asked: Mutex<Vec<ModelRequest>>,
    /// Lets those go on that hang.
    pub(super) go: Notify,
}

fn last_words(request: &ModelRequest) -> String {
    let said = |message: &Message| match message {
        Message::User { content } => Some(
            content
                .iter()
                .filter_map(|block| match block {
                    Block::Text { text } => Some(text.as_str()),
                    _ => None,
                })
                .collect::<String>(),
        ),
        _ => None,
    };
    let mut messages = request.messages.iter().rev();
    messages.find_map(said).unwrap_or_default()
}

#[async_trait]
impl ModelClient for Model {
    async fn reply(
        &self,
        request: &ModelRequest,
        _: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        self.asked.lock().unwrap().push(request.clone());
        let words = last_words(request);
        let failed = |kind| ModelError {
            kind,
            model: "test/model".parse().unwrap(),
            message: "as told".to_owned(),
            attempts: Vec::new(),
        };
        if words.contains("hang") {
            tokio::select! {
                () = self.go.notified() => {}
                () = cancel.cancelled() => return Err(failed(ErrorKind::Cancelled)),
            }
        }
        if words.contains("fail") {
            return Err(failed(ErrorKind::BadRequest));
        }
        let answer = match words.split_once("say: ") {
            Some((_, line)) => line.lines().next().unwrap_or_default().to_owned(),
            None => format!("did: {words}"),
        };
        Ok(Reply {
            stop: StopReason::End,
            content: vec![ReplyBlock::text(&answer)],
            usage: Usage::default(),
            cost: Cost::MicroDollars(1),
            model: "test/model".parse().unwrap(),
            attempts: Vec::new(),
            notes: Vec::new(),
            scripted: false,
        })
    }
}

pub(super) struct NoTools;

#[async_trait]
impl Invoke for NoTools {
    async fn invoke(&self, _: CallRequest) -> Result<Outcome, ToolError> {
        Err(ToolError::internal("there are no tools"))
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
        Arc::default()
    }
}

pub(super) struct TestHouse {
    pub(super) model: Arc<dyn ModelClient>,
    pub(super) stopping: CancellationToken,
}

#[async_trait]
impl AgentEnv for TestHouse {
    fn models(&self) -> Arc<dyn ModelClient> {
        self.model.clone()
    }
    fn knows(&self, model: &manyhands_llm::ModelId) -> Result<(), ToolError> {
        match model.provider.as_str() {
            "test" => Ok(()),
            other => Err(ToolError::not_found(format!(
                "there is no provider {other}"
            ))),
        }
    }
    fn agent(&self, id: &AgentId) -> Option<AgentSettings> {
        Some(AgentSettings::new(id.clone()))
    }
    fn limits(&self) -> TurnLimits {
        TurnLimits::default()
    }
    fn caller(&self, origin: &Origin) -> Result<Arc<Caller>, ToolError> {
        match &origin.person {
            Some(who) if who == "chat:gone" => {
                let message = "they are no longer let in";
                Err(ToolError::new(ErrorCode::Unauthenticated, message))
            }
            _ => Ok(Arc::new(Caller::gateway())),
        }
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
            clock: "13:00".to_owned(),
            zone: "UTC".to_owned(),
            since_midnight_ms: 0,
        }
    }
    fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }
}

/// A postman who notes what he was given, and knows one chat.
#[derive(Default)]
pub(super) struct Postman {
    pub(super) given: Mutex<Vec<(DeliveryTarget, String, String)>>,
    pub(super) has_chat: Mutex<bool>,
}

#[async_trait]
impl Deliver for Postman {
    async fn deliver(
        &self,
        target: DeliveryTarget,
        text: &str,
        key: &str,
    ) -> Result<JobDelivery, ToolError> {
        if !*self.has_chat.lock().unwrap() {
            return Ok(JobDelivery::NoChat);
        }
        let given = (target, text.to_owned(), key.to_owned());
        self.given.lock().unwrap().push(given);
        Ok(JobDelivery::To("the chat".to_owned()))
    }
}

impl Postman {
    pub(super) fn texts(&self) -> Vec<String> {
        let given = self.given.lock().unwrap();
        given.iter().map(|(_, text, _)| text.clone()).collect()
    }
}

pub(super) struct Stage {
    pub(super) cron: JobScheduler,
    pub(super) store: Store,
    pub(super) clock: Arc<ManualClock>,
    pub(super) model: Arc<Model>,
    pub(super) postman: Arc<Postman>,
    pub(super) settings: LiveSettings,
    pub(super) minds: Minds,
    stopping: CancellationToken,
    home: tempfile::TempDir,
}

/// The settings of a user who lives in Berlin, without heartbeats.
pub(super) fn settings() -> Settings {
    let mut settings = Settings {
        timezone: Some("Europe/Berlin".to_owned()),
        ..Settings::default()
    };
    settings.heartbeat.enabled = false;
    settings
}

impl Stage {
    pub(super) async fn new() -> Self {
        Self::with(settings()).await
    }

    pub(super) async fn with(settings: Settings) -> Self {
        let home = tempfile::tempdir().unwrap();
        Self::at(home, Arc::new(ManualClock::at(START)), settings).await
    }

    /// On a home that is there, at the time of a clock.
    pub(super) async fn at(
        home: tempfile::TempDir,
        clock: Arc<ManualClock>,
        settings: Settings,
    ) -> Self {
        let ids = Ids::new(clock.clone(), Arc::new(OsEntropy));
        let path = home.path().join("home");
        let store = Store::open(&path, clock.clone(), ids.clone(), None).await;
        let store = store.unwrap();
        let (model, postman) = (Arc::new(Model::default()), Arc::new(Postman::default()));
        *postman.has_chat.lock().unwrap() = true;
        let stopping = CancellationToken::new();
        let settings = LiveSettings::new(settings);
        let (cron, minds) = put_together(
            &store,
            clock.clone(),
            ids,
            model.clone(),
            &settings,
            stopping.clone(),
        )
        .await;
        cron.delivers_by(postman.clone());
        minds.resume().await.unwrap();
        tokio::spawn(cron.clone().go_round());
        Self {
            cron,
            store,
            clock,
            model,
            postman,
            settings,
            minds,
            stopping,
            home,
        }
    }

    /// Stops as a closing gateway does.
    pub(super) async fn stop(self) -> (tempfile::TempDir, Arc<ManualClock>) {
        self.stopping.cancel();
        self.minds.rest().await;
        self.cron.rest().await;
        self.store.close().await.unwrap();
        (self.home, self.clock)
    }

    /// Stops, lets time pass, and starts again.
    pub(super) async fn away(self, by: Duration) -> Self {
        let settings = (*self.settings.current()).clone();
        let (home, clock) = self.stop().await;
        clock.advance(by);
        Self::at(home, clock, settings).await
    }

    pub(super) fn asker(caller: &Caller) -> JobRequester<'_> {
        static MAIN: OnceLock<AgentId> = OnceLock::new();
        JobRequester {
            caller,
            agent: MAIN.get_or_init(AgentId::main),
            origin: manyhands_agent_services::origin_of(caller),
        }
    }

    pub(super) async fn try_add(&self, job: Value) -> Result<CronJob, ToolError> {
        let input: JobInput = serde_json::from_value(job).unwrap();
        let owner = Caller::gateway();
        self.cron.add(&Self::asker(&owner), input).await
    }

    pub(super) async fn add(&self, job: Value) -> CronJob {
        self.try_add(job).await.unwrap()
    }

    /// A task that says what it is told, every so many minutes.
    pub(super) async fn every(&self, minutes: i64, more: Value) -> CronJob {
        let mut job = json!({
            "name": "every", "schedule": { "kind": "every", "everyMinutes": minutes },
            "spec": { "mode": "task", "message": "look", "deliver": false }
        });
        for (key, value) in more.as_object().unwrap() {
            job[key] = value.clone();
        }
        self.add(job).await
    }

    pub(super) async fn runs(&self, job: &str) -> Vec<RunRecord> {
        let runs = self.store.cron().runs(Some(job), None, 500, 0).await;
        let mut runs = runs.unwrap().0;
        runs.sort_by_key(|run| run.scheduled);
        runs
    }

    /// What came of a job, by instant, once nothing of it goes on and nothing is due.
    pub(super) async fn settled(&self, job: &str) -> BTreeMap<i64, (RunState, i64)> {
        self.until(async || {
            let Some(job) = self.store.cron().get(job).await.unwrap() else {
                return Some(());
            };
            let due = job.next_run.is_some_and(|due| due <= self.clock.now());
            (!due && job.running.is_none()).then_some(())
        })
        .await;
        let runs = self.runs(job).await;
        runs.into_iter()
            .map(|run| (run.scheduled.0 - START.0, (run.state, run.amount)))
            .collect()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lets time pass at once.
    pub(super) fn pass(&self, by: Duration) {
        self.clock.advance(by);
        self.cron.look();
    }

    pub(super) async fn until<T>(&self, mut there: impl AsyncFnMut() -> Option<T>) -> T {
        let wait = async {
            loop {
                if let Some(found) = there().await {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        };
        let within = tokio::time::timeout(Duration::from_secs(60), wait);
        within.await.expect("it comes to that")
    }

    pub(super) async fn write(&self, path: &str, text: &str) {
        self.write_after(path, text, Taint::NONE).await;
    }

    /// The same, by somebody who had read untrusted text.
    pub(super) async fn write_after(&self, path: &str, text: &str, taint: Taint) {
        let clock: Arc<dyn Clock> = self.clock.clone();
        let workspace = Workspace::new(&self.store, clock, self.settings.clone());
        let author = Author {
            name: "agent:main".to_owned(),
            taint,
        };
        let main = AgentId::main();
        let written = workspace.write(&main, path, text.to_owned(), None, &author);
        written.await.unwrap();
    }
}

/// The jobs and minds of a home.
pub(super) async fn put_together(
    store: &Store,
    clock: Arc<dyn Clock>,
    ids: Ids,
    model: Arc<dyn ModelClient>,
    settings: &LiveSettings,
    stopping: CancellationToken,
) -> (JobScheduler, Minds) {
    let house = TestHouse {
        model,
        stopping: stopping.clone(),
    };
    let minds = Minds::new(MindParts {
        sessions: store.sessions().clone(),
        blobs: store.blobs().clone(),
        path: Arc::new(NoTools),
        env: Arc::new(house),
        clock: clock.clone(),
        ids: ids.clone(),
    });
    let lock = Arc::new(OnceLock::new());
    let _ = lock.set(minds.clone());
    let cron = JobScheduler::new(JobSchedulerParts {
        records: store.cron().clone(),
        minds: lock,
        spawned_agents: Arc::new(SpawnedAgents::open(store).await.unwrap()),
        workspace: Workspace::new(store, clock.clone(), settings.clone()),
        settings: settings.clone(),
        clock,
        ids,
        stopping,
    });
    (cron, minds)
}
