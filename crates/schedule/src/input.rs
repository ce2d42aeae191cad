//! Schedules as people and models write them.

use jiff::Timestamp as Instant;
use jiff::tz::TimeZone;
use manyhands_core::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::at::{after, parse_at};
use crate::schedule::Schedule;

/// The shortest step of a grid.
const SHORTEST_MS: i64 = 1_000;
/// The longest: ten years.
const LONGEST_MS: i64 = 3_653 * 86_400_000;
/// How long ago a moment may be that somebody meant as now.
const JUST_NOW_MS: i64 = 60_000;

/// What kind of schedule it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Kind {
    /// Once.
    At,
    /// On a grid of equal steps.
    Every,
    /// By the calendar.
    Cron,
}

/// When a job is due.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct ScheduleInput {
    /// `at` (once), `every` (an interval) or `cron` (an expression).
    pub kind: Option<Kind>,
    /// For `at`: when. A date and time, `in 2 hours`, `today 17:30` or `tomorrow at 9am`; in the
    /// user's zone unless it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// For `at`: how long from now, such as `30 minutes`.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub from_now: Option<String>,
    /// For `at`: when, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<i64>,
    /// For `every`: milliseconds between two runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_ms: Option<i64>,
    /// For `every`: seconds between two runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_seconds: Option<f64>,
    /// For `every`: minutes between two runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_minutes: Option<f64>,
    /// For `every`: hours between two runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_hours: Option<f64>,
    /// For `every`: days of 24 hours between two runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_days: Option<f64>,
    /// For `every`: a moment from which the interval is counted; now when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// For `every`: that moment in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor_ms: Option<i64>,
    /// For `cron`: minute, hour, day of month, month and day of week; or `@daily` and the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expr: Option<String>,
    /// For `cron`: an IANA time zone such as `Europe/Berlin`; the user's when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tz: Option<String>,
}

/// A schedule that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct WrongSchedule {
    /// Which field is wrong.
    pub field: &'static str,
    /// Why, and what can be written.
    pub why: String,
}

fn wrong<T>(field: &'static str, why: impl Into<String>) -> Result<T, WrongSchedule> {
    let why = why.into();
    Err(WrongSchedule { field, why })
}

impl Schedule {
    /// The schedule that is meant by somebody who writes at `now` and lives by the clocks of
    /// `user`.
    pub fn read(
        input: &ScheduleInput,
        now: Timestamp,
        user: &TimeZone,
    ) -> Result<Self, WrongSchedule> {
        let Some(kind) = input.kind else {
            return wrong("kind", "say at, every or cron");
        };
        input.only_of(kind)?;
        match kind {
            Kind::At => input.once(now, user),
            Kind::Every => input.grid(now, user),
            Kind::Cron => input.calendar(now, user),
        }
    }
}

impl ScheduleInput {
    /// A field of another kind is not passed over: who wrote it expects something of it.
    fn only_of(&self, kind: Kind) -> Result<(), WrongSchedule> {
        for (field, of, given) in [
            ("at", Kind::At, self.at.is_some()),
            ("in", Kind::At, self.from_now.is_some()),
            ("atMs", Kind::At, self.at_ms.is_some()),
            ("everyMs", Kind::Every, self.every_ms.is_some()),
            ("everySeconds", Kind::Every, self.every_seconds.is_some()),
            ("everyMinutes", Kind::Every, self.every_minutes.is_some()),
            ("everyHours", Kind::Every, self.every_hours.is_some()),
            ("everyDays", Kind::Every, self.every_days.is_some()),
            ("anchor", Kind::Every, self.anchor.is_some()),
            ("anchorMs", Kind::Every, self.anchor_ms.is_some()),
            ("expr", Kind::Cron, self.expr.is_some()),
            ("tz", Kind::Cron, self.tz.is_some()),
        ] {
            if given && of != kind {
                let of = format!("{of:?}").to_lowercase();
                return wrong(field, format!("belongs to kind {of}"));
            }
        }
        Ok(())
    }

    fn once(&self, now: Timestamp, user: &TimeZone) -> Result<Schedule, WrongSchedule> {
        let given = [
            self.at.is_some(),
            self.from_now.is_some(),
            self.at_ms.is_some(),
        ];
        let (field, at) = match (&self.at, &self.from_now, self.at_ms) {
            _ if given.into_iter().filter(|one| *one).count() != 1 => {
                return wrong("at", "say when with one of at, in and atMs");
            }
            (Some(text), ..) => ("at", moment("at", text, now, user)?),
            (_, Some(text), _) => ("in", from_now(text, now, user)?),
            (.., at) => ("atMs", Timestamp(at.unwrap_or_default())),
        };
        if at.0 < now.0 - JUST_NOW_MS {
            let (at, now) = (at.rfc3339(), now.rfc3339());
            return wrong(field, format!("{at} is over; it is {now} now"));
        }
        match Instant::from_millisecond(at.0) {
            Ok(_) => Ok(Schedule::At { at_ms: at.0 }),
            Err(_) => wrong(field, "is beyond the year 9999"),
        }
    }

    fn grid(&self, now: Timestamp, user: &TimeZone) -> Result<Schedule, WrongSchedule> {
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
                "say the interval with one of everyMinutes, everyHours and everyDays",
            );
        };
        let most = LONGEST_MS as f64;
        if !(step >= SHORTEST_MS as f64 && step <= most) {
            return wrong(field, "the interval is from one second to ten years");
        }
        let anchor_ms = match (&self.anchor, self.anchor_ms) {
            (Some(_), Some(_)) => return wrong("anchorMs", "say anchor or anchorMs, not both"),
            (Some(text), None) => moment("anchor", text, now, user)?.0,
            (None, Some(ms)) if Instant::from_millisecond(ms).is_ok() => ms,
            (None, Some(_)) => return wrong("anchorMs", "is no moment"),
            (None, None) => now.0,
        };
        Ok(Schedule::Every {
            every_ms: step.round() as i64,
            anchor_ms,
        })
    }

    fn calendar(&self, now: Timestamp, user: &TimeZone) -> Result<Schedule, WrongSchedule> {
        let Some(text) = &self.expr else {
            return wrong("expr", "say when, such as \"0 9 * * 1-5\"");
        };
        let expr = text.parse();
        let expr = expr.or_else(|error| wrong("expr", format!("{error}")))?;
        let tz = match self.tz.as_deref().map(str::trim) {
            None => None,
            Some(name) => match TimeZone::get(name) {
                Ok(zone) => Some(zone.iana_name().unwrap_or(name).to_owned()),
                Err(_) => {
                    let name: String = name.chars().take(60).collect();
                    let why = format!("{name:?} is no time zone; write one like Europe/Berlin");
                    return wrong("tz", why);
                }
            },
        };
        let schedule = Schedule::Cron { expr, tz };
        match schedule.next_after(now, user) {
            Some(_) => Ok(schedule),
            None => wrong("expr", format!("{text} never comes again")),
        }
    }
}

fn moment(
    field: &'static str,
    text: &str,
    now: Timestamp,
    user: &TimeZone,
) -> Result<Timestamp, WrongSchedule> {
    parse_at(text, now, user).or_else(|why| wrong(field, why))
}

fn from_now(text: &str, now: Timestamp, user: &TimeZone) -> Result<Timestamp, WrongSchedule> {
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
                format!("{text:?} is not a while; write \"30 minutes\" or \"2h\""),
            )
        }
    }
}
