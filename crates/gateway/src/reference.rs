//! The tool reference: a page of Markdown made from a listing.

use std::fmt::Write;

use manyhands_core::Effect;
use serde_json::Value;

use crate::listing::ToolListing;

/// Every tool with its parameters and result, from the doc comments beside the code.
pub fn reference(tools: &[ToolListing]) -> String {
    let mut page = String::from(
        "# Tools\n\nMade from the catalogue; `manyhands tools --markdown` writes it anew.\n\
         Every tool answers `{ok, result}` or `{ok, error, code}` on HTTP, WebSocket and the command line,\n\
         and as structured content with the same text over MCP.\n",
    );
    for spec in tools {
        describe(&mut page, spec);
    }
    page
}

fn describe(page: &mut String, spec: &ToolListing) {
    let effects: Vec<&str> = spec.effects.iter().copied().map(Effect::word).collect();
    let _ = write!(
        page,
        "\n## `{}`\n\n{}\n\nEffects: {}. Takes at most {} s.\n",
        spec.name,
        spec.description,
        effects.join(", "),
        spec.timeout_seconds
    );
    fields(page, "Parameter", &spec.input_schema);
    if let Some(output) = &spec.output_schema {
        match output["anyOf"].as_array() {
            Some(shapes) => shapes
                .iter()
                .for_each(|shape| fields(page, "Result", shape)),
            None => fields(page, "Result", output),
        }
    }
}

fn fields(page: &mut String, title: &str, schema: &Value) {
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    let about = schema["description"]
        .as_str()
        .map(|text| format!(" ({})", text.trim_end_matches('.').to_lowercase()));
    let _ = write!(
        page,
        "\n| {title}{} | Type | Required | Meaning |\n| --- | --- | --- | --- |\n",
        about.unwrap_or_default()
    );
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, field) in properties {
        let needed = if required.contains(&name.as_str()) {
            "yes"
        } else {
            "no"
        };
        let meaning = field["description"]
            .as_str()
            .unwrap_or_default()
            .replace('\n', " ")
            .replace('|', "\\|");
        let _ = writeln!(
            page,
            "| `{name}` | {} | {needed} | {meaning} |",
            kind(field)
        );
    }
}

fn kind(field: &Value) -> String {
    match &field["type"] {
        Value::String(one) if one == "array" => format!("array of {}", kind(&field["items"])),
        Value::String(one) => one.clone(),
        Value::Array(several) => {
            let named: Vec<&str> = several
                .iter()
                .filter_map(Value::as_str)
                .filter(|kind| *kind != "null")
                .collect();
            named.join(" or ")
        }
        _ => match field["enum"].as_array().or(field["oneOf"].as_array()) {
            Some(_) => "one of several".to_owned(),
            None => "any".to_owned(),
        },
    }
}
