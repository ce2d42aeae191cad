//! The HTTP reference, made from the OpenAPI document.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

const HEAD: &str = "\
# HTTP API

<!-- Generated from the OpenAPI document; run `UPDATE_DOCS=1 cargo nextest run -p manyhands --test blackbox docs` after a change. -->

`GET /api/openapi.json` describes every request and response in full, limited to what the token may call. This page lists the
requests.

- Send the token as `Authorization: Bearer TOKEN`. The column *access* says who may send the request: everybody (*open*), every valid token
  (*token*), or the *owner*.
- Responses under `/api` are `{\"ok\": true, \"result\": ...}` or `{\"ok\": false, \"code\": ..., \"error\": ...}`. The code is stable, the texts are not.
- Bodies are JSON objects; send them as `Content-Type: application/json`.
";

/// One page that lists every operation, by the part of the program it belongs to.
pub fn reference(document: &Value) -> String {
    let mut areas: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        // Each tool is an operation of its own; the tool reference describes them.
        if path.starts_with("/api/tools/") && !path.contains('{') {
            continue;
        }
        for (method, operation) in operations.as_object().expect("operations") {
            let row = row(&method.to_uppercase(), path, operation);
            areas.entry(area(path)).or_default().push(row);
        }
    }
    let mut page = HEAD.to_owned();
    for (area, rows) in areas {
        write!(
            page,
            "\n## {area}\n\n| request | purpose | parameters | access |\n| --- | --- | --- | --- |\n{}",
            rows.concat()
        )
        .expect("a string takes it");
    }
    page
}

fn area(path: &str) -> String {
    let mut parts = path.split('/').skip(1);
    match (parts.next().unwrap_or_default(), parts.next()) {
        ("api", Some(name)) => format!("/api/{name}"),
        (".well-known", _) => "/.well-known".to_owned(),
        ("v1", _) => "/v1".to_owned(),
        (first, Some(_)) => format!("/{first}"),
        (_, None) => "Health and metrics".to_owned(),
    }
}

fn row(method: &str, path: &str, operation: &Value) -> String {
    let summary = operation["summary"].as_str().unwrap_or_default();
    let about = operation["description"].as_str().unwrap_or_default();
    let access = match about.starts_with("Needs the owner's token") {
        true => "owner",
        false if operation["security"] == serde_json::json!([]) => "open",
        false => "token",
    };
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let parameters = parameters
        .filter(|one| one["in"] == "query" || one["in"] == "header")
        .map(|one| {
            let mark = if one["required"] == true {
                " (required)"
            } else {
                ""
            };
            format!("`{}`{mark}", one["name"].as_str().expect("a name"))
        });
    let mut parameters: Vec<String> = parameters.collect();
    if operation["requestBody"].is_object() {
        parameters.push("body".to_owned());
    }
    format!(
        "| `{method} {path}` | {summary} | {} | {access} |\n",
        parameters.join(", ")
    )
}
