//! Recurrence of to-dos: daily, weekly, every N days or hours.

use std::fmt;
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp as Instant, ToSpan as _};
use manyhands_core::Timestamp;

/// Time format of TODO files.
const FORMAT: &str = "%Y-%m-%d %H:%M";
/// Longest interval, in days.
const MAX_DAYS: i64 = 366;

/// The interval of a recurring item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Every N days, at the same local time.
    Days(i64),
    /// Every N hours.
    Hours(i64),
}

/// An invalid recurrence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecurError {
    /// Unknown interval.
    #[error(
        "{0:?} is no way to repeat; write daily, weekly, every N days or every N hours, up to 366 days"
    )]
    Repeat(String),
    /// Invalid time.
    #[error("{0:?} is no time; write YYYY-MM-DD HH:MM, as in 2026-02-12 09:00")]
    Time(String),
    /// Unknown time zone.
    #[error("{0:?} is no time zone; write an IANA name, as in Europe/Berlin")]
    Zone(String),
}

impl FromStr for Repeat {
    type Err = RecurError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || RecurError::Repeat(text.to_owned());
        let lower = text.trim().to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let (count, unit) = match words[..] {
            ["daily"] => (1, "day"),
            ["weekly"] => (1, "week"),
            ["every", unit] => (1, unit),
            ["every", count, unit] => (count.parse::<i64>().map_err(|_| unknown())?, unit),
            _ => return Err(unknown()),
        };
        let (repeat, days) = match unit.strip_suffix('s').unwrap_or(unit) {
            "day" => (Self::Days(count), count),
            "week" => (Self::Days(count.saturating_mul(7)), count.saturating_mul(7)),
            "hour" => (Self::Hours(count), count / 24),
            _ => return Err(unknown()),
        };
        match count >= 1 && days <= MAX_DAYS {
            true => Ok(repeat),
            false => Err(unknown()),
        }
    }
}

impl fmt::Display for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Days(1) => f.write_str("daily"),
            Self::Days(7) => f.write_str("weekly"),
            Self::Days(count) => write!(f, "every {count} days"),
            Self::Hours(count) => write!(f, "every {count} hours"),
        }
    }
}

/// The next due time and the interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurrence {
    /// Local time in `zone`.
    next: DateTime,
    repeat: Repeat,
    zone: TimeZone,
}

impl Recurrence {
    /// Parses the three fields of a line; the zone defaults to UTC.
    pub fn parse(next: &str, repeat: &str, zone: Option<&str>) -> Result<Self, RecurError> {
        let time = |_| RecurError::Time(next.to_owned());
        let name = zone.unwrap_or("UTC");
        let recurrence = Self {
            next: DateTime::strptime(FORMAT, next.trim()).map_err(time)?,
            repeat: repeat.parse()?,
            zone: TimeZone::get(name).map_err(|_| RecurError::Zone(name.to_owned()))?,
        };
        recurrence
            .instant()
            .ok_or_else(|| RecurError::Time(next.to_owned()))?;
        Ok(recurrence)
    }

    /// The interval.
    pub fn repeat(&self) -> Repeat {
        self.repeat
    }

    /// The next due time, in the format of TODO files.
    pub fn next(&self) -> String {
        self.next.strftime(FORMAT).to_string()
    }

    fn instant(&self) -> Option<Instant> {
        let zoned = self.next.to_zoned(self.zone.clone()).ok()?;
        Some(zoned.timestamp())
    }

    /// Whether it is due at `now`.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let next = self.instant();
        next.is_some_and(|next| next.as_millisecond() <= now.0)
    }

    /// The first occurrence after `now`, skipping missed ones. `None` on overflow.
    #[must_use]
    pub fn after(&self, now: Timestamp) -> Option<Self> {
        let now = Instant::from_millisecond(now.0).ok()?;
        let next = match self.repeat {
            Repeat::Hours(hours) => {
                let start = self.instant()?;
                let step = hours.checked_mul(3_600)?;
                let passed = now.as_second().saturating_sub(start.as_second());
                // Computed instead of looped: an item may have been overdue for years.
                let steps = passed.max(0).div_euclid(step) + 1;
                let later = SignedDuration::from_secs(steps.checked_mul(step)?);
                start.checked_add(later).ok()?.to_zoned(self.zone.clone())
            }
            Repeat::Days(days) => {
                let today = now.to_zoned(self.zone.clone()).datetime();
                let passed = self.next.date().until(today.date()).ok()?.get_days();
                let mut steps = i64::from(passed.max(0)).div_euclid(days);
                loop {
                    let at = self
                        .next
                        .checked_add(steps.checked_mul(days)?.days())
                        .ok()?;
                    let at = at.to_zoned(self.zone.clone()).ok()?;
                    if at.timestamp() > now && steps > 0 {
                        // Keep the wall-clock time: on a day when daylight saving skips it, the library shifts the
                        // time, and that shift must not stick.
                        let date = at.date().to_datetime(self.next.time());
                        break date.to_zoned(self.zone.clone()).ok()?;
                    }
                    steps += 1;
                }
            }
        };
        let next = match self.repeat {
            Repeat::Hours(_) => next.datetime(),
            Repeat::Days(_) => next.date().to_datetime(self.next.time()),
        };
        Some(Self {
            next,
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<Instant>().unwrap().as_millisecond())
    }

    #[track_caller]
    fn check(next: &str, repeat: &str, zone: &str, now: &str, expect: &str) {
        let said = Recurrence::parse(next, repeat, Some(zone)).unwrap();
        assert_eq!(said.after(at(now)).unwrap().next(), expect);
    }

    #[test]
    fn the_next_time_is_the_first_one_after_now() {
        let daily = "2026-02-12 09:00";
        check(
            daily,
            "daily",
            "UTC",
            "2026-02-12T09:00:00Z",
            "2026-02-13 09:00",
        );
        check(
            daily,
            "daily",
            "UTC",
            "2026-02-20T08:59:59Z",
            "2026-02-20 09:00",
        );
        check(
            daily,
            "weekly",
            "UTC",
            "2026-02-20T08:59:59Z",
            "2026-02-26 09:00",
        );
        check(
            daily,
            "every 3 days",
            "UTC",
            "2026-02-15T09:00:00Z",
            "2026-02-18 09:00",
        );
        check(
            daily,
            "every 6 hours",
            "UTC",
            "2026-02-13T04:00:00Z",
            "2026-02-13 09:00",
        );
        check(
            daily,
            "daily",
            "UTC",
            "2036-02-12T09:00:00Z",
            "2036-02-13 09:00",
        );
        // Asked early, it still goes on: the time that was due is over.
        check(
            daily,
            "daily",
            "UTC",
            "2026-02-01T00:00:00Z",
            "2026-02-13 09:00",
        );
    }

    #[test]
    fn the_time_of_day_stays_over_a_change_of_clocks() {
        let zone = "Europe/Berlin";
        check(
            "2026-03-28 09:00",
            "daily",
            zone,
            "2026-03-28T08:00:00Z",
            "2026-03-29 09:00",
        );
        check(
            "2026-03-28 02:30",
            "daily",
            zone,
            "2026-03-28T01:30:00Z",
            "2026-03-29 02:30",
        );
        check(
            "2026-03-29 02:30",
            "daily",
            zone,
            "2026-03-29T01:30:00Z",
            "2026-03-30 02:30",
        );
        check(
            "2026-10-25 00:30",
            "every 2 hours",
            zone,
            "2026-10-24T22:30:00Z",
            "2026-10-25 02:30",
        );
        let due = Recurrence::parse("2026-03-28 09:00", "daily", Some(zone)).unwrap();
        assert!(due.is_due(at("2026-03-28T08:00:00Z")) && !due.is_due(at("2026-03-28T07:59:59Z")));
    }

    #[test]
    fn repetitions_are_parsed_or_refused() {
        for (text, expect) in [
            ("daily", "daily"),
            ("Every day", "daily"),
            ("every 7 days", "weekly"),
            ("every 2 weeks", "every 14 days"),
            ("every 5 hours", "every 5 hours"),
        ] {
            assert_eq!(text.parse::<Repeat>().unwrap().to_string(), expect);
        }
        for text in [
            "",
            "often",
            "every 0 days",
            "every -1 hours",
            "every 367 days",
            "every 9999999999999999999 days",
            "every 9223372036854775807 weeks",
            "every 2 days or so",
        ] {
            assert!(text.parse::<Repeat>().is_err(), "{text:?}");
        }
        for (next, zone) in [
            ("tomorrow", "UTC"),
            ("2026-02-30 09:00", "UTC"),
            ("2026-02-12 09:00", "Mars/Base"),
        ] {
            assert!(
                Recurrence::parse(next, "daily", Some(zone)).is_err(),
                "{next} {zone}"
            );
        }
    }
}
