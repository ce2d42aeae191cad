//! Decodes text in any encoding.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use url::Url;

/// How far a page is searched for its declared encoding, as in browsers.
const PRESCAN: usize = 1024;

/// Whether the bytes are complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completeness {
    /// Complete.
    Whole,
    /// Cut, possibly inside a character, which is then dropped.
    Cut,
}

/// Decodes `bytes`. A byte order mark takes precedence, because it is part of the text; then the
/// header, then the page's declaration, then a guess.
pub(super) fn decode(
    bytes: &[u8],
    content_type: Option<&str>,
    url: &Url,
    end: Completeness,
) -> String {
    let encoding = detect(bytes, content_type, url);
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let room = decoder.max_utf8_buffer_length(bytes.len());
    let mut text = String::with_capacity(room.unwrap_or(bytes.len()));
    let mut rest = bytes;
    loop {
        let (_, read, _) = decoder.decode_to_string(rest, &mut text, end == Completeness::Whole);
        rest = &rest[read..];
        if rest.is_empty() {
            text.shrink_to_fit();
            return text;
        }
        text.reserve(rest.len() + 16);
    }
}

fn detect(bytes: &[u8], content_type: Option<&str>, url: &Url) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding;
    }
    let declared = content_type.and_then(|value| label_after_charset(value.as_bytes()));
    declared
        .or_else(|| meta(&bytes[..bytes.len().min(PRESCAN)]))
        .unwrap_or_else(|| guess(bytes, url))
}

/// The encoding declared by a page or an XML declaration.
fn meta(head: &[u8]) -> Option<&'static Encoding> {
    let lower = head.to_ascii_lowercase();
    let mut rest = lower.as_slice();
    while let Some(at) = rest.iter().position(|byte| *byte == b'<') {
        rest = &rest[at..];
        if rest.starts_with(b"<!--") {
            rest = &rest[find(rest, b"-->")?..];
            continue;
        }
        let tag = &rest[..rest
            .iter()
            .position(|byte| *byte == b'>')
            .unwrap_or(rest.len())];
        let declared = if tag.starts_with(b"<meta") {
            label_after_charset(tag)
        } else if tag.starts_with(b"<?xml") {
            label_after(tag, b"encoding")
        } else {
            None
        };
        if let Some(encoding) = declared {
            // The declaration was readable as ASCII, so a wide encoding cannot be true.
            let wide = !encoding.is_ascii_compatible();
            return Some(if wide { UTF_8 } else { encoding });
        }
        rest = &rest[1..];
    }
    None
}

fn label_after_charset(text: &[u8]) -> Option<&'static Encoding> {
    label_after(&text.to_ascii_lowercase(), b"charset")
}

/// The encoding in `key = "label"`.
fn label_after(text: &[u8], key: &[u8]) -> Option<&'static Encoding> {
    let mut rest = text;
    while let Some(at) = find(rest, key) {
        rest = &rest[at + key.len()..];
        if let Some(value) = rest.trim_ascii_start().strip_prefix(b"=") {
            let value = unquoted(value.trim_ascii_start());
            let stop = |byte: &u8| matches!(byte, b'"' | b'\'' | b';' | b'/' | b'>' | b'?');
            let ends = |byte: &u8| stop(byte) || byte.is_ascii_whitespace();
            let label = &value[..value.iter().position(ends).unwrap_or(value.len())];
            return Encoding::for_label(label);
        }
    }
    None
}

fn unquoted(value: &[u8]) -> &[u8] {
    value
        .strip_prefix(b"\"")
        .or_else(|| value.strip_prefix(b"'"))
        .unwrap_or(value)
}

fn find(text: &[u8], sought: &[u8]) -> Option<usize> {
    text.windows(sought.len())
        .position(|window| window == sought)
}

fn guess(bytes: &[u8], url: &Url) -> &'static Encoding {
    if bytes.is_ascii() {
        return UTF_8;
    }
    // Browsers refuse this guess too: escape sequences in it can hide markup.
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let country = url
        .domain()
        .and_then(|domain| domain.rsplit('.').next())
        .filter(|label| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_lowercase()));
    let guessed = detector.guess(country.map(str::as_bytes), Utf8Detection::Allow);
    // A wrong guess of a wide encoding turns the whole page into garbage.
    if guessed.is_ascii_compatible() {
        guessed
    } else {
        WINDOWS_1252
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], content_type: Option<&str>, expect: &str) {
        let url = Url::parse("https://example.com/").unwrap();
        assert_eq!(
            decode(bytes, content_type, &url, Completeness::Whole),
            expect
        );
    }

    #[test]
    fn the_mark_the_header_and_the_page_are_believed_in_that_order() {
        let latin = Some("text/html; charset=ISO-8859-1");
        check(b"caf\xe9", latin, "café");
        check(b"caf\xe9", Some("text/html;charset=\"latin1\""), "café");
        check(b"\xef\xbb\xbfcaf\xc3\xa9", latin, "café");
        check(b"\xff\xfec\0a\0f\0\xe9\0", None, "café");
        check(b"<meta charset=koi8-r>\xc1", None, "<meta charset=koi8-r>а");
        check(
            b"<META http-equiv=x content='text/html; charset = \"koi8-r\"'>\xc1",
            None,
            "<META http-equiv=x content='text/html; charset = \"koi8-r\"'>а",
        );
        check(
            b"<meta charset=koi8-r>\xe9",
            latin,
            "<meta charset=koi8-r>é",
        );
        check(
            b"<?xml version='1.0' encoding='windows-1251'?>\xe0",
            None,
            "<?xml version='1.0' encoding='windows-1251'?>а",
        );
    }

    #[test]
    fn what_a_comment_or_an_unknown_label_says_is_not_believed() {
        check(
            "<!-- <meta charset=koi8-r> -->é".as_bytes(),
            None,
            "<!-- <meta charset=koi8-r> -->é",
        );
        check("é".as_bytes(), Some("text/plain; charset=klingon"), "é");
        check(
            "<meta charset=utf-16>é".as_bytes(),
            None,
            "<meta charset=utf-16>é",
        );
    }

    #[test]
    fn an_undeclared_charset_is_detected() {
        check("naïve".as_bytes(), None, "naïve");
        check("日本語のテキスト".as_bytes(), None, "日本語のテキスト");
        let (sjis, _, _) = encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。漢字とかな。");
        check(&sjis, None, "これは日本語の文章です。漢字とかな。");
        let (cyrillic, _, _) =
            encoding_rs::WINDOWS_1251.encode("Это русский текст без указания кодировки");
        check(&cyrillic, None, "Это русский текст без указания кодировки");
    }

    #[test]
    fn a_character_that_was_cut_in_half_is_left_out() {
        let url = Url::parse("https://example.com/").unwrap();
        let utf8 = Some("text/plain; charset=utf-8");
        let half = &"añ".as_bytes()[..2];
        assert_eq!(decode(half, utf8, &url, Completeness::Cut), "a");
        assert_eq!(decode(half, utf8, &url, Completeness::Whole), "a\u{fffd}");
    }
}
