//! Chats: how fast what a platform tells is on disk and acknowledged, how long an answer takes from
//! the webhook to the platform, and how fast the outbox drains. The platform is a strict fake on
//! loopback, the model a script that answers at once.

use std::error::Error;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use manyhands_channels::{OutgoingContent, OutgoingMessage};
use manyhands_core::{ChatRef, Clock, Ids, OsEntropy, Secret, SystemClock};
use manyhands_platforms::Moment;
use manyhands_platforms::line::Line;
use manyhands_store::{NewOutbound, OutboxKey, Store};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::client::Client;
use crate::daemon::Daemon;
use crate::stats::{line, percentile};

const TOKEN: &str = "bench-token";
const SECRET: &str = "bench-secret";
/// How many webhooks for each number of clients.
const WEBHOOKS: usize = 4_000;
/// How many answers are waited for one after another, and how many come at once.
const ANSWERS: usize = 500;
/// How many messages the outbox holds, and in how many chats.
const OUTBOX: (usize, usize) = (5_000, 1_000);
/// How long anything may take before something is wrong.
const PATIENCE: Duration = Duration::from_secs(120);

/// All figures of chats.
pub fn chats(binary: &Path) -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    for clients in [1, 8, 64] {
        acknowledged(&runtime, binary, clients)?;
    }
    answered(&runtime, binary)?;
    drained(&runtime, binary)
}

/// A home with an account at the fake, in which `dm` says who may write.
fn home(runtime: &Runtime, fake: &Line, dm: &str) -> Result<TempDir, Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let script = home.path().with_extension("yaml");
    std::fs::write(&script, "turns:\n  - text: ok\n")?;
    let url = &fake.url;
    let text = format!(
        "[egress]\nallow_private = [\"127.0.0.0/8\"]\n[models]\ndefault = \"scripted/demo\"\n\
         [models.providers.scripted]\nkind = \"scripted\"\nscript = {script:?}\n\
         [channels.line]\ndm = {dm:?}\n[channels.line.accounts.default]\ntoken = \"vault:token\"\n\
         secret = \"vault:secret\"\napi_url = {url:?}\ndata_url = {url:?}\n"
    );
    std::fs::write(home.path().join("config.toml"), text)?;
    runtime.block_on(async {
        let store = open(home.path()).await?;
        store.vault().set("token", &Secret::new(TOKEN)).await?;
        store.vault().set("secret", &Secret::new(SECRET)).await?;
        store.close().await?;
        Ok::<(), Box<dyn Error>>(())
    })?;
    Ok(home)
}

async fn open(home: &Path) -> Result<Store, Box<dyn Error>> {
    let clock: std::sync::Arc<dyn Clock> = std::sync::Arc::new(SystemClock::default());
    let ids = Ids::new(clock.clone(), std::sync::Arc::new(OsEntropy));
    Ok(Store::open(home, clock, ids, None).await?)
}

fn person(number: usize) -> String {
    format!("U{number:032x}")
}

/// A webhook in which somebody says something: its headers and its body.
fn webhook(fake: &Line, who: &str) -> (String, String) {
    let message = json!({ "type": "text", "text": "How are you today?" });
    let body = fake.body(&[fake.message(who, who, message)]);
    let signature = fake.sign(body.as_bytes());
    (format!("x-line-signature: {signature}\r\n"), body)
}

fn tell(client: &mut Client, (headers, body): &(String, String)) -> Result<(), Box<dyn Error>> {
    match client.send("POST", "/hooks/line", headers, body)? {
        (200, _) => Ok(()),
        (status, body) => Err(format!("a webhook was answered with {status}: {body}").into()),
    }
}

/// Waits until the account is used, which is when its webhooks are taken.
fn ready(daemon: &Daemon, fake: &Line) -> Result<(), Box<dyn Error>> {
    let (begun, mut client) = (Instant::now(), daemon.client()?);
    let (headers, body) = webhook(fake, &person(usize::MAX));
    while client.send("POST", "/hooks/line", &headers, &body)?.0 != 200 {
        if begun.elapsed() > PATIENCE {
            return Err("the account is not used".into());
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    Ok(())
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn a_second(count: usize, within: Duration) -> String {
    format!("{:.0}/s", count as f64 / within.as_secs_f64())
}

/// Webhooks until they are acknowledged, which is when they are on disk. Nobody who writes may, so
/// that nothing but that is measured.
fn acknowledged(runtime: &Runtime, binary: &Path, clients: usize) -> Result<(), Box<dyn Error>> {
    let fake = runtime.block_on(Line::start(TOKEN, SECRET));
    let daemon = Daemon::start(binary, home(runtime, &fake, "allowlist")?)?;
    ready(&daemon, &fake)?;
    let each = WEBHOOKS / clients;
    let all: Vec<Vec<(String, String)>> = (0..clients)
        .map(|client| {
            let number = |n: usize| client * each + n;
            (0..each)
                .map(|n| webhook(&fake, &person(number(n) % 500)))
                .collect()
        })
        .collect();
    let times = Mutex::new(Vec::with_capacity(WEBHOOKS));
    let begun = Instant::now();
    let went_well = std::thread::scope(|scope| {
        let (daemon, times) = (&daemon, &times);
        let threads: Vec<_> = all
            .iter()
            .map(|webhooks| {
                scope.spawn(move || {
                    let mut client = daemon.client().map_err(|e| e.to_string())?;
                    let mut own = Vec::with_capacity(webhooks.len());
                    for webhook in webhooks {
                        let begun = Instant::now();
                        tell(&mut client, webhook).map_err(|e| e.to_string())?;
                        own.push(begun.elapsed());
                    }
                    times.lock().map_err(|e| e.to_string())?.extend(own);
                    Ok::<(), String>(())
                })
            })
            .collect();
        let mut joined = threads.into_iter().map(|thread| thread.join());
        joined.try_for_each(|one| one.unwrap_or_else(|_| Err("a client gave up".to_owned())))
    });
    went_well?;
    let wall = begun.elapsed();
    let mut times = times.into_inner()?;
    times.sort();
    let what = format!("webhook on disk and acknowledged, {clients} at once");
    line(
        &format!("{what}: p50"),
        &millis(percentile(&times, 0.5)),
        "",
    );
    line(
        &format!("{what}: p99"),
        &millis(percentile(&times, 0.99)),
        "1 s",
    );
    line(&format!("{what}: rate"), &a_second(times.len(), wall), "");
    daemon.stop().map(drop)
}

/// Whoever hears of each answer when it arrives at the platform.
fn arrivals(fake: &Line, end: &'static str) -> Receiver<Instant> {
    let (told, arrivals) = sync_channel(OUTBOX.0);
    fake.watch(Box::new(move |path, when| {
        if path.ends_with(end) && when == Moment::Before {
            let _ = told.try_send(Instant::now());
        }
        true
    }));
    arrivals
}

/// From the webhook to the answer's arrival at the platform: one after another, then many at once.
fn answered(runtime: &Runtime, binary: &Path) -> Result<(), Box<dyn Error>> {
    let fake = runtime.block_on(Line::start(TOKEN, SECRET));
    let arrivals = arrivals(&fake, "/reply");
    let daemon = Daemon::start(binary, home(runtime, &fake, "open")?)?;
    ready(&daemon, &fake)?;
    arrivals.recv_timeout(PATIENCE)?;
    let mut client = daemon.client()?;
    let mut times = Vec::with_capacity(ANSWERS);
    for number in 0..ANSWERS {
        let webhook = webhook(&fake, &person(number % 50));
        let begun = Instant::now();
        tell(&mut client, &webhook)?;
        times.push(arrivals.recv_timeout(PATIENCE)?.duration_since(begun));
    }
    times.sort();
    let what = "from the webhook to the answer at the platform";
    line(
        &format!("{what}: p50"),
        &millis(percentile(&times, 0.5)),
        "",
    );
    line(
        &format!("{what}: p99"),
        &millis(percentile(&times, 0.99)),
        "",
    );
    let webhooks: Vec<_> = (0..ANSWERS)
        .map(|number| webhook(&fake, &person(1_000 + number)))
        .collect();
    let begun = Instant::now();
    for webhook in &webhooks {
        tell(&mut client, webhook)?;
    }
    for _ in 0..ANSWERS {
        arrivals.recv_timeout(PATIENCE)?;
    }
    let rate = a_second(ANSWERS, begun.elapsed());
    line(
        &format!("{ANSWERS} chats answered, as fast as it goes"),
        &rate,
        "",
    );
    daemon.stop().map(drop)
}

/// Messages that wait when the gateway starts, until the last one has arrived.
fn drained(runtime: &Runtime, binary: &Path) -> Result<(), Box<dyn Error>> {
    let fake = runtime.block_on(Line::start(TOKEN, SECRET));
    let arrivals = arrivals(&fake, "/push");
    let home = home(runtime, &fake, "open")?;
    let (count, chats) = OUTBOX;
    let row = |number: usize| -> Result<NewOutbound, Box<dyn Error>> {
        let to = ChatRef::dm("line", "default", person(number % chats));
        let message = OutgoingMessage {
            to: to.clone(),
            reply_to: None,
            ticket: None,
            content: OutgoingContent::Text {
                text: format!("Message {number} of many."),
                buttons: Vec::new(),
                edits: None,
            },
        };
        Ok(NewOutbound {
            key: OutboxKey::new(format!("bench-{number}")),
            channel: to.channel.clone(),
            account: to.account.clone(),
            lane: to.lane(),
            body: serde_json::to_string(&message)?,
            session_key: None,
        })
    };
    let rows: Result<Vec<NewOutbound>, _> = (0..count).map(row).collect();
    let rows = rows?;
    runtime.block_on(async {
        let store = open(home.path()).await?;
        store.chats().send(&rows).await?;
        store.close().await?;
        Ok::<(), Box<dyn Error>>(())
    })?;
    let daemon = Daemon::start(binary, home)?;
    let first = arrivals.recv_timeout(PATIENCE)?;
    let mut last = first;
    for _ in 1..count {
        last = arrivals.recv_timeout(PATIENCE)?;
    }
    let rate = a_second(count, last.duration_since(first));
    let what = format!("outbox, {count} messages in {chats} chats");
    line(&what, &rate, "1000/s is the pace kept");
    daemon.stop().map(drop)
}
