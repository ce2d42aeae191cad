//! The tools of the gateway's own machine as their two spec texts write them: each parameter, each
//! output field, each default, limit, alias, switch and refusal.

mod bash;
mod files;
mod listing;
mod patch;
mod shell;
mod unified;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, tree, up};
use crate::http::Request;
use crate::mcp::{self, Era};

const FILE_READ: &str = "tool::file_read";
const FILE_WRITE: &str = "tool::file_write";
const FILE_LIST: &str = "tool::file_list";
const APPLY_PATCH: &str = "tool::apply_patch";
const SHELL_EXEC: &str = "tool::shell_exec";
const READ_FILE: &str = "read_file";
const WRITE_FILE: &str = "write_file";
const BASH: &str = "bash";
const POWERSHELL: &str = "powershell";

/// Every tool of this contract with the setting that switches it and a call that works on a
/// fresh gateway with a file `a.txt` in its workspace and cache.
fn working_calls() -> Vec<(&'static str, &'static str, Value)> {
    let patch = "@@ -1 +1 @@\n-text\n+text two\n";
    vec![
        (FILE_READ, "file_read", json!({ "path": "a.txt" })),
        (
            FILE_WRITE,
            "file_write",
            json!({ "path": "w.txt", "content": "x" }),
        ),
        (FILE_LIST, "file_list", json!({ "path": "." })),
        (
            APPLY_PATCH,
            "apply_patch",
            json!({ "path": "a.txt", "patch": patch }),
        ),
        (SHELL_EXEC, "shell_exec", json!({ "argv": ["echo", "hi"] })),
        (READ_FILE, "read_file", json!({ "path": "a.txt" })),
        (
            WRITE_FILE,
            "write_file",
            json!({ "path": "w.txt", "content": "x" }),
        ),
        (BASH, "bash", json!({ "cmd": "echo hi" })),
    ]
}

/// A gateway whose results are checked against the schemas it publishes, and whose three folders
/// of this machine, and what lies beside them, are seen from outside.
struct Contract {
    gateway: Gateway,
    tools: Vec<Value>,
}

impl Contract {
    fn new() -> Self {
        Self::of(Gateway::start())
    }

    fn with_config(text: &str) -> Self {
        Self::of(Gateway::with_config(text))
    }

    /// A gateway whose own environment holds these too.
    fn with_environment(config: &str, variables: &[(&str, &str)]) -> Self {
        let home = Home::new().with_config(config);
        let mut command = up(&home);
        command.envs(variables.iter().copied());
        Self::of(Gateway::from(home, command))
    }

    fn of(gateway: Gateway) -> Self {
        let listed = gateway.get("/api/tools").json();
        let tools = listed["result"]["tools"].as_array().expect("tools").clone();
        std::fs::write(gateway.home.outside("canary"), "canary").expect("a canary");
        Self { gateway, tools }
    }

    fn schema(&self, tool: &str, which: &str) -> &Value {
        let found = self.tools.iter().find(|listed| listed["name"] == tool);
        &found.unwrap_or_else(|| panic!("{tool} is not listed"))[which]
    }

    /// A call that must give a result: it fits the output schema and has exactly these keys.
    #[track_caller]
    fn gives(&self, tool: &str, arguments: Value, keys: &[&str]) -> Value {
        let said = self.gateway.call(tool, arguments.clone());
        assert_eq!(said["ok"], true, "{tool} {arguments}: {said}");
        let result = &said["result"];
        let validator = jsonschema::validator_for(self.schema(tool, "outputSchema"));
        let validator = validator.expect("a valid output schema");
        let problems: Vec<_> = validator
            .iter_errors(result)
            .map(|e| e.to_string())
            .collect();
        assert!(problems.is_empty(), "{tool}: {problems:?} in {result}");
        assert_eq!(
            keys_of(result),
            keys.iter().copied().collect(),
            "{tool} {arguments}"
        );
        result.clone()
    }

    /// A call that must be refused: its code, words of its message, and nothing changed.
    #[track_caller]
    fn refuses(&self, tool: &str, arguments: Value, code: &str, words: &[&str]) -> Value {
        let before = self.everything();
        let said = self.gateway.call(tool, arguments.clone());
        let seen = (&said["ok"], said["code"].as_str());
        assert_eq!(
            seen,
            (&json!(false), Some(code)),
            "{tool} {arguments}: {said}"
        );
        let error = said["error"].as_str().expect("an error");
        for word in words {
            assert!(
                error.contains(word),
                "{word:?} in {error:?} for {arguments}"
            );
        }
        assert_eq!(
            self.everything(),
            before,
            "{tool} {arguments} changed something"
        );
        said
    }

    /// All files of the three folders and beside the home.
    fn everything(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = tree(&self.gateway.home.outside(""));
        let of_the_daemon = |name: &str| {
            name.starts_with("home/")
                && !["workspace/", "cache/", "state/"]
                    .iter()
                    .any(|folder| name.starts_with(&format!("home/host/{folder}")))
        };
        all.retain(|(name, _)| !of_the_daemon(name));
        all
    }

    /// Where `workspace/…`, `cache/…` or `state/…` lies, as results show it.
    fn at(&self, path: &str) -> PathBuf {
        let home = self.gateway.home.path().canonicalize().expect("the home");
        let place = home.join("host").join(path);
        place.components().collect()
    }

    fn shown(&self, path: &str) -> String {
        self.at(path).display().to_string()
    }

    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let place = self.at(path);
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("folders");
        std::fs::write(place, bytes).expect("a file");
    }

    /// The text of a file; `None` when it is not there.
    fn raw(&self, path: &str) -> Option<String> {
        let bytes = std::fs::read(self.at(path)).ok()?;
        Some(String::from_utf8(bytes).expect("text"))
    }

    fn link(&self, target: impl AsRef<std::path::Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.at(path)).expect("a link");
    }

    /// Sets a value as the owner does from afar.
    #[track_caller]
    fn set(&self, path: &str, value: Value) {
        let body = json!({ "path": path, "value": value });
        let request = Request::new("PUT", "/api/config")
            .json(&body)
            .bearer(&self.gateway.owner);
        let said = self.gateway.send(&request);
        assert_eq!(said.status, 200, "{path}: {}", said.text());
    }
}

/// What a call gives that prints `begun` and runs out of its time, made again where that was too
/// short for this machine to begin.
fn begun(call: impl Fn() -> Value) -> Value {
    let said = |given: &Value| given.to_string().contains("begun");
    let mut given = call();
    for _ in 0..20 {
        if said(&given) {
            break;
        }
        given = call();
    }
    given
}

/// Waits until a call is quick enough for the time that it has.
#[track_caller]
fn in_time(c: &Contract, tool: &str, arguments: &Value, keys: &[&str]) {
    let wanted: BTreeSet<&str> = keys.iter().copied().collect();
    crate::harness::eventually("it ends in its time", || {
        let said = c.gateway.call(tool, arguments.clone());
        assert_eq!(said["ok"], true, "{said}");
        keys_of(&said["result"]) == wanted
    });
}

fn keys_of(value: &Value) -> BTreeSet<&str> {
    let fields = value
        .as_object()
        .unwrap_or_else(|| panic!("no object: {value}"));
    fields.keys().map(String::as_str).collect()
}

/// A tool, its parameters, those it requires, its effects and its family.
type Row<'a> = (&'a str, &'a [&'a str], &'a [&'a str], Value, &'a str);

#[test]
fn the_schemas_match_the_spec_text() {
    let c = Contract::with_config("tools.powershell.enabled = true\n");
    let command: [&[&str]; 2] = [&["cmd", "cwd", "timeout_seconds"], &["cmd"]];
    let table: [Row<'_>; 9] = [
        (
            FILE_READ,
            &["maxBytes", "path"],
            &["path"],
            json!(["reads"]),
            "tool",
        ),
        (
            FILE_WRITE,
            &["content", "path"],
            &["content", "path"],
            json!(["writes"]),
            "tool",
        ),
        (
            FILE_LIST,
            &["path", "recursive"],
            &["path"],
            json!(["reads"]),
            "tool",
        ),
        (
            APPLY_PATCH,
            &["patch", "path"],
            &["patch", "path"],
            json!(["reads", "writes"]),
            "tool",
        ),
        (
            SHELL_EXEC,
            &["argv", "cwd", "timeout"],
            &["argv"],
            json!(["reads", "writes", "runs"]),
            "tool",
        ),
        (READ_FILE, &["path"], &["path"], json!(["reads"]), "unified"),
        (
            WRITE_FILE,
            &["content", "mode", "path"],
            &["content", "path"],
            json!(["writes"]),
            "unified",
        ),
        (
            BASH,
            &["cmd", "cwd", "run_in_subtask", "timeout_seconds"],
            &["cmd"],
            json!(["reads", "writes", "runs"]),
            "unified",
        ),
        (
            POWERSHELL,
            command[0],
            command[1],
            json!(["reads", "writes", "runs"]),
            "unified",
        ),
    ];
    for (tool, parameters, required, effects, family) in table {
        let schema = c.schema(tool, "inputSchema");
        assert_eq!(
            keys_of(&schema["properties"]),
            parameters.iter().copied().collect(),
            "{tool}"
        );
        let needed = schema["required"].as_array().into_iter().flatten();
        let needed: BTreeSet<&str> = needed.filter_map(Value::as_str).collect();
        assert_eq!(needed, required.iter().copied().collect(), "{tool}");
        assert_eq!(schema["additionalProperties"], false, "{tool}");
        for (name, parameter) in schema["properties"].as_object().expect("parameters") {
            let text = parameter["description"].as_str();
            assert!(
                text.is_some_and(|text| text.len() > 10),
                "{tool} {name} is described"
            );
        }
        jsonschema::meta::validate(schema).expect("a valid schema");
        jsonschema::meta::validate(c.schema(tool, "outputSchema")).expect("a valid schema");
        assert_eq!(*c.schema(tool, "effects"), effects, "{tool}");
        let place = ["family", "runsOn", "wireName"].map(|field| c.schema(tool, field).clone());
        assert_eq!(
            place,
            [
                json!(family),
                json!("host"),
                json!(tool.replace("::", "__"))
            ]
        );
    }
}

#[test]
fn defaults_are_the_rulings() {
    let c = Contract::new();
    let table = [
        ("tools.read_file.max_bytes", json!(262_144)),
        ("tools.read_file.deny_paths", json!(["config.yaml"])),
        ("tools.write_file.max_bytes", json!(524_288)),
        ("tools.bash.enabled", json!(true)),
        ("tools.bash.timeout", json!(30)),
        ("tools.bash.max_output_bytes", json!(262_144)),
        ("tools.bash.deny_paths", json!(["config.yaml"])),
        ("tools.bash.injected_env_vars", json!([])),
        (
            "tools.bash.rewrite",
            json!({ "enabled": false, "binary": "" }),
        ),
        ("tools.powershell.enabled", json!(false)),
        ("tools.powershell.timeout", json!(30)),
        ("tools.powershell.max_output_bytes", json!(262_144)),
        ("tools.shell_exec.timeout", json!(120)),
        ("limits.artifact_bytes", json!(67_108_864)),
    ];
    for (path, value) in table {
        let said = c.gateway.call("gsv__ConfigGet", json!({ "path": path }));
        assert_eq!(said["result"]["value"], value, "{path}");
    }
    let allowed = c.gateway.call(
        "gsv__ConfigGet",
        json!({ "path": "tools.shell_exec.allow" }),
    );
    let spec = "git node npm npx bun deno python3 python pip ls cat grep find echo mkdir touch cp mv head tail wc \
        sort uniq diff curl wget tar zip unzip jq sed awk which env date cargo rustc go make cmake";
    let spec: Vec<&str> = spec.split_whitespace().collect();
    assert_eq!(
        allowed["result"]["value"],
        json!(spec),
        "the text's own list"
    );
}

#[test]
fn parameters_of_the_wrong_kind_and_unknown_ones_are_refused() {
    let c = Contract::with_config("tools.powershell.enabled = true\n");
    c.put("workspace/a.txt", "text\n");
    c.put("cache/a.txt", "text\n");
    let mut calls = working_calls();
    calls.push((POWERSHELL, "powershell", json!({ "cmd": "echo hi" })));
    for (tool, _, good) in &calls {
        let properties = c.schema(tool, "inputSchema")["properties"].clone();
        for (name, schema) in properties.as_object().expect("parameters") {
            let kinds = schema["type"].to_string();
            let wrong = [
                ("string", json!("text")),
                ("boolean", json!(true)),
                ("array", json!([["nested"]])),
                ("object", json!({ "a": 1 })),
                ("integer", json!(-7)),
                ("number", json!("7")),
            ];
            for (kind, value) in &wrong {
                let text_for_text = kinds.contains("string") && value.is_string();
                if text_for_text || (kinds.contains(kind) && value.is_boolean()) || name == "mode" {
                    continue;
                }
                // A command's own seconds are checked by hand, and a list by its members.
                let mut arguments = good.clone();
                arguments[name] = value.clone();
                let said = c.refuses(tool, arguments, "invalid_arguments", &[name]);
                let parameter = said["problems"][0]["parameter"]
                    .as_str()
                    .unwrap_or_default();
                assert!(
                    parameter.starts_with(name.as_str()),
                    "{tool} {name} {value}: {said}"
                );
            }
        }
        let required = c.schema(tool, "inputSchema")["required"].clone();
        for name in required
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            let mut arguments = good.clone();
            arguments.as_object_mut().expect("an object").remove(name);
            c.refuses(
                tool,
                arguments,
                "invalid_arguments",
                &[&format!("{name}: is required")],
            );
        }
        let mut arguments = good.clone();
        arguments["unheardOf"] = json!(1);
        c.refuses(
            tool,
            arguments,
            "invalid_arguments",
            &["unheardOf", "is not a parameter"],
        );
    }
    for mode in [json!("replace"), json!("Append"), json!(""), json!(1)] {
        let arguments = json!({ "path": "a.txt", "content": "x", "mode": mode });
        c.refuses(WRITE_FILE, arguments, "invalid_arguments", &["mode"]);
    }
    for (tool, _, good) in calls.into_iter().filter(|(tool, ..)| *tool != POWERSHELL) {
        let said = c.gateway.call(tool, good);
        assert_eq!(said["ok"], true, "the control: {tool} {said}");
    }
}

#[test]
fn a_disabled_tool_disappears_from_every_list_and_returns() {
    let c = Contract::new();
    c.put("workspace/a.txt", "text\n");
    c.put("cache/a.txt", "text\n");
    let listed = |tool: &str| {
        let http = c.gateway.get("/api/tools").json();
        let http = http["result"]["tools"].as_array().expect("tools").clone();
        let wire = tool.replace("::", "__");
        let mut found = vec![http.iter().any(|one| one["name"] == tool)];
        for era in [Era::Initialize, Era::Stateless] {
            let tools = mcp::list(&c.gateway, era, &c.gateway.owner);
            found.push(tools.iter().any(|one| one["name"] == wire.as_str()));
        }
        found
    };
    for (tool, setting, arguments) in working_calls() {
        assert_eq!(listed(tool), [true; 3], "{tool} is there before");
        c.set(&format!("tools.{setting}.enabled"), json!(false));
        assert_eq!(listed(tool), [false; 3], "{tool} is gone");
        c.refuses(tool, arguments.clone(), "unavailable", &[tool]);
        c.refuses(
            &tool.replace("::", "__"),
            arguments.clone(),
            "unavailable",
            &[],
        );
        c.set(&format!("tools.{setting}.enabled"), json!(true));
        assert_eq!(listed(tool), [true; 3], "{tool} is back");
        let said = c.gateway.call(tool, arguments);
        assert_eq!(said["ok"], true, "{tool} works again: {said}");
    }
}

#[test]
fn a_tool_answers_to_its_name_and_to_its_alias() {
    let c = Contract::new();
    c.put("workspace/a.txt", "text\n");
    for (tool, _, arguments) in working_calls()
        .into_iter()
        .filter(|call| call.0.contains("::"))
    {
        c.put("workspace/a.txt", "text\n");
        let by_name = c.gateway.call(tool, arguments.clone());
        c.put("workspace/a.txt", "text\n");
        let by_alias = c.gateway.call(&tool.replace("::", "__"), arguments);
        let timeless = |mut said: Value| {
            for entry in said["result"]["entries"]
                .as_array_mut()
                .into_iter()
                .flatten()
            {
                entry["modified"] = json!("*");
            }
            said
        };
        assert_eq!(by_name["ok"], true, "{by_name}");
        assert_eq!(timeless(by_name), timeless(by_alias), "{tool}");
    }
}
