//! One TODO file. Edits touch only the lines they are about.

use std::collections::{HashMap, HashSet};

use super::entry::TodoEntry;
use crate::text_lines::{LineKind, TextLines};

/// One of the three files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TodoFile {
    /// `TODO.md`
    Open,
    /// `TODO.DONE.md`
    Done,
    /// `TODO.RECUR.md`
    Recurring,
}

impl TodoFile {
    fn title(self) -> &'static str {
        match self {
            Self::Open => "# TODO Work In Progress (WIP)",
            Self::Done => "# TODO Done",
            Self::Recurring => "# TODO Recurring",
        }
    }

    fn count(self) -> &'static str {
        match self {
            Self::Open => "open_count",
            Self::Done => "done_count",
            Self::Recurring => "recurring_count",
        }
    }
}

/// An item and its position in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacedEntry {
    /// The line's index.
    pub(super) line: usize,
    /// Its stored id, or one derived from its content.
    pub(super) id: String,
    /// The item.
    pub(super) entry: TodoEntry,
    /// Whether a line above has the same id, as after copying a line by hand.
    pub(super) copied: bool,
}

/// One TODO file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TodoDocument {
    kind: TodoFile,
    lines: TextLines,
}

impl TodoDocument {
    /// Parses a file; without text, a new one.
    pub(super) fn of(kind: TodoFile, text: Option<&str>, now: &str) -> Self {
        let lines = match text {
            Some(text) if !text.trim().is_empty() => TextLines::of(text),
            _ => TextLines::of(&format!(
                "---\ncreated_at: \"{now}\"\nupdated_at: \"{now}\"\n{}: 0\n---\n\n{}\n\n",
                kind.count(),
                kind.title()
            )),
        };
        Self { kind, lines }
    }

    /// The whole text.
    pub(super) fn text(&self) -> String {
        self.lines.text()
    }

    /// The items, from top to bottom, each with a unique id.
    pub(super) fn entries(&self) -> Vec<PlacedEntry> {
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut own: HashSet<String> = HashSet::new();
        let mut found = Vec::new();
        for (line, part) in self.lines.parts().into_iter().enumerate() {
            if part != LineKind::Body {
                continue;
            }
            let Some(mut entry) = TodoEntry::parse(self.lines.line(line)) else {
                continue;
            };
            let named = entry.id.clone();
            // A copied line has the id of its original. The first one keeps it; the copy is treated as having none.
            entry.id = named.clone().filter(|name| !own.contains(name));
            own.extend(entry.id.clone());
            let copied = entry.id != named;
            let id = entry.id.clone().unwrap_or_else(|| {
                // Counted among equal lines only, so that ids stay the same when other lines move.
                let nth = seen.entry(entry.derived_id(0)).or_default();
                *nth += 1;
                entry.derived_id(*nth - 1)
            });
            found.push(PlacedEntry {
                line,
                id,
                entry,
                copied,
            });
        }
        found
    }

    /// Inserts an item above all others.
    pub(super) fn insert(&mut self, entry: &TodoEntry) {
        let line = [entry.line()];
        let parts = self.lines.parts();
        let first = self.entries().first().map(|kept| kept.line);
        let title = (0..self.lines.len()).find(|at| {
            parts[*at] == LineKind::Body && self.lines.line(*at).trim_end() == self.kind.title()
        });
        let below = title.map(|at| match at + 1 < self.lines.len() {
            true if self.lines.line(at + 1).trim().is_empty() => at + 2,
            _ => at + 1,
        });
        let front = parts.iter().take_while(|part| **part == LineKind::Front);
        let top = front.count();
        // An unclosed comment or fence swallows everything below it, so each position is tried until the item can be
        // read back.
        for at in [first, below, Some(self.lines.len()), Some(top)]
            .into_iter()
            .flatten()
        {
            let mut lines = self.lines.clone();
            lines.insert(at, &line);
            let placed = Self { lines, ..*self };
            if placed.entries().len() > self.entries().len() {
                *self = placed;
                return;
            }
        }
    }

    /// Replaces an item.
    pub(super) fn replace(&mut self, kept: &PlacedEntry, entry: &TodoEntry) {
        self.lines.replace(kept.line, &entry.line());
    }

    /// Removes the items for which `gone` holds; returns how many.
    pub(super) fn remove(&mut self, gone: impl Fn(&PlacedEntry) -> bool) -> usize {
        let found = self.entries().into_iter().filter(gone);
        let lines: Vec<usize> = found.map(|kept| kept.line).collect();
        // From the bottom up, because each removal shifts the lines below.
        for at in lines.iter().rev() {
            self.lines.remove(*at..*at + 1);
        }
        lines.len()
    }

    /// Updates the count and `updated_at` in the front matter.
    pub(super) fn stamp(&mut self, count: usize, now: &str) {
        self.lines.set_front("updated_at", &format!("\"{now}\""));
        self.lines.set_front(self.kind.count(), &count.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: &str = "2026-02-11T09:30:00Z";

    fn open(text: &str) -> TodoDocument {
        TodoDocument::of(TodoFile::Open, Some(text), NOW)
    }

    fn item(content: &str) -> TodoEntry {
        TodoEntry {
            content: content.to_owned(),
            id: Some("aa".to_owned()),
            ..TodoEntry::default()
        }
    }

    #[test]
    fn a_new_file_has_front_matter_and_its_title() {
        let mut fresh = TodoDocument::of(TodoFile::Open, None, NOW);
        fresh.insert(&item("one"));
        fresh.insert(&item("two"));
        fresh.stamp(2, "2026-02-12T00:00:00Z");
        let expect = "---\ncreated_at: \"2026-02-11T09:30:00Z\"\nupdated_at: \"2026-02-12T00:00:00Z\"\nopen_count: 2\n---\n\n# TODO Work In Progress (WIP)\n\n- [ ] [ID](aa) | two\n- [ ] [ID](aa) | one\n";
        assert_eq!(fresh.text(), expect);
    }

    #[test]
    fn examples_in_comments_and_fences_are_no_items() {
        let text = "<!--\n- [ ] example\n-->\n```\n- [ ] code\n```\n- [ ] real\n  - [ ] below it\n";
        let found = open(text).entries();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].entry.content, "real");
    }

    #[test]
    fn equal_lines_have_different_names_that_stay() {
        let twice = open("- [ ] a\n- [ ] a\n- [ ] b\n");
        let ids: Vec<String> = twice.entries().into_iter().map(|kept| kept.id).collect();
        assert!(ids[0] != ids[1] && ids[1] != ids[2]);
        let again = open("notes\n\n- [ ] b\n- [ ] a\n- [ ] a\n").entries();
        let again: Vec<String> = again.into_iter().map(|kept| kept.id).collect();
        assert_eq!(again, [ids[2].clone(), ids[0].clone(), ids[1].clone()]);
    }

    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            "- \\[[ xX]\\] [a-c |]{1,6}",
            Just("<!--".to_owned()),
            Just("-->".to_owned()),
            Just("<!-- - [ ] x -->".to_owned()),
            Just("```".to_owned()),
            Just("~~~~".to_owned()),
            Just("---".to_owned()),
            Just("# TODO Work In Progress (WIP)".to_owned()),
            "- \\[ \\] \\[Created\\]\\(2026\\), \\[ID\\]\\([a-c]\\) \\| [a-c]{1,3}",
            "[ a-c#*-]{0,8}",
        ]
    }

    fn file() -> impl Strategy<Value = String> {
        let lines = proptest::collection::vec((line(), any::<bool>()), 0..14);
        (lines, any::<bool>()).prop_map(|(lines, ended)| {
            let mut text = String::new();
            for (line, windows) in &lines {
                text.push_str(line);
                text.push_str(if *windows { "\r\n" } else { "\n" });
            }
            if !ended {
                text.truncate(text.trim_end_matches(['\r', '\n']).len());
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn reading_changes_nothing(text in file()) {
            prop_assume!(!text.trim().is_empty());
            prop_assert_eq!(open(&text).text(), text);
        }

        #[test]
        fn an_item_goes_in_and_every_other_line_stays(text in file()) {
            prop_assume!(!text.trim().is_empty());
            let mut document = open(&text);
            let before = document.entries().len();
            document.insert(&item("new item"));
            prop_assert_eq!(document.entries().len(), before + 1);
            let new = document.text();
            let rest = new.lines().filter(|line| *line != "- [ ] [ID](aa) | new item");
            prop_assert_eq!(rest.collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
            prop_assert_eq!(document.remove(|kept| kept.entry.content == "new item"), 1);
            prop_assert_eq!(document.text(), text);
        }

        #[test]
        fn taking_items_out_leaves_every_other_line(text in file()) {
            prop_assume!(!text.trim().is_empty());
            let mut document = open(&text);
            let all = document.entries();
            let gone = document.remove(|kept| kept.entry.done);
            let left: Vec<String> = document.text().lines().map(str::to_owned).collect();
            let struck: Vec<usize> = all.iter().filter(|k| k.entry.done).map(|k| k.line).collect();
            prop_assert_eq!(gone, struck.len());
            let expect = text.lines().enumerate().filter(|(at, _)| !struck.contains(at));
            let mut expect: Vec<&str> = expect.map(|(_, line)| line).collect();
            let mut left: Vec<&str> = left.iter().map(String::as_str).collect();
            // Whether blank lines at the very end are lines is not the point.
            while expect.last() == Some(&"") { expect.pop(); }
            while left.last() == Some(&"") { left.pop(); }
            prop_assert_eq!(left, expect);
        }
    }
}
