//! Emoji for reactions: the standard ones and the workspace's own.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Slack;
use super::calls::Failed;
use crate::channel::SendError;

/// One line per emoji: the character and its names.
const STANDARD: &str = include_str!("emoji.txt");
/// Validity of the workspace's list.
const VALID_FOR: Duration = Duration::from_secs(600);
/// Maximum custom emoji remembered.
const MOST: usize = 20_000;

/// Names by character, without the colour selector.
static BY_CHARACTER: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
    let named = standard().filter_map(|(character, mut names)| Some((character, names.next()?)));
    named
        .map(|(character, name)| (bare(character), name))
        .collect()
});

/// The cached emoji of the workspace.
#[derive(Default)]
pub(super) struct Emoji {
    own: Mutex<Option<(Instant, Vec<String>)>>,
}

fn standard() -> impl Iterator<Item = (&'static str, std::str::SplitWhitespace<'static>)> {
    let lines = STANDARD.lines().skip(1);
    lines.filter_map(|line| {
        let (character, names) = line.split_once(' ')?;
        Some((character, names.split_whitespace()))
    })
}

fn bare(character: &str) -> String {
    character.chars().filter(|c| *c != '\u{fe0f}').collect()
}

/// The name of an emoji as written, with or without colons; `None` if it cannot be one.
pub fn emoji_name(written: &str) -> Option<String> {
    let written = written.trim();
    let plain = written
        .strip_prefix(':')
        .and_then(|rest| rest.strip_suffix(':'))
        .unwrap_or(written);
    // Workspaces may name custom emoji in any script, in lower case.
    let letter = |c: char| c.is_alphanumeric() && !c.is_uppercase();
    let legal = |c: char| letter(c) || "_+-'".contains(c);
    let fits = (1..=100).contains(&plain.len()) && plain.chars().all(legal);
    fits.then(|| plain.to_owned())
}

/// The name of an emoji, given as a name, with colons or as a character.
pub(super) fn name(emoji: &str) -> String {
    let emoji = emoji.trim();
    let plain = emoji
        .strip_prefix(':')
        .and_then(|rest| rest.strip_suffix(':'));
    let plain = plain.unwrap_or(emoji);
    let known = BY_CHARACTER.get(&bare(plain));
    known.map_or_else(|| plain.to_owned(), |name| (*name).to_owned())
}

impl Slack {
    /// All names, the workspace's own last.
    pub(super) async fn all_emoji(&self) -> Result<Vec<String>, SendError> {
        let own = self.own_emoji().await?;
        let standard = standard().flat_map(|(_, names)| names.map(str::to_owned));
        Ok(standard.chain(own).collect())
    }

    async fn own_emoji(&self) -> Result<Vec<String>, SendError> {
        let kept = || {
            let own = self.emoji.own.lock();
            own.unwrap_or_else(PoisonError::into_inner).clone()
        };
        if let Some((until, own)) = kept()
            && until > Instant::now()
        {
            return Ok(own);
        }
        let own = match self.get("emoji.list", &[]).await {
            Ok(said) => {
                let own = said["emoji"].as_object();
                let names = own.into_iter().flat_map(|own| own.keys().cloned());
                names.take(MOST).collect()
            }
            // The standard emoji can be used without the scope to list the others.
            Err(Failed::Said(said)) if said.code == "missing_scope" => Vec::new(),
            Err(failed) => return kept().map(|(_, own)| own).ok_or_else(|| failed.into()),
        };
        let until = Instant::now() + VALID_FOR;
        let mut place = self
            .emoji
            .own
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *place = Some((until, Vec::clone(&own)));
        Ok(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_is_known_by_name_and_by_character() {
        for (given, expected) in [
            ("thumbsup", "thumbsup"),
            (":thumbsup:", "thumbsup"),
            ("👍", "+1"),
            ("❤️", "heart"),
            ("❤", "heart"),
            ("party_parrot", "party_parrot"),
            ("+1::skin-tone-3", "+1::skin-tone-3"),
        ] {
            assert_eq!(name(given), expected, "{given}");
        }
    }

    #[test]
    fn a_name_is_told_from_a_character() {
        for written in [
            "thumbsup",
            ":thumbsup:",
            "+1",
            "non-potable_water",
            ":ありがとう:",
        ] {
            let plain = written.trim_matches(':');
            assert_eq!(emoji_name(written).as_deref(), Some(plain), "{written}");
        }
        for written in ["", "::", "👍", "1️⃣", "Thumbs Up", "a:b", "<!here>"] {
            assert_eq!(emoji_name(written), None, "{written}");
        }
    }

    #[test]
    fn the_standard_names_are_all_there_once() {
        let names: Vec<&str> = standard().flat_map(|(_, names)| names).collect();
        let unique: std::collections::HashSet<&&str> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        for name in [
            "+1",
            "thumbsup",
            "eyes",
            "white_check_mark",
            "tada",
            "heart",
        ] {
            assert!(names.contains(&name), "{name}");
        }
    }
}
