//! MCP servers by name and from pasted JSON: found, shown, asked about, added with their secrets in the vault, and used.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::chat_cli::Terminal;
use crate::harness::{Gateway, Home, Ran, up};
use crate::http::Request;
use crate::npm::packages;

/// No test asks the real registry.
const OFF: [&str; 2] = ["--registry", "off"];

fn config(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("config.toml")).unwrap_or_default()
}

fn secrets(gateway: &Gateway) -> Value {
    gateway.get("/api/secrets").json()["result"]["names"].clone()
}

/// The settings of one server.
#[track_caller]
fn server(home: &Home, name: &str) -> Value {
    let path = format!("mcpServers.{name}");
    home.cli(&["config", "get", &path]).ok().json()
}

fn add(gateway: &Gateway, words: &[&str]) -> Ran {
    add_with(gateway, words, "")
}

fn add_with(gateway: &Gateway, words: &[&str], input: &str) -> Ran {
    gateway
        .home
        .cli_with(&[&["mcp", "add"], words, &OFF].concat(), input)
}

/// That it was refused for these reasons and changed nothing.
#[track_caller]
fn refused(gateway: &Gateway, words: &[&str], input: &str, why: &[&str]) {
    let before = (config(&gateway.home), secrets(gateway));
    let ran = add_with(gateway, words, input);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    for why in why {
        assert!(ran.stderr.contains(why), "{why}: {ran:?}");
    }
    assert_eq!(
        (config(&gateway.home), secrets(gateway)),
        before,
        "{words:?}"
    );
}

#[test]
fn servers_are_found_by_words_without_a_gateway() {
    let home = Home::new();
    let search = |words: &[&str]| home.cli(&[&["mcp", "search"], words, &OFF].concat());
    let all = search(&["--json"]).ok().json();
    assert!(all["servers"].as_array().is_some_and(|all| all.len() >= 60));
    let mail = search(&["mail"]).ok();
    for name in ["google-workspace", "microsoft-365", "email"] {
        assert!(mail.stdout.contains(name), "{mail:?}");
    }
    assert!(!mail.stdout.contains("playwright"), "{mail:?}");
    let one = search(&["github", "issues", "--json"]).ok().json();
    assert_eq!(one["servers"][0]["name"], "github", "{one}");
    let none = search(&["zzzz-nothing"]);
    assert!(
        none.code == Some(1) && none.stdout.contains("no server found"),
        "{none:?}"
    );
    assert!(!home.path().exists(), "searching changes nothing");
}

#[test]
fn what_will_run_is_shown_and_nothing_is_written_without_consent() {
    let gateway = Gateway::start();
    let words = ["filesystem", "--input", "DIRECTORY=/srv/data"];
    refused(&gateway, &words, "", &["nothing was added", "--yes"]);
    let dry = add(&gateway, &[&words[..], &["--dry-run"]].concat()).ok();
    for line in [
        "Filesystem (filesystem)",
        "runs      npx -y @modelcontextprotocol/server-filesystem",
        "access    network and the files of your user",
        "DIRECTORY: directory the server may use",
        "checked   version ",
    ] {
        assert!(dry.stdout.contains(line), "{line}: {dry:?}");
    }
    assert!(!config(&gateway.home).contains("mcpServers.filesystem"));
    add(&gateway, &[&words[..], &["--yes"]].concat()).ok();
    let written = server(&gateway.home, "filesystem");
    assert_eq!(written["command"], "npx");
    assert_eq!(
        written["args"],
        json!(["-y", "@modelcontextprotocol/server-filesystem", "/srv/data"])
    );
    refused(
        &gateway,
        &[&words[..], &["--yes"]].concat(),
        "",
        &["already exists"],
    );
    add(
        &gateway,
        &[&words[..], &["--yes", "--name", "more-files"]].concat(),
    )
    .ok();
    assert_eq!(server(&gateway.home, "more-files")["command"], "npx");
}

#[test]
fn a_key_is_stored_in_the_vault_and_only_referred_to() {
    let gateway = Gateway::start();
    let key = "github_pat_0123456789abcdef";
    let file = gateway.home.outside("token.txt");
    std::fs::write(&file, format!("{key}\n")).expect("the file");
    let from = format!("GITHUB_TOKEN=@{}", file.display());
    refused(
        &gateway,
        &["github", "--yes"],
        "",
        &["missing values", "--secret GITHUB_TOKEN=@FILE"],
    );
    refused(
        &gateway,
        &["github", "--yes", "--input", &format!("GITHUB_TOKEN={key}")],
        "",
        &["is a secret", "--secret GITHUB_TOKEN=@FILE"],
    );
    refused(
        &gateway,
        &["github", "--yes", "--secret", &from, "--input", "OTHER=x"],
        "",
        &["unknown input OTHER", "it needs GITHUB_TOKEN"],
    );
    refused(
        &gateway,
        &["github", "--yes", "--secret", "GITHUB_TOKEN=NOT_SET"],
        "",
        &["NOT_SET is not set"],
    );
    refused(
        &gateway,
        &["github", "--yes", "--secret", "GITHUB_TOKEN=ghp-1"],
        "",
        &["name of an environment variable"],
    );
    let done = add(&gateway, &["github", "--yes", "--secret", &from]).ok();
    for line in [
        "scopes: repo, read:org",
        "get it at https://github.com/settings/",
        "connects  https://api.githubcopilot.com/mcp/",
    ] {
        assert!(done.stdout.contains(line), "{line}: {done:?}");
    }
    assert!(!done.stdout.contains(key) && !done.stderr.contains(key));
    assert_eq!(secrets(&gateway), json!(["mcp/github/GITHUB_TOKEN"]));
    let text = config(&gateway.home);
    assert!(
        text.contains("Bearer ${mcp/github/GITHUB_TOKEN}") && !text.contains(key),
        "{text}"
    );
    // Its key is still in the vault when it is added again.
    gateway.cli(&["mcp", "remove", "github"]).ok();
    add(&gateway, &["github", "--yes"]).ok();
    assert!(config(&gateway.home).contains("${mcp/github/GITHUB_TOKEN}"));
    // Without a gateway there is no vault to store it in.
    let home = gateway.stop();
    let ran = home.cli(&[
        "mcp",
        "add",
        "tavily",
        "--yes",
        "--secret",
        &from.replace("GITHUB_TOKEN", "TAVILY_API_KEY"),
    ]);
    assert!(
        ran.code == Some(1) && ran.stderr.contains("no gateway is running"),
        "{ran:?}"
    );
    assert!(!config(&home).contains("[mcpServers.tavily]"));
    home.cli(&["mcp", "add", "playwright", "--yes"]).ok();
    assert!(config(&home).contains("@playwright/mcp"));
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest_ones() {
    let gateway = Gateway::start();
    refused(
        &gateway,
        &["gihtub", "--yes"],
        "",
        &["did you mean github", "mcp search gihtub"],
    );
    refused(
        &gateway,
        &["zzzzzzzzzzzz", "--yes"],
        "",
        &["is not a well-known server"],
    );
    refused(
        &gateway,
        &["io.github.a/b", "--yes"],
        "",
        &["--registry off excludes"],
    );
    refused(
        &gateway,
        &["github", "--env", "A=b"],
        "",
        &["--env needs --url"],
    );
}

#[test]
fn a_well_known_server_is_added_by_name_and_called() {
    let modules = packages("mcp-servers").join("node_modules");
    let home = Home::new();
    // As npx would, but from what the lock file of the tests pins.
    let npx = format!(
        "#!/bin/sh\n[ \"$1\" = -y ] || exit 2\npackage=$2\nshift 2\nexec node '{}'/\"$package\"/dist/index.js \"$@\"\n",
        modules.display()
    );
    let bin = home.outside("bin");
    std::fs::create_dir(&bin).expect("a folder");
    std::fs::write(bin.join("npx"), npx).expect("the program");
    let program = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bin.join("npx"), program).expect("its mode");
    let mut command = up(&home);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bin.display()));
    let gateway = Gateway::from(home, command);
    add(&gateway, &["everything", "--yes"]).ok();
    let tested = gateway.cli(&["mcp", "test", "everything"]).ok();
    assert!(tested.stdout.contains("  everything__echo  "), "{tested:?}");
    let called = gateway
        .cli(&["call", "everything__echo", r#"{"message":"by name"}"#])
        .ok();
    assert!(called.stdout.contains("by name"), "{called:?}");
}

#[test]
fn json_of_a_readme_is_added_with_its_secrets_in_the_vault() {
    let gateway = Gateway::start();
    let key = "tvly-0123456789abcdef";
    let pasted = json!({ "mcpServers": { "search": {
        "command": "npx", "args": ["-y", "tavily-mcp"], "env": { "TAVILY_API_KEY": key, "LEVEL": "3" },
    } } });
    refused(
        &gateway,
        &["--json", &pasted.to_string()],
        "",
        &["nothing was added"],
    );
    let done = add_with(&gateway, &["--json", "-", "--yes"], &pasted.to_string()).ok();
    assert!(
        done.stdout
            .contains("TAVILY_API_KEY; will be moved to the vault"),
        "{done:?}"
    );
    assert!(!done.stdout.contains(key), "{done:?}");
    let text = config(&gateway.home);
    assert!(
        text.contains("${mcp/search/TAVILY_API_KEY}") && !text.contains(key),
        "{text}"
    );
    assert_eq!(secrets(&gateway), json!(["mcp/search/TAVILY_API_KEY"]));

    // A fragment in a code block, with placeholders: what is missing is named.
    let readme = "Add to your settings:\n```json\n\"weather\": {\n  \"command\": \"uvx\",\n  \"args\": [\"weather\", \"--city\", \"<YOUR_CITY>\"],\n  \"env\": { \"API_KEY\": \"YOUR_TOKEN_HERE\" }, // from the site\n},\n```\n";
    refused(
        &gateway,
        &["--json", "-", "--yes"],
        readme,
        &["--input YOUR_CITY=VALUE", "--secret API_KEY=@FILE"],
    );
    let file = gateway.home.outside("key");
    std::fs::write(&file, "weather-0123456789").expect("the file");
    let from = format!("API_KEY=@{}", file.display());
    let words = [
        "--json",
        "-",
        "--yes",
        "--input",
        "YOUR_CITY=Bern",
        "--secret",
        &from,
    ];
    add_with(&gateway, &words, readme).ok();
    let written = server(&gateway.home, "weather");
    assert_eq!(written["args"], json!(["weather", "--city", "Bern"]));
    assert!(config(&gateway.home).contains("${mcp/weather/API_KEY}"));

    // VS Code's settings, with an input that is prompted for.
    let code = json!({ "mcp": {
        "inputs": [{ "type": "promptString", "id": "token", "description": "API token", "password": true }],
        "servers": { "issues": { "type": "http", "url": "https://issues.example/mcp", "headers": { "Authorization": "Bearer ${input:token}" } } },
    } })
    .to_string();
    refused(
        &gateway,
        &["--json", &code, "--yes"],
        "",
        &["--secret token=@FILE"],
    );
    let from = format!("token=@{}", file.display());
    add(&gateway, &["--json", &code, "--yes", "--secret", &from]).ok();
    assert!(config(&gateway.home).contains("Bearer ${mcp/issues/token}"));

    // A single entry needs a name.
    let one = r#"{ "url": "https://one.example/mcp" }"#;
    refused(
        &gateway,
        &["--json", one, "--yes"],
        "",
        &["choose one with --name"],
    );
    add(&gateway, &["--json", one, "--yes", "--name", "one"]).ok();
    assert_eq!(
        server(&gateway.home, "one")["url"],
        "https://one.example/mcp"
    );
    for (wrong, why) in [
        ("{", "invalid JSON"),
        ("{}", "no MCP server"),
        ("[1]", "not an object"),
    ] {
        refused(&gateway, &["--json", wrong, "--yes"], "", &[why]);
    }
}

#[test]
fn at_a_terminal_the_key_is_asked_for_and_not_shown() {
    let gateway = Gateway::start();
    let mut terminal = Terminal::open(&gateway.home, "mcp add tavily");
    terminal.sees("get it at https://app.tavily.com");
    terminal.sees("Add it? [y/N]");
    terminal.types("y\n");
    terminal.sees("(hidden): ");
    terminal.types("tvly-0123456789abcdef\n");
    let shown = terminal.sees("stored secret mcp/tavily/TAVILY_API_KEY in the vault");
    assert!(!shown.contains("tvly-"), "{shown}");
    terminal.ends();
    assert!(config(&gateway.home).contains("${mcp/tavily/TAVILY_API_KEY}"));
    let mut terminal = Terminal::open(&gateway.home, "mcp add exa");
    terminal.sees("Add it? [y/N]");
    terminal.types("n\n");
    terminal.sees("nothing was added");
    assert!(!config(&gateway.home).contains("exa-mcp-server"));
}

/// A registry that accepts only the requests its documentation describes.
struct FakeRegistry {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl FakeRegistry {
    fn open(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let mut lines = BufReader::new(stream.try_clone().expect("a reader")).lines();
                let first = lines.next().and_then(Result::ok).unwrap_or_default();
                let rest = lines
                    .map_while(Result::ok)
                    .take_while(|line| !line.is_empty());
                let headers: Vec<String> = rest.map(|line| line.to_ascii_lowercase()).collect();
                let query = first
                    .strip_prefix("GET /v0/servers?")
                    .and_then(|rest| rest.strip_suffix(" HTTP/1.1"));
                let known = query.is_some_and(|query| {
                    query.split('&').all(|part| {
                        ["search=", "limit=", "version=latest"]
                            .iter()
                            .any(|name| part.starts_with(name))
                    })
                });
                let secret = headers.iter().any(|line| line.starts_with("authorization"));
                let (status, body) = match known && !secret {
                    true => ("200 OK", answer),
                    false => ("400 Bad Request", "{}"),
                };
                kept.lock().expect("the requests").push(first);
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
            }
        });
        Self { url, seen }
    }
}

const PUBLISHED: &str = r#"{ "servers": [
  { "server": {
      "name": "io.github.owner/mail-helper", "description": "Reads mail\u001b[2J", "version": "2.1.0",
      "repository": { "url": "https://github.com/owner/mail-helper", "source": "github" },
      "packages": [{ "registryType": "npm", "identifier": "@owner/mail-helper", "version": "2.1.0",
        "transport": { "type": "stdio" },
        "environmentVariables": [{ "name": "MAIL_TOKEN", "isRequired": true, "isSecret": true, "description": "token" }] }] },
    "_meta": { "io.modelcontextprotocol.registry/official": { "isLatest": true } } },
  { "server": { "name": "io.github.owner/mail-evil", "description": "x", "version": "1",
      "packages": [{ "registryType": "npm", "identifier": "--registry=https://evil.example", "version": "1", "transport": { "type": "stdio" } }] } }
], "metadata": { "count": 2 } }"#;

#[test]
fn the_registry_is_searched_and_a_result_is_added_only_with_consent() {
    let registry = FakeRegistry::open(PUBLISHED);
    let gateway = Gateway::start();
    let at = ["--registry", registry.url.as_str()];
    let found = gateway
        .cli(&[&["mcp", "search", "mail"][..], &at].concat())
        .ok();
    let line = found
        .stdout
        .lines()
        .find(|line| line.contains("io.github.owner/mail-helper"));
    assert!(
        line.is_some_and(|line| line.contains("registry") && line.contains("npx")),
        "{found:?}"
    );
    assert!(
        !found.stdout.contains('\u{1b}') && !found.stdout.contains("mail-evil"),
        "{found:?}"
    );
    assert!(
        found.stdout.contains("google-workspace"),
        "the built-in ones are there too"
    );

    let name = "io.github.owner/mail-helper";
    let add = |words: &[&str]| gateway.cli(&[&["mcp", "add", name], words, &at].concat());
    let before = config(&gateway.home);
    let shown = add(&[]);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    for line in [
        "runs      npx -y @owner/mail-helper@2.1.0",
        "manyhands has not checked it",
    ] {
        assert!(shown.stdout.contains(line), "{line}: {shown:?}");
    }
    assert_eq!(config(&gateway.home), before);
    let file = gateway.home.outside("key");
    std::fs::write(&file, "mail-0123456789").expect("the file");
    add(&[
        "--yes",
        "--secret",
        &format!("MAIL_TOKEN=@{}", file.display()),
    ])
    .ok();
    let written = server(&gateway.home, "mail-helper");
    assert_eq!(written["args"], json!(["-y", "@owner/mail-helper@2.1.0"]));
    let evil = gateway.cli(
        &[
            &["mcp", "add", "io.github.owner/mail-evil", "--yes"][..],
            &at,
        ]
        .concat(),
    );
    assert!(
        evil.code == Some(1) && evil.stderr.contains("invalid package name"),
        "{evil:?}"
    );
    let missing =
        gateway.cli(&[&["mcp", "add", "io.github.owner/other", "--yes"][..], &at].concat());
    assert!(
        missing.code == Some(1) && missing.stderr.contains("has no server"),
        "{missing:?}"
    );
    let seen = registry.seen.lock().expect("the requests").clone();
    assert!(
        seen[0].contains("search=mail") && seen.len() == 5,
        "{seen:?}"
    );
}

#[test]
fn a_registry_that_does_not_answer_does_not_hide_the_built_in_servers() {
    let home = Home::new();
    let broken = FakeRegistry::open("not json");
    for url in [broken.url.as_str(), "http://127.0.0.1:9"] {
        let found = home.cli(&["mcp", "search", "mail", "--registry", url]).ok();
        assert!(found.stdout.contains("google-workspace"), "{found:?}");
        assert!(found.stderr.contains("is not available"), "{found:?}");
        let json = home
            .cli(&["mcp", "search", "mail", "--json", "--registry", url])
            .ok()
            .json();
        assert!(
            json["registryError"].is_string() && json["registry"] == json!([]),
            "{json}"
        );
    }
    let wrong = home.cli(&["mcp", "search", "mail", "--registry", "no url"]);
    assert!(
        wrong.code == Some(1) && wrong.stderr.contains("--registry no url"),
        "{wrong:?}"
    );
}

#[test]
fn the_list_is_there_for_the_page_of_the_owner() {
    let gateway = Gateway::start();
    let listed = gateway.get("/api/directory/servers?search=mail").json();
    let servers = listed["result"]["servers"].as_array().expect("servers");
    assert!(
        servers.iter().any(|one| one["name"] == "google-workspace"),
        "{listed}"
    );
    let all = gateway.get("/api/directory/servers").json();
    assert!(
        all["result"]["servers"]
            .as_array()
            .is_some_and(|all| all.len() >= 60)
    );
    let token = gateway.client("phone");
    let request = Request::get("/api/directory/servers").bearer(&token);
    assert_eq!(gateway.send(&request).status, 403);
}
