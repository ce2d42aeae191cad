//! References to people in items: `[Name](tg:1001)`, or `Name (tg:@name)`.

use crate::contacts::{ContactSnapshot, NamedContact};
use crate::reference_id::ReferenceId;

/// URL schemes: parentheses with these hold links, not people.
const LINKS: [&str; 6] = ["http", "https", "mailto", "file", "ftp", "tel"];
/// The most people mentioned in one item.
pub const MAX_PEOPLE: usize = 32;

/// A reference in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mention {
    /// Byte range, including the name of a link.
    from: usize,
    to: usize,
    /// The text of a link.
    name: Option<String>,
    /// The text in parentheses.
    id: String,
}

/// Everything that looks like a reference: `(word:more)` without spaces, unless it is a URL.
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

/// A text with references replaced by their names.
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

/// A text with unusable references.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// Parentheses that look like a reference but do not parse.
    #[error("invalid reference id: ({0})")]
    Invalid(String),
    /// No contact has this address.
    #[error("reference id is not reachable: {0}")]
    Unreachable(ReferenceId),
}

/// Checks that every reference in a text parses and is reachable.
pub fn check(text: &str, contacts: &ContactSnapshot) -> Result<(), ReferenceError> {
    for reference in references(text) {
        let reference = reference.map_err(ReferenceError::Invalid)?;
        if !contacts.reaches(&reference) {
            return Err(ReferenceError::Unreachable(reference));
        }
    }
    Ok(())
}

/// The sender of the current message, for `$SPEAKER`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Speaker {
    /// The matching contact.
    pub known: Option<NamedContact>,
    /// Display name.
    pub name: Option<String>,
}

/// A text after resolving people without a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The text, with the references that were found.
    pub content: String,
    /// People without a position in the text or without an address.
    pub missing: Vec<String>,
}

/// Inserts references to `people` where the text contains their names. `speaker` is set inside a chat.
pub fn resolve(
    content: &str,
    people: &[String],
    speaker: Option<&Speaker>,
    contacts: &ContactSnapshot,
) -> Result<Resolved, ReferenceError> {
    let mut resolved = Resolved {
        content: content.to_owned(),
        missing: Vec::new(),
    };
    for person in people {
        let person = person.trim();
        let placed = match person {
            "" | "$AGENT" => true, // the agent needs no address
            "$SPEAKER" => match speaker {
                None => true, // outside of chats the speaker has no address
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

/// The speaker needs an address only if the text mentions them.
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
    contacts: &ContactSnapshot,
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
            // Several contacts of that name: left to the model, which sees the context.
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
    // Already referenced by any of their addresses: a second reference would be noise.
    if references(content)
        .iter()
        .flatten()
        .any(|there| all.contains(there))
    {
        return Ok(true);
    }
    Ok(names.iter().any(|name| put(content, name, &id)))
}

/// Replaces a name with a reference; returns whether the text contains it.
fn put(content: &mut String, name: &str, id: &ReferenceId) -> bool {
    let Some((from, to)) = position(content, name) else {
        return false;
    };
    let shown = content[from..to].trim_start_matches('@').to_owned();
    content.replace_range(from..to, &format!("[{shown}]({id})"));
    true
}

/// Position of a name as a separate word, outside of references.
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

/// Length of the prefix of `text` that equals `name`, ignoring case.
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

/// Whether two adjacent characters belong to different words. Scripts without spaces (from U+2E80) never join.
fn sets_apart(outside: Option<char>, inside: Option<char>) -> bool {
    let joins = |c: char| (c.is_alphanumeric() || c == '_') && c < '\u{2e80}';
    !(outside.is_some_and(joins) && inside.is_some_and(joins))
}

/// Whether a text uses the first person, outside of references.
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
        // In `me (tg:1)` the reference belongs to the word before it.
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

    fn contacts() -> ContactSnapshot {
        let known = |id: &str, names: &[&str], ids: &[&str]| NamedContact {
            contact_id: id.to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            ids: ids.iter().map(|id| id.parse().unwrap()).collect(),
        };
        ContactSnapshot {
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
    fn an_unreachable_reference_is_refused() {
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
    fn a_person_without_a_unique_address_is_missing() {
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
    fn first_person_words_without_reference_are_detected() {
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
