//! The output of a job: its end in memory, and its total length.

use std::fs::File;
use std::future::poll_fn;
use std::io::{Read as _, Seek as _, Write as _};
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use encoding_rs::{Decoder, UTF_8};
use manyhands_core::Progress;
use tokio::io::{AsyncRead, ReadBuf};

use super::{MAX_CHARS, MAX_FULL, MAX_FULL_JSON};

/// The capacity of a pipe: one read empties it.
const CHUNK: usize = 64 * 1024;

/// The end of a text of any length, in bounded memory.
#[derive(Debug)]
pub(super) struct TextTail {
    text: String,
    chars: usize,
    cap: usize,
    total_chars: u64,
    total_newlines: u64,
    dropped_newlines: u64,
}

/// Lines of a [`TextTail`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LinePage<'a> {
    pub(super) text: &'a str,
    pub(super) first: u64,
    pub(super) next: Option<u64>,
    pub(super) total: u64,
    pub(super) dropped: u64,
}

/// A chunk of a [`TextTail`], by character offsets in the whole.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TailChunk<'a> {
    pub(super) text: &'a str,
    pub(super) at: u64,
    pub(super) next: u64,
}

impl TextTail {
    pub(super) fn of(cap: usize) -> Self {
        Self {
            text: String::new(),
            chars: 0,
            cap,
            total_chars: 0,
            total_newlines: 0,
            dropped_newlines: 0,
        }
    }

    pub(super) fn push(&mut self, piece: &str) {
        let chars = piece.chars().count();
        self.text.push_str(piece);
        self.chars += chars;
        self.total_chars += chars as u64;
        self.total_newlines += newlines(piece);
        // Trimmed once per half a cap, not at every write: the work stays linear.
        if self.chars > self.cap + self.cap / 2 {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        // Counted before the drain: page numbers must not change when old lines are dropped.
        let start = self.start();
        self.dropped_newlines += newlines(&self.text[..start]);
        self.text.drain(..start);
        self.chars = self.chars.min(self.cap);
    }

    /// Releases memory that only growth needed.
    pub(super) fn normalise(&mut self) {
        self.shorten();
        self.text.shrink_to_fit();
    }

    /// Offset of the kept text.
    fn start(&self) -> usize {
        after_chars(&self.text, self.chars.saturating_sub(self.cap))
    }

    pub(super) fn retained(&self) -> &str {
        &self.text[self.start()..]
    }

    pub(super) fn last(&self, chars: usize) -> &str {
        let chars = chars.min(self.cap);
        let from_the_end = self.text.char_indices().rev();
        let start = chars
            .checked_sub(1)
            .map(|last| from_the_end.map(|(at, _)| at).nth(last).unwrap_or(0));
        &self.text[start.unwrap_or(self.text.len())..]
    }

    pub(super) fn total_chars(&self) -> u64 {
        self.total_chars
    }

    pub(super) fn truncated(&self) -> bool {
        self.total_chars > self.cap as u64
    }

    /// At most `limit` lines from line `offset` of the whole, or from the first kept one.
    pub(super) fn page(&self, offset: u64, limit: u64) -> LinePage<'_> {
        let start = self.start();
        let kept = &self.text[start..];
        let dropped = self.dropped_newlines + newlines(&self.text[..start]);
        let unfinished = !self.text.is_empty() && !self.text.ends_with('\n');
        let total = self.total_newlines + u64::from(unfinished);
        let first = offset.clamp(dropped, total.max(dropped));
        let end = first.saturating_add(limit).min(total);
        let from = after_lines(kept, first - dropped);
        let to = from + after_lines(&kept[from..], end - first);
        LinePage {
            text: &kept[from..to],
            first,
            next: (end < total).then_some(end),
            total,
            dropped,
        }
    }

    /// At most `limit` characters from character `from` of the whole. Dropped output is skipped up to the
    /// start of a line, so that no line is shown from its middle.
    pub(super) fn since(&self, from: u64, limit: usize) -> TailChunk<'_> {
        let first = self.total_chars - self.chars.min(self.cap) as u64;
        let mut at = from.clamp(first, self.total_chars);
        let ahead = usize::try_from(self.total_chars - at).unwrap_or(usize::MAX);
        let mut rest = self.last(ahead);
        // The reader missed output: start at a full line, so that it does not see half of one.
        if at > from
            && let Some(end) = rest.find('\n')
        {
            at += rest[..=end].chars().count() as u64;
            rest = &rest[end + 1..];
        }
        let text = &rest[..after_chars(rest, limit)];
        let next = at + text.chars().count() as u64;
        TailChunk { text, at, next }
    }

    #[cfg(test)]
    fn memory(&self) -> usize {
        self.text.capacity()
    }
}

fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// End of the first `count` characters of `text`.
fn after_chars(text: &str, count: usize) -> usize {
    if count == 0 {
        return 0;
    }
    let mut starts = text.char_indices().map(|(at, _)| at);
    starts.nth(count).unwrap_or(text.len())
}

/// End of the first `count` lines of `text`.
fn after_lines(text: &str, count: u64) -> usize {
    let Some(last) = count.checked_sub(1) else {
        return 0;
    };
    let mut ends = text.match_indices('\n').map(|(at, _)| at + 1);
    let last = usize::try_from(last).unwrap_or(usize::MAX);
    ends.nth(last).unwrap_or(text.len())
}

/// The pipe that a job printed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputStream {
    Stdout,
    Stderr,
}

impl OutputStream {
    fn other(self) -> Self {
        match self {
            Self::Stdout => Self::Stderr,
            Self::Stderr => Self::Stdout,
        }
    }
}

/// Both streams combined, and separately as long as that may be requested.
#[derive(Debug)]
pub(super) struct Transcript {
    pub(super) merged: TextTail,
    apart: Option<Box<[TextTail; 2]>>,
    full: Option<Full>,
}

/// The full output, on disk once it exceeds the memory limit.
#[derive(Debug, Default)]
struct Full {
    file: Option<File>,
    bytes: u64,
    /// The limit was reached, or the disk is full.
    cut: bool,
}

impl Full {
    fn push(&mut self, before: &TextTail, piece: &str) {
        if self.file.is_none() {
            // While everything fits in memory, no file is needed; most commands end here.
            if self.cut || before.total_chars + piece.chars().count() as u64 <= before.cap as u64 {
                return;
            }
            self.file = tempfile::tempfile().ok();
            self.write(&before.text);
        }
        self.write(piece);
    }

    fn write(&mut self, text: &str) {
        let fits = self.bytes + text.len() as u64 <= MAX_FULL;
        self.cut |= !fits;
        // Once cut, later output must not be appended: the file would look complete but have a gap.
        let Some(file) = self.file.as_mut().filter(|_| !self.cut) else {
            self.cut = true;
            return;
        };
        self.cut = file.write_all(text.as_bytes()).is_err();
        self.bytes += text.len() as u64;
    }

    /// The full output; if it was cut, its beginning and the end from memory.
    fn read(&mut self, end: &str) -> Option<String> {
        let file = self.file.as_mut()?;
        let mut text = String::new();
        file.rewind().ok()?;
        file.read_to_string(&mut text).ok()?;
        if self.cut {
            text.push_str("\n[... left out: more than 8 MiB ...]\n");
            text.push_str(end);
        }
        // JSON escapes make it longer: measured without building the string, which may be 12 MiB.
        let escapes = text.bytes().map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
            0..0x20 => 5,
            _ => 0,
        });
        (text.len() + escapes.sum::<usize>() <= MAX_FULL_JSON).then_some(text)
    }
}

impl Transcript {
    pub(super) fn new(full: bool) -> Self {
        let apart = [TextTail::of(MAX_CHARS), TextTail::of(MAX_CHARS)];
        Self {
            merged: TextTail::of(MAX_CHARS),
            apart: Some(Box::new(apart)),
            full: full.then(Full::default),
        }
    }

    fn push(&mut self, stream: OutputStream, piece: &str) {
        // Before `merged`, whose earlier text starts the file.
        if let Some(full) = &mut self.full {
            full.push(&self.merged, piece);
        }
        self.merged.push(piece);
        if let Some(apart) = &mut self.apart {
            apart[stream as usize].push(piece);
        }
    }

    /// From now on only the combined output is kept: `Process` shows nothing else.
    pub(super) fn merge(&mut self) {
        self.apart = None;
        self.full = None;
    }

    /// The full output, if it exceeds the memory limit and is wanted.
    pub(super) fn full_output(&mut self) -> Option<String> {
        let end = self.merged.retained();
        self.full.as_mut()?.read(end)
    }

    /// Each stream alone, if there was standard error.
    pub(super) fn apart(&self) -> Option<(&str, &str)> {
        let [stdout, stderr] = self.apart.as_deref()?;
        (stderr.total_chars() > 0).then(|| (stdout.retained(), stderr.retained()))
    }
}

/// Reads both streams to their ends into `transcript`, as data arrives. If both have data at once, their
/// order is unknown; the one that was not read last goes first. Progress is reported too.
/// Cancel-safe: what was read is kept.
pub(super) async fn pump<O, E>(
    transcript: &Mutex<Transcript>,
    progress: &Progress,
    stdout: Option<O>,
    stderr: Option<E>,
) where
    O: AsyncRead + Unpin,
    E: AsyncRead + Unpin,
{
    let (mut stdout, mut stderr) = (PipeSource::of(stdout), PipeSource::of(stderr));
    let mut chunk = vec![0; CHUNK];
    let mut text = String::new();
    let mut first = OutputStream::Stdout;
    loop {
        let next = poll_fn(|context| {
            let mut all_ended = true;
            // The stream that was not read last goes first, so that a chatty one cannot starve the other.
            for stream in [first, first.other()] {
                let read = match stream {
                    OutputStream::Stdout => stdout.poll(context, &mut chunk, &mut text),
                    OutputStream::Stderr => stderr.poll(context, &mut chunk, &mut text),
                };
                match read {
                    Some(Poll::Ready(())) => return Poll::Ready(Some(stream)),
                    Some(Poll::Pending) => all_ended = false,
                    None => {}
                }
            }
            if all_ended {
                Poll::Ready(None)
            } else {
                Poll::Pending
            }
        });
        let Some(stream) = next.await else { return };
        let mut transcript = transcript.lock().expect("no panic while held");
        transcript.push(stream, &text);
        drop(transcript);
        progress.print(&text);
        text.clear();
        first = stream.other();
    }
}

/// A pipe, and an incomplete character at its end.
struct PipeSource<R> {
    pipe: Option<R>,
    decoder: Decoder,
}

impl<R: AsyncRead + Unpin> PipeSource<R> {
    fn of(pipe: Option<R>) -> Self {
        Self {
            pipe,
            decoder: UTF_8.new_decoder_without_bom_handling(),
        }
    }

    /// Appends available data to `text`; `None` if the pipe had already ended.
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        chunk: &mut [u8],
        text: &mut String,
    ) -> Option<Poll<()>> {
        let pipe = Pin::new(self.pipe.as_mut()?);
        let mut read = ReadBuf::new(chunk);
        let ended = match pipe.poll_read(context, &mut read) {
            Poll::Pending => return Some(Poll::Pending),
            Poll::Ready(Ok(())) => read.filled().is_empty(),
            Poll::Ready(Err(_)) => true,
        };
        if ended {
            self.pipe = None;
        }
        let room = self.decoder.max_utf8_buffer_length(read.filled().len());
        text.reserve(room.unwrap_or(4 * CHUNK));
        // The decoder keeps an incomplete character for the next read, and flushes it at the end.
        let _ = self.decoder.decode_to_string(read.filled(), text, ended);
        Some(Poll::Ready(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    fn tail(cap: usize, pieces: &[&str]) -> TextTail {
        let mut tail = TextTail::of(cap);
        pieces.iter().for_each(|piece| tail.push(piece));
        tail
    }

    proptest! {
        #[test]
        fn a_tail_is_the_end_of_the_whole_however_it_was_cut(
            pieces in proptest::collection::vec("[aä€😀\n]{0,9}", 0..30), cap in 1_usize..40, settled: bool,
        ) {
            let whole: String = pieces.concat();
            let chars = whole.chars().count();
            let mut tail = tail(cap, &pieces.iter().map(String::as_str).collect::<Vec<_>>());
            if settled {
                tail.normalise();
            }
            let end = |count: usize| whole.chars().skip(chars.saturating_sub(count)).collect::<String>();
            prop_assert_eq!(tail.retained(), end(cap));
            prop_assert_eq!(tail.last(3), end(3.min(cap)));
            prop_assert_eq!(tail.total_chars(), chars as u64);
            prop_assert_eq!(tail.truncated(), chars > cap);
            let page = tail.page(0, u64::MAX);
            prop_assert_eq!(page.text, end(cap));
            prop_assert_eq!(page.total, whole.split_inclusive('\n').count() as u64);
            let dropped: String = whole.chars().take(chars.saturating_sub(cap)).collect();
            prop_assert_eq!(page.dropped, newlines(&dropped));
        }

        #[test]
        fn pieces_one_after_the_other_are_the_whole_from_where_it_is_kept(
            pieces in proptest::collection::vec("[aä😀\n]{0,9}", 0..20), cap in 1_usize..60, limit in 1_usize..7,
        ) {
            let whole: Vec<char> = pieces.concat().chars().collect();
            let tail = tail(cap, &pieces.iter().map(String::as_str).collect::<Vec<_>>());
            let (mut from, mut first) = (0, true);
            while from < whole.len() {
                let piece = tail.since(from as u64, limit);
                let (at, next) = (piece.at as usize, piece.next as usize);
                prop_assert_eq!(piece.text, whole[at..next].iter().collect::<String>());
                prop_assert!(next - at <= limit && (next > from || next == whole.len()));
                let kept = whole.len().saturating_sub(cap);
                match first && kept > 0 {
                    true => prop_assert!(at >= kept && (whole[at - 1] == '\n' || !whole[kept..].contains(&'\n'))),
                    false => prop_assert_eq!(at, from),
                }
                (from, first) = (next, false);
            }
            prop_assert_eq!(tail.since(u64::MAX, limit).text, "");
        }

        #[test]
        fn pages_put_together_are_the_whole(text in "[ab\r\n]{0,60}", limit in 1_u64..5) {
            let tail = tail(100, &[&text]);
            let (mut all, mut offset) = (String::new(), Some(0));
            while let Some(at) = offset {
                let page = tail.page(at, limit);
                prop_assert_eq!(page.first, at);
                all.push_str(page.text);
                offset = page.next;
            }
            prop_assert_eq!(all, text);
        }
    }

    #[test]
    fn a_page_that_begins_before_what_is_kept_says_where_it_begins() {
        let tail = tail(4, &["1\n2\n3\n", "4\n5"]);
        let page = |text, first, next| LinePage {
            text,
            first,
            next,
            total: 5,
            dropped: 2,
        };
        assert_eq!(tail.page(0, 1), page("\n", 2, Some(3)));
        assert_eq!(tail.page(3, 1), page("4\n", 3, Some(4)));
        assert_eq!(tail.page(4, 9), page("5", 4, None));
        assert_eq!(tail.page(99, 9), page("", 5, None));
    }

    #[test]
    fn memory_does_not_grow_with_what_is_printed() {
        let mut tail = TextTail::of(MAX_CHARS);
        let piece = "x".repeat(CHUNK);
        for _ in 0..800 {
            tail.push(&piece);
            assert!(tail.memory() <= 4 * MAX_CHARS);
        }
        assert_eq!(tail.total_chars(), 800 * CHUNK as u64);
        tail.normalise();
        assert_eq!(tail.memory(), MAX_CHARS);
    }

    #[tokio::test]
    async fn characters_survive_being_cut_by_chunks_and_by_the_other_stream() {
        let transcript = Mutex::new(Transcript::new(false));
        let (mut out, stdout) = tokio::io::duplex(64);
        let (mut err, stderr) = tokio::io::duplex(64);
        let printing = async {
            for (byte, note) in "ä€😀".bytes().zip(b'0'..) {
                out.write_all(&[byte]).await.unwrap();
                tokio::task::yield_now().await;
                err.write_all(&[note]).await.unwrap();
                tokio::task::yield_now().await;
            }
            out.write_all(b"\xff|\xe2\x82").await.unwrap();
            drop((out, err));
        };
        let told = std::sync::Arc::new(Mutex::new(String::new()));
        let taken = told.clone();
        let progress =
            Progress::default().with_output(move |text| taken.lock().unwrap().push_str(text));
        let pumped = pump(&transcript, &progress, Some(stdout), Some(stderr));
        tokio::join!(pumped, printing);
        let transcript = transcript.into_inner().unwrap();
        assert_eq!(
            transcript.apart(),
            Some(("ä€😀\u{fffd}|\u{fffd}", "012345678"))
        );
        assert_eq!(transcript.merged.total_chars(), 15);
        assert_eq!(transcript.merged.retained(), told.lock().unwrap().as_str());
        assert!(
            transcript.merged.retained().starts_with("0ä123€4"),
            "{transcript:?}"
        );
    }
}
