//! Resetting sessions: on request, or when their reset policy says so.

use std::sync::Arc;

use manyhands_core::{AgentId, ErrorCode, Timestamp, ToolError};
use manyhands_store::{SessionChange, SessionRecord, StoreError};
use uuid::Uuid;

use crate::archive;
use crate::key::SessionKey;
use crate::runtime::{Minds, MindsInner, no_session};
use crate::settings::{ResetPolicy, SessionSettings};

/// How often a reset is retried when messages arrive while it archives.
const MAX_ATTEMPTS: usize = 100;
/// How many previous ids a session remembers.
const MAX_PREVIOUS: usize = 100;

/// Result of a reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionReset {
    /// The session id before.
    pub old: String,
    /// The session id after.
    pub new: String,
    /// Number of archived messages.
    pub archived: usize,
    /// Path of the archive; empty if the session had no messages.
    pub archived_to: String,
    /// Tokens used before the reset.
    pub tokens: i64,
}

impl Minds {
    /// Archives the messages of a session and starts over with a new id. Stops the running turn.
    pub async fn reset(&self, key: &SessionKey) -> Result<SessionReset, ToolError> {
        self.get(key).await?;
        let _hold = self.inner.stop_and_hold(key.as_str()).await;
        let session = self.get(key).await?;
        self.inner.reset(session).await.map(|(reset, _)| reset)
    }

    /// The default reset policy of an agent's sessions.
    pub fn reset_policy(&self, agent: &AgentId) -> ResetPolicy {
        let agent = self.inner.env.agent(agent);
        agent.map(|agent| agent.reset).unwrap_or_default()
    }
}

impl MindsInner {
    /// The session with this key: created if it does not exist, reset if its policy says so.
    pub(crate) async fn session(
        self: &Arc<Self>,
        key: &SessionKey,
    ) -> Result<SessionRecord, ToolError> {
        let now = self.clock.now();
        let found = self.sessions.get(key.as_str()).await;
        let Some(session) = found? else {
            let id = self.ids.next::<Uuid>().to_string();
            let agent = key.agent().clone();
            let fresh = SessionRecord::new(key.to_string(), id, agent, now);
            // Read back rather than returned: of two senders that create it at once, one wins.
            self.sessions.create(&fresh).await?;
            self.publish_changed(key.as_str());
            let created = self.sessions.get(key.as_str()).await;
            let created = created?;
            return created.ok_or_else(|| ToolError::internal("a session was not stored"));
        };
        self.reset_if_due(key, session, now).await
    }

    /// Archives a session and gives it a new id. The archive is written before the record changes, so a crash in between
    /// loses nothing; messages that arrive while it is written make the commit fail, and the whole is repeated.
    async fn reset(
        &self,
        session: SessionRecord,
    ) -> Result<(SessionReset, SessionRecord), ToolError> {
        let mut session = session;
        for _ in 0..MAX_ATTEMPTS {
            let all = self.conversation(&session).await?;
            let archived_to = archive::write(self, &session, &all.entries).await?;
            // Settings may have changed while the archive was written; take the latest record under the lock.
            let _changing = self.changing.lock().await;
            let latest = self.sessions.get(&session.key).await?;
            let latest = latest.filter(|latest| latest.id == session.id);
            let latest = latest.unwrap_or_else(|| session.clone());
            let (fresh, now) = (self.fresh_record(&latest), self.now());
            let reset = SessionReset {
                old: session.id.clone(),
                new: fresh.id.clone(),
                archived: all.entries.len(),
                archived_to,
                tokens: session.input_tokens + session.output_tokens,
            };
            // `Unmoved` refuses the commit if a message was added since the archive was written.
            let acts = vec![
                SessionChange::ExpectNextSeq(session.next_seq),
                SessionChange::Session(Box::new(fresh)),
            ];
            let (key, old) = (session.key.clone(), session.id.clone());
            match self.sessions.commit(&key, &old, acts, now).await {
                Ok(fresh) => return Ok((reset, fresh)),
                Err(StoreError::Changed { .. }) => {
                    let again = self.sessions.get(&key).await?;
                    session = again.ok_or_else(|| no_session(&key))?;
                }
                Err(error) => return Err(ToolError::from(error)),
            }
        }
        let message = format!("{} keeps changing", session.key);
        Err(ToolError::new(ErrorCode::Conflict, message).hint("stop what runs in it with /stop"))
    }

    /// The record of a session after its reset.
    fn fresh_record(&self, session: &SessionRecord) -> SessionRecord {
        let mut previous = session.previous.clone();
        previous.push(session.id.clone());
        let surplus = previous.len().saturating_sub(MAX_PREVIOUS);
        previous.drain(..surplus);
        SessionRecord {
            id: self.ids.next::<Uuid>().to_string(),
            previous,
            floor: session.next_seq,
            input_tokens: 0,
            output_tokens: 0,
            cost_micros: 0,
            last_reset: Some(self.now()),
            ..session.clone()
        }
    }

    /// The session, after a reset if one is due.
    async fn reset_if_due(
        self: &Arc<Self>,
        key: &SessionKey,
        mut session: SessionRecord,
        now: Timestamp,
    ) -> Result<SessionRecord, ToolError> {
        let settings: SessionSettings = serde_json::from_str(&session.settings).unwrap_or_default();
        let of_agent = self.env.agent(key.agent()).map(|agent| agent.reset);
        let policy = settings.reset_policy.or(of_agent).unwrap_or_default();
        let due = session.next_seq > session.floor && self.is_due(policy, session.last_active, now);
        // While somebody works on the session it is not reset: the next message checks again.
        if due && let Some(_hold) = self.hold(key.as_str()) {
            session = self.reset(session).await?.1;
        }
        Ok(session)
    }

    fn is_due(&self, policy: ResetPolicy, last: Timestamp, now: Timestamp) -> bool {
        let ago = now.0.saturating_sub(last.0);
        match policy {
            ResetPolicy::Manual => false,
            ResetPolicy::Idle { idle_minutes } => ago >= i64::from(idle_minutes) * 60_000,
            ResetPolicy::Daily { at_hour } => {
                // Due if the hour passed since the last activity.
                let day = 86_400_000;
                let since =
                    self.env.local_time().since_midnight_ms - i64::from(at_hour) * 3_600_000;
                ago >= since.rem_euclid(day)
            }
        }
    }
}
