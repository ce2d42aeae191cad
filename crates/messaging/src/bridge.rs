//! Services that a bridge carries: a program of the owner's, at the other end of a socket.
//!
//! What a bridge tells is kept and answered like what any platform tells. What it is given counts as
//! sent when it says so; a bridge that does not know how to say so is believed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http::StatusCode;
use manyhands_channels::{
    Abilities, Channel, ChannelError, Delivered, Ear, FileKind, Hook, HookRefusal, Hooked, Inbound,
    Me, Media, Outgoing, Say, SendError, Standing, chunk, failure,
};
use manyhands_core::{ArtifactId, PeerKind, Place};
use manyhands_guard::{Egress, FetchLimits, Method, Request};
use manyhands_host::artifacts::ArtifactStore;
use manyhands_wire::{
    BridgeMedia, BridgeMediaKind, BridgeOutgoing, BridgePeer, BridgePeerKind, ChannelOutboundEvent,
    ChannelSentParams, ChannelTypingEvent, Payload,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_util::sync::CancellationToken;

use super::Inner;

/// The longest text of one message, in characters.
const TEXT: usize = 4_000;
/// The largest file that a bridge is given.
const FILE_BYTES: u64 = 16 * 1024 * 1024;
/// How long something waits for a bridge that is not there before others have their turn.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a bridge may take to say what became of something.
const SAYS_WITHIN: Duration = Duration::from_secs(60);
/// How long a bridge that does not read may hold something up.
const TAKES_WITHIN: Duration = Duration::from_secs(30);
/// How long a file may take that a message names by its address.
const FETCHED_WITHIN: Duration = Duration::from_secs(60);

/// How files of messages are named: those that came with the message, and those that are elsewhere.
pub(super) const HERE: &str = "here:";
pub(super) const ELSEWHERE: &str = "elsewhere:";

/// The places of bridges: one for each account.
#[derive(Default)]
pub(super) struct Seats(Mutex<BTreeMap<(String, String), Arc<Seat>>>);

impl Seats {
    /// The place of an account, which must exist.
    pub(super) fn of(&self, channel: &str, account: &str) -> Arc<Seat> {
        let mut seats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (channel.to_owned(), account.to_owned());
        seats.entry(key).or_default().clone()
    }
}

/// Where a bridge sits, or does not.
pub struct Seat(watch::Sender<Option<Arc<Seated>>>);

impl Default for Seat {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

/// A bridge that is connected.
pub struct Seated {
    outbox: mpsc::Sender<Frame>,
    /// Whether it says what became of what it was given.
    says: bool,
    gone: CancellationToken,
    waiting: Mutex<HashMap<String, oneshot::Sender<ChannelSentParams>>>,
}

impl Seat {
    /// Sits down; whoever sat there goes.
    pub fn sit(&self, outbox: mpsc::Sender<Frame>, says: bool) -> Arc<Seated> {
        let new = Arc::new(Seated {
            outbox,
            says,
            gone: CancellationToken::new(),
            waiting: Mutex::default(),
        });
        if let Some(before) = self.0.send_replace(Some(new.clone())) {
            before.gone.cancel();
        }
        new
    }

    /// Stands up, unless somebody else sits there by now.
    pub fn rise(&self, who: &Arc<Seated>) {
        who.gone.cancel();
        self.0.send_if_modified(|now| {
            let same = now.as_ref().is_some_and(|now| Arc::ptr_eq(now, who));
            if same {
                *now = None;
            }
            same
        });
    }

    /// Whoever sits there, as soon as somebody does.
    async fn somebody(&self) -> Option<Arc<Seated>> {
        let mut now = self.0.subscribe();
        let there = timeout(PATIENCE, now.wait_for(Option::is_some)).await;
        there.ok()?.ok()?.clone()
    }
}

impl Seated {
    /// Ends when it has to go.
    pub async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Takes what it says of something it was given; whether anybody waited for it.
    pub fn said(&self, sent: ChannelSentParams) -> bool {
        let waits = self.waiting().remove(&sent.id);
        waits.is_some_and(|waits| waits.send(sent).is_ok())
    }

    fn waiting(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<ChannelSentParams>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it something to send, and hears what became of it.
    async fn give(&self, event: &ChannelOutboundEvent) -> Result<Delivered, SendError> {
        let later = |why: &str| SendError::Later {
            after: Some(Duration::from_secs(1)),
            why: why.to_owned(),
        };
        let (tell, told) = oneshot::channel();
        if self.says {
            self.waiting().insert(event.id.clone(), tell);
        }
        let frame = Frame::Text(event.encode().into());
        let taken = timeout(TAKES_WITHIN, self.outbox.send(frame)).await;
        if !matches!(taken, Ok(Ok(()))) {
            self.waiting().remove(&event.id);
            return Err(later("the bridge does not read"));
        }
        if !self.says {
            return Ok(Delivered::default());
        }
        let unknown = |why: &str| Err(SendError::Unknown(why.to_owned()));
        let end = tokio::select! {
            biased;
            told = told => match told {
                Ok(sent) => read(sent),
                Err(_) => unknown("the bridge was given it twice"),
            },
            () = self.gone.cancelled() => unknown("the bridge went before it said what became of it"),
            () = sleep(SAYS_WITHIN) => unknown("the bridge does not say what became of it"),
        };
        self.waiting().remove(&event.id);
        end
    }
}

fn read(sent: ChannelSentParams) -> Result<Delivered, SendError> {
    match (sent.error, sent.retryable.unwrap_or(false)) {
        (None, _) => Ok(Delivered {
            message: sent.message_id,
        }),
        (Some(why), true) => Err(SendError::Later { after: None, why }),
        (Some(why), false) => Err(SendError::Never(why)),
    }
}

/// A service that a bridge carries.
pub(super) struct Bridge {
    pub(super) channel: String,
    pub(super) account: String,
    pub(super) seat: Arc<Seat>,
    pub(super) artifacts: ArtifactStore,
    pub(super) egress: Arc<Egress>,
    pub(super) chats: Weak<Inner>,
    abilities: Abilities,
}

impl Bridge {
    pub(super) fn new(chats: &super::Chats, channel: &str, account: &str) -> Self {
        Self {
            channel: channel.to_owned(),
            account: account.to_owned(),
            seat: chats.0.seats.of(channel, account),
            artifacts: chats.0.artifacts.clone(),
            egress: chats.0.web.egress(),
            chats: Arc::downgrade(&chats.0),
            abilities: Abilities {
                edits: false,
                typing: true,
                reactions: false,
                buttons: false,
                idempotent: false,
                file_bytes: FILE_BYTES,
                caption: TEXT,
                per_chat: Duration::ZERO,
                per_group: Duration::ZERO,
                overall: Duration::ZERO,
                per_edit: Duration::ZERO,
            },
        }
    }

    /// The conversation that belongs to a chat.
    fn session(&self, place: &Place) -> String {
        let chats = self.chats.upgrade().map(super::Chats);
        let key = chats.map(|chats| chats.session_at(place).to_string());
        key.unwrap_or_default()
    }

    async fn sent_along(&self, id: &str) -> Result<Bytes, SendError> {
        let gone = || SendError::Never("it is no longer kept".to_owned());
        let id: ArtifactId = id.parse().map_err(|_| gone())?;
        let mut content = self
            .artifacts
            .store
            .open(id, None)
            .await
            .map_err(|_| gone())?;
        let mut all = BytesMut::new();
        while let Some(piece) = content.next().await {
            all.extend_from_slice(&piece.map_err(|_| gone())?);
        }
        Ok(all.freeze())
    }

    async fn elsewhere(&self, url: &str, most: u64) -> Result<Bytes, SendError> {
        // Nothing is changed by looking, so that whatever goes wrong can be tried again.
        let lost = |error| match failure(error) {
            SendError::Unknown(why) => SendError::Later { after: None, why },
            other => other,
        };
        let request = Request {
            limits: FetchLimits {
                total_timeout: Some(FETCHED_WITHIN),
                max_bytes: Some(most),
                max_redirects: Some(3),
            },
            ..Request::new(Method::GET, url.to_owned())
        };
        let response = self.egress.fetch(request).await.map_err(lost)?;
        if !response.status.is_success() {
            let why = format!("its address answers {}", response.status.as_u16());
            return Err(SendError::Never(why));
        }
        response.bytes().await.map_err(lost)
    }
}

fn peer(place: &Place) -> BridgePeer {
    BridgePeer {
        kind: match place.kind {
            PeerKind::Dm => BridgePeerKind::Dm,
            PeerKind::Group => BridgePeerKind::Group,
            PeerKind::Channel => BridgePeerKind::Channel,
            PeerKind::Thread => BridgePeerKind::Thread,
        },
        id: place.chat.clone(),
        name: None,
        handle: None,
    }
}

#[async_trait]
impl Channel for Bridge {
    fn name(&self) -> &str {
        &self.channel
    }

    fn account(&self) -> &str {
        &self.account
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn me(&self) -> Result<Me, SendError> {
        Ok(Me {
            id: self.account.clone(),
            name: self.channel.clone(),
            handle: None,
            team: None,
        })
    }

    async fn listen(&self, ear: &dyn Ear, stop: &CancellationToken) -> Result<(), ChannelError> {
        let mut now = self.seat.0.subscribe();
        loop {
            let there = now.borrow_and_update().is_some();
            ear.stands(match there {
                true => Standing::Connected,
                false => Standing::Broken {
                    why: "its bridge is not connected".to_owned(),
                },
            });
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                changed = now.changed() => if changed.is_err() {
                    return Ok(());
                },
            }
        }
    }

    fn hook(&self, _: &Hook<'_>) -> Result<Hooked, HookRefusal> {
        Err(HookRefusal {
            status: StatusCode::NOT_FOUND,
            why: format!("{} is carried by a bridge, over the socket", self.channel),
        })
    }

    async fn send(
        &self,
        key: &str,
        message: &Outgoing,
        file: Option<Bytes>,
    ) -> Result<Delivered, SendError> {
        let mut said = BridgeOutgoing {
            reply_to_id: message.reply_to.clone(),
            ..BridgeOutgoing::default()
        };
        match &message.say {
            Say::Text { text, .. } => said.text = text.clone(),
            Say::File {
                form,
                name,
                mime,
                caption,
                link,
                ..
            } => {
                said.text = caption.clone().unwrap_or_default();
                said.media_url = link.clone();
                said.media = Some(BridgeMedia {
                    kind: match form {
                        FileKind::Photo => BridgeMediaKind::Image,
                        FileKind::Voice => BridgeMediaKind::Audio,
                        FileKind::Document => BridgeMediaKind::Document,
                    },
                    mime_type: mime.clone(),
                    size: file.as_ref().map(|file| file.len() as u64),
                    data: file.map(|file| STANDARD.encode(file)),
                    url: link.clone(),
                    filename: Some(name.clone()),
                    transcription: None,
                });
            }
            Say::React { .. } => {
                let why = "one cannot react over a bridge".to_owned();
                return Err(SendError::Never(why));
            }
        }
        let Some(bridge) = self.seat.somebody().await else {
            return Err(SendError::Later {
                after: Some(Duration::from_secs(1)),
                why: "its bridge is not connected".to_owned(),
            });
        };
        let event = ChannelOutboundEvent {
            channel: self.channel.clone(),
            account_id: self.account.clone(),
            peer: peer(&message.to),
            session_key: self.session(&message.to),
            message: said,
            id: key.to_owned(),
        };
        bridge.give(&event).await
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        chunk::pieces(text, TEXT, &|piece| piece.chars().count())
    }

    async fn typing(&self, place: &Place) -> Result<(), SendError> {
        let now = self.seat.0.borrow().clone();
        if let Some(bridge) = now {
            let event = ChannelTypingEvent {
                channel: self.channel.clone(),
                account_id: self.account.clone(),
                peer: peer(place),
                session_key: self.session(place),
                typing: true,
            };
            // Whoever has no room for it does not need it.
            let _ = bridge.outbox.try_send(Frame::Text(event.encode().into()));
        }
        Ok(())
    }

    async fn pressed(&self, _: &Inbound, _: &str) -> Result<(), SendError> {
        Ok(())
    }

    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        if let Some(id) = media.id.strip_prefix(HERE) {
            return self.sent_along(id).await;
        }
        match media.id.strip_prefix(ELSEWHERE) {
            Some(url) => self.elsewhere(url, most).await,
            None => Err(SendError::Never("it was not sent along".to_owned())),
        }
    }
}
