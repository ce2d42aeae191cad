//! The user's time of day.

use jiff::tz::TimeZone;
use jiff::{Timestamp as Instant, ToSpan as _, Zoned};
use manyhands_agent::LocalTime;

/// The user's time at an instant, in the given zone or the machine's own.
pub fn local_time(at_ms: i64, zone: Option<&str>) -> LocalTime {
    let zone = match zone.map(TimeZone::get) {
        Some(Ok(zone)) => zone,
        _ => TimeZone::system(),
    };
    let instant = Instant::from_millisecond(at_ms).unwrap_or(Instant::UNIX_EPOCH);
    let now: Zoned = instant.to_zoned(zone);
    let midnight = now
        .start_of_day()
        .map_or(at_ms, |day| day.timestamp().as_millisecond());
    let before = now
        .date()
        .checked_sub(1.day())
        .unwrap_or_else(|_| now.date());
    LocalTime {
        day: now.date().to_string(),
        day_before: before.to_string(),
        clock: now.strftime("%H:%M").to_string(),
        zone: now
            .time_zone()
            .iana_name()
            .unwrap_or("local time")
            .to_owned(),
        since_midnight_ms: at_ms - midnight,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_the_users_time_zone() {
        // 2026-11-15 23:30 UTC is the next day in Berlin.
        let at = 1_794_785_400_000;
        let utc = local_time(at, Some("UTC"));
        assert_eq!(
            (utc.day.as_str(), utc.clock.as_str()),
            ("2026-11-15", "23:30")
        );
        let berlin = local_time(at, Some("Europe/Berlin"));
        assert_eq!(
            (berlin.day.as_str(), berlin.clock.as_str()),
            ("2026-11-16", "00:30")
        );
        assert_eq!(berlin.day_before, "2026-11-15");
        assert_eq!(berlin.since_midnight_ms, 30 * 60_000);
    }
}
