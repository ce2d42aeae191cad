//! Which tools a model is offered where.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::aimock::server::Passed;
use crate::chats::telegram::fixture::{ADA, BO, GROUP, MAIN, OWNED, Stage, uses};
use crate::harness::Gateway;
use crate::mcp::{self, Era};
use crate::socket::Socket;

const OF_TELEGRAM: [&str; 4] = [
    "telegram_send_voice",
    "telegram_send_photo",
    "telegram_send_file",
    "message_react",
];

/// The tools of a request, by name.
fn names(passed: &Passed) -> BTreeSet<String> {
    let tools = passed.body["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| {
        tool["function"]["name"]
            .as_str()
            .expect("a name")
            .to_owned()
    };
    tools.iter().map(name).collect()
}

fn tool(passed: &Passed, name: &str) -> Value {
    let tools = passed.body["tools"].as_array().cloned().unwrap_or_default();
    let found = tools
        .into_iter()
        .find(|tool| tool["function"]["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not offered"))["function"].clone()
}

#[test]
fn a_model_is_offered_what_fits_the_chat() {
    let fixtures = json!([
        { "match": { "userMessage": "hello" }, "response": { "content": "Good morning." } },
    ]);
    let (stage, relay, _server) = Stage::watched(OWNED, &fixtures);
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning.");
    stage.call(ADA, GROUP, "hello");
    stage.reads(GROUP, "Good morning.");
    stage.write(BO, "hello");
    stage.reads(BO.id, "Good morning.");
    let said = stage.scene.gateway.call(
        "gsv__SessionSend",
        json!({ "sessionKey": "agent:main:desk", "message": "hello" }),
    );
    assert_eq!(said["result"]["reply"], "Good morning.", "{said}");
    let asked = relay.passed();
    let [alone, group, guest, desk] = &asked[..] else {
        panic!("four questions, not {}", asked.len());
    };
    for name in OF_TELEGRAM {
        assert!(names(alone).contains(name), "{name} in {:?}", names(alone));
        assert!(names(group).contains(name), "{name} in {:?}", names(group));
        assert!(!names(desk).contains(name), "{name} in {:?}", names(desk));
    }
    // Whom to write to is nobody else's business where others read.
    let contacts = [alone, group, desk].map(|asked| names(asked).contains("contacts_send"));
    assert_eq!(contacts, [true, false, true]);
    let guests: Vec<String> = names(guest).into_iter().collect();
    assert_eq!(guests, ["message_react", "plan_create", "web_search"]);
    // It is described as this platform has it.
    let react = tool(alone, "message_react");
    let keys = react["parameters"]["properties"]
        .as_object()
        .expect("parameters");
    let keys: BTreeSet<&str> = keys.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        BTreeSet::from(["chat_id", "emoji", "is_big", "message_id"])
    );
    let described = react["description"].as_str().expect("a description");
    assert!(
        described.contains("Telegram") && !described.contains("Slack"),
        "{described}"
    );
}

#[test]
fn a_tool_that_is_not_offered_cannot_be_called() {
    let note = json!({ "contact_id": "tg:22", "message_text": "psst" });
    let photo = json!({ "path": "dot.png" });
    let turns = uses("write them", "contacts_send", &note, "Tried to write.")
        + &uses("show it", "telegram_send_photo", &photo, "Tried to show.");
    let settings = format!("{OWNED}policy.rules = [{{ decision = \"allow\" }}]\n");
    let stage = Stage::new(&settings, &turns);
    let refused = "it is not among your tools";
    stage.call(ADA, GROUP, "write them");
    stage.reads(GROUP, "Tried to write.");
    let given = stage.given("agent:main:telegram:group:-5");
    assert!(given.contains(refused), "{given}");
    stage.write(ADA, "write them");
    stage.reads(ADA.id, "Tried to write.");
    assert!(
        !stage.given(MAIN).contains(refused),
        "{}",
        stage.given(MAIN)
    );
    let show = json!({ "sessionKey": "agent:main:desk", "message": "show it" });
    let said = stage.scene.gateway.call("gsv__SessionSend", show);
    assert_eq!(said["result"]["reply"], "Tried to show.", "{said}");
    let given = stage.given("agent:main:desk");
    assert!(given.contains(refused), "{given}");
    stage.write(ADA, "show it");
    stage.reads(ADA.id, "Tried to show.");
    assert!(
        !stage.given(MAIN).contains(refused),
        "{}",
        stage.given(MAIN)
    );
}

/// The names of what is listed on every interface: HTTP, command line, MCP and WebSocket.
fn listed(gateway: &Gateway) -> Vec<(&'static str, BTreeSet<String>)> {
    let names = |tools: &Value| -> BTreeSet<String> {
        let tools = tools.as_array().expect("tools").iter();
        tools
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let http = gateway.get("/api/tools").json();
    let cli = gateway.cli(&["tools", "--json"]).ok().json();
    let mcp = mcp::list(gateway, Era::Stateless, &gateway.owner);
    let mut socket = Socket::connect(gateway.addr, &gateway.owner);
    let ws = socket.request("tools.list", json!({}));
    vec![
        ("HTTP", names(&http["result"]["tools"])),
        ("command line", names(&cli["tools"])),
        ("MCP", names(&json!(mcp))),
        ("WebSocket", names(&ws["payload"]["tools"])),
    ]
}

#[test]
fn tools_of_chats_are_listed_only_where_they_can_work() {
    let bare = Gateway::with_config("mcp.profile = \"all\"\n");
    for (face, names) in listed(&bare) {
        for name in OF_TELEGRAM {
            assert!(!names.contains(name), "{name} on {face} without an account");
        }
        assert!(names.contains("gsv__ReadFile"), "control: {face}");
    }
    // A preview is not a listing.
    let shown = bare.cli(&["tools"]).ok().stdout;
    let row = shown.lines().find(|row| row.contains("telegram_send_file"));
    assert!(row.is_some_and(|row| row.contains("chats only")), "{shown}");
    let discover = json!({ "query": "send a file to the current Telegram chat" });
    let found = bare
        .call("capabilities_discover", discover.clone())
        .to_string();
    assert!(!found.contains("telegram_send_file"), "{found}");
    let said = bare.call("telegram_send_file", json!({ "path": "a.txt" }));
    let error = said["error"].as_str().expect("an error");
    assert!(error.contains("no Telegram chat"), "{error}");
    // With an account, those that can be told which chat are there.
    let stage = Stage::new(&format!("{OWNED}mcp.profile = \"all\"\n"), "");
    for (face, names) in listed(&stage.scene.gateway) {
        for name in ["telegram_send_voice", "message_react"] {
            assert!(names.contains(name), "{name} on {face}");
        }
        for name in ["telegram_send_photo", "telegram_send_file"] {
            assert!(!names.contains(name), "{name} on {face}");
        }
    }
}
