//! Shared by the Telegram tools: the target chat, and sending a cached file.

use bytes::Bytes;
use manyhands_channels::FileKind;
use manyhands_core::{
    CallContext, ChatRef, ChatScope, Effects, ErrorCode, Group, ToolError, ToolSpec,
};
use manyhands_host::artifacts::mime_by_name;
use manyhands_host::machine::{Host, blocking, jail_failure};
use manyhands_messaging::{Address, Chats, DeliveryReport, NewFile, WAIT};
use manyhands_store::OutboxState;
use schemars::JsonSchema;
use serde::Serialize;

use crate::registration::ToolDeps;

/// Largest file sent, in bytes.
const MOST: u64 = 20 * 1024 * 1024;
/// Longest caption, in Telegram's units.
const CAPTION: usize = 1_024;

/// The outcome.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether it was delivered.
    sent: bool,
    /// `sent`, `pending` or `sending` while in progress, or `unknown` if it may or may not have
    /// been delivered.
    state: OutboxState,
    /// The chat.
    chat_id: String,
    /// Telegram's message id, once delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<String>,
    /// Name under which it was sent.
    filename: String,
    /// Its size in bytes.
    size: u64,
}

/// Dependencies of the Telegram tools.
pub struct Telegram {
    host: Host,
    chats: Chats,
}

/// A file to send.
pub struct Sending<'a> {
    pub chat: Option<i64>,
    pub path: &'a str,
    pub filename: Option<&'a str>,
    pub caption: Option<String>,
    pub form: FileKind,
}

/// The spec of a tool that is available in Telegram chats.
pub fn in_telegram(spec: ToolSpec) -> ToolSpec {
    spec.group(Group::Channel)
        .chats(ChatScope::Only(&["telegram"]))
        .outside_chats(false)
        .effects(Effects::READS.and(Effects::SENDS).and(Effects::LEAVES))
}

impl Telegram {
    pub fn new(deps: &ToolDeps) -> Self {
        Self {
            host: deps.host.clone(),
            chats: deps.chats.clone(),
        }
    }

    /// The target chat: the current one, or one the caller may write to.
    pub async fn chat(
        &self,
        requested: Option<i64>,
        context: &CallContext,
    ) -> Result<ChatRef, ToolError> {
        chat(&self.chats, requested, context).await
    }

    pub async fn send(
        &self,
        sending: Sending<'_>,
        context: &CallContext,
    ) -> Result<Output, ToolError> {
        let place = self.chat(sending.chat, context).await;
        let place = place.map_err(|error| match sending.form {
            FileKind::Voice => error,
            // These tools have no chat parameter.
            _ => {
                let message = "no Telegram chat to send to: this conversation is not in one";
                ToolError::new(ErrorCode::InvalidArguments, message)
            }
        })?;
        let caption = sending.caption.filter(|caption| !caption.is_empty());
        if caption
            .as_deref()
            // Telegram counts UTF-16 code units.
            .is_some_and(|text| text.encode_utf16().count() > CAPTION)
        {
            let message = format!("must have at most {CAPTION} characters");
            return Err(ToolError::parameter("caption", message));
        }
        let (name, bytes) = self.read(sending.path).await?;
        let name = match sending.filename {
            None => name,
            Some(given) => {
                manyhands_host::artifacts::check_name(given, "filename")?;
                given.to_owned()
            }
        };
        let mime = mime_by_name(&name)
            .unwrap_or("application/octet-stream")
            .to_owned();
        if sending.form == FileKind::Photo && !mime.starts_with("image/") {
            let message = "must be a picture; use telegram_send_file for other files";
            return Err(ToolError::parameter("path", message));
        }
        let size = bytes.len() as u64;
        let file = NewFile {
            form: sending.form,
            name: name.clone(),
            mime,
            caption,
            bytes,
        };
        // The outbox sends one key only once, however often delivery is tried.
        let key = format!("file:{}", context.call);
        let report = self
            .chats
            .tell_file(&place, file, &context.agent, &key, WAIT)
            .await?;
        let report = arrived(report)?;
        Ok(Output {
            sent: report.state == OutboxState::Sent,
            state: report.state,
            chat_id: place.chat,
            message_id: report.message,
            filename: name,
            size,
        })
    }

    /// Reads a cached file.
    async fn read(&self, path: &str) -> Result<(String, Bytes), ToolError> {
        let (host, path) = (self.host.clone(), path.to_owned());
        blocking(move || {
            let place = host.in_cache(&path)?;
            let shown = place.shown();
            let (bytes, meta) = place
                .root
                .jail()
                // One byte more, to notice a file that grows while it is read.
                .read(&place.path, MOST + 1)
                .map_err(|e| jail_failure(&e, &shown))?;
            if meta.size > MOST || bytes.len() as u64 > MOST {
                let message = format!("must be at most {MOST} bytes");
                return Err(ToolError::parameter("path", message));
            }
            // Telegram refuses empty files.
            if bytes.is_empty() {
                return Err(ToolError::parameter("path", "must not be an empty file"));
            }
            let name = shown.rsplit('/').next().unwrap_or("file").to_owned();
            Ok((name, Bytes::from(bytes)))
        })
        .await
    }
}

/// Turns a failed delivery into an error.
pub fn arrived(report: DeliveryReport) -> Result<DeliveryReport, ToolError> {
    match report.state {
        OutboxState::Failed => {
            let why = report
                .why
                .unwrap_or_else(|| "the platform gave no reason".to_owned());
            Err(ToolError::new(
                ErrorCode::Failed,
                format!("not delivered: {why}"),
            ))
        }
        _ => Ok(report),
    }
}

/// The target chat: the current one, or one somebody has written in before.
pub async fn chat(
    chats: &Chats,
    requested: Option<i64>,
    context: &CallContext,
) -> Result<ChatRef, ToolError> {
    let here = context
        .chat
        .as_deref()
        .filter(|place| place.channel == "telegram");
    let requested = requested.map(|id| id.to_string());
    match (here, requested) {
        (Some(here), None) => Ok(here.clone()),
        (Some(here), Some(id)) if here.chat == id => Ok(here.clone()),
        (None, None) => {
            let message = "required, since this conversation is not in a Telegram chat";
            Err(ToolError::parameter("chat_id", message))
        }
        (here, Some(id)) => {
            let account = here.map(|here| here.account.clone());
            let address = Address {
                channel: Some("telegram"),
                to: Some(&id),
                account: account.as_deref(),
                ..Address::default()
            };
            known_chat(chats, address, ("chat_id", "chat")).await
        }
    }
}

/// The chat with an address, if somebody has written in it before and the caller may write to it. An agent must not be
/// talked into messaging chats that have nothing to do with this gateway.
pub async fn known_chat(
    chats: &Chats,
    address: Address<'_>,
    (parameter, noun): (&str, &str),
) -> Result<ChatRef, ToolError> {
    let id = address.to.unwrap_or_default();
    let unknown = || {
        let message = format!("{id} is not a {noun} in which somebody has written to this gateway");
        ToolError::parameter(parameter, message)
    };
    let place = chats.find(address).await?.ok_or_else(unknown)?;
    chats.may_reach(&place, parameter)?;
    let known = chats
        .records()
        .chat(&place.channel, &place.account, id)
        .await?;
    known.map(|_| place).ok_or_else(unknown)
}
