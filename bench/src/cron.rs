//! Jobs with a schedule: how late they are when thousands are due at once, what the next run costs
//! to find, and what those cost that are not due.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use manyhands_core::{AgentId, Clock, Ids, OsEntropy, SystemClock, Timestamp};
use manyhands_schedule::Schedule;
use manyhands_store::{JobKind, JobRecord, MissedRuns, Overlap, RunState, Store};
use tempfile::TempDir;

use crate::daemon::Daemon;
use crate::stats::{line, percentile};

/// How many jobs are due in the same second.
const DUE: usize = 10_000;
/// How many are not due.
const IDLE: usize = 100_000;
/// How long the gateway has to start before they are due.
const BEFORE: Duration = Duration::from_secs(4);
/// How long all of them may take before something is wrong.
const PATIENCE: Duration = Duration::from_secs(1_800);
/// How long the idle gateway is watched.
const WATCHED: Duration = Duration::from_secs(20);

/// All figures of jobs.
pub fn cron(binary: &Path) -> Result<(), Box<dyn Error>> {
    next_runs()?;
    let runtime = tokio::runtime::Runtime::new()?;
    for places in [4, 64] {
        drain(&runtime, binary, places)?;
    }
    idle(&runtime, binary)
}

/// What it costs to find the next run of one job.
fn next_runs() -> Result<(), Box<dyn Error>> {
    for (what, kept) in [
        (
            "every 30 minutes",
            r#"{"kind":"every","everyMs":1800000,"anchorMs":7}"#,
        ),
        (
            "* * * * *",
            r#"{"kind":"cron","expr":"* * * * *","tz":"Europe/Berlin"}"#,
        ),
        (
            "0 9 * * 1-5",
            r#"{"kind":"cron","expr":"0 9 * * 1-5","tz":"Europe/Berlin"}"#,
        ),
        (
            "0 0 29 2 *",
            r#"{"kind":"cron","expr":"0 0 29 2 *","tz":"Europe/Berlin"}"#,
        ),
    ] {
        let schedule: Schedule = serde_json::from_str(kept)?;
        let user = manyhands_schedule::zone(Some("Europe/Berlin"));
        const TIMES: u32 = 20_000;
        let begun = Instant::now();
        for step in 0..TIMES {
            let after = Timestamp(1_794_747_600_000 + i64::from(step) * 60_000);
            black_box(schedule.next_after(black_box(after), &user));
        }
        let each = begun.elapsed() / TIMES;
        let each = format!("{:.2} us", each.as_secs_f64() * 1e6);
        line(&format!("next run of a job, {what}"), &each, "");
    }
    Ok(())
}

fn job(number: usize, at: Timestamp) -> JobRecord {
    JobRecord {
        id: format!("job-{number:06}"),
        agent: AgentId::main(),
        kind: JobKind::Job,
        creator: "owner".to_owned(),
        name: format!("job {number}"),
        description: None,
        enabled: true,
        delete_after_run: false,
        schedule: format!(r#"{{"kind":"at","atMs":{}}}"#, at.0),
        spec: r#"{"mode":"task","message":"go","deliver":false}"#.to_owned(),
        missed: MissedRuns::Once,
        window_ms: 86_400_000,
        overlap: Overlap::Skip,
        origin: r#"{"name":"gateway","trusted":true}"#.to_owned(),
        next_run: Some(at),
        running: None,
        last_run: None,
        last_duration: None,
        last_status: None,
        last_error: None,
        failures: 0,
        created: at,
        updated: at,
    }
}

async fn open(home: &Path) -> Result<Store, Box<dyn Error>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let ids = Ids::new(clock.clone(), Arc::new(OsEntropy));
    Ok(Store::open(home, clock, ids, None).await?)
}

/// Fills a home with jobs that are due after a while.
async fn fill(home: &Path, count: usize, after: Duration) -> Result<(), Box<dyn Error>> {
    let store = open(home).await?;
    let at = SystemClock::default().now().plus(after);
    let jobs: Vec<JobRecord> = (0..count).map(|number| job(number, at)).collect();
    store.cron().create_all(&jobs, u64::MAX).await?;
    store.close().await?;
    Ok(())
}

fn settings(home: &TempDir, places: usize) -> Result<(), Box<dyn Error>> {
    let script = home.path().with_extension("yaml");
    std::fs::write(&script, "turns:\n  - text: ok\n")?;
    let text = format!(
        "[cron]\nmax_concurrent_runs = {places}\n[models]\ndefault = \"scripted/demo\"\n\
         [models.providers.scripted]\nkind = \"scripted\"\nscript = {script:?}\n"
    );
    Ok(std::fs::write(home.path().join("config.toml"), text)?)
}

/// Ten thousand jobs in the same second: how late each begins and ends.
fn drain(
    runtime: &tokio::runtime::Runtime,
    binary: &Path,
    places: usize,
) -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    settings(&home, places)?;
    runtime.block_on(fill(home.path(), DUE, BEFORE))?;
    let daemon = Daemon::start(binary, home)?;
    let mut client = daemon.client()?;
    let begun = Instant::now();
    loop {
        std::thread::park_timeout(Duration::from_millis(500));
        let asked = r#"{"action":"list","limit":1}"#;
        let (_, body) = client.send("POST", "/api/tools/gsv__Cron", "", asked)?;
        let body: serde_json::Value = serde_json::from_str(&body)?;
        if body["result"]["count"] == 0 {
            break;
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("jobs were left over: {body}").into());
        }
    }
    let home = daemon.stop()?;
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    let (mut first, mut last) = (i64::MAX, 0);
    runtime.block_on(async {
        let store = open(home.path()).await?;
        let mut offset = 0;
        loop {
            let (runs, _) = store.cron().runs(None, None, 1_000, offset).await?;
            offset += 1_000;
            if runs.is_empty() {
                break;
            }
            for run in runs.iter().filter(|run| run.job.starts_with("job-")) {
                if run.state != RunState::Ok {
                    return Err(format!("a run went wrong: {run:?}").into());
                }
                let ended = run.ended.unwrap_or(run.claimed);
                begins.push(run.claimed.since(run.scheduled));
                ends.push(ended.since(run.scheduled));
                first = first.min(run.claimed.0);
                last = last.max(ended.0);
            }
        }
        store.close().await?;
        Ok::<(), Box<dyn Error>>(())
    })?;
    if begins.len() != DUE {
        return Err(format!("{} runs of {DUE} jobs", begins.len()).into());
    }
    begins.sort();
    ends.sort();
    let what = format!("{DUE} jobs due at once, {places} at a time");
    let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
    line(
        &format!("{what}: begun late by, p50"),
        &seconds(percentile(&begins, 0.5)),
        "",
    );
    line(
        &format!("{what}: begun late by, p99"),
        &seconds(percentile(&begins, 0.99)),
        "",
    );
    line(
        &format!("{what}: done late by, p99"),
        &seconds(percentile(&ends, 0.99)),
        "",
    );
    let wall = Duration::from_millis(u64::try_from(last - first).unwrap_or(0));
    line(&format!("{what}: all done after"), &seconds(wall), "");
    let each = wall.as_secs_f64() * 1e3 / DUE as f64;
    line(&format!("{what}: each"), &format!("{each:.2} ms"), "");
    Ok(())
}

/// A hundred thousand jobs that are not due: memory, and processor time while nothing happens.
fn idle(runtime: &tokio::runtime::Runtime, binary: &Path) -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    settings(&home, 4)?;
    runtime.block_on(fill(home.path(), IDLE, Duration::from_secs(86_400)))?;
    let begun = Instant::now();
    let daemon = Daemon::start(binary, home)?;
    let start = begun.elapsed();
    daemon.settle()?;
    let before = ticks(daemon.pid())?;
    std::thread::park_timeout(WATCHED);
    let spent = ticks(daemon.pid())?.saturating_sub(before);
    let kib = daemon.resident_kib()?;
    let what = format!("{IDLE} jobs that are not due");
    line(
        &format!("{what}: start"),
        &format!("{:.0} ms", start.as_secs_f64() * 1e3),
        "",
    );
    line(
        &format!("{what}: memory"),
        &format!("{:.1} MB", kib / 1024.0),
        "30 MB",
    );
    // A tick is ten milliseconds.
    let share = spent as f64 / (WATCHED.as_secs_f64() * 100.0) * 100.0;
    line(&format!("{what}: processor"), &format!("{share:.2} %"), "");
    daemon.stop()?;
    Ok(())
}

/// The processor time that a process has used, in ticks.
fn ticks(pid: u32) -> Result<u64, Box<dyn Error>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after = stat.rsplit(')').next().ok_or("no such process")?;
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let of = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    Ok(of(11).unwrap_or(0) + of(12).unwrap_or(0))
}
