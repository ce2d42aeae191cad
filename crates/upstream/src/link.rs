//! A transport together with the requests that are pending on it.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::carrier::{Carrier, Head};
use crate::hub::{CallReply, Hub, PendingCall, PendingSlot};
use crate::message;

/// A transport with its pending requests.
pub(crate) struct ServerLink {
    pub(crate) hub: Arc<Hub>,
    pub(crate) carrier: Carrier,
}

impl ServerLink {
    /// Sends a request that is never cancelled and has no timeout of its own.
    pub(crate) async fn handshake(
        &self,
        method: &str,
        params: &Map<String, Value>,
        call: Arc<PendingCall>,
    ) -> CallReply {
        let mut slot = self.hub.register(call)?;
        // The specification forbids cancelling `initialize`.
        slot.cancel_on_drop = false;
        self.exchange(&mut slot, method, params).await
    }

    /// Sends a request that stays open until it is dropped, which cancels it.
    pub(crate) async fn follow(
        &self,
        method: &str,
        params: &Map<String, Value>,
        call: Arc<PendingCall>,
    ) -> CallReply {
        let mut slot = self.hub.register(call)?;
        // Over HTTP, closing the stream of the request cancels it.
        slot.cancel_on_drop = self.carrier.shares_one_stream();
        self.exchange(&mut slot, method, params).await
    }

    async fn exchange(
        &self,
        slot: &mut PendingSlot,
        method: &str,
        params: &Map<String, Value>,
    ) -> CallReply {
        let body = message::request(slot.id, method, params);
        let head = Head {
            method,
            params,
            mirrored: &[],
        };
        self.carrier.exchange(&self.hub, slot, body, &head).await
    }
}
