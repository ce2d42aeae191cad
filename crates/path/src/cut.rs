//! Shortens a large value so that it stays useful: its shape, its small fields, and both ends of its texts.

use serde_json::{Map, Value};

/// Lists are shortened before their texts become shorter than this.
const MIN_SHARE: usize = 2_000;
/// What the marker between the two ends of a text takes at most.
const MARKER: usize = 48;
/// The shortest text that is still useful.
const LEAST: usize = 16;

/// A value that fits, and what it leaves out.
#[derive(Debug, Default)]
pub(crate) struct Shortened {
    pub(crate) value: Value,
    /// Paths of the shortened texts: `stdout`, `content.0.text`.
    pub(crate) texts: Vec<String>,
    /// Whether a list or an object lost entries.
    pub(crate) lists: bool,
}

/// Brings a value into `room` bytes of JSON.
///
/// Every long text gets the same share, so that a short text beside a long one (an error beside megabytes of output)
/// stays whole. Of a text the beginning and the end stay, whole lines where possible.
pub(crate) fn shorten(value: &Value, room: usize) -> Shortened {
    let least = MIN_SHARE.min(room / 8).max(LEAST);
    // Halved each time: the number of passes stays small for lists of any length, and each pass stops at `room`.
    let halves = std::iter::successors(Some(usize::MAX), |most| match most {
        0..=1 => None,
        most => Some((most / 2).min(room)),
    });
    let mut entries = 1;
    for most in halves {
        entries = most;
        if costs_at_most(value, least, most, room) {
            break;
        }
    }
    // With the number of entries settled, the largest share of each text that still fits.
    let (mut low, mut high) = (LEAST, room);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match costs_at_most(value, middle, entries, room) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    // The estimate counts no escapes, which can make a text longer.
    let mut share = low;
    while share >= LEAST {
        let mut copy = Copying {
            share,
            entries,
            short: Shortened::default(),
        };
        let value = copy.value(value, &mut String::new());
        if fits(&value, room as u64) {
            copy.short.value = value;
            return copy.short;
        }
        share = share * 9 / 10;
    }
    Shortened {
        value: Value::Object(Map::new()),
        texts: Vec::new(),
        lists: true,
    }
}

/// Whether the value serialises into `limit` bytes, without building the text.
pub(crate) fn fits(value: &Value, limit: u64) -> bool {
    struct Counter(u64);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(bytes.len() as u64)
                .ok_or(std::io::ErrorKind::FileTooLarge)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Counter(limit), value).is_ok()
}

/// Whether the value would take about `room` bytes with at most `share` bytes of each text and `entries` of each
/// list. Gives up as soon as it does not, so that the work is bounded by `room`.
fn costs_at_most(value: &Value, share: usize, entries: usize, room: usize) -> bool {
    fn spend(value: &Value, share: usize, entries: usize, left: &mut usize) -> Option<()> {
        let text = |text: &str| match text.len() > share {
            true => share + MARKER,
            false => text.len(),
        };
        let own = match value {
            Value::String(inner) => text(inner) + 3,
            Value::Number(_) => 6,
            _ => 5,
        };
        *left = left.checked_sub(own)?;
        match value {
            Value::Array(list) => list
                .iter()
                .take(entries)
                .try_for_each(|inner| spend(inner, share, entries, left)),
            Value::Object(fields) => fields.iter().take(entries).try_for_each(|(name, inner)| {
                *left = left.checked_sub(name.len() + 4)?;
                spend(inner, share, entries, left)
            }),
            _ => Some(()),
        }
    }
    spend(value, share, entries, &mut room.clone()).is_some()
}

struct Copying {
    share: usize,
    entries: usize,
    short: Shortened,
}

impl Copying {
    fn value(&mut self, value: &Value, at: &mut String) -> Value {
        match value {
            Value::String(text) if text.len() > self.share => {
                self.short.texts.push(at.clone());
                Value::String(both_ends(text, self.share))
            }
            Value::Array(list) => {
                self.short.lists |= list.len() > self.entries;
                let each = list.iter().take(self.entries).enumerate();
                each.map(|(index, inner)| self.inner(&index.to_string(), inner, at))
                    .collect()
            }
            Value::Object(fields) => {
                self.short.lists |= fields.len() > self.entries;
                let each = fields.iter().take(self.entries);
                let mut copy: Map<String, Value> = each
                    .map(|(name, inner)| (name.clone(), self.inner(name, inner, at)))
                    .collect();
                recount_lines(fields, &mut copy);
                Value::Object(copy)
            }
            other => other.clone(),
        }
    }

    fn inner(&mut self, name: &str, value: &Value, at: &mut String) -> Value {
        let before = at.len();
        if before > 0 {
            at.push('.');
        }
        at.push_str(name);
        let copy = self.value(value, at);
        at.truncate(before);
        copy
    }
}

/// Updates `lines` if it is the number of lines of `content`.
fn recount_lines(whole: &Map<String, Value>, copy: &mut Map<String, Value>) {
    let text = |of: &Map<String, Value>| of.get("content")?.as_str().map(|t| t.lines().count());
    let counted = whole.get("lines").and_then(Value::as_u64);
    let (Some(before), Some(after)) = (text(whole), text(copy)) else {
        return;
    };
    if counted == Some(before as u64) && after != before {
        // The marker is a line of its own.
        copy.insert("lines".to_owned(), after.saturating_sub(1).into());
    }
}

/// The beginning and the end of a text, with what lies between replaced by how much it is.
fn both_ends(text: &str, share: usize) -> String {
    let head = &text[..text.floor_char_boundary(share / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - share / 2)..];
    // Whole lines, unless that would leave out much.
    let head = match head.rfind('\n') {
        Some(end) if end > head.len() / 2 => &head[..end],
        _ => head,
    };
    let tail = match tail.find('\n') {
        Some(end) if end < tail.len() / 2 => &tail[end + 1..],
        _ => tail,
    };
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[... {left_out} bytes left out ...]\n{tail}")
}

/// The text at the path `at`.
pub(crate) fn text_at<'a>(value: &'a Value, at: &str) -> Option<&'a str> {
    let mut here = value;
    // Names may contain dots, so the path is matched against the names that exist.
    let mut rest = at;
    while !rest.is_empty() {
        let (next, left) = match here {
            Value::Array(list) => {
                let (index, left) = rest.split_once('.').unwrap_or((rest, ""));
                (list.get(index.parse::<usize>().ok()?)?, left)
            }
            Value::Object(fields) => fields.iter().find_map(|(name, inner)| {
                let left = rest.strip_prefix(name.as_str())?;
                let left = match left.is_empty() {
                    true => left,
                    false => left.strip_prefix('.')?,
                };
                Some((inner, left))
            })?,
            _ => return None,
        };
        (here, rest) = (next, left);
    }
    here.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_shape_stays_within_the_limit() {
        let deep = (0..50).fold(json!("x".repeat(3_000)), |inner, _| json!([inner]));
        for value in [
            json!({ "a": "x".repeat(5_000), "b": ["y".repeat(900), "z"], "n": 5 }),
            json!((0..10_000).collect::<Vec<_>>()),
            json!("é".repeat(5_000)),
            json!("\u{1}".repeat(5_000)),
            json!({ "rows": vec![json!({ "k": "v".repeat(100) }); 1_000] }),
            deep,
        ] {
            for room in [100, 1_000, 2_000] {
                let short = shorten(&value, room);
                assert!(short.value.to_string().len() <= room, "{short:?}");
                assert!(short.lists || !short.texts.is_empty());
            }
            let short = shorten(&value, 1_000);
            assert_eq!(short.value.is_object(), value.is_object());
            assert_eq!(short.value.is_array(), value.is_array());
        }
    }

    #[test]
    fn small_fields_and_both_ends_of_long_texts_stay() {
        let lines: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        let value = json!({
            "exit_code": 3, "stdout": lines, "stderr": "it broke\n", "timed_out": true,
        });
        let short = shorten(&value, 10_000);
        assert_eq!(short.texts, ["stdout"]);
        assert!(!short.lists);
        let shown = &short.value;
        assert_eq!(shown["exit_code"], 3);
        assert_eq!(shown["stderr"], "it broke\n");
        assert_eq!(shown["timed_out"], true);
        let stdout = shown["stdout"].as_str().unwrap();
        assert!(stdout.starts_with("line 0\nline 1\n"));
        assert!(stdout.ends_with("line 99998\nline 99999\n"));
        assert!(
            stdout.contains(" bytes left out ...]\nline "),
            "whole lines"
        );
        assert!(stdout.len() > 7_500, "the room is used");
        assert_eq!(text_at(&value, "stdout"), Some(lines.as_str()));
    }

    #[test]
    fn a_count_of_lines_stays_right() {
        let content: String = (1..=5_000).map(|n| format!("{n}\ttext\n")).collect();
        let short = shorten(&json!({ "content": content, "lines": 5_000 }), 2_000).value;
        let shown = short["content"].as_str().unwrap();
        let numbered = shown.lines().filter(|line| line.ends_with("\ttext"));
        assert_eq!(short["lines"], numbered.count());
        let other = shorten(&json!({ "content": content, "lines": 7 }), 2_000).value;
        assert_eq!(other["lines"], 7, "it counted something else");
    }

    #[test]
    fn texts_are_found_by_their_path() {
        let value = json!({ "a.b": { "c": ["x", { "d": "y" }] } });
        assert_eq!(text_at(&value, "a.b.c.1.d"), Some("y"));
        assert_eq!(text_at(&value, "a.b.c.7"), None);
        assert_eq!(text_at(&json!("z"), ""), Some("z"));
    }
}
