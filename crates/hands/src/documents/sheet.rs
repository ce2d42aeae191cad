//! Excel workbooks: one line per row, cells separated by tabs.

use super::archive::Archive;
use super::xml::{self, XmlNode};
use super::{Extraction, StopCause};

const WORKBOOK: &str = "xl/workbook.xml";
/// Maximum columns of a sheet.
const MAX_COLUMNS: usize = 16_384;

pub(super) fn workbook(archive: &Archive<'_>, work: &mut Extraction<'_>) -> Result<(), StopCause> {
    work.kind = super::DocumentKind::Xlsx;
    let relations = xml::relations(archive, WORKBOOK, work)?;
    let (mut sheets, mut from_1904) = (Vec::new(), false);
    xml::each(archive, WORKBOOK, work, |node, _| {
        if let XmlNode::Open(tag) = node {
            match tag.name {
                "sheet" => {
                    let id = tag.attribute_prefixed("id").unwrap_or_default();
                    let part = relations.iter().find(|one| one.id == id);
                    let name = tag.attribute("name").unwrap_or_default();
                    sheets.extend(part.map(|one| (name, one.part.clone())));
                }
                "workbookPr" => {
                    from_1904 = tag
                        .attribute("date1904")
                        .is_some_and(|value| value == "1" || value == "true");
                }
                _ => {}
            }
        }
        Ok(())
    })?;
    let facts = Facts {
        strings: shared_strings(archive, work)?,
        dates: date_styles(archive, work)?,
        from_1904,
    };
    for (name, part) in &sheets {
        work.heading(&format!("sheet: {name}"))?;
        if archive.has(part) {
            rows(archive, part, &facts, work)?;
        }
    }
    Ok(())
}

struct Facts {
    strings: Vec<String>,
    /// Whether each cell style shows a date.
    dates: Vec<bool>,
    from_1904: bool,
}

/// Parses the shared strings.
fn shared_strings(
    archive: &Archive<'_>,
    work: &mut Extraction<'_>,
) -> Result<Vec<String>, StopCause> {
    const PART: &str = "xl/sharedStrings.xml";
    let mut strings: Vec<String> = Vec::new();
    if !archive.has(PART) {
        return Ok(strings);
    }
    // Phonetic hints (`rPh`) are not part of the text.
    let (mut in_text, mut beside, mut pending_bits) = (false, 0_u32, 0);
    xml::each(archive, PART, work, |node, work| {
        match node {
            XmlNode::Open(tag) => match tag.name {
                "si" => {
                    pending_bits += size_of::<String>();
                    strings.push(String::new());
                }
                "t" => in_text = beside == 0,
                "rPh" => beside += 1,
                _ => {}
            },
            XmlNode::Close("t") => in_text = false,
            XmlNode::Close("rPh") => beside = beside.saturating_sub(1),
            XmlNode::Text(text) if in_text => {
                pending_bits += text.len();
                if let Some(last) = strings.last_mut() {
                    last.push_str(text);
                }
            }
            _ => {}
        }
        match pending_bits > work.limits.unpacked / 2 {
            true => Err(work.full()),
            false => Ok(()),
        }
    })?;
    Ok(strings)
}

/// Which cell styles show a number as a date or time.
fn date_styles(archive: &Archive<'_>, work: &mut Extraction<'_>) -> Result<Vec<bool>, StopCause> {
    const PART: &str = "xl/styles.xml";
    let (mut custom, mut styles, mut within) = (Vec::new(), Vec::new(), false);
    if !archive.has(PART) {
        return Ok(styles);
    }
    xml::each(archive, PART, work, |node, _| {
        match node {
            XmlNode::Open(tag) => match tag.name {
                "numFmt" => {
                    let code = tag.attribute("formatCode").unwrap_or_default();
                    if let Some(id) = tag.number("numFmtId").filter(|_| is_date_format(&code)) {
                        custom.push(id);
                    }
                }
                "cellXfs" => within = true,
                "xf" if within => {
                    let id = tag.number("numFmtId").unwrap_or(0);
                    let usual = matches!(id, 14..=22 | 27..=36 | 45..=47 | 50..=58);
                    styles.push(usual || custom.contains(&id));
                }
                _ => {}
            },
            XmlNode::Close("cellXfs") => within = false,
            _ => {}
        }
        Ok(())
    })?;
    Ok(styles)
}

/// Whether a number format shows a date: it has date letters outside quotes and brackets.
fn is_date_format(code: &str) -> bool {
    let (mut quoted, mut bracket, mut escaped) = (false, false, false);
    code.chars().any(|c| {
        if std::mem::take(&mut escaped) {
            return false;
        }
        match c {
            '\\' | '_' | '*' => escaped = true,
            '"' => quoted = !quoted,
            '[' if !quoted => bracket = true,
            ']' if !quoted => bracket = false,
            'y' | 'Y' | 'd' | 'D' | 'h' | 'H' | 's' | 'S' | 'm' | 'M' => {
                return !quoted && !bracket;
            }
            _ => {}
        }
        false
    })
}

/// A parsed cell.
#[derive(Default)]
struct Cell {
    kind: String,
    style: usize,
    value: String,
}

fn rows(
    archive: &Archive<'_>,
    part: &str,
    facts: &Facts,
    work: &mut Extraction<'_>,
) -> Result<(), StopCause> {
    let mut cell: Option<Cell> = None;
    let (mut next, mut written, mut in_value) = (0_usize, 0_usize, false);
    xml::each(archive, part, work, |node, work| {
        match node {
            XmlNode::Open(tag) => match tag.name {
                "row" => (next, written) = (0, 0),
                "c" => {
                    let index = tag.attribute("r").and_then(|index| column(&index));
                    next = index.unwrap_or(next).min(MAX_COLUMNS);
                    cell = Some(Cell {
                        kind: tag.attribute("t").unwrap_or_default(),
                        style: tag.number("s").unwrap_or(0),
                        value: String::new(),
                    });
                }
                "v" | "t" => in_value = cell.is_some(),
                _ => {}
            },
            XmlNode::Close("v" | "t") => in_value = false,
            XmlNode::Close("c") => {
                let shown = cell
                    .take()
                    .map(|cell| shown(&cell, facts))
                    .unwrap_or_default();
                if !shown.is_empty() {
                    let gap = next.saturating_sub(written);
                    work.push(&"\t".repeat(gap))?;
                    written = written.max(next);
                    work.push(&shown.replace(['\n', '\t', '\r'], " "))?;
                }
                next += 1;
            }
            XmlNode::Close("row") => work.end_line()?,
            XmlNode::Text(text) if in_value => {
                if let Some(cell) = &mut cell {
                    cell.value.push_str(text);
                }
            }
            _ => {}
        }
        Ok(())
    })
}

/// The visible text of a cell.
fn shown(cell: &Cell, facts: &Facts) -> String {
    let value = cell.value.trim();
    match cell.kind.as_str() {
        "s" => {
            let index: Option<usize> = value.parse().ok();
            let text = index.and_then(|index| facts.strings.get(index));
            text.cloned().unwrap_or_default()
        }
        "b" => if value == "1" { "TRUE" } else { "FALSE" }.to_owned(),
        "str" | "inlineStr" | "e" | "d" => cell.value.clone(),
        _ => {
            let date = facts.dates.get(cell.style) == Some(&true);
            let number = value.parse::<f64>().ok();
            let written = number
                .filter(|_| date)
                .and_then(|days| date_of(days, facts.from_1904));
            written.unwrap_or_else(|| match number {
                // Shown rounded, as in the sheet: 0.1 + 0.2 is stored with 17 digits.
                Some(number) if value.len() > 15 => {
                    let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
                    rounded.to_string()
                }
                _ => value.to_owned(),
            })
        }
    }
}

/// The date of a serial number: days since the end of 1899, or since the beginning of 1904.
fn date_of(days: f64, from_1904: bool) -> Option<String> {
    if !(0.0..2_958_466.0).contains(&days) {
        return None;
    }
    let seconds = (days * 86_400.0).round() as i64;
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    let time = format!(
        "{:02}:{:02}:{:02}",
        second / 3_600,
        second / 60 % 60,
        second % 60
    );
    if day == 0 && !from_1904 {
        return Some(time);
    }
    // Excel has a 29 February 1900, as day 60.
    let epoch = match (from_1904, day < 60) {
        (true, _) => -24_107,
        (false, true) => -25_568,
        (false, false) => -25_569,
    };
    let (year, month, date) = civil(day + epoch);
    let date = format!("{year:04}-{month:02}-{date:02}");
    Some(match second {
        0 => date,
        _ => format!("{date} {time}"),
    })
}

/// The date of a number of days since 1970-01-01 (Howard Hinnant's algorithm).
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, date)
}

/// The column of a reference such as `AB12`, from 0.
fn column(index: &str) -> Option<usize> {
    let letters = index.bytes().take_while(u8::is_ascii_alphabetic);
    let number = letters.take(4).fold(0_usize, |number, letter| {
        number * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1
    });
    number.checked_sub(1)
}
