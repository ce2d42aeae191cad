//! `gsv__Message`

use manyhands_core::{CallContext, Effects, Outcome, PeerKind, ToolError, ToolSpec, TypedTool};
use manyhands_messaging::{Address, Chats, WAIT};
use manyhands_store::OutboxState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::registration::{Registration, always, typed};

/// Send a message to a channel or user. Without a target it goes to the last active chat of the current session. What cannot be
/// delivered at once is kept and tried again; `state` says how far it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Message text to send, as Markdown.
    #[schemars(length(min = 1, max = 100_000))]
    text: String,
    /// Channel to send to: "telegram", "slack", "line", "discord", "whatsapp" or the name of a bridge. Defaults to the user's current channel.
    channel: Option<String>,
    /// Peer ID to send to (phone number, user ID, channel ID). Defaults to the user's current peer.
    #[schemars(length(min = 1, max = 256))]
    to: Option<String>,
    /// Type of conversation: dm, group, channel or thread. Defaults to the current peer kind, or "dm" if unknown.
    peer_kind: Option<PeerKind>,
    /// Account ID for multi-account channels. Defaults to the current account.
    #[schemars(length(min = 1, max = 64))]
    account_id: Option<String>,
    /// Message ID to reply to.
    #[schemars(length(min = 1, max = 256))]
    reply_to_id: Option<String>,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Whether it was delivered.
    sent: bool,
    /// `sent`, `pending` or `sending` while in progress, or `unknown` if it may or may not have
    /// been delivered.
    state: OutboxState,
    /// The channel.
    channel: String,
    /// The sending account.
    account_id: String,
    /// The recipient.
    to: String,
    /// Type of conversation.
    peer_kind: PeerKind,
    /// Message id on the platform, once delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<String>,
    /// Id in the outbox, for the owner.
    outbox_id: String,
}

pub(crate) const TOOL: Registration = Registration {
    name: "gsv__Message",
    enabled: always,
    build: |deps| typed(MessageTool(deps.chats.clone())),
};

struct MessageTool(Chats);

impl TypedTool for MessageTool {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::SENDS.and(Effects::LEAVES))
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let session = context.lineage.last().map(String::as_str);
        let place = self
            .0
            .find(Address {
                channel: params.channel.as_deref(),
                to: params.to.as_deref(),
                kind: params.peer_kind,
                account: params.account_id.as_deref(),
                session,
                here: context.chat.as_deref(),
            })
            .await?;
        let place = place.ok_or_else(|| {
            let message = "required: nobody has written to this session from a chat yet";
            ToolError::parameter("to", message).hint("name channel and to")
        })?;
        // The outbox sends one key only once, however often delivery is tried.
        let key = format!("message:{}", context.call);
        let reply_to = params.reply_to_id.as_deref();
        let report = self
            .0
            .tell(&place, &params.text, reply_to, &key, session, WAIT)
            .await?;
        if report.state == OutboxState::Failed {
            let why = report
                .why
                .unwrap_or_else(|| "the platform gave no reason".to_owned());
            let message = format!("the message was not delivered: {why}");
            return Err(ToolError::new(manyhands_core::ErrorCode::Failed, message));
        }
        let output = Output {
            sent: report.state == OutboxState::Sent,
            state: report.state,
            channel: place.channel,
            account_id: place.account,
            to: place.chat,
            peer_kind: place.kind,
            message_id: report.message,
            outbox_id: report.id,
        };
        // Nothing that somebody else wrote is in the result.
        Ok(Outcome::of(&output)?.clean(true))
    }
}
