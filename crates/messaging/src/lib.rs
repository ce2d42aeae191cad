//! Messaging: the accounts on chat platforms, their inbox and outbox, and who may talk to agents.
//!
//! The `channels` crate speaks the platforms' protocols; this crate decides and remembers. Its
//! guarantee: every event becomes at most one turn, every turn's reply reaches the outbox exactly
//! once, and the outcome of every outgoing message is known, across crashes at any moment.
//!
//! - **In**: an event is a row in the inbox, unique by the platform's own id, before the platform
//!   is acknowledged; events that arrive together share one transaction. Chats are processed side
//!   by side, each in order. The run id of a turn is the id of its event, so the event becomes one
//!   turn however often it is processed.
//! - **Promise**: before the turn starts, its chat is promised the reply; when it ends, the reply
//!   enters the outbox and the promise is removed in one transaction.
//! - **Out**: a message is *pending*, *sending* (on disk before the request), then *sent*, *failed*
//!   or *unknown*. One whose arrival is unknown is shown, and sent once more unless the platform
//!   detects duplicates by key. A chat waits for its first message, other chats do not.
//! - **Who**: a sender is a caller like any other (`person:telegram:42`), derived from the owner's
//!   records whenever it matters. Unknown senders get a pairing code; in groups the bot answers
//!   only when mentioned.
//! - **Live view** (typing notices, growing drafts) goes beside all that and may be lost. Approval
//!   requests are buttons in the owner's chat.

mod access;
mod accounts;
mod approvals;
mod bridge;
mod bridged;
mod courier;
mod dispatch;
mod intake;
mod lanes;
mod live;
mod media;
mod outgoing;
mod pairing;
mod replies;
mod sink;
#[cfg(test)]
mod tests;
mod transcribe;
mod upkeep;

pub use access::caller as caller_of;
pub use bridge::{Seat, Seated};
pub use courier::{Address, WAIT};
pub use outgoing::{DeliveryReport, NewFile};
pub use pairing::Pair;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use manyhands_agent::Minds;
use manyhands_agent_services::People;
use manyhands_channels::{BotIdentity, Channel, ChannelError, ConnectionStatus, Inbound};
use manyhands_config::{ChannelAccount, EgressSettings, Settings};
use manyhands_core::{
    Caller, ChatRef, Clock, ErrorCode, Ids, PeerKind, Timestamp, ToolError, contained,
};
use manyhands_host::LiveSettings;
use manyhands_host::artifacts::ArtifactStore;
use manyhands_host::web::Web;
use manyhands_store::{Chats as Records, OutboxRow, Store, StoreError};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use access::KnownSenders;
use accounts::Making;
use lanes::Lanes;
use live::Lives;
use sink::AccountSink;

/// The note of an account that its owner stopped.
const STOPPED: &str = "stopped";
/// Buffered senders to be recorded as contacts.
const MAX_SEEN: usize = 256;
/// The longest delay before a failed account is retried.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// Arguments of [`Chats::open`].
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
    /// Cancelled when the gateway stops.
    pub stopping: CancellationToken,
}

/// Messaging of one gateway. Cheap to clone.
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
    /// The running accounts, by platform and name.
    accounts: Mutex<BTreeMap<(String, String), Arc<RunningAccount>>>,
    taking_over: tokio::sync::Mutex<()>,
    /// The owner's decisions about senders.
    known: ArcSwap<KnownSenders>,
    /// Signals new events in the inbox.
    heard: Notify,
    /// Counts changes of the outbox.
    outbox: watch::Sender<u64>,
    /// The chats being processed.
    lanes: Lanes,
    lives: Lives,
    /// Senders to be recorded as contacts.
    seen: mpsc::Sender<Inbound>,
    unseen: Mutex<Option<mpsc::Receiver<Inbound>>>,
    /// Messages that were in flight when the gateway stopped, by account.
    interrupted: Mutex<BTreeMap<(String, String), Vec<OutboxRow>>>,
    tasks: TaskTracker,
    /// Connection slots of bridges.
    seats: bridge::Seats,
    /// Accounts that metrics were ever reported for.
    measured: Mutex<BTreeSet<(String, String)>>,
}

/// One running account.
struct RunningAccount {
    said: ChannelAccount,
    around: AccountEnv,
    channel: OnceLock<Arc<dyn Channel>>,
    stop: CancellationToken,
    state: Mutex<AccountState>,
}

/// Settings that an account depends on besides its own.
#[derive(PartialEq)]
struct AccountEnv {
    public_url: Option<String>,
    egress: EgressSettings,
}

impl AccountEnv {
    fn of(settings: &Settings) -> Self {
        Self {
            public_url: settings.public_url.clone(),
            egress: settings.egress.clone(),
        }
    }
}

struct AccountState {
    standing: ConnectionStatus,
    since: Timestamp,
    stage: Stage,
    me: Option<BotIdentity>,
    last: Option<Timestamp>,
}

/// How far the creation of an account's channel has come.
#[derive(PartialEq, Clone, Copy)]
enum Stage {
    Making,
    /// The settings changed during creation.
    LookAgain,
    /// Something is missing, such as a secret.
    Lacking,
    Made,
}

/// The status of an account.
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
    /// `None` while it is not running.
    pub standing: Option<ConnectionStatus>,
    /// Since when it has this state.
    pub since: Option<Timestamp>,
    /// Our identity there, once known.
    pub me: Option<BotIdentity>,
    /// When the last message arrived.
    pub last: Option<Timestamp>,
}

impl Status {
    /// The state in one word, and the error if there is one.
    pub fn words(&self) -> (&'static str, Option<String>) {
        match (&self.standing, self.stopped, self.enabled) {
            (_, true, true) => ("stopped", None),
            (None, ..) | (_, _, false) => ("off", None),
            (Some(ConnectionStatus::Connecting), ..) => ("connecting", None),
            (Some(ConnectionStatus::Connected), ..) => ("connected", None),
            (Some(ConnectionStatus::Broken { why }), ..) => ("error", Some(why.clone())),
        }
    }
}

impl RunningAccount {
    /// Lets an account whose channel is being created read the settings again: what it needs may
    /// have been added since. Returns whether it goes on; one that lacks something does not.
    fn look_again(&self) -> bool {
        let mut state = self.state();
        if state.stage == Stage::Making {
            state.stage = Stage::LookAgain;
        }
        state.stage != Stage::Lacking
    }

    /// Records the result of creating the channel; `false` if it has to be created again.
    fn came_to(&self, stage: Stage) -> bool {
        let mut state = self.state();
        let settled = state.stage != Stage::LookAgain;
        state.stage = if settled { stage } else { Stage::Making };
        settled
    }

    fn state(&self) -> MutexGuard<'_, AccountState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a task for the lifetime of the gateway. After a panic it is restarted with growing delays.
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

impl Chats {
    /// Opens the stored state; nothing is received or sent before [`start`](Self::start).
    pub async fn open(parts: ChatsParts<'_>) -> Result<Self, StoreError> {
        let records = parts.store.chats().clone();
        let known = KnownSenders::of(&records.senders().await?);
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
            accounts: Mutex::default(),
            taking_over: tokio::sync::Mutex::default(),
            known: ArcSwap::from_pointee(known),
            heard: Notify::new(),
            outbox: watch::Sender::new(0),
            lanes: Lanes::default(),
            lives: Lives::default(),
            seen,
            unseen: Mutex::new(Some(unseen)),
            interrupted: Mutex::default(),
            tasks: TaskTracker::new(),
            seats: bridge::Seats::default(),
            measured: Mutex::default(),
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Resumes interrupted work, and starts receiving and sending.
    pub async fn start(&self) -> Result<(), StoreError> {
        // Before anything is sent: rows still marked as sending belong to the previous process.
        for row in self.0.records.interrupted().await? {
            let key = (row.channel.clone(), row.account.clone());
            self.interrupted().entry(key).or_default().push(row);
        }
        let unseen = self.0.unseen.lock();
        let unseen = unseen.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(unseen) = unseen {
            self.spawn(|this| async move { this.note_people(unseen).await });
        }
        self.spawn(|this| async move { again(|| this.clone().work_on_inbox()).await });
        self.spawn(|this| async move { again(|| this.clone().fulfil_promises()).await });
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

    /// Waits until all tasks have ended; the gateway must be stopping.
    pub async fn rest(&self) {
        for running in self.accounts().values() {
            running.stop.cancel();
        }
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// The stored messages.
    pub fn records(&self) -> &Records {
        &self.0.records
    }

    fn accounts(&self) -> MutexGuard<'_, BTreeMap<(String, String), Arc<RunningAccount>>> {
        let accounts = self.0.accounts.lock();
        accounts.unwrap_or_else(PoisonError::into_inner)
    }

    fn interrupted(&self) -> MutexGuard<'_, BTreeMap<(String, String), Vec<OutboxRow>>> {
        let interrupted = self.0.interrupted.lock();
        interrupted.unwrap_or_else(PoisonError::into_inner)
    }

    fn minds(&self) -> Result<&Minds, ToolError> {
        let starting = || ToolError::new(ErrorCode::Unavailable, "the gateway is starting");
        self.0.minds.get().ok_or_else(starting)
    }

    /// The connection slot of an account's bridge.
    pub fn seat(&self, channel: &str, account: &str) -> Arc<Seat> {
        self.0.seats.of(channel, account)
    }

    /// The channel of a running account.
    pub fn channel(&self, channel: &str, account: &str) -> Option<Arc<dyn Channel>> {
        let key = (channel.to_owned(), account.to_owned());
        self.accounts().get(&key)?.channel.get().cloned()
    }

    /// Returns whether an account is running, though it may not be ready yet.
    pub fn is_used(&self, channel: &str, account: &str) -> bool {
        let key = (channel.to_owned(), account.to_owned());
        self.accounts().contains_key(&key)
    }

    /// The running accounts of a platform.
    pub fn accounts_of(&self, channel: &str) -> Vec<String> {
        let accounts = self.accounts();
        let of = accounts.keys().filter(|(of, _)| of == channel);
        of.map(|(_, account)| account.clone()).collect()
    }

    /// Applies the settings: starts and stops accounts.
    pub async fn take_over(&self) {
        // One at a time: a call that read the settings earlier must not undo a later one.
        let _turn = self.0.taking_over.lock().await;
        let settings = self.0.settings.current();
        let around = AccountEnv::of(&settings);
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
            let mut accounts = self.accounts();
            accounts.retain(|key, running| {
                let same = wanted.get(key) == Some(&running.said) && running.around == around;
                let stays = same && !running.stop.is_cancelled() && running.look_again();
                if !stays {
                    running.stop.cancel();
                }
                stays
            });
            for (key, said) in wanted {
                // Unchanged accounts keep running: a new connection could miss events in between.
                if accounts.contains_key(&key) {
                    continue;
                }
                let running = Arc::new(self.new_account(said, &settings));
                accounts.insert(key.clone(), running.clone());
                begun.push((key, running));
            }
        }
        self.0.records.changes().notify();
        for ((channel, account), running) in begun {
            self.spawn(|this| async move {
                again(|| this.run_account(&channel, &account, &running)).await;
            });
        }
    }

    fn new_account(&self, said: ChannelAccount, settings: &Settings) -> RunningAccount {
        RunningAccount {
            said,
            around: AccountEnv::of(settings),
            channel: OnceLock::new(),
            stop: self.0.stopping.child_token(),
            state: Mutex::new(AccountState {
                standing: ConnectionStatus::Connecting,
                since: self.0.clock.now(),
                stage: Stage::Making,
                me: None,
                last: None,
            }),
        }
    }

    async fn is_stopped(&self, channel: &str, account: &str) -> bool {
        let noted = self
            .0
            .records
            .account_value(channel, account, STOPPED)
            .await;
        matches!(noted, Ok(Some(value)) if value == "yes")
    }

    /// Runs an account until it is stopped.
    async fn run_account(&self, channel: &str, account: &str, running: &Arc<RunningAccount>) {
        let stopped = running.stop.clone();
        let work = async {
            let made = loop {
                if let Some(made) = running.channel.get() {
                    break made.clone(); // created before the task panicked
                }
                match self.make(channel, account, &running.said).await {
                    Ok(made) if running.came_to(Stage::Made) => break made,
                    Err(why) if running.came_to(Stage::Lacking) => {
                        tracing::warn!(
                            event = "channel_start_failed",
                            channel,
                            account,
                            reason = why,
                            "channel not started; fix its settings"
                        );
                        self.stands(channel, account, ConnectionStatus::Broken { why });
                        // Stays in the list, so that the owner sees why it does not run.
                        return std::future::pending().await;
                    }
                    _ => {}
                }
            };
            let _ = running.channel.set(made.clone()); // set only here
            self.show_again(channel, account).await;
            tokio::join!(
                self.listen(channel, account, &made, running),
                self.send_all(channel, account, &made),
                self.learn_name(&made, running),
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

    async fn listen(
        &self,
        channel: &str,
        account: &str,
        made: &Arc<dyn Channel>,
        running: &RunningAccount,
    ) {
        let sink = AccountSink {
            chats: self.clone(),
            channel: channel.to_owned(),
            account: account.to_owned(),
        };
        let mut wait = Duration::from_secs(1);
        loop {
            let ended = contained(made.listen(&sink, &running.stop)).await;
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
            if running.stop.is_cancelled() {
                return;
            }
            let why = match ended {
                Ok(()) => "it ended by itself".to_owned(),
                Err(error) => {
                    let why = error.to_string();
                    tracing::warn!(event = "channel_listener_failed", channel, account, reason = why, retry_in = ?wait, "channel listener failed");
                    if let ChannelError::Refused(_) = error {
                        self.stands(channel, account, ConnectionStatus::Broken { why });
                        return std::future::pending().await; // until the settings change
                    }
                    why
                }
            };
            self.stands(channel, account, ConnectionStatus::Broken { why });
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn learn_name(&self, made: &Arc<dyn Channel>, running: &RunningAccount) {
        // Not urgent: the name is only shown. The listener has retries of its own.
        let mut wait = Duration::from_secs(5);
        loop {
            match made.me().await {
                Ok(me) => {
                    running.state().me = Some(me);
                    self.0.records.changes().notify();
                    return;
                }
                Err(manyhands_channels::SendError::Account(_)) => return,
                Err(_) => {}
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Records the state of an account.
    fn stands(&self, channel: &str, account: &str, standing: ConnectionStatus) {
        let key = (channel.to_owned(), account.to_owned());
        let running = self.accounts().get(&key).cloned();
        let Some(running) = running else { return };
        let mut state = running.state();
        // Only real changes: each one is sent to every open page.
        if state.standing != standing {
            state.standing = standing;
            state.since = self.0.clock.now();
            self.0.records.changes().notify();
        }
    }

    /// Records that a message arrived at an account.
    fn spoken(&self, place: &ChatRef) {
        let key = (place.channel.clone(), place.account.clone());
        let running = self.accounts().get(&key).cloned();
        if let Some(running) = running {
            running.state().last = Some(self.0.clock.now());
        }
    }

    /// Returns the status of every account.
    pub async fn status(&self) -> Vec<Status> {
        let settings = self.0.settings.current();
        let mut all = Vec::new();
        for (channel, said) in settings.channels.all() {
            for (account, own) in &said.accounts {
                let key = (channel.to_owned(), account.clone());
                let running = self.accounts().get(&key).cloned();
                let stopped = self.is_stopped(channel, account).await;
                let state = running.as_ref().map(|running| running.state());
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

    /// Stops an account until it is started again, also across restarts.
    pub async fn stop_account(&self, channel: &str, account: &str) -> Result<(), ToolError> {
        self.must_exist(channel, account)?;
        self.note(channel, account, "yes").await?;
        self.take_over().await;
        Ok(())
    }

    /// Starts or restarts an account.
    pub async fn start_account(&self, channel: &str, account: &str) -> Result<(), ToolError> {
        self.must_exist(channel, account)?;
        self.put_aside(channel, account).await?;
        self.take_over().await;
        Ok(())
    }

    /// Stops the tasks of an account and waits for them, so that it can be started again. Waiting
    /// matters: platforms reject a second connection of the same bot.
    pub async fn put_aside(&self, channel: &str, account: &str) -> Result<(), ToolError> {
        self.note(channel, account, "no").await?;
        let key = (channel.to_owned(), account.to_owned());
        if let Some(running) = self.accounts().get(&key) {
            running.stop.cancel();
        }
        Ok(())
    }

    async fn note(&self, channel: &str, account: &str, stopped: &str) -> Result<(), ToolError> {
        let records = &self.0.records;
        let noted = records
            .set_account_value(channel, account, STOPPED, stopped)
            .await;
        noted.map_err(ToolError::from)
    }

    /// Rejects an account that is not in the settings.
    pub fn must_exist(&self, channel: &str, account: &str) -> Result<(), ToolError> {
        let settings = self.0.settings.current();
        let known = |channel: &str| {
            let said = settings.channels.get(channel)?;
            said.accounts.get(account).map(drop)
        };
        known(channel).ok_or_else(|| {
            let message = format!("there is no account {account} of {channel}");
            let hint = format!("add one with `manyhands channel login {channel}`");
            ToolError::not_found(message).hint(hint)
        })
    }

    /// The caller for a person who wrote at `place`, with their present rights.
    pub fn caller(&self, person: &str, place: Option<&ChatRef>) -> Result<Caller, ToolError> {
        let known = self.0.known.load();
        let settings = self.0.settings.current();
        let found = match place {
            Some(place) => caller_of(&settings, &known, place),
            None => {
                let (channel, id) = person.split_once(':').unwrap_or_default();
                let place = ChatRef {
                    kind: PeerKind::Dm,
                    sender: Some(id.to_owned()),
                    ..ChatRef::dm(channel, "", id)
                };
                caller_of(&settings, &known, &place)
            }
        };
        found.ok_or_else(|| {
            let message = format!("{person} is no longer allowed to talk to agents");
            ToolError::new(ErrorCode::Unauthenticated, message)
        })
    }

    async fn learn_known(&self) -> Result<(), ToolError> {
        let senders = self.0.records.senders().await?;
        self.0.known.store(Arc::new(KnownSenders::of(&senders)));
        Ok(())
    }
}

/// The agent that answers a chat.
fn agent_for(settings: &Settings, place: &ChatRef) -> manyhands_core::AgentId {
    let channel = settings.channels.get(&place.channel);
    let Some(channel) = channel else {
        return manyhands_core::AgentId::main();
    };
    let own = channel.chats.get(&place.chat);
    own.unwrap_or(&channel.agent).clone()
}
