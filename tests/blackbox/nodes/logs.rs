//! `gsv__LogsGet`: a node's recent log.

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::nodes::fixture::{Machine, ask};
use crate::nodes::player::Player;

#[test]
fn the_only_node_is_chosen_by_itself_and_its_lines_are_structured() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    laptop.bash(&gateway, "echo secret-output");
    let said = gateway.call("gsv__LogsGet", json!({}));
    let log = &said["result"];
    assert_eq!(
        (&log["nodeId"], &log["truncated"]),
        (&json!("laptop"), &json!(false)),
        "{said}"
    );
    let lines = log["lines"].as_array().expect("lines");
    assert_eq!(log["count"], lines.len());
    let lines: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line.as_str().expect("text")).expect("JSON"))
        .collect();
    for line in &lines {
        assert!(
            line["at"].is_string() && line["level"].is_string() && line["message"].is_string(),
            "{line}"
        );
    }
    let call = lines
        .iter()
        .find(|line| line["event"] == "tool_call_finished")
        .expect("the call");
    assert_eq!(
        (&call["tool"], &call["ok"]),
        (&json!("Bash"), &json!(true)),
        "{call}"
    );
    assert!(
        !said.to_string().contains("secret-output"),
        "what was printed is no log: {said}"
    );
    assert!(
        // Without the last letter: a time is printed as short as it can be.
        lines.is_sorted_by_key(|line| line["at"].to_string().replace('Z', "")),
        "oldest first"
    );
}

#[test]
fn a_hundred_lines_come_by_default_and_5000_at_most() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let mut attic = Player::join(&gateway, "attic");
    for _ in 0..105 {
        laptop.call(&gateway, "Glob", json!({ "pattern": "*" }));
    }
    let count = |lines: Value| {
        let said = gateway.call("gsv__LogsGet", lines);
        (
            said["result"]["count"].as_u64(),
            said["result"]["truncated"].as_bool(),
        )
    };
    assert_eq!(
        count(json!({ "nodeId": "laptop" })),
        (Some(100), Some(true))
    );
    assert_eq!(
        count(json!({ "nodeId": "laptop", "lines": 1 })),
        (Some(1), Some(true))
    );
    let (all, truncated) = count(json!({ "nodeId": "laptop", "lines": 5000 }));
    assert!(
        all > Some(105) && truncated == Some(false),
        "{all:?} {truncated:?}"
    );
    for lines in [json!(0), json!(5001), json!(-1), json!("many")] {
        let said = gateway.call(
            "gsv__LogsGet",
            json!({ "nodeId": "laptop", "lines": lines }),
        );
        assert_eq!(said["problems"][0]["parameter"], "lines", "{lines}: {said}");
    }
    let asked = ask(
        &gateway,
        "gsv__LogsGet",
        json!({ "nodeId": "attic", "lines": 5000 }),
    );
    assert_eq!(attic.event("logs.get")["lines"], 5000);
    drop(attic);
    crate::nodes::fixture::is_lost(&asked.answer());
}

#[test]
fn an_ambiguous_or_wrong_choice_names_who_is_connected() {
    let gateway = Gateway::start();
    let none = gateway.call("gsv__LogsGet", json!({}));
    assert_eq!(
        (&none["ok"], &none["code"]),
        (&json!(false), &json!("unavailable")),
        "{none}"
    );
    let (_laptop, _server) = (
        Player::join(&gateway, "laptop"),
        Player::join(&gateway, "server"),
    );
    let several = gateway.call("gsv__LogsGet", json!({}));
    assert_eq!(several["problems"][0]["parameter"], "nodeId", "{several}");
    let words = several["error"].as_str().expect("words");
    assert!(
        words.contains("laptop") && words.contains("server"),
        "{words}"
    );
    let wrong = gateway.call("gsv__LogsGet", json!({ "nodeId": "ghost" }));
    let words = wrong["error"].as_str().expect("words");
    assert!(
        words.contains("ghost is not connected") && words.contains("laptop"),
        "{words}"
    );
}

#[test]
fn the_socket_and_the_command_line_show_the_same_log() {
    let gateway = Gateway::start();
    let _laptop = Machine::lend(&gateway, "laptop");
    let ask = json!({ "nodeId": "laptop", "lines": 1 });
    let tool = gateway.call("gsv__LogsGet", ask.clone())["result"].clone();
    let socket = gateway.ws().request("logs.get", ask);
    assert_eq!(socket["payload"], tool, "{socket}");
    let line = gateway
        .cli(&["nodes", "logs", "laptop", "--lines", "1"])
        .ok();
    assert_eq!(
        line.stdout.trim(),
        tool["lines"][0].as_str().expect("a line")
    );
}
