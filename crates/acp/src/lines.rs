//! JSON lines over a pair of pipes, bounded: a line has an end, all of them together have one, and
//! nobody is listened to who does not read the answers.

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

/// How much the other end may say.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The longest line, in bytes.
    pub line: usize,
    /// All lines together, in bytes.
    pub total: u64,
    /// How many lines may be no message at all; they are passed over.
    pub garbage: u32,
    /// How many requests may be without an answer that was read.
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

/// What both directions know of each other.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    open: AtomicUsize,
    /// How many notices were said and not written yet.
    unread: AtomicUsize,
    answered: Notify,
    trouble: Mutex<Option<String>>,
}

impl Flow {
    /// Why the other end was no longer listened to.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().expect("no panic while held").clone()
    }

    fn fail(&self, why: String) -> io::Error {
        let mut trouble = self.trouble.lock().expect("no panic while held");
        trouble.get_or_insert_with(|| why.clone());
        io::Error::other(why)
    }

    /// Waits until fewer than `most` requests are without an answer that was read.
    async fn room(&self, most: usize) {
        loop {
            let mut answered = std::pin::pin!(self.answered.notified());
            answered.as_mut().enable();
            if self.open.load(Ordering::Acquire) < most {
                return;
            }
            answered.await;
        }
    }

    /// Something is said that nobody answers.
    pub(crate) fn said(&self) {
        self.unread.fetch_add(1, Ordering::AcqRel);
    }

    /// How much of that waits for a reader.
    pub(crate) fn unread(&self) -> usize {
        self.unread.load(Ordering::Acquire)
    }

    fn written(&self) {
        let less = |unread: usize| unread.checked_sub(1);
        let _ = self
            .unread
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }

    fn asked(&self) {
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

/// What a line is, without looking at what it says.
#[derive(Deserialize)]
struct Peek {
    #[serde(default)]
    id: Option<IgnoredAny>,
    #[serde(default)]
    method: Option<IgnoredAny>,
}

/// The two pipes as the protocol's crate takes them.
pub(crate) fn lines<R, W>(
    reader: R,
    writer: W,
    bounds: Bounds,
    flow: &Arc<Flow>,
) -> Lines<
    impl Sink<String, Error = io::Error> + Send + 'static,
    impl Stream<Item = io::Result<String>> + Send + 'static,
>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let listener = Listener {
        reader: BufReader::with_capacity(64 * 1024, reader),
        bounds,
        flow: flow.clone(),
        heard: 0,
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

struct Listener<R> {
    reader: BufReader<R>,
    bounds: Bounds,
    flow: Arc<Flow>,
    heard: u64,
    garbage: u32,
}

impl<R: AsyncRead + Send + Unpin> Listener<R> {
    /// The next message; `None` at the end.
    async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            self.flow.room(self.bounds.unanswered).await;
            let Some(line) = self.line().await? else {
                return Ok(None);
            };
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let object = line.trim_ascii_start().starts_with(b"{");
            let text = String::from_utf8(line).ok().filter(|_| object);
            let peek = text.as_deref().map(serde_json::from_str::<Peek>);
            match (text, peek) {
                (Some(text), Some(Ok(peek))) if peek.id.is_some() || peek.method.is_some() => {
                    if peek.id.is_some() && peek.method.is_some() {
                        self.flow.asked();
                    }
                    return Ok(Some(text));
                }
                // Programs print notes where messages belong; a few are forgiven.
                _ => {
                    self.garbage += 1;
                    if self.garbage > self.bounds.garbage {
                        let why =
                            format!("more than {} lines were no message", self.bounds.garbage);
                        return Err(self.flow.fail(why));
                    }
                }
            }
        }
    }

    /// The next line without its end; `None` at the end of all.
    async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                return Ok((!line.is_empty()).then_some(line));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(chunk.len());
            line.extend_from_slice(&chunk[..taken]);
            let used = taken + usize::from(end.is_some());
            self.reader.consume(used);
            self.heard += used as u64;
            if line.len() > self.bounds.line {
                let why = format!("a line has more than {} bytes", self.bounds.line);
                return Err(self.flow.fail(why));
            }
            if self.heard > self.bounds.total {
                let why = format!("more than {} bytes were said", self.bounds.total);
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

    fn listener(bytes: &'static [u8], bounds: Bounds) -> Listener<&'static [u8]> {
        Listener {
            reader: BufReader::new(bytes),
            bounds,
            flow: Arc::default(),
            heard: 0,
            garbage: 0,
        }
    }

    #[tokio::test]
    async fn notes_between_messages_are_passed_over() {
        let said = b"starting\n\n{\"method\":\"a\"}\n[1]\n\xff\n{\"id\":1}\nlast";
        let mut listener = listener(said, Bounds::default());
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
        for (said, why) in [
            (
                &b"{\"id\":1}\n{\"id\":11111111}"[..],
                "a line has more than 10 bytes",
            ),
            (
                b"{\"id\":1}\nx\nx\nx\n",
                "more than 2 lines were no message",
            ),
            (&[b'\n'; 41], "more than 40 bytes were said"),
        ] {
            let mut listener = listener(said, bounds);
            let error = loop {
                match listener.next().await {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("{why} did not come"),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.to_string(), why);
            assert_eq!(listener.flow.trouble().unwrap(), why);
        }
    }

    #[tokio::test]
    async fn whoever_does_not_read_answers_is_not_listened_to() {
        let bounds = Bounds {
            unanswered: 1,
            ..Bounds::default()
        };
        let (mut far, near) = duplex(1024);
        far.write_all(b"{\"id\":1,\"method\":\"a\"}\n{\"id\":2,\"method\":\"a\"}\n")
            .await
            .unwrap();
        let flow = Arc::new(Flow::default());
        let mut listener = Listener {
            reader: BufReader::new(near),
            bounds,
            flow: flow.clone(),
            heard: 0,
            garbage: 0,
        };
        assert!(listener.next().await.unwrap().is_some());
        let mut next = std::pin::pin!(listener.next());
        assert!(futures_util::poll!(next.as_mut()).is_pending());
        flow.answered();
        assert!(next.await.unwrap().is_some());
    }
}
