//! The slot of a session: present while somebody works on the session or holds it.

use std::sync::Arc;

use manyhands_core::ApprovalId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::event::TurnEvent;
use crate::running::RunningTurn;

/// A session that somebody works on or holds.
#[derive(Default)]
pub(crate) struct SessionSlot {
    /// An input arrived meanwhile: check the queue again before leaving.
    pub(crate) again: bool,
    /// Stops the running turn.
    pub(crate) stop: CancellationToken,
    /// The approval request that the turn waits for, and its tool.
    pub(crate) question: Option<(ApprovalId, String)>,
    /// A snapshot of the running turn.
    pub(crate) running: Option<RunningTurn>,
    /// Somebody waits for exclusive access: no further turn may start.
    pub(crate) wanted: bool,
    /// Notified when the slot is released.
    pub(crate) freed: Arc<Notify>,
    /// Notified when an input arrives.
    pub(crate) arrived: Arc<Notify>,
    /// Ids of turns that wait for the owner and let other people's turns go first.
    pub(crate) parked: Vec<String>,
}

impl SessionSlot {
    /// Updates the pending approval request.
    pub(crate) fn note_question(&mut self, event: &TurnEvent) {
        self.question = match event {
            TurnEvent::Paused { approval, tool, .. } => Some((*approval, tool.clone())),
            // Streamed output can arrive from a parallel call while another one waits; it answers no request.
            TurnEvent::Delta(_)
            | TurnEvent::Thinking(_)
            | TurnEvent::Restart { .. }
            | TurnEvent::Changed
            | TurnEvent::ToolOutput { .. } => {
                return;
            }
            _ => None,
        };
    }
}
