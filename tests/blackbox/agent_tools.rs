//! The tools of minds as their spec texts write them: sessions, sub-agents, plans, agents.

mod agents;
mod contacts;
mod plans;
mod schemas;
mod sessions;
mod subtasks;
mod todos;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Gateway, Home};

const LIST: &str = "gsv__SessionsList";
const SEND: &str = "gsv__SessionSend";

/// What every script knows: plain talk, in any session.
const TALK: &str = "
  - when: { user: hello }
    text: good morning
";

/// A gateway whose agents think what `script` says.
fn scripted(script: &str, more: &str) -> Gateway {
    let home = Home::new();
    let place = home.outside("script.yaml");
    std::fs::write(&place, format!("turns:{script}{TALK}")).expect("a script");
    let config = format!(
        "models.default = \"scripted/demo\"\n{more}\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {:?}\n",
        place.display()
    );
    Gateway::on(home.with_config(&config))
}

/// A call that must give a result that fits the published schema and has exactly these keys.
#[track_caller]
fn gives(gateway: &Gateway, tool: &str, arguments: Value, keys: &[&str]) -> Value {
    let said = gateway.call(tool, arguments.clone());
    assert_eq!(said["ok"], true, "{tool} {arguments}: {said}");
    let result = &said["result"];
    let listed = gateway.get("/api/tools").json();
    let tools = listed["result"]["tools"].as_array().expect("tools").clone();
    let spec = tools.iter().find(|spec| spec["name"] == tool);
    let schema = &spec.unwrap_or_else(|| panic!("{tool} is not listed"))["outputSchema"];
    let validator = jsonschema::validator_for(schema).expect("a schema");
    let problems: Vec<String> = validator
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

/// A call that must be refused with this code and these words.
#[track_caller]
fn refuses(gateway: &Gateway, tool: &str, arguments: Value, code: &str, words: &[&str]) {
    let said = gateway.call(tool, arguments.clone());
    assert_eq!(said["code"], code, "{tool} {arguments}: {said}");
    let error = said["error"].as_str().expect("an error");
    for word in words {
        assert!(
            error.contains(word),
            "{word:?} in {error:?} for {arguments}"
        );
    }
}

/// Says something in a session and gives the reply.
#[track_caller]
fn say(gateway: &Gateway, session: &str, message: &str) -> String {
    let said = gateway.call(SEND, json!({ "sessionKey": session, "message": message }));
    let reply = said["result"]["reply"].as_str();
    reply
        .unwrap_or_else(|| panic!("{session} {message}: {said}"))
        .to_owned()
}

/// The keys of all sessions.
fn sessions(gateway: &Gateway) -> Vec<String> {
    let said = gateway.call(LIST, json!({ "limit": 100 }));
    let listed = said["result"]["sessions"]
        .as_array()
        .expect("sessions")
        .clone();
    listed
        .iter()
        .map(|one| one["sessionKey"].as_str().expect("a key").to_owned())
        .collect()
}

/// What was said in a session, with the roles.
fn messages(gateway: &Gateway, session: &str) -> Vec<(String, String)> {
    let said = gateway.call(LIST, json!({ "limit": 100, "messageLimit": 20 }));
    let listed = said["result"]["sessions"]
        .as_array()
        .expect("sessions")
        .clone();
    let found = listed.iter().find(|one| one["sessionKey"] == session);
    let found = found.unwrap_or_else(|| panic!("{session} is not in {said}"));
    let text = |message: &Value, key: &str| message[key].as_str().expect("text").to_owned();
    let all = found["messages"].as_array().expect("messages");
    all.iter()
        .map(|one| (text(one, "role"), text(one, "text")))
        .collect()
}

/// What the tools of a session gave, as one text.
fn given(gateway: &Gateway, session: &str) -> String {
    let all = messages(gateway, session);
    let tools = all.into_iter().filter(|(role, _)| role == "tool");
    tools.map(|(_, text)| text).collect::<Vec<_>>().join("\n")
}

/// The session of the sub-agent there is.
#[track_caller]
fn sub_session(gateway: &Gateway) -> String {
    let all = sessions(gateway);
    let mut subs = all.into_iter().filter(|key| key.contains(":sub:"));
    let one = subs.next().expect("a sub-agent's session");
    assert_eq!(subs.next(), None, "only one");
    one
}

#[test]
fn sessions_are_listed_with_recent_messages() {
    let gateway = scripted("", "");
    let empty = gives(&gateway, LIST, json!({}), &["sessions", "total"]);
    assert_eq!(empty, json!({ "sessions": [], "total": 0 }));
    say(&gateway, "main", "hello there");
    say(&gateway, "agent:main:work", "hello again");
    let two = gives(&gateway, LIST, json!({}), &["sessions", "total"]);
    assert_eq!(two["total"], 2);
    let first = &two["sessions"][0];
    assert_eq!(first["sessionKey"], "agent:main:work", "the latest first");
    assert_eq!(
        (&first["label"], &first["messageCount"]),
        (&json!(null), &json!(2))
    );
    assert!(
        first["createdAt"].is_i64() && first["lastActiveAt"].is_i64(),
        "{first}"
    );
    assert_eq!(first.get("messages"), None, "none unless asked for");
    let page = gives(
        &gateway,
        LIST,
        json!({ "limit": 1, "offset": 1, "messageLimit": 1 }),
        &["sessions", "total"],
    );
    assert_eq!(page["sessions"].as_array().expect("sessions").len(), 1);
    assert_eq!(page["sessions"][0]["sessionKey"], "agent:main:main");
    assert_eq!(
        page["sessions"][0]["messages"],
        json!([{ "role": "assistant", "text": "good morning" }])
    );
    for (arguments, words) in [
        (json!({ "limit": 0 }), "limit: must be at least 1"),
        (json!({ "limit": 101 }), "limit: must be at most 100"),
        (
            json!({ "messageLimit": 21 }),
            "messageLimit: must be at most 20",
        ),
        (json!({ "offset": -1 }), "offset: must be at least 0"),
    ] {
        refuses(&gateway, LIST, arguments, "invalid_arguments", &[words]);
    }
}

const OPEN: &str = "policy.rules = [{ decision = \"allow\", tools = [\"*\"] }]";

#[test]
fn a_client_sees_and_uses_only_sessions_of_its_token() {
    let gateway = scripted("", OPEN);
    say(&gateway, "main", "hello");
    let phone = gateway.client("phone");
    let call = |arguments: Value| gateway.call_as(&phone, SEND, arguments).json();
    let own = call(json!({ "sessionKey": "agent:main:client:phone:a", "message": "hello" }));
    assert_eq!(own["result"]["reply"], "good morning", "{own}");
    let before = sessions(&gateway);
    for key in [
        "agent:main:main",
        "agent:main:client:tv:a",
        "agent:main:client:phone2:a",
    ] {
        let refused = call(json!({ "sessionKey": key, "message": "hello" }));
        assert_eq!(refused["code"], "forbidden", "{key}: {refused}");
    }
    assert_eq!(sessions(&gateway), before);
    let seen = gateway.call_as(&phone, LIST, json!({})).json();
    assert_eq!(seen["result"]["total"], 1, "{seen}");
    assert_eq!(
        seen["result"]["sessions"][0]["sessionKey"],
        "agent:main:client:phone:a"
    );
    assert_eq!(before.len(), 2, "the owner sees both");
}

const SLOW: &str = "
  - when: { user: slow }
    delay_ms: 600000
    text: at last
  - when: { user: broken }
    error: { kind: bad_request }
";

#[test]
fn a_message_is_answered_by_its_own_turn() {
    let gateway = scripted(SLOW, "");
    let replied = ["status", "sessionKey", "turnId", "runId", "reply"];
    let one = gives(
        &gateway,
        SEND,
        json!({ "sessionKey": "main", "message": "hello" }),
        &replied,
    );
    assert_eq!(
        (&one["status"], &one["reply"]),
        (&json!("replied"), &json!("good morning"))
    );
    let sent = ["status", "sessionKey", "turnId", "runId"];
    let none = json!({ "sessionKey": "b", "message": "hello", "waitSeconds": 0 });
    let none = gives(&gateway, SEND, none, &sent);
    assert_eq!(
        (&none["status"], &none["sessionKey"]),
        (&json!("sent"), &json!("agent:main:b"))
    );
    assert_ne!(none["turnId"], one["turnId"]);
    let late = json!({ "sessionKey": "c", "message": "slow", "waitSeconds": 1 });
    let late = gives(&gateway, SEND, late, &sent);
    assert_eq!(late["status"], "pending");
    let broken = json!({ "sessionKey": "d", "message": "broken" });
    refuses(
        &gateway,
        SEND,
        broken,
        "failed",
        &["agent:main:d did not reply"],
    );
    let before = sessions(&gateway);
    for (arguments, code, words) in [
        (
            json!({ "sessionKey": "a b", "message": "hello" }),
            "invalid_arguments",
            "sessionKey",
        ),
        (
            json!({ "sessionKey": "main", "message": "" }),
            "invalid_arguments",
            "message",
        ),
        (
            json!({ "sessionKey": "main", "message": "x", "waitSeconds": 121 }),
            "invalid_arguments",
            "at most 120",
        ),
        (
            json!({ "sessionKey": "agent:nobody:main", "message": "hello" }),
            "not_found",
            "no agent nobody",
        ),
    ] {
        refuses(&gateway, SEND, arguments, code, &[words]);
    }
    assert_eq!(sessions(&gateway), before);
}

const LOOPS: &str = "
  - when: { user: ask yourself }
    calls: [{ name: gsv__SessionSend, arguments: { sessionKey: main, message: hello } }]
  - when: { user: relay }
    calls: [{ name: gsv__SessionSend, arguments: { sessionKey: b, message: bounce } }]
  - when: { user: bounce }
    calls:
      - { name: gsv__SessionSend, arguments: { sessionKey: main, message: hello from b } }
      - { name: gsv__SessionSend, arguments: { sessionKey: c, message: hello from b } }
  - when: { user: hop 1 }
    calls: [{ name: gsv__SessionSend, arguments: { sessionKey: s2, message: hop 2 } }]
  - when: { user: hop 2 }
    calls: [{ name: gsv__SessionSend, arguments: { sessionKey: s3, message: hop 3 } }]
  - when: { user: hop 3 }
    calls: [{ name: gsv__SessionSend, arguments: { sessionKey: s4, message: hop 4 } }]
  - when: { user: hop 4 }
    calls: [{ name: gsv__SessionSend, arguments: { sessionKey: s5, message: hop 5 } }]
  - when: { user: hop 5 }
    calls: [{ name: gsv__SessionSend, arguments: { sessionKey: s6, message: hop 6 } }]
  - when: { user: hop 6 }
    calls: [{ name: gsv__SessionSend, arguments: { sessionKey: s7, message: hop 7 } }]
  - when: { result_of: gsv__SessionSend }
    text: done
";

#[test]
fn sessions_do_not_wait_for_one_another_in_a_circle() {
    let gateway = scripted(LOOPS, OPEN);
    assert_eq!(say(&gateway, "main", "ask yourself"), "done");
    let told = given(&gateway, "agent:main:main");
    assert!(
        told.contains("asked in a turn of agent:main:main"),
        "{told}"
    );
    assert_eq!(
        messages(&gateway, "agent:main:main").len(),
        4,
        "nothing was said in it"
    );
    assert_eq!(say(&gateway, "main", "relay"), "done");
    let told = given(&gateway, "agent:main:b");
    assert!(
        told.contains("asked in a turn of agent:main:main"),
        "{told}"
    );
    assert!(told.contains("good morning"), "c answered: {told}");
    let users = messages(&gateway, "agent:main:main");
    assert!(
        !users.iter().any(|(_, text)| text.contains("hello from b")),
        "{users:?}"
    );
    assert_eq!(messages(&gateway, "agent:main:c")[0].1, "hello from b");
}

#[test]
fn waits_may_be_nested_five_deep() {
    let gateway = scripted(LOOPS, OPEN);
    assert_eq!(say(&gateway, "s1", "hop 1"), "done");
    let all = sessions(&gateway);
    assert!(all.contains(&"agent:main:s6".to_owned()), "{all:?}");
    assert!(!all.contains(&"agent:main:s7".to_owned()), "{all:?}");
    let told = given(&gateway, "agent:main:s6");
    assert!(told.contains("6 sessions wait for one another"), "{told}");
}
