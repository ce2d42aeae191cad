//! Jobs with a schedule, through the real binary: every action on every face, wrong arguments, and
//! what a stop, a crash and time away leave behind. The models are scripted.

use serde_json::{Value, json};

use crate::chat_http::scripted;
use crate::harness::{Gateway, Home, eventually};
use crate::sql::Sql;

const SCRIPT: &str = r#"
models: [demo, other]
turns:
  - when: { user: heartbeat }
    text: The disk is full.
  - when: { user: look }
    text: All is well.
  - when: { user: plants }
    text: The plants are watered.
  - when: { user: forever }
    deltas: ["one ", two]
    between_ms: 3600000
  - when: { user: broken }
    error: { kind: auth, message: the key is wrong }
"#;

fn gateway() -> Gateway {
    scripted(SCRIPT, "timezone = \"Europe/Berlin\"\n")
}

/// What `gsv__Cron` answers; it must go well.
#[track_caller]
fn cron(gateway: &Gateway, arguments: Value) -> Value {
    let said = gateway.call("gsv__Cron", arguments.clone());
    assert_eq!(said["ok"], true, "{arguments}: {said}");
    said["result"].clone()
}

fn task(message: &str) -> Value {
    json!({ "mode": "task", "message": message, "deliver": false })
}

/// A job, by its id.
#[track_caller]
fn add(gateway: &Gateway, schedule: Value, spec: Value) -> String {
    let job = json!({ "name": "a job", "schedule": schedule, "spec": spec });
    let added = cron(gateway, json!({ "action": "add", "job": job }));
    added["job"]["id"].as_str().expect("an id").to_owned()
}

fn runs(gateway: &Gateway, job: &str) -> Vec<Value> {
    let runs = cron(gateway, json!({ "action": "runs", "jobId": job }));
    runs["runs"].as_array().expect("runs").clone()
}

/// How runs ended, the earliest instant first, each with how many instants it stands for.
fn ends(gateway: &Gateway, job: &str) -> Vec<(String, i64)> {
    let mut runs = runs(gateway, job);
    runs.sort_by_key(|run| run["scheduledAtMs"].as_i64());
    runs.iter()
        .map(|run| {
            let status = run["status"].as_str().unwrap().to_owned();
            (status, run["count"].as_i64().unwrap())
        })
        .collect()
}

#[test]
fn all_seven_actions_work() {
    let gateway = gateway();
    let hourly = json!({ "kind": "every", "everyHours": 1 });
    let job = add(&gateway, hourly, task("look"));
    let status = cron(&gateway, json!({ "action": "status" }));
    assert_eq!(status["enabled"], true);
    assert_eq!(
        (&status["count"], &status["dueCount"]),
        (&json!(1), &json!(0))
    );
    assert!(
        status["nextRunAtMs"].is_i64() && status["maxJobs"].is_u64(),
        "{status}"
    );
    let listed = cron(&gateway, json!({ "action": "list" }));
    let shown = &listed["jobs"][0];
    assert_eq!(shown["id"], job.as_str());
    assert_eq!(shown["agentId"], "main");
    assert_eq!(shown["schedule"]["everyMs"], 3_600_000);
    assert_eq!(shown["spec"], task("look"));
    let ran = cron(
        &gateway,
        json!({ "action": "run", "mode": "force", "id": job }),
    );
    assert_eq!(ran["ran"], 1);
    assert_eq!(ran["results"][0]["status"], "ok", "{ran}");
    assert_eq!(ran["results"][0]["summary"], "All is well.");
    let due = cron(&gateway, json!({ "action": "run", "mode": "due" }));
    assert_eq!(due, json!({ "ok": true, "ran": 0, "results": [] }));
    let patch = json!({
        "name": "weekdays", "schedule": { "kind": "cron", "expr": "0 9 * * mon-fri" },
        "spec": { "message": "look again" }, "enabled": false
    });
    let changed = cron(
        &gateway,
        json!({ "action": "update", "id": job, "patch": patch }),
    );
    let changed = &changed["job"];
    assert_eq!(
        changed["scheduleText"],
        "at 09:00 on Monday to Friday (Europe/Berlin)"
    );
    assert_eq!(changed["spec"]["message"], "look again");
    assert!(changed["state"].get("nextRunAtMs").is_none(), "{changed}");
    assert_eq!(changed["state"]["lastStatus"], "ok");
    assert_eq!(cron(&gateway, json!({ "action": "list" }))["count"], 0);
    let all = cron(
        &gateway,
        json!({ "action": "list", "includeDisabled": true }),
    );
    assert_eq!(all["count"], 1);
    let runs = cron(
        &gateway,
        json!({ "action": "runs", "jobId": job, "limit": 10, "offset": 0 }),
    );
    assert_eq!(runs["count"], 1);
    assert_eq!(runs["runs"][0]["forced"], true);
    let removed = cron(&gateway, json!({ "action": "remove", "id": job }));
    assert_eq!(removed, json!({ "ok": true, "removed": true }));
    let again = cron(&gateway, json!({ "action": "remove", "id": job }));
    assert_eq!(again["removed"], false);
    assert_eq!(cron(&gateway, json!({ "action": "runs" }))["count"], 0);
}

#[test]
fn a_job_that_is_due_runs_by_itself() {
    let gateway = gateway();
    let soon = json!({ "kind": "every", "everySeconds": 1 });
    let job = add(
        &gateway,
        soon,
        json!({ "mode": "systemEvent", "text": "the plants" }),
    );
    eventually("two runs", || ends(&gateway, &job).len() >= 2);
    let off = json!({ "action": "update", "id": job, "patch": { "enabled": false } });
    cron(&gateway, off);
    let runs = runs(&gateway, &job);
    let first = runs.last().unwrap();
    assert_eq!(first["status"], "ok", "{first}");
    assert_eq!(
        first["summary"],
        "The plants are watered.\n[not delivered: no chat]"
    );
    let said = gateway.get("/api/sessions/main/messages?limit=2").json();
    assert!(
        said.to_string().contains("The plants are watered."),
        "{said}"
    );
}

#[test]
fn wrong_arguments_are_named_and_change_nothing() {
    let gateway = gateway();
    let job = |schedule: Value, spec: Value| json!({ "action": "add", "job": { "name": "x", "schedule": schedule, "spec": spec } });
    let at = json!({ "kind": "at", "at": "in 2 hours" });
    for (arguments, words) in [
        (json!({}), "action"),
        (json!({ "action": "dance" }), "action"),
        (
            json!({ "action": "add" }),
            "job: is required for action add",
        ),
        (
            json!({ "action": "update", "id": "x" }),
            "patch: is required",
        ),
        (
            json!({ "action": "update", "patch": {} }),
            "id: is required",
        ),
        (json!({ "action": "remove" }), "id: is required"),
        (
            json!({ "action": "run", "mode": "force" }),
            "id: is required for action run with mode force",
        ),
        (json!({ "action": "run", "mode": "later" }), "mode"),
        (
            json!({ "action": "list", "job": {} }),
            "job: belongs to action add",
        ),
        (json!({ "action": "runs", "limit": 0 }), "limit"),
        (json!({ "action": "status", "agentId": "../x" }), "agentId"),
        (
            json!({ "action": "add", "job": { "name": "x", "colour": 1 } }),
            "colour",
        ),
        (
            job(json!({ "kind": "at", "at": "whenever" }), task("look")),
            "job.schedule.at",
        ),
        (
            job(json!({ "kind": "at", "at": "2020-01-01" }), task("look")),
            "is in the past",
        ),
        (
            job(json!({ "kind": "cron", "expr": "0 9 * *" }), task("look")),
            "job.schedule.expr: expected 5 fields",
        ),
        (
            job(
                json!({ "kind": "cron", "expr": "0 0 30 2 *" }),
                task("look"),
            ),
            "never matches",
        ),
        (
            job(
                json!({ "kind": "cron", "expr": "@daily", "tz": "Mars/Base" }),
                task("look"),
            ),
            "job.schedule.tz",
        ),
        (
            job(json!({ "kind": "every" }), task("look")),
            "job.schedule.everyMinutes",
        ),
        (
            job(at.clone(), json!({ "mode": "task" })),
            "job.spec.message",
        ),
        (
            job(
                at.clone(),
                json!({ "mode": "systemEvent", "text": "x", "model": "a/b" }),
            ),
            "job.spec.model: belongs to mode task",
        ),
        (
            job(
                at.clone(),
                json!({ "mode": "task", "message": "x", "model": "nowhere/x" }),
            ),
            "job.spec.model",
        ),
        (
            job(
                at,
                json!({ "mode": "task", "message": "x", "thinking": "hard" }),
            ),
            "job.spec.thinking",
        ),
    ] {
        let said = gateway.call("gsv__Cron", arguments.clone());
        assert_eq!(said["ok"], false, "{arguments}: {said}");
        let text = said.to_string();
        assert!(text.contains(words), "{arguments}: {text}");
    }
    let all = cron(
        &gateway,
        json!({ "action": "list", "includeDisabled": true }),
    );
    assert_eq!(all["count"], 0, "{all}");
}

#[test]
fn the_socket_has_a_method_for_each_action_and_for_heartbeats() {
    let gateway = gateway();
    let mut socket = gateway.ws();
    let mut ask = |method: &str, params: Value| {
        let answer = socket.request(method, params.clone());
        assert_eq!(answer["ok"], true, "{method} {params}: {answer}");
        answer["payload"].clone()
    };
    let job = json!({
        "name": "x", "schedule": { "kind": "every", "everyDays": 1 }, "spec": task("look"), "description": "why"
    });
    let added = ask("cron.add", job);
    let id = added["job"]["id"].clone();
    assert_eq!(added["job"]["description"], "why");
    assert_eq!(ask("cron.status", json!({}))["count"], 1);
    assert_eq!(ask("cron.list", json!({ "limit": 5 }))["count"], 1);
    let run = ask("cron.run", json!({ "id": id, "mode": "force" }));
    assert_eq!(run["results"][0]["status"], "ok", "{run}");
    assert_eq!(ask("cron.runs", json!({ "jobId": id }))["count"], 1);
    let changed = ask("cron.update", json!({ "id": id, "patch": { "name": "y" } }));
    assert_eq!(changed["job"]["name"], "y");
    assert_eq!(ask("cron.remove", json!({ "id": id }))["removed"], true);
    let beats = ask("heartbeat.status", json!({}));
    assert_eq!(beats["agents"][0]["agentId"], "main");
    assert_eq!(beats["agents"][0]["everyMinutes"], 30);
    let looked = ask("heartbeat.trigger", json!({}));
    assert_eq!(looked["run"]["status"], "skipped", "nothing to look at");
    gateway.write("HEARTBEAT.md", "look at the disk\n");
    let looked = ask("heartbeat.trigger", json!({ "agentId": "main" }));
    assert_eq!(looked["run"]["status"], "ok", "{looked}");
    assert!(looked.to_string().contains("The disk is full."), "{looked}");
    assert_eq!(ask("heartbeat.start", json!({}))["ok"], true);
    let shown = gateway.cli(&["heartbeat", "status"]).ok();
    assert!(shown.stdout.contains("every 30 minutes"), "{shown:?}");
    let looked = gateway.cli(&["heartbeat", "trigger"]).ok();
    assert!(looked.stdout.contains("The disk is full."), "{looked:?}");
    let refused = gateway.cli(&["heartbeat", "trigger", "--agent", "nobody"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let mut client = crate::socket::Socket::connect(gateway.addr, &gateway.client("phone"));
    let refused = client.request("heartbeat.trigger", json!({}));
    assert_eq!(refused["error"]["code"], 403, "{refused}");
}

#[test]
fn the_command_line_covers_every_action() {
    let gateway = gateway();
    let said = gateway.cli(&["cron", "list"]).ok().stdout;
    assert!(said.contains("no jobs"), "{said}");
    let said = gateway
        .cli(&[
            "cron",
            "add",
            "--name",
            "mail",
            "--every",
            "30m",
            "--message",
            "look",
            "--no-deliver",
        ])
        .ok()
        .stdout;
    assert!(said.contains("every 30 minutes from"), "{said}");
    let workdays = [
        "cron",
        "add",
        "--name",
        "work",
        "--cron",
        "0 9 * * 1-5",
        "--tz",
        "Europe/Berlin",
        "--event",
        "plants",
        "--json",
    ];
    let job = gateway.cli(&workdays).ok().json();
    assert_eq!(job["job"]["spec"]["text"], "plants");
    let id = job["job"]["id"].as_str().unwrap().to_owned();
    let once = [
        "cron",
        "add",
        "--name",
        "once",
        "--at",
        "tomorrow at 9am",
        "--message",
        "look",
        "--delete-after-run",
        "--timeout",
        "60",
        "--missed",
        "all",
        "--disabled",
    ];
    gateway.cli(&once).ok();
    let listed = gateway.cli(&["cron", "list"]).ok().stdout;
    assert!(listed.contains("at 09:00 on Monday to Friday"), "{listed}");
    assert!(!listed.contains("once"), "it is switched off: {listed}");
    let all = gateway
        .cli(&["cron", "list", "--all", "--json"])
        .ok()
        .json();
    assert_eq!(all["count"], 3);
    let ran = gateway.cli(&["cron", "run", &id]).ok().stdout;
    assert!(ran.contains("ok: The plants are watered."), "{ran}");
    let runs = gateway.cli(&["cron", "runs", &id]).ok().stdout;
    assert!(runs.contains("ok"), "{runs}");
    let edited = gateway
        .cli(&["cron", "edit", &id, "--event", "broken", "--disable"])
        .ok()
        .stdout;
    assert!(edited.contains("disabled"), "{edited}");
    let failed = gateway.cli(&["cron", "run", &id]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("the key is wrong"), "{failed:?}");
    let status = gateway.cli(&["cron", "status"]).ok().stdout;
    assert!(status.contains("3 of 100000 jobs, 0 due"), "{status}");
    gateway.cli(&["cron", "remove", &id]).ok();
    assert_eq!(gateway.cli(&["cron", "remove", &id]).code, Some(1));
    for wrong in [
        &["cron", "add", "--name", "x", "--message", "y"][..],
        &[
            "cron",
            "add",
            "--name",
            "x",
            "--every",
            "soon",
            "--message",
            "y",
        ],
        &[
            "cron",
            "add",
            "--name",
            "x",
            "--every",
            "1h",
            "--at",
            "now",
            "--message",
            "y",
        ],
        &["cron", "add", "--name", "x", "--every", "1h"],
        &["cron", "edit", "nope", "--name", "x"],
        &["cron", "edit", "nope"],
    ] {
        assert_ne!(gateway.cli(wrong).code, Some(0), "{wrong:?}");
    }
}

#[test]
fn a_client_sees_and_changes_only_its_own_jobs() {
    let gateway = gateway();
    let owners = add(
        &gateway,
        json!({ "kind": "every", "everyDays": 1 }),
        task("look"),
    );
    let (phone, tablet) = (gateway.client("phone"), gateway.client("tablet"));
    let ask = |token: &str, arguments: Value| gateway.call_as(token, "gsv__Cron", arguments).json();
    let job = json!({ "name": "mine", "schedule": { "kind": "every", "everyDays": 1 }, "spec": task("look") });
    let own = ask(&phone, json!({ "action": "add", "job": job }));
    let own = own["result"]["job"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{own}"))
        .to_owned();
    assert_eq!(
        ask(&phone, json!({ "action": "list" }))["result"]["count"],
        1
    );
    assert_eq!(
        ask(&tablet, json!({ "action": "list" }))["result"]["count"],
        0
    );
    assert_eq!(
        cron(&gateway, json!({ "action": "list" }))["count"],
        2,
        "the owner sees all"
    );
    for foreign in [&owners, &own] {
        let update = json!({ "action": "update", "id": foreign, "patch": { "name": "taken" } });
        assert_eq!(ask(&tablet, update)["code"], "not_found");
        let run = json!({ "action": "run", "mode": "force", "id": foreign });
        assert_eq!(ask(&tablet, run)["code"], "not_found");
        let remove = json!({ "action": "remove", "id": foreign });
        assert_eq!(ask(&tablet, remove)["result"]["removed"], false);
    }
    let ran = ask(
        &phone,
        json!({ "action": "run", "mode": "force", "id": own }),
    );
    assert_eq!(ran["result"]["results"][0]["status"], "ok", "{ran}");
    assert_eq!(
        ask(&tablet, json!({ "action": "runs" }))["result"]["count"],
        0
    );
    assert_eq!(
        ask(&phone, json!({ "action": "runs" }))["result"]["count"],
        1
    );
    let dear = json!({ "name": "x", "schedule": { "kind": "every", "everyDays": 1 },
        "spec": { "mode": "task", "message": "look", "model": "scripted/other" } });
    let dear = ask(&phone, json!({ "action": "add", "job": dear }));
    assert!(
        dear.to_string()
            .contains("only the owner can choose the model"),
        "{dear}"
    );
}

/// Makes a stopped home look as if it had been away for so many minutes.
fn shift_back(home: &Home, minutes: i64) {
    let ms = minutes * 60_000;
    let mut sql = Sql::open(&home.path());
    sql.run(&format!(
        "UPDATE cron_job SET next_run = next_run - {ms}, created = created - {ms},
         schedule = json_set(schedule, '$.anchorMs', json_extract(schedule, '$.anchorMs') - {ms})
         WHERE kind = 'job'"
    ));
    sql.close();
}

#[test]
fn missed_runs_follow_each_jobs_policy() {
    let gateway = gateway();
    let mut ids = Vec::new();
    for (missed, window) in [
        ("skip", 24),
        ("once", 24),
        ("all", 24),
        ("all", 2),
        ("once", 24),
    ] {
        let job = json!({
            "name": missed, "schedule": { "kind": "every", "everyHours": 1 }, "spec": task("look"),
            "missed": missed, "missedWindowHours": window
        });
        let added = cron(&gateway, json!({ "action": "add", "job": job }));
        ids.push(added["job"]["id"].as_str().unwrap().to_owned());
    }
    let home = gateway.kill9();
    // They were due six times, the last time half an hour ago.
    shift_back(&home, 6 * 60 + 30);
    // One was away for longer than its window.
    let mut sql = Sql::open(&home.path());
    let long = format!(
        "UPDATE cron_job SET schedule = json_object('kind', 'at', 'atMs', next_run - 90000000),
         next_run = next_run - 90000000 WHERE id = '{}'",
        ids[4]
    );
    sql.run(&long);
    sql.close();
    let gateway = Gateway::on(home);
    let ok = |count: usize| vec![("ok".to_owned(), 1); count];
    let skipped = |count: i64| vec![("skipped".to_owned(), count)];
    let expect = [
        skipped(6),
        [skipped(5), ok(1)].concat(),
        ok(6),
        [skipped(4), ok(2)].concat(),
        skipped(1),
    ];
    for (id, expect) in ids.iter().zip(expect) {
        eventually("all is made up for", || {
            let ends = ends(&gateway, id);
            ends.len() >= expect.len() && ends.iter().all(|(status, _)| status != "running")
        });
        assert_eq!(ends(&gateway, id), expect, "{id}");
    }
    let listed = cron(
        &gateway,
        json!({ "action": "list", "includeDisabled": true }),
    );
    assert_eq!(
        listed["jobs"][4]["enabled"], false,
        "what comes once is over"
    );
    assert_eq!(listed["jobs"][4]["state"]["lastStatus"], "skipped");
}

#[test]
fn a_run_interrupted_by_a_kill_resumes_once() {
    let gateway = gateway();
    let job = add(
        &gateway,
        json!({ "kind": "every", "everyDays": 1 }),
        task("forever"),
    );
    let home = {
        let gateway = gateway;
        let home = gateway.kill9();
        shift_back(&home, 25 * 60);
        home
    };
    let gateway = Gateway::on(home);
    eventually("it runs", || {
        ends(&gateway, &job) == [("running".to_owned(), 1)]
    });
    eventually("its model was asked", || {
        let sessions = gateway.get("/api/sessions").json();
        sessions.to_string().contains("cron:")
    });
    let before = runs(&gateway, &job)[0]["id"].clone();
    let home = gateway.kill9();
    let quick = SCRIPT.replace("between_ms: 3600000", "between_ms: 1");
    std::fs::write(home.outside("script.yaml"), quick).unwrap();
    let gateway = Gateway::on(home);
    eventually("it ends", || ends(&gateway, &job) == [("ok".to_owned(), 1)]);
    let after = runs(&gateway, &job);
    assert_eq!(after.len(), 1);
    assert_eq!(after[0]["id"], before);
    assert_eq!(after[0]["summary"], "one two");
    let sessions = gateway.get("/api/sessions").json();
    let count = sessions.to_string().matches("agent:main:cron:").count();
    assert_eq!(count, 1, "one turn in one session: {sessions}");
}

#[test]
fn settings_switch_the_schedule_off_and_on_without_a_restart() {
    let gateway = scripted(SCRIPT, "[cron]\nenabled = false\nmax_jobs = 2\n");
    let job = add(
        &gateway,
        json!({ "kind": "at", "in": "1 second" }),
        task("look"),
    );
    eventually("it is due", || {
        cron(&gateway, json!({ "action": "status" }))["dueCount"] == 1
    });
    let due = cron(&gateway, json!({ "action": "status" }));
    assert_eq!(due["enabled"], false);
    assert!(ends(&gateway, &job).is_empty());
    gateway.cli(&["config", "set", "cron.enabled", "true"]).ok();
    eventually("it ran", || ends(&gateway, &job) == [("ok".to_owned(), 1)]);
    add(
        &gateway,
        json!({ "kind": "at", "in": "1 day" }),
        task("look"),
    );
    let more =
        json!({ "name": "x", "schedule": { "kind": "at", "in": "1 day" }, "spec": task("look") });
    let full = gateway.call("gsv__Cron", json!({ "action": "add", "job": more }));
    assert!(
        full.to_string().contains("too many jobs (limit 2)"),
        "{full}"
    );
}
