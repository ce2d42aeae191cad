//! Tables that fit the terminal.

use crate::style::Style;
use crate::wrap::{self, StyledText};

/// Columns are not made narrower than this while others are wider.
const NARROW: usize = 8;
/// Rows of text in one cell of a list.
const MAX_LINES: usize = 4;

/// Lays out a list. Without a width every row is one line. With one, cells are wrapped so that it fits, then long words
/// are cut; where that would cut the first column, every row becomes a block with a line per cell.
pub fn plain(
    header: &[String],
    rows: &[Vec<String>],
    width: Option<usize>,
    styled: bool,
) -> String {
    let columns = header.len();
    if columns == 0 {
        return String::new();
    }
    let all = || std::iter::once(header).chain(rows.iter().map(Vec::as_slice));
    let natural = (0..columns).map(|at| {
        let cells = all().filter_map(|row| row.get(at));
        cells.map(|cell| wrap::width(cell)).max().unwrap_or(0)
    });
    let natural: Vec<usize> = natural.collect();
    let longest_word = (0..columns).map(|at| {
        let words = all()
            .filter_map(|row| row.get(at))
            .flat_map(|cell| cell.split(' '));
        words.map(wrap::width).max().unwrap_or(0)
    });
    // Each column has a space on both sides; those at the end of a line are not printed.
    let room = width.map(|width| width.saturating_sub(2 * columns).max(columns));
    let widths = match room {
        Some(room) => {
            let words: Vec<usize> = longest_word.collect();
            let mut narrow = vec![NARROW; columns];
            // Usually the id that other commands take.
            narrow[..1].copy_from_slice(&words[..1]);
            fit(&natural, &[&words, &narrow], room)
        }
        None => natural,
    };
    if let (Some(width), Some(room)) = (width, room)
        && widths.iter().sum::<usize>() > room
    {
        return stacked(header, rows, width, styled);
    }
    let mut lines = Vec::new();
    for (at, row) in all().enumerate() {
        let style = if at == 0 { Style::STRONG } else { Style::PLAIN };
        let cells: Vec<Vec<String>> = (0..columns)
            .map(|at| cell_lines(row.get(at).map_or("", String::as_str), widths[at]))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            let mut text = String::new();
            for (cell, width) in cells.iter().zip(&widths) {
                let part = cell.get(line).map_or("", String::as_str);
                let pad = " ".repeat(width.saturating_sub(wrap::width(part)));
                text.push_str(&format!(" {part}{pad} "));
            }
            lines.push(style.paint(text.trim_end(), styled));
        }
    }
    lines.join("\n")
}

/// Wraps a cell at its spaces; words that are too long, and very long cells, are cut.
fn cell_lines(cell: &str, width: usize) -> Vec<String> {
    if wrap::width(cell) <= width {
        return vec![cell.to_owned()];
    }
    let words: Vec<String> = cell.split(' ').map(|word| wrap::cut(word, width)).collect();
    let mut lines = wrap::plain(&words.join(" "), width);
    if lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES);
        if let Some(last) = lines.last_mut() {
            *last = format!(
                "{}…",
                wrap::cut(last, width.saturating_sub(1)).trim_end_matches('…')
            );
        }
    }
    lines
}

/// Lays out every row as a block: the names of the columns on the left, the cells on the right.
fn stacked(header: &[String], rows: &[Vec<String>], width: usize, styled: bool) -> String {
    let names = header.iter().map(|name| wrap::width(name)).max();
    let names = names.unwrap_or_default() + 3;
    let block = |row: &Vec<String>| {
        let filled = header.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        let cell = |(name, cell): (&String, &String)| {
            let pad = " ".repeat(names - 1 - wrap::width(name));
            let lines = wrap::plain(cell, width.saturating_sub(names));
            let lines = lines.join(&format!("\n{}", " ".repeat(names)));
            format!(" {}{pad}{lines}", Style::STRONG.paint(name, styled))
        };
        filled.map(cell).collect::<Vec<_>>().join("\n")
    };
    rows.iter().map(block).collect::<Vec<_>>().join("\n\n")
}

/// Widths of columns that together fit `room`, if they can: the widest give way first, down to each of the least
/// widths in turn.
fn fit(natural: &[usize], leasts: &[&[usize]], room: usize) -> Vec<usize> {
    let mut widths = natural.to_vec();
    for least in leasts {
        while widths.iter().sum::<usize>() > room {
            let may = (0..widths.len()).filter(|at| widths[*at] > least[*at]);
            let Some(widest) = may.max_by_key(|at| (widths[*at], *at)) else {
                break;
            };
            widths[widest] -= 1;
        }
    }
    widths
}

/// Shortens a time for people: `2026-11-19 14:45:38Z` instead of `2026-11-19T14:45:38.060Z`.
pub fn short_time(cell: &str) -> Option<String> {
    let (date, time) = cell.split_once('T')?;
    let seconds = time.strip_suffix('Z')?.split('.').next()?;
    let shape = |text: &str, like: &str| {
        text.len() == like.len()
            && text.chars().zip(like.chars()).all(|(c, like)| match like {
                '0' => c.is_ascii_digit(),
                like => c == like,
            })
    };
    let is_time = shape(date, "0000-00-00") && shape(seconds, "00:00:00");
    is_time.then(|| format!("{date} {seconds}Z"))
}

/// Splits a row of a Markdown table; an escaped bar belongs to its cell.
pub fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = match line.strip_suffix('|') {
        Some(inner) if !inner.ends_with('\\') => inner,
        _ => line,
    };
    let (mut cells, mut cell, mut code) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'|') => cell.extend(chars.next()),
            '|' if !code => cells.push(std::mem::take(&mut cell)),
            c => {
                code ^= c == '`';
                cell.push(c);
            }
        }
    }
    cells.push(cell);
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Whether a line separates the header of a Markdown table from its rows.
pub fn is_delimiter(line: &str) -> bool {
    let is_dashes = |cell: &String| {
        let dashes = cell.trim_matches(':');
        !dashes.is_empty() && dashes.chars().all(|c| c == '-')
    };
    line.contains('-') && cells(line).iter().all(is_dashes)
}

/// Whether each column is aligned to the right, from the line below the header of a Markdown table.
pub fn right_aligned(delimiter: &str) -> Vec<bool> {
    let cells = cells(delimiter);
    let is_right = |cell: &String| cell.ends_with(':') && !cell.starts_with(':');
    cells.iter().map(is_right).collect()
}

/// Lays out a table with lines around its cells; `right` are the columns aligned to the right.
pub fn bordered(
    head: Vec<Vec<StyledText>>,
    body: Vec<Vec<Vec<StyledText>>>,
    right: &[bool],
    width: usize,
    styled: bool,
) -> Vec<String> {
    let columns = head.len();
    let text = |cell: &Vec<StyledText>| {
        cell.iter()
            .map(|span| span.text.as_str())
            .collect::<String>()
    };
    let all = || std::iter::once(&head).chain(&body);
    let of = |measure: &dyn Fn(&str) -> usize| -> Vec<usize> {
        let column = |at: usize| {
            let cells = all().filter_map(|row| row.get(at));
            cells
                .map(|cell| measure(&text(cell)))
                .max()
                .unwrap_or(0)
                .max(1)
        };
        (0..columns).map(column).collect()
    };
    let natural = of(&|cell| wrap::width(cell));
    let words = of(&|cell| cell.split(' ').map(wrap::width).max().unwrap_or(0));
    let room = width.saturating_sub(3 * columns + 1).max(columns);
    let (narrow, least) = (vec![NARROW; columns], vec![1; columns]);
    let widths = fit(&natural, &[&words, &narrow, &least], room);
    let line = |left: &str, middle: &str, right: &str| {
        let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
        Style::DIM.paint(&format!("{left}{}{right}", dashes.join(middle)), styled)
    };
    let bar = Style::DIM.paint("│", styled);
    let mut rows = vec![line("┌", "┬", "┐")];
    for (number, row) in all().enumerate() {
        let cells: Vec<Vec<String>> = (0..columns)
            .map(|at| match row.get(at) {
                Some(cell) => wrap::rows(cell, widths[at], styled),
                None => Vec::new(),
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for at in 0..height {
            let mut text = bar.clone();
            for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                let part = cell.get(at).map_or("", String::as_str);
                let used = wrap::width(&wrap::without_style(part));
                let pad = " ".repeat(width.saturating_sub(used));
                text.push_str(&match right.get(column) {
                    Some(true) => format!(" {pad}{part} {bar}"),
                    _ => format!(" {part}{pad} {bar}"),
                });
            }
            rows.push(text);
        }
        if number == 0 {
            rows.push(line("├", "┼", "┤"));
        }
    }
    rows.push(line("└", "┴", "┘"));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(rows: &[&[&str]], width: Option<usize>) -> Vec<String> {
        let owned = |row: &&[&str]| row.iter().map(|cell| (*cell).to_owned()).collect();
        let rows: Vec<Vec<String>> = rows.iter().map(owned).collect();
        let text = plain(&rows[0], &rows[1..], width, false);
        text.lines().map(str::to_owned).collect()
    }

    const ROWS: &[&[&str]] = &[
        &["ID", "DESCRIPTION", "STATE"],
        &[
            "0192-aaaa-bbbb",
            "a description of several words that is long",
            "online",
        ],
        &["0192-cccc", "short", "offline"],
    ];

    #[test]
    fn without_a_width_a_row_is_a_line() {
        assert_eq!(
            list(ROWS, None),
            [
                " ID              DESCRIPTION                                  STATE",
                " 0192-aaaa-bbbb  a description of several words that is long  online",
                " 0192-cccc       short                                        offline",
            ]
        );
    }

    #[test]
    fn a_table_fits_and_ids_stay_whole() {
        assert_eq!(
            list(ROWS, Some(50)),
            [
                " ID              DESCRIPTION              STATE",
                " 0192-aaaa-bbbb  a description of         online",
                "                 several words that is",
                "                 long",
                " 0192-cccc       short                    offline",
            ]
        );
        for width in 20..100 {
            for line in list(ROWS, Some(width)) {
                assert!(wrap::width(&line) <= width, "{width}: {line:?}");
            }
        }
    }

    #[test]
    fn rows_become_blocks_before_ids_are_cut() {
        let rows: &[&[&str]] = &[
            &["ID", "CALLER", "STATE"],
            &["0192-aaaa-bbbb", "owner:0192", "on"],
            &["0192-cccc", "", "off"],
        ];
        assert_eq!(
            list(rows, Some(24)),
            [
                " ID      0192-aaaa-bbbb",
                " CALLER  owner:0192",
                " STATE   on",
                "",
                " ID      0192-cccc",
                " STATE   off",
            ]
        );
    }

    #[test]
    fn words_are_cut_before_ids() {
        let rows: &[&[&str]] = &[
            &["ID", "CALLER"],
            &["0192-aaaa-bbbb", "owner:0192-aaaa-bbbb"],
        ];
        assert_eq!(
            list(rows, Some(30)),
            [" ID              CALLER", " 0192-aaaa-bbbb  owner:0192-…"]
        );
        assert_eq!(
            short_time("2026-11-19T14:45:38.06Z").as_deref(),
            Some("2026-11-19 14:45:38Z")
        );
        assert_eq!(short_time("2026-11-19T14:45"), None);
        assert_eq!(short_time("TZ"), None);
    }

    #[test]
    fn a_very_long_cell_is_cut_and_says_so() {
        let long = "word ".repeat(100);
        let lines = list(&[&["A"], &[long.as_str()]], Some(30));
        assert_eq!(lines.len(), 1 + MAX_LINES);
        assert!(lines[MAX_LINES].ends_with('…'), "{lines:?}");
    }

    #[test]
    fn rows_of_markdown_are_split() {
        assert_eq!(cells("| a | b \\| c | `d|e` |"), ["a", "b | c", "`d|e`"]);
        assert_eq!(cells("a|b"), ["a", "b"]);
        assert!(is_delimiter("|---|:-:|"));
        assert!(is_delimiter("-|-"));
        assert!(!is_delimiter("| a | b |"));
        assert!(!is_delimiter(""));
    }
}
