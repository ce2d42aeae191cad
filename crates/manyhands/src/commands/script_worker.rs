//! `manyhands script-worker`: the process one script runs in.

/// Runs the script received on stdin and exits.
pub fn run() -> ! {
    manyhands_script::worker::serve(std::io::stdin(), std::io::stdout())
}
