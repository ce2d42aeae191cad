//! A one-line progress bar.

use std::time::Duration;

use tokio::time::Instant;

use crate::output;

/// Minimum time between redraws.
const EVERY: Duration = Duration::from_millis(100);
/// Maximum width of the bar.
const BAR: usize = 30;

/// A progress bar redrawn in place; cleared when dropped.
pub struct Progress {
    width: Option<usize>,
    began: Option<(Instant, u64)>,
    drawn: Option<Instant>,
}

impl Progress {
    /// Draws on the terminal, if there is one.
    pub fn on_terminal() -> Self {
        Self {
            width: output::terminal_width(),
            began: None,
            drawn: None,
        }
    }

    /// Draws nothing.
    pub fn quiet() -> Self {
        Self {
            width: None,
            began: None,
            drawn: None,
        }
    }

    /// Updates the progress.
    pub fn update(&mut self, done: u64, total: Option<u64>) {
        let Some(width) = self.width else { return };
        let now = Instant::now();
        // Bytes copied before a resume say nothing about the current speed.
        let (since, before) = *self.began.get_or_insert((now, done));
        // Redrawing for every chunk would take longer than copying it.
        if self.drawn.is_some_and(|drawn| now - drawn < EVERY) {
            return;
        }
        self.drawn = Some(now);
        let rate = rate(done.saturating_sub(before), now - since);
        output::redraw(&line(done, total, rate, width));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            output::redraw("");
        }
    }
}

/// Bytes per second, once there is enough data.
fn rate(done: u64, took: Duration) -> Option<f64> {
    let seconds = took.as_secs_f64();
    // The first buffers arrive at once and would show an absurd speed.
    (seconds >= 0.2 && done > 0).then(|| done as f64 / seconds)
}

/// Formats the line in at most `width` columns; parts that do not fit are dropped from the end.
fn line(done: u64, total: Option<u64>, rate: Option<f64>, width: usize) -> String {
    let mut parts = Vec::new();
    match total {
        Some(total) => {
            parts.push(format!("{:>3}%", percent(done, total)));
            parts.push(format!("{} of {}", bytes(done), bytes(total)));
        }
        None => parts.push(bytes(done)),
    }
    if let Some(rate) = rate {
        parts.push(format!("{}/s", bytes(rate as u64)));
        if let Some(total) = total {
            let left = total.saturating_sub(done) as f64 / rate;
            parts.push(format!("{} left", clock(left as u64)));
        }
    }
    // The last column stays empty: some terminals wrap there.
    let room = width.saturating_sub(1);
    while parts.len() > 1 && parts.join("  ").len() > room {
        parts.pop();
    }
    let text = parts.join("  ");
    let free = room.saturating_sub(text.len() + 4).min(BAR);
    match total {
        // A bar of less than five columns says nothing that the percentage does not.
        Some(total) if free >= 5 => format!("[{}]  {text}", bar(done, total, free)),
        _ => text.chars().take(room).collect(),
    }
}

fn percent(done: u64, total: u64) -> u64 {
    match total {
        0 => 100,
        _ => (u128::from(done.min(total)) * 100 / u128::from(total)) as u64,
    }
}

fn bar(done: u64, total: u64, width: usize) -> String {
    let full = percent(done, total) as usize * width / 100;
    format!("{}{}", "#".repeat(full), " ".repeat(width - full))
}

/// Formats seconds as h:mm:ss.
fn clock(seconds: u64) -> String {
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes}:{seconds:02}"),
        (hours, minutes) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Formats a size: `512 B`, `1.5 KiB`, `20 MiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut size = count as f64 / 1024.0;
    let mut unit = 0;
    // A size that would round to 1024 is shown as 1.0 of the next unit.
    while size >= 1023.5 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    match size {
        small if small < 9.95 => format!("{small:.1} {}", UNITS[unit]),
        large => format!("{large:.0} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    #[test]
    fn the_line_shows_bytes_percent_rate_and_what_is_left() {
        assert_eq!(
            line(460 * MIB, Some(1024 * MIB), Some(51.0 * MIB as f64), 80),
            "[#############                 ]   44%  460 MiB of 1.0 GiB  51 MiB/s  0:11 left"
        );
        assert_eq!(
            line(MIB, None, Some(2048.0), 80),
            "1.0 MiB  2.0 KiB/s",
            "without a whole there is no bar"
        );
        assert!(line(5, Some(0), None, 80).contains("100%"));
    }

    #[test]
    fn the_line_never_reaches_the_last_column() {
        for width in 0..200 {
            for total in [None, Some(0), Some(7), Some(u64::MAX)] {
                let drawn = line(7, total, Some(3.0), width);
                assert!(drawn.len() < width.max(1), "{width}: {drawn:?}");
            }
        }
        assert_eq!(line(7, Some(14), Some(3.0), 20), " 50%  7 B of 14 B");
    }

    #[test]
    fn sizes_are_short() {
        for (count, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (20 * MIB, "20 MiB"),
            (1024 * MIB - 1, "1.0 GiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
        assert_eq!(
            (clock(59), clock(61), clock(3_661)),
            ("0:59".into(), "1:01".into(), "1:01:01".into())
        );
    }
}
