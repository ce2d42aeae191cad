//! `ACTIVE.md` or `INACTIVE.md`: a heading per contact and a fenced YAML block below it. Edits touch only the lines
//! they are about.

use std::ops::Range;

use serde_json::Value;

use super::profile::{Profile, yaml};
use crate::text_lines::{LineKind, TextLines};

/// Template of a contact profile, as a comment: it is not parsed as a contact.
const TEMPLATE: &str = include_str!("template.md");

/// A contact and its position in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContactSection {
    /// From its heading to the next one.
    pub(super) lines: Range<usize>,
    /// The YAML, without its fences.
    block: Range<usize>,
    /// The parsed profile.
    pub(super) profile: Profile,
}

/// One file of contacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContactsDocument(TextLines);

impl ContactsDocument {
    /// Parses a file; without text, a new one with `title`.
    pub(super) fn of(title: &str, text: Option<&str>, now: &str) -> Self {
        Self(match text {
            Some(text) if !text.trim().is_empty() => TextLines::of(text),
            _ => TextLines::of(&format!(
                "---\ncreated_at: \"{now}\"\nupdated_at: \"{now}\"\n---\n\n{title}\n\n{TEMPLATE}"
            )),
        })
    }

    /// The whole text.
    pub(super) fn text(&self) -> String {
        self.0.text()
    }

    /// The contacts, from top to bottom. Headings without a valid YAML block are skipped.
    pub(super) fn sections(&self) -> Vec<ContactSection> {
        let parts = self.0.parts();
        let is_heading = |at: &usize| {
            let line = self.0.line(*at);
            parts[*at] == LineKind::Body && (line.starts_with("## ") || line.starts_with("# "))
        };
        let headings: Vec<usize> = (0..self.0.len()).filter(is_heading).collect();
        let mut found = Vec::new();
        for (nth, at) in headings.iter().enumerate() {
            if !self.0.line(*at).starts_with("## ") {
                continue;
            }
            let end = headings.get(nth + 1).copied().unwrap_or(self.0.len());
            let Some(first) = (*at..end).find(|at| parts[*at] == LineKind::Fenced) else {
                continue;
            };
            let fenced = (first..end).take_while(|at| parts[*at] == LineKind::Fenced);
            let block = first + 1..self.closing(first, first + fenced.count());
            // Skipped, not repaired: the text stays in the file, where its author can fix it.
            let Some(profile) = Profile::read(&self.0.slice(block.clone())) else {
                continue;
            };
            found.push(ContactSection {
                lines: *at..end,
                block,
                profile,
            });
        }
        found
    }

    /// The end of the block that begins at `first`. Two blocks may follow each other without a line between, so the
    /// closing fence is searched for.
    fn closing(&self, first: usize, end: usize) -> usize {
        let opening = self.0.line(first).trim_start();
        let mark = opening.chars().next().unwrap_or('`');
        let long = opening.chars().take_while(|c| *c == mark).count();
        let closes = |at: &usize| {
            let line = self.0.line(*at).trim();
            line.chars().all(|c| c == mark) && line.chars().count() >= long
        };
        (first + 1..end).find(closes).unwrap_or(end)
    }

    /// Adds a contact; returns whether it succeeded.
    pub(super) fn add(&mut self, profile: &Profile) -> bool {
        let title = match profile.nickname.is_empty() {
            true => &profile.contact_id,
            false => &profile.nickname,
        };
        let mut lines = vec![format!("## {title}"), String::new(), "```yaml".to_owned()];
        lines.extend(profile.fields().iter().flat_map(|(k, v)| yaml(k, v)));
        lines.push("```".to_owned());
        self.add_lines(&lines, &profile.contact_id)
    }

    /// Adds a contact with the text it had in another file; returns whether it succeeded.
    pub(super) fn adopt(&mut self, section: &str, contact_id: &str) -> bool {
        let lines: Vec<String> = section.trim_end().lines().map(str::to_owned).collect();
        self.add_lines(&lines, contact_id)
    }

    fn add_lines(&mut self, new: &[String], contact_id: &str) -> bool {
        let parts = self.0.parts();
        let top = parts
            .iter()
            .take_while(|part| **part == LineKind::Front)
            .count();
        let title = (0..self.0.len())
            .find(|at| parts[*at] == LineKind::Body && self.0.line(*at).starts_with("# "));
        // An unclosed comment or fence swallows everything below it, so each position is tried until the contact can be
        // read back.
        for at in [Some(self.0.len()), title.map(|at| at + 1), Some(top)] {
            let Some(at) = at else { continue };
            let mut lines = new.to_vec();
            if at > 0 && !self.0.line(at - 1).trim().is_empty() {
                lines.insert(0, String::new());
            }
            if at < self.0.len() && !self.0.line(at).trim().is_empty() {
                lines.push(String::new());
            }
            let mut placed = self.clone();
            placed.0.insert(at, &lines);
            let (before, after) = (self.sections(), placed.sections());
            let is_there = after.iter().any(|one| one.profile.contact_id == contact_id);
            // Exactly one more: an insertion that breaks an existing section would lose a contact.
            if is_there && after.len() == before.len() + 1 {
                *self = placed;
                return true;
            }
        }
        false
    }

    /// Removes a contact and returns its lines.
    pub(super) fn remove(&mut self, section: &ContactSection) -> String {
        let text = self.0.slice(section.lines.clone());
        self.0.remove(section.lines.clone());
        text
    }

    /// Updates a contact field by field; everything else in the block stays as it is.
    pub(super) fn change(&mut self, section: &ContactSection, to: &Profile) {
        let (old, new) = (section.profile.fields(), to.fields());
        let gone = old.keys().filter(|key| !new.contains_key(*key));
        let changed = new
            .iter()
            .filter(|(key, value)| old.get(*key) != Some(value));
        // Only the difference is written: comments, order and unknown fields of the block belong to its author.
        let edits: Vec<(&String, Option<&Value>)> = gone
            .map(|key| (key, None))
            .chain(changed.map(|(key, value)| (key, Some(value))))
            .collect();
        let mut edited = self.clone();
        let mut block = section.block.clone();
        for (key, value) in edits {
            let lines = value.map(|value| yaml(key, value)).unwrap_or_default();
            edited.set(&mut block, key, &lines);
        }
        // A block in flow style (braces) cannot be edited line by line; it is rewritten as a whole.
        if Profile::read(&edited.0.slice(block.clone())).as_ref() != Some(to) {
            edited = self.clone();
            block = section.block.clone();
            let lines: Vec<String> = new.iter().flat_map(|(k, v)| yaml(k, v)).collect();
            edited.0.remove(block.clone());
            edited.0.insert(block.start, &lines);
        }
        *self = edited;
    }

    /// Replaces a key and its continuation lines, or appends the lines to the block.
    fn set(&mut self, block: &mut Range<usize>, key: &str, lines: &[String]) {
        let is = |line: &str| {
            let rest = line.strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        let at = block.clone().find(|at| is(self.0.line(*at)));
        let at = match at {
            None => block.end,
            Some(at) => {
                // Indented lines and list items continue the key; YAML allows lists without indentation.
                let goes_on = |at: &usize| {
                    let line = self.0.line(*at);
                    line.starts_with([' ', '\t']) || line.starts_with("- ") || line == "-"
                };
                let more = (at + 1..block.end).take_while(goes_on).count();
                self.0.remove(at..at + 1 + more);
                block.end -= 1 + more;
                at
            }
        };
        self.0.insert(at, lines);
        block.end += lines.len();
    }

    /// Updates `updated_at` in the front matter.
    pub(super) fn stamp(&mut self, now: &str) {
        self.0.set_front("updated_at", &format!("\"{now}\""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: &str = "2026-02-11T09:30:00Z";
    const TITLE: &str = "# Active Contacts";

    const FILE: &str = "---\r\nmine: 1\r\n---\r\n\r\n# Active Contacts\r\n\r\n<!--\r\n## Example\r\n```yaml\r\ncontact_id: \"x\"\r\n```\r\n-->\r\n\r\n## Alice\r\nmy sister\r\n\r\n```yaml\r\n# known since school\r\ncontact_id: \"tg:1\"\r\nnickname: Alice\r\ntg_group_chat_ids:\r\n- \"-5\"\r\nmine: kept\r\n```\r\nnotes below\r\n\r\n## Broken\r\n```yaml\r\ncontact_id: [\r\n```\r\n\r\n## Bob\r\n```yaml\r\n{contact_id: \"tg:2\", nickname: Bob}\r\n```";

    fn file() -> ContactsDocument {
        ContactsDocument::of(TITLE, Some(FILE), NOW)
    }

    fn ids(document: &ContactsDocument) -> Vec<String> {
        let all = document.sections().into_iter();
        all.map(|section| section.profile.contact_id).collect()
    }

    #[test]
    fn contacts_are_headings_with_blocks_outside_comments() {
        assert_eq!(ids(&file()), ["tg:1", "tg:2"]);
        assert_eq!(file().text(), FILE);
    }

    #[test]
    fn a_change_touches_only_its_fields() {
        let mut document = file();
        let alice = document.sections().remove(0);
        let mut to = alice.profile.clone();
        to.tg_group_chat_ids.push("-6".to_owned());
        to.tg_private_chat_id = "1".to_owned();
        document.change(&alice, &to);
        let expect = FILE.replace(
            "tg_group_chat_ids:\r\n- \"-5\"\r\nmine: kept\r\n",
            "tg_group_chat_ids:\r\n  - \"-5\"\r\n  - \"-6\"\r\nmine: kept\r\ntg_private_chat_id: \"1\"\r\n",
        );
        assert_eq!(document.text(), expect);
        let alice = document.sections().remove(0);
        assert_eq!(alice.profile, to);
        document.change(&alice, &file().sections().remove(0).profile);
        let back = document.text();
        assert!(!back.contains("tg_private_chat_id") && back.contains("# known since school"));
    }

    #[test]
    fn a_block_in_another_style_is_rewritten() {
        let mut document = file();
        let bob = document.sections().remove(1);
        let mut to = bob.profile.clone();
        to.kind = "human".to_owned();
        document.change(&bob, &to);
        assert_eq!(document.sections()[1].profile, to);
        assert!(
            document
                .text()
                .ends_with("contact_id: \"tg:2\"\r\nnickname: \"Bob\"\r\nkind: \"human\"\r\n```")
        );
    }

    #[test]
    fn a_contact_moves_with_everything_that_was_written_about_it() {
        let mut document = file();
        let alice = document.sections().remove(0);
        let text = document.remove(&alice);
        assert_eq!(ids(&document), ["tg:2"]);
        let mut other = ContactsDocument::of("# Inactive Contacts", None, NOW);
        assert!(other.adopt(&text, "tg:1"));
        assert_eq!(ids(&other), ["tg:1"]);
        for words in [
            "my sister",
            "# known since school",
            "mine: kept",
            "notes below",
        ] {
            assert!(other.text().contains(words), "{words}");
        }
    }

    #[test]
    fn a_contact_is_added_also_where_somebody_forgot_to_close_a_comment() {
        let profile = Profile {
            contact_id: "tg:9".to_owned(),
            nickname: "Nine".to_owned(),
            ..Profile::default()
        };
        for text in [
            "",
            "# Active Contacts\n<!-- oops",
            "```\noops",
            "text",
            "# Active Contacts\n\n```",
        ] {
            let mut document = ContactsDocument::of(TITLE, Some(text), NOW);
            assert!(document.add(&profile), "{text:?}");
            assert_eq!(ids(&document), ["tg:9"], "{text:?}");
        }
    }

    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            "## [a-c]{1,3}",
            Just("```yaml".to_owned()),
            Just("```".to_owned()),
            "contact_id: \"[a-c]\"",
            "nickname: [a-c]{1,3}",
            Just("tg_group_chat_ids:".to_owned()),
            Just("  - \"1\"".to_owned()),
            Just("<!--".to_owned()),
            Just("-->".to_owned()),
            Just("# Active Contacts".to_owned()),
            Just("---".to_owned()),
            "[ a-c#]{0,6}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn every_other_line_stays_whatever_the_file_holds(lines in proptest::collection::vec(line(), 0..24)) {
            let text = lines.join("\n");
            prop_assume!(!text.trim().is_empty());
            let mut document = ContactsDocument::of(TITLE, Some(&text), NOW);
            prop_assert_eq!(document.text(), text.clone());
            let before = document.sections();
            let new = Profile { contact_id: "new".to_owned(), ..Profile::default() };
            if document.add(&new) {
                let kept: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
                let now = document.text();
                let mut rest = now.lines();
                for line in kept {
                    prop_assert!(rest.any(|there| there == line), "{line:?} is gone from {now:?}");
                }
            }
            for section in before {
                let mut document = ContactsDocument::of(TITLE, Some(&text), NOW);
                let to = Profile { wa_id: "49".to_owned(), ..section.profile.clone() };
                document.change(&section, &to);
                let at = ContactsDocument::of(TITLE, Some(&text), NOW).sections();
                let at = at.iter().position(|one| one.lines == section.lines).unwrap();
                prop_assert_eq!(&document.sections()[at].profile, &to);
                let gone = text.lines().filter(|line| !document.text().lines().any(|l| l == *line)).count();
                prop_assert_eq!(gone, 0, "{}", document.text());
            }
        }
    }
}
