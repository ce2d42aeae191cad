//! A schedule and its instants.

use jiff::Timestamp as Instant;
use jiff::tz::TimeZone;
use manyhands_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::expression::Expression;

/// How far back to search for the last instant first; then four times as far, and so on.
const FIRST_LOOK_MS: i64 = 60_000;
/// Maximum number of instants examined to find the last.
const MAX_STEPS: usize = 10_000;

/// When a job is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    rename_all_fields = "camelCase",
    try_from = "StoredSchedule",
    into = "StoredSchedule"
)]
pub enum Schedule {
    /// Once.
    At {
        /// The time.
        at_ms: i64,
    },
    /// At a fixed interval that never drifts.
    Every {
        /// The interval.
        every_ms: i64,
        /// The first instant; all others are multiples of the interval after it.
        anchor_ms: i64,
    },
    /// By a cron expression.
    Cron {
        /// The expression.
        expr: Expression,
        /// Time zone; `None` means the user's.
        tz: Option<String>,
    },
}

/// The stored form of a schedule.
#[derive(Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
enum StoredSchedule {
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

impl TryFrom<StoredSchedule> for Schedule {
    type Error = crate::expression::InvalidExpression;

    fn try_from(stored: StoredSchedule) -> Result<Self, Self::Error> {
        Ok(match stored {
            StoredSchedule::At { at_ms } => Self::At { at_ms },
            StoredSchedule::Every {
                every_ms,
                anchor_ms,
            } => Self::Every {
                // A stored 0 would divide by zero below; it can only come from an edited database.
                every_ms: every_ms.max(1),
                anchor_ms,
            },
            StoredSchedule::Cron { expr, tz } => Self::Cron {
                expr: expr.parse()?,
                tz,
            },
        })
    }
}

impl From<Schedule> for StoredSchedule {
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

/// Returns the time zone with that name; the machine's without one, and UTC if it is unknown.
pub fn zone(name: Option<&str>) -> TimeZone {
    match name {
        Some(name) => TimeZone::get(name).unwrap_or(TimeZone::UTC),
        None => TimeZone::try_system().unwrap_or(TimeZone::UTC),
    }
}

impl Schedule {
    /// Returns whether it is due only once.
    pub fn is_once(&self) -> bool {
        matches!(self, Self::At { .. })
    }

    /// Returns the first instant after `after`; `user` is the time zone if the schedule has none.
    pub fn next_after(&self, after: Timestamp, user: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::At { at_ms } => (*at_ms > after.0).then_some(Timestamp(*at_ms)),
            Self::Every {
                every_ms,
                anchor_ms,
            } => {
                // i128: both may be anything a client sent, and their difference must not overflow.
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

    /// Returns the instants after `after` up to `until`, at most `most`, earliest first.
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

    /// Returns the last instant after `after` up to `until`.
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
        // Searched in growing windows: a minutely job missed for a year must not be stepped through.
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
