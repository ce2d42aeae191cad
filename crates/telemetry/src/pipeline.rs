//! Bounded queues between what happens and its export, and the one pipeline of this process.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use manyhands_core::{Clock, Ids};
use tokio::sync::Notify;

use crate::record::{LogRecord, SpanRecord};
use crate::sampler::Sampler;

static PIPELINE: OnceLock<Pipeline> = OnceLock::new();

/// The most records of one request.
pub(crate) const BATCH: usize = 512;
/// A difference between the wall clock and ours that means that the wall clock was set.
const STEP: i64 = 50_000_000;

/// Removes secrets from a text.
pub(crate) type Redact = Box<dyn Fn(&str) -> String + Send + Sync>;

/// Everything between the code that is observed and the exporter.
pub(crate) struct Pipeline {
    pub(crate) ids: Ids,
    pub(crate) sampler: Sampler,
    pub(crate) traces: Queue<SpanRecord>,
    pub(crate) logs: Queue<LogRecord>,
    pub(crate) metrics: Snapshot,
    pub(crate) redact: OnceLock<Redact>,
    clock: Arc<dyn Clock>,
    /// Wall-clock time minus monotonic time, in nanoseconds.
    offset: AtomicI64,
}

impl Pipeline {
    pub(crate) fn new(clock: Arc<dyn Clock>, ids: Ids, sampler: Sampler) -> Self {
        let pipeline = Self {
            ids,
            sampler,
            traces: Queue::default(),
            logs: Queue::default(),
            metrics: Snapshot::default(),
            redact: OnceLock::new(),
            clock,
            offset: AtomicI64::new(0),
        };
        pipeline.set_clock();
        pipeline
    }

    /// Nanoseconds since the Unix epoch. From the monotonic clock, which is finer than the wall clock's milliseconds, so
    /// that the spans of a trace are in order.
    pub(crate) fn now(&self) -> u64 {
        let since = self
            .monotonic()
            .saturating_add(self.offset.load(Ordering::Relaxed));
        u64::try_from(since).unwrap_or(0)
    }

    fn monotonic(&self) -> i64 {
        i64::try_from(self.clock.monotonic().as_nanos()).unwrap_or(i64::MAX)
    }

    /// Follows the wall clock after it was set.
    pub(crate) fn set_clock(&self) {
        let wall = self.clock.now().0.saturating_mul(1_000_000);
        let offset = wall.saturating_sub(self.monotonic());
        let before = self.offset.load(Ordering::Relaxed);
        if offset.saturating_sub(before).saturating_abs() > STEP {
            self.offset.store(offset, Ordering::Relaxed);
        }
    }
}

pub(crate) fn pipeline() -> Option<&'static Pipeline> {
    PIPELINE.get()
}

/// Makes `pipeline` that of this process; `None` if there is one already.
pub(crate) fn set_pipeline(pipeline: Pipeline) -> Option<&'static Pipeline> {
    PIPELINE.set(pipeline).ok()?;
    PIPELINE.get()
}

/// Whether telemetry is exported.
pub fn is_on() -> bool {
    PIPELINE.get().is_some()
}

/// Redacts every exported text with `redact`, besides leaving out arguments, results and prompts.
pub fn redact_with(redact: impl Fn(&str) -> String + Send + Sync + 'static) {
    if let Some(pipeline) = pipeline() {
        let _ = pipeline.redact.set(Box::new(redact)); // set once per process
    }
}

/// Records that wait for export.
pub(crate) struct Queue<T> {
    /// The most records that wait; 0 if the signal is off. Set before the pipeline is installed.
    pub(crate) capacity: usize,
    waiting: Mutex<VecDeque<T>>,
    /// Notified when there is a whole batch.
    pub(crate) full: Notify,
    pub(crate) exported: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            capacity: 0,
            waiting: Mutex::default(),
            full: Notify::new(),
            exported: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }
}

impl<T> Queue<T> {
    /// Queues a record, or drops it if the queue is full: whoever records must never wait.
    pub(crate) fn push(&self, record: T) {
        if self.capacity == 0 {
            return;
        }
        let length = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.len() >= self.capacity {
                drop(waiting);
                self.dropped.fetch_add(1, Ordering::Relaxed);
                return;
            }
            waiting.push_back(record);
            waiting.len()
        };
        if length == BATCH.min(self.capacity) {
            self.full.notify_one();
        }
    }

    /// The oldest records, at most a batch.
    pub(crate) fn take(&self) -> Vec<T> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let count = waiting.len().min(BATCH);
        waiting.drain(..count).collect()
    }

    pub(crate) fn len(&self) -> usize {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.len()
    }
}

/// The latest text of `/metrics`.
#[derive(Default)]
pub(crate) struct Snapshot {
    /// Set before the pipeline is installed; `None` if metrics are not exported.
    pub(crate) interval: Option<Duration>,
    text: Mutex<Option<String>>,
    pub(crate) offered: Notify,
    pub(crate) exported: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

impl Snapshot {
    pub(crate) fn take(&self) -> Option<String> {
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        text.take()
    }
}

/// How often metrics are exported; `None` if they are not.
pub fn metrics_interval() -> Option<Duration> {
    pipeline()?.metrics.interval
}

/// Exports the metrics in `text`, in the format that Prometheus reads. A newer text replaces one that is still waiting:
/// the numbers are totals.
pub fn offer_metrics(text: String) {
    let Some(pipeline) = pipeline() else { return };
    let metrics = &pipeline.metrics;
    if metrics.interval.is_none() {
        return;
    }
    *metrics.text.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    metrics.offered.notify_one();
}

/// What happened to the records of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// `traces`, `metrics` or `logs`.
    pub signal: &'static str,
    /// Records that the collector has accepted.
    pub exported: u64,
    /// Records that were lost: the queue was full, or the collector refused them.
    pub dropped: u64,
    /// Records that wait.
    pub queued: u64,
}

/// What happened to the records of each signal so far; all zero while telemetry is off.
pub fn statistics() -> [Statistics; 3] {
    let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let of = |signal, numbers: Option<(&AtomicU64, &AtomicU64, usize)>| Statistics {
        signal,
        exported: numbers.map_or(0, |(exported, _, _)| count(exported)),
        dropped: numbers.map_or(0, |(_, dropped, _)| count(dropped)),
        queued: numbers.map_or(0, |(_, _, queued)| queued as u64),
    };
    let on = pipeline();
    [
        of(
            "traces",
            on.map(|on| (&on.traces.exported, &on.traces.dropped, on.traces.len())),
        ),
        of(
            "metrics",
            on.map(|on| (&on.metrics.exported, &on.metrics.dropped, 0)),
        ),
        of(
            "logs",
            on.map(|on| (&on.logs.exported, &on.logs.dropped, on.logs.len())),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_new_records_and_counts_them() {
        let queue = Queue {
            capacity: BATCH + 1,
            ..Queue::default()
        };
        for number in 0..BATCH + 4 {
            queue.push(number);
        }
        assert_eq!(queue.len(), BATCH + 1);
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 3);
        assert_eq!(queue.take(), (0..BATCH).collect::<Vec<_>>());
        queue.push(7);
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_signal_that_is_off_queues_nothing() {
        let queue = Queue::default();
        queue.push(1);
        assert_eq!(queue.len(), 0);
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 0);
    }
}
