//! The scheduler loop: claims due jobs and runs them, up to the configured concurrency.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use manyhands_config::Settings;
use manyhands_core::Timestamp;
use manyhands_schedule::Schedule;
use manyhands_store::{Claim, JobRecord, RunRecord, RunState, StoreError};

use super::job::Job;
use super::plan::{Due, RunPlan, SkippedRuns};
use super::{Inner, JobScheduler};

/// How often the clock is checked: it may have been set forward, or the machine may have slept.
const LOOK: Duration = Duration::from_secs(5);
/// The delay after a storage error.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// The most jobs claimed in one transaction.
const BATCH: usize = 64;
/// A clock set back by less is waited out; one set back by more was wrong before.
const CORRECTION_MS: i64 = 3 * 3_600_000;
/// The most jobs rescheduled at once after that.
const PAGE: u32 = 500;
/// How often old runs are removed, and how long they are stored.
const SWEEP_MS: i64 = 86_400_000;
const KEPT_MS: i64 = 30 * 86_400_000;

/// State of the loop between rounds.
#[derive(Default)]
struct SchedulerState {
    /// The latest time seen.
    latest: Option<Timestamp>,
    /// When something is due next, as far as known.
    next: Option<Timestamp>,
    swept: Option<Timestamp>,
    /// The settings that the heartbeats were created from.
    settings: Option<Arc<Settings>>,
}

impl JobScheduler {
    /// Resumes interrupted runs, then runs due jobs until the gateway stops.
    pub async fn go_round(self) {
        if let Err(error) = self.inner.recover().await {
            tracing::error!(event = "job_runs_resume_failed", %error, "failed to resume interrupted job runs");
        }
        let mut memory = SchedulerState::default();
        let mut look = true;
        while !self.inner.stopping.is_cancelled() {
            let (wait, failed) = match self.inner.round(&mut memory, look).await {
                Ok(wait) => (wait, false),
                Err(error) => {
                    tracing::error!(event = "job_claim_failed", %error, retry_in = ?AFTER_FAILURE, "failed to claim due jobs; will retry");
                    (AFTER_FAILURE, true)
                }
            };
            look = tokio::select! {
                biased;
                () = self.inner.stopping.cancelled() => return,
                () = self.inner.wake.notified() => true,
                () = tokio::time::sleep(wait.min(LOOK)) => failed,
            };
        }
    }
}

impl Inner {
    /// Runs what is due and returns the delay until the next round. Without `look`, the database is
    /// read only when something is due.
    async fn round(
        self: &Arc<Self>,
        memory: &mut SchedulerState,
        look: bool,
    ) -> Result<Duration, StoreError> {
        let now = self.clock.now();
        self.handle_clock_change(memory, now).await?;
        if memory.swept.is_none_or(|last| now.0 - last.0 > SWEEP_MS) {
            memory.swept = Some(now);
            self.records.sweep(Timestamp(now.0 - KEPT_MS)).await?;
        }
        if !look && memory.next.is_none_or(|next| next > now) {
            return Ok(memory.next.map_or(LOOK, |next| next.since(now)));
        }
        let settings = self.settings.current();
        let known = memory.settings.as_ref();
        if !known.is_some_and(|known| Arc::ptr_eq(known, &settings)) {
            self.handle_zone_change().await?;
            self.sync_heartbeats().await?;
            memory.settings = Some(settings.clone());
        }
        if !settings.cron.enabled {
            memory.next = None;
            return Ok(LOOK);
        }
        self.take_up(now).await?;
        memory.next = match self.is_full() {
            true => None, // a finished run wakes the loop
            false => self.records.next_due().await?,
        };
        Ok(memory
            .next
            .map_or(LOOK, |next| next.since(self.clock.now())))
    }

    fn places(&self) -> usize {
        let most = self.settings.current().cron.max_concurrent_runs as usize;
        most.saturating_sub(self.going())
    }

    fn is_full(&self) -> bool {
        self.places() == 0
    }

    /// Claims and starts jobs while some are due and slots are free.
    async fn take_up(self: &Arc<Self>, now: Timestamp) -> Result<(), StoreError> {
        loop {
            let places = self.places().min(BATCH);
            if places == 0 || self.stopping.is_cancelled() {
                return Ok(());
            }
            let most = u32::try_from(places).unwrap_or(1);
            let due = self.records.due(now, most).await?;
            if due.is_empty() {
                return Ok(());
            }
            for (job, run) in self.claim(due, now).await? {
                self.begin(job, run);
            }
        }
    }

    /// Claims due jobs and returns the runs to start.
    pub(super) async fn claim(
        &self,
        due: Vec<JobRecord>,
        now: Timestamp,
    ) -> Result<Vec<(Job, RunRecord)>, StoreError> {
        let (mut claims, mut jobs) = (Vec::new(), Vec::new());
        for record in due {
            let Some(first) = record.next_run else {
                continue;
            };
            let id = record.id.clone();
            match Job::read(record) {
                Ok(job) => {
                    let plan = self.plan(&job, first, now);
                    claims.push(self.claim_of(&job.record, first, now, plan));
                    jobs.push(Some(job));
                }
                Err(error) => {
                    tracing::error!(event = "job_disabled", job = id, %error, "job disabled: its record is damaged");
                    claims.push(Claim {
                        job: id,
                        expected: first,
                        next: None,
                        skipped: None,
                        run: None,
                    });
                    jobs.push(None);
                }
            }
        }
        let runs: Vec<Option<RunRecord>> = claims.iter().map(|claim| claim.run.clone()).collect();
        // One transaction: the next due time moves and the row of the run appears together.
        // `expected` makes it a compare-and-set, so two processes cannot claim the same time.
        let begun = self.records.claim(claims).await?;
        let all = jobs.into_iter().zip(runs).zip(begun);
        let begun = all.filter(|(_, begun)| *begun);
        Ok(begun
            .filter_map(|((job, run), _)| Some((job?, run?)))
            .collect())
    }

    fn plan(&self, job: &Job, first: Timestamp, now: Timestamp) -> RunPlan {
        let record = &job.record;
        let last = record
            .last_run
            .zip(record.last_duration)
            .map(|(began, took)| (began, Timestamp(began.0.saturating_add(took))));
        let due = Due {
            schedule: &job.schedule,
            first,
            missed: record.missed,
            window_ms: record.window_ms,
            overlap: record.overlap,
            last,
        };
        due.plan(now, &self.zone())
    }

    fn claim_of(&self, job: &JobRecord, first: Timestamp, now: Timestamp, plan: RunPlan) -> Claim {
        let RunPlan { passed, run, next } = plan;
        Claim {
            job: job.id.clone(),
            expected: first,
            next,
            skipped: passed.map(|passed| self.passed(job, &passed, now, next)),
            run: run.map(|at| RunRecord {
                next_run: next,
                ..self.new_run(job, at, now)
            }),
        }
    }

    /// A run of a job for a time, starting now.
    pub(super) fn new_run(&self, job: &JobRecord, at: Timestamp, now: Timestamp) -> RunRecord {
        RunRecord {
            id: self.ids.next::<uuid::Uuid>().to_string(),
            job: job.id.clone(),
            maker: job.creator.clone(),
            scheduled: at,
            until: None,
            amount: 1,
            forced: false,
            state: RunState::Running,
            claimed: now,
            ended: None,
            error: None,
            summary: None,
            next_run: job.next_run,
        }
    }

    fn passed(
        &self,
        job: &JobRecord,
        passed: &SkippedRuns,
        now: Timestamp,
        next: Option<Timestamp>,
    ) -> RunRecord {
        let several = passed.last > passed.first;
        RunRecord {
            until: several.then_some(passed.last),
            amount: i64::try_from(passed.count).unwrap_or(i64::MAX),
            state: RunState::Skipped,
            ended: Some(now),
            error: Some(passed.words()),
            next_run: next,
            ..self.new_run(job, passed.first, now)
        }
    }

    /// Starts a run; the slot it frees at the end wakes the loop.
    fn begin(self: &Arc<Self>, job: Job, run: RunRecord) {
        // Counted before the task is spawned, or the loop could start more runs than there are
        // slots.
        self.going.fetch_add(1, Ordering::SeqCst);
        let this = self.clone();
        self.tasks.spawn(async move {
            let place = RunSlot(this.clone());
            this.perform(&job, run, &[]).await;
            drop(place);
        });
    }

    /// Resumes every run that a stop or crash interrupted. One that had not reached its turn and is
    /// too old by now is closed.
    async fn recover(self: &Arc<Self>) -> Result<(), StoreError> {
        let now = self.clock.now();
        for run in self.records.open_runs().await? {
            let job = self.records.get(&run.job).await?;
            match job.map(Job::read) {
                Some(Ok(job)) => match self.is_stale(&job, &run, now).await {
                    true => self.interrupted(&run, now).await?,
                    false => self.begin(job, run),
                },
                _ => self.interrupted(&run, now).await?,
            }
        }
        Ok(())
    }

    /// Returns whether a run never reached its turn and is too old to start.
    async fn is_stale(&self, job: &Job, run: &RunRecord, now: Timestamp) -> bool {
        let age = now.0.saturating_sub(run.claimed.0);
        age > job.record.window_ms && !self.was_sent(job, run).await
    }

    /// Handles a clock that was set far back: jobs due by the old clock are rescheduled. What
    /// already has its row does not run again.
    async fn handle_clock_change(
        &self,
        memory: &mut SchedulerState,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let before = match memory.latest {
            Some(latest) => Some(latest),
            None => self.records.last_claim().await?,
        };
        memory.latest = Some(now);
        let Some(before) = before.filter(|before| before.0 - now.0 > CORRECTION_MS) else {
            return Ok(());
        };
        tracing::warn!(event = "clock_moved_back", from = %before.rfc3339(), to = %now.rfc3339(), "the system clock was set back; recalculating the next run of every job");
        memory.next = None;
        self.wake.notify_one();
        self.reschedule(now, |_, next, seen| next < seen).await
    }

    /// Handles another time zone of the user, also one changed while the gateway was off: jobs in
    /// that zone are rescheduled.
    async fn handle_zone_change(&self) -> Result<(), StoreError> {
        let zone = self.zone();
        let name = zone.iana_name().unwrap_or("UTC");
        let before = self.records.set_note("zone", name).await?;
        if before.is_none_or(|before| before == name) {
            return Ok(());
        }
        let by_user = |job: &Job| matches!(&job.schedule, Schedule::Cron { tz: None, .. });
        let now = self.clock.now();
        self.reschedule(now, |job, _, _| by_user(job)).await
    }

    /// Reschedules jobs that are not due yet, where `wanted` accepts the job, the new time and the
    /// old one.
    async fn reschedule(
        &self,
        now: Timestamp,
        wanted: impl Fn(&Job, Timestamp, Timestamp) -> bool,
    ) -> Result<(), StoreError> {
        let zone = self.zone();
        let mut from = String::new();
        loop {
            let page = self.records.due_after(now, &from, PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            from = last.id.clone();
            for record in page {
                let Some(seen) = record.next_run else {
                    continue;
                };
                let Ok(job) = Job::read(record) else { continue };
                let next = job.schedule.next_after(now, &zone);
                if next.is_some_and(|next| next != seen && wanted(&job, next, seen)) {
                    self.records.reschedule(&job.record.id, seen, next).await?;
                }
            }
        }
    }
}

/// A run slot, freed on drop.
struct RunSlot(Arc<Inner>);

impl Drop for RunSlot {
    fn drop(&mut self) {
        self.0.going.fetch_sub(1, Ordering::SeqCst);
        self.0.wake.notify_one();
    }
}
