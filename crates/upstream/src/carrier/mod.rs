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
    OldEvents(LegacySse),
}

impl Carrier {
    /// Sends the request of `place` and waits for its reply.
    pub(crate) async fn exchange(
        &self,
        hub: &std::sync::Arc<Hub>,
        place: &mut PendingSlot,
        body: Bytes,
        head: &Head<'_>,
    ) -> CallReply {
        match self {
            Self::Pipe => {
                hub.send(body).await?;
                answered(hub, place).await
            }
            Self::OldEvents(old) => {
                old.post(body).await?;
                answered(hub, place).await
            }
            Self::Streamable(streamable) => streamable.exchange(hub, place, body, head).await,
        }
    }

    /// Whether all messages share one stream.
    pub(crate) fn is_line(&self) -> bool {
        !matches!(self, Self::Streamable(_))
    }
}

async fn answered(hub: &Hub, place: &mut PendingSlot) -> CallReply {
    let answer = (&mut place.reply).await;
    answer.unwrap_or_else(|_| Err(hub.gone()))
}

/// The error for a server that violates the protocol.
pub(crate) fn garbage(what: impl Into<String>) -> UpstreamError {
    UpstreamError::Garbage(what.into())
}
