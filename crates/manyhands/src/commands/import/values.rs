//! Values with references in them, and values that belong into the vault.

use std::collections::BTreeMap;
use std::path::Path;

use manyhands_config::is_secret_key;
use manyhands_core::{Secret, ServerName};

use super::entry::Dialect;
use super::{Around, Kept};

/// The vault takes nothing shorter: it could not be told from other text.
const SHORTEST: usize = 8;
/// The longest part of a secret's name that comes from a key.
const MAX_KEY: usize = 80;

/// Words of a key that make its value secret.
const SECRET_WORDS: [&str; 13] = [
    "token", "secret", "password", "key", "pat", "pwd", "pass", "passwd", "auth", "bearer", "dsn",
    "jwt", "creds",
];
/// How well-known secrets begin.
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
/// What stands before the secret in a header.
const SCHEMES: [&str; 4] = ["Bearer ", "bearer ", "Basic ", "token "];

/// Whether a value should not stand in a file, by its key or by itself.
pub fn is_secret_value(key: &str, value: &str) -> bool {
    let dull = |text: &str| {
        text.is_empty()
            || (text.len() < SHORTEST && text.parse::<f64>().is_ok())
            || matches!(text, "true" | "false")
            || (text.starts_with(['/', '~']) && !text.contains([' ', '=', '+']) && names_file(key))
    };
    let mut words = key.split(|c: char| !c.is_ascii_alphanumeric());
    let named = is_secret_key(key)
        || words.any(|word| SECRET_WORDS.contains(&word.to_ascii_lowercase().as_str()));
    let known = SECRET_STARTS.iter().any(|start| value.starts_with(start));
    (named && !dull(value)) || known || has_password(value)
}

/// `GOOGLE_APPLICATION_CREDENTIALS` and the like say where a secret lies.
fn names_file(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["credentials", "file", "path", "dir"]
        .iter()
        .any(|end| key.ends_with(end))
}

/// Whether it is an address with a password in it.
fn has_password(value: &str) -> bool {
    url::Url::parse(value).is_ok_and(|url| url.password().is_some_and(|word| !word.is_empty()))
}

/// What the values of one server come to.
pub struct Values<'a> {
    name: &'a ServerName,
    dialect: Dialect,
    around: &'a Around,
    project: Option<&'a Path>,
    inputs: &'a BTreeMap<&'a str, &'a str>,
    pub secrets: Vec<Kept>,
    pub notes: Vec<String>,
}

/// A part of a value.
#[derive(Debug, PartialEq, Eq)]
enum Part<'t> {
    Text(&'t str),
    /// What it looked like, and what was between the braces.
    Reference(&'t str, &'t str),
}

/// What a reference stands for.
enum Meaning {
    Plain(String),
    Secret {
        key: String,
        value: Option<String>,
        about: Option<String>,
    },
    /// The gateway knows it as it is.
    Ours,
}

impl<'a> Values<'a> {
    pub fn new(
        name: &'a ServerName,
        dialect: Dialect,
        around: &'a Around,
        project: Option<&'a Path>,
        inputs: &'a BTreeMap<&'a str, &'a str>,
    ) -> Self {
        Self {
            name,
            dialect,
            around,
            project,
            inputs,
            secrets: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A value of the environment or of a header; nothing when it has to stay out.
    pub fn hidden(&mut self, key: &str, text: &str) -> Option<String> {
        let parts = parts(text, self.dialect);
        if parts.iter().any(|part| matches!(part, Part::Reference(..))) {
            let filled = parts.into_iter().map(|part| match part {
                Part::Text(text) => text.to_owned(),
                Part::Reference(whole, inside) => match self.meaning(inside) {
                    Meaning::Plain(text) => text,
                    Meaning::Ours => whole.to_owned(),
                    Meaning::Secret { key, value, about } => {
                        let value = value.filter(|value| value.chars().count() >= SHORTEST);
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
        let (scheme, rest) = text.split_at(scheme.map_or(0, |scheme| scheme.len()));
        let value = (!is_placeholder(rest)).then(|| rest.to_owned());
        if value
            .as_ref()
            .is_some_and(|value| value.chars().count() < SHORTEST)
        {
            self.notes.push(format!(
                "{key} is left out: a secret with less than {SHORTEST} characters cannot be kept"
            ));
            return None;
        }
        Some(format!("{scheme}${{{}}}", self.keep(key, value, None)))
    }

    /// A value that the gateway takes as it is, such as an argument; an error names what cannot be
    /// filled in. What is in `env` under the same name is filled in by the program itself.
    pub fn open(&self, text: &str, env: &BTreeMap<String, String>) -> Result<String, String> {
        let mut filled = String::new();
        for part in parts(text, self.dialect) {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Reference(whole, inside) if env.contains_key(inside) => {
                    filled.push_str(whole);
                }
                Part::Reference(whole, inside) => match self.meaning(inside) {
                    Meaning::Plain(text) => filled.push_str(&text),
                    Meaning::Secret { .. } | Meaning::Ours => return Err(whole.to_owned()),
                },
            }
        }
        Ok(filled)
    }

    /// A secret by a name of its own, and where it is kept.
    pub fn keep(&mut self, key: &str, value: Option<String>, about: Option<String>) -> String {
        let legal = |c: char| match c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') {
            true => c,
            false => '-',
        };
        let key: String = key.chars().take(MAX_KEY).map(legal).collect();
        let value = value.map(Secret::new);
        let base = format!("mcp/{}/{key}", self.name);
        let mut place = base.clone();
        for number in 2.. {
            let Some(kept) = self.secrets.iter().find(|kept| kept.place == place) else {
                self.secrets.push(Kept {
                    place: place.clone(),
                    value,
                    about,
                });
                break;
            };
            let same = |a: &Option<Secret>, b: &Option<Secret>| {
                a.as_ref().map(Secret::expose) == b.as_ref().map(Secret::expose)
            };
            if same(&kept.value, &value) {
                break;
            }
            place = format!("{base}-{number}");
        }
        place
    }

    fn meaning(&self, inside: &str) -> Meaning {
        let folder = |path: &Path| Meaning::Plain(path.display().to_string());
        match (inside, self.project) {
            ("userHome", _) => return folder(&self.around.user),
            ("workspaceFolder" | "cwd" | "workspaceRoot", Some(project)) => return folder(project),
            ("workspaceFolderBasename", Some(project)) => {
                return folder(Path::new(project.file_name().unwrap_or_default()));
            }
            ("pathSeparator" | "/", _) => return Meaning::Plain("/".to_owned()),
            _ => {}
        }
        if let Some(id) = inside.strip_prefix("input:") {
            let about = self.inputs.get(id).filter(|about| !about.is_empty());
            return Meaning::Secret {
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
            return Meaning::Ours;
        }
        let value = self.around.env.get(variable);
        match (value, default) {
            (Some(value), _) if !is_secret_value(variable, value) => Meaning::Plain(value.clone()),
            (None, Some(default)) => Meaning::Plain(default.to_owned()),
            (value, _) => Meaning::Secret {
                key: variable.to_owned(),
                value: value.cloned(),
                about: None,
            },
        }
    }
}

/// What stands where the user is meant to write something.
fn is_placeholder(value: &str) -> bool {
    let upper = value.to_ascii_uppercase();
    (value.starts_with('<') && value.ends_with('>'))
        || upper.starts_with("YOUR")
        || value
            .chars()
            .all(|c| matches!(c, 'x' | 'X' | '.' | '*' | '…'))
}

/// A text and the references in it.
fn parts(text: &str, dialect: Dialect) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let Some((whole, inside)) = reference(rest, dialect) else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if from < at {
            parts.push(Part::Text(&text[from..at]));
        }
        parts.push(Part::Reference(whole, inside));
        at += whole.len();
        from = at;
    }
    if from < text.len() {
        parts.push(Part::Text(&text[from..]));
    }
    parts
}

/// The reference that a text begins with: all of it, and what is inside.
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
    fn secrets_are_known_by_their_key_or_by_themselves() {
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
    fn references_are_found_in_every_spelling() {
        let found = |text, dialect| {
            let all = parts(text, dialect).into_iter();
            all.filter_map(|part| match part {
                Part::Reference(_, inside) => Some(inside.to_owned()),
                Part::Text(_) => None,
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
