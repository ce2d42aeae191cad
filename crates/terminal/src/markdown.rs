//! Markdown as rows of a terminal, while it is being written.

use crate::highlight::Highlighter;
use crate::inline::{self, Marks};
use crate::output::sanitize;
use crate::style::Style;
use crate::table;
use crate::wrap::{self, StyledText};

/// Indentation of code blocks.
const CODE_INDENT: &str = "  ";
/// Widest horizontal rule.
const RULE: usize = 40;

/// Renders Markdown that arrives in pieces. A line is final when it ends; tables when they end.
pub struct Markdown {
    width: usize,
    styled: bool,
    /// The line that has not ended.
    line: String,
    block: OpenBlock,
    /// The last row was empty, or there is none.
    after_blank: bool,
}

/// The block that the next line may belong to.
enum OpenBlock {
    None,
    Code {
        /// The fence that ends it.
        fence: String,
        /// Spaces before the fence, which are not part of the code.
        indent: usize,
        highlighter: Highlighter,
    },
    /// Lines that may be a table.
    Table(Vec<String>),
}

impl Markdown {
    /// Renders rows of at most `width` columns.
    pub fn new(width: usize, styled: bool) -> Self {
        Self {
            width: width.max(20),
            styled,
            line: String::new(),
            block: OpenBlock::None,
            after_blank: true,
        }
    }

    /// Adds text; returns the rows that became final.
    pub fn push(&mut self, text: &str) -> Vec<String> {
        let mut rows = Vec::new();
        self.line.push_str(text);
        while let Some(at) = self.line.find('\n') {
            let rest = self.line.split_off(at + 1);
            let line = std::mem::replace(&mut self.line, rest);
            self.complete(line.trim_end_matches(['\n', '\r']), &mut rows);
        }
        rows
    }

    /// Ends the text; returns the remaining rows.
    pub fn finish(&mut self) -> Vec<String> {
        let mut rows = Vec::new();
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.complete(&line, &mut rows);
        }
        self.end_table(&mut rows);
        self.block = OpenBlock::None;
        self.after_blank = true;
        rows
    }

    /// Renders what is not final yet.
    pub fn open(&self) -> Vec<String> {
        let line = sanitize(&self.line).replace('\t', "    ");
        let mut rows = Vec::new();
        match &self.block {
            OpenBlock::Code { .. } if line.trim_start().starts_with(['`', '~']) => {}
            OpenBlock::Code { .. } if line.is_empty() => {}
            OpenBlock::Code { .. } => {
                rows.extend(self.code_rows(&[StyledText::new(line, Style::PLAIN)]))
            }
            OpenBlock::Table(lines) => {
                rows.extend(self.table_rows(lines).unwrap_or_default());
                // A line of the table is only readable when it is complete.
                if rows.is_empty() {
                    lines
                        .iter()
                        .for_each(|line| self.text(line, false, &mut rows));
                    self.text(&line, true, &mut rows);
                }
            }
            // The marks of a block are not text.
            OpenBlock::None if opening_fence(&line).is_some() => {}
            OpenBlock::None if line.chars().all(|c| "#-*+_`~>|= ".contains(c)) => {}
            OpenBlock::None => self.text(&line, true, &mut rows),
        }
        rows
    }

    /// Renders a complete line.
    fn complete(&mut self, line: &str, rows: &mut Vec<String>) {
        // The text of a model must not control the terminal.
        let line = sanitize(line).replace('\t', "    ");
        let line = line.as_str();
        if let OpenBlock::Code {
            fence,
            indent,
            highlighter,
        } = &mut self.block
        {
            if line.trim() == fence.as_str() || is_closing(line, fence) {
                self.block = OpenBlock::None;
                self.blank(rows);
                return;
            }
            let spaces = line.len() - line.trim_start_matches(' ').len();
            let spans = highlighter.line(&line[spaces.min(*indent)..]);
            rows.extend(self.code_rows(&spans));
            self.after_blank = false;
            return;
        }
        if let OpenBlock::Table(lines) = &mut self.block {
            if lines.len() == 1 && table::is_delimiter(line)
                || lines.len() > 1 && line.contains('|')
            {
                lines.push(line.to_owned());
                return;
            }
            self.end_table(rows);
        }
        if let Some((fence, language)) = opening_fence(line) {
            self.blank(rows);
            self.block = OpenBlock::Code {
                fence: fence.to_owned(),
                indent: line.len() - line.trim_start_matches(' ').len(),
                highlighter: Highlighter::new(language),
            };
            self.after_blank = true;
            return;
        }
        if line.trim().is_empty() {
            return self.blank(rows);
        }
        if line.contains('|') && !line.trim_start().starts_with(['>', '#']) {
            self.block = OpenBlock::Table(vec![line.to_owned()]);
            return;
        }
        self.text(line, false, rows);
        self.after_blank = false;
    }

    /// Adds an empty row, unless there is one.
    fn blank(&mut self, rows: &mut Vec<String>) {
        if !self.after_blank {
            rows.push(String::new());
            self.after_blank = true;
        }
    }

    fn end_table(&mut self, rows: &mut Vec<String>) {
        let OpenBlock::Table(lines) = std::mem::replace(&mut self.block, OpenBlock::None) else {
            return;
        };
        match self.table_rows(&lines) {
            Some(table) => rows.extend(table),
            // A line with a bar that no delimiter followed.
            None => lines.iter().for_each(|line| self.text(line, false, rows)),
        }
        self.after_blank = false;
    }

    fn table_rows(&self, lines: &[String]) -> Option<Vec<String>> {
        let (head, body) = lines.split_first()?;
        let (delimiter, body) = body.split_first()?;
        let cells = |line: &String, style: Style| -> Vec<Vec<StyledText>> {
            let cells = table::cells(line);
            cells
                .iter()
                .map(|cell| inline::spans(cell, style, self.marks(false)))
                .collect()
        };
        let head = cells(head, Style::STRONG);
        let body = body.iter().map(|line| cells(line, Style::PLAIN)).collect();
        let right = table::right_aligned(delimiter);
        Some(table::bordered(head, body, &right, self.width, self.styled))
    }

    fn code_rows(&self, spans: &[StyledText]) -> Vec<String> {
        let room = self.width - CODE_INDENT.len();
        // Broken anywhere: a space at the end of a row of code would be lost.
        let rows = wrap::rows(spans, room, self.styled);
        rows.into_iter()
            .map(|row| format!("{CODE_INDENT}{row}"))
            .collect()
    }

    fn marks(&self, open: bool) -> Marks {
        Marks {
            hidden: self.styled,
            open,
        }
    }

    /// Renders a line outside of code blocks and tables.
    fn text(&self, line: &str, open: bool, rows: &mut Vec<String>) {
        let trimmed = line.trim();
        if let Some((level, title)) = heading(trimmed) {
            let style = match level {
                1 => Style::HEADING,
                _ => Style::STRONG,
            };
            let mut spans = inline::spans(title, style, self.marks(open));
            if !self.styled {
                spans.insert(0, StyledText::new(format!("{} ", "#".repeat(level)), style));
            }
            rows.extend(wrap::rows(&spans, self.width, self.styled));
            return;
        }
        if is_rule(trimmed) {
            let rule = "─".repeat(self.width.min(RULE));
            rows.push(Style::DIM.paint(&rule, self.styled));
            return;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let (mut first, mut rest, mut quoted) = (Vec::new(), line.trim_start(), false);
        first.push(StyledText::new(
            " ".repeat(indent.min(self.width / 2)),
            Style::PLAIN,
        ));
        while let Some(inner) = rest.strip_prefix('>') {
            first.push(StyledText::new("│ ", Style::DIM));
            rest = inner.trim_start();
            quoted = true;
        }
        let mut hanging: usize = first.iter().map(|span| wrap::width(&span.text)).sum();
        if let Some((marker, style, text)) = list_item(rest, self.styled) {
            hanging += wrap::width(&marker);
            first.push(StyledText::new(marker, style));
            rest = text;
        }
        let text_style = match quoted {
            true => Style {
                italic: true,
                ..Style::PLAIN
            },
            false => Style::PLAIN,
        };
        let spans = inline::spans(rest.trim_end(), text_style, self.marks(open));
        let room = self.width.saturating_sub(hanging).max(10);
        let wrapped = wrap::rows(&spans, room, self.styled);
        let start = wrap::one_row(&first, self.styled);
        // The bar of a quotation continues; the marker of a list does not.
        let bars: String = first
            .iter()
            .map(|span| match span.text.starts_with('│') {
                true => span.style.paint(&span.text, self.styled),
                false => " ".repeat(wrap::width(&span.text)),
            })
            .collect();
        for (at, row) in wrapped.iter().enumerate() {
            let prefix = if at == 0 { &start } else { &bars };
            rows.push(format!("{prefix}{row}").trim_end().to_owned());
        }
    }
}

/// The fence and language of a line that begins a code block.
fn opening_fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let len = line.len() - line.trim_start_matches(mark).len();
    let (fence, info) = line.split_at(len);
    // Code on the same line is inline code.
    if len < 3 || info.contains('`') {
        return None;
    }
    let language = info
        .trim()
        .split([' ', '{', ','])
        .next()
        .unwrap_or_default();
    Some((fence, language))
}

fn is_closing(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.len() >= fence.len()
        && line.starts_with(fence)
        && line.chars().all(|c| fence.starts_with(c))
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.len() - line.trim_start_matches('#').len();
    let title = line[level..].strip_prefix(' ')?;
    ((1..=6).contains(&level)).then(|| (level, title.trim_end_matches('#').trim()))
}

fn is_rule(line: &str) -> bool {
    let bare = line.replace(' ', "");
    let mut chars = bare.chars();
    let first = chars.next();
    matches!(first, Some('-' | '*' | '_')) && bare.len() >= 3 && chars.all(|c| Some(c) == first)
}

/// The marker of a list item as it is shown, its style, and the text after it.
fn list_item(line: &str, styled: bool) -> Option<(String, Style, &str)> {
    if let Some(text) = line
        .strip_prefix("- ")
        .or_else(|| line.strip_prefix("* "))
        .or_else(|| line.strip_prefix("+ "))
    {
        for (mark, shown, style) in [
            ("[ ] ", "☐ ", Style::PLAIN),
            ("[x] ", "☑ ", Style::GREEN),
            ("[X] ", "☑ ", Style::GREEN),
        ] {
            if let Some(text) = text.strip_prefix(mark) {
                return Some((shown.to_owned(), style, text));
            }
        }
        let bullet = if styled { "• " } else { "- " };
        return Some((bullet.to_owned(), Style::CYAN, text.trim_start()));
    }
    let digits = line.find(|c: char| !c.is_ascii_digit())?;
    let text = line[digits..].strip_prefix(['.', ')'])?.strip_prefix(' ')?;
    if !(1..=9).contains(&digits) {
        return None;
    }
    Some((
        line[..digits + 2].to_owned(),
        Style::CYAN,
        text.trim_start(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders a text without styles.
    fn render(text: &str, width: usize) -> Vec<String> {
        let mut markdown = Markdown::new(width, true);
        let mut rows = markdown.push(text);
        rows.extend(markdown.finish());
        rows.iter().map(|row| wrap::without_style(row)).collect()
    }

    const DOCUMENT: &str = "# Title\n\nSome **bold** text that is longer than the row\nand a second line\n\n\n- one\n  - two with more words than fit\n1. first\n- [x] done\n\n> quoted words that are wrapped too\n\n```rust\nfn main() {\n    let x = 1;\n}\n```\n| a | bbb |\n|---|--:|\n| 1 | `2` |\n\n---\nend | bar\n";

    #[test]
    fn blocks_are_rendered() {
        let expect = [
            "Title",
            "",
            "Some bold text that is longer",
            "than the row",
            "and a second line",
            "",
            "• one",
            "  • two with more words than",
            "    fit",
            "1. first",
            "☑ done",
            "",
            "│ quoted words that are",
            "│ wrapped too",
            "",
            "  fn main() {",
            "      let x = 1;",
            "  }",
            "",
            "┌───┬─────┐",
            "│ a │ bbb │",
            "├───┼─────┤",
            "│ 1 │   2 │",
            "└───┴─────┘",
            "",
            "──────────────────────────────",
            "end | bar",
        ];
        assert_eq!(render(DOCUMENT, 30), expect);
    }

    #[test]
    fn the_pieces_do_not_matter() {
        let whole = render(DOCUMENT, 30);
        for size in [1, 2, 3, 7, 50] {
            let mut markdown = Markdown::new(30, true);
            let mut rows = Vec::new();
            let chars: Vec<char> = DOCUMENT.chars().collect();
            for piece in chars.chunks(size) {
                rows.extend(markdown.push(&piece.iter().collect::<String>()));
                for row in markdown.open() {
                    assert!(wrap::width(&wrap::without_style(&row)) <= 30, "{row:?}");
                }
            }
            rows.extend(markdown.finish());
            let rows: Vec<String> = rows.iter().map(|row| wrap::without_style(row)).collect();
            assert_eq!(rows, whole, "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_not_final_is_shown_already() {
        let mut markdown = Markdown::new(30, true);
        assert!(markdown.push("Some **bol").is_empty());
        assert_eq!(markdown.open(), ["Some \u{1b}[1mbol\u{1b}[0m"]);
        assert_eq!(markdown.push("d** text\n").len(), 1);
        assert!(markdown.open().is_empty());
        markdown.push("| a | b |\n| - | - |\n| 1 | 2 |\n");
        assert_eq!(markdown.open().len(), 5, "a table grows in place");
        assert!(markdown.push("``").is_empty());
    }

    #[test]
    fn the_text_never_controls_the_terminal() {
        let hostile = "a\u{1b}[2J **b\u{1b}]52;c;x\u{7}**\n```sh\n\u{1b}[2Jx\u{9b}1m\n```\n| \u{1b}[2J | x |\n|-|-|\n";
        for row in render(hostile, 60) {
            assert!(!row.contains(|c: char| c.is_control()), "{row:?}");
        }
        let mut markdown = Markdown::new(60, false);
        markdown.push("x\u{1b}[2Jy");
        assert_eq!(markdown.open(), ["x\\u{1b}[2Jy"]);
    }

    #[test]
    fn without_styles_headings_and_lists_keep_their_marks() {
        let mut markdown = Markdown::new(60, false);
        let rows = markdown.push("## Title\n- **one**\n");
        assert_eq!(rows, ["## Title", "- **one**"]);
    }

    #[test]
    fn a_long_line_of_code_is_broken_and_a_fence_may_be_longer() {
        assert_eq!(
            render("````\n```\nabcdefghijklmnopqrstuvwxyz\n````\nx", 20),
            ["  ```", "  abcdefghijklmnopqr", "  stuvwxyz", "", "x"]
        );
    }
}
