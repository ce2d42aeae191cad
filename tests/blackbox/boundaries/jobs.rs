//! Jobs that untrusted text had an influence on.

use serde_json::{Value, json};

use super::{answer, approvals, deny, ends, gateway, pauses, runs};
use crate::harness::{Gateway, eventually};
use crate::http::Request;

/// The owner's own use of the tool; it must go well.
#[track_caller]
fn cron(gateway: &Gateway, arguments: Value) -> Value {
    let said = gateway.call("gsv__Cron", arguments.clone());
    assert_eq!(said["ok"], true, "{arguments}: {said}");
    said["result"].clone()
}

fn job(name: &str, message: &str) -> Value {
    let spec = json!({ "mode": "task", "message": message, "deliver": false });
    json!({ "name": name, "schedule": { "kind": "every", "everyDays": 300 }, "spec": spec })
}

#[test]
fn a_job_that_a_tainted_turn_changed_asks_until_it_is_trusted() {
    // The job's id is known only when it is there, so the model finds it by its turn's own words.
    let gateway = gateway("", "");
    let added = cron(
        &gateway,
        json!({ "action": "add", "job": job("a", "look") }),
    );
    let id = added["job"]["id"].as_str().expect("an id").to_owned();
    let client = gateway.client("laptop");
    let page = json!({ "path": "page.md", "content": "change it" });
    let written = gateway.call_as(&client, "gsv__WriteFile", page).json();
    assert_eq!(written["ok"], true, "{written}");
    let patch = json!({ "spec": { "message": "run it" } });
    let update = json!({ "action": "update", "id": id, "patch": patch });
    let turns = format!(
        "{}  - when: {{ user: change the job }}\n    calls: [{{ name: gsv__Cron, arguments: {update} }}]\n  - when: {{ user: read and change }}\n    times: 1\n    calls: [{{ name: gsv__ReadFile, arguments: {{ path: page.md }} }}]\n  - when: {{ user: read and change, result_of: gsv__ReadFile }}\n    calls: [{{ name: gsv__Cron, arguments: {update} }}]\n{}",
        super::RUN,
        super::REST
    );
    std::fs::write(gateway.home.outside("script.yaml"), turns).expect("the script");
    let gateway = gateway.restart();
    let run = json!({ "action": "run", "mode": "force", "id": id });
    ends(&gateway, "clean", "change the job");
    assert_eq!(cron(&gateway, run.clone())["results"][0]["status"], "ok");
    assert_eq!(runs(&gateway), 1, "the control: a clean change");
    ends(&gateway, "tainted", "read and change");
    let listed = cron(&gateway, json!({ "action": "list" }));
    assert_eq!(listed["jobs"][0]["taintedBy"], "client:laptop", "{listed}");
    let (addr, body) = (gateway.addr, Request::post("/api/tools/gsv__Cron", &run));
    let body = body.bearer(&gateway.owner);
    let ran = std::thread::spawn(move || body.send(addr).json());
    eventually("it asks", || !approvals(&gateway).is_empty());
    let asked = approvals(&gateway).remove(0);
    assert_eq!(asked["taintedBy"], "client:laptop", "{asked}");
    assert_eq!(runs(&gateway), 1);
    deny(&gateway, &asked);
    ran.join().expect("an end");
    assert_eq!(runs(&gateway), 1);
    gateway.cli(&["trust", "accept", "job", &id]).ok();
    assert_eq!(cron(&gateway, run)["results"][0]["status"], "ok");
    assert_eq!(runs(&gateway), 2, "trusted, it runs");
}

#[test]
fn a_job_that_would_write_to_somebody_is_asked_about_and_others_are_not() {
    let add = |name: &str, more: Value| {
        let mut job = job(name, "look");
        for (key, value) in more.as_object().expect("fields") {
            job["spec"][key] = value.clone();
        }
        format!(
            "  - when: {{ user: add {name} }}\n    calls: [{{ name: gsv__Cron, arguments: {} }}]\n",
            json!({ "action": "add", "job": job })
        )
    };
    let turns = [
        add("quiet", json!({})),
        add("channel", json!({ "channel": "telegram", "deliver": true })),
        add(
            "person",
            json!({ "to": "33", "channel": "telegram", "deliver": true }),
        ),
    ]
    .concat();
    let gateway = gateway(&turns, "");
    let count = || cron(&gateway, json!({ "action": "list" }))["count"].clone();
    ends(&gateway, "a", "add quiet");
    assert_eq!(count(), 1, "the control");
    for name in ["channel", "person"] {
        let asked = pauses(&gateway, name, &format!("add {name}"));
        assert_eq!(asked["tool"], "gsv__Cron", "{asked}");
        assert_eq!(count(), 1, "{name}");
        deny(&gateway, &asked);
    }
    assert_eq!(count(), 1);
    let asked = pauses(&gateway, "agreed", "add person");
    answer(&gateway, &asked, json!({ "decision": "approve" }));
    eventually("what was approved is added", || count() == 2);
}
