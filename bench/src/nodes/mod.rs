//! Nodes: what thousands of them cost, and how fast one answers beside what people use instead.

mod crowd;
mod search;
mod ssh;
mod transfer;

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::daemon::Daemon;
use crate::stats::{line, micros, percentile};

pub use crowd::crowd;
pub use search::search;
pub use ssh::{Ssh, round_trips};
pub use transfer::transfer;

/// A real node of a gateway, ended when dropped.
pub struct Node(Child);

impl Node {
    /// Starts one in `workspace` and waits until it is connected.
    pub fn start(
        binary: &Path,
        daemon: &Daemon,
        name: &str,
        workspace: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(binary)
            .args(["node", "--id", name, "--workspace"])
            .arg(workspace)
            .env("MANYHANDS_HOME", daemon.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = child.stdout.take().ok_or("no output")?;
        let mut said = String::new();
        BufReader::new(out).read_line(&mut said)?;
        match said.contains("is connected") {
            true => Ok(Self(child)),
            false => Err(format!("the node said {said:?}").into()),
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The median of `runs` timings, after one that does not count.
fn median(
    runs: usize,
    mut once: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    once()?;
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let began = Instant::now();
        once()?;
        times.push(began.elapsed());
    }
    times.sort();
    Ok(percentile(&times, 0.5))
}

/// One figure beside another's, with the ratio and the goal.
fn beside(what: &str, ours: Duration, theirs: (&str, Duration), goal: &str) {
    let ratio = ours.as_secs_f64() / theirs.1.as_secs_f64();
    let their = format!("{} {}: {ratio:.2} times{goal}", theirs.0, micros(theirs.1));
    line(what, &micros(ours), &their);
}

fn run(program: &str, args: &[&str]) -> Result<(), Box<dyn Error>> {
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{program} {args:?} failed: {status}").into()),
    }
}
