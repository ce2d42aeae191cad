//! Converts Slack's `mrkdwn` to Markdown.

use std::collections::HashSet;

use super::names::Person;
use crate::message::Mention;

/// A converted message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Read {
    /// The Markdown text, without a mention that only addresses us.
    pub(super) text: String,
    /// Whether it mentions us.
    pub(super) mentioned: bool,
    /// Other people it mentions.
    pub(super) mentions: Vec<Mention>,
}

/// Resolves ids.
pub(super) struct MrkdwnContext<'a> {
    /// Our own id.
    pub(super) own: Option<&'a str>,
    /// Our name.
    pub(super) own_name: Option<&'a str>,
    /// Names of others.
    pub(super) called: &'a dyn Fn(&str) -> Person,
}

/// Maximum mentions per message.
const MENTIONS: usize = 64;

/// The ids mentioned in a text.
pub(super) fn mentioned(text: &str) -> impl Iterator<Item = &str> {
    text.split("<@").skip(1).filter_map(|rest| {
        let end = rest.find(['|', '>'])?;
        Some(&rest[..end]).filter(|id| is_id(id))
    })
}

fn is_id(id: &str) -> bool {
    (2..=24).contains(&id.len()) && id.bytes().all(|c| c.is_ascii_alphanumeric())
}

impl MrkdwnContext<'_> {
    /// Converts a text.
    pub(super) fn read(&self, text: &str) -> Read {
        let mut read = Read::default();
        let text = self.without_call(text, &mut read);
        let mut parts = text.split("```");
        if let Some(first) = parts.next() {
            self.words(first, &mut read);
        }
        while let Some(code) = parts.next() {
            let Some(after) = parts.next() else {
                // An unclosed fence is text.
                read.text.push_str("```");
                self.words(code, &mut read);
                break;
            };
            if !read.text.is_empty() && !read.text.ends_with('\n') {
                read.text.push('\n');
            }
            read.text.push_str("```\n");
            let code = self.code(code.trim_matches('\n'), &mut read);
            read.text.push_str(&code);
            read.text.push_str("\n```");
            if !after.is_empty() && !after.starts_with('\n') {
                read.text.push('\n');
            }
            self.words(after, &mut read);
        }
        let kept = read.text.trim_end().len();
        read.text.truncate(kept);
        read
    }

    /// The text without mentions of us at its ends.
    fn without_call<'t>(&self, text: &'t str, read: &mut Read) -> &'t str {
        let Some(own) = self.own else {
            return text;
        };
        let call = format!("<@{own}>");
        let mut text = text.trim();
        while let Some(rest) = text.strip_prefix(&call) {
            read.mentioned = true;
            text = rest.trim_start_matches([':', ',']).trim_start();
        }
        while let Some(rest) = text.strip_suffix(&call) {
            read.mentioned = true;
            text = rest.trim_end();
        }
        text
    }

    /// Converts text outside fences.
    fn words(&self, text: &str, read: &mut Read) {
        for line in text.split_inclusive('\n') {
            let doubled = doubled(line);
            let last = Last::of(line);
            let (mut at, mut code) = (0, false);
            while at < line.len() {
                let rest = &line[at..];
                let c = rest.chars().next().unwrap_or('\n');
                let mut taken = c.len_utf8();
                match c {
                    '<' if at < last.bracket => {
                        let end = rest.find('>').unwrap_or(0);
                        let written = self.reference(&rest[1..end], code, read);
                        read.text.push_str(&written);
                        taken = end + 1;
                    }
                    '&' => taken = entity(rest, &mut read.text),
                    '`' => {
                        code = !code && at < last.tick;
                        read.text.push('`');
                    }
                    '*' | '~' if doubled.contains(&at) => {
                        read.text.push(c);
                        read.text.push(c);
                    }
                    c => read.text.push(c),
                }
                at += taken;
            }
        }
    }

    fn code(&self, code: &str, read: &mut Read) -> String {
        let last = Last::of(code);
        let (mut plain, mut at) = (String::with_capacity(code.len()), 0);
        while let Some(next) = code[at..].find(['<', '&']) {
            plain.push_str(&code[at..at + next]);
            at += next;
            let rest = &code[at..];
            if rest.starts_with('&') {
                at += entity(rest, &mut plain);
            } else if at < last.bracket {
                let end = rest.find('>').unwrap_or(0);
                plain.push_str(&self.reference(&rest[1..end], true, read));
                at += end + 1;
            } else {
                plain.push('<');
                at += 1;
            }
        }
        plain.push_str(&code[at..]);
        plain
    }

    /// Converts a reference between `<` and `>`.
    fn reference(&self, inside: &str, in_code: bool, read: &mut Read) -> String {
        let (target, label) = match inside.split_once('|') {
            Some((target, label)) => (target, Some(label).filter(|label| !label.is_empty())),
            None => (inside, None),
        };
        let label = label.map(unescaped);
        if let Some(id) = target.strip_prefix('@') {
            return self.person(id, label, read);
        }
        if let Some(id) = target.strip_prefix('#') {
            return format!("#{}", label.unwrap_or_else(|| id.to_owned()));
        }
        if let Some(special) = target.strip_prefix('!') {
            let word = special.split('^').next().unwrap_or_default();
            return match (word, label) {
                ("here" | "channel" | "everyone", _) => format!("@{word}"),
                (_, Some(label)) => label,
                (word, None) => format!("@{word}"),
            };
        }
        let address = unescaped(target);
        let shown = address.strip_prefix("mailto:").unwrap_or(&address);
        let shown = shown.strip_prefix("tel:").unwrap_or(shown);
        match label {
            None => shown.to_owned(),
            Some(label) if label == shown || label == address || in_code => label,
            Some(label) => {
                let label = label.replace('[', "\\[").replace(']', "\\]");
                let address = address.replace('(', "%28").replace(')', "%29");
                format!("[{label}]({address})")
            }
        }
    }

    fn person(&self, id: &str, label: Option<String>, read: &mut Read) -> String {
        if Some(id) == self.own {
            read.mentioned = true;
            return format!("@{}", self.own_name.unwrap_or(id));
        }
        let Person { name, handle, .. } = (self.called)(id);
        let name = name.or(label);
        let shown = name.clone().unwrap_or_else(|| id.to_owned());
        let known = read
            .mentions
            .iter()
            .any(|one| one.id.as_deref() == Some(id));
        if !known && is_id(id) && read.mentions.len() < MENTIONS {
            read.mentions.push(Mention {
                id: Some(id.to_owned()),
                handle,
                name,
            });
        }
        format!("@{shown}")
    }
}

/// Last positions of closing characters, so that a line is scanned once.
struct Last {
    bracket: usize,
    tick: usize,
}

impl Last {
    fn of(line: &str) -> Self {
        Self {
            bracket: line.rfind('>').unwrap_or(0),
            tick: line.rfind('`').unwrap_or(0),
        }
    }
}

/// Positions of delimiters that Markdown doubles: `*bold*` and `~struck~`.
fn doubled(line: &str) -> HashSet<usize> {
    let mut doubled = HashSet::new();
    let last = Last::of(line);
    let mut open: [Option<usize>; 2] = [None, None];
    let (mut code, mut reference) = (false, false);
    let mut before = ' ';
    let mut rest = line.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let after = rest.peek().map_or(' ', |(_, c)| *c);
        match c {
            '`' => code = !code && at < last.tick,
            '<' if !code => reference = at < last.bracket,
            '>' => reference = false,
            '*' | '~' if !code && !reference => {
                let open = &mut open[usize::from(c == '~')];
                match *open {
                    Some(start) if !before.is_whitespace() && !after.is_alphanumeric() => {
                        doubled.extend([start, at]);
                        *open = None;
                    }
                    _ if !before.is_alphanumeric() && !after.is_whitespace() && after != c => {
                        *open = Some(at);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        before = c;
    }
    doubled
}

/// Writes the character at the start of `rest`, which may be an entity; returns its length.
fn entity(rest: &str, to: &mut String) -> usize {
    for (entity, c) in [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>')] {
        if rest.starts_with(entity) {
            to.push(c);
            return entity.len();
        }
    }
    to.push('&');
    1
}

fn unescaped(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = entity(rest, &mut plain);
        rest = &rest[taken..];
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Read {
        let reader = MrkdwnContext {
            own: Some("U0BOT"),
            own_name: Some("hands"),
            called: &|id| match id {
                "U0ADA" => Person {
                    name: Some("Ada".to_owned()),
                    handle: Some("ada".to_owned()),
                    bot: false,
                },
                _ => Person::default(),
            },
        };
        reader.read(text)
    }

    #[test]
    fn slacks_marks_become_markdown() {
        for (slack, markdown) in [
            ("plain", "plain"),
            (
                "*bold* _slanted_ ~gone~ `code`",
                "**bold** _slanted_ ~~gone~~ `code`",
            ),
            ("2 * 3 * 4 and a*b*c", "2 * 3 * 4 and a*b*c"),
            ("`*not bold*` *b `*` b*", "`*not bold*` **b `*` b**"),
            (
                "a &lt; b &amp;&amp; c &gt; d &amp;lt;",
                "a < b && c > d &lt;",
            ),
            (
                "<https://x.test/?a=1&amp;b=2|words>",
                "[words](https://x.test/?a=1&b=2)",
            ),
            ("<https://x.test>", "https://x.test"),
            ("<mailto:a@x.test|a@x.test>", "a@x.test"),
            (
                "see <#C1|general> <!here> <!subteam^S1|@team>",
                "see #general @here @team",
            ),
            ("<!date^1700000000^{date}|last year>", "last year"),
            ("```let a = 1 &lt; 2;```", "```\nlet a = 1 < 2;\n```"),
            ("look: ```\n*x*\n``` so", "look: \n```\n*x*\n```\n so"),
            ("```<http://x.test|x.test>```", "```\nx.test\n```"),
            ("```left open", "```left open"),
            ("&gt; quoted\n&gt; more", "> quoted\n> more"),
            ("a < b", "a < b"),
        ] {
            assert_eq!(read(slack).text, markdown, "{slack}");
        }
    }

    #[test]
    fn a_mention_that_only_calls_us_is_left_out() {
        for (slack, text, called) in [
            ("<@U0BOT> hi", "hi", true),
            ("<@U0BOT>: hi", "hi", true),
            ("hi <@U0BOT>", "hi", true),
            ("ask <@U0BOT> too", "ask @hands too", true),
            ("<@U0BOT>", "", true),
            ("<@U0ADA> hi", "@Ada hi", false),
            ("<@U0EVE|eve> hi", "@eve hi", false),
            ("hi", "hi", false),
        ] {
            let read = read(slack);
            assert_eq!(
                (read.text.as_str(), read.mentioned),
                (text, called),
                "{slack}"
            );
        }
        let mentions = read("<@U0ADA> and <@U0ADA> and <@U0EVE>").mentions;
        let ids: Vec<_> = mentions.iter().map(|one| one.id.as_deref()).collect();
        assert_eq!(ids, [Some("U0ADA"), Some("U0EVE")]);
        assert_eq!(mentions[0].handle.as_deref(), Some("ada"));
    }

    /// Work that grew with the square of the length would not come to an end here.
    #[test]
    fn a_hostile_text_costs_no_more_than_its_length() {
        for piece in [
            "<", "`", "*a ", "~a~", "```", "<@U0EVE>", "<@U0BOT>", "&", "<a|", ">",
        ] {
            let text = piece.repeat(100_000);
            let read = read(&format!("{text} end"));
            assert!(read.text.ends_with("end"), "{piece}");
            assert!(read.mentions.len() <= MENTIONS);
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "\\PC{0,80}", marks in "[<>@!#|*_~`& a\n]{0,80}") {
            read(&text);
            read(&marks);
            read(&format!("{marks}{text}```{marks}"));
            prop_assert!(mentioned(&marks).count() <= marks.len());
        }
    }
}
