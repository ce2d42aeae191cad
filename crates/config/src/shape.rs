//! The schema of the settings as a tree that is easy to walk.
//!
//! Keys are sorted, plain keys before tables: the order must not depend on the features of `serde_json`
//! that other crates in the build enable.

use std::sync::LazyLock;

use manyhands_core::schema_of;
use serde_json::Value;

use crate::settings::Settings;

/// The schema of one setting.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub kind: Kind,
    /// The doc comment.
    pub doc: String,
    /// Default value; `None` if there is none.
    pub default: Option<Value>,
    /// Name of the check that strings have to pass.
    pub check: Option<String>,
    /// `x-secret` in the schema.
    pub secret: bool,
    /// `x-mask` in the schema.
    pub mask: Option<Mask>,
    /// `x-restart` in the schema.
    pub restart: bool,
    /// `x-local` in the schema.
    pub local: bool,
}

/// How secrets are recognised in values that are not secret as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mask {
    /// The keys or items are names chosen by the owner: a server may be named `token`.
    Names,
    /// Program arguments: the one after `--token` is secret.
    Args,
}

impl Mask {
    fn of(word: &str) -> Self {
        match word {
            "names" => Self::Names,
            "args" => Self::Args,
            _ => unreachable!("the schema names a mask that does not exist: {word}"),
        }
    }
}

/// Types of values.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// A table with known keys.
    Table {
        keys: Vec<(String, Shape)>,
        required: Vec<String>,
        min: usize,
    },
    /// A table with keys chosen by the owner.
    Map(Box<Shape>),
    List {
        item: Box<Shape>,
        min: usize,
    },
    Text,
    /// One of these words.
    Word(Vec<String>),
    Integer {
        min: i64,
        max: i64,
    },
    Float,
    Bool,
    Any,
}

/// The schema of [`Settings`].
pub(crate) fn root() -> &'static Shape {
    static ROOT: LazyLock<Shape> = LazyLock::new(|| Shape::of(&schema_of::<Settings>()));
    &ROOT
}

impl Shape {
    /// Reads a self-contained schema, as produced by [`schema_of`].
    pub(crate) fn of(schema: &Value) -> Self {
        let flag = |name: &str| schema[name] == true;
        Self {
            kind: kind_of(schema),
            doc: schema["description"].as_str().unwrap_or("").to_owned(),
            default: schema.get("default").filter(|d| !d.is_null()).cloned(),
            check: schema["x-check"].as_str().map(str::to_owned),
            secret: flag("x-secret"),
            mask: schema["x-mask"].as_str().map(Mask::of),
            restart: flag("x-restart"),
            local: flag("x-local"),
        }
    }

    /// Returns the schema under one path segment: a key or a list index.
    pub(crate) fn child(&self, segment: &str) -> Option<&Shape> {
        match &self.kind {
            Kind::Table { keys, .. } => keys.iter().find(|(k, _)| k == segment).map(|(_, s)| s),
            Kind::Map(value) => Some(value),
            Kind::List { item, .. } => segment.parse::<usize>().ok().map(|_| item.as_ref()),
            // Below a value without a schema everything is allowed.
            Kind::Any => Some(self),
            _ => None,
        }
    }

    /// The known keys, if they are fixed.
    pub(crate) fn keys(&self) -> &[(String, Shape)] {
        match &self.kind {
            Kind::Table { keys, .. } => keys,
            _ => &[],
        }
    }

    /// Returns whether the file has a header for it.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.kind, Kind::Table { .. })
    }

    /// Describes the type for error messages.
    pub(crate) fn describe(&self) -> String {
        match &self.kind {
            Kind::Table { .. } => "a table".to_owned(),
            Kind::Map(_) => "a table of names".to_owned(),
            Kind::List { .. } => "a list".to_owned(),
            Kind::Text => "text".to_owned(),
            Kind::Word(words) => one_of(words),
            Kind::Integer { .. } => "a whole number".to_owned(),
            Kind::Float => "a number".to_owned(),
            Kind::Bool => "true or false".to_owned(),
            Kind::Any => "any value".to_owned(),
        }
    }
}

/// Formats a list as ``one of `a`, `b`, `c```.
pub(crate) fn one_of(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
    format!("one of {}", quoted.join(", "))
}

fn kind_of(schema: &Value) -> Kind {
    if let Some(words) = words(schema) {
        return Kind::Word(words);
    }
    // An optional field is `anyOf` its type and null; TOML has no null, so only the type counts.
    if let Some(options) = schema["anyOf"].as_array() {
        let real = options.iter().find(|o| o["type"] != "null");
        return real.map_or(Kind::Any, kind_of);
    }
    let size = |name: &str| {
        let number = schema[name].as_u64().unwrap_or(0);
        usize::try_from(number).unwrap_or(usize::MAX)
    };
    match type_word(&schema["type"]) {
        Some("object") => match schema.get("properties") {
            Some(properties) => Kind::Table {
                keys: keys(properties),
                required: texts(&schema["required"]),
                min: size("minProperties"),
            },
            // schemars describes maps only by the type of their values.
            None => Kind::Map(Box::new(Shape::of(&schema["additionalProperties"]))),
        },
        Some("array") => Kind::List {
            item: Box::new(Shape::of(&schema["items"])),
            min: size("minItems"),
        },
        Some("string") => Kind::Text,
        Some("integer") => Kind::Integer {
            min: schema["minimum"].as_i64().unwrap_or(i64::MIN),
            max: schema["maximum"].as_i64().unwrap_or_else(|| widest(schema)),
        },
        Some("number") => Kind::Float,
        Some("boolean") => Kind::Bool,
        _ => Kind::Any,
    }
}

fn keys(properties: &Value) -> Vec<(String, Shape)> {
    let mut keys: Vec<(String, Shape)> = properties
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), Shape::of(schema)))
        .collect();
    // TOML needs plain keys before the first header of a nested table.
    keys.sort_by(|(a, x), (b, y)| (x.is_table(), a).cmp(&(y.is_table(), b)));
    keys
}

/// Largest value of the field's integer type; TOML integers end at `i64::MAX`.
fn widest(schema: &Value) -> i64 {
    match schema["format"].as_str() {
        Some("uint32") => i64::from(u32::MAX),
        Some("int32") => i64::from(i32::MAX),
        _ => i64::MAX,
    }
}

fn words(schema: &Value) -> Option<Vec<String>> {
    let named = texts(&schema["enum"]);
    if !named.is_empty() {
        return Some(named);
    }
    let options = schema["oneOf"].as_array()?;
    options
        .iter()
        .map(|o| o["const"].as_str().map(str::to_owned))
        .collect()
}

fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items
        .filter_map(|v| v.as_str().map(str::to_owned))
        .collect()
}

fn type_word(of: &Value) -> Option<&str> {
    match of {
        Value::Array(options) => options
            .iter()
            .find_map(|o| o.as_str().filter(|o| *o != "null")),
        other => other.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_documented_and_of_a_known_kind() {
        fn walk(path: &str, shape: &Shape) {
            assert!(!shape.doc.is_empty(), "{path} has no doc comment");
            if let Some(check) = &shape.check {
                // A name that no check has would panic here.
                crate::format::flaw(check, "");
            }
            for (key, child) in shape.keys() {
                walk(&format!("{path}.{key}"), child);
            }
            match &shape.kind {
                Kind::List { item, .. } | Kind::Map(item) if item.is_table() => {
                    walk(&format!("{path}.*"), item);
                }
                Kind::Any => assert!(path.ends_with(".equals"), "{path} has no type"),
                _ => {}
            }
        }
        walk("settings", root());
    }

    #[test]
    fn every_key_outside_lists_has_a_default_or_is_optional() {
        const OPTIONAL: [&str; 6] = [
            "public_url",
            "tls",
            "workspace_root",
            "file_cache_dir",
            "file_state_dir",
            "timezone",
        ];
        for (key, shape) in root().keys() {
            assert!(
                shape.default.is_some() || OPTIONAL.contains(&key.as_str()),
                "{key}"
            );
        }
    }

    #[test]
    fn plain_keys_come_before_tables() {
        let tables: Vec<bool> = root().keys().iter().map(|(_, s)| s.is_table()).collect();
        assert!(tables.is_sorted());
        assert!(tables.contains(&true) && tables.contains(&false));
    }
}
