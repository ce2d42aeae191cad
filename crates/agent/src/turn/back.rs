//! Tools that are not back yet: after a start, machines dial in and servers begin a moment later
//! than the turns that were about to use them.

use std::time::Duration;

use manyhands_store::CallState;
use tokio::time::Instant;

use super::{Halt, Turn};

/// How often they are looked for.
const LOOK: Duration = Duration::from_millis(200);

impl Turn {
    /// Waits until the tools are there that the last reply asked for. A question to the owner about
    /// one that does not come back is withdrawn: a yes would run nothing.
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
                        .withdraw_questions(&self.session.key, &tool, now)
                        .await?;
                }
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The tools of calls that have not begun, as far as they are not there now.
    async fn missing(&self) -> Result<Vec<String>, Halt> {
        let calls = self.conversation.open_calls(&self.record.id);
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let (turn, step) = (&self.record.id, self.work.step);
        let records = self.minds.sessions.calls(turn, step).await?;
        let catalogue = self.minds.path.catalogue();
        let waits = calls.into_iter().zip(records);
        let waits = waits.filter(|(_, record)| record.state == CallState::Asked);
        let names = waits.map(|(call, _)| call.name);
        Ok(names
            .filter(|name| catalogue.resolve(name).is_none() && !catalogue.is_disabled(name))
            .collect())
    }
}
