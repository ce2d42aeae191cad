//! Splits a text into messages that fit.
//!
//! The platform defines the rendered size of a chunk; this module decides where to split. It prefers
//! the end of a paragraph, then of a line, a sentence, a word, and tears neither a grapheme (a flag, a
//! family, an accented letter) nor, if possible, a link or inline code. A code fence that must be split
//! is closed at the end of one chunk and reopened at the beginning of the next; one left open by the
//! text is closed. Only whitespace is dropped at a split, so no content is lost.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::fence;

mod rank;
#[cfg(test)]
mod tests;

use rank::Cut;

/// Bytes read beyond a window to find the end of its last grapheme.
const BEYOND: usize = 256;

/// Splits Markdown into chunks whose `size` is at most `limit`. `size` measures a chunk as the
/// platform does after rendering; it should hardly ever shrink when the chunk grows. No chunk is blank;
/// a blank text has none. A chunk exceeds `limit` only if a single `char` does.
pub fn pieces(text: &str, limit: usize, size: &dyn Fn(&str) -> usize) -> Vec<String> {
    // A limit of zero would never make progress.
    let limit = limit.max(1);
    // Computed once for the whole text: a chunk alone cannot tell whether it starts inside a fence.
    let (fences, traps) = fences(text);
    let mut cutter = Cutter {
        text,
        limit,
        size,
        fences,
        traps,
    };
    // A fence whose own lines take half of a chunk is treated as plain text: splitting it leaves no room.
    cutter.fences.retain(|fence| {
        let mut bare = fence.open.clone();
        bare.push('\n');
        bare.push_str(&fence.shut);
        size(&bare) <= limit / 2
    });
    cutter.all()
}

/// A code fence, as byte offsets.
#[derive(Debug)]
struct Fence {
    /// Start of its first line.
    start: usize,
    /// Start of its content.
    body: usize,
    /// Start of its last line.
    close: usize,
    /// End of its last line.
    end: usize,
    /// Whether the text closes it.
    closed: bool,
    /// The line that reopens it.
    open: String,
    /// The line that closes it.
    shut: String,
}

/// The fences of a text, and lines of which a fragment would look like one, in order.
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
            // A quoted fence ends with its quote, even without a closing line.
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
        // List markers become spaces: reopening a fence must not start a new list item.
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

    /// The end of the chunk that starts at `at`; always greater.
    fn next(&self, at: usize) -> usize {
        let Some((fits, over)) = self.window(at) else {
            return self.text.len();
        };
        let cuts = self.cuts(at, over);
        let mut most = self.most(at, fits, over, &cuts);
        // An earlier cut may need its fence closed and so be larger than a later one: measure the choice.
        let (all, mut tries) = (most, 0);
        while let Some(chosen) = rank::best(at, &cuts[..most]) {
            if self.measure(at, cuts[chosen].at) <= self.limit {
                return cuts[chosen].at;
            }
            // Halved after some tries: each one renders the chunk, and neighbours are about as large.
            tries += 1;
            most = if tries > 4 { chosen / 2 } else { chosen };
        }
        // Every good cut is too large: allow tearing fence lines or lookalikes rather than failing.
        let fits = |cut: &&Cut| self.measure(at, cut.at) <= self.limit;
        let last = cuts[..all].iter().rev().take(8).find(fits);
        let last = last.or_else(|| cuts.first().filter(fits));
        last.map_or_else(
            || self.forced(at, cuts.first().map_or(over, |cut| cut.at)),
            |cut| cut.at,
        )
    }

    /// Two offsets, of which the nearer fits and the farther does not; `None` if the rest fits.
    fn window(&self, at: usize) -> Option<(usize, usize)> {
        // Doubling keeps the number of renderings logarithmic, whatever the ratio of source to rendered size.
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

    /// How many of `cuts` fit initially. Sizes grow evenly as a rule, so interpolation search needs few
    /// renderings; every third round bisects in case it does not converge.
    fn most(&self, at: usize, fits: usize, over: usize, cuts: &[Cut]) -> usize {
        let mut low = cuts.partition_point(|cut| cut.at <= fits);
        let mut high = cuts.partition_point(|cut| cut.at < over);
        let mut low_at = (fits, if fits > at { self.measure(at, fits) } else { 0 });
        let mut high_at = (over, self.measure(at, over));
        for round in 0_usize.. {
            // Within 1/64 of the limit is close enough; each further step renders the chunk again.
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

    /// The largest cut between chars, if nothing better fits.
    fn forced(&self, at: usize, over: usize) -> usize {
        let inside = &self.text[at..over];
        let mut ends: Vec<usize> = inside.char_indices().map(|(i, _)| at + i).skip(1).collect();
        ends.push(over);
        let (mut low, mut high) = (0, ends.len() - 1);
        while low < high {
            // Rounded up, or the search would not end with two candidates left.
            let middle = low + (high - low).div_ceil(2);
            if self.measure(at, ends[middle]) <= self.limit {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        ends[low]
    }

    /// All grapheme boundaries between `at` and `over`, with their quality.
    fn cuts(&self, at: usize, over: usize) -> Vec<Cut> {
        // A grapheme may extend beyond the window; ending inside it would report a false boundary.
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

    /// The fence that a cut at `at` would tear.
    fn around(&self, at: usize) -> Option<&Fence> {
        let before = self.fences.partition_point(|fence| fence.start < at);
        let fence = &self.fences[before.checked_sub(1)?];
        // A fence without an end lasts to the end of the text, so a cut there tears it too.
        let left_open = !fence.closed && at == self.text.len();
        (at < fence.close || left_open).then_some(fence)
    }

    /// The fence in whose body a chunk would start.
    fn reopened(&self, at: usize) -> Option<&Fence> {
        self.around(at).filter(|fence| at >= fence.body)
    }

    fn measure(&self, from: usize, to: usize) -> usize {
        (self.size)(&self.piece(from..to))
    }

    /// The chunk as it is sent.
    fn piece(&self, range: Range<usize>) -> String {
        let inside = &self.text[range.clone()];
        let reopened = self.reopened(range.start);
        // The fence around the end, which may be another than the one around the start.
        let torn = self.reopened(range.end);
        // Room for a fence around it, so that most chunks are allocated once.
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

    /// The start of the next chunk after a cut.
    fn go_on(&self, cut: usize) -> usize {
        let Some(fence) = self.reopened(cut) else {
            let line = self.text[..cut].ends_with('\n');
            return self.after_blanks(cut, line);
        };
        let next = self.after_blanks(cut, true);
        if next >= fence.close {
            // The rest of the fence is blank: it has been closed already.
            return self.after_blanks(fence.end, false);
        }
        // In code, spaces within a line matter, unless they would fill a whole chunk.
        let word = self.after_blanks(next, false);
        if word - next > self.limit { word } else { next }
    }

    /// The first non-blank offset from `at`; keeps a line's indentation.
    fn after_blanks(&self, at: usize, line: bool) -> usize {
        let rest = &self.text[at..];
        let solid = rest.trim_start();
        let mut blanks = &rest[..rest.len() - solid.len()];
        // A combining mark on a blank keeps the blank.
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

/// A text without trailing whitespace.
fn without_blank_end(text: &str) -> &str {
    let solid = text.trim_end();
    let next = text[solid.len()..].chars().next();
    let last = solid.chars().next_back();
    let kept = next.filter(|_| last.is_some_and(|last| are_one(last, next)));
    &text[..solid.len() + kept.map_or(0, char::len_utf8)]
}

/// Whether two chars form one grapheme.
fn are_one(first: char, second: Option<char>) -> bool {
    let both: String = [Some(first), second].into_iter().flatten().collect();
    second.is_some() && both.graphemes(true).count() == 1
}

/// The last char boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
