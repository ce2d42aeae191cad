//! A schedule, and its instants.

use jiff::Timestamp as Instant;
use jiff::tz::TimeZone;
use manyhands_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::expression::Expression;

/// How far back the last instant is looked for first; then four times as far, and so on.
const FIRST_LOOK_MS: i64 = 60_000;
/// How many instants are stepped through to find the last.
const MAX_STEPS: usize = 10_000;

/// When something is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    rename_all_fields = "camelCase",
    try_from = "Kept",
    into = "Kept"
)]
pub enum Schedule {
    /// Once.
    At {
        /// When.
        at_ms: i64,
    },
    /// On a grid of equal steps that never drifts.
    Every {
        /// How long a step is.
        every_ms: i64,
        /// One of its points; none is before it.
        anchor_ms: i64,
    },
    /// By the calendar.
    Cron {
        /// The expression.
        expr: Expression,
        /// By whose clocks; none means the user's.
        tz: Option<String>,
    },
}

/// A schedule as it is written down.
#[derive(Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
enum Kept {
    At {
        at_ms: i64,
    },
    Every {
        every_ms: i64,
        anchor_ms: i64,
    },
    Cron {
        expr: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tz: Option<String>,
    },
}

impl TryFrom<Kept> for Schedule {
    type Error = crate::expression::InvalidExpression;

    fn try_from(kept: Kept) -> Result<Self, Self::Error> {
        Ok(match kept {
            Kept::At { at_ms } => Self::At { at_ms },
            Kept::Every {
                every_ms,
                anchor_ms,
            } => Self::Every {
                every_ms: every_ms.max(1),
                anchor_ms,
            },
            Kept::Cron { expr, tz } => Self::Cron {
                expr: expr.parse()?,
                tz,
            },
        })
    }
}

impl From<Schedule> for Kept {
    fn from(schedule: Schedule) -> Self {
        match schedule {
            Schedule::At { at_ms } => Self::At { at_ms },
            Schedule::Every {
                every_ms,
                anchor_ms,
            } => Self::Every {
                every_ms,
                anchor_ms,
            },
            Schedule::Cron { expr, tz } => Self::Cron {
                expr: expr.as_str().to_owned(),
                tz,
            },
        }
    }
}

/// The zone of that name; the machine's own without one, and UTC where it is not known.
pub fn zone(name: Option<&str>) -> TimeZone {
    match name {
        Some(name) => TimeZone::get(name).unwrap_or(TimeZone::UTC),
        None => TimeZone::try_system().unwrap_or(TimeZone::UTC),
    }
}

impl Schedule {
    /// Whether it comes only once.
    pub fn is_once(&self) -> bool {
        matches!(self, Self::At { .. })
    }

    /// The first instant after another; `user` is the zone where the schedule names none.
    pub fn next_after(&self, after: Timestamp, user: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::At { at_ms } => (*at_ms > after.0).then_some(Timestamp(*at_ms)),
            Self::Every {
                every_ms,
                anchor_ms,
            } => {
                let passed = i128::from(after.0) - i128::from(*anchor_ms);
                if passed < 0 {
                    return Some(Timestamp(*anchor_ms));
                }
                let every = i128::from((*every_ms).max(1));
                let next = i128::from(*anchor_ms) + (passed / every + 1) * every;
                i64::try_from(next).ok().map(Timestamp)
            }
            Self::Cron { expr, tz } => {
                let named = tz.as_deref().and_then(|name| TimeZone::get(name).ok());
                let after = Instant::from_millisecond(after.0).ok()?;
                let next = expr.next_after(after, named.as_ref().unwrap_or(user))?;
                Some(Timestamp(next.as_millisecond()))
            }
        }
    }

    /// The instants after one and until another, at most so many, the earliest first.
    pub fn between(
        &self,
        after: Timestamp,
        until: Timestamp,
        most: usize,
        user: &TimeZone,
    ) -> Vec<Timestamp> {
        let step = |at: &Timestamp| self.next_after(*at, user);
        std::iter::successors(self.next_after(after, user), step)
            .take_while(|at| *at <= until)
            .take(most)
            .collect()
    }

    /// The last instant that is after one and not after another.
    pub fn last_until(
        &self,
        after: Timestamp,
        until: Timestamp,
        user: &TimeZone,
    ) -> Option<Timestamp> {
        if let Self::Every {
            every_ms,
            anchor_ms,
        } = self
        {
            let passed = until
                .0
                .checked_sub(*anchor_ms)
                .filter(|passed| *passed >= 0)?;
            let last = Timestamp(anchor_ms + passed / every_ms * every_ms);
            return (last > after).then_some(last);
        }
        let mut back = FIRST_LOOK_MS;
        loop {
            let from = Timestamp(until.0.saturating_sub(back)).max(after);
            let found = self.between(from, until, MAX_STEPS, user);
            if let Some(last) = found.last() {
                return Some(*last);
            }
            if from == after {
                return None;
            }
            back = back.saturating_mul(4);
        }
    }
}
