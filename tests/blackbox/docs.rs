//! What is written about the gateway is true of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::arguments::EVERYTHING;
use crate::harness::{BINARY, Gateway, run};
use crate::nodes::fixture::Machine;

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
}

#[test]
fn the_tool_reference_matches_the_tools() {
    let gateway = Gateway::with_config(EVERYTHING);
    let _node = Machine::lend(&gateway, "laptop");
    let printed = gateway.cli(&["tools", "--markdown"]);
    drift("tools.md", &printed.stdout);
}

/// The fenced blocks of a page that are marked `sh`.
fn commands(page: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<Vec<&str>> = None;
    for line in page.lines() {
        match (&mut open, line.trim()) {
            (None, "```sh") => open = Some(Vec::new()),
            (Some(lines), "```") => {
                blocks.push(lines.join("\n"));
                open = None;
            }
            (Some(lines), _) => lines.push(line),
            (None, _) => {}
        }
    }
    blocks
}

#[test]
fn every_command_of_the_readme_works() {
    let page = std::fs::read_to_string(top().join("README.md")).expect("the README");
    let blocks = commands(&page);
    assert!(blocks.len() >= 4, "the commands were found: {blocks:?}");
    let gateway = Gateway::start();
    let bin = gateway.home.outside("bin");
    std::fs::create_dir(&bin).expect("a folder");
    std::os::unix::fs::symlink(BINARY, bin.join("manyhands")).expect("the binary on the path");
    let path = format!(
        "{}:{}",
        bin.display(),
        std::env::var("PATH").expect("a path")
    );
    for block in blocks {
        let script = block.replace("http://127.0.0.1:7717", &gateway.url);
        let mut shell = gateway.home.wrap(std::process::Command::new("sh"));
        shell.args(["-euc", &script]).env("PATH", &path);
        let ran = run(shell, "");
        assert_eq!(ran.code, Some(0), "{block}\n{ran:?}");
        assert!(!ran.stdout.contains("\"ok\":false"), "{block}\n{ran:?}");
    }
}

#[test]
fn every_local_link_of_the_readme_resolves() {
    let page = std::fs::read_to_string(top().join("README.md")).expect("the README");
    let targets: Vec<&str> = page
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    assert!(targets.len() > 3, "{targets:?}");
    for target in targets.into_iter().filter(|target| !target.contains("://")) {
        let file = target.split('#').next().expect("a file");
        assert!(top().join(file).exists(), "{target}");
    }
}
