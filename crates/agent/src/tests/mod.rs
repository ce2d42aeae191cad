//! What a mind does, against a model and tools that do as they are told.

mod commands;
mod costs;
mod crash;
mod delete;
mod fixture;
mod memory;
mod month;
mod outcomes;
mod panics;
mod recovery;
mod rewind;
mod room;
mod running;
mod tasks;
mod titles;
mod turns;

use fixture::*;
