//! Program output: beginning and end in memory, the whole in a file.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use encoding_rs::{Decoder, UTF_8};
use manyhands_core::Progress;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Output of one stream.
#[derive(Debug)]
pub struct StreamOutput {
    /// The output, or its beginning and end.
    pub text: String,
    /// Total bytes.
    pub total: u64,
    /// Whether `text` is incomplete.
    pub truncated: bool,
    /// The stored output, if `text` is incomplete.
    pub retained: Option<File>,
}

/// Collects one stream within bounds.
pub(super) struct Spool {
    head: Vec<u8>,
    tail: Vec<u8>,
    limit: usize,
    total: u64,
    overflown: bool,
    file: Option<File>,
    max_kept: u64,
    folder: PathBuf,
    /// Receives output, with an incomplete character held back.
    reporter: Option<(Progress, Decoder)>,
}

impl Spool {
    pub(super) fn new(limit: usize, max_kept: u64, folder: &Path) -> Self {
        Self {
            head: Vec::new(),
            tail: Vec::new(),
            limit,
            total: 0,
            overflown: false,
            file: None,
            max_kept,
            folder: folder.to_owned(),
            reporter: None,
        }
    }

    /// Reports output to `progress`.
    pub(super) fn reporting(mut self, progress: &Progress) -> Self {
        // A chunk may end inside a character, which must not be shown as garbage.
        let decoder = UTF_8.new_decoder_without_bom_handling();
        let watched = progress.has_output_listener();
        self.reporter = watched.then(|| (progress.clone(), decoder));
        self
    }

    /// Reads until the stream ends.
    pub(super) async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else {
            return;
        };
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = stream.read(&mut chunk).await {
            self.take(&chunk[..read]);
        }
    }

    fn report(&mut self, bytes: &[u8]) {
        let Some((progress, decoder)) = &mut self.reporter else {
            return;
        };
        let room = decoder.max_utf8_buffer_length(bytes.len());
        let mut text = String::with_capacity(room.unwrap_or(4 * bytes.len()));
        let _ = decoder.decode_to_string(bytes, &mut text, false);
        progress.print(&text);
    }

    fn take(&mut self, bytes: &[u8]) {
        self.report(bytes);
        let before = self.total;
        self.total += bytes.len() as u64;
        if self.overflown {
            self.retain(bytes, before);
            self.tail.extend_from_slice(bytes);
        } else {
            self.head.extend_from_slice(bytes);
            if self.head.len() <= self.limit {
                return;
            }
            self.overflown = true;
            // Created only when needed: most outputs fit in memory.
            self.file = tempfile::tempfile_in(&self.folder).ok();
            let head = std::mem::take(&mut self.head);
            self.retain(&head, 0);
            self.head = head;
            // Half of the limit for the beginning, half for the end, where errors are.
            self.tail = self.head.split_off(self.limit / 2);
        }
        // Trimmed now and then, not at every byte: the work stays linear.
        if self.tail.len() > self.limit * 2 {
            self.shorten_tail();
        }
    }

    fn retain(&mut self, bytes: &[u8], at: u64) {
        let room = usize::try_from(self.max_kept.saturating_sub(at)).unwrap_or(usize::MAX);
        let Some(file) = &mut self.file else {
            return;
        };
        // A full disk costs the stored copy, not the run.
        if file.write_all(&bytes[..bytes.len().min(room)]).is_err() {
            self.file = None;
        }
    }

    fn shorten_tail(&mut self) {
        let half = self.limit - self.limit / 2;
        let cut = self.tail.len().saturating_sub(half);
        self.tail.drain(..cut);
    }

    pub(super) fn finish(mut self) -> StreamOutput {
        let truncated = self.overflown;
        if truncated {
            self.shorten_tail();
        }
        let mut text = lossy_end(&self.head);
        if truncated {
            let left_out = self.total - self.head.len() as u64 - self.tail.len() as u64;
            text.push_str(&format!("\n[... {left_out} bytes left out ...]\n"));
            text.push_str(&lossy_start(&self.tail));
        }
        let retained = self.file.filter(|_| truncated).and_then(|mut file| {
            file.rewind().ok()?;
            let whole = file.metadata().ok()?.len() > 0;
            whole.then_some(file)
        });
        StreamOutput {
            text,
            total: self.total,
            truncated,
            retained,
        }
    }
}

/// Text from bytes whose last character may be incomplete.
fn lossy_end(bytes: &[u8]) -> String {
    let cut = (1..4).find(|back| {
        let tail = bytes.len().checked_sub(*back).map(|at| &bytes[at..]);
        tail.is_some_and(|tail| {
            std::str::from_utf8(tail)
                .is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
        })
    });
    String::from_utf8_lossy(&bytes[..bytes.len() - cut.unwrap_or(0)]).into_owned()
}

/// Text from bytes whose first character may be incomplete.
fn lossy_start(bytes: &[u8]) -> String {
    let rest = bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xc0 == 0x80)
        .count();
    String::from_utf8_lossy(&bytes[rest..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn spooled(limit: usize, max_kept: u64, chunks: &[&[u8]]) -> StreamOutput {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(limit, max_kept, folder.path());
        for chunk in chunks {
            spool.take(chunk);
        }
        spool.finish()
    }

    #[test]
    fn what_fits_is_given_back_whole() {
        let output = spooled(10, 100, &[b"hello", b" you!"]);
        assert_eq!(
            (output.text.as_str(), output.total, output.truncated),
            ("hello you!", 10, false)
        );
        assert!(output.retained.is_none());
    }

    #[test]
    fn what_does_not_fit_keeps_both_ends_and_the_whole() {
        let all: Vec<u8> = (0..1_000).map(|n| b'a' + (n % 26) as u8).collect();
        for size in [1, 7, 64, 1_000] {
            let chunks: Vec<&[u8]> = all.chunks(size).collect();
            let output = spooled(20, 10_000, &chunks);
            let expect = format!(
                "{}\n[... 980 bytes left out ...]\n{}",
                String::from_utf8_lossy(&all[..10]),
                String::from_utf8_lossy(&all[990..])
            );
            assert_eq!(
                (output.text, output.total, output.truncated),
                (expect, 1_000, true),
                "{size}"
            );
            let mut whole = Vec::new();
            output.retained.unwrap().read_to_end(&mut whole).unwrap();
            assert_eq!(whole, all, "{size}");
        }
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        let output = spooled(4, 10, &[&[b'x'; 100]]);
        let mut whole = Vec::new();
        output.retained.unwrap().read_to_end(&mut whole).unwrap();
        assert_eq!((whole.len(), output.total), (10, 100));
    }

    #[test]
    fn progress_never_splits_a_character() {
        let reporter = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let taken = reporter.clone();
        let progress = Progress::default()
            .with_output(move |text| taken.lock().unwrap().push(text.to_owned()));
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(4, 100, folder.path()).reporting(&progress);
        for chunk in "a€b\u{1b}".as_bytes().chunks(2) {
            spool.take(chunk);
        }
        assert_eq!(*reporter.lock().unwrap(), ["a", "€", "b\u{1b}"]);
        assert_eq!(spool.finish().total, 6);
    }

    #[test]
    fn characters_are_not_cut_in_two() {
        let text = "ä".repeat(100);
        let output = spooled(11, 1_000, &[text.as_bytes()]);
        assert!(!output.text.contains('\u{fffd}'), "{}", output.text);
        assert!(output.text.starts_with('ä') && output.text.ends_with('ä'));
    }
}
