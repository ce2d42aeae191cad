//! Cron expressions: five fields, names and macros.

use std::fmt;
use std::str::FromStr;

/// Maximum length of an expression.
const MAX: usize = 200;
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// An invalid cron expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidExpression(String);

fn wrong<T>(why: impl Into<String>) -> Result<T, InvalidExpression> {
    Err(InvalidExpression(why.into()))
}

/// A cron expression: minute, hour, day of the month, month, day of the week.
///
/// If both day fields are restricted, either may match. A field that starts with `*` is not a restriction, so `*/2` in
/// one of them narrows the other.
#[derive(Clone, PartialEq, Eq)]
pub struct Expression {
    text: String,
    pub(crate) minutes: Field,
    pub(crate) hours: Field,
    pub(crate) days: Field,
    pub(crate) months: Field,
    pub(crate) weekdays: Field,
}

/// The values of one field, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    bits: u64,
    /// It starts with `*`.
    pub(crate) star: bool,
}

impl Field {
    pub(crate) fn has(self, value: u8) -> bool {
        self.bits & (1 << value) != 0
    }

    /// Returns the smallest value at or above `from`.
    pub(crate) fn from(self, from: u8) -> Option<u8> {
        let rest = self.bits.checked_shr(u32::from(from)).unwrap_or(0);
        (rest != 0).then(|| from + u8::try_from(rest.trailing_zeros()).unwrap_or(0))
    }

    pub(crate) fn values(self) -> impl Iterator<Item = u8> {
        (0..64).filter(move |value| self.has(*value))
    }

    pub(crate) fn count(self) -> u32 {
        self.bits.count_ones()
    }
}

/// Constraints of one field.
struct FieldRange {
    name: &'static str,
    least: u8,
    most: u8,
    names: &'static [&'static str],
}

const MINUTE: FieldRange = range_of("minute", 0, 59, &[]);
const HOUR: FieldRange = range_of("hour", 0, 23, &[]);
const DAY: FieldRange = range_of("day of month", 1, 31, &[]);
const MONTH: FieldRange = range_of("month", 1, 12, &MONTHS);
const WEEKDAY: FieldRange = range_of("day of week", 0, 7, &DAYS);

const fn range_of(
    name: &'static str,
    least: u8,
    most: u8,
    names: &'static [&'static str],
) -> FieldRange {
    FieldRange {
        name,
        least,
        most,
        names,
    }
}

impl Expression {
    /// The expression as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether it matches every hour, and therefore follows elapsed time across clock changes.
    pub fn is_frequent(&self) -> bool {
        self.hours.star
    }

    /// Returns whether the day fields match a date.
    pub(crate) fn is_day(&self, day: u8, weekday: u8) -> bool {
        let (day, weekday) = (self.days.has(day), self.weekdays.has(weekday));
        // The rule of Vixie cron, which users expect from other implementations.
        match self.days.star || self.weekdays.star {
            true => day && weekday,
            false => day || weekday,
        }
    }
}

impl FromStr for Expression {
    type Err = InvalidExpression;

    fn from_str(text: &str) -> Result<Self, InvalidExpression> {
        let text = text.trim();
        if text.len() > MAX {
            return wrong(format!("longer than {MAX} characters"));
        }
        let plain = text.to_ascii_lowercase();
        let meant = match plain.strip_prefix('@') {
            None => plain.as_str(),
            Some(_) => match MACROS.iter().find(|(name, _)| *name == plain) {
                Some((_, fields)) => fields,
                None => {
                    return wrong(format!(
                        "unknown macro {text}; use @yearly, @monthly, @weekly, @daily or @hourly"
                    ));
                }
            },
        };
        let fields: Vec<&str> = meant.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            let count = match fields.len() {
                1 => "1 field".to_owned(),
                count => format!("{count} fields"),
            };
            return wrong(format!(
                "expected 5 fields (minute, hour, day of month, month, day of week), got {count}"
            ));
        };
        let mut weekdays = field(weekday, &WEEKDAY)?;
        if weekdays.has(7) {
            weekdays.bits = (weekdays.bits | 1) & 0x7f; // 7 is Sunday too
        }
        let expression = Self {
            text: text.to_owned(),
            minutes: field(minute, &MINUTE)?,
            hours: field(hour, &HOUR)?,
            days: field(day, &DAY)?,
            months: field(month, &MONTH)?,
            weekdays,
        };
        // `0 0 30 2 *` is well-formed, but a job with it would silently never run.
        match expression.ever_matches() {
            true => Ok(expression),
            false => wrong(format!("{text} never matches: there is no such date")),
        }
    }
}

/// Parses one field: parts separated by commas.
fn field(text: &str, kind: &FieldRange) -> Result<Field, InvalidExpression> {
    let mut bits = 0;
    for part in text.split(',') {
        bits |= part_bits(part, kind)?;
    }
    // `?` is Quartz's word for "any"; people copy such expressions.
    let star = text.starts_with('*') || text == "?";
    Ok(Field { bits, star })
}

fn part_bits(part: &str, kind: &FieldRange) -> Result<u64, InvalidExpression> {
    let named = |what: &str| format!("{}: {what}", kind.name);
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (part, None),
    };
    let is_days = kind.least == 1 && kind.most == 31 || kind.most == 7;
    let (first, last) = match range.split_once('-') {
        _ if range == "*" || range == "?" && is_days && step.is_none() => (
            kind.least,
            kind.most.min(if kind.most == 7 { 6 } else { 63 }),
        ),
        Some((first, last)) => {
            let first = value(first, kind)?;
            let last = match value(last, kind)? {
                0 if kind.most == 7 && first > 0 => 7, // such as 5-0: Friday to Sunday
                last => last,
            };
            if first > last {
                return wrong(named(&format!("{range} is reversed; use two ranges")));
            }
            (first, last)
        }
        None => {
            let first = value(range, kind)?;
            (first, if step.is_some() { kind.most } else { first })
        }
    };
    let step = match step {
        None => 1,
        Some(step) => match step.parse::<u8>() {
            Ok(0) => return wrong(named("the step must not be 0")),
            Ok(step) if step <= kind.most => step,
            _ => {
                let most = kind.most;
                return wrong(named(&format!(
                    "the step {step:?} is not between 1 and {most}"
                )));
            }
        },
    };
    let values = (first..=last).step_by(usize::from(step));
    Ok(values.fold(0, |bits, value| bits | 1 << value))
}

fn value(text: &str, kind: &FieldRange) -> Result<u8, InvalidExpression> {
    if let Some(at) = kind.names.iter().position(|name| *name == text) {
        return Ok(kind.least + u8::try_from(at).unwrap_or(0));
    }
    let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    match text.parse::<u8>() {
        Ok(value) if digits && (kind.least..=kind.most).contains(&value) => Ok(value),
        _ => {
            let FieldRange {
                name, least, most, ..
            } = kind;
            wrong(format!(
                "{name}: {text:?} is not a number between {least} and {most}"
            ))
        }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({:?})", self.text)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, why: &str) {
        let error = text.parse::<Expression>().unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }

    #[test]
    fn names_steps_ranges_and_macros_mean_their_numbers() {
        for (text, same) in [
            ("0 9 * jan-mar mon-fri", "0 9 * 1-3 1-5"),
            ("0 9 * * SAT-SUN", "0 9 * * 6,0"),
            ("0 9 * * 5-7", "0 9 * * 5,6,0"),
            ("0 9 * * 7", "0 9 * * 0"),
            ("5/20 * * * *", "5,25,45 * * * *"),
            ("0-10/5 8-10,12 ? * ?", "0,5,10 8,9,10,12 * * *"),
            ("@daily", "0 0 * * *"),
            ("@Weekly", "0 0 * * 0"),
        ] {
            let (one, two): (Expression, Expression) =
                (text.parse().unwrap(), same.parse().unwrap());
            assert_eq!(one.as_str(), text);
            for (a, b) in [
                (one.minutes, two.minutes),
                (one.hours, two.hours),
                (one.days, two.days),
                (one.months, two.months),
                (one.weekdays, two.weekdays),
            ] {
                assert_eq!(a.bits, b.bits, "{text}");
            }
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        refused("* * * *", "4 fields");
        refused("0 * * * * *", "6 fields");
        refused("", "0 fields");
        refused("@reboot", "unknown macro");
        refused("60 * * * *", "minute: \"60\"");
        refused("* 24 * * *", "hour");
        refused("* * 0 * *", "day of month");
        refused("* * * 13 *", "month");
        refused("* * * * 8", "day of week");
        refused("*/0 * * * *", "step must not be 0");
        refused("*/90 * * * *", "not between 1 and 59");
        refused("10-5 * * * *", "reversed");
        refused("1,,2 * * * *", "minute");
        refused("+1 * * * *", "minute");
        refused("* * * * mo", "day of week");
        refused("? * * * *", "minute");
        refused(&"1,".repeat(200), "longer");
        refused("0 0 30 2 *", "never matches");
        refused("0 0 31 4,6,9,11 *", "never matches");
        assert!("0 0 29 2 *".parse::<Expression>().is_ok());
        assert!("0 0 30 2 1".parse::<Expression>().is_ok(), "on Mondays");
    }
}
