//! What people, agents and programs ask about jobs.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use manyhands_agent::Origin;
use manyhands_core::{AgentId, Caller, ErrorCode, Taint, Timestamp, ToolError};
use manyhands_path::may_act_for;
use manyhands_schedule::Schedule;
use manyhands_store::{
    JobCounts, JobFilter, JobKind, JobRecord, JobRoom, MissedRuns, RunRecord, RunState,
};
use manyhands_wire::{CronJob, CronRan, CronRun, CronStatusResult};
use serde::Serialize;
use uuid::Uuid;

use super::job::{Job, JobInput, Problems, Spec, SpecInput, blank, run_shown, shown, take_over};
use super::run::look_up;
use super::{Cron, Inner};

/// How long somebody waits for the runs that they ask for.
const WAIT: Duration = Duration::from_secs(110);
/// How many jobs that are due run when somebody asks for all of them.
const MAX_DUE: u32 = 100;
/// How many instants are tried for a run that somebody asks for.
const MAX_TRIES: i64 = 1_000;
/// The owner, however they come.
const OWNER: &str = "owner";

/// Who asks.
pub struct Asker<'a> {
    /// The caller.
    pub caller: &'a Caller,
    /// The agent they speak for.
    pub agent: &'a AgentId,
    /// How a job remembers them.
    pub origin: Origin,
}

impl Asker<'_> {
    /// Under which name their jobs are kept.
    fn maker(&self) -> String {
        match self.caller.is_owner() {
            true => OWNER.to_owned(),
            false => self.caller.key(),
        }
    }

    /// Whose jobs they see: all for the owner.
    fn sees(&self) -> Option<String> {
        (!self.caller.is_owner()).then(|| self.maker())
    }
}

/// Which runs somebody asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMode {
    /// Of those jobs that are due.
    Due,
    /// Of one job, now.
    Force,
}

impl Cron {
    /// How the jobs stand, of one agent or of all.
    pub async fn status(
        &self,
        asker: &Asker<'_>,
        agent: Option<&AgentId>,
    ) -> Result<CronStatusResult, ToolError> {
        let inner = &self.inner;
        let maker = asker.sees();
        let filter = JobFilter {
            agent,
            maker: maker.as_deref(),
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

    /// The jobs that the asker may see, and how many there are.
    pub async fn list(
        &self,
        asker: &Asker<'_>,
        agent: Option<&AgentId>,
        disabled: bool,
        page: (u32, u32),
    ) -> Result<(Vec<CronJob>, u64), ToolError> {
        let maker = asker.sees();
        let filter = JobFilter {
            agent,
            maker: maker.as_deref(),
            disabled,
        };
        let listed = self.inner.records.list(filter, page.0, page.1).await;
        let (jobs, count) = listed?;
        let zone = self.inner.zone();
        let jobs = jobs.iter().map(|job| shown(job, &zone)).collect();
        Ok((jobs, count))
    }

    /// Makes a job.
    pub async fn add(&self, asker: &Asker<'_>, input: JobInput) -> Result<CronJob, ToolError> {
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
        wrong.none()?;
        let (Some(schedule), Some(spec)) = (schedule, &input.spec) else {
            return Err(ToolError::internal("a checked job was not complete"));
        };
        record.schedule = json(&schedule)?;
        record.spec = json(spec)?;
        let origin = Origin {
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
        match inner.records.create_within(&record, most, own).await {
            Ok(JobRoom::Kept) => {}
            Ok(JobRoom::Full) => {
                let message = format!("there are {most} jobs already");
                return Err(ToolError::new(ErrorCode::Conflict, message)
                    .hint("remove some, or raise cron.max_jobs"));
            }
            Ok(JobRoom::FullOfMaker) => {
                let message = format!("this caller has {own} jobs already");
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
        asker: &Asker<'_>,
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
            let message = "its schedule cannot be read; give it another";
            return Err(ToolError::parameter("patch.schedule", message));
        };
        let rescheduled = patch.schedule.is_some() || record.enabled != was_enabled;
        if rescheduled {
            record.schedule = json(&schedule)?;
            record.next_run = first(&schedule, record.enabled, now, &zone);
            if record.enabled && record.next_run.is_none() {
                let message = "its schedule is over; give it another";
                return Err(ToolError::parameter("patch.schedule", message));
            }
        }
        // Who changes what a job does answers for it from then on, with what they had read.
        let mut origin: Origin = serde_json::from_str(&record.origin)
            .map_err(|error| ToolError::internal(format!("the job is damaged: {error}")))?;
        origin.tainted = origin.tainted.or(&asker.origin.taint());
        record.origin = json(&origin)?;
        record.updated = Timestamp(now.0.max(seen.0 + 1));
        let updated = inner.records.update(&record, seen, rescheduled).await;
        updated?;
        self.look();
        let now = inner.job_of(asker, id).await?;
        Ok(shown(&now, &zone))
    }

    /// Jobs that were added or changed after untrusted text was read: id and source.
    pub async fn tainted(&self) -> Result<Vec<(String, String)>, ToolError> {
        let filter = JobFilter {
            agent: None,
            maker: None,
            disabled: true,
        };
        let (jobs, _) = self.inner.records.list(filter, u32::MAX, 0).await?;
        let tainted = |job: JobRecord| {
            let origin: Origin = serde_json::from_str(&job.origin).ok()?;
            Some((job.id, origin.tainted.source()?.to_owned()))
        };
        Ok(jobs.into_iter().filter_map(tainted).collect())
    }

    /// The owner trusts a job as it is now; whether it was tainted.
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
        let updated = inner.records.update(&record, seen, false).await;
        updated.map(|()| true).map_err(ToolError::from)
    }

    /// Removes a job with its runs. A run that goes on finishes its turn.
    pub async fn remove(&self, asker: &Asker<'_>, id: &str) -> Result<bool, ToolError> {
        match self.inner.job_of(asker, id).await {
            Ok(job) => self
                .inner
                .records
                .remove(&job.id)
                .await
                .map_err(ToolError::from),
            Err(error) if error.code == ErrorCode::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Runs of jobs with the latest first, and how many there are.
    pub async fn runs(
        &self,
        asker: &Asker<'_>,
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

    /// Runs jobs: the one that is named, or those that are due. `lineage` are the sessions that wait
    /// for it.
    pub async fn run(
        &self,
        asker: &Asker<'_>,
        mode: RunMode,
        id: Option<&str>,
        lineage: &[String],
    ) -> Result<Vec<CronRan>, ToolError> {
        let inner = &self.inner;
        let now = inner.clock.now();
        let begun = match (mode, id) {
            (RunMode::Force, None) => {
                return Err(ToolError::parameter("id", "say which job is to run"));
            }
            (RunMode::Force, Some(id)) => {
                let job = inner.job_of(asker, id).await?;
                match inner.force(job, now).await? {
                    Some(begun) => vec![begun],
                    None => return Ok(vec![skipped(id, "it runs already")]),
                }
            }
            (RunMode::Due, Some(id)) => {
                let job = inner.job_of(asker, id).await?;
                match job.next_run.is_some_and(|at| at <= now) && job.running.is_none() {
                    true => inner.claim(vec![job], now).await?,
                    false => return Ok(vec![skipped(id, "it is not due")]),
                }
            }
            (RunMode::Due, None) => {
                let due = inner.records.due(now, MAX_DUE).await?;
                let sees = asker.sees();
                let mut own = due;
                own.retain(|job| {
                    let of = sees.as_ref().is_none_or(|maker| *maker == job.maker);
                    of && job.kind == JobKind::Job
                });
                inner.claim(own, now).await?
            }
        };
        Ok(self.results(begun, lineage).await)
    }

    /// Lets runs go on, as many at once as the settings say, and waits for them, for a while.
    async fn results(&self, begun: Vec<(Job, RunRecord)>, lineage: &[String]) -> Vec<CronRan> {
        let inner = self.inner.clone();
        let most = inner.settings.current().cron.max_concurrent_runs as usize;
        let ids: Vec<(String, String)> = begun
            .iter()
            .map(|(job, run)| (job.record.id.clone(), run.id.clone()))
            .collect();
        // Whoever waits for an event in a session that waits for them would wait for ever.
        let apart = |(job, run): &(Job, RunRecord)| {
            let session = inner.event_session(job, run);
            session.is_none_or(|key| !lineage.iter().any(|one| one == key.as_str()))
        };
        let all_apart = begun.iter().all(apart);
        let lineage: Arc<[String]> = lineage.into();
        let work = inner.clone();
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
            let _ = tokio::time::timeout(WAIT, done).await; // what takes longer goes on
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
                status: record.state.word().to_owned(),
                error: record.error,
                summary: record.summary,
                duration_ms: ended.0.saturating_sub(record.claimed.0).max(0),
                next_run_at_ms: record.next_run.map(|at| at.0),
            }
        }
        Err(error) => CronRan {
            status: RunState::Error.word().to_owned(),
            error: Some(error.text()),
            ..skipped(&job, "")
        },
    }
}

fn skipped(job: &str, why: &str) -> CronRan {
    CronRan {
        job_id: job.to_owned(),
        run_id: None,
        status: RunState::Skipped.word().to_owned(),
        error: Some(why.to_owned()),
        summary: None,
        duration_ms: 0,
        next_run_at_ms: None,
    }
}

/// The first instant of a schedule that begins now: a moment that is just over is due at once.
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
    /// A job that the asker may see.
    async fn job_of(&self, asker: &Asker<'_>, id: &str) -> Result<JobRecord, ToolError> {
        let found = self.records.get(id).await?;
        let sees = asker.sees();
        let own = |job: &JobRecord| {
            job.kind == JobKind::Job && sees.as_ref().is_none_or(|maker| *maker == job.maker)
        };
        found.filter(own).ok_or_else(|| {
            let id: String = id.chars().take(80).collect();
            ToolError::not_found(format!("there is no job {id:?}"))
                .hint("action list shows the jobs there are, with includeDisabled also those that are switched off")
        })
    }

    fn agent(&self, asker: &Asker<'_>, named: Option<&str>, wrong: &mut Problems) -> AgentId {
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

    fn check_spec(&self, asker: &Asker<'_>, spec: &SpecInput, wrong: &mut Problems) {
        let Some(Spec::Task(task)) = spec.check(wrong) else {
            return;
        };
        let Some(model) = &task.model else { return };
        if !asker.caller.is_owner() {
            wrong.add("spec.model", "only the owner chooses the model");
        } else if let Ok(minds) = self.minds()
            && let Err(error) = minds.knows(model)
        {
            wrong.add("spec.model", error.text());
        }
    }

    /// Begins a run because somebody wants it; `None` while the job runs.
    pub(super) async fn force(
        &self,
        record: JobRecord,
        now: Timestamp,
    ) -> Result<Option<(Job, RunRecord)>, ToolError> {
        let job = Job::read(record)?;
        if job.record.running.is_some() {
            return Ok(None);
        }
        for later in 0..MAX_TRIES {
            let at = Timestamp(now.0 + later); // an instant of the schedule may be this one
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
