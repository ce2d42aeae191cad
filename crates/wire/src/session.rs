//! Looking at sessions and changing them. Times are milliseconds since 1970.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::chat::{ChatBlock, ChatMessage, ChatRole, ModelName};

/// Which part of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionsListParams {
    /// How many to leave out from the start; none when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    /// How many at most; 100 when left out, and at most 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Sessions, the latest active first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsListResult {
    /// The sessions.
    pub sessions: Vec<SessionEntry>,
    /// How many there are in all.
    pub count: u64,
}

/// A session as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEntry {
    /// Its key.
    pub session_key: String,
    /// When it was made.
    pub created_at: i64,
    /// When somebody last said something in it.
    pub last_active_at: i64,
    /// What the user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// Which session.
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
    /// Its present id; a reset gives it another.
    pub session_id: String,
    /// Its key.
    pub session_key: String,
    /// When it was made.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
    /// How many messages a model is still shown.
    pub message_count: u64,
    /// The tokens since the last reset.
    pub tokens: SessionTokens,
    /// What is set for it, over what its agent says.
    pub settings: SessionSettingsShape,
    /// When it begins anew by itself.
    pub reset_policy: ResetPolicyShape,
    /// When it was last reset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reset_at: Option<i64>,
    /// The ids it had before, oldest first.
    pub previous_session_ids: Vec<String>,
    /// What the user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it cost since the last reset, in millionths of a dollar; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// How many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionTokens {
    /// That went in.
    pub input: u64,
    /// That came out.
    pub output: u64,
    /// Both.
    pub total: u64,
}

/// What is set for a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSettingsShape {
    /// Its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// How hard it thinks: `none`, `minimal`, `low`, `medium`, `high` or `xhigh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// What its model is told besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The most tokens of one reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// When a session begins anew by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResetPolicyShape {
    /// How that is decided.
    pub mode: ResetModeShape,
    /// For `daily`: the hour of the user's day, 0 to 23.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_hour: Option<u8>,
    /// For `idle`: after so many minutes of silence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_minutes: Option<u32>,
}

/// How it is decided that a session begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResetModeShape {
    /// Only when somebody says so.
    Manual,
    /// Every day.
    Daily,
    /// When nobody spoke for a while.
    Idle,
}

/// Which session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatsParams {
    /// Its key.
    pub session_key: String,
}

/// A session, and what it is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatsResult {
    /// The session.
    #[serde(flatten)]
    pub session: SessionGetResult,
    /// Milliseconds since it was made.
    pub uptime: i64,
    /// Whether it is being worked on.
    pub is_processing: bool,
    /// How many messages wait or are being worked on.
    pub queue_size: u64,
    /// The question it waits for; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
}

/// Which session begins anew.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionResetParams {
    /// Its key.
    pub session_key: String,
}

/// The session was begun anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionResetResult {
    /// Always true.
    pub ok: bool,
    /// Its key.
    pub session_key: String,
    /// The id before.
    pub old_session_id: String,
    /// The id after.
    pub new_session_id: String,
    /// How many messages went into the archive.
    pub archived_messages: u64,
    /// Where that is; absent when nothing was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_to: Option<String>,
    /// The tokens that were counted before.
    pub tokens_cleared: u64,
    /// Files that were removed: none, for they go into the archive.
    pub media_deleted: u64,
}

/// What changes for a session. What is left out stays, and null puts back what the agent says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPatchParams {
    /// Its key.
    pub session_key: String,
    /// What is set for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<SessionSettingsPatch>,
    /// What the user calls it, at most 200 characters.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub label: Option<Option<String>>,
    /// When it begins anew by itself.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub reset_policy: Option<Option<ResetPolicyShape>>,
}

/// What changes in what is set for a session.
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
    /// How hard it thinks: `none`, `minimal`, `low`, `medium`, `high` or `xhigh`.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub thinking_level: Option<Option<String>>,
    /// What its model is told besides.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub system_prompt: Option<Option<String>>,
    /// The most tokens of one reply.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_tokens: Option<Option<u32>>,
}

/// A field that is there, be it null.
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
    /// What is set for it now.
    pub settings: SessionSettingsShape,
    /// When it begins anew by itself.
    pub reset_policy: ResetPolicyShape,
    /// What the user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// Which session, and how much of it stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCompactParams {
    /// Its key.
    pub session_key: String,
    /// How many messages a model is still shown; 20 when left out. A call stays with its result,
    /// so a few more may stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_messages: Option<u32>,
}

/// The session was made shorter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCompactResult {
    /// Always true.
    pub ok: bool,
    /// How many messages are no longer shown.
    pub trimmed_messages: u64,
    /// How many still are.
    pub kept_messages: u64,
    /// Where the others are; absent when nothing was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_to: Option<String>,
}

/// Which session, and what to take back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRewindParams {
    /// Its key.
    pub session_key: String,
    /// The number of the user's message from which on everything is taken back.
    pub seq: i64,
}

/// What was said from a message on is no longer part of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRewindResult {
    /// Always true.
    pub ok: bool,
    /// Its key.
    pub session_key: String,
    /// How many messages were taken back.
    pub removed_messages: u64,
    /// How many calls of tools were among them; what they did stays done.
    pub removed_tool_calls: u64,
    /// Where all of it is kept.
    pub archived_to: String,
    /// What the user's message said, to be said anew.
    pub text: String,
}

/// Which session goes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleteParams {
    /// Its key.
    pub session_key: String,
}

/// A session is gone, with all that was said in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleteResult {
    /// Always true.
    pub ok: bool,
    /// The key it had.
    pub session_key: String,
    /// How many messages were deleted, also of before it was last begun anew.
    pub deleted_messages: u64,
    /// How many archives were removed.
    pub deleted_archives: u64,
    /// How many open questions to the owner were withdrawn.
    pub withdrawn_approvals: u64,
}

/// A session was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeletedEvent {
    /// The key it had.
    pub session_key: String,
}

/// Which part of which session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHistoryParams {
    /// Its key.
    pub session_key: String,
    /// How many messages at most; 50 when left out, and at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only messages before the one with this number; the last ones when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
}

/// A part of a session, oldest first, and the ids it had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHistoryResult {
    /// Its key.
    pub session_key: String,
    /// Its present id.
    pub current_session_id: String,
    /// The ids it had before, oldest first.
    pub previous_session_ids: Vec<String>,
    /// The messages.
    pub messages: Vec<ChatMessage>,
    /// Given as `before`, this leads to what was said earlier; absent at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before: Option<i64>,
    /// The run that is going on, as far as it is; only with the last messages, and absent when there
    /// is none. What is in it and in `messages` is the same. An addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<SessionRunning>,
    /// What was said and waits for its turn, in its order, at most 50; only with the last messages.
    /// An addition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingInput>,
}

/// A run that is going on, as far as it is: events whose `reply` is lower, or whose pieces end before
/// what is here, are in it already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRunning {
    /// The run.
    pub run_id: String,
    /// Which reply is being made; 0 before the first.
    pub reply: u64,
    /// What was said of it, or the end of that.
    pub text: String,
    /// How much came before `text`, in units of UTF-16.
    pub text_from: u64,
    /// What was thought of it, or the end of that.
    pub thinking: String,
    /// How much came before `thinking`, in units of UTF-16.
    pub thinking_from: u64,
    /// The calls of the last reply that were begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<SessionRunningCall>,
    /// The question that the run waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
}

/// A call of a run that is going on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRunningCall {
    /// The model's id of the call.
    pub call_id: String,
    /// The call as the audit knows it, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_call: Option<String>,
    /// How long ago it was asked for, or the owner let it run, in milliseconds.
    pub elapsed_ms: u64,
    /// Whether the owner is asked about it.
    pub waits: bool,
    /// Whether it worked; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The beginning of what it gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What it printed so far, or the end of that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// How much came before `output`, in units of UTF-16.
    pub output_from: u64,
}

/// What was said and waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingInput {
    /// The run it was sent as.
    pub run_id: String,
    /// Its text, at most 8,000 characters.
    pub text: String,
    /// How many pictures came with it.
    pub pictures: u64,
    /// When it came, in milliseconds since 1970.
    pub timestamp: i64,
}

/// Which session, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPreviewParams {
    /// Its key.
    pub session_key: String,
    /// How many messages at most; 50 when left out, and at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The end of a session, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionPreviewResult {
    /// Its key.
    pub session_key: String,
    /// Its present id.
    pub session_id: String,
    /// How many messages a model is still shown.
    pub message_count: u64,
    /// The last of them.
    pub messages: Vec<PreviewMessage>,
}

/// One message of a preview. Clients of version 1 read what a user wrote as a string there, and show
/// nothing where they find blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewMessage {
    /// Who said it.
    pub role: ChatRole,
    /// What was said: a string for a user's message, blocks for all others.
    pub content: PreviewContent,
    /// A user's message as blocks, where it is more than text; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<ChatBlock>>,
    /// Its number in the session; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    /// When, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// For a tool's result: the call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// For a tool's result: the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// For a tool's result: whether it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

/// What was said, in a preview.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PreviewContent {
    /// The text of a user's message.
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
    fn leaving_out_and_null_are_two_things() {
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
