//! What a node says of itself is checked before anything is believed.

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::nodes::fixture::{on_record, tools, wait_online};
use crate::nodes::player::{Player, greeting};

/// That a greeting is refused with these words, and nothing is left of it.
#[track_caller]
fn check(gateway: &Gateway, change: impl FnOnce(&mut Value), code: i64, words: &str) {
    let before = tools(gateway);
    let mut wrong = greeting("attic", &gateway.owner);
    change(&mut wrong);
    let name = wrong["client"]["id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let refused = match Player::greet(gateway.addr, wrong) {
        Err(refused) => refused,
        Ok((_, hello)) => panic!("it was let in: {hello}"),
    };
    assert_eq!(refused.code, code, "{refused:?}");
    assert!(
        refused.message.contains(words),
        "{words:?} is not in {refused:?}"
    );
    assert!(
        refused.closed.is_some(),
        "its socket is closed: {refused:?}"
    );
    assert_eq!(tools(gateway), before);
    assert!(on_record(gateway, &name).is_none(), "{name} is on record");
}

#[test]
fn capabilities_are_known_complete_single_and_the_machines_own() {
    let gateway = Gateway::start();
    let wrong = |change: fn(&mut Value), words: &str| check(&gateway, change, 103, words);
    wrong(|g| g["nodeRuntime"] = Value::Null, "nodeRuntime");
    wrong(
        |g| {
            drop(
                g["nodeRuntime"]
                    .as_object_mut()
                    .map(|r| r.remove("hostCapabilities")),
            )
        },
        "hostCapabilities",
    );
    wrong(
        |g| {
            drop(
                g["nodeRuntime"]
                    .as_object_mut()
                    .map(|r| r.remove("toolCapabilities")),
            )
        },
        "toolCapabilities",
    );
    wrong(
        |g| g["nodeRuntime"]["hostCapabilities"][0] = json!("camera.look"),
        "camera.look",
    );
    wrong(
        |g| g["nodeRuntime"]["toolCapabilities"]["Read"] = json!(["camera.look"]),
        "camera.look",
    );
    wrong(
        |g| {
            g["nodeRuntime"]["hostCapabilities"] = json!([
                "shell.exec",
                "filesystem.read",
                "filesystem.write",
                "shell.exec"
            ])
        },
        "shell.exec is listed twice",
    );
    wrong(
        |g| {
            g["nodeRuntime"]["toolCapabilities"]["Read"] =
                json!(["filesystem.read", "filesystem.read"])
        },
        "filesystem.read is listed twice",
    );
    wrong(
        |g| g["nodeRuntime"]["toolCapabilities"]["Read"] = json!(["text.search"]),
        "text.search",
    );
    wrong(
        |g| g["nodeRuntime"]["toolCapabilities"]["Read"] = json!([]),
        "toolCapabilities.Read",
    );
    wrong(
        |g| {
            drop(
                g["nodeRuntime"]["toolCapabilities"]
                    .as_object_mut()
                    .map(|t| t.remove("Read")),
            )
        },
        "toolCapabilities.Read",
    );
    wrong(
        |g| g["nodeRuntime"]["toolCapabilities"]["Dig"] = json!(["shell.exec"]),
        "Dig",
    );
    control(&gateway);
}

#[test]
fn tools_have_a_name_a_schema_and_come_once() {
    let gateway = Gateway::start();
    let wrong = |change: fn(&mut Value), words: &str| check(&gateway, change, 103, words);
    wrong(
        |g| {
            let read = g["tools"][1].clone();
            g["tools"].as_array_mut().expect("tools").push(read);
        },
        "Read is listed twice",
    );
    wrong(|g| g["tools"][1]["name"] = json!("Re ad"), "Re ad");
    wrong(|g| g["tools"][1]["name"] = json!(""), "tool's name");
    wrong(
        |g| g["tools"][1]["name"] = json!("x".repeat(65)),
        "tool's name",
    );
    wrong(
        |g| g["tools"][1]["description"] = json!("x".repeat(70_000)),
        "Read",
    );
    wrong(
        |g| {
            drop(
                g["tools"][1]
                    .as_object_mut()
                    .map(|t| t.remove("description")),
            )
        },
        "description",
    );
    control(&gateway);
}

#[test]
fn a_name_is_a_nodes_and_nobody_elses() {
    let gateway = Gateway::start();
    for name in [
        "gsv",
        "tool",
        "gateway",
        "a__b",
        "Laptop",
        "lap top",
        "",
        "lap_top",
        "läp",
        &"x".repeat(33),
    ] {
        check(
            &gateway,
            |g| g["client"]["id"] = json!(name),
            103,
            "client.id",
        );
    }
    let control = "x".repeat(32);
    let (_kept, _) =
        Player::greet(gateway.addr, greeting(&control, &gateway.owner)).expect("32 letters");
    wait_online(&gateway, &control);
}

#[test]
fn the_greeting_speaks_version_1_and_comes_first() {
    let gateway = Gateway::start();
    check(
        &gateway,
        |g| g["minProtocol"] = json!(2),
        102,
        "protocol version",
    );
    check(
        &gateway,
        |g| g["maxProtocol"] = json!(0),
        102,
        "protocol version",
    );
    check(
        &gateway,
        |g| g["client"]["mode"] = json!("satellite"),
        103,
        "satellite",
    );
    check(&gateway, |g| g["client"] = Value::Null, 103, "Client");
    let mut newer = greeting("attic", &gateway.owner);
    newer["maxProtocol"] = json!(7);
    newer["anything"] = json!({ "unknown": true });
    let (_kept, hello) = Player::greet(gateway.addr, newer).expect("a newer node speaks 1 too");
    assert_eq!(hello["protocol"], 1);
}

#[track_caller]
fn control(gateway: &Gateway) {
    let _attic = Player::join(gateway, "attic");
}
