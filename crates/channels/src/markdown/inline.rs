//! Marks within a line or a paragraph.

use std::collections::HashMap;

use super::{Event, Mark, Target};

/// The most marks that are open at once.
const OPEN: usize = 16;

/// A piece of a paragraph.
enum Token<'a> {
    Text(&'a str),
    Code(&'a str),
    Line,
    /// A run of `*`, `_` or `~`.
    Run(Run),
    /// `[` of a link, with its address.
    Link(&'a str),
    /// `]` of a link.
    LinkEnd(&'a str),
}

struct Run {
    mark: u8,
    length: usize,
    opens: bool,
    closes: bool,
    /// What became of it: marks that end here, and marks that begin.
    ends: Vec<Kind>,
    begins: Vec<Kind>,
}

/// A kind of emphasis, by how many marks it takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bold,
    Italic,
    Strike,
}

impl Kind {
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

/// Reads words with marks. Words that stand together are told together, so that a target sees what
/// is before and behind each character.
pub(super) fn render(text: &str, target: &mut dyn Target) {
    let mut tokens = tokens(text);
    pair(&mut tokens);
    let mut words = Words {
        waiting: String::new(),
        target,
    };
    for token in &tokens {
        match token {
            Token::Text(text) => words.waiting.push_str(text),
            Token::Code(code) => words.event(Event::Code(code)),
            Token::Line => words.event(Event::Line),
            Token::Link(address) => words.event(Event::Open(Mark::Link(address))),
            Token::LinkEnd(address) => words.event(Event::Close(Mark::Link(address))),
            Token::Run(run) => {
                for kind in &run.ends {
                    words.event(Event::Close(kind.mark()));
                }
                // What is left over is text.
                let used = |kinds: &[Kind]| kinds.iter().map(|kind| kind.length()).sum::<usize>();
                let left = run.length - used(&run.ends) - used(&run.begins);
                let mark = std::iter::repeat_n(char::from(run.mark), left);
                words.waiting.extend(mark);
                for kind in run.begins.iter().rev() {
                    words.event(Event::Open(kind.mark()));
                }
            }
        }
    }
    words.flush();
}

/// Words that wait for what comes behind them.
struct Words<'t> {
    waiting: String,
    target: &'t mut dyn Target,
}

impl Words<'_> {
    fn flush(&mut self) {
        if !self.waiting.is_empty() {
            self.target.event(Event::Text(&self.waiting));
            self.waiting.clear();
        }
    }

    fn event(&mut self, event: Event<'_>) {
        self.flush();
        self.target.event(event);
    }
}

/// Finds which runs belong together: each closes what was opened last of its kind.
fn pair(tokens: &mut [Token<'_>]) {
    let mut open: Vec<(usize, Kind, u8)> = Vec::new();
    // Marks do not reach over the ends of a link.
    let mut outside: Vec<Vec<(usize, Kind, u8)>> = Vec::new();
    for at in 0..tokens.len() {
        match &tokens[at] {
            Token::Link(_) => outside.push(std::mem::take(&mut open)),
            Token::LinkEnd(_) => open = outside.pop().unwrap_or_default(),
            Token::Run(_) => one(tokens, at, &mut open),
            _ => {}
        }
    }
}

fn one(tokens: &mut [Token<'_>], at: usize, open: &mut Vec<(usize, Kind, u8)>) {
    let Token::Run(run) = &mut tokens[at] else {
        return;
    };
    let (mark, mut left, opens) = (run.mark, run.length, run.opens);
    let mut ended = Vec::new();
    if run.closes {
        while left > 0 {
            let fits = |(_, kind, by): &(usize, Kind, u8)| *by == mark && kind.length() <= left;
            // Two marks end what two began, if there is such a thing.
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
        let kinds: &[Kind] = match (mark, left) {
            (b'~', 2) => &[Kind::Strike],
            (b'*' | b'_', 1) => &[Kind::Italic],
            (b'*' | b'_', 2) => &[Kind::Bold],
            (b'*' | b'_', 3) => &[Kind::Bold, Kind::Italic],
            _ => &[],
        };
        for kind in kinds {
            if open.len() < OPEN {
                open.push((at, *kind, mark));
            }
        }
    }
    for (from, kind) in ended {
        if let Token::Run(begun) = &mut tokens[from] {
            begun.begins.push(kind);
        }
        if let Token::Run(run) = &mut tokens[at] {
            run.ends.push(kind);
        }
    }
}

/// Takes a paragraph apart.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let code = code_ends(bytes);
    let links = links(text, &code);
    let mut all = Vec::new();
    let mut ends: Vec<(usize, usize, &str)> = Vec::new();
    let (mut at, mut from) = (0, 0);
    while at < bytes.len() {
        let (token, next) = match bytes[at] {
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => {
                (Some(Token::Text(&text[at + 1..at + 2])), at + 2)
            }
            b'\n' => (Some(Token::Line), at + 1),
            b'`' => {
                let run = run_at(bytes, at);
                match code.get(&at) {
                    Some(end) => (
                        Some(Token::Code(unpadded(&text[at + run..end - run]))),
                        *end,
                    ),
                    None => (None, at + run),
                }
            }
            b'[' => match links.get(&at) {
                Some((close, end)) => {
                    let address = address(&text[close + 2..end - 1]);
                    ends.push((*close, *end, address));
                    (Some(Token::Link(address)), at + 1)
                }
                None => (None, at + 1),
            },
            b']' => match ends.pop_if(|(close, ..)| *close == at) {
                Some((_, end, address)) => (Some(Token::LinkEnd(address)), end),
                None => (None, at + 1),
            },
            b'<' => match autolink(&text[at..]) {
                Some(length) => {
                    let address = &text[at + 1..at + length - 1];
                    push_text(&mut all, &text[from..at]);
                    all.extend([Token::Link(address), Token::Text(address)]);
                    from = at + length;
                    (Some(Token::LinkEnd(address)), at + length)
                }
                None => (None, at + 1),
            },
            b'*' | b'_' | b'~' => {
                let length = run_at(bytes, at);
                (Some(Token::Run(run(text, at, length))), at + length)
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
    // Whatever swallowed the end of a link, the link ends.
    all.extend(
        ends.into_iter()
            .rev()
            .map(|(.., address)| Token::LinkEnd(address)),
    );
    all
}

fn push_text<'a>(all: &mut Vec<Token<'a>>, text: &'a str) {
    if !text.is_empty() {
        all.push(Token::Text(text));
    }
}

/// What a run of marks can be, by what stands around it.
fn run(text: &str, at: usize, length: usize) -> Run {
    let mark = text.as_bytes()[at];
    let before = text[..at].chars().next_back();
    let after = text[at + length..].chars().next();
    let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    // Within a word `_` means nothing.
    let joins = |c: Option<char>| mark == b'_' && word(c);
    Run {
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

/// Where inline code that begins at a place ends.
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
        // A backslash keeps code from beginning, not from ending.
        if let Some(end) = later.insert(run, at).filter(|_| !escaped) {
            ends.insert(at, end + run);
        }
    }
    ends
}

/// The links by where they begin: where their words end and where they end.
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
                    // A link holds no other.
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

/// Where an address in parentheses ends, behind the closing one.
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

/// The address of a link without its title and brackets.
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

/// How long `<https://…>` is.
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

/// How long the bare address is with which a text begins: marks in it are none.
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
    // A mark at its very end closes something.
    let body = text[..scheme.len() + length].trim_end_matches('_');
    body.len()
}

/// Inline code without the one blank on each side that keeps backticks apart.
fn unpadded(code: &str) -> &str {
    let inner = code
        .strip_prefix(' ')
        .and_then(|code| code.strip_suffix(' '));
    inner
        .filter(|inner| !inner.trim().is_empty())
        .unwrap_or(code)
}
