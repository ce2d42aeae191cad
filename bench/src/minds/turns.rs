//! Turns one after another.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use manyhands_core::{AgentId, Clock, Ids, OsEntropy, SystemClock};
use manyhands_store::{SessionChange, SessionRecord, Store};

use super::model::{FAST, Model};
use super::{gateway, home};
use crate::client::Client;
use crate::daemon::Daemon;
use crate::stats::{line, micros, percentile, spread};

const TURNS: usize = 300;
const NEW: usize = 500;
const CLIENTS: usize = 16;
const IDLE: usize = 10_000;

fn say(client: &mut Client, session: &str) -> Result<(), Box<dyn Error>> {
    let body = format!(r#"{{"message":"hello","sessionKey":"{session}"}}"#);
    let (status, answer) = client.send("POST", "/api/chat", "", &body)?;
    match status == 200 && answer.contains("Good morning.") {
        true => Ok(()),
        false => Err(format!("{status} {answer}").into()),
    }
}

/// How long turns take besides their model.
fn timed(
    client: &mut Client,
    model: &Model,
    session: &str,
    turns: usize,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut times = Vec::with_capacity(turns);
    for _ in 0..turns {
        model.own_time();
        let began = Instant::now();
        say(client, session)?;
        let took = began.elapsed();
        times.push(took.saturating_sub(model.own_time().0));
    }
    times.sort();
    Ok(times)
}

/// What a turn costs besides its model; gives the median.
pub fn overhead(binary: &Path, model: &Model) -> Result<Duration, Box<dyn Error>> {
    let daemon = gateway(binary, model, FAST)?;
    let mut client = daemon.client()?;
    timed(&mut client, model, "warm", 20)?;
    let times = timed(&mut client, model, "main", TURNS)?;
    let median = percentile(&times, 0.5);
    spread("a turn besides its model, over HTTP", times, "");
    daemon.stop()?;
    Ok(median)
}

/// New sessions with one turn each, by one client and by several.
pub fn sessions_per_second(binary: &Path, model: &Model) -> Result<(), Box<dyn Error>> {
    let daemon = gateway(binary, model, FAST)?;
    for clients in [1, CLIENTS] {
        let began = Instant::now();
        many(&daemon, &format!("n{clients}"), NEW, clients)?;
        let rate = NEW as f64 / began.elapsed().as_secs_f64();
        line(
            &format!("new sessions with one turn a second, clients: {clients}"),
            &format!("{rate:.0}"),
            "",
        );
    }
    daemon.stop().map(drop)
}

/// One turn in each of `count` new sessions.
fn many(daemon: &Daemon, name: &str, count: usize, clients: usize) -> Result<(), Box<dyn Error>> {
    let next = AtomicUsize::new(0);
    let failed = std::thread::scope(|scope| {
        let work = || -> Result<(), String> {
            let mut client = daemon.client().map_err(|e| e.to_string())?;
            loop {
                let number = next.fetch_add(1, Ordering::SeqCst);
                if number >= count {
                    return Ok(());
                }
                say(&mut client, &format!("{name}-{number}")).map_err(|e| e.to_string())?;
            }
        };
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(work)).collect();
        let ends = threads.into_iter().map(|thread| thread.join());
        ends.filter_map(|end| end.ok().and_then(Result::err)).next()
    });
    failed.map_or(Ok(()), |why| Err(why.into()))
}

/// What a turn costs after ten, a thousand and a hundred thousand messages.
pub fn history(binary: &Path, model: &Model) -> Result<(), Box<dyn Error>> {
    const SIZES: [usize; 3] = [10, 1_000, 100_000];
    let home = home(model, FAST)?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(fill(home.path(), &SIZES))?;
    drop(runtime);
    let daemon = Daemon::start(binary, home)?;
    daemon.settle()?; // what was said is made findable first
    let mut client = daemon.client()?;
    timed(&mut client, model, "warm", 20)?;
    let mut least = None;
    for size in SIZES {
        let session = format!("h{size}");
        let first = timed(&mut client, model, &session, 1)?;
        daemon.settle()?;
        client = daemon.client()?; // the old connection may have been idle for too long
        let times = timed(&mut client, model, &session, 50)?;
        let median = percentile(&times, 0.5);
        let base = *least.get_or_insert(median);
        let ratio = median.as_secs_f64() / base.as_secs_f64();
        line(
            &format!("a turn after {size} messages, p50"),
            &micros(median),
            &format!("{ratio:.2} times; the first took {}", micros(first[0])),
        );
    }
    daemon.stop().map(drop)
}

/// Sessions with so many messages each.
async fn fill(home: &Path, sizes: &[usize]) -> Result<(), Box<dyn Error>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let ids = Ids::new(clock.clone(), Arc::new(OsEntropy));
    let store = Store::open(home, clock.clone(), ids, None).await?;
    for size in sizes {
        let (key, id) = (format!("agent:main:h{size}"), format!("history-{size}"));
        let made = SessionRecord::new(key.clone(), id.clone(), AgentId::main(), clock.now());
        store.sessions().create(&made).await?;
        let numbers: Vec<usize> = (0..*size).collect();
        for some in numbers.chunks(2_000) {
            let acts = some.iter().map(|number| message(*number)).collect();
            let kept = store.sessions().commit(&key, &id, acts, clock.now());
            kept.await?;
        }
    }
    store.close().await?;
    Ok(())
}

fn message(number: usize) -> SessionChange {
    let text = format!("message {number} of a conversation that goes on for a while");
    let (kind, body) = match number % 2 {
        0 => (
            "user",
            serde_json::json!({ "role": "user", "content": [{ "type": "text", "text": text }] }),
        ),
        _ => (
            "assistant",
            serde_json::json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] }),
        ),
    };
    SessionChange::Append {
        turn: None,
        kind,
        body: body.to_string(),
    }
}

/// What ten thousand sessions cost in memory while nothing happens in them.
pub fn idle_sessions(binary: &Path, model: &Model) -> Result<(), Box<dyn Error>> {
    let daemon = gateway(binary, model, FAST)?;
    many(&daemon, "warm", 500, CLIENTS)?;
    let before = daemon.resident_kib()?;
    many(&daemon, "idle", IDLE, CLIENTS)?;
    std::thread::sleep(Duration::from_secs(1)); // what is freed is given back meanwhile
    let after = daemon.resident_kib()?;
    let each = (after - before) * 1024.0 / IDLE as f64;
    line(
        "10,000 idle sessions: resident memory for each",
        &format!("{each:.0} bytes"),
        &format!("{:.1} MB in all", after * 1024.0 / 1e6),
    );
    daemon.stop().map(drop)
}
