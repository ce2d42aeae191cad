//! Percentiles, and one line per figure.

use std::time::Duration;

/// The value that `share` of all are not above.
pub fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let at = ((sorted.len() as f64 - 1.0) * share).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

/// Prints one figure with its budget.
pub fn line(what: &str, measured: &str, budget: &str) {
    println!("{what:<58} {measured:>12}   {budget}");
}

/// Prints p50 and p99.
pub fn spread(what: &str, mut times: Vec<Duration>, budget: &str) {
    times.sort();
    line(
        &format!("{what}, p50"),
        &micros(percentile(&times, 0.5)),
        budget,
    );
    line(
        &format!("{what}, p99"),
        &micros(percentile(&times, 0.99)),
        "",
    );
}

/// Microseconds with one digit.
pub fn micros(time: Duration) -> String {
    format!("{:.1} us", time.as_secs_f64() * 1e6)
}
