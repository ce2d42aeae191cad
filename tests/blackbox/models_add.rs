//! `models add --base-url`: any server with an OpenAI-compatible API, from its address to a model that answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::chat_cli::Terminal;
use crate::harness::{BINARY, Gateway, Ran, run};

/// The key that the server takes.
const KEY: &str = "sk-custom-0123456789abcdef";

/// A server of models on this machine, below `/v1`.
struct Provider {
    /// Its address, without a path.
    url: String,
    /// Requests it got: method, path and key.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Provider {
    /// A server with these models; with `keyed`, it takes one key.
    fn open(models: &'static [&'static str], keyed: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let kept = kept.clone();
                std::thread::spawn(move || {
                    serve(stream.expect("a connection"), models, keyed, &kept);
                });
            }
        });
        Self { url, seen }
    }

    fn base(&self) -> String {
        format!("{}/v1", self.url)
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("the requests").clone()
    }
}

/// Answers one request.
fn serve(mut stream: TcpStream, models: &[&str], keyed: bool, seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a reader"));
    let mut first = String::new();
    if reader.read_line(&mut first).is_err() || first.is_empty() {
        return;
    }
    let (mut line, mut length, mut key) = (String::new(), 0, String::new());
    while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
        let (name, value) = line.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().expect("a length"),
            "authorization" => key = value.trim().trim_start_matches("Bearer ").to_owned(),
            _ => {}
        }
        line.clear();
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let asked: Vec<&str> = first.split(' ').take(2).collect();
    seen.lock()
        .expect("the requests")
        .push(format!("{} {key}", asked.join(" ")));
    let asked_for: Value = serde_json::from_slice(&body).unwrap_or_default();
    let model = asked_for["model"].as_str().unwrap_or_default();
    let error = |message: &str| json!({ "error": { "message": message } }).to_string();
    let (status, kind, body) = match asked.as_slice() {
        _ if keyed && key != KEY => ("401 Unauthorized", "application/json", error("invalid key")),
        ["GET", "/v1/models"] => {
            let models: Vec<Value> = models
                .iter()
                .map(|id| json!({ "id": id, "object": "model" }))
                .collect();
            let list = json!({ "object": "list", "data": models });
            ("200 OK", "application/json", list.to_string())
        }
        ["POST", "/v1/chat/completions"] if models.contains(&model) && model != "broken" => {
            let piece = json!({ "id": "1", "object": "chat.completion.chunk", "model": model, "choices": [{ "index": 0, "delta": { "content": "Ready." }, "finish_reason": "stop" }], "usage": { "prompt_tokens": 5, "completion_tokens": 2 } });
            (
                "200 OK",
                "text/event-stream",
                format!("data: {piece}\n\ndata: [DONE]\n\n"),
            )
        }
        _ => (
            "404 Not Found",
            "application/json",
            error("no such model or path"),
        ),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

/// What a change would show: the file and the names in the vault.
fn state(gateway: &Gateway) -> (String, Value) {
    let file = gateway.home.path().join("config.toml");
    let text = std::fs::read_to_string(file).expect("the settings");
    (
        text,
        gateway.get("/api/secrets").json()["result"]["names"].clone(),
    )
}

fn add(gateway: &Gateway, words: &[&str], key: &str) -> Ran {
    gateway
        .home
        .cli_with(&[&["models", "add", "--base-url"], words].concat(), key)
}

/// That it was refused for this reason and changed nothing.
#[track_caller]
fn refused(gateway: &Gateway, words: &[&str], key: &str, why: &[&str]) {
    let before = state(gateway);
    let ran = add(gateway, words, key);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for why in why {
        assert!(ran.stderr.contains(why), "{why}: {ran:?}");
    }
    assert!(
        !ran.stderr.contains(KEY) && !ran.stdout.contains(KEY),
        "{ran:?}"
    );
    assert_eq!(state(gateway), before, "{words:?}");
}

#[test]
fn a_server_is_added_by_its_address_and_answers() {
    let provider = Provider::open(&["small", "large"], false);
    let gateway = Gateway::start();
    let (before, _) = state(&gateway);
    // Without a model a script is told what there is.
    refused(
        &gateway,
        &[&provider.base()],
        "",
        &["several models", "large, small", "--model MODEL"],
    );
    let ran = add(&gateway, &[&provider.base(), "--model", "small"], "").ok();
    assert!(
        ran.stdout.contains("added local (http://127.0.0.1:"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("default    local/small"), "{ran:?}");
    assert!(ran.stdout.contains("ok  local/small replied"), "{ran:?}");
    let (after, secrets) = state(&gateway);
    assert_eq!(secrets, json!([]));
    assert!(after.contains("default = \"local/small\""), "{after}");
    let section = format!(
        "\n[models.providers.local]\nkind = \"openai\"\nbase_url = \"{}\"\n",
        provider.base()
    );
    assert!(after.contains(&section), "{after}");
    // The settings around it stay in their sections.
    let retry = |text: &str| {
        let from = text.find("[models.retry]").expect("the section");
        let end = text[from + 1..].find("\n[").expect("another section");
        text[from..from + 1 + end].contains("#retries = 2")
    };
    assert!(retry(&before) && retry(&after), "{after}");
    let said = gateway.cli(&["chat", "hello"]).ok();
    assert!(said.stdout.contains("Ready."), "{said:?}");
    let listed = gateway.cli(&["models", "--json"]).ok().json();
    assert_eq!(listed["default"], "local/small", "{listed}");
    // A second server gets a name of its own, and the default stays.
    let other = Provider::open(&["only"], false);
    let ran = add(&gateway, &[&other.base()], "").ok();
    assert!(
        ran.stdout.contains("added local-2") && !ran.stdout.contains("default "),
        "{ran:?}"
    );
    let ran = add(
        &gateway,
        &[&other.base(), "mine", "--default", "--json"],
        "",
    )
    .ok()
    .json();
    assert_eq!(
        (&ran["added"]["model"], &ran["added"]["default"]),
        (&json!("mine/only"), &json!("mine/only"))
    );
    gateway.cli(&["models", "remove", "local-2"]).ok();
    assert!(!state(&gateway).0.contains("local-2"));
}

#[test]
fn a_key_is_stored_in_the_vault_and_sent_only_to_its_server() {
    let provider = Provider::open(&["m"], true);
    let gateway = Gateway::start();
    refused(
        &gateway,
        &[&provider.base(), "work"],
        "",
        &["needs an API key", "printf"],
    );
    refused(
        &gateway,
        &[&provider.base(), "work"],
        "sk-wrong-0123456789",
        &["refused the API key"],
    );
    let ran = add(&gateway, &[&provider.base(), "work"], KEY).ok();
    assert!(
        ran.stdout.contains("API key stored in the vault as work"),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains(KEY));
    let (config, secrets) = state(&gateway);
    assert_eq!(secrets, json!(["work"]));
    assert!(
        config.contains("api_key = \"vault:work\"") && !config.contains(KEY),
        "{config}"
    );
    let said = gateway.cli(&["chat", "hello"]).ok();
    assert!(said.stdout.contains("Ready."), "{said:?}");
    let keyed = format!("POST /v1/chat/completions {KEY}");
    assert!(provider.seen().contains(&keyed), "{:?}", provider.seen());
}

#[test]
fn a_model_that_does_not_answer_is_not_added() {
    let provider = Provider::open(&["broken", "m"], true);
    let gateway = Gateway::start();
    for model in ["broken", "missing"] {
        refused(
            &gateway,
            &[&provider.base(), "work", "--model", model],
            KEY,
            &["nothing was added"],
        );
    }
    // What was there before stays as it was.
    add(&gateway, &[&provider.base(), "work", "--model", "m"], KEY).ok();
    refused(
        &gateway,
        &[&provider.base(), "work", "--model", "broken", "--default"],
        KEY,
        &["nothing was added"],
    );
    assert_eq!(state(&gateway).1, json!(["work"]));
}

#[test]
fn an_address_that_cannot_be_used_is_refused() {
    let provider = Provider::open(&["m"], false);
    let gateway = Gateway::start();
    for (url, why) in [
        ("127.0.0.1:8080", "--base-url"),
        (
            "http://me:hidden-word@127.0.0.1:1/v1",
            "must not contain a user name or password",
        ),
        ("http://127.0.0.1:1/v1", "nothing was changed"),
        (&format!("{}/other", provider.url), "status 404"),
    ] {
        refused(&gateway, &[url], "", &[why]);
    }
    refused(
        &gateway,
        &[&provider.base(), "sk-Key"],
        "",
        &["must have 1 to 64 of a-z"],
    );
    // The address without the path of the API, as servers print it.
    let ran = add(&gateway, &[&provider.url, "mine"], "").ok();
    assert!(
        ran.stdout
            .contains(&format!("added mine ({})", provider.base())),
        "{ran:?}"
    );
    let other = Provider::open(&["m"], false);
    refused(
        &gateway,
        &[&other.base(), "mine"],
        "",
        &["already exists at", "choose another name"],
    );
}

#[test]
fn where_a_key_is_sent_is_never_set_over_the_network() {
    let provider = Provider::open(&["m"], false);
    let gateway = Gateway::start();
    let before = state(&gateway);
    let base = provider.base();
    let mut command = Command::new(BINARY);
    command.args(["models", "add", "--base-url", &base]);
    let mut command = gateway.home.wrap(command);
    command
        .env("MANYHANDS_HOME", gateway.home.outside("another"))
        .env("MANYHANDS_URL", &gateway.url)
        .env("MANYHANDS_TOKEN", &gateway.owner);
    let far = run(command, "");
    assert!(
        far.code == Some(1) && far.stderr.contains("another gateway"),
        "{far:?}"
    );
    let body = json!({ "maker": "mine", "base_url": base });
    let refused = gateway.post("/api/models/providers", &body);
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert_eq!(state(&gateway), before);
    assert_eq!(provider.seen(), [""; 0]);
}

#[test]
fn at_a_terminal_the_model_is_searched_and_chosen() {
    let provider = Provider::open(&["alpha-1", "alpha-2", "beta-1"], true);
    let gateway = Gateway::start();
    let words = format!("models add --base-url {} work", provider.base());
    let mut terminal = Terminal::open(&gateway.home, &words);
    terminal.sees("API key of work");
    terminal.types(&format!("{KEY}\n"));
    terminal.sees("3  beta-1");
    terminal.sees("empty cancels): ");
    terminal.types("alpha\n");
    terminal.sees("2  alpha-2");
    terminal.sees("empty cancels): ");
    terminal.types("2\n");
    let shown = terminal.sees("ok  work/alpha-2 replied");
    assert!(!shown.contains(KEY), "{shown}");
    terminal.ends();
    assert_eq!(state(&gateway).1, json!(["work"]));
}
