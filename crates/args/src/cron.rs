//! Arguments of `cron` and `heartbeat`.

use clap::{Args, Subcommand};
use manyhands_core::AgentId;

#[derive(Subcommand)]
pub enum Heartbeat {
    /// Show heartbeats and their next runs.
    Status {
        /// Only this agent's heartbeat.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Enable a heartbeat until the settings change.
    Start {
        /// The agent; default: main.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
    },
    /// Run a heartbeat now and wait for it to finish.
    Trigger {
        /// The agent; default: main.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
    },
}

#[derive(Subcommand)]
pub enum Cron {
    /// Show a summary of the scheduler and its jobs.
    Status {
        /// Only jobs of this agent.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List jobs.
    List {
        /// Only jobs of this agent.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
        /// Include disabled jobs.
        #[arg(long)]
        all: bool,
        /// Maximum number of results.
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: u32,
        /// Number of results to skip.
        #[arg(long, default_value_t = 0, value_name = "N")]
        offset: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Create a job: --at, --every or --cron sets the schedule, --message or --event the task.
    Add(AddJob),
    /// Edit a job; options left out keep their values.
    Edit(EditJob),
    /// Delete a job and its run history.
    Remove {
        /// The job's id.
        id: String,
    },
    /// Run one job now, or all due jobs, and wait for them to finish.
    Run {
        /// The job's id; default: all due jobs.
        id: Option<String>,
        /// Run only if due.
        #[arg(long)]
        due: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Preview the run times of a schedule without creating a job.
    Preview {
        #[command(flatten)]
        when: WhenArgs,
        /// Number of run times, 1 to 20.
        #[arg(long, default_value_t = 5, value_name = "N")]
        count: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show past runs, newest first.
    Runs {
        /// Only runs of this job.
        id: Option<String>,
        /// Maximum number of results.
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: u32,
        /// Number of results to skip.
        #[arg(long, default_value_t = 0, value_name = "N")]
        offset: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub struct AddJob {
    /// Name of the job.
    #[arg(long)]
    pub name: String,
    #[command(flatten)]
    pub job: JobArgs,
    /// Create the job disabled.
    #[arg(long)]
    pub disabled: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct EditJob {
    /// The job's id.
    pub id: String,
    /// New name of the job.
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub job: JobArgs,
    /// Enable the job.
    #[arg(long, conflicts_with = "disable")]
    pub enable: bool,
    /// Disable the job.
    #[arg(long)]
    pub disable: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The schedule of a job.
#[derive(Args)]
pub struct WhenArgs {
    /// Run once: a date and time, "in 2 hours", "today 17:30" or "tomorrow at 9am".
    #[arg(long, value_name = "WHEN", group = "when")]
    pub at: Option<String>,
    /// Run at an interval: 30s, 15m, 2h, 1d, 1h30m.
    #[arg(long, value_name = "DURATION", group = "when")]
    pub every: Option<String>,
    /// Run by a cron expression: minute, hour, day of month, month, day of week; or a macro such as @daily.
    #[arg(long, value_name = "EXPR", group = "when")]
    pub cron: Option<String>,
    /// With --every: start of the interval grid; default: now.
    #[arg(long, value_name = "WHEN", requires = "every")]
    pub anchor: Option<String>,
    /// With --cron: time zone, such as Europe/Berlin.
    #[arg(long, value_name = "ZONE", requires = "cron")]
    pub tz: Option<String>,
}

/// The schedule of a job and its task.
#[derive(Args)]
pub struct JobArgs {
    #[command(flatten)]
    pub when: WhenArgs,
    /// Task for the agent, run in its own session.
    #[arg(long, value_name = "TEXT", group = "what")]
    pub message: Option<String>,
    /// Message to post in the agent's main chat.
    #[arg(long, value_name = "TEXT", group = "what")]
    pub event: Option<String>,
    /// Deliver the reply to a chat; the run fails if there is no chat to deliver to.
    #[arg(long, conflicts_with = "no_deliver")]
    pub deliver: bool,
    /// Do not deliver the reply.
    #[arg(long)]
    pub no_deliver: bool,
    /// Deliver the reply on this channel.
    #[arg(long, value_name = "NAME")]
    pub channel: Option<String>,
    /// Deliver the reply to this chat or person on the channel.
    #[arg(long, value_name = "ID")]
    pub to: Option<String>,
    /// Do not fail the run if the reply cannot be delivered.
    #[arg(long)]
    pub best_effort: bool,
    /// Model that runs the task, as provider/model.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Reasoning level.
    #[arg(long, value_name = "LEVEL")]
    pub think: Option<String>,
    /// Timeout of the task in seconds.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u32>,
    /// Agent that owns the job.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<AgentId>,
    /// Description of the job.
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Delete a one-time job after it succeeds.
    #[arg(long)]
    pub delete_after_run: bool,
    /// Which missed runs to catch up on: none, the latest, or all.
    #[arg(long, value_name = "POLICY", value_parser = ["skip", "once", "all"])]
    pub missed: Option<String>,
    /// Maximum age, in hours, of a missed run that is still caught up on.
    #[arg(long, value_name = "HOURS")]
    pub missed_window: Option<f64>,
    /// If the previous run is still running: skip the new one or queue it.
    #[arg(long, value_name = "POLICY", value_parser = ["skip", "wait"])]
    pub overlap: Option<String>,
}
