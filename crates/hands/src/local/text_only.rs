//! A reader that stops where a file is not text.

use std::io::{self, Read};

use tokio_util::sync::CancellationToken;

/// Passes data on while it is UTF-8; at the first invalid byte, or when cancelled, it reports the end and
/// remembers why.
#[derive(Debug)]
pub(super) struct TextOnly<'a, R> {
    inner: R,
    /// Remaining bytes of the size at opening, if known: at its end another read would be useless.
    left: Option<u64>,
    /// An incomplete character at the end of the last read.
    split: Vec<u8>,
    binary: bool,
    cancel: &'a CancellationToken,
}

impl<'a, R: Read> TextOnly<'a, R> {
    pub(super) fn new(inner: R, size: u64, cancel: &'a CancellationToken) -> Self {
        Self {
            inner,
            left: (size > 0).then_some(size),
            split: Vec::new(),
            binary: false,
            cancel,
        }
    }

    /// Whether binary data was found.
    pub(super) fn is_binary(&self) -> bool {
        self.binary
    }

    /// Checks at most `most` of the remaining data, for the verdict only.
    pub(super) fn examine(&mut self, most: u64) -> io::Result<()> {
        io::copy(&mut self.take(most), &mut io::sink()).map(drop)
    }

    fn holds_text(&mut self, mut bytes: &[u8]) -> bool {
        while let Some((first, rest)) = bytes.split_first().filter(|_| !self.split.is_empty()) {
            self.split.push(*first);
            bytes = rest;
            match std::str::from_utf8(&self.split) {
                Ok(_) => self.split.clear(),
                Err(error) if error.error_len().is_some() => return false,
                Err(_) => {}
            }
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(error) if error.error_len().is_none() => {
                self.split.extend_from_slice(&bytes[error.valid_up_to()..]);
                true
            }
            Err(_) => false,
        }
    }
}

impl<R: Read> Read for TextOnly<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.binary || self.cancel.is_cancelled() {
            return Ok(0);
        }
        let read = match self.left {
            // Saves one system call per file, which matters for trees of small files.
            Some(0) => 0,
            _ => self.inner.read(buffer)?,
        };
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(read as u64);
        }
        let text = if read == 0 {
            // An unfinished character at the end means that it is not text.
            buffer.is_empty() || self.split.is_empty()
        } else {
            self.holds_text(&buffer[..read])
        };
        if text {
            return Ok(read);
        }
        self.binary = true;
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes in parts of a fixed size.
    struct Parts<'a>(&'a [u8], usize);

    impl Read for Parts<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = self.1.min(buffer.len());
            self.0.read(&mut buffer[..most])
        }
    }

    #[test]
    fn the_verdict_does_not_depend_on_where_reads_end() {
        let cancel = CancellationToken::new();
        for (bytes, binary) in [
            (&b""[..], false),
            (b"plain", false),
            ("aä€😀z".as_bytes(), false),
            (b"a\0b", false),
            (b"a\xffb", true),
            (b"ab\xe2\x82", true),
            (b"ab\xe2\x82z", true),
            (b"\xf0\x9f\x98\x80\xf0\x9f", true),
        ] {
            for part in 1..=bytes.len().max(1) {
                let inner = Parts(bytes, part);
                let mut reader = TextOnly::new(inner, bytes.len() as u64, &cancel);
                let mut read = Vec::new();
                reader.read_to_end(&mut read).unwrap();
                assert_eq!(reader.is_binary(), binary, "{bytes:?} by {part}");
                assert!(binary || read == bytes, "{bytes:?} by {part}");
            }
        }
    }

    #[test]
    fn cancelling_ends_the_text() {
        let cancel = CancellationToken::new();
        let mut reader = TextOnly::new(io::repeat(b'a'), 1 << 40, &cancel);
        let mut buffer = [0; 16];
        assert_eq!(reader.read(&mut buffer).unwrap(), 16);
        cancel.cancel();
        assert_eq!(reader.read(&mut buffer).unwrap(), 0);
        assert!(!reader.is_binary());
    }
}
