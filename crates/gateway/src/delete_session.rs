//! Deleting a session, the same from every face.

use manyhands_agent::{Gone, SessionKey};
use manyhands_core::{Caller, ToolError};

use crate::gateway::Gateway;

impl Gateway {
    /// Deletes a session. Chats that expect a reply are told first why none will come, and the
    /// audit entry is on disk before anything is deleted.
    pub async fn delete_session(
        &self,
        caller: &Caller,
        key: &SessionKey,
    ) -> Result<Gone, ToolError> {
        // Closed first: from here on no turn can start and write to what is being deleted.
        let closed = self.minds().close(key).await?;
        self.chats().settle(key.as_str()).await;
        let noted = self.note(caller, "session.delete", key.as_str()).await;
        noted.map_err(|e| ToolError::internal(e.to_string()))?;
        closed.delete().await
    }
}
