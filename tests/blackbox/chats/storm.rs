//! Many webhooks at once: answered in time whatever the model does, in order within a chat, and a
//! chat in trouble is alone in it.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use manyhands_platforms::line::Line;
use manyhands_platforms::slack::{APP_TOKEN, BOT_TOKEN, Slack};
use serde_json::json;

use super::fixture::{Scene, threads};
use super::line::{line, use_line};
use crate::harness::eventually;
use crate::http::Request;
use crate::sql::Sql;

const MANY: usize = 200;
/// Far more than it takes on a machine that does nothing else; the figure itself is printed.
const BOUND: Duration = Duration::from_secs(20);

/// How many webhooks became turns.
const BEGUN: &str = "SELECT count(*) FROM inbox WHERE state = 'done'";

fn person(number: usize) -> String {
    format!("U{number:032x}")
}

fn stage(turns: &str) -> (Scene, Line) {
    let threads = threads();
    let (line, settings) = line(&threads, "default");
    let settings = format!("[channels.line]\ndm = \"open\"\n{settings}");
    let scene = Scene::new(threads, &settings, turns);
    use_line(&scene, "default");
    (scene, line)
}

/// A webhook in which somebody says something.
fn says(line: &Line, who: &str, text: &str) -> Request {
    let message = json!({ "type": "text", "text": text });
    let body = line.body(&[line.message(who, who, message)]);
    let sign = line.sign(body.as_bytes());
    Request::new("POST", "/hooks/line")
        .body(body.into_bytes())
        .header("content-type", "application/json")
        .header("x-line-signature", &sign)
}

#[test]
fn webhooks_are_answered_at_once_while_the_model_thinks() {
    let stalls = "  - when: { user: stall }\n    delay_ms: 3600000\n    text: Never.\n";
    let (scene, line) = stage(stalls);
    let address = scene.gateway.addr;
    let all: Vec<Request> = (0..MANY)
        .map(|number| says(&line, &person(number), "stall"))
        .collect();
    // Some are at it already when the storm comes.
    for request in &all[..8] {
        assert_eq!(request.send(address).status, 200);
    }
    eventually("turns", || scene.count(BEGUN) == 8);
    let together = Barrier::new(MANY);
    let mut took: Vec<(u16, Duration)> = std::thread::scope(|scope| {
        let each: Vec<_> = all
            .iter()
            .map(|request| {
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    let start = Instant::now();
                    let status = request.send(address).status;
                    (status, start.elapsed())
                })
            })
            .collect();
        each.into_iter()
            .map(|one| one.join().expect("an answer"))
            .collect()
    });
    assert!(took.iter().all(|(status, _)| *status == 200), "{took:?}");
    assert_eq!(scene.kept(), i64::try_from(MANY).expect("a number"));
    took.sort_by_key(|(_, time)| *time);
    let at = |share: usize| took[(MANY * share / 100).min(MANY - 1)].1;
    println!(
        "{MANY} webhooks at once while the model stalls: p50 {:?}, p99 {:?}, all within {:?}",
        at(50),
        at(99),
        took[MANY - 1].1
    );
    assert!(at(99) < BOUND, "{:?}", at(99));
    assert_eq!(line.arrived().len(), 0, "nobody is answered yet");
    // Each becomes a turn of its own.
    let mut sql = Sql::open(&scene.gateway.home.path());
    for share in [50, 100, 150, 200] {
        eventually("turns", || sql.numbers(BEGUN)[0] >= share);
    }
    sql.close();
    assert_eq!(scene.count("SELECT count(*) FROM promise"), scene.kept());
}

#[test]
fn within_a_chat_the_order_is_that_of_the_webhooks() {
    let (scene, line) = stage("");
    let address = scene.gateway.addr;
    let (writers, each) = (6, 8);
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let line = &line;
            scope.spawn(move || {
                for number in 0..each {
                    let text = format!("hello w{writer}-{number}.");
                    let said = says(line, &person(7), &text).send(address);
                    assert_eq!(said.status, 200, "{}", said.text());
                }
            });
        }
    });
    scene.at_rest();
    let sessions = scene.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    let heard = scene.heard(&sessions[0]).join("\n");
    for writer in 0..writers {
        let place = |number: usize| {
            let words = format!("w{writer}-{number}.");
            let found: Vec<usize> = heard.match_indices(&words).map(|(at, _)| at).collect();
            assert_eq!(found.len(), 1, "{words} once in {heard}");
            found[0]
        };
        let places: Vec<usize> = (0..each).map(place).collect();
        assert!(places.is_sorted(), "{places:?} in {heard}");
    }
}

#[test]
fn a_failing_chat_affects_no_other_and_shows_its_dead_letters() {
    let threads = threads();
    let slack = threads.block_on(Slack::start());
    let settings = format!(
        "[channels.slack]\ndm = \"open\"\n[channels.slack.accounts.default]\ntoken = \"vault:bot\"\napp_token = \"vault:app\"\napi_url = \"{}\"\n",
        slack.api()
    );
    let scene = Scene::new(threads, &settings, "");
    scene.use_account(
        "slack",
        "default",
        &[("bot", BOT_TOKEN), ("app", APP_TOKEN)],
    );
    let say = |chat: &str, who: &str, text: &str| {
        let event = slack.message(chat, who, text, json!({}));
        slack.deliver("events_api", event);
    };
    slack.poison("D0EVE", "channel_not_found");
    say("D0EVE", "U0EVE", "hello one");
    for number in 0..3 {
        say("D0ADA", "U0ADA", &format!("hello {number}"));
        scene.wait(slack.journal(), "an answer", || {
            slack.posted().len() > number
        });
    }
    eventually("a dead letter", || scene.outbox("failed").len() == 1);
    let dead = scene.outbox("failed")[0].clone();
    assert_eq!(dead["to"], "D0EVE", "{dead}");
    assert!(
        dead["error"].to_string().contains("channel_not_found"),
        "{dead}"
    );

    // One that is never let in keeps waiting, in order, and nobody waits with it.
    slack.poison("D0EVE", "ratelimited");
    say("D0EVE", "U0EVE", "hello two");
    say("D0EVE", "U0EVE", "hello three");
    for number in 3..5 {
        say("D0ADA", "U0ADA", &format!("hello {number}"));
        scene.wait(slack.journal(), "an answer", || {
            slack.posted().len() > number
        });
    }
    // An answer is seen there a moment before it is noted here as sent.
    eventually("it waits, and nobody with it", || {
        let waiting = scene.outbox("pending");
        !waiting.is_empty() && waiting.iter().all(|one| one["to"] == "D0EVE")
    });
    assert!(slack.posted().iter().all(|one| one.channel == "D0ADA"));
    let id = dead["id"].as_str().expect("an id");
    let drop = Request::new("DELETE", &format!("/api/outbox/{id}"));
    let dropped = scene.gateway.send(&drop.bearer(&scene.gateway.owner));
    assert_eq!(dropped.status, 200, "{}", dropped.text());
    assert!(scene.outbox("failed").is_empty());
}
