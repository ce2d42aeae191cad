//! Jobs and their runs as rows.

use manyhands_core::{AgentId, Timestamp};

use crate::error::StoreError;
use crate::sql::{Row, Statement};

/// What kind of job it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    /// One that somebody made.
    Job,
    /// An agent's heartbeat.
    Heartbeat,
}

/// What becomes of instants that nobody was there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissedRuns {
    /// They are passed over.
    Skip,
    /// The last one is made up for.
    Once,
    /// All are made up for, one after the other.
    All,
}

/// What becomes of instants at which the run before still goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// They are passed over.
    Skip,
    /// They wait for its end.
    Wait,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// It was begun, and has not ended.
    Running,
    /// Its turn finished.
    Ok,
    /// It failed.
    Error,
    /// It was not begun.
    Skipped,
}

// One list for both directions: a name that is written can always be read again.
macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),+ }) => {
        impl $name {
            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = ();

            fn from_str(word: &str) -> Result<Self, ()> {
                match word { $($word => Ok(Self::$variant),)+ _ => Err(()) }
            }
        }
    };
}

words!(JobKind { Job = "job", Heartbeat = "heartbeat" });
words!(MissedRuns { Skip = "skip", Once = "once", All = "all" });
words!(Overlap { Skip = "skip", Wait = "wait" });
words!(RunState { Running = "running", Ok = "ok", Error = "error", Skipped = "skipped" });

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// Its id.
    pub id: String,
    /// Whose job it is.
    pub agent: AgentId,
    /// What kind of job.
    pub kind: JobKind,
    /// Who made it, by the key of a caller.
    pub creator: String,
    /// Its name, for people.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Whether it goes once it has run well.
    pub delete_after_run: bool,
    /// When it is due, as JSON.
    pub schedule: String,
    /// What it does, as JSON.
    pub spec: String,
    /// What becomes of missed instants.
    pub missed: MissedRuns,
    /// How old a missed instant may be to be made up for, in milliseconds.
    pub window_ms: i64,
    /// What becomes of overlapping instants.
    pub overlap: Overlap,
    /// On whose behalf it runs, as JSON.
    pub origin: String,
    /// The next instant.
    pub next_run: Option<Timestamp>,
    /// The run that goes on.
    pub running: Option<String>,
    /// When the last run was begun.
    pub last_run: Option<Timestamp>,
    /// How long it took, in milliseconds.
    pub last_duration: Option<i64>,
    /// How it ended.
    pub last_status: Option<RunState>,
    /// What went wrong with it.
    pub last_error: Option<String>,
    /// How many runs in a row failed.
    pub failures: i64,
    /// When it was made.
    pub created: Timestamp,
    /// When it was last changed by somebody.
    pub updated: Timestamp,
}

/// One run of a job, or what became of it instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// Its id, which is also the run id of its turn.
    pub id: String,
    /// The job.
    pub job: String,
    /// Who made the job.
    pub maker: String,
    /// The instant it is for.
    pub scheduled: Timestamp,
    /// The last instant it stands for, where it stands for several.
    pub until: Option<Timestamp>,
    /// How many instants it stands for.
    pub amount: i64,
    /// Whether somebody asked for it.
    pub forced: bool,
    /// How it stands.
    pub state: RunState,
    /// When it was begun.
    pub claimed: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// What went wrong.
    pub error: Option<String>,
    /// What came of it.
    pub summary: Option<String>,
    /// The next instant of the job, as it was then.
    pub next_run: Option<Timestamp>,
}

pub(super) const JOB_COLUMNS: &str = "SELECT id, agent, kind, maker, name, description, enabled,
    delete_after_run, schedule, spec, missed, window_ms, overlap, origin, next_run, running,
    last_run, last_duration, last_status, last_error, failures, created, updated FROM cron_job";

pub(super) const RUN_COLUMNS: &str =
    "SELECT id, job, maker, scheduled, until, amount, forced, state,
    claimed, ended, error, summary, next_run FROM cron_run";

fn time(row: &Row, column: &str) -> Result<Option<Timestamp>, StoreError> {
    Ok(row.int_or_null(column)?.map(Timestamp))
}

impl JobRecord {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let status = row.text_or_null("last_status")?;
        Ok(Self {
            id: row.text("id")?,
            agent: row.parsed("agent")?,
            kind: parse_column(row, "kind")?,
            creator: row.text("maker")?,
            name: row.text("name")?,
            description: row.text_or_null("description")?,
            enabled: row.int("enabled")? != 0,
            delete_after_run: row.int("delete_after_run")? != 0,
            schedule: row.text("schedule")?,
            spec: row.text("spec")?,
            missed: parse_column(row, "missed")?,
            window_ms: row.int("window_ms")?,
            overlap: parse_column(row, "overlap")?,
            origin: row.text("origin")?,
            next_run: time(row, "next_run")?,
            running: row.text_or_null("running")?,
            last_run: time(row, "last_run")?,
            last_duration: row.int_or_null("last_duration")?,
            last_status: status.and_then(|status| status.parse().ok()),
            last_error: row.text_or_null("last_error")?,
            failures: row.int("failures")?,
            created: Timestamp(row.int("created")?),
            updated: Timestamp(row.int("updated")?),
        })
    }

    pub(super) fn insert(&self) -> Statement {
        Statement::new(
            "INSERT INTO cron_job (id, agent, kind, maker, name, description, enabled,
             delete_after_run, schedule, spec, missed, window_ms, overlap, origin, next_run,
             failures, created, updated)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 0, $16, $17)",
        )
        .bind(self.id.as_str())
        .bind(self.agent.as_str())
        .bind(self.kind.as_str())
        .bind(self.creator.as_str())
        .bind(self.name.as_str())
        .bind(self.description.clone())
        .bind(i64::from(self.enabled))
        .bind(i64::from(self.delete_after_run))
        .bind(self.schedule.as_str())
        .bind(self.spec.as_str())
        .bind(self.missed.as_str())
        .bind(self.window_ms)
        .bind(self.overlap.as_str())
        .bind(self.origin.as_str())
        .bind(self.next_run)
        .bind(self.created)
        .bind(self.updated)
    }
}

impl RunRecord {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.text("id")?,
            job: row.text("job")?,
            maker: row.text("maker")?,
            scheduled: Timestamp(row.int("scheduled")?),
            until: time(row, "until")?,
            amount: row.int("amount")?,
            forced: row.int("forced")? != 0,
            state: parse_column(row, "state")?,
            claimed: Timestamp(row.int("claimed")?),
            ended: time(row, "ended")?,
            error: row.text_or_null("error")?,
            summary: row.text_or_null("summary")?,
            next_run: time(row, "next_run")?,
        })
    }

    /// Keeps it, unless there is one for that instant.
    pub(super) fn insert(&self) -> Statement {
        Statement::new(
            "INSERT INTO cron_run (id, job, maker, scheduled, until, amount, forced, state, claimed,
             ended, error, summary, next_run)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
             ON CONFLICT (job, scheduled) DO NOTHING",
        )
        .bind(self.id.as_str())
        .bind(self.job.as_str())
        .bind(self.maker.as_str())
        .bind(self.scheduled)
        .bind(self.until)
        .bind(self.amount)
        .bind(i64::from(self.forced))
        .bind(self.state.as_str())
        .bind(self.claimed)
        .bind(self.ended)
        .bind(self.error.clone())
        .bind(self.summary.clone())
        .bind(self.next_run)
    }
}

fn parse_column<T: std::str::FromStr>(row: &Row, column: &str) -> Result<T, StoreError> {
    row.parsed(column)
}
