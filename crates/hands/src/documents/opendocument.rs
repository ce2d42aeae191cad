//! OpenDocument: text, spreadsheets and slides are all in one XML part.

use super::archive::Archive;
use super::xml::{self, XmlNode};
use super::{DocumentKind, Extraction, StopCause};

const CONTENT: &str = "content.xml";
/// Maximum repetitions of a row or cell: more is formatting up to the edge of a sheet.
const MAX_REPEATED: usize = 1_000;

pub(super) fn content(
    archive: &Archive<'_>,
    kind: DocumentKind,
    work: &mut Extraction<'_>,
) -> Result<(), StopCause> {
    work.kind = kind;
    let mut state = ParserState {
        sheets: kind == DocumentKind::Ods,
        ..ParserState::default()
    };
    xml::each(archive, CONTENT, work, |node, work| state.visit(node, work))?;
    work.end_line()
}

#[derive(Default)]
struct ParserState {
    /// Whether rows are lines of a sheet, rather than of a table within text.
    sheets: bool,
    slides: usize,
    /// Nesting depth of paragraphs; text elsewhere is not shown.
    paragraphs: u32,
    /// Nesting depth of invisible content.
    unseen: u32,
    /// The current row, and its repetitions.
    row: Option<(String, usize)>,
    /// The current cell, and its repetitions.
    cell: Option<(String, usize)>,
    /// Empty cells before the next one with text.
    empty: usize,
}

impl ParserState {
    fn visit(&mut self, node: XmlNode<'_>, work: &mut Extraction<'_>) -> Result<(), StopCause> {
        match node {
            XmlNode::Open(tag) => match tag.name {
                "annotation" | "tracked-changes" | "settings" => self.unseen += 1,
                "table" if self.sheets => {
                    let name = tag.attribute("name").unwrap_or_default();
                    work.heading(&format!("sheet: {name}"))?;
                }
                "page" => {
                    self.slides += 1;
                    work.heading(&format!("slide {}", self.slides))?;
                }
                "table-row" => {
                    let times = tag.number("number-rows-repeated").unwrap_or(1);
                    (self.row, self.empty) = (Some((String::new(), times)), 0);
                }
                "table-cell" | "covered-table-cell" if self.row.is_some() => {
                    let times = tag.number("number-columns-repeated").unwrap_or(1);
                    self.cell = Some((String::new(), times));
                }
                "p" | "h" => self.paragraphs += 1,
                "tab" => self.push_text("\t", work)?,
                "line-break" => {
                    self.push_text(if self.cell.is_some() { " " } else { "\n" }, work)?
                }
                "s" => {
                    let count = tag.number("c").unwrap_or(1).min(MAX_REPEATED);
                    self.push_text(&" ".repeat(count), work)?;
                }
                _ => {}
            },
            XmlNode::Close(name) => self.close(name, work)?,
            XmlNode::Text(text) if self.paragraphs > 0 => self.push_text(text, work)?,
            XmlNode::Text(_) => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str, work: &mut Extraction<'_>) -> Result<(), StopCause> {
        match name {
            "annotation" | "tracked-changes" | "settings" => {
                self.unseen = self.unseen.saturating_sub(1);
            }
            "p" | "h" => {
                self.paragraphs = self.paragraphs.saturating_sub(1);
                match &mut self.cell {
                    Some((cell, _)) => cell.push(' '),
                    None if self.unseen == 0 => work.push("\n")?,
                    None => {}
                }
            }
            "table-cell" | "covered-table-cell" => {
                let (cell, times) = self.cell.take().unwrap_or_default();
                let Some((row, _)) = &mut self.row else {
                    return Ok(());
                };
                let cell = cell.trim_end();
                if cell.is_empty() {
                    self.empty = self.empty.saturating_add(times);
                    return Ok(());
                }
                let gap = std::mem::take(&mut self.empty).min(16_384);
                row.push_str(&"\t".repeat(gap));
                for _ in 0..times.min(MAX_REPEATED) {
                    // Charged by length, so that a row that keeps growing hits the limit.
                    work.step(1 + cell.len() as u64 / 64)?;
                    if row.len() > work.limits.text {
                        return Err(work.full());
                    }
                    row.push_str(cell);
                    row.push('\t');
                }
            }
            "table-row" => {
                let (row, times) = self.row.take().unwrap_or_default();
                let row = row.trim_end_matches('\t');
                if row.is_empty() {
                    return Ok(());
                }
                for _ in 0..times.clamp(1, MAX_REPEATED) {
                    work.push(row)?;
                    work.push("\n")?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn push_text(&mut self, text: &str, work: &mut Extraction<'_>) -> Result<(), StopCause> {
        if self.unseen > 0 || self.paragraphs == 0 {
            return Ok(());
        }
        match &mut self.cell {
            Some((cell, _)) if cell.len() + text.len() > work.limits.text => Err(work.full()),
            Some((cell, _)) => {
                cell.extend(
                    text.chars()
                        .map(|c| if c == '\n' || c == '\t' { ' ' } else { c }),
                );
                Ok(())
            }
            None => work.push(text),
        }
    }
}
