//! Text extraction from PDF, Word, Excel, PowerPoint, OpenDocument and HTML documents.
//!
//! Documents are untrusted. Everything is counted: unpacked bytes, steps and output. When a limit is
//! reached, the text so far is returned and marked as truncated; recursion is bounded by constants.

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

/// Limits of one extraction.
#[derive(Debug, Clone, Copy)]
pub struct DocumentLimits {
    /// Bytes of text.
    pub text: usize,
    /// Unpacked bytes, across all parts of the document.
    pub unpacked: usize,
    /// Steps: tags, tokens, shown characters.
    pub steps: u64,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        Self {
            text: 16 << 20,
            unpacked: 128 << 20,
            steps: 100_000_000,
        }
    }
}

/// A supported document type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
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

impl DocumentKind {
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
pub struct DocumentText {
    /// Its type.
    pub kind: DocumentKind,
    /// Its text, in lines.
    pub text: String,
}

/// Why no text could be extracted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// An unsupported type.
    #[error("it is not a document whose text can be read")]
    Unknown,
    /// It is password-protected.
    #[error("it is encrypted; save a copy without a password first")]
    Encrypted,
    /// It is malformed.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It contains no text.
    #[error("it has no text, only pictures (perhaps a scan)")]
    NoText,
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// Whether a file that starts with `head` may be a binary document.
pub fn may_be_document(head: &[u8], name: &str) -> bool {
    let zip = head.starts_with(b"PK\x03\x04") && !is_plain_archive(name);
    // A text may mention PDF; a file with data before its header is recognised by name only.
    let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let pdf = start.trim_ascii_start().starts_with(b"%PDF-");
    let by_name = || has_extension(name, "pdf") && pdf::is_pdf(head);
    zip || pdf || by_name()
}

fn has_extension(name: &str, word: &str) -> bool {
    let end = name.rsplit_once('.').map(|(_, end)| end);
    end.is_some_and(|end| end.eq_ignore_ascii_case(word))
}

/// Plain archives, by name: they are not documents.
fn is_plain_archive(name: &str) -> bool {
    let archives = ["zip", "jar", "apk", "war", "whl", "xpi"];
    archives.iter().any(|one| has_extension(name, one))
}

/// Extracts the text of a document. Slow for large ones, so call it with `spawn_blocking`; it returns
/// soon after `cancelled` returns true.
pub fn read(
    bytes: &[u8],
    limits: DocumentLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<DocumentText, DocumentError> {
    let mut work = Extraction::new(limits, cancelled);
    let done = match pdf::is_pdf(bytes) {
        true => pdf::read(bytes, &mut work).map(|()| DocumentKind::Pdf),
        false => office(bytes, &mut work),
    };
    let kind = match done {
        Ok(kind) => kind,
        // The text before the limit was reached is still useful.
        Err(StopCause::Full(kind)) if !work.text.trim().is_empty() => {
            work.cut(kind);
            kind
        }
        Err(StopCause::Full(_)) => {
            let message = "it unpacks to more than the limit";
            return Err(DocumentError::Damaged(message.to_owned()));
        }
        Err(StopCause::Because(error)) => return Err(error),
    };
    let text = work.text;
    match text
        .lines()
        .any(|line| !line.is_empty() && !is_heading(line))
    {
        true => Ok(DocumentText { kind, text }),
        false => Err(DocumentError::NoText),
    }
}

/// Extracts the text of a web page.
pub fn read_html(bytes: &[u8], limits: DocumentLimits) -> DocumentText {
    let mut text = crate::web::readable(bytes);
    if text.len() > limits.text {
        text.truncate(text.floor_char_boundary(limits.text));
        text.push_str("\n[cut: the page is longer]\n");
    }
    DocumentText {
        kind: DocumentKind::Html,
        text,
    }
}

fn office(bytes: &[u8], work: &mut Extraction<'_>) -> Result<DocumentKind, StopCause> {
    // Password-protected office files are OLE containers around the encrypted package.
    if bytes.starts_with(b"\xd0\xcf\x11\xe0") {
        return Err(DocumentError::Unknown.into());
    }
    let archive = Archive::open(bytes)?;
    if archive.has("word/document.xml") {
        word::document(&archive, work)?;
        return Ok(DocumentKind::Docx);
    }
    if archive.has("xl/workbook.xml") {
        sheet::workbook(&archive, work)?;
        return Ok(DocumentKind::Xlsx);
    }
    if archive.has("ppt/presentation.xml") {
        word::presentation(&archive, work)?;
        return Ok(DocumentKind::Pptx);
    }
    // OpenDocument stores its type in a separate entry; its other names are shared by all kinds.
    let mime = archive.whole("mimetype", 200, work).unwrap_or_default();
    let mime = String::from_utf8_lossy(&mime);
    let kind = match mime
        .trim()
        .strip_prefix("application/vnd.oasis.opendocument.")
    {
        Some(kind) if kind.starts_with("text") => DocumentKind::Odt,
        Some(kind) if kind.starts_with("spreadsheet") => DocumentKind::Ods,
        Some(kind) if kind.starts_with("presentation") => DocumentKind::Odp,
        _ => return Err(DocumentError::Unknown.into()),
    };
    opendocument::content(&archive, kind, work)?;
    Ok(kind)
}

/// Why extraction stopped.
#[derive(Debug)]
enum StopCause {
    /// A limit was reached.
    Full(DocumentKind),
    Because(DocumentError),
}

impl From<DocumentError> for StopCause {
    fn from(error: DocumentError) -> Self {
        Self::Because(error)
    }
}

fn damaged(why: impl Into<String>) -> StopCause {
    StopCause::Because(DocumentError::Damaged(why.into()))
}

/// The text so far, and the remaining budget.
struct Extraction<'a> {
    text: String,
    limits: DocumentLimits,
    steps: u64,
    unpacked: usize,
    /// The current document type, for a stop.
    kind: DocumentKind,
    cancelled: &'a dyn Fn() -> bool,
}

impl<'a> Extraction<'a> {
    fn new(limits: DocumentLimits, cancelled: &'a dyn Fn() -> bool) -> Self {
        Self {
            text: String::new(),
            limits,
            steps: 0,
            unpacked: 0,
            kind: DocumentKind::Pdf,
            cancelled,
        }
    }

    fn full(&self) -> StopCause {
        StopCause::Full(self.kind)
    }

    /// Counts steps.
    fn step(&mut self, count: u64) -> Result<(), StopCause> {
        let before = self.steps;
        self.steps += count;
        if self.steps > self.limits.steps {
            return Err(self.full());
        }
        // The cancellation check is not free, so it runs every 65,536 steps.
        match before >> 16 != self.steps >> 16 && (self.cancelled)() {
            true => Err(DocumentError::Cancelled.into()),
            false => Ok(()),
        }
    }

    /// Remaining bytes that may be unpacked.
    fn room(&self) -> usize {
        self.limits.unpacked - self.unpacked.min(self.limits.unpacked)
    }

    /// Counts unpacked bytes.
    fn unpack(&mut self, bytes: usize) -> Result<(), StopCause> {
        self.unpacked = self.unpacked.saturating_add(bytes);
        match self.unpacked > self.limits.unpacked {
            true => Err(self.full()),
            false => Ok(()),
        }
    }

    /// Appends text.
    fn push(&mut self, text: &str) -> Result<(), StopCause> {
        let room = self.limits.text.saturating_sub(self.text.len());
        if text.len() > room {
            // What fits is still useful.
            self.text.push_str(&text[..text.floor_char_boundary(room)]);
            return Err(self.full());
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Ends the current line.
    fn end_line(&mut self) -> Result<(), StopCause> {
        while self.text.ends_with([' ', '\t']) {
            self.text.pop();
        }
        match self.text.is_empty() || self.text.ends_with('\n') {
            true => Ok(()),
            false => self.push("\n"),
        }
    }

    /// Starts a page, slide or sheet.
    fn heading(&mut self, what: &str) -> Result<(), StopCause> {
        self.end_line()?;
        let gap = if self.text.is_empty() { "" } else { "\n" };
        // Sheet and slide names are untrusted: they must not forge another heading.
        let what: String = what.chars().filter(|c| !c.is_control()).take(200).collect();
        self.push(&format!("{gap}{HEADING}{what}{HEADING_END}\n"))
    }

    fn cut(&mut self, kind: DocumentKind) {
        let note = format!("\n[cut: the {} has more than can be read]\n", kind.word());
        self.text.push_str(&note);
    }
}

const HEADING: &str = "--- ";
const HEADING_END: &str = " ---";

fn is_heading(line: &str) -> bool {
    line.starts_with(HEADING) && line.ends_with(HEADING_END)
}
