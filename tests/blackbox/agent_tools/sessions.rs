//! `gsv__SessionsList`: conversations that people have, and job runs on request.

use serde_json::{Value, json};

use super::scripted;
use crate::harness::{Gateway, eventually};

fn list(gateway: &Gateway, arguments: Value) -> Value {
    let said = gateway.call("gsv__SessionsList", arguments);
    assert_eq!(said["ok"], true, "{said}");
    said["result"].clone()
}

fn keys(listed: &Value) -> Vec<String> {
    let all = listed["sessions"].as_array().expect("sessions").iter();
    all.map(|one| one["sessionKey"].as_str().expect("a key").to_owned())
        .collect()
}

#[test]
fn runs_of_jobs_are_listed_only_on_request_and_counted_otherwise() {
    let gateway = scripted("", "");
    let say = json!({ "sessionKey": "desk", "message": "hello" });
    assert_eq!(gateway.call("gsv__SessionSend", say)["ok"], true);
    let job = json!({
        "name": "tick", "schedule": { "kind": "every", "everyDays": 1 },
        "spec": { "mode": "task", "message": "hello", "deliver": false },
    });
    let added = gateway.call("gsv__Cron", json!({ "action": "add", "job": job }));
    assert_eq!(added["ok"], true, "{added}");
    let id = added["result"]["job"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    for _ in 0..2 {
        let run = json!({ "action": "run", "id": id, "mode": "force" });
        let ran = gateway.call("gsv__Cron", run);
        assert_eq!(ran["ok"], true, "{ran}");
    }
    let runs = || {
        let all = keys(&list(&gateway, json!({ "includeJobs": true })));
        all.iter().filter(|key| key.contains(":cron:")).count()
    };
    eventually("two runs", || runs() == 2);
    let listed = list(&gateway, json!({}));
    assert_eq!(keys(&listed), ["agent:main:desk"]);
    assert_eq!(
        (&listed["total"], &listed["jobsLeftOut"]),
        (&json!(1), &json!(2))
    );
    let all = list(&gateway, json!({ "includeJobs": true }));
    assert_eq!(all["total"], 3, "{all}");
    assert!(all.get("jobsLeftOut").is_none(), "{all}");
    // A conversation that only sounds like a job is one that people have.
    let say = json!({ "sessionKey": "my:cron:notes", "message": "hello" });
    assert_eq!(gateway.call("gsv__SessionSend", say)["ok"], true);
    assert_eq!(list(&gateway, json!({}))["total"], 2);
}
