//! `gsv__Cron`

use std::time::Duration;

use manyhands_core::{
    AgentId, CallContext, Catalogue, CatalogueEntry, Effects, Implied, Outcome, Problem, Taint,
    ToolError, ToolSpec, TypedTool,
};
use manyhands_jobs::{JobInput, JobRequester, JobScheduler, RunMode};
use manyhands_wire::{CronJob, CronRan, CronRun, CronStatusResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::agent_deps::caller_origin;
use crate::registration::{Registration, always, typed};

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 500;

/// Manage scheduled jobs: reminders, recurring tasks and one-shot runs. `status` says how the jobs stand, `list` shows them,
/// `add` makes one from `job`, `update` changes one by `patch`, `remove` deletes one with its runs, `run` runs one now
/// (`mode: "force"` with `id`) or all that are due (`mode: "due"`), `runs` shows what came of them. A job runs with the rights of
/// its creator.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Action to execute.
    action: CronAction,
    /// Job ID. Required for "update", "remove", and "run" with mode: "force".
    id: Option<String>,
    /// Run mode for action: "run". "due" runs only due jobs. "force" runs a specific job immediately. The default is
    /// "force" with an id and "due" without one.
    mode: Option<ModeParam>,
    /// Agent filter for "list" and "status", or owner agent for "add".
    agent_id: Option<String>,
    /// Whether disabled jobs are included for action: "list".
    include_disabled: Option<bool>,
    /// Pagination limit for "list" and "runs": 50 by default, 500 at most.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// Pagination offset for "list" and "runs".
    offset: Option<u32>,
    /// Job create payload for action: "add".
    job: Option<JobInput>,
    /// Job patch payload for action: "update". Same fields as job, all optional.
    patch: Option<JobInput>,
    /// Job ID filter for action: "runs".
    job_id: Option<String>,
}

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum CronAction {
    Status,
    List,
    Add,
    Update,
    Remove,
    Run,
    Runs,
}

/// Which jobs to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ModeParam {
    Due,
    Force,
}

/// The result; its fields depend on the action.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Output {
    /// Of `status`.
    Status(CronStatusResult),
    /// Of `list`.
    List {
        /// The jobs.
        jobs: Vec<CronJob>,
        /// Number of all jobs.
        count: u64,
    },
    /// Of `add` and `update`.
    Job {
        /// Always true.
        ok: bool,
        /// The job after the change.
        job: Box<CronJob>,
    },
    /// Of `remove`.
    Removed {
        /// Always true.
        ok: bool,
        /// Whether the job existed.
        removed: bool,
    },
    /// Of `run`.
    Ran {
        /// Always true.
        ok: bool,
        /// Number of runs started.
        ran: usize,
        /// Result of each run.
        results: Vec<CronRan>,
    },
    /// Of `runs`.
    Runs {
        /// Runs, latest first.
        runs: Vec<CronRun>,
        /// Number of all runs.
        count: u64,
    },
}

pub(crate) const TOOL: Registration = Registration {
    name: "gsv__Cron",
    enabled: always,
    build: |deps| typed(CronJobs(deps.cron.clone())),
};

struct CronJobs(JobScheduler);

impl Params {
    /// Rejects parameters that do not belong to the action: the caller expects them to have an
    /// effect.
    fn check(&self) -> Result<(), ToolError> {
        use CronAction::{Add, List, Remove, Run, Runs, Status, Update};
        let given: [(&str, bool, &[CronAction]); 9] = [
            ("id", self.id.is_some(), &[Update, Remove, Run]),
            ("mode", self.mode.is_some(), &[Run]),
            ("agentId", self.agent_id.is_some(), &[List, Status, Add]),
            ("includeDisabled", self.include_disabled.is_some(), &[List]),
            ("limit", self.limit.is_some(), &[List, Runs]),
            ("offset", self.offset.is_some(), &[List, Runs]),
            ("job", self.job.is_some(), &[Add]),
            ("patch", self.patch.is_some(), &[Update]),
            ("jobId", self.job_id.is_some(), &[Runs]),
        ];
        let word = |action: &CronAction| format!("{action:?}").to_lowercase();
        let mut wrong = Vec::new();
        for (name, given, of) in given {
            if given && !of.contains(&self.action) {
                let of: Vec<String> = of.iter().map(word).collect();
                wrong.push(Problem {
                    parameter: name.to_owned(),
                    message: format!("belongs to action {}", of.join(", ")),
                });
            }
        }
        let forced = self.action == Run && self.mode == Some(ModeParam::Force);
        let needed = [
            (
                "id",
                matches!(self.action, Update | Remove) || forced,
                self.id.is_some(),
            ),
            ("job", self.action == Add, self.job.is_some()),
            ("patch", self.action == Update, self.patch.is_some()),
        ];
        for (name, needed, given) in needed {
            if needed && !given {
                let action = word(&self.action);
                let forced = if forced { " with mode force" } else { "" };
                wrong.push(Problem {
                    parameter: name.to_owned(),
                    message: format!("is required for action {action}{forced}"),
                });
            }
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(ToolError::problems(wrong)),
        }
    }

    fn page(&self) -> (u32, u32) {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        (limit, self.offset.unwrap_or(0))
    }

    fn agent(&self) -> Result<Option<AgentId>, ToolError> {
        let parsed = self.agent_id.as_deref().map(str::parse).transpose();
        parsed.map_err(|e: manyhands_core::InvalidName| {
            ToolError::parameter("agentId", e.to_string())
        })
    }
}

impl TypedTool for CronJobs {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::WRITES.and(Effects::READS))
            .deadline(Duration::from_secs(120))
            .waits_for_turns()
    }

    fn effects_of(&self, arguments: &Value) -> Effects {
        match arguments["action"].as_str() {
            Some("status" | "list" | "runs") => Effects::READS,
            _ => Effects::WRITES.and(Effects::READS),
        }
    }

    /// A job that delivers to somebody implies sending messages.
    fn implies(&self, arguments: &Value, catalogue: &Catalogue) -> Vec<Implied> {
        // A changed delivery needs the same rights as a new one.
        let spec = ["/job/spec", "/patch/spec"];
        let spec = spec.iter().find_map(|at| arguments.pointer(at));
        let given = |name: &str| {
            spec.and_then(|spec| spec.get(name))
                .filter(|v| !v.is_null())
        };
        let (channel, to) = (given("channel"), given("to"));
        if channel.is_none() && to.is_none() {
            return Vec::new();
        }
        let message = json!({ "channel": channel, "to": to, "text": given("message") });
        let tool = catalogue
            .resolve("gsv__Message")
            .and_then(CatalogueEntry::tool);
        let sends = tool.map(|tool| Implied {
            tool: tool.clone(),
            arguments: message,
        });
        sends.into_iter().collect()
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        params.check()?;
        let mut origin = caller_origin(context);
        // Where the job was created is where it delivers by default.
        origin.place = context.chat.as_deref().cloned();
        let asker = JobRequester {
            caller: &context.caller,
            agent: &context.agent,
            origin,
        };
        let (cron, page, agent) = (&self.0, params.page(), params.agent()?);
        let id = params.id.as_deref().unwrap_or_default();
        let output = match params.action {
            CronAction::Status => Output::Status(cron.status(&asker, agent.as_ref()).await?),
            CronAction::List => {
                let disabled = params.include_disabled.unwrap_or(false);
                let (jobs, count) = cron.list(&asker, agent.as_ref(), disabled, page).await?;
                Output::List { jobs, count }
            }
            CronAction::Add => {
                let mut job = params.job.unwrap_or_default();
                // The specification allows both places; the job's own wins.
                job.agent_id = job.agent_id.or(params.agent_id);
                let job = Box::new(cron.add(&asker, job).await?);
                Output::Job { ok: true, job }
            }
            CronAction::Update => {
                let patch = params.patch.unwrap_or_default();
                let job = Box::new(cron.update(&asker, id, patch).await?);
                Output::Job { ok: true, job }
            }
            CronAction::Remove => Output::Removed {
                ok: true,
                removed: cron.remove(&asker, id).await?,
            },
            CronAction::Run => {
                let mode = match (params.mode, &params.id) {
                    (Some(ModeParam::Force), _) | (None, Some(_)) => RunMode::Force,
                    (Some(ModeParam::Due), _) | (None, None) => RunMode::Due,
                };
                let id = params.id.as_deref();
                let results = cron.run(&asker, mode, id, &context.lineage).await?;
                // Without a run id the job was skipped.
                let ran = results.iter().filter(|one| one.run_id.is_some()).count();
                Output::Ran {
                    ok: true,
                    ran,
                    results,
                }
            }
            CronAction::Runs => {
                let job = params.job_id.as_deref();
                let (runs, count) = cron.runs(&asker, job, page).await?;
                Output::Runs { runs, count }
            }
        };
        // Replies of runs may contain untrusted text, and so may a job created after reading some.
        if matches!(params.action, CronAction::Run | CronAction::Runs) {
            return Outcome::of(&output);
        }
        let jobs = match &output {
            Output::List { jobs, .. } => jobs.as_slice(),
            Output::Job { job, .. } => std::slice::from_ref(&**job),
            _ => &[],
        };
        let source = jobs.iter().find_map(|job| job.tainted_by.as_deref());
        let taint = source.map_or(Taint::NONE, Taint::by);
        Ok(Outcome::of(&output)?.tainted_by(taint))
    }
}
