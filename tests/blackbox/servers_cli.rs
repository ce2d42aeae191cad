//! MCP servers and connections from the command line: a real server, what is held back, what other
//! programs have, and accounts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::harness::{BINARY, Gateway, Home, Ran, eventually, run};
use crate::npm::packages;

/// A server in the shell: it starts at once. Its one tool says of itself what stands in the file
/// that is its first argument; its environment is written into the second.
const SMALL: &str = r#"
printf %s "${SMALL_TOKEN-}" > "$2"
echo "small is up" >&2
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"notifications/'*) continue ;;
    *'"method":"server/discover"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"
      continue ;;
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"small","version":"0"}}' ;;
    *'"method":"tools/list"'*)
      about=$(cat "$1")
      result='{"tools":[{"name":"greet","description":"'$about'","inputSchema":{"type":"object"}}]}' ;;
    *) result='{"content":[{"type":"text","text":"hello"}]}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// The small server beside a home: its script, what its tool says, and what it saw.
pub struct Small {
    script: String,
    pub about: PathBuf,
    saw: PathBuf,
}

impl Small {
    pub fn beside(home: &Home) -> Self {
        let (script, about, saw) = (
            home.outside("small.sh"),
            home.outside("about"),
            home.outside("saw"),
        );
        std::fs::write(&script, SMALL).expect("the script");
        std::fs::write(&about, "Greets you").expect("a description");
        let script = script.display().to_string();
        Self { script, about, saw }
    }

    fn args(&self) -> [String; 3] {
        let text = |path: &Path| path.display().to_string();
        [self.script.clone(), text(&self.about), text(&self.saw)]
    }

    /// Adds it as `small`.
    #[track_caller]
    pub fn add(&self, gateway: &Gateway) {
        let args = self.args();
        let mut words = vec!["mcp", "add", "small", "--", "sh"];
        words.extend(args.iter().map(String::as_str));
        gateway.cli(&words).ok();
    }
}

/// That a command ended with 1 and said this.
#[track_caller]
fn refused(ran: &Ran, words: &str) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains(words), "{words:?}: {ran:?}");
}

fn config(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("config.toml")).unwrap_or_default()
}

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ai-clients/src/import/fixtures");
    std::fs::read_to_string(folder.join(name)).expect("the fixture")
}

#[track_caller]
fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
    std::fs::write(path, text).expect("the file");
}

/// The settings of one server.
#[track_caller]
fn server(home: &Home, name: &str) -> Value {
    home.cli(&["config", "get", &format!("mcpServers.{name}")])
        .ok()
        .json()
}

#[test]
fn a_token_takes_patterns_repeated_or_separated_by_commas() {
    let gateway = Gateway::start();
    let patterns = |name: &str, args: &[&str]| {
        let all = [&["token", "create", name], args].concat();
        gateway.cli(&all).ok();
        let listed = gateway.get("/api/tokens").json();
        let tokens = listed["result"]["tokens"]
            .as_array()
            .expect("tokens")
            .clone();
        let token = tokens.into_iter().find(|token| token["name"] == name);
        let token = token.expect("the token");
        (token["tools"].clone(), token["agents"].clone())
    };
    let expect = (json!(["gsv__*", "web_search"]), json!(["main", "team-*"]));
    let repeated = [
        "--tools",
        "gsv__*",
        "--tools",
        "web_search",
        "--agents",
        "main",
        "--agents",
        "team-*",
    ];
    assert_eq!(patterns("repeated", &repeated), expect);
    let commas = ["--tools", "gsv__*, web_search", "--agents", "main,team-*"];
    assert_eq!(patterns("commas", &commas), expect);
    let empty = gateway.cli(&["token", "create", "x", "--tools", "gsv__*,,"]);
    assert!(
        empty.code != Some(0) && empty.stderr.contains("empty pattern"),
        "{empty:?}"
    );
}

#[test]
fn a_real_server_is_added_listed_shown_tested_used_and_removed() {
    let program = packages("mcp-servers")
        .join("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
        .display()
        .to_string();
    let gateway = Gateway::start();
    let none = gateway.cli(&["mcp", "list"]).ok();
    assert!(none.stdout.contains("no MCP servers yet"), "{none:?}");

    let add = ["mcp", "add", "everything", "--", "node", &program, "stdio"];
    gateway.cli(&add).ok();
    let tested = gateway.cli(&["mcp", "test", "everything"]).ok();
    assert!(tested.stdout.contains("everything (stdio"), "{tested:?}");
    assert!(tested.stdout.contains("  everything__echo  "), "{tested:?}");
    let listed = gateway.cli(&["mcp", "list", "--json"]).ok().json();
    assert_eq!(listed["servers"][0]["state"], "ready", "{listed}");
    let table = gateway.cli(&["mcp", "list"]).ok();
    assert!(table.stdout.contains("everything") && table.stdout.contains("ready"));
    let shown = gateway.cli(&["mcp", "show", "everything"]).ok().json();
    assert!(
        shown["toolList"]
            .as_array()
            .is_some_and(|tools| tools.len() > 5),
        "{shown}"
    );
    let called = gateway
        .cli(&["call", "everything__echo", r#"{"message":"hi there"}"#])
        .ok();
    assert!(called.stdout.contains("hi there"), "{called:?}");

    let before = config(&gateway.home);
    refused(&gateway.cli(&add), "server everything already exists");
    assert_eq!(config(&gateway.home), before);

    gateway.cli(&["mcp", "remove", "everything"]).ok();
    let listed = gateway.cli(&["mcp", "list", "--json"]).ok().json();
    assert_eq!(listed["count"], 0, "{listed}");
    assert!(!config(&gateway.home).contains("[mcpServers.everything]"));
    refused(
        &gateway.cli(&["mcp", "remove", "everything"]),
        "no MCP server",
    );
    refused(
        &gateway.cli(&["mcp", "test", "everything"]),
        "no MCP server",
    );
}

#[test]
fn a_server_that_does_not_start_fails_its_test_and_shows_its_last_words() {
    let gateway = Gateway::start();
    let script = "echo the licence has run out >&2; exit 3";
    gateway
        .cli(&["mcp", "add", "broken", "--", "sh", "-c", script])
        .ok();
    let tested = gateway.cli(&["mcp", "test", "broken"]);
    refused(&tested, "error: ");
    assert!(
        tested.stderr.contains("the licence has run out"),
        "{tested:?}"
    );
    let small = Small::beside(&gateway.home);
    small.add(&gateway);
    gateway.cli(&["mcp", "test", "small"]).ok();
    eventually("its words", || {
        let logs = gateway.cli(&["mcp", "logs", "small"]).ok();
        logs.stdout.contains("small is up")
    });
}

#[test]
fn what_makes_no_server_is_refused_and_nothing_is_written() {
    let home = Home::new();
    for (words, told) in [
        (&["mcp", "add", "x"][..], "no server given"),
        (
            &["mcp", "add", "x", "--url", "http://a/mcp", "--", "b"],
            "exclude each other",
        ),
        (
            &["mcp", "add", "x", "--url", "http://a/mcp", "--env", "A=b"],
            "need a command",
        ),
        (
            &["mcp", "add", "x", "--header", "A=b", "--", "c"],
            "--header needs",
        ),
        (&["mcp", "add", "x", "--", "./nowhere"], "file not found"),
        (&["mcp", "add", "x", "--url", "no address"], "url"),
    ] {
        refused(&home.cli(words), told);
        assert_eq!(config(&home), "", "{words:?}");
    }
    let bad = home.cli(&["mcp", "add", "gsv", "--", "c"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
    home.cli(&[
        "mcp",
        "add",
        "x",
        "--url",
        "http://a/mcp",
        "--header",
        "A=b",
    ])
    .ok();
    let expected = json!("http://a/mcp");
    assert_eq!(server(&home, "x")["url"], expected);
    let listed = home.cli(&["mcp", "list", "--json"]).ok().json();
    assert_eq!(listed["servers"][0]["state"], "stopped", "{listed}");
    home.cli(&["mcp", "remove", "x"]).ok();
    assert!(!config(&home).contains("http://a/mcp"));
}

#[test]
fn a_secret_on_the_command_line_is_told_of() {
    let home = Home::new();
    let words = [
        "mcp",
        "add",
        "x",
        "--env",
        "API_KEY=0123456789",
        "--env",
        "LEVEL=3",
        "--",
        "c",
    ];
    let added = home.cli(&words).ok();
    assert!(
        added.stderr.contains("API_KEY looks like a secret"),
        "{added:?}"
    );
    assert!(!added.stderr.contains("LEVEL"), "{added:?}");
    let words = ["mcp", "add", "y", "--env", "API_KEY=${KEY}", "--", "c"];
    let added = home.cli(&words).ok();
    assert!(!added.stderr.contains("looks like a secret"), "{added:?}");
}

#[test]
fn over_the_network_only_addresses_are_added() {
    let gateway = Gateway::start();
    let far = |words: &[&str]| {
        // Another home: to it the gateway is one elsewhere.
        let mut command = Command::new(BINARY);
        command.args(words);
        let mut command = gateway.home.wrap(command);
        command
            .env("MANYHANDS_HOME", gateway.home.outside("another"))
            .env("MANYHANDS_URL", &gateway.url)
            .env("MANYHANDS_TOKEN", &gateway.owner);
        run(command, "")
    };
    refused(
        &far(&["mcp", "add", "x", "--", "sh"]),
        "a remote gateway accepts only servers with --url",
    );
    assert_eq!(gateway.cli(&["mcp", "list", "--json"]).json()["count"], 0);
    far(&["mcp", "add", "x", "--url", "http://127.0.0.1:9/mcp"]).ok();
    let listed = far(&["mcp", "list", "--json"]).ok().json();
    assert_eq!(
        listed["servers"][0]["url"], "http://127.0.0.1:9/mcp",
        "{listed}"
    );
    assert_eq!(server(&gateway.home, "x")["url"], "http://127.0.0.1:9/mcp");
    assert!(!gateway.home.outside("another").join("config.toml").exists());
    far(&["mcp", "remove", "x"]).ok();
    assert_eq!(gateway.cli(&["mcp", "list", "--json"]).json()["count"], 0);
}

#[test]
fn a_changed_description_is_shown_and_held_until_it_is_accepted() {
    let gateway = Gateway::start();
    let small = Small::beside(&gateway.home);
    small.add(&gateway);
    gateway.cli(&["mcp", "test", "small"]).ok();
    refused(
        &gateway.cli(&["mcp", "accept", "small"]),
        "no held tools: small",
    );

    std::fs::write(&small.about, "Greets you and sends your files").expect("a description");
    let tested = gateway.cli(&["mcp", "test", "small"]).ok();
    assert!(tested.stderr.contains("mcp accept small"), "{tested:?}");
    let described = || {
        let listed = gateway.cli(&["mcp", "show", "small"]).ok().json();
        listed["toolList"][0]["description"].clone()
    };
    let only_shown = gateway.cli(&["mcp", "accept", "small", "greet"]);
    refused(&only_shown, "nothing was accepted");
    for line in [
        "-description: Greets you\n",
        "+description: Greets you and sends your files\n",
    ] {
        assert!(only_shown.stdout.contains(line), "{only_shown:?}");
    }
    assert_eq!(described(), "Greets you");
    refused(
        &gateway.cli(&["mcp", "accept", "small", "other", "--yes"]),
        "no held tools: other",
    );
    assert_eq!(described(), "Greets you");

    let taken = gateway.cli(&["mcp", "accept", "small", "--yes"]).ok();
    assert!(taken.stdout.contains("accepted greet"), "{taken:?}");
    assert_eq!(described(), "Greets you and sends your files");
    refused(
        &gateway.cli(&["mcp", "accept", "small", "--yes"]),
        "no held tools",
    );
}

#[test]
fn servers_of_every_program_are_taken_over() {
    for (program, file, text, name, what) in [
        (
            "claude-desktop",
            "user/.config/Claude/claude_desktop_config.json",
            "claude_desktop_config.json",
            "filesystem",
            ("command", "npx"),
        ),
        (
            "claude-code",
            "user/.claude.json",
            "claude.json",
            "sentry",
            ("type", "http"),
        ),
        (
            "claude-code",
            ".mcp.json",
            "project.mcp.json",
            "tools",
            ("command", "node"),
        ),
        (
            "cursor",
            "user/.cursor/mcp.json",
            "cursor.json",
            "figma",
            ("url", "https://mcp.figma.example/mcp"),
        ),
        (
            "vscode",
            ".vscode/mcp.json",
            "vscode.json",
            "docs",
            ("url", "https://docs.example/mcp"),
        ),
        (
            "windsurf",
            "user/.codeium/windsurf/mcp_config.json",
            "windsurf.json",
            "stream",
            ("type", "http"),
        ),
        (
            "zed",
            "user/.config/zed/settings.json",
            "zed.json",
            "older",
            ("command", "/opt/older"),
        ),
        (
            "codex",
            "user/.codex/config.toml",
            "codex.toml",
            "context7",
            ("command", "npx"),
        ),
        (
            "opencode",
            "user/.config/opencode/opencode.json",
            "opencode.json",
            "everything",
            ("command", "npx"),
        ),
        (
            "gemini",
            "user/.gemini/settings.json",
            "gemini.json",
            "events",
            ("type", "sse"),
        ),
        (
            "goose",
            "user/.config/goose/config.yaml",
            "goose.yaml",
            "tavily",
            ("command", "npx"),
        ),
        (
            "cline",
            "user/.cline/data/settings/cline_mcp_settings.json",
            "cline.json",
            "stream",
            ("type", "http"),
        ),
        (
            "continue",
            "user/.continue/config.yaml",
            "continue.yaml",
            "docs",
            ("command", "uvx"),
        ),
    ] {
        let home = Home::new();
        put(&home.outside(file), &fixture(text));
        let shown = home.cli(&["mcp", "import"]).ok();
        assert!(
            shown.stdout.contains(name) && shown.stdout.contains(program),
            "{shown:?}"
        );
        assert_eq!(config(&home), "", "{program}: looking changes nothing");
        let taken = home.cli(&["mcp", "import", program]).ok();
        assert!(
            taken.stdout.contains(&format!("added {name} from ")),
            "{taken:?}"
        );
        let written = server(&home, name);
        assert_eq!(written[what.0], what.1, "{program}: {written}");
        home.cli(&["config", "check"]).ok();
        for secret in [
            "ghp_0123456789",
            "fig_0123456789",
            "hunter2",
            "ctx7sk",
            "0123456789",
        ] {
            assert!(!config(&home).contains(secret), "{program}: {secret}");
        }
        let again = home.cli(&["mcp", "import", program]).ok();
        assert!(
            again.stdout.contains(&format!("{name} already exists")),
            "{again:?}"
        );
    }
}

#[test]
fn secrets_go_into_the_vault_and_reach_the_program() {
    let gateway = Gateway::start();
    let small = Small::beside(&gateway.home);
    let file = gateway.home.outside("servers.json");
    let entry = json!({ "mcpServers": {
        "small": { "command": "sh", "args": small.args(), "env": { "SMALL_TOKEN": "hidden-0123456789" } },
        "off": { "command": "sh", "disabled": true },
    } });
    put(&file, &entry.to_string());
    let path = file.display().to_string();
    let dry = gateway.cli(&["mcp", "import", &path, "--dry-run"]).ok();
    assert!(dry.stdout.contains("would add small"), "{dry:?}");
    assert_eq!(gateway.cli(&["mcp", "list", "--json"]).json()["count"], 0);
    assert_eq!(gateway.cli(&["secret", "list"]).ok().stdout, "");

    let taken = gateway.cli(&["mcp", "import", &path]).ok();
    assert!(!format!("{taken:?}").contains("hidden-"), "{taken:?}");
    assert_eq!(
        gateway.cli(&["secret", "list"]).ok().stdout,
        "mcp/small/SMALL_TOKEN\n"
    );
    assert!(!config(&gateway.home).contains("hidden-"));
    gateway.cli(&["mcp", "test", "small"]).ok();
    let saw = std::fs::read_to_string(&small.saw).expect("what it saw");
    assert_eq!(saw, "hidden-0123456789");
    let off = gateway.cli(&["mcp", "show", "off"]).ok().json();
    assert_eq!(off["state"], "off");

    let removed = gateway.cli(&["mcp", "remove", "small"]).ok();
    assert!(
        removed
            .stderr
            .contains("secret remove mcp/small/SMALL_TOKEN"),
        "{removed:?}"
    );
}

#[test]
fn nothing_is_overwritten_unless_that_is_said() {
    let home = Home::new();
    let write = |name: &str, command: &str| {
        let file = home.outside(name);
        let entry = json!({ "mcpServers": { "x": { "command": command }, "y": { "command": "unnamed-program" } } });
        put(&file, &entry.to_string());
        file.display().to_string()
    };
    let one = write("one.json", "one");
    home.cli(&["mcp", "import", &one, "x"]).ok();
    assert_eq!(server(&home, "x")["command"], "one");
    assert!(
        !config(&home).contains("unnamed-program"),
        "only what was named"
    );
    let two = write("two.json", "two");
    refused(&home.cli(&["mcp", "import", &two, "x"]), "--force");
    assert_eq!(server(&home, "x")["command"], "one");
    home.cli(&["mcp", "import", &two, "x", "--force"]).ok();
    assert_eq!(server(&home, "x")["command"], "two");
    refused(&home.cli(&["mcp", "import", &two, "z"]), "not found: z");
    refused(
        &home.cli(&["mcp", "import", "nowhere.json"]),
        "nowhere.json",
    );
    refused(
        &home.cli(&["mcp", "import", "cursor"]),
        "no MCP servers of cursor",
    );

    // The same name with other settings in two programs: the first is taken, the second told.
    let fresh = Home::new();
    put(
        &fresh.outside("user/.cursor/mcp.json"),
        r#"{"mcpServers":{"x":{"command":"cursor"}}}"#,
    );
    put(
        &fresh.outside("user/.codeium/windsurf/mcp_config.json"),
        r#"{"mcpServers":{"x":{"command":"windsurf"},"z":{"command":"z"}}}"#,
    );
    let all = fresh.cli(&["mcp", "import", "--all"]).ok();
    assert!(
        all.stderr
            .contains("skipped x: another server with that name"),
        "{all:?}"
    );
    assert_eq!(server(&fresh, "x")["command"], "cursor");
    assert_eq!(server(&fresh, "z")["command"], "z");
}

/// A server over HTTP that wants a token, and remembers what it was shown.
struct Guarded {
    url: String,
    shown: Arc<Mutex<Vec<String>>>,
}

impl Guarded {
    fn start(token: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (wanted, kept) = (format!("Bearer {token}"), shown.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (wanted, kept) = (wanted.clone(), kept.clone());
                std::thread::spawn(move || while serve(&stream, &wanted, &kept).is_some() {});
            }
        });
        Self { url, shown }
    }
}

/// One request; nothing when the connection is over.
fn serve(stream: &TcpStream, wanted: &str, shown: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length, mut bearer) = (String::new(), 0, String::new());
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => bearer = value.trim().to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    shown.lock().expect("the list").push(bearer.clone());
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let answer = |result: Value| json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
    let (status, said) = if bearer != wanted {
        ("401 Unauthorized", Value::Null)
    } else if !first.starts_with("POST") {
        ("405 Method Not Allowed", Value::Null)
    } else {
        match asked["method"].as_str().unwrap_or("") {
            "initialize" => (
                "200 OK",
                answer(json!({
                    "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "guarded", "version": "0" },
                })),
            ),
            "tools/list" => (
                "200 OK",
                answer(json!({ "tools": [
                { "name": "greet", "description": "Greets", "inputSchema": { "type": "object" } },
            ] })),
            ),
            "tools/call" => (
                "200 OK",
                answer(json!({ "content": [{ "type": "text", "text": "hello" }] })),
            ),
            "ping" => ("200 OK", answer(json!({}))),
            notice if notice.starts_with("notifications/") => ("202 Accepted", Value::Null),
            _ => (
                "200 OK",
                json!({ "jsonrpc": "2.0", "id": asked["id"], "error": { "code": -32601, "message": "no" } }),
            ),
        }
    };
    let body = if said.is_null() {
        String::new()
    } else {
        said.to_string()
    };
    let mut out = stream;
    write!(
        out,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .ok()
}

#[test]
fn an_account_is_opened_tried_corrected_used_and_closed() {
    let gateway = Gateway::start();
    let guarded = Guarded::start("right-0123456789");
    gateway
        .cli(&["mcp", "add", "guarded", "--url", &guarded.url])
        .ok();
    refused(&gateway.cli(&["mcp", "test", "guarded"]), "error: ");
    let none = gateway.cli(&["connection", "list"]).ok();
    assert!(none.stdout.contains("no connections yet"), "{none:?}");

    let words = [
        "connection",
        "add",
        "guarded",
        "--name",
        "mine",
        "--credential",
        "token",
    ];
    refused(
        &gateway.home.cli_with(&words, ""),
        "no value given for token",
    );
    let added = gateway.home.cli_with(&words, "wrong-0123456789\n").ok();
    let pcid = added.stdout.trim().to_owned();
    assert!(!format!("{added:?}").contains("wrong-"), "{added:?}");
    refused(&gateway.cli(&["connection", "test", &pcid]), "mine: error");

    // From the environment this time.
    let mut command = gateway.command();
    command.args([
        "connection",
        "set",
        &pcid,
        "--credential",
        "token=MY_TOKEN",
        "--agents",
        "main",
        "team-*",
    ]);
    command.env("MY_TOKEN", "right-0123456789");
    run(command, "").ok();
    let tried = gateway.cli(&["connection", "test", &pcid]).ok();
    assert_eq!(tried.stdout, "mine: connected\n");
    let shown = gateway.cli(&["connection", "show", &pcid]).ok().json();
    assert_eq!(shown["agents"], json!(["main", "team-*"]));
    assert_eq!(shown["fields"], json!(["token"]));
    let listed = gateway.cli(&["connection", "list"]).ok();
    for word in ["guarded", "mine", "connected", "token"] {
        assert!(listed.stdout.contains(word), "{word}: {listed:?}");
    }
    for said in [&shown.to_string(), &listed.stdout] {
        assert!(!said.contains("right-0123456789"), "{said}");
    }
    assert!(!config(&gateway.home).contains("right-"));
    eventually("the tool", || {
        gateway.call("guarded__greet", json!({}))["ok"] == true
    });
    let last = guarded.shown.lock().expect("the list").last().cloned();
    assert_eq!(last.as_deref(), Some("Bearer right-0123456789"));

    gateway.cli(&["connection", "remove", &pcid]).ok();
    refused(
        &gateway.cli(&["connection", "show", &pcid]),
        "there is no connection",
    );
    let listed = gateway.cli(&["connection", "list", "--json"]).ok().json();
    assert_eq!(listed["count"], 0);
    assert_eq!(gateway.cli(&["secret", "list"]).ok().stdout, "");
}

#[test]
fn several_credentials_come_line_by_line_and_never_as_arguments() {
    let gateway = Gateway::start();
    let small = Small::beside(&gateway.home);
    small.add(&gateway);
    let words = [
        "connection",
        "add",
        "small",
        "--credential",
        "USER",
        "--credential",
        "SMALL_TOKEN",
    ];
    refused(
        &gateway.home.cli_with(&words, "only-one-line\n"),
        "no value given for SMALL_TOKEN",
    );
    refused(
        &gateway.home.cli_with(&words, "one\ntwo\nthree\n"),
        "got 3 lines",
    );
    let typed = gateway.cli(&[
        "connection",
        "add",
        "small",
        "--credential",
        "USER=not a name",
    ]);
    assert_eq!(typed.code, Some(2), "{typed:?}");
    refused(
        &gateway.cli(&["connection", "add", "small", "--credential", "USER=NOWHERE"]),
        "environment variable NOWHERE is not set",
    );
    assert_eq!(
        gateway.cli(&["connection", "list", "--json"]).json()["count"],
        0
    );
    let made = gateway
        .home
        .cli_with(&words, "somebody-else\nsmall-0123456789\n")
        .ok();
    gateway
        .cli(&["connection", "test", made.stdout.trim()])
        .ok();
    let saw = std::fs::read_to_string(&small.saw).expect("what it saw");
    assert_eq!(saw, "small-0123456789");
}
