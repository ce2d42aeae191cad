//! Files that a message mentions as `@path`: completion, and attaching their contents.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};

use manyhands_core::AgentId;

use crate::commands::call::segment;
use crate::remote::{Remote, text};
use manyhands_terminal::output::Failure;
use manyhands_terminal::progress::bytes;

/// Longest text that becomes part of the message; longer files become artifacts.
const MAX_INLINE: u64 = 32 * 1024;
/// Largest file that is attached.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Maximum number of completions.
const MAX_FOUND: usize = 100;
/// Maximum number of files and folders that a search looks at.
const MAX_SEARCHED: usize = 5_000;
/// Folders whose contents nobody means.
const SKIPPED: [&str; 4] = ["node_modules", "target", "dist", "__pycache__"];

/// A file that a message mentions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMention {
    /// The path as it was written.
    pub name: String,
    /// The file.
    pub file: PathBuf,
}

/// Start of the mention that is being typed at the end of a text.
pub fn open_mention(before: &str) -> Option<usize> {
    let mut starts = before
        .match_indices('@')
        .filter(|(at, _)| begins_word(before, *at));
    let (at, _) = starts.next_back()?;
    let rest = &before[at + 1..];
    let is_open = match rest.strip_prefix('"') {
        Some(quoted) => !quoted.contains('"'),
        None => !rest.contains(char::is_whitespace),
    };
    is_open.then_some(at)
}

/// Whether a word begins here: `me@example.com` mentions no file.
fn begins_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| !c.is_whitespace() && !matches!(c, '(' | '[' | '"' | '\''))
}

/// Completes a mention: what is listed, and what replaces it.
pub fn complete(mention: &str, here: &Path, user_folder: Option<&Path>) -> Vec<(String, String)> {
    let typed = mention.trim_start_matches('@').trim_start_matches('"');
    let (folder, prefix) = match typed.rsplit_once('/') {
        Some((folder, prefix)) => (format!("{folder}/"), prefix),
        None => (String::new(), typed),
    };
    let path = resolve(
        if folder.is_empty() { "." } else { &folder },
        here,
        user_folder,
    );
    let mut found: Vec<String> = entries(&path)
        .filter(|name| name.starts_with(prefix))
        // As in a shell, hidden files have to be meant.
        .filter(|name| !name.starts_with('.') || prefix.starts_with('.'))
        .map(|name| format!("{folder}{name}"))
        .collect();
    if found.is_empty() && folder.is_empty() && prefix.chars().count() > 1 {
        found = search(prefix, here);
    }
    found.sort_unstable();
    found.truncate(MAX_FOUND);
    found
        .into_iter()
        .map(|name| (name.clone(), mention_of(&name)))
        .collect()
}

fn mention_of(name: &str) -> String {
    let is_folder = name.ends_with('/');
    match name.contains(char::is_whitespace) {
        true if is_folder => format!("@\"{name}"),
        true => format!("@\"{name}\""),
        false => format!("@{name}"),
    }
}

/// Names in a folder; those of folders end with a slash.
fn entries(folder: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_usable = !name.contains(|c: char| c.is_control() || c == '"');
        is_usable.then(|| match entry.path().is_dir() {
            true => format!("{name}/"),
            false => name,
        })
    })
}

/// Finds files below a folder whose name contains a text.
fn search(wanted: &str, here: &Path) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let (mut found, mut looked) = (Vec::new(), 0);
    let mut folders = VecDeque::from([String::new()]);
    while let Some(folder) = folders.pop_front() {
        for name in entries(&here.join(&folder)) {
            looked += 1;
            if looked > MAX_SEARCHED || found.len() >= MAX_FOUND {
                return found;
            }
            let bare = name.trim_end_matches('/');
            if bare.starts_with('.') || SKIPPED.contains(&bare) {
                continue;
            }
            match name.ends_with('/') {
                true => folders.push_back(format!("{folder}{name}")),
                false if name.to_lowercase().contains(&wanted) => {
                    found.push(format!("{folder}{name}"));
                }
                false => {}
            }
        }
    }
    found
}

fn resolve(path: &str, here: &Path, user_folder: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), user_folder) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => here.join(path),
    }
}

/// The files that a message mentions, each once. Words that name no file are left alone.
pub fn mentions(message: &str, here: &Path, user_folder: Option<&Path>) -> Vec<FileMention> {
    let mut found: Vec<FileMention> = Vec::new();
    let starts = message
        .match_indices('@')
        .filter(|(at, _)| begins_word(message, *at));
    for (at, _) in starts {
        let rest = &message[at + 1..];
        let name = match rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            Some((quoted, _)) => quoted,
            None => rest.split(char::is_whitespace).next().unwrap_or_default(),
        };
        // The full stop of a sentence is rarely part of a name.
        let bare = name.trim_end_matches(['.', ',', ';', ':', '?', '!', ')', ']', '"', '\'']);
        let mut names = [name, bare].into_iter().filter(|name| !name.is_empty());
        let file = names.find_map(|name| {
            let file = resolve(name, here, user_folder);
            file.is_file().then(|| FileMention {
                name: name.to_owned(),
                file,
            })
        });
        found.extend(file.filter(|one| !found.contains(one)));
    }
    found
}

/// What is added to a message for a file, and a note for the user.
pub struct Attachment {
    /// Added to the message.
    pub text: String,
    /// Shown to the user.
    pub note: String,
}

/// Attaches a file: a short text as it is, anything else as an artifact of the agent.
pub async fn attach(
    mention: &FileMention,
    agent: &AgentId,
    remote: &Remote,
) -> Result<Attachment, Failure> {
    let name = &mention.name;
    let wrong = |e: std::io::Error| Failure(format!("cannot attach {name}: {e}"));
    let file = std::fs::File::open(&mention.file).map_err(wrong)?;
    let size = file.metadata().map_err(wrong)?.len();
    if size > MAX_FILE {
        return Err(Failure(format!(
            "cannot attach {name}: it is larger than {}",
            bytes(MAX_FILE)
        )));
    }
    let mut contents = Vec::new();
    file.take(MAX_FILE)
        .read_to_end(&mut contents)
        .map_err(wrong)?;
    let note = format!("attached {name} ({})", bytes(size));
    if let Some(text) = short_text(&contents) {
        return Ok(Attachment {
            text: quoted(name, text),
            note,
        });
    }
    let own = mention.file.file_name().and_then(|name| name.to_str());
    let own = own.unwrap_or("file");
    let path = format!(
        "/api/artifacts?name={}&agent={}",
        segment(own),
        segment(agent.as_str())
    );
    let piece = futures_util::stream::iter([Ok(contents.into())]);
    let stored = remote.upload(&path, piece).await?;
    Ok(Attachment {
        // The same words as on the page, which shows them as an attachment.
        text: format!("[attached: {own}, artifact {}]", text(&stored["id"])),
        note,
    })
}

fn short_text(contents: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(contents).ok()?;
    let is_short = contents.len() as u64 <= MAX_INLINE;
    (is_short && !text.contains('\0')).then_some(text)
}

/// Quotes a file as a code block whose fence does not occur in it.
fn quoted(name: &str, text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let kind = Path::new(name).extension().and_then(|kind| kind.to_str());
    format!(
        "{name}:\n{fence}{}\n{}\n{fence}",
        kind.unwrap_or_default(),
        text.trim_end_matches('\n')
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_name_a_file_are_mentions() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a.md", "b c.md", "d"] {
            std::fs::write(folder.path().join(name), "x").expect("a file");
        }
        let names = |message: &str| -> Vec<String> {
            let found = mentions(message, folder.path(), Some(folder.path()));
            found.into_iter().map(|one| one.name).collect()
        };
        assert_eq!(
            names("see @a.md and @\"b c.md\", @d."),
            ["a.md", "b c.md", "d"]
        );
        assert_eq!(names("(@a.md) @a.md"), ["a.md"], "once");
        assert_eq!(names("@~/a.md"), ["~/a.md"]);
        for none in ["me@a.md", "@absent", "@", "@.", "a @ b", "no"] {
            assert!(names(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn the_mention_being_typed_is_found() {
        assert_eq!(open_mention("a @b"), Some(2));
        assert_eq!(open_mention("@"), Some(0));
        assert_eq!(open_mention("@\"a b"), Some(0));
        for closed in ["a @b c", "@\"a b\"", "me@b", "a", ""] {
            assert_eq!(open_mention(closed), None, "{closed}");
        }
    }

    #[test]
    fn a_text_is_quoted_with_a_longer_fence() {
        assert_eq!(quoted("a.rs", "x\n"), "a.rs:\n```rs\nx\n```");
        assert!(quoted("a", "```").starts_with("a:\n````\n"));
        assert_eq!(short_text(b"a\0"), None);
        assert_eq!(short_text(&[0xff]), None);
        assert_eq!(short_text(&vec![b'a'; 40_000]), None);
        assert_eq!(short_text(b"a"), Some("a"));
    }
}
