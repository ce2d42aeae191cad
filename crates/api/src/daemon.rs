//! Listens, serves and shuts down.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use manyhands_config::{ConfigFile, Settings, Tls, Watcher};
use manyhands_core::Timestamp;
use manyhands_gateway::{CONFIG_FILE, Gateway, ListenAddress, Options, StartError};
use manyhands_store::{Holder, HomeLock, Retention};
use manyhands_telemetry::{metrics_interval, offer_metrics};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::connections::{ConnectionLimiter, REQUEST_WITHIN};
use crate::http;
use crate::metrics;

/// Time for open connections to end after the last call.
const CONNECTION_GRACE: Duration = Duration::from_secs(2);
/// How long decided approvals are kept: 30 days.
const APPROVALS_KEPT_MS: i64 = 30 * 86_400_000;
/// Interval of periodic maintenance.
const UPKEEP: Duration = Duration::from_secs(60);

/// Longest delay before new messages are indexed for memory.
const MEMORY_WITHIN: Duration = Duration::from_secs(2);

/// Passed to the caller once the daemon listens.
pub struct Ready {
    /// The gateway.
    pub gateway: Arc<Gateway>,
    /// Listening address, port included.
    pub address: SocketAddr,
    /// URL to open, `http://…` or `https://…`.
    pub url: String,
}

/// Runs a gateway until a signal stops it; calls `ready` once it listens.
///
/// Returns a boxed future, so that the server code is compiled with this crate and not with its
/// callers.
pub fn run<'a>(
    options: Options,
    listen: Option<String>,
    ready: Box<dyn FnOnce(&Ready) + 'a>,
) -> Pin<Box<dyn Future<Output = Result<(), StartError>> + 'a>> {
    Box::pin(run_until_signal(options, listen, ready))
}

async fn run_until_signal(
    options: Options,
    listen: Option<String>,
    ready: Box<dyn FnOnce(&Ready) + '_>,
) -> Result<(), StartError> {
    let holder = Holder {
        pid: std::process::id(),
        listen: None,
        started_at: options.clock.now(),
    };
    // Before anything is opened: two gateways on one home would corrupt each other's state.
    let lock = HomeLock::acquire(&options.home, &holder)?;
    // The watcher starts before the file is read, so no change can fall in between.
    let watcher = Watcher::new(ConfigFile::new(options.home.join(CONFIG_FILE)));
    let gateway = Gateway::open(options).await?;
    let mut settings = (*gateway.settings.current()).clone();
    if let Some(listen) = listen {
        // For this run only: nothing is written to the file.
        settings.listen = listen;
    }
    let listener = bind(&settings)?;
    let address = listener
        .local_addr()
        .map_err(|e| StartError::Listen(e.to_string()))?;
    // Before the first request, whose Host header is checked against it.
    gateway.listens_on(ListenAddress {
        address: address.ip(),
        tls: settings.tls.is_some(),
    });
    let scheme = if settings.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let url = format!("{scheme}://{address}");
    gateway.artifacts().links.listens_at(&url);
    gateway.servers.oauth().listens_at(&url);
    // Commands on this machine find the gateway by this address.
    lock.update(&Holder {
        listen: Some(url.clone()),
        ..holder
    })?;
    // Read before the gateway is ready, so that a wrong path fails the start and not the first
    // connection.
    let tls = match &settings.tls {
        Some(tls) => Some(certificate(tls).await?),
        None => None,
    };
    let handle = Handle::new();
    // Installed before `ready`: whoever learns that it is ready may stop it immediately.
    let signals = signal(SignalKind::terminate())
        .and_then(|terminate| Ok((terminate, signal(SignalKind::interrupt())?)));
    let tasks = [
        tokio::spawn(stop_on_signal(gateway.clone(), handle.clone(), signals)),
        tokio::spawn(upkeep(gateway.clone())),
        tokio::spawn(follow_settings(gateway.clone(), watcher)),
        tokio::spawn(keep_nodes(gateway.clone())),
        tokio::spawn(gateway.post().clone().go_round()),
        tokio::spawn(remember(gateway.clone())),
        tokio::spawn(gateway.cron().clone().go_round()),
        tokio::spawn(metrics::export(gateway.clone())),
        tokio::spawn(metrics::verify_audit(gateway.clone())),
    ];
    let redactor = gateway.clone();
    manyhands_telemetry::redact_with(move |text| redactor.redactor().text(text).into_owned());
    // Chats before turns: a resumed turn may have to send its reply to a chat.
    gateway.chats().start().await?;
    let resumed = gateway.minds().resume().await?;
    if resumed > 0 {
        tracing::info!(
            event = "turns_resumed",
            sessions = resumed,
            "resumed interrupted turns"
        );
    }
    ready(&Ready {
        gateway: gateway.clone(),
        address,
        url,
    });
    let served = serve(listener, tls, &gateway, handle).await;
    // The last interval's numbers, while there still is a store to read them from.
    if metrics_interval().is_some() {
        offer_metrics(metrics::exposition(&gateway).await);
    }
    // Aborted before closing, so that no task uses a closed store.
    for task in tasks {
        task.abort();
    }
    gateway.close().await?;
    // Released last: the next gateway must find everything on disk.
    drop(lock);
    served
}

async fn serve(
    listener: TcpListener,
    tls: Option<RustlsConfig>,
    gateway: &Arc<Gateway>,
    handle: Handle<SocketAddr>,
) -> Result<(), StartError> {
    let app = http::router(gateway.clone()).into_make_service_with_connect_info::<SocketAddr>();
    let failed = |e: std::io::Error| StartError::Listen(format!("the listener failed: {e}"));
    match tls {
        Some(tls) => {
            let mut server = axum_server::from_tcp_rustls(listener, tls)
                .map_err(failed)?
                .map(|tls| tls.acceptor(ConnectionLimiter::new(gateway)));
            bound_headers(server.http_builder());
            server.handle(handle).serve(app).await.map_err(failed)
        }
        None => {
            let mut server = axum_server::from_tcp(listener)
                .map_err(failed)?
                .acceptor(ConnectionLimiter::new(gateway));
            bound_headers(server.http_builder());
            server.handle(handle).serve(app).await.map_err(failed)
        }
    }
}

/// Limits how long a client may take to send its headers, so that one byte at a time cannot hold a
/// connection forever.
fn bound_headers(builder: &mut hyper_util::server::conn::auto::Builder<TokioExecutor>) {
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_WITHIN);
}

/// Binds the address, unless that would expose the gateway to a network without TLS.
fn bind(settings: &Settings) -> Result<TcpListener, StartError> {
    let listen = &settings.listen;
    let addresses: Vec<SocketAddr> = listen
        .to_socket_addrs()
        .map_err(|e| {
            StartError::Listen(format!("listen = {listen:?} is not a valid address: {e}"))
        })?
        .collect();
    if settings.tls.is_none()
        && !settings.insecure_remote
        // Any non-loopback address counts: a host name may resolve to several.
        && addresses.iter().any(|a| !a.ip().is_loopback())
    {
        return Err(StartError::Listen(format!(
            "{listen} can be reached from other machines, and without TLS everybody between could read the tokens\n\
             hint: set tls.cert and tls.key, listen on 127.0.0.1, or set insecure_remote = true if something else encrypts the way"
        )));
    }
    // The first address that works: a name such as `localhost` may have two.
    let listener = TcpListener::bind(&addresses[..])
        .map_err(|e| StartError::Listen(format!("cannot listen on {listen}: {e}\nhint: another program may be using it; choose another address with --listen")))?;
    listener
        // Required by tokio, which takes the socket over.
        .set_nonblocking(true)
        .map_err(|e| StartError::Listen(e.to_string()))?;
    Ok(listener)
}

async fn certificate(tls: &Tls) -> Result<RustlsConfig, StartError> {
    // An error means that a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    RustlsConfig::from_pem_file(&tls.cert, &tls.key)
        .await
        .map_err(|e| {
            StartError::Listen(format!(
                "tls.cert {} with tls.key {}: {e}",
                tls.cert.display(),
                tls.key.display()
            ))
        })
}

/// The first signal lets running calls finish before connections are closed; a second one ends
/// everything at once.
async fn stop_on_signal(
    gateway: Arc<Gateway>,
    handle: Handle<SocketAddr>,
    signals: std::io::Result<(Signal, Signal)>,
) {
    let Ok((mut terminate, mut interrupt)) = signals else {
        tracing::error!(
            event = "signal_handler_failed",
            "cannot install signal handlers; stop the process with kill -9"
        );
        return;
    };
    let mut signalled =
        async || tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} };
    signalled().await;
    tracing::info!(
        event = "shutdown_started",
        "stopping: running calls may finish; a second signal aborts them"
    );
    // A drain can take minutes, so a second signal must end it.
    tokio::select! {
        () = gateway.drain() => handle.graceful_shutdown(Some(CONNECTION_GRACE)),
        () = signalled() => handle.shutdown(),
    }
}

async fn upkeep(gateway: Arc<Gateway>) {
    let mut every = tokio::time::interval(UPKEEP);
    loop {
        // The first tick comes at once, so that leftovers of a crash do not wait.
        every.tick().await;
        if let Err(error) = gateway.auth.flush().await {
            tracing::warn!(event = "token_usage_flush_failed", %error, "failed to persist when tokens were last used");
        }
        let old = Timestamp(gateway.clock.now().0 - APPROVALS_KEPT_MS);
        if let Err(error) = gateway.store.approvals().sweep(old).await {
            tracing::warn!(event = "approval_sweep_failed", %error, "failed to remove old approvals");
        }
        if let Err(error) = gateway.store.artifacts().sweep(gateway.clock.now()).await {
            tracing::warn!(event = "artifact_sweep_failed", %error, "failed to remove expired artifacts");
        }
        prune_audit(&gateway).await;
        retire(&gateway).await;
        if let Err(error) = gateway.chats().sweep().await {
            tracing::warn!(event = "chat_sweep_failed", %error, "failed to remove old chat messages");
        }
        if let Err(error) = gateway.store.collections().sweep().await {
            tracing::warn!(event = "resource_sweep_failed", %error, "failed to remove resource leftovers of a crash");
        }
        if let Err(error) = gateway.nodes.sweep().await {
            tracing::warn!(event = "node_event_sweep_failed", %error, "failed to remove old node events");
        }
    }
}

/// Removes audit entries beyond the configured retention.
async fn prune_audit(gateway: &Gateway) {
    let settings = gateway.settings.current();
    let log = &settings.audit;
    let days = i64::from(log.keep_days);
    let retention = Retention {
        before: (days > 0).then(|| Timestamp(gateway.clock.now().0 - days * 86_400_000)),
        max_bytes: (log.max_bytes > 0).then_some(log.max_bytes),
        archive: log.archive.then(|| gateway.store.blobs().clone()),
    };
    loop {
        // One batch per round, until nothing is left to remove.
        match gateway.store.audit().prune(&retention).await {
            Ok(0) => return,
            Ok(count) => tracing::info!(
                event = "audit_pruned",
                count,
                "removed old audit entries and sealed the chain at the cut"
            ),
            Err(error) => {
                tracing::warn!(event = "audit_prune_failed", %error, "failed to remove old audit entries");
                return;
            }
        }
    }
}

/// Indexes messages for memory: first those missed while stopped, then new ones. Delayed a little,
/// so that indexing does not slow down the turn that produced them.
async fn remember(gateway: Arc<Gateway>) {
    let minds = gateway.minds();
    if let Err(error) = minds.remember_all().await {
        tracing::warn!(event = "memory_backfill_failed", %error, "failed to index earlier conversations for memory");
    }
    loop {
        minds.unindexed().await;
        tokio::time::sleep(MEMORY_WITHIN).await;
        if let Err(error) = minds.remember().await {
            tracing::warn!(event = "memory_index_failed", %error, "failed to index new messages for memory; will retry");
        }
    }
}

/// Archives sub-agents and spawned agents that have been idle for long.
async fn retire(gateway: &Gateway) {
    let days = i64::from(gateway.settings.current().sessions.sub_agent_days);
    let before = Timestamp(gateway.clock.now().0 - days * 86_400_000);
    let minds = gateway.minds();
    if let Err(error) = minds.clear_gone().await {
        tracing::warn!(event = "archive_sweep_failed", %error, "failed to remove archives of deleted sessions");
    }
    if let Err(error) = minds.sweep_subs(before).await {
        tracing::warn!(event = "sub_agent_sweep_failed", %error, "failed to archive old sub-agent sessions");
    }
    match gateway.post().spawned_agents.sweep(minds, before).await {
        Ok(0) => {}
        Ok(gone) => tracing::info!(
            event = "spawned_agents_archived",
            count = gone,
            "archived idle spawned agents"
        ),
        Err(error) => {
            tracing::warn!(event = "spawned_agent_sweep_failed", %error, "failed to archive idle spawned agents")
        }
    }
    if let Err(error) = minds.memory().sweep().await {
        tracing::warn!(event = "memory_sweep_failed", %error, "failed to remove the oldest memories");
    }
}

async fn keep_nodes(gateway: Arc<Gateway>) {
    gateway.nodes.persist_records().await;
}

async fn follow_settings(gateway: Arc<Gateway>, mut watcher: Watcher) {
    loop {
        // An error does not end the loop: the next version of the file may be valid.
        match watcher.changed().await {
            Ok((settings, _)) => {
                if let Err(error) = gateway.apply_settings(settings) {
                    tracing::error!(event = "settings_apply_failed", %error, "failed to apply changed settings; the previous ones stay active");
                }
            }
            Err(error) => {
                tracing::error!(event = "settings_invalid", %error, "cannot load changed settings; the previous ones stay active")
            }
        }
    }
}
