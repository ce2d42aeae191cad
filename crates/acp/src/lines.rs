//! JSON lines over a pair of pipes, with limits: on the length of a line, on the total size, and on the number of
//! unread responses.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agent_client_protocol::Lines;
use futures_util::sink::unfold as sink_of;
use futures_util::stream::unfold as stream_of;
use futures_util::{Sink, Stream};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Notify;

/// Limits of what the peer may send.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Maximum length of a line, in bytes.
    pub line: usize,
    /// Maximum total size, in bytes.
    pub total: u64,
    /// Maximum number of lines that are not messages; they are skipped.
    pub garbage: u32,
    /// Maximum number of requests without a response that was read.
    pub unanswered: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            line: 8 * 1024 * 1024,
            total: 128 * 1024 * 1024,
            garbage: 1_000,
            unanswered: 64,
        }
    }
}

/// State shared by both directions.
#[derive(Debug, Default)]
pub(crate) struct FlowControl {
    open: AtomicUsize,
    /// Number of notifications queued and not written yet.
    unread: AtomicUsize,
    answered: Notify,
    failure: Mutex<Option<String>>,
}

impl FlowControl {
    /// Why the peer was disconnected.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().expect("no panic while held").clone()
    }

    fn fail(&self, why: String) -> io::Error {
        let mut failure = self.failure.lock().expect("no panic while held");
        failure.get_or_insert_with(|| why.clone());
        io::Error::other(why)
    }

    /// Waits until fewer than `most` requests are without a response that was read.
    async fn wait_for_capacity(&self, most: usize) {
        loop {
            let mut answered = std::pin::pin!(self.answered.notified());
            // Registered before the check: a response written in between must wake this up.
            answered.as_mut().enable();
            if self.open.load(Ordering::Acquire) < most {
                return;
            }
            answered.await;
        }
    }

    /// Counts a queued notification.
    pub(crate) fn queued(&self) {
        self.unread.fetch_add(1, Ordering::AcqRel);
    }

    /// Number of notifications not written yet.
    pub(crate) fn unread(&self) -> usize {
        self.unread.load(Ordering::Acquire)
    }

    fn written(&self) {
        let less = |unread: usize| unread.checked_sub(1);
        let _ = self
            .unread
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }

    fn request_received(&self) {
        self.open.fetch_add(1, Ordering::AcqRel);
    }

    fn answered(&self) {
        let less = |open: usize| open.checked_sub(1);
        let _ = self
            .open
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        self.answered.notify_waiters();
    }
}

/// The kind of a message, without its contents.
#[derive(Deserialize)]
struct Peek {
    #[serde(default)]
    id: Option<IgnoredAny>,
    #[serde(default)]
    method: Option<IgnoredAny>,
}

/// The two pipes as a transport of the protocol's library.
pub(crate) fn lines<R, W>(
    reader: R,
    writer: W,
    bounds: Bounds,
    flow: &Arc<FlowControl>,
) -> Lines<
    impl Sink<String, Error = io::Error> + Send + 'static,
    impl Stream<Item = io::Result<String>> + Send + 'static,
>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let listener = LineReader {
        reader: BufReader::with_capacity(64 * 1024, reader),
        bounds,
        flow: flow.clone(),
        received: 0,
        garbage: 0,
    };
    let incoming = stream_of(Some(listener), async |listener| {
        let mut listener = listener?;
        match listener.next().await {
            Ok(Some(line)) => Some((Ok(line), Some(listener))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    let outgoing = sink_of(
        (writer, flow.clone()),
        async |(mut writer, flow), line: String| {
            let peek = serde_json::from_str::<Peek>(&line);
            let answers = peek.as_ref().is_ok_and(|peek| peek.method.is_none());
            let notice = peek.is_ok_and(|peek| peek.method.is_some() && peek.id.is_none());
            let mut bytes = line.into_bytes();
            bytes.push(b'\n');
            writer.write_all(&bytes).await?;
            writer.flush().await?;
            // Only after the flush: a peer that does not read keeps its requests counted as open.
            if answers {
                flow.answered();
            }
            if notice {
                flow.written();
            }
            Ok::<_, io::Error>((writer, flow))
        },
    );
    Lines::new(outgoing, incoming)
}

struct LineReader<R> {
    reader: BufReader<R>,
    bounds: Bounds,
    flow: Arc<FlowControl>,
    received: u64,
    garbage: u32,
}

impl<R: AsyncRead + Send + Unpin> LineReader<R> {
    /// Returns the next message; `None` at the end.
    async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            // Backpressure: a peer that does not read responses is not read either.
            self.flow.wait_for_capacity(self.bounds.unanswered).await;
            let Some(line) = self.line().await? else {
                return Ok(None);
            };
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            // Checked first, because parsing a large log line as JSON is wasted time.
            let object = line.trim_ascii_start().starts_with(b"{");
            let text = String::from_utf8(line).ok().filter(|_| object);
            let peek = text.as_deref().map(serde_json::from_str::<Peek>);
            match (text, peek) {
                (Some(text), Some(Ok(peek))) if peek.id.is_some() || peek.method.is_some() => {
                    if peek.id.is_some() && peek.method.is_some() {
                        self.flow.request_received();
                    }
                    return Ok(Some(text));
                }
                // Some programs print log lines to stdout; a limited number is skipped.
                _ => {
                    self.garbage += 1;
                    if self.garbage > self.bounds.garbage {
                        let why =
                            format!("more than {} lines were not messages", self.bounds.garbage);
                        return Err(self.flow.fail(why));
                    }
                }
            }
        }
    }

    /// Returns the next line; `None` at the end.
    async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                return Ok((!line.is_empty()).then_some(line));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let length = end.unwrap_or(chunk.len());
            line.extend_from_slice(&chunk[..length]);
            let used = length + usize::from(end.is_some());
            self.reader.consume(used);
            self.received += used as u64;
            // Checked per chunk: a line without end must not fill memory before it is refused.
            if line.len() > self.bounds.line {
                let why = format!("a line is longer than {} bytes", self.bounds.line);
                return Err(self.flow.fail(why));
            }
            if self.received > self.bounds.total {
                let why = format!("more than {} bytes were sent", self.bounds.total);
                return Err(self.flow.fail(why));
            }
            if end.is_some() {
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::duplex;

    fn listener(bytes: &'static [u8], bounds: Bounds) -> LineReader<&'static [u8]> {
        LineReader {
            reader: BufReader::new(bytes),
            bounds,
            flow: Arc::default(),
            received: 0,
            garbage: 0,
        }
    }

    #[tokio::test]
    async fn notes_between_messages_are_passed_over() {
        let input = b"starting\n\n{\"method\":\"a\"}\n[1]\n\xff\n{\"id\":1}\nlast";
        let mut listener = listener(input, Bounds::default());
        assert_eq!(
            listener.next().await.unwrap().unwrap(),
            "{\"method\":\"a\"}"
        );
        assert_eq!(listener.next().await.unwrap().unwrap(), "{\"id\":1}");
        assert_eq!(listener.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn nothing_is_endless() {
        let bounds = Bounds {
            line: 10,
            total: 40,
            garbage: 2,
            unanswered: 1,
        };
        for (input, why) in [
            (
                &b"{\"id\":1}\n{\"id\":11111111}"[..],
                "a line is longer than 10 bytes",
            ),
            (
                b"{\"id\":1}\nx\nx\nx\n",
                "more than 2 lines were not messages",
            ),
            (&[b'\n'; 41], "more than 40 bytes were sent"),
        ] {
            let mut listener = listener(input, bounds);
            let error = loop {
                match listener.next().await {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("{why} did not come"),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.to_string(), why);
            assert_eq!(listener.flow.failure().unwrap(), why);
        }
    }

    #[tokio::test]
    async fn a_peer_that_does_not_read_is_not_read_from() {
        let bounds = Bounds {
            unanswered: 1,
            ..Bounds::default()
        };
        let (mut far, near) = duplex(1024);
        far.write_all(b"{\"id\":1,\"method\":\"a\"}\n{\"id\":2,\"method\":\"a\"}\n")
            .await
            .unwrap();
        let flow = Arc::new(FlowControl::default());
        let mut listener = LineReader {
            reader: BufReader::new(near),
            bounds,
            flow: flow.clone(),
            received: 0,
            garbage: 0,
        };
        assert!(listener.next().await.unwrap().is_some());
        let mut next = std::pin::pin!(listener.next());
        assert!(futures_util::poll!(next.as_mut()).is_pending());
        flow.answered();
        assert!(next.await.unwrap().is_some());
    }
}
