//! Search in the messages of sessions, as somebody types, with what matched.

use manyhands_core::ToolError;
use manyhands_store::{MessageHit, MessageScope};
use schemars::JsonSchema;
use serde::Serialize;

use crate::memory::MAX_QUESTION;
use crate::runtime::Minds;

/// Longest snippet, in characters.
const SNIPPET: usize = 200;
/// How many of them stand before the first match.
const BEFORE: usize = 50;
/// Marks a place at which a text is cut.
const CUT: char = '\u{2026}';
/// Letters by which a form of a word may differ from another at its end.
const ENDING: usize = 3;
/// Shortest stem that two forms of a word share.
const STEM: usize = 4;

/// A message that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageMatch {
    /// The session.
    pub session_key: String,
    /// Its label, or else its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Number of the message in the session.
    pub seq: i64,
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// Time, as RFC 3339.
    pub at: String,
    /// The text around the match, at most 200 characters on one line.
    pub snippet: String,
    /// The matches in `snippet`: start and end in UTF-16 units.
    pub marks: Vec<[usize; 2]>,
}

/// Messages that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MessageMatches {
    /// The best match first.
    pub matches: Vec<MessageMatch>,
    /// Whether there are more.
    pub more: bool,
}

impl Minds {
    /// Searches the messages that are part of sessions now; the last word may be the beginning of one. `sees` decides of
    /// each session whether the caller may see it.
    pub async fn search_messages(
        &self,
        question: &str,
        scope: &MessageScope,
        limit: u32,
        sees: impl Fn(&str) -> bool + Send,
    ) -> Result<MessageMatches, ToolError> {
        if question.chars().count() > MAX_QUESTION {
            let message = format!("must have at most {MAX_QUESTION} characters");
            return Err(ToolError::parameter("query", message));
        }
        // Index first: what was said a moment ago is found too.
        self.remember().await?;
        let memory = self.inner.sessions.memory();
        // One more than wanted tells whether there are more.
        let wanted = limit.saturating_add(1);
        let mut found = memory.search_messages(question, scope, wanted).await?;
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        found.retain(|hit| sees(&hit.session_key));
        let asked = words_of(question);
        Ok(MessageMatches {
            matches: found.into_iter().map(|hit| shown(hit, &asked)).collect(),
            more,
        })
    }
}

fn shown(hit: MessageHit, asked: &[Vec<char>]) -> MessageMatch {
    let (snippet, marks) = snippet(&hit.text, asked);
    MessageMatch {
        session_key: hit.session_key,
        title: hit.title,
        seq: hit.seq,
        role: hit.role,
        at: hit.at.rfc3339(),
        snippet,
        marks,
    }
}

/// One character for one, so that places in the folded text are places in the text.
fn folded(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn words_of(question: &str) -> Vec<Vec<char>> {
    let words = question.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).take(32);
    words
        .map(|word| word.chars().map(folded).collect())
        .collect()
}

/// How many characters of `word` match one of the words that were asked for.
fn matched(word: &[char], asked: &[Vec<char>]) -> usize {
    let last = asked.len().saturating_sub(1);
    let of = |(at, asked): (usize, &Vec<char>)| {
        let alike = word.iter().zip(asked).take_while(|(a, b)| a == b).count();
        // The index knows forms of a word by their stem.
        let stem = alike >= STEM && asked.len() - alike <= ENDING && word.len() - alike <= ENDING;
        match alike == asked.len() && (at == last || alike == word.len()) {
            true => alike,
            false if stem => word.len(),
            false => 0,
        }
    };
    asked.iter().enumerate().map(of).max().unwrap_or(0)
}

/// Ranges of a folded text that match.
fn ranges(text: &[char], asked: &[Vec<char>]) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if !text[at].is_alphanumeric() {
            at += 1;
            continue;
        }
        let rest = text[at..].iter().take_while(|c| c.is_alphanumeric());
        let end = at + rest.count();
        let latin = text[at..end].iter().all(|c| u32::from(*c) < 0x0e00);
        if latin {
            let length = matched(&text[at..end], asked);
            if length > 0 {
                ranges.push((at, at + length));
            }
            at = end;
            continue;
        }
        // Scripts without spaces between words: a match may begin anywhere.
        let begins = |word: &&Vec<char>| text[at..end].starts_with(word);
        match asked.iter().filter(begins).map(Vec::len).max() {
            Some(length) => {
                ranges.push((at, at + length));
                at += length;
            }
            None => at += 1,
        }
    }
    ranges
}

/// The text around the first match on one line, and all matches in it in UTF-16 units.
fn snippet(text: &str, asked: &[Vec<char>]) -> (String, Vec<[usize; 2]>) {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: Vec<char> = line.chars().collect();
    let small: Vec<char> = line.iter().copied().map(folded).collect();
    let found = ranges(&small, asked);
    let first = found.first().map_or(0, |(from, _)| *from);
    // What fits is shown from its beginning.
    let from = match line.len() <= SNIPPET {
        true => 0,
        // One place is for the mark of the cut.
        false => first.saturating_sub(BEFORE).min(line.len() + 1 - SNIPPET),
    };
    let mut cut = String::new();
    let mut most = SNIPPET;
    if from > 0 {
        cut.push(CUT);
        most -= 1;
    }
    let mut end = (from + most).min(line.len());
    if end < line.len() {
        end -= 1;
    }
    let units = |part: &[char]| part.iter().map(|c| c.len_utf16()).sum::<usize>();
    let ahead = cut.chars().count();
    let place = |at: usize| ahead + units(&line[from..at]);
    let inside = found
        .into_iter()
        .filter(|(start, stop)| *start >= from && *stop <= end);
    let marks = inside
        .map(|(start, stop)| [place(start), place(stop)])
        .collect();
    cut.extend(&line[from..end]);
    if end < line.len() {
        cut.push(CUT);
    }
    (cut, marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The snippet with its marks in brackets.
    fn marked(text: &str, question: &str) -> String {
        let (snippet, marks) = snippet(text, &words_of(question));
        assert!(snippet.chars().count() <= SNIPPET, "{snippet}");
        let units: Vec<u16> = snippet.encode_utf16().collect();
        let mut out = String::new();
        let mut at = 0;
        for [from, to] in marks {
            out.push_str(&String::from_utf16(&units[at..from]).unwrap());
            out.push_str(&format!(
                "[{}]",
                String::from_utf16(&units[from..to]).unwrap()
            ));
            at = to;
        }
        out + &String::from_utf16(&units[at..]).unwrap()
    }

    #[test]
    fn what_matches_is_marked_in_utf16_units() {
        for (text, question, expect) in [
            ("A blue\n  teapot", "tea", "A blue [tea]pot"),
            ("A blue teapot", "BLUE tea", "A [blue] [tea]pot"),
            ("blueish blue", "blue tea", "[blueish] [blue]"),
            ("\u{1f600}\u{1f600} tea", "tea", "\u{1f600}\u{1f600} [tea]"),
            (
                "she searches and searched",
                "searching",
                "she [searches] and [searched]",
            ),
            ("teapots", "teapot x", "[teapots]"),
            ("the theory", "the x", "[the] theory"),
            (
                "\u{6771}\u{4eac}\u{30bf}\u{30ef}\u{30fc}",
                "\u{4eac}",
                "\u{6771}[\u{4eac}]\u{30bf}\u{30ef}\u{30fc}",
            ),
            (
                "stra\u{df}e GR\u{d6}SSE",
                "gr\u{f6}",
                "stra\u{df}e [GR\u{d6}]SSE",
            ),
            ("nothing", "zebra", "nothing"),
            ("", "x", ""),
        ] {
            assert_eq!(marked(text, question), expect, "{question}");
        }
    }

    #[test]
    fn a_long_text_is_cut_around_its_first_match() {
        let long = format!("{} teapot {}", "a ".repeat(500), "z ".repeat(500));
        let cut = marked(&long, "teapot");
        assert!(cut.starts_with(CUT) && cut.ends_with(CUT), "{cut}");
        assert!(cut.contains("a [teapot] z"), "{cut}");
        let ends = marked(&format!("{} teapot", "a ".repeat(500)), "teapot");
        assert!(
            ends.starts_with(CUT) && ends.ends_with("[teapot]"),
            "{ends}"
        );
        let begins = marked(&format!("teapot {}", "a ".repeat(500)), "teapot");
        assert!(
            begins.starts_with("[teapot]") && begins.ends_with(CUT),
            "{begins}"
        );
    }
}
