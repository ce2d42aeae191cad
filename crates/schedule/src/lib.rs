//! When something is due: once, on a grid, or by the calendar.
//!
//! Nothing here reads a clock or keeps anything: a [`Schedule`] is asked for the next instant after
//! another, and the answer is the same whoever asks.
//!
//! - [`ScheduleInput`] is what people and models write; [`Schedule::read`] makes a schedule of it.
//! - [`Schedule::next_after`], [`Schedule::last_until`] and [`Schedule::between`] give instants.
//! - [`Expression`] is a cron expression; [`parse_at`] understands `tomorrow at 9am`.
//!
//! Clocks that are put forward or back do not lose or double a run: a time of day that is jumped
//! over is due once, right after the jump, and one that comes twice is due the first time. A job
//! that comes every hour or more often follows the time that passes. A jump of more than three
//! hours is a correction of the calendar, not of the clock: what falls into it never was.

mod at;
mod calendar;
mod describe;
mod expression;
mod input;
mod schedule;

pub use at::parse_at;
pub use expression::{Expression, InvalidExpression};
pub use input::{Kind, ScheduleInput, WrongSchedule};
pub use schedule::{Schedule, zone};
