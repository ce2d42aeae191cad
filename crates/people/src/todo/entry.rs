//! One line of a TODO file.
//!
//! `- [ ] [Created](2026-02-11 09:30), [ChatID](tg:-1001981343441), [ID](4f2a9c1d) | text`; a done line has
//! `[x]` and `[Done](…)`, a recurring one `[Next](…)`, `[Repeat](…)` and `[TZ](…)`. A line written by hand may have
//! none of these: `- [ ] text`.

use sha2::{Digest as _, Sha256};

/// Longest text of one item, in characters.
pub const MAX_CONTENT: usize = 4_000;

/// One item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TodoEntry {
    /// Whether it is checked off.
    pub done: bool,
    /// Creation time, as `2026-02-11 09:30` (UTC).
    pub created_at: Option<String>,
    /// Completion time.
    pub done_at: Option<String>,
    /// The chat it came from.
    pub chat_id: Option<String>,
    /// The permanent id; lines written by hand have none.
    pub id: Option<String>,
    /// Next due time, for recurring items.
    pub next: Option<String>,
    /// How often it recurs.
    pub repeat: Option<String>,
    /// Time zone of `next`.
    pub tz: Option<String>,
    /// The text.
    pub content: String,
}

impl TodoEntry {
    /// Parses a line; `None` if it is not an item.
    pub fn parse(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("- [")?;
        let mut chars = rest.chars();
        let done = match chars.next()? {
            ' ' => false,
            'x' | 'X' => true,
            _ => return None,
        };
        let rest = chars.as_str().strip_prefix("] ")?.trim();
        // A line that fits neither format is kept whole as text: nothing that somebody wrote is lost.
        let read = split_links(rest).or_else(|| split_words(rest));
        let entry = read.unwrap_or_else(|| Self {
            content: rest.to_owned(),
            ..Self::default()
        });
        (!entry.content.is_empty()).then_some(Self { done, ..entry })
    }

    /// Formats the line.
    pub fn line(&self) -> String {
        let keys = [
            ("Created", &self.created_at),
            ("Done", &self.done_at),
            ("Next", &self.next),
            ("Repeat", &self.repeat),
            ("TZ", &self.tz),
            ("ChatID", &self.chat_id),
            ("ID", &self.id),
        ];
        let said = keys.iter().filter_map(|(key, value)| {
            let value = value.as_ref()?;
            Some(format!("[{key}]({value})"))
        });
        let said = said.collect::<Vec<_>>().join(", ");
        let mark = if self.done { 'x' } else { ' ' };
        match said.is_empty() {
            true => format!("- [{mark}] {}", self.content),
            false => format!("- [{mark}] {said} | {}", self.content),
        }
    }

    /// An id derived from the content, for lines without a stored one. `nth` distinguishes equal lines.
    pub(super) fn derived_id(&self, nth: usize) -> String {
        let said = [&self.created_at, &self.chat_id].map(|part| part.as_deref().unwrap_or(""));
        let mut hash = Sha256::new();
        // Each part is prefixed with its length, so that text cannot move from one field to the next unnoticed.
        for part in [said[0], said[1], &self.content, &nth.to_string()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        short(&hash.finalize())
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        let place = match key {
            "Created" | "CreatedAt" => &mut self.created_at,
            "Done" | "DoneAt" => &mut self.done_at,
            "ChatID" => &mut self.chat_id,
            "ID" => &mut self.id,
            "Next" => &mut self.next,
            "Repeat" => &mut self.repeat,
            "TZ" => &mut self.tz,
            _ => return None,
        };
        let value = value.trim();
        // A repeated key means that this is text that happens to look like metadata.
        if place.is_some() || value.is_empty() {
            return None;
        }
        *place = Some(value.to_owned());
        Some(())
    }
}

/// The first five bytes of a hash, in hex.
pub(super) fn short(hash: &[u8]) -> String {
    hash.iter().take(5).map(|b| format!("{b:02x}")).collect()
}

/// `[Created](…), [ChatID](…) | text`
fn split_links(text: &str) -> Option<TodoEntry> {
    let (said, content) = text.split_once(" | ")?;
    let mut entry = TodoEntry {
        content: content.trim().to_owned(),
        ..TodoEntry::default()
    };
    let mut rest = said.trim();
    loop {
        let (key, after) = rest.strip_prefix('[')?.split_once("](")?;
        let (value, after) = after.split_once(')')?;
        entry.set(key, value)?;
        match after.trim_start() {
            "" => return Some(entry),
            more => rest = more.strip_prefix(',')?.trim_start(),
        }
    }
}

/// `CreatedAt: … - ChatID: … - text`, the format of older files.
fn split_words(text: &str) -> Option<TodoEntry> {
    let mut entry = TodoEntry::default();
    let mut rest = text;
    while let Some((said, after)) = rest.split_once(" - ") {
        let Some((key, value)) = said.split_once(": ") else {
            break;
        };
        if !matches!(key, "CreatedAt" | "DoneAt" | "ChatID") || entry.set(key, value).is_none() {
            break;
        }
        rest = after;
    }
    entry.created_at.as_ref()?;
    entry.content = rest.trim().to_owned();
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_lines::one_line;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_read_and_written_alike() {
        let line = "- [ ] [Created](2026-02-11 09:30), [ChatID](tg:-1001981343441) | 2026-02-11 10:00 Remind [John](tg:@johnwick) | soon";
        let entry = TodoEntry::parse(line).unwrap();
        assert_eq!(entry.created_at.as_deref(), Some("2026-02-11 09:30"));
        assert_eq!(entry.chat_id.as_deref(), Some("tg:-1001981343441"));
        assert_eq!(
            entry.content,
            "2026-02-11 10:00 Remind [John](tg:@johnwick) | soon"
        );
        assert_eq!((entry.done, &entry.id), (false, &None));
        assert_eq!(entry.line(), line);
        let done = "- [x] [Created](2026-02-11 09:30), [Done](2026-02-12 08:00), [ID](ab) | a";
        assert_eq!(TodoEntry::parse(done).unwrap().line(), done);
    }

    #[test]
    fn lines_written_by_hand_or_by_older_programs_are_items_too() {
        let bare = TodoEntry::parse("- [ ] buy milk | and bread").unwrap();
        assert_eq!(
            (bare.content.as_str(), &bare.created_at),
            ("buy milk | and bread", &None)
        );
        let old =
            "- [ ] CreatedAt: 2026-02-11 09:30 - ChatID: tg:-1 - 10:00 Remind John (tg:@j) - now";
        let old = TodoEntry::parse(old).unwrap();
        assert_eq!(old.created_at.as_deref(), Some("2026-02-11 09:30"));
        assert_eq!(old.chat_id.as_deref(), Some("tg:-1"));
        assert_eq!(old.content, "10:00 Remind John (tg:@j) - now");
        let unknown = TodoEntry::parse("- [X] [Colour](red) | paint").unwrap();
        assert_eq!(
            (unknown.done, unknown.content.as_str()),
            (true, "[Colour](red) | paint")
        );
    }

    #[test]
    fn other_lines_are_not_items() {
        for line in [
            "",
            "text",
            "- milk",
            "- [ ]",
            "- [ ]  ",
            "- [y] a",
            "  - [ ] below",
            "* [ ] a",
            "- [ ]a",
        ] {
            assert_eq!(TodoEntry::parse(line), None, "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn every_item_comes_back_as_it_was(text in "\\PC{1,60}", done: bool, id in "[0-9a-f]{10}") {
            let content = one_line(&text);
            prop_assume!(!content.is_empty());
            let entry = TodoEntry {
                done,
                created_at: Some("2026-02-11 09:30".to_owned()),
                id: Some(id),
                content,
                ..TodoEntry::default()
            };
            prop_assert_eq!(TodoEntry::parse(&entry.line()), Some(entry));
        }
    }
}
