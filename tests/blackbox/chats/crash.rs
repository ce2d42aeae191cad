//! kill -9 of the real binary around requests to platforms, which live on and tell again what was
//! not acknowledged: every message is one turn, and of every answer it is known what became of it.

use std::sync::{Arc, Mutex};

use manyhands_platforms::line::{Event, Line};
use manyhands_platforms::telegram::Telegram;
use manyhands_platforms::{Moment, Watcher};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::fixture::{Scene, threads};
use super::line::{line, use_line};
use crate::harness::eventually;
use crate::sql::Sql;

/// How often each gateway is killed.
const ROUNDS: usize = 20;
/// How many messages come in each of its lives, each in a chat of its own.
const EACH: usize = 3;

/// Kills a process when a platform has seen so many moments.
#[derive(Default)]
struct Bomb {
    pid: Option<Pid>,
    moments: usize,
}

#[derive(Clone, Default)]
struct Bombs(Arc<Mutex<Bomb>>);

impl Bombs {
    fn arm(&self, pid: u32, moments: usize) {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        *self.0.lock().expect("the bomb") = Bomb { pid, moments };
    }

    fn went_off(&self) -> bool {
        self.0.lock().expect("the bomb").pid.is_none()
    }

    /// Whoever looks at requests: those that say or hear something count.
    fn watcher(&self) -> Watcher {
        let bombs = self.clone();
        Box::new(move |path: &str, _: Moment| {
            let ends = ["/reply", "/push", "/sendMessage", "/getUpdates"];
            if !ends.iter().any(|end| path.ends_with(end)) {
                return true;
            }
            let mut bomb = bombs.0.lock().expect("the bomb");
            let Some(pid) = bomb.pid else {
                return true;
            };
            bomb.moments = bomb.moments.saturating_sub(1);
            if bomb.moments > 0 {
                return true;
            }
            bomb.pid = None;
            let _ = kill_process(pid, Signal::KILL); // it may have been killed already
            false
        })
    }
}

fn mark(number: usize) -> String {
    format!("msg-{number:03}-")
}

/// Turns that answer every message with words of its own.
fn turns() -> String {
    let turn = |number| {
        let mark = mark(number);
        format!("  - when: {{ user: {mark:?} }}\n    text: \"answer to {mark}\"\n")
    };
    (0..ROUNDS * EACH).map(turn).collect()
}

/// What became of everything: one turn each, and every answer arrived once or is shown as unknown.
fn check(scene: &Scene, arrived: &[String], deaths: usize, platform: &str) {
    let mut sql = Sql::open(&scene.gateway.home.path());
    let mut count = |select: String| sql.numbers(&select)[0];
    let (mut unknown, mut twice) = (0, 0);
    for number in 0..ROUNDS * EACH {
        let mark = mark(number);
        let like = format!("LIKE '%{mark}%'");
        let turns = count(format!("SELECT count(*) FROM turn WHERE input {like}"));
        assert_eq!(turns, 1, "{mark}");
        let mut in_state = |state: &str| {
            count(format!(
                "SELECT count(*) FROM outbox WHERE body {like} AND state = '{state}'"
            ))
        };
        let (sent, shown) = (in_state("sent"), in_state("unknown"));
        let told = arrived.iter().filter(|text| text.contains(&mark)).count();
        let told = i64::try_from(told).expect("a number");
        let about = format!("{mark}: arrived {told} times, {sent} sent, {shown} unknown");
        assert!(sent + shown >= 1, "an answer is lost: {about}");
        assert!((sent..=sent + shown).contains(&told), "{about}");
        unknown += shown;
        twice += i64::from(told > 1);
    }
    let failed = count("SELECT count(*) FROM inbox WHERE state = 'failed'".to_owned());
    assert_eq!(failed, 0);
    sql.close();
    println!(
        "{platform}: kill -9 {deaths} times, {} messages: 0 lost, 0 turns doubled, {unknown} shown as unknown, {twice} of them arrived twice",
        ROUNDS * EACH
    );
}

/// Waits for the end of a life: killed by a platform, or come to rest before that.
fn wait_for_death(scene: &Scene, bombs: &Bombs, more: impl Fn() -> bool) {
    let open = "SELECT (SELECT count(*) FROM inbox WHERE state = 'new') + (SELECT count(*) FROM promise) + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending'))";
    let mut sql = Sql::open(&scene.gateway.home.path());
    eventually("the end of a life", || {
        bombs.went_off() || (more() && sql.numbers(open) == [0])
    });
    sql.close();
}

/// Tells of a message until it is acknowledged, as LINE does; whether it was.
fn tell(scene: &Scene, line: &Line, event: &Event) -> bool {
    let url = scene.hook("line");
    let told = scene.run(async { line.deliver(&url, std::slice::from_ref(event)).await });
    matches!(told, Ok((200, _)))
}

#[test]
fn killed_around_its_replies_on_line_it_loses_and_doubles_nothing_unseen() {
    let threads = threads();
    let (line, settings) = line(&threads, "default");
    let bombs = Bombs::default();
    line.watch(bombs.watcher());
    let settings = format!("[channels.line]\ndm = \"open\"\n{settings}");
    let mut scene = Scene::new(threads, &settings, &turns());
    use_line(&scene, "default");
    let mut waiting: Vec<Event> = Vec::new();
    for round in 0..ROUNDS {
        bombs.arm(scene.gateway.daemon.pid(), 1 + round % (EACH * 2));
        for number in 0..EACH {
            let who = format!("U{:032x}", round * EACH + number);
            let text = json!({ "type": "text", "text": mark(round * EACH + number) });
            waiting.push(line.message(&who, &who, text));
        }
        // What was not acknowledged is told again, and the last of them in any case.
        let again = waiting.last().cloned();
        waiting.retain(|event| !tell(&scene, &line, event));
        if let Some(event) = again {
            tell(&scene, &line, &event.again());
        }
        let all_told = waiting.is_empty();
        wait_for_death(&scene, &bombs, || all_told);
        scene = scene.kill9(&turns());
        scene.connected("line", "default");
    }
    waiting.retain(|event| !tell(&scene, &line, event));
    assert!(waiting.is_empty());
    scene.at_rest();
    let arrived = line.arrived().into_iter();
    let text = |(_, message): (String, Value)| message["text"].as_str().map(str::to_owned);
    let arrived: Vec<String> = arrived.filter_map(text).collect();
    check(&scene, &arrived, ROUNDS, "LINE");
}

#[test]
fn killed_around_its_requests_to_telegram_it_loses_and_doubles_nothing_unseen() {
    let threads = threads();
    let telegram = threads.block_on(Telegram::start());
    let bombs = Bombs::default();
    telegram.watch(bombs.watcher());
    let settings = format!(
        "[channels.telegram]\ndm = \"open\"\n[channels.telegram.accounts.default]\ntoken = \"vault:tg\"\napi_url = {:?}\n",
        telegram.url
    );
    let mut scene = Scene::new(threads, &settings, &turns());
    scene.use_account("telegram", "default", &[("tg", Telegram::TOKEN)]);
    for round in 0..ROUNDS {
        bombs.arm(scene.gateway.daemon.pid(), 1 + round % (EACH * 2 + 4));
        for number in 0..EACH {
            let number = round * EACH + number;
            let id = 5_000 + number;
            telegram.deliver(json!({
                "message": {
                    "message_id": 100 + number,
                    "date": 1_794_747_600,
                    "chat": { "id": id, "type": "private", "first_name": "Ada" },
                    "from": { "id": id, "is_bot": false, "first_name": "Ada" },
                    "text": mark(number),
                }
            }));
        }
        wait_for_death(&scene, &bombs, || telegram.pending() == 0);
        scene = scene.kill9(&turns());
    }
    eventually("all updates taken", || telegram.pending() == 0);
    scene.at_rest();
    let arrived = telegram.written().into_iter();
    let text = |message: Value| message["text"].as_str().map(str::to_owned);
    let arrived: Vec<String> = arrived.filter_map(text).collect();
    check(&scene, &arrived, ROUNDS, "Telegram");
}
