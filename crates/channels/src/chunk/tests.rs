use std::cell::Cell;

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::pieces;

fn chars(text: &str) -> usize {
    text.chars().count()
}

fn utf16(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The characters of a text as people see them, without blanks and the lines of fences.
fn said(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !is_fence(line));
    let seen = lines.flat_map(|line| line.graphemes(true));
    seen.filter(|grapheme| !grapheme.trim().is_empty())
        .collect()
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// Whether a text that begins outside of code ends outside of it.
fn is_closed(text: &str) -> bool {
    let mut open: Option<String> = None;
    for line in text.lines().filter(|line| is_fence(line)) {
        let marker: String = line.chars().take_while(|c| line.starts_with(*c)).collect();
        let bare = line[marker.len()..].trim().is_empty();
        open = match open {
            None => Some(marker),
            Some(open) if bare && marker.starts_with(&open) => None,
            open => open,
        };
    }
    open.is_none()
}

const PARTS: &[&str] = &[
    "word ",
    "a",
    "longer-word-with-hyphens",
    "supercalifragilisticexpialidocious",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\n\n",
    "\t",
    ". ",
    "! ",
    "日本語の文章。",
    "漢",
    "한국어 ",
    "e\u{301}",
    "a\u{300}\u{301}\u{302}\u{303}",
    "🇩🇪",
    "🇯🇵🇫🇷",
    "👨‍👩‍👧‍👦",
    "👍🏽",
    "🧑🏿‍🚀",
    "नमस्ते",
    "**bold words** ",
    "`code span` ",
    "[a link](https://example.org/some/path) ",
    "~~gone~~",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "- item\n",
    "  1. nested\n",
    "> quoted\n",
    "# heading\n",
    "\n```rust\nfn main() {\n    body();\n}\n```\n",
    "\n~~~\n日本語 👍🏽 code\n\n\nmore\n~~~\n",
    "\n````md\n```\ninner\n```\n````\n",
    "\n```\r\nwindows\r\n    lines\r\n```\r\n",
    "\n```text\n",
    "\n```\n",
    "   ",
    " \u{301}",
    "x\u{200d}",
];

fn texts() -> impl Strategy<Value = String> {
    let part = (0..PARTS.len()).prop_map(|at| PARTS[at]);
    proptest::collection::vec(part, 0..11).prop_map(|parts| parts.concat())
}

fn check(text: &str, limit: usize, size: fn(&str) -> usize) -> Result<(), TestCaseError> {
    let all = pieces(text, limit, &size);
    for piece in &all {
        prop_assert!(!piece.trim().is_empty(), "a blank piece of {text:?}");
        prop_assert!(size(piece) <= limit, "{} > {limit}: {piece:?}", size(piece));
        prop_assert!(is_closed(piece), "an open fence: {piece:?} of {text:?}");
    }
    let together: Vec<&str> = all.iter().flat_map(|piece| said(piece)).collect();
    prop_assert_eq!(together, said(text), "limit {}: {:?}", limit, all);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_is_torn_or_lost_whatever_is_cut(
        text in texts(),
        limit in 56_usize..120,
        unit in 0..3_usize,
    ) {
        let size = [chars, utf16, str::len][unit];
        check(&text, limit, size)?;
    }
}

#[test]
fn a_text_that_fits_is_one_piece_and_a_blank_one_is_none() {
    assert_eq!(pieces("hello\n\nworld\n", 100, &chars), ["hello\n\nworld"]);
    assert_eq!(pieces("", 100, &chars), [""; 0]);
    assert_eq!(pieces(" \r\n\t\n", 1, &chars), [""; 0]);
}

#[test]
fn paragraphs_are_kept_whole_before_lines_and_lines_before_sentences_and_words() {
    for (text, limit, expect) in [
        (
            "one two.\n\nthree four\nfive",
            20,
            vec!["one two.", "three four\nfive"],
        ),
        (
            "one two three\nfour five six",
            20,
            vec!["one two three", "four five six"],
        ),
        (
            "One two. Three four five",
            18,
            vec!["One two.", "Three four five"],
        ),
        ("one two three four", 10, vec!["one two", "three four"]),
        ("abcdefghij", 4, vec!["abcd", "efgh", "ij"]),
        (
            "第一句。第二句很长很长",
            8,
            vec!["第一句。", "第二句很长很长"],
        ),
        (
            "- a\n  - nested one\n",
            12,
            vec!["- a", "  - nested", "one"],
        ),
    ] {
        assert_eq!(pieces(text, limit, &chars), expect, "{text:?}");
    }
}

#[test]
fn a_fence_is_closed_and_opened_again_with_its_language_and_its_indents() {
    let text = "Look:\n\n```python\ndef f():\n    return 1\n\ndef g():\n    return 2\n```\nDone.";
    assert_eq!(
        pieces(text, 44, &chars),
        [
            "Look:\n\n```python\ndef f():\n    return 1\n```",
            "```python\ndef g():\n    return 2\n```\nDone."
        ]
    );
    let listed = "- ~~~ sh\n  first\n  second\n  ~~~\n";
    assert_eq!(
        pieces(listed, 28, &chars),
        ["- ~~~ sh\n  first\n  ~~~", "  ~~~sh\n  second\n  ~~~"]
    );
}

#[test]
fn a_fence_that_the_text_leaves_open_is_closed() {
    assert_eq!(pieces("```js\nlet a", 100, &chars), ["```js\nlet a\n```"]);
    assert_eq!(pieces("> ```\n> a\nb", 100, &chars), ["> ```\n> a\nb"]);
}

#[test]
fn inline_code_links_and_bold_words_are_kept_whole_where_that_can_be_helped() {
    for (span, limit) in [
        ("`a piece of code here`", 30),
        ("[words of a link](https://example.org/a)", 50),
        ("**some bold words here**", 30),
    ] {
        let text = format!("twelve chars {span} and then some more words that follow it");
        let all = pieces(&text, limit, &chars);
        assert!(all.iter().any(|piece| piece.contains(span)), "{all:?}");
    }
    // One that fits nowhere is cut between its words.
    let all = pieces("**a bold text that is long**", 12, &chars);
    assert_eq!(all, ["**a bold", "text that is", "long**"]);
}

#[test]
fn what_would_become_a_fence_is_not_made_one() {
    let text = "some words first ```` more words after that and on";
    let all = pieces(text, 24, &chars);
    assert!(all.iter().all(|piece| !piece.starts_with("```")), "{all:?}");
    let hostile = "`".repeat(5_000);
    let all = pieces(&hostile, 100, &chars);
    assert_eq!(all.len(), 50);
    assert_eq!(all.concat(), hostile);
    let info = format!("```{}\ncode\n```", "i".repeat(5_000));
    let all = pieces(&info, 100, &chars);
    assert!(all.iter().all(|piece| chars(piece) <= 100));
}

#[test]
fn a_character_larger_than_a_piece_is_cut_between_its_parts() {
    let zalgo = format!("a{}", "\u{301}".repeat(10_000));
    let all = pieces(&zalgo, 64, &chars);
    assert_eq!(all.concat(), zalgo);
    assert!(all.iter().all(|piece| chars(piece) <= 64));
    // A family that fits stays together: the limit holds for others.
    assert_eq!(pieces("👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 7, &chars), ["👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"]);
    // What no limit allows is sent as it is rather than never.
    assert_eq!(pieces("ab", 0, &chars), ["a", "b"]);
    assert_eq!(pieces("漢字", 1, &str::len), ["漢", "字"]);
}

#[test]
fn a_long_text_is_measured_few_times_whatever_it_is() {
    let kinds = [
        "Some words of a sentence. ".repeat(4_000),
        "x".repeat(100_000),
        "漢".repeat(33_000),
        "🇩🇪".repeat(12_500),
        format!("a{}", "\u{301}".repeat(50_000)),
        "`".repeat(100_000),
        "[".repeat(100_000),
        "```\n".repeat(25_000),
        format!("```\n{}x\n```", "\n ".repeat(50_000)),
        format!("```\n{}x\n```", " ".repeat(100_000)),
        "> * > ".repeat(16_000),
        "\r\n".repeat(50_000),
    ];
    for text in kinds {
        let measured = Cell::new(0_usize);
        let size = |piece: &str| {
            measured.set(measured.get() + piece.len());
            utf16(piece)
        };
        let all = pieces(&text, 2_000, &size);
        assert!(all.iter().all(|piece| utf16(piece) <= 2_000));
        let start: String = text.chars().take(8).collect();
        let times = measured.get() / text.len();
        assert!(times <= 24, "{start:?} is measured {times} times over");
    }
}
