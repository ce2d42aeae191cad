//! The tool reference: a Markdown page generated from a listing.

use std::fmt::Write;

use manyhands_core::Effect;
use serde_json::Value;

use crate::listing::ToolListing;

/// Describes every tool with its parameters and result, from the doc comments beside the code.
pub fn reference(tools: &[ToolListing]) -> String {
    let mut page = String::from(
        "# Tools\n\nGenerated from the catalogue by `manyhands tools --markdown`. Fields of objects are named by their path: `job.schedule.kind`, `rows[].key`.\n\
         Every tool answers `{ok, result}` or `{ok, error, code}` on HTTP, WebSocket and the command line,\n\
         and as structured content with the same text over MCP.\n",
    );
    for spec in tools {
        describe(&mut page, spec);
    }
    page
}

fn describe(page: &mut String, spec: &ToolListing) {
    let effects: Vec<&str> = spec.effects.iter().copied().map(Effect::as_str).collect();
    // Tool names of a node start with its id, which varies.
    let name = match spec.runs_on.strip_prefix("node ") {
        Some(node) => spec.name.replacen(node, "{nodeId}", 1),
        None => spec.name.clone(),
    };
    let _ = write!(
        page,
        "\n## `{name}`\n\n{}\n\nEffects: {}. Takes at most {} s.\n",
        spec.description,
        effects.join(", "),
        spec.timeout_seconds
    );
    table(page, "Parameter", &spec.input_schema, &spec.input_schema);
    if let Some(output) = &spec.output_schema {
        match output["anyOf"].as_array() {
            Some(shapes) => shapes
                .iter()
                .for_each(|shape| table(page, "Result", output, shape)),
            None => table(page, "Result", output, output),
        }
    }
}

fn table(page: &mut String, title: &str, root: &Value, schema: &Value) {
    let mut fields = Fields {
        root,
        rows: String::new(),
    };
    fields.object("", resolved(root, schema), "", 0);
    if fields.rows.is_empty() {
        return;
    }
    let about = schema["description"]
        .as_str()
        .map(|text| format!(" ({})", text.trim_end_matches('.').to_lowercase()));
    let _ = write!(
        page,
        "\n| {title}{} | Type | Required | Meaning |\n| --- | --- | --- | --- |\n{}",
        about.unwrap_or_default(),
        fields.rows
    );
}

/// Depth to which parameters are shown; recursive schemas have no end.
const MAX_DEPTH: usize = 5;

/// The fields of an object, each followed by those of nested objects: `job.schedule.kind`,
/// `rows[].key`.
struct Fields<'a> {
    root: &'a Value,
    rows: String,
}

impl Fields<'_> {
    fn object(&mut self, prefix: &str, schema: &Value, when: &str, depth: usize) {
        let Some(properties) = schema["properties"].as_object() else {
            return;
        };
        let required = schema["required"].as_array();
        let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|r| r == name));
        for (name, field) in properties {
            let needed = if is_required(name) { "yes" } else { "no" };
            let field = resolved(self.root, field);
            let meaning = field["description"].as_str().unwrap_or_default();
            let meaning = format!("{when}{meaning}");
            let meaning = meaning.trim().replace('\n', " ").replace('|', "\\|");
            let path = format!("{prefix}{name}");
            let kind = kind(self.root, field).replace('|', "\\|");
            let _ = writeln!(self.rows, "| `{path}` | {kind} | {needed} | {meaning} |");
            self.within(&path, field, depth + 1);
        }
    }

    fn within(&mut self, path: &str, field: &Value, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        self.object(&format!("{path}."), field, "", depth);
        if let Some(items) = field.get("items") {
            self.within(&format!("{path}[]"), resolved(self.root, items), depth);
        }
        for shape in alternatives(field) {
            let shape = resolved(self.root, shape);
            let when = constant(shape).map(|(key, value)| format!("With {key} {value}: "));
            let when = when.unwrap_or_default();
            self.object(&format!("{path}."), shape, &when, depth);
            if let Some(items) = shape.get("items") {
                self.within(&format!("{path}[]"), resolved(self.root, items), depth);
            }
        }
    }
}

/// Resolves a `$ref`. Keywords beside the reference are ignored.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|r| r.strip_prefix('#'));
    target.and_then(|at| root.pointer(at)).unwrap_or(schema)
}

/// The alternatives of a schema without null, which stands for an omitted value.
fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    let all = ["anyOf", "oneOf"]
        .into_iter()
        .filter_map(|key| schema[key].as_array());
    all.flatten().filter(|shape| shape["type"] != "null")
}

/// The field that tells a variant from others, and its value.
fn constant(shape: &Value) -> Option<(&String, &Value)> {
    let fields = shape["properties"].as_object()?;
    fields
        .iter()
        .find_map(|(name, field)| Some((name, field.get("const")?)))
}

/// The values a field may have, however the schema lists them.
fn options(root: &Value, field: &Value) -> Vec<String> {
    let field = resolved(root, field);
    let listed = field["enum"].as_array().into_iter().flatten();
    let listed = listed
        .chain(field.get("const"))
        .filter(|value| !value.is_null());
    let mut all: Vec<String> = listed.map(Value::to_string).collect();
    for shape in alternatives(field) {
        all.extend(options(root, shape));
    }
    all
}

fn kind(root: &Value, field: &Value) -> String {
    let field = resolved(root, field);
    let options = options(root, field);
    if !options.is_empty() {
        return options.join(", ");
    }
    let named = |kind: &str| match kind {
        "array" => match field.get("items") {
            Some(items) => format!("array of {}", self::kind(root, items)),
            None => kind.to_owned(),
        },
        "object" => match field
            .get("additionalProperties")
            .filter(|inner| inner.is_object())
        {
            Some(inner) => format!("object of {}", self::kind(root, inner)),
            None => kind.to_owned(),
        },
        kind => kind.to_owned(),
    };
    let mut kinds: Vec<String> = match &field["type"] {
        Value::String(one) => vec![named(one)],
        Value::Array(several) => {
            let several = several.iter().filter_map(Value::as_str);
            several.filter(|kind| *kind != "null").map(named).collect()
        }
        _ => alternatives(field)
            .map(|shape| self::kind(root, shape))
            .collect(),
    };
    kinds.dedup();
    match kinds.is_empty() {
        true => "any".to_owned(),
        false => kinds.join(" or "),
    }
}
