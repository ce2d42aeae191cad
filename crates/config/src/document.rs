//! The commented configuration that a first start writes.

use serde_json::Value;

use crate::path::KeyPath;
use crate::shape::{Kind, Shape, root};
use crate::toml_value::inline;

const HEAD: &str = "\
# The settings of this gateway. Every key is here with its default; take the `#`
# away in front of one to change it. `manyhands config set` does the same, and
# refuses what would not work. Changes apply at once unless a key says otherwise.
";

/// The commented `config.toml`: valid as it is, and meaning the defaults. Lines
/// that start with `# ` explain; lines that start with `#` and a key are settings.
pub fn default_file() -> String {
    let mut text = HEAD.to_owned();
    section(&mut text, &KeyPath::default(), root());
    text
}

fn section(text: &mut String, at: &KeyPath, shape: &Shape) {
    for (key, child) in shape.keys() {
        let path = at.join(key);
        text.push('\n');
        match (&child.kind, &child.default) {
            (Kind::Table { .. }, Some(_)) => {
                explain(text, child);
                text.push_str(&format!("[{path}]\n"));
                section(text, &path, child);
            }
            (Kind::Table { .. }, None) => {
                explain(text, child);
                example(text, &format!("[{path}]"), child);
            }
            (Kind::List { item, .. }, Some(default)) if item.is_table() => {
                explain(text, child);
                setting(text, key, default);
                text.push_str("# One entry looks like this:\n");
                example(text, &format!("[[{path}]]"), item);
            }
            (_, Some(default)) => {
                explain(text, child);
                setting(text, key, default);
            }
            (_, None) => {
                explain(text, child);
                text.push_str(&format!("# {key} = {}\n", placeholder(child)));
            }
        }
    }
}

fn explain(text: &mut String, shape: &Shape) {
    for line in shape.doc.lines() {
        text.push_str(&format!("# {line}\n"));
    }
    if shape.restart {
        text.push_str("# A change needs a restart.\n");
    }
}

fn setting(text: &mut String, key: &str, default: &Value) {
    text.push_str(&format!("#{key} = {}\n", written(default)));
}

/// A table that has no default, as an example inside the explanation.
fn example(text: &mut String, header: &str, shape: &Shape) {
    text.push_str(&format!("#   {header}\n"));
    for (key, child) in shape.keys() {
        let value = match &child.default {
            Some(default) => written(default),
            None => placeholder(child),
        };
        let doc = child.doc.replace('\n', " ");
        text.push_str(&format!("#   {key} = {value}  # {doc}\n"));
    }
}

fn written(value: &Value) -> String {
    inline(value).map(|v| v.to_string()).unwrap_or_default()
}

fn placeholder(shape: &Shape) -> String {
    match &shape.kind {
        Kind::Word(words) => words
            .first()
            .map(|w| format!("\"{w}\""))
            .unwrap_or_default(),
        Kind::Text => "\"...\"".to_owned(),
        _ => "...".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::settings::Settings;

    #[test]
    fn the_default_file_is_valid_and_means_the_defaults() {
        let (settings, _) = check(&default_file()).unwrap();
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn with_every_key_turned_on_it_still_means_the_defaults() {
        let file = default_file();
        let on: Vec<&str> = file
            .lines()
            .filter_map(|line| match line.strip_prefix('#') {
                Some(rest) if rest.starts_with(' ') => None,
                Some(setting) => Some(setting),
                None => Some(line),
            })
            .collect();
        let (settings, found) = check(&on.join("\n")).unwrap();
        assert_eq!(settings, Settings::default());
        fn all_set(at: &KeyPath, shape: &Shape, found: &crate::Provenance) {
            for (key, child) in shape.keys() {
                let path = at.join(key);
                if child.default.is_some() {
                    assert_ne!(found.of(&path), crate::Source::Default, "{path}");
                    all_set(&path, child, found);
                }
            }
        }
        all_set(&KeyPath::default(), root(), &found);
    }

    #[test]
    fn every_key_is_mentioned() {
        let file = default_file();
        for key in [
            "cert = ",
            "key = ",
            "[[policy.rules]]",
            "decision = ",
            "reason = ",
        ] {
            assert!(file.contains(key), "{key}");
        }
    }
}
