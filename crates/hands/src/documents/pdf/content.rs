//! Page content. PDF places text anywhere, so lines and spaces are derived from positions.

use std::collections::HashMap;
use std::rc::Rc;

use super::file::PdfFile;
use super::font::Font;
use super::object::{Dict, Lexer, Object, is_blank};
use crate::documents::{Extraction, StopCause};

/// Maximum nesting of forms; none is drawn within itself.
const MAX_FORMS: usize = 8;
/// Maximum saved graphics states.
const MAX_SAVED: usize = 64;
/// Maximum operands of an operator.
const MAX_OPERANDS: usize = 1_000;
/// A gap of this fraction of the text size is a space.
const SPACE: f64 = 0.2;
/// A vertical step of this fraction is a new line.
const LINE: f64 = 0.4;

/// An affine matrix in PDF's order.
type Matrix = [f64; 6];
const SAME: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// Applies `a`, then `b`.
fn times(a: Matrix, b: Matrix) -> Matrix {
    [
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
        a[4] * b[0] + a[5] * b[2] + b[4],
        a[4] * b[1] + a[5] * b[3] + b[5],
    ]
}

/// The state that `q` saves.
#[derive(Clone)]
struct GraphicsState {
    matrix: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    spacing: f64,
    word_spacing: f64,
    scale: f64,
    leading: f64,
    rise: f64,
}

/// Fonts by object number.
type Fonts = HashMap<u32, Rc<Font>>;

/// Extracts pages one after the other.
pub(super) struct Pages<'a> {
    file: &'a PdfFile<'a>,
    /// Parsed fonts, by object number.
    fonts: Fonts,
}

impl<'a> Pages<'a> {
    pub(super) fn new(file: &'a PdfFile<'a>) -> Self {
        Self {
            file,
            fonts: Fonts::new(),
        }
    }

    /// Appends the text of a page.
    pub(super) fn page(
        &mut self,
        page: &Dict,
        resources: &Dict,
        work: &mut Extraction<'_>,
    ) -> Result<(), StopCause> {
        let contents = match page.get("Contents") {
            Some(Object::List(list)) => list.clone(),
            Some(reference @ Object::Ref(_)) => match self.file.resolve(reference, work)? {
                Object::List(list) => list,
                _ => vec![reference.clone()],
            },
            _ => return Ok(()),
        };
        let mut bytes = Vec::new();
        for part in contents.iter().take(10_000) {
            if let Some((_, Some(part))) = self.file.stream(part, work)? {
                bytes.extend_from_slice(&part);
                // Streams may be split inside the content, but never inside a token.
                bytes.push(b'\n');
                if bytes.len() > 64 << 20 {
                    return Err(work.full());
                }
            }
        }
        let state = GraphicsState {
            matrix: SAME,
            font: None,
            size: 1.0,
            spacing: 0.0,
            word_spacing: 0.0,
            scale: 1.0,
            leading: 0.0,
            rise: 0.0,
        };
        let mut drawing = Drawing {
            pages: self,
            state,
            saved: Vec::new(),
            text: SAME,
            line: SAME,
            last: None,
            forms: Vec::new(),
        };
        drawing.run(&bytes, resources, work)?;
        work.end_line()
    }
}

/// Where the last text ended: position, direction and size.
#[derive(Clone, Copy)]
struct TextEnd {
    x: f64,
    y: f64,
    size: f64,
}

struct Drawing<'p, 'a> {
    pages: &'p mut Pages<'a>,
    state: GraphicsState,
    saved: Vec<GraphicsState>,
    text: Matrix,
    line: Matrix,
    last: Option<TextEnd>,
    /// The forms being drawn.
    forms: Vec<Object>,
}

impl Drawing<'_, '_> {
    fn run(
        &mut self,
        bytes: &[u8],
        resources: &Dict,
        work: &mut Extraction<'_>,
    ) -> Result<(), StopCause> {
        let mut lexer = Lexer::new(bytes, 0);
        let mut operands: Vec<Object> = Vec::new();
        loop {
            let from = lexer.at;
            let Some(object) = lexer.next() else {
                return Ok(());
            };
            work.step(1 + (lexer.at - from) as u64 / 16)?;
            let Object::Word(word) = object else {
                if operands.len() < MAX_OPERANDS {
                    operands.push(object);
                }
                continue;
            };
            // Image data may contain anything, including valid operators.
            if word == "ID" {
                lexer.at = after_picture(bytes, lexer.at);
            } else {
                self.operator(&word, &operands, resources, work)?;
            }
            operands.clear();
        }
    }

    fn operator(
        &mut self,
        word: &str,
        operands: &[Object],
        resources: &Dict,
        work: &mut Extraction<'_>,
    ) -> Result<(), StopCause> {
        let number = |index: usize| operands.get(index).and_then(Object::number).unwrap_or(0.0);
        let matrix = || {
            [
                number(0),
                number(1),
                number(2),
                number(3),
                number(4),
                number(5),
            ]
        };
        match word {
            "q" if self.saved.len() < MAX_SAVED => self.saved.push(self.state.clone()),
            // Unbalanced Q is common and harmless.
            "Q" => {
                if let Some(state) = self.saved.pop() {
                    self.state = state;
                }
            }
            "cm" => self.state.matrix = times(matrix(), self.state.matrix),
            "BT" => (self.text, self.line) = (SAME, SAME),
            "Tf" => {
                self.state.size = number(1);
                let name = operands.first().and_then(Object::name).unwrap_or_default();
                self.state.font = self.font(name, resources, work)?;
            }
            "Tc" => self.state.spacing = number(0),
            "Tw" => self.state.word_spacing = number(0),
            "Tz" => self.state.scale = number(0) / 100.0,
            "TL" => self.state.leading = number(0),
            "Ts" => self.state.rise = number(0),
            "Tm" => (self.text, self.line) = (matrix(), matrix()),
            "Td" => self.next_line(number(0), number(1)),
            "TD" => {
                self.state.leading = -number(1);
                self.next_line(number(0), number(1));
            }
            "T*" => self.next_line(0.0, -self.state.leading),
            "Tj" => self.show(operands.first(), work)?,
            "'" => {
                self.next_line(0.0, -self.state.leading);
                self.show(operands.first(), work)?;
            }
            "\"" => {
                (self.state.word_spacing, self.state.spacing) = (number(0), number(1));
                self.next_line(0.0, -self.state.leading);
                self.show(operands.get(2), work)?;
            }
            "TJ" => {
                for part in operands.first().and_then(Object::list).unwrap_or_default() {
                    match part {
                        Object::Number(back) => {
                            let along = -back / 1000.0 * self.state.size * self.state.scale;
                            self.text = times([1.0, 0.0, 0.0, 1.0, along, 0.0], self.text);
                        }
                        text => self.show(Some(text), work)?,
                    }
                }
            }
            "Do" => {
                let name = operands.first().and_then(Object::name).unwrap_or_default();
                self.form(name, resources, work)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.line = times([1.0, 0.0, 0.0, 1.0, x, y], self.line);
        self.text = self.line;
    }

    fn font(
        &mut self,
        name: &str,
        resources: &Dict,
        work: &mut Extraction<'_>,
    ) -> Result<Option<Rc<Font>>, StopCause> {
        let file = self.pages.file;
        let fonts = file.dict(resources, "Font", work)?;
        let Some(found) = fonts.get(name) else {
            return Ok(None);
        };
        let number = match found {
            Object::Ref(number) => Some(*number),
            _ => None,
        };
        if let Some(known) = number.and_then(|number| self.pages.fonts.get(&number)) {
            return Ok(Some(known.clone()));
        }
        let Object::Dict(dict) = file.resolve(found, work)? else {
            return Ok(None);
        };
        let font = Rc::new(Font::read(file, &dict, work)?);
        if let Some(number) = number {
            self.pages.fonts.insert(number, font.clone());
        }
        Ok(Some(font))
    }

    fn show(&mut self, text: Option<&Object>, work: &mut Extraction<'_>) -> Result<(), StopCause> {
        let (Some(Object::Text(bytes)), Some(font)) = (text, self.state.font.clone()) else {
            return Ok(());
        };
        work.step(bytes.len() as u64)?;
        let GraphicsState {
            size,
            spacing,
            word_spacing,
            scale,
            rise,
            ..
        } = self.state;
        let (mut shown, mut along) = (String::new(), 0.0);
        let position = times([size * scale, 0.0, 0.0, size, 0.0, rise], self.text);
        let position = times(position, self.state.matrix);
        // Text size on the page, from the height of a character.
        let high = position[2].hypot(position[3]).max(1e-6);
        let begins = (position[4], position[5]);
        font.each(bytes, |meaning, width, is_space| {
            shown.push_str(meaning);
            let gap = spacing + if is_space { word_spacing } else { 0.0 };
            along += (width / 1000.0 * size + gap) * scale;
        });
        self.text = times([1.0, 0.0, 0.0, 1.0, along, 0.0], self.text);
        let after = times(self.text, self.state.matrix);
        if shown.is_empty() {
            return Ok(());
        }
        if let Some(last) = self.last {
            let size = high.max(last.size);
            let (dx, dy) = (begins.0 - last.x, begins.1 - last.y);
            // Rotated text advances along its own direction, which must not count as a vertical step.
            let direction = (after[4] - begins.0).hypot(after[5] - begins.1).max(1e-6);
            let (ux, uy) = (
                (after[4] - begins.0) / direction,
                (after[5] - begins.1) / direction,
            );
            let (ahead, across) = (dx * ux + dy * uy, (dy * ux - dx * uy).abs());
            if across > size * LINE {
                work.end_line()?;
            } else if ahead.abs() > size * SPACE
                && !work.text.ends_with([' ', '\n'])
                && !shown.starts_with(' ')
            {
                work.push(" ")?;
            }
        }
        self.last = Some(TextEnd {
            x: after[4],
            y: after[5],
            size: high,
        });
        work.push(&plain(&shown))
    }

    /// Draws a form, which is a page within a page.
    fn form(
        &mut self,
        name: &str,
        resources: &Dict,
        work: &mut Extraction<'_>,
    ) -> Result<(), StopCause> {
        let file = self.pages.file;
        let forms = file.dict(resources, "XObject", work)?;
        let Some(found) = forms.get(name) else {
            return Ok(());
        };
        // A form that draws itself would recurse without end.
        if self.forms.len() >= MAX_FORMS || self.forms.contains(found) {
            return Ok(());
        }
        // Check the dictionary first: images need not be unpacked to be skipped.
        let Object::Dict(dict) = file.resolve(found, work)? else {
            return Ok(());
        };
        if dict.get("Subtype").and_then(Object::name) != Some("Form") {
            return Ok(());
        }
        let Some((dict, Some(bytes))) = file.stream(found, work)? else {
            return Ok(());
        };
        let own = file.dict(&dict, "Resources", work)?;
        // Old files omit a form's resources and rely on the page's.
        let own = if own.is_empty() { resources } else { &own };
        let before = (
            self.state.clone(),
            std::mem::take(&mut self.saved),
            self.text,
            self.line,
        );
        if let Object::List(list) = file.get(&dict, "Matrix", work)? {
            let mut matrix = SAME;
            for (slot, entry) in matrix.iter_mut().zip(&list) {
                *slot = entry.number().unwrap_or(*slot);
            }
            self.state.matrix = times(matrix, self.state.matrix);
        }
        self.forms.push(found.clone());
        self.run(&bytes, own, work)?;
        self.forms.pop();
        (self.state, self.saved, self.text, self.line) = before;
        Ok(())
    }
}

/// Text as a person would search for it: ligatures are expanded.
fn plain(shown: &str) -> String {
    let mut plain = String::with_capacity(shown.len());
    for c in shown.chars().filter(|c| !c.is_control()) {
        match c {
            '\u{fb00}' => plain.push_str("ff"),
            '\u{fb01}' => plain.push_str("fi"),
            '\u{fb02}' => plain.push_str("fl"),
            '\u{fb03}' => plain.push_str("ffi"),
            '\u{fb04}' => plain.push_str("ffl"),
            '\u{a0}' => plain.push(' '),
            other => plain.push(other),
        }
    }
    plain
}

/// The offset behind an inline image.
fn after_picture(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = memchr::memmem::find(&bytes[at..], b"EI") {
        let start = at + found;
        let alone = |byte: Option<&u8>| byte.is_none_or(|byte| is_blank(*byte));
        // "EI" also occurs inside the image data.
        if alone(bytes.get(start.wrapping_sub(1))) && alone(bytes.get(start + 2)) {
            return start + 2;
        }
        at = start + 2;
    }
    bytes.len()
}
