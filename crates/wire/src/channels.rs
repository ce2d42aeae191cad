//! Accounts on chat platforms, and people who ask to be known there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nothing is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ChannelsListParams {}

/// The accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelsListResult {
    /// Each account.
    pub channels: Vec<ChannelEntry>,
    /// How many there are.
    pub count: usize,
}

/// One account, and how it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelEntry {
    /// The platform.
    pub channel: String,
    /// The account.
    pub account_id: String,
    /// `connected`, `connecting`, `error`, `stopped` or `off`.
    pub state: String,
    /// What is wrong, if something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Since when it is connected, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected_at: Option<i64>,
    /// When something was last heard, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_message_at: Option<i64>,
    /// What the account is called on the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Which account.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelStatusParams {
    /// The platform.
    pub channel: String,
    /// The account; `default` when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

/// Which account is started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelStartParams {
    /// The platform.
    pub channel: String,
    /// The account; `default` when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

/// Which account is stopped.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelStopParams {
    /// The platform.
    pub channel: String,
    /// The account; `default` when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

/// Which account is forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelLogoutParams {
    /// The platform.
    pub channel: String,
    /// The account; `default` when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

/// The credentials of an account.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelLoginParams {
    /// The platform.
    pub channel: String,
    /// The account; `default` when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// The token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Slack: the app's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_token: Option<String>,
    /// The secret by which webhooks are known to be the platform's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// WhatsApp: what was typed in where the webhook was set up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_token: Option<String>,
    /// WhatsApp: the phone number id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// How events come: `poll`, `socket` or `webhook`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// What was done with an account, and how it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelResult {
    /// True.
    pub ok: bool,
    /// The account, unless it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelEntry>,
}

/// Nothing is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PairListParams {}

/// People.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairListResult {
    /// Those who ask to be known, and those who were decided about.
    pub pairs: Vec<PairEntry>,
}

/// Somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairEntry {
    /// The platform.
    pub channel: String,
    /// Who, as the platform names them.
    pub sender_id: String,
    /// What they are called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_name: Option<String>,
    /// `asking`, `approved` or `rejected`.
    pub state: String,
    /// Whether it is the owner.
    pub owner: bool,
    /// The code they were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The beginning of what they said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When they asked, in milliseconds since 1970.
    pub requested_at: i64,
}

/// Who may speak from now on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairApproveParams {
    /// The platform.
    pub channel: String,
    /// Their id, or the code they were given.
    pub sender_id: String,
    /// Whether it is the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<bool>,
}

/// Who may not speak from now on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairRejectParams {
    /// The platform.
    pub channel: String,
    /// Their id, or the code they were given.
    pub sender_id: String,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairResult {
    /// True.
    pub ok: bool,
    /// The platform.
    pub channel: String,
    /// Who.
    pub sender_id: String,
}
