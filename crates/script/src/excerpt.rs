//! Shows the line of a script where an error occurred, with a mark below the column.

/// Maximum number of characters shown.
const WIDTH: usize = 120;

/// Formats `line` of `code` with a mark below `column`, both 1-based. A long line is shown in part.
pub(crate) fn excerpt(code: &str, line: u32, column: Option<u32>) -> Option<String> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let chars: Vec<char> = code.lines().nth(index)?.chars().collect();
    let at = column
        .and_then(|column| usize::try_from(column).ok()?.checked_sub(1))
        .map(|at| at.min(chars.len()));
    let from = at.unwrap_or(0).saturating_sub(WIDTH / 2);
    let from = if chars.len() <= WIDTH { 0 } else { from };
    let shown: String = chars[from..].iter().take(WIDTH).map(plain).collect();
    let number = line.to_string();
    let mut excerpt = format!("{number} | {shown}");
    if let Some(at) = at {
        // Tabs are kept, so that the mark aligns with the line above.
        let pad: String = chars[from..at]
            .iter()
            .map(|c| if *c == '\t' { '\t' } else { ' ' })
            .collect();
        let margin = " ".repeat(number.len());
        excerpt.push_str(&format!("\n{margin} | {pad}^"));
    }
    Some(excerpt)
}

/// Replaces characters that could move the cursor.
fn plain(c: &char) -> char {
    if c.is_control() && *c != '\t' {
        ' '
    } else {
        *c
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, line: u32, column: Option<u32>, expect: &str) {
        assert_eq!(excerpt(code, line, column).as_deref(), Some(expect));
    }

    #[test]
    fn the_mark_stands_below_the_column() {
        check("a\nlet x = ;", 2, Some(9), "2 | let x = ;\n  |         ^");
        check("\tlet ;", 1, Some(6), "1 | \tlet ;\n  | \t    ^");
        check("a\u{1b}b", 1, None, "1 | a b");
    }

    #[test]
    fn a_column_past_the_end_is_the_end_and_a_line_past_it_is_none() {
        check("abc", 1, Some(900), "1 | abc\n  |    ^");
        assert_eq!(excerpt("abc", 2, Some(1)), None);
        assert_eq!(excerpt("abc", 0, Some(1)), None);
    }

    #[test]
    fn a_long_line_is_shown_around_the_column() {
        let code = format!("{}X{}", "a".repeat(5_000), "b".repeat(5_000));
        let shown = excerpt(&code, 1, Some(5_001)).unwrap();
        let (line, mark) = shown.split_once('\n').unwrap();
        assert_eq!(line.find('X'), mark.find('^'));
        assert!(line.len() < WIDTH + 10);
    }
}
