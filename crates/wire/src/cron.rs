//! Jobs with a schedule, and heartbeats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Whose jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronStatusParams {
    /// The agent; all of them when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// How the jobs stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronStatusResult {
    /// Whether jobs run when they are due.
    pub enabled: bool,
    /// How many jobs there are.
    pub count: u64,
    /// How many are due now.
    pub due_count: u64,
    /// How many run.
    pub running_count: u64,
    /// When the next is due, in milliseconds since 1970.
    pub next_run_at_ms: Option<i64>,
    /// How many jobs there may be.
    pub max_jobs: u32,
    /// How many run at once.
    pub max_concurrent_runs: u32,
}

/// Which jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronListParams {
    /// Those of one agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Also those that are switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_disabled: Option<bool>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// How many to leave out first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
}

/// Jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CronListResult {
    /// The jobs, the oldest first.
    pub jobs: Vec<CronJob>,
    /// How many there are in all.
    pub count: u64,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronJob {
    /// Its id.
    pub id: String,
    /// The agent that owns it.
    pub agent_id: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is active.
    pub enabled: bool,
    /// Whether it goes after a successful one-shot run.
    pub delete_after_run: bool,
    /// When it was made.
    pub created_at_ms: i64,
    /// When it was last changed.
    pub updated_at_ms: i64,
    /// When it is due: `{kind: "at", atMs}`, `{kind: "every", everyMs, anchorMs}` or `{kind: "cron", expr, tz?}`.
    pub schedule: Value,
    /// The same in words.
    #[serde(default)]
    pub schedule_text: String,
    /// What it does.
    pub spec: Value,
    /// What becomes of missed runs: skip, once or all.
    #[serde(default)]
    pub missed: String,
    /// How many hours old a missed run may be to be made up for.
    #[serde(default)]
    pub missed_window_hours: f64,
    /// What becomes of overlapping runs: skip or wait.
    #[serde(default)]
    pub overlap: String,
    /// Who made it, with whose rights it runs.
    #[serde(default)]
    pub made_by: String,
    /// How it stands.
    pub state: CronJobState,
}

/// How a job stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronJobState {
    /// When it is due next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at_ms: Option<i64>,
    /// Since when it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_at_ms: Option<i64>,
    /// When it last ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run_at_ms: Option<i64>,
    /// How that ended: ok, error or skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_status: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_duration_ms: Option<i64>,
    /// How many runs in a row failed.
    #[serde(default)]
    pub consecutive_failures: i64,
}

/// A job to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronAddParams {
    /// Its name.
    pub name: String,
    /// When it is due, as `job.schedule` of `gsv__Cron`.
    pub schedule: Value,
    /// What it does, as `job.spec` of `gsv__Cron`.
    pub spec: Value,
    /// Whatever else `job` of `gsv__Cron` may hold: agentId, description, enabled, deleteAfterRun and so on.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A schedule to be looked at, before a job is made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CronPreviewParams {
    /// When a job would be due, as `job.schedule` of `gsv__Cron`.
    pub schedule: Value,
    /// By whose clocks it is read and told where it names none, such as `Europe/Berlin`; by those of
    /// the settings when not said, as `cron.add` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tz: Option<String>,
    /// How many instants, 1 to 20; 5 when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 20))]
    pub count: Option<u32>,
}

/// What a schedule comes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CronPreviewResult {
    /// The schedule in plain words.
    pub text: String,
    /// Its next instants in milliseconds since 1970, the earliest first; fewer when it ends.
    pub times: Vec<i64>,
    /// The same schedule with nothing left open: given to `cron.add`, it comes to these instants.
    pub schedule: Value,
}

/// A job as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CronJobResult {
    /// True.
    pub ok: bool,
    /// The job.
    pub job: CronJob,
}

/// What is to be changed of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CronUpdateParams {
    /// The job.
    pub id: String,
    /// The fields of `job` that change, as `patch` of `gsv__Cron`.
    pub patch: Map<String, Value>,
}

/// Which job goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CronRemoveParams {
    /// The job.
    pub id: String,
}

/// Whether it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CronRemoveResult {
    /// True.
    pub ok: bool,
    /// Whether there was such a job.
    pub removed: bool,
}

/// Which jobs run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CronRunParams {
    /// The job; all that are due when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `due` or `force`; `force` with an id unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// What came of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CronRunResult {
    /// True.
    pub ok: bool,
    /// How many runs were begun.
    pub ran: usize,
    /// What came of each.
    pub results: Vec<CronRan>,
}

/// How a run went that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronRan {
    /// The job.
    pub job_id: String,
    /// Its run, when one was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// ok, error or skipped; running while it still goes on.
    pub status: String,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// How long it took.
    pub duration_ms: i64,
    /// When the job is due next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at_ms: Option<i64>,
}

/// Whose runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronRunsParams {
    /// Those of one job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// How many to leave out first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
}

/// Runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CronRunsResult {
    /// The runs, the latest first.
    pub runs: Vec<CronRun>,
    /// How many there are in all.
    pub count: u64,
}

/// One run of a job, or what became of it instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronRun {
    /// Its id.
    pub id: String,
    /// The job.
    pub job_id: String,
    /// When it ended, or began if it goes on.
    pub ts: i64,
    /// ok, error or skipped; running while it goes on.
    pub status: String,
    /// What went wrong, or why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// How long it took.
    pub duration_ms: i64,
    /// When the job was due next, as it was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at_ms: Option<i64>,
    /// The instant it is for.
    #[serde(default)]
    pub scheduled_at_ms: i64,
    /// How many instants it stands for, where several in a row were skipped.
    #[serde(default)]
    pub count: i64,
    /// Whether somebody asked for it.
    #[serde(default)]
    pub forced: bool,
}

/// Whose heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatStatusParams {
    /// The agent; all of them when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// How heartbeats stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatStatusResult {
    /// One for each agent.
    pub agents: Vec<HeartbeatState>,
}

/// How the heartbeat of an agent stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatState {
    /// The agent.
    pub agent_id: String,
    /// Whether it looks by itself.
    pub enabled: bool,
    /// Minutes between two looks.
    pub every_minutes: u32,
    /// From when on, by the user's clock.
    pub active_from: String,
    /// Until when.
    pub active_until: String,
    /// Where it speaks up: last, none or a channel.
    pub target: String,
    /// When it looks next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at_ms: Option<i64>,
    /// Since when it is looking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_at_ms: Option<i64>,
    /// How many looks in a row failed.
    pub consecutive_failures: i64,
    /// The last look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<CronRun>,
}

/// Whose heartbeat is switched on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatStartParams {
    /// The agent; `main` when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// A heartbeat that is on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatStartResult {
    /// True.
    pub ok: bool,
    /// How it stands.
    pub heartbeat: HeartbeatState,
}

/// Who looks now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatTriggerParams {
    /// The agent; `main` when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// What came of the look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatTriggerResult {
    /// True.
    pub ok: bool,
    /// The look.
    pub run: CronRun,
}
