//! When jobs are due: once, at an interval, or by a cron expression.
//!
//! This crate reads no clock and stores nothing: given an instant, a [`Schedule`] returns the next one, always the same.
//!
//! - [`ScheduleInput`] is what people and models write; [`Schedule::read`] validates it.
//! - [`Schedule::next_after`], [`Schedule::last_until`] and [`Schedule::between`] compute instants.
//! - [`Expression`] is a cron expression; [`parse_at`] parses `tomorrow at 9am`.
//!
//! Daylight saving neither loses nor doubles a run: a time of day that is skipped runs once, right after the gap, and
//! one that occurs twice runs the first time. A job that runs hourly or more often follows elapsed time. A gap of more than
//! three hours is a calendar correction, not a clock change: times inside of it are skipped.

mod at;
mod calendar;
mod describe;
mod expression;
mod input;
mod schedule;

pub use at::parse_at;
pub use expression::{Expression, InvalidExpression};
pub use input::{InvalidSchedule, ScheduleInput, ScheduleKind};
pub use schedule::{Schedule, zone};
