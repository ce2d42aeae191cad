//! Providers of models by the names of their makers: added and removed by the owner, over HTTP and from the
//! command line. Makers have fixed addresses, so the one of these tests is the machine's own: it stands in
//! `models.makers`, which only the file can say.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, tree};
use crate::http::{Request, Response};

/// The key that the server takes.
const KEY: &str = "sk-house-0123456789abcdef";

/// A server of models on this machine: it takes one key, repeats a wrong one in its anger, and remembers
/// which it was shown.
struct House {
    url: String,
    keys: Arc<Mutex<Vec<String>>>,
}

impl House {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let keys = Arc::new(Mutex::new(Vec::new()));
        let seen = keys.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let seen = seen.clone();
                std::thread::spawn(move || serve(stream.expect("a connection"), &seen));
            }
        });
        Self { url, keys }
    }

    fn seen(&self) -> Vec<String> {
        self.keys.lock().expect("the keys").clone()
    }

    /// As the machine's own file has it, with things of the owner's around.
    fn settings(&self, more: &str) -> String {
        format!(
            "# my gateway\n{more}\n[log] # how much\nlevel = \"debug\" # all of it\n\n[models.makers.house]\n# down the hall\nkind = \"openai\"\ntitle = \"The house\"\nbase_url = \"{}\"\nmodel = \"m\"\n",
            self.url
        )
    }

    fn gateway(&self, more: &str) -> Gateway {
        Gateway::on(Home::new().with_config(&self.settings(more)))
    }
}

/// Answers one request.
fn serve(mut stream: TcpStream, seen: &Mutex<Vec<String>>) {
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
            "authorization" => value
                .trim()
                .trim_start_matches("Bearer ")
                .clone_into(&mut key),
            _ => {}
        }
        line.clear();
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    seen.lock().expect("the keys").push(key.clone());
    let (status, kind, body) = if key != KEY {
        let error = json!({ "error": { "message": format!("Incorrect API key provided: {key}"), "code": "invalid_api_key" } });
        ("401 Unauthorized", "application/json", error.to_string())
    } else if first.starts_with("GET ") {
        let list = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }, { "id": "n", "object": "model" }] });
        ("200 OK", "application/json", list.to_string())
    } else {
        let piece = json!({ "id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [{ "index": 0, "delta": { "content": "Good morning." }, "finish_reason": "stop" }], "usage": { "prompt_tokens": 5, "completion_tokens": 2 } });
        let body = format!("data: {piece}\n\ndata: [DONE]\n\n");
        ("200 OK", "text/event-stream", body)
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

#[track_caller]
fn add(gateway: &Gateway, body: Value) -> Response {
    gateway.post("/api/models/providers", &body)
}

#[track_caller]
fn remove(gateway: &Gateway, name: &str) -> Response {
    let path = format!("/api/models/providers/{name}");
    gateway.send(&Request::new("DELETE", &path).bearer(&gateway.owner))
}

#[track_caller]
fn good(response: Response) -> Value {
    let said = response.json();
    assert_eq!(said["ok"], true, "{said}");
    said["result"].clone()
}

#[track_caller]
fn refused(response: &Response, status: u16, words: &[&str]) {
    let said = response.text();
    assert_eq!(response.status, status, "{said}");
    for words in words {
        assert!(said.contains(words), "{words}: {said}");
    }
}

fn config(gateway: &Gateway) -> String {
    let file = gateway.home.path().join("config.toml");
    std::fs::read_to_string(file).expect("the settings")
}

fn secrets(gateway: &Gateway) -> Value {
    gateway.get("/api/secrets").json()["result"]["names"].clone()
}

/// What a change would show: the file, the names in the vault, the settings in force.
fn state(gateway: &Gateway) -> (String, Value, Value) {
    let settings = gateway.get("/api/config?path=models").json();
    (config(gateway), secrets(gateway), settings)
}

#[track_caller]
fn maker(gateway: &Gateway, id: &str) -> Value {
    let makers = good(gateway.get("/api/models/makers"));
    let all = makers["makers"].as_array().expect("makers");
    let found = all.iter().find(|maker| maker["id"] == id);
    found.unwrap_or_else(|| panic!("{id}: {makers}")).clone()
}

/// That nobody was told a key: not in what is kept on disk, the log or the audit.
#[track_caller]
fn untold(gateway: &Gateway, key: &str) {
    assert!(!gateway.daemon.log.text().contains(key), "the log");
    let audit = json!(gateway.audit()).to_string();
    assert!(!audit.contains(key), "{audit}");
    for (name, bytes) in tree(&gateway.home.path()) {
        let found = bytes.windows(key.len()).any(|part| part == key.as_bytes());
        assert!(!found, "{name}");
    }
}

#[test]
fn a_provider_is_added_from_a_preset_and_an_agent_answers() {
    let house = House::open();
    let gateway = house.gateway("");
    let before = config(&gateway);
    let offered = maker(&gateway, "house");
    assert_eq!(offered["standing"], "absent", "{offered}");
    assert_eq!(
        (&offered["hasKey"], &offered["needsKey"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(
        maker(&gateway, "anthropic")["address"],
        "https://api.anthropic.com"
    );

    let answer = add(&gateway, json!({ "maker": "house", "key": KEY }));
    assert!(!answer.text().contains(KEY));
    let added = good(answer);
    assert_eq!(added["model"], "house/m", "{added}");
    assert_eq!(added["default"], "house/m");
    assert_eq!(added["key"], "stored");
    assert_eq!(added["provider"]["provider"], "house");
    let offered = added["provider"]["offered"].as_array().expect("models");
    assert_eq!(offered.len(), 2, "{added}");

    let written = format!(
        "{before}\n[models]\ndefault = \"house/m\"\n\n[models.providers.house]\nkind = \"openai\"\nbase_url = \"{}\"\napi_key = \"vault:house\"\n",
        house.url
    );
    let sections = |text: &str| {
        let mut all: Vec<String> = text
            .split("\n\n")
            .map(|part| part.trim().to_owned())
            .collect();
        all.sort();
        all
    };
    assert_eq!(sections(&config(&gateway)), sections(&written));
    let head = before.split("\n\n").next().expect("a head");
    assert!(config(&gateway).starts_with(head), "{}", config(&gateway));
    assert_eq!(secrets(&gateway), json!(["house"]));
    assert_eq!(maker(&gateway, "house")["standing"], "set");
    let listed = good(gateway.get("/api/models"));
    assert_eq!(listed["providers"][0], added["provider"]);

    let tested = good(gateway.post("/api/models/test", &json!({})));
    assert_eq!(tested["text"], "Good morning.", "{tested}");
    let said = good(gateway.post("/api/chat", &json!({ "message": "hello" })));
    assert!(said.to_string().contains("Good morning."), "{said}");
    assert!(house.seen().iter().all(|key| key == KEY));
    let noted = gateway.audit();
    let noted = noted.iter().find(|entry| entry["tool"] == "model.add");
    assert!(noted.expect("a row").to_string().contains("house/m"));
    untold(&gateway, KEY);
    // It outlives a restart.
    let gateway = gateway.restart();
    good(gateway.post("/api/models/test", &json!({})));
}

#[test]
fn a_wrong_key_is_named_and_another_takes_its_place() {
    let house = House::open();
    let gateway = house.gateway("");
    let wrong = "sk-wrong-0123456789abcdef";
    let added = good(add(&gateway, json!({ "maker": "house", "key": wrong })));
    let why = added["provider"]["error"].as_str().expect("an error");
    assert!(why.contains("house"), "{why}");
    let tested = gateway.post("/api/models/test", &json!({}));
    assert_eq!(tested.json()["ok"], false, "{}", tested.text());
    for said in [added.to_string(), tested.text()] {
        assert!(
            !said.contains(wrong),
            "the server repeats it, we do not: {said}"
        );
    }
    let file = config(&gateway);
    let again = good(add(&gateway, json!({ "maker": "house", "key": KEY })));
    assert_eq!(again["key"], "stored", "{again}");
    assert_eq!(config(&gateway), file, "only the key changed");
    good(gateway.post("/api/models/test", &json!({})));
    // Without a key the one in the vault stays.
    let kept = good(add(
        &gateway,
        json!({ "maker": "house", "model": "n", "default": true }),
    ));
    assert_eq!(
        (&kept["key"], &kept["default"]),
        (&json!("kept"), &json!("house/n"))
    );
    good(gateway.post("/api/models/test", &json!({})));
    untold(&gateway, wrong);
    untold(&gateway, KEY);
}

#[test]
fn the_default_changes_only_on_request() {
    let house = House::open();
    let gateway = house.gateway("models.default = \"other/x\"\n[models.providers.other]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n");
    let added = good(add(&gateway, json!({ "maker": "house", "key": KEY })));
    assert_eq!(added["default"], "other/x", "{added}");
    assert_eq!(added["model"], "house/m");
    let added = good(add(
        &gateway,
        json!({ "maker": "house", "model": "house/n", "default": true }),
    ));
    assert_eq!(added["default"], "house/n", "{added}");
    assert!(config(&gateway).contains("default = \"house/n\""));
}

#[test]
fn a_request_cannot_choose_where_a_key_is_sent() {
    let (house, elsewhere) = (House::open(), House::open());
    let gateway = house.gateway("");
    let before = state(&gateway);
    let long = "x".repeat(300);
    for (body, words) in [
        (
            json!({ "maker": "house", "key": KEY, "base_url": elsewhere.url }),
            &["base_url"][..],
        ),
        (
            json!({ "maker": "house", "key": KEY, "baseUrl": elsewhere.url }),
            &["baseUrl"],
        ),
        (
            json!({ "maker": "house", "key": KEY, "address": elsewhere.url }),
            &["address"],
        ),
        (
            json!({ "maker": elsewhere.url, "key": KEY }),
            &["maker", "anthropic", "models.makers"],
        ),
        (json!({ "maker": "scripted", "key": KEY }), &["maker"]),
        (json!({ "maker": "", "key": KEY }), &["maker"]),
        (
            json!({ "maker": "house", "key": KEY, "model": "a b" }),
            &["model"],
        ),
        (
            json!({ "maker": "house", "key": KEY, "model": "a\"\nbase_url = \"x" }),
            &["model"],
        ),
        (
            json!({ "maker": "house", "key": KEY, "model": long }),
            &["model"],
        ),
        (
            json!({ "maker": "groq", "key": KEY, "default": true }),
            &["model", "Groq"],
        ),
        (
            json!({ "maker": "ollama", "key": KEY }),
            &["key", "does not use an API key"],
        ),
        (json!({ "maker": "house" }), &["key", "The house"]),
    ] {
        let answer = add(&gateway, body.clone());
        refused(&answer, 400, words);
        assert!(!answer.text().contains(KEY), "{}", answer.text());
    }
    for (path, value) in [
        ("models.makers.house.base_url", json!(elsewhere.url)),
        (
            "models.makers",
            json!({ "a": { "kind": "openai", "base_url": elsewhere.url } }),
        ),
        (
            "models.providers.house",
            json!({ "kind": "openai", "base_url": elsewhere.url }),
        ),
        ("models", json!({ "makers": {} })),
    ] {
        let body = json!({ "path": path, "value": value });
        let set = Request::new("PUT", "/api/config").json(&body);
        refused(
            &gateway.send(&set.bearer(&gateway.owner)),
            403,
            &["config.toml"],
        );
    }
    assert_eq!(state(&gateway), before);
    assert!(elsewhere.seen().is_empty());
    good(add(&gateway, json!({ "maker": "house", "key": KEY })));
    assert!(elsewhere.seen().is_empty());
    assert!(!house.seen().is_empty());
}

#[test]
fn an_invalid_key_is_refused_and_the_stored_one_stays() {
    let house = House::open();
    let gateway = house.gateway("");
    good(add(&gateway, json!({ "maker": "house", "key": KEY })));
    let before = state(&gateway);
    let huge = "x".repeat(5_000);
    for (key, words) in [
        (json!(""), "empty"),
        (json!("   "), "white space"),
        (json!(format!("Bearer {KEY}")), "white space"),
        (json!(format!("{KEY}\n")), "white space"),
        (json!("sk-\u{0}\u{7}0123456789"), "control"),
        (json!("sk-0123456789ü"), "not ASCII"),
        (json!("short"), "shorter"),
        (json!(huge), "longer"),
        (json!(123_456_789), "must be text"),
        (json!([KEY]), "must be text"),
    ] {
        let answer = add(
            &gateway,
            json!({ "maker": "house", "key": key, "model": "n", "default": true }),
        );
        refused(&answer, 400, &["key", words]);
        assert!(!answer.text().contains(KEY), "{}", answer.text());
        assert!(!answer.text().contains("123456789"), "{}", answer.text());
    }
    assert_eq!(state(&gateway), before);
    let tested = good(gateway.post("/api/models/test", &json!({})));
    assert_eq!(tested["model"], "house/m");
}

#[test]
fn a_failed_write_changes_neither_vault_nor_file() {
    let house = House::open();
    let gateway = house.gateway("");
    // Where the new file would be written stands something that cannot be moved away.
    let blocked = gateway.home.path().join("config.toml.new");
    std::fs::create_dir_all(blocked.join("full")).expect("a folder in the way");
    let before = state(&gateway);
    let answer = add(&gateway, json!({ "maker": "house", "key": KEY }));
    assert_eq!(answer.json()["ok"], false);
    refused(
        &answer,
        answer.status,
        &["config.toml", "nothing was changed"],
    );
    assert_eq!(state(&gateway), before);
    assert_eq!(secrets(&gateway), json!([]));
    std::fs::remove_dir_all(&blocked).expect("out of the way");
    good(add(&gateway, json!({ "maker": "house", "key": KEY })));

    // With a key in the vault, a failure leaves that one.
    std::fs::create_dir_all(blocked.join("full")).expect("a folder in the way");
    let other = "sk-other-0123456789abcdef";
    let answer = add(
        &gateway,
        json!({ "maker": "house", "key": other, "model": "n", "default": true }),
    );
    assert_eq!(answer.json()["ok"], false, "{}", answer.text());
    assert!(!answer.text().contains(other));
    good(gateway.post("/api/models/test", &json!({})));
    assert!(house.seen().iter().all(|key| key == KEY));
    std::fs::remove_dir_all(&blocked).expect("out of the way");

    // A file with a mistake in it is not touched either.
    let file = gateway.home.path().join("config.toml");
    let fine = config(&gateway);
    std::fs::write(&file, format!("{fine}\nnonsense = 1\n")).expect("the settings");
    let answer = add(
        &gateway,
        json!({ "maker": "house", "key": other, "model": "n", "default": true }),
    );
    refused(&answer, 409, &["nonsense"]);
    std::fs::write(&file, &fine).expect("the settings");
    good(gateway.post("/api/models/test", &json!({})));
    assert!(house.seen().iter().all(|key| key == KEY));
    untold(&gateway, other);
}

#[test]
fn another_provider_of_that_name_is_left_alone() {
    let (house, proxy) = (House::open(), House::open());
    let own = format!(
        "[models.providers.house]\n# through the proxy\nkind = \"openai\"\nbase_url = \"{}\"\napi_key = \"vault:house\"\n",
        proxy.url
    );
    let gateway = house.gateway(&own);
    let before = state(&gateway);
    let offered = maker(&gateway, "house");
    assert_eq!(offered["standing"], "different", "{offered}");
    let answer = add(
        &gateway,
        json!({ "maker": "house", "key": KEY, "default": true }),
    );
    refused(
        &answer,
        409,
        &["models.providers.house", "models remove house", &proxy.url],
    );
    assert_eq!(state(&gateway), before);
    assert!(house.seen().is_empty() && proxy.seen().is_empty());
    // As advised: once it is gone, the maker's own is added.
    good(remove(&gateway, "house"));
    good(add(
        &gateway,
        json!({ "maker": "house", "key": KEY, "default": true }),
    ));
    assert!(proxy.seen().is_empty());
}

#[test]
fn a_provider_goes_when_nothing_uses_it_and_its_key_with_it() {
    let house = House::open();
    let gateway = house.gateway(&format!("[models.providers.other]\nkind = \"openai\"\nbase_url = \"{}\"\n[agents.helper]\nmodel = \"other/m\"\n", house.url));
    good(add(&gateway, json!({ "maker": "house", "key": KEY })));
    let before = state(&gateway);
    refused(&remove(&gateway, "house"), 409, &["models.default"]);
    refused(&remove(&gateway, "other"), 409, &["agents.helper.model"]);
    refused(&remove(&gateway, "nobody"), 404, &["nobody"]);
    assert_eq!(state(&gateway), before);
    let body = json!({ "path": "models.default", "value": "other/m" });
    let set = Request::new("PUT", "/api/config").json(&body);
    good(gateway.send(&set.bearer(&gateway.owner)));
    let removed = good(remove(&gateway, "house"));
    assert_eq!(removed["keyRemoved"], true, "{removed}");
    assert_eq!(secrets(&gateway), json!([]));
    assert!(!config(&gateway).contains("[models.providers.house]"));
    assert!(config(&gateway).contains("# down the hall"));
    assert_eq!(maker(&gateway, "house")["standing"], "absent");

    // A key that something else uses stays.
    good(add(
        &gateway,
        json!({ "maker": "house", "key": KEY, "default": false }),
    ));
    let file = gateway.home.path().join("config.toml");
    let more = "\n[models.providers.second]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key = \"vault:house\"\n";
    std::fs::write(&file, format!("{}{more}", config(&gateway))).expect("the settings");
    let removed = good(remove(&gateway, "house"));
    assert_eq!(removed["keyRemoved"], false, "{removed}");
    assert_eq!(secrets(&gateway), json!(["house"]));
}

#[test]
fn only_the_owner_adds_removes_and_lists_providers() {
    let house = House::open();
    let gateway = house.gateway("");
    let before = state(&gateway);
    let make = |name: &str, role: &str| gateway.token(json!({ "name": name, "role": role })).0;
    let tokens = [
        ("a client", make("phone", "client"), 403),
        ("a reader", make("reader", "read-only"), 403),
        ("a node", make("laptop", "node"), 403),
        ("a stranger", "mh_nobody".to_owned(), 401),
    ];
    for (who, token, status) in tokens {
        let body = json!({ "maker": "house", "key": KEY });
        for request in [
            Request::post("/api/models/providers", &body),
            Request::new("DELETE", "/api/models/providers/house"),
            Request::get("/api/models/makers"),
        ] {
            let answer = gateway.send(&request.bearer(&token));
            assert_eq!(answer.status, status, "{who}: {}", answer.text());
            assert!(!answer.text().contains(KEY));
        }
    }
    let (file, names, settings) = state(&gateway);
    assert_eq!((file, settings), (before.0, before.2));
    assert_eq!(names, before.1);
    assert!(house.seen().is_empty());
    good(add(&gateway, json!({ "maker": "house", "key": KEY })));
}

#[test]
fn concurrent_additions_leave_one_complete_provider() {
    let house = House::open();
    let gateway = house.gateway("");
    let other = "sk-other-0123456789abcdef";
    let (addr, owner) = (gateway.addr, gateway.owner.as_str());
    std::thread::scope(|scope| {
        for round in 0..8 {
            scope.spawn(move || {
                let key = [KEY, other][round % 2];
                let model = format!("m{round}");
                let body = json!({ "maker": "house", "key": key, "model": model, "default": true });
                let request = Request::post("/api/models/providers", &body);
                good(request.bearer(owner).send(addr));
            });
        }
    });
    let text = config(&gateway);
    assert_eq!(
        text.matches("[models.providers.house]").count(),
        1,
        "{text}"
    );
    assert_eq!(text.matches("default = ").count(), 1, "{text}");
    assert_eq!(secrets(&gateway), json!(["house"]));
    good(add(&gateway, json!({ "maker": "house", "key": KEY })));
    good(gateway.post("/api/models/test", &json!({})));
}

#[test]
fn the_command_line_reads_the_key_from_stdin_and_tests_the_model() {
    let house = House::open();
    let gateway = house.gateway("");
    let run = |args: &[&str], input: &str| {
        let mut command = gateway.command();
        command.args(args);
        crate::harness::run(command, input)
    };
    let listed = run(&["models", "providers"], "").ok().stdout;
    let alias = run(&["models", "makers"], "").ok().stdout;
    assert_eq!(listed, alias, "the former name still works");
    for words in [
        "anthropic",
        "https://api.anthropic.com",
        "ollama",
        "The house",
        "needs an API key",
    ] {
        assert!(listed.contains(words), "{listed}");
    }
    let before = state(&gateway);
    let none = run(&["models", "add", "house"], "");
    assert_eq!(none.code, Some(1), "{none:?}");
    assert!(
        none.stderr.contains("| manyhands models add house"),
        "{none:?}"
    );
    let nobody = run(&["models", "add", "nobody"], KEY);
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert!(nobody.stderr.contains("anthropic, openai"), "{nobody:?}");
    let argument = run(&["models", "add", "house", "--key", KEY], "");
    assert_eq!(argument.code, Some(2), "{argument:?}");
    assert_eq!(state(&gateway), before);

    let wrong = run(&["models", "add", "house"], "sk-wrong-0123456789abcdef\n");
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.stderr.contains("models add house"), "{wrong:?}");
    assert!(!format!("{wrong:?}").contains("sk-wrong"), "{wrong:?}");
    let added = run(&["models", "add", "house"], &format!("{KEY}\n")).ok();
    assert!(added.stdout.contains("ok  house/m replied in"), "{added:?}");
    assert!(!format!("{added:?}").contains(KEY), "{added:?}");
    let said = run(&["chat", "hello"], "").ok();
    assert!(said.stdout.contains("Good morning."), "{said:?}");
    let again = run(
        &[
            "models",
            "add",
            "house",
            "--model",
            "n",
            "--default",
            "--json",
        ],
        "",
    )
    .ok()
    .json();
    assert_eq!(again["added"]["default"], "house/n", "{again}");
    assert_eq!(again["test"]["ok"], true, "{again}");

    let used = run(&["models", "remove", "house"], "");
    assert_eq!(used.code, Some(1), "{used:?}");
    assert!(used.stderr.contains("models.default"), "{used:?}");
    run(&["config", "unset", "models.default"], "").ok();
    let removed = run(&["models", "remove", "house"], "").ok();
    assert!(removed.stdout.contains("and its API key"), "{removed:?}");
    assert_eq!(secrets(&gateway), json!([]));
    untold(&gateway, KEY);
}
