//! Settings of scheduled jobs and heartbeats.

use std::collections::BTreeMap;

use manyhands_core::AgentId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scheduled jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cron {
    /// Run jobs when they are due. If disabled, they can still be run on demand.
    pub enabled: bool,
    /// Maximum number of jobs.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_jobs: u32,
    /// Maximum number of jobs per caller. The owner is not limited.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_jobs_per_caller: u32,
    /// Maximum number of concurrent runs; further ones are queued.
    #[schemars(range(min = 1, max = 256))]
    pub max_concurrent_runs: u32,
    /// Missed runs, unless a job sets it: `skip` skips them, `once` catches up on the latest one, `all` on all
    /// of them.
    pub missed: MissedPolicy,
    /// Maximum age, in hours, of a missed run that is caught up on, unless a job sets it.
    #[schemars(range(min = 1, max = 8_784))]
    pub window_hours: u32,
}

impl Default for Cron {
    fn default() -> Self {
        Self {
            enabled: true,
            max_jobs: 100_000,
            max_jobs_per_caller: 1_000,
            // Each run calls a model; more at once mostly run into rate limits.
            max_concurrent_runs: 4,
            missed: MissedPolicy::Once,
            window_hours: 24,
        }
    }
}

/// What happens to missed runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum MissedPolicy {
    /// They are skipped.
    Skip,
    /// The latest one is run.
    #[default]
    Once,
    /// All are run, one after the other.
    All,
}

/// Heartbeats: at an interval, an agent checks its HEARTBEAT.md and the open items in its TODO.md, and sends a message if there is
/// something to report. No model is called while both are empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Heartbeat {
    /// Enable heartbeats.
    pub enabled: bool,
    /// Interval in minutes.
    #[schemars(range(min = 1, max = 10_080))]
    pub every_minutes: u32,
    /// Start of the active hours, in the user's time zone. The range may span midnight; equal times mean the whole day.
    #[schemars(extend("x-check" = "clock"))]
    pub active_from: String,
    /// End of the active hours, in the user's time zone.
    #[schemars(extend("x-check" = "clock"))]
    pub active_until: String,
    /// Where reports are sent: `last` is the chat in which somebody last wrote to the agent, `none` is nowhere, and anything
    /// else is the name of a channel.
    #[schemars(length(min = 1, max = 64))]
    pub target: String,
    /// Recipient on that channel. Default: whoever last wrote there.
    pub to: Option<String>,
    /// Model, as `provider/model`. Default: the agent's.
    pub model: Option<String>,
    /// Overrides for single agents, by name.
    #[schemars(with = "BTreeMap<String, AgentHeartbeat>")]
    pub agents: BTreeMap<AgentId, AgentHeartbeat>,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self {
            enabled: true,
            every_minutes: 30,
            // Nobody wants to be woken up by a heartbeat.
            active_from: "08:00".to_owned(),
            active_until: "23:00".to_owned(),
            target: "last".to_owned(),
            to: None,
            model: None,
            agents: BTreeMap::new(),
        }
    }
}

/// Overrides of one agent's heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentHeartbeat {
    /// Enable the heartbeat.
    pub enabled: Option<bool>,
    /// Interval in minutes.
    #[schemars(range(min = 1, max = 10_080))]
    pub every_minutes: Option<u32>,
    /// Start of the active hours.
    #[schemars(extend("x-check" = "clock"))]
    pub active_from: Option<String>,
    /// End of the active hours.
    #[schemars(extend("x-check" = "clock"))]
    pub active_until: Option<String>,
    /// Where reports are sent: `last`, `none` or a channel.
    pub target: Option<String>,
    /// Recipient on that channel.
    pub to: Option<String>,
    /// Model, as `provider/model`.
    pub model: Option<String>,
}

impl Heartbeat {
    /// Returns an agent's heartbeat, with its overrides applied.
    pub fn of(&self, agent: &AgentId) -> Self {
        let own = self.agents.get(agent).cloned().unwrap_or_default();
        Self {
            enabled: own.enabled.unwrap_or(self.enabled),
            every_minutes: own.every_minutes.unwrap_or(self.every_minutes),
            active_from: own.active_from.unwrap_or_else(|| self.active_from.clone()),
            active_until: own
                .active_until
                .unwrap_or_else(|| self.active_until.clone()),
            target: own.target.unwrap_or_else(|| self.target.clone()),
            to: own.to.or_else(|| self.to.clone()),
            model: own.model.or_else(|| self.model.clone()),
            agents: BTreeMap::new(),
        }
    }

    /// Returns whether it is active at a time of day, in minutes since midnight.
    pub fn is_active(&self, minute: u32) -> bool {
        let (Some(from), Some(until)) = (minutes(&self.active_from), minutes(&self.active_until))
        else {
            return true; // unreachable: both were validated when the settings were read
        };
        match from.cmp(&until) {
            std::cmp::Ordering::Equal => true,
            std::cmp::Ordering::Less => (from..until).contains(&minute),
            // The range spans midnight.
            std::cmp::Ordering::Greater => minute >= from || minute < until,
        }
    }
}

/// Parses a time of day such as `08:30` into minutes since midnight; `24:00` is the end of the day.
pub(crate) fn minutes(text: &str) -> Option<u32> {
    let (hour, minute) = text.split_once(':')?;
    let two = |part: &str| part.len() == 2 && part.bytes().all(|c| c.is_ascii_digit());
    if !two(hour) || !two(minute) {
        return None;
    }
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let at = hour * 60 + minute;
    (minute < 60 && at <= 1_440).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(from: &str, until: &str) -> Heartbeat {
        Heartbeat {
            active_from: from.to_owned(),
            active_until: until.to_owned(),
            ..Heartbeat::default()
        }
    }

    #[test]
    fn active_hours_may_go_over_midnight() {
        for (from, until, minute, active) in [
            ("08:00", "23:00", 479, false),
            ("08:00", "23:00", 480, true),
            ("08:00", "23:00", 1_379, true),
            ("08:00", "23:00", 1_380, false),
            ("22:00", "06:30", 1_320, true),
            ("22:00", "06:30", 0, true),
            ("22:00", "06:30", 390, false),
            ("00:00", "24:00", 1_439, true),
            ("07:00", "07:00", 3, true),
        ] {
            let is = between(from, until).is_active(minute);
            assert_eq!(is, active, "{from}-{until} at {minute}");
        }
    }

    #[test]
    fn an_agent_overrides_the_general_heartbeat() {
        let agent: AgentId = "night".parse().unwrap();
        let own = AgentHeartbeat {
            every_minutes: Some(5),
            target: Some("none".to_owned()),
            ..AgentHeartbeat::default()
        };
        let all = Heartbeat {
            agents: BTreeMap::from([(agent.clone(), own)]),
            ..Heartbeat::default()
        };
        let night = all.of(&agent);
        assert_eq!((night.every_minutes, night.target.as_str()), (5, "none"));
        assert_eq!(night.active_from, "08:00");
        assert_eq!(all.of(&AgentId::main()).every_minutes, 30);
    }
}
