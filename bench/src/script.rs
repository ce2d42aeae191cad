//! Scripts: how soon one runs, what a call costs it, beside Node doing the same without a sandbox.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use manyhands_core::SystemClock;
use manyhands_guard::Supervisor;
use manyhands_script::{
    Host, HostError, HostRequest, Limits, Pool, PoolParts, Run, WORKER_COMMAND, sandbox,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::stats::{line, micros, percentile, spread};

const RUNS: usize = 50;
const CALLS: usize = 100;
const BUDGET: &str = "2 ms";

/// The same work in both: a hundred calls, one after the other.
const LOOP: &str = "for (let i = 0; i < 100; i++) { const r = await callTool('s', 'say', {i}); if (r.i !== i) throw new Error('no') }";
const NODE: &str = "const lines = require('readline').createInterface({input: process.stdin})[Symbol.asyncIterator]();
async function callTool(server, tool, args) {
  process.stdout.write(JSON.stringify({server, tool, args}) + '\\n');
  return JSON.parse((await lines.next()).value) }";

/// Answers with its arguments, and remembers when it was first asked.
#[derive(Default)]
struct Echo(Mutex<Option<Instant>>);

#[async_trait]
impl Host for Echo {
    async fn call(&self, ask: HostRequest) -> Result<Value, HostError> {
        if let Ok(mut first) = self.0.lock() {
            first.get_or_insert_with(Instant::now);
        }
        match ask {
            HostRequest::Tool { arguments, .. } => Ok(arguments),
            _ => Err(HostError::new("NO", "only tools here")),
        }
    }
}

/// Cold and warm starts, and a loop of calls.
pub async fn scripts(binary: &Path) -> Result<(), Box<dyn Error>> {
    let binary = binary.canonicalize()?;
    let pool = |warm| {
        Pool::new(PoolParts {
            supervisor: Supervisor::new(8),
            program: binary.clone(),
            args: vec![WORKER_COMMAND.to_owned()],
            sandbox: sandbox(&binary),
            warm,
            clock: Arc::new(SystemClock::default()),
        })
    };
    let (cold, warm) = (pool(0), pool(2));
    let first = "await callTool('s', 'say', {}); return 1";
    let mut cold_first = Vec::new();
    for _ in 0..RUNS {
        cold_first.push(once(&cold, first).await?.0);
    }
    spread("script, cold, to its first call", cold_first, "");
    let (mut warm_first, mut warm_whole) = (Vec::new(), Vec::new());
    once(&warm, first).await?;
    for _ in 0..RUNS {
        filled(&warm).await;
        let (to_first, whole) = once(&warm, first).await?;
        warm_first.push(to_first);
        warm_whole.push(whole);
    }
    spread("script, warm, to its first call", warm_first, BUDGET);
    spread("script, warm, a call and its end", warm_whole.clone(), "");
    let mut looped = Vec::new();
    for _ in 0..RUNS {
        filled(&warm).await;
        looped.push(once(&warm, LOOP).await?.1);
    }
    let each = |times: &[Duration]| half(times) / u32::try_from(CALLS).unwrap_or(1);
    line("script, 100 calls, each", &micros(each(&looped)), "");
    let theirs = tokio::task::spawn_blocking(|| -> std::io::Result<[Vec<Duration>; 2]> {
        let first = "await callTool('s', 'say', {});";
        let times = |body: &str| -> std::io::Result<Vec<Duration>> {
            (0..RUNS / 5).map(|_| node(body)).collect()
        };
        Ok([times(first)?, times(LOOP)?])
    })
    .await?;
    let [one, all] = match theirs {
        Ok(theirs) => theirs,
        Err(error) => {
            line("the same with node -e", "not measured", &error.to_string());
            return Ok(());
        }
    };
    beside("a call and its end", half(&warm_whole), half(&one));
    beside("100 calls and its end", half(&looped), half(&all));
    Ok(())
}

/// One run: the time to its first call, and to its end.
async fn once(pool: &Pool, code: &str) -> Result<(Duration, Duration), Box<dyn Error>> {
    let host = Arc::new(Echo::default());
    let run = Run {
        code: code.to_owned(),
        timeout: Duration::from_secs(60),
        limits: Limits::default(),
        host: Arc::clone(&host) as Arc<dyn Host>,
    };
    let begun = Instant::now();
    let report = pool.run(run, CancellationToken::new()).await;
    let whole = begun.elapsed();
    report.outcome?;
    let first = host.0.lock().ok().and_then(|first| *first);
    let first = first.ok_or("no call was made")?;
    Ok((first.duration_since(begun), whole))
}

/// Waits until a worker is ready, and has had time to get so.
async fn filled(pool: &Pool) {
    while pool.waiting() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(Duration::from_millis(30)).await;
}

/// The same in Node: started, answered line by line, ended.
fn node(body: &str) -> std::io::Result<Duration> {
    let begun = Instant::now();
    let code = format!("{NODE}\n(async () => {{ {body} process.exit(0) }})()");
    let mut child = Command::new("node")
        .args(["-e", &code])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(std::io::Error::other("node has no pipes"));
    };
    for said in BufReader::new(output).lines() {
        let asked: Value = serde_json::from_str(&said?)?;
        writeln!(input, "{}", asked["args"])?;
    }
    child.wait()?;
    Ok(begun.elapsed())
}

fn half(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    percentile(&sorted, 0.5)
}

fn beside(what: &str, ours: Duration, theirs: Duration) {
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    line(
        &format!("script, {what}; node -e {}", micros(theirs)),
        &micros(ours),
        &format!("{ratio:.1} times as fast"),
    );
}
