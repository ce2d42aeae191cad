//! Files, images and recordings of a message, as input for a model.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use manyhands_channels::{Channel, Inbound, InboundMessage, Media, MediaKind, SendError};
use manyhands_core::{CallId, Caller, ErrorCode, Timestamp, ToolError};
use manyhands_llm::Block;
use manyhands_path::artifact_room;
use manyhands_store::{Bucket, NewArtifact, StoreError};

use super::{Chats, agent_for};

/// The most images of one message shown to a model, and the largest size.
const PICTURES: usize = 3;
const PICTURE_BYTES: u64 = 5 * 1024 * 1024;
/// The most files of one message that are stored.
const FILES: usize = 10;
/// How long files from people are stored.
const KEPT_MS: i64 = 30 * 86_400_000;
/// How much of a quoted message is shown.
const QUOTED: usize = 1_000;

impl Chats {
    /// The text of a message, with what it quotes and what is attached.
    pub(super) async fn content(
        &self,
        inbound: &Inbound,
        message: &InboundMessage,
        caller: &Caller,
    ) -> Result<(String, Vec<Block>), ToolError> {
        let mut text = message.text.clone();
        let mut pictures = Vec::new();
        let channel = self.channel(&inbound.place.channel, &inbound.place.account);
        for media in message.media.iter().take(FILES) {
            let note = match &channel {
                None => format!("[{}, which could not be fetched]", named(media)),
                Some(channel) => {
                    self.take_in(inbound, channel, media, caller, &mut pictures)
                        .await?
                }
            };
            if !note.is_empty() {
                add_line(&mut text, &note);
            }
        }
        if message.media.len() > FILES {
            let more = message.media.len() - FILES;
            add_line(
                &mut text,
                &format!("[{more} more files, which were not taken in]"),
            );
        }
        if let Some(at) = message.location {
            let note = format!("[a place: {}, {}]", at.latitude, at.longitude);
            add_line(&mut text, &note);
        }
        let quoted = message
            .quoted
            .as_ref()
            .and_then(|quoted| quoted.text.as_deref());
        if let Some(quoted) = quoted.filter(|quoted| !quoted.trim().is_empty())
            && !text.trim_start().starts_with('/')
        {
            let quoted: String = quoted.chars().take(QUOTED).collect();
            let lines: Vec<String> = quoted.lines().map(|line| format!("> {line}")).collect();
            text = format!("{}\n\n{text}", lines.join("\n"));
        }
        Ok((text, pictures))
    }

    /// Stores one file and returns a line that describes it.
    async fn take_in(
        &self,
        inbound: &Inbound,
        channel: &Arc<dyn Channel>,
        media: &Media,
        caller: &Caller,
        pictures: &mut Vec<Block>,
    ) -> Result<String, ToolError> {
        let what = named(media);
        let most = self.0.settings.current().channels.media_bytes;
        if media.size.is_some_and(|size| size > most) {
            return Ok(format!(
                "[{what}, which is larger than {most} bytes and was not taken in]"
            ));
        }
        let bytes = match channel.fetch(media, most).await {
            Ok(bytes) => bytes,
            Err(SendError::Later { why, .. }) => {
                // An error retries the whole event, a limited number of times.
                let message = format!("{what} could not be fetched yet: {why}");
                return Err(ToolError::new(ErrorCode::Unavailable, message));
            }
            Err(error) => return Ok(format!("[{what}, which could not be fetched: {error}]")),
        };
        let mime = match &media.mime {
            Some(mime) => mime.clone(),
            None => seen(&bytes).unwrap_or_else(|| guess(media)).to_owned(),
        };
        if media.kind == MediaKind::Image
            && is_picture(&mime)
            && pictures.len() < PICTURES
            && bytes.len() as u64 <= PICTURE_BYTES
        {
            pictures.push(Block::Image {
                data: STANDARD.encode(&bytes),
                mime_type: mime,
            });
            return Ok(String::new());
        }
        if media.kind == MediaKind::Voice || media.kind == MediaKind::Audio {
            let file = media.name.as_deref().unwrap_or("voice.ogg");
            match self.transcribe(&bytes, file, &mime).await {
                Ok(Some(said)) => return Ok(format!("[spoken] {said}")),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(event = "transcription_failed", %error, "failed to transcribe a voice message");
                }
            }
        }
        self.store_artifact(inbound, media, &what, mime, bytes, caller)
            .await
    }

    async fn store_artifact(
        &self,
        inbound: &Inbound,
        media: &Media,
        what: &str,
        mime: String,
        bytes: Bytes,
        caller: &Caller,
    ) -> Result<String, ToolError> {
        let settings = self.0.settings.current();
        let limits = &settings.limits;
        let name = media
            .name
            .clone()
            .unwrap_or_else(|| file_name(media, &mime));
        let new = NewArtifact {
            name: match manyhands_host::artifacts::check_name(&name, "name") {
                Ok(()) => name,
                Err(_) => file_name(media, &mime),
            },
            mime,
            agent: agent_for(&settings, &inbound.place),
            call: self.0.ids.next::<CallId>(),
            caller: caller.key(),
            bucket: Bucket::Results,
            expires: Some(Timestamp(self.0.clock.now().0 + KEPT_MS)),
            quota: artifact_room(limits, caller.is_owner()),
        };
        let size = bytes.len();
        let kept = match self.0.artifacts.disk.admit(caller.is_owner()) {
            Ok(()) => self.0.artifacts.store.put(new, bytes).await,
            Err(low) => Err(low),
        };
        match kept {
            Ok(kept) => Ok(format!(
                "[{what}, {size} bytes, kept as artifact {} in chat results]",
                kept.id
            )),
            Err(
                error @ (StoreError::Limit { .. }
                | StoreError::Quota { .. }
                | StoreError::LowSpace { .. }),
            ) => Ok(format!("[{what}, which was not kept: {error}]")),
            Err(error) => Err(error.into()),
        }
    }
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// The description of a file for the model.
fn named(media: &Media) -> String {
    let kind = match media.kind {
        MediaKind::Image => "a picture",
        MediaKind::Voice => "a voice message",
        MediaKind::Audio => "a recording",
        MediaKind::Video => "a video",
        MediaKind::Document => "a file",
    };
    match &media.name {
        Some(name) => {
            let plain: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
            format!("{kind} {plain:?}")
        }
        None => kind.to_owned(),
    }
}

fn is_picture(mime: &str) -> bool {
    matches!(
        mime,
        "image/png" | "image/jpeg" | "image/gif" | "image/webp"
    )
}

/// The type of an image or recording by its first bytes; the sender's claim is not trusted.
fn seen(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        [b'O', b'g', b'g', b'S', ..] => Some("audio/ogg"),
        [_, _, _, _, b'f', b't', b'y', b'p', b'M', b'4', b'A', ..] => Some("audio/mp4"),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => Some("video/mp4"),
        [b'%', b'P', b'D', b'F', ..] => Some("application/pdf"),
        _ => None,
    }
}

fn guess(media: &Media) -> &'static str {
    match media.kind {
        MediaKind::Image => "image/jpeg",
        MediaKind::Voice => "audio/ogg",
        MediaKind::Audio => "audio/mpeg",
        MediaKind::Video => "video/mp4",
        MediaKind::Document => "application/octet-stream",
    }
}

fn file_name(media: &Media, mime: &str) -> String {
    let end = match mime {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "audio/ogg" => "ogg",
        "audio/mpeg" => "mp3",
        "video/mp4" => "mp4",
        "application/pdf" => "pdf",
        _ => "bin",
    };
    let kind = match media.kind {
        MediaKind::Image => "picture",
        MediaKind::Voice => "voice",
        MediaKind::Audio => "recording",
        MediaKind::Video => "video",
        MediaKind::Document => "file",
    };
    format!("{kind}.{end}")
}
