//! Scheduled jobs and their runs, one per due time.
//!
//! A run is recorded before it begins: [`Cron::claim`] moves a job to its next due time and inserts the run in the same
//! transaction, so that no crash loses or duplicates it. Due jobs are found by an index, however many jobs there are.

mod list;
mod record;

pub use list::{JobCounts, JobFilter};
pub use record::{JobKind, JobRecord, MissedRuns, Overlap, RunRecord, RunState};

use manyhands_core::Timestamp;

use crate::changes::Changes;
use crate::error::StoreError;
use crate::sql::{Sql, Statement, Tx};
use record::{JOB_COLUMNS, RUN_COLUMNS};

/// Runs retained per job.
const KEPT_RUNS: i64 = 200;

/// Whether a job was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobCreation {
    /// It was.
    Created,
    /// There are too many jobs.
    Full,
    /// Its creator has too many jobs.
    FullForCreator,
}

/// Records of jobs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Cron {
    sql: Sql,
    changes: Changes,
}

/// A claim of a due job.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The job.
    pub job: String,
    /// The due time that the claimer read.
    pub expected: Timestamp,
    /// The next due time.
    pub next: Option<Timestamp>,
    /// Record of runs that are skipped.
    pub skipped: Option<RunRecord>,
    /// The run to begin.
    pub run: Option<RunRecord>,
}

/// End of a run.
#[derive(Debug, Clone)]
pub struct RunEnd {
    /// The run.
    pub id: String,
    /// Its final state.
    pub state: RunState,
    /// The error.
    pub error: Option<String>,
    /// Summary of the result.
    pub summary: Option<String>,
    /// When it ended.
    pub at: Timestamp,
    /// Whether the job runs only once.
    pub once: bool,
    /// Whether to delete the job.
    pub remove: bool,
}

impl Cron {
    pub(crate) fn new(sql: Sql) -> Self {
        let changes = Changes::default();
        Self { sql, changes }
    }

    /// Notifies of created, changed and deleted jobs, and of runs that begin or end.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Creates a job unless there are `most` already; whether it was created.
    pub async fn create(&self, job: &JobRecord, most: u64) -> Result<bool, StoreError> {
        self.create_all(std::slice::from_ref(job), most).await
    }

    /// Creates a job unless there are `most` already, or `most_of_maker` of its creator.
    pub async fn create_within(
        &self,
        job: &JobRecord,
        most: u64,
        most_of_maker: u64,
    ) -> Result<JobCreation, StoreError> {
        let mut tx = self.sql.begin().await?;
        let count = Statement::new(
            "SELECT (SELECT COUNT(*) FROM cron_job WHERE kind = 'job') AS count,
                    (SELECT COUNT(*) FROM cron_job WHERE maker = $1 AND kind = 'job') AS own",
        );
        let row = tx.one(count.bind(job.creator.as_str())).await?;
        let (all, own) = match &row {
            Some(row) => (row.int("count")?, row.int("own")?),
            None => (0, 0),
        };
        // Counted inside the write transaction: concurrent requests must not exceed the limit together.
        let full = |there: i64, most: u64| u64::try_from(there).unwrap_or(0) >= most;
        if full(all, most) || full(own, most_of_maker) {
            tx.abandon().await;
            return Ok(match full(all, most) {
                true => JobCreation::Full,
                false => JobCreation::FullForCreator,
            });
        }
        tx.run(job.insert()).await?;
        tx.commit().await?;
        self.changes.notify();
        Ok(JobCreation::Created)
    }

    /// Creates all of these jobs, or none if there would be more than `most`.
    pub async fn create_all(&self, jobs: &[JobRecord], most: u64) -> Result<bool, StoreError> {
        let mut tx = self.sql.begin().await?;
        let count = Statement::new("SELECT COUNT(*) AS count FROM cron_job WHERE kind = 'job'");
        let there = tx.one(count).await?.map_or(Ok(0), |row| row.int("count"))?;
        let new = jobs.iter().filter(|job| job.kind == JobKind::Job).count() as u64;
        let all = u64::try_from(there).unwrap_or(0).saturating_add(new);
        if new > 0 && all > most {
            tx.abandon().await;
            return Ok(false);
        }
        for job in jobs {
            tx.run(job.insert()).await?;
        }
        tx.commit().await?;
        self.changes.notify();
        Ok(true)
    }

    /// One job.
    pub async fn get(&self, id: &str) -> Result<Option<JobRecord>, StoreError> {
        let select = Statement::new(JOB_COLUMNS).then_with(" WHERE id = ", id);
        let row = self.sql.one(select).await?;
        row.as_ref().map(JobRecord::read).transpose()
    }

    /// Changes a job if nobody else did since `seen`. The next due time changes only with the schedule.
    pub async fn update(
        &self,
        job: &JobRecord,
        seen: Timestamp,
        rescheduled: bool,
    ) -> Result<(), StoreError> {
        let update = Statement::new(
            "UPDATE cron_job SET agent = $2, name = $3, description = $4, enabled = $5,
             delete_after_run = $6, schedule = $7, spec = $8, missed = $9, window_ms = $10,
             overlap = $11, updated = $13, origin = $16,
             next_run = CASE WHEN $15 = 1 THEN $12 ELSE next_run END WHERE id = $1 AND updated = $14",
        )
        .bind(job.id.as_str())
        .bind(job.agent.as_str())
        .bind(job.name.as_str())
        .bind(job.description.clone())
        .bind(i64::from(job.enabled))
        .bind(i64::from(job.delete_after_run))
        .bind(job.schedule.as_str())
        .bind(job.spec.as_str())
        .bind(job.missed.as_str())
        .bind(job.window_ms)
        .bind(job.overlap.as_str())
        .bind(job.next_run)
        .bind(job.updated)
        .bind(seen)
        .bind(i64::from(rescheduled))
        .bind(job.origin.as_str());
        // `next_run` is written only for a new schedule: a claim since the caller read the job has moved it
        // forward, and writing the old value would run the job twice.
        match self.sql.run(update).await? {
            0 => Err(StoreError::Changed {
                what: format!("the job {}", job.id),
            }),
            _ => {
                self.changes.notify();
                Ok(())
            }
        }
    }

    /// Deletes a job with its runs; whether there was one.
    pub async fn remove(&self, id: &str) -> Result<bool, StoreError> {
        let mut tx = self.sql.begin().await?;
        let job = Statement::new("DELETE FROM cron_job WHERE id = $1").bind(id);
        let removed = tx.run(job).await?;
        let runs = Statement::new("DELETE FROM cron_run WHERE job = $1").bind(id);
        tx.run(runs).await?;
        tx.commit().await?;
        self.changes.notify();
        Ok(removed > 0)
    }

    /// Due jobs that are not running, longest overdue first.
    pub async fn due(&self, now: Timestamp, most: u32) -> Result<Vec<JobRecord>, StoreError> {
        let rows = self.sql.all(due(now, most)).await?;
        rows.iter().map(JobRecord::read).collect()
    }

    /// When the next job is due.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = self.sql.one(next_due()).await?;
        let at = row.map(|row| row.int_or_null("next_run")).transpose()?;
        Ok(at.flatten().map(Timestamp))
    }

    /// Claims jobs in one transaction; returns for each whether its run begins: not if it was claimed or changed meanwhile,
    /// nor if it ran at that time already.
    pub async fn claim(&self, claims: Vec<Claim>) -> Result<Vec<bool>, StoreError> {
        let mut tx = self.sql.begin().await?;
        // All due jobs in one transaction: one fsync for a thousand jobs that are due at midnight.
        let mut begun = Vec::with_capacity(claims.len());
        for claim in &claims {
            begun.push(claim_one(&mut tx, claim).await?);
        }
        tx.commit().await?;
        self.changes.notify();
        Ok(begun)
    }

    /// Begins a run on request; false if the job is running.
    pub async fn force(&self, run: &RunRecord) -> Result<bool, StoreError> {
        let mut tx = self.sql.begin().await?;
        let take = Statement::new(
            "UPDATE cron_job SET running = $2, last_run = $3 WHERE id = $1 AND running IS NULL",
        )
        .bind(run.job.as_str())
        .bind(run.id.as_str())
        .bind(run.claimed);
        // `running IS NULL` is the lock on a job: a scheduled and a forced run cannot both begin.
        if tx.run(take).await? == 0 || tx.run(run.insert()).await? == 0 {
            tx.abandon().await;
            return Ok(false);
        }
        tx.commit().await?;
        self.changes.notify();
        Ok(true)
    }

    /// Ends a run; false if it has ended already.
    pub async fn finish(&self, end: &RunEnd) -> Result<bool, StoreError> {
        let mut tx = self.sql.begin().await?;
        let select = Statement::new(RUN_COLUMNS).then_with(" WHERE id = ", end.id.as_str());
        let run = tx.one(select).await?;
        let run = run.as_ref().map(RunRecord::read).transpose()?;
        // A run ends once. After a crash both the recovery and the late worker may report its end.
        let Some(run) = run.filter(|run| run.state == RunState::Running) else {
            tx.abandon().await;
            return Ok(false);
        };
        let close = Statement::new(
            "UPDATE cron_run SET state = $2, ended = $3, error = $4, summary = $5 WHERE id = $1",
        )
        .bind(end.id.as_str())
        .bind(end.state.as_str())
        .bind(end.at)
        .bind(end.error.clone())
        .bind(end.summary.clone());
        tx.run(close).await?;
        if end.remove {
            // Only if it still runs this run: a job that was replaced under the same id stays.
            let gone = Statement::new("DELETE FROM cron_job WHERE id = $1 AND running = $2")
                .bind(run.job.as_str())
                .bind(end.id.as_str());
            tx.run(gone).await?;
        } else {
            tx.run(job_end(&run, end)).await?;
        }
        prune(&mut tx, &run.job).await?;
        tx.commit().await?;
        self.changes.notify();
        Ok(true)
    }

    /// Runs that have not ended; after a crash some were interrupted.
    pub async fn open_runs(&self) -> Result<Vec<RunRecord>, StoreError> {
        let select =
            Statement::new(RUN_COLUMNS).then(" WHERE state = 'running' ORDER BY claimed, id");
        let rows = self.sql.all(select).await?;
        rows.iter().map(RunRecord::read).collect()
    }

    /// When a run was last claimed.
    pub async fn last_claim(&self) -> Result<Option<Timestamp>, StoreError> {
        let last = Statement::new("SELECT MAX(claimed) AS at FROM cron_run");
        let row = self.sql.one(last).await?;
        let at = row.map(|row| row.int_or_null("at")).transpose()?;
        Ok(at.flatten().map(Timestamp))
    }

    /// Moves a job to another due time if it still has the one the caller read.
    pub async fn reschedule(
        &self,
        id: &str,
        seen: Timestamp,
        next: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let update =
            Statement::new("UPDATE cron_job SET next_run = $3 WHERE id = $1 AND next_run = $2")
                .bind(id)
                .bind(seen)
                .bind(next);
        self.sql.run(update).await?;
        self.changes.notify();
        Ok(())
    }

    /// Stores a value under a name; returns the previous one.
    pub async fn set_note(&self, name: &str, value: &str) -> Result<Option<String>, StoreError> {
        let select =
            Statement::new("SELECT value FROM cron_note").then_with(" WHERE name = ", name);
        let before = self.sql.one(select).await?;
        let before = before.map(|row| row.text("value")).transpose()?;
        // Usually unchanged, and a write would cost an fsync.
        if before.as_deref() != Some(value) {
            let note = Statement::new(
                "INSERT INTO cron_note (name, value) VALUES ($1, $2)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            )
            .bind(name)
            .bind(value);
            self.sql.run(note).await?;
        }
        Ok(before)
    }

    /// Deletes runs of deleted jobs from before `before`.
    pub async fn sweep(&self, before: Timestamp) -> Result<u64, StoreError> {
        let delete = Statement::new(
            "DELETE FROM cron_run WHERE claimed < $1 AND state <> 'running'
             AND NOT EXISTS (SELECT 1 FROM cron_job WHERE cron_job.id = cron_run.job)",
        )
        .bind(before);
        self.sql.run(delete).await
    }
}

fn due(now: Timestamp, most: u32) -> Statement {
    Statement::new(JOB_COLUMNS)
        .then_with(" WHERE running IS NULL AND next_run <= ", now)
        .then(" ORDER BY next_run, id")
        .then_with(" LIMIT ", i64::from(most))
}

fn next_due() -> Statement {
    Statement::new(
        "SELECT next_run FROM cron_job WHERE running IS NULL AND next_run IS NOT NULL
         ORDER BY next_run, id LIMIT 1",
    )
}

async fn claim_one(tx: &mut Tx, claim: &Claim) -> Result<bool, StoreError> {
    let moved = Statement::new(
        "UPDATE cron_job SET next_run = $3 WHERE id = $1 AND next_run = $2 AND running IS NULL",
    )
    .bind(claim.job.as_str())
    .bind(claim.expected)
    .bind(claim.next);
    // Moving the next time forward is the claim. Whoever finds another time than it read lost the race,
    // and the due time is never run twice.
    if tx.run(moved).await? == 0 {
        return Ok(false);
    }
    if let Some(passed) = &claim.skipped {
        tx.run(passed.insert()).await?;
        prune(tx, &claim.job).await?;
    }
    if let Some(run) = &claim.run
        && tx.run(run.insert()).await? > 0
    {
        let begin = Statement::new("UPDATE cron_job SET running = $2, last_run = $3 WHERE id = $1")
            .bind(claim.job.as_str())
            .bind(run.id.as_str())
            .bind(run.claimed);
        tx.run(begin).await?;
        return Ok(true);
    }
    let error = claim
        .skipped
        .as_ref()
        .and_then(|passed| passed.error.clone());
    let idle = Statement::new(
        "UPDATE cron_job SET enabled = CASE WHEN next_run IS NULL THEN 0 ELSE enabled END,
         last_status = COALESCE($2, last_status), last_error = COALESCE($3, last_error) WHERE id = $1",
    )
    .bind(claim.job.as_str())
    .bind(claim.skipped.as_ref().map(|passed| passed.state.as_str().to_owned()))
    .bind(error);
    tx.run(idle).await?;
    Ok(false)
}

fn job_end(run: &RunRecord, end: &RunEnd) -> Statement {
    let text = match end.once {
        true => {
            "UPDATE cron_job SET running = NULL, last_duration = $3, last_status = $4, last_error = $5,
             failures = CASE WHEN $4 = 'error' THEN failures + 1 WHEN $4 = 'ok' THEN 0 ELSE failures END,
             enabled = CASE WHEN next_run IS NULL THEN 0 ELSE enabled END
             WHERE id = $1 AND running = $2"
        }
        false => {
            "UPDATE cron_job SET running = NULL, last_duration = $3, last_status = $4, last_error = $5,
             failures = CASE WHEN $4 = 'error' THEN failures + 1 WHEN $4 = 'ok' THEN 0 ELSE failures END
             WHERE id = $1 AND running = $2"
        }
    };
    Statement::new(text)
        .bind(run.job.as_str())
        .bind(run.id.as_str())
        .bind(end.at.0.saturating_sub(run.claimed.0).max(0))
        .bind(end.state.as_str())
        .bind(end.error.clone())
}

/// Keeps the latest runs of a job, and what goes on.
async fn prune(tx: &mut Tx, job: &str) -> Result<(), StoreError> {
    let delete = Statement::new(
        "DELETE FROM cron_run WHERE job = $1 AND state <> 'running' AND scheduled <=
         (SELECT scheduled FROM cron_run WHERE job = $1 ORDER BY scheduled DESC LIMIT 1 OFFSET $2)",
    )
    .bind(job)
    .bind(KEPT_RUNS);
    tx.run(delete).await.map(drop)
}

#[cfg(test)]
mod tests;
