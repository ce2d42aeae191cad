//! References to people in items: `[Name](tg:1001)`, or `Name (tg:@name)`.

use std::fmt;
use std::str::FromStr;

use crate::contacts::{Known, Snapshot};

/// Addresses in parentheses that are no references to people.
const LINKS: [&str; 6] = ["http", "https", "mailto", "file", "ftp", "tel"];
/// The most people of one item.
pub const MAX_PEOPLE: usize = 32;

/// The address of a person or a chat: `tg:<int64>`, `tg:@<username>`, `slack:<channel>` (also with its team before
/// it) or `discord:<channel>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReferenceId(String);

impl ReferenceId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReferenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ReferenceId {
    type Err = String;

    /// Reads one; the error is the text that is none. Names of Telegram are the same in any case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || text.to_owned();
        let (protocol, id) = text.trim().split_once(':').ok_or_else(wrong)?;
        let plain = |id: &str| {
            let fits = |b: u8| b.is_ascii_alphanumeric();
            (1..=64).contains(&id.len()) && id.bytes().all(fits)
        };
        let good = match protocol {
            "tg" => match id.strip_prefix('@') {
                Some(name) => is_username(name),
                None => is_chat_number(id),
            },
            "slack" => match id.split_once(':') {
                Some((team, channel)) => plain(team) && plain(channel),
                None => plain(id),
            },
            "discord" => plain(id) && id.bytes().all(|b| b.is_ascii_digit()),
            _ => false,
        };
        let id = match id.starts_with('@') {
            true => id.to_lowercase(),
            false => id.to_owned(),
        };
        good.then(|| Self(format!("{protocol}:{id}")))
            .ok_or_else(wrong)
    }
}

/// A name as Telegram has them.
pub(crate) fn is_username(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// A chat of Telegram: a signed number that is not zero, in its plain spelling.
pub(crate) fn is_chat_number(id: &str) -> bool {
    id.parse::<i64>()
        .is_ok_and(|number| number != 0 && number.to_string() == id)
}

/// A piece of a text that refers to somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mention {
    /// Where it is, the name of a link included.
    from: usize,
    to: usize,
    /// What a link shows.
    name: Option<String>,
    /// What stands in the parentheses.
    id: String,
}

/// Everything in a text that is written as a reference: a word, a colon and more in parentheses, without
/// spaces, that is no link of the web.
fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('(').map(|open| at + open) {
        at = open + 1;
        let Some(close) = text[at..].find([')', '(']).map(|close| at + close) else {
            break;
        };
        let id = text[at..close].trim();
        if !text[close..].starts_with(')') || !is_written_as_one(id) {
            continue;
        }
        let before = &text[..open];
        let link = before.strip_suffix(']').and_then(|before| {
            let from = before.rfind('[')?;
            Some((from, before[from + 1..].to_owned()))
        });
        found.push(Mention {
            from: link.as_ref().map_or(open, |(from, _)| *from),
            to: close + 1,
            name: link.map(|(_, name)| name),
            id: id.to_owned(),
        });
        at = close + 1;
    }
    found
}

fn is_written_as_one(text: &str) -> bool {
    let Some((protocol, id)) = text.split_once(':') else {
        return false;
    };
    let word = protocol.starts_with(|c: char| c.is_ascii_alphabetic())
        && protocol
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_+.-".contains(&b));
    let link = LINKS.contains(&protocol.to_ascii_lowercase().as_str());
    word && !link && !id.is_empty() && !text.contains(char::is_whitespace)
}

/// The references in a text.
pub fn references(text: &str) -> Vec<Result<ReferenceId, String>> {
    let all = mentions(text).into_iter();
    all.map(|mention| mention.id.parse()).collect()
}

/// A text with names where references are.
pub fn without_references(text: &str) -> String {
    let mut plain = String::new();
    let mut at = 0;
    for mention in mentions(text) {
        let before = &text[at..mention.from];
        match &mention.name {
            Some(name) => {
                plain.push_str(before);
                plain.push_str(name);
            }
            None => plain.push_str(before.trim_end()),
        }
        at = mention.to;
    }
    plain.push_str(&text[at..]);
    plain
}

/// Why a text cannot be written down.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// Something in parentheses looks like a reference and is none.
    #[error("invalid reference id: ({0})")]
    Invalid(String),
    /// Nobody among the contacts has it.
    #[error("reference id is not reachable: {0}")]
    Unreachable(ReferenceId),
}

/// Whether everybody a text refers to can be reached.
pub fn check(text: &str, contacts: &Snapshot) -> Result<(), ReferenceError> {
    for reference in references(text) {
        let reference = reference.map_err(ReferenceError::Invalid)?;
        if !contacts.reaches(&reference) {
            return Err(ReferenceError::Unreachable(reference));
        }
    }
    Ok(())
}

/// Whoever speaks, as far as it matters who `$SPEAKER` is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Speaker {
    /// The contact they are.
    pub known: Option<Known>,
    /// What they are called.
    pub name: Option<String>,
}

/// What could be said of people without a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The text, with references where they could be put.
    pub content: String,
    /// Those for whom no place or no address was found.
    pub missing: Vec<String>,
}

/// Puts references to `people` into a text where their names stand in it. `speaker` is whoever speaks, inside
/// of a chat.
pub fn resolve(
    content: &str,
    people: &[String],
    speaker: Option<&Speaker>,
    contacts: &Snapshot,
) -> Result<Resolved, ReferenceError> {
    let mut resolved = Resolved {
        content: content.to_owned(),
        missing: Vec::new(),
    };
    for person in people {
        let person = person.trim();
        let placed = match person {
            "" | "$AGENT" => true, // nobody writes to the agent itself
            "$SPEAKER" => match speaker {
                None => true, // outside of chats there is no address to write down
                Some(speaker) => place_speaker(&mut resolved.content, speaker),
            },
            _ => place_person(&mut resolved.content, person, contacts)?,
        };
        if !placed {
            resolved.missing.push(person.to_owned());
        }
    }
    Ok(resolved)
}

/// A speaker needs an address only where the text speaks of them.
fn place_speaker(content: &mut String, speaker: &Speaker) -> bool {
    let names = speaker.known.iter().flat_map(|known| &known.names);
    let names: Vec<&String> = speaker.name.iter().chain(names).collect();
    let named = names.iter().any(|name| position(content, name).is_some());
    let Some(id) = speaker.known.as_ref().and_then(|known| known.ids.first()) else {
        return !named && !speaks_of_self(content);
    };
    if named {
        names.iter().any(|name| put(content, name, id));
    }
    !speaks_of_self(content)
}

fn place_person(
    content: &mut String,
    person: &str,
    contacts: &Snapshot,
) -> Result<bool, ReferenceError> {
    check(person, contacts)?;
    let named = mentions(person).into_iter().next();
    let (names, id) = match (named, person.parse::<ReferenceId>()) {
        (Some(mention), _) => {
            let name = without_references(person).trim().to_owned();
            let id = mention.id.parse().map_err(ReferenceError::Invalid)?;
            (vec![name], id)
        }
        (None, Ok(id)) => {
            if !contacts.reaches(&id) {
                return Err(ReferenceError::Unreachable(id));
            }
            let known = contacts.by_id(&id);
            let names = known.map(|known| known.names.clone()).unwrap_or_default();
            (names, id)
        }
        (None, Err(_)) if is_written_as_one(person) => {
            return Err(ReferenceError::Invalid(person.to_owned()));
        }
        (None, Err(_)) => {
            let mut found = contacts.named(person);
            let (Some(known), None) = (found.next(), found.next()) else {
                return Ok(false);
            };
            let Some(id) = known.ids.first() else {
                return Ok(false);
            };
            let mut names = vec![person.trim_start_matches('@').to_owned()];
            names.extend(known.names.iter().cloned());
            (names, id.clone())
        }
    };
    let all = contacts.by_id(&id).map(|known| known.ids.clone());
    let all = all.unwrap_or_else(|| vec![id.clone()]);
    if references(content)
        .iter()
        .flatten()
        .any(|there| all.contains(there))
    {
        return Ok(true);
    }
    Ok(names.iter().any(|name| put(content, name, &id)))
}

/// Puts a reference where a name stands; whether it stands there.
fn put(content: &mut String, name: &str, id: &ReferenceId) -> bool {
    let Some((from, to)) = position(content, name) else {
        return false;
    };
    let shown = content[from..to].trim_start_matches('@').to_owned();
    content.replace_range(from..to, &format!("[{shown}]({id})"));
    true
}

/// Where a name stands as a word of its own, outside of references.
fn position(content: &str, name: &str) -> Option<(usize, usize)> {
    let name = name.trim();
    if name.is_empty() || name.contains(['[', ']', '(', ')']) {
        return None;
    }
    let taken = mentions(content);
    let starts = content.char_indices().map(|(at, _)| at);
    for from in starts {
        let Some(to) = same_beginning(&content[from..], name).map(|long| from + long) else {
            continue;
        };
        let free = taken.iter().all(|one| to <= one.from || from >= one.to);
        let before = content[..from].chars().next_back();
        let after = content[to..].chars().next();
        if free && sets_apart(before, name.chars().next()) && sets_apart(after, name.chars().last())
        {
            let from = match before {
                Some('@') => from - 1,
                _ => from,
            };
            return Some((from, to));
        }
    }
    None
}

/// How long the beginning of `text` is that is `name` in any case.
fn same_beginning(text: &str, name: &str) -> Option<usize> {
    let mut rest = text.char_indices();
    for wanted in name.chars() {
        let (_, found) = rest.next()?;
        if !found.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    Some(rest.next().map_or(text.len(), |(at, _)| at))
}

/// Whether two signs belong to different words. Scripts without spaces set nothing apart.
fn sets_apart(outside: Option<char>, inside: Option<char>) -> bool {
    let joins = |c: char| (c.is_alphanumeric() || c == '_') && c < '\u{2e80}';
    !(outside.is_some_and(joins) && inside.is_some_and(joins))
}

/// Whether a text speaks of whoever wrote it, outside of references.
pub fn speaks_of_self(text: &str) -> bool {
    const WORDS: [&str; 16] = [
        "i",
        "me",
        "my",
        "mine",
        "myself",
        "we",
        "us",
        "our",
        "ours",
        "ourselves",
        "ich",
        "mich",
        "mir",
        "moi",
        "je",
        "yo",
    ];
    const SIGNS: [&str; 5] = ["我", "咱", "私", "僕", "俺"];
    let mut rest = String::new();
    let mut at = 0;
    for mention in mentions(text) {
        let before = &text[at..mention.from];
        // In `me (tg:1)` it is the word before that has the reference.
        let kept = match mention.name {
            Some(_) => before,
            None => before
                .trim_end()
                .rsplit_once(' ')
                .map_or("", |(kept, _)| kept),
        };
        rest.push_str(kept);
        rest.push(' ');
        at = mention.to;
    }
    rest.push_str(&text[at..]);
    let lower = rest.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.any(|word| WORDS.contains(&word)) || SIGNS.iter().any(|sign| lower.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contacts() -> Snapshot {
        let known = |id: &str, names: &[&str], ids: &[&str]| Known {
            contact_id: id.to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            ids: ids.iter().map(|id| id.parse().unwrap()).collect(),
        };
        Snapshot {
            contacts: vec![
                known(
                    "tg:1001",
                    &["John", "johnwick"],
                    &["tg:1001", "tg:@johnwick"],
                ),
                known("tg:1002", &["Ann Lee"], &["tg:1002"]),
                known("slack:T1:U1", &["Sam"], &["slack:T1:D1", "slack:D1"]),
                known("tg:1003", &["Sam"], &["tg:1003"]),
            ],
        }
    }

    #[test]
    fn only_the_addresses_of_the_text_are_references() {
        for good in [
            "tg:1",
            "tg:-1001981343441",
            "tg:9223372036854775807",
            "tg:@John_9",
            "slack:C1",
            "slack:T1:C1",
            "discord:123456789012345678",
        ] {
            assert!(good.parse::<ReferenceId>().is_ok(), "{good}");
        }
        for wrong in [
            "",
            "tg:",
            "tg:0",
            "tg:+1",
            "tg:01",
            "tg:9223372036854775808",
            "tg:abc",
            "tg:@",
            "tg:@a b",
            "tg:@a-b",
            "slack:",
            "slack:T1:",
            "slack:a:b:c",
            "discord:general",
            "line:U1",
            "lark_user:ou_1",
            "TG:1",
            "x",
        ] {
            assert!(wrong.parse::<ReferenceId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn references_are_found_and_everything_else_in_parentheses_is_left_alone() {
        let text = "Ask [John](tg:1001) and Ann (tg:1002) (soon, at 10:30) (see https://x.y) [page](https://x.y) (note: call) (10:30)";
        let found: Vec<String> = references(text)
            .into_iter()
            .map(|found| found.unwrap().to_string())
            .collect();
        assert_eq!(found, ["tg:1001", "tg:1002"]);
        assert_eq!(
            without_references("Ask [John](tg:1001) and Ann (tg:1002) now"),
            "Ask John and Ann now"
        );
        let wrong = references("Ask [John](lark_user:ou_1) or John (tg:abc)");
        assert_eq!(
            wrong,
            [Err("lark_user:ou_1".to_owned()), Err("tg:abc".to_owned())]
        );
    }

    #[test]
    fn who_cannot_be_reached_is_refused() {
        let all = contacts();
        assert_eq!(check("Ask [John](tg:@JohnWick)", &all), Ok(()));
        let error = check("Ask [Eve](tg:666)", &all).unwrap_err();
        assert_eq!(error.to_string(), "reference id is not reachable: tg:666");
        let error = check("Ask Eve (eve:666)", &all).unwrap_err();
        assert_eq!(error.to_string(), "invalid reference id: (eve:666)");
    }

    #[track_caller]
    fn resolves(content: &str, people: &[&str], expect: &str, missing: &[&str]) {
        let people: Vec<String> = people.iter().map(|one| (*one).to_owned()).collect();
        let speaker = Speaker {
            known: contacts().contacts.first().cloned(),
            name: Some("John".to_owned()),
        };
        let resolved = resolve(content, &people, Some(&speaker), &contacts()).unwrap();
        assert_eq!(resolved.content, expect);
        assert_eq!(resolved.missing, missing, "{content}");
    }

    #[test]
    fn references_are_put_where_names_stand() {
        resolves(
            "Remind john to pay",
            &["John"],
            "Remind [john](tg:1001) to pay",
            &[],
        );
        resolves(
            "Ask @johnwick",
            &["@johnwick"],
            "Ask [johnwick](tg:1001)",
            &[],
        );
        resolves(
            "Ask Ann Lee, not Anna",
            &["Ann Lee"],
            "Ask [Ann Lee](tg:1002), not Anna",
            &[],
        );
        resolves(
            "提醒John提交报告",
            &["John"],
            "提醒[John](tg:1001)提交报告",
            &[],
        );
        resolves(
            "Ask [John](tg:1001) twice",
            &["John"],
            "Ask [John](tg:1001) twice",
            &[],
        );
        resolves(
            "Ask John (tg:@johnwick)",
            &["tg:1001"],
            "Ask John (tg:@johnwick)",
            &[],
        );
        resolves(
            "Ask Johnny",
            &["Johnny (tg:1001)"],
            "Ask [Johnny](tg:1001)",
            &[],
        );
        resolves("Pay rent", &["$SPEAKER", "$AGENT"], "Pay rent", &[]);
        resolves("Call John", &["$SPEAKER"], "Call [John](tg:1001)", &[]);
    }

    #[test]
    fn who_has_no_place_or_no_single_address_is_missing() {
        resolves("Ask Sam", &["Sam"], "Ask Sam", &["Sam"]);
        resolves("Ask Eve", &["Eve"], "Ask Eve", &["Eve"]);
        resolves("Johnny comes", &["John"], "Johnny comes", &["John"]);
        resolves("Remind me", &["$SPEAKER"], "Remind me", &["$SPEAKER"]);
        let refused = |people: &str| {
            let people = [people.to_owned()];
            resolve("x", &people, None, &contacts())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(refused("tg:666"), "reference id is not reachable: tg:666");
        assert_eq!(refused("tg:abc"), "invalid reference id: (tg:abc)");
        assert_eq!(refused("Eve (eve:1)"), "invalid reference id: (eve:1)");
    }

    #[test]
    fn words_of_the_first_person_are_seen_unless_they_have_a_reference() {
        for text in ["Remind me", "My rent", "提醒我交房租", "I pay"] {
            assert!(speaks_of_self(text), "{text}");
        }
        for text in [
            "Remind [me](tg:1)",
            "Remind me (tg:1) now",
            "Pay rent",
            "Time to mend",
        ] {
            assert!(!speaks_of_self(text), "{text}");
        }
    }
}
