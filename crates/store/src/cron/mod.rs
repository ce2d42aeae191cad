//! Jobs with a schedule, and one row for every instant at which one was due.
//!
//! A run is on record before it begins: [`Cron::claim`] moves a job on to its next instant and keeps
//! the row of this one in the same transaction, so that no crash loses or doubles it. What is due is
//! found by an index, however many jobs there are.

mod list;
mod record;

pub use list::{JobCounts, JobFilter};
pub use record::{JobKind, JobRecord, MissedRuns, Overlap, RunRecord, RunState};

use manyhands_core::Timestamp;

use crate::changes::Changes;
use crate::error::StoreError;
use crate::sql::{Sql, Statement, Tx};
use record::{JOB_COLUMNS, RUN_COLUMNS};

/// How many runs of a job are kept.
const KEPT_RUNS: i64 = 200;

/// Whether there was room for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobRoom {
    /// It is kept.
    Kept,
    /// There are too many jobs.
    Full,
    /// There are too many jobs of whoever made it.
    FullOfMaker,
}

/// The records of jobs.
#[derive(Debug, Clone)]
pub struct Cron {
    sql: Sql,
    changes: Changes,
}

/// A job that is taken up.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The job.
    pub job: String,
    /// The instant at which it was due when somebody looked.
    pub expected: Timestamp,
    /// The next one.
    pub next: Option<Timestamp>,
    /// What was passed over.
    pub passed: Option<RunRecord>,
    /// What is begun.
    pub run: Option<RunRecord>,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct RunEnd {
    /// The run.
    pub id: String,
    /// How.
    pub state: RunState,
    /// What went wrong.
    pub error: Option<String>,
    /// What came of it.
    pub summary: Option<String>,
    /// When.
    pub at: Timestamp,
    /// Whether the job was to run only once.
    pub once: bool,
    /// Whether the job goes.
    pub remove: bool,
}

impl Cron {
    pub(crate) fn new(sql: Sql) -> Self {
        let changes = Changes::default();
        Self { sql, changes }
    }

    /// Tells when a job is made, changed or removed, and when a run begins or ends.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Keeps a new job, unless there are `most` already; whether it is kept.
    pub async fn create(&self, job: &JobRecord, most: u64) -> Result<bool, StoreError> {
        self.create_all(std::slice::from_ref(job), most).await
    }

    /// Keeps a new job, unless there are `most` already, or `most_of_maker` of whoever made it.
    pub async fn create_within(
        &self,
        job: &JobRecord,
        most: u64,
        most_of_maker: u64,
    ) -> Result<JobRoom, StoreError> {
        let mut tx = self.sql.begin().await?;
        let count = Statement::new(
            "SELECT (SELECT COUNT(*) FROM cron_job WHERE kind = 'job') AS count,
                    (SELECT COUNT(*) FROM cron_job WHERE maker = $1 AND kind = 'job') AS own",
        );
        let row = tx.one(count.bind(job.maker.as_str())).await?;
        let (all, own) = match &row {
            Some(row) => (row.int("count")?, row.int("own")?),
            None => (0, 0),
        };
        let full = |there: i64, most: u64| u64::try_from(there).unwrap_or(0) >= most;
        if full(all, most) || full(own, most_of_maker) {
            tx.abandon().await;
            return Ok(match full(all, most) {
                true => JobRoom::Full,
                false => JobRoom::FullOfMaker,
            });
        }
        tx.run(job.insert()).await?;
        tx.commit().await?;
        self.changes.note();
        Ok(JobRoom::Kept)
    }

    /// Keeps new jobs, all of them or, where there would be more than `most`, none.
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
        self.changes.note();
        Ok(true)
    }

    /// One job.
    pub async fn get(&self, id: &str) -> Result<Option<JobRecord>, StoreError> {
        let select = Statement::new(JOB_COLUMNS).then_with(" WHERE id = ", id);
        let row = self.sql.one(select).await?;
        row.as_ref().map(JobRecord::read).transpose()
    }

    /// Changes what somebody may change of a job, if nobody else did since `seen`. Its next instant
    /// changes only with its schedule: it may have been taken up meanwhile.
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
        .bind(job.missed.word())
        .bind(job.window_ms)
        .bind(job.overlap.word())
        .bind(job.next_run)
        .bind(job.updated)
        .bind(seen)
        .bind(i64::from(rescheduled))
        .bind(job.origin.as_str());
        match self.sql.run(update).await? {
            0 => Err(StoreError::Changed {
                what: format!("the job {}", job.id),
            }),
            _ => {
                self.changes.note();
                Ok(())
            }
        }
    }

    /// Removes a job with its runs; whether there was one.
    pub async fn remove(&self, id: &str) -> Result<bool, StoreError> {
        let mut tx = self.sql.begin().await?;
        let job = Statement::new("DELETE FROM cron_job WHERE id = $1").bind(id);
        let removed = tx.run(job).await?;
        let runs = Statement::new("DELETE FROM cron_run WHERE job = $1").bind(id);
        tx.run(runs).await?;
        tx.commit().await?;
        self.changes.note();
        Ok(removed > 0)
    }

    /// Jobs that are due and do not run, the longest due first.
    pub async fn due(&self, now: Timestamp, most: u32) -> Result<Vec<JobRecord>, StoreError> {
        let rows = self.sql.all(due(now, most)).await?;
        rows.iter().map(JobRecord::read).collect()
    }

    /// The instant at which the next job is due.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = self.sql.one(next_due()).await?;
        let at = row.map(|row| row.int_or_null("next_run")).transpose()?;
        Ok(at.flatten().map(Timestamp))
    }

    /// Takes jobs up, all in one transaction. Says of each whether its run is to begin: not when it
    /// was taken up or changed meanwhile, and not when there is a row for that instant.
    pub async fn claim(&self, claims: Vec<Claim>) -> Result<Vec<bool>, StoreError> {
        let mut tx = self.sql.begin().await?;
        // All due jobs in one transaction: one fsync for a thousand jobs that are due at midnight.
        let mut begun = Vec::with_capacity(claims.len());
        for claim in &claims {
            begun.push(claim_one(&mut tx, claim).await?);
        }
        tx.commit().await?;
        self.changes.note();
        Ok(begun)
    }

    /// Begins a run that somebody asked for; not while the job runs.
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
        self.changes.note();
        Ok(true)
    }

    /// Ends a run. One that has ended stays as it is.
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
        .bind(end.state.word())
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
        self.changes.note();
        Ok(true)
    }

    /// Runs that were begun and have not ended, of which a crash may have cut off some.
    pub async fn open_runs(&self) -> Result<Vec<RunRecord>, StoreError> {
        let select =
            Statement::new(RUN_COLUMNS).then(" WHERE state = 'running' ORDER BY claimed, id");
        let rows = self.sql.all(select).await?;
        rows.iter().map(RunRecord::read).collect()
    }

    /// When something was last begun.
    pub async fn last_claim(&self) -> Result<Option<Timestamp>, StoreError> {
        let last = Statement::new("SELECT MAX(claimed) AS at FROM cron_run");
        let row = self.sql.one(last).await?;
        let at = row.map(|row| row.int_or_null("at")).transpose()?;
        Ok(at.flatten().map(Timestamp))
    }

    /// Moves a job on to another instant, if it is still due at the one somebody saw.
    pub async fn move_on(
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
        self.changes.note();
        Ok(())
    }

    /// Notes a value under a name; the one that stood there before.
    pub async fn note(&self, name: &str, value: &str) -> Result<Option<String>, StoreError> {
        let select =
            Statement::new("SELECT value FROM cron_note").then_with(" WHERE name = ", name);
        let before = self.sql.one(select).await?;
        let before = before.map(|row| row.text("value")).transpose()?;
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

    /// Removes the runs of jobs that are gone, which ended before an instant.
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
    if let Some(passed) = &claim.passed {
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
        .passed
        .as_ref()
        .and_then(|passed| passed.error.clone());
    let idle = Statement::new(
        "UPDATE cron_job SET enabled = CASE WHEN next_run IS NULL THEN 0 ELSE enabled END,
         last_status = COALESCE($2, last_status), last_error = COALESCE($3, last_error) WHERE id = $1",
    )
    .bind(claim.job.as_str())
    .bind(claim.passed.as_ref().map(|passed| passed.state.word().to_owned()))
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
        .bind(end.state.word())
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
