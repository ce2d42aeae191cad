//! Parsing of hunks, including their end if their counts are wrong.

use super::error::PatchError;
use super::lines::{Ending, TextLine};

/// The side of a hunk that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Context,
    Old,
    New,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HunkLine<'a> {
    pub(super) tag: Tag,
    pub(super) line: TextLine<'a>,
}

/// Consecutive lines of a file, before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk<'a> {
    /// The old line number as written.
    pub(super) start: usize,
    /// Number of old lines according to the header.
    claimed: usize,
    /// The header's line ending, which reveals a patch converted to CRLF in transit.
    pub(super) header_ending: Ending,
    pub(super) lines: Vec<HunkLine<'a>>,
}

impl<'a> Hunk<'a> {
    pub(super) fn old(&self) -> Vec<TextLine<'a>> {
        self.side(Tag::Old)
    }

    pub(super) fn new_side(&self) -> Vec<TextLine<'a>> {
        self.side(Tag::New)
    }

    fn side(&self, tag: Tag) -> Vec<TextLine<'a>> {
        let on_side = |line: &&HunkLine<'a>| line.tag == tag || line.tag == Tag::Context;
        self.lines.iter().filter(on_side).map(|l| l.line).collect()
    }

    /// Index of its first line in the file, or of the line to insert before. An empty range names the line it
    /// comes after.
    pub(super) fn index(&self) -> usize {
        if self.claimed == 0 {
            self.start
        } else {
            self.start.saturating_sub(1)
        }
    }

    pub(super) fn changes(&self) -> bool {
        self.lines.iter().any(|line| line.tag != Tag::Context)
    }
}

struct Header {
    start: usize,
    old: usize,
    new: usize,
}

/// Parses the hunk whose header is line `at`, and returns the next line.
pub(super) fn read<'a>(lines: &[&'a str], at: usize) -> Result<(Hunk<'a>, usize), PatchError> {
    let header = header(lines[at]).ok_or(PatchError::Malformed {
        line: at + 1,
        why: "is not a hunk header; write @@ -START,COUNT +START,COUNT @@ with line numbers",
    })?;
    let (body, end) = match counted(lines, at + 1, &header) {
        Some(read) => read,
        None => recounted(lines, at + 1)?,
    };
    if body.is_empty() {
        return Err(PatchError::Malformed {
            line: at + 1,
            why: "the hunk has no lines; its lines begin with a space, - or +",
        });
    }
    let hunk = Hunk {
        start: header.start,
        claimed: header.old,
        header_ending: TextLine::of(lines[at].as_bytes()).ending,
        lines: body,
    };
    Ok((hunk, end))
}

fn header(line: &str) -> Option<Header> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        // As u32: larger numbers are attacks and would overflow later sums.
        let number = |digits: &str| digits.parse::<u32>().ok().map(|n| n as usize);
        Some((number(start)?, number(count)?))
    };
    let ((start, old), (_, new)) = (range(old)?, range(new)?);
    Some(Header { start, old, new })
}

/// The lines of a hunk according to its header; `None` if the counts are wrong.
fn counted<'a>(
    lines: &[&'a str],
    mut at: usize,
    header: &Header,
) -> Option<(Vec<HunkLine<'a>>, usize)> {
    let (mut old, mut new) = (header.old, header.new);
    let mut body = Vec::new();
    while old > 0 || new > 0 || lines.get(at).is_some_and(|line| is_marker(line)) {
        match tag(lines.get(at)?) {
            Some(tag) => {
                if tag != Tag::New {
                    // More lines than the header says: the counts are wrong.
                    old = old.checked_sub(1)?;
                }
                if tag != Tag::Old {
                    new = new.checked_sub(1)?;
                }
                push(&mut body, tag, lines[at]);
            }
            None if is_marker(lines[at]) => unterminate(&mut body, lines[at - 1])?,
            None => return None,
        }
        at += 1;
    }
    (!continues(lines, at)).then_some((body, at))
}

/// Whether lines that can only belong to this hunk follow its counted end.
fn continues(lines: &[&str], at: usize) -> bool {
    let Some(next) = (at..lines.len()).find(|next| !is_blank(lines[*next])) else {
        return false;
    };
    let reaches = match tag(lines[next]) {
        Some(Tag::Context) => next == at,
        Some(_) => true,
        None => false,
    };
    reaches && !ends_hunk(lines, next)
}

/// The lines of a hunk up to where no more can belong to it, without trailing blank lines.
fn recounted<'a>(
    lines: &[&'a str],
    start: usize,
) -> Result<(Vec<HunkLine<'a>>, usize), PatchError> {
    let mut body = Vec::new();
    let mut at = start;
    while at < lines.len() && !ends_hunk(lines, at) {
        match tag(lines[at]) {
            Some(tag) => push(&mut body, tag, lines[at]),
            None if is_marker(lines[at]) => {
                unterminate(&mut body, lines[at - 1]).ok_or(PatchError::Malformed {
                    line: at + 1,
                    why: "'\\ No newline at end of file' must follow a line of the hunk",
                })?;
            }
            None => break,
        }
        at += 1;
    }
    if let Some(lost) = lost_line(lines, at) {
        return Err(PatchError::Malformed {
            line: lost + 1,
            why: "begins with none of space, - and +, which every line of a hunk must; or the hunk's counts are wrong",
        });
    }
    // Blank lines before the next part are formatting of the patch, not context.
    let trailing = (start..at).rev().take_while(|at| is_blank(lines[*at]));
    body.truncate(body.len() - trailing.count().min(body.len()));
    Ok((body, at))
}

/// A line that ended a miscounted hunk although more of its changes follow: a prefix is missing, and
/// applying only the first half would be worse than refusing.
fn lost_line(lines: &[&str], end: usize) -> Option<usize> {
    let is_border = |at: usize| ends_hunk(lines, at) || lines[at].starts_with("```");
    if end >= lines.len() || is_border(end) {
        return None;
    }
    (end..lines.len())
        .take_while(|at| !is_border(*at))
        .any(|at| lines[at].starts_with(['+', '-']))
        .then_some(end)
}

/// Whether line `at` starts something other than the rest of a hunk.
fn ends_hunk(lines: &[&str], at: usize) -> bool {
    let line = lines[at];
    line.starts_with("@@")
        || line.starts_with("diff ")
        || line.starts_with("Index: ")
        || (is_file_header(lines, at) && lines.get(at + 2).is_some_and(|l| l.starts_with("@@")))
        || is_signature(lines, at)
}

/// Whether `---` and `+++` follow.
pub(super) fn is_file_header(lines: &[&str], at: usize) -> bool {
    lines[at].starts_with("--- ") && lines.get(at + 1).is_some_and(|l| l.starts_with("+++ "))
}

/// Whether the mail signature of `git format-patch` follows.
fn is_signature(lines: &[&str], at: usize) -> bool {
    let version = |line: &&str| {
        line.trim_end()
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '(' | ')' | ' '))
            && line.starts_with(|c: char| c.is_ascii_digit())
    };
    lines[at].trim_end() == "--" && lines.get(at + 1).is_some_and(version)
}

fn tag(line: &str) -> Option<Tag> {
    match line.as_bytes().first()? {
        b' ' => Some(Tag::Context),
        // An empty context line whose space an editor removed.
        b'\n' | b'\r' if is_blank(line) => Some(Tag::Context),
        b'-' => Some(Tag::Old),
        b'+' => Some(Tag::New),
        _ => None,
    }
}

fn is_blank(line: &str) -> bool {
    matches!(line, "" | "\n" | "\r\n")
}

fn is_marker(line: &str) -> bool {
    line.starts_with("\\ ")
}

fn push<'a>(body: &mut Vec<HunkLine<'a>>, tag: Tag, raw: &'a str) {
    let text = if is_blank(raw) { raw } else { &raw[1..] };
    let mut line = TextLine::of(text.as_bytes());
    // Only the patch text ends here; a missing newline in the file would have a marker.
    if line.ending == Ending::Missing {
        line.ending = body.last().map_or(Ending::Lf, |before| before.line.ending);
    }
    body.push(HunkLine { tag, line });
}

/// Removes the newline from the line before a marker.
fn unterminate<'a>(body: &mut [HunkLine<'a>], raw: &'a str) -> Option<()> {
    let last = body.last_mut()?;
    let text = if is_blank(raw) { raw } else { &raw[1..] };
    last.line = TextLine {
        body: text.strip_suffix('\n').unwrap_or(text).as_bytes(),
        ending: Ending::Missing,
    };
    Some(())
}
