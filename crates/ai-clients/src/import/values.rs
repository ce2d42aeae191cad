//! Resolves references in values, and moves secrets to the vault.

use std::collections::BTreeMap;
use std::path::Path;

use manyhands_config::is_secret_key;
use manyhands_core::{Secret, ServerName};

use super::VaultEntry;
use super::entry::Dialect;
use crate::UserEnv;

/// Minimum length of a secret in the vault: shorter ones could not be redacted reliably.
const MIN_SECRET: usize = 8;
/// Maximum length of the part of a secret's name that comes from a key.
const MAX_KEY: usize = 80;

/// Words in a key that mark its value as secret.
const SECRET_WORDS: [&str; 13] = [
    "token", "secret", "password", "key", "pat", "pwd", "pass", "passwd", "auth", "bearer", "dsn",
    "jwt", "creds",
];
/// Prefixes of well-known secrets.
const SECRET_STARTS: [&str; 13] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJ",
    "Bearer ",
    "Basic ",
];
/// Prefixes of a secret in a header.
const SCHEMES: [&str; 4] = ["Bearer ", "bearer ", "Basic ", "token "];

/// Returns whether a value should not be stored in plain text, by its key or its form.
pub fn is_secret_value(key: &str, value: &str) -> bool {
    let dull = |text: &str| {
        text.is_empty()
            || (text.len() < MIN_SECRET && text.parse::<f64>().is_ok())
            || matches!(text, "true" | "false")
            || (text.starts_with(['/', '~']) && !text.contains([' ', '=', '+']) && names_file(key))
    };
    // Whole words only: `MONKEY` and `PATTERN` are not secrets.
    let mut words = key.split(|c: char| !c.is_ascii_alphanumeric());
    let named = is_secret_key(key)
        || words.any(|word| SECRET_WORDS.contains(&word.to_ascii_lowercase().as_str()));
    let known = SECRET_STARTS.iter().any(|start| value.starts_with(start));
    (named && !dull(value)) || known || has_password(value)
}

/// Keys such as `GOOGLE_APPLICATION_CREDENTIALS` contain the path of a secret, not the secret.
fn names_file(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["credentials", "file", "path", "dir"]
        .iter()
        .any(|end| key.ends_with(end))
}

/// Returns whether it is a URL with a password.
fn has_password(value: &str) -> bool {
    url::Url::parse(value).is_ok_and(|url| url.password().is_some_and(|word| !word.is_empty()))
}

/// The resolved values of one server.
pub struct Values<'a> {
    name: &'a ServerName,
    dialect: Dialect,
    user_env: &'a UserEnv,
    project: Option<&'a Path>,
    inputs: &'a BTreeMap<&'a str, &'a str>,
    pub secrets: Vec<VaultEntry>,
    pub notes: Vec<String>,
}

/// A part of a value.
#[derive(Debug, PartialEq, Eq)]
enum Segment<'t> {
    Text(&'t str),
    /// The reference as written, and the text between its braces.
    Reference(&'t str, &'t str),
}

/// The target of a reference.
enum Resolved {
    Plain(String),
    Secret {
        key: String,
        value: Option<String>,
        about: Option<String>,
    },
    /// A reference in our own format, kept as it is.
    Ours,
}

impl<'a> Values<'a> {
    pub fn new(
        name: &'a ServerName,
        dialect: Dialect,
        user_env: &'a UserEnv,
        project: Option<&'a Path>,
        inputs: &'a BTreeMap<&'a str, &'a str>,
    ) -> Self {
        Self {
            name,
            dialect,
            user_env,
            project,
            inputs,
            secrets: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Resolves a variable or header, storing secrets in the vault; `None` if it must be omitted.
    pub fn hidden(&mut self, key: &str, text: &str) -> Option<String> {
        let parts = parts(text, self.dialect);
        if parts
            .iter()
            .any(|part| matches!(part, Segment::Reference(..)))
        {
            let filled = parts.into_iter().map(|part| match part {
                Segment::Text(text) => text.to_owned(),
                Segment::Reference(whole, inside) => match self.meaning(inside) {
                    Resolved::Plain(text) => text,
                    Resolved::Ours => whole.to_owned(),
                    Resolved::Secret { key, value, about } => {
                        let value = value.filter(|value| value.chars().count() >= MIN_SECRET);
                        format!("${{{}}}", self.keep(&key, value, about))
                    }
                },
            });
            return Some(filled.collect());
        }
        if text.is_empty() || text.starts_with("vault:") || !is_secret_value(key, text) {
            return Some(text.to_owned());
        }
        let scheme = SCHEMES.iter().find(|scheme| text.starts_with(**scheme));
        // The vault holds the secret alone, so that it can be replaced without its scheme.
        let (scheme, rest) = text.split_at(scheme.map_or(0, |scheme| scheme.len()));
        // A placeholder is no secret: the user is asked for the value.
        let value = (!is_placeholder(rest)).then(|| rest.to_owned());
        if value
            .as_ref()
            .is_some_and(|value| value.chars().count() < MIN_SECRET)
        {
            self.notes.push(format!(
                "ignored {key}: a secret needs at least {MIN_SECRET} characters"
            ));
            return None;
        }
        Some(format!("{scheme}${{{}}}", self.keep(key, value, None)))
    }

    /// Resolves a value stored in plain text, such as an argument; an error names an unresolvable reference. A reference
    /// to a variable in `env` is left for the server itself.
    pub fn open(&self, text: &str, env: &BTreeMap<String, String>) -> Result<String, String> {
        let mut filled = String::new();
        for part in parts(text, self.dialect) {
            match part {
                Segment::Text(text) => filled.push_str(text),
                Segment::Reference(whole, inside) if env.contains_key(inside) => {
                    filled.push_str(whole);
                }
                Segment::Reference(whole, inside) => match self.meaning(inside) {
                    Resolved::Plain(text) => filled.push_str(&text),
                    Resolved::Secret { .. } | Resolved::Ours => return Err(whole.to_owned()),
                },
            }
        }
        Ok(filled)
    }

    /// Records a secret under a unique name, which is returned.
    pub fn keep(&mut self, key: &str, value: Option<String>, about: Option<String>) -> String {
        let legal = |c: char| match c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') {
            true => c,
            false => '-',
        };
        let key: String = key.chars().take(MAX_KEY).map(legal).collect();
        let value = value.map(Secret::new);
        let base = format!("mcp/{}/{key}", self.name);
        let mut name = base.clone();
        for number in 2.. {
            let Some(entry) = self.secrets.iter().find(|entry| entry.name == name) else {
                self.secrets.push(VaultEntry {
                    name: name.clone(),
                    value,
                    about,
                });
                break;
            };
            let same = |a: &Option<Secret>, b: &Option<Secret>| {
                a.as_ref().map(Secret::expose) == b.as_ref().map(Secret::expose)
            };
            // The same secret in two places is stored once.
            if same(&entry.value, &value) {
                break;
            }
            name = format!("{base}-{number}");
        }
        name
    }

    fn meaning(&self, inside: &str) -> Resolved {
        let folder = |path: &Path| Resolved::Plain(path.display().to_string());
        match (inside, self.project) {
            ("userHome", _) => return folder(&self.user_env.user),
            ("workspaceFolder" | "cwd" | "workspaceRoot", Some(project)) => return folder(project),
            ("workspaceFolderBasename", Some(project)) => {
                return folder(Path::new(project.file_name().unwrap_or_default()));
            }
            ("pathSeparator" | "/", _) => return Resolved::Plain("/".to_owned()),
            _ => {}
        }
        if let Some(id) = inside.strip_prefix("input:") {
            let about = self.inputs.get(id).filter(|about| !about.is_empty());
            return Resolved::Secret {
                key: id.to_owned(),
                value: None,
                about: about.map(|about| (*about).to_owned()),
            };
        }
        let (variable, default) = match inside.strip_prefix("env:").unwrap_or(inside) {
            rest if rest.contains(":-") => {
                let (variable, default) = rest.split_once(":-").unwrap_or((rest, ""));
                (variable, Some(default))
            }
            rest => (rest, None),
        };
        if self.dialect == Dialect::Plain && variable.contains('/') {
            return Resolved::Ours;
        }
        let value = self.user_env.env.get(variable);
        match (value, default) {
            // The gateway does not have this user's environment, so harmless values are copied.
            (Some(value), _) if !is_secret_value(variable, value) => Resolved::Plain(value.clone()),
            (None, Some(default)) => Resolved::Plain(default.to_owned()),
            (value, _) => Resolved::Secret {
                key: variable.to_owned(),
                value: value.cloned(),
                about: None,
            },
        }
    }
}

/// Returns whether a value is a placeholder such as `<YOUR_KEY>`, `your-token-here` or `xxxx`.
pub fn is_placeholder(value: &str) -> bool {
    let upper = value.to_ascii_uppercase().replace('-', "_");
    let around = |open, close| value.starts_with(open) && value.ends_with(close);
    let filler = |c: char| matches!(c, 'x' | 'X' | '.' | '*' | '…');
    let words = ["REPLACE_ME", "REPLACEME", "CHANGE_ME", "CHANGEME", "TODO"];
    around('<', '>')
        || (around('{', '}') || around('[', ']'))
        || upper.starts_with("YOUR")
        || ["_YOUR_", "/YOUR_", "=YOUR_", "@YOUR_"]
            .iter()
            .any(|part| upper.contains(part))
        || upper.ends_with("_HERE")
        || words.contains(&upper.as_str())
        || (!value.is_empty() && value.chars().all(filler))
}

/// Splits a text into literal parts and references.
fn parts(text: &str, dialect: Dialect) -> Vec<Segment<'_>> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let Some((whole, inside)) = reference(rest, dialect) else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if from < at {
            parts.push(Segment::Text(&text[from..at]));
        }
        parts.push(Segment::Reference(whole, inside));
        at += whole.len();
        from = at;
    }
    if from < text.len() {
        parts.push(Segment::Text(&text[from..]));
    }
    parts
}

/// The reference at the start of a text: all of it, and its inside.
fn reference(text: &str, dialect: Dialect) -> Option<(&str, &str)> {
    let until_brace = |start: usize| {
        let end = text[start..].find('}')? + start;
        let inside = &text[start..end];
        (!inside.is_empty()).then_some((&text[..=end], inside))
    };
    if text.starts_with("${") {
        return until_brace(2);
    }
    if text.starts_with("{env:") || text.starts_with("{file:") {
        return until_brace(1);
    }
    let name = text
        .strip_prefix('$')
        .filter(|_| dialect == Dialect::Gemini)?;
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = name.find(|c| !legal(c)).unwrap_or(name.len());
    let first = name.chars().next()?;
    (!first.is_ascii_digit() && end > 0).then(|| (&text[..=end], &name[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_recognised_by_key_or_by_value() {
        for (key, value) in [
            ("GITHUB_PERSONAL_ACCESS_TOKEN", "abcdefghij"),
            ("API-Key", "abc"),
            ("GITHUB_PAT", "abcdef"),
            ("X", "ghp_0123456789"),
            ("DATABASE_URL", "postgres://me:word@host/db"),
            ("Authorization", "Bearer x"),
        ] {
            assert!(is_secret_value(key, value), "{key}={value}");
        }
        for (key, value) in [
            ("LOG_LEVEL", "debug"),
            ("MAX_TOKEN", "4096"),
            ("API_KEY", ""),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
            ("DATABASE_URL", "postgres://host/db"),
            ("MONKEYS", "three of them"),
        ] {
            assert!(!is_secret_value(key, value), "{key}={value}");
        }
    }

    #[test]
    fn placeholders_are_told_from_values() {
        for placeholder in [
            "<YOUR_API_KEY>",
            "YOUR_TOKEN_HERE",
            "your-api-key",
            "ghp_your_token",
            "paste-key-here",
            "https://your-site.example",
            "{API_KEY}",
            "xxxxxxxx",
            "changeme",
        ] {
            assert!(is_placeholder(placeholder), "{placeholder}");
        }
        for value in [
            "",
            "ghp_0123456789",
            "https://example.com",
            "yours",
            "sk-abc.def",
        ] {
            assert_eq!(is_placeholder(value), value == "yours", "{value}");
        }
    }

    #[test]
    fn references_are_found_in_every_spelling() {
        let found = |text, dialect| {
            let all = parts(text, dialect).into_iter();
            all.filter_map(|part| match part {
                Segment::Reference(_, inside) => Some(inside.to_owned()),
                Segment::Text(_) => None,
            })
            .collect::<Vec<_>>()
        };
        assert_eq!(found("a${X}b${input:y}", Dialect::Plain), ["X", "input:y"]);
        assert_eq!(found("Bearer {env:T}", Dialect::Opencode), ["env:T"]);
        assert_eq!(found("$X/${Y} $1 $", Dialect::Gemini), ["X", "Y"]);
        for none in ["", "$X", "${", "${}", "ü{x}", "$"] {
            assert_eq!(found(none, Dialect::Plain), [""; 0], "{none}");
        }
    }
}
