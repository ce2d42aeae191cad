//! Completion and hints while a message is typed: commands, models, reasoning levels and files.

use std::path::{Path, PathBuf};

use manyhands_agent::slash_commands;
use manyhands_terminal::assist::{Assist, CompletionCandidate};

use super::files;

/// Commands that this program answers itself: word, arguments, summary.
pub const OWN_COMMANDS: [(&str, &str, &str); 2] = [
    (
        "show",
        " NUMBER",
        "show a tool call of this conversation in full",
    ),
    ("quit", "", "leave; also Ctrl-D"),
];
const LEVELS: [&str; 7] = [
    "none", "minimal", "low", "medium", "high", "xhigh", "default",
];

/// Completes messages.
pub struct ChatAssist {
    /// Models as provider/model.
    pub models: Vec<String>,
    /// The directory that files are relative to.
    pub here: PathBuf,
    /// The user's home directory.
    pub user_folder: Option<PathBuf>,
}

fn commands() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    slash_commands().chain(OWN_COMMANDS)
}

impl Assist for ChatAssist {
    fn complete(&self, before: &str) -> (usize, Vec<CompletionCandidate>) {
        let from = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = &before[from..];
        let is_first = before[..from].trim().is_empty();
        if let Some(at) = files::open_mention(before) {
            return (at, self.files(&before[at..]));
        }
        if let Some(prefix) = word.strip_prefix("/m:") {
            return (from + 3, self.models(prefix));
        }
        if let Some(prefix) = word.strip_prefix("/t:") {
            return (from + 3, levels(prefix));
        }
        if is_first && word.starts_with('/') {
            return (from, command_words(&word[1..]));
        }
        let found = match before[..from].trim() {
            "/model" => self.models(word),
            "/think" => levels(word),
            _ => Vec::new(),
        };
        (from, found)
    }

    fn hint(&self, line: &str) -> Option<String> {
        let word = line.strip_prefix('/')?;
        let mut known = commands();
        let (_, usage, summary) = known.find(|(known, ..)| *known == word)?;
        Some(format!("{usage}  {summary}"))
    }

    fn command(&self, line: &str) -> usize {
        let end = line.find(char::is_whitespace).unwrap_or(line.len());
        let is_known = |word: &str| commands().any(|(known, ..)| known == word);
        match line[..end].strip_prefix('/') {
            Some(word) if is_known(word) || line.starts_with("/m:") || line.starts_with("/t:") => {
                end
            }
            _ => 0,
        }
    }
}

impl ChatAssist {
    fn models(&self, prefix: &str) -> Vec<CompletionCandidate> {
        let models = self.models.iter().map(String::as_str);
        // The model alone is what most people remember.
        let fits = |model: &&str| {
            let name = model.split_once('/').map_or("", |(_, name)| name);
            model.starts_with(prefix) || name.starts_with(prefix)
        };
        models.filter(fits).map(candidate).collect()
    }

    fn files(&self, mention: &str) -> Vec<CompletionCandidate> {
        let found = files::complete(mention, &self.here, self.user_folder.as_deref());
        found
            .into_iter()
            .map(|(shown, replacement)| CompletionCandidate { shown, replacement })
            .collect()
    }
}

fn command_words(prefix: &str) -> Vec<CompletionCandidate> {
    let fitting = commands().filter(|(word, ..)| word.starts_with(prefix));
    fitting
        .map(|(word, usage, summary)| CompletionCandidate {
            // The arguments are the hint after the completed word.
            shown: format!("/{word:<9} {summary}"),
            replacement: match usage.is_empty() {
                true => format!("/{word}"),
                false => format!("/{word} "),
            },
        })
        .collect()
}

fn levels(prefix: &str) -> Vec<CompletionCandidate> {
    let fitting = LEVELS.into_iter().filter(|level| level.starts_with(prefix));
    fitting.map(candidate).collect()
}

fn candidate(text: &str) -> CompletionCandidate {
    CompletionCandidate {
        shown: text.to_owned(),
        replacement: text.to_owned(),
    }
}

/// Where completion starts: the current directory and the user's models.
pub fn assist(models: Vec<String>, here: &Path, user_folder: Option<PathBuf>) -> ChatAssist {
    ChatAssist {
        models,
        here: here.to_owned(),
        user_folder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(before: &str) -> (usize, Vec<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        for file in ["notes.md", "src/main.rs", "with space.txt"] {
            let file = folder.path().join(file);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, "x").expect("a file");
        }
        let models = vec!["scripted/demo".to_owned(), "scripted/other".to_owned()];
        let (from, found) = assist(models, folder.path(), None).complete(before);
        (from, found.into_iter().map(|one| one.replacement).collect())
    }

    #[track_caller]
    fn check(before: &str, from: usize, expect: &[&str]) {
        let expect = expect.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(complete(before), (from, expect), "{before:?}");
    }

    #[test]
    fn commands_models_levels_and_files_are_completed() {
        check("/mo", 0, &["/model "]);
        check("/s", 0, &["/stop", "/status", "/show "]);
        check("/model scripted/d", 7, &["scripted/demo"]);
        check("/model oth", 7, &["scripted/other"]);
        check("/think m", 7, &["minimal", "medium"]);
        check("/t:hi", 3, &["high"]);
        check("/m:demo", 3, &["scripted/demo"]);
        check("look at @no", 8, &["@notes.md"]);
        check("look at @src/", 8, &["@src/main.rs"]);
        check("@src", 0, &["@src/"]);
        check("@wi", 0, &["@\"with space.txt\""]);
        check("@main", 0, &["@src/main.rs"]);
        check("hello", 0, &[]);
        check("a/b /mo", 4, &[]);
        check("me@no", 0, &[]);
    }

    #[test]
    fn a_complete_command_is_explained_and_highlighted() {
        let assist = assist(Vec::new(), Path::new("/"), None);
        let hint = assist.hint("/model").expect("a hint");
        assert!(hint.contains("PROVIDER/MODEL"), "{hint}");
        assert_eq!(assist.hint("/mod"), None);
        assert_eq!(assist.hint("model"), None);
        assert_eq!(assist.command("/model x"), 6);
        assert_eq!(assist.command("/usr/bin"), 0);
    }
}
