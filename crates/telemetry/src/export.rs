//! The exporter: a task per signal that sends what has been queued.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use manyhands_core::{Clock, Ids};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::metrics;
use crate::options::{Options, SignalOptions};
use crate::pipeline::{Pipeline, Queue, set_pipeline};
use crate::proto::ExportRequest;
use crate::record::Value;

/// First and longest delay before a failed request is sent again.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// How long the last export may take. A stopping process must not wait for a collector that is down.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Sends requests to one URL. Implemented over guard's egress client by whoever installs the exporter.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Posts a protobuf message, compressed if `gzip` is set.
    async fn post(
        &self,
        headers: &[(String, String)],
        body: Bytes,
        gzip: bool,
        timeout: Duration,
    ) -> Result<(), TransportError>;
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportError {
    /// The same request may succeed later.
    Temporary {
        /// What happened.
        reason: String,
        /// How long the collector asked to wait.
        after: Option<Duration>,
    },
    /// The collector refused the request.
    Permanent(String),
}

/// The running exporter of this process.
pub struct Exporter {
    stop: CancellationToken,
    workers: JoinSet<()>,
}

/// Starts exporting, on the current runtime. `connect` makes the client of a URL. Fails if a URL is invalid, or if an
/// exporter runs already.
pub fn install(
    options: Options,
    clock: Arc<dyn Clock>,
    ids: Ids,
    connect: impl Fn(&str) -> Result<Arc<dyn Transport>, String>,
) -> Result<Exporter, String> {
    let connected = |signal: &Option<SignalOptions>| {
        let connected = signal.as_ref().map(|signal| connect(&signal.url));
        connected.transpose()
    };
    // All three before anything starts: an invalid URL leaves telemetry off altogether.
    let traces = connected(&options.traces)?;
    let metrics = connected(&options.metrics)?;
    let logs = connected(&options.logs)?;
    let mut pipeline = Pipeline::new(clock, ids, options.sampler);
    let capacity = |signal: &Option<SignalOptions>| signal.as_ref().map_or(0, |one| one.queue);
    pipeline.traces.capacity = capacity(&options.traces);
    pipeline.metrics.interval = options.metrics.as_ref().map(|metrics| metrics.interval);
    pipeline.logs.capacity = capacity(&options.logs);
    let pipeline = set_pipeline(pipeline).ok_or("telemetry is already exported")?;
    let resource: Arc<[(String, Value)]> = options.resource.into();
    let (mut workers, stop) = (JoinSet::new(), CancellationToken::new());
    let worker = |signal, options: Option<SignalOptions>, transport: Option<_>| {
        Some(SignalExporter {
            signal,
            pipeline,
            options: options?,
            transport: transport?,
            resource: resource.clone(),
            stop: stop.clone(),
            failing: false,
        })
    };
    if let Some(worker) = worker("traces", options.traces, traces) {
        let encode = |envelope: &ExportRequest<'_>, spans: &[_]| envelope.traces(spans);
        workers.spawn(worker.drain(&pipeline.traces, encode));
    }
    if let Some(worker) = worker("logs", options.logs, logs) {
        let encode = |envelope: &ExportRequest<'_>, records: &[_]| envelope.logs(records);
        workers.spawn(worker.drain(&pipeline.logs, encode));
    }
    if let Some(worker) = worker("metrics", options.metrics, metrics) {
        workers.spawn(worker.follow_metrics());
    }
    Ok(Exporter { stop, workers })
}

impl Exporter {
    /// Exports what is queued and stops, within two seconds.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        let ended = async { while self.workers.join_next().await.is_some() {} };
        // What is not exported by then is lost with the process, which must not wait for a collector.
        let _ = timeout(FLUSH_TIMEOUT, ended).await;
    }
}

/// Exports one signal.
struct SignalExporter {
    signal: &'static str,
    pipeline: &'static Pipeline,
    options: SignalOptions,
    transport: Arc<dyn Transport>,
    resource: Arc<[(String, Value)]>,
    stop: CancellationToken,
    /// Whether the last request failed: only a change is logged.
    failing: bool,
}

impl SignalExporter {
    /// Sends batches of a queue until the exporter stops, and then once more.
    async fn drain<T: Send + Sync>(
        mut self,
        queue: &'static Queue<T>,
        encode: impl Fn(&ExportRequest<'_>, &[T]) -> Vec<u8> + Send,
    ) {
        loop {
            let stopping = tokio::select! {
                () = self.stop.cancelled() => true,
                () = queue.full.notified() => false,
                () = tokio::time::sleep(self.options.interval) => false,
            };
            self.pipeline.set_clock();
            loop {
                let batch = queue.take();
                if batch.is_empty() {
                    break;
                }
                let body = self.encoded(|envelope| encode(envelope, &batch));
                let count = batch.len() as u64;
                // Freed while the request waits for the collector, perhaps for long.
                drop(batch);
                match self.send(body).await {
                    true => queue.exported.fetch_add(count, Ordering::Relaxed),
                    false => queue.dropped.fetch_add(count, Ordering::Relaxed),
                };
            }
            if stopping {
                return;
            }
        }
    }

    /// Sends each offered snapshot. A lost one is not sent again: the next contains its numbers.
    async fn follow_metrics(mut self) {
        let pipeline = self.pipeline;
        let began = pipeline.now();
        loop {
            let stopping = tokio::select! {
                biased;
                () = pipeline.metrics.offered.notified() => false,
                () = self.stop.cancelled() => true,
            };
            if let Some(text) = pipeline.metrics.take() {
                let families = metrics::read(&text);
                let body =
                    self.encoded(|envelope| envelope.metrics(&families, began, pipeline.now()));
                let count = families.len() as u64;
                let sent = self.post(body).await;
                let counter = match sent {
                    Ok(()) => &pipeline.metrics.exported,
                    Err(_) => &pipeline.metrics.dropped,
                };
                counter.fetch_add(count, Ordering::Relaxed);
            }
            if stopping {
                return;
            }
        }
    }

    fn encoded(&self, encode: impl FnOnce(&ExportRequest<'_>) -> Vec<u8>) -> Bytes {
        let redact = |text: &str| match self.pipeline.redact.get() {
            Some(redact) => redact(text),
            None => text.to_owned(),
        };
        let body = encode(&ExportRequest {
            resource: &self.resource,
            redact: &redact,
        });
        match self.options.gzip {
            true => gzip(&body).into(),
            false => body.into(),
        }
    }

    /// Sends a request until it is accepted; returns false once it is lost: refused, or failed while the exporter stops.
    async fn send(&mut self, body: Bytes) -> bool {
        let (mut wait, longest) = RETRY_DELAYS;
        loop {
            let after = match self.post(body.clone()).await {
                Ok(()) => return true,
                Err(TransportError::Permanent(_)) => return false,
                Err(TransportError::Temporary { after, .. }) => after,
            };
            let delay = after.map_or(wait, |after| after.clamp(wait, longest));
            tokio::select! {
                // One more attempt after the stop, or a collector that has just come back would miss the end.
                () = self.stop.cancelled() => return self.post(body).await.is_ok(),
                () = tokio::time::sleep(delay) => {}
            }
            wait = (wait * 2).min(longest);
        }
    }

    async fn post(&mut self, body: Bytes) -> Result<(), TransportError> {
        let options = &self.options;
        let (headers, limit) = (&options.headers, options.timeout);
        let posted = self.transport.post(headers, body, options.gzip, limit);
        let posted = posted.await;
        self.report(&posted);
        posted
    }

    fn report(&mut self, posted: &Result<(), TransportError>) {
        let was = std::mem::replace(&mut self.failing, posted.is_err());
        let signal = self.signal;
        match posted {
            Ok(()) if was => tracing::info!(
                event = "telemetry_export_restored",
                signal,
                "telemetry is exported again"
            ),
            Err(TransportError::Temporary { reason, .. } | TransportError::Permanent(reason))
                if !was =>
            {
                tracing::warn!(
                    event = "telemetry_export_failed",
                    signal,
                    reason,
                    "cannot export telemetry; records beyond the queue are dropped until it works"
                )
            }
            _ => {}
        }
    }
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(body);
    written
        .and_then(|()| encoder.finish())
        .expect("a vector takes every byte")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use manyhands_core::{ManualClock, SeededEntropy, Timestamp};

    use super::*;
    use crate::record::{SpanKind, SpanRecord};
    use crate::resource::Process;
    use crate::sampler::Sampler;

    /// Answers requests from a list, and then accepts all.
    #[derive(Default)]
    struct Scripted {
        answers: Mutex<Vec<TransportError>>,
        bodies: Mutex<Vec<Bytes>>,
    }

    #[async_trait]
    impl Transport for Scripted {
        async fn post(
            &self,
            _: &[(String, String)],
            body: Bytes,
            _: bool,
            _: Duration,
        ) -> Result<(), TransportError> {
            self.bodies.lock().unwrap().push(body);
            match self.answers.lock().unwrap().pop() {
                Some(error) => Err(error),
                None => Ok(()),
            }
        }
    }

    fn temporary() -> TransportError {
        TransportError::Temporary {
            reason: "connection refused".to_owned(),
            after: None,
        }
    }

    /// A worker of its own pipeline, which lives as long as the test process.
    fn worker(answers: Vec<TransportError>) -> (SignalExporter, &'static Pipeline, Arc<Scripted>) {
        let clock = Arc::new(ManualClock::at(Timestamp(1_000)));
        let ids = Ids::new(clock.clone(), Arc::new(SeededEntropy::new(7)));
        let mut pipeline = Pipeline::new(clock, ids, Sampler::default());
        pipeline.traces.capacity = 10;
        let pipeline: &'static Pipeline = Box::leak(Box::new(pipeline));
        let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c")];
        let variables: BTreeMap<String, String> = variables
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let process = Process {
            service: "manyhands",
            host: "desk".to_owned(),
            node: None,
        };
        let options = Options::of(&variables, &process, "1".to_owned());
        let options = options.unwrap().unwrap();
        let transport = Arc::new(Scripted {
            answers: Mutex::new(answers),
            ..Scripted::default()
        });
        let worker = SignalExporter {
            signal: "traces",
            pipeline,
            options: options.traces.unwrap(),
            transport: transport.clone(),
            resource: options.resource.into(),
            stop: CancellationToken::new(),
            failing: false,
        };
        (worker, pipeline, transport)
    }

    fn record(pipeline: &Pipeline) {
        pipeline.traces.push(SpanRecord {
            trace: [1; 16],
            span: [2; 8],
            parent: None,
            state: None,
            name: "chat m".to_owned(),
            kind: SpanKind::Client,
            began: 1,
            ended: 2,
            attributes: Vec::new(),
            failed: false,
        });
    }

    fn counts(pipeline: &Pipeline) -> (u64, u64) {
        let queue = &pipeline.traces;
        let count = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed);
        (count(&queue.exported), count(&queue.dropped))
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_request_is_sent_again_until_it_is_accepted() {
        let (worker, pipeline, transport) = worker(vec![temporary(), temporary()]);
        record(pipeline);
        let stop = worker.stop.clone();
        let running = tokio::spawn(worker.drain(&pipeline.traces, |e, spans| e.traces(spans)));
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(counts(pipeline), (1, 0));
        let bodies = transport.bodies.lock().unwrap().clone();
        assert_eq!(bodies.len(), 3);
        assert!(bodies.iter().all(|body| *body == bodies[0]));
        stop.cancel();
        running.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_request_is_counted_and_not_repeated() {
        let refused = TransportError::Permanent("HTTP 400".to_owned());
        let (worker, pipeline, transport) = worker(vec![refused]);
        record(pipeline);
        let stop = worker.stop.clone();
        let running = tokio::spawn(worker.drain(&pipeline.traces, |e, spans| e.traces(spans)));
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(counts(pipeline), (0, 1));
        assert_eq!(transport.bodies.lock().unwrap().len(), 1);
        stop.cancel();
        running.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_the_process_exports_what_is_queued() {
        let (worker, pipeline, transport) = worker(Vec::new());
        record(pipeline);
        worker.stop.cancel();
        worker
            .drain(&pipeline.traces, |e, spans| e.traces(spans))
            .await;
        assert_eq!(counts(pipeline), (1, 0));
        assert_eq!(transport.bodies.lock().unwrap().len(), 1);
    }
}
