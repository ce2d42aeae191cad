//! Branching a conversation on behalf of a caller.

use manyhands_agent::SessionKey;
use manyhands_agent_services::session_key;
use manyhands_core::{Caller, ToolError};

use crate::gateway::Gateway;

impl Gateway {
    /// Creates a session of the same agent with the messages before the user's message `seq`, under a new key of the
    /// caller. The caller must be allowed to use `key`.
    pub async fn branch_session(
        &self,
        caller: &Caller,
        key: &SessionKey,
        seq: i64,
        label: Option<String>,
    ) -> Result<SessionKey, ToolError> {
        let random = self.ids.random::<6>();
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        // A bare name is under the caller's own prefix.
        let fresh = session_key(caller, key.agent(), &format!("talk-{name}"))?;
        let minds = self.minds();
        minds.branch(caller, key, seq, &fresh, label).await?;
        self.note(caller, "session.branch", &format!("{key} to {fresh}"))
            .await?;
        Ok(fresh)
    }
}
