//! Where in a file a hunk belongs.

use super::error::HunkProblem;
use super::hunk::{Hunk, HunkLine, Tag};
use super::lines::{Ending, Line, Text};

/// How many lines before and after its expected place a hunk is looked for.
pub const MAX_OFFSET: usize = 1_000;

/// How much comparing one file may cost, in lines: well under a second. Only hostile texts come near.
const MAX_COST: usize = 20_000_000;

/// What counts as the same line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    /// LF and CRLF are one.
    pub(super) any_newline: bool,
    /// A file's last line may lack the newline that the patch has.
    pub(super) any_end: bool,
}

impl Reading {
    pub(super) const EXACT: Self = Self {
        any_newline: false,
        any_end: false,
    };

    fn same(self, patch: Line<'_>, file: Line<'_>) -> bool {
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

/// Why a hunk has no place, with the index of the file's line this is about.
pub(super) struct Miss<'a> {
    pub(super) why: HunkProblem,
    pub(super) at: usize,
    pub(super) expected: Option<Line<'a>>,
}

impl Miss<'_> {
    fn plain(why: HunkProblem, at: usize) -> Self {
        let expected = None;
        Self { why, at, expected }
    }
}

/// What may be searched for a hunk.
#[derive(Clone, Copy)]
pub(super) struct Scope {
    /// The first line that is free.
    pub(super) floor: usize,
    /// How far the hunk before was moved.
    pub(super) drift: isize,
}

/// Which places matter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seek {
    /// The nearest, and one as near.
    Nearest,
    /// The nearest, and any other.
    Only,
}

/// Places that fit, in the order in which they are preferred.
enum Fit {
    None,
    One(usize),
    Two(usize, usize),
}

/// Looks for hunks in one file.
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

    /// The index of the file's line where `hunk` begins.
    pub(super) fn locate<'a>(&mut self, hunk: &Hunk<'a>, scope: Scope) -> Result<usize, Miss<'a>> {
        let old = hunk.old();
        let wanted = hunk.index().saturating_add_signed(scope.drift);
        if old.is_empty() {
            return self.insertion(wanted, scope.floor);
        }
        // The number 0 is none; then the place must be the only one.
        let seek = match hunk.start {
            0 => Seek::Only,
            _ => Seek::Nearest,
        };
        let place = match self.nearest(&old, wanted, scope.floor, seek)? {
            Fit::One(at) => at,
            Fit::Two(at, other) if !self.numbered || seek == Seek::Only => {
                let other = other + 1;
                return Err(Miss::plain(HunkProblem::Ambiguous { other }, at));
            }
            Fit::Two(at, _) => at,
            Fit::None => return Err(self.explain(hunk, &old, wanted, scope.floor)?),
        };
        match self.done_before(hunk, place)? {
            Some(at) => Err(Miss::plain(HunkProblem::AlreadyApplied, at)),
            None => Ok(place),
        }
    }

    fn insertion<'a>(&self, wanted: usize, floor: usize) -> Result<usize, Miss<'a>> {
        if wanted > self.file.len() {
            Err(Miss::plain(HunkProblem::PastEnd, wanted))
        } else if wanted < floor {
            Err(Miss::plain(HunkProblem::OutOfOrder, wanted))
        } else {
            Ok(wanted)
        }
    }

    /// The place nearest to `wanted`, and another that matters.
    fn nearest<'a>(
        &mut self,
        lines: &[Line<'_>],
        wanted: usize,
        floor: usize,
        seek: Seek,
    ) -> Result<Fit, Miss<'a>> {
        let last = self.file.len().checked_sub(lines.len());
        let Some(last) = last.filter(|last| *last >= floor) else {
            return Ok(Fit::None);
        };
        let from = wanted.clamp(floor, last);
        let mut first = None;
        for distance in 0..=MAX_OFFSET {
            let after = Some(from + distance).filter(|at| *at <= last);
            let before = from
                .checked_sub(distance)
                .filter(|at| distance > 0 && *at >= floor);
            if after.is_none() && before.is_none() {
                break;
            }
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

    fn fits<'a>(&mut self, lines: &[Line<'_>], at: usize) -> Result<bool, Miss<'a>> {
        Ok(self.matched(lines, at)? == lines.len())
    }

    /// How many of `lines` stand in the file from line `at` on.
    fn matched<'a>(&mut self, lines: &[Line<'_>], at: usize) -> Result<usize, Miss<'a>> {
        let mut matched = 0;
        for (line, here) in lines.iter().zip(at..self.file.len()) {
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

    /// Where the result of `hunk` already stands although `place` fits: it adds to the first or the last of its
    /// lines, so its context alone cannot tell before from after.
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

    /// Why `hunk` fits nowhere.
    fn explain<'a>(
        &mut self,
        hunk: &Hunk<'a>,
        old: &[Line<'a>],
        wanted: usize,
        floor: usize,
    ) -> Result<Miss<'a>, Miss<'a>> {
        if let Some(at) = self.result_at(hunk, wanted, floor)? {
            return Ok(Miss::plain(HunkProblem::AlreadyApplied, at));
        }
        if let Fit::One(at) | Fit::Two(at, _) = self.nearest(old, wanted, 0, Seek::Nearest)?
            && at < floor
        {
            return Ok(Miss::plain(HunkProblem::OutOfOrder, at));
        }
        let (begin, matched) = self.closest(old, wanted, floor)?;
        Ok(Miss {
            why: HunkProblem::NotFound,
            at: begin + matched,
            expected: old.get(matched).copied(),
        })
    }

    /// Where the result of `hunk` stands. One line alone says little, and is only looked for in its place.
    fn result_at<'a>(
        &mut self,
        hunk: &Hunk<'_>,
        wanted: usize,
        floor: usize,
    ) -> Result<Option<usize>, Miss<'a>> {
        let new = hunk.new_side();
        match new.len() {
            0 => Ok(None),
            1 => Ok((wanted < self.file.len() && self.fits(&new, wanted)?).then_some(wanted)),
            _ => Ok(match self.nearest(&new, wanted, floor, Seek::Nearest)? {
                Fit::One(at) | Fit::Two(at, _) => Some(at),
                Fit::None => None,
            }),
        }
    }

    /// The place where most lines fit from the first on, and how many.
    fn closest<'a>(
        &mut self,
        old: &[Line<'_>],
        wanted: usize,
        floor: usize,
    ) -> Result<(usize, usize), Miss<'a>> {
        let from = wanted.clamp(floor, self.file.len().max(floor));
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
