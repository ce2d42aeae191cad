//! Canonical JSON: equal values have the same text, so that fingerprints and digests can be compared.

use std::io::{self, Write};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// How much of a text is held. An approval request shows at most this much, so larger arguments are
/// never compared by their text.
pub(crate) const HELD: usize = 64 * 1024;

/// A value in its canonical spelling: sorted keys, no white space. Of a large value only the beginning
/// is held, so that recording a call of many megabytes does not copy them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CanonicalText {
    /// How many bytes the whole text has.
    pub(crate) len: usize,
    /// The SHA-256 of the whole text, as [`digest`] writes it.
    pub(crate) digest: String,
    head: Vec<u8>,
}

impl CanonicalText {
    /// The canonical spelling of `value`.
    pub(crate) fn of(value: &Value) -> Self {
        let mut head = Head::default();
        write_canonical(value, &mut head);
        let Head { len, held } = head;
        let digest = match len <= HELD {
            true => digest(&[&held]),
            // The digest begins with the length, so a text that is not held is spelled a second time.
            false => {
                let mut hash = Hash(Sha256::new());
                hash.0.update((len as u64).to_be_bytes());
                write_canonical(value, &mut hash);
                hex(hash.0)
            }
        };
        Self {
            len,
            digest,
            head: held,
        }
    }

    /// The beginning of the text, at most [`HELD`] bytes; all of it if there are no more.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The whole text, if it is held.
    pub(crate) fn whole(&self) -> Option<&str> {
        let held = self.len <= HELD;
        str::from_utf8(&self.head).ok().filter(|_| held)
    }
}

/// How many bytes a value has as text.
pub(crate) fn text_len(value: &Value) -> u64 {
    let mut count = Count(0);
    write_canonical(value, &mut count);
    count.0
}

#[derive(Default)]
struct Head {
    len: usize,
    held: Vec<u8>,
}

impl Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.len += bytes.len();
        let room = HELD.saturating_sub(self.held.len());
        self.held.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Hash(Sha256);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_canonical(value: &Value, out: &mut impl Write) {
    // None of the writers here can fail.
    let _ = write(value, out);
}

fn write(value: &Value, out: &mut impl Write) -> io::Result<()> {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.keys().collect();
            // Maps keep the order of insertion (`preserve_order`), so equal objects can differ in it.
            keys.sort();
            out.write_all(b"{")?;
            for (at, key) in keys.into_iter().enumerate() {
                if at > 0 {
                    out.write_all(b",")?;
                }
                serde_json::to_writer(&mut *out, key)?;
                out.write_all(b":")?;
                write(&map[key], out)?;
            }
            out.write_all(b"}")
        }
        Value::Array(items) => {
            out.write_all(b"[")?;
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.write_all(b",")?;
                }
                write(item, out)?;
            }
            out.write_all(b"]")
        }
        scalar => Ok(serde_json::to_writer(out, scalar)?),
    }
}

/// SHA-256 over the parts, each preceded by its length, so that no two lists of parts have the same bytes.
pub(crate) fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex(hash)
}

fn hex(hash: Sha256) -> String {
    let mut text = String::with_capacity(64);
    for byte in hash.finalize() {
        for half in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(half)]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: &Value, expect: &str) {
        let text = CanonicalText::of(value);
        assert_eq!((text.whole(), text.len), (Some(expect), expect.len()));
        assert_eq!(text.digest, digest(&[expect.as_bytes()]));
        assert_eq!(text_len(value), expect.len() as u64);
    }

    #[test]
    fn equal_values_have_one_spelling() {
        let spelled: Value =
            serde_json::from_str(r#"{ "b": [1, "x"], "a": {"d":null, "c":true} }"#).unwrap();
        check(&spelled, r#"{"a":{"c":true,"d":null},"b":[1,"x"]}"#);
        check(&json!("é\"\n"), "\"é\\\"\\n\"");
        check(&json!(1.0), "1.0");
    }

    #[test]
    fn of_a_large_value_the_beginning_is_kept_and_all_of_it_is_hashed() {
        let value = json!({ "b": "x".repeat(HELD), "a": 1 });
        let expect = format!(r#"{{"a":1,"b":"{}"}}"#, "x".repeat(HELD));
        let text = CanonicalText::of(&value);
        assert_eq!(text.head(), &expect.as_bytes()[..HELD]);
        assert_eq!((text.whole(), text.len), (None, expect.len()));
        assert_eq!(text.digest, digest(&[expect.as_bytes()]));
    }

    #[test]
    fn parts_cannot_run_into_each_other() {
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
        assert_eq!(digest(&[b"ab"]).len(), 64);
    }
}
