//! Finds the next instant of an expression by searching fields, never minute by minute.

use jiff::Timestamp as Instant;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};

use crate::expression::Expression;

/// A longer gap is a calendar correction rather than a clock change.
const LONGEST_GAP_S: i64 = 3 * 3_600;
/// The Gregorian calendar repeats after this many months.
const CYCLE_MONTHS: u32 = 400 * 12;
/// Maximum number of clock changes examined per search.
const MAX_CHANGES: usize = 64;
/// How long before an instant clock changes can affect it.
const MARGIN_S: i64 = 2 * 86_400;
const DAY_S: i64 = 86_400;

/// A local time, in seconds since 1970-01-01 00:00 on that clock.
type Local = i64;

impl Expression {
    /// Returns whether any date matches at all.
    pub(crate) fn ever_matches(&self) -> bool {
        self.date_from(jiff::civil::date(2000, 1, 1)).is_some()
    }

    /// Returns the first instant after `after`, in `zone`.
    pub(crate) fn next_after(&self, after: Instant, zone: &TimeZone) -> Option<Instant> {
        // Strictly after, so that a run never triggers itself again.
        let mut from = after.as_second().checked_add(1)?; // nothing is due within a second
        // `as_second` rounds towards zero, so an instant before 1970 would be skipped.
        if after.subsec_nanosecond() < 0 {
            from -= 1;
        }
        for _ in 0..MAX_CHANGES {
            let span = Span::at(from, zone)?;
            if let Some(due) = self.in_span(from, &span) {
                return Instant::from_second(due).ok();
            }
            let end = span.end?;
            // Nothing is due until shortly before the next match, so clock changes before that do not matter.
            let next = self.local_from(from.checked_add(span.offset_s)?)? - span.offset_s;
            from = end.max(next.saturating_sub(MARGIN_S));
        }
        None
    }

    /// Returns the first matching second at or after `from` within a span of constant offset.
    fn in_span(&self, from: i64, span: &Span) -> Option<i64> {
        let mut local = from + span.offset_s;
        // Jobs at a time of day run once per day on the wall clock; frequent ones follow elapsed time.
        if !self.is_frequent() {
            if from == span.start && self.is_in_gap(span) {
                return Some(from);
            }
            local = local.max(span.repeated_until()); // these local times already occurred before the change
        }
        let due = self.local_from(local)? - span.offset_s;
        span.end.is_none_or(|end| due < end).then_some(due)
    }

    /// Returns whether a match falls into the gap at the start of this span.
    fn is_in_gap(&self, span: &Span) -> bool {
        let Some(before) = span.before_s else {
            return false;
        };
        let (first, end) = (span.start + before, span.start + span.offset_s);
        let skipped = (1..=LONGEST_GAP_S).contains(&(end - first));
        skipped && self.local_from(first).is_some_and(|due| due < end)
    }

    /// Returns the first matching local minute at or after `local`.
    fn local_from(&self, local: Local) -> Option<Local> {
        let minute = local.div_euclid(60) + i64::from(local.rem_euclid(60) > 0);
        let (day, minute) = (minute.div_euclid(1_440), minute.rem_euclid(1_440));
        let date = civil(day)?;
        let found = self.date_from(date)?;
        if found == date
            && let Some(time) = self.time_from(minute)
        {
            return Some(day * DAY_S + time * 60);
        }
        // Today matches, but its last time has passed.
        let found = match found == date {
            true => self.date_from(date.tomorrow().ok()?)?,
            false => found,
        };
        let day = found
            .duration_since(jiff::civil::date(1970, 1, 1))
            .as_hours()
            / 24;
        Some(day * DAY_S + self.time_from(0)? * 60)
    }

    /// Returns the first matching minute of the day at or after `minute`.
    fn time_from(&self, minute: i64) -> Option<i64> {
        let (hour, minute) = (
            u8::try_from(minute / 60).ok()?,
            u8::try_from(minute % 60).ok()?,
        );
        let of = |hour: u8, minute: u8| i64::from(hour) * 60 + i64::from(minute);
        if self.hours.has(hour)
            && let Some(minute) = self.minutes.from(minute)
        {
            return Some(of(hour, minute));
        }
        let hour = self.hours.from(hour + 1)?;
        Some(of(hour, self.minutes.from(0)?))
    }

    /// Returns the first matching date at or after `from`.
    fn date_from(&self, from: Date) -> Option<Date> {
        let (mut first, mut day) = (from.first_of_month(), from.day());
        // Bounded by the calendar's own period: `29 2 *` with a weekday can be decades away.
        for _ in 0..=CYCLE_MONTHS {
            let month = u8::try_from(first.month()).ok()?;
            if self.months.has(month) {
                let weekday = first.weekday().to_sunday_zero_offset();
                let mut days = day..=first.days_in_month();
                let is = |day: &i8| {
                    let weekday = (weekday + day - 1).rem_euclid(7);
                    let (day, weekday) = (u8::try_from(*day), u8::try_from(weekday));
                    matches!((day, weekday), (Ok(day), Ok(weekday)) if self.is_day(day, weekday))
                };
                if let Some(day) = days.find(is) {
                    return Date::new(first.year(), first.month(), day).ok();
                }
            }
            day = 1;
            first = match first.month() {
                12 => Date::new(first.year().checked_add(1)?, 1, 1).ok()?,
                month => Date::new(first.year(), month + 1, 1).ok()?,
            };
        }
        None
    }
}

fn civil(day: i64) -> Option<Date> {
    let at = DateTime::new(1970, 1, 1, 0, 0, 0, 0).ok()?;
    let at = at.checked_add(jiff::SignedDuration::from_hours(day.checked_mul(24)?));
    at.ok().map(|at| at.date())
}

/// A period without clock changes.
#[derive(Debug)]
struct Span {
    /// First second.
    start: i64,
    /// First second of the next span.
    end: Option<i64>,
    /// Offset from UTC.
    offset_s: i64,
    /// Offset before.
    before_s: Option<i64>,
}

impl Span {
    fn at(second: i64, zone: &TimeZone) -> Option<Self> {
        let at = Instant::from_second(second).ok()?;
        let just_after = Instant::new(second, 1).ok()?;
        let offset = zone.to_offset(at);
        // Some transitions change only the abbreviation; skip them.
        let began = zone
            .preceding(just_after)
            .take(MAX_CHANGES)
            .find(|change| before(zone, change.timestamp()) != Some(change.offset()));
        let ends = zone
            .following(at)
            .take(MAX_CHANGES)
            .find(|change| change.offset() != offset);
        let seconds = |offset: Offset| i64::from(offset.seconds());
        Some(Self {
            start: began
                .as_ref()
                .map_or(i64::MIN, |change| change.timestamp().as_second()),
            before_s: began
                .and_then(|change| before(zone, change.timestamp()))
                .map(seconds),
            end: ends.map(|change| change.timestamp().as_second()),
            offset_s: seconds(offset),
        })
    }

    /// End of the local times that occur for the second time.
    fn repeated_until(&self) -> Local {
        match self.before_s {
            Some(before) if before > self.offset_s => self.start + before,
            _ => Local::MIN,
        }
    }
}

/// Offset just before an instant.
fn before(zone: &TimeZone, at: Instant) -> Option<Offset> {
    let earlier = Instant::from_second(at.as_second() - 1).ok()?;
    Some(zone.to_offset(earlier))
}
