//! The metrics of a gateway, for `/metrics` and for OTLP: both are the same text.

use std::sync::Arc;
use std::time::Duration;

use manyhands_gateway::Gateway;
use manyhands_path::Metrics;
use manyhands_store::{AuditFilter, StoreError, VerifyFrom};
use manyhands_telemetry::{metrics_interval, offer_metrics, statistics};
use manyhands_upstream::Status;

/// Interval of verifying the end of the audit log.
const VERIFY: Duration = Duration::from_secs(60 * 60);
/// Latest audit entries to verify: about a second of work.
const VERIFIED: i64 = 10_000;

/// Measures everything that is not counted as it happens, and renders all metrics in the format that Prometheus reads.
pub(crate) async fn exposition(gateway: &Gateway) -> String {
    let metrics = gateway.path.metrics();
    gateway.chats().measure(metrics).await;
    let pending = gateway.store.approvals().pending(gateway.clock.now()).await;
    if let Ok((count, _)) = pending {
        gauge(metrics, "approvals_pending", count);
    }
    agents(gateway, metrics);
    connections(gateway, metrics);
    let space = gateway.store.disk().space();
    gauge(metrics, "disk_free_bytes", space.free);
    gauge(metrics, "disk_space_low", u64::from(space.is_low()));
    process(gateway, metrics);
    metrics.render()
}

#[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
fn gauge(metrics: &Metrics, name: &'static str, value: u64) {
    metrics.gauge(name).set(value as f64);
}

fn agents(gateway: &Gateway, metrics: &Metrics) {
    for (outcome, count) in gateway.minds().turn_counts() {
        metrics.total_of("turns_total", &[("outcome", outcome)], count);
    }
    gauge(
        metrics,
        "turns_running",
        gateway.minds().busy_count() as u64,
    );
    for (model, usage) in gateway.model_registry.usage() {
        let model = ("model", model.as_str());
        metrics.total_of("model_requests_total", &[model], usage.requests);
        let types = [
            ("input", usage.tokens.input),
            ("output", usage.tokens.output),
            ("cache_read", usage.tokens.cache_read),
            ("cache_write", usage.tokens.cache_write),
        ];
        for (kind, tokens) in types {
            metrics.total_of("model_tokens_total", &[model, ("type", kind)], tokens);
        }
        let name = "model_cost_micro_dollars_total";
        metrics.total_of(name, &[model], usage.micro_dollars);
    }
}

fn connections(gateway: &Gateway, metrics: &Metrics) {
    let nodes = gateway.nodes.list().into_iter();
    let nodes = nodes.map(|node| (node.node_id, node.online));
    metrics.states_of("node_connected", "node", nodes);
    // A server that is started on demand is not down while nobody needs it.
    let fails = |(_, status): &(_, Status)| matches!(status, Status::Failing { .. });
    let servers = gateway.servers.all().into_iter();
    let servers = servers.map(|server| {
        let up = !server.statuses().iter().any(fails);
        (server.name().as_str().to_owned(), up)
    });
    metrics.states_of("mcp_server_up", "server", servers);
}

fn process(gateway: &Gateway, metrics: &Metrics) {
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    metrics.gauge_of("build_info", &version).set(1.0);
    let uptime = gateway.clock.monotonic();
    gauge(metrics, "process_uptime_seconds", uptime.as_secs());
    for signal in statistics() {
        let label = [("signal", signal.signal)];
        let exported = signal.exported;
        metrics.total_of("telemetry_exported_records_total", &label, exported);
        metrics.total_of("telemetry_dropped_records_total", &label, signal.dropped);
        #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
        let queued = signal.queued as f64;
        metrics
            .gauge_of("telemetry_queued_records", &label)
            .set(queued);
    }
}

/// Exports the metrics at the interval of the exporter; returns at once if metrics are not exported.
pub(crate) async fn export(gateway: Arc<Gateway>) {
    let Some(interval) = metrics_interval() else {
        return;
    };
    loop {
        tokio::time::sleep(interval).await;
        offer_metrics(exposition(&gateway).await);
    }
}

/// Verifies the end of the audit log every hour.
pub(crate) async fn verify_audit(gateway: Arc<Gateway>) {
    let mut hours = tokio::time::interval(VERIFY);
    loop {
        hours.tick().await;
        match audit_is_intact(&gateway).await {
            Ok(intact) => gauge(gateway.path.metrics(), "audit_chain_intact", intact.into()),
            // Neither intact nor damaged: the metric stays what it was.
            Err(error) => {
                tracing::warn!(event = "audit_verification_failed", %error, "cannot verify the audit log");
            }
        }
    }
}

async fn audit_is_intact(gateway: &Gateway) -> Result<bool, StoreError> {
    let audit = gateway.store.audit();
    let last = AuditFilter {
        limit: Some(1),
        ..AuditFilter::default()
    };
    let last = audit.query(&last).await?.into_iter().next();
    let from = last.map_or(1, |last| (last.seq - VERIFIED).max(1));
    let verdict = audit.verify(VerifyFrom::Seq(from)).await?;
    if !verdict.ok {
        let problems = verdict.problems.len();
        tracing::error!(
            event = "audit_chain_broken",
            problems,
            "the audit log was tampered with or damaged; `manyhands audit verify` lists the differences"
        );
    }
    Ok(verdict.ok)
}
