//! Converts Telegram's text entities to Markdown.
//!
//! Telegram counts in UTF-16 units. An entity whose ends are not character boundaries, or that lies
//! outside its text, is ignored. Unmarked text stays as typed.

use std::ops::Range;

use crate::message::Mention;

use super::update::Entity;

/// Our id and handle.
#[derive(Debug, Clone, Copy)]
pub(super) struct BotRef<'a> {
    pub id: i64,
    pub handle: Option<&'a str>,
}

/// A converted text.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Marked {
    /// The Markdown text, without mentions of us at its ends.
    pub text: String,
    /// Whether it addresses us.
    pub calls: bool,
    /// Other people it mentions.
    pub mentions: Vec<Mention>,
}

/// Maximum entities processed; Telegram shows a hundred.
const MOST: usize = 1_000;

/// Converts a text.
pub(super) fn read(text: &str, entities: &[Entity], us: BotRef<'_>) -> Marked {
    let mut marked = Marked::default();
    let mut edits = Vec::new();
    let mut calls = Vec::new();
    let mut spans = Vec::new();
    let ends = CharOffsets::of(text);
    for entity in entities.iter().take(MOST) {
        let Some(range) = ends.range(entity) else {
            continue;
        };
        match whom(&text[range.clone()], entity, us) {
            MentionTarget::Us(kept) => {
                marked.calls = true;
                match kept {
                    0 => calls.push(range.clone()),
                    kept => edits.push(Edit::cut(range.start + kept..range.end)),
                }
            }
            MentionTarget::Other(mention) => marked.mentions.push(mention),
            MentionTarget::Nobody => {}
        }
        spans.push((range, entity));
    }
    let cuts = at_the_ends(text, &calls);
    for (order, (range, entity)) in spans.into_iter().enumerate() {
        let gone = |cut: &Range<usize>| cut.start <= range.start && range.end <= cut.end;
        if !cuts.iter().any(gone) {
            mark(text, range, entity, order, &mut edits);
        }
    }
    edits.extend(cuts.into_iter().map(Edit::cut));
    marked.text = apply(text, edits).trim().to_owned();
    marked
}

/// Who an entity refers to.
enum MentionTarget {
    /// Us; the given number of bytes is something else.
    Us(usize),
    Other(Mention),
    Nobody,
}

fn whom(words: &str, entity: &Entity, us: BotRef<'_>) -> MentionTarget {
    let ours = |handle: &str| {
        us.handle
            .is_some_and(|own| own.eq_ignore_ascii_case(handle))
    };
    match entity.kind.as_str() {
        "mention" => {
            let handle = words.trim_start_matches('@');
            if ours(handle) {
                return MentionTarget::Us(0);
            }
            MentionTarget::Other(Mention {
                handle: Some(handle.to_owned()),
                ..Mention::default()
            })
        }
        "text_mention" => match &entity.user {
            Some(user) if user.id == us.id => MentionTarget::Us(0),
            Some(user) => MentionTarget::Other(Mention {
                id: Some(user.id.to_string()),
                handle: user.username.clone(),
                name: Some(user.name()),
            }),
            None => MentionTarget::Nobody,
        },
        "bot_command" => match words.split_once('@') {
            Some((command, handle)) if ours(handle) => MentionTarget::Us(command.len()),
            _ => MentionTarget::Nobody,
        },
        _ => MentionTarget::Nobody,
    }
}

/// The mentions of us at either end of the text, with the whitespace next to them.
fn at_the_ends(text: &str, calls: &[Range<usize>]) -> Vec<Range<usize>> {
    let parts = |c: char| c.is_whitespace() || matches!(c, ',' | ':');
    let mut cuts = Vec::new();
    let mut from = 0;
    for call in calls {
        if call.start < from || !text[from..call.start].trim().is_empty() {
            break;
        }
        let rest = &text[call.end..];
        from = call.end + (rest.len() - rest.trim_start_matches(parts).len());
        cuts.push(call.start..from);
    }
    let mut to = text.len();
    for call in calls.iter().rev() {
        if call.start < from || call.end > to || !text[call.end..to].trim().is_empty() {
            break;
        }
        to = call.start;
        cuts.push(call.clone());
    }
    cuts
}

/// A replacement of a range.
struct Edit {
    range: Range<usize>,
    with: String,
    /// At one position, ends of marks come first, innermost first; then starts.
    rank: (u8, i64, i64),
}

impl Edit {
    fn cut(range: Range<usize>) -> Self {
        Self {
            range,
            with: String::new(),
            rank: (3, 0, 0),
        }
    }
}

fn mark(text: &str, range: Range<usize>, entity: &Entity, order: usize, edits: &mut Vec<Edit>) {
    let words = &text[range.clone()];
    // Delimiters must touch the words: `** bold **` is not bold.
    let blank = words.len() - words.trim_start().len();
    let inner = range.start + blank..range.start + blank + words.trim().len();
    if inner.is_empty() {
        return;
    }
    let mut around = |range: Range<usize>, open: String, close: String| {
        let (start, end, order) = (range.start as i64, range.end as i64, order as i64);
        edits.push(Edit {
            range: range.start..range.start,
            with: open,
            rank: (2, -end, order),
        });
        edits.push(Edit {
            range: range.end..range.end,
            with: close,
            rank: (1, -start, -order),
        });
    };
    let both = |mark: &str| (mark.to_owned(), mark.to_owned());
    match entity.kind.as_str() {
        "bold" => {
            let (open, close) = both("**");
            around(inner, open, close);
        }
        "italic" => {
            let (open, close) = both("*");
            around(inner, open, close);
        }
        "strikethrough" => {
            let (open, close) = both("~~");
            around(inner, open, close);
        }
        "spoiler" => {
            let (open, close) = both("||");
            around(inner, open, close);
        }
        "code" => {
            let (open, close) = code(words);
            around(range, open, close);
        }
        "pre" => {
            let (open, close) = fence(text, &range, entity.language.as_deref());
            around(range, open, close);
        }
        "text_link" => {
            if let Some(url) = entity.url.as_deref().filter(|url| *url != words) {
                around(inner, "[".to_owned(), format!("]({})", address(url)));
            }
        }
        "text_mention" => {
            if let Some(user) = &entity.user {
                let close = format!("](tg://user?id={})", user.id);
                around(inner, "[".to_owned(), close);
            }
        }
        "blockquote" | "expandable_blockquote" => quote(text, &range, order, edits),
        _ => {}
    }
}

/// The longest run of backticks.
fn ticks(words: &str) -> usize {
    let runs = words.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

fn code(words: &str) -> (String, String) {
    let marks = "`".repeat(ticks(words) + 1);
    let edge = words.starts_with('`') || words.ends_with('`');
    let pad = if edge { " " } else { "" };
    (format!("{marks}{pad}"), format!("{pad}{marks}"))
}

fn fence(text: &str, range: &Range<usize>, language: Option<&str>) -> (String, String) {
    let words = &text[range.clone()];
    let marks = "`".repeat((ticks(words) + 1).max(3));
    let language: String = language
        .unwrap_or("")
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "+-_#.".contains(*c))
        .collect();
    let before = if begins_line(text, range.start) {
        ""
    } else {
        "\n"
    };
    let last = if words.ends_with('\n') { "" } else { "\n" };
    let after = if ends_line(text, range.end) { "" } else { "\n" };
    (
        format!("{before}{marks}{language}\n"),
        format!("{last}{marks}{after}"),
    )
}

/// A quote: a marker before each of its lines.
fn quote(text: &str, range: &Range<usize>, order: usize, edits: &mut Vec<Edit>) {
    let mut put = |at: usize, with: &str, rank: (u8, i64, i64)| {
        edits.push(Edit {
            range: at..at,
            with: with.to_owned(),
            rank,
        });
    };
    let (outer, order) = (-(range.end as i64), order as i64);
    let open = if begins_line(text, range.start) {
        "> "
    } else {
        "\n> "
    };
    put(range.start, open, (2, outer, order));
    for (at, _) in text[range.clone()].match_indices('\n') {
        let line = range.start + at + 1;
        if line < range.end {
            put(line, "> ", (2, outer, order));
        }
    }
    if !text[range.clone()].ends_with('\n') && !ends_line(text, range.end) {
        put(range.end, "\n", (1, -(range.start as i64), -order));
    }
}

fn begins_line(text: &str, at: usize) -> bool {
    at == 0 || text[..at].ends_with('\n')
}

fn ends_line(text: &str, at: usize) -> bool {
    at == text.len() || text[at..].starts_with('\n')
}

/// A URL that cannot end its link early.
fn address(url: &str) -> String {
    let mut safe = String::with_capacity(url.len());
    for c in url.chars().filter(|c| !c.is_control()) {
        match c {
            ' ' => safe.push_str("%20"),
            '(' => safe.push_str("%28"),
            ')' => safe.push_str("%29"),
            '<' => safe.push_str("%3C"),
            '>' => safe.push_str("%3E"),
            other => safe.push(other),
        }
    }
    safe
}

fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| (edit.range.start, edit.rank));
    let mut all = String::with_capacity(text.len() + edits.len() * 2);
    let mut at = 0;
    for edit in edits {
        if edit.range.start > at {
            all.push_str(&text[at..edit.range.start]);
        }
        all.push_str(&edit.with);
        at = at.max(edit.range.end);
    }
    all.push_str(&text[at..]);
    all
}

/// Character boundaries, in UTF-16 units and in bytes.
struct CharOffsets(Vec<(usize, usize)>);

impl CharOffsets {
    fn of(text: &str) -> Self {
        let mut ends = Vec::with_capacity(text.len() + 1);
        let mut units = 0;
        for (at, c) in text.char_indices() {
            ends.push((units, at));
            units += c.len_utf16();
        }
        ends.push((units, text.len()));
        Self(ends)
    }

    fn range(&self, entity: &Entity) -> Option<Range<usize>> {
        let byte = |units: usize| {
            let at = self.0.binary_search_by_key(&units, |(units, _)| *units);
            at.ok().map(|at| self.0[at].1)
        };
        let start = byte(entity.offset)?;
        let end = byte(entity.offset.checked_add(entity.length)?)?;
        (start < end).then_some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const US: BotRef<'_> = BotRef {
        id: 77,
        handle: Some("hands_bot"),
    };

    fn entities(all: &Value) -> Vec<Entity> {
        serde_json::from_value(all.clone()).unwrap()
    }

    /// The cases that a second reader of entities is asked about too.
    #[test]
    fn entities_become_markdown() {
        let cases: Value = serde_json::from_str(include_str!("testdata/entities.json")).unwrap();
        for case in cases.as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            let marked = read(text, &entities(&case["entities"]), US);
            assert_eq!(marked.text, case["markdown"].as_str().unwrap(), "{text}");
        }
    }

    #[test]
    fn a_mention_that_only_calls_us_is_left_out() {
        let mention = |offset: usize, length: usize| json!({"type": "mention", "offset": offset, "length": length});
        for (text, all, said, calls) in [
            ("@hands_bot, hello", json!([mention(0, 10)]), "hello", true),
            ("hello @Hands_Bot", json!([mention(6, 10)]), "hello", true),
            (
                "@hands_bot @hands_bot hi",
                json!([mention(0, 10), mention(11, 10)]),
                "hi",
                true,
            ),
            (
                "is @hands_bot here?",
                json!([mention(3, 10)]),
                "is @hands_bot here?",
                true,
            ),
            ("@hands_bot", json!([mention(0, 10)]), "", true),
            ("@other hi", json!([mention(0, 6)]), "@other hi", false),
            (
                "@hands_bot not marked",
                json!([]),
                "@hands_bot not marked",
                false,
            ),
            (
                "/status@hands_bot now",
                json!([{"type": "bot_command", "offset": 0, "length": 17}]),
                "/status now",
                true,
            ),
            (
                "/status@other_bot now",
                json!([{"type": "bot_command", "offset": 0, "length": 17}]),
                "/status@other_bot now",
                false,
            ),
            (
                "/status now",
                json!([{"type": "bot_command", "offset": 0, "length": 7}]),
                "/status now",
                false,
            ),
            (
                "Hands hi",
                json!([{"type": "text_mention", "offset": 0, "length": 5, "user": {"id": 77, "first_name": "Hands"}}]),
                "hi",
                true,
            ),
        ] {
            let marked = read(text, &entities(&all), US);
            assert_eq!(
                (marked.text.as_str(), marked.calls),
                (said, calls),
                "{text}"
            );
        }
    }

    #[test]
    fn others_who_are_mentioned_are_named() {
        let all = json!([
            {"type": "mention", "offset": 0, "length": 4},
            {"type": "text_mention", "offset": 5, "length": 3, "user": {"id": 5, "first_name": "Bob", "last_name": "B"}},
        ]);
        let marked = read("@ada Bob hi", &entities(&all), US);
        assert_eq!(marked.text, "@ada [Bob](tg://user?id=5) hi");
        let handle = Mention {
            handle: Some("ada".to_owned()),
            ..Mention::default()
        };
        let id = Mention {
            id: Some("5".to_owned()),
            handle: None,
            name: Some("Bob B".to_owned()),
        };
        assert_eq!(marked.mentions, [handle, id]);
    }

    proptest! {
        #[test]
        fn no_entity_breaks_a_text(
            text in "[a-c \\n`@\u{1f600}\u{e9}]{0,12}",
            spans in prop::collection::vec((0_usize..16, 0_usize..16, 0_usize..9), 0..6),
        ) {
            const KINDS: [&str; 9] = [
                "bold", "italic", "code", "pre", "blockquote", "text_link", "mention", "spoiler", "bot_command",
            ];
            let all: Vec<Value> = spans
                .iter()
                .map(|(offset, length, kind)| {
                    json!({"type": KINDS[*kind], "offset": offset, "length": length, "url": "https://x.y"})
                })
                .collect();
            let marked = read(&text, &entities(&Value::Array(all)), US);
            // Every word that was typed is still there, in order.
            let mut rest = marked.text.chars();
            for letter in text.chars().filter(|c| matches!(c, 'a'..='c' | '\u{e9}' | '\u{1f600}')) {
                prop_assert!(rest.any(|c| c == letter), "{text:?} -> {:?}", marked.text);
            }
        }
    }
}
