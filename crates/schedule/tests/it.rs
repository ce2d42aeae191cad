//! Instants against tables, against another implementation, and against their own rules.

use jiff::tz::TimeZone;
use manyhands_core::Timestamp;
use manyhands_schedule::{Expression, Schedule, ScheduleInput, ScheduleKind};
use proptest::prelude::*;

fn ms(text: &str) -> Timestamp {
    let at: jiff::Timestamp = text.parse().unwrap();
    Timestamp(at.as_millisecond())
}

fn cron(expr: &str, zone: &str) -> Schedule {
    Schedule::Cron {
        expr: expr.parse().unwrap(),
        tz: Some(zone.to_owned()),
    }
}

/// The instants after `after`, in the zone's own clocks.
#[track_caller]
fn check(zone: &str, expr: &str, after: &str, expect: &[&str]) {
    let tz = TimeZone::get(zone).unwrap();
    let found =
        cron(expr, zone).between(ms(after), Timestamp(i64::MAX), expect.len(), &TimeZone::UTC);
    let found: Vec<String> = found
        .into_iter()
        .map(|at| {
            let at = jiff::Timestamp::from_millisecond(at.0).unwrap();
            let at = at.to_zoned(tz.clone());
            at.strftime("%Y-%m-%d %H:%M %:z").to_string()
        })
        .collect();
    assert_eq!(found, expect, "{expr} in {zone} after {after}");
}

#[test]
fn a_time_in_the_gap_is_due_once_right_after_it() {
    let (zone, before) = ("Europe/Berlin", "2026-03-28T12:00:00Z");
    let spring = [
        "2026-03-29 03:00 +02:00",
        "2026-03-30 02:30 +02:00",
        "2026-03-31 02:30 +02:00",
    ];
    check(zone, "30 2 * * *", before, &spring);
    // Several times in the gap are one run, and so is one that falls on its end.
    check(
        zone,
        "0,15,45 2 * * *",
        before,
        &["2026-03-29 03:00 +02:00", "2026-03-30 02:00 +02:00"],
    );
    check(
        zone,
        "0 2,3 * * *",
        before,
        &[
            "2026-03-29 03:00 +02:00",
            "2026-03-30 02:00 +02:00",
            "2026-03-30 03:00 +02:00",
        ],
    );
    // A star in the minutes of a fixed hour does not make it frequent: the day is not lost.
    check(
        zone,
        "*/30 2 * * *",
        before,
        &["2026-03-29 03:00 +02:00", "2026-03-30 02:00 +02:00"],
    );
    check(
        "America/New_York",
        "30 2 8 3 *",
        "2026-01-01T00:00:00Z",
        &["2026-03-08 03:00 -04:00", "2027-03-08 02:30 -05:00"],
    );
    // Where the day begins with the gap.
    check(
        "America/Sao_Paulo",
        "0 0 * * *",
        "2018-11-03T12:00:00Z",
        &["2018-11-04 01:00 -02:00", "2018-11-05 00:00 -02:00"],
    );
}

#[test]
fn a_repeated_time_is_due_once() {
    let autumn = [
        "2026-10-25 02:30 +02:00",
        "2026-10-26 02:30 +01:00",
        "2026-10-27 02:30 +01:00",
    ];
    check(
        "Europe/Berlin",
        "30 2 * * *",
        "2026-10-24T12:00:00Z",
        &autumn,
    );
    // Asked between the two, it is not due again.
    check(
        "Europe/Berlin",
        "30 2 * * *",
        "2026-10-25T00:30:00Z",
        &autumn[1..],
    );
    check(
        "America/New_York",
        "0 1,2 * * *",
        "2026-10-31T12:00:00Z",
        &[
            "2026-11-01 01:00 -04:00",
            "2026-11-01 02:00 -05:00",
            "2026-11-02 01:00 -05:00",
        ],
    );
}

#[test]
fn frequent_jobs_follow_the_time_that_passes() {
    check(
        "Europe/Berlin",
        "0 * * * *",
        "2026-03-29T00:00:00Z",
        &["2026-03-29 03:00 +02:00", "2026-03-29 04:00 +02:00"],
    );
    check(
        "Europe/Berlin",
        "30 * * * *",
        "2026-10-25T00:00:00Z",
        &[
            "2026-10-25 02:30 +02:00",
            "2026-10-25 02:30 +01:00",
            "2026-10-25 03:30 +01:00",
        ],
    );
    for (day, minutes) in [("2026-03-29", 23 * 60), ("2026-10-25", 25 * 60)] {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let day: jiff::civil::Date = day.parse().unwrap();
        let start = day.to_zoned(zone.clone()).unwrap().timestamp();
        let end = day.tomorrow().unwrap().to_zoned(zone).unwrap().timestamp();
        let (start, end) = (start.as_millisecond(), end.as_millisecond());
        let every_minute = cron("* * * * *", "Europe/Berlin");
        let found = every_minute.between(
            Timestamp(start - 1),
            Timestamp(end - 1),
            2_000,
            &TimeZone::UTC,
        );
        assert_eq!(found.len(), minutes);
        assert!(found.windows(2).all(|two| two[1].0 - two[0].0 == 60_000));
    }
}

#[test]
fn half_an_hour_of_summer_time_is_a_gap_and_a_repeat_too() {
    let zone = "Australia/Lord_Howe";
    check(
        zone,
        "15 2 * * *",
        "2026-10-03T00:00:00Z",
        &["2026-10-04 02:30 +11:00", "2026-10-05 02:15 +11:00"],
    );
    check(
        zone,
        "45 1 * * *",
        "2026-04-04T00:00:00Z",
        &["2026-04-05 01:45 +11:00", "2026-04-06 01:45 +10:30"],
    );
    // One hour after another by the clock is half an hour more or less.
    check(
        zone,
        "45 * * * *",
        "2026-04-04T14:00:00Z",
        &[
            "2026-04-05 01:45 +11:00",
            "2026-04-05 01:45 +10:30",
            "2026-04-05 02:45 +10:30",
        ],
    );
}

#[test]
fn a_nonexistent_day_has_no_run() {
    check(
        "Pacific/Apia",
        "0 9 * * *",
        "2011-12-28T00:00:00Z",
        &[
            "2011-12-28 09:00 -10:00",
            "2011-12-29 09:00 -10:00",
            "2011-12-31 09:00 +14:00",
            "2012-01-01 09:00 +14:00",
        ],
    );
    check(
        "Pacific/Apia",
        "0 9 30 12 *",
        "2011-12-01T00:00:00Z",
        &["2012-12-30 09:00 +14:00"],
    );
}

#[test]
fn leap_days_are_found_however_far_and_the_end_of_time_is_an_end() {
    check(
        "UTC",
        "0 0 29 2 *",
        "2026-01-01T00:00:00Z",
        &["2028-02-29 00:00 +00:00", "2032-02-29 00:00 +00:00"],
    );
    check(
        "Europe/Berlin",
        "0 0 29 2 *",
        "2096-03-01T00:00:00Z",
        &["2104-02-29 00:00 +01:00"],
    );
    // A 29 February whose number and whose weekday both fit.
    check(
        "UTC",
        "0 0 29 2 */6",
        "2026-01-01T00:00:00Z",
        &["2032-02-29 00:00 +00:00", "2048-02-29 00:00 +00:00"],
    );
    let last = cron("0 0 1 1 *", "UTC");
    let next = last.next_after(ms("9999-06-01T00:00:00Z"), &TimeZone::UTC);
    assert_eq!(next, None);
    assert_eq!(
        last.next_after(Timestamp(i64::MAX), &TimeZone::UTC),
        None,
        "beyond what a calendar knows"
    );
    assert!(last.next_after(Timestamp(-1), &TimeZone::UTC).is_some());
}

#[test]
fn another_implementation_agrees() {
    let corpus = include_str!("corpus/corpus.tsv");
    let mut wrong = Vec::new();
    for line in corpus.lines() {
        let [zone, start, expr, expect] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let expect: Vec<i64> = expect.split(' ').map(|at| at.parse().unwrap()).collect();
        let after = Timestamp(start.parse::<i64>().unwrap() * 1_000);
        let found: Vec<i64> = cron(expr, zone)
            .between(after, Timestamp(i64::MAX), expect.len(), &TimeZone::UTC)
            .into_iter()
            .map(|at| at.0 / 1_000)
            .collect();
        if found != expect {
            wrong.push(format!("{line}\n   ours {found:?}"));
        }
    }
    assert!(corpus.lines().count() > 1_000);
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>();
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        shown.join("\n")
    );
}

fn field(low: u8, high: u8) -> impl Strategy<Value = String> {
    let value = low..=high;
    prop_oneof![
        3 => Just("*".to_owned()),
        1 => (2_u8..=7).prop_map(|step| format!("*/{step}")),
        2 => value.clone().prop_map(|value| value.to_string()),
        2 => (value.clone(), value).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    let fields = (
        field(0, 59),
        field(0, 23),
        field(1, 28),
        field(1, 12),
        field(0, 6),
    );
    fields.prop_map(|(a, b, c, d, e)| format!("{a} {b} {c} {d} {e}"))
}

const ZONES: [&str; 6] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Asia/Kathmandu",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The next instant is later, has nothing between, and fits the fields unless a gap moved it.
    #[test]
    fn instants_come_in_order_and_none_is_left_out(
        expr in expression(), zone in 0_usize..6, start in 0_i64..4_000_000_000, part in 0_i64..1_000
    ) {
        let schedule = cron(&expr, ZONES[zone]);
        let user = TimeZone::UTC;
        let after = Timestamp(start * 1_000);
        if let Some(next) = schedule.next_after(after, &user) {
            prop_assert!(next > after);
            let between = after.0 + (next.0 - after.0 - 1) * part / 1_000;
            prop_assert_eq!(schedule.next_after(Timestamp(between), &user), Some(next));
            prop_assert_eq!(schedule.last_until(after, next, &user), Some(next));
            prop_assert_eq!(schedule.last_until(after, Timestamp(next.0 - 1), &user), None);
            let tz = TimeZone::get(ZONES[zone]).unwrap();
            let at = jiff::Timestamp::from_millisecond(next.0).unwrap();
            let just_before = jiff::Timestamp::from_millisecond(next.0 - 1).unwrap();
            let moved = tz.to_offset(at) != tz.to_offset(just_before);
            let minute = at.to_zoned(tz).minute().to_string();
            let own: Expression = format!("{minute} * * * *").parse().unwrap();
            let named: Vec<&str> = expr.split(' ').collect();
            let fits: Expression = format!("{} * * * *", named[0]).parse().unwrap();
            let hour = Schedule::Cron { expr: fits, tz: None };
            let own = Schedule::Cron { expr: own, tz: None };
            let due = own.next_after(Timestamp(-1), &user).unwrap();
            prop_assert!(moved || hour.next_after(Timestamp(due.0 - 1), &user) == Some(due));
        }
    }

    /// However late it is asked, a grid stays where it was put.
    #[test]
    fn a_grid_never_drifts(
        every in 1_000_i64..1_000_000_000, anchor in 0_i64..2_000_000_000_000, late in 0_i64..10_000_000_000
    ) {
        let schedule = Schedule::Every { every_ms: every, anchor_ms: anchor };
        let user = TimeZone::UTC;
        let mut at = Timestamp(anchor - 1);
        for _ in 0..20 {
            let next = schedule.next_after(at, &user).unwrap();
            prop_assert!(next > at);
            prop_assert_eq!((next.0 - anchor) % every, 0);
            prop_assert_eq!(schedule.last_until(at, next, &user), Some(next));
            at = Timestamp(next.0 + late % every);
        }
    }

    #[test]
    fn any_input_is_parsed_or_refused(text in ".{0,40}") {
        let _ = text.parse::<Expression>();
        let input = ScheduleInput { kind: Some(ScheduleKind::At), at: Some(text), ..ScheduleInput::default() };
        let _ = Schedule::read(&input, Timestamp(1_794_747_600_000), &TimeZone::UTC);
    }
}

fn read(json: &str) -> Result<Schedule, String> {
    let input: ScheduleInput = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    let now = ms("2026-11-15T13:00:00Z");
    Schedule::read(&input, now, &berlin).map_err(|error| error.to_string())
}

#[test]
fn each_kind_is_read_from_its_fields() {
    let now = ms("2026-11-15T13:00:00Z").0;
    let every = |every_ms, anchor_ms| {
        Ok(Schedule::Every {
            every_ms,
            anchor_ms,
        })
    };
    let at = |at: &str| Ok(Schedule::At { at_ms: ms(at).0 });
    for (json, expect) in [
        (
            r#"{"kind":"at","at":"tomorrow at 9am"}"#,
            at("2026-11-16T08:00:00Z"),
        ),
        (
            r#"{"kind":"at","in":"in 30 minutes"}"#,
            at("2026-11-15T13:30:00Z"),
        ),
        (r#"{"kind":"at","in":"2h"}"#, at("2026-11-15T15:00:00Z")),
        (
            r#"{"kind":"every","everyMinutes":30}"#,
            every(1_800_000, now),
        ),
        (
            r#"{"kind":"every","everyHours":0.5}"#,
            every(1_800_000, now),
        ),
        (
            r#"{"kind":"every","everyDays":1,"anchor":"2026-11-16 09:00"}"#,
            every(86_400_000, ms("2026-11-16T08:00:00Z").0),
        ),
        (
            r#"{"kind":"every","everyMs":1500,"anchorMs":7}"#,
            every(1_500, 7),
        ),
        (
            r#"{"kind":"cron","expr":"0 9 * * 1-5","tz":"europe/berlin"}"#,
            Ok(cron("0 9 * * 1-5", "Europe/Berlin")),
        ),
    ] {
        let found = read(json);
        assert_eq!(found, expect, "{json}");
        let kept = serde_json::to_string(&found.unwrap()).unwrap();
        let again: Schedule = serde_json::from_str(&kept).unwrap();
        assert_eq!(Ok(again), expect, "{kept}");
    }
}

#[test]
fn errors_of_a_schedule_name_the_field() {
    for (json, why) in [
        (r#"{}"#, "kind: must be at, every or cron"),
        (r#"{"kind":"at"}"#, "at: set exactly one of"),
        (
            r#"{"kind":"at","at":"today 9am"}"#,
            "at: 2026-11-15T08:00:00Z is in the past",
        ),
        (
            r#"{"kind":"at","at":"in 2 hours","in":"2h"}"#,
            "at: set exactly one of",
        ),
        (
            r#"{"kind":"at","in":"soon"}"#,
            "in: \"soon\" is not a duration",
        ),
        (
            r#"{"kind":"at","everyMinutes":3}"#,
            "everyMinutes: is only valid with kind every",
        ),
        (r#"{"kind":"every"}"#, "everyMinutes: set exactly one"),
        (
            r#"{"kind":"every","everyMinutes":1,"everyHours":1}"#,
            "everyMinutes: set exactly one",
        ),
        (
            r#"{"kind":"every","everyMinutes":0}"#,
            "everyMinutes: the interval must be between one second",
        ),
        (
            r#"{"kind":"every","everyDays":1e300}"#,
            "everyDays: the interval",
        ),
        (
            r#"{"kind":"every","everyDays":1,"anchor":"someday"}"#,
            "anchor: \"someday\"",
        ),
        (r#"{"kind":"cron"}"#, "expr: is required"),
        (
            r#"{"kind":"cron","expr":"0 9 * *"}"#,
            "expr: expected 5 fields",
        ),
        (
            r#"{"kind":"cron","expr":"@daily","tz":"Mars/Base"}"#,
            "tz: unknown time zone \"Mars/Base\"",
        ),
        (r#"{"kind":"never"}"#, "unknown variant"),
        (r#"{"kind":"at","when":"now"}"#, "unknown field"),
    ] {
        let error = read(json).unwrap_err();
        assert!(error.contains(why), "{json}: {error}");
    }
}
