//! Real commands in real shells. Nothing here waits for time to pass unless time is the claim.

mod bash;
mod process;

use super::*;
use manyhands_core::{ManualClock, SeededEntropy, Timestamp};

const NOON: Timestamp = Timestamp(1_700_000_000_000);

struct Fixture {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    supervisor: Supervisor,
    jobs: Jobs,
}

fn fixture() -> Fixture {
    fixture_with(|_| {})
}

fn fixture_with(change: impl FnOnce(&mut JobSettings)) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(NOON));
    let supervisor = Supervisor::new(200);
    let env = [
        ("SHELL", "/bin/bash"),
        ("PATH", "/usr/bin:/bin"),
        ("HOME", dir.path().to_str().unwrap()),
    ];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut settings = JobSettings::of_env(env.into());
    change(&mut settings);
    let ids = Ids::new(clock.clone(), Arc::new(SeededEntropy::new(1)));
    let jobs = Jobs::new(supervisor.clone(), clock.clone(), ids, settings);
    Fixture {
        dir,
        clock,
        supervisor,
        jobs,
    }
}

impl Fixture {
    fn request(&self, command: &str) -> BashRequest {
        BashRequest {
            progress: manyhands_core::Progress::default(),
            full_output: false,
            command: command.to_owned(),
            workdir: self.dir.path().to_owned(),
            timeout_ms: None,
            background: false,
            yield_ms: None,
            origin: None,
        }
    }

    fn in_background(&self, command: &str) -> BashRequest {
        BashRequest {
            background: true,
            ..self.request(command)
        }
    }

    async fn ask(&self, request: BashRequest) -> Result<BashResult, JobError> {
        self.jobs.bash(request, &CancellationToken::new()).await
    }

    async fn run(&self, request: BashRequest) -> CompletedJob {
        match self.ask(request).await.unwrap() {
            BashResult::Completed(job) => *job,
            BashResult::Running(job) => panic!("runs on: {job:?}"),
        }
    }

    async fn bash(&self, command: &str) -> CompletedJob {
        self.run(self.request(command)).await
    }

    async fn leave(&self, request: BashRequest) -> RunningJob {
        match self.ask(request).await.unwrap() {
            BashResult::Running(job) => job,
            BashResult::Completed(job) => panic!("has ended: {job:?}"),
        }
    }

    async fn background(&self, command: &str) -> SessionId {
        self.leave(self.in_background(command)).await.session_id
    }

    fn printed(&self, id: SessionId) -> String {
        self.jobs.log(id, 0, None).unwrap().log
    }

    /// Waits until a session has printed exactly `expect`.
    async fn prints(&self, id: SessionId, expect: &str) {
        until(|| self.printed(id).len() >= expect.len()).await;
        assert_eq!(self.printed(id), expect);
    }

    /// Waits until a session has printed a line, and reads it as a process id.
    async fn first_pid(&self, id: SessionId) -> u32 {
        until(|| self.printed(id).contains('\n')).await;
        self.printed(id).lines().next().unwrap().parse().unwrap()
    }

    async fn ends(&self, id: SessionId) -> PollResult {
        until(|| !self.jobs.poll(id).unwrap().running).await;
        self.jobs.poll(id).unwrap()
    }
}

/// Waits for `condition`; the deadline is the test runner's.
async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
