//! Explains a schedule before a job is created from it.

use jiff::tz::TimeZone;
use manyhands_core::{Timestamp, ToolError};
use manyhands_schedule::{Schedule, ScheduleInput};
use manyhands_wire::{CronPreviewParams, CronPreviewResult};

use super::JobScheduler;
use super::service::first;

/// The default number of times.
const COUNT: u32 = 5;
/// The most times.
const MAX_COUNT: u32 = 20;

impl JobScheduler {
    /// The schedule in words, and its next times. Parsed as in [`JobScheduler::add`], except that the
    /// requester may be in another time zone than the settings say.
    pub fn preview(&self, asked: CronPreviewParams) -> Result<CronPreviewResult, ToolError> {
        let count = asked.count.unwrap_or(COUNT);
        if !(1..=MAX_COUNT).contains(&count) {
            let message = format!("must be between 1 and {MAX_COUNT}");
            return Err(ToolError::parameter("count", message));
        }
        let zone = match asked.tz.as_deref() {
            None => self.inner.zone(),
            Some(name) => TimeZone::get(name).map_err(|_| {
                let name: String = name.chars().take(80).collect();
                let message = format!("there is no time zone {name:?}");
                ToolError::parameter("tz", message)
                    .hint("write an IANA name such as Europe/Berlin, or UTC")
            })?,
        };
        let input: ScheduleInput = serde_json::from_value(asked.schedule)
            .map_err(|error| ToolError::parameter("schedule", error.to_string()))?;
        let now = self.inner.clock.now();
        let mut schedule = Schedule::read(&input, now, &zone).map_err(|error| {
            ToolError::parameter(&format!("schedule.{}", error.field), error.why)
        })?;
        if let Schedule::Cron { tz, .. } = &mut schedule {
            let own = zone.iana_name().filter(|_| asked.tz.is_some());
            *tz = tz.take().or(own.map(str::to_owned));
        }
        let after = |at: &Timestamp| schedule.next_after(*at, &zone);
        let times = std::iter::successors(first(&schedule, true, now, &zone), after);
        Ok(CronPreviewResult {
            text: schedule.describe(&zone),
            times: times.take(count as usize).map(|at| at.0).collect(),
            schedule: serde_json::to_value(&schedule)
                .map_err(|error| ToolError::internal(error.to_string()))?,
        })
    }
}
