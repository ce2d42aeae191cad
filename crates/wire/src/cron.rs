//! Scheduled jobs and heartbeats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Selects jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronStatusParams {
    /// The agent; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// Status of the scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronStatusResult {
    /// Whether due jobs run.
    pub enabled: bool,
    /// Number of jobs.
    pub count: u64,
    /// Number of due jobs.
    pub due_count: u64,
    /// Number of running jobs.
    pub running_count: u64,
    /// Next due time, in milliseconds since 1970.
    pub next_run_at_ms: Option<i64>,
    /// Maximum number of jobs.
    pub max_jobs: u32,
    /// Maximum number of concurrent runs.
    pub max_concurrent_runs: u32,
}

/// Selects jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronListParams {
    /// The agent; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Include disabled jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_disabled: Option<bool>,
    /// Maximum number of results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Number of results to skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
}

/// Jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CronListResult {
    /// The jobs, oldest first.
    pub jobs: Vec<CronJob>,
    /// Total number of jobs.
    pub count: u64,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronJob {
    /// Its id.
    pub id: String,
    /// The untrusted text that was read before it was created or changed, until the owner trusts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tainted_by: Option<String>,
    /// The agent that owns it.
    pub agent_id: String,
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Whether it is deleted after a successful one-time run.
    pub delete_after_run: bool,
    /// Creation time.
    pub created_at_ms: i64,
    /// Time of the last change.
    pub updated_at_ms: i64,
    /// Its schedule: `{kind: "at", atMs}`, `{kind: "every", everyMs, anchorMs}` or `{kind: "cron", expr, tz?}`.
    pub schedule: Value,
    /// The schedule in words.
    #[serde(default)]
    pub schedule_text: String,
    /// Its task.
    pub spec: Value,
    /// Policy for missed runs: skip, once or all.
    #[serde(default)]
    pub missed: String,
    /// Maximum age, in hours, of a missed run that is caught up on.
    #[serde(default)]
    pub missed_window_hours: f64,
    /// Policy for overlapping runs: skip or wait.
    #[serde(default)]
    pub overlap: String,
    /// Its creator, with whose rights it runs.
    #[serde(default)]
    pub made_by: String,
    /// Its state.
    pub state: CronJobState,
}

/// State of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronJobState {
    /// Next due time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at_ms: Option<i64>,
    /// Start of the current run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_at_ms: Option<i64>,
    /// Start of the last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run_at_ms: Option<i64>,
    /// Status of the last run: ok, error or skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_status: Option<String>,
    /// Error of the last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Duration of the last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_duration_ms: Option<i64>,
    /// Number of consecutive failures.
    #[serde(default)]
    pub consecutive_failures: i64,
}

/// A job to create.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronAddParams {
    /// Its name.
    pub name: String,
    /// Its schedule, as `job.schedule` of `gsv__Cron`.
    pub schedule: Value,
    /// Its task, as `job.spec` of `gsv__Cron`.
    pub spec: Value,
    /// Further fields of `job` of `gsv__Cron`: agentId, description, enabled, deleteAfterRun and so on.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A schedule to preview.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CronPreviewParams {
    /// The schedule, as `job.schedule` of `gsv__Cron`.
    pub schedule: Value,
    /// Time zone if the schedule has none, such as `Europe/Berlin`; default: that of the settings, as in
    /// `cron.add`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tz: Option<String>,
    /// Number of run times, 1 to 20; default: 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 20))]
    pub count: Option<u32>,
}

/// Preview of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CronPreviewResult {
    /// The schedule in words.
    pub text: String,
    /// Next run times in milliseconds since 1970, earliest first; fewer if it ends.
    pub times: Vec<i64>,
    /// The schedule with all defaults filled in: `cron.add` with it gives the same run times.
    pub schedule: Value,
}

/// The job after the change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CronJobResult {
    /// True.
    pub ok: bool,
    /// The job.
    pub job: CronJob,
}

/// A change of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CronUpdateParams {
    /// The job.
    pub id: String,
    /// The changed fields, as `patch` of `gsv__Cron`.
    pub patch: Map<String, Value>,
}

/// Selects the job to delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CronRemoveParams {
    /// The job.
    pub id: String,
}

/// Whether it was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CronRemoveResult {
    /// True.
    pub ok: bool,
    /// Whether the job existed.
    pub removed: bool,
}

/// Selects the jobs to run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CronRunParams {
    /// The job; default: all due jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `due` or `force`; default with an id: `force`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// Results of the runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CronRunResult {
    /// True.
    pub ok: bool,
    /// Number of started runs.
    pub ran: usize,
    /// Result of each job.
    pub results: Vec<CronRan>,
}

/// Result of one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronRan {
    /// The job.
    pub job_id: String,
    /// Its run, if one was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// ok, error or skipped; running if it has not ended yet.
    pub status: String,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Summary of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Duration.
    pub duration_ms: i64,
    /// Next due time of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at_ms: Option<i64>,
}

/// Selects runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronRunsParams {
    /// The job; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// Maximum number of results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Number of results to skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
}

/// Runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CronRunsResult {
    /// The runs, newest first.
    pub runs: Vec<CronRun>,
    /// Total number of runs.
    pub count: u64,
}

/// One run of a job, or a skipped one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronRun {
    /// Its id.
    pub id: String,
    /// The job.
    pub job_id: String,
    /// End time, or start time while it is running.
    pub ts: i64,
    /// ok, error or skipped; running while it is active.
    pub status: String,
    /// The error, or why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Summary of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Duration.
    pub duration_ms: i64,
    /// Next due time of the job at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at_ms: Option<i64>,
    /// The scheduled time.
    #[serde(default)]
    pub scheduled_at_ms: i64,
    /// Number of scheduled times it stands for, if several in a row were skipped.
    #[serde(default)]
    pub count: i64,
    /// Whether it was run on demand.
    #[serde(default)]
    pub forced: bool,
}

/// Selects heartbeats.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatStatusParams {
    /// The agent; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// Heartbeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatStatusResult {
    /// One per agent.
    pub agents: Vec<HeartbeatState>,
}

/// State of an agent's heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatState {
    /// The agent.
    pub agent_id: String,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Interval in minutes.
    pub every_minutes: u32,
    /// Start of the active hours, in the user's time zone.
    pub active_from: String,
    /// End of the active hours.
    pub active_until: String,
    /// Where reports are sent: last, none or a channel.
    pub target: String,
    /// Next run time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at_ms: Option<i64>,
    /// Start of the current run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_at_ms: Option<i64>,
    /// Number of consecutive failures.
    pub consecutive_failures: i64,
    /// The last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<CronRun>,
}

/// Selects the heartbeat to enable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatStartParams {
    /// The agent; default: `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// The enabled heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatStartResult {
    /// True.
    pub ok: bool,
    /// Its state.
    pub heartbeat: HeartbeatState,
}

/// Selects the heartbeat to run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatTriggerParams {
    /// The agent; default: `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// Result of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatTriggerResult {
    /// True.
    pub ok: bool,
    /// The run.
    pub run: CronRun,
}
