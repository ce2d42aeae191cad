//! The tools as their spec text writes them: each parameter, each output field, each error.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Gateway, tree};

const READ: &str = "gsv__ReadFile";
const WRITE: &str = "gsv__WriteFile";
const EDIT: &str = "gsv__EditFile";
const DELETE: &str = "gsv__DeleteFile";
const CONFIG: &str = "gsv__ConfigGet";

/// A gateway whose results are checked against the schemas it publishes.
struct Contract {
    gateway: Gateway,
    tools: Vec<Value>,
}

impl Contract {
    fn new() -> Self {
        Self::of(Gateway::start())
    }

    fn of(gateway: Gateway) -> Self {
        let listed = gateway.get("/api/tools").json();
        let tools = listed["result"]["tools"].as_array().expect("tools").clone();
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
        let schema = self.schema(tool, "outputSchema");
        let problems: Vec<String> = jsonschema::validator_for(schema)
            .expect("a valid output schema")
            .iter_errors(result)
            .map(|e| e.to_string())
            .collect();
        assert!(problems.is_empty(), "{tool}: {problems:?} in {result}");
        let found: BTreeSet<&str> = result
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(found, keys.iter().copied().collect(), "{tool} {arguments}");
        result.clone()
    }

    /// A call that must be refused: its code, words of its message, and nothing changed.
    #[track_caller]
    fn refuses(&self, tool: &str, arguments: Value, code: &str, words: &[&str]) -> Value {
        let before = self.files();
        let said = self.gateway.call(tool, arguments.clone());
        assert_eq!(
            (&said["ok"], said["code"].as_str()),
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
        assert_eq!(self.files(), before, "{tool} {arguments} changed something");
        said
    }

    fn files(&self) -> Vec<(String, Vec<u8>)> {
        tree(&self.gateway.home.blob(""))
    }

    /// Plants a file beside the gateway, as an owner who installs a global skill does.
    fn plant(&self, key: &str, bytes: &[u8]) {
        let place = self.gateway.home.blob(key);
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("folders");
        std::fs::write(place, bytes).expect("a file");
    }

    fn raw(&self, key: &str) -> Option<String> {
        let bytes = std::fs::read(self.gateway.home.blob(key)).ok()?;
        Some(String::from_utf8(bytes).expect("text"))
    }
}

const FILE: [&str; 4] = ["path", "content", "size", "lastModified"];
const SKILL: [&str; 6] = [
    "path",
    "content",
    "size",
    "lastModified",
    "resolvedPath",
    "resolvedSource",
];
const DIRECTORY: [&str; 3] = ["path", "files", "directories"];
/// `contentType` is our addition.
const WRITTEN: [&str; 4] = ["path", "size", "written", "contentType"];
const EDITED: [&str; 3] = ["path", "replacements", "edited"];
const EDITED_SKILL: [&str; 5] = [
    "path",
    "replacements",
    "edited",
    "resolvedSource",
    "resolvedPath",
];
const DELETED: [&str; 2] = ["path", "deleted"];

#[test]
fn a_file_is_written_read_edited_and_deleted() {
    let c = Contract::new();
    let at = json!({ "path": "memory/a.md" });
    let written = c.gives(
        WRITE,
        json!({ "path": "memory/a.md", "content": "hi" }),
        &WRITTEN,
    );
    assert_eq!(
        written,
        json!({ "path": "memory/a.md", "size": 2, "written": true, "contentType": "text/markdown" })
    );
    assert_eq!(
        c.raw("agents/main/memory/a.md").as_deref(),
        Some("hi"),
        "the key is agents/{{agentId}}/…"
    );
    let read = c.gives(READ, at.clone(), &FILE);
    assert_eq!(
        (
            read["path"].as_str(),
            read["content"].as_str(),
            &read["size"]
        ),
        (Some("memory/a.md"), Some("hi"), &json!(2))
    );
    let modified = read["lastModified"].as_str().expect("a time");
    assert!(
        modified.ends_with('Z') && modified.contains('T'),
        "RFC 3339: {modified}"
    );
    let edited = c.gives(
        EDIT,
        json!({ "path": "memory/a.md", "oldString": "hi", "newString": "ho" }),
        &EDITED,
    );
    assert_eq!(
        edited,
        json!({ "path": "memory/a.md", "replacements": 1, "edited": true })
    );
    assert_eq!(c.gateway.read("memory/a.md").as_deref(), Some("ho"));
    let deleted = c.gives(DELETE, at.clone(), &DELETED);
    assert_eq!(deleted, json!({ "path": "memory/a.md", "deleted": true }));
    c.refuses(
        READ,
        at.clone(),
        "not_found",
        &["file not found: memory/a.md"],
    );
    c.refuses(DELETE, at, "not_found", &["file not found: memory/a.md"]);
}

#[test]
fn directories_are_listed_by_prefix_from_the_root() {
    let c = Contract::new();
    let empty = c.gives(READ, json!({}), &DIRECTORY);
    assert_eq!(
        empty,
        json!({ "path": "/", "files": [], "directories": [] }),
        "an empty workspace"
    );
    for path in [
        "SOUL.md",
        "memory/a.md",
        "memory/2026/b.md",
        "memory2/c.md",
        "z.txt",
    ] {
        c.gateway.write(path, "x");
    }
    let root = json!({ "path": "/", "files": ["SOUL.md", "z.txt"], "directories": ["memory/", "memory2/"] });
    for arguments in [
        json!({}),
        json!({ "path": "/" }),
        json!({ "path": "" }),
        json!({ "path": null }),
    ] {
        assert_eq!(
            c.gives(READ, arguments.clone(), &DIRECTORY),
            root,
            "{arguments}"
        );
    }
    for path in ["memory", "memory/", "./memory", "memory//"] {
        let listed = c.gives(READ, json!({ "path": path }), &DIRECTORY);
        let shown = path.trim_start_matches("./").replace("//", "/");
        let expect =
            json!({ "path": shown, "files": ["memory/a.md"], "directories": ["memory/2026/"] });
        assert_eq!(listed, expect, "in its one spelling, and not memory2");
    }
    c.refuses(
        READ,
        json!({ "path": "mem" }),
        "not_found",
        &["file not found: mem"],
    );
    c.refuses(
        READ,
        json!({ "path": "SOUL.md/" }),
        "not_found",
        &["SOUL.md/"],
    );
    c.refuses(READ, json!({ "path": "SOUL.md/x" }), "not_found", &[]);
    for tool in [WRITE, EDIT, DELETE] {
        for path in ["memory/", "/", "skills"] {
            let arguments = match tool {
                WRITE => json!({ "path": path, "content": "x" }),
                EDIT => json!({ "path": path, "oldString": "x", "newString": "y" }),
                _ => json!({ "path": path }),
            };
            c.refuses(
                tool,
                arguments,
                "invalid_arguments",
                &["path", "must name a file"],
            );
        }
    }
    c.gives(
        WRITE,
        json!({ "path": "memory/2026/b.md", "content": "" }),
        &WRITTEN,
    );
    c.gives(DELETE, json!({ "path": "memory/2026/b.md" }), &DELETED);
    let listed = c.gives(READ, json!({ "path": "memory" }), &DIRECTORY);
    assert_eq!(
        listed["directories"],
        json!([]),
        "a directory goes with its last file"
    );
}

#[test]
fn a_folder_and_a_file_cannot_have_one_name() {
    let c = Contract::new();
    c.gateway.write("d/x", "1");
    for path in ["d", "d/x/y"] {
        let said = c
            .gateway
            .call(WRITE, json!({ "path": path, "content": "2" }));
        assert_eq!(said["ok"], false, "{path}: {said}");
        assert_ne!(said["code"], "internal", "{path}: {said}");
    }
    let said = c.gateway.call(DELETE, json!({ "path": "d" }));
    assert_eq!(said["ok"], false, "{said}");
    assert_eq!(
        c.gateway.read("d/x").as_deref(),
        Some("1"),
        "nothing changed"
    );
}

#[test]
fn sizes_are_bytes_and_types_follow_extensions() {
    let c = Contract::new();
    let table = [
        ("a.md", "é", 2, "text/markdown"),
        ("a.json", "{\"ß\":\"日本\"}", 15, "application/json"),
        ("a.yaml", "a: 🙂", 7, "text/yaml"),
        ("a.yml", "", 0, "text/yaml"),
        ("a.txt", "a\r\nb", 4, "text/plain"),
        ("Makefile", "x", 1, "text/plain"),
        (".md", "x", 1, "text/plain"),
        ("a.MD", "x", 1, "text/plain"),
        ("a.md.bak", "x", 1, "text/plain"),
        ("d.json/a", "x", 1, "text/plain"),
    ];
    for (path, content, size, kind) in table {
        let written = c.gives(WRITE, json!({ "path": path, "content": content }), &WRITTEN);
        assert_eq!(
            (&written["size"], &written["contentType"]),
            (&json!(size), &json!(kind)),
            "{path}"
        );
        let read = c.gives(READ, json!({ "path": path }), &FILE);
        assert_eq!(
            (&read["size"], read["content"].as_str()),
            (&json!(size), Some(content)),
            "{path}"
        );
    }
    c.gives(
        WRITE,
        json!({ "path": "a.md", "content": "longer than before" }),
        &WRITTEN,
    );
    c.gives(WRITE, json!({ "path": "a.md", "content": "new" }), &WRITTEN);
    assert_eq!(
        c.gateway.read("a.md").as_deref(),
        Some("new"),
        "overwritten, not appended"
    );
}

#[test]
fn edits_replace_exactly_and_literally() {
    let c = Contract::new();
    // text, oldString, newString, replaceAll, expected text, replacements
    let table = [
        ("one two", "two", "three", None, "one three", 1),
        ("one two", "two", "three", Some(false), "one three", 1),
        ("a a a", "a", "b", Some(true), "b b b", 3),
        ("only one", "one", "1", Some(true), "only 1", 1),
        ("price", "price", "$& $1 $$ $`", None, "$& $1 $$ $`", 1),
        ("x", "x", "\\n \\1 \\\\", None, "\\n \\1 \\\\", 1),
        ("a.c abc", "a.c", "x", None, "x abc", 1),
        ("a\r\nb\r\nc", "b", "B", None, "a\r\nB\r\nc", 1),
        ("a\r\nb", "a\r\n", "", None, "b", 1),
        (
            "no newline at end",
            "end",
            "END",
            None,
            "no newline at END",
            1,
        ),
        ("ends\n", "ends", "stays", None, "stays\n", 1),
        ("é日🙂", "日", "本", None, "é本🙂", 1),
        ("gone", "gone", "", None, "", 1),
        ("same", "same", "same", None, "same", 1),
    ];
    for (text, old, new, all, expect, replacements) in table {
        c.gateway.write("e.txt", text);
        let mut arguments = json!({ "path": "e.txt", "oldString": old, "newString": new });
        if let Some(all) = all {
            arguments["replaceAll"] = json!(all);
        }
        let edited = c.gives(EDIT, arguments, &EDITED);
        assert_eq!(edited["replacements"], json!(replacements), "{text:?}");
        assert_eq!(
            c.raw("agents/main/e.txt").as_deref(),
            Some(expect),
            "{text:?}"
        );
    }
}

#[test]
fn ambiguous_edits_are_refused() {
    let c = Contract::new();
    c.gateway.write("e.txt", "a a a aXaXa");
    let edit = |old: &str| json!({ "path": "e.txt", "oldString": old, "newString": "x" });
    let all = |old: &str| json!({ "path": "e.txt", "oldString": old, "newString": "x", "replaceAll": true });
    c.refuses(
        EDIT,
        edit("zzz"),
        "invalid_arguments",
        &["oldString", "not found"],
    );
    c.refuses(
        EDIT,
        all("zzz"),
        "invalid_arguments",
        &["oldString", "not found"],
    );
    c.refuses(EDIT, edit("A"), "invalid_arguments", &["not found"]);
    c.refuses(
        EDIT,
        edit("a "),
        "invalid_arguments",
        &["oldString", "found 3 times", "replaceAll"],
    );
    c.refuses(EDIT, edit("aXa"), "invalid_arguments", &["found 2 times"]);
    c.refuses(
        EDIT,
        edit(""),
        "invalid_arguments",
        &["oldString", "must not be empty"],
    );
    c.refuses(
        EDIT,
        all(""),
        "invalid_arguments",
        &["oldString", "must not be empty"],
    );
    let missing = json!({ "path": "none.txt", "oldString": "a", "newString": "b" });
    c.refuses(EDIT, missing, "not_found", &["file not found: none.txt"]);
    c.gives(EDIT, all("a "), &EDITED);
    assert_eq!(
        c.gateway.read("e.txt").as_deref(),
        Some("xxxaXaXa"),
        "the control"
    );
}

#[test]
fn skills_show_the_agents_copy_first_and_the_global_one_otherwise() {
    let c = Contract::new();
    let skills = c.gives(READ, json!({ "path": "skills" }), &DIRECTORY);
    assert_eq!(
        skills,
        json!({ "path": "skills", "files": [], "directories": [] }),
        "always there"
    );
    c.plant("skills/summarize/SKILL.md", b"global");
    c.plant("skills/summarize/notes.md", b"global notes");
    c.plant("skills/other/SKILL.md", b"other");
    c.plant("skills/README.md", b"read me");
    let at = json!({ "path": "skills/summarize/SKILL.md" });
    let read = c.gives(READ, at.clone(), &SKILL);
    let seen = [
        &read["content"],
        &read["resolvedPath"],
        &read["resolvedSource"],
        &read["size"],
    ];
    assert_eq!(
        seen,
        [
            &json!("global"),
            &json!("skills/summarize/SKILL.md"),
            &json!("global"),
            &json!(6)
        ]
    );

    let written = c.gives(
        WRITE,
        json!({ "path": "skills/summarize/SKILL.md", "content": "mine" }),
        &WRITTEN,
    );
    assert_eq!(written["path"], "skills/summarize/SKILL.md");
    assert_eq!(
        c.raw("skills/summarize/SKILL.md").as_deref(),
        Some("global"),
        "the global copy is left alone"
    );
    let read = c.gives(READ, at.clone(), &SKILL);
    let seen = [
        &read["content"],
        &read["resolvedPath"],
        &read["resolvedSource"],
    ];
    assert_eq!(
        seen,
        [
            &json!("mine"),
            &json!("agents/main/skills/summarize/SKILL.md"),
            &json!("agent")
        ]
    );
    c.gateway.write("skills/summarize/own.md", "x");
    c.gateway.write("skills/private/SKILL.md", "x");

    let merged = c.gives(READ, json!({ "path": "skills/summarize" }), &DIRECTORY);
    let names = json!([
        "skills/summarize/SKILL.md",
        "skills/summarize/notes.md",
        "skills/summarize/own.md"
    ]);
    assert_eq!(merged["files"], names, "merged, each name once");
    let merged = c.gives(READ, json!({ "path": "skills/" }), &DIRECTORY);
    assert_eq!(
        merged["directories"],
        json!(["skills/other/", "skills/private/", "skills/summarize/"])
    );
    assert_eq!(merged["files"], json!(["skills/README.md"]));
    let root = c.gives(READ, json!({}), &DIRECTORY);
    assert_eq!(root["directories"], json!(["skills/"]));

    c.gives(DELETE, at.clone(), &DELETED);
    let read = c.gives(READ, at.clone(), &SKILL);
    assert_eq!(
        (&read["content"], &read["resolvedSource"]),
        (&json!("global"), &json!("global")),
        "it shows again"
    );
    c.refuses(
        DELETE,
        at,
        "not_found",
        &["skills/summarize/SKILL.md", "global skill"],
    );
    c.refuses(
        READ,
        json!({ "path": "skills/nothing" }),
        "not_found",
        &["skills/nothing"],
    );
    let other = c.gateway.call(READ, json!({ "path": "other/SKILL.md" }));
    assert_eq!(
        other["code"], "not_found",
        "global skills show only under skills/: {other}"
    );
}

#[test]
fn editing_a_skill_reads_either_copy_and_writes_the_agents() {
    let c = Contract::new();
    c.plant("skills/s/SKILL.md", b"global text");
    let edit = |old: &str, new: &str| json!({ "path": "skills/s/SKILL.md", "oldString": old, "newString": new });
    c.refuses(
        EDIT,
        edit("nothing", "x"),
        "invalid_arguments",
        &["not found"],
    );
    let first = c.gives(EDIT, edit("global", "local"), &EDITED_SKILL);
    assert_eq!(
        (&first["resolvedSource"], &first["resolvedPath"]),
        (&json!("global"), &json!("skills/s/SKILL.md")),
        "what was read"
    );
    assert_eq!(
        c.raw("skills/s/SKILL.md").as_deref(),
        Some("global text"),
        "the global copy is left alone"
    );
    assert_eq!(
        c.raw("agents/main/skills/s/SKILL.md").as_deref(),
        Some("local text")
    );
    let second = c.gives(EDIT, edit("local", "own"), &EDITED_SKILL);
    assert_eq!(
        (&second["resolvedSource"], &second["resolvedPath"]),
        (&json!("agent"), &json!("agents/main/skills/s/SKILL.md"))
    );
    assert_eq!(
        c.raw("agents/main/skills/s/SKILL.md").as_deref(),
        Some("own text")
    );
}

#[test]
fn only_skills_have_a_resolved_source() {
    let c = Contract::new();
    for path in ["skillset.md", "my/skills/a.md", "skills.md"] {
        c.gateway.write(path, "x");
        c.gives(READ, json!({ "path": path }), &FILE);
        c.gives(
            EDIT,
            json!({ "path": path, "oldString": "x", "newString": "y" }),
            &EDITED,
        );
    }
}

#[test]
fn every_parameter_is_checked_and_named() {
    let c = Contract::new();
    c.gateway.write("a.md", "text");
    let required: [(&str, Value, &[&str]); 5] = [
        (
            WRITE,
            json!({}),
            &["path: is required", "content: is required"],
        ),
        (WRITE, json!({ "path": "a.md" }), &["content: is required"]),
        (
            EDIT,
            json!({}),
            &[
                "path: is required",
                "oldString: is required",
                "newString: is required",
            ],
        ),
        (
            EDIT,
            json!({ "path": "a.md", "oldString": "t" }),
            &["newString: is required"],
        ),
        (DELETE, json!({}), &["path: is required"]),
    ];
    for (tool, arguments, words) in required {
        let said = c.refuses(tool, arguments, "invalid_arguments", words);
        assert_eq!(
            said["problems"].as_array().map(Vec::len),
            Some(words.len()),
            "all at once: {said}"
        );
    }
    let wrong = [json!(7), json!(true), json!(["a"]), json!({ "a": 1 })];
    for tool in [READ, WRITE, EDIT, DELETE, CONFIG] {
        let parameters = c.schema(tool, "inputSchema")["properties"]
            .as_object()
            .expect("parameters")
            .clone();
        for parameter in parameters.keys() {
            for value in wrong
                .iter()
                .filter(|value| !(parameter == "replaceAll" && value.is_boolean()))
            {
                let mut arguments =
                    json!({ "path": "a.md", "content": "x", "oldString": "t", "newString": "u" });
                arguments
                    .as_object_mut()
                    .expect("an object")
                    .retain(|key, _| parameters.contains_key(key));
                arguments[parameter] = value.clone();
                let said = c.refuses(
                    tool,
                    arguments,
                    "invalid_arguments",
                    &[parameter, "must be"],
                );
                assert_eq!(said["problems"][0]["parameter"], *parameter, "{said}");
            }
        }
        let schema = c.schema(tool, "inputSchema");
        assert_eq!(
            schema["additionalProperties"], false,
            "{tool} refuses unknown parameters"
        );
        let mut arguments =
            json!({ "path": "a.md", "content": "x", "oldString": "t", "newString": "u" });
        arguments
            .as_object_mut()
            .expect("an object")
            .retain(|key, _| parameters.contains_key(key));
        arguments["unheardOf"] = json!(1);
        c.refuses(
            tool,
            arguments,
            "invalid_arguments",
            &["unheardOf", "is not a parameter"],
        );
    }
    let said = c.refuses(
        EDIT,
        json!({ "path": "a.md", "old_string": "t", "newString": "u" }),
        "invalid_arguments",
        &["did you mean oldString?"],
    );
    assert_eq!(said["problems"].as_array().map(Vec::len), Some(2), "{said}");
    for arguments in [json!([]), json!("a.md"), json!(7), json!(false)] {
        c.refuses(READ, arguments, "invalid_arguments", &["JSON object"]);
    }
    c.gives(
        EDIT,
        json!({ "path": "a.md", "oldString": "t", "newString": "u", "replaceAll": true }),
        &EDITED,
    );
}

#[test]
fn the_schemas_match_the_spec() {
    let c = Contract::new();
    let table: [(&str, &[&str], &[&str]); 5] = [
        (READ, &["path"], &[]),
        (WRITE, &["content", "path"], &["content", "path"]),
        (
            EDIT,
            &["newString", "oldString", "path", "replaceAll"],
            &["newString", "oldString", "path"],
        ),
        (DELETE, &["path"], &["path"]),
        (CONFIG, &["path"], &[]),
    ];
    for (tool, parameters, required) in table {
        let schema = c.schema(tool, "inputSchema");
        let known: BTreeSet<&str> = schema["properties"]
            .as_object()
            .expect("parameters")
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(known, parameters.iter().copied().collect(), "{tool}");
        let needed: BTreeSet<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(needed, required.iter().copied().collect(), "{tool}");
        for (name, parameter) in schema["properties"].as_object().expect("parameters") {
            assert!(
                parameter["description"]
                    .as_str()
                    .is_some_and(|text| text.len() > 10),
                "{tool} {name} is described"
            );
        }
        assert!(
            c.schema(tool, "description")
                .as_str()
                .is_some_and(|text| text.len() > 20),
            "{tool}"
        );
        jsonschema::meta::validate(schema).expect("a valid schema");
        jsonschema::meta::validate(c.schema(tool, "outputSchema")).expect("a valid schema");
    }
}

#[test]
fn the_configuration_is_read_whole_or_by_path() {
    let c = Contract::of(Gateway::with_config(
        "allowed_hosts = [\"desk.example\"]\n[limits]\nresult_bytes = 9999\n",
    ));
    let all = c.gives(CONFIG, json!({}), &["config"]);
    assert_eq!(all["config"]["limits"]["result_bytes"], 9999);
    assert_eq!(
        all["config"]["limits"]["calls_per_minute"], 600,
        "defaults included"
    );
    let table = [
        ("limits.result_bytes", json!(9999)),
        ("limits.calls_per_minute", json!(600)),
        ("allowed_hosts", json!(["desk.example"])),
        ("allowed_hosts.0", json!("desk.example")),
        ("policy.rules", json!([])),
    ];
    for (path, value) in table {
        let one = c.gives(CONFIG, json!({ "path": path }), &["path", "value"]);
        assert_eq!(one, json!({ "path": path, "value": value }));
    }
    let limits = c.gives(CONFIG, json!({ "path": "limits" }), &["path", "value"]);
    assert_eq!(
        limits["value"], all["config"]["limits"],
        "a table is a value too"
    );
    for path in [json!(null), json!("")] {
        c.gives(CONFIG, json!({ "path": path }), &["config"]);
    }
    let wrong = [
        ("limits.result_byte", "did you mean `limits.result_bytes`?"),
        ("result_bytes", "did you mean `limits.result_bytes`?"),
        ("limit.result_bytes", "did you mean `limits"),
        ("zzz", "unknown setting `zzz`"),
        ("allowed_hosts.7", "has 1 entry"),
        ("limits..x", "is not a path"),
    ];
    for (path, words) in wrong {
        c.refuses(
            CONFIG,
            json!({ "path": path }),
            "invalid_arguments",
            &["path", words],
        );
    }
}

#[test]
fn secrets_in_the_configuration_are_masked_everywhere() {
    let hidden = "hunter2-hunter2";
    let rule = format!(
        "[[policy.rules]]\ndecision = \"deny\"\nwhen.api_key = {{ equals = \"{hidden}\" }}\n\
         when.password = {{ contains = \"{hidden}\" }}\nwhen.path = {{ equals = \"kept\" }}\n"
    );
    let c = Contract::of(Gateway::with_config(&rule));
    let all = c.gives(CONFIG, json!({}), &["config"]);
    assert!(!all.to_string().contains(hidden), "{all}");
    let paths = [
        "policy",
        "policy.rules",
        "policy.rules.0",
        "policy.rules.0.when",
        "policy.rules.0.when.api_key",
        "policy.rules.0.when.api_key.equals",
        "policy.rules.0.when.password.contains",
    ];
    for path in paths {
        let one = c.gives(CONFIG, json!({ "path": path }), &["path", "value"]);
        assert!(!one.to_string().contains(hidden), "{path}: {one}");
        let cli = c.gateway.cli(&["config", "get", path]).ok();
        assert!(!cli.stdout.contains(hidden), "{path}: {}", cli.stdout);
        let http = c.gateway.get(&format!("/api/config?path={path}"));
        assert_eq!(http.status, 200);
        assert!(!http.text().contains(hidden), "{path}");
    }
    assert!(all.to_string().contains("***"), "{all}");
    let kept = c.gives(
        CONFIG,
        json!({ "path": "policy.rules.0.when.path.equals" }),
        &["path", "value"],
    );
    assert_eq!(kept["value"], "kept", "the control");
}
