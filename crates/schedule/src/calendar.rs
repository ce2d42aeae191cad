//! The next instant of an expression: fields are searched, never minutes.

use jiff::Timestamp as Instant;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};

use crate::expression::Expression;

/// A longer jump is a correction of the calendar, not of the clock.
const LONGEST_GAP_S: i64 = 3 * 3_600;
/// After so many months the calendar repeats itself.
const CYCLE_MONTHS: u32 = 400 * 12;
/// How many changes of the clock are looked at for one answer.
const MAX_CHANGES: usize = 64;
/// How long before an instant the changes of the clock can matter to it.
const MARGIN_S: i64 = 2 * 86_400;
const DAY_S: i64 = 86_400;

/// A minute of a local clock, counted from 1970-01-01 00:00 on that clock, in seconds.
type Local = i64;

impl Expression {
    /// Whether there is any such date at all.
    pub(crate) fn comes(&self) -> bool {
        self.date_from(jiff::civil::date(2000, 1, 1)).is_some()
    }

    /// The first instant after `after`, by the clocks of `zone`.
    pub(crate) fn next_after(&self, after: Instant, zone: &TimeZone) -> Option<Instant> {
        let mut from = after.as_second().checked_add(1)?; // whole seconds: nothing is due between
        if after.subsec_nanosecond() < 0 {
            from -= 1;
        }
        for _ in 0..MAX_CHANGES {
            let span = Span::at(from, zone)?;
            if let Some(due) = self.in_span(from, &span) {
                return Instant::from_second(due).ok();
            }
            let end = span.end?;
            // Nothing is due long before the next match, so nothing changes before it either.
            let next = self.local_from(from.checked_add(span.offset_s)?)? - span.offset_s;
            from = end.max(next.saturating_sub(MARGIN_S));
        }
        None
    }

    /// The first second from `from` on within a span of one offset.
    fn in_span(&self, from: i64, span: &Span) -> Option<i64> {
        let mut local = from + span.offset_s;
        if !self.is_frequent() {
            if from == span.start && self.is_in_gap(span) {
                return Some(from);
            }
            local = local.max(span.repeated_until()); // those times were there before
        }
        let due = self.local_from(local)? - span.offset_s;
        span.end.is_none_or(|end| due < end).then_some(due)
    }

    /// Whether a time is due that the clock jumped over at the beginning of this span.
    fn is_in_gap(&self, span: &Span) -> bool {
        let Some(before) = span.before_s else {
            return false;
        };
        let (first, end) = (span.start + before, span.start + span.offset_s);
        let skipped = (1..=LONGEST_GAP_S).contains(&(end - first));
        skipped && self.local_from(first).is_some_and(|due| due < end)
    }

    /// The first matching minute of a local clock that is not before `local`.
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

    /// The first matching minute of a day from that minute on.
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

    /// The first matching date from that one on.
    fn date_from(&self, from: Date) -> Option<Date> {
        let (mut first, mut day) = (from.first_of_month(), from.day());
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

/// A time in which a zone's clocks are not changed.
#[derive(Debug)]
struct Span {
    /// The second in which it begins.
    start: i64,
    /// The second in which the next begins.
    end: Option<i64>,
    /// How far the clocks are ahead of UTC.
    offset_s: i64,
    /// How far they were before.
    before_s: Option<i64>,
}

impl Span {
    fn at(second: i64, zone: &TimeZone) -> Option<Self> {
        let at = Instant::from_second(second).ok()?;
        let just_after = Instant::new(second, 1).ok()?;
        let offset = zone.to_offset(at);
        // Some changes are only of the name: those are stepped over.
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

    /// Until which minute of its clock times come for the second time.
    fn repeated_until(&self) -> Local {
        match self.before_s {
            Some(before) if before > self.offset_s => self.start + before,
            _ => Local::MIN,
        }
    }
}

/// How far the clocks were ahead of UTC just before an instant.
fn before(zone: &TimeZone, at: Instant) -> Option<Offset> {
    let earlier = Instant::from_second(at.as_second() - 1).ok()?;
    Some(zone.to_offset(earlier))
}
