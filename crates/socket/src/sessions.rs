//! Reading and changing sessions, in the wire format.

use manyhands_agent::{
    Directives as MessageDirectives, MessageWindow, QueuedInput, ResetPolicy, RunningTurn,
    SessionKey, SessionSettings,
};
use manyhands_core::{ApprovalId, ErrorCode, Timestamp, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_llm::ModelId;
use manyhands_store::{Rearrangement, SessionRecord};
use manyhands_wire::{
    CallResult, ChatMessage, Directives, ErrorShape, ModelName, ResetModeShape, ResetPolicyShape,
    SessionBranchParams, SessionBranchResult, SessionCompactParams, SessionCompactResult,
    SessionContext, SessionDeleteResult, SessionEntry, SessionGetResult, SessionHistoryParams,
    SessionHistoryResult, SessionPatchParams, SessionPatchResult, SessionPreviewParams,
    SessionPreviewResult, SessionResetResult, SessionRewindParams, SessionRewindResult,
    SessionRunning, SessionRunningCall, SessionSettingsPatch, SessionSettingsShape,
    SessionStatsResult, SessionTokens, SessionsListParams, SessionsListResult, WaitingInput,
};

use super::access::{SessionScope, key};
use super::messages::{call_result, chat_messages};
use super::shape::shape;

/// Most sessions in one list.
const MAX_LISTED: u32 = 1_000;
/// Most messages in one response.
const MAX_MESSAGES: u32 = 500;
/// Messages kept by `session.compact` by default.
const DEFAULT_KEEP: u32 = 20;
/// Longest session label, in characters.
const MAX_LABEL: usize = 200;
/// Longest name of a folder, in characters.
const MAX_FOLDER: usize = 100;
/// Longest session system prompt, in characters.
const MAX_PROMPT: usize = 100_000;

/// The `sessions.*` methods for one caller.
pub(super) struct SessionMethods<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) admitted: &'a Admitted,
}

impl SessionMethods<'_> {
    async fn find(&self, text: &str) -> Result<(SessionKey, SessionRecord), ErrorShape> {
        let key = key(self.admitted, text)?;
        let session = self.gateway.minds().get(&key).await.map_err(shape)?;
        Ok((key, session))
    }

    async fn note(&self, what: &str, key: &SessionKey) -> Result<(), ErrorShape> {
        let noted = self.gateway.note(&self.admitted.caller, what, key.as_str());
        let noted = noted.await;
        noted.map_err(|error| shape(error.into()))
    }

    pub(super) async fn list(
        &self,
        params: SessionsListParams,
    ) -> Result<SessionsListResult, ErrorShape> {
        let limit = params.limit.unwrap_or(100).clamp(1, MAX_LISTED);
        let offset = params.offset.unwrap_or(0);
        let minds = self.gateway.minds();
        let (archived, page) = (params.archived.unwrap_or(false), (limit, offset));
        let scope = SessionScope::of(&self.admitted.caller);
        let rest = match &scope {
            SessionScope::All => Some(None),
            SessionScope::Own(own) => Some(Some(own.as_str())),
            SessionScope::Nothing => None,
        };
        let (sessions, count) = match rest {
            Some(rest) => {
                let listed = minds.list_arranged(rest, None, archived, page).await;
                listed.map_err(shape)?
            }
            None => (Vec::new(), 0),
        };
        let counts = minds.message_counts(&sessions).await.map_err(shape)?;
        let sessions = sessions.into_iter().map(|session| SessionEntry {
            message_count: counts.get(&session.key).copied().unwrap_or(0),
            session_key: session.key,
            created_at: session.created.0,
            last_active_at: session.last_active.0,
            label: session.label,
            title: session.title,
            agent_id: session.agent.to_string(),
            pinned: session.arrangement.pinned,
            archived: session.arrangement.archived,
            folder: session.arrangement.folder,
        });
        Ok(SessionsListResult {
            sessions: sessions.collect(),
            count,
        })
    }

    pub(super) async fn get(&self, text: &str) -> Result<SessionGetResult, ErrorShape> {
        let (key, session) = self.find(text).await?;
        self.details(&key, session).await
    }

    async fn details(
        &self,
        key: &SessionKey,
        session: SessionRecord,
    ) -> Result<SessionGetResult, ErrorShape> {
        let minds = self.gateway.minds();
        let settings = minds.settings(&session);
        let context = SessionContext {
            used: minds.context_tokens(&session).await.map_err(shape)?,
            limit: minds.context_limit(),
        };
        let (input, output) = (count(session.input_tokens), count(session.output_tokens));
        Ok(SessionGetResult {
            message_count: self.message_count(&session).await?,
            context: Some(context),
            model: minds.model_of(&session).as_ref().map(model_name),
            title: session.title,
            agent_id: session.agent.to_string(),
            pinned: session.arrangement.pinned,
            archived: session.arrangement.archived,
            folder: session.arrangement.folder,
            session_id: session.id,
            session_key: session.key,
            created_at: session.created.0,
            updated_at: session.updated.0,
            tokens: SessionTokens {
                input,
                output,
                total: input.saturating_add(output),
            },
            reset_policy: self.policy(key, &settings),
            settings: settings_shape(&settings),
            last_reset_at: session.last_reset.map(|at| at.0),
            previous_session_ids: session.previous,
            label: session.label,
            cost_micros: Some(count(session.cost_micros)),
        })
    }

    /// Number of messages in the model's context.
    async fn message_count(&self, session: &SessionRecord) -> Result<u64, ErrorShape> {
        let count = self.gateway.minds().message_count(session).await;
        count.map_err(shape)
    }

    fn policy(&self, key: &SessionKey, settings: &SessionSettings) -> ResetPolicyShape {
        let of_agent = || self.gateway.minds().reset_policy(key.agent());
        policy_shape(settings.reset_policy.unwrap_or_else(of_agent))
    }

    pub(super) async fn stats(&self, text: &str) -> Result<SessionStatsResult, ErrorShape> {
        let (key, session) = self.find(text).await?;
        let minds = self.gateway.minds();
        let queue = minds.queued(&key).await.map_err(shape)?;
        let question = minds.question(&key);
        Ok(SessionStatsResult {
            uptime: self.gateway.clock.now().0.saturating_sub(session.created.0),
            session: self.details(&key, session).await?,
            is_processing: minds.is_busy(&key),
            queue_size: queue as u64,
            approval_id: question.map(|(approval, _)| approval.to_string()),
        })
    }

    pub(super) async fn reset(&self, text: &str) -> Result<SessionResetResult, ErrorShape> {
        let key = key(self.admitted, text)?;
        let reset = self.gateway.minds().reset(&key).await.map_err(shape)?;
        self.note("session.reset", &key).await?;
        Ok(SessionResetResult {
            ok: true,
            session_key: key.to_string(),
            old_session_id: reset.old,
            new_session_id: reset.new,
            archived_messages: reset.archived as u64,
            archived_to: Some(reset.archived_to).filter(|place| !place.is_empty()),
            tokens_cleared: count(reset.tokens),
            media_deleted: 0,
        })
    }

    pub(super) async fn patch(
        &self,
        params: SessionPatchParams,
    ) -> Result<SessionPatchResult, ErrorShape> {
        let key = key(self.admitted, &params.session_key)?;
        let minds = self.gateway.minds();
        let change = SettingsChange::read(params).map_err(shape)?;
        // These two decide what the owner pays for and what the model is told.
        let costs = change.model.is_some() || change.system_prompt.is_some();
        if costs && !self.admitted.caller.is_owner() {
            let message = "only the owner may set the model and the system prompt";
            return Err(shape(ToolError::new(ErrorCode::Forbidden, message)));
        }
        if let Some(Some(model)) = &change.model {
            minds.knows(model).map_err(shape)?;
        }
        // Created if missing, so that a session can be configured before its first message.
        minds.open(&key).await.map_err(shape)?;
        let changed = minds.patch(&key, |settings, label| change.apply(settings, label));
        changed.await.map_err(shape)?;
        let arranged = minds.arrange(&key, change.arrangement).await;
        let session = arranged.map_err(shape)?;
        self.note("session.patch", &key).await?;
        let settings = minds.settings(&session);
        Ok(SessionPatchResult {
            ok: true,
            session_key: session.key,
            reset_policy: self.policy(&key, &settings),
            settings: settings_shape(&settings),
            label: session.label,
            pinned: session.arrangement.pinned,
            archived: session.arrangement.archived,
            folder: session.arrangement.folder,
        })
    }

    pub(super) async fn branch(
        &self,
        params: SessionBranchParams,
    ) -> Result<SessionBranchResult, ErrorShape> {
        let key = key(self.admitted, &params.session_key)?;
        if params
            .label
            .as_ref()
            .is_some_and(|label| !is_name(label, MAX_LABEL))
        {
            let message = format!("must have 1 to {MAX_LABEL} printable characters");
            return Err(shape(ToolError::parameter("label", message)));
        }
        let gateway = self.gateway;
        let branched =
            gateway.branch_session(&self.admitted.caller, &key, params.seq, params.label);
        let fresh = branched.await.map_err(shape)?;
        Ok(SessionBranchResult {
            session_key: fresh.to_string(),
        })
    }

    pub(super) async fn compact(
        &self,
        params: SessionCompactParams,
    ) -> Result<SessionCompactResult, ErrorShape> {
        let key = key(self.admitted, &params.session_key)?;
        let keep = params.keep_messages.unwrap_or(DEFAULT_KEEP);
        if keep == 0 {
            let message = "must be at least 1; use session.reset to remove all messages";
            return Err(shape(ToolError::parameter("keepMessages", message)));
        }
        let trimmed = self.gateway.minds().trim(&key, keep as usize).await;
        let trimmed = trimmed.map_err(shape)?;
        self.note("session.compact", &key).await?;
        Ok(SessionCompactResult {
            ok: true,
            trimmed_messages: trimmed.trimmed as u64,
            kept_messages: trimmed.kept as u64,
            archived_to: Some(trimmed.archived_to).filter(|place| !place.is_empty()),
        })
    }

    pub(super) async fn rewind(
        &self,
        params: SessionRewindParams,
    ) -> Result<SessionRewindResult, ErrorShape> {
        let key = key(self.admitted, &params.session_key)?;
        let rewound = self.gateway.minds().rewind(&key, params.seq).await;
        let rewound = rewound.map_err(shape)?;
        self.note("session.rewind", &key).await?;
        Ok(SessionRewindResult {
            ok: true,
            session_key: key.to_string(),
            removed_messages: rewound.messages as u64,
            removed_tool_calls: rewound.tool_calls as u64,
            archived_to: rewound.archived_to,
            text: rewound.text,
        })
    }

    pub(super) async fn delete(&self, text: &str) -> Result<SessionDeleteResult, ErrorShape> {
        let key = key(self.admitted, text)?;
        let gone = self
            .gateway
            .delete_session(&self.admitted.caller, &key)
            .await;
        let gone = gone.map_err(shape)?;
        Ok(SessionDeleteResult {
            ok: true,
            session_key: key.to_string(),
            deleted_messages: gone.messages,
            deleted_archives: gone.archives as u64,
            withdrawn_approvals: gone.questions,
        })
    }

    async fn page(
        &self,
        session: &SessionRecord,
        window: MessageWindow,
        limit: Option<u32>,
    ) -> Result<HistoryPage, ErrorShape> {
        let limit = limit.unwrap_or(50).clamp(1, MAX_MESSAGES);
        let page = self.gateway.minds().page(session, window, limit);
        let page = page.await.map_err(shape)?;
        let first = page.messages.first().map(|one| one.seq);
        let messages = page.messages.into_iter().flat_map(chat_messages);
        Ok(HistoryPage {
            messages: messages.collect(),
            next_before: first.filter(|seq| *seq > session.floor),
            next_after: page.next_after,
        })
    }

    pub(super) async fn history(
        &self,
        params: SessionHistoryParams,
    ) -> Result<SessionHistoryResult, ErrorShape> {
        let (key, session) = self.find(&params.session_key).await?;
        let minds = self.gateway.minds();
        let window = window(&params).map_err(shape)?;
        // Running turn first, then the messages: anything that happens in between is sent as an
        // event with a sequence number, so the client recognises what it already has.
        let (running, waiting) = match window {
            Some(_) => (None, Vec::new()),
            None => {
                let running = minds.running(&key);
                (running, minds.waiting(&key).await.map_err(shape)?)
            }
        };
        let question = minds.question(&key).map(|(approval, _)| approval);
        let now = self.gateway.clock.now();
        let running = running.map(|running| running_shape(running, question, now));
        let session = match running {
            // The session may have been reset in the meantime.
            Some(_) => self.find(&params.session_key).await?.1,
            None => session,
        };
        let page = self.page(&session, window.unwrap_or(LAST), params.limit);
        let page = page.await?;
        Ok(SessionHistoryResult {
            running,
            waiting: waiting.into_iter().map(waiting_shape).collect(),
            session_key: session.key,
            current_session_id: session.id,
            previous_session_ids: session.previous,
            messages: page.messages,
            next_before: page.next_before,
            next_after: page.next_after,
        })
    }

    pub(super) async fn preview(
        &self,
        params: SessionPreviewParams,
    ) -> Result<SessionPreviewResult, ErrorShape> {
        let (_, session) = self.find(&params.session_key).await?;
        let messages = self.page(&session, LAST, params.limit).await?.messages;
        Ok(SessionPreviewResult {
            message_count: self.message_count(&session).await?,
            session_key: session.key,
            session_id: session.id,
            messages: messages.into_iter().map(Into::into).collect(),
        })
    }
}

/// A page of a history.
struct HistoryPage {
    messages: Vec<ChatMessage>,
    next_before: Option<i64>,
    next_after: Option<i64>,
}

/// The last messages.
const LAST: MessageWindow = MessageWindow::Before(i64::MAX);

/// The messages that are asked for; `None` for the last ones, with what is going on.
fn window(params: &SessionHistoryParams) -> Result<Option<MessageWindow>, ToolError> {
    match (params.before, params.around, params.after) {
        (None, None, None) => Ok(None),
        (Some(seq), None, None) => Ok(Some(MessageWindow::Before(seq))),
        (None, Some(seq), None) => Ok(Some(MessageWindow::Around(seq))),
        (None, None, Some(seq)) => Ok(Some(MessageWindow::After(seq))),
        _ => {
            let message = "cannot be combined: name one of before, around and after";
            Err(ToolError::parameter("around", message))
        }
    }
}

fn running_shape(
    running: RunningTurn,
    question: Option<ApprovalId>,
    now: Timestamp,
) -> SessionRunning {
    let calls = running.calls.into_iter().map(|call| {
        let (done, waits) = (call.done, call.approval.is_some());
        SessionRunningCall {
            call_id: call.call_id,
            audit_call: call.call.map(|call| call.to_string()),
            elapsed_ms: count(now.0.saturating_sub(call.began.0)),
            waits,
            ok: done.as_ref().map(|done| done.ok),
            duration_ms: done.as_ref().map(|done| done.stats.ms),
            result: done.as_ref().map_or_else(CallResult::default, |done| {
                call_result(Some(&done.stats), !done.ok, &done.pictures)
            }),
            shown: done.map(|done| done.shown),
            output: call.output.text,
            output_from: call.output.from,
        }
    });
    SessionRunning {
        run_id: running.run_id,
        reply: running.reply,
        text: running.text.text,
        text_from: running.text.from,
        thinking: running.thinking.text,
        thinking_from: running.thinking.from,
        calls: calls.collect(),
        approval_id: question.map(|approval| approval.to_string()),
    }
}

fn waiting_shape(waiting: QueuedInput) -> WaitingInput {
    WaitingInput {
        run_id: waiting.run_id,
        text: waiting.text,
        pictures: waiting.pictures as u64,
        timestamp: waiting.at.0,
    }
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn model_name(model: &ModelId) -> ModelName {
    ModelName {
        provider: model.provider.clone(),
        id: model.model.clone(),
    }
}

/// Converts the directives of one message to the wire format.
pub(super) fn directives(given: &MessageDirectives) -> Directives {
    Directives {
        think_level: given.thinking.map(|level| level.as_str().to_owned()),
        model: given.model.as_ref().map(model_name),
    }
}

fn settings_shape(settings: &SessionSettings) -> SessionSettingsShape {
    SessionSettingsShape {
        model: settings.model.as_ref().map(model_name),
        thinking_level: settings
            .thinking_level
            .map(|level| level.as_str().to_owned()),
        system_prompt: settings.system_prompt.clone(),
        max_tokens: settings.max_tokens,
    }
}

fn policy_shape(policy: ResetPolicy) -> ResetPolicyShape {
    let mut shape = ResetPolicyShape {
        mode: ResetModeShape::Manual,
        at_hour: None,
        idle_minutes: None,
    };
    match policy {
        ResetPolicy::Manual => {}
        ResetPolicy::Daily { at_hour } => {
            shape.mode = ResetModeShape::Daily;
            shape.at_hour = Some(at_hour);
        }
        ResetPolicy::Idle { idle_minutes } => {
            shape.mode = ResetModeShape::Idle;
            shape.idle_minutes = Some(idle_minutes);
        }
    }
    shape
}

fn policy(shape: ResetPolicyShape) -> Result<ResetPolicy, ToolError> {
    match shape.mode {
        ResetModeShape::Manual => Ok(ResetPolicy::Manual),
        ResetModeShape::Daily => match shape.at_hour {
            Some(at_hour) if at_hour < 24 => Ok(ResetPolicy::Daily { at_hour }),
            _ => Err(ToolError::parameter(
                "resetPolicy.atHour",
                "must be an hour from 0 to 23",
            )),
        },
        ResetModeShape::Idle => match shape.idle_minutes {
            Some(idle_minutes) if idle_minutes > 0 => Ok(ResetPolicy::Idle { idle_minutes }),
            _ => Err(ToolError::parameter(
                "resetPolicy.idleMinutes",
                "must be at least 1",
            )),
        },
    }
}

/// A validated change of a session's settings.
#[derive(Default)]
struct SettingsChange {
    model: Option<Option<ModelId>>,
    thinking: Option<Option<manyhands_llm::Thinking>>,
    system_prompt: Option<Option<String>>,
    max_tokens: Option<Option<u32>>,
    reset_policy: Option<Option<ResetPolicy>>,
    label: Option<Option<String>>,
    arrangement: Rearrangement,
}

/// Whether a text can be the name of something in a list.
fn is_name(text: &str, most: usize) -> bool {
    let length = text.chars().count();
    !text.trim().is_empty() && length <= most && !text.chars().any(char::is_control)
}

impl SettingsChange {
    fn read(params: SessionPatchParams) -> Result<Self, ToolError> {
        let SessionSettingsPatch {
            model,
            thinking_level,
            system_prompt,
            max_tokens,
        } = params.settings.unwrap_or_default();
        let named = |name: ModelName| {
            let model = format!("{}/{}", name.provider, name.id).parse::<ModelId>();
            model.map_err(|e| ToolError::parameter("settings.model", e.to_string()))
        };
        let level = |word: String| {
            let level = word.parse::<manyhands_llm::Thinking>();
            level.map_err(|e| ToolError::parameter("settings.thinkingLevel", e.to_string()))
        };
        let too_long = |text: &Option<Option<String>>, most: usize| {
            let text = text.as_ref().and_then(Option::as_ref);
            text.is_some_and(|text| text.chars().count() > most)
        };
        if too_long(&system_prompt, MAX_PROMPT) {
            let message = format!("must have at most {MAX_PROMPT} characters");
            return Err(ToolError::parameter("settings.systemPrompt", message));
        }
        if max_tokens == Some(Some(0)) {
            return Err(ToolError::parameter(
                "settings.maxTokens",
                "must be at least 1",
            ));
        }
        let odd_label = |label: &String| !is_name(label, MAX_LABEL);
        if params.label.iter().flatten().any(odd_label) {
            let message = format!("must have 1 to {MAX_LABEL} printable characters");
            return Err(ToolError::parameter("label", message));
        }
        let folder = params
            .folder
            .map(|folder| folder.filter(|name| !name.is_empty()));
        let odd_folder = |name: &String| !is_name(name, MAX_FOLDER);
        if folder.iter().flatten().any(odd_folder) {
            let message = format!("must have at most {MAX_FOLDER} printable characters");
            return Err(ToolError::parameter("folder", message));
        }
        Ok(Self {
            arrangement: Rearrangement {
                pinned: params.pinned,
                archived: params.archived,
                folder,
            },
            model: model
                .map(|model| model.map(named).transpose())
                .transpose()?,
            thinking: thinking_level
                .map(|word| word.map(level).transpose())
                .transpose()?,
            system_prompt,
            max_tokens,
            reset_policy: params
                .reset_policy
                .map(|shape| shape.map(policy).transpose())
                .transpose()?,
            label: params.label,
        })
    }

    fn apply(&self, settings: &mut SessionSettings, label: &mut Option<String>) {
        fn put<T: Clone>(there: &mut Option<T>, new: &Option<Option<T>>) {
            if let Some(new) = new {
                there.clone_from(new);
            }
        }
        put(&mut settings.model, &self.model);
        put(&mut settings.thinking_level, &self.thinking);
        put(&mut settings.system_prompt, &self.system_prompt);
        put(&mut settings.max_tokens, &self.max_tokens);
        put(&mut settings.reset_policy, &self.reset_policy);
        put(label, &self.label);
    }
}
