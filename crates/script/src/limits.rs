//! How much one run may use.

use std::time::Duration;

/// The shortest time a run may be given.
pub const TIMEOUT_MIN: Duration = Duration::from_secs(1);

/// The longest time a run may be given.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(15 * 60);

/// How much one run may use. Each is a ceiling of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of code.
    pub code: usize,
    /// Bytes of memory for the values of the script.
    pub memory: usize,
    /// Time on the processor; waiting for tools costs none.
    pub cpu: Duration,
    /// Calls in all.
    pub calls: u32,
    /// Calls at one time; more wait for their turn.
    pub calls_at_once: usize,
    /// Bytes of log.
    pub log_bytes: usize,
    /// Lines of log.
    pub log_lines: usize,
    /// Bytes of the returned value as JSON.
    pub output: usize,
    /// Bytes of one frame: a call with its arguments, or an answer.
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
