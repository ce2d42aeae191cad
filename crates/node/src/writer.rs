//! The one place that writes to the socket.
//!
//! Two queues: text goes before bulk, so that no call waits behind a file.

use bytes::Bytes;
use futures_util::stream::SplitSink;
use futures_util::{Sink, SinkExt};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::dial::Socket;

/// How many texts may wait. Results that do not fit hold their calls up, and nothing else.
const TEXTS: usize = 1_024;
/// How many frames of files may wait: a megabyte.
const FRAMES: usize = 4;

/// The connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

/// Where everything goes that is to be written. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    texts: mpsc::Sender<Message>,
    bulk: mpsc::Sender<Message>,
}

/// The other ends of both queues.
pub(crate) struct Queues {
    texts: mpsc::Receiver<Message>,
    bulk: mpsc::Receiver<Message>,
}

impl Outgoing {
    pub(crate) fn new() -> (Self, Queues) {
        let (texts, texts_end) = mpsc::channel(TEXTS);
        let (bulk, bulk_end) = mpsc::channel(FRAMES);
        let queues = Queues {
            texts: texts_end,
            bulk: bulk_end,
        };
        (Self { texts, bulk }, queues)
    }

    /// Writes a text frame, before any bulk that waits.
    pub(crate) async fn text(&self, frame: String) -> Result<(), Gone> {
        let sent = self.texts.send(Message::text(frame)).await;
        sent.map_err(|_| Gone)
    }

    /// Writes a text frame that may be left out, while there is room for those that may not.
    pub(crate) fn mention(&self, frame: String) {
        if self.texts.capacity() > TEXTS / 2 {
            let _ = self.texts.try_send(Message::text(frame));
        }
    }

    /// Writes a frame of a file, behind what waits.
    pub(crate) async fn frame(&self, frame: Bytes) -> Result<(), Gone> {
        let sent = self.bulk.send(Message::Binary(frame)).await;
        sent.map_err(|_| Gone)
    }

    /// Writes a text that must not overtake the frames before it.
    pub(crate) async fn text_behind_frames(&self, frame: String) -> Result<(), Gone> {
        let sent = self.bulk.send(Message::text(frame)).await;
        sent.map_err(|_| Gone)
    }

    /// Asks whether the other side is there, unless so much waits that it will hear anyway.
    pub(crate) fn ping(&self) {
        let _ = self.texts.try_send(Message::Ping(Bytes::new()));
    }

    /// Says goodbye, if there is room for it.
    pub(crate) fn close(&self) {
        let _ = self.texts.try_send(Message::Close(None));
    }
}

/// Writes until goodbye was said, the socket fails, or both queues have ended. What is ready
/// together is flushed together.
pub(crate) async fn write(mut sink: SplitSink<Socket, Message>, mut queues: Queues) -> Error {
    loop {
        let Some(message) = queues.next().await else {
            return Error::ConnectionClosed;
        };
        match pass(&mut sink, message, &mut queues).await {
            Ok(Said::Goodbye) => return Error::ConnectionClosed,
            Ok(Said::More) => {}
            Err(error) => return error,
        }
    }
}

/// Whether anything may follow.
enum Said {
    More,
    Goodbye,
}

async fn pass<S>(sink: &mut S, message: Message, queues: &mut Queues) -> Result<Said, Error>
where
    S: Sink<Message, Error = Error> + Unpin,
{
    let mut message = Some(message);
    while let Some(next) = message {
        let goodbye = next.is_close();
        sink.feed(next).await?;
        if goodbye {
            sink.flush().await?;
            return Ok(Said::Goodbye);
        }
        message = queues.ready();
    }
    sink.flush().await?;
    Ok(Said::More)
}

impl Queues {
    async fn next(&mut self) -> Option<Message> {
        tokio::select! {
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
    async fn text_goes_before_bulk_and_what_follows_frames_stays_behind_them() {
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
        assert_eq!(outgoing.text(String::new()).await, Err(Gone));
        assert_eq!(outgoing.frame(Bytes::new()).await, Err(Gone));
    }
}
