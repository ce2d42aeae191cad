//! Inline marks within a line or paragraph.

use std::collections::HashMap;

use super::{Mark, MarkdownEvent, MarkdownSink};

/// Maximum open marks.
const OPEN: usize = 16;

/// A token of a paragraph.
enum InlineToken<'a> {
    Text(&'a str),
    Code(&'a str),
    Line,
    /// A run of `*`, `_` or `~`.
    Run(DelimiterRun),
    /// `[` of a link, with its URL.
    Link(&'a str),
    /// `]` of a link.
    LinkEnd(&'a str),
}

struct DelimiterRun {
    mark: u8,
    length: usize,
    opens: bool,
    closes: bool,
    /// The pairing result: marks that end here, and marks that start.
    ends: Vec<EmphasisKind>,
    begins: Vec<EmphasisKind>,
}

/// A kind of emphasis, by its number of delimiters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EmphasisKind {
    Bold,
    Italic,
    Strike,
}

impl EmphasisKind {
    fn mark(self) -> Mark<'static> {
        match self {
            Self::Bold => Mark::Bold,
            Self::Italic => Mark::Italic,
            Self::Strike => Mark::Strike,
        }
    }

    fn length(self) -> usize {
        if self == Self::Italic { 1 } else { 2 }
    }
}

/// Parses inline content. Adjacent text is emitted together, so that a sink sees the context of each
/// character.
pub(super) fn render(text: &str, target: &mut dyn MarkdownSink) {
    let mut tokens = tokens(text);
    pair(&mut tokens);
    let mut words = PendingText {
        waiting: String::new(),
        target,
    };
    for token in &tokens {
        match token {
            InlineToken::Text(text) => words.waiting.push_str(text),
            InlineToken::Code(code) => words.event(MarkdownEvent::Code(code)),
            InlineToken::Line => words.event(MarkdownEvent::Line),
            InlineToken::Link(address) => words.event(MarkdownEvent::Open(Mark::Link(address))),
            InlineToken::LinkEnd(address) => words.event(MarkdownEvent::Close(Mark::Link(address))),
            InlineToken::Run(run) => {
                for kind in &run.ends {
                    words.event(MarkdownEvent::Close(kind.mark()));
                }
                // Unpaired delimiters are text.
                let used =
                    |kinds: &[EmphasisKind]| kinds.iter().map(|kind| kind.length()).sum::<usize>();
                let left = run.length - used(&run.ends) - used(&run.begins);
                let mark = std::iter::repeat_n(char::from(run.mark), left);
                words.waiting.extend(mark);
                for kind in run.begins.iter().rev() {
                    words.event(MarkdownEvent::Open(kind.mark()));
                }
            }
        }
    }
    words.flush();
}

/// Text held back until its continuation is known.
struct PendingText<'t> {
    waiting: String,
    target: &'t mut dyn MarkdownSink,
}

impl PendingText<'_> {
    fn flush(&mut self) {
        if !self.waiting.is_empty() {
            self.target.event(MarkdownEvent::Text(&self.waiting));
            self.waiting.clear();
        }
    }

    fn event(&mut self, event: MarkdownEvent<'_>) {
        self.flush();
        self.target.event(event);
    }
}

/// Pairs delimiter runs: each closes the last opened one of its kind.
fn pair(tokens: &mut [InlineToken<'_>]) {
    let mut open: Vec<(usize, EmphasisKind, u8)> = Vec::new();
    // Marks do not span the ends of a link.
    let mut outside: Vec<Vec<(usize, EmphasisKind, u8)>> = Vec::new();
    for at in 0..tokens.len() {
        match &tokens[at] {
            InlineToken::Link(_) => outside.push(std::mem::take(&mut open)),
            InlineToken::LinkEnd(_) => open = outside.pop().unwrap_or_default(),
            InlineToken::Run(_) => one(tokens, at, &mut open),
            _ => {}
        }
    }
}

fn one(tokens: &mut [InlineToken<'_>], at: usize, open: &mut Vec<(usize, EmphasisKind, u8)>) {
    let InlineToken::Run(run) = &mut tokens[at] else {
        return;
    };
    let (mark, mut left, opens) = (run.mark, run.length, run.opens);
    let mut ended = Vec::new();
    if run.closes {
        while left > 0 {
            let fits =
                |(_, kind, by): &(usize, EmphasisKind, u8)| *by == mark && kind.length() <= left;
            // Two delimiters close what two opened, if there is such a mark.
            let found = open
                .iter()
                .rposition(|one| fits(one) && (left != 2 || one.1.length() == 2));
            let Some(found) = found.or_else(|| open.iter().rposition(fits)) else {
                break;
            };
            let (from, kind, _) = open[found];
            open.truncate(found);
            left -= kind.length();
            ended.push((from, kind));
        }
    }
    if opens && ended.is_empty() {
        let kinds: &[EmphasisKind] = match (mark, left) {
            (b'~', 2) => &[EmphasisKind::Strike],
            (b'*' | b'_', 1) => &[EmphasisKind::Italic],
            (b'*' | b'_', 2) => &[EmphasisKind::Bold],
            (b'*' | b'_', 3) => &[EmphasisKind::Bold, EmphasisKind::Italic],
            _ => &[],
        };
        for kind in kinds {
            if open.len() < OPEN {
                open.push((at, *kind, mark));
            }
        }
    }
    for (from, kind) in ended {
        if let InlineToken::Run(begun) = &mut tokens[from] {
            begun.begins.push(kind);
        }
        if let InlineToken::Run(run) = &mut tokens[at] {
            run.ends.push(kind);
        }
    }
}

/// Tokenizes a paragraph.
fn tokens(text: &str) -> Vec<InlineToken<'_>> {
    let bytes = text.as_bytes();
    let code = code_ends(bytes);
    let links = links(text, &code);
    let mut all = Vec::new();
    let mut ends: Vec<(usize, usize, &str)> = Vec::new();
    let (mut at, mut from) = (0, 0);
    while at < bytes.len() {
        let (token, next) = match bytes[at] {
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => {
                (Some(InlineToken::Text(&text[at + 1..at + 2])), at + 2)
            }
            b'\n' => (Some(InlineToken::Line), at + 1),
            b'`' => {
                let run = run_at(bytes, at);
                match code.get(&at) {
                    Some(end) => (
                        Some(InlineToken::Code(unpadded(&text[at + run..end - run]))),
                        *end,
                    ),
                    None => (None, at + run),
                }
            }
            b'[' => match links.get(&at) {
                Some((close, end)) => {
                    let address = address(&text[close + 2..end - 1]);
                    ends.push((*close, *end, address));
                    (Some(InlineToken::Link(address)), at + 1)
                }
                None => (None, at + 1),
            },
            b']' => match ends.pop_if(|(close, ..)| *close == at) {
                Some((_, end, address)) => (Some(InlineToken::LinkEnd(address)), end),
                None => (None, at + 1),
            },
            b'<' => match autolink(&text[at..]) {
                Some(length) => {
                    let address = &text[at + 1..at + length - 1];
                    push_text(&mut all, &text[from..at]);
                    all.extend([InlineToken::Link(address), InlineToken::Text(address)]);
                    from = at + length;
                    (Some(InlineToken::LinkEnd(address)), at + length)
                }
                None => (None, at + 1),
            },
            b'*' | b'_' | b'~' => {
                let length = run_at(bytes, at);
                (Some(InlineToken::Run(run(text, at, length))), at + length)
            }
            b'h' if at == 0 || !bytes[at - 1].is_ascii_alphanumeric() => {
                (None, at + bare_address(&text[at..]).max(1))
            }
            _ => (None, at + 1),
        };
        if let Some(token) = token {
            push_text(&mut all, text.get(from..at).unwrap_or(""));
            all.push(token);
            from = next;
        }
        at = next;
    }
    push_text(&mut all, &text[from..]);
    // If the end of a link was swallowed by another token, the link still ends.
    all.extend(
        ends.into_iter()
            .rev()
            .map(|(.., address)| InlineToken::LinkEnd(address)),
    );
    all
}

fn push_text<'a>(all: &mut Vec<InlineToken<'a>>, text: &'a str) {
    if !text.is_empty() {
        all.push(InlineToken::Text(text));
    }
}

/// Classifies a delimiter run by its surroundings.
fn run(text: &str, at: usize, length: usize) -> DelimiterRun {
    let mark = text.as_bytes()[at];
    let before = text[..at].chars().next_back();
    let after = text[at + length..].chars().next();
    let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    // Within a word, `_` is literal.
    let joins = |c: Option<char>| mark == b'_' && word(c);
    DelimiterRun {
        mark,
        length,
        opens: !blank(after) && !joins(before),
        closes: !blank(before) && !joins(after),
        ends: Vec::new(),
        begins: Vec::new(),
    }
}

/// How often the byte at `at` is repeated.
fn run_at(bytes: &[u8], at: usize) -> usize {
    bytes[at..]
        .iter()
        .take_while(|byte| **byte == bytes[at])
        .count()
}

/// Ends of inline code by start.
fn code_ends(bytes: &[u8]) -> HashMap<usize, usize> {
    let mut runs = Vec::new();
    let (mut at, mut escaped) = (0, false);
    while at < bytes.len() {
        if bytes[at] == b'`' {
            let run = run_at(bytes, at);
            runs.push((at, run, escaped));
            (at, escaped) = (at + run, false);
        } else {
            escaped = bytes[at] == b'\\' && !escaped;
            at += 1;
        }
    }
    let mut later: HashMap<usize, usize> = HashMap::new();
    let mut ends = HashMap::new();
    for (at, run, escaped) in runs.into_iter().rev() {
        // A backslash prevents code from starting, not from ending.
        if let Some(end) = later.insert(run, at).filter(|_| !escaped) {
            ends.insert(at, end + run);
        }
    }
    ends
}

/// Links by start: the end of their text and their end.
fn links(text: &str, code: &HashMap<usize, usize>) -> HashMap<usize, (usize, usize)> {
    let bytes = text.as_bytes();
    let mut found = HashMap::new();
    let mut brackets = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'`' => {
                at = code.get(&at).map_or(at + run_at(bytes, at), |end| *end);
                continue;
            }
            b'[' => brackets.push(at),
            b']' => {
                let open = brackets.pop();
                let end = bytes.get(at + 1).filter(|byte| **byte == b'(');
                let end = end.and_then(|_| address_end(bytes, at + 2));
                if let (Some(open), Some(end)) = (open, end) {
                    found.insert(open, (at, end));
                    // Links do not nest.
                    brackets.clear();
                    at = end;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The end of a URL in parentheses.
fn address_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in bytes.iter().enumerate().skip(from).take(4096) {
        match byte {
            b'\n' => return None,
            b'(' => depth += 1,
            b')' if depth == 0 => return (at > from).then_some(at + 1),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The URL of a link without title and brackets.
fn address(inside: &str) -> &str {
    let inside = inside.trim();
    let bare = match inside.split_once([' ', '\t']) {
        Some((address, title)) if title.trim_start().starts_with(['"', '\'']) => address,
        _ => inside,
    };
    let inner = bare
        .strip_prefix('<')
        .and_then(|bare| bare.strip_suffix('>'));
    inner.unwrap_or(bare)
}

/// Length of `<https://…>`.
fn autolink(text: &str) -> Option<usize> {
    let inner = &text[1..];
    let known = ["https://", "http://", "mailto:"];
    known.iter().find(|scheme| inner.starts_with(**scheme))?;
    let end = inner
        .bytes()
        .take(2048)
        .position(|byte| byte <= b' ' || matches!(byte, b'<' | b'>' | b'[' | b']'))?;
    (inner.as_bytes()[end] == b'>').then_some(end + 2)
}

/// Length of a bare URL at the start of a text: delimiters in it are literal.
fn bare_address(text: &str) -> usize {
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|scheme| text.starts_with(*scheme));
    let Some(scheme) = scheme else {
        return 0;
    };
    let stops = |byte: &u8| *byte <= b' ' || b"*~`<>[]()\"\\".contains(byte);
    let rest = &text.as_bytes()[scheme.len()..];
    let length = rest.iter().position(stops).unwrap_or(rest.len());
    // A delimiter at its very end closes a mark.
    let body = text[..scheme.len() + length].trim_end_matches('_');
    body.len()
}

/// Inline code without the one padding space on each side.
fn unpadded(code: &str) -> &str {
    let inner = code
        .strip_prefix(' ')
        .and_then(|code| code.strip_suffix(' '));
    inner
        .filter(|inner| !inner.trim().is_empty())
        .unwrap_or(code)
}
