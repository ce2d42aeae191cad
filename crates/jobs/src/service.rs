//! Requests about jobs: list, add, change, remove, run.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use manyhands_agent::Origin;
use manyhands_core::{AgentId, Caller, ErrorCode, Taint, Timestamp, ToolError};
use manyhands_path::may_act_for;
use manyhands_schedule::Schedule;
use manyhands_store::{
    JobCounts, JobCreation, JobFilter, JobKind, JobRecord, MissedRuns, RunRecord, RunState,
};
use manyhands_wire::{CronJob, CronRan, CronRun, CronStatusResult};
use serde::Serialize;
use uuid::Uuid;

use super::job::{Job, JobInput, Problems, Spec, SpecInput, blank, run_shown, shown, take_over};
use super::run::look_up;
use super::{Inner, JobScheduler};

/// How long a caller waits for the runs it requested.
const WAIT: Duration = Duration::from_secs(110);
/// The most due jobs started by one request.
const MAX_DUE: u32 = 100;
/// How many times are tried for the row of a requested run.
const MAX_TRIES: i64 = 1_000;
/// The creator name of the owner's jobs, whichever client they use.
const OWNER: &str = "owner";

/// Who requests something.
pub struct JobRequester<'a> {
    /// The caller.
    pub caller: &'a Caller,
    /// The agent they speak for.
    pub agent: &'a AgentId,
    /// The origin recorded with a job.
    pub origin: Origin,
}

impl JobRequester<'_> {
    /// The creator name stored with their jobs.
    fn maker(&self) -> String {
        match self.caller.is_owner() {
            true => OWNER.to_owned(),
            false => self.caller.key(),
        }
    }

    /// Whose jobs they see; `None` means all, for the owner.
    fn sees(&self) -> Option<String> {
        (!self.caller.is_owner()).then(|| self.maker())
    }
}

/// Which runs are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMode {
    /// Those of due jobs.
    Due,
    /// That of one job, now.
    Force,
}

impl JobScheduler {
    /// Returns the state of jobs, of one agent or of all.
    pub async fn status(
        &self,
        asker: &JobRequester<'_>,
        agent: Option<&AgentId>,
    ) -> Result<CronStatusResult, ToolError> {
        let inner = &self.inner;
        let maker = asker.sees();
        let filter = JobFilter {
            agent,
            creator: maker.as_deref(),
            disabled: true,
        };
        let counted = inner.records.counts(filter, inner.clock.now()).await;
        let JobCounts {
            all,
            due,
            running,
            next,
        } = counted?;
        let settings = inner.settings.current();
        Ok(CronStatusResult {
            enabled: settings.cron.enabled,
            count: all,
            due_count: due,
            running_count: running,
            next_run_at_ms: next.map(|at| at.0),
            max_jobs: settings.cron.max_jobs,
            max_concurrent_runs: settings.cron.max_concurrent_runs,
        })
    }

    /// Returns the jobs that the requester may see, and their total number.
    pub async fn list(
        &self,
        asker: &JobRequester<'_>,
        agent: Option<&AgentId>,
        disabled: bool,
        page: (u32, u32),
    ) -> Result<(Vec<CronJob>, u64), ToolError> {
        let maker = asker.sees();
        let filter = JobFilter {
            agent,
            creator: maker.as_deref(),
            disabled,
        };
        let listed = self.inner.records.list(filter, page.0, page.1).await;
        let (jobs, count) = listed?;
        let zone = self.inner.zone();
        let jobs = jobs.iter().map(|job| shown(job, &zone)).collect();
        Ok((jobs, count))
    }

    /// Adds a job.
    pub async fn add(
        &self,
        asker: &JobRequester<'_>,
        input: JobInput,
    ) -> Result<CronJob, ToolError> {
        let inner = &self.inner;
        let (now, zone) = (inner.clock.now(), inner.zone());
        let mut wrong = Problems::under("job");
        let agent = inner.agent(asker, input.agent_id.as_deref(), &mut wrong);
        let id = inner.ids.next::<Uuid>().to_string();
        let mut record = blank(id, agent, asker.maker(), now);
        let settings = inner.settings.current();
        record.missed = match settings.cron.missed {
            manyhands_config::MissedPolicy::Skip => MissedRuns::Skip,
            manyhands_config::MissedPolicy::Once => MissedRuns::Once,
            manyhands_config::MissedPolicy::All => MissedRuns::All,
        };
        record.window_ms = i64::from(settings.cron.window_hours) * 3_600_000;
        if input.name.is_none() {
            wrong.add("name", "is missing");
        }
        take_over(&mut record, &input, &mut wrong);
        let schedule = match &input.schedule {
            None => {
                wrong.add("schedule", "is missing");
                None
            }
            Some(schedule) => match Schedule::read(schedule, now, &zone) {
                Ok(schedule) => Some(schedule),
                Err(error) => {
                    wrong.add(&format!("schedule.{}", error.field), error.why);
                    None
                }
            },
        };
        match &input.spec {
            None => wrong.add("spec", "is missing"),
            Some(spec) => inner.check_spec(asker, spec, &mut wrong),
        }
        // All problems are reported at once, so that a caller needs one more attempt and not
        // several.
        wrong.none()?;
        let (Some(schedule), Some(spec)) = (schedule, &input.spec) else {
            return Err(ToolError::internal("a checked job was not complete"));
        };
        record.schedule = json(&schedule)?;
        record.spec = json(spec)?;
        let origin = Origin {
            // The sessions waiting now have nothing to do with later runs.
            lineage: Vec::new(),
            ..asker.origin.clone()
        };
        record.origin = json(&origin)?;
        record.next_run = first(&schedule, record.enabled, now, &zone);
        let most = u64::from(settings.cron.max_jobs);
        let own = match asker.caller.is_owner() {
            true => u64::MAX,
            false => u64::from(settings.cron.max_jobs_per_caller),
        };
        // Count and insert in one transaction, or two callers could exceed the limit together.
        match inner.records.create_within(&record, most, own).await {
            Ok(JobCreation::Created) => {}
            Ok(JobCreation::Full) => {
                let message = format!("too many jobs (limit {most})");
                return Err(ToolError::new(ErrorCode::Conflict, message)
                    .hint("remove some, or raise cron.max_jobs"));
            }
            Ok(JobCreation::FullForCreator) => {
                let message = format!("this caller already has {own} jobs");
                return Err(ToolError::new(ErrorCode::BudgetExceeded, message)
                    .hint("remove some, or ask the owner to raise cron.max_jobs_per_caller"));
            }
            Err(error) => return Err(error.into()),
        }
        self.look();
        Ok(shown(&record, &zone))
    }

    /// Changes a job.
    pub async fn update(
        &self,
        asker: &JobRequester<'_>,
        id: &str,
        patch: JobInput,
    ) -> Result<CronJob, ToolError> {
        let inner = &self.inner;
        let (now, zone) = (inner.clock.now(), inner.zone());
        let mut record = inner.job_of(asker, id).await?;
        let (seen, was_enabled) = (record.updated, record.enabled);
        let mut wrong = Problems::under("patch");
        if patch.agent_id.is_some() {
            record.agent = inner.agent(asker, patch.agent_id.as_deref(), &mut wrong);
        }
        take_over(&mut record, &patch, &mut wrong);
        let mut schedule: Option<Schedule> = serde_json::from_str(&record.schedule).ok();
        if let Some(input) = &patch.schedule {
            match Schedule::read(input, now, &zone) {
                Ok(new) => schedule = Some(new),
                Err(error) => wrong.add(&format!("schedule.{}", error.field), error.why),
            }
        }
        if let Some(spec) = patch.spec {
            let there: SpecInput = serde_json::from_str(&record.spec).unwrap_or_default();
            let spec = spec.over(there);
            inner.check_spec(asker, &spec, &mut wrong);
            record.spec = json(&spec)?;
        }
        wrong.none()?;
        let Some(schedule) = schedule else {
            let message = "the stored schedule is damaged; set a new one";
            return Err(ToolError::parameter("patch.schedule", message));
        };
        // An unrelated change must not move the next run.
        let rescheduled = patch.schedule.is_some() || record.enabled != was_enabled;
        if rescheduled {
            record.schedule = json(&schedule)?;
            record.next_run = first(&schedule, record.enabled, now, &zone);
            if record.enabled && record.next_run.is_none() {
                let message = "the schedule has no more runs; set a new one";
                return Err(ToolError::parameter("patch.schedule", message));
            }
        }
        // Whoever changes what a job does is responsible for it from then on, including the
        // untrusted text they read before.
        let mut origin: Origin = serde_json::from_str(&record.origin)
            .map_err(|error| ToolError::internal(format!("the job is damaged: {error}")))?;
        origin.tainted = origin.tainted.or(&asker.origin.taint());
        record.origin = json(&origin)?;
        // Always newer than before, even if the clock stands still: `updated` is the version that
        // concurrent changes are checked against.
        record.updated = Timestamp(now.0.max(seen.0 + 1));
        let updated = inner.records.update(&record, seen, rescheduled).await;
        updated?;
        self.look();
        let now = inner.job_of(asker, id).await?;
        Ok(shown(&now, &zone))
    }

    /// Jobs that were added or changed after reading untrusted text: id and source.
    pub async fn tainted(&self) -> Result<Vec<(String, String)>, ToolError> {
        let filter = JobFilter {
            agent: None,
            creator: None,
            disabled: true,
        };
        let (jobs, _) = self.inner.records.list(filter, u32::MAX, 0).await?;
        let tainted = |job: JobRecord| {
            let origin: Origin = serde_json::from_str(&job.origin).ok()?;
            Some((job.id, origin.tainted.source()?.to_owned()))
        };
        Ok(jobs.into_iter().filter_map(tainted).collect())
    }

    /// Marks a job as trusted in its present form. Returns whether it was tainted.
    pub async fn trust(&self, id: &str) -> Result<bool, ToolError> {
        let inner = &self.inner;
        let missing = || ToolError::not_found(format!("there is no job {id:?}"));
        let found = inner.records.get(id).await?;
        let mut record = found.ok_or_else(missing)?;
        let mut origin: Origin = serde_json::from_str(&record.origin)
            .map_err(|error| ToolError::internal(format!("the job is damaged: {error}")))?;
        if !origin.tainted.is_tainted() {
            return Ok(false);
        }
        origin.tainted = Taint::NONE;
        record.origin = json(&origin)?;
        let seen = record.updated;
        record.updated = Timestamp(inner.clock.now().0.max(seen.0 + 1));
        // Fails if the job was changed after the owner looked at it.
        let updated = inner.records.update(&record, seen, false).await;
        updated.map(|()| true).map_err(ToolError::from)
    }

    /// Removes a job with its runs. A running one finishes its turn.
    pub async fn remove(&self, asker: &JobRequester<'_>, id: &str) -> Result<bool, ToolError> {
        match self.inner.job_of(asker, id).await {
            Ok(job) => self
                .inner
                .records
                .remove(&job.id)
                .await
                .map_err(ToolError::from),
            // Removing twice is no error, so that a repeated request succeeds.
            Err(error) if error.code == ErrorCode::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns runs, latest first, and their total number.
    pub async fn runs(
        &self,
        asker: &JobRequester<'_>,
        job: Option<&str>,
        page: (u32, u32),
    ) -> Result<(Vec<CronRun>, u64), ToolError> {
        let maker = asker.sees();
        let (limit, offset) = page;
        let runs = self
            .inner
            .records
            .runs(job, maker.as_deref(), limit, offset);
        let (runs, count) = runs.await?;
        Ok((runs.into_iter().map(run_shown).collect(), count))
    }

    /// Runs the named job or all due ones. `lineage` are the sessions that wait for the result.
    pub async fn run(
        &self,
        asker: &JobRequester<'_>,
        mode: RunMode,
        id: Option<&str>,
        lineage: &[String],
    ) -> Result<Vec<CronRan>, ToolError> {
        let inner = &self.inner;
        let now = inner.clock.now();
        let begun = match (mode, id) {
            (RunMode::Force, None) => {
                return Err(ToolError::parameter("id", "is required: the job to run"));
            }
            (RunMode::Force, Some(id)) => {
                let job = inner.job_of(asker, id).await?;
                match inner.force(job, now).await? {
                    Some(begun) => vec![begun],
                    None => return Ok(vec![skipped(id, "it is already running")]),
                }
            }
            (RunMode::Due, Some(id)) => {
                let job = inner.job_of(asker, id).await?;
                match job.next_run.is_some_and(|at| at <= now) && job.running.is_none() {
                    // Through the same claim as the scheduler, so the two cannot start the same
                    // run.
                    true => inner.claim(vec![job], now).await?,
                    false => return Ok(vec![skipped(id, "it is not due")]),
                }
            }
            (RunMode::Due, None) => {
                let due = inner.records.due(now, MAX_DUE).await?;
                let sees = asker.sees();
                let mut own = due;
                own.retain(|job| {
                    let of = sees.as_ref().is_none_or(|maker| *maker == job.creator);
                    of && job.kind == JobKind::Job
                });
                inner.claim(own, now).await?
            }
        };
        Ok(self.results(begun, lineage).await)
    }

    /// Runs jobs, as many at once as the settings allow, and waits for them for a while.
    async fn results(&self, begun: Vec<(Job, RunRecord)>, lineage: &[String]) -> Vec<CronRan> {
        let inner = self.inner.clone();
        let most = inner.settings.current().cron.max_concurrent_runs as usize;
        let ids: Vec<(String, String)> = begun
            .iter()
            .map(|(job, run)| (job.record.id.clone(), run.id.clone()))
            .collect();
        // An event in a session that waits for this very run would wait for ever.
        let apart = |(job, run): &(Job, RunRecord)| {
            let session = inner.event_session(job, run);
            session.is_none_or(|key| !lineage.iter().any(|one| one == key.as_str()))
        };
        let all_apart = begun.iter().all(apart);
        let lineage: Arc<[String]> = lineage.into();
        let work = inner.clone();
        // A task of its own: the runs continue if the caller stops waiting.
        let done = self.inner.tasks.spawn(async move {
            let runs = futures_util::stream::iter(begun);
            let work = &work;
            runs.for_each_concurrent(most, |(job, run)| {
                let lineage = lineage.clone();
                async move { work.perform(&job, run, &lineage).await }
            })
            .await;
        });
        if all_apart {
            let _ = tokio::time::timeout(WAIT, done).await; // longer runs continue in the background
        }
        let mut results = Vec::with_capacity(ids.len());
        for (job, run) in ids {
            results.push(result(&inner, job, &run).await);
        }
        results
    }
}

async fn result(inner: &Inner, job: String, run: &str) -> CronRan {
    match look_up(inner, run).await {
        Ok(record) => {
            let ended = record.ended.unwrap_or_else(|| inner.clock.now());
            CronRan {
                job_id: job,
                run_id: Some(run.to_owned()),
                status: record.state.as_str().to_owned(),
                error: record.error,
                summary: record.summary,
                duration_ms: ended.0.saturating_sub(record.claimed.0).max(0),
                next_run_at_ms: record.next_run.map(|at| at.0),
            }
        }
        Err(error) => CronRan {
            status: RunState::Error.as_str().to_owned(),
            error: Some(error.text()),
            ..skipped(&job, "")
        },
    }
}

fn skipped(job: &str, why: &str) -> CronRan {
    CronRan {
        job_id: job.to_owned(),
        run_id: None,
        status: RunState::Skipped.as_str().to_owned(),
        error: Some(why.to_owned()),
        summary: None,
        duration_ms: 0,
        next_run_at_ms: None,
    }
}

/// The first time of a schedule that starts now; a time that has just passed is due at once.
pub(super) fn first(
    schedule: &Schedule,
    enabled: bool,
    now: Timestamp,
    zone: &jiff::tz::TimeZone,
) -> Option<Timestamp> {
    match schedule {
        _ if !enabled => None,
        Schedule::At { at_ms } if *at_ms >= now.0 - super::plan::ON_TIME_MS => {
            Some(Timestamp(*at_ms))
        }
        other => other.next_after(now, zone),
    }
}

impl Inner {
    /// Returns a job that the requester may see.
    async fn job_of(&self, asker: &JobRequester<'_>, id: &str) -> Result<JobRecord, ToolError> {
        let found = self.records.get(id).await?;
        let sees = asker.sees();
        let own = |job: &JobRecord| {
            job.kind == JobKind::Job && sees.as_ref().is_none_or(|maker| *maker == job.creator)
        };
        // A foreign job does not exist for this caller, with the same error as an unknown id.
        found.filter(own).ok_or_else(|| {
            let id: String = id.chars().take(80).collect();
            ToolError::not_found(format!("there is no job {id:?}"))
                .hint("list jobs with the action list; includeDisabled also lists disabled jobs")
        })
    }

    fn agent(
        &self,
        asker: &JobRequester<'_>,
        named: Option<&str>,
        wrong: &mut Problems,
    ) -> AgentId {
        let Some(named) = named else {
            return asker.agent.clone();
        };
        match named.parse::<AgentId>() {
            Ok(agent) if !may_act_for(asker.caller, &agent) => {
                wrong.add(
                    "agentId",
                    format!("this token may not act for the agent {agent}"),
                );
            }
            Ok(agent) if self.knows_agent(&agent) => return agent,
            Ok(agent) => wrong.add("agentId", format!("there is no agent {agent}")),
            Err(error) => wrong.add("agentId", error.to_string()),
        }
        asker.agent.clone()
    }

    fn check_spec(&self, asker: &JobRequester<'_>, spec: &SpecInput, wrong: &mut Problems) {
        let Some(Spec::Task(task)) = spec.check(wrong) else {
            return;
        };
        let Some(model) = &task.model else { return };
        if !asker.caller.is_owner() {
            wrong.add("spec.model", "only the owner can choose the model");
        } else if let Ok(minds) = self.minds()
            && let Err(error) = minds.knows(model)
        {
            wrong.add("spec.model", error.text());
        }
    }

    /// Starts a requested run; `None` while the job is running.
    pub(super) async fn force(
        &self,
        record: JobRecord,
        now: Timestamp,
    ) -> Result<Option<(Job, RunRecord)>, ToolError> {
        let job = Job::read(record)?;
        if job.record.running.is_some() {
            return Ok(None);
        }
        // Rows are unique by job and time, and the scheduler may own this very millisecond.
        for later in 0..MAX_TRIES {
            let at = Timestamp(now.0 + later);
            let run = RunRecord {
                forced: true,
                ..self.new_run(&job.record, at, now)
            };
            if self.records.force(&run).await? {
                return Ok(Some((job, run)));
            }
            let there = self.records.get(&job.record.id).await?;
            if there.is_none_or(|there| there.running.is_some()) {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

pub(super) fn json(value: &impl Serialize) -> Result<String, ToolError> {
    serde_json::to_string(value).map_err(|error| ToolError::internal(error.to_string()))
}
