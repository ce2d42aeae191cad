//! `message_react`

use std::sync::Arc;

use manyhands_channels::{slack, telegram};
use manyhands_core::{
    CallContext, ChatRef, ChatScope, Effects, ErrorCode, Group, Outcome, ToolError, ToolSpec,
    TypedTool, Variant, input_schema,
};
use manyhands_messaging::{Address, Chats, WAIT};
use manyhands_store::OutboxState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, always, typed};
use crate::telegram::{arrived, chat, known_chat};

/// Emoji named in an error.
const NAMED: usize = 40;

/// Add an emoji reaction to a message of the current chat, on Telegram or Slack.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Telegram: target chat_id; the current chat by default.
    chat_id: Option<i64>,
    /// Telegram: message ID to react to; by default the message being replied to.
    message_id: Option<i64>,
    /// Slack: target channel_id; the current channel by default.
    #[schemars(length(min = 1, max = 64))]
    channel_id: Option<String>,
    /// Slack: message timestamp (ts) to react to; by default the message being replied to.
    #[schemars(length(min = 1, max = 64))]
    message_ts: Option<String>,
    /// Reaction emoji: on Telegram one of its reactions, on Slack a name such as thumbsup or :thumbsup:.
    #[schemars(length(min = 1, max = 110))]
    emoji: String,
    /// Telegram: whether to use the large reaction style.
    is_big: Option<bool>,
}

/// Add an emoji reaction to a Telegram message.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct OnTelegram {
    /// Target Telegram chat_id; the current chat by default.
    chat_id: Option<i64>,
    /// Message ID to react to; by default the message being replied to.
    message_id: Option<i64>,
    /// Reaction emoji, one of Telegram's standard reactions.
    #[schemars(length(min = 1, max = 110))]
    emoji: String,
    /// Whether to use Telegram's large reaction style.
    is_big: Option<bool>,
}

/// Add an emoji reaction to a Slack message.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct OnSlack {
    /// Target Slack channel_id; the current channel by default.
    #[schemars(length(min = 1, max = 64))]
    channel_id: Option<String>,
    /// Message timestamp (ts) to react to; by default the message being replied to.
    #[schemars(length(min = 1, max = 64))]
    message_ts: Option<String>,
    /// Slack emoji name, for example thumbsup or :thumbsup:.
    #[schemars(length(min = 1, max = 110))]
    emoji: String,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Whether it was delivered.
    reacted: bool,
    /// Delivery state.
    state: OutboxState,
    /// The channel.
    channel: String,
    /// The chat.
    chat_id: String,
    /// The message.
    message_id: String,
    /// The emoji.
    emoji: String,
}

pub(crate) const TOOL: Registration = Registration {
    name: "message_react",
    enabled: always,
    build: |deps| {
        typed(MessageReact {
            chats: deps.chats.clone(),
            outside: deps.has_account("telegram") || deps.has_account("slack"),
        })
    },
};

struct MessageReact {
    chats: Chats,
    /// Whether an account exists, so that a chat can be named from outside of chats.
    outside: bool,
}

impl TypedTool for MessageReact {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .group(Group::Channel)
            .effects(Effects::SENDS.and(Effects::LEAVES))
            .chats(ChatScope::Only(&["telegram", "slack"]))
            .outside_chats(self.outside)
            .variants(vec![
                Variant {
                    channel: "telegram",
                    description: "Add an emoji reaction to a Telegram message.",
                    input_schema: Arc::new(input_schema::<OnTelegram>()),
                },
                Variant {
                    channel: "slack",
                    description: "Add an emoji reaction to a Slack message.",
                    input_schema: Arc::new(input_schema::<OnSlack>()),
                },
            ])
    }

    /// In the current chat a reaction is part of the reply; elsewhere it is a message.
    fn effects_of(&self, arguments: &Value) -> Effects {
        let given = |name: &str| arguments.get(name).is_some_and(|value| !value.is_null());
        match given("chat_id") || given("channel_id") {
            true => Effects::SENDS.and(Effects::LEAVES),
            false => Effects::WRITES.and(Effects::LEAVES),
        }
    }

    /// Whether the reaction is in the current chat, named or not.
    fn replies(&self, arguments: &Value, place: Option<&ChatRef>) -> bool {
        let Some(here) = place else { return false };
        let named = match here.channel.as_str() {
            "telegram" => arguments.get("chat_id"),
            "slack" => arguments.get("channel_id"),
            _ => return false,
        };
        match named {
            None | Some(Value::Null) => true,
            Some(Value::String(id)) => *id == here.chat,
            Some(Value::Number(id)) => id.to_string() == here.chat,
            Some(_) => false,
        }
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let here = context.chat.as_deref();
        let on_slack = match here.map(|here| here.channel.as_str()) {
            Some("slack") => true,
            Some("telegram") => false,
            _ if params.chat_id.is_some() => false,
            _ if params.channel_id.is_some() => true,
            _ => {
                let message = "message_react is available only in Telegram and Slack chats";
                return Err(ToolError::new(ErrorCode::InvalidArguments, message)
                    .hint("name chat_id and message_id, or channel_id and message_ts"));
            }
        };
        let (place, message, emoji) = match on_slack {
            true => self.on_slack(&params, here).await?,
            false => self.on_telegram(&params, context).await?,
        };
        let big = params.is_big.unwrap_or(false);
        let key = format!("react:{}", context.call);
        let report = self
            .chats
            .react(&place, &message, &emoji, big, &key, WAIT)
            .await?;
        let report = arrived(report)?;
        let output = Output {
            reacted: report.state == OutboxState::Sent,
            state: report.state,
            channel: place.channel,
            chat_id: place.chat,
            message_id: message,
            emoji,
        };
        Ok(Outcome::of(&output)?.clean(true))
    }
}

impl MessageReact {
    async fn on_telegram(
        &self,
        params: &Params,
        context: &CallContext,
    ) -> Result<(ChatRef, String, String), ToolError> {
        if params.channel_id.is_some() || params.message_ts.is_some() {
            let message = "channel_id and message_ts are for Slack; use chat_id and message_id";
            return Err(ToolError::parameter("channel_id", message));
        }
        let place = chat(&self.chats, params.chat_id, context).await?;
        let current = place.message.clone();
        let message = params.message_id.map(|id| id.to_string()).or(current);
        let message = message.ok_or_else(|| {
            ToolError::parameter(
                "message_id",
                "required, since there is no message to reply to",
            )
        })?;
        let emoji = telegram::reaction(&params.emoji).ok_or_else(|| {
            let all = telegram::REACTIONS.join(" ");
            let message = format!("is not a Telegram reaction; available: {all}");
            ToolError::parameter("emoji", message)
        })?;
        Ok((place, message, emoji.to_owned()))
    }

    async fn on_slack(
        &self,
        params: &Params,
        here: Option<&ChatRef>,
    ) -> Result<(ChatRef, String, String), ToolError> {
        if params.chat_id.is_some() || params.message_id.is_some() || params.is_big.is_some() {
            let message =
                "chat_id, message_id and is_big are for Telegram; use channel_id and message_ts";
            return Err(ToolError::parameter("chat_id", message));
        }
        let here = here.filter(|here| here.channel == "slack");
        let place = match (&params.channel_id, here) {
            (None, Some(here)) => here.clone(),
            (Some(id), Some(here)) if *id == here.chat => here.clone(),
            (Some(id), here) => self.slack_channel(id, here).await?,
            (None, None) => {
                return Err(ToolError::parameter("channel_id", "required"));
            }
        };
        let message = params.message_ts.clone().or_else(|| place.message.clone());
        let message = message.ok_or_else(|| {
            ToolError::parameter(
                "message_ts",
                "required, since there is no message to reply to",
            )
        })?;
        let name = slack::emoji_name(&params.emoji).ok_or_else(|| {
            let message = "must be the name of a Slack emoji, such as thumbsup or :thumbsup:, not the emoji itself";
            ToolError::parameter("emoji", message)
        })?;
        if let Some(channel) = self.chats.channel(&place.channel, &place.account)
            // If the workspace's emoji cannot be listed, Slack itself rejects an unknown one.
            && let Ok(Some(catalogue)) = channel.emoji().await
            && !catalogue.contains(&name)
        {
            let some: Vec<&str> = catalogue.iter().map(String::as_str).take(NAMED).collect();
            let message = format!(
                "{name} is not an emoji of this workspace; available are {} and more",
                some.join(", ")
            );
            return Err(ToolError::parameter("emoji", message));
        }
        Ok((place, message, name))
    }

    async fn slack_channel(&self, id: &str, here: Option<&ChatRef>) -> Result<ChatRef, ToolError> {
        let address = Address {
            channel: Some("slack"),
            to: Some(id),
            account: here.map(|here| here.account.as_str()),
            ..Address::default()
        };
        known_chat(&self.chats, address, ("channel_id", "channel")).await
    }
}
