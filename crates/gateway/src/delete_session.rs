//! Deleting a session, the same from every face.

use manyhands_agent::{DeletedSession, SessionKey};
use manyhands_core::{Caller, ToolError};

use crate::gateway::Gateway;

impl Gateway {
    /// Deletes a session. Chats that expect a reply are told first why none will come, and the
    /// audit entry is on disk before anything is deleted.
    pub async fn delete_session(
        &self,
        caller: &Caller,
        key: &SessionKey,
    ) -> Result<DeletedSession, ToolError> {
        // Closed first: from here on no turn can start and write to what is being deleted.
        let closed = self.minds().close(key).await?;
        self.chats().try_to_fulfil(key.as_str()).await;
        self.note(caller, "session.delete", key.as_str()).await?;
        closed.delete().await
    }
}
