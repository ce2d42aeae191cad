//! What becomes of a node that is renamed, revoked, forgotten, or whose name is taken over.

use serde_json::json;

use crate::harness::Gateway;
use crate::nodes::fixture::{
    Machine, Plan, ask, is_lost, is_online, on_record, tools_of, wait_offline, wait_online,
};
use crate::nodes::player::Player;

#[test]
fn a_renamed_node_comes_back_under_its_new_name_by_itself() {
    let gateway = Gateway::start();
    let mut laptop = Machine::lend(&gateway, "laptop");
    let pid = laptop.daemon.pid();
    let running = json!({ "command": "sleep 1000", "background": true });
    let session = laptop.call(&gateway, "Bash", running)["result"]["sessionId"].clone();
    let said = gateway.cli(&["nodes", "rename", "laptop", "desk"]).ok();
    assert!(said.stdout.contains("renamed laptop to desk"), "{said:?}");
    assert!(tools_of(&gateway, "laptop").is_empty(), "at once");
    wait_online(&gateway, "desk");
    laptop
        .daemon
        .wait_for_line("laptop is named desk on the gateway")
        .expect("a line");
    assert_eq!(laptop.daemon.pid(), pid);
    assert_eq!(tools_of(&gateway, "desk").len(), 7);
    assert!(tools_of(&gateway, "laptop").is_empty());
    let record = on_record(&gateway, "desk").expect("a record");
    assert_eq!(record["formerIds"], json!(["laptop"]));
    assert!(on_record(&gateway, "laptop").is_none());
    let poll = json!({ "action": "poll", "sessionId": session });
    let said = gateway.call("desk__Process", poll);
    assert_eq!(
        said["result"]["running"], true,
        "its programs went on: {said}"
    );
    let source = format!("desk:{}", laptop.file("a").display());
    std::fs::write(laptop.file("a"), "x").expect("a file");
    let ends = json!({ "source": source, "destination": "gsv:a" });
    assert_eq!(gateway.call("gsv__Transfer", ends)["ok"], true);
}

#[test]
fn a_name_that_is_taken_or_none_is_refused_and_changes_nothing() {
    let gateway = Gateway::start();
    let (_laptop, _server) = (
        Player::join(&gateway, "laptop"),
        Player::join(&gateway, "server"),
    );
    for (from, to, code) in [
        ("laptop", "server", "conflict"),
        ("laptop", "gsv", "invalid_arguments"),
        ("laptop", "a__b", "invalid_arguments"),
        ("nobody", "somebody", "not_found"),
    ] {
        let said = gateway
            .post(&format!("/api/nodes/{from}/rename"), &json!({ "to": to }))
            .json();
        assert_eq!(said["code"], code, "{from} to {to}: {said}");
    }
    assert!(is_online(&gateway, "laptop") && is_online(&gateway, "server"));
    let control = gateway
        .post("/api/nodes/laptop/rename", &json!({ "to": "desk" }))
        .json();
    assert_eq!(control["ok"], true, "{control}");
}

#[test]
fn a_revoked_node_is_disconnected_at_once_and_exits_with_the_reason() {
    let gateway = Gateway::start();
    let mut laptop = Machine::lend(&gateway, "laptop");
    let server = Machine::lend(&gateway, "server");
    let asked = ask(&gateway, "laptop__Bash", json!({ "command": "sleep 1000" }));
    crate::harness::eventually("the command runs", || !laptop.children().is_empty());
    let said = gateway.cli(&["nodes", "revoke", "laptop"]).ok();
    assert!(said.stdout.contains("it was disconnected"), "{said:?}");
    assert!(!is_online(&gateway, "laptop"));
    is_lost(&asked.answer());
    let status = laptop.daemon.wait();
    assert!(!status.success(), "{status}");
    laptop.daemon.log.wait_for("the gateway refused this node");
    crate::nodes::fixture::wait_all_gone(&laptop.mark());
    assert_eq!(
        server.bash(&gateway, "echo here")["output"],
        "here\n",
        "others stay"
    );
    assert!(
        on_record(&gateway, "laptop").is_some(),
        "and it is still on record"
    );
}

#[test]
fn a_node_is_forgotten_when_it_is_gone_or_by_force() {
    let gateway = Gateway::start();
    let mut laptop = Machine::lend(&gateway, "laptop");
    let refused = gateway.cli(&["nodes", "forget", "laptop"]);
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("is connected"), "{refused:?}");
    assert!(is_online(&gateway, "laptop"), "and stays");
    let said = gateway.cli(&["nodes", "forget", "laptop", "--force"]).ok();
    assert!(
        said.stdout.contains("removed laptop; it was disconnected"),
        "{said:?}"
    );
    assert!(on_record(&gateway, "laptop").is_none());
    assert!(tools_of(&gateway, "laptop").is_empty());
    assert!(
        !laptop.daemon.wait().success(),
        "its token is no good any more"
    );
    assert!(
        on_record(&gateway, "laptop").is_none(),
        "and it does not come back"
    );

    let attic = Player::join(&gateway, "attic");
    attic.leave();
    wait_offline(&gateway, "attic");
    let mut socket = gateway.ws();
    let said = socket.request("node.forget", json!({ "nodeId": "attic" }));
    let payload = json!({ "ok": true, "nodeId": "attic", "removed": true, "disconnected": false });
    assert_eq!(said["payload"], payload, "{said}");
    assert!(on_record(&gateway, "attic").is_none());
}

#[test]
fn a_new_connection_replaces_the_old_and_pending_calls_fail_at_once() {
    let gateway = Gateway::start();
    let mut old = Player::join(&gateway, "laptop");
    let mut client = gateway.ws();
    let http = ask(&gateway, "laptop__Bash", json!({ "command": "long" }));
    let (call, _) = old.called();
    let socket = client.ask(
        "tool.invoke",
        json!({ "tool": "laptop__Bash", "args": { "command": "long" } }),
    );
    old.called();
    let logs = ask(&gateway, "gsv__LogsGet", json!({}));
    old.event("logs.get");
    let mut new = Player::join(&gateway, "laptop");
    is_lost(&http.answer());
    is_lost(&logs.answer());
    let frame = loop {
        let frame = client.frame().expect("an open socket");
        if frame["id"] == socket.as_str() {
            break frame;
        }
    };
    assert_eq!(
        (&frame["error"]["code"], &frame["error"]["retryable"]),
        (&json!(503), &json!(true)),
        "{frame}"
    );
    let (code, why) = old.closed();
    assert!(
        code == Some(1008) && why.contains("replaced"),
        "{code:?} {why}"
    );
    assert!(
        new.answer(
            "tool.result",
            json!({ "callId": call, "result": "not mine" })
        ),
        "dropped"
    );
    assert_eq!(tools_of(&gateway, "laptop").len(), 3, "no ghosts");
    let asked = ask(&gateway, "laptop__Bash", json!({ "command": "again" }));
    let (call, _) = new.called();
    new.answer(
        "tool.result",
        json!({ "callId": call, "result": "the new one" }),
    );
    assert_eq!(asked.answer()["result"], "the new one");
}

#[test]
fn of_two_machines_with_one_name_the_later_has_it_and_the_earlier_does_not_fight() {
    let gateway = Gateway::start();
    let token = gateway.token(json!({ "name": "laptop", "role": "node" })).0;
    let lend = |folder: &str| {
        let folder = gateway.home.outside(folder);
        std::fs::create_dir(&folder).expect("a folder");
        let plan = Plan::new(&gateway, "laptop").token(&token);
        plan.in_folder(&folder).lend(&gateway)
    };
    let mut first = lend("first");
    let second = lend("second");
    let line = first.daemon.wait_for_line("lost its connection");
    assert!(line.expect("a line").contains("replaced"));
    let folder = |result: &serde_json::Value| result["workdir"].clone();
    assert_eq!(folder(&second.bash(&gateway, "true")), json!(second.folder));
    let log = gateway.call("gsv__LogsGet", json!({}));
    assert_eq!(
        log["result"]["nodeId"], "laptop",
        "one node and no ghost: {log}"
    );
    assert!(
        crate::nodes::fixture::lives(first.daemon.pid()),
        "it waits its turn"
    );
}
