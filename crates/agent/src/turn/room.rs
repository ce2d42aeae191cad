//! Compacting the conversation of a running turn when it gets too long.

use manyhands_store::SessionChange;

use super::{Halt, Turn};
use crate::archive;
use crate::compaction::{Compaction, size_of};
use crate::conversation::ConversationMessage;
use crate::failure::{Failure, FailureKind};
use crate::usage::usage_of;

impl Turn {
    /// Summarises the older part of the conversation if it exceeds the window, or in any case with `now`.
    pub(super) async fn make_room(&mut self, now: bool) -> Result<(), Halt> {
        let window = self.limits.window;
        if !now && size_of(&self.conversation.entries) <= window {
            return Ok(());
        }
        let Some(compaction) = Compaction::find(&self.conversation.entries, window) else {
            return Ok(()); // nothing can be left out; the provider decides whether it is too long
        };
        self.compact(compaction).await
    }

    async fn compact(&mut self, compaction: Compaction) -> Result<(), Halt> {
        let model = self.settings.model.clone();
        let request = compaction.request(model.or_else(|| self.agent.model.clone()));
        let models = self.minds.env.models();
        let mut ignore = |_| {};
        let asked = models.reply(&request, &mut ignore, &self.cancel);
        let (summary, spent) = match self.in_time(asked).await? {
            Ok(reply) => (reply.text(), Some(usage_of(&reply, self.minds.now()))),
            // The turn goes on without a summary: failing it would leave a session that can never answer again.
            Err(error) => {
                tracing::warn!(
                    event = "summary_failed",
                    session = self.session.key,
                    %error,
                    "summary failed; conversation was cut without one"
                );
                let none = "(no summary could be made; the archive has the whole)";
                (none.to_owned(), None)
            }
        };
        // The archive is written before the floor moves: after a crash in between the messages are in both places, never
        // in neither. Writing the same range again overwrites the same file.
        let minds = self.minds.clone();
        let archived = archive::write(&minds, &self.session, &compaction.older).await;
        archived.map_err(|e| {
            let message = format!("failed to archive the older part of the conversation: {e}");
            Halt::Failed(Failure::new(FailureKind::Storage, message))
        })?;
        let first = self.session.next_seq;
        let (mut acts, left) = compaction.acts(&self.session, &summary);
        acts.extend(spent.map(SessionChange::Spend));
        self.commit(acts).await?;
        self.conversation.entries = left
            .into_iter()
            .zip(first..)
            .map(|(entry, seq)| ConversationMessage { seq, ..entry })
            .collect();
        Ok(())
    }
}
