//! The process dies at every moment that the jobs or a turn look at the clock, and around every
//! word that goes to a chat: each instant has one row, one turn and one word.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_agent_services::job_delivery::{Deliver, DeliveryTarget, JobDelivery};
use manyhands_core::{Clock, Ids, ManualClock, OsEntropy, Timestamp, ToolError};
use manyhands_host::LiveSettings;
use manyhands_llm::Message;
use manyhands_store::{JobFilter, RunState, Store};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::fixture::{Model, START, Stage, put_together, settings};
use crate::JobInput;

/// A clock that ends whoever looks at it, once it has been looked at often enough: from then on
/// nobody in this process comes to a next step.
struct Fuse {
    time: ManualClock,
    looks: AtomicUsize,
    burns_at: usize,
    burnt: AtomicBool,
}

impl Fuse {
    fn new(burns_at: usize, now: Timestamp) -> Self {
        Self {
            time: ManualClock::at(now),
            looks: AtomicUsize::new(0),
            burns_at,
            burnt: AtomicBool::new(false),
        }
    }
}

impl Clock for Fuse {
    fn now(&self) -> Timestamp {
        let look = self.looks.fetch_add(1, Ordering::SeqCst) + 1;
        if look >= self.burns_at {
            self.burnt.store(true, Ordering::SeqCst);
            std::panic::resume_unwind(Box::new("dead"));
        }
        self.time.now()
    }

    fn monotonic(&self) -> Duration {
        self.time.monotonic()
    }
}

/// What was told, by its key: however often it was given, by whichever process.
type World = Arc<Mutex<BTreeMap<String, String>>>;

struct Postman {
    world: World,
    fuse: Arc<Fuse>,
}

#[async_trait]
impl Deliver for Postman {
    async fn deliver(
        &self,
        _: DeliveryTarget,
        text: &str,
        key: &str,
    ) -> Result<JobDelivery, ToolError> {
        self.fuse.now(); // dead before it is on its way
        let before = self
            .world
            .lock()
            .unwrap()
            .insert(key.to_owned(), text.to_owned());
        assert!(before.is_none_or(|before| before == text), "other words");
        self.fuse.now(); // dead after it, before anybody knows
        Ok(JobDelivery::To("the chat".to_owned()))
    }
}

/// Jobs of every kind, all due, some several times over.
fn jobs() -> Vec<Value> {
    let every = json!({ "kind": "every", "everyMinutes": 60 });
    let mut jobs = vec![
        json!({ "name": "event", "schedule": every, "spec": { "mode": "systemEvent", "text": "event" } }),
        json!({ "name": "once", "schedule": { "kind": "at", "in": "1 hour" }, "deleteAfterRun": true,
                "spec": { "mode": "task", "message": "once" } }),
        json!({ "name": "skip", "schedule": every, "missed": "skip", "spec": { "mode": "task", "message": "skip" } }),
        json!({ "name": "fails", "schedule": every, "spec": { "mode": "task", "message": "fail" } }),
    ];
    for number in 0..6 {
        let spec = json!({ "mode": "task", "message": format!("all {number}") });
        jobs.push(json!({ "name": "all", "schedule": every, "missed": "all", "spec": spec }));
    }
    jobs
}

/// How many instants each of them was due at.
const INSTANTS: i64 = 5;
/// Runs that are to end well: the event, the one that comes once, and all of the six.
const GOOD: usize = 2 + 6 * INSTANTS as usize;

fn later() -> Timestamp {
    Timestamp(START.0 + INSTANTS * 3_600_000 + 600_000)
}

fn calm() -> (Arc<dyn Clock>, Ids) {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(later()));
    let ids = Ids::new(clock.clone(), Arc::new(OsEntropy));
    (clock, ids)
}

fn prepare(home: &Path) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(START));
        let ids = Ids::new(clock.clone(), Arc::new(OsEntropy));
        let store = Store::open(home, clock.clone(), ids.clone(), None)
            .await
            .unwrap();
        let settings = LiveSettings::new(settings());
        let model = Arc::new(Model::default());
        let stopping = CancellationToken::new();
        let (cron, _) = put_together(&store, clock, ids, model, &settings, stopping).await;
        let owner = manyhands_core::Caller::gateway();
        for job in jobs() {
            let input: JobInput = serde_json::from_value(job).unwrap();
            cron.add(&Stage::asker(&owner), input).await.unwrap();
        }
        store.close().await.unwrap();
    });
}

/// One life of the process: goes on with what is there until nothing is due and nothing runs, or
/// the fuse has burnt. Answers with whether all was done.
fn live(home: &Path, world: &World, fuse: &Arc<Fuse>) -> bool {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let (path, world, fuse_in) = (home.to_owned(), world.clone(), fuse.clone());
    let (told, done) = std::sync::mpsc::sync_channel(1);
    runtime.spawn(async move {
        let (clock, ids) = calm();
        let store = Store::open(&path, clock, ids.clone(), None).await.unwrap();
        let settings = LiveSettings::new(settings());
        let model = Arc::new(Model::default());
        let (cron, minds) = put_together(
            &store,
            fuse_in.clone(),
            ids,
            model,
            &settings,
            CancellationToken::new(),
        )
        .await;
        let postman = Postman {
            world,
            fuse: fuse_in,
        };
        cron.delivers_by(Arc::new(postman));
        minds.resume().await.unwrap();
        tokio::spawn(cron.clone().go_round());
        loop {
            // All of them at one moment.
            let filter = JobFilter {
                disabled: true,
                ..JobFilter::default()
            };
            let (jobs, _) = store.cron().list(filter, 500, 0).await.unwrap();
            let left = jobs
                .iter()
                .any(|job| job.running.is_some() || job.next_run.is_some_and(|due| due <= later()));
            if !left && minds.busy_count() == 0 {
                break;
            }
            tokio::task::yield_now().await;
        }
        let _ = told.send(());
    });
    let all_done = loop {
        match done.recv_timeout(Duration::from_millis(1)) {
            Ok(()) => break true,
            Err(_) if fuse.burnt.load(Ordering::SeqCst) => break false,
            Err(_) => {}
        }
    };
    runtime.shutdown_timeout(Duration::from_secs(60)); // nobody holds the home any more
    all_done
}

fn look_at(home: &Path, world: &World, died_at: usize) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (clock, ids) = calm();
        let store = Store::open(home, clock, ids, None).await.unwrap();
        let (runs, _) = store.cron().runs(None, None, 500, 0).await.unwrap();
        let mut instants = BTreeMap::new();
        for run in &runs {
            let row = (run.job.clone(), run.scheduled);
            assert!(
                instants.insert(row, run.state).is_none(),
                "dead at {died_at}"
            );
            assert_ne!(run.state, RunState::Running, "dead at {died_at}");
        }
        let good: Vec<_> = runs
            .iter()
            .filter(|run| run.state == RunState::Ok)
            .collect();
        assert_eq!(good.len(), GOOD, "dead at {died_at}");
        let failed = runs.iter().filter(|run| run.state == RunState::Error);
        assert_eq!(failed.count(), 1, "dead at {died_at}");
        // What ended well was told once, in words of its own.
        {
            let world = world.lock().unwrap();
            assert_eq!(world.len(), GOOD, "dead at {died_at}");
            for run in &good {
                assert!(world.contains_key(&run.id), "dead at {died_at}");
            }
        }
        // One turn for each run, whatever life it was in.
        let mut asked = 0;
        for session in store.sessions().list(None, 500, 0).await.unwrap() {
            let entries = store.sessions().entries(&session.id, 0, 500).await.unwrap();
            let read = |body: &String| serde_json::from_str::<Message>(body).unwrap();
            let entries = entries.iter().filter(|entry| entry.kind != "note");
            let said = entries.map(|entry| read(&entry.body));
            asked += said
                .filter(|message| matches!(message, Message::User { .. }))
                .count();
        }
        assert_eq!(asked, GOOD + 1, "dead at {died_at}");
        store.close().await.unwrap();
    });
}

/// A home like another that nobody uses.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    std::fs::set_permissions(to, from.metadata().unwrap().permissions()).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(std::fs::copy(&path, &to).unwrap()),
        }
    }
}

/// Dies at every `step`th moment from `first` on, each time in a home of its own.
fn sweep(ready: &Path, first: usize, step: usize) -> usize {
    let mut died = 0;
    for burns_at in (first..).step_by(step) {
        // In memory where there is such a folder: a process dies here, not a disk.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.unwrap();
        let (home, world) = (folder.path().join("home"), World::default());
        copy(ready, &home);
        let fuse = Arc::new(Fuse::new(burns_at, later()));
        let survived = live(&home, &world, &fuse);
        if !survived {
            died += 1;
            let second = Arc::new(Fuse::new(usize::MAX, later()));
            assert!(live(&home, &world, &second), "dead at {burns_at}");
        }
        look_at(&home, &world, burns_at);
        if survived {
            break;
        }
    }
    died
}

#[test]
fn dying_at_any_moment_leaves_one_record_one_turn_and_one_word_for_each_instant() {
    let ready = tempfile::tempdir().unwrap();
    let home = ready.path().join("home");
    prepare(&home);
    let died: usize = std::thread::scope(|scope| {
        let halves: Vec<_> = (1..=2)
            .map(|first| (first, home.as_path()))
            .map(|(first, home)| scope.spawn(move || sweep(home, first, 2)))
            .collect();
        halves.into_iter().map(|half| half.join().unwrap()).sum()
    });
    assert!(died >= 250, "only {died} moments");
}
