//! Generates the reference of all keys, `docs/config.md`.

use manyhands_core::schema_of;
use serde_json::Value;

use crate::path::KeyPath;
use crate::settings::Settings;
use crate::shape::{Kind, Shape, root};
use crate::toml_value::inline;

const HEAD: &str = "\
# Configuration

All settings in `config.toml`. A key that is not set has its default.
Changes apply at once, unless the last column says that they need a restart.
The file is validated as a whole before anything changes: an invalid file or an invalid
`manyhands config set` is refused with all problems, and the current settings stay active.

<!-- Generated from crates/config/src/settings.rs; run `UPDATE_DOCS=1 cargo test -p manyhands-config` after a change. -->

| key | type | default | meaning |
| --- | --- | --- | --- |
";

/// Returns all keys as a JSON Schema with descriptions, types and defaults. `x-secret`, `x-restart` and `x-local` mark
/// keys that are masked, need a restart, or can only be set in the file.
pub fn schema() -> Value {
    schema_of::<Settings>()
}

/// Returns all keys as a Markdown table.
pub fn reference() -> String {
    let mut text = HEAD.to_owned();
    rows(&mut text, &KeyPath::default(), root(), Restart::No);
    text
}

#[derive(Clone, Copy, PartialEq)]
enum Restart {
    No,
    Needed,
}

fn rows(text: &mut String, at: &KeyPath, shape: &Shape, above: Restart) {
    for (key, child) in shape.keys() {
        let path = at.join(key);
        let restart = if child.restart {
            Restart::Needed
        } else {
            above
        };
        // A table with defaults is described by its keys; a row of its own would repeat them.
        if !child.is_table() || child.default.is_none() {
            row(text, &path, child, required(shape, key), restart);
        }
        rows(text, &path, child, restart);
        // Keys inside lists and maps, with a placeholder for the index or name.
        match &child.kind {
            Kind::List { item, .. } => rows(text, &path.join("N"), item, restart),
            Kind::Map(item) => rows(text, &path.join("NAME"), item, restart),
            _ => {}
        }
    }
}

fn required(shape: &Shape, key: &str) -> bool {
    matches!(&shape.kind, Kind::Table { required, .. } if required.iter().any(|r| r == key))
}

fn row(text: &mut String, path: &KeyPath, shape: &Shape, required: bool, restart: Restart) {
    let default = match &shape.default {
        Some(value) => format!("`{}`", written(value)),
        None if required => "required".to_owned(),
        None => "not set".to_owned(),
    };
    let mut meaning = shape.doc.replace('\n', " ").replace('|', "\\|");
    if let Kind::Integer { min, .. } = shape.kind
        && min > 0
    {
        meaning.push_str(&format!(" At least {min}."));
    }
    if restart == Restart::Needed {
        meaning.push_str(" A change needs a restart.");
    }
    let kind = kind(shape);
    text.push_str(&format!("| `{path}` | {kind} | {default} | {meaning} |\n"));
}

fn kind(shape: &Shape) -> String {
    match &shape.kind {
        Kind::List { item, .. } => format!("list of {}", plural(item)),
        _ => shape.describe(),
    }
}

fn plural(item: &Shape) -> String {
    match &item.kind {
        Kind::Table { .. } => "tables".to_owned(),
        Kind::Text => "strings".to_owned(),
        _ => item.describe(),
    }
}

fn written(value: &Value) -> String {
    inline(value).map(|v| v.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_reference_in_docs_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.md");
        #[allow(
            clippy::disallowed_methods,
            reason = "a switch for whoever runs the test"
        )]
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, reference()).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == reference(),
            "docs/config.md is out of date; run UPDATE_DOCS=1 cargo test -p manyhands-config"
        );
    }

    #[test]
    fn every_key_has_a_row() {
        let text = reference();
        for key in [
            "listen",
            "tls.cert",
            "limits.calls_per_day",
            "policy.rules",
            "policy.rules.N.decision",
            "policy.rules.N.when.NAME.matches",
        ] {
            assert!(text.contains(&format!("| `{key}` |")), "{key}");
        }
    }
}
