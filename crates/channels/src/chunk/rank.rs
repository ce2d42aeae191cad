//! The quality of possible cuts.

use std::collections::HashMap;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// A grapheme boundary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// Its byte offset.
    pub at: usize,
    rank: Rank,
    /// Whether it is inside a link, inline code or emphasis.
    torn: bool,
    /// Whether it is never chosen.
    forbidden: bool,
}

/// What ends before the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Character,
    Word,
    Sentence,
    Line,
    Paragraph,
}

impl Cut {
    /// Excludes a cut that would tear a fence line.
    pub fn forbid(&mut self) {
        self.forbidden = true;
    }

    /// Marks a cut inside code, where only lines and words count.
    pub fn in_code(&mut self) {
        self.torn = false;
        self.rank = match self.rank {
            Rank::Paragraph => Rank::Line,
            Rank::Sentence => Rank::Word,
            other => other,
        };
    }

    /// Marks a cut right before a fence.
    pub fn before_fence(&mut self) {
        self.rank = Rank::Paragraph;
    }
}

/// The cuts within `range`.
pub(super) fn between_mut(cuts: &mut [Cut], range: Range<usize>) -> &mut [Cut] {
    let first = cuts.partition_point(|cut| cut.at < range.start);
    let last = cuts.partition_point(|cut| cut.at < range.end);
    &mut cuts[first..last.max(first)]
}

/// The best of cuts that all fit: the later the better, but a better boundary is worth some space.
pub(super) fn best(at: usize, cuts: &[Cut]) -> Option<usize> {
    let room = cuts.last()?.at - at;
    let from = |share: usize| at + room / share;
    let wanted = [
        (Rank::Paragraph, from(2)),
        (Rank::Line, from(3)),
        (Rank::Sentence, from(3)),
        (Rank::Word, from(8)),
        (Rank::Character, at),
    ];
    let find = |torn: bool, rank: Rank, from: usize| {
        cuts.iter().rposition(|cut| {
            cut.at >= from && cut.rank >= rank && !cut.forbidden && (torn || !cut.torn)
        })
    };
    let whole = wanted
        .iter()
        .find_map(|(rank, from)| find(false, *rank, *from));
    whole.or_else(|| {
        wanted
            .iter()
            .find_map(|(rank, from)| find(true, *rank, *from))
    })
}

/// All grapheme boundaries in `window`, which starts at `at`, up to `over`.
pub(super) fn cuts(at: usize, window: &str, over: usize, whole: bool) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = Vec::with_capacity(window.len());
    let mut before = ["", ""];
    let mut graphemes = window.grapheme_indices(true).peekable();
    while let Some((start, grapheme)) = graphemes.next() {
        let next = graphemes.peek().map(|(_, next)| *next);
        let end = at + start + grapheme.len();
        // The last grapheme may continue beyond the window.
        if end > over || (next.is_none() && !whole) {
            break;
        }
        cuts.push(Cut {
            at: end,
            rank: rank(before, grapheme, next.unwrap_or("")),
            torn: false,
            forbidden: false,
        });
        before = [before[1], grapheme];
    }
    let mut start = at;
    for line in window.split_inclusive('\n') {
        for (run, mark) in runs(line) {
            // A chunk that starts with these would be taken for a fence.
            if run.len() >= 3 && matches!(mark, b'`' | b'~') {
                let around = start + run.start.max(1)..start + run.end;
                between_mut(&mut cuts, around)
                    .iter_mut()
                    .for_each(Cut::forbid);
            }
        }
        for span in spans(line) {
            let inside = start + span.start + 1..start + span.end;
            for cut in between_mut(&mut cuts, inside) {
                cut.torn = true;
            }
        }
        start += line.len();
    }
    cuts
}

/// The quality of a cut between `last` and `next`.
fn rank(before: [&str; 2], last: &str, next: &str) -> Rank {
    let is_end = |grapheme: &str| grapheme.ends_with('\n');
    if is_end(last) {
        let blank = is_end(before[1]) || is_end(next);
        return if blank { Rank::Paragraph } else { Rank::Line };
    }
    let is_blank = |grapheme: &str| grapheme.chars().all(char::is_whitespace);
    if last.ends_with(['。', '！', '？']) {
        return Rank::Sentence;
    }
    if is_blank(last) {
        let sentence = before[1].ends_with(['.', '!', '?', '…']);
        return if sentence { Rank::Sentence } else { Rank::Word };
    }
    if last.ends_with(['、', '，', '；', '：']) || is_blank(next) {
        return Rank::Word;
    }
    Rank::Character
}

/// The delimiter runs of a line.
fn runs(line: &str) -> Vec<(Range<usize>, u8)> {
    let bytes = line.as_bytes();
    let mut all = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let mark = bytes[at];
        let run = bytes[at..].iter().take_while(|byte| **byte == mark).count();
        if matches!(mark, b'`' | b'*' | b'_' | b'~') {
            all.push((at..at + run, mark));
        }
        at += run;
    }
    all
}

/// Inline code, links and emphasis in a line.
fn spans(line: &str) -> Vec<Range<usize>> {
    let runs = runs(line);
    let mut all = Vec::new();
    // Inline code ends at the next run of the same number of backticks.
    let mut next_of: HashMap<usize, usize> = HashMap::new();
    let mut pair = vec![None; runs.len()];
    for (index, (run, mark)) in runs.iter().enumerate().rev() {
        if *mark == b'`' {
            pair[index] = next_of.insert(run.len(), index);
        }
    }
    let mut open: HashMap<(u8, usize), usize> = HashMap::new();
    let mut index = 0;
    while let Some((run, mark)) = runs.get(index) {
        index += 1;
        if *mark == b'`' {
            if let Some(closing) = pair[index - 1] {
                all.push(run.start..runs[closing].0.end);
                index = closing + 1;
            }
            continue;
        }
        let kind = (*mark, run.len());
        match open.remove(&kind) {
            Some(start) => all.push(start..run.end),
            None => {
                open.insert(kind, run.start);
            }
        }
    }
    all.extend(links(line));
    all
}

/// `[text](url)` in a line.
fn links(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut all = Vec::new();
    let mut bracket = None;
    let mut address = None;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'[' if address.is_none() => bracket = Some(at),
            b']' if bytes.get(at + 1) == Some(&b'(') => address = bracket.take(),
            b')' => all.extend(address.take().map(|start| start..at + 1)),
            b' ' if address.is_some() && bytes.get(at + 1) != Some(&b'"') => address = None,
            _ => {}
        }
    }
    all
}
