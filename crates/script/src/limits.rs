//! Limits of one run.

use std::time::Duration;

/// Shortest timeout.
pub const TIMEOUT_MIN: Duration = Duration::from_secs(1);

/// Longest timeout.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(15 * 60);

/// Limits of one run, independent of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Size of the code in bytes.
    pub code: usize,
    /// Memory for the script's values in bytes.
    pub memory: usize,
    /// CPU time; waiting for tools does not count.
    pub cpu: Duration,
    /// Total number of calls.
    pub calls: u32,
    /// Number of concurrent calls; further ones are queued.
    pub calls_at_once: usize,
    /// Size of the log in bytes.
    pub log_bytes: usize,
    /// Number of log lines.
    pub log_lines: usize,
    /// Size of the returned value in bytes of JSON.
    pub output: usize,
    /// Size of one frame in bytes: a call with its arguments, or a result.
    pub frame: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            code: 100_000,
            memory: 128 << 20,
            cpu: Duration::from_secs(60),
            calls: 1_000,
            calls_at_once: 64,
            log_bytes: 256 << 10,
            log_lines: 10_000,
            output: 16 << 20,
            frame: 16 << 20,
        }
    }
}
