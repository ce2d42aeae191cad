//! What the house itself costs: start, memory, size, and the path of one call.
//!
//! `make bench` runs it against the release build. Each figure stands beside its budget.
#![allow(clippy::print_stdout, clippy::disallowed_methods)] // a bench prints, measures the real clock and starts the real binary

mod chats;
mod client;
mod cron;
mod daemon;
mod discovery;
mod federation;
mod host;
mod in_process;
mod minds;
mod nodes;
mod script;
mod stats;

use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let binary = PathBuf::from(std::env::args().nth(1).ok_or(
        "usage: manyhands-bench PATH_OF_MANYHANDS [house|nodes|minds|script|discovery|federation|cron|chats]",
    )?);
    let only = std::env::args().nth(2);
    let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
    println!("{:<58} {:>12}   budget", "what", "measured");
    if wanted("nodes") {
        all_of_nodes(&binary)?;
    }
    if wanted("script") {
        tokio::runtime::Runtime::new()?.block_on(script::scripts(&binary))?;
    }
    if wanted("discovery") {
        discovery::discovery()?;
    }
    if wanted("federation") {
        federation::federation(&binary)?;
    }
    if wanted("cron") {
        cron::cron(&binary)?;
    }
    if wanted("chats") {
        chats::chats(&binary)?;
    }
    if wanted("minds") {
        minds::all(&binary)?;
    }
    if !wanted("house") {
        return Ok(());
    }
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

fn all_of_nodes(binary: &Path) -> Result<(), Box<dyn std::error::Error>> {
    nodes::crowd(binary)?;
    nodes::search(binary)?;
    let ssh = nodes::Ssh::start()?;
    nodes::round_trips(binary, ssh.as_ref())?;
    nodes::transfer(binary, ssh.as_ref())
}
