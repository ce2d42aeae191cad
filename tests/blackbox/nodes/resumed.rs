//! A turn that was about to use a machine when the gateway was killed.

use std::fs;

use serde_json::{Value, json};

use crate::chat_socket::Chat;
use crate::harness::{Gateway, Home, eventually, free_address};
use crate::nodes::fixture::Machine;

const SCRIPT: &str = r#"
models: [demo]
turns:
  - when: { user: run it }
    calls: [{ id: c1, name: laptop__Bash, arguments: { command: "echo ran >> runs" } }]
  - when: { result_of: laptop__Bash }
    text: It ran.
"#;

const ASK: &str = r#"
[sessions.reset]
mode = "manual"

[[policy.rules]]
decision = "ask"
tools = ["laptop__Bash"]

[models]
default = "scripted/demo"

[models.providers.scripted]
kind = "scripted"
"#;

fn asked(gateway: &Gateway) -> Value {
    gateway.get("/api/approvals").json()["result"]["approvals"].clone()
}

#[test]
fn an_approval_for_a_node_survives_a_restart_and_runs_when_the_node_is_back() {
    let home = Home::new();
    let script = home.outside("script.yaml");
    fs::write(&script, SCRIPT).expect("the script");
    let home = home.with_config(&format!("{ASK}script = {script:?}\n"));
    let gateway = Gateway::at(home, free_address());
    let (at, laptop) = (gateway.addr, Machine::lend(&gateway, "laptop"));
    let mut chat = Chat::owner(&gateway);
    chat.send("main", "r1", "run it");
    let question = chat.until("r1", "paused").pop().expect("a question");
    let home = gateway.kill9();

    // The turn goes on before the machine is back, and waits for it.
    let gateway = Gateway::at(home, at);
    let waits = asked(&gateway);
    assert_eq!(waits[0]["id"], question["approvalId"], "{waits}");
    let path = format!("/api/approvals/{}", waits[0]["id"].as_str().expect("an id"));
    let answered = gateway.post(&path, &json!({ "decision": "approve" }));
    assert_eq!(answered.status, 200, "{}", answered.text());
    eventually("it ran", || {
        fs::read_to_string(laptop.file("runs")).is_ok_and(|runs| runs == "ran\n")
    });
    eventually("the model has its answer", || {
        let messages = gateway.get("/api/sessions/agent:main:main/messages").json();
        messages.to_string().contains("It ran.")
    });
    assert_eq!(asked(&gateway), json!([]), "nothing is left over");
    assert_eq!(
        fs::read_to_string(laptop.file("runs")).expect("a file"),
        "ran\n",
        "it ran once"
    );
}
