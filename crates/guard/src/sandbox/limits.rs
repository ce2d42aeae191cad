//! Resource limits of a confined program.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, getuid};

/// Resource limits of a confined program. Memory, processor time and file size are counted per
/// process, so the ceiling for all is these times `processes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Seconds of processor time.
    pub cpu_seconds: u64,
    /// Bytes of writable memory; the address space may be eight times as large.
    pub memory_bytes: u64,
    /// Processes and threads, beyond those its user already runs. The kernel does not enforce this
    /// for root; there only the end of the call bounds them.
    pub processes: u64,
    /// Bytes in any one file it writes.
    pub file_bytes: u64,
    /// Files open at once.
    pub open_files: u64,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            cpu_seconds: 600,
            memory_bytes: 2 << 30,
            processes: 256,
            file_bytes: 1 << 30,
            open_files: 1024,
        }
    }
}

impl SandboxLimits {
    /// The limits to set in the child, none above this process's own.
    pub(super) fn to_set(self) -> Vec<(Resource, Rlimit)> {
        [
            (Resource::Cpu, self.cpu_seconds),
            (Resource::Data, self.memory_bytes),
            // Runtimes reserve much more address space than they use.
            (Resource::As, self.memory_bytes.saturating_mul(8)),
            (Resource::Nproc, self.processes.saturating_add(running())),
            (Resource::Fsize, self.file_bytes),
            (Resource::Nofile, self.open_files),
            (Resource::Core, 0),
        ]
        .into_iter()
        .map(|(resource, wanted)| {
            let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
            let limit = Some(wanted.min(allowed));
            let both = Rlimit {
                current: limit,
                maximum: limit,
            };
            (resource, both)
        })
        .collect()
    }
}

/// Number of tasks our user runs now: the kernel counts all of them against the limit.
fn running() -> u64 {
    let us = getuid().as_raw();
    if us == 0 {
        return 0;
    }
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0;
    };
    processes
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("status")).ok())
        .filter(|status| field(status, "Uid:") == Some(u64::from(us)))
        .filter_map(|status| field(&status, "Threads:"))
        .sum()
}

/// The first number after `name` in a `/proc/*/status` file.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_fields_are_found() {
        let status = "Name:\tsh\nUid:\t1000\t0\t0\t0\nThreads:\t7\n";
        assert_eq!(field(status, "Uid:"), Some(1000));
        assert_eq!(field(status, "Threads:"), Some(7));
        assert_eq!(field(status, "Pid:"), None);
    }
}
