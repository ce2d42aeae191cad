//! What is written about the gateway is true of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::arguments::EVERYTHING;
use crate::harness::Gateway;
use crate::nodes::fixture::Machine;

mod blocks;
mod commands;
mod http;
mod links;
mod messages;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a generated document with the one that is checked in, or writes it anew.
#[track_caller]
fn drift(name: &str, made: &str) {
    let file = top().join("docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, made).expect("the document");
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    let renew = "run UPDATE_DOCS=1 cargo test -p manyhands --test blackbox docs";
    assert!(written == made, "docs/{name} is out of date; {renew}");
}

/// Keys in alphabetical order, whatever features of `serde_json` other crates turned on.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<&String, &Value> = fields.iter().collect();
            let sorted = fields.into_iter();
            Value::Object(sorted.map(|(k, v)| (k.clone(), self::sorted(v))).collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[test]
fn the_openapi_document_is_the_one_that_is_served() {
    let served = Gateway::start().get("/api/openapi.json").json();
    drift("openapi.json", &format!("{:#}\n", sorted(&served)));
    drift("http.md", &http::reference(&served));
}

#[test]
fn the_tool_reference_matches_the_tools() {
    let gateway = Gateway::with_config(EVERYTHING);
    let _node = Machine::lend(&gateway, "laptop");
    let printed = gateway.cli(&["tools", "--markdown"]);
    drift("tools.md", &printed.stdout);
}
