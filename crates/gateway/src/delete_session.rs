//! Deleting a session, on every face the same.

use manyhands_agent::{DeletedSession, SessionKey};
use manyhands_core::{Caller, ToolError};

use crate::gateway::Gateway;

impl Gateway {
    /// Deletes a session in the name of somebody who may use it. Chats that are owed an answer are
    /// told first why there is none, and the audit knows of it before anything is gone.
    pub async fn delete_session(
        &self,
        caller: &Caller,
        key: &SessionKey,
    ) -> Result<DeletedSession, ToolError> {
        let closed = self.minds().close(key).await?;
        self.chats().settle(key.as_str()).await;
        self.note(caller, "session.delete", key.as_str()).await?;
        closed.delete().await
    }
}
