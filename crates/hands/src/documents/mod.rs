//! The text that a person would read in a document: PDF, Word, Excel, PowerPoint, OpenDocument, HTML.
//!
//! Documents come from strangers. Everything here is counted: bytes that are unpacked, steps that are taken and
//! text that comes out. What runs out of room ends with the text there is and says so; nothing here calls itself
//! deeper than a constant allows.

mod archive;
mod opendocument;
mod pdf;
mod sheet;
#[cfg(test)]
mod tests;
mod word;
mod xml;

use thiserror::Error;

use archive::Archive;

/// How much one document may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of text.
    pub text: usize,
    /// Bytes that are unpacked, over all parts of the document.
    pub unpacked: usize,
    /// Steps: tags, tokens, shown characters.
    pub steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            text: 16 << 20,
            unpacked: 128 << 20,
            steps: 100_000_000,
        }
    }
}

/// A kind of document that text can be read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Portable Document Format.
    Pdf,
    /// Office Open XML text.
    Docx,
    /// Office Open XML spreadsheet.
    Xlsx,
    /// Office Open XML slides.
    Pptx,
    /// OpenDocument text.
    Odt,
    /// OpenDocument spreadsheet.
    Ods,
    /// OpenDocument slides.
    Odp,
    /// A web page.
    Html,
}

impl Kind {
    /// Its usual extension.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::Xlsx => "xlsx",
            Self::Pptx => "pptx",
            Self::Odt => "odt",
            Self::Ods => "ods",
            Self::Odp => "odp",
            Self::Html => "html",
        }
    }
}

/// The text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What it is.
    pub kind: Kind,
    /// Its text, in lines.
    pub text: String,
}

/// Why a document has no text for us.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// It is none of the kinds that are known.
    #[error("it is not a document whose text can be read")]
    Unknown,
    /// It cannot be opened without a password.
    #[error("it is encrypted; save a copy without a password first")]
    Encrypted,
    /// It does not hold together.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// There is nothing to read in it.
    #[error("it has no text, only pictures (perhaps a scan)")]
    NoText,
    /// Whoever wanted it is gone.
    #[error("cancelled")]
    Cancelled,
}

/// Whether a file that begins with `head` may be a document whose bytes are not text.
pub fn may_be_document(head: &[u8], name: &str) -> bool {
    let zip = head.starts_with(b"PK\x03\x04") && !is_plain_archive(name);
    // Text may speak of PDF; what has something before its header is believed by its name.
    let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let pdf = start.trim_ascii_start().starts_with(b"%PDF-");
    let by_name = || has_extension(name, "pdf") && pdf::is_pdf(head);
    zip || pdf || by_name()
}

fn has_extension(name: &str, word: &str) -> bool {
    let end = name.rsplit_once('.').map(|(_, end)| end);
    end.is_some_and(|end| end.eq_ignore_ascii_case(word))
}

/// Archives of files, by their names: there is nothing to look for in them.
fn is_plain_archive(name: &str) -> bool {
    let archives = ["zip", "jar", "apk", "war", "whl", "xpi"];
    archives.iter().any(|one| has_extension(name, one))
}

/// The text of the document that `bytes` are. Takes long for large ones, so asynchronous callers use
/// `spawn_blocking`; it ends soon after `cancelled` says so.
pub fn read(
    bytes: &[u8],
    limits: Limits,
    cancelled: &dyn Fn() -> bool,
) -> Result<Document, DocumentError> {
    let mut work = Work::new(limits, cancelled);
    let done = match pdf::is_pdf(bytes) {
        true => pdf::read(bytes, &mut work).map(|()| Kind::Pdf),
        false => office(bytes, &mut work),
    };
    let kind = match done {
        Ok(kind) => kind,
        // What came before it ran out of room is of use.
        Err(Stop::Full(kind)) if !work.text.trim().is_empty() => {
            work.cut(kind);
            kind
        }
        Err(Stop::Full(_)) => {
            let message = "it unpacks to more than can be read";
            return Err(DocumentError::Damaged(message.to_owned()));
        }
        Err(Stop::Because(error)) => return Err(error),
    };
    let text = work.text;
    match text
        .lines()
        .any(|line| !line.is_empty() && !is_heading(line))
    {
        true => Ok(Document { kind, text }),
        false => Err(DocumentError::NoText),
    }
}

/// The text of a web page.
pub fn read_html(bytes: &[u8], limits: Limits) -> Document {
    let mut text = crate::web::readable(bytes);
    if text.len() > limits.text {
        text.truncate(text.floor_char_boundary(limits.text));
        text.push_str("\n[cut: the page is longer]\n");
    }
    Document {
        kind: Kind::Html,
        text,
    }
}

fn office(bytes: &[u8], work: &mut Work<'_>) -> Result<Kind, Stop> {
    // Office files with a password are a container of another kind around the encrypted package.
    if bytes.starts_with(b"\xd0\xcf\x11\xe0") {
        return Err(DocumentError::Unknown.into());
    }
    let archive = Archive::open(bytes)?;
    if archive.has("word/document.xml") {
        word::document(&archive, work)?;
        return Ok(Kind::Docx);
    }
    if archive.has("xl/workbook.xml") {
        sheet::workbook(&archive, work)?;
        return Ok(Kind::Xlsx);
    }
    if archive.has("ppt/presentation.xml") {
        word::presentation(&archive, work)?;
        return Ok(Kind::Pptx);
    }
    let mime = archive.whole("mimetype", 200, work).unwrap_or_default();
    let mime = String::from_utf8_lossy(&mime);
    let kind = match mime
        .trim()
        .strip_prefix("application/vnd.oasis.opendocument.")
    {
        Some(kind) if kind.starts_with("text") => Kind::Odt,
        Some(kind) if kind.starts_with("spreadsheet") => Kind::Ods,
        Some(kind) if kind.starts_with("presentation") => Kind::Odp,
        _ => return Err(DocumentError::Unknown.into()),
    };
    opendocument::content(&archive, kind, work)?;
    Ok(kind)
}

/// Why reading stopped.
#[derive(Debug)]
enum Stop {
    /// There is no room for more.
    Full(Kind),
    Because(DocumentError),
}

impl From<DocumentError> for Stop {
    fn from(error: DocumentError) -> Self {
        Self::Because(error)
    }
}

fn damaged(why: impl Into<String>) -> Stop {
    Stop::Because(DocumentError::Damaged(why.into()))
}

/// The text so far, and what may still be spent.
struct Work<'a> {
    text: String,
    limits: Limits,
    steps: u64,
    unpacked: usize,
    /// What is being read, for a stop.
    kind: Kind,
    cancelled: &'a dyn Fn() -> bool,
}

impl<'a> Work<'a> {
    fn new(limits: Limits, cancelled: &'a dyn Fn() -> bool) -> Self {
        Self {
            text: String::new(),
            limits,
            steps: 0,
            unpacked: 0,
            kind: Kind::Pdf,
            cancelled,
        }
    }

    fn full(&self) -> Stop {
        Stop::Full(self.kind)
    }

    /// Counts steps.
    fn step(&mut self, count: u64) -> Result<(), Stop> {
        let before = self.steps;
        self.steps += count;
        if self.steps > self.limits.steps {
            return Err(self.full());
        }
        // Asking costs a little, so it is done every now and then.
        match before >> 16 != self.steps >> 16 && (self.cancelled)() {
            true => Err(DocumentError::Cancelled.into()),
            false => Ok(()),
        }
    }

    /// How many bytes may still be unpacked.
    fn room(&self) -> usize {
        self.limits.unpacked - self.unpacked.min(self.limits.unpacked)
    }

    /// Counts bytes that were unpacked.
    fn unpack(&mut self, bytes: usize) -> Result<(), Stop> {
        self.unpacked = self.unpacked.saturating_add(bytes);
        match self.unpacked > self.limits.unpacked {
            true => Err(self.full()),
            false => Ok(()),
        }
    }

    /// Adds text.
    fn push(&mut self, text: &str) -> Result<(), Stop> {
        let room = self.limits.text.saturating_sub(self.text.len());
        if text.len() > room {
            self.text.push_str(&text[..text.floor_char_boundary(room)]);
            return Err(self.full());
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Ends the line that was begun.
    fn end_line(&mut self) -> Result<(), Stop> {
        while self.text.ends_with([' ', '\t']) {
            self.text.pop();
        }
        match self.text.is_empty() || self.text.ends_with('\n') {
            true => Ok(()),
            false => self.push("\n"),
        }
    }

    /// Begins a page, a slide or a sheet.
    fn heading(&mut self, what: &str) -> Result<(), Stop> {
        self.end_line()?;
        let gap = if self.text.is_empty() { "" } else { "\n" };
        let what: String = what.chars().filter(|c| !c.is_control()).take(200).collect();
        self.push(&format!("{gap}{HEADING}{what}{HEADING_END}\n"))
    }

    fn cut(&mut self, kind: Kind) {
        let note = format!("\n[cut: the {} has more than can be read]\n", kind.word());
        self.text.push_str(&note);
    }
}

const HEADING: &str = "--- ";
const HEADING_END: &str = " ---";

fn is_heading(line: &str) -> bool {
    line.starts_with(HEADING) && line.ends_with(HEADING_END)
}
