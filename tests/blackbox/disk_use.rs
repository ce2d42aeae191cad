//! Nobody uses the disk up: floods of refusals are counted, what is stored has quotas, old audit
//! entries go, and when space is low only the owner can write.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::harness::{Gateway, eventually, tree};
use crate::http::Request;

const WRITE: &str = "gsv__WriteFile";

fn file(path: &str, bytes: usize) -> Value {
    json!({ "path": path, "content": "x".repeat(bytes) })
}

/// Calls a tool from any thread.
fn call(addr: SocketAddr, token: &str, tool: &str, arguments: &Value) -> Value {
    let request = Request::post(&format!("/api/tools/{tool}"), arguments).bearer(token);
    request.send(addr).json()
}

/// The size of everything below a folder, and how many files there are.
fn stored(dir: &Path) -> (usize, usize) {
    if !dir.exists() {
        return (0, 0);
    }
    let files = tree(dir);
    (
        files.iter().map(|(_, bytes)| bytes.len()).sum(),
        files.len(),
    )
}

fn workspace(gateway: &Gateway) -> (usize, usize) {
    stored(&gateway.home.blob("agents/main"))
}

/// How many calls an audit entry stands for.
fn calls(entry: &Value) -> u64 {
    let summary = entry["summary"].as_str().unwrap_or_default();
    let counted = serde_json::from_str::<Value>(summary).unwrap_or_default();
    counted["count"].as_u64().unwrap_or(1)
}

#[test]
fn a_flood_of_refusals_is_counted_and_costs_little_disk() {
    const EACH: usize = 750;
    let gateway = Gateway::start();
    let (token, _) = gateway.token(json!({ "name": "reader", "role": "read-only" }));
    let (forbidden, turned_away) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let addr = gateway.addr;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..EACH {
                    let arguments = file(&format!("{number}"), 4_000);
                    match call(addr, &token, WRITE, &arguments)["code"].as_str() {
                        Some("forbidden") => forbidden.fetch_add(1, Ordering::SeqCst),
                        Some("rate_limited") => turned_away.fetch_add(1, Ordering::SeqCst),
                        other => panic!("{other:?}"),
                    };
                }
            });
        }
    });
    let (forbidden, turned_away) = (forbidden.into_inner(), turned_away.into_inner());
    assert_eq!(forbidden + turned_away, 4 * EACH);
    assert!(
        turned_away > 0,
        "past limits.calls_per_minute calls are not looked at"
    );
    assert_eq!(
        gateway.call(WRITE, file("a.md", 10))["ok"],
        true,
        "others go on"
    );
    let gateway = gateway.restart();
    let entries = gateway.audit();
    let refused: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["kind"] == "refused")
        .collect();
    let counted: u64 = refused.iter().map(|entry| calls(entry)).sum();
    assert_eq!(counted as usize, forbidden + turned_away, "none is lost");
    assert!(refused.len() < 200, "{} entries", refused.len());
    gateway.verify_audit();
    assert_eq!(workspace(&gateway), (10, 1));
}

#[test]
fn a_workspace_quota_applies_to_every_writer() {
    let gateway = Gateway::with_config("[limits]\nworkspace_bytes = 10000\nworkspace_files = 4\n");
    let client = gateway.client("laptop");
    let refused = |said: Value, limit: &str| {
        assert_eq!(said["code"], "budget_exceeded", "{said}");
        assert!(
            said["error"].as_str().is_some_and(|e| e.contains(limit)),
            "{said}"
        );
    };
    assert_eq!(gateway.call(WRITE, file("a.md", 6_000))["ok"], true);
    refused(
        gateway.call(WRITE, file("b.md", 4_001)),
        "limits.workspace_bytes",
    );
    refused(
        gateway.call_as(&client, WRITE, file("b.md", 4_001)).json(),
        "limits.workspace_bytes",
    );
    let grow =
        json!({ "path": "a.md", "oldString": "x".repeat(6_000), "newString": "y".repeat(10_001) });
    refused(
        gateway.call("gsv__EditFile", grow),
        "limits.workspace_bytes",
    );
    assert_eq!(
        gateway.read("a.md"),
        Some("x".repeat(6_000)),
        "it is as it was"
    );
    assert_eq!(
        workspace(&gateway),
        (6_000, 1),
        "nothing refused is there, not even a part"
    );
    for name in ["b.md", "c.md", "d.md"] {
        assert_eq!(
            gateway.call_as(&client, WRITE, file(name, 100)).json()["ok"],
            true
        );
    }
    refused(
        gateway.call(WRITE, file("e.md", 1)),
        "limits.workspace_files",
    );
    assert_eq!(
        gateway.call(WRITE, file("b.md", 200))["ok"],
        true,
        "replacing is no new file"
    );
    let gone = gateway
        .call_as(&client, "gsv__DeleteFile", json!({ "path": "b.md" }))
        .json();
    assert_eq!(gone["ok"], true, "{gone}");
    assert_eq!(gateway.call(WRITE, file("e.md", 1))["ok"], true);
    // What a killed gateway had stored is counted by the next one.
    let gateway = Gateway::on(gateway.kill9());
    refused(
        gateway.call(WRITE, file("f.md", 1)),
        "limits.workspace_files",
    );
    let (bytes, _) = workspace(&gateway);
    refused(
        gateway.call(WRITE, file("e.md", 10_002 - bytes)),
        "limits.workspace_bytes",
    );
    assert_eq!(
        gateway.call(WRITE, file("e.md", 10_001 - bytes))["ok"],
        true
    );
    assert_eq!(workspace(&gateway).0, 10_000);
}

#[test]
fn parallel_writers_stay_within_the_quota() {
    let gateway = Gateway::with_config("limits.workspace_bytes = 100000\n");
    let fitted = AtomicUsize::new(0);
    let (addr, owner) = (gateway.addr, gateway.owner.clone());
    std::thread::scope(|scope| {
        for writer in 0..64 {
            let (owner, fitted) = (&owner, &fitted);
            scope.spawn(move || {
                for round in 0..4 {
                    let path = format!("{writer}-{round}.md");
                    let said = call(addr, owner, WRITE, &file(&path, 3_000));
                    match said["code"].as_str() {
                        None => fitted.fetch_add(1, Ordering::SeqCst),
                        Some("budget_exceeded") => 0,
                        Some(_) => panic!("{said}"),
                    };
                }
            });
        }
    });
    assert_eq!(fitted.into_inner(), 33, "as many as fit, and no more");
    assert_eq!(workspace(&gateway), (99_000, 33));
}

#[test]
fn an_hourly_write_limit_applies_across_tools() {
    let gateway = Gateway::with_config("limits.write_bytes_per_hour = 20000\n");
    let (busy, other) = (gateway.client("busy"), gateway.client("other"));
    let said = gateway.call_as(&busy, WRITE, file("a.md", 15_000)).json();
    assert_eq!(said["ok"], true, "{said}");
    let before = workspace(&gateway);
    let artifact =
        json!({ "filename": "a.txt", "fileType": "text", "content": "x".repeat(15_000) });
    for (tool, arguments) in [
        (WRITE, file("b.md", 15_000)),
        ("gateway_write_artifact", artifact.clone()),
    ] {
        let said = gateway.call_as(&busy, tool, arguments).json();
        assert_eq!(said["code"], "budget_exceeded", "{tool}: {said}");
        let error = said["error"].as_str().unwrap_or_default();
        assert!(error.contains("limits.write_bytes_per_hour"), "{said}");
    }
    assert_eq!(workspace(&gateway), before, "nothing was written");
    assert_eq!(stored(&gateway.home.blob("artifacts")), (0, 0));
    assert_eq!(
        gateway.call_as(&other, WRITE, file("b.md", 15_000)).json()["ok"],
        true
    );
    for number in 0..3 {
        let said = gateway.call(WRITE, file(&format!("{number}.md"), 15_000));
        assert_eq!(said["ok"], true, "the owner is not metered: {said}");
    }
    let said = gateway
        .call_as(&busy, "gsv__ReadFile", json!({ "path": "a.md" }))
        .json();
    assert_eq!(said["ok"], true, "reading is free: {said}");
}

#[test]
fn a_caller_has_a_job_limit() {
    let gateway = Gateway::with_config("cron.max_jobs_per_caller = 2\n");
    let client = gateway.client("laptop");
    let add = |token: &str| {
        let spec = json!({ "mode": "task", "message": "look", "deliver": false });
        let schedule = json!({ "kind": "at", "at": "in 2 hours" });
        let job = json!({ "name": "a job", "schedule": schedule, "spec": spec });
        let arguments = json!({ "action": "add", "job": job });
        gateway.call_as(token, "gsv__Cron", arguments).json()
    };
    for _ in 0..2 {
        assert_eq!(add(&client)["ok"], true);
    }
    let full = add(&client);
    assert_eq!(full["code"], "budget_exceeded", "{full}");
    let owner = add(&gateway.owner);
    assert_eq!(owner["ok"], true, "{owner}");
    let jobs = gateway.call("gsv__Cron", json!({ "action": "list" }));
    assert_eq!(
        jobs["result"]["jobs"].as_array().map(Vec::len),
        Some(3),
        "{jobs}"
    );
}

#[test]
fn while_space_is_low_only_the_owner_writes_and_all_can_read_and_delete() {
    let gateway = Gateway::start();
    let client = gateway.client("laptop");
    for name in ["a.md", "b.md"] {
        let said = gateway.call_as(&client, WRITE, file(name, 10)).json();
        assert_eq!(said["ok"], true, "the control: {said}");
    }
    assert_eq!(gateway.send(&Request::get("/readyz")).text(), "ready\n");
    let disk = rustix::fs::statvfs(gateway.home.path()).expect("the disk");
    let free = disk.f_bavail * disk.f_frsize;
    let set = |bytes: u64| {
        let ran = gateway.cli(&["config", "set", "limits.min_free_bytes", &bytes.to_string()]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    set(free.saturating_mul(3));
    let before = workspace(&gateway);
    let artifact = json!({ "filename": "a.txt", "fileType": "text", "content": "x" });
    for (tool, arguments) in [
        (WRITE, file("c.md", 10)),
        ("gateway_write_artifact", artifact),
    ] {
        let said = gateway.call_as(&client, tool, arguments).json();
        assert_eq!(said["code"], "storage_full", "{tool}: {said}");
        let error = said["error"].as_str().unwrap_or_default();
        assert!(error.contains("limits.min_free_bytes"), "{said}");
    }
    assert_eq!(workspace(&gateway), before, "nothing was written");
    let ready = gateway.send(&Request::get("/readyz"));
    assert_eq!(ready.status, 200);
    assert!(
        ready.text().contains("disk space is low"),
        "{}",
        ready.text()
    );
    assert_eq!(gateway.metric("disk_space_low", &[]) as u64, 1);
    assert!(gateway.metric("disk_free_bytes", &[]) > 0.0);
    let doctor = gateway.get("/api/doctor").text();
    assert!(doctor.contains("only the owner can write"), "{doctor}");
    let read = gateway
        .call_as(&client, "gsv__ReadFile", json!({ "path": "a.md" }))
        .json();
    assert_eq!(read["ok"], true, "{read}");
    let gone = gateway
        .call_as(&client, "gsv__DeleteFile", json!({ "path": "b.md" }))
        .json();
    assert_eq!(gone["ok"], true, "{gone}");
    assert_eq!(
        gateway.call(WRITE, file("d.md", 10))["ok"],
        true,
        "the owner can write"
    );
    // Nearly nothing left: the owner cannot write either, and can still clear up and administer.
    set(free.saturating_mul(100));
    assert_eq!(
        gateway.call(WRITE, file("e.md", 10))["code"],
        "storage_full"
    );
    let gone = gateway.call("gsv__DeleteFile", json!({ "path": "d.md" }));
    assert_eq!(gone["ok"], true, "{gone}");
    gateway.client("another");
    set(0);
    assert_eq!(
        gateway.call_as(&client, WRITE, file("c.md", 10)).json()["ok"],
        true
    );
    assert_eq!(gateway.metric("disk_space_low", &[]) as u64, 0);
}

#[test]
fn old_audit_entries_go_into_an_archive_and_the_rest_verifies() {
    let gateway = Gateway::start();
    for _ in 0..1_400 {
        gateway.call("gsv__ReadFile", json!({ "path": "nowhere" }));
    }
    let home = gateway.stop();
    let whole = home.cli(&["audit", "verify"]).ok();
    assert!(!whole.stdout.contains("removed by retention"), "{whole:?}");
    let gateway = Gateway::on(home.with_config("audit.max_bytes = 100000\n"));
    eventually("old entries go", || {
        let verdict = gateway.post("/api/audit/verify", &json!({})).json();
        assert_eq!(verdict["result"]["ok"], true, "{verdict}");
        verdict["result"]["removed"]
            .as_u64()
            .is_some_and(|removed| removed >= 300)
    });
    let (bytes, files) = stored(&gateway.home.blob("audit"));
    assert!(bytes > 0 && files > 0, "what went is archived");
    let pruned = gateway.audit();
    assert!(pruned.iter().any(|entry| entry["code"] == "audit_pruned"));
    let home = gateway.stop();
    let verified = home.cli(&["audit", "verify"]).ok();
    assert!(
        verified.stdout.contains("removed by retention"),
        "{verified:?}"
    );
    // Somebody who removes more is found.
    let mut sql = crate::sql::Sql::open(&home.path());
    let more = "DELETE FROM audit WHERE seq = (SELECT MIN(seq) FROM audit)";
    assert_eq!(sql.run(more), 1);
    sql.close();
    let tampered = home.cli(&["audit", "verify"]);
    assert_eq!(tampered.code, Some(1), "{tampered:?}");
}
