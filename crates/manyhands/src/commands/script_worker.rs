//! `manyhands script-worker`: the process that one script runs in.

/// Runs the script that comes on standard input, and ends.
pub fn run() -> ! {
    manyhands_script::worker::serve(std::io::stdin(), std::io::stdout())
}
