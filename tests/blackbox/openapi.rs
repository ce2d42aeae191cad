//! The OpenAPI document says what is answered: every result has a shape there, and real answers have
//! that shape, with no field more and none less.

pub mod book;

use std::collections::BTreeSet;

use manyhands_platforms::slack::{APP_TOKEN, BOT_TOKEN, Slack};
use serde_json::{Value, json};

use self::book::{Book, result_of};
use crate::chats::fixture::{Scene, threads};
use crate::harness::{Gateway, eventually};
use crate::http::Request;
use crate::nodes::player::Player;
use crate::oauth::provider::Provider;
use crate::servers_cli::Small;
use crate::sql::Sql;

/// Operations of `/api` that answer with something else than a result of their own.
const OTHERS: [(&str, &str); 5] = [
    ("get", "/api/artifacts/{id}"),
    ("get", "/api/openapi.json"),
    ("get", "/api/sessions/{key}/pictures/{seq}/{index}"),
    ("post", "/api/tools/{name}"),
    ("post", "/api/trigger/{id}"),
];

#[test]
fn every_operation_names_its_result() {
    let book = Book::of(&Gateway::start());
    let mut ids = BTreeSet::new();
    let mut others = Vec::new();
    for (method, path, said) in book.operations() {
        let id = said["operationId"].as_str().expect("an id");
        assert!(
            ids.insert(id.to_owned()),
            "{method} {path}: {id} is there twice"
        );
        if !path.starts_with("/api/") {
            continue;
        }
        match result_of(said) {
            Some(result) => {
                let known = ["$ref", "type", "anyOf", "oneOf"];
                let said = known.iter().any(|key| result.get(*key).is_some());
                assert!(said, "{method} {path} answers anything: {result}");
            }
            None => others.push((method, path)),
        }
    }
    others.sort_unstable(); // some builds keep the order of the table
    assert_eq!(others, OTHERS);
    assert!(ids.len() > 90, "{}", ids.len());
    // Two types of one name would be told apart by a number.
    let named = book.document["components"]["schemas"].as_object();
    for name in named.expect("schemas").keys() {
        assert!(!name.ends_with(|c: char| c.is_ascii_digit()), "{name}");
    }
}

#[test]
fn the_document_names_exactly_the_tools_that_the_caller_may_call() {
    let gateway = Gateway::start();
    let made = |role: &str, tools: Value| {
        let new = json!({ "name": role, "role": role, "tools": tools });
        gateway.token(new).0
    };
    let two = json!(["gsv__ReadFile", "gsv__WriteFile"]);
    let tokens = [
        gateway.owner.clone(),
        made("client", json!(["*"])),
        made("client", two.clone()),
        made("read-only", json!(["*"])),
        made("read-only", two),
        made("node", json!([])),
    ];
    let mut counts = Vec::new();
    for token in &tokens {
        let get = |path: &str| gateway.send(&Request::get(path).bearer(token)).json();
        let document = get("/api/openapi.json");
        let paths = document["paths"].as_object().expect("paths").keys();
        let named = paths.filter_map(|path| path.strip_prefix("/api/tools/"));
        let named: BTreeSet<&str> = named.filter(|name| !name.starts_with('{')).collect();
        let listed = get("/api/tools");
        let listed = listed["result"]["tools"].as_array().expect("tools");
        let listed: BTreeSet<&str> = listed
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert_eq!(named, listed);
        assert!(
            document["paths"]["/api/tools"].is_object(),
            "the operations are there for everyone"
        );
        counts.push(named.len());
    }
    // Some tools are the owner's alone.
    assert!(counts[1] > 50 && counts[1] <= counts[0], "{counts:?}");
    assert!(counts[3] > 1 && counts[3] < counts[0], "{counts:?}");
    assert_eq!((counts[2], counts[4], counts[5]), (2, 1, 0), "{counts:?}");
}

/// A gateway with something of everything.
struct Full {
    scene: Scene,
    book: Book,
    slack: Slack,
    _node: Player,
}

const SETTINGS: &str = r#"
[agents.helper]
tools = ["gsv__*"]
[[agents.helper.policy.rules]]
decision = "deny"
tools = ["gsv__DeleteFile"]
[[policy.rules]]
decision = "ask"
tools = ["gsv__EditFile"]
reason = "editing needs a nod"
[policy.rules.when.path]
starts_with = "notes"
[mcpServers.quiet]
url = "http://127.0.0.1:9/mcp"
enabled = false
[models.makers.closed]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
needs_key = false
model = "m"
"#;

/// What a model says that is asked for a word.
const TURNS: &str = "
  - when: { user: one word }
    text: ok
";

impl Full {
    #[track_caller]
    fn start() -> Self {
        let threads = threads();
        let slack = threads.block_on(Slack::start());
        let settings = format!(
            "{SETTINGS}[channels.slack.accounts.default]\ntoken = \"vault:bot\"\napp_token = \"vault:app\"\napi_url = \"{}\"\n",
            slack.api()
        );
        let scene = Scene::new(threads, &settings, TURNS);
        let secrets = [("bot", BOT_TOKEN), ("app", APP_TOKEN)];
        scene.use_account("slack", "default", &secrets);
        let book = Book::of(&scene.gateway);
        let node = Player::join(&scene.gateway, "laptop");
        Self {
            scene,
            book,
            slack,
            _node: node,
        }
    }

    #[track_caller]
    fn get(&mut self, path: &str) -> Value {
        self.book.get(&self.scene.gateway, path)
    }

    #[track_caller]
    fn post(&mut self, path: &str, body: Value) -> Value {
        self.ask("post", path, Some(body))
    }

    #[track_caller]
    fn ask(&mut self, method: &str, path: &str, body: Option<Value>) -> Value {
        self.book.ask(&self.scene.gateway, method, path, body)
    }

    /// A result whose list has something in it: an empty one would show nothing.
    #[track_caller]
    fn full(&mut self, path: &str, list: &str) -> Value {
        let result = self.get(path);
        let some = result.pointer(list).and_then(Value::as_array);
        assert!(
            some.is_some_and(|all| !all.is_empty()),
            "{path}: {result:#}"
        );
        result
    }
}

/// What is at `pointer`, as a part of an address.
#[track_caller]
fn at(result: &Value, pointer: &str) -> String {
    let text = result.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{pointer} of {result:#}"))
        .to_owned()
}

#[test]
fn every_response_matches_the_document() {
    let mut full = Full::start();
    let owner = full.scene.gateway.owner.clone();
    let state = full.scene.gateway.home.path().join("host/state");

    // Tokens, secrets, approvals.
    full.post("/api/tokens", json!({ "name": "phone", "role": "client" }));
    let gone = json!({ "name": "gone", "role": "client", "expiresInSeconds": 60 });
    let gone = full.post("/api/tokens", gone);
    full.ask(
        "delete",
        &format!("/api/tokens/{}", at(&gone, "/record/id")),
        None,
    );
    full.full("/api/tokens", "/tokens");
    let secret = json!({ "value": "long-enough-0123" });
    full.ask("put", "/api/secrets/other", Some(secret.clone()));
    full.ask("put", "/api/secrets/gone", Some(secret.clone()));
    full.ask("delete", "/api/secrets/gone", None);
    full.full("/api/secrets", "/names");
    for file in ["notes/a", "notes/b"] {
        let edit = json!({ "path": file, "oldString": "a", "newString": "b" });
        let asked = full.scene.gateway.call("gsv__EditFile", edit);
        assert_eq!(asked["code"], "approval_required", "{asked}");
    }
    let waiting = full.full("/api/approvals", "/approvals");
    let one = format!("/api/approvals/{}", at(&waiting, "/approvals/0/id"));
    full.post(&one, json!({ "decision": "deny" }));
    full.full("/api/approvals?all=true", "/approvals/1/effects");
    let call = json!({ "tool": "gsv__EditFile", "arguments": { "path": "notes/a" } });
    full.post("/api/policy/explain", call);
    full.full("/api/policy", "/rules");
    full.full("/api/audit", "/entries");
    full.post("/api/audit/verify", json!({}));
    let set = json!({ "path": "limits.result_bytes", "value": 100_000 });
    full.ask("put", "/api/config", Some(set));
    full.get("/api/config?path=limits.result_bytes");
    full.ask("post", "/api/config/reload", Some(json!({})));
    let link = full.post("/api/session/link", json!({}));
    let path = link["path"].as_str().expect("a link");
    let code = path.split_once("#code=").expect("a code").1;
    full.post("/api/session/login", json!({ "code": code }));

    // Nodes.
    full.full("/api/nodes", "/nodes/0/tools");
    let code = full.post("/api/nodes/codes", json!({ "nodeId": "desk" }));
    full.post("/api/enrol", json!({ "code": at(&code, "/code") }));

    // What is kept.
    let upload = Request::new("POST", "/api/artifacts?name=a.txt").body(b"hello".to_vec());
    let kept = full.scene.gateway.send(&upload.bearer(&owner));
    let kept = full.book.check("post", "/api/artifacts", &kept);
    let artifact = format!("/api/artifacts/{}", at(&kept, "/id"));
    full.full("/api/artifacts", "/artifacts");
    full.get(&format!("{artifact}/record"));
    full.post(&format!("{artifact}/url"), json!({}));
    full.ask("delete", &artifact, None);
    let grants = json!([{ "agent": "main", "level": "read" }]);
    let vault = json!({ "kind": "vault", "name": "keys", "grants": grants });
    let vault = full.post("/api/resources", vault);
    let vault = format!("/api/resources/{}", at(&vault, "/collectionId"));
    let hosts = json!({ "value": "long-enough-0123", "hosts": ["a.test"] });
    full.ask("put", &format!("{vault}/secrets/one"), Some(hosts.clone()));
    full.ask("put", &format!("{vault}/secrets/two"), Some(hosts));
    full.ask("delete", &format!("{vault}/secrets/two"), None);
    let level = json!({ "level": "write" });
    full.ask("put", &format!("{vault}/grants/helper"), Some(level));
    full.ask("delete", &format!("{vault}/grants/helper"), None);
    full.full("/api/resources", "/resources");
    full.full(&vault, "/secrets");
    let files = json!({ "kind": "filestore", "name": "files" });
    let files = full.post("/api/resources", files);
    full.ask(
        "delete",
        &format!("/api/resources/{}", at(&files, "/collectionId")),
        None,
    );

    // Conversations.
    let told = full.post(
        "/api/chat",
        json!({ "sessionKey": "talk", "message": "hello" }),
    );
    assert_eq!(told["status"], "done", "{told}");
    let session = format!("/api/sessions/{}", at(&told, "/sessionKey"));
    full.post(
        "/api/chat",
        json!({ "sessionKey": "talk", "message": "/status" }),
    );
    full.post("/api/chat/stop", json!({ "sessionKey": "talk" }));
    let patch = json!({
        "label": "small talk", "thinkingLevel": "low", "maxTokens": 100,
        "resetPolicy": { "mode": "idle", "idleMinutes": 9 },
    });
    full.post(&format!("{session}/patch"), patch);
    full.full("/api/sessions", "/sessions");
    full.get(&session);
    full.full(&format!("{session}/messages"), "/messages");
    full.get(&format!("{session}/tree"));
    full.full("/api/search?query=hello", "/matches");
    full.full("/api/memory?query=morning", "/results");
    full.full("/api/usage", "/rows");
    full.full("/api/models", "/providers/0/used");
    full.post("/api/models/test", json!({}));
    full.full("/api/models/makers", "/makers");
    full.post("/api/models/providers", json!({ "maker": "closed" }));
    full.ask("delete", "/api/models/providers/closed", None);
    full.full("/api/agents", "/agents/1/policy");
    full.full("/api/agents/helper", "/agent/directTools");
    full.post(&format!("{session}/compact"), json!({ "keep": 1 }));
    full.post(&format!("{session}/reset"), json!({}));
    full.ask("delete", &session, None);
    full.scene
        .gateway
        .write("skills/plain/SKILL.md", "# Plain\n\nJust text.\n");
    full.full("/api/skills", "/skills");
    full.get("/api/skills/plain");
    full.post("/api/skills/plain", json!({ "enabled": false }));
    std::fs::create_dir_all(state.join("contacts")).expect("a folder");
    let people = "## Ada\n```yaml\ncontact_id: tg:1\nnickname: Ada\ntg_private_chat_id: 1\n```\n";
    std::fs::write(state.join("contacts/ACTIVE.md"), people).expect("contacts");
    let todo = "- [ ] [Created](2026-02-11 09:30), [ID](4f2a9c1d) | pay the rent\n";
    std::fs::write(state.join("TODO.md"), todo).expect("what is to be done");
    full.full("/api/contacts", "/contacts/0/reachable_ids");
    full.get("/api/contacts/tg:1");
    full.full("/api/todos", "/open");

    // Servers and accounts.
    let small = Small::beside(&full.scene.gateway.home);
    small.add(&full.scene.gateway);
    full.post("/api/servers/small/refresh", json!({}));
    std::fs::write(&small.about, "Greets you otherwise").expect("a description");
    full.post("/api/servers/small/refresh", json!({}));
    full.full("/api/directory/servers", "/servers");
    let listed = full.full("/api/servers", "/servers");
    assert!(listed.to_string().contains("\"off\""), "{listed:#}");
    let shown = full.full("/api/servers/small", "/heldBack");
    assert_eq!(
        shown["toolList"].as_array().map(Vec::len),
        Some(1),
        "{shown:#}"
    );
    full.get("/api/servers/small/login");
    full.get("/api/servers/small/log");
    full.post("/api/servers/small/accept", json!({}));
    let account =
        json!({ "service": "small", "credentials": { "SMALL_TOKEN": "long-enough-0123" } });
    let account = full.post("/api/connections", account);
    let account = format!("/api/connections/{}", at(&account, "/pcid"));
    full.ask("put", &account, Some(json!({ "name": "another" })));
    full.post(&format!("{account}/test"), json!({}));
    full.full("/api/connections", "/connections/0/fields");
    full.get(&account);
    full.ask("delete", &account, None);
    let server = json!({ "name": "far", "server": { "url": "http://127.0.0.1:9/mcp" } });
    full.post("/api/servers", server);
    full.ask("delete", "/api/servers/far", None);

    // Whatever else can be asked for without more words.
    for path in full.book.unseen("get") {
        assert!(!path.contains('{'), "this test says what is at {path}");
        full.get(&path);
    }
    assert_eq!(full.book.unseen("get"), Vec::<String>::new());

    // Those that take something away, last.
    full.post("/api/nodes/laptop/rename", json!({ "to": "lapdog" }));
    full.post("/api/nodes/lapdog/revoke", json!({}));
    full.ask("delete", "/api/nodes/lapdog?force=true", None);
    full.post("/api/session/logout", json!({}));
}

#[test]
fn responses_about_chats_match_the_document() {
    let mut full = Full::start();
    full.slack.poison("D0EVE", "channel_not_found");
    for (chat, who) in [("D0EVE", "U0EVE"), ("D0ADA", "U0ADA"), ("D0BOB", "U0BOB")] {
        let event = full.slack.message(chat, who, "let me in", json!({}));
        full.slack.deliver("events_api", event);
    }
    eventually("three ask", || full.scene.pairs().len() == 3);
    eventually("a dead letter", || full.scene.outbox("failed").len() == 1);
    full.scene.at_rest();
    let mut sql = Sql::open(&full.scene.gateway.home.path());
    sql.run("UPDATE inbox SET state = 'failed', why = 'it broke'");
    sql.close();
    full.full("/api/channels", "/channels");
    full.full("/api/pairs", "/pairs");
    full.post("/api/pairs/slack/U0ADA/approve", json!({ "owner": true }));
    full.post("/api/pairs/slack/U0BOB/reject", json!({}));
    full.ask("delete", "/api/pairs/slack/U0BOB", None);
    full.full("/api/pairs", "/pairs");
    let heard = full.full("/api/inbox", "/messages");
    let heard = at(&heard, "/messages/0/id");
    full.post(&format!("/api/inbox/{heard}/retry"), json!({}));
    let dead = full.full("/api/outbox?state=failed", "/messages");
    let dead = format!("/api/outbox/{}", at(&dead, "/messages/0/id"));
    full.post(&format!("{dead}/resend"), json!({}));
    full.scene.at_rest();
    full.full("/api/outbox?state=sent", "/messages");
    full.ask("delete", &dead, None);
    for act in ["stop", "start", "logout"] {
        full.post(&format!("/api/channels/slack/default/{act}"), json!({}));
    }
}

#[test]
fn responses_about_logins_match_the_document() {
    let provider = Provider::start();
    let gateway = provider.gateway("");
    let mut book = Book::of(&gateway);
    let path = "/api/servers/prot/login";
    assert_eq!(book.get(&gateway, path)["state"], "none");
    let begun = book.ask(&gateway, "post", path, Some(json!({})));
    assert_eq!(book.get(&gateway, path)["state"], "waiting");
    let page = provider.browse(&gateway, &at(&begun, "/url"));
    assert_eq!(page.status, 200, "{}", page.text());
    let done = book.get(&gateway, path);
    assert_eq!(done["state"], "done", "{done}");
    assert_eq!(done["connections"].as_array().map(Vec::len), Some(1));
    book.ask(&gateway, "delete", path, None);
}

#[test]
fn an_undocumented_response_is_detected() {
    let gateway = Gateway::start();
    let book = Book::of(&gateway);
    let good = gateway.get("/api/tokens").json();
    let wrong = |answer: &Value| book.problems("get", "/api/tokens", answer);
    assert_eq!(wrong(&good), Vec::<String>::new());
    let changed = |change: fn(&mut Value)| {
        let mut answer = good.clone();
        change(&mut answer);
        wrong(&answer)
    };
    let more = changed(|answer| answer["result"]["tokens"][0]["colour"] = json!("red"));
    assert!(more.concat().contains("colour"), "{more:?}");
    let beside = changed(|answer| answer["result"]["count"] = json!(1));
    assert!(beside.concat().contains("count"), "{beside:?}");
    let around = changed(|answer| answer["because"] = json!("so"));
    assert!(around.concat().contains("because"), "{around:?}");
    let less = changed(|answer| {
        let token = answer["result"]["tokens"][0].as_object_mut();
        token.expect("a token").remove("role");
    });
    assert!(less.concat().contains("role"), "{less:?}");
    let other = changed(|answer| answer["result"]["tokens"][0]["state"] = json!("asleep"));
    assert_eq!(other.len(), 1, "{other:?}");
}

#[test]
fn a_request_is_taken_only_as_the_document_describes_it() {
    let gateway = Gateway::start();
    let document = gateway.get("/api/openapi.json").json();
    let body = |path: &str| document["paths"][path]["post"]["requestBody"].clone();
    assert_eq!(body("/api/tools/gsv__WriteFile")["required"], true);
    assert_eq!(body("/api/tools/gsv__ConfigGet")["required"], false);
    assert!(body("/api/artifacts")["content"]["*/*"].is_object());
    let callback = &document["paths"]["/oauth/callback"]["get"]["responses"]["default"];
    assert!(callback["content"]["text/html"].is_object(), "{callback}");
    let path = &document["paths"]["/api/approvals/{id}"]["post"]["parameters"][0];
    assert!(path["schema"]["pattern"].is_string(), "{path}");

    let send = |path: &str, body: &str| {
        let request = Request::new("POST", path).header("Content-Type", "application/json");
        gateway.send(&request.body(body.as_bytes()).bearer(&gateway.owner))
    };
    let token =
        |expires: &str| format!(r#"{{"name":"t","role":"client","expiresInSeconds":{expires}}}"#);
    for (path, body, status) in [
        ("/api/chat/stop", "{}", 200),
        ("/api/chat/stop", "[null, null]", 400),
        ("/api/chat/stop", "null", 400),
        ("/api/tools/gsv__ConfigGet", "{}", 200),
        ("/api/tools/gsv__ConfigGet", "", 200),
        ("/api/tools/gsv__ConfigGet", "null", 400),
        ("/api/tokens", &token("60"), 200),
        ("/api/tokens", &token("60.0"), 200),
        ("/api/tokens", &token("60.5"), 400),
        ("/api/tokens", &token("\"60\""), 400),
    ] {
        let said = send(path, body);
        assert_eq!(said.status, status, "{path} {body}: {}", said.text());
    }
    assert_eq!(gateway.get("/api/audit?limit=1000").status, 200);
    assert_eq!(gateway.get("/api/audit?limit=1001").status, 400);
    assert_eq!(gateway.get("/api/audit?limit=0").status, 400);
}
