//! A gateway's chats without the gateway: real records, real minds, a model that says what it was
//! told.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_agent::testing::{FakeEnv, NoTools, reply};
use manyhands_agent::{MindParts, Minds, ModelClient, TurnLimits};
use manyhands_agent_services::People;
use manyhands_channels::{Inbound, InboundEvent, InboundMessage as Said};
use manyhands_config::{ChannelAccount, DmPolicy, Settings};
use manyhands_core::{ChatRef, Clock, Ids, OsEntropy, SystemClock};
use manyhands_guard::Redactor;
use manyhands_host::LiveSettings;
use manyhands_host::artifacts::ArtifactStore;
use manyhands_host::machine::{Host, HostParts};
use manyhands_host::web::Web;
use manyhands_llm::{
    Block, Delta, ErrorKind, Message, ModelError, ModelRequest, Reply, ReplyBlock,
};
use manyhands_store::{NewInbound, Store};
use tokio_util::sync::CancellationToken;

use crate::{Chats, ChatsParts};

/// How long anything may take before something is wrong.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// Words of a text that name a message, such as `msg-7`.
pub(super) fn marks(text: &str) -> Vec<String> {
    let of_word = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let words = text.split(of_word);
    words
        .filter(|word| word.starts_with("msg-"))
        .map(str::to_owned)
        .collect()
}

/// What people said in a message.
pub(super) fn said_by_people(message: &Message) -> Option<String> {
    let Message::User { content } = message else {
        return None;
    };
    let text = content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    Some(text.collect())
}

/// A model that answers with the marks of whatever it was not answered for yet; asked to hang, it
/// does until it is stopped.
pub(super) struct Model {
    /// Told before and after each answer.
    pub(super) watcher: Box<dyn Fn() + Send + Sync>,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            watcher: Box::new(|| ()),
        }
    }
}

#[async_trait]
impl ModelClient for Model {
    async fn reply(
        &self,
        request: &ModelRequest,
        _: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        (self.watcher)();
        tokio::task::yield_now().await;
        let mut words = Vec::new();
        for message in request.messages.iter().rev() {
            match said_by_people(message) {
                Some(text) => words.push(text),
                None => break,
            }
        }
        let words = words.into_iter().rev().collect::<Vec<_>>().join(" ");
        if words.contains("hang") {
            cancel.cancelled().await;
            return Err(ModelError {
                kind: ErrorKind::Cancelled,
                model: "test/model".parse().unwrap(),
                message: "as told".to_owned(),
                attempts: Vec::new(),
            });
        }
        let answer = format!("answer to {}", marks(&words).join(" "));
        (self.watcher)();
        tokio::task::yield_now().await;
        Ok(reply(vec![ReplyBlock::text(&answer)]))
    }
}

/// Panics without a word on the terminal.
pub(super) fn panics_quietly() -> ! {
    std::panic::resume_unwind(Box::new("as planned, with a secret-detail"))
}

/// Chats of a home.
pub(super) struct Stage {
    pub(super) chats: Chats,
    pub(super) store: Store,
    pub(super) minds: Minds,
    /// How many more questions to the house around the minds panic.
    pub(super) panics: Arc<AtomicUsize>,
    stopping: CancellationToken,
}

/// The machine's clock and ids by it.
pub(super) fn calm() -> (Arc<dyn Clock>, Ids) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let ids = Ids::new(clock.clone(), Arc::new(OsEntropy));
    (clock, ids)
}

/// Settings of somebody who lets everybody write.
pub(super) fn open_to_all() -> Settings {
    let mut settings = Settings::default();
    settings.egress.allow_private = vec!["127.0.0.0/8".to_owned()];
    settings.channels.telegram.dm = DmPolicy::Open;
    settings.channels.line.dm = DmPolicy::Open;
    settings
}

/// An account whose platform is at `url`.
pub(super) fn account(url: &str) -> ChannelAccount {
    ChannelAccount {
        token: Some("vault:token".to_owned()),
        secret: Some("vault:secret".to_owned()),
        api_url: Some(url.to_owned()),
        data_url: Some(url.to_owned()),
        ..ChannelAccount::default()
    }
}

impl Stage {
    /// On a home of its own, as a started gateway has it.
    pub(super) async fn new(home: &Path, settings: Settings) -> Self {
        Self::open(home, settings, calm().0, Arc::new(Model::default())).await
    }

    /// On a home, with a clock and a model.
    pub(super) async fn open(
        home: &Path,
        settings: Settings,
        clock: Arc<dyn Clock>,
        model: Arc<dyn ModelClient>,
    ) -> Self {
        let stage = Self::closed(home, settings, clock, model).await;
        stage.chats.start().await.unwrap();
        stage.minds.resume().await.unwrap();
        stage
    }

    /// The same before anything is heard.
    pub(super) async fn closed(
        home: &Path,
        settings: Settings,
        clock: Arc<dyn Clock>,
        model: Arc<dyn ModelClient>,
    ) -> Self {
        let (_, ids) = calm();
        let store = Store::open(home, clock.clone(), ids.clone(), None).await;
        let store = store.unwrap();
        let live = LiveSettings::new(settings);
        let redactor = Arc::new(ArcSwap::from_pointee(Redactor::new(&[])));
        let host = Host::open(HostParts {
            home,
            environment: BTreeMap::new(),
            settings: live.clone(),
            artifacts: store.artifacts().clone(),
            clock: clock.clone(),
            redactor: redactor.clone(),
        });
        let host = host.unwrap();
        let lock: Arc<OnceLock<Minds>> = Arc::default();
        let stopping = CancellationToken::new();
        let chats = Chats::open(ChatsParts {
            store: &store,
            settings: live.clone(),
            web: Web::new(&live, host.clone(), store.vault().clone()),
            artifacts: ArtifactStore::new(&store, live.clone(), redactor, clock.clone()),
            people: People::new(host.state().jail(), clock.clone(), ids.clone()),
            minds: lock.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            stopping: stopping.clone(),
        });
        let chats = chats.await.unwrap();
        let panics: Arc<AtomicUsize> = Arc::default();
        let (of_chats, left) = (chats.clone(), panics.clone());
        let env = FakeEnv {
            limits: Mutex::new(TurnLimits {
                queued: 4,
                ..TurnLimits::default()
            }),
            callers: Box::new(move |origin| {
                let fewer = |left: usize| left.checked_sub(1);
                if left.fetch_update(SeqCst, SeqCst, fewer).is_ok() {
                    panics_quietly();
                }
                let person = origin.person.as_deref().unwrap_or_default();
                let caller = of_chats.caller(person, origin.place.as_ref());
                caller.map(Arc::new)
            }),
            stopping: stopping.clone(),
            ..FakeEnv::new(model)
        };
        let minds = Minds::new(MindParts {
            sessions: store.sessions().clone(),
            blobs: store.blobs().clone(),
            path: Arc::new(NoTools),
            env: Arc::new(env),
            clock,
            ids,
        });
        let _ = lock.set(minds.clone());
        Self {
            chats,
            store,
            minds,
            panics,
            stopping,
        }
    }

    /// Stops as a closing gateway does.
    pub(super) async fn stop(self) {
        self.stopping.cancel();
        self.minds.rest().await;
        self.chats.rest().await;
        self.store.close().await.unwrap();
    }

    /// Whether everything that was heard is worked on, answered, and the answers were tried.
    pub(super) async fn at_rest(&self) -> bool {
        let records = self.store.chats();
        records.next_inbound(&[], 1).await.unwrap().is_empty()
            && records.pending_replies().await.unwrap().is_empty()
            && records.undelivered().await.unwrap().waiting == 0
            && self.minds.busy_count() == 0
    }

    /// Keeps what somebody says, as a channel would.
    pub(super) async fn hear(&self, all: Vec<Inbound>) {
        let kept = self.chats.keep("line", "default", all).await;
        kept.unwrap();
    }
}

/// Waits until it holds.
pub(super) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited
        .await
        .unwrap_or_else(|_| panic!("never came: {what}"));
}

/// Somebody says something to us alone.
pub(super) fn direct(sender: &str, event: &str, text: &str) -> Inbound {
    Inbound {
        event: event.to_owned(),
        at: 1_794_747_600_000,
        place: ChatRef {
            sender: Some(sender.to_owned()),
            sender_name: Some("Ada".to_owned()),
            message: Some(event.to_owned()),
            ..ChatRef::dm("line", "default", sender)
        },
        handle: None,
        chat_name: None,
        from_bot: false,
        ticket: None,
        what: InboundEvent::Message(Box::new(Said {
            text: text.to_owned(),
            ..Said::default()
        })),
    }
}

/// An event that cannot be read.
pub(super) fn damaged(lane: &str, event: &str) -> NewInbound {
    NewInbound {
        channel: "line".to_owned(),
        account: "default".to_owned(),
        event: event.to_owned(),
        lane: lane.parse().unwrap(),
        body: "{\"event\": ".to_owned(),
    }
}

/// What people said, over all sessions.
pub(super) async fn heard_in_sessions(store: &Store) -> Vec<String> {
    let mut heard = Vec::new();
    for session in store.sessions().list(None, 500, 0).await.unwrap() {
        let entries = store.sessions().entries(&session.id, 0, 500).await.unwrap();
        for entry in &entries {
            let message: Message = serde_json::from_str(&entry.body).unwrap();
            heard.extend(said_by_people(&message));
        }
    }
    heard
}
