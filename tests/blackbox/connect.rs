//! AI clients connected to a gateway: their settings changed and restored, and what they then start at work.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::chat_cli::Terminal;
use crate::harness::{BINARY, Gateway, Home, Ran};
use crate::http::Request;
use crate::mcp::{Era, Pipe};

/// A client, its file below the user's home, and a file as its user may have written it.
const CLIENTS: [(&str, &str, &str); 12] = [
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        "{\n\t\"globalShortcut\": \"\",\n\t\"mcpServers\": {\n\t\t\"a\": { \"command\": \"x\" }\n\t}\n}",
    ),
    (
        "claude-code",
        ".claude.json",
        "{\n  \"numStartups\": 41,\n  \"projects\": { \"/home/me\": { \"history\": [\"{\\\"mcpServers\\\": {\"] } }\n}\n",
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        "\u{feff}{\r\n    \"mcpServers\": {\r\n    }\r\n}\r\n",
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        "{\n\t\"servers\": {},\n\t\"inputs\": [] // none\n}\n",
    ),
    (
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        "{\"mcpServers\":{\"a\":{\"serverUrl\":\"https://a.example/mcp\"}}}",
    ),
    (
        "zed",
        ".config/zed/settings.json",
        "// Zed settings\n// see https://zed.dev/docs\n{\n  /* mine */\n  \"theme\": \"One Dark\", // dark\n  \"context_servers\": {\n    \"a\": { \"source\": \"custom\", \"command\": \"x\", \"args\": [], },\n  },\n}\n",
    ),
    (
        "codex",
        ".codex/config.toml",
        "# mine\nmodel = \"o\" # fast\n\n[mcp_servers.a]\ncommand = \"x\"\n\n[profiles.fast]\nmodel = \"p\"",
    ),
    (
        "opencode",
        ".config/opencode/opencode.jsonc",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  // servers\n  \"mcp\": {},\n}\n",
    ),
    ("gemini", ".gemini/settings.json", "{}"),
    (
        "goose",
        ".config/goose/config.yaml",
        "GOOSE_MODEL: gpt # model\nextensions:\n  # built in\n  developer:\n    enabled: true\n    type: builtin\n    name: developer\nGOOSE_MODE: auto\n",
    ),
    (
        "cline",
        ".cline/data/settings/cline_mcp_settings.json",
        "{\n  \"mcpServers\": {\n  }\n}\n",
    ),
    (
        "continue",
        ".continue/config.yaml",
        "name: Local # mine\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: a\n    command: x\nmodels: []\n",
    ),
];

fn user(home: &Home, file: &str) -> PathBuf {
    home.outside("user").join(file)
}

#[track_caller]
fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
    std::fs::write(path, text).expect("the file");
}

#[track_caller]
fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file")
}

fn mode(path: &Path) -> u32 {
    let about = std::fs::metadata(path).expect("the file");
    about.permissions().mode() & 0o777
}

/// Names in a folder.
fn names(path: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(path.parent().expect("a folder")).expect("the folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

/// Active tokens with this name.
fn tokens(gateway: &Gateway, name: &str) -> Vec<Value> {
    let listed = gateway.get("/api/tokens").json();
    let all = listed["result"]["tokens"]
        .as_array()
        .expect("tokens")
        .clone();
    let named = |one: &Value| one["name"] == name && one["state"] == "active";
    all.into_iter().filter(named).collect()
}

/// Our entry in a client's file, read by parsers that know nothing of the editor.
#[track_caller]
fn entry(client: &str, path: &Path) -> Value {
    let text = text(path);
    let text = text.trim_start_matches('\u{feff}');
    let parsed: Value = match path.extension().and_then(|end| end.to_str()) {
        Some("toml") => toml::from_str(text).expect("TOML"),
        Some("yaml") => serde_saphyr::from_str(text).expect("YAML"),
        _ => {
            // Good enough for the files above; the product's own parser is what is tested.
            let lines = text.lines().map(|line| {
                match line.find(" // ").or(line.find("//").filter(|at| *at < 4)) {
                    Some(at) => &line[..at],
                    None => line,
                }
            });
            let plain: String = lines
                .collect::<Vec<_>>()
                .join("\n")
                .replace("/* mine */", "");
            let plain: String = plain.split_whitespace().collect::<Vec<_>>().join(" ");
            let plain = plain.replace(", }", " }").replace(",}", "}");
            serde_json::from_str(&plain).unwrap_or_else(|e| panic!("{e}: {plain}"))
        }
    };
    let key = match client {
        "vscode" => "servers",
        "zed" => "context_servers",
        "codex" => "mcp_servers",
        "opencode" => "mcp",
        "goose" => "extensions",
        _ => "mcpServers",
    };
    match &parsed[key] {
        Value::Array(list) => {
            let mut ours = list.iter().filter(|one| one["name"] == "manyhands");
            let one = ours.next().cloned().expect("an entry");
            assert!(ours.next().is_none(), "it is there once");
            one
        }
        servers => servers["manyhands"].clone(),
    }
}

/// Starts what an entry names, with nothing but its own variables, as a client would.
fn start(entry: &Value) -> Pipe {
    let words: Vec<&str> = match &entry["command"] {
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        command => {
            let program = command.as_str().or(entry["cmd"].as_str());
            let args = entry["args"].as_array().into_iter().flatten();
            program
                .into_iter()
                .chain(args.filter_map(Value::as_str))
                .collect()
        }
    };
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .env_clear()
        .env("HOME", "/nonexistent");
    let env = ["env", "environment", "envs"]
        .iter()
        .find_map(|key| entry[*key].as_object());
    for (name, value) in env.expect("variables") {
        command.env(name, value.as_str().expect("a text"));
    }
    Pipe::of(command, Era::Initialize)
}

#[track_caller]
fn connect(gateway: &Gateway, words: &[&str]) -> Ran {
    gateway.cli(&[&["connect"], words].concat())
}

/// Connects a client, uses what was written as the client would, and undoes it.
#[track_caller]
fn check(client: &str, file: &str, before: &str) {
    let gateway = Gateway::start();
    let path = user(&gateway.home, file);
    put(&path, before);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("its mode");

    let shown = connect(&gateway, &[client, "--dry-run"]).ok();
    assert!(shown.stdout.contains("<new token>"), "{shown:?}");
    assert_eq!(text(&path), before, "showing changes nothing");
    assert!(tokens(&gateway, client).is_empty());

    let done = connect(&gateway, &[client, "--yes"]).ok();
    assert!(done.stdout.contains("connected "), "{done:?}");
    let after = text(&path);
    let added = after.len() - before.len();
    let start_of = before
        .bytes()
        .zip(after.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert_eq!(
        &after[start_of + added..],
        &before[start_of..],
        "only the entry is new"
    );
    assert_eq!(mode(&path), 0o640, "its mode stays");
    let token = tokens(&gateway, client);
    assert_eq!(token.len(), 1, "{token:?}");
    assert_eq!(
        (&token[0]["role"], &token[0]["agents"]),
        (&json!("client"), &json!(["main"]))
    );

    let written = entry(client, &path);
    let secret = secret_of(&written);
    assert!(
        !done.stdout.contains(&secret) && !done.stderr.contains(&secret),
        "{done:?}"
    );
    let mut pipe = start(&written);
    let tools = pipe.request("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().expect("tools").clone();
    assert!(
        tools
            .iter()
            .any(|tool| tool["name"] == "capabilities_discover"),
        "{tools:?}"
    );
    pipe.finish();

    // Again: the entry is replaced, and the old token is revoked.
    let again = connect(&gateway, &[client, "--yes"]).ok();
    assert!(!again.stdout.contains(&secret), "{again:?}");
    let renewed = secret_of(&entry(client, &path));
    assert_ne!(renewed, secret);
    assert_eq!(text(&path), after.replace(&secret, &renewed));
    assert_eq!(tokens(&gateway, client).len(), 1);
    let with = |token: &str| {
        gateway
            .send(&Request::get("/api/tools").bearer(token))
            .status
    };
    assert_eq!((with(&secret), with(&renewed)), (401, 200));

    let undone = connect(&gateway, &["--undo", client, "--yes"]).ok();
    assert!(
        undone.stdout.contains("restored ") && undone.stdout.contains("revoked "),
        "{undone:?}"
    );
    assert_eq!(text(&path), before);
    assert_eq!(mode(&path), 0o640);
    assert_eq!(with(&renewed), 401);
    let name = path
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert_eq!(
        names(&path),
        BTreeSet::from([name]),
        "nothing is left beside it"
    );
}

fn secret_of(entry: &Value) -> String {
    let maps = ["env", "environment", "envs"].iter();
    let mut tokens = maps.filter_map(|key| entry[*key]["MANYHANDS_TOKEN"].as_str());
    tokens.next().expect("a token").to_owned()
}

#[test]
fn every_client_is_connected_works_and_is_restored_to_the_byte() {
    std::thread::scope(|scope| {
        for (client, file, before) in CLIENTS {
            scope.spawn(move || check(client, file, before));
        }
    });
}

#[test]
fn a_missing_file_is_created_private_and_deleted_again() {
    let gateway = Gateway::start();
    for (client, file, _) in CLIENTS {
        let path = user(&gateway.home, file);
        let created = match client {
            "opencode" => user(&gateway.home, ".config/opencode/opencode.json"),
            "cline" => user(
                &gateway.home,
                ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
            _ => path,
        };
        connect(&gateway, &[client, "--yes"]).ok();
        assert_eq!(mode(&created), 0o600, "{client}");
        assert!(!secret_of(&entry(client, &created)).is_empty());
        let undone = connect(&gateway, &["--undo", client, "--yes"]).ok();
        assert!(undone.stdout.contains("deleted "), "{undone:?}");
        assert!(!created.exists(), "{client}");
        assert!(tokens(&gateway, client).is_empty(), "{client}");
    }
}

#[test]
fn what_was_changed_since_stays_and_only_our_entry_goes() {
    for (client, file, before) in CLIENTS {
        // Undoing a part of a file is the same code for all files of one format.
        if !["cursor", "zed", "codex", "goose", "continue"].contains(&client) {
            continue;
        }
        let gateway = Gateway::start();
        let path = user(&gateway.home, file);
        put(&path, before);
        connect(&gateway, &[client, "--yes"]).ok();
        let comment = match client {
            "cursor" | "zed" => "// added later\n",
            _ => "\n# added later\n",
        };
        put(&path, &format!("{}{comment}", text(&path)));
        let listed = connect(&gateway, &["--list", "--json", client]).ok().json();
        assert_eq!(
            listed["clients"][0]["state"],
            "connected, file changed since"
        );
        connect(&gateway, &["--undo", client, "--yes"]).ok();
        let after = text(&path);
        assert!(after.ends_with(comment), "{after:?}");
        assert!(!after.contains("manyhands"), "{after:?}");
        for line in before.lines().filter(|line| !line.contains("mcpServers")) {
            assert!(after.contains(line), "{client}: {line:?} in {after:?}");
        }
        assert!(tokens(&gateway, client).is_empty());
    }
}

#[test]
fn a_client_connected_again_after_a_change_keeps_the_change_when_undone() {
    let gateway = Gateway::start();
    let path = user(&gateway.home, ".cursor/mcp.json");
    put(&path, "{\n  \"mcpServers\": {}\n}\n");
    connect(&gateway, &["cursor", "--yes"]).ok();
    put(
        &path,
        &text(&path).replace(
            "{\n  \"mcpServers\"",
            "{\n  \"later\": 1,\n  \"mcpServers\"",
        ),
    );
    connect(&gateway, &["cursor", "--yes"]).ok();
    connect(&gateway, &["--undo", "cursor", "--yes"]).ok();
    let after: Value = serde_json::from_str(&text(&path)).expect("JSON");
    assert_eq!(after, json!({ "later": 1, "mcpServers": {} }));
}

#[test]
fn a_file_that_cannot_be_changed_is_refused_and_nothing_happens() {
    let gateway = Gateway::start();
    let path = user(&gateway.home, ".cursor/mcp.json");
    let refused = |why: &str| {
        let ran = connect(&gateway, &["cursor", "--yes"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(why), "{why:?}: {ran:?}");
        assert!(tokens(&gateway, "cursor").is_empty());
        assert!(!gateway.home.path().join("connected.json").exists());
    };
    for (broken, why) in [
        ("{ \"mcpServers\": {", "invalid JSON"),
        ("[]", "the top level is not an object"),
        ("{ \"mcpServers\": 1 }", "mcpServers is not an object"),
    ] {
        put(&path, broken);
        refused(why);
        assert_eq!(text(&path), broken);
    }
    std::fs::write(&path, [0xff, 0xfe]).expect("the file");
    refused("it is not UTF-8");
    std::fs::remove_file(&path).expect("the file");
    symlink("nowhere.json", &path).expect("a link");
    refused("leads nowhere");
    std::fs::remove_file(&path).expect("the link");
    std::fs::create_dir(&path).expect("a folder");
    refused("not a regular file");
    std::fs::remove_dir(&path).expect("the folder");
    // A client that reads another file would lose its settings.
    let older = user(&gateway.home, ".continue/config.json");
    put(&older, "{}");
    let ran = connect(&gateway, &["continue", "--yes"]);
    assert!(
        ran.code == Some(1) && ran.stderr.contains("convert them to config.yaml"),
        "{ran:?}"
    );
    assert!(!user(&gateway.home, ".continue/config.yaml").exists());
    // One client that fails does not keep the others from being connected.
    put(&path, "{");
    let both = connect(&gateway, &["cursor", "gemini", "--yes"]);
    assert_eq!(both.code, Some(1), "{both:?}");
    assert!(both.stdout.contains("connected Gemini CLI"), "{both:?}");
}

#[test]
fn a_link_stays_a_link_and_its_target_is_changed() {
    let gateway = Gateway::start();
    let (path, target) = (
        user(&gateway.home, ".gemini/settings.json"),
        user(&gateway.home, "dotfiles/gemini.json"),
    );
    put(&target, "{}\n");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
    symlink("../dotfiles/gemini.json", &path).expect("a link");
    connect(&gateway, &["gemini", "--yes"]).ok();
    assert!(
        std::fs::symlink_metadata(&path)
            .expect("the link")
            .is_symlink()
    );
    assert!(text(&target).contains("manyhands"));
    assert_eq!(names(&target).len(), 1, "the backup is beside the link");
    connect(&gateway, &["--undo", "--yes"]).ok();
    assert_eq!(text(&target), "{}\n");
    assert!(
        std::fs::symlink_metadata(&path)
            .expect("the link")
            .is_symlink()
    );
}

#[test]
fn nothing_is_changed_without_consent() {
    let gateway = Gateway::start();
    let path = user(&gateway.home, ".cursor/mcp.json");
    put(
        &path,
        "{\"mcpServers\":{\"a\":{\"env\":{\"API_KEY\":\"sk-0123456789abcdef\"}}}}",
    );
    let before = (
        text(&path),
        std::fs::metadata(&path).expect("the file").ino(),
    );
    let ran = connect(&gateway, &["cursor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("nothing was changed") && ran.stderr.contains("--yes"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("***") && !ran.stdout.contains("sk-0123456789"),
        "{ran:?}"
    );
    assert_eq!(
        (
            text(&path),
            std::fs::metadata(&path).expect("the file").ino()
        ),
        before
    );
    assert!(tokens(&gateway, "cursor").is_empty());
    connect(&gateway, &["cursor", "--yes"]).ok();
    let connected = text(&path);
    let ran = connect(&gateway, &["--undo", "cursor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let ran = connect(&gateway, &["--undo", "cursor", "--dry-run"]).ok();
    assert!(!ran.stdout.contains("mh_"), "{ran:?}");
    assert_eq!(text(&path), connected);
    assert_eq!(tokens(&gateway, "cursor").len(), 1);
}

#[test]
fn installed_clients_are_found_and_listed_with_their_state() {
    let gateway = Gateway::start();
    put(&user(&gateway.home, ".gemini/settings.json"), "{}");
    put(
        &user(&gateway.home, ".config/zed/settings.json"),
        "// mine\n{}\n",
    );
    put(&user(&gateway.home, ".codex/config.toml"), "= broken");
    let state = |client: &str| {
        let listed = connect(&gateway, &["--list", "--json", client]).ok().json();
        let one = &listed["clients"][0];
        (
            one["installed"].clone(),
            one["state"].as_str().expect("a state").to_owned(),
        )
    };
    assert_eq!(state("gemini"), (json!(true), "not connected".to_owned()));
    assert!(state("codex").1.starts_with("unreadable: invalid TOML"));
    let ran = connect(&gateway, &["gemini", "zed", "--yes"]).ok();
    assert!(ran.stdout.contains("connected Gemini CLI") && ran.stdout.contains("connected Zed"));
    assert_eq!(state("gemini").1, "connected");
    let table = connect(&gateway, &["--list"]).ok();
    assert_eq!(table.stdout.lines().count(), CLIENTS.len() + 1, "{table:?}");
    assert!(table.stdout.contains(&gateway.url), "{table:?}");
    put(&user(&gateway.home, ".gemini/settings.json"), "{}");
    assert_eq!(state("gemini").1, "entry removed by another program");
    let undone = connect(&gateway, &["--undo", "--yes"]).ok();
    assert!(
        undone.stdout.contains("no longer had an entry"),
        "{undone:?}"
    );
    assert!(tokens(&gateway, "gemini").is_empty() && tokens(&gateway, "zed").is_empty());
    let none = connect(&gateway, &["--undo"]).ok();
    assert!(none.stdout.contains("no client is connected"), "{none:?}");
    let other = connect(&gateway, &["--undo", "zed"]);
    assert!(
        other.code == Some(1) && other.stderr.contains("Zed is not connected"),
        "{other:?}"
    );
}

#[test]
fn a_client_that_connects_by_url_gets_the_token_in_a_header() {
    let gateway = Gateway::start();
    for (client, keys) in [
        ("cursor", ("url", "headers")),
        ("gemini", ("httpUrl", "headers")),
        ("codex", ("url", "http_headers")),
        ("goose", ("uri", "headers")),
    ] {
        connect(&gateway, &[client, "--http", "--yes"]).ok();
        let file = CLIENTS
            .iter()
            .find(|one| one.0 == client)
            .expect("a client")
            .1;
        let written = entry(client, &user(&gateway.home, file));
        assert_eq!(written[keys.0], format!("{}/mcp", gateway.url), "{written}");
        let header = written[keys.1]["Authorization"].as_str().expect("a header");
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        } });
        let request = Request::post("/mcp", &body)
            .header("accept", "application/json, text/event-stream")
            .header("authorization", header);
        let answer = gateway.send(&request);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let desktop = connect(&gateway, &["claude-desktop", "--http", "--yes"]);
    assert!(
        desktop.code == Some(1) && desktop.stderr.contains("cannot use a URL"),
        "{desktop:?}"
    );
}

#[test]
fn settings_are_restored_without_a_gateway_and_the_token_is_named() {
    let gateway = Gateway::start();
    let path = user(&gateway.home, ".cursor/mcp.json");
    put(&path, "{}\n");
    connect(&gateway, &["cursor", "--yes"]).ok();
    let id = tokens(&gateway, "cursor")[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let home = gateway.stop();
    let ran = home.cli(&["connect", "--undo", "cursor", "--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("manyhands token revoke {id}")),
        "{ran:?}"
    );
    assert_eq!(text(&path), "{}\n");
    // Without a gateway nothing can be connected.
    let ran = home.cli(&["connect", "cursor", "--yes"]);
    assert!(
        ran.code == Some(1) && ran.stderr.contains("no gateway is running"),
        "{ran:?}"
    );
    assert_eq!(text(&path), "{}\n");
}

#[test]
fn the_command_in_an_entry_is_this_program() {
    let gateway = Gateway::start();
    connect(&gateway, &["cursor", "--yes"]).ok();
    let written = entry("cursor", &user(&gateway.home, ".cursor/mcp.json"));
    let program = Path::new(written["command"].as_str().expect("a command"));
    assert_eq!(
        program.canonicalize().expect("a program"),
        Path::new(BINARY).canonicalize().expect("the binary")
    );
}

#[test]
fn at_a_terminal_each_change_is_shown_and_asked_about() {
    let gateway = Gateway::start();
    let path = user(&gateway.home, ".cursor/mcp.json");
    put(&path, "{}\n");
    let mut terminal = Terminal::open(&gateway.home, "connect gemini cursor");
    terminal.sees("Cursor (");
    terminal.sees("<new token>");
    terminal.sees("Make this change? [y/N]");
    terminal.types("y\n");
    terminal.sees("connected Cursor");
    terminal.sees("Gemini CLI (");
    terminal.sees("Make this change? [y/N]");
    terminal.types("n\n");
    terminal.sees("nothing was changed");
    assert!(text(&path).contains("manyhands"));
    assert!(!user(&gateway.home, ".gemini/settings.json").exists());
    assert_eq!(
        (
            tokens(&gateway, "cursor").len(),
            tokens(&gateway, "gemini").len()
        ),
        (1, 0)
    );
}
