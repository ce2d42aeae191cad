//! The command line: a thin shell over the gateway.

mod args;
mod commands;
mod editor;
mod enrolment;
mod ground;
mod lending;
mod output;
mod own_gateway;
mod own_node;
mod progress;
mod remote;
mod socket;

use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::read();
    if let Command::Keeper = args.command {
        manyhands_guard::keep_watch(std::io::stdin());
        return ExitCode::SUCCESS;
    }
    if let Command::ScriptWorker = args.command {
        commands::script_worker::run();
    }
    let ground = match ground::Ground::new(&args) {
        Ok(ground) => ground,
        Err(error) => return output::fail(&error),
    };
    // A daemon wants every core; one question to a daemon wants none.
    let runtime = match args.command {
        Command::Up(_) | Command::Node(args::Node { service: None, .. }) => {
            tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
        }
        _ => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build(),
    };
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return output::fail(&error.into()),
    };
    // Behind a pointer, so that the whole of it is compiled once and not for each kind of runtime.
    let work: Pin<Box<dyn Future<Output = output::Done>>> =
        Box::pin(commands::run(args.command, &ground));
    let done = runtime.block_on(work);
    // Work on blocking threads is bounded, but not so short that whoever stops the program should wait.
    runtime.shutdown_timeout(Duration::from_secs(2));
    match done {
        Ok(code) => code,
        Err(error) => output::fail(&error),
    }
}
