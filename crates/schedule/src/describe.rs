//! Describes schedules in words.

use jiff::Timestamp as Instant;
use jiff::tz::TimeZone;

use crate::expression::{Expression, Field};
use crate::schedule::Schedule;

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Maximum number of times of day listed individually.
const MAX_TIMES: usize = 6;

impl Schedule {
    /// Describes the schedule, such as `at 09:00 on Monday to Friday (Europe/Berlin)`.
    pub fn describe(&self, user: &TimeZone) -> String {
        match self {
            Self::At { at_ms } => format!("once, {}", moment(*at_ms, user)),
            Self::Every {
                every_ms,
                anchor_ms,
            } => format!(
                "every {} from {}",
                length(*every_ms),
                moment(*anchor_ms, user)
            ),
            Self::Cron { expr, tz } => {
                let zone = tz.as_deref().or(user.iana_name()).unwrap_or("UTC");
                format!("{} ({zone})", expr.describe())
            }
        }
    }
}

fn moment(at_ms: i64, user: &TimeZone) -> String {
    let Ok(at) = Instant::from_millisecond(at_ms) else {
        return "never".to_owned();
    };
    let zone = user.iana_name().unwrap_or("UTC");
    let at = at.to_zoned(user.clone());
    format!("{} ({zone})", at.strftime("%Y-%m-%d %H:%M:%S"))
}

fn length(ms: i64) -> String {
    let units = [
        (86_400_000, "day"),
        (3_600_000, "hour"),
        (60_000, "minute"),
        (1_000, "second"),
        (1, "millisecond"),
    ];
    let (unit, name) = units
        .into_iter()
        .find(|(unit, _)| ms % unit == 0)
        .unwrap_or((1, "millisecond"));
    match ms / unit {
        1 => name.to_owned(),
        count => format!("{count} {name}s"),
    }
}

impl Expression {
    /// Describes the expression.
    pub fn describe(&self) -> String {
        let mut words = self.times();
        let weekdays = (!self.weekdays.star)
            .then(|| list(self.weekdays, |day| DAYS[usize::from(day)].to_owned()));
        let days = (!self.days.star).then(|| list(self.days, |day| day.to_string()));
        match (days, weekdays) {
            // Either matches, which surprises many; the text says so.
            (Some(days), Some(weekdays)) => {
                words.push_str(&format!(
                    " on day {days} of the month and on every {weekdays}"
                ));
            }
            (Some(days), None) => words.push_str(&format!(" on day {days} of the month")),
            (None, Some(weekdays)) => words.push_str(&format!(" on {weekdays}")),
            (None, None) => {}
        }
        for (field, all, name) in [
            (self.days, 31, "day of the month"),
            (self.weekdays, 7, "day of the week"),
        ] {
            if field.star && field.count() < all {
                let values = list(field, |value| value.to_string());
                words.push_str(&format!(", only where the {name} is {values}"));
            }
        }
        if self.months.count() < 12 {
            let months = list(self.months, |month| {
                MONTHS[usize::from(month - 1)].to_owned()
            });
            words.push_str(&format!(" in {months}"));
        }
        words
    }

    fn times(&self) -> String {
        let (minutes, hours) = (self.minutes.count(), self.hours.count());
        if minutes as usize * hours as usize <= MAX_TIMES {
            let hours = self.hours.values();
            let times: Vec<String> = hours
                .flat_map(|hour| {
                    let minutes = self.minutes.values();
                    minutes.map(move |minute| format!("{hour:02}:{minute:02}"))
                })
                .collect();
            return format!("at {}", times.join(", "));
        }
        let minute = match minutes {
            60 => "every minute".to_owned(),
            1 => format!("at minute {}", list(self.minutes, |at| at.to_string())),
            _ => format!("at minutes {}", list(self.minutes, |at| at.to_string())),
        };
        match hours {
            24 => format!("{minute} of every hour"),
            _ => format!(
                "{minute} of hours {}",
                list(self.hours, |at| at.to_string())
            ),
        }
    }
}

/// Formats values, merging consecutive ones into ranges.
fn list(field: Field, name: impl Fn(u8) -> String) -> String {
    let mut runs: Vec<(u8, u8)> = Vec::new();
    for value in field.values() {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == value => *last = value,
            _ => runs.push((value, value)),
        }
    }
    let words = runs.into_iter().map(|(first, last)| match last - first {
        0 => name(first),
        1 => format!("{}, {}", name(first), name(last)),
        _ => format!("{} to {}", name(first), name(last)),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_read_as_sentences() {
        for (text, words) in [
            ("0 9 * * 1-5", "at 09:00 on Monday to Friday"),
            ("@daily", "at 00:00"),
            ("*/15 * * * *", "at minutes 0, 15, 30, 45 of every hour"),
            ("* * * * *", "every minute of every hour"),
            ("0 * * * *", "at minute 0 of every hour"),
            ("30 8,20 1 * *", "at 08:30, 20:30 on day 1 of the month"),
            ("0 0 29 2 *", "at 00:00 on day 29 of the month in February"),
            (
                "0 12 13 * fri",
                "at 12:00 on day 13 of the month and on every Friday",
            ),
            (
                "0 12 */10 * fri",
                "at 12:00 on Friday, only where the day of the month is 1, 11, 21, 31",
            ),
        ] {
            assert_eq!(text.parse::<Expression>().unwrap().describe(), words);
        }
    }

    #[test]
    fn intervals_and_times_are_described_in_the_users_zone() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let every = Schedule::Every {
            every_ms: 5_400_000,
            anchor_ms: 1_794_747_600_000,
        };
        assert_eq!(
            every.describe(&berlin),
            "every 90 minutes from 2026-11-15 14:00:00 (Europe/Berlin)"
        );
        let once = Schedule::At {
            at_ms: 1_794_747_600_000,
        };
        assert_eq!(
            once.describe(&TimeZone::UTC),
            "once, 2026-11-15 13:00:00 (UTC)"
        );
    }
}
