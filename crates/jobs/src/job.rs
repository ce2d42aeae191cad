//! Jobs: input, validation, record and display.

use jiff::tz::TimeZone;
use manyhands_agent::Origin;
use manyhands_core::{AgentId, Problem, Timestamp, ToolError};
use manyhands_llm::{ModelId, Thinking};
use manyhands_schedule::{Schedule, ScheduleInput};
use manyhands_store::{JobRecord, MissedRuns, Overlap, RunRecord, StoreError};
use manyhands_wire::{CronJob, CronJobState, CronRun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest name.
const MAX_NAME: usize = 200;
/// The longest description.
const MAX_DESCRIPTION: usize = 2_000;
/// The longest text of an event or a task.
const MAX_TEXT: usize = 100_000;
/// The longest timeout of a task, in seconds.
const MAX_TIMEOUT: u32 = 86_400;
/// The largest window for missed runs, in hours.
const MAX_WINDOW_HOURS: f64 = 8_784.0;
const HOUR_MS: f64 = 3_600_000.0;

/// A job to be made, or what is to be changed of one.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct JobInput {
    /// Human-readable job name. Required to add a job.
    pub name: Option<String>,
    /// When the job is due. Required to add a job.
    pub schedule: Option<ScheduleInput>,
    /// What the job does. Required to add a job.
    pub spec: Option<SpecInput>,
    /// Agent that owns the job. The agent that asks unless said.
    pub agent_id: Option<String>,
    /// Human-readable description.
    pub description: Option<String>,
    /// Whether the job is active. Default true.
    pub enabled: Option<bool>,
    /// Delete the job after a successful one-shot run.
    pub delete_after_run: Option<bool>,
    /// What becomes of runs that were missed: `skip`, `once` (make up for the last) or `all`.
    pub missed: Option<MissedInput>,
    /// How many hours old a missed run may be to be made up for.
    pub missed_window_hours: Option<f64>,
    /// What becomes of a run that is due while the one before goes on: `skip` or `wait`.
    pub overlap: Option<OverlapInput>,
}

/// What becomes of missed runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum MissedInput {
    /// They are passed over.
    Skip,
    /// The last one is made up for.
    Once,
    /// All are made up for.
    All,
}

/// What becomes of overlapping runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum OverlapInput {
    /// They are passed over.
    Skip,
    /// They wait.
    Wait,
}

/// What a job does: a text in the main session, or a task of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
#[schemars(rename = "Mode")]
pub enum JobMode {
    /// Injects text into the agent's main session.
    SystemEvent,
    /// Runs a full agent turn in an isolated session.
    Task,
}

/// What a job does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct SpecInput {
    /// `systemEvent` injects `text` into the agent's main session, where it is answered in the existing conversation; the
    /// response goes to the last active channel. `task` runs a full agent turn in an isolated session.
    pub mode: Option<JobMode>,
    /// For `systemEvent`: what is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// For `task`: what is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For `task`: whether the response is delivered to a chat. With `true` a run without a chat to deliver to is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliver: Option<bool>,
    /// For `task`: the channel to deliver to, such as `telegram`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// For `task`: whom on that channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// For `task`: another model than the agent's, as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// For `task`: how hard to think: none, minimal, low, medium, high or xhigh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// For `task`: the run fails when it takes longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    /// For `task`: a response that could not be delivered does not make the run an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_effort_deliver: Option<bool>,
}

/// What a job does, validated.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Spec {
    Event(String),
    Task(Task),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Task {
    pub(super) message: String,
    pub(super) deliver: Option<bool>,
    pub(super) channel: Option<String>,
    pub(super) to: Option<String>,
    pub(super) model: Option<ModelId>,
    pub(super) thinking: Option<Thinking>,
    pub(super) timeout_seconds: Option<u32>,
    pub(super) best_effort: bool,
}

/// All problems of a job's input, by parameter.
#[derive(Default)]
pub(super) struct Problems {
    /// The name of the input: `job` or `patch`.
    under: &'static str,
    found: Vec<Problem>,
}

impl Problems {
    pub(super) fn under(under: &'static str) -> Self {
        Self {
            under,
            found: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, field: &str, message: impl Into<String>) {
        self.found.push(Problem {
            parameter: format!("{}.{field}", self.under),
            message: message.into(),
        });
    }

    pub(super) fn none(self) -> Result<(), ToolError> {
        match self.found.is_empty() {
            true => Ok(()),
            false => Err(ToolError::problems(self.found)),
        }
    }

    /// Checks a text that must not be empty or too long.
    pub(super) fn text(&mut self, field: &str, text: &str, most: usize) {
        if text.trim().is_empty() {
            self.add(field, "must not be empty");
        } else if text.chars().count() > most {
            self.add(field, format!("is longer than {most} characters"));
        }
    }
}

impl SpecInput {
    /// Validates the spec; `None` if it has problems.
    pub(super) fn check(&self, wrong: &mut Problems) -> Option<Spec> {
        let Some(mode) = self.mode else {
            wrong.add("spec.mode", "must be systemEvent or task");
            return None;
        };
        let task = [
            ("spec.message", self.message.is_some()),
            ("spec.deliver", self.deliver.is_some()),
            ("spec.channel", self.channel.is_some()),
            ("spec.to", self.to.is_some()),
            ("spec.model", self.model.is_some()),
            ("spec.thinking", self.thinking.is_some()),
            ("spec.timeoutSeconds", self.timeout_seconds.is_some()),
            ("spec.bestEffortDeliver", self.best_effort_deliver.is_some()),
        ];
        let (others, of) = match mode {
            JobMode::SystemEvent => (&task[..], "task"),
            JobMode::Task => (&[("spec.text", self.text.is_some())][..], "systemEvent"),
        };
        for (field, _) in others.iter().filter(|(_, given)| *given) {
            wrong.add(field, format!("belongs to mode {of}"));
        }
        match mode {
            JobMode::SystemEvent => {
                let text = self.text.clone().unwrap_or_default();
                wrong.text("spec.text", &text, MAX_TEXT);
                Some(Spec::Event(text))
            }
            JobMode::Task => Some(Spec::Task(self.task(wrong))),
        }
    }

    fn task(&self, wrong: &mut Problems) -> Task {
        let message = self.message.clone().unwrap_or_default();
        wrong.text("spec.message", &message, MAX_TEXT);
        let model = self.model.as_deref().map(str::parse::<ModelId>);
        let model = model.and_then(|model| {
            let told = |error| wrong.add("spec.model", format!("{error}"));
            model.map_err(told).ok()
        });
        let thinking = self.thinking.as_deref().map(str::parse::<Thinking>);
        let thinking = thinking.and_then(|level| {
            let told = |error| wrong.add("spec.thinking", format!("{error}"));
            level.map_err(told).ok()
        });
        if let Some(seconds) = self.timeout_seconds
            && !(1..=MAX_TIMEOUT).contains(&seconds)
        {
            wrong.add("spec.timeoutSeconds", format!("must be 1 to {MAX_TIMEOUT}"));
        }
        for (field, text) in [("spec.channel", &self.channel), ("spec.to", &self.to)] {
            if let Some(text) = text {
                wrong.text(field, text, 256);
            }
        }
        if self.to.is_some() && self.channel.is_none() {
            wrong.add("spec.to", "needs spec.channel");
        }
        if self.deliver == Some(false) && self.channel.is_some() {
            wrong.add(
                "spec.deliver",
                "is false, and spec.channel says where to deliver",
            );
        }
        Task {
            message,
            deliver: self.deliver,
            channel: self.channel.clone(),
            to: self.to.clone(),
            model,
            thinking,
            timeout_seconds: self.timeout_seconds,
            best_effort: self.best_effort_deliver.unwrap_or(false),
        }
    }

    /// Merges a change over the present spec; another mode replaces it entirely.
    pub(super) fn over(self, there: Self) -> Self {
        if self.mode.is_some() && self.mode != there.mode {
            return self;
        }
        Self {
            mode: there.mode,
            text: self.text.or(there.text),
            message: self.message.or(there.message),
            deliver: self.deliver.or(there.deliver),
            channel: self.channel.or(there.channel),
            to: self.to.or(there.to),
            model: self.model.or(there.model),
            thinking: self.thinking.or(there.thinking),
            timeout_seconds: self.timeout_seconds.or(there.timeout_seconds),
            best_effort_deliver: self.best_effort_deliver.or(there.best_effort_deliver),
        }
    }
}

/// Applies the plain fields of `input` to a record.
pub(super) fn take_over(record: &mut JobRecord, input: &JobInput, wrong: &mut Problems) {
    if let Some(name) = &input.name {
        wrong.text("name", name, MAX_NAME);
        record.name = name.trim().to_owned();
    }
    if let Some(text) = &input.description {
        if text.chars().count() > MAX_DESCRIPTION {
            let message = format!("is longer than {MAX_DESCRIPTION} characters");
            wrong.add("description", message);
        }
        record.description = Some(text.clone()).filter(|text| !text.trim().is_empty());
    }
    record.enabled = input.enabled.unwrap_or(record.enabled);
    record.delete_after_run = input.delete_after_run.unwrap_or(record.delete_after_run);
    match input.missed {
        Some(MissedInput::Skip) => record.missed = MissedRuns::Skip,
        Some(MissedInput::Once) => record.missed = MissedRuns::Once,
        Some(MissedInput::All) => record.missed = MissedRuns::All,
        None => {}
    }
    match input.overlap {
        Some(OverlapInput::Skip) => record.overlap = Overlap::Skip,
        Some(OverlapInput::Wait) => record.overlap = Overlap::Wait,
        None => {}
    }
    match input.missed_window_hours {
        Some(hours) if hours > 0.0 && hours <= MAX_WINDOW_HOURS => {
            record.window_ms = (hours * HOUR_MS) as i64;
        }
        Some(_) => wrong.add("missedWindowHours", "must be above 0 and at most 8784"),
        None => {}
    }
}

/// A stored job, parsed.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) record: JobRecord,
    pub(super) schedule: Schedule,
    pub(super) origin: Origin,
}

impl Job {
    pub(super) fn read(record: JobRecord) -> Result<Self, StoreError> {
        let damaged = |what: &str| StoreError::Corrupt {
            what: format!("the {what} of job {} cannot be read", record.id),
        };
        let schedule = serde_json::from_str(&record.schedule).map_err(|_| damaged("schedule"))?;
        let origin = serde_json::from_str(&record.origin).map_err(|_| damaged("maker"))?;
        Ok(Self {
            schedule,
            origin,
            record,
        })
    }

    pub(super) fn spec(&self) -> Result<Spec, ToolError> {
        let damaged = || ToolError::internal("the stored job is damaged");
        let input: SpecInput = serde_json::from_str(&self.record.spec).map_err(|_| damaged())?;
        input.check(&mut Problems::default()).ok_or_else(damaged)
    }
}

/// A job as shown to clients.
pub(super) fn shown(record: &JobRecord, user: &TimeZone) -> CronJob {
    let schedule: Option<Schedule> = serde_json::from_str(&record.schedule).ok();
    let origin: Option<Origin> = serde_json::from_str(&record.origin).ok();
    let json = |text: &str| serde_json::from_str(text).unwrap_or_default();
    let running = record.running.as_ref();
    let taint = origin.as_ref().map(Origin::taint);
    CronJob {
        id: record.id.clone(),
        tainted_by: taint.and_then(|taint| taint.source().map(str::to_owned)),
        agent_id: record.agent.to_string(),
        name: record.name.clone(),
        description: record.description.clone(),
        enabled: record.enabled,
        delete_after_run: record.delete_after_run,
        created_at_ms: record.created.0,
        updated_at_ms: record.updated.0,
        schedule: json(&record.schedule),
        schedule_text: schedule.map_or_else(String::new, |when| when.describe(user)),
        spec: json(&record.spec),
        missed: record.missed.as_str().to_owned(),
        missed_window_hours: record.window_ms as f64 / HOUR_MS,
        overlap: record.overlap.as_str().to_owned(),
        made_by: origin.map_or_else(String::new, |origin| origin.name),
        state: CronJobState {
            next_run_at_ms: record.next_run.map(|at| at.0),
            running_at_ms: running.and(record.last_run).map(|at| at.0),
            last_run_at_ms: record.last_run.map(|at| at.0),
            last_status: record.last_status.map(|status| status.as_str().to_owned()),
            last_error: record.last_error.clone(),
            last_duration_ms: record.last_duration,
            consecutive_failures: record.failures,
        },
    }
}

/// A run as shown to clients.
pub(super) fn run_shown(run: RunRecord) -> CronRun {
    let ended = run.ended.unwrap_or(run.claimed);
    CronRun {
        id: run.id,
        job_id: run.job,
        ts: ended.0,
        status: run.state.as_str().to_owned(),
        error: run.error,
        summary: run.summary,
        duration_ms: ended.0.saturating_sub(run.claimed.0).max(0),
        next_run_at_ms: run.next_run.map(|at| at.0),
        scheduled_at_ms: run.scheduled.0,
        count: run.amount,
        forced: run.forced,
    }
}

/// An empty record of a job of `agent`.
pub(super) fn blank(id: String, agent: AgentId, maker: String, now: Timestamp) -> JobRecord {
    JobRecord {
        id,
        agent,
        kind: manyhands_store::JobKind::Job,
        creator: maker,
        name: String::new(),
        description: None,
        enabled: true,
        delete_after_run: false,
        schedule: String::new(),
        spec: String::new(),
        missed: MissedRuns::Once,
        window_ms: 0,
        overlap: Overlap::Skip,
        origin: String::new(),
        next_run: None,
        running: None,
        last_run: None,
        last_duration: None,
        last_status: None,
        last_error: None,
        failures: 0,
        created: now,
        updated: now,
    }
}
