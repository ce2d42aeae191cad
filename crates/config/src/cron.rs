//! Settings of jobs with a schedule and of heartbeats.

use std::collections::BTreeMap;

use manyhands_core::AgentId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Jobs with a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cron {
    /// Whether jobs run when they are due. Off, they can still be run by hand.
    pub enabled: bool,
    /// How many jobs there may be.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_jobs: u32,
    /// How many jobs one caller may have. The owner is not limited.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_jobs_per_caller: u32,
    /// How many jobs run at once; the others wait their turn.
    #[schemars(range(min = 1, max = 256))]
    pub max_concurrent_runs: u32,
    /// What becomes of runs that were missed, unless a job says so itself: `skip` passes them over, `once`
    /// makes up for the last one, `all` for each of them.
    pub missed: MissedPolicy,
    /// How many hours old a missed run may be to be made up for, unless a job says so itself.
    #[schemars(range(min = 1, max = 8_784))]
    pub window_hours: u32,
}

impl Default for Cron {
    fn default() -> Self {
        Self {
            enabled: true,
            max_jobs: 100_000,
            max_jobs_per_caller: 1_000,
            max_concurrent_runs: 4,
            missed: MissedPolicy::Once,
            window_hours: 24,
        }
    }
}

/// What becomes of runs that were missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum MissedPolicy {
    /// They are passed over.
    Skip,
    /// The last one is made up for.
    #[default]
    Once,
    /// All are made up for, one after the other.
    All,
}

/// Every so often an agent looks at its HEARTBEAT.md and at what is open in its TODO.md, and speaks up if there is
/// something to say. Nothing is asked of a model while both are empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Heartbeat {
    /// Whether agents look by themselves.
    pub enabled: bool,
    /// Minutes between two looks.
    #[schemars(range(min = 1, max = 10_080))]
    pub every_minutes: u32,
    /// From when on, by the user's clock. A range over midnight works too; the same time twice is the whole day.
    #[schemars(extend("x-check" = "clock"))]
    pub active_from: String,
    /// Until when, by the user's clock.
    #[schemars(extend("x-check" = "clock"))]
    pub active_until: String,
    /// Where it speaks up: `last` is the chat in which somebody last wrote to the agent, `none` is nowhere, and anything
    /// else is the name of a channel.
    #[schemars(length(min = 1, max = 64))]
    pub target: String,
    /// To whom on that channel; whoever last wrote there unless said.
    pub to: Option<String>,
    /// The model it uses, as `provider/model`; the agent's unless said.
    pub model: Option<String>,
    /// What differs for single agents, by name.
    #[schemars(with = "BTreeMap<String, AgentHeartbeat>")]
    pub agents: BTreeMap<AgentId, AgentHeartbeat>,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self {
            enabled: true,
            every_minutes: 30,
            active_from: "08:00".to_owned(),
            active_until: "23:00".to_owned(),
            target: "last".to_owned(),
            to: None,
            model: None,
            agents: BTreeMap::new(),
        }
    }
}

/// The heartbeat of one agent, where it differs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentHeartbeat {
    /// Whether it looks by itself.
    pub enabled: Option<bool>,
    /// Minutes between two looks.
    #[schemars(range(min = 1, max = 10_080))]
    pub every_minutes: Option<u32>,
    /// From when on, by the user's clock.
    #[schemars(extend("x-check" = "clock"))]
    pub active_from: Option<String>,
    /// Until when, by the user's clock.
    #[schemars(extend("x-check" = "clock"))]
    pub active_until: Option<String>,
    /// Where it speaks up: `last`, `none` or a channel.
    pub target: Option<String>,
    /// To whom on that channel.
    pub to: Option<String>,
    /// The model it uses.
    pub model: Option<String>,
}

impl Heartbeat {
    /// The heartbeat of an agent, with what differs for it.
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

    /// Whether it looks at a time of day, in minutes since midnight.
    pub fn is_active(&self, minute: u32) -> bool {
        let (Some(from), Some(until)) = (minutes(&self.active_from), minutes(&self.active_until))
        else {
            return true; // checked when the settings were read
        };
        match from.cmp(&until) {
            std::cmp::Ordering::Equal => true,
            std::cmp::Ordering::Less => (from..until).contains(&minute),
            std::cmp::Ordering::Greater => minute >= from || minute < until,
        }
    }
}

/// The minutes since midnight of a time of day such as `08:30`; `24:00` is the end of the day.
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
    fn an_agent_has_its_own_where_it_differs() {
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
