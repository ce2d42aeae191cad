//! What can be typed about jobs with a schedule.

use clap::{Args, Subcommand};
use manyhands_core::AgentId;

#[derive(Subcommand)]
pub enum Heartbeat {
    /// How the heartbeats stand.
    Status {
        /// Only that of this agent.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Switch a heartbeat on, until the settings change.
    Start {
        /// Of which agent; main unless said.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
    },
    /// Have an agent look now, and wait until it has.
    Trigger {
        /// Which agent; main unless said.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
    },
}

#[derive(Subcommand)]
pub enum Cron {
    /// How the jobs stand.
    Status {
        /// Only those of this agent.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the jobs.
    List {
        /// Only those of this agent.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
        /// Also those that are switched off.
        #[arg(long)]
        all: bool,
        /// How many at most.
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: u32,
        /// How many to leave out first.
        #[arg(long, default_value_t = 0, value_name = "N")]
        offset: u32,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make a job: --at, --every or --cron says when, --message or --event what.
    Add(AddJob),
    /// Change a job; what is left out stays.
    Edit(EditJob),
    /// Remove a job with its runs.
    Remove {
        /// The job's id.
        id: String,
    },
    /// Run one job now, or all that are due, and wait for them.
    Run {
        /// The job's id; without one, all that are due.
        id: Option<String>,
        /// Only if it is due.
        #[arg(long)]
        due: bool,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// See what a schedule comes to, without making a job: --at, --every or --cron says when.
    Preview {
        #[command(flatten)]
        when: WhenArgs,
        /// How many instants, 1 to 20.
        #[arg(long, default_value_t = 5, value_name = "N")]
        count: u32,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// What came of jobs, the latest first.
    Runs {
        /// Only of this job.
        id: Option<String>,
        /// How many at most.
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: u32,
        /// How many to leave out first.
        #[arg(long, default_value_t = 0, value_name = "N")]
        offset: u32,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub struct AddJob {
    /// Its name.
    #[arg(long)]
    pub name: String,
    #[command(flatten)]
    pub said: JobArgs,
    /// Make it switched off.
    #[arg(long)]
    pub disabled: bool,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct EditJob {
    /// The job's id.
    pub id: String,
    /// Its name.
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub said: JobArgs,
    /// Switch it on.
    #[arg(long, conflicts_with = "disable")]
    pub enable: bool,
    /// Switch it off.
    #[arg(long)]
    pub disable: bool,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// When a job is due.
#[derive(Args)]
pub struct WhenArgs {
    /// Once: a date and time, "in 2 hours", "today 17:30" or "tomorrow at 9am".
    #[arg(long, value_name = "WHEN", group = "when")]
    pub at: Option<String>,
    /// Every so often: 30s, 15m, 2h, 1d, 1h30m.
    #[arg(long, value_name = "HOW-LONG", group = "when")]
    pub every: Option<String>,
    /// By the calendar: minute, hour, day of month, month, day of week; or @daily and the like.
    #[arg(long, value_name = "EXPR", group = "when")]
    pub cron: Option<String>,
    /// With --every: the moment from which it is counted.
    #[arg(long, value_name = "WHEN", requires = "every")]
    pub anchor: Option<String>,
    /// With --cron: by whose clocks, such as Europe/Berlin.
    #[arg(long, value_name = "ZONE", requires = "cron")]
    pub tz: Option<String>,
}

/// When a job is due and what it does.
#[derive(Args)]
pub struct JobArgs {
    #[command(flatten)]
    pub when: WhenArgs,
    /// A task for the agent, in a conversation of its own.
    #[arg(long, value_name = "TEXT", group = "what")]
    pub message: Option<String>,
    /// A text for the agent's main conversation.
    #[arg(long, value_name = "TEXT", group = "what")]
    pub event: Option<String>,
    /// Deliver the answer to a task; a run without a chat to deliver to fails.
    #[arg(long, conflicts_with = "no_deliver")]
    pub deliver: bool,
    /// Deliver the answer to a task nowhere.
    #[arg(long)]
    pub no_deliver: bool,
    /// Deliver it on this channel.
    #[arg(long, value_name = "NAME")]
    pub channel: Option<String>,
    /// Deliver it to this chat or person there.
    #[arg(long, value_name = "ID")]
    pub to: Option<String>,
    /// An answer that could not be delivered does not make the run fail.
    #[arg(long)]
    pub best_effort: bool,
    /// Which model does the task, as provider/model.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// How hard it thinks.
    #[arg(long, value_name = "LEVEL")]
    pub think: Option<String>,
    /// How many seconds the task may take.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u32>,
    /// The agent that owns it.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<AgentId>,
    /// What it is for.
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Remove it once it has run well, if it runs only once.
    #[arg(long)]
    pub delete_after_run: bool,
    /// What becomes of missed runs.
    #[arg(long, value_name = "POLICY", value_parser = ["skip", "once", "all"])]
    pub missed: Option<String>,
    /// How many hours old a missed run may be to be made up for.
    #[arg(long, value_name = "HOURS")]
    pub missed_window: Option<f64>,
    /// What becomes of a run that is due while the one before goes on.
    #[arg(long, value_name = "POLICY", value_parser = ["skip", "wait"])]
    pub overlap: Option<String>,
}
