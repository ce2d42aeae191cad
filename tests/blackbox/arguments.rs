//! Arguments, over every schema of the catalogue: wrong ones are refused by the name of their parameter and with all
//! that would be right, and whole numbers count as integers however they are written.

use serde_json::{Map, Value, json};

use crate::harness::Gateway;
use crate::nodes::fixture::Machine;

/// A gateway with every tool there is switched on.
pub const EVERYTHING: &str = r#"
[tools.acp_spawn]
enabled = true
[tools.powershell]
enabled = true
[acp.agents.coder]
command = "coder"
[channels.telegram.accounts.default]
api_url = "http://127.0.0.1:9"
"#;

struct Catalogue {
    gateway: Gateway,
    _machine: Machine,
    tools: Vec<Value>,
}

fn catalogue() -> Catalogue {
    let gateway = Gateway::with_config(EVERYTHING);
    let machine = Machine::lend(&gateway, "laptop");
    let listed = gateway.get("/api/tools").json();
    let tools = listed["result"]["tools"].as_array().expect("tools").clone();
    assert!(tools.len() > 60, "{} tools", tools.len());
    Catalogue {
        gateway,
        _machine: machine,
        tools,
    }
}

/// A parameter of a tool, at the top of its arguments or below.
struct Parameter<'a> {
    path: Vec<String>,
    schema: &'a Value,
}

fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|r| r.strip_prefix('#'));
    target.and_then(|at| root.pointer(at)).unwrap_or(schema)
}

/// The one shape of a schema, through references and without null; `None` where there are several.
fn only_shape<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    let schema = resolved(root, schema);
    let Some(shapes) = schema["anyOf"].as_array() else {
        return Some(schema);
    };
    let mut shapes = shapes.iter().filter(|shape| shape["type"] != "null");
    let first = shapes.next()?;
    shapes.next().is_none().then(|| resolved(root, first))
}

/// The one type of a schema beside null.
fn only_type(schema: &Value) -> Option<&str> {
    match &schema["type"] {
        Value::Array(types) => {
            let mut types = types.iter().filter(|kind| *kind != "null");
            let first = types.next()?.as_str();
            types.next().is_none().then_some(first)?
        }
        kind => kind.as_str(),
    }
}

fn parameters(root: &Value) -> Vec<Parameter<'_>> {
    let mut found = Vec::new();
    let mut waiting: Vec<(Vec<String>, &Value)> = vec![(Vec::new(), root)];
    while let Some((at, schema)) = waiting.pop() {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let mut path = at.clone();
            path.push(name.clone());
            let Some(schema) = only_shape(root, field) else {
                continue;
            };
            if path.len() < 4 {
                waiting.push((path.clone(), schema));
            }
            found.push(Parameter { path, schema });
        }
    }
    found
}

fn with(path: &[String], value: Value) -> Value {
    let nest = |inner: Value, name: &String| json!({ name: inner });
    path.iter().rev().fold(value, nest)
}

/// Every value of a choice, however the schema lists them.
fn choices(root: &Value, schema: &Value) -> Vec<Value> {
    let schema = resolved(root, schema);
    let listed = schema["enum"].as_array().into_iter().flatten();
    let listed = listed.chain(schema.get("const"));
    let mut all: Vec<Value> = listed.filter(|value| !value.is_null()).cloned().collect();
    for key in ["oneOf", "anyOf"] {
        for shape in schema[key].as_array().into_iter().flatten() {
            all.extend(choices(root, shape));
        }
    }
    all
}

fn problem<'a>(said: &'a Value, name: &str) -> Option<&'a str> {
    let problems = said["problems"].as_array()?;
    let named = problems.iter().find(|one| one["parameter"] == name);
    named?["message"].as_str()
}

#[test]
fn every_wrong_argument_is_refused_by_its_name() {
    let Catalogue { gateway, tools, .. } = &catalogue();
    let mut checked = 0;
    for tool in tools {
        let (name, root) = (tool["name"].as_str().expect("a name"), &tool["inputSchema"]);
        for Parameter { path, schema } in parameters(root) {
            let wrong = match only_type(schema) {
                Some("string") => json!(5),
                Some("integer" | "number" | "boolean" | "array" | "object") => json!("x"),
                _ => continue,
            };
            let said = gateway.call(name, with(&path, wrong));
            let named = path.join(".");
            assert_eq!(said["code"], "invalid_arguments", "{name} {named}: {said}");
            assert!(problem(&said, &named).is_some(), "{name} {named}: {said}");
            checked += 1;
        }
        let said = gateway.call(name, json!({ "zzz_unknown": 1 }));
        assert!(problem(&said, "zzz_unknown").is_some(), "{name}: {said}");
    }
    assert!(checked > 200, "{checked} parameters");
}

#[test]
fn a_wrong_choice_lists_all_choices() {
    let Catalogue { gateway, tools, .. } = &catalogue();
    let mut checked = 0;
    for tool in tools {
        let (name, root) = (tool["name"].as_str().expect("a name"), &tool["inputSchema"]);
        for Parameter { path, schema } in parameters(root) {
            let options = choices(root, schema);
            if options.is_empty() || schema["properties"].is_object() {
                continue;
            }
            let said = gateway.call(name, with(&path, json!("nothing like it")));
            let named = path.join(".");
            let message = problem(&said, &named);
            let message = message.unwrap_or_else(|| panic!("{name} {named}: {said}"));
            for option in &options {
                let listed = message.contains(&option.to_string());
                assert!(listed, "{name} {named} lacks {option}: {message}");
            }
            checked += 1;
        }
    }
    assert!(checked > 12, "{checked} choices");
}

/// Arguments that fit a schema, as far as the schema tells.
fn fitting(root: &Value) -> Map<String, Value> {
    let required = root["required"].as_array().into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let each = required.into_iter().map(|name| {
        let schema = only_shape(root, &root["properties"][name]).unwrap_or(&Value::Null);
        let value = match (choices(root, schema).first(), schema["type"].as_str()) {
            (Some(choice), _) => choice.clone(),
            (None, Some("integer" | "number")) => json!(5),
            (None, Some("boolean")) => json!(true),
            (None, Some("array")) => json!(["x"]),
            (None, Some("object")) => json!({}),
            _ => json!("x"),
        };
        (name.to_owned(), value)
    });
    each.collect()
}

/// What a call came to, without what differs from one to the next.
fn gist(said: &Value) -> (Value, Value) {
    (said["ok"].clone(), said["error"].clone())
}

#[test]
fn a_whole_number_is_an_integer_however_it_is_written() {
    let Catalogue { gateway, tools, .. } = &catalogue();
    let mut checked = 0;
    for tool in tools {
        let (name, root) = (tool["name"].as_str().expect("a name"), &tool["inputSchema"]);
        let effects = tool["effects"].as_array().expect("effects");
        let stays = |effect: &Value| ["reads", "writes"].iter().any(|one| effect == one);
        if !effects.iter().all(stays) || name.contains("spawn") || name == "plan_create" {
            continue;
        }
        for Parameter { path, schema } in parameters(root) {
            if path.len() > 1 || only_type(schema) != Some("integer") {
                continue;
            }
            let call = |number: Value| {
                let mut arguments = fitting(root);
                arguments.insert(path[0].clone(), number);
                gist(&gateway.call(name, Value::Object(arguments)))
            };
            assert_eq!(call(json!(5)), call(json!(5.0)), "{name} {}", path[0]);
            checked += 1;
        }
    }
    assert!(checked > 15, "{checked} integers");
    let lines = |lines: Value| gateway.call("gsv__LogsGet", json!({ "lines": lines }));
    assert_eq!(lines(json!(5.0))["ok"], true);
    assert!(problem(&lines(json!(5.5)), "lines").is_some());
}

#[test]
fn a_value_above_a_limit_is_lowered_and_the_result_says_so() {
    let gateway =
        Gateway::with_config("[tools.bash]\ntimeout = 7\n[tools.shell_exec]\ntimeout = 9\n");
    let lowered = |tool: &str, arguments: Value| {
        let said = gateway.call(tool, arguments);
        assert_eq!(said["ok"], true, "{said}");
        said["result"]["lowered"].clone()
    };
    let expected = |parameter: &str, requested: u64, used: u64, limit: &str| json!([{ "parameter": parameter, "requested": requested, "used": used, "limit": limit }]);
    assert_eq!(
        lowered("bash", json!({ "cmd": "true", "timeout_seconds": 100 })),
        expected("timeout_seconds", 100, 7, "tools.bash.timeout")
    );
    assert_eq!(
        lowered("bash", json!({ "cmd": "true", "timeout_seconds": 7 })),
        Value::Null
    );
    assert_eq!(
        lowered(
            "tool::shell_exec",
            json!({ "argv": ["echo"], "timeout": 10_000 })
        ),
        expected("timeout", 10_000, 9_000, "tools.shell_exec.timeout")
    );
}

/// Every `format` below a schema.
fn formats(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            found.extend(
                fields
                    .get("format")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            fields.values().for_each(|field| formats(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| formats(item, found)),
        _ => {}
    }
}

#[test]
fn schemas_use_only_formats_that_json_schema_defines() {
    let mut found = Vec::new();
    formats(&json!({ "items": [{ "format": "uint64" }] }), &mut found);
    assert_eq!(found, ["uint64"], "a planted format is found");
    for tool in &catalogue().tools {
        for part in ["inputSchema", "outputSchema"] {
            let mut found = Vec::new();
            formats(&tool[part], &mut found);
            let sizes = |format: &String| {
                ["int", "uint", "float", "double"]
                    .iter()
                    .any(|size| format.starts_with(size))
            };
            found.retain(sizes);
            assert_eq!(found, Vec::<String>::new(), "{} {part}", tool["name"]);
        }
    }
}
