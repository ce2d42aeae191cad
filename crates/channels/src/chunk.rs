//! Cutting a text into messages that fit.
//!
//! A platform says how large a piece is once it is rendered; this says where to cut. It prefers the
//! end of a paragraph, then of a line, a sentence, a word, and tears neither a character as people
//! see it (a grapheme: a flag, a family, an accent on its letter) nor, where that can be helped,
//! a link or a piece of inline code. A fence of code that must be cut is closed at the end of one
//! piece and opened again at the beginning of the next; one that the text left open is closed.
//! Only blanks are left out at a cut, so that nothing said is lost.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::fence;

mod rank;
#[cfg(test)]
mod tests;

use rank::Cut;

/// How far beyond a window one looks to learn where its last character ends.
const BEYOND: usize = 256;

/// Cuts a Markdown text into pieces of which `size` says at most `limit`. `size` is given a piece
/// of Markdown and counts it as the platform does once it is rendered: it should hardly ever
/// shrink when the piece grows. No piece is blank; a blank text has none. Only where a single
/// character (a `char`) is larger than `limit`, a piece is too.
pub fn pieces(text: &str, limit: usize, size: &dyn Fn(&str) -> usize) -> Vec<String> {
    let limit = limit.max(1);
    let (fences, traps) = fences(text);
    let mut cutter = Cutter {
        text,
        limit,
        size,
        fences,
        traps,
    };
    // A fence whose own lines take half of a piece is plain text: it could hardly be cut.
    cutter.fences.retain(|fence| {
        let mut bare = fence.open.clone();
        bare.push('\n');
        bare.push_str(&fence.shut);
        size(&bare) <= limit / 2
    });
    cutter.all()
}

/// A fence in the text, by byte offsets.
#[derive(Debug)]
struct Fence {
    /// Where its first line begins.
    start: usize,
    /// Where what it holds begins.
    body: usize,
    /// Where its last line begins.
    close: usize,
    /// Where its last line ends.
    end: usize,
    /// Whether the text closes it.
    closed: bool,
    /// The line that opens it again.
    open: String,
    /// The line that closes it.
    shut: String,
}

/// The fences of a text, and the lines of which a part would look like one, in order.
fn fences(text: &str) -> (Vec<Fence>, Vec<Range<usize>>) {
    let (mut all, mut traps) = (Vec::new(), Vec::new());
    let mut current: Option<(Fence, &str, bool)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, bare) = (at, line.trim_end());
        at += line.len();
        if fence::looks_like(bare) {
            traps.push(start..start + bare.len());
        }
        if let Some((fence, marker, quoted)) = &mut current {
            let left = *quoted && !bare.trim_start().starts_with('>');
            if !left && !fence::closes(bare, marker) {
                continue;
            }
            fence.close = start;
            fence.end = if left { start } else { start + bare.len() };
            fence.closed = true;
            all.extend(current.take().map(|(fence, ..)| fence));
            if !left {
                continue;
            }
        }
        let Some(opening) = fence::opening(bare) else {
            continue;
        };
        let prefix: String = opening
            .prefix
            .chars()
            .map(|c| if matches!(c, '>' | '\t') { c } else { ' ' })
            .collect();
        let fence = Fence {
            start,
            body: at,
            close: text.len(),
            end: text.len(),
            closed: false,
            open: format!("{prefix}{}{}", opening.marker, opening.info),
            shut: format!("{prefix}{}", opening.marker),
        };
        current = Some((fence, opening.marker, prefix.contains('>')));
    }
    all.extend(current.map(|(fence, ..)| fence));
    (all, traps)
}

struct Cutter<'a> {
    text: &'a str,
    limit: usize,
    size: &'a dyn Fn(&str) -> usize,
    fences: Vec<Fence>,
    traps: Vec<Range<usize>>,
}

impl Cutter<'_> {
    fn all(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut at = self.after_blanks(0, true);
        while at < self.text.len() {
            let cut = self.next(at);
            if !self.text[at..cut].trim().is_empty() {
                all.push(self.piece(at..cut));
            }
            at = self.go_on(cut);
        }
        all
    }

    /// Where the piece that begins at `at` ends: always further on.
    fn next(&self, at: usize) -> usize {
        let Some((fits, over)) = self.window(at) else {
            return self.text.len();
        };
        let cuts = self.cuts(at, over);
        let mut most = self.most(at, fits, over, &cuts);
        // Another cut than the last may need a fence closed, and so be larger than that one.
        let (all, mut tries) = (most, 0);
        while let Some(chosen) = rank::best(at, &cuts[..most]) {
            if self.measure(at, cuts[chosen].at) <= self.limit {
                return cuts[chosen].at;
            }
            tries += 1;
            most = if tries > 4 { chosen / 2 } else { chosen };
        }
        // Only the lines of fences can be torn, or something that only looks like one.
        let fits = |cut: &&Cut| self.measure(at, cut.at) <= self.limit;
        let last = cuts[..all].iter().rev().take(8).find(fits);
        let last = last.or_else(|| cuts.first().filter(fits));
        last.map_or_else(
            || self.forced(at, cuts.first().map_or(over, |cut| cut.at)),
            |cut| cut.at,
        )
    }

    /// Two ends of which the nearer fits and the farther does not; none where all the rest fits.
    fn window(&self, at: usize) -> Option<(usize, usize)> {
        let (mut fits, mut step) = (at, self.limit.max(16));
        loop {
            let end = floor(self.text, at.saturating_add(step));
            if self.measure(at, end) > self.limit {
                return Some((fits, end));
            }
            if end == self.text.len() {
                return None;
            }
            fits = end;
            step = step.saturating_mul(2);
        }
    }

    /// How many of `cuts` fit, to begin with. Sizes grow evenly as a rule, so that the place is
    /// guessed by proportion, and by halves where that does not help.
    fn most(&self, at: usize, fits: usize, over: usize, cuts: &[Cut]) -> usize {
        let mut low = cuts.partition_point(|cut| cut.at <= fits);
        let mut high = cuts.partition_point(|cut| cut.at < over);
        let mut low_at = (fits, if fits > at { self.measure(at, fits) } else { 0 });
        let mut high_at = (over, self.measure(at, over));
        for round in 0_usize.. {
            if low >= high || self.limit.saturating_sub(low_at.1) < self.limit / 64 {
                break;
            }
            let span = high_at.1.saturating_sub(low_at.1).max(1) as u128;
            let room = self.limit.saturating_sub(low_at.1) as u128;
            let guess = low_at.0 as u128 + room * (high_at.0 - low_at.0) as u128 / span;
            let by_share = cuts.partition_point(|cut| (cut.at as u128) <= guess);
            let middle = match round % 3 {
                2 => low + (high - low) / 2,
                _ => by_share.saturating_sub(1).clamp(low, high - 1),
            };
            let end = cuts[middle].at;
            let size = self.measure(at, end);
            if size <= self.limit {
                (low, low_at) = (middle + 1, (end, size));
            } else {
                (high, high_at) = (middle, (end, size));
            }
        }
        low
    }

    /// The largest cut between characters of the text where nothing better is to be had.
    fn forced(&self, at: usize, over: usize) -> usize {
        let inside = &self.text[at..over];
        let mut ends: Vec<usize> = inside.char_indices().map(|(i, _)| at + i).skip(1).collect();
        ends.push(over);
        let (mut low, mut high) = (0, ends.len() - 1);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.measure(at, ends[middle]) <= self.limit {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        ends[low]
    }

    /// Every place between `at` and `over` where no character is torn, with how good a place it is.
    fn cuts(&self, at: usize, over: usize) -> Vec<Cut> {
        let end = floor(self.text, over + BEYOND);
        let window = &self.text[at..end];
        let mut cuts = rank::cuts(at, window, over, end == self.text.len());
        let first = self.traps.partition_point(|trap| trap.end < at);
        for trap in self.traps[first..]
            .iter()
            .take_while(|trap| trap.start < over)
        {
            for cut in rank::between_mut(&mut cuts, trap.start + 1..trap.end) {
                cut.forbid();
            }
        }
        for fence in self.overlapping(at, over) {
            for cut in rank::between_mut(&mut cuts, fence.start + 1..fence.body + 1) {
                cut.forbid();
            }
            for cut in rank::between_mut(&mut cuts, fence.body + 1..fence.close) {
                cut.in_code();
            }
            let last = fence.close.max(fence.body)..fence.end;
            for cut in rank::between_mut(&mut cuts, last) {
                cut.forbid();
            }
            for cut in rank::between_mut(&mut cuts, fence.start..fence.start + 1) {
                cut.before_fence();
            }
        }
        cuts
    }

    fn overlapping(&self, at: usize, over: usize) -> &[Fence] {
        let first = self.fences.partition_point(|fence| fence.end < at);
        let last = self.fences.partition_point(|fence| fence.start <= over);
        &self.fences[first..last.max(first)]
    }

    /// The fence that would be torn at `at`.
    fn around(&self, at: usize) -> Option<&Fence> {
        let before = self.fences.partition_point(|fence| fence.start < at);
        let fence = &self.fences[before.checked_sub(1)?];
        let left_open = !fence.closed && at == self.text.len();
        (at < fence.close || left_open).then_some(fence)
    }

    /// The fence in whose body a piece would begin.
    fn reopened(&self, at: usize) -> Option<&Fence> {
        self.around(at).filter(|fence| at >= fence.body)
    }

    fn measure(&self, from: usize, to: usize) -> usize {
        (self.size)(&self.piece(from..to))
    }

    /// The piece as it is sent.
    fn piece(&self, range: Range<usize>) -> String {
        let inside = &self.text[range.clone()];
        let reopened = self.reopened(range.start);
        let torn = self.reopened(range.end);
        let mut piece = String::with_capacity(inside.len() + 32);
        if let Some(fence) = reopened {
            piece.push_str(&fence.open);
            piece.push('\n');
        }
        piece.push_str(without_blank_end(inside));
        if let Some(fence) = torn {
            piece.push('\n');
            piece.push_str(&fence.shut);
        }
        piece
    }

    /// Where the next piece begins after a cut.
    fn go_on(&self, cut: usize) -> usize {
        let Some(fence) = self.reopened(cut) else {
            let line = self.text[..cut].ends_with('\n');
            return self.after_blanks(cut, line);
        };
        let next = self.after_blanks(cut, true);
        if next >= fence.close {
            // What is left of the fence is blank: it has been closed already.
            return self.after_blanks(fence.end, false);
        }
        // Blanks within a line count in code, unless there is nothing else for a whole piece.
        let word = self.after_blanks(next, false);
        if word - next > self.limit { word } else { next }
    }

    /// The first place from `at` on that is not blank; the indent of a line is kept.
    fn after_blanks(&self, at: usize, line: bool) -> usize {
        let rest = &self.text[at..];
        let solid = rest.trim_start();
        let mut blanks = &rest[..rest.len() - solid.len()];
        // A mark that sits on a blank keeps it.
        if let Some(last) = blanks.chars().next_back()
            && are_one(last, solid.chars().next())
        {
            blanks = &blanks[..blanks.len() - last.len_utf8()];
        }
        match blanks.rfind('\n') {
            _ if blanks.len() == rest.len() => self.text.len(),
            Some(newline) => at + newline + 1,
            None if line => at,
            None => at + blanks.len(),
        }
    }
}

/// A text without the blank characters at its end.
fn without_blank_end(text: &str) -> &str {
    let solid = text.trim_end();
    let next = text[solid.len()..].chars().next();
    let last = solid.chars().next_back();
    let kept = next.filter(|_| last.is_some_and(|last| are_one(last, next)));
    &text[..solid.len() + kept.map_or(0, char::len_utf8)]
}

/// Whether two chars are seen as one character.
fn are_one(first: char, second: Option<char>) -> bool {
    let both: String = [Some(first), second].into_iter().flatten().collect();
    second.is_some() && both.graphemes(true).count() == 1
}

/// The last place at or before `at` between two chars.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
