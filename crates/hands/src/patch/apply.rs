//! Applies one file's part of a patch to a text.

use super::error::{HunkError, HunkProblem};
use super::hunk::{Hunk, HunkLine, Tag};
use super::lines::{Ending, Endings, Text, TextLine};
use super::parse::FilePatch;
use super::search::{Reading, Scope, Search};

/// A patched text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The new content.
    pub content: Vec<u8>,
    /// Where each hunk was applied, in order.
    pub hunks: Vec<HunkReport>,
}

/// Where a hunk was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkReport {
    /// Its first line in the old text, from 1.
    pub at_line: usize,
    /// Difference to the line number in its header.
    pub offset: isize,
}

/// Applies the hunks of `patch` to `original`, all or none.
///
/// Names and kinds of change do not matter here; see the [module](super) for the rules.
pub fn apply(original: &[u8], patch: &FilePatch<'_>) -> Result<Applied, HunkError> {
    let file = Text::new(original);
    let [first, then] = readings(&file, patch);
    match attempt(&file, patch, first) {
        // The lenient pass would be just as slow.
        Err(error) if then != first && error.why != HunkProblem::TooRepetitive => {
            attempt(&file, patch, then)
        }
        done => done,
    }
}

fn attempt(file: &Text<'_>, patch: &FilePatch<'_>, reading: Reading) -> Result<Applied, HunkError> {
    let places = locate_all(file, patch, reading)?;
    let content = rewrite(file, patch, &places, reading)?;
    let placed = patch.hunks.iter().zip(places);
    let hunks = placed.map(|(hunk, place)| HunkReport {
        at_line: place + 1,
        offset: offset(hunk, place),
    });
    Ok(Applied {
        content,
        hunks: hunks.collect(),
    })
}

/// How lines are compared: exactly, and if that fails with the file's line endings, unless the patch
/// itself changes endings.
fn readings(file: &Text<'_>, patch: &FilePatch<'_>) -> [Reading; 2] {
    let of_patch = patch.endings();
    let lenient = Reading {
        any_newline: of_patch != Endings::Mixed,
        any_end: !patch.has_marker(),
    };
    let was_turned_to_crlf = || {
        let headers = patch.hunks.iter().map(|hunk| hunk.header_ending);
        Endings::of(headers) == Endings::All(Ending::CrLf)
    };
    // Without context a patch with other endings would match exactly, and mix line endings.
    let of_file_only = match (file.endings(), of_patch) {
        (Endings::All(Ending::CrLf), Endings::All(Ending::Lf)) => true,
        (Endings::All(Ending::Lf), Endings::All(Ending::CrLf)) => was_turned_to_crlf(),
        _ => false,
    };
    if of_file_only {
        [lenient, lenient]
    } else {
        [Reading::EXACT, lenient]
    }
}

fn locate_all(
    file: &Text<'_>,
    patch: &FilePatch<'_>,
    reading: Reading,
) -> Result<Vec<usize>, HunkError> {
    let mut search = Search::new(file, reading, patch.is_named());
    let mut scope = Scope { floor: 0, drift: 0 };
    let mut places = Vec::with_capacity(patch.hunks.len());
    for (number, hunk) in patch.hunks.iter().enumerate() {
        let place = search.locate(hunk, scope).map_err(|miss| HunkError {
            hunk: number + 1,
            line: miss.at + 1,
            why: miss.why,
            expected: miss.expected.map(TextLine::shown),
            found: miss
                .expected
                .and_then(|_| file.get(miss.at))
                .map(TextLine::shown),
        })?;
        scope = Scope {
            // Hunks must not overlap, even if their text matches.
            floor: place + hunk.old().len(),
            drift: offset(hunk, place),
        };
        places.push(place);
    }
    Ok(places)
}

fn offset(hunk: &Hunk<'_>, place: usize) -> isize {
    place.cast_signed() - hunk.index().cast_signed()
}

fn rewrite(
    file: &Text<'_>,
    patch: &FilePatch<'_>,
    places: &[usize],
    reading: Reading,
) -> Result<Vec<u8>, HunkError> {
    let mut writer = PatchWriter {
        file,
        reading,
        out: Vec::with_capacity(file.slice(0..file.len()).len()),
        ends_open: false,
    };
    let mut at = 0;
    for (number, (hunk, place)) in patch.hunks.iter().zip(places).enumerate() {
        let open = |line: usize| HunkError {
            hunk: number + 1,
            line: line + 1,
            why: HunkProblem::NewlineMissingInside,
            expected: None,
            found: None,
        };
        writer.copy_unchanged(at, *place).ok_or_else(|| open(at))?;
        at = *place;
        for line in &hunk.lines {
            writer.line(line, at).ok_or_else(|| open(at))?;
            // Added lines have no counterpart in the file.
            at += usize::from(line.tag != Tag::New);
        }
    }
    writer
        .copy_unchanged(at, file.len())
        .ok_or_else(|| HunkError {
            hunk: patch.hunks.len(),
            line: at + 1,
            why: HunkProblem::NewlineMissingInside,
            expected: None,
            found: None,
        })?;
    let mut out = writer.out;
    // The patch does not mention the missing newline, so it stays missing.
    if file.lacks_final_newline() && !patch.has_marker() {
        let kept = TextLine::of(&out).body.len();
        out.truncate(kept);
    }
    Ok(out)
}

/// The new text so far. Each step is `None` if it would continue a line that the patch ends without a
/// newline.
struct PatchWriter<'f> {
    file: &'f Text<'f>,
    reading: Reading,
    out: Vec<u8>,
    ends_open: bool,
}

impl PatchWriter<'_> {
    /// Copies lines `from..to` of the file.
    fn copy_unchanged(&mut self, from: usize, to: usize) -> Option<()> {
        if from < to {
            self.start_line(from)?;
            self.out.extend_from_slice(self.file.slice(from..to));
        }
        Some(())
    }

    /// Processes a hunk line at line `at` of the file.
    fn line(&mut self, line: &HunkLine<'_>, at: usize) -> Option<()> {
        match line.tag {
            Tag::Old => return Some(()),
            Tag::Context => self.copy_unchanged(at, at + 1)?,
            Tag::New => {
                self.start_line(at)?;
                self.out.extend_from_slice(self.body(line.line));
                self.out
                    .extend_from_slice(self.ending(line.line, at).as_bytes());
            }
        }
        self.ends_open = !line.line.ending.is_newline();
        Some(())
    }

    /// Prepares for a new line: the previous one may be the file's last, without a newline.
    fn start_line(&mut self, at: usize) -> Option<()> {
        if self.ends_open {
            return None;
        }
        if self.out.last().is_some_and(|last| *last != b'\n') {
            // The neighbours decide in a file with mixed line endings.
            let ending = self.file.ending_near(at).unwrap_or(Ending::Lf);
            self.out.extend_from_slice(ending.as_bytes());
        }
        Some(())
    }

    fn body<'a>(&self, line: TextLine<'a>) -> &'a [u8] {
        if self.reading.any_newline {
            line.body_without_cr()
        } else {
            line.body
        }
    }

    fn ending(&self, line: TextLine<'_>, at: usize) -> Ending {
        let of_file = self.file.ending_near(at);
        match of_file {
            Some(ending) if self.reading.any_newline && line.ending.is_newline() => ending,
            _ => line.ending,
        }
    }
}
