//! Tables, aligned with spaces.

use unicode_width::UnicodeWidthStr;

/// Maximum column width.
const WIDEST: usize = 60;
/// Maximum columns drawn as such.
const COLUMNS: usize = 32;

/// Whether these lines start a table: a row followed by a divider.
pub(super) fn begins(lines: &[&str]) -> bool {
    lines[0].contains('|') && lines.get(1).is_some_and(|line| is_divider(line))
}

/// The table at the start of `lines`: its number of lines and its drawing.
pub(super) fn read(lines: &[&str]) -> Option<(usize, String)> {
    if !begins(lines) {
        return None;
    }
    let rest = lines[2..].iter();
    let more = rest.take_while(|line| line.contains('|') && !line.trim().is_empty());
    let count = 2 + more.count();
    let rows: Vec<&str> = [&lines[..1], &lines[2..count]].concat();
    let table: Vec<Vec<String>> = rows.iter().map(|row| cells(row)).collect();
    let columns = table.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths = vec![0_usize; columns];
    for row in &table {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width()).min(WIDEST);
        }
    }
    let written: usize = rows.iter().map(|row| row.len() + 1).sum();
    let drawn = (widths.iter().sum::<usize>() + 3 * columns) * (rows.len() + 1);
    // Padding must not amplify a small input.
    if columns > COLUMNS || drawn > written.saturating_mul(8).saturating_add(4096) {
        return Some((count, lines[..count].join("\n")));
    }
    let mut text = String::with_capacity(drawn);
    for (at, row) in table.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        line(&mut text, row, &widths);
        if at == 0 {
            text.push('\n');
            let dashes: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            text.push_str(dashes.join("-+-").as_str());
        }
    }
    Some((count, text))
}

/// Writes a row.
fn line(text: &mut String, row: &[String], widths: &[usize]) {
    for (at, width) in widths.iter().enumerate() {
        let cell = row.get(at).map_or("", String::as_str);
        if at > 0 {
            text.push_str(" | ");
        }
        text.push_str(cell);
        if at + 1 < widths.len() {
            text.push_str(&" ".repeat(width.saturating_sub(cell.width())));
        }
    }
}

/// The cells of a row, without delimiters that mean nothing in a monospaced font.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = match row.strip_suffix('|') {
        Some(inner) if !inner.ends_with('\\') => inner,
        _ => row,
    };
    let (mut cells, mut cell) = (Vec::new(), String::new());
    let mut escaped = false;
    for c in row.chars() {
        match (c, escaped) {
            ('|', false) => cells.push(std::mem::take(&mut cell)),
            ('|', true) => {
                cell.pop();
                cell.push('|');
            }
            (c, _) => cell.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    cells.push(cell);
    let plain = |cell: String| cell.trim().replace("**", "").replace('`', "");
    cells.into_iter().map(plain).collect()
}

/// `|---|:-:|`
fn is_divider(line: &str) -> bool {
    let line = line.trim();
    line.contains('-')
        && line.contains('|')
        && line
            .bytes()
            .all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t'))
}
