//! Chats: what was heard, what is to be said, who is owed an answer, and who writes.

mod inbox;
mod outbox;
mod people;
mod promises;
#[cfg(test)]
mod tests;

pub use inbox::{Backlog, InboxRow, InboxState, NewInbound};
pub use outbox::{NewOutbound, OutboxCounts, OutboxKey, OutboxRow, OutboxState, SendEnd};
pub use people::{ChatRow, SenderRow, SenderState};
pub use promises::Promise;

use std::sync::Arc;

use manyhands_core::{Clock, Ids};

use crate::changes::Changes;
use crate::sql::Sql;
use inbox::InboxWriter;

/// The records of chats.
#[derive(Clone)]
pub struct Chats {
    sql: Sql,
    clock: Arc<dyn Clock>,
    ids: Ids,
    writer: Arc<InboxWriter>,
    changes: Changes,
}

impl std::fmt::Debug for Chats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Chats")
    }
}

impl Chats {
    pub(crate) fn new(sql: Sql, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        Self {
            sql,
            clock,
            ids,
            writer: Arc::default(),
            changes: Changes::default(),
        }
    }

    /// Tells when somebody asks to be known or is decided about, when something does not arrive or
    /// cannot be worked on, and what else is noted there.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Tells of a change if there was one.
    fn changed(&self, rows: u64) -> bool {
        if rows > 0 {
            self.changes.note();
        }
        rows > 0
    }
}
