//! Servers in JSON as it stands in READMEs: any program's format, a fragment, or a single entry, with blanks for the
//! user to fill in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Contents, is_placeholder, is_secret_value, read};
use crate::{Format, UserEnv};

/// Keys that hold servers in the formats of other programs.
const SECTIONS: [&str; 6] = [
    "mcpServers",
    "servers",
    "context_servers",
    "mcp",
    "mcp_servers",
    "extensions",
];
/// Keys that make an object a server.
const ENTRY: [&str; 6] = ["command", "cmd", "url", "httpUrl", "serverUrl", "uri"];

/// Pasted servers.
#[derive(Debug)]
pub struct Pasted {
    document: Value,
}

/// A value that the user has to provide, and that is not a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blank {
    /// A name for it.
    pub name: String,
    /// Description.
    pub about: String,
}

impl Pasted {
    /// Parses pasted text. `name` renames the server, or names an entry without a name.
    pub fn parse(text: &str, name: Option<&str>) -> Result<Self, String> {
        let document = document(text, name)?;
        Ok(Self { document })
    }

    /// A single server, as an entry of a program's settings.
    pub fn of_entry(name: &str, entry: &Value) -> Self {
        let document = json!({ "mcpServers": { name: entry } });
        Self { document }
    }

    /// Removes all servers but the one with this name in the text; returns whether there is one.
    pub fn select(&mut self, name: &str) -> bool {
        let mut found = false;
        for section in sections(&mut self.document) {
            section.retain(|given, _| given == name);
            found |= !section.is_empty();
        }
        found
    }

    /// The servers, with their secrets apart.
    pub fn contents(&self, user_env: &UserEnv) -> Result<Contents, String> {
        read(
            &self.document.to_string(),
            Path::new("pasted.json"),
            None,
            user_env,
        )
    }

    /// The blanks that are not secret, each once.
    pub fn blanks(&mut self, user_env: &UserEnv) -> Vec<Blank> {
        let mut blanks: Vec<Blank> = Vec::new();
        self.each_blank(user_env, |blank, _| {
            if !blanks.iter().any(|known| known.name == blank.name) {
                blanks.push(blank);
            }
        });
        blanks
    }

    /// Fills in blanks by their names.
    pub fn fill(&mut self, user_env: &UserEnv, values: &BTreeMap<String, String>) {
        self.each_blank(user_env, |blank, text| {
            if let Some(value) = values.get(&blank.name) {
                *text.whole = text.whole.replace(&text.blank, value);
            }
        });
    }

    fn each_blank(&mut self, user_env: &UserEnv, mut visit: impl FnMut(Blank, BlankIn<'_>)) {
        let listed = self.document["inputs"].take();
        if !listed.is_null() {
            self.document["inputs"] = listed.clone();
        }
        let described = |name: &str| {
            let mut all = listed.as_array().into_iter().flatten();
            let found = all.find(|one| one["id"] == name);
            found
                .and_then(|one| one["description"].as_str())
                .map(str::to_owned)
        };
        for section in sections(&mut self.document) {
            for (server, entry) in section.iter_mut() {
                let own: BTreeSet<String> = ["env", "environment", "envs"]
                    .iter()
                    .filter_map(|key| entry[*key].as_object())
                    .flat_map(|map| map.keys().cloned())
                    .collect();
                for (key, whole) in plain_texts(entry) {
                    for found in placeholders(key.as_deref(), whole) {
                        let is_known = own.contains(&found.name) && key.is_none();
                        // A variable of this machine, or of the server itself, is not asked for.
                        if is_known || user_env.env.contains_key(&found.name) {
                            continue;
                        }
                        let about = described(&found.name);
                        let about =
                            about.unwrap_or_else(|| format!("{:?} of {server}", found.text));
                        let blank = Blank {
                            name: found.name,
                            about,
                        };
                        let place = BlankIn {
                            whole: &mut *whole,
                            blank: found.text,
                        };
                        visit(blank, place);
                    }
                }
            }
        }
    }
}

/// Where a blank stands.
struct BlankIn<'a> {
    /// The text it is a part of.
    whole: &'a mut String,
    /// The blank as written.
    blank: String,
}

/// Parses pasted text into a document with a section of servers.
fn document(text: &str, name: Option<&str>) -> Result<Value, String> {
    let text = fenced(text).trim().trim_end_matches(',');
    let parsed = match text.starts_with('"') {
        // The inside of an object, as READMEs show what to add to a file.
        true => Format::Json.parse(&format!("{{{text}}}")),
        false => Format::Json.parse(text),
    };
    let mut parsed = parsed?;
    let object = parsed.as_object().ok_or("the JSON is not an object")?;
    if is_entry(&parsed) {
        let name =
            name.ok_or("the JSON is a single server without a name; choose one with --name NAME")?;
        return Ok(json!({ "mcpServers": { name: parsed } }));
    }
    if !SECTIONS.iter().any(|key| object.contains_key(*key)) {
        if object.is_empty() || !object.values().all(is_entry) {
            return Err(
                "the JSON has no MCP server: expected mcpServers, servers, or an object with a command or a url"
                    .to_owned(),
            );
        }
        parsed = json!({ "mcpServers": parsed });
    }
    if let Some(name) = name {
        rename(&mut parsed, name)?;
    }
    Ok(parsed)
}

/// The first code block of Markdown, or all of the text.
fn fenced(text: &str) -> &str {
    let Some(start) = text.find("```") else {
        return text;
    };
    let inner = &text[start + 3..];
    let inner = inner.find('\n').map_or("", |at| &inner[at + 1..]);
    inner.find("```").map_or(inner, |end| &inner[..end])
}

fn is_entry(value: &Value) -> bool {
    let has = |key: &&str| value[*key].is_string() || value[*key].is_array();
    value.is_object() && ENTRY.iter().any(has)
}

/// The objects of servers in a document.
fn sections(document: &mut Value) -> Vec<&mut Map<String, Value>> {
    let mut found = Vec::new();
    let Some(top) = document.as_object_mut() else {
        return found;
    };
    for (key, value) in top {
        match (key.as_str(), value) {
            ("mcp", Value::Object(inner)) => match inner.get("servers").is_some() {
                true => found.extend(inner.get_mut("servers").and_then(Value::as_object_mut)),
                false => found.push(inner),
            },
            (key, Value::Object(inner)) if SECTIONS.contains(&key) => found.push(inner),
            _ => {}
        }
    }
    found
}

fn rename(document: &mut Value, name: &str) -> Result<(), String> {
    let mut sections = sections(document);
    match sections.as_mut_slice() {
        [one] if one.len() == 1 => {
            let entry = std::mem::take(&mut **one).into_iter().next();
            one.extend(entry.map(|(_, entry)| (name.to_owned(), entry)));
            Ok(())
        }
        _ => Err("a name can only be given for JSON with a single server".to_owned()),
    }
}

/// A part of a text that the user has to replace.
#[derive(Debug, PartialEq, Eq)]
struct Placeholder {
    /// As written.
    text: String,
    /// A name for it.
    name: String,
}

/// Texts of an entry that are stored in plain text, with the name of their variable or header.
fn plain_texts(entry: &mut Value) -> Vec<(Option<String>, &mut String)> {
    let mut texts = Vec::new();
    let map = entry.as_object_mut().into_iter().flatten();
    for (key, value) in map {
        match (key.as_str(), value) {
            ("args" | "command", Value::Array(list)) => {
                let words = list.iter_mut().filter_map(|word| match word {
                    Value::String(text) => Some((None, text)),
                    _ => None,
                });
                texts.extend(words);
            }
            ("url" | "httpUrl" | "serverUrl" | "uri" | "cwd", Value::String(text)) => {
                texts.push((None, text));
            }
            ("env" | "environment" | "envs" | "headers", Value::Object(map)) => {
                let open = map.iter_mut().filter_map(|(key, value)| match value {
                    Value::String(text) if !is_secret_value(key, text) => {
                        Some((Some(key.clone()), text))
                    }
                    _ => None,
                });
                texts.extend(open);
            }
            _ => {}
        }
    }
    texts
}

fn placeholders(key: Option<&str>, text: &str) -> Vec<Placeholder> {
    let one = |text: &str, name: &str| Placeholder {
        text: text.to_owned(),
        name: name.to_owned(),
    };
    // References in variables and headers are resolved with the secrets.
    if let Some(key) = key {
        return match is_placeholder(text) {
            true => vec![one(text, key)],
            false => Vec::new(),
        };
    }
    let mut found = Vec::new();
    for (open, close) in [("${", '}'), ("<", '>')] {
        let mut rest = text;
        while let Some(start) = rest.find(open) {
            let Some(length) = rest[start..].find(close) else {
                break;
            };
            let whole = &rest[start..=start + length];
            let inner = whole[open.len()..whole.len() - 1].trim();
            let inner = inner.strip_prefix("input:").unwrap_or(inner);
            let inner = inner.strip_prefix("env:").unwrap_or(inner);
            if !inner.is_empty() {
                found.push(one(whole, &named(inner)));
            }
            rest = &rest[start + length..];
        }
    }
    if found.is_empty() && text.starts_with("/path/to") {
        found.push(one(text, "PATH"));
    } else if found.is_empty() && is_placeholder(text) {
        found.push(one(text, &named(text)));
    }
    found
}

/// A name for an option, from a placeholder such as `your project`.
fn named(text: &str) -> String {
    let legal = |c: char| match c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') {
        true => c,
        false => '_',
    };
    text.chars().map(legal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn servers(text: &str, name: Option<&str>) -> Vec<String> {
        let mut document = document(text, name).unwrap();
        let sections = sections(&mut document).into_iter();
        sections
            .flat_map(|section| section.keys().cloned())
            .collect()
    }

    #[test]
    fn every_shape_of_readmes_is_understood() {
        let entry = r#"{ "command": "npx", "args": ["-y", "x"] }"#;
        for text in [
            format!(r#"{{ "mcpServers": {{ "a": {entry} }} }}"#),
            format!(r#"{{ "servers": {{ "a": {entry} }} }}"#),
            format!(r#"{{ "mcp": {{ "servers": {{ "a": {entry}, }} }} }} // VS Code"#),
            format!(r#"{{ "mcp": {{ "a": {entry} }} }}"#),
            format!(r#"{{ "context_servers": {{ "a": {entry} }} }}"#),
            format!(r#"{{ "a": {entry} }}"#),
            format!(r#""a": {entry},"#),
            format!("Add this:\n\n```json\n\"a\": {entry}\n```\n\nThen restart."),
        ] {
            assert_eq!(servers(&text, None), ["a"], "{text}");
            assert_eq!(servers(&text, Some("b")), ["b"], "{text}");
        }
        assert_eq!(servers(entry, Some("b")), ["b"]);
        let two = format!(r#"{{ "a": {entry}, "b": {entry} }}"#);
        assert_eq!(servers(&two, None), ["a", "b"]);
        for (text, name, why) in [
            (entry, None, "choose one with --name"),
            (two.as_str(), Some("c"), "a single server"),
            ("{}", None, "no MCP server"),
            (r#"{ "a": 1 }"#, None, "no MCP server"),
            ("[]", None, "not an object"),
            ("{", None, "invalid JSON"),
        ] {
            let refused = document(text, name).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn placeholders_are_recognised_and_real_values_are_not() {
        let found = |key, text| -> Vec<String> {
            let all = placeholders(key, text).into_iter();
            all.map(|one| one.name).collect()
        };
        assert_eq!(found(None, "--dir=<your dir>"), ["your_dir"]);
        assert_eq!(
            found(None, "${input:path}/x/${env:REGION}"),
            ["path", "REGION"]
        );
        assert_eq!(found(None, "/path/to/your/project"), ["PATH"]);
        assert_eq!(found(None, "YOUR_PROJECT_ID"), ["YOUR_PROJECT_ID"]);
        assert_eq!(found(Some("SITE"), "https://your-site.example"), ["SITE"]);
        for real in [
            "-y",
            "@scope/server",
            "/srv/data",
            "a < b",
            "https://api.example/mcp",
            "$HOME",
        ] {
            assert_eq!(found(None, real), [""; 0], "{real}");
        }
        for real in ["eu", "${API_KEY}", "/home/me"] {
            assert_eq!(found(Some("REGION"), real), [""; 0], "{real}");
        }
    }
}
