//! A month of virtual time with seeded faults: people talk to agents, models fail and hang,
//! somebody stops, resets and shortens, clocks are set, and the process dies again and again.
//! Every evening all that was said and done is looked at.

mod check;
mod world;

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use manyhands_core::ErrorCode;
use manyhands_store::{Store, TurnState};

use super::fixture::owner;
use crate::{Input, MindParts, Minds, Origin, SessionKey};
use world::{DAY, Day, MonthEnv, QUEUED, SimulatedWorld, TaskPlan, is_of_stranger};

const SEED: u64 = 20_261_115;
const DAYS: usize = 30;
const HOURS: i64 = 24;
/// How long something may take in real time before the test gives up.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much more memory the last week may have than the first.
const MAX_GROWTH_KIB: u64 = 48 * 1024;

const SESSIONS: [&str; 12] = [
    "agent:main:main",
    "agent:main:work",
    "agent:main:client:ada:x",
    "agent:main:client:ada:y",
    "agent:daily:main",
    "agent:daily:tg:dm:7",
    "agent:idle:main",
    "agent:idle:work",
    "agent:deep:main",
    "agent:deep:work",
    "agent:deep:tg:dm:7",
    "agent:deep:tg:dm:8",
];

/// Something that was said to an agent.
#[derive(Debug, Clone)]
struct Letter {
    number: u32,
    key: String,
    run: String,
    plan: TaskPlan,
    /// Letters of one group were sent at the same moment, in no order.
    group: u32,
    /// Whether it was acknowledged.
    taken: bool,
    /// How its turn ended.
    state: Option<TurnState>,
}

struct Month {
    world: Arc<SimulatedWorld>,
    letters: Vec<Letter>,
    /// Sent when the process died: to be sent again until they are acknowledged.
    open: Vec<usize>,
    day: usize,
    hour: i64,
    groups: u32,
    lives: usize,
    archives: check::Archives,
    /// Memory at the end of each day.
    memory: Vec<u64>,
}

/// How a life of the process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnOutcome {
    Died,
    ClosedSession,
    Over,
}

struct Life {
    minds: Minds,
    day: Arc<Day>,
    store: Store,
}

impl Life {
    async fn begin(home: &Path, world: &Arc<SimulatedWorld>) -> Self {
        let (clock, ids) = (world.calendar.clone(), world.ids.clone());
        let store = Store::open(home, clock.clone(), ids.clone(), None)
            .await
            .unwrap();
        let day = Day::new(world);
        let minds = Minds::new(MindParts {
            sessions: store.sessions().clone(),
            blobs: store.blobs().clone(),
            path: day.clone(),
            env: Arc::new(MonthEnv(day.clone())),
            clock,
            ids,
        });
        Self { minds, day, store }
    }

    /// Answers what waits, lets go what hangs, until nothing runs any more.
    async fn come_to_rest(&self) {
        let rest = async {
            while self.minds.busy_count() > 0 {
                for answer in std::mem::take(&mut *self.day.questions.lock().unwrap()) {
                    let _ = answer.send(true); // it may be stopped
                }
                self.day.gate.notify_waiters();
                let hanging = std::mem::take(&mut *self.day.hanging.lock().unwrap());
                for key in hanging {
                    self.minds.stop(&key.parse().unwrap());
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, rest)
            .await
            .expect("it comes to rest");
    }
}

impl Month {
    fn draft(&mut self, key: &str) -> usize {
        let number = u32::try_from(self.letters.len()).unwrap();
        self.letters.push(Letter {
            number,
            key: key.to_owned(),
            run: format!("run-{number}"),
            plan: TaskPlan::draw(&self.world.dice),
            group: self.groups,
            taken: false,
            state: None,
        });
        self.letters.len() - 1
    }

    /// Sends letters at the same moment.
    async fn send(&mut self, life: &Life, which: &[usize]) {
        self.open.extend_from_slice(which);
        let sent = which.iter().map(|at| {
            let letter = self.letters[*at].clone();
            async move {
                let key: SessionKey = letter.key.parse().unwrap();
                let input = Input::text(letter.plan.text(letter.number));
                let stranger = is_of_stranger(letter.number);
                let origin = Origin {
                    name: if stranger { "Mallory" } else { "owner" }.to_owned(),
                    trusted: !stranger,
                    ..owner()
                };
                let sent = life
                    .minds
                    .send(&key, Some(letter.run), input, &origin)
                    .await;
                let open = life
                    .store
                    .sessions()
                    .open_turns(key.as_str())
                    .await
                    .unwrap();
                assert!(open.len() <= QUEUED, "{} wait in {key}", open.len());
                sent
            }
        });
        let sent = join_all(sent).await;
        for (at, sent) in which.iter().zip(sent) {
            self.open.retain(|open| open != at);
            match sent {
                Ok(_) => self.letters[*at].taken = true,
                Err(error) => assert_eq!(error.code, ErrorCode::RateLimited, "{error}"),
            }
        }
    }

    /// One thing that somebody does.
    async fn something(&mut self, life: &Life) {
        self.groups += 1;
        let roll = self.world.dice.roll(100);
        let place = self.world.dice.roll(12) as usize;
        let key: SessionKey = SESSIONS[place].parse().unwrap();
        match roll {
            0..=54 => {
                let letter = self.draft(SESSIONS[place]);
                self.send(life, &[letter]).await;
            }
            55..=64 => {
                let several = (0..4).map(|more| SESSIONS[(place + more) % SESSIONS.len()]);
                let several: Vec<usize> = several.map(|key| self.draft(key)).collect();
                self.send(life, &several).await;
            }
            65..=67 => {
                let many: Vec<usize> = (0..7).map(|_| self.draft(SESSIONS[place])).collect();
                self.send(life, &many).await;
            }
            68..=72 => self.say_again(life).await,
            73..=79 => drop(life.minds.stop(&key)),
            80..=83 => {
                let there = life.minds.get(&key).await.is_ok();
                let reset = life.minds.reset(&key).await;
                assert_eq!(reset.is_ok(), there, "{reset:?}");
            }
            84..=87 => {
                let there = life.minds.get(&key).await.is_ok();
                let trimmed = life
                    .minds
                    .trim(&key, 1 + self.world.dice.roll(6) as usize)
                    .await;
                assert_eq!(trimmed.is_ok(), there, "{trimmed:?}");
            }
            88..=90 => {
                // It may be at work, or the model may hang: then nothing is changed.
                let _ = life.minds.compact(&key).await;
            }
            91..=96 => {
                // Rolled in any case: what comes next must follow from the seed alone.
                let verdict = self.world.dice.once_in(2);
                let question = life.day.questions.lock().unwrap().pop();
                question.map(|answer| answer.send(verdict));
            }
            _ => life.day.gate.notify_waiters(),
        }
    }

    /// Somebody did not hear the acknowledgement, and sends the same once more.
    async fn say_again(&mut self, life: &Life) {
        let recent = self.letters.len().saturating_sub(20);
        let Some(letter) = self.letters[recent..].iter().find(|one| one.taken).cloned() else {
            return;
        };
        let key: SessionKey = letter.key.parse().unwrap();
        let input = Input::text(letter.plan.text(letter.number));
        let again = life
            .minds
            .send(&key, Some(letter.run), input, &owner())
            .await;
        assert!(again.unwrap().repeated);
    }

    /// One life of the process.
    async fn live(&mut self, home: &Path) -> TurnOutcome {
        let life = Life::begin(home, &self.world).await;
        life.minds.resume().await.unwrap();
        for at in std::mem::take(&mut self.open) {
            self.send(&life, &[at]).await;
        }
        loop {
            self.world.calendar.pass(DAY / HOURS);
            if self.world.dice.once_in(30) {
                let minutes = i64::from(self.world.dice.roll(300)) - 120;
                self.world.calendar.set_off(minutes * 60_000);
            }
            for _ in 0..=self.world.dice.roll(5) {
                self.something(&life).await;
                for _ in 0..self.world.dice.roll(12) {
                    tokio::task::yield_now().await;
                }
                if self.world.dice.once_in(70) {
                    return TurnOutcome::Died;
                }
            }
            if self.world.dice.once_in(3) {
                life.come_to_rest().await;
            }
            if self.world.dice.once_in(80) {
                life.day.stopping.cancel();
                life.minds.rest().await;
                life.store.close().await.unwrap();
                return TurnOutcome::ClosedSession;
            }
            self.hour += 1;
            if self.hour == HOURS {
                self.hour = 0;
                self.evening(&life).await;
            }
            if self.day == DAYS {
                life.store.close().await.unwrap();
                return TurnOutcome::Over;
            }
        }
    }

    async fn evening(&mut self, life: &Life) {
        life.come_to_rest().await;
        self.check(&life.store).await;
        assert_eq!(
            life.minds.inner.subscribers.topics(),
            0,
            "somebody still listens"
        );
        self.memory.push(resident_kib());
        self.day += 1;
    }
}

/// How much memory this process has, where the system says so.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

#[test]
fn a_month_of_faults_loses_nothing_and_does_nothing_twice() {
    // In memory where there is such a folder: processes die here, not disks.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.unwrap();
    let home = folder.path().join("home");
    let mut month = Month {
        world: SimulatedWorld::new(SEED),
        letters: Vec::new(),
        open: Vec::new(),
        day: 0,
        hour: 0,
        groups: 0,
        lives: 0,
        archives: check::Archives::new(),
        memory: Vec::new(),
    };
    loop {
        month.lives += 1;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            runtime.block_on(month.live(&home))
        }));
        let end = lived.unwrap_or_else(|failed| {
            let at = format!("seed {SEED}, life {}, day {}\n", month.lives, month.day);
            let _ = std::io::stderr().write_all(at.as_bytes());
            std::panic::resume_unwind(failed)
        });
        runtime.shutdown_background(); // after a death nobody polls what was running
        if end == TurnOutcome::Over {
            break;
        }
    }
    let taken = month.letters.iter().filter(|one| one.taken).count();
    assert!(taken > 2_000, "only {taken} turns");
    assert!(month.lives > 20, "only {} lives", month.lives);
    let most = |days: &[u64]| days.iter().copied().max().unwrap_or(0);
    let (first, last) = (most(&month.memory[..7]), most(&month.memory[DAYS - 7..]));
    assert!(
        last <= first + MAX_GROWTH_KIB,
        "memory grew from {first} to {last} KiB"
    );
}
