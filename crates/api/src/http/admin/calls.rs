//! Call statistics by day, computed from the audit log.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use manyhands_core::{Timestamp, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_store::{CallCounts, CountBy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::query;

const DAYS: u32 = 30;
const MAX_DAYS: u32 = 90;
/// Calls to count.
const MAX_CALLS: u32 = 200_000;
/// Tools reported per day.
const MAX_TOOLS: u32 = 100;

/// Time range.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallUsageQuery {
    /// Number of days including today; 30 by default.
    #[schemars(range(min = 1, max = 90))]
    days: Option<u32>,
}

/// Call statistics.
#[derive(Serialize, JsonSchema)]
pub struct CallUsage {
    /// First day, in the configured time zone.
    since: String,
    /// Totals of each day with calls, earliest first.
    days: Vec<CallDay>,
    /// Totals of each tool per day; earliest day first, most used tool first.
    tools: Vec<CallTool>,
    /// Limits of the evaluation.
    bound: CallBound,
    /// Whether the limits covered all calls.
    complete: bool,
}

/// Call statistics of a day.
#[derive(Serialize, JsonSchema)]
pub struct CallDay {
    /// The day.
    day: String,
    #[serde(flatten)]
    went: CallStats,
}

/// Call statistics of a tool on a day.
#[derive(Serialize, JsonSchema)]
pub struct CallTool {
    /// The day.
    day: String,
    /// The tool.
    tool: String,
    #[serde(flatten)]
    went: CallStats,
}

/// Call counts and durations.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CallsWent")]
pub struct CallStats {
    /// Finished calls.
    calls: u64,
    /// Failed calls.
    errors: u64,
    /// Median duration, in milliseconds.
    p50_ms: Option<f64>,
    /// 95th percentile of the duration, in milliseconds.
    p95_ms: Option<f64>,
}

/// Limits of the evaluation.
#[derive(Serialize, JsonSchema)]
pub struct CallBound {
    /// Calls counted, latest first.
    calls: u32,
    /// Tools per day, most used first.
    tools: u32,
}

impl From<&CallCounts> for CallStats {
    fn from(counts: &CallCounts) -> Self {
        #[allow(clippy::cast_precision_loss, reason = "a length of time for people")]
        let ms = |us: u64| us as f64 / 1_000.0;
        Self {
            calls: counts.calls,
            errors: counts.errors,
            p50_ms: counts.p50_us.map(ms),
            p95_ms: counts.p95_us.map(ms),
        }
    }
}

/// Returns call statistics by day and tool.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    since: Result<Query<CallUsageQuery>, QueryRejection>,
) -> Answer<CallUsage> {
    let wanted = query(since)?.days.unwrap_or(DAYS);
    if !(1..=MAX_DAYS).contains(&wanted) {
        let message = format!("must be between 1 and {MAX_DAYS}");
        return Err(Refusal(ToolError::parameter("days", message)));
    }
    let zone = manyhands_schedule::zone(gateway.settings.current().timezone.as_deref());
    let audit = gateway.store.audit();
    let (mut days, mut tools) = (Vec::new(), Vec::new());
    let (mut left, mut complete) = (MAX_CALLS, true);
    let mut day = day_of(gateway.clock.now(), &zone)?;
    // Latest day first, so that the limit on calls leaves out the oldest days.
    for back in 0..wanted {
        if back > 0 {
            day = day.yesterday().map_err(beyond)?;
        }
        // Days of the calendar: one with a clock change does not have 24 hours.
        let until = start(day.tomorrow().map_err(beyond)?, &zone)?;
        let from = start(day, &zone)?;
        let all = audit.counts(CountBy::All, from, until, left, 1).await?;
        let Some(all) = all.first() else { continue };
        let each = audit.counts(CountBy::Tool, from, until, left, MAX_TOOLS);
        let each = each.await?;
        let named: u64 = each.iter().map(|one| one.calls).sum();
        // Calls of tools beyond `MAX_TOOLS` are counted for the day but not for any tool.
        complete &= named >= all.calls;
        days.push(CallDay {
            day: day.to_string(),
            went: all.into(),
        });
        // Reversed here, because the whole list is reversed at the end.
        tools.extend(each.iter().rev().map(|one| CallTool {
            day: day.to_string(),
            tool: one.tool.clone(),
            went: one.into(),
        }));
        left = left.saturating_sub(u32::try_from(all.calls).unwrap_or(u32::MAX));
        if left == 0 {
            complete = false;
            break;
        }
    }
    days.reverse();
    tools.reverse();
    let first = day_of(gateway.clock.now(), &zone)?;
    let back = jiff::Span::new().days(i64::from(wanted) - 1);
    answer(CallUsage {
        since: first.checked_sub(back).map_err(beyond)?.to_string(),
        days,
        tools,
        bound: CallBound {
            calls: MAX_CALLS,
            tools: MAX_TOOLS,
        },
        complete,
    })
}

fn day_of(at: Timestamp, zone: &TimeZone) -> Result<Date, Refusal> {
    let at = jiff::Timestamp::from_millisecond(at.0).map_err(beyond)?;
    Ok(at.to_zoned(zone.clone()).date())
}

/// The first instant of a day.
fn start(day: Date, zone: &TimeZone) -> Result<Timestamp, Refusal> {
    let first = day.to_zoned(zone.clone()).map_err(beyond)?;
    Ok(Timestamp(first.timestamp().as_millisecond()))
}

fn beyond(error: jiff::Error) -> Refusal {
    Refusal(ToolError::internal(format!(
        "out of the calendar's range: {error}"
    )))
}
