//! Accounts on chat platforms, and pairing requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No parameters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ChannelsListParams {}

/// The accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelsListResult {
    /// The accounts.
    pub channels: Vec<ChannelEntry>,
    /// Number of accounts.
    pub count: usize,
}

/// One account and its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelEntry {
    /// The platform.
    pub channel: String,
    /// The account.
    pub account_id: String,
    /// `connected`, `connecting`, `error`, `stopped` or `off`.
    pub state: String,
    /// The problem, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Time since which it is connected, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected_at: Option<i64>,
    /// Time of the last incoming message, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_message_at: Option<i64>,
    /// Its name on the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Selects an account.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelStatusParams {
    /// The platform.
    pub channel: String,
    /// The account; default: `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

/// Selects the account to start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelStartParams {
    /// The platform.
    pub channel: String,
    /// The account; default: `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

/// Selects the account to stop.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelStopParams {
    /// The platform.
    pub channel: String,
    /// The account; default: `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

/// Selects the account to log out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelLogoutParams {
    /// The platform.
    pub channel: String,
    /// The account; default: `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
}

/// Credentials of an account.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelLoginParams {
    /// The platform.
    pub channel: String,
    /// The account; default: `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// The token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Slack: the app token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_token: Option<String>,
    /// Secret that authenticates webhooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// WhatsApp: the verify token entered where the webhook was set up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_token: Option<String>,
    /// WhatsApp: the phone number id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// Delivery mode: `poll`, `socket` or `webhook`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// Result of an action, and the account's status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelResult {
    /// True.
    pub ok: bool,
    /// The account, unless it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelEntry>,
}

/// No parameters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PairListParams {}

/// Pairing requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairListResult {
    /// Open and decided requests.
    pub pairs: Vec<PairEntry>,
}

/// A pairing request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairEntry {
    /// The platform.
    pub channel: String,
    /// The sender's id on the platform.
    pub sender_id: String,
    /// The sender's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_name: Option<String>,
    /// `asking`, `approved` or `rejected`.
    pub state: String,
    /// Whether this is the owner.
    pub owner: bool,
    /// The pairing code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Beginning of the sender's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Time of the request, in milliseconds since 1970.
    pub requested_at: i64,
}

/// Approves a pairing request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairApproveParams {
    /// The platform.
    pub channel: String,
    /// The sender's id or pairing code.
    pub sender_id: String,
    /// Whether this is the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<bool>,
}

/// Rejects a pairing request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairRejectParams {
    /// The platform.
    pub channel: String,
    /// The sender's id or pairing code.
    pub sender_id: String,
}

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairResult {
    /// True.
    pub ok: bool,
    /// The platform.
    pub channel: String,
    /// The sender's id.
    pub sender_id: String,
}
