//! How messages get to a server and back.

mod events;
mod pipe;
mod post;
mod streamable;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::error::UpstreamError;
use crate::headers::Mirrored;
use crate::hub::{Answer, Hub, Place};

pub(crate) use events::OldEvents;
pub(crate) use pipe::{Tail, start};
pub(crate) use post::Post;
pub(crate) use streamable::Streamable;

/// What a request says besides its body, for those who repeat it in headers.
pub(crate) struct Head<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: &'a Map<String, Value>,
    pub(crate) mirrored: &'a [Mirrored],
}

/// One way to a server.
pub(crate) enum Carrier {
    /// A program's standard input and output.
    Pipe,
    /// HTTP, a stream for each request.
    Streamable(Streamable),
    /// HTTP, one stream for all answers.
    OldEvents(OldEvents),
}

impl Carrier {
    /// Sends the request at `place` and waits for its answer.
    pub(crate) async fn exchange(
        &self,
        hub: &std::sync::Arc<Hub>,
        place: &mut Place,
        body: Bytes,
        head: &Head<'_>,
    ) -> Answer {
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

    /// Whether all messages come over one line.
    pub(crate) fn is_line(&self) -> bool {
        !matches!(self, Self::Streamable(_))
    }
}

async fn answered(hub: &Hub, place: &mut Place) -> Answer {
    let answer = (&mut place.reply).await;
    answer.unwrap_or_else(|_| Err(hub.gone()))
}

/// A server that answers what is not asked.
pub(crate) fn garbage(what: impl Into<String>) -> UpstreamError {
    UpstreamError::Garbage(what.into())
}
