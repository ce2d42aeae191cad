//! Parses times as people write them: `2026-11-16T09:00`, `in 2 hours`, `tomorrow at 9am`.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Span, Timestamp as Instant, ToSpan as _, Zoned};
use manyhands_core::Timestamp;

/// Maximum length of the text.
const MAX: usize = 100;
const FORMS: &str = "use 2026-11-16T09:00:00Z, 2026-11-16 09:00, \"in 2 hours\", \"today 17:30\" or \"tomorrow at 9am\"";

/// Parses a time relative to `now`, in the time zone `zone`. The error says what is wrong and which forms are
/// accepted.
pub fn parse_at(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, String> {
    let unknown = || format!("{:?} is not a time; {FORMS}", cut(text));
    let plain = text.trim();
    // Bounded before parsing: the text comes from models and chat messages.
    if plain.is_empty() || plain.len() > MAX {
        return Err(unknown());
    }
    let here = Instant::from_millisecond(now.0)
        .map_err(|_| unknown())?
        .to_zoned(zone.clone());
    // Exact forms first: `2026-11-16` would otherwise be tried as a duration.
    let found = epoch(plain)
        .or_else(|| plain.parse::<Instant>().ok())
        .or_else(|| plain.parse::<Zoned>().ok().map(|at| at.timestamp()))
        .or_else(|| local(plain, zone))
        .or_else(|| relative(plain, &here))
        .or_else(|| named_day(plain, &here));
    let found = found.ok_or_else(unknown)?;
    Ok(Timestamp(found.as_millisecond()))
}

fn cut(text: &str) -> String {
    text.chars().take(MAX).collect()
}

/// Seconds or milliseconds since 1970.
fn epoch(text: &str) -> Option<Instant> {
    if !text.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let count: i64 = text.parse().ok()?;
    // The number of digits tells the unit for all dates from 1973 to 2286; anything else is a mistake.
    match text.len() {
        9 | 10 => Instant::from_second(count).ok(),
        12..=14 => Instant::from_millisecond(count).ok(),
        _ => None,
    }
}

/// A local date and time.
fn local(text: &str, zone: &TimeZone) -> Option<Instant> {
    let at: DateTime = match text.parse::<DateTime>() {
        Ok(at) => at,
        Err(_) => text.parse::<Date>().ok()?.to_datetime(Time::midnight()),
    };
    instant(at, zone)
}

/// Converts a local time to an instant: in a gap, right after it; if ambiguous, the first occurrence.
fn instant(at: DateTime, zone: &TimeZone) -> Option<Instant> {
    let ambiguous = zone.to_ambiguous_timestamp(at);
    if let AmbiguousOffset::Gap { before, .. } = ambiguous.offset() {
        let inside = before.to_timestamp(at).ok()?; // with the old offset this lies after the change
        // `preceding` excludes its argument, and the gap may start exactly there.
        let just_after = inside.checked_add(1.nanosecond()).ok()?;
        return Some(zone.preceding(just_after).next()?.timestamp());
    }
    ambiguous.compatible().ok()
}

/// Parses `in 2 hours`, `2h 30m`, `in an hour`.
fn relative(text: &str, here: &Zoned) -> Option<Instant> {
    let lower = text.to_ascii_lowercase();
    let rest = lower.strip_prefix("in ")?.trim();
    after(rest, here)
}

/// Adds a duration to now.
pub(crate) fn after(text: &str, here: &Zoned) -> Option<Instant> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let words: Vec<&str> = words
        .into_iter()
        // People write "1 hour and 30 minutes"; the parser of durations has no word for it.
        .filter(|word| *word != "and")
        .map(|word| match word {
            "a" | "an" | "one" => "1",
            "two" => "2",
            "three" => "3",
            other => other,
        })
        .collect();
    let span: Span = words.join(" ").parse().ok()?;
    if !span.is_positive() {
        return None;
    }
    here.checked_add(span).ok().map(|at| at.timestamp())
}

/// Parses `today 17:30`, `tomorrow at 9am`.
fn named_day(text: &str, here: &Zoned) -> Option<Instant> {
    let lower = text.to_ascii_lowercase();
    let (day, rest) = lower.split_once(' ')?;
    let date = match day.trim_end_matches(',') {
        "today" => here.date(),
        "tomorrow" => here.date().tomorrow().ok()?,
        _ => return None,
    };
    let rest = rest.trim();
    let rest = rest.strip_prefix("at ").unwrap_or(rest).trim();
    let at = date.to_datetime(time(rest)?);
    instant(at, here.time_zone())
}

/// Parses `9am`, `9:30 pm`, `17:30`, `17:30:15`, `noon`.
fn time(text: &str) -> Option<Time> {
    match text {
        "noon" | "midday" => return Some(jiff::civil::time(12, 0, 0, 0)),
        "midnight" => return Some(Time::midnight()),
        _ => {}
    }
    let (clock, half) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(clock), _) => (clock.trim_end(), Some(0)),
        (_, Some(clock)) => (clock.trim_end(), Some(12)),
        _ => (text, None),
    };
    let number = |part: &str| {
        let digits = (1..=2).contains(&part.len()) && part.bytes().all(|c| c.is_ascii_digit());
        digits.then(|| part.parse::<i8>().ok()).flatten()
    };
    let mut parts = clock.split(':');
    let hour = number(parts.next()?)?;
    let minute = parts.next().map_or(Some(0), number)?;
    let second = parts.next().map_or(Some(0), number)?;
    if parts.next().is_some() || half.is_none() && !clock.contains(':') && hour > 23 {
        return None;
    }
    let hour = match half {
        None => hour,
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
    };
    Time::new(hour, minute, second, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, zone: &str) -> Result<String, String> {
        let now: Instant = "2026-11-15T13:00:00Z".parse().unwrap();
        let zone = TimeZone::get(zone).unwrap();
        parse_at(text, Timestamp(now.as_millisecond()), &zone).map(Timestamp::rfc3339)
    }

    #[track_caller]
    fn berlin(text: &str, expect: &str) {
        assert_eq!(at(text, "Europe/Berlin").as_deref(), Ok(expect), "{text}");
    }

    #[test]
    fn every_form_is_understood_in_the_users_zone() {
        berlin("2026-11-16T09:00:00Z", "2026-11-16T09:00:00Z");
        berlin("2026-11-16T09:00:00+09:00", "2026-11-16T00:00:00Z");
        berlin("2026-11-16T09:00", "2026-11-16T08:00:00Z");
        berlin("2026-11-16 09:00:30", "2026-11-16T08:00:30Z");
        berlin("2026-07-01", "2026-06-30T22:00:00Z");
        berlin("in 2 hours", "2026-11-15T15:00:00Z");
        berlin("In 30 minutes", "2026-11-15T13:30:00Z");
        berlin("in an hour", "2026-11-15T14:00:00Z");
        berlin("in 1h30m", "2026-11-15T14:30:00Z");
        berlin("in 2 days and 3 hours", "2026-11-17T16:00:00Z");
        berlin("in 1 week", "2026-11-22T13:00:00Z");
        berlin("today 17:30", "2026-11-15T16:30:00Z");
        berlin("today at 5 pm", "2026-11-15T16:00:00Z");
        berlin("tomorrow at 9am", "2026-11-16T08:00:00Z");
        berlin("Tomorrow 9:15AM", "2026-11-16T08:15:00Z");
        berlin("tomorrow at noon", "2026-11-16T11:00:00Z");
        berlin("tomorrow 12am", "2026-11-15T23:00:00Z");
        berlin("tomorrow 9", "2026-11-16T08:00:00Z");
        berlin("1794747600", "2026-11-15T13:00:00Z");
        berlin("1794747600000", "2026-11-15T13:00:00Z");
        // There the day is another.
        assert_eq!(
            at("today 9am", "Pacific/Kiritimati").unwrap(),
            "2026-11-15T19:00:00Z"
        );
    }

    #[test]
    fn days_are_calendar_days() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let now: Instant = "2026-03-28T08:00:00Z".parse().unwrap();
        let found = parse_at("in 1 day", Timestamp(now.as_millisecond()), &zone).unwrap();
        assert_eq!(found.rfc3339(), "2026-03-29T07:00:00Z", "at 9 again");
    }

    #[test]
    fn times_that_the_clock_jumps_over_or_shows_twice_are_one_moment() {
        berlin("2026-03-29 02:30", "2026-03-29T01:00:00Z");
        berlin("2026-10-25 02:30", "2026-10-25T00:30:00Z");
    }

    #[test]
    fn an_invalid_time_is_refused_with_examples() {
        for wrong in [
            "",
            "soon",
            "in",
            "in 0 minutes",
            "in -5 minutes",
            "in 5",
            "in five parsecs",
            "tomorrow",
            "today 25:00",
            "today 13pm",
            "today 0am",
            "tomorrow at 9:61",
            "2026-02-30",
            "2026-11-16T25:00",
            "12345",
            &"9".repeat(200),
            "in 99999999999999 years",
        ] {
            let error = at(wrong, "UTC").unwrap_err();
            assert!(error.contains("in 2 hours"), "{wrong}: {error}");
        }
    }
}
