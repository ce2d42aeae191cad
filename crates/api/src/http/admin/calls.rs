//! How calls went, day by day: counted in the audit, so that nobody has to read all of it.

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
/// How many calls are counted.
const MAX_CALLS: u32 = 200_000;
/// How many tools are told of one day.
const MAX_TOOLS: u32 = 100;

/// How far back to look.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// How many days, today included; 30 when not said.
    #[schemars(range(min = 1, max = 90))]
    days: Option<u32>,
}

/// How calls went.
#[derive(Serialize, JsonSchema)]
pub struct CallUsage {
    /// The first day, by the clocks of the settings.
    since: String,
    /// Each day on which a call ended, all tools together; the earliest first.
    days: Vec<CallDay>,
    /// Each tool of each of these days; the earliest day and the tool called most first.
    tools: Vec<CallTool>,
    /// What was counted at most.
    bound: CallBound,
    /// Whether that was enough for everything there was.
    complete: bool,
}

/// How the calls of a day went.
#[derive(Serialize, JsonSchema)]
pub struct CallDay {
    /// The day.
    day: String,
    #[serde(flatten)]
    went: Went,
}

/// How the calls of a tool went on a day.
#[derive(Serialize, JsonSchema)]
pub struct CallTool {
    /// The day.
    day: String,
    /// The tool.
    tool: String,
    #[serde(flatten)]
    went: Went,
}

/// How calls went.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CallsWent")]
pub struct Went {
    /// How many ended.
    calls: u64,
    /// How many of them with an error.
    errors: u64,
    /// Half of them took no longer, in milliseconds.
    p50_ms: Option<f64>,
    /// Nineteen of twenty took no longer, in milliseconds.
    p95_ms: Option<f64>,
}

/// What is counted at most.
#[derive(Serialize, JsonSchema)]
pub struct CallBound {
    /// How many calls, the latest.
    calls: u32,
    /// How many tools of a day, those called most.
    tools: u32,
}

impl From<&CallCounts> for Went {
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

/// How calls went, by day and tool.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    since: Result<Query<Since>, QueryRejection>,
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
    for back in 0..wanted {
        if back > 0 {
            day = day.yesterday().map_err(beyond)?;
        }
        let until = start(day.tomorrow().map_err(beyond)?, &zone)?;
        let from = start(day, &zone)?;
        let all = audit.counts(CountBy::All, from, until, left, 1).await?;
        let Some(all) = all.first() else { continue };
        let each = audit.counts(CountBy::Tool, from, until, left, MAX_TOOLS);
        let each = each.await?;
        let named: u64 = each.iter().map(|one| one.calls).sum();
        complete &= named >= all.calls;
        days.push(CallDay {
            day: day.to_string(),
            went: all.into(),
        });
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
        "the calendar ends there: {error}"
    )))
}
