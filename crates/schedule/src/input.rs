//! Schedules as written by people and models.

use jiff::Timestamp as Instant;
use jiff::tz::TimeZone;
use manyhands_core::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::at::{after, parse_at};
use crate::schedule::Schedule;

/// Shortest interval.
const MIN_INTERVAL_MS: i64 = 1_000;
/// Longest interval: ten years.
const MAX_INTERVAL_MS: i64 = 3_653 * 86_400_000;
/// Maximum age of a time that is accepted as now.
const JUST_NOW_MS: i64 = 60_000;

/// ScheduleKind of schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ScheduleKind {
    /// Once.
    At,
    /// At an interval.
    Every,
    /// By a cron expression.
    Cron,
}

/// A schedule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct ScheduleInput {
    /// `at` (once), `every` (an interval) or `cron` (an expression).
    pub kind: Option<ScheduleKind>,
    /// For `at`: the time. A date and time, `in 2 hours`, `today 17:30` or `tomorrow at 9am`; in the user's time
    /// zone unless it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// For `at`: a duration from now, such as `30 minutes`.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub from_now: Option<String>,
    /// For `at`: the time in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<i64>,
    /// For `every`: the interval in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_ms: Option<i64>,
    /// For `every`: the interval in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_seconds: Option<f64>,
    /// For `every`: the interval in minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_minutes: Option<f64>,
    /// For `every`: the interval in hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_hours: Option<f64>,
    /// For `every`: the interval in days of 24 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_days: Option<f64>,
    /// For `every`: the start of the interval grid; default: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// For `every`: the start of the interval grid in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor_ms: Option<i64>,
    /// For `cron`: minute, hour, day of month, month and day of week; or a macro such as `@daily`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expr: Option<String>,
    /// For `cron`: an IANA time zone such as `Europe/Berlin`; default: the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tz: Option<String>,
}

/// An invalid schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct InvalidSchedule {
    /// The invalid field.
    pub field: &'static str,
    /// The reason, and what is accepted.
    pub why: String,
}

fn wrong<T>(field: &'static str, why: impl Into<String>) -> Result<T, InvalidSchedule> {
    let why = why.into();
    Err(InvalidSchedule { field, why })
}

impl Schedule {
    /// Validates a schedule written at `now` by a user in the time zone `user`.
    pub fn read(
        input: &ScheduleInput,
        now: Timestamp,
        user: &TimeZone,
    ) -> Result<Self, InvalidSchedule> {
        let Some(kind) = input.kind else {
            return wrong("kind", "must be at, every or cron");
        };
        input.only_of(kind)?;
        match kind {
            ScheduleKind::At => input.once(now, user),
            ScheduleKind::Every => input.grid(now, user),
            ScheduleKind::Cron => input.calendar(now, user),
        }
    }
}

impl ScheduleInput {
    /// Refuses fields of another kind: ignoring them would silently create a different schedule than intended.
    fn only_of(&self, kind: ScheduleKind) -> Result<(), InvalidSchedule> {
        for (field, of, given) in [
            ("at", ScheduleKind::At, self.at.is_some()),
            ("in", ScheduleKind::At, self.from_now.is_some()),
            ("atMs", ScheduleKind::At, self.at_ms.is_some()),
            ("everyMs", ScheduleKind::Every, self.every_ms.is_some()),
            (
                "everySeconds",
                ScheduleKind::Every,
                self.every_seconds.is_some(),
            ),
            (
                "everyMinutes",
                ScheduleKind::Every,
                self.every_minutes.is_some(),
            ),
            (
                "everyHours",
                ScheduleKind::Every,
                self.every_hours.is_some(),
            ),
            ("everyDays", ScheduleKind::Every, self.every_days.is_some()),
            ("anchor", ScheduleKind::Every, self.anchor.is_some()),
            ("anchorMs", ScheduleKind::Every, self.anchor_ms.is_some()),
            ("expr", ScheduleKind::Cron, self.expr.is_some()),
            ("tz", ScheduleKind::Cron, self.tz.is_some()),
        ] {
            if given && of != kind {
                let of = format!("{of:?}").to_lowercase();
                return wrong(field, format!("is only valid with kind {of}"));
            }
        }
        Ok(())
    }

    fn once(&self, now: Timestamp, user: &TimeZone) -> Result<Schedule, InvalidSchedule> {
        let given = [
            self.at.is_some(),
            self.from_now.is_some(),
            self.at_ms.is_some(),
        ];
        let (field, at) = match (&self.at, &self.from_now, self.at_ms) {
            _ if given.into_iter().filter(|one| *one).count() != 1 => {
                return wrong("at", "set exactly one of at, in and atMs");
            }
            (Some(text), ..) => ("at", moment("at", text, now, user)?),
            (_, Some(text), _) => ("in", from_now(text, now, user)?),
            (.., at) => ("atMs", Timestamp(at.unwrap_or_default())),
        };
        // Tolerates the time a model needs between computing "now" and making the call.
        if at.0 < now.0 - JUST_NOW_MS {
            let (at, now) = (at.rfc3339(), now.rfc3339());
            return wrong(field, format!("{at} is in the past; it is {now} now"));
        }
        match Instant::from_millisecond(at.0) {
            Ok(_) => Ok(Schedule::At { at_ms: at.0 }),
            Err(_) => wrong(field, "is after the year 9999"),
        }
    }

    fn grid(&self, now: Timestamp, user: &TimeZone) -> Result<Schedule, InvalidSchedule> {
        let units = [
            ("everySeconds", self.every_seconds, 1_000.0),
            ("everyMinutes", self.every_minutes, 60_000.0),
            ("everyHours", self.every_hours, 3_600_000.0),
            ("everyDays", self.every_days, 86_400_000.0),
        ];
        let mut steps = units
            .into_iter()
            .filter_map(|(field, count, unit)| Some((field, count? * unit)))
            .chain(self.every_ms.map(|ms| ("everyMs", ms as f64)));
        let (Some((field, step)), None) = (steps.next(), steps.next()) else {
            return wrong(
                "everyMinutes",
                "set exactly one of everyMinutes, everyHours and everyDays",
            );
        };
        let most = MAX_INTERVAL_MS as f64;
        // Written so that NaN is refused, too.
        if !(step >= MIN_INTERVAL_MS as f64 && step <= most) {
            return wrong(
                field,
                "the interval must be between one second and ten years",
            );
        }
        let anchor_ms = match (&self.anchor, self.anchor_ms) {
            (Some(_), Some(_)) => return wrong("anchorMs", "set anchor or anchorMs, not both"),
            (Some(text), None) => moment("anchor", text, now, user)?.0,
            (None, Some(ms)) if Instant::from_millisecond(ms).is_ok() => ms,
            (None, Some(_)) => return wrong("anchorMs", "is not a valid time"),
            (None, None) => now.0,
        };
        Ok(Schedule::Every {
            every_ms: step.round() as i64,
            anchor_ms,
        })
    }

    fn calendar(&self, now: Timestamp, user: &TimeZone) -> Result<Schedule, InvalidSchedule> {
        let Some(text) = &self.expr else {
            return wrong("expr", "is required, such as \"0 9 * * 1-5\"");
        };
        let expr = text.parse();
        let expr = expr.or_else(|error| wrong("expr", format!("{error}")))?;
        let tz = match self.tz.as_deref().map(str::trim) {
            None => None,
            Some(name) => match TimeZone::get(name) {
                Ok(zone) => Some(zone.iana_name().unwrap_or(name).to_owned()),
                Err(_) => {
                    let name: String = name.chars().take(60).collect();
                    let why =
                        format!("unknown time zone {name:?}; use a name such as Europe/Berlin");
                    return wrong("tz", why);
                }
            },
        };
        let schedule = Schedule::Cron { expr, tz };
        match schedule.next_after(now, user) {
            Some(_) => Ok(schedule),
            None => wrong("expr", format!("{text} never matches again")),
        }
    }
}

fn moment(
    field: &'static str,
    text: &str,
    now: Timestamp,
    user: &TimeZone,
) -> Result<Timestamp, InvalidSchedule> {
    parse_at(text, now, user).or_else(|why| wrong(field, why))
}

fn from_now(text: &str, now: Timestamp, user: &TimeZone) -> Result<Timestamp, InvalidSchedule> {
    let lower = text.trim().to_ascii_lowercase();
    let plain = lower.strip_prefix("in ").unwrap_or(&lower).trim();
    let here = Instant::from_millisecond(now.0).ok();
    let found = here
        .filter(|_| lower.len() <= 100)
        .and_then(|here| after(plain, &here.to_zoned(user.clone())));
    match found {
        Some(at) => Ok(Timestamp(at.as_millisecond())),
        None => {
            let text: String = text.chars().take(60).collect();
            wrong(
                "in",
                format!("{text:?} is not a duration; use for example \"30 minutes\" or \"2h\""),
            )
        }
    }
}
