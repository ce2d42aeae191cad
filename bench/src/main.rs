//! What the house itself costs: start, memory, size, and the path of one call.
//!
//! `make bench` runs it against the release build. Each figure stands beside its budget.
#![allow(clippy::print_stdout, clippy::disallowed_methods)] // a bench prints, measures the real clock and starts the real binary

mod client;
mod daemon;
mod host;
mod in_process;
mod stats;

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let binary = PathBuf::from(
        std::env::args()
            .nth(1)
            .ok_or("usage: manyhands-bench PATH_OF_MANYHANDS")?,
    );
    println!("{:<58} {:>12}   budget", "what", "measured");
    daemon::size(&binary)?;
    daemon::cold_start(&binary)?;
    daemon::idle_memory(&binary)?;
    tokio::runtime::Runtime::new()?.block_on(in_process::path_cost())?;
    daemon::over_http(&binary)?;
    daemon::over_mcp(&binary)?;
    host::files(&binary)?;
    tokio::runtime::Runtime::new()?.block_on(host::sandbox())?;
    host::web(&binary)?;
    Ok(())
}
