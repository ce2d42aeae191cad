//! The worker process: one fresh engine, one run, then exit.

mod confine;
mod engine;
mod memory;
mod natives;
mod pipes;
mod stack;
mod state;
mod timers;
mod web;

use std::os::fd::{AsFd, OwnedFd};

use crate::frames::{FromWorker, OVERHEAD};
use crate::report::{Fault, FaultKind};
use pipes::{FrameReader, FrameWriter};

pub use confine::shut_in;

/// Maximum size of the first frame. The length of the code is checked before it is sent.
const FIRST_FRAME: usize = (16 << 20) + OVERHEAD;

/// Confines itself, prepares an engine, reads code from `input`, runs it and exits. Console output, requests and the result
/// are written to `output`.
pub fn serve(input: impl AsFd, output: impl AsFd) -> ! {
    let pipes = (
        input.as_fd().try_clone_to_owned(),
        output.as_fd().try_clone_to_owned(),
    );
    let (Ok(input), Ok(output)) = pipes else {
        std::process::exit(1)
    };
    let output = FrameWriter(output);
    if let Err(what) = shut_in() {
        refuse(&output, &format!("cannot confine the worker: {what}"));
    }
    run(input, output)
}

fn run(input: OwnedFd, output: FrameWriter) -> ! {
    engine::run(FrameReader::new(input, FIRST_FRAME), output)
}

fn refuse(output: &FrameWriter, why: &str) -> ! {
    let fault = Fault::new(FaultKind::Crashed, why);
    output.send(&FromWorker::Failed(Box::new(fault)));
    std::process::exit(1)
}
