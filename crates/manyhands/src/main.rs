//! The command line: a thin client of the gateway.

mod commands;
mod context;
mod enrolment;
mod own_gateway;
mod own_node;
mod remote;
mod sharing;
mod socket;
mod telemetry;

use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

pub(crate) use manyhands_args as args;
use manyhands_args::{Args, Command};
use manyhands_terminal::{output, style};

/// What `--version` prints.
const VERSION: &str = env!("MANYHANDS_VERSION");

fn main() -> ExitCode {
    let args = Args::read(VERSION);
    // Before anything else: the keeper and the script worker must not read settings or start a runtime.
    if let Some(Command::Keeper) = args.command {
        manyhands_guard::run_keeper(std::io::stdin());
        return ExitCode::SUCCESS;
    }
    if let Some(Command::ScriptWorker) = args.command {
        commands::script_worker::run();
    }
    let ctx = match context::CliContext::new(&args) {
        Ok(ctx) => ctx,
        Err(error) => return output::fail(&error),
    };
    style::configure(&ctx.environment());
    // The long-running commands use all cores; a single request needs no worker threads.
    let runtime = match args.command {
        Some(Command::Up(_) | Command::Node(args::Node { service: None, .. })) => {
            tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
        }
        _ => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build(),
    };
    // Creating it fails where file descriptors are used up; that needs a message, not a panic.
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return output::fail(&error.into()),
    };
    // Boxed, so that the large future is compiled once rather than for each kind of runtime.
    let work: Pin<Box<dyn Future<Output = output::Done>>> =
        Box::pin(commands::run(args.command, &ctx));
    let done = runtime.block_on(work);
    // Blocking tasks are bounded, but a user who stops the program should not wait for the slowest.
    runtime.shutdown_timeout(Duration::from_secs(2));
    match done {
        Ok(code) => code,
        Err(error) => output::fail(&error),
    }
}
