//! Branches: a new session that begins like another one.

use manyhands_core::{Caller, ToolError};
use manyhands_store::{SessionArrangement, SessionRecord, StoreError};
use uuid::Uuid;

use crate::key::SessionKey;
use crate::runtime::Minds;

impl Minds {
    /// Creates the session `fresh` with the messages of `key` before the user's message `seq`, its settings and its taint.
    /// The original is not changed.
    pub async fn branch(
        &self,
        caller: &Caller,
        key: &SessionKey,
        seq: i64,
        fresh: &SessionKey,
        label: Option<String>,
    ) -> Result<(), ToolError> {
        let inner = &self.inner;
        inner.agent(key.agent())?;
        let session = self.get(key).await?;
        inner.check_user_message(&session, seq).await?;
        let sessions = &inner.sessions;
        let bytes = sessions
            .entry_bytes(&session.id, session.floor, seq)
            .await?;
        inner.env.admit(caller, bytes)?;
        if !caller.is_owner() {
            let most = inner.env.limits().sessions;
            inner.check_session_limit(fresh, most).await?;
        }
        let (id, now) = (inner.ids.next::<Uuid>().to_string(), inner.now());
        let agent = session.agent.clone();
        let branch = SessionRecord {
            label,
            title: session.title,
            settings: session.settings,
            floor: session.floor,
            next_seq: seq,
            // What was read before the branch is in it.
            taint: session.taint,
            arrangement: SessionArrangement {
                folder: session.arrangement.folder,
                ..SessionArrangement::default()
            },
            ..SessionRecord::new(fresh.to_string(), id, agent, now)
        };
        match sessions.branch(&branch, &session.id).await {
            Ok(()) => {}
            Err(StoreError::Changed { .. }) => {
                let message = format!("{key} was changed meanwhile");
                return Err(ToolError::new(manyhands_core::ErrorCode::Conflict, message));
            }
            Err(error) => return Err(error.into()),
        }
        inner.publish_changed(fresh.as_str());
        Ok(())
    }
}
