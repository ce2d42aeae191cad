//! Addresses of people and chats, as to-dos and contacts write them.

use std::fmt;
use std::str::FromStr;

/// The address of a person or a chat: `tg:<int64>`, `tg:@<username>`, `slack:<channel>`, `slack:<team>:<channel>` or
/// `discord:<channel>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReferenceId(String);

impl ReferenceId {
    /// The canonical spelling.
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

    /// Parses an address; the error is the rejected text. Telegram usernames are case-insensitive.
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

/// Whether a text is a valid Telegram username, without `@`.
pub(crate) fn is_username(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// Whether a text is a Telegram chat id: a non-zero signed number in its canonical spelling.
pub(crate) fn is_chat_number(id: &str) -> bool {
    id.parse::<i64>()
        .is_ok_and(|number| number != 0 && number.to_string() == id)
}
