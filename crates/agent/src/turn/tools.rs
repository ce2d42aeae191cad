//! Waiting for tools after a restart: nodes reconnect and servers start a moment later than the turns that were about to
//! use them.

use std::time::Duration;

use manyhands_store::CallState;
use tokio::time::Instant;

use super::{Halt, Turn};

/// How often the catalogue is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

impl Turn {
    /// Waits until the tools of unstarted calls are available, up to a limit. Approval requests for tools that do not come
    /// back are withdrawn: approving them would run nothing.
    pub(super) async fn wait_for_tools(&self) -> Result<(), Halt> {
        let until = Instant::now() + self.limits.tools;
        loop {
            let missing = self.missing().await?;
            if missing.is_empty() {
                return Ok(());
            }
            if Instant::now() >= until {
                let (sessions, now) = (&self.minds.sessions, self.minds.clock.now());
                for tool in missing {
                    sessions
                        .withdraw_approvals(&self.session.key, &tool, now)
                        .await?;
                }
                return Ok(());
            }
            // Polled: tools come from nodes, servers and settings, and no single event covers them all.
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// The tools of unstarted calls that are not in the catalogue. Disabled tools are not waited for: their calls are
    /// refused at once.
    async fn missing(&self) -> Result<Vec<String>, Halt> {
        let calls = self.conversation.open_calls(&self.record.id);
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let (turn, step) = (&self.record.id, self.progress.step);
        let records = self.minds.sessions.calls(turn, step).await?;
        let catalogue = self.minds.path.catalogue();
        let waits = calls.into_iter().zip(records);
        let waits = waits.filter(|(_, record)| record.state == CallState::Requested);
        let names = waits.map(|(call, _)| call.name);
        Ok(names
            .filter(|name| catalogue.resolve(name).is_none() && !catalogue.is_disabled(name))
            .collect())
    }
}
