//! Jobs on a clock that the tests own.

mod crash;
mod fixture;
mod heartbeats;
mod jobs;
mod missed;
