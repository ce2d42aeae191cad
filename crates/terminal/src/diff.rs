//! Unified diffs as rows of a terminal.

use crate::highlight::diff_style;
use crate::output::sanitize;
use crate::style::Style;
use crate::wrap;

/// Formats a unified diff as at most `most` rows of `width` columns; the last row says how many are missing.
pub fn rows(diff: &str, width: usize, most: usize, styled: bool) -> Vec<String> {
    let lines: Vec<&str> = diff.lines().collect();
    let shown = match lines.len() > most {
        true => most.saturating_sub(1),
        false => lines.len(),
    };
    let row = |line: &&str| {
        let style = diff_style(line);
        let line = sanitize(line).replace('\t', "    ");
        style.paint(&wrap::cut(&line, width), styled)
    };
    let mut rows: Vec<String> = lines[..shown].iter().map(row).collect();
    if shown < lines.len() {
        let more = format!("… {} more lines", lines.len() - shown);
        rows.push(Style::DIM.paint(&more, styled));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a\n+++ b\n@@ -1 +1 @@\n-old\u{1b}[2J\n+new\n same\n";

    #[test]
    fn lines_are_coloured_and_safe() {
        let rows = rows(DIFF, 80, 20, true);
        assert_eq!(rows[3], "\u{1b}[31m-old\\u{1b}[2J\u{1b}[0m");
        assert_eq!(rows[4], "\u{1b}[32m+new\u{1b}[0m");
        assert_eq!(rows[5], " same");
    }

    #[test]
    fn a_long_diff_is_cut_and_says_so() {
        let rows = rows(DIFF, 3, 4, false);
        assert_eq!(rows, ["--…", "++…", "@@…", "… 3 more lines"]);
    }
}
