//! The only writer of the socket.
//!
//! Two queues: text goes before bulk data, so that no call waits behind a file.

use bytes::Bytes;
use futures_util::stream::SplitSink;
use futures_util::{Sink, SinkExt};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::handshake::Socket;

/// Maximum number of queued texts. A full queue delays the calls whose results do not fit, and nothing else.
const MAX_TEXTS: usize = 1_024;
/// Maximum number of queued file frames: one megabyte.
const MAX_FRAMES: usize = 4;

/// The connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionClosed;

/// Queues everything that is sent. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    texts: mpsc::Sender<Message>,
    bulk: mpsc::Sender<Message>,
}

/// Receiving ends of both queues.
pub(crate) struct Queues {
    texts: mpsc::Receiver<Message>,
    bulk: mpsc::Receiver<Message>,
}

impl Outgoing {
    pub(crate) fn new() -> (Self, Queues) {
        let (texts, texts_end) = mpsc::channel(MAX_TEXTS);
        let (bulk, bulk_end) = mpsc::channel(MAX_FRAMES);
        let queues = Queues {
            texts: texts_end,
            bulk: bulk_end,
        };
        (Self { texts, bulk }, queues)
    }

    /// Queues a text frame, ahead of bulk data.
    pub(crate) async fn text(&self, frame: String) -> Result<(), ConnectionClosed> {
        let sent = self.texts.send(Message::text(frame)).await;
        sent.map_err(|_| ConnectionClosed)
    }

    /// Queues a text frame that may be dropped, as long as there is room for those that may not.
    pub(crate) fn try_text(&self, frame: String) {
        // Half of the queue is reserved for results, which must not wait behind output.
        if self.texts.capacity() > MAX_TEXTS / 2 {
            let _ = self.texts.try_send(Message::text(frame));
        }
    }

    /// Queues a frame of a file.
    pub(crate) async fn frame(&self, frame: Bytes) -> Result<(), ConnectionClosed> {
        let sent = self.bulk.send(Message::Binary(frame)).await;
        sent.map_err(|_| ConnectionClosed)
    }

    /// Queues a text that must not overtake earlier file frames.
    pub(crate) async fn text_behind_frames(&self, frame: String) -> Result<(), ConnectionClosed> {
        let sent = self.bulk.send(Message::text(frame)).await;
        sent.map_err(|_| ConnectionClosed)
    }

    /// Queues a ping, unless the queue is full: then there is traffic anyway.
    pub(crate) fn ping(&self) {
        let _ = self.texts.try_send(Message::Ping(Bytes::new()));
    }

    /// Queues a close frame, if there is room.
    pub(crate) fn close(&self) {
        let _ = self.texts.try_send(Message::Close(None));
    }
}

/// Writes until a close frame was sent, the socket fails, or both queues have ended. Frames that are ready together
/// are flushed together.
pub(crate) async fn write(mut sink: SplitSink<Socket, Message>, mut queues: Queues) -> Error {
    loop {
        let Some(message) = queues.next().await else {
            return Error::ConnectionClosed;
        };
        match pass(&mut sink, message, &mut queues).await {
            Ok(WriteState::Closed) => return Error::ConnectionClosed,
            Ok(WriteState::More) => {}
            Err(error) => return error,
        }
    }
}

/// Whether anything may follow.
enum WriteState {
    More,
    Closed,
}

async fn pass<S>(sink: &mut S, message: Message, queues: &mut Queues) -> Result<WriteState, Error>
where
    S: Sink<Message, Error = Error> + Unpin,
{
    let mut message = Some(message);
    while let Some(next) = message {
        let closing = next.is_close();
        sink.feed(next).await?;
        // Nothing may follow a close frame, whatever else is queued.
        if closing {
            sink.flush().await?;
            return Ok(WriteState::Closed);
        }
        // Flushed only when nothing more is ready: one system call for many small frames.
        message = queues.ready();
    }
    sink.flush().await?;
    Ok(WriteState::More)
}

impl Queues {
    async fn next(&mut self) -> Option<Message> {
        tokio::select! {
            // Texts before bulk, always: a result must not wait for a file.
            biased;
            Some(message) = self.texts.recv() => Some(message),
            Some(message) = self.bulk.recv() => Some(message),
            else => None,
        }
    }

    fn ready(&mut self) -> Option<Message> {
        let text = self.texts.try_recv().ok();
        text.or_else(|| self.bulk.try_recv().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn text_overtakes_bulk_data_but_not_its_own_frames() {
        let (outgoing, mut queues) = Outgoing::new();
        outgoing.frame(Bytes::from_static(b"1")).await.unwrap();
        outgoing.text_behind_frames("2".to_owned()).await.unwrap();
        outgoing.text("first".to_owned()).await.unwrap();
        drop(outgoing);
        let mut order = Vec::new();
        while let Some(message) = queues.next().await {
            order.push(message.into_text().unwrap().to_string());
        }
        assert_eq!(order, ["first", "1", "2"]);
    }

    #[tokio::test]
    async fn nothing_waits_for_a_connection_that_has_ended() {
        let (outgoing, queues) = Outgoing::new();
        drop(queues);
        assert_eq!(outgoing.text(String::new()).await, Err(ConnectionClosed));
        assert_eq!(outgoing.frame(Bytes::new()).await, Err(ConnectionClosed));
    }
}
