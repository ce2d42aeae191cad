//! Decides about a due job: which time runs, which are skipped, and when it is due next. Pure
//! arithmetic.

use jiff::tz::TimeZone;
use manyhands_core::Timestamp;
use manyhands_schedule::Schedule;
use manyhands_store::{MissedRuns, Overlap};

/// How late a run may be and still count as on time.
pub(super) const ON_TIME_MS: i64 = 60_000;
/// How many times are counted one by one.
const MAX_COUNT: usize = 10_000;

/// The facts about a due job.
#[derive(Debug, Clone)]
pub(super) struct Due<'a> {
    pub(super) schedule: &'a Schedule,
    /// The time it is due.
    pub(super) first: Timestamp,
    pub(super) missed: MissedRuns,
    pub(super) window_ms: i64,
    pub(super) overlap: Overlap,
    /// Start and end of its last run.
    pub(super) last: Option<(Timestamp, Timestamp)>,
}

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunPlan {
    pub(super) passed: Option<SkippedRuns>,
    pub(super) run: Option<Timestamp>,
    pub(super) next: Option<Timestamp>,
}

/// Consecutive times that are skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkippedRuns {
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    pub(super) count: usize,
    pub(super) why: SkipReason,
}

/// Why scheduled times were skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SkipReason {
    /// The scheduler was not running.
    Missed,
    /// The previous run was still in progress.
    Overlap,
}

impl SkippedRuns {
    /// A description for people.
    pub(super) fn words(&self) -> String {
        let why = match self.why {
            SkipReason::Missed => "missed: the scheduler was not running",
            SkipReason::Overlap => "skipped: the previous run was still running",
        };
        match self.count {
            0 | 1 => why.to_owned(),
            many => {
                let more = if many > MAX_COUNT { "more than " } else { "" };
                let (first, last) = (self.first.rfc3339(), self.last.rfc3339());
                let many = many.min(MAX_COUNT);
                format!("{why} ({more}{many} runs from {first} to {last})")
            }
        }
    }
}

impl Due<'_> {
    /// Decides at `now`.
    pub(super) fn plan(&self, now: Timestamp, user: &TimeZone) -> RunPlan {
        match self.missed {
            MissedRuns::All => self.one_by_one(now, user),
            MissedRuns::Skip | MissedRuns::Once => self.only_last(now, user),
        }
    }

    /// The last time up to `until`, of those from `from` on.
    fn last_of(&self, from: Timestamp, until: Timestamp, user: &TimeZone) -> Timestamp {
        let last = self.schedule.last_until(Timestamp(from.0 - 1), until, user);
        last.unwrap_or(from).max(from)
    }

    fn is_overlapped(&self, at: Timestamp) -> bool {
        let during = self
            .last
            .is_some_and(|(began, ended)| began < at && at <= ended);
        during && self.overlap == Overlap::Skip
    }

    fn passed(
        &self,
        first: Timestamp,
        last: Timestamp,
        why: SkipReason,
        user: &TimeZone,
    ) -> SkippedRuns {
        let before = Timestamp(first.0 - 1);
        let found = self.schedule.between(before, last, MAX_COUNT + 1, user);
        SkippedRuns {
            first,
            last,
            count: found.len().max(1),
            why,
        }
    }

    fn only_last(&self, now: Timestamp, user: &TimeZone) -> RunPlan {
        let last = self.last_of(self.first, now, user);
        let late = match self.missed {
            MissedRuns::Skip => ON_TIME_MS,
            _ => self.window_ms.max(ON_TIME_MS),
        };
        // After `now`, not after `last`: a job that slept for a day must not start once for every
        // missed time.
        let next = self.schedule.next_after(now.max(last), user);
        let why = match self.is_overlapped(self.first) {
            true => SkipReason::Overlap,
            false => SkipReason::Missed,
        };
        if self.is_overlapped(last) || now.0 - last.0 > late {
            return RunPlan {
                passed: Some(self.passed(self.first, last, why, user)),
                run: None,
                next,
            };
        }
        let before = self
            .schedule
            .last_until(Timestamp(self.first.0 - 1), Timestamp(last.0 - 1), user)
            .filter(|_| last > self.first);
        RunPlan {
            passed: before.map(|before| self.passed(self.first, before, why, user)),
            run: Some(last),
            next,
        }
    }

    fn one_by_one(&self, now: Timestamp, user: &TimeZone) -> RunPlan {
        let mut at = self.first;
        // Older times are beyond the catch-up window and are skipped together, as one row.
        let oldest = Timestamp(now.0 - self.window_ms.max(ON_TIME_MS));
        let end = match self.last {
            Some((_, ended)) if self.is_overlapped(at) => {
                Some((ended.min(now), SkipReason::Overlap))
            }
            _ if at < oldest => Some((Timestamp(oldest.0 - 1), SkipReason::Missed)),
            _ => None,
        };
        let mut passed = None;
        if let Some((end, why)) = end {
            let last = self.last_of(at, end, user);
            passed = Some(self.passed(at, last, why, user));
            match self.schedule.next_after(last, user) {
                Some(next) if next <= now && next >= oldest && !self.is_overlapped(next) => {
                    at = next
                }
                next => {
                    return RunPlan {
                        passed,
                        run: None,
                        next,
                    };
                }
            }
        }
        RunPlan {
            passed,
            run: Some(at),
            next: self.schedule.next_after(at, user),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 3_600_000;

    /// Every hour from 0 on.
    fn hourly() -> Schedule {
        Schedule::Every {
            every_ms: HOUR,
            anchor_ms: 0,
        }
    }

    struct Case {
        missed: MissedRuns,
        window: i64,
        overlap: Overlap,
        last: Option<(i64, i64)>,
        first: i64,
        now: i64,
    }

    const PLAIN: Case = Case {
        missed: MissedRuns::Once,
        window: 24 * HOUR,
        overlap: Overlap::Skip,
        last: None,
        first: HOUR,
        now: HOUR,
    };

    type Expect = (
        Option<(i64, i64, usize, SkipReason)>,
        Option<i64>,
        Option<i64>,
    );

    #[track_caller]
    fn check(schedule: &Schedule, case: Case, expect: Expect) {
        let due = Due {
            schedule,
            first: Timestamp(case.first),
            missed: case.missed,
            window_ms: case.window,
            overlap: case.overlap,
            last: case.last.map(|(a, b)| (Timestamp(a), Timestamp(b))),
        };
        let plan = due.plan(Timestamp(case.now), &TimeZone::UTC);
        let passed = plan.passed.map(|p| (p.first.0, p.last.0, p.count, p.why));
        let found = (passed, plan.run.map(|at| at.0), plan.next.map(|at| at.0));
        assert_eq!(found, expect);
    }

    #[test]
    fn what_is_on_time_runs_whatever_the_policy() {
        for missed in [MissedRuns::Skip, MissedRuns::Once, MissedRuns::All] {
            let case = Case {
                missed,
                now: HOUR + 30_000,
                ..PLAIN
            };
            check(&hourly(), case, (None, Some(HOUR), Some(2 * HOUR)));
        }
    }

    #[test]
    fn each_policy_makes_up_for_its_own() {
        // From 1:00 to 5:30 nobody was there.
        let away = |missed| Case {
            missed,
            now: 5 * HOUR + 30 * MINUTE,
            ..PLAIN
        };
        check(
            &hourly(),
            away(MissedRuns::Skip),
            (
                Some((HOUR, 5 * HOUR, 5, SkipReason::Missed)),
                None,
                Some(6 * HOUR),
            ),
        );
        check(
            &hourly(),
            away(MissedRuns::Once),
            (
                Some((HOUR, 4 * HOUR, 4, SkipReason::Missed)),
                Some(5 * HOUR),
                Some(6 * HOUR),
            ),
        );
        check(
            &hourly(),
            away(MissedRuns::All),
            (None, Some(HOUR), Some(2 * HOUR)),
        );
        // Within a window of two hours.
        let short = |missed| Case {
            window: 2 * HOUR,
            ..away(missed)
        };
        check(
            &hourly(),
            short(MissedRuns::All),
            (
                Some((HOUR, 3 * HOUR, 3, SkipReason::Missed)),
                Some(4 * HOUR),
                Some(5 * HOUR),
            ),
        );
        let too_late = Case {
            window: 10 * MINUTE,
            ..away(MissedRuns::Once)
        };
        check(
            &hourly(),
            too_late,
            (
                Some((HOUR, 5 * HOUR, 5, SkipReason::Missed)),
                None,
                Some(6 * HOUR),
            ),
        );
    }

    #[test]
    fn a_run_that_takes_long_passes_over_what_falls_into_it() {
        // It ran from 1:00 to 3:30.
        let long = |missed, overlap, now| Case {
            missed,
            overlap,
            last: Some((HOUR, 3 * HOUR + 30 * MINUTE)),
            first: 2 * HOUR,
            now,
            ..PLAIN
        };
        let after = 3 * HOUR + 30 * MINUTE;
        for missed in [MissedRuns::Skip, MissedRuns::Once, MissedRuns::All] {
            check(
                &hourly(),
                long(missed, Overlap::Skip, after),
                (
                    Some((2 * HOUR, 3 * HOUR, 2, SkipReason::Overlap)),
                    None,
                    Some(4 * HOUR),
                ),
            );
        }
        check(
            &hourly(),
            long(MissedRuns::Once, Overlap::Wait, after),
            (
                Some((2 * HOUR, 2 * HOUR, 1, SkipReason::Missed)),
                Some(3 * HOUR),
                Some(4 * HOUR),
            ),
        );
        check(
            &hourly(),
            long(MissedRuns::All, Overlap::Wait, after),
            (None, Some(2 * HOUR), Some(3 * HOUR)),
        );
        // What was missed before it began is not an overlap: it waits its turn.
        let catching_up = Case {
            last: Some((5 * HOUR + MINUTE, 5 * HOUR + 2 * MINUTE)),
            first: 2 * HOUR,
            now: 5 * HOUR + 2 * MINUTE,
            missed: MissedRuns::All,
            ..PLAIN
        };
        check(
            &hourly(),
            catching_up,
            (None, Some(2 * HOUR), Some(3 * HOUR)),
        );
    }

    #[test]
    fn what_comes_once_has_no_next() {
        let once = Schedule::At { at_ms: HOUR };
        check(&once, PLAIN, (None, Some(HOUR), None));
        let late = Case {
            now: 100 * HOUR,
            ..PLAIN
        };
        check(
            &once,
            late,
            (Some((HOUR, HOUR, 1, SkipReason::Missed)), None, None),
        );
    }

    #[test]
    fn a_year_away_is_counted_up_to_a_bound() {
        let minutely = Schedule::Every {
            every_ms: MINUTE,
            anchor_ms: 0,
        };
        let year = 365 * 24 * HOUR;
        let case = Case { now: year, ..PLAIN };
        check(
            &minutely,
            case,
            (
                Some((HOUR, year - MINUTE, MAX_COUNT + 1, SkipReason::Missed)),
                Some(year),
                Some(year + MINUTE),
            ),
        );
    }
}
