//! Generates the commented default configuration.

use serde_json::Value;

use crate::path::KeyPath;
use crate::shape::{Kind, Shape, root};
use crate::toml_value::inline;

const HEAD: &str = "\
# Settings of this gateway. Every key is listed with its default; remove the `#`
# in front of one to change it. `manyhands config set` does the same, and
# refuses invalid values. Changes apply at once unless noted otherwise.
";

/// Returns the commented `config.toml`: valid, and equivalent to the defaults. Lines starting with `# ` are
/// explanations; lines starting with `#` and a key are settings.
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
            // A table with defaults gets a real header, so that its keys can be enabled by removing
            // `#`.
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
                text.push_str("# Example of one entry:\n");
                example(text, &format!("[[{path}]]"), item);
            }
            (_, Some(default)) => {
                explain(text, child);
                setting(text, key, default);
            }
            (_, None) => {
                explain(text, child);
                // With a space: it must not look like a setting that can be enabled as it is.
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

/// Shows a table without a default as an example.
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
