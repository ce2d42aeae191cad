//! The contract of the tools, held against a real node over loopback: the same table that the
//! node's own tests hold against the tools in process.

use std::path::Path;

use manyhands_node::testing;
use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::nodes::fixture::{Machine, Plan, tools};

/// The result of a call; what the gateway shortened is taken from where it keeps the whole.
fn call(gateway: &Gateway, node: &str, tool: &str, arguments: Value) -> Result<Value, String> {
    let said = gateway.call(&format!("{node}__{tool}"), arguments);
    if said["ok"] != true {
        return Err(said["error"].as_str().unwrap_or_default().to_owned());
    }
    let mut result = said["result"].clone();
    let Some(id) = result["artifactId"].as_str() else {
        return Ok(result);
    };
    let whole = gateway.get(&format!("/api/artifacts/{id}")).text();
    if result["content"].is_string() {
        result["lines"] = json!(whole.lines().count());
        result["content"] = json!(whole);
    } else if result["output"].is_null() {
        return Ok(serde_json::from_str(&whole).expect("the whole result"));
    }
    for name in ["artifactId", "fullSize"] {
        result.as_object_mut().map(|all| all.remove(name));
    }
    Ok(result)
}

fn check(gateway: &Gateway, machine: &Machine) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time() // cases poll with a delay
        .build();
    let through =
        async |tool: &str, arguments: Value| call(gateway, &machine.name, tool, arguments);
    let workspace: &Path = &machine.folder;
    runtime
        .expect("a runtime")
        .block_on(testing::check(through, workspace));
}

#[test]
fn the_tools_keep_their_contract_through_a_real_node() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    check(&gateway, &laptop);
}

#[test]
fn the_tools_keep_their_contract_through_a_node_in_a_sandbox() {
    let gateway = Gateway::start();
    let laptop = Plan::new(&gateway, "laptop")
        .with(&["--sandbox", "workspace"])
        .lend(&gateway);
    check(&gateway, &laptop);
}

/// What a tool of a node says of itself in the listing.
fn listed(gateway: &Gateway, name: &str) -> Value {
    let said = gateway.get("/api/tools").json();
    let tools = said["result"]["tools"].as_array().expect("tools").clone();
    let found = tools.into_iter().find(|tool| tool["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not among {:?}", self::tools(gateway)))
}

#[test]
fn every_parameter_of_the_text_is_listed_with_its_kind_and_need() {
    let gateway = Gateway::start();
    let _laptop = Machine::lend(&gateway, "laptop");
    for (tool, parameters, required) in [
        (
            "Bash",
            &[
                ("command", "string"),
                ("workdir", "string"),
                ("timeout", "number"),
                ("background", "boolean"),
                ("yieldMs", "number"),
            ][..],
            &["command"][..],
        ),
        (
            "Process",
            &[
                ("action", "string"),
                ("sessionId", "string"),
                ("data", "string"),
                ("offset", "number"),
                ("limit", "number"),
            ],
            &["action"],
        ),
        (
            "Read",
            &[
                ("path", "string"),
                ("offset", "number"),
                ("limit", "number"),
            ],
            &["path"],
        ),
        (
            "Write",
            &[("path", "string"), ("content", "string")],
            &["path", "content"],
        ),
        (
            "Edit",
            &[
                ("path", "string"),
                ("oldString", "string"),
                ("newString", "string"),
                ("replaceAll", "boolean"),
            ],
            &["path", "oldString", "newString"],
        ),
        (
            "Glob",
            &[("pattern", "string"), ("path", "string")],
            &["pattern"],
        ),
        (
            "Grep",
            &[
                ("pattern", "string"),
                ("path", "string"),
                ("include", "string"),
            ],
            &["pattern"],
        ),
    ] {
        let listing = listed(&gateway, &format!("laptop__{tool}"));
        let schema = &listing["inputSchema"];
        for (parameter, kind) in parameters {
            let told = schema["properties"][parameter]["type"].to_string();
            let fits = told.contains(kind) || (*kind == "number" && told.contains("integer"));
            assert!(fits, "{tool} {parameter}: {schema}");
            assert!(
                schema["properties"][parameter]["description"].is_string(),
                "{tool} {parameter}"
            );
        }
        let mut needed: Vec<_> = schema["required"]
            .as_array()
            .expect("what is required")
            .clone();
        needed.sort_by_key(Value::to_string);
        let mut wanted: Vec<_> = required.iter().map(|name| json!(name)).collect();
        wanted.sort_by_key(Value::to_string);
        assert_eq!(needed, wanted, "{tool}");
        assert!(
            !listing["description"]
                .as_str()
                .unwrap_or_default()
                .is_empty(),
            "{tool}"
        );
    }
}

#[test]
fn newest_files_come_first_and_files_that_are_no_text_are_passed_over() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    // Their times are set, since two files may be written within one tick of the clock.
    for (name, age) in [("old.md", 300), ("new.md", 10), ("older.md", 3_000)] {
        laptop.put(name, b"needle in here\n");
        let file = std::fs::File::options()
            .write(true)
            .open(laptop.file(name))
            .expect("a file");
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        file.set_modified(then).expect("a time");
    }
    laptop.put("blob.md", b"needle \xff\xfe\0 in here\n");
    let found = call(&gateway, "laptop", "Glob", json!({ "pattern": "*old*.md" })).expect("files");
    let matches = found["matches"].as_array().expect("matches");
    let names: Vec<_> = matches
        .iter()
        .map(|path| path.as_str().and_then(|path| path.rsplit('/').next()))
        .collect();
    assert_eq!(names, [Some("old.md"), Some("older.md")], "{found}");
    assert_eq!(
        (&found["pattern"], &found["count"]),
        (&json!("*old*.md"), &json!(2)),
        "{found}"
    );
    let found = call(&gateway, "laptop", "Grep", json!({ "pattern": "need+le" })).expect("lines");
    assert_eq!(found["count"], 3, "{found}");
    assert!(!found.to_string().contains("blob.md"), "{found}");
}
