//! The process that a script runs in: one fresh engine, one run, then the end.

mod confine;
mod desk;
mod engine;
mod memory;
mod natives;
mod pipes;
mod stack;
mod timers;
mod web;

use std::os::fd::{AsFd, OwnedFd};

use crate::frames::{AROUND, FromWorker};
use crate::report::{Fault, FaultKind};
use pipes::{Inbox, Outbox};

pub use confine::shut_in;

/// The longest first frame. How long the code may be is decided before it is sent.
const FIRST_FRAME: usize = (16 << 20) + AROUND;

/// Shuts itself in, readies an engine, waits on `input` for code, runs it and ends the process. What the
/// script says, asks for and returns is said on `output`.
pub fn serve(input: impl AsFd, output: impl AsFd) -> ! {
    let pipes = (
        input.as_fd().try_clone_to_owned(),
        output.as_fd().try_clone_to_owned(),
    );
    let (Ok(input), Ok(output)) = pipes else {
        std::process::exit(1)
    };
    let output = Outbox(output);
    if let Err(what) = shut_in() {
        refuse(
            &output,
            &format!("the worker cannot shut itself in: {what}"),
        );
    }
    run(input, output)
}

fn run(input: OwnedFd, output: Outbox) -> ! {
    engine::run(Inbox::new(input, FIRST_FRAME), output)
}

fn refuse(output: &Outbox, why: &str) -> ! {
    let fault = Fault::new(FaultKind::Crashed, why);
    output.send(&FromWorker::Failed(Box::new(fault)));
    std::process::exit(1)
}
