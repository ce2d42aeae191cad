//! Chats on platforms: accounts, what comes in, what goes out, and who may speak.
//!
//! An event is on disk before the platform is told that it was heard; it becomes at most one turn,
//! because the turn's run is the event's id. Before the turn is begun, its chat is promised the
//! answer; when the turn ends, the answer is put into the outbox and the promise taken out in one
//! step. The outbox sends in order within each chat, and says of everything what became of it.

mod access;
mod accounts;
mod approvals;
mod bridge;
mod bridged;
mod courier;
mod dispatch;
mod ear;
mod intake;
mod lanes;
mod live;
mod media;
mod pairing;
mod replies;
mod say;
#[cfg(test)]
mod tests;
mod transcribe;
mod upkeep;

pub use access::caller as caller_of;
pub use bridge::{Seat, Seated};
pub use courier::{Address, WAIT};
pub use pairing::Pair;
pub use say::{Delivered, NewFile};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use manyhands_agent::Minds;
use manyhands_agent_services::People;
use manyhands_channels::{Channel, ChannelError, Inbound, Me, Standing};
use manyhands_config::{ChannelAccount, EgressSettings, Settings};
use manyhands_core::{
    Caller, Clock, ErrorCode, Ids, PeerKind, Place, Timestamp, ToolError, contained,
};
use manyhands_host::LiveSettings;
use manyhands_host::artifacts::ArtifactStore;
use manyhands_host::web::Web;
use manyhands_store::{Chats as Records, OutboxRow, Store, StoreError};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use access::Known;
use accounts::Making;
use ear::AccountEar;
use lanes::Lanes;
use live::Lives;

/// What an account notes when its owner stopped it.
const STOPPED: &str = "stopped";
/// How many messages wait to be noted in the files of contacts.
const MAX_SEEN: usize = 256;
/// The longest wait before a broken account is tried again.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// What chats are made from.
pub struct ChatsParts<'a> {
    /// Everything that is stored.
    pub store: &'a Store,
    /// The settings in force.
    pub settings: LiveSettings,
    /// Requests that leave the machine.
    pub web: Web,
    /// Artifacts.
    pub artifacts: ArtifactStore,
    /// Contacts and to-dos.
    pub people: People,
    /// The running agents.
    pub minds: Arc<OnceLock<Minds>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Ids,
    /// Fires when the gateway stops.
    pub stopping: CancellationToken,
}

/// Chats on platforms. Cheap to clone.
#[derive(Clone)]
pub struct Chats(Arc<Inner>);

struct Inner {
    store: Store,
    records: Records,
    settings: LiveSettings,
    web: Web,
    artifacts: ArtifactStore,
    people: People,
    minds: Arc<OnceLock<Minds>>,
    clock: Arc<dyn Clock>,
    ids: Ids,
    stopping: CancellationToken,
    /// The accounts that are used, by platform and name.
    lines: Mutex<BTreeMap<(String, String), Arc<Line>>>,
    taking_over: tokio::sync::Mutex<()>,
    /// Whom the owner decided about.
    known: ArcSwap<Known>,
    /// Something was heard.
    heard: Notify,
    /// Something in the outbox changed.
    outbox: watch::Sender<u64>,
    /// The chats of the inbox that are worked on.
    lanes: Lanes,
    lives: Lives,
    /// Who spoke, to be noted in the files of contacts.
    seen: mpsc::Sender<Inbound>,
    unseen: Mutex<Option<mpsc::Receiver<Inbound>>>,
    /// What was on its way when the gateway last ended, by account.
    cut_off: Mutex<BTreeMap<(String, String), Vec<OutboxRow>>>,
    tasks: TaskTracker,
    /// Where bridges sit.
    seats: bridge::Seats,
    /// The accounts that figures were ever given of.
    measured: Mutex<BTreeSet<(String, String)>>,
}

/// One account that is used.
struct Line {
    said: ChannelAccount,
    around: Around,
    channel: OnceLock<Arc<dyn Channel>>,
    stop: CancellationToken,
    state: Mutex<LineState>,
}

/// What an account depends on besides what is said of it.
#[derive(PartialEq)]
struct Around {
    public_url: Option<String>,
    egress: EgressSettings,
}

impl Around {
    fn of(settings: &Settings) -> Self {
        Self {
            public_url: settings.public_url.clone(),
            egress: settings.egress.clone(),
        }
    }
}

struct LineState {
    standing: Standing,
    since: Timestamp,
    stage: Stage,
    me: Option<Me>,
    last: Option<Timestamp>,
}

/// How far the making of an account's channel has come.
#[derive(PartialEq, Clone, Copy)]
enum Stage {
    Making,
    /// Something changed while it was being made.
    LookAgain,
    /// Something it needs is missing, such as a secret.
    Lacking,
    Made,
}

/// How an account stands, for its owner.
#[derive(Debug, Clone)]
pub struct Status {
    /// The platform.
    pub channel: String,
    /// The account's name.
    pub account: String,
    /// Whether the settings enable it.
    pub enabled: bool,
    /// Whether its owner stopped it.
    pub stopped: bool,
    /// None while it is not used.
    pub standing: Option<Standing>,
    /// Since when it has this standing.
    pub since: Option<Timestamp>,
    /// Our identity there, once known.
    pub me: Option<Me>,
    /// When the last message came.
    pub last: Option<Timestamp>,
}

impl Status {
    /// How it stands, in a word, and what is wrong if something is.
    pub fn words(&self) -> (&'static str, Option<String>) {
        match (&self.standing, self.stopped, self.enabled) {
            (_, true, true) => ("stopped", None),
            (None, ..) | (_, _, false) => ("off", None),
            (Some(Standing::Connecting), ..) => ("connecting", None),
            (Some(Standing::Connected), ..) => ("connected", None),
            (Some(Standing::Broken { why }), ..) => ("error", Some(why.clone())),
        }
    }
}

impl Line {
    /// Has it look again where it is not made yet: what it needs may have come since it looked. Whether
    /// it goes on; one that lacks something does not.
    fn look_again(&self) -> bool {
        let mut state = self.state();
        if state.stage == Stage::Making {
            state.stage = Stage::LookAgain;
        }
        state.stage != Stage::Lacking
    }

    /// Notes what came of making it; false when it has to look again.
    fn came_to(&self, stage: Stage) -> bool {
        let mut state = self.state();
        let settled = state.stage != Stage::LookAgain;
        state.stage = if settled { stage } else { Stage::Making };
        settled
    }

    fn state(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does work that goes on as long as the gateway runs. Where it panics it is begun anew, after a wait
/// that grows.
async fn again<F: Future<Output = ()>>(work: impl Fn() -> F) {
    let mut wait = Duration::from_secs(1);
    while let Err(panicked) = contained(work()).await {
        let reason = &panicked.reason;
        tracing::error!(
            event = "messaging_task_panicked",
            reason,
            retry_in = ?wait,
            "internal error: a messaging task panicked; restarting it"
        );
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// What could not be kept.
pub fn unkept(error: &StoreError) -> ToolError {
    let code = match error {
        StoreError::Full | StoreError::LowSpace { .. } => ErrorCode::StorageFull,
        _ => ErrorCode::Unavailable,
    };
    ToolError::new(code, format!("the chats: {error}"))
}

impl Chats {
    /// Chats of which nothing is heard yet; see [`start`](Self::start).
    pub async fn open(parts: ChatsParts<'_>) -> Result<Self, StoreError> {
        let records = parts.store.chats().clone();
        let known = Known::of(&records.senders().await?);
        let (seen, unseen) = mpsc::channel(MAX_SEEN);
        let inner = Inner {
            store: parts.store.clone(),
            records,
            settings: parts.settings,
            web: parts.web,
            artifacts: parts.artifacts,
            people: parts.people,
            minds: parts.minds,
            clock: parts.clock,
            ids: parts.ids,
            stopping: parts.stopping,
            lines: Mutex::default(),
            taking_over: tokio::sync::Mutex::default(),
            known: ArcSwap::from_pointee(known),
            heard: Notify::new(),
            outbox: watch::Sender::new(0),
            lanes: Lanes::default(),
            lives: Lives::default(),
            seen,
            unseen: Mutex::new(Some(unseen)),
            cut_off: Mutex::default(),
            tasks: TaskTracker::new(),
            seats: bridge::Seats::default(),
            measured: Mutex::default(),
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Takes up what was cut off, and begins to hear and to speak.
    pub async fn start(&self) -> Result<(), StoreError> {
        for row in self.0.records.was_sending().await? {
            let key = (row.channel.clone(), row.account.clone());
            self.cut_off().entry(key).or_default().push(row);
        }
        let unseen = self.0.unseen.lock();
        let unseen = unseen.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(unseen) = unseen {
            self.spawn(|this| async move { this.note_people(unseen).await });
        }
        self.spawn(|this| async move { again(|| this.clone().work_on_inbox()).await });
        self.spawn(|this| async move { again(|| this.clone().keep_promises()).await });
        self.take_over().await;
        Ok(())
    }

    fn spawn<F>(&self, work: impl FnOnce(Self) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (work, stopping) = (work(self.clone()), self.0.stopping.clone());
        self.0.tasks.spawn(async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = work => {}
            }
        });
    }

    /// Waits until nothing is worked on; the gateway must be stopping.
    pub async fn rest(&self) {
        for line in self.lines().values() {
            line.stop.cancel();
        }
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// The stored messages.
    pub fn records(&self) -> &Records {
        &self.0.records
    }

    fn lines(&self) -> MutexGuard<'_, BTreeMap<(String, String), Arc<Line>>> {
        let lines = self.0.lines.lock();
        lines.unwrap_or_else(PoisonError::into_inner)
    }

    fn cut_off(&self) -> MutexGuard<'_, BTreeMap<(String, String), Vec<OutboxRow>>> {
        let cut_off = self.0.cut_off.lock();
        cut_off.unwrap_or_else(PoisonError::into_inner)
    }

    fn minds(&self) -> Result<&Minds, ToolError> {
        let starting = || ToolError::new(ErrorCode::Unavailable, "the gateway is starting");
        self.0.minds.get().ok_or_else(starting)
    }

    /// Where the bridge of an account sits.
    pub fn seat(&self, channel: &str, account: &str) -> Arc<Seat> {
        self.0.seats.of(channel, account)
    }

    /// The channel of an account that is used.
    pub fn channel(&self, channel: &str, account: &str) -> Option<Arc<dyn Channel>> {
        let key = (channel.to_owned(), account.to_owned());
        self.lines().get(&key)?.channel.get().cloned()
    }

    /// Whether an account is to be used, though it may not be ready yet.
    pub fn is_used(&self, channel: &str, account: &str) -> bool {
        let key = (channel.to_owned(), account.to_owned());
        self.lines().contains_key(&key)
    }

    /// The accounts of a platform that are used.
    pub fn accounts_of(&self, channel: &str) -> Vec<String> {
        let lines = self.lines();
        let of = lines.keys().filter(|(of, _)| of == channel);
        of.map(|(_, account)| account.clone()).collect()
    }

    /// Uses the accounts that the settings name now, and no others.
    pub async fn take_over(&self) {
        // One at a time: who looked earlier must not undo what was decided since.
        let _turn = self.0.taking_over.lock().await;
        let settings = self.0.settings.current();
        let around = Around::of(&settings);
        let mut wanted = BTreeMap::new();
        for (channel, said) in settings.channels.all() {
            for (account, own) in &said.accounts {
                if own.enabled && !self.is_stopped(channel, account).await {
                    let key = (channel.to_owned(), account.clone());
                    wanted.insert(key, own.clone());
                }
            }
        }
        let mut begun = Vec::new();
        {
            let mut lines = self.lines();
            lines.retain(|key, line| {
                let same = wanted.get(key) == Some(&line.said) && line.around == around;
                let stays = same && !line.stop.is_cancelled() && line.look_again();
                if !stays {
                    line.stop.cancel();
                }
                stays
            });
            for (key, said) in wanted {
                if lines.contains_key(&key) {
                    continue;
                }
                let line = Arc::new(self.line(said, &settings));
                lines.insert(key.clone(), line.clone());
                begun.push((key, line));
            }
        }
        self.0.records.changes().note();
        for ((channel, account), line) in begun {
            self.spawn(|this| async move {
                again(|| this.run_line(&channel, &account, &line)).await;
            });
        }
    }

    fn line(&self, said: ChannelAccount, settings: &Settings) -> Line {
        Line {
            said,
            around: Around::of(settings),
            channel: OnceLock::new(),
            stop: self.0.stopping.child_token(),
            state: Mutex::new(LineState {
                standing: Standing::Connecting,
                since: self.0.clock.now(),
                stage: Stage::Making,
                me: None,
                last: None,
            }),
        }
    }

    async fn is_stopped(&self, channel: &str, account: &str) -> bool {
        let noted = self.0.records.noted(channel, account, STOPPED).await;
        matches!(noted, Ok(Some(value)) if value == "yes")
    }

    /// Uses an account until it is stopped.
    async fn run_line(&self, channel: &str, account: &str, line: &Arc<Line>) {
        let stopped = line.stop.clone();
        let work = async {
            let made = loop {
                if let Some(made) = line.channel.get() {
                    break made.clone(); // it was made before its work panicked
                }
                match self.make(channel, account, &line.said).await {
                    Ok(made) if line.came_to(Stage::Made) => break made,
                    Err(why) if line.came_to(Stage::Lacking) => {
                        tracing::warn!(
                            event = "channel_start_failed",
                            channel,
                            account,
                            reason = why,
                            "channel not started; fix its settings"
                        );
                        self.stands(channel, account, Standing::Broken { why });
                        return std::future::pending().await;
                    }
                    _ => {}
                }
            };
            let _ = line.channel.set(made.clone()); // set here and nowhere else
            self.show_again(channel, account).await;
            tokio::join!(
                self.listen(channel, account, &made, line),
                self.send_all(channel, account, &made),
                self.learn_name(&made, line),
            );
        };
        tokio::select! {
            () = stopped.cancelled() => {}
            () = work => {}
        }
    }

    async fn make(
        &self,
        channel: &str,
        account: &str,
        said: &ChannelAccount,
    ) -> Result<Arc<dyn Channel>, String> {
        let settings = self.0.settings.current();
        if settings.channels.is_bridge(channel) {
            return Ok(Arc::new(bridge::Bridge::new(self, channel, account)));
        }
        let making = Making {
            settings: &settings,
            vault: self.0.store.vault(),
            egress: self.0.web.egress(),
            clock: self.0.clock.clone(),
            ids: self.0.ids.clone(),
        };
        making.make(channel, account, said).await
    }

    async fn listen(&self, channel: &str, account: &str, made: &Arc<dyn Channel>, line: &Line) {
        let ear = AccountEar {
            chats: self.clone(),
            channel: channel.to_owned(),
            account: account.to_owned(),
        };
        let mut wait = Duration::from_secs(1);
        loop {
            let ended = contained(made.listen(&ear, &line.stop)).await;
            let ended = ended.unwrap_or_else(|panicked| {
                let reason = &panicked.reason;
                tracing::error!(
                    event = "channel_listener_panicked",
                    channel,
                    account,
                    reason,
                    "internal error: the channel listener panicked"
                );
                Err(ChannelError::Broken(panicked.to_string()))
            });
            if line.stop.is_cancelled() {
                return;
            }
            let why = match ended {
                Ok(()) => "it ended by itself".to_owned(),
                Err(error) => {
                    let why = error.to_string();
                    tracing::warn!(event = "channel_listener_failed", channel, account, reason = why, retry_in = ?wait, "channel listener failed");
                    if let ChannelError::Refused(_) = error {
                        self.stands(channel, account, Standing::Broken { why });
                        return std::future::pending().await; // until its owner changes something
                    }
                    why
                }
            };
            self.stands(channel, account, Standing::Broken { why });
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn learn_name(&self, made: &Arc<dyn Channel>, line: &Line) {
        let mut wait = Duration::from_secs(5);
        loop {
            match made.me().await {
                Ok(me) => {
                    line.state().me = Some(me);
                    self.0.records.changes().note();
                    return;
                }
                Err(manyhands_channels::SendError::Account(_)) => return,
                Err(_) => {}
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Notes how an account stands.
    fn stands(&self, channel: &str, account: &str, standing: Standing) {
        let key = (channel.to_owned(), account.to_owned());
        let line = self.lines().get(&key).cloned();
        let Some(line) = line else { return };
        let mut state = line.state();
        if state.standing != standing {
            state.standing = standing;
            state.since = self.0.clock.now();
            self.0.records.changes().note();
        }
    }

    /// Notes that something was said in a chat of an account.
    fn spoken(&self, place: &Place) {
        let key = (place.channel.clone(), place.account.clone());
        let line = self.lines().get(&key).cloned();
        if let Some(line) = line {
            line.state().last = Some(self.0.clock.now());
        }
    }

    /// How all accounts stand.
    pub async fn status(&self) -> Vec<Status> {
        let settings = self.0.settings.current();
        let mut all = Vec::new();
        for (channel, said) in settings.channels.all() {
            for (account, own) in &said.accounts {
                let key = (channel.to_owned(), account.clone());
                let line = self.lines().get(&key).cloned();
                let stopped = self.is_stopped(channel, account).await;
                let state = line.as_ref().map(|line| line.state());
                all.push(Status {
                    channel: channel.to_owned(),
                    account: account.clone(),
                    enabled: own.enabled,
                    stopped,
                    standing: state.as_ref().map(|state| state.standing.clone()),
                    since: state.as_ref().map(|state| state.since),
                    me: state.as_ref().and_then(|state| state.me.clone()),
                    last: state.as_ref().and_then(|state| state.last),
                });
            }
        }
        all
    }

    /// Stops an account, until it is started again.
    pub async fn stop_account(&self, channel: &str, account: &str) -> Result<(), ToolError> {
        self.must_exist(channel, account)?;
        self.note(channel, account, "yes").await?;
        self.take_over().await;
        Ok(())
    }

    /// Starts an account, or begins anew with it.
    pub async fn start_account(&self, channel: &str, account: &str) -> Result<(), ToolError> {
        self.must_exist(channel, account)?;
        self.put_aside(channel, account).await?;
        self.take_over().await;
        Ok(())
    }

    /// Ends what runs of an account, so that the next look at the settings begins anew with it: once,
    /// since a platform may refuse somebody who is there twice.
    pub async fn put_aside(&self, channel: &str, account: &str) -> Result<(), ToolError> {
        self.note(channel, account, "no").await?;
        let key = (channel.to_owned(), account.to_owned());
        if let Some(line) = self.lines().get(&key) {
            line.stop.cancel();
        }
        Ok(())
    }

    async fn note(&self, channel: &str, account: &str, stopped: &str) -> Result<(), ToolError> {
        let records = &self.0.records;
        let noted = records.note(channel, account, STOPPED, stopped).await;
        noted.map_err(|e| unkept(&e))
    }

    /// Refuses an account that is not in the settings.
    pub fn must_exist(&self, channel: &str, account: &str) -> Result<(), ToolError> {
        let settings = self.0.settings.current();
        let known = |channel: &str| {
            let said = settings.channels.get(channel)?;
            said.accounts.get(account).map(drop)
        };
        known(channel).ok_or_else(|| {
            let message = format!("there is no account {account} of {channel}");
            let hint = format!("`manyhands channel login {channel}` makes one");
            ToolError::not_found(message).hint(hint)
        })
    }

    /// Who somebody is who writes as `place` says, with the rights they have now.
    pub fn caller(&self, person: &str, place: Option<&Place>) -> Result<Caller, ToolError> {
        let known = self.0.known.load();
        let settings = self.0.settings.current();
        let found = match place {
            Some(place) => caller_of(&settings, &known, place),
            None => {
                let (channel, id) = person.split_once(':').unwrap_or_default();
                let place = Place {
                    kind: PeerKind::Dm,
                    sender: Some(id.to_owned()),
                    ..Place::dm(channel, "", id)
                };
                caller_of(&settings, &known, &place)
            }
        };
        found.ok_or_else(|| {
            let message = format!("{person} may no longer speak to agents here");
            ToolError::new(ErrorCode::Unauthenticated, message)
        })
    }

    async fn learn_known(&self) -> Result<(), ToolError> {
        let senders = self.0.records.senders().await.map_err(|e| unkept(&e))?;
        self.0.known.store(Arc::new(Known::of(&senders)));
        Ok(())
    }
}

/// How an answer in a chat is shown, and by which agent.
fn agent_for(settings: &Settings, place: &Place) -> manyhands_core::AgentId {
    let channel = settings.channels.get(&place.channel);
    let Some(channel) = channel else {
        return manyhands_core::AgentId::main();
    };
    let own = channel.chats.get(&place.chat);
    own.unwrap_or(&channel.agent).clone()
}
