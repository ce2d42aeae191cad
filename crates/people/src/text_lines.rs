//! The lines of a file that people edit by hand. Lines that are not changed keep every byte, line endings included.

use std::ops::Range;

/// The lines of a text, each with its line ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextLines(Vec<String>);

/// The kind of block a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// Front matter, delimiters included.
    Front,
    /// An HTML comment.
    Comment,
    /// A fenced code block, fences included.
    Fenced,
    /// Everything else.
    Body,
}

impl TextLines {
    /// The lines of `text`.
    pub(crate) fn of(text: &str) -> Self {
        Self(text.split_inclusive('\n').map(str::to_owned).collect())
    }

    /// The whole text.
    pub(crate) fn text(&self) -> String {
        self.0.concat()
    }

    /// The number of lines.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// A line without its ending.
    pub(crate) fn line(&self, at: usize) -> &str {
        let line = &self.0[at];
        match line.strip_suffix('\n') {
            Some(line) => line.strip_suffix('\r').unwrap_or(line),
            None => line,
        }
    }

    /// TextLines as one text, endings included.
    pub(crate) fn slice(&self, range: Range<usize>) -> String {
        self.0[range].concat()
    }

    /// The line ending of the first line, used for all new lines.
    fn ending(&self) -> &'static str {
        match self.0.first().is_some_and(|line| line.ends_with("\r\n")) {
            true => "\r\n",
            false => "\n",
        }
    }

    /// Inserts lines, given without endings, before the one at `at`.
    pub(crate) fn insert(&mut self, at: usize, new: &[String]) {
        let ending = self.ending();
        let at_end = at == self.0.len();
        let mut new: Vec<String> = new.iter().map(|line| format!("{line}{ending}")).collect();
        // A last line without an ending gets one, and the new last line goes without: the file still ends as it did.
        if at_end
            && let Some(last) = self.0.last_mut()
            && !last.ends_with('\n')
        {
            last.push_str(ending);
            if let Some(new) = new.last_mut() {
                new.truncate(new.len() - ending.len());
            }
        }
        self.0.splice(at..at, new);
    }

    /// Replaces a line and keeps its ending.
    pub(crate) fn replace(&mut self, at: usize, new: &str) {
        let ending = self.0[at][self.line(at).len()..].to_owned();
        self.0[at] = format!("{new}{ending}");
    }

    /// Removes lines. A file without a final newline still has none afterwards.
    pub(crate) fn remove(&mut self, range: Range<usize>) {
        let open = self.0.last().is_some_and(|line| !line.ends_with('\n'));
        self.0.drain(range);
        // The last line was removed or is now another one; it must again end without a newline.
        if open && let Some(last) = self.0.len().checked_sub(1) {
            self.0[last] = self.line(last).to_owned();
        }
    }

    /// The lines of the front matter, delimiters included.
    fn front(&self) -> Option<Range<usize>> {
        let dashes = |at: usize| self.line(at).trim_end() == "---";
        let first = self.0.first()?.trim_start_matches('\u{feff}').trim_end() == "---";
        // An unclosed block is no front matter; otherwise the whole file would disappear into it.
        let last = (1..self.len()).find(|at| dashes(*at))?;
        first.then_some(0..last + 1)
    }

    /// Sets a key of the front matter; does nothing without front matter.
    pub(crate) fn set_front(&mut self, key: &str, value: &str) {
        let Some(front) = self.front() else { return };
        let inner = front.start + 1..front.end - 1;
        let is = |at: &usize| {
            let rest = self.line(*at).strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        let new = format!("{key}: {value}");
        match inner.clone().find(is) {
            Some(at) => self.replace(at, &new),
            None => self.insert(inner.end, &[new]),
        }
    }

    /// The kind of every line.
    pub(crate) fn parts(&self) -> Vec<LineKind> {
        let front = self.front().unwrap_or(0..0);
        let mut inside = OpenBlock::Nothing;
        let lines = (0..self.len()).map(|at| match front.contains(&at) {
            true => LineKind::Front,
            false => inside.step(self.line(at)),
        });
        lines.collect()
    }
}

/// The block that is open at the end of a line.
enum OpenBlock {
    Nothing,
    Comment,
    Fence(char, usize),
}

impl OpenBlock {
    fn step(&mut self, line: &str) -> LineKind {
        let trimmed = line.trim_start();
        match *self {
            Self::Comment => {
                if trimmed.contains("-->") {
                    *self = Self::Nothing;
                }
                LineKind::Comment
            }
            Self::Fence(mark, long) => {
                let run = trimmed.chars().take_while(|c| *c == mark).count();
                // As in CommonMark: a closing fence is at least as long as the opening one and has nothing after it.
                if run >= long && trimmed[run..].trim().is_empty() {
                    *self = Self::Nothing;
                }
                LineKind::Fenced
            }
            Self::Nothing => {
                if trimmed.starts_with("<!--") {
                    if !trimmed.contains("-->") {
                        *self = Self::Comment;
                    }
                    return LineKind::Comment;
                }
                for mark in ['`', '~'] {
                    let run = trimmed.chars().take_while(|c| *c == mark).count();
                    if run >= 3 {
                        *self = Self::Fence(mark, run);
                        return LineKind::Fenced;
                    }
                }
                LineKind::Body
            }
        }
    }
}

/// A text as one line without control characters; runs of whitespace become one space.
pub fn one_line(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn new(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn endings_and_a_missing_last_one_survive_changes() {
        let mut lines = TextLines::of("a\r\nb");
        lines.insert(2, &new(&["c"]));
        assert_eq!(lines.text(), "a\r\nb\r\nc");
        lines.insert(0, &new(&["z"]));
        assert_eq!(lines.text(), "z\r\na\r\nb\r\nc");
        lines.remove(3..4);
        assert_eq!(lines.text(), "z\r\na\r\nb");
        lines.replace(2, "B");
        assert_eq!(lines.text(), "z\r\na\r\nB");
        let mut lines = TextLines::of("");
        lines.insert(0, &new(&["only"]));
        assert_eq!(lines.text(), "only\n");
    }

    #[test]
    fn comments_fences_and_front_matter_are_told_from_the_body() {
        use LineKind::{Body, Comment, Fenced, Front};
        let text = "---\na: 1\n---\n# x\n<!-- one -->\n<!-- two\n- [ ] no\n-->\n```\n- [ ] no\n```\n- [ ] yes\n";
        let parts = TextLines::of(text).parts();
        let expect = [
            Front, Front, Front, Body, Comment, Comment, Comment, Comment, Fenced, Fenced, Fenced,
            Body,
        ];
        assert_eq!(parts, expect);
        assert_eq!(TextLines::of("---\nnever closed\n").parts(), [Body, Body]);
    }

    #[test]
    fn a_key_of_the_front_matter_is_set_in_its_place() {
        let mut lines = TextLines::of("---\nopen_count : 3\nmine: x\n---\ntext");
        lines.set_front("open_count", "4");
        lines.set_front("updated_at", "\"now\"");
        assert_eq!(
            lines.text(),
            "---\nopen_count: 4\nmine: x\nupdated_at: \"now\"\n---\ntext"
        );
        let mut none = TextLines::of("text");
        none.set_front("open_count", "4");
        assert_eq!(none.text(), "text");
    }

    proptest! {
        #[test]
        fn any_text_comes_back_to_the_last_byte(text in "(?s).{0,200}") {
            prop_assert_eq!(TextLines::of(&text).text(), text.clone());
            prop_assert_eq!(TextLines::of(&text).parts().len(), TextLines::of(&text).len());
        }

        #[test]
        fn an_added_and_removed_line_leaves_no_trace(
            text in "([a-c`<>!-]{0,5}(\r\n|\n)){0,10}[a-c]{0,3}", at in 0_usize..40
        ) {
            let before = TextLines::of(&text);
            let mut lines = before.clone();
            let at = at.min(lines.len());
            lines.insert(at, &new(&["x", "y"]));
            lines.remove(at..at + 2);
            prop_assert_eq!(lines.text(), text);
        }
    }
}
