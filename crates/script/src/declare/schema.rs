//! Converts a JSON Schema to a TypeScript type.

use serde_json::{Map, Value};

use super::text::{comment, literal, name};

/// Maximum nesting depth; deeper types become `unknown`.
const MAX_DEPTH: usize = 10;

/// Maximum number of types per schema, counting references each time they are expanded.
const MAX_TYPES: usize = 1_500;

/// Maximum number of values of an enum and branches of a union.
const MAX_BRANCHES: usize = 60;

/// Writes the type of a schema.
pub(super) struct Writer<'a> {
    root: &'a Value,
    /// References being expanded.
    following: Vec<&'a str>,
    types: usize,
    /// Number of open objects.
    indent: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self {
            root,
            following: Vec::new(),
            types: 0,
            indent: 0,
        }
    }

    /// The type of the complete schema.
    pub(super) fn whole(mut self) -> String {
        self.of(self.root, 0)
    }

    /// The type of a schema of arguments, which is always an object.
    pub(super) fn arguments(mut self) -> String {
        match self.of(self.root, 0) {
            open if open == "unknown" => "Record<string, unknown>".to_owned(),
            type_text => type_text,
        }
    }

    fn of(&mut self, schema: &'a Value, depth: usize) -> String {
        self.types += 1;
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => return "never".to_owned(),
            _ => return "unknown".to_owned(),
        };
        // Counted across the schema: references can make a small schema expand exponentially.
        if depth > MAX_DEPTH || self.types > MAX_TYPES {
            return "unknown".to_owned();
        }
        let type_text = self.bare(schema, depth);
        if schema.get("nullable") == Some(&Value::Bool(true)) {
            return union([type_text, "null".to_owned()]);
        }
        type_text
    }

    fn bare(&mut self, schema: &'a Map<String, Value>, depth: usize) -> String {
        if let Some(to) = schema.get("$ref").and_then(Value::as_str) {
            return self.referred(to, depth);
        }
        if let Some(value) = schema.get("const") {
            return value_type(value, depth);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let some = values.iter().take(MAX_BRANCHES);
            let mut type_text: Vec<String> = some.map(|value| value_type(value, depth)).collect();
            if values.len() > MAX_BRANCHES {
                type_text.push("unknown".to_owned());
            }
            return union(type_text);
        }
        let mut parts = Vec::new();
        if let Some(type_text) = self.typed(schema, depth) {
            parts.push(type_text);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(branches) = schema.get(key).and_then(Value::as_array) {
                let type_text: Vec<String> = branches
                    .iter()
                    .take(MAX_BRANCHES)
                    .map(|branch| self.of(branch, depth + 1))
                    .collect();
                parts.push(union(type_text));
            }
        }
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            for part in all.iter().take(MAX_BRANCHES) {
                parts.push(self.of(part, depth + 1));
            }
        }
        intersection(parts)
    }

    /// The type given by `type`, or by keywords that imply one.
    fn typed(&mut self, schema: &'a Map<String, Value>, depth: usize) -> Option<String> {
        match schema.get("type") {
            Some(Value::String(one)) => Some(self.simple(one, schema, depth)),
            Some(Value::Array(some)) => {
                let some = some.iter().take(MAX_BRANCHES).filter_map(Value::as_str);
                let type_text: Vec<String> =
                    some.map(|one| self.simple(one, schema, depth)).collect();
                Some(union(type_text))
            }
            _ if ["properties", "additionalProperties", "patternProperties"]
                .iter()
                .any(|key| schema.contains_key(*key)) =>
            {
                Some(self.object(schema, depth))
            }
            _ if schema.contains_key("items") || schema.contains_key("prefixItems") => {
                Some(self.array(schema, depth))
            }
            _ => None,
        }
    }

    fn simple(&mut self, one: &str, schema: &'a Map<String, Value>, depth: usize) -> String {
        match one {
            "string" | "number" | "boolean" | "null" => one.to_owned(),
            "integer" => "number".to_owned(),
            "array" => self.array(schema, depth),
            "object" => self.object(schema, depth),
            _ => "unknown".to_owned(),
        }
    }

    fn array(&mut self, schema: &'a Map<String, Value>, depth: usize) -> String {
        let keywords = ["prefixItems", "items"]
            .iter()
            .find_map(|key| schema.get(*key).and_then(Value::as_array));
        let Some(keywords) = keywords else {
            let item = match schema.get("items") {
                Some(item) => self.of(item, depth + 1),
                None => "unknown".to_owned(),
            };
            return list(&item);
        };
        let mut type_text: Vec<String> = keywords
            .iter()
            .take(MAX_BRANCHES)
            .map(|place| self.of(place, depth + 1))
            .collect();
        let rest = match (schema.get("items"), schema.get("additionalItems")) {
            (Some(rest @ (Value::Object(_) | Value::Bool(_))), _) | (_, Some(rest)) => {
                (rest != &Value::Bool(false)).then(|| self.of(rest, depth + 1))
            }
            _ => Some("unknown".to_owned()),
        };
        if let Some(rest) = rest {
            type_text.push(format!("...{}", list(&rest)));
        }
        format!("[{}]", type_text.join(", "))
    }

    fn object(&mut self, schema: &'a Map<String, Value>, depth: usize) -> String {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |key: &str| required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(key)));
        let mut fields = String::new();
        self.indent += 1;
        let pad = "  ".repeat(self.indent);
        for (key, property) in properties.into_iter().flatten() {
            if self.types > MAX_TYPES {
                fields.push_str(&format!("{pad}// and more\n"));
                break;
            }
            let type_text = self.of(property, depth + 1);
            comment(
                &mut fields,
                description_of(property),
                &tags(property),
                self.indent,
            );
            let optional = if is_required(key) { "" } else { "?" };
            fields.push_str(&format!("{pad}{}{optional}: {type_text};\n", name(key)));
        }
        self.indent -= 1;
        let mut others: Vec<String> = schema
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::values)
            .take(MAX_BRANCHES)
            .map(|other| self.of(other, depth + 1))
            .collect();
        if let Some(other @ Value::Object(_)) = schema.get("additionalProperties") {
            others.push(self.of(other, depth + 1));
        }
        let other = (!others.is_empty()).then(|| format!("Record<string, {}>", union(others)));
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        match (fields.is_empty(), other) {
            (true, Some(other)) => other,
            (true, None) if closed => "Record<string, never>".to_owned(),
            (true, None) => "Record<string, unknown>".to_owned(),
            (false, other) => {
                let object = format!("{{\n{fields}{}}}", "  ".repeat(self.indent));
                intersection([Some(object), other].into_iter().flatten().collect())
            }
        }
    }

    /// Expands a reference; a recursive one becomes `unknown`.
    fn referred(&mut self, to: &'a str, depth: usize) -> String {
        let target = to.strip_prefix('#').and_then(|to| self.root.pointer(to));
        let Some(target) = target else {
            return "unknown".to_owned();
        };
        if self.following.contains(&to) {
            return "unknown".to_owned();
        }
        // Popped below, so that two fields may refer to the same type side by side.
        self.following.push(to);
        let type_text = self.of(target, depth);
        self.following.pop();
        type_text
    }
}

fn description_of(schema: &Value) -> &str {
    ["description", "title"]
        .iter()
        .find_map(|key| schema[key].as_str())
        .unwrap_or("")
}

/// Constraints that the type cannot express.
fn tags(schema: &Value) -> Vec<String> {
    const TAGS: [&str; 9] = [
        "default",
        "format",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    ];
    TAGS.iter()
        .filter_map(|tag| schema.get(*tag).map(|value| (tag, value)))
        .map(|(tag, value)| match value {
            Value::String(text) if *tag != "default" => format!("@{tag} {text}"),
            value => format!("@{tag} {value}"),
        })
        .collect()
}

/// The literal type of a value.
fn value_type(value: &Value, depth: usize) -> String {
    match value {
        Value::String(text) => literal(text),
        Value::Array(_) | Value::Object(_) if depth > MAX_DEPTH => "unknown".to_owned(),
        Value::Array(all) => {
            let all: Vec<String> = all
                .iter()
                .take(MAX_BRANCHES)
                .map(|one| value_type(one, depth + 1))
                .collect();
            format!("[{}]", all.join(", "))
        }
        Value::Object(all) if all.is_empty() => "Record<string, never>".to_owned(),
        Value::Object(all) => {
            let all: Vec<String> = all
                .iter()
                .take(MAX_BRANCHES)
                .map(|(key, one)| format!("{}: {}", name(key), value_type(one, depth + 1)))
                .collect();
            format!("{{ {} }}", all.join("; "))
        }
        plain => plain.to_string(),
    }
}

fn list(item: &str) -> String {
    if item.chars().all(char::is_alphanumeric) {
        format!("{item}[]")
    } else {
        format!("Array<{item}>")
    }
}

/// A union without duplicates.
fn union(type_text: impl IntoIterator<Item = String>) -> String {
    let mut once: Vec<String> = Vec::new();
    for one in type_text {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    if once.is_empty() || once.iter().any(|one| one == "unknown") {
        return "unknown".to_owned();
    }
    once.join(" | ")
}

/// An intersection.
fn intersection(parts: Vec<String>) -> String {
    let mut parts: Vec<String> = parts.into_iter().filter(|part| part != "unknown").collect();
    match parts.len() {
        0 => "unknown".to_owned(),
        1 => parts.remove(0),
        _ => {
            let each = parts.iter().map(|part| {
                // `&` binds more tightly than `|`.
                if part.contains(" | ") {
                    format!("({part})")
                } else {
                    part.clone()
                }
            });
            each.collect::<Vec<_>>().join(" & ")
        }
    }
}
