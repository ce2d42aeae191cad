//! Live output of a running tool, on its way to watchers.
//!
//! Secrets are masked, even across two chunks; the rest is forwarded in small chunks at a limited
//! rate and up to a total bound. The tool itself is never blocked.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use crate::redact::{RedactStream, Redactor};

/// Maximum chunk size.
const CHUNK: usize = 4 * 1024;
/// Maximum output forwarded per call.
const MAX_OUTPUT: usize = 256 * 1024;
/// Interval between two chunks.
const INTERVAL: Duration = Duration::from_millis(100);

/// The live output of one call.
#[derive(Debug)]
pub struct Live {
    state: Mutex<LiveState>,
    ready_notify: Notify,
}

#[derive(Debug)]
struct LiveState {
    redacted: Option<RedactStream>,
    /// Redacted output that was not forwarded yet.
    ready: String,
    /// How much more output is accepted.
    room: usize,
}

impl Live {
    /// A stream without output.
    pub fn new(redactor: &Redactor) -> Self {
        let state = LiveState {
            redacted: Some(redactor.stream()),
            ready: String::new(),
            room: MAX_OUTPUT,
        };
        Self {
            state: Mutex::new(state),
            ready_notify: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts output; what exceeds the bound is dropped.
    pub fn take(&self, text: &str) {
        let mut state = self.state();
        let fits = text.floor_char_boundary(state.room);
        // Output after a gap would not connect to what was forwarded before it.
        state.room = match fits == text.len() {
            true => state.room - fits,
            false => 0,
        };
        let text = &text[..fits];
        if text.is_empty() {
            return;
        }
        let Some(redacted) = &mut state.redacted else {
            return; // it has ended
        };
        // Secrets are text, so masking never cuts inside a character.
        let clean = redacted.push(text.as_bytes());
        state.ready.push_str(&String::from_utf8_lossy(&clean));
        drop(state);
        self.ready_notify.notify_one();
    }

    /// Passes output to `sink` as it arrives, chunk by chunk. Never returns.
    pub async fn forward(&self, mut sink: impl FnMut(String)) -> Infallible {
        loop {
            while let Some(piece) = self.next() {
                sink(piece);
                sleep(INTERVAL).await;
            }
            self.ready_notify.notified().await;
        }
    }

    /// The next chunk, if there is one.
    fn next(&self) -> Option<String> {
        let mut state = self.state();
        let end = state.ready.floor_char_boundary(CHUNK);
        let rest = state.ready.split_off(end);
        let piece = std::mem::replace(&mut state.ready, rest);
        (!piece.is_empty()).then_some(piece)
    }

    /// Stops accepting output and returns one last chunk of what was not forwarded.
    pub fn finish(&self) -> Option<String> {
        let mut state = self.state();
        let last = state.redacted.take().map(RedactStream::finish);
        let last = last.unwrap_or_default();
        state.ready.push_str(&String::from_utf8_lossy(&last));
        drop(state);
        let piece = self.next();
        self.state().ready = String::new(); // the result says the rest
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_core::Secret;
    use std::sync::Arc;
    use tokio::time::Instant;

    /// What is sink of what is printed, and when.
    async fn sink(live: &Arc<Live>, within: Duration) -> Vec<(String, Duration)> {
        let (began, mut all) = (Instant::now(), Vec::new());
        let telling = live.forward(|piece| all.push((piece, began.elapsed())));
        let _ = tokio::time::timeout(within, telling).await;
        all
    }

    #[tokio::test(start_paused = true)]
    async fn chunks_are_small_in_order_and_complete() {
        let live = Arc::new(Live::new(&Redactor::default()));
        let text = "ä".repeat(5_000);
        live.take(&text);
        let all = sink(&live, Duration::from_secs(5)).await;
        assert!(all.iter().all(|(piece, _)| piece.len() <= CHUNK));
        let whole: String = all.iter().map(|(piece, _)| piece.as_str()).collect();
        assert_eq!(whole, text);
        let times: Vec<Duration> = all.iter().map(|(_, at)| *at).collect();
        assert!(times.windows(2).all(|two| two[1] - two[0] >= INTERVAL));
    }

    #[tokio::test(start_paused = true)]
    async fn output_beyond_the_bound_is_dropped_without_blocking() {
        let live = Arc::new(Live::new(&Redactor::default()));
        for _ in 0..10_000 {
            live.take(&"x".repeat(1_000));
        }
        assert!(live.state().ready.len() <= MAX_OUTPUT);
        let all = sink(&live, Duration::from_secs(60)).await;
        let whole: usize = all.iter().map(|(piece, _)| piece.len()).sum();
        assert_eq!(whole, MAX_OUTPUT);
        live.take("more");
        assert_eq!(live.finish(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_is_cut_out_wherever_it_is_cut_in_two() {
        let secret = "hunter2!hunter2!";
        let redactor = Redactor::new(&[Secret::new(secret)]);
        for at in 0..=secret.len() {
            let live = Arc::new(Live::new(&redactor));
            live.take(&format!("before {}", &secret[..at]));
            let mut all = sink(&live, Duration::from_secs(1)).await;
            live.take(&format!("{} after hunt", &secret[at..]));
            all.extend(sink(&live, Duration::from_secs(1)).await);
            let shown: String = all.into_iter().map(|(piece, _)| piece).collect();
            assert_eq!(shown, "before [redacted] after ");
            assert_eq!(live.finish().as_deref(), Some("hunt"));
        }
    }
}
