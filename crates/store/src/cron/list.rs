//! Lists and counts jobs and runs.

use manyhands_core::{AgentId, Timestamp};

use super::Cron;
use super::record::{JOB_COLUMNS, JobKind, JobRecord, RUN_COLUMNS, RunRecord};
use crate::error::StoreError;
use crate::sql::Statement;

/// Selects jobs.
#[derive(Debug, Clone, Copy, Default)]
pub struct JobFilter<'a> {
    /// Only those of this agent.
    pub agent: Option<&'a AgentId>,
    /// Only those created by this caller, by key.
    pub creator: Option<&'a str>,
    /// Also disabled ones.
    pub disabled: bool,
}

/// Numbers of jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// All.
    pub all: u64,
    /// Due now.
    pub due: u64,
    /// Running.
    pub running: u64,
    /// When the next one is due.
    pub next: Option<Timestamp>,
}

impl JobFilter<'_> {
    fn narrow(&self, mut statement: Statement) -> Statement {
        if let Some(agent) = self.agent {
            statement = statement.then_with(" AND agent = ", agent.as_str());
        }
        if let Some(maker) = self.creator {
            statement = statement.then_with(" AND maker = ", maker);
        }
        match self.disabled {
            true => statement,
            false => statement.then(" AND enabled <> 0"),
        }
    }
}

impl Cron {
    /// Jobs without heartbeats, oldest first, and their number.
    pub async fn list(
        &self,
        filter: JobFilter<'_>,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<JobRecord>, u64), StoreError> {
        let select = Statement::new(JOB_COLUMNS).then(" WHERE kind = 'job'");
        let select = filter
            .narrow(select)
            .then(" ORDER BY created, id")
            .then_with(" LIMIT ", i64::from(limit))
            .then_with(" OFFSET ", i64::from(offset));
        let rows = self.sql.all(select).await?;
        let jobs = rows.iter().map(JobRecord::read).collect::<Result<_, _>>()?;
        let count = Statement::new("SELECT COUNT(*) AS count FROM cron_job WHERE kind = 'job'");
        Ok((jobs, self.count(filter.narrow(count)).await?))
    }

    /// All heartbeats.
    pub async fn heartbeats(&self) -> Result<Vec<JobRecord>, StoreError> {
        let select = Statement::new(JOB_COLUMNS)
            .then_with(" WHERE kind = ", JobKind::Heartbeat.as_str())
            .then(" ORDER BY created, id");
        let rows = self.sql.all(select).await?;
        rows.iter().map(JobRecord::read).collect()
    }

    /// Counts jobs, without heartbeats.
    pub async fn counts(
        &self,
        filter: JobFilter<'_>,
        now: Timestamp,
    ) -> Result<JobCounts, StoreError> {
        let of = |text: &'static str| filter.narrow(Statement::new(text));
        let all = of("SELECT COUNT(*) AS count FROM cron_job WHERE kind = 'job'");
        let running =
            of("SELECT COUNT(*) AS count FROM cron_job WHERE kind = 'job' AND running IS NOT NULL");
        let due = Statement::new(
            "SELECT COUNT(*) AS count FROM cron_job
             WHERE running IS NULL AND kind = 'job' AND next_run <= $1",
        )
        .bind(now);
        let next = of("SELECT MIN(next_run) AS next FROM cron_job
             WHERE running IS NULL AND next_run IS NOT NULL AND kind = 'job'");
        let next = self.sql.one(next).await?;
        let next = next.map(|row| row.int_or_null("next")).transpose()?;
        Ok(JobCounts {
            all: self.count(all).await?,
            due: self.count(filter.narrow(due)).await?,
            running: self.count(running).await?,
            next: next.flatten().map(Timestamp),
        })
    }

    /// Runs of one job or all, of one creator or all, latest first, and their number.
    pub async fn runs(
        &self,
        job: Option<&str>,
        maker: Option<&str>,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<RunRecord>, u64), StoreError> {
        let narrow = |mut statement: Statement| {
            if let Some(job) = job {
                statement = statement.then_with(" AND job = ", job);
            }
            match maker {
                Some(maker) => statement.then_with(" AND maker = ", maker),
                None => statement,
            }
        };
        let select = narrow(Statement::new(RUN_COLUMNS).then(" WHERE amount > 0"))
            .then(" ORDER BY claimed DESC, id DESC")
            .then_with(" LIMIT ", i64::from(limit))
            .then_with(" OFFSET ", i64::from(offset));
        let rows = self.sql.all(select).await?;
        let runs = rows.iter().map(RunRecord::read).collect::<Result<_, _>>()?;
        let count = Statement::new("SELECT COUNT(*) AS count FROM cron_run WHERE amount > 0");
        Ok((runs, self.count(narrow(count)).await?))
    }

    /// One run.
    pub async fn run(&self, id: &str) -> Result<Option<RunRecord>, StoreError> {
        let select = Statement::new(RUN_COLUMNS).then_with(" WHERE id = ", id);
        let row = self.sql.one(select).await?;
        row.as_ref().map(RunRecord::read).transpose()
    }

    /// Jobs due after `after` in the order of their ids, starting after `from`. Includes running ones.
    pub async fn due_after(
        &self,
        after: Timestamp,
        from: &str,
        limit: u32,
    ) -> Result<Vec<JobRecord>, StoreError> {
        let select = Statement::new(JOB_COLUMNS)
            .then_with(" WHERE id > ", from)
            .then_with(" AND next_run > ", after)
            .then(" ORDER BY id")
            .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        rows.iter().map(JobRecord::read).collect()
    }

    async fn count(&self, statement: Statement) -> Result<u64, StoreError> {
        let row = self.sql.one(statement).await?;
        let count = row.map_or(Ok(0), |row| row.int("count"))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }
}
