//! Sessions: reading and changing them. Times are in milliseconds since 1970.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::call::CallResult;
use crate::chat::{ChatBlock, ChatMessage, ChatRole, ModelName};

/// Selects a page.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionsListParams {
    /// Number of results to skip; default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    /// Maximum number of results; default 100, at most 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Whether to list the archived sessions, and only these; default: false. An addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// Sessions, pinned ones first, then most recently active first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsListResult {
    /// The sessions.
    pub sessions: Vec<SessionEntry>,
    /// Total number of sessions.
    pub count: u64,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEntry {
    /// Its key.
    pub session_key: String,
    /// Creation time.
    pub created_at: i64,
    /// Time of the last message.
    pub last_active_at: i64,
    /// Its label: what a user named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its title: made by a model after the first reply, before that the start of the first message. An addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its agent; an addition.
    #[serde(default)]
    pub agent_id: String,
    /// Whether it is listed first; an addition.
    #[serde(default)]
    pub pinned: bool,
    /// Whether it is archived; a new message takes it out of the archive. An addition.
    #[serde(default)]
    pub archived: bool,
    /// The folder it is listed in; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Number of messages in the model's context; an addition.
    #[serde(default)]
    pub message_count: u64,
}

/// Selects a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionGetParams {
    /// Its key.
    pub session_key: String,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionGetResult {
    /// Its current id; clearing it assigns a new one.
    pub session_id: String,
    /// Its key.
    pub session_key: String,
    /// Creation time.
    pub created_at: i64,
    /// Time of the last change.
    pub updated_at: i64,
    /// Number of messages in the model's context.
    pub message_count: u64,
    /// Tokens since it was last cleared.
    pub tokens: SessionTokens,
    /// Its settings, overriding its agent's.
    pub settings: SessionSettingsShape,
    /// When it is cleared automatically.
    pub reset_policy: ResetPolicyShape,
    /// When it was last cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reset_at: Option<i64>,
    /// Former ids, oldest first.
    pub previous_session_ids: Vec<String>,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Cost since it was last cleared, in millionths of a dollar; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Its title; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its agent; an addition.
    #[serde(default)]
    pub agent_id: String,
    /// Whether it is listed first; an addition.
    #[serde(default)]
    pub pinned: bool,
    /// Whether it is archived; an addition.
    #[serde(default)]
    pub archived: bool,
    /// The folder it is listed in; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Size of the conversation; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<SessionContext>,
    /// The model in force: of the session, of its agent or the default; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
}

/// Size of a conversation, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionContext {
    /// Tokens of the last request and its reply; an estimate if messages were removed since.
    pub used: u64,
    /// Size from which on older messages are summarised.
    pub limit: u64,
}

/// Numbers of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionTokens {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Total.
    pub total: u64,
}

/// Settings of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSettingsShape {
    /// Its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// Reasoning level: `none`, `minimal`, `low`, `medium`, `high` or `xhigh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// Additional system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Maximum number of tokens per reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// When a session is cleared automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResetPolicyShape {
    /// The mode.
    pub mode: ResetModeShape,
    /// For `daily`: the hour of the user's day, 0 to 23.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_hour: Option<u8>,
    /// For `idle`: minutes without messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_minutes: Option<u32>,
}

/// When a session is cleared automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResetModeShape {
    /// Only on demand.
    Manual,
    /// Every day.
    Daily,
    /// After a period without messages.
    Idle,
}

/// Selects a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatsParams {
    /// Its key.
    pub session_key: String,
}

/// A session and its activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatsResult {
    /// The session.
    #[serde(flatten)]
    pub session: SessionGetResult,
    /// Milliseconds since its creation.
    pub uptime: i64,
    /// Whether it has an active run.
    pub is_processing: bool,
    /// Number of queued and active messages.
    pub queue_size: u64,
    /// The approval request it is waiting for; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
}

/// Selects the session to clear.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionResetParams {
    /// Its key.
    pub session_key: String,
}

/// The session was cleared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionResetResult {
    /// Always true.
    pub ok: bool,
    /// Its key.
    pub session_key: String,
    /// The former id.
    pub old_session_id: String,
    /// The new id.
    pub new_session_id: String,
    /// Number of archived messages.
    pub archived_messages: u64,
    /// The archive; absent if there were no messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_to: Option<String>,
    /// Number of tokens counted before.
    pub tokens_cleared: u64,
    /// Number of deleted files: always 0, because they are archived.
    pub media_deleted: u64,
}

/// Changes of a session. Omitted fields stay unchanged, and null resets a field to the agent's default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPatchParams {
    /// Its key.
    pub session_key: String,
    /// Its settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<SessionSettingsPatch>,
    /// Its label, at most 200 characters.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub label: Option<Option<String>>,
    /// When it is cleared automatically.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub reset_policy: Option<Option<ResetPolicyShape>>,
    /// Whether it is listed first; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Whether it is archived; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// The folder it is listed in, at most 100 characters; null or an empty text removes it from its folder. An addition.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub folder: Option<Option<String>>,
}

/// Changes of a session's settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSettingsPatch {
    /// Its model.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub model: Option<Option<ModelName>>,
    /// Reasoning level: `none`, `minimal`, `low`, `medium`, `high` or `xhigh`.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub thinking_level: Option<Option<String>>,
    /// Additional system prompt.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub system_prompt: Option<Option<String>>,
    /// Maximum number of tokens per reply.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_tokens: Option<Option<u32>>,
}

/// Deserializes a field that is present, even if it is null.
// Without this serde treats null like an absent field, and a client could not reset a setting to its default.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// The session was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPatchResult {
    /// Always true.
    pub ok: bool,
    /// Its key.
    pub session_key: String,
    /// Its settings now.
    pub settings: SessionSettingsShape,
    /// When it is cleared automatically.
    pub reset_policy: ResetPolicyShape,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether it is listed first; an addition.
    #[serde(default)]
    pub pinned: bool,
    /// Whether it is archived; an addition.
    #[serde(default)]
    pub archived: bool,
    /// The folder it is listed in; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// Selects a session to compact.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCompactParams {
    /// Its key.
    pub session_key: String,
    /// Number of messages to keep in the model's context; default: 20. A call is kept with its result, so a few more
    /// may stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_messages: Option<u32>,
}

/// The session was compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCompactResult {
    /// Always true.
    pub ok: bool,
    /// Number of removed messages.
    pub trimmed_messages: u64,
    /// Number of kept messages.
    pub kept_messages: u64,
    /// The archive; absent if nothing was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_to: Option<String>,
}

/// Selects a message to rewind to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRewindParams {
    /// Its key.
    pub session_key: String,
    /// Sequence number of the user's message that is removed with everything after it.
    pub seq: i64,
}

/// The session was rewound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRewindResult {
    /// Always true.
    pub ok: bool,
    /// Its key.
    pub session_key: String,
    /// Number of removed messages.
    pub removed_messages: u64,
    /// Number of tool calls among them; their effects are not undone.
    pub removed_tool_calls: u64,
    /// The archive.
    pub archived_to: String,
    /// Text of the user's message, to be sent again.
    pub text: String,
}

/// Selects the session to delete.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleteParams {
    /// Its key.
    pub session_key: String,
}

/// The session was deleted with its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleteResult {
    /// Always true.
    pub ok: bool,
    /// Its former key.
    pub session_key: String,
    /// Number of deleted messages, including those from before it was last cleared.
    pub deleted_messages: u64,
    /// Number of deleted archives.
    pub deleted_archives: u64,
    /// Number of cancelled approval requests.
    pub withdrawn_approvals: u64,
}

/// A session was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeletedEvent {
    /// Its former key.
    pub session_key: String,
}

/// A session appeared, or its title, its label or its place in lists changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionChangedEvent {
    /// Its key.
    pub session_key: String,
}

/// Selects the message to branch before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBranchParams {
    /// The key of the session.
    pub session_key: String,
    /// Sequence number of the user's message before which the new session ends.
    pub seq: i64,
    /// Label of the new session, at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The new session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBranchResult {
    /// Its key.
    pub session_key: String,
}

/// Selects a page of messages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHistoryParams {
    /// Its key.
    pub session_key: String,
    /// Maximum number of messages; default 50, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only messages before this sequence number; default: the last ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    /// The messages around this sequence number; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<i64>,
    /// Only messages after this sequence number; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
}

/// Messages of a session, oldest first, and its former ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHistoryResult {
    /// Its key.
    pub session_key: String,
    /// Its current id.
    pub current_session_id: String,
    /// Former ids, oldest first.
    pub previous_session_ids: Vec<String>,
    /// The messages.
    pub messages: Vec<ChatMessage>,
    /// Value of `before` for earlier messages; absent at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before: Option<i64>,
    /// With `around` or `after`: value of `after` for later messages; absent at the end. An addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<i64>,
    /// The active run so far; only with the last messages, and absent if there is none. It may repeat what is in
    /// `messages`. An addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<SessionRunning>,
    /// Queued messages in order, at most 50; only with the last messages. An addition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingInput>,
}

/// The active run so far: events with a lower `reply`, or with chunks that end before what is here, are already included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRunning {
    /// The run.
    pub run_id: String,
    /// The current reply; 0 before the first.
    pub reply: u64,
    /// Its text, or the end of it.
    pub text: String,
    /// Length of the text before `text`, in UTF-16 units.
    pub text_from: u64,
    /// Its reasoning, or the end of it.
    pub thinking: String,
    /// Length of the reasoning before `thinking`, in UTF-16 units.
    pub thinking_from: u64,
    /// Started calls of the last reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<SessionRunningCall>,
    /// The approval request the run is waiting for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
}

/// A call of the active run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRunningCall {
    /// The model's id of the call.
    pub call_id: String,
    /// Id of the call in the audit log, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_call: Option<String>,
    /// Milliseconds since it was requested or approved.
    pub elapsed_ms: u64,
    /// Whether it is waiting for approval.
    pub waits: bool,
    /// Whether it succeeded; absent while it is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// Beginning of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// Duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Its output so far, or the end of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Length of the output before `output`, in UTF-16 units.
    pub output_from: u64,
    /// How it went, once it ended.
    #[serde(flatten)]
    pub result: CallResult,
}

/// A queued message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingInput {
    /// The run it was sent as.
    pub run_id: String,
    /// Its text, at most 8,000 characters.
    pub text: String,
    /// Number of attached images.
    pub pictures: u64,
    /// Time of arrival, in milliseconds since 1970.
    pub timestamp: i64,
}

/// Selects the last messages of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPreviewParams {
    /// Its key.
    pub session_key: String,
    /// Maximum number of messages; default 50, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Last messages of a session, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPreviewResult {
    /// Its key.
    pub session_key: String,
    /// Its current id.
    pub session_id: String,
    /// Number of messages in the model's context.
    pub message_count: u64,
    /// The last ones.
    pub messages: Vec<PreviewMessage>,
}

/// One message of a preview. Clients of version 1 expect a user's message as a string here, and show nothing if they find
/// blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewMessage {
    /// Who sent it.
    pub role: ChatRole,
    /// Its contents: a string for a user's message, blocks for all others.
    pub content: PreviewContent,
    /// A user's message as blocks, if it is more than text; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<ChatBlock>>,
    /// Its sequence number in the session; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    /// Time in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// For a tool result: id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// For a tool result: the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// For a tool result: whether it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

/// Contents of a message in a preview.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PreviewContent {
    /// Text of a user's message.
    Text(String),
    /// Everything else.
    Blocks(Vec<ChatBlock>),
}

impl From<ChatMessage> for PreviewMessage {
    fn from(message: ChatMessage) -> Self {
        let text = message.text();
        let is_text = |block: &ChatBlock| matches!(block, ChatBlock::Text { .. });
        let (content, blocks) = match message.role {
            ChatRole::User => {
                let more = !message.content.iter().all(is_text);
                (PreviewContent::Text(text), more.then_some(message.content))
            }
            _ => (PreviewContent::Blocks(message.content), None),
        };
        Self {
            role: message.role,
            content,
            blocks,
            seq: message.seq,
            timestamp: message.timestamp,
            tool_call_id: message.tool_call_id,
            tool_name: message.tool_name,
            is_error: message.is_error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};

    #[test]
    fn a_session_has_the_fields_of_the_protocol() {
        let session = SessionGetResult {
            title: None,
            agent_id: "main".into(),
            pinned: false,
            archived: false,
            folder: None,
            context: None,
            model: None,
            session_id: "s2".into(),
            session_key: "agent:main:main".into(),
            created_at: 1,
            updated_at: 2,
            message_count: 3,
            tokens: SessionTokens {
                input: 4,
                output: 5,
                total: 9,
            },
            settings: SessionSettingsShape {
                model: Some(ModelName {
                    provider: "p".into(),
                    id: "m".into(),
                }),
                ..Default::default()
            },
            reset_policy: ResetPolicyShape {
                mode: ResetModeShape::Daily,
                at_hour: Some(4),
                idle_minutes: None,
            },
            last_reset_at: None,
            previous_session_ids: vec!["s1".into()],
            label: None,
            cost_micros: None,
        };
        let mut shown = json!({
            "sessionId": "s2", "sessionKey": "agent:main:main", "createdAt": 1, "updatedAt": 2,
            "messageCount": 3, "tokens": { "input": 4, "output": 5, "total": 9 },
            "settings": { "model": { "provider": "p", "id": "m" } },
            "resetPolicy": { "mode": "daily", "atHour": 4 },
            "previousSessionIds": ["s1"],
            "agentId": "main", "pinned": false, "archived": false,
        });
        assert_eq!(to_value(&session).unwrap(), shown);
        let stats = SessionStatsResult {
            session,
            uptime: 7,
            is_processing: true,
            queue_size: 1,
            approval_id: None,
        };
        for (name, value) in [
            ("uptime", json!(7)),
            ("isProcessing", json!(true)),
            ("queueSize", json!(1)),
        ] {
            shown[name] = value;
        }
        assert_eq!(to_value(&stats).unwrap(), shown);
        assert_eq!(from_value::<SessionStatsResult>(shown).unwrap(), stats);
    }

    #[test]
    fn an_absent_field_and_null_are_distinguished() {
        let patch: SessionPatchParams = from_value(json!({
            "sessionKey": "main",
            "settings": { "model": null, "maxTokens": 9 },
            "label": null,
        }))
        .unwrap();
        assert_eq!(patch.label, Some(None));
        assert_eq!(patch.reset_policy, None);
        let settings = patch.settings.unwrap();
        assert_eq!(settings.model, Some(None));
        assert_eq!(settings.thinking_level, None);
        assert_eq!(settings.max_tokens, Some(Some(9)));
        let back = to_value(&settings).unwrap();
        assert_eq!(back, json!({ "model": null, "maxTokens": 9 }));
    }
}
