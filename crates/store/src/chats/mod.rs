//! Chats: the inbox, the outbox, replies that are still due, and senders.
//!
//! Incoming messages are on disk before they are acknowledged and outgoing ones before they are sent, so that a crash
//! at any moment neither loses a message nor sends one twice without showing it.

mod inbox;
mod outbox;
mod pending_replies;
mod senders;
#[cfg(test)]
mod tests;

pub use inbox::{Backlog, InboxRow, InboxState, NewInbound};
pub use outbox::{NewOutbound, OutboxCounts, OutboxKey, OutboxRow, OutboxState, SendResult};
pub use pending_replies::PendingReply;
pub use senders::{ChatRow, SenderRow, SenderState};

use std::sync::Arc;

use manyhands_core::{Clock, Ids};

use crate::changes::Changes;
use crate::sql::Sql;
use inbox::InboxWriter;

/// Records of chats. Cheap to clone.
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

    /// Notifies of pairing requests and decisions, and of messages that could not be delivered or processed.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Notifies if rows were changed; returns whether there were any.
    fn changed(&self, rows: u64) -> bool {
        if rows > 0 {
            self.changes.notify();
        }
        rows > 0
    }
}
