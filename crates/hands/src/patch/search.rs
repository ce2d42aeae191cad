//! Finds where a hunk applies.

use super::error::HunkProblem;
use super::hunk::{Hunk, HunkLine, Tag};
use super::lines::{Ending, Text, TextLine};

/// Maximum distance from the expected line, before and after.
pub const MAX_OFFSET: usize = 1_000;

/// Maximum comparisons per file, in lines: well under a second. Only hostile texts get near.
const MAX_COST: usize = 20_000_000;

/// How lines are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    /// LF and CRLF are equal.
    pub(super) any_newline: bool,
    /// The file's last line may lack the newline that the patch has.
    pub(super) any_end: bool,
}

impl Reading {
    pub(super) const EXACT: Self = Self {
        any_newline: false,
        any_end: false,
    };

    fn same(self, patch: TextLine<'_>, file: TextLine<'_>) -> bool {
        let same_ending = match (patch.ending, file.ending) {
            (Ending::Missing, ending) => ending == Ending::Missing,
            (_, Ending::Missing) => self.any_end,
            (patch, file) => patch == file || self.any_newline,
        };
        let same_body = if self.any_newline {
            patch.body_without_cr() == file.body_without_cr()
        } else {
            patch.body == file.body
        };
        same_ending && same_body
    }
}

/// Why a hunk does not apply, with the index of the file's line.
pub(super) struct Miss<'a> {
    pub(super) why: HunkProblem,
    pub(super) at: usize,
    pub(super) expected: Option<TextLine<'a>>,
}

impl Miss<'_> {
    fn plain(why: HunkProblem, at: usize) -> Self {
        let expected = None;
        Self { why, at, expected }
    }
}

/// The search range of a hunk.
#[derive(Clone, Copy)]
pub(super) struct Scope {
    /// The first free line.
    pub(super) floor: usize,
    /// Offset of the previous hunk.
    pub(super) drift: isize,
}

/// Which matches count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seek {
    /// The nearest, and one equally near.
    Nearest,
    /// The nearest, and any other.
    Only,
}

/// Matches in order of preference.
enum Fit {
    None,
    One(usize),
    Two(usize, usize),
}

/// Searches hunks in one file.
pub(super) struct Search<'f> {
    file: &'f Text<'f>,
    reading: Reading,
    /// Whether the patch names the file, so that its line numbers come from a tool.
    numbered: bool,
    cost: usize,
}

impl<'f> Search<'f> {
    pub(super) fn new(file: &'f Text<'f>, reading: Reading, numbered: bool) -> Self {
        let cost = 0;
        Self {
            file,
            reading,
            numbered,
            cost,
        }
    }

    /// The index of the file's line where `hunk` applies.
    pub(super) fn locate<'a>(&mut self, hunk: &Hunk<'a>, scope: Scope) -> Result<usize, Miss<'a>> {
        let old = hunk.old();
        // Line numbers refer to the original file: earlier hunks that moved suggest that this one
        // did too.
        let expected = hunk.index().saturating_add_signed(scope.drift);
        if old.is_empty() {
            return self.insertion(expected, scope.floor);
        }
        // Line number 0 means unknown; then the match must be unique.
        let seek = match hunk.start {
            0 => Seek::Only,
            _ => Seek::Nearest,
        };
        let place = match self.nearest(&old, expected, scope.floor, seek)? {
            Fit::One(at) => at,
            Fit::Two(at, other) if !self.numbered || seek == Seek::Only => {
                let other = other + 1;
                return Err(Miss::plain(HunkProblem::Ambiguous { other }, at));
            }
            Fit::Two(at, _) => at,
            Fit::None => return Err(self.explain(hunk, &old, expected, scope.floor)?),
        };
        match self.done_before(hunk, place)? {
            Some(at) => Err(Miss::plain(HunkProblem::AlreadyApplied, at)),
            None => Ok(place),
        }
    }

    fn insertion<'a>(&self, expected: usize, floor: usize) -> Result<usize, Miss<'a>> {
        if expected > self.file.len() {
            Err(Miss::plain(HunkProblem::PastEnd, expected))
        } else if expected < floor {
            Err(Miss::plain(HunkProblem::OutOfOrder, expected))
        } else {
            Ok(expected)
        }
    }

    /// The match nearest to `expected`, and another that counts.
    fn nearest<'a>(
        &mut self,
        lines: &[TextLine<'_>],
        expected: usize,
        floor: usize,
        seek: Seek,
    ) -> Result<Fit, Miss<'a>> {
        let last = self.file.len().checked_sub(lines.len());
        let Some(last) = last.filter(|last| *last >= floor) else {
            return Ok(Fit::None);
        };
        // A number past the end means the last lines.
        let from = expected.clamp(floor, last);
        let mut first = None;
        for distance in 0..=MAX_OFFSET {
            let after = Some(from + distance).filter(|at| *at <= last);
            let before = from
                .checked_sub(distance)
                .filter(|at| distance > 0 && *at >= floor);
            if after.is_none() && before.is_none() {
                break;
            }
            // Later first: of two equally near places the later one wins.
            for at in [after, before].into_iter().flatten() {
                if !self.fits(lines, at)? {
                    continue;
                }
                match first {
                    Some(first) => return Ok(Fit::Two(first, at)),
                    None => first = Some(at),
                }
            }
            if let Some(at) = first.filter(|_| seek == Seek::Nearest) {
                return Ok(Fit::One(at));
            }
        }
        Ok(first.map_or(Fit::None, Fit::One))
    }

    fn fits<'a>(&mut self, lines: &[TextLine<'_>], at: usize) -> Result<bool, Miss<'a>> {
        Ok(self.matched(lines, at)? == lines.len())
    }

    /// How many of `lines` match the file from line `at` on.
    fn matched<'a>(&mut self, lines: &[TextLine<'_>], at: usize) -> Result<usize, Miss<'a>> {
        let mut matched = 0;
        for (line, here) in lines.iter().zip(at..self.file.len()) {
            // Counted over all hunks of a file, so that many cheap searches cannot add up.
            self.cost += 1 + line.body.len() / 64;
            if self.cost > MAX_COST {
                return Err(Miss::plain(HunkProblem::TooRepetitive, at));
            }
            if !self.reading.same(*line, self.file.line(here)) {
                break;
            }
            matched += 1;
        }
        Ok(matched)
    }

    /// Where the result of `hunk` already exists although `place` matches: it adds next to its first or last
    /// line, so its context alone cannot tell before from after.
    fn done_before<'a>(
        &mut self,
        hunk: &Hunk<'_>,
        place: usize,
    ) -> Result<Option<usize>, Miss<'a>> {
        let added = |line: &&HunkLine<'_>| line.tag == Tag::New;
        let leading = hunk.lines.iter().take_while(added).count();
        let trailing = hunk.lines.iter().rev().take_while(added).count();
        let only_adds = hunk.lines.iter().all(|line| line.tag != Tag::Old);
        if !only_adds || leading + trailing == 0 {
            return Ok(None);
        }
        let Some(at) = place.checked_sub(leading) else {
            return Ok(None);
        };
        Ok(self.fits(&hunk.new_side(), at)?.then_some(at))
    }

    /// Explains why `hunk` does not apply.
    fn explain<'a>(
        &mut self,
        hunk: &Hunk<'a>,
        old: &[TextLine<'a>],
        expected: usize,
        floor: usize,
    ) -> Result<Miss<'a>, Miss<'a>> {
        // Checked first, since it is the most useful answer: a repeated patch is common.
        if let Some(at) = self.result_at(hunk, expected, floor)? {
            return Ok(Miss::plain(HunkProblem::AlreadyApplied, at));
        }
        if let Fit::One(at) | Fit::Two(at, _) = self.nearest(old, expected, 0, Seek::Nearest)?
            && at < floor
        {
            return Ok(Miss::plain(HunkProblem::OutOfOrder, at));
        }
        let (start_line, matched) = self.closest(old, expected, floor)?;
        Ok(Miss {
            why: HunkProblem::NotFound,
            at: start_line + matched,
            expected: old.get(matched).copied(),
        })
    }

    /// Where the result of `hunk` exists. A single line says little, and is only checked at its place.
    fn result_at<'a>(
        &mut self,
        hunk: &Hunk<'_>,
        expected: usize,
        floor: usize,
    ) -> Result<Option<usize>, Miss<'a>> {
        let new = hunk.new_side();
        match new.len() {
            0 => Ok(None),
            1 => Ok((expected < self.file.len() && self.fits(&new, expected)?).then_some(expected)),
            _ => Ok(match self.nearest(&new, expected, floor, Seek::Nearest)? {
                Fit::One(at) | Fit::Two(at, _) => Some(at),
                Fit::None => None,
            }),
        }
    }

    /// The position where most lines match from the first on, and how many.
    fn closest<'a>(
        &mut self,
        old: &[TextLine<'_>],
        expected: usize,
        floor: usize,
    ) -> Result<(usize, usize), Miss<'a>> {
        let from = expected.clamp(floor, self.file.len().max(floor));
        let mut best = (from, 0);
        for distance in 0..=MAX_OFFSET {
            let before = from.checked_sub(distance).filter(|at| *at >= floor);
            for at in [Some(from + distance), before].into_iter().flatten() {
                let matched = self.matched(old, at)?;
                if matched > best.1 {
                    best = (at, matched);
                }
            }
        }
        Ok(best)
    }
}
