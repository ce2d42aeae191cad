//! Translates messages of a bridge.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use manyhands_channels::{
    Inbound, InboundEvent, InboundMessage, Location, Media, MediaKind, Mention, Quoted,
};
use manyhands_core::{CallId, Caller, ChatRef, ErrorCode, PeerKind, Timestamp, ToolError};
use manyhands_path::artifact_room;
use manyhands_store::{Bucket, NewArtifact, StoreError};
use manyhands_wire::{
    BridgeMedia, BridgeMediaKind, BridgePeerKind, ChannelInboundParams, ChannelInboundResult,
};
use url::Url;

use super::access::{Reception, reception};
use super::bridge::{ELSEWHERE, HERE};
use super::{Chats, agent_for};

/// The longest id.
const MAX_ID: usize = 256;
/// The longest text of a message or name.
const MAX_TEXT: usize = 256 * 1024;
const MAX_NAME: usize = 256;
/// The most files and the most mentions of one message.
const MAX_MEDIA: usize = 10;
const MAX_MENTIONS: usize = 100;

impl Chats {
    /// Stores a message of a bridge. It is on disk when this returns, so the bridge may be
    /// acknowledged.
    pub async fn told_by_bridge(
        &self,
        params: ChannelInboundParams,
    ) -> Result<ChannelInboundResult, ToolError> {
        let (channel, account) = (params.channel.clone(), params.account_id.clone());
        if !self.is_used(&channel, &account) {
            let message = format!("the {channel} account {account} is not running");
            return Err(ToolError::new(ErrorCode::Unavailable, message)
                .hint(format!("`manyhands channel start {channel}` starts it")));
        }
        let inbound = self.inbound(params).await?;
        let session_key = self.session_at(&inbound.place).to_string();
        self.keep(&channel, &account, vec![inbound]).await?;
        Ok(ChannelInboundResult {
            status: "queued".to_owned(),
            session_key,
        })
    }

    async fn inbound(&self, params: ChannelInboundParams) -> Result<Inbound, ToolError> {
        let (peer, message) = (params.peer, params.message);
        id("peer.id", &peer.id)?;
        id("message.id", &message.id)?;
        if message.text.len() > MAX_TEXT {
            let why = format!("message.text: must be at most {MAX_TEXT} bytes");
            return Err(ToolError::new(ErrorCode::TooLarge, why));
        }
        let kind = match peer.kind {
            BridgePeerKind::Dm => PeerKind::Dm,
            BridgePeerKind::Group => PeerKind::Group,
            BridgePeerKind::Channel => PeerKind::Channel,
            BridgePeerKind::Thread => PeerKind::Thread,
        };
        let (sender, sender_name, handle) = match (params.sender, kind) {
            (Some(sender), _) => (sender.id, sender.name, sender.handle),
            (None, PeerKind::Dm) => (peer.id.clone(), peer.name.clone(), peer.handle.clone()),
            (None, _) => {
                let why = "is required in group chats";
                return Err(ToolError::parameter("sender", why));
            }
        };
        id("sender.id", &sender)?;
        let at = message.timestamp.unwrap_or(self.0.clock.now().0);
        let place = ChatRef {
            channel: params.channel,
            account: params.account_id,
            kind,
            chat: peer.id,
            thread: None,
            message: Some(message.id.clone()),
            sender: Some(sender),
            sender_name: sender_name.map(short),
            sender_handle: handle.clone().map(short),
        };
        let mut said = InboundMessage {
            text: message.text,
            quoted: message.reply_to_id.map(|id| Quoted {
                id,
                text: message.reply_to_text,
                sender: None,
            }),
            location: message.location.as_ref().map(|at| Location {
                latitude: at.lat,
                longitude: at.lon,
            }),
            mentioned: params.was_mentioned.unwrap_or(false),
            mentions: params
                .mentioned_ids
                .unwrap_or_default()
                .into_iter()
                .take(MAX_MENTIONS)
                .map(|id| Mention {
                    id: Some(short(id)),
                    ..Mention::default()
                })
                .collect(),
            ..InboundMessage::default()
        };
        if let Some(name) = message.location.and_then(|at| at.name) {
            add_line(&mut said.text, &format!("[{}]", short(name)));
        }
        self.attach(&place, message.media.unwrap_or_default(), &mut said)
            .await?;
        Ok(Inbound {
            event: format!("{}:{}", place.chat, message.id),
            at,
            handle: handle.map(short),
            chat_name: peer.name.map(short),
            from_bot: false,
            ticket: None,
            what: InboundEvent::Message(Box::new(said)),
            place,
        })
    }

    /// Takes over the files of a message. Files of senders that may not talk to agents are not
    /// stored.
    async fn attach(
        &self,
        place: &ChatRef,
        media: Vec<BridgeMedia>,
        said: &mut InboundMessage,
    ) -> Result<(), ToolError> {
        if media.len() > MAX_MEDIA {
            let why = format!("must be at most {MAX_MEDIA}");
            return Err(ToolError::parameter("message.media", why));
        }
        let settings = self.0.settings.current();
        let known = self.0.known.load_full();
        let welcome = matches!(
            reception(&settings, &known, place, false, said.mentioned),
            Reception::Welcome
        );
        let most = settings.channels.media_bytes;
        for (at, one) in media.into_iter().enumerate() {
            let named = |what: &str| format!("message.media[{at}].{what}");
            if let Some(spoken) = &one.transcription {
                let spoken: String = spoken.chars().take(MAX_TEXT / 4).collect();
                add_line(&mut said.text, &format!("[spoken] {spoken}"));
                continue;
            }
            let mut size = one.size;
            let place_of = match (&one.data, &one.url) {
                (Some(data), _) => {
                    let bytes = STANDARD.decode(data).map_err(|e| {
                        ToolError::parameter(&named("data"), format!("is not base64: {e}"))
                    })?;
                    size = Some(bytes.len() as u64);
                    match welcome && bytes.len() as u64 <= most {
                        true => self.store_file(place, &one, bytes.into()).await?,
                        false => String::new(),
                    }
                }
                (None, Some(url)) => {
                    let web =
                        Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
                    if !web || url.len() > 4_096 {
                        let why = "must be an http or https URL";
                        return Err(ToolError::parameter(&named("url"), why));
                    }
                    format!("{ELSEWHERE}{url}")
                }
                (None, None) => {
                    let why = "is required when url is missing";
                    return Err(ToolError::parameter(&named("data"), why));
                }
            };
            said.media.push(Media {
                kind: match one.kind {
                    BridgeMediaKind::Image => MediaKind::Image,
                    BridgeMediaKind::Audio => MediaKind::Audio,
                    BridgeMediaKind::Video => MediaKind::Video,
                    BridgeMediaKind::Document => MediaKind::Document,
                },
                id: place_of,
                name: one.filename.map(short),
                mime: Some(short(one.mime_type)).filter(|mime| !mime.is_empty()),
                size,
            });
        }
        Ok(())
    }

    /// Stores a file until its message is processed.
    async fn store_file(
        &self,
        place: &ChatRef,
        media: &BridgeMedia,
        bytes: Bytes,
    ) -> Result<String, ToolError> {
        let settings = self.0.settings.current();
        let limits = &settings.limits;
        let hours = i64::from(settings.channels.retry_hours) + 1;
        let new = NewArtifact {
            name: "attached".to_owned(),
            mime: media.mime_type.clone(),
            agent: agent_for(&settings, place),
            call: self.0.ids.next::<CallId>(),
            caller: Caller::gateway().key(),
            bucket: Bucket::Results,
            expires: Some(Timestamp(self.0.clock.now().0 + hours * 3_600_000)),
            // The file belongs to the gateway until its message is processed, so no caller's quota
            // counts.
            quota: artifact_room(limits, true),
        };
        let kept = match self.0.artifacts.disk.admit(false) {
            Ok(()) => self.0.artifacts.store.put(new, bytes).await,
            Err(low) => Err(low),
        };
        match kept {
            Ok(kept) => Ok(format!("{HERE}{}", kept.id)),
            // The message then says that the file is missing.
            Err(
                StoreError::Limit { .. } | StoreError::Quota { .. } | StoreError::LowSpace { .. },
            ) => Ok(String::new()),
            Err(error) => Err(error.into()),
        }
    }
}

fn id(name: &str, text: &str) -> Result<(), ToolError> {
    if text.is_empty() || text.len() > MAX_ID || text.chars().any(char::is_control) {
        let why = format!("must be 1 to {MAX_ID} bytes without control characters");
        return Err(ToolError::parameter(name, why));
    }
    Ok(())
}

fn short(text: String) -> String {
    match text.len() > MAX_NAME {
        true => text[..text.floor_char_boundary(MAX_NAME)].to_owned(),
        false => text,
    }
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}
