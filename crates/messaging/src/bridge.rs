//! Services behind a bridge: a program of the owner's at the other end of a socket.
//!
//! Messages from a bridge are stored and answered like those of any platform. A message to it
//! counts as sent when the bridge reports so; a bridge that cannot report is trusted.

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
    BotIdentity, Channel, ChannelCapabilities, ChannelError, ConnectionStatus, EventSink, FileKind,
    Inbound, Media, OutgoingContent, OutgoingMessage, SendError, SendReceipt, WebhookOutcome,
    WebhookRefusal, WebhookRequest, chunk, failure,
};
use manyhands_core::{ArtifactId, ChatRef, PeerKind};
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
/// The largest file sent to a bridge.
const FILE_BYTES: u64 = 16 * 1024 * 1024;
/// How long a message waits for a bridge that is not connected before others get their turn.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a bridge may take to report delivery.
const SAYS_WITHIN: Duration = Duration::from_secs(60);
/// How long a bridge that does not read may block a message.
const TAKES_WITHIN: Duration = Duration::from_secs(30);
/// The longest time for fetching a file that a message names by URL.
const FETCHED_WITHIN: Duration = Duration::from_secs(60);

/// Prefixes of media references: stored here, or to be fetched.
pub(super) const HERE: &str = "here:";
pub(super) const ELSEWHERE: &str = "elsewhere:";

/// The connection slots of bridges, one per account.
#[derive(Default)]
pub(super) struct Seats(Mutex<BTreeMap<(String, String), Arc<Seat>>>);

impl Seats {
    /// Returns the slot of an account, which must exist.
    pub(super) fn of(&self, channel: &str, account: &str) -> Arc<Seat> {
        let mut seats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (channel.to_owned(), account.to_owned());
        seats.entry(key).or_default().clone()
    }
}

/// The connection slot of one bridge.
pub struct Seat(watch::Sender<Option<Arc<Seated>>>);

impl Default for Seat {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

/// A connected bridge.
pub struct Seated {
    outbox: mpsc::Sender<Frame>,
    /// Whether it reports delivery.
    says: bool,
    gone: CancellationToken,
    waiting: Mutex<HashMap<String, oneshot::Sender<ChannelSentParams>>>,
}

impl Seat {
    /// Takes the slot; a previous connection is closed.
    pub fn sit(&self, outbox: mpsc::Sender<Frame>, says: bool) -> Arc<Seated> {
        let new = Arc::new(Seated {
            outbox,
            says,
            gone: CancellationToken::new(),
            waiting: Mutex::default(),
        });
        // The newer connection wins: the older one may be half open after a network change.
        if let Some(before) = self.0.send_replace(Some(new.clone())) {
            before.gone.cancel();
        }
        new
    }

    /// Leaves the slot, unless a newer connection has it.
    pub fn rise(&self, who: &Arc<Seated>) {
        who.gone.cancel();
        self.0.send_if_modified(|now| {
            // A late disconnect of a replaced connection must not free its successor's slot.
            let same = now.as_ref().is_some_and(|now| Arc::ptr_eq(now, who));
            if same {
                *now = None;
            }
            same
        });
    }

    /// Waits for a connected bridge.
    async fn somebody(&self) -> Option<Arc<Seated>> {
        let mut now = self.0.subscribe();
        let there = timeout(PATIENCE, now.wait_for(Option::is_some)).await;
        there.ok()?.ok()?.clone()
    }
}

impl Seated {
    /// Waits until the connection must close.
    pub async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Accepts a delivery report. Returns whether anyone waited for it.
    pub fn said(&self, sent: ChannelSentParams) -> bool {
        let waits = self.waiting().remove(&sent.id);
        waits.is_some_and(|waits| waits.send(sent).is_ok())
    }

    fn waiting(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<ChannelSentParams>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message and waits for the delivery report.
    async fn give(&self, event: &ChannelOutboundEvent) -> Result<SendReceipt, SendError> {
        let later = |why: &str| SendError::Later {
            after: Some(Duration::from_secs(1)),
            why: why.to_owned(),
        };
        let (tell, told) = oneshot::channel();
        // Registered before sending, since the report may arrive at once.
        if self.says {
            self.waiting().insert(event.id.clone(), tell);
        }
        let frame = Frame::Text(event.encode().into());
        let taken = timeout(TAKES_WITHIN, self.outbox.send(frame)).await;
        // Nothing was handed over, so retrying later is safe.
        if !matches!(taken, Ok(Ok(()))) {
            self.waiting().remove(&event.id);
            return Err(later("the bridge is not reading its socket"));
        }
        if !self.says {
            return Ok(SendReceipt::default());
        }
        let unknown = |why: &str| Err(SendError::Unknown(why.to_owned()));
        let end = tokio::select! {
            biased;
            told = told => match told {
                Ok(sent) => read(sent),
                Err(_) => unknown("the bridge received the message twice"),
            },
            // It may have sent the message before it disconnected, so the outcome is unknown and
            // not failed.
            () = self.gone.cancelled() => unknown("the bridge disconnected before reporting delivery"),
            () = sleep(SAYS_WITHIN) => unknown("the bridge did not report delivery in time"),
        };
        self.waiting().remove(&event.id);
        end
    }
}

fn read(sent: ChannelSentParams) -> Result<SendReceipt, SendError> {
    match (sent.error, sent.retryable.unwrap_or(false)) {
        (None, _) => Ok(SendReceipt {
            message: sent.message_id,
        }),
        (Some(why), true) => Err(SendError::Later { after: None, why }),
        (Some(why), false) => Err(SendError::Never(why)),
    }
}

/// The channel of a service behind a bridge.
pub(super) struct Bridge {
    pub(super) channel: String,
    pub(super) account: String,
    pub(super) seat: Arc<Seat>,
    pub(super) artifacts: ArtifactStore,
    pub(super) egress: Arc<Egress>,
    pub(super) chats: Weak<Inner>,
    abilities: ChannelCapabilities,
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
            abilities: ChannelCapabilities {
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

    /// The session key of a chat.
    fn session(&self, place: &ChatRef) -> String {
        let chats = self.chats.upgrade().map(super::Chats);
        let key = chats.map(|chats| chats.session_at(place).to_string());
        key.unwrap_or_default()
    }

    async fn sent_along(&self, id: &str) -> Result<Bytes, SendError> {
        let gone = || SendError::Never("the file has been deleted".to_owned());
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
        // Reading changes nothing, so every error here can be retried.
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
            let why = format!("its URL returned HTTP {}", response.status.as_u16());
            return Err(SendError::Never(why));
        }
        response.bytes().await.map_err(lost)
    }
}

fn peer(place: &ChatRef) -> BridgePeer {
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

    fn abilities(&self) -> &ChannelCapabilities {
        &self.abilities
    }

    async fn me(&self) -> Result<BotIdentity, SendError> {
        Ok(BotIdentity {
            id: self.account.clone(),
            name: self.channel.clone(),
            handle: None,
            team: None,
        })
    }

    async fn listen(
        &self,
        sink: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let mut now = self.seat.0.subscribe();
        loop {
            let there = now.borrow_and_update().is_some();
            sink.set_status(match there {
                true => ConnectionStatus::Connected,
                false => ConnectionStatus::Broken {
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

    fn hook(&self, _: &WebhookRequest<'_>) -> Result<WebhookOutcome, WebhookRefusal> {
        Err(WebhookRefusal {
            status: StatusCode::NOT_FOUND,
            why: format!("{} is a bridge and has no webhook", self.channel),
        })
    }

    async fn send(
        &self,
        key: &str,
        message: &OutgoingMessage,
        file: Option<Bytes>,
    ) -> Result<SendReceipt, SendError> {
        let mut said = BridgeOutgoing {
            reply_to_id: message.reply_to.clone(),
            ..BridgeOutgoing::default()
        };
        match &message.content {
            OutgoingContent::Text { text, .. } => said.text = text.clone(),
            OutgoingContent::File {
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
            OutgoingContent::React { .. } => {
                let why = "bridges do not support reactions".to_owned();
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

    async fn typing(&self, place: &ChatRef) -> Result<(), SendError> {
        let now = self.seat.0.borrow().clone();
        if let Some(bridge) = now {
            let event = ChannelTypingEvent {
                channel: self.channel.clone(),
                account_id: self.account.clone(),
                peer: peer(place),
                session_key: self.session(place),
                typing: true,
            };
            // Best effort: a bridge with a full queue does not need typing notices.
            let _ = bridge.outbox.try_send(Frame::Text(event.encode().into()));
        }
        Ok(())
    }

    async fn acknowledge_button(&self, _: &Inbound, _: &str) -> Result<(), SendError> {
        Ok(())
    }

    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        if let Some(id) = media.id.strip_prefix(HERE) {
            return self.sent_along(id).await;
        }
        match media.id.strip_prefix(ELSEWHERE) {
            Some(url) => self.elsewhere(url, most).await,
            None => Err(SendError::Never(
                "the bridge did not attach the file".to_owned(),
            )),
        }
    }
}
