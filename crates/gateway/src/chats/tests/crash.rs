//! The process dies at every moment that chats, minds or their records look at the clock, around
//! every answer of the model and around every request to a platform, which lives on: nothing that was
//! acknowledged is lost, nothing is answered twice by two turns, and of every answer it is known
//! whether it arrived.

#![allow(clippy::print_stdout, reason = "the figures are printed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manyhands_channels::WebhookRequest;
use manyhands_config::Settings;
use manyhands_core::{Clock, Secret, SystemClock, Timestamp};
use manyhands_guard::HeaderMap;
use manyhands_platforms::line::{Event, Line};
use manyhands_platforms::telegram::Telegram;
use manyhands_store::{OutboxState, Store};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::fixture::{Model, Stage, account, calm, heard_in_sessions, marks, open_to_all, until};
use crate::chats::Chats;

/// A clock, and whatever else is told of moments, that ends the process at one of them.
struct Fuse {
    time: SystemClock,
    armed: AtomicBool,
    moments: AtomicUsize,
    burns_at: usize,
    burnt: AtomicBool,
    dead: Notify,
}

impl Fuse {
    fn new(burns_at: usize) -> Arc<Self> {
        Arc::new(Self {
            time: SystemClock::default(),
            armed: AtomicBool::new(false),
            moments: AtomicUsize::new(0),
            burns_at,
            burnt: AtomicBool::new(false),
            dead: Notify::new(),
        })
    }

    fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }

    /// One moment; whether the process still lives after it.
    fn moment(&self) -> bool {
        if self.armed.load(Ordering::SeqCst) {
            let moment = self.moments.fetch_add(1, Ordering::SeqCst) + 1;
            if moment >= self.burns_at && !self.burnt.swap(true, Ordering::SeqCst) {
                self.dead.notify_one();
            }
        }
        !self.burnt.load(Ordering::SeqCst)
    }
}

impl Clock for Fuse {
    fn now(&self) -> Timestamp {
        self.moment();
        self.time.now()
    }

    fn monotonic(&self) -> Duration {
        self.time.monotonic()
    }
}

/// What is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Play {
    /// LINE, whose answers bring a token along that is good once.
    LineReplies,
    /// LINE, where that token is too old: answers are pushed, and arrive once by their key.
    LinePushes,
    /// Telegram, asked for updates; what may have arrived is said once more.
    Telegram,
    /// The same, where what may have arrived is only shown.
    TelegramOnce,
}

enum Platform {
    Line(Line, Vec<Event>),
    Telegram(Telegram),
}

/// What outlives the process.
struct World {
    threads: tokio::runtime::Runtime,
    platform: Platform,
    settings: Settings,
    /// What the process of now is killed by.
    fuse: Arc<Mutex<Arc<Fuse>>>,
    /// Which events were acknowledged.
    acknowledged: Arc<Mutex<BTreeSet<String>>>,
}

const MESSAGES: usize = 4;
const TOKEN: &str = "line-token";
const SECRET: &str = "line-secret";

fn mark(number: usize) -> String {
    format!("msg-{number}")
}

/// Whether the path is that of something heard or said; whoever types or who one is does not matter.
fn counts(path: &str) -> bool {
    ["/reply", "/push", "/sendMessage", "/getUpdates"]
        .iter()
        .any(|end| path.ends_with(end))
}

impl World {
    fn new(play: Play) -> Self {
        let threads = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let fuse = Arc::new(Mutex::new(Fuse::new(usize::MAX)));
        let mut settings = open_to_all();
        let current = fuse.clone();
        let watcher = Box::new(move |path: &str, _| {
            let fuse = current.lock().unwrap().clone();
            !counts(path) || fuse.moment()
        });
        let platform = match play {
            Play::LineReplies | Play::LinePushes => {
                let line = threads.block_on(Line::start(TOKEN, SECRET));
                let own = account(&line.url);
                let accounts = &mut settings.channels.line.accounts;
                accounts.insert("default".to_owned(), own);
                line.watch(watcher);
                let events = line_events(&line, play);
                Platform::Line(line, events)
            }
            Play::Telegram | Play::TelegramOnce => {
                settings.channels.resend_unknown = play == Play::Telegram;
                let telegram = threads.block_on(Telegram::start());
                let own = account(&telegram.url);
                let accounts = &mut settings.channels.telegram.accounts;
                accounts.insert("default".to_owned(), own);
                telegram.watch(watcher);
                deliver(&telegram);
                Platform::Telegram(telegram)
            }
        };
        Self {
            threads,
            platform,
            settings,
            fuse,
            acknowledged: Arc::default(),
        }
    }

    /// What stands in chats, in order.
    fn arrived(&self) -> Vec<(String, String)> {
        match &self.platform {
            Platform::Line(line, _) => {
                let all = line.arrived().into_iter();
                let text =
                    |message: &serde_json::Value| message["text"].as_str().map(str::to_owned);
                all.map(|(chat, message)| (chat, text(&message).unwrap_or_default()))
                    .collect()
            }
            Platform::Telegram(telegram) => {
                let all = telegram.written().into_iter();
                all.map(|message| {
                    let text = message["text"].as_str().unwrap_or_default().to_owned();
                    (message["chat"]["id"].to_string(), text)
                })
                .collect()
            }
        }
    }
}

/// Messages in chats of their own, and the last two in one.
fn chat_of(number: usize) -> usize {
    number.min(MESSAGES - 2)
}

fn line_events(line: &Line, play: Play) -> Vec<Event> {
    let event = |number: usize| {
        let user = format!("U{:032x}", 0xada + chat_of(number));
        line.call(&user, "Ada");
        let message = json!({"type": "text", "text": mark(number)});
        let event = line.message(&user, &user, message);
        if play == Play::LinePushes {
            line.expire(event.reply_token());
        }
        event
    };
    (0..MESSAGES).map(event).collect()
}

fn deliver(telegram: &Telegram) {
    for number in 0..MESSAGES {
        let id = 5_000 + chat_of(number);
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
}

/// One life of the process: goes on with what is there, is told again what was not acknowledged
/// and some that was, and works until everything is answered or the fuse has burnt. Answers with
/// whether all was done.
fn live(home: &Path, world: &World, fuse: &Arc<Fuse>, from_the_start: bool) -> bool {
    *world.fuse.lock().unwrap() = fuse.clone();
    // One task at a time, and a look at the fuse after each step of one: when it has burnt, nothing
    // more is done.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .event_interval(1)
        .build()
        .unwrap();
    let all_done = runtime.block_on(async {
        let work = async {
            if from_the_start {
                fuse.arm();
            }
            let told = fuse.clone();
            let model = Model {
                watcher: Box::new(move || {
                    told.moment();
                }),
            };
            let settings = world.settings.clone();
            let stage = Stage::open(home, settings, fuse.clone(), Arc::new(model)).await;
            fuse.arm();
            tell(&stage, world).await;
            until("rest", async || {
                let all = match &world.platform {
                    Platform::Telegram(telegram) => telegram.pending() == 0,
                    Platform::Line(..) => true,
                };
                all && stage.at_rest().await
            })
            .await;
        };
        tokio::select! {
            biased;
            () = fuse.dead.notified() => false,
            () = work => true,
        }
    });
    runtime.shutdown_background();
    all_done
}

/// LINE calls: all chats at once, each in order, and in every life again what it told before.
async fn tell(stage: &Stage, world: &World) {
    let Platform::Line(line, events) = &world.platform else {
        return;
    };
    let mut chats: BTreeMap<usize, Vec<Event>> = BTreeMap::new();
    for (number, event) in events.iter().enumerate() {
        let of_chat = chats.entry(chat_of(number)).or_default();
        of_chat.push(event.clone());
    }
    let mut calls = JoinSet::new();
    for events in chats.into_values() {
        let (line, chats) = (line.clone(), stage.chats.clone());
        let acknowledged = world.acknowledged.clone();
        calls.spawn(async move {
            for event in events {
                call(&line, &chats, event, &acknowledged).await;
            }
        });
    }
    while let Some(call) = calls.join_next().await {
        call.unwrap();
    }
}

async fn call(line: &Line, chats: &Chats, event: Event, acknowledged: &Mutex<BTreeSet<String>>) {
    let id = event.0["webhookEventId"].to_string();
    let told_before = acknowledged.lock().unwrap().contains(&id);
    let event = if told_before { event.again() } else { event };
    let body = line.body(&[event]);
    let mut headers = HeaderMap::new();
    let signature = line.sign(body.as_bytes()).parse().unwrap();
    headers.insert("x-line-signature", signature);
    let channel = loop {
        match chats.channel("line", "default") {
            Some(channel) => break channel,
            None => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    };
    let hooked = channel.hook(&WebhookRequest {
        method: "POST",
        query: "",
        headers: &headers,
        body: body.as_bytes(),
        now: 0,
    });
    let kept = chats.keep("line", "default", hooked.unwrap().events).await;
    kept.unwrap();
    acknowledged.lock().unwrap().insert(id);
}

/// What a sweep saw.
#[derive(Debug, Default)]
struct Seen {
    /// How often the process died.
    deaths: usize,
    answers: usize,
    /// Answers of which it is shown that it is not known whether they arrived.
    unknown: usize,
    /// Those that arrived twice, all of which are shown.
    repeated: usize,
}

fn look_at(home: &Path, world: &World, play: Play, died_at: &str, seen: &mut Seen) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (heard, rows) = runtime.block_on(async {
        let (clock, ids) = calm();
        let store = Store::open(home, clock, ids, None).await.unwrap();
        let heard = heard_in_sessions(&store).await;
        let mut rows = Vec::new();
        for state in [OutboxState::Sent, OutboxState::Unknown, OutboxState::Failed] {
            rows.extend(store.chats().outbox(Some(state), 1_000).await.unwrap());
        }
        assert_eq!(store.chats().backlog().await.unwrap().failed, 0);
        store.close().await.unwrap();
        (heard, rows)
    });
    let turns = count(heard.iter().map(String::as_str));
    let arrived = world.arrived();
    let told = count(arrived.iter().map(|(_, text)| text.as_str()));
    let of_state = |state| {
        let rows = rows.iter().filter(move |row| row.state == state);
        count(rows.map(|row| row.body.as_str()))
    };
    let (sent, unknown) = (of_state(OutboxState::Sent), of_state(OutboxState::Unknown));
    assert!(of_state(OutboxState::Failed).is_empty(), "{died_at}");
    for number in 0..MESSAGES {
        let mark = mark(number);
        let of = |counts: &BTreeMap<String, usize>| counts.get(&mark).copied().unwrap_or(0);
        let about = format!("{play:?}, {mark}, dead at {died_at}: {arrived:?}\n{rows:?}");
        assert_eq!(of(&turns), 1, "one turn: {about}");
        let (told, sent, unknown) = (of(&told), of(&sent), of(&unknown));
        assert!(sent + unknown >= 1, "an answer is lost: {about}");
        assert!(told >= sent, "what is said to have arrived did: {about}");
        assert!(
            told <= sent + unknown,
            "said more often than shown: {about}"
        );
        if play == Play::LinePushes {
            assert!(told <= 1, "by its key once: {about}");
        }
        seen.answers += 1;
        seen.unknown += unknown;
        seen.repeated += usize::from(told > 1);
    }
    in_order(&arrived, died_at);
}

fn count<'a>(texts: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for mark in texts.flat_map(marks) {
        *counts.entry(mark).or_default() += 1;
    }
    counts
}

/// The answers in the chat that has two come in the order of the questions.
fn in_order(arrived: &[(String, String)], died_at: &str) {
    let find = |number| {
        let named = |(_, text): &(String, String)| marks(text).contains(&mark(number));
        arrived.iter().position(named)
    };
    if let (Some(first), Some(second)) = (find(MESSAGES - 2), find(MESSAGES - 1)) {
        assert!(first <= second, "dead at {died_at}: {arrived:?}");
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    let rights = std::fs::metadata(from).unwrap().permissions();
    std::fs::set_permissions(to, rights).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// A home with the secrets of the accounts in it.
fn prepare(home: &Path, play: Play) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (clock, ids) = calm();
        let store = Store::open(home, clock, ids, None).await.unwrap();
        let token = match play {
            Play::LineReplies | Play::LinePushes => TOKEN,
            Play::Telegram | Play::TelegramOnce => Telegram::TOKEN,
        };
        let vault = store.vault();
        vault.set("token", &Secret::new(token)).await.unwrap();
        vault.set("secret", &Secret::new(SECRET)).await.unwrap();
        store.close().await.unwrap();
    });
}

/// Dies at every `step`th moment from `first` on, each time in a home and a world of their own; of
/// every third time the next life dies too.
fn sweep(play: Play, template: &Path, first: usize, step: usize) -> Seen {
    let mut seen = Seen::default();
    for burns_at in (first..).step_by(step) {
        // In memory where there is such a folder: a process dies here, not a disk.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.unwrap();
        let home = folder.path().join("home");
        copy(template, &home);
        let world = World::new(play);
        let mut died_at = burns_at.to_string();
        let survived = live(&home, &world, &Fuse::new(burns_at), false);
        if !survived {
            seen.deaths += 1;
            if burns_at % 3 == 0 {
                let second = 1 + burns_at * 7 % 60;
                died_at = format!("{burns_at}, then at {second}");
                let died = !live(&home, &world, &Fuse::new(second), true);
                seen.deaths += usize::from(died);
            }
            let calm = Fuse::new(usize::MAX);
            assert!(live(&home, &world, &calm, false), "dead at {died_at}");
        }
        look_at(&home, &world, play, &died_at, &mut seen);
        world.threads.shutdown_background();
        if survived {
            break;
        }
    }
    seen
}

/// How many sweep at once: most of their time they wait.
const AT_ONCE: usize = 6;

fn all_moments(play: Play) -> Seen {
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("home");
    prepare(&template, play);
    let all = std::thread::scope(|scope| {
        let template = &template;
        let parts: Vec<_> = (1..=AT_ONCE)
            .map(|first| scope.spawn(move || sweep(play, template, first, AT_ONCE)))
            .collect();
        let parts = parts.into_iter().map(|part| part.join().unwrap());
        parts.fold(Seen::default(), |all, part| Seen {
            deaths: all.deaths + part.deaths,
            answers: all.answers + part.answers,
            unknown: all.unknown + part.unknown,
            repeated: all.repeated + part.repeated,
        })
    });
    println!(
        "{play:?}: died {} times, {} answers: 0 lost, 0 turns doubled, {} shown as unknown, {} of them arrived twice",
        all.deaths, all.answers, all.unknown, all.repeated
    );
    all
}

#[test]
fn dying_at_any_moment_of_line_replies_loses_and_doubles_nothing_unseen() {
    let seen = all_moments(Play::LineReplies);
    assert!(seen.deaths >= 125, "{seen:?}");
    assert!(seen.unknown > 0, "some were cut off on their way: {seen:?}");
}

#[test]
fn dying_at_any_moment_of_line_pushes_says_nothing_twice() {
    let seen = all_moments(Play::LinePushes);
    assert!(seen.deaths >= 125, "{seen:?}");
    assert_eq!(seen.repeated, 0);
}

#[test]
fn dying_at_any_moment_of_telegram_says_once_more_only_what_may_not_have_arrived() {
    let seen = all_moments(Play::Telegram);
    assert!(seen.deaths >= 125, "{seen:?}");
    assert!(seen.unknown > 0, "some were cut off on their way: {seen:?}");
}

#[test]
fn dying_at_any_moment_of_telegram_repeats_nothing_where_that_is_not_wanted() {
    let seen = all_moments(Play::TelegramOnce);
    assert!(seen.deaths >= 125, "{seen:?}");
    assert!(seen.unknown > 0, "some were cut off on their way: {seen:?}");
    assert_eq!(seen.repeated, 0);
}
