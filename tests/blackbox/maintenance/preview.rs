//! `cron.preview`: what a schedule comes to, before a job is made of it.

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::socket::Socket;

const DAY: i64 = 86_400_000;

fn gateway() -> Gateway {
    Gateway::with_config("timezone = \"Europe/Berlin\"\n")
}

#[track_caller]
fn preview(socket: &mut Socket, params: Value) -> Value {
    let said = socket.request("cron.preview", params);
    assert_eq!(said["ok"], true, "{said}");
    said["payload"].clone()
}

fn times(preview: &Value) -> Vec<i64> {
    let times = preview["times"].as_array().expect("times");
    times.iter().filter_map(Value::as_i64).collect()
}

#[test]
fn a_schedule_is_told_in_words_with_its_next_instants_and_nothing_is_kept() {
    let gateway = gateway();
    let mut socket = gateway.ws();
    let nine = json!({ "kind": "cron", "expr": "0 9 * * *" });
    let shown = preview(&mut socket, json!({ "schedule": nine }));
    assert_eq!(shown["text"], "at 09:00 (Europe/Berlin)");
    assert_eq!(shown["schedule"], nine);
    assert_eq!(times(&shown).len(), 5);
    // In a zone whose clocks never change, days are equally long.
    let asked = json!({ "schedule": nine, "tz": "Asia/Kolkata", "count": 20 });
    let shown = preview(&mut socket, asked);
    assert_eq!(shown["text"], "at 09:00 (Asia/Kolkata)");
    let there = times(&shown);
    assert_eq!(there.len(), 20);
    assert_eq!(there[0] % DAY, 3 * 3_600_000 + 30 * 60_000);
    assert!(there.windows(2).all(|two| two[1] - two[0] == DAY));
    // A date and time is read by the clocks of whoever asks.
    let once = json!({ "kind": "at", "at": "2099-01-01 09:00" });
    let shown = preview(
        &mut socket,
        json!({ "schedule": once, "tz": "Asia/Kolkata" }),
    );
    assert_eq!(times(&shown), [4_070_921_400_000]);
    assert_eq!(shown["text"], "once, 2099-01-01 09:00:00 (Asia/Kolkata)");
    let words = json!({ "kind": "at", "at": "tomorrow at 9am" });
    let shown = preview(&mut socket, json!({ "schedule": words }));
    assert_eq!(times(&shown).len(), 1);
    let hourly = json!({ "kind": "every", "everyHours": 1 });
    let shown = preview(&mut socket, json!({ "schedule": hourly, "count": 3 }));
    let grid = times(&shown);
    assert_eq!((grid[1] - grid[0], grid.len()), (3_600_000, 3));
    let listed = socket.request("cron.list", json!({ "includeDisabled": true }));
    assert_eq!(listed["payload"]["count"], 0, "{listed}");
}

#[test]
fn a_job_made_of_what_was_shown_comes_at_the_instants_that_were_shown() {
    let gateway = gateway();
    let mut socket = gateway.ws();
    for schedule in [
        json!({ "kind": "at", "at": "tomorrow at 9am" }),
        json!({ "kind": "every", "everyMinutes": 90 }),
        json!({ "kind": "cron", "expr": "30 8 * * mon-fri" }),
        json!({ "kind": "cron", "expr": "30 8 * * *", "tz": "America/New_York" }),
    ] {
        let asked = json!({ "schedule": schedule, "tz": "Asia/Kolkata" });
        let shown = preview(&mut socket, asked);
        let job = json!({
            "name": "a job", "schedule": shown["schedule"],
            "spec": { "mode": "task", "message": "look", "deliver": false }
        });
        let added = socket.request("cron.add", job);
        assert_eq!(added["ok"], true, "{schedule}: {added}");
        let state = &added["payload"]["job"]["state"];
        let next = state["nextRunAtMs"].as_i64();
        assert_eq!(next, times(&shown).first().copied(), "{schedule}: {added}");
    }
}

#[test]
fn what_cannot_be_a_schedule_is_refused_as_it_is_when_a_job_is_made() {
    let gateway = gateway();
    let mut socket = gateway.ws();
    for schedule in [
        json!({ "kind": "cron", "expr": "99 * * * *" }),
        json!({ "kind": "at", "at": "when the cows come home" }),
        json!({ "kind": "at", "at": "2001-01-01 09:00" }),
        json!({ "kind": "every", "everyMinutes": 0 }),
        json!({ "kind": "every", "everyMinutes": 5, "expr": "* * * * *" }),
        json!({ "kind": "cron", "expr": "0 0 30 2 *" }),
        json!({}),
    ] {
        let refused = socket.request("cron.preview", json!({ "schedule": schedule }));
        assert_eq!(refused["error"]["code"], 400, "{schedule}: {refused}");
        let job = json!({ "name": "a", "schedule": schedule, "spec": { "mode": "task", "message": "m" } });
        let made = socket.request("cron.add", job);
        assert_eq!(made["error"]["code"], 400, "{schedule}: {made}");
        let why = |said: &Value| {
            let problem = &said["error"]["details"]["problems"][0];
            let message = problem["message"].as_str().map(str::to_owned);
            message.unwrap_or_else(|| panic!("{said}"))
        };
        // The moment it is now may be named in it.
        let stem = |text: String| text.split(" it is ").next().unwrap_or("").to_owned();
        assert_eq!(stem(why(&refused)), stem(why(&made)));
    }
    for (params, named) in [
        (json!({ "schedule": { "kind": "fortnightly" } }), "schedule"),
        (
            json!({ "schedule": { "kind": "at", "when": "now" } }),
            "schedule",
        ),
        (
            json!({ "schedule": { "kind": "every", "everyHours": 1 }, "count": 0 }),
            "count",
        ),
        (
            json!({ "schedule": { "kind": "every", "everyHours": 1 }, "count": 21 }),
            "count",
        ),
        (
            json!({ "schedule": { "kind": "every", "everyHours": 1 }, "tz": "Mars/Olympus" }),
            "tz",
        ),
    ] {
        let refused = socket.request("cron.preview", params.clone());
        assert_eq!(refused["error"]["code"], 400, "{params}: {refused}");
        let message = refused["error"]["message"].as_str().expect("a message");
        assert!(message.contains(named), "{params}: {message}");
    }
    let listed = socket.request("cron.list", json!({ "includeDisabled": true }));
    assert_eq!(listed["payload"]["count"], 0, "{listed}");
}

#[test]
fn the_command_line_shows_it_too() {
    let gateway = gateway();
    let ran = gateway.cli(&["cron", "preview", "--cron", "0 9 * * *", "--tz", "UTC"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((ran.code, lines.len()), (Some(0), 6), "{ran:?}");
    assert_eq!(lines[0], "at 09:00 (UTC)");
    assert!(lines[1].ends_with("T09:00:00Z"), "{ran:?}");
    let asked = ["cron", "preview", "--every", "1h", "--count", "2", "--json"];
    let shown = gateway.cli(&asked).ok().json();
    assert_eq!(times(&shown).len(), 2);
    let ran = gateway.cli(&["cron", "preview", "--cron", "99 * * * *"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(gateway.cli(&["cron", "preview"]).code, Some(1));
}
