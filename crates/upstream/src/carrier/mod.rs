//! Transports that carry messages to a server and back.

mod events;
mod pipe;
mod post;
mod streamable;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::error::UpstreamError;
use crate::headers::Mirrored;
use crate::hub::{CallReply, Hub, PendingSlot};

pub(crate) use events::LegacySse;
pub(crate) use pipe::{StderrTail, start};
pub(crate) use post::Post;
pub(crate) use streamable::Streamable;

/// Parts of a request that the modern era repeats in headers.
pub(crate) struct Head<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: &'a Map<String, Value>,
    pub(crate) mirrored: &'a [Mirrored],
}

/// A transport.
pub(crate) enum Carrier {
    /// A program's standard input and output.
    Pipe,
    /// Streamable HTTP: one response stream per request.
    Streamable(Streamable),
    /// HTTP with SSE: one stream for all responses.
    LegacySse(LegacySse),
}

impl Carrier {
    /// Sends the request of `slot` and waits for its reply.
    pub(crate) async fn exchange(
        &self,
        hub: &std::sync::Arc<Hub>,
        slot: &mut PendingSlot,
        body: Bytes,
        head: &Head<'_>,
    ) -> CallReply {
        match self {
            Self::Pipe => {
                // The reply arrives through the reading task, so sending and waiting are separate.
                hub.send(body).await?;
                reply_of(hub, slot).await
            }
            Self::LegacySse(old) => {
                old.post(body).await?;
                reply_of(hub, slot).await
            }
            Self::Streamable(streamable) => streamable.exchange(hub, slot, body, head).await,
        }
    }

    /// Whether all messages share one stream.
    pub(crate) fn shares_one_stream(&self) -> bool {
        !matches!(self, Self::Streamable(_))
    }
}

async fn reply_of(hub: &Hub, slot: &mut PendingSlot) -> CallReply {
    let answer = (&mut slot.reply).await;
    answer.unwrap_or_else(|_| Err(hub.closed_error()))
}

/// The error for a server that violates the protocol.
pub(crate) fn garbage(what: impl Into<String>) -> UpstreamError {
    UpstreamError::Garbage(what.into())
}
