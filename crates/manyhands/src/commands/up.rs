//! `up`: runs the gateway.

use std::io::IsTerminal;
use std::process::ExitCode;

use manyhands_api::daemon::{self, Ready};
use manyhands_config::LogFormat;
use manyhands_gateway::{CONFIG_FILE, Options};
use manyhands_telemetry::{Process, log_layer};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::Up;
use crate::commands::upgrade;
use crate::context::CliContext;
use crate::own_node::{OwnNode, RunningNode};
use crate::telemetry;
use manyhands_terminal::output::{self, Done, Failure};

/// Starts the gateway and serves until stopped by a signal.
pub async fn run(up: Up, ctx: &CliContext) -> Done {
    // Before anything of the home is read: it may have to be restored first.
    let completes_upgrade = upgrade::before_up(ctx).await?;
    let (settings, _) = ctx.config().load()?;
    let filter = ctx
        .log_filter()
        .unwrap_or_else(|| settings.log.level.clone());
    // rmcp logs every request at `info`; the audit log already has that.
    let quiet = format!("rmcp=warn,{filter}");
    let filter = EnvFilter::try_new(quiet)
        .map_err(|e| Failure(format!("invalid log level {filter:?}: {e}")))?;
    let process = Process {
        service: "manyhands",
        host: ctx.machine(),
        node: None,
    };
    let telemetry = telemetry::start(process, Some(&settings.telemetry), ctx);
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        // By default the subscriber prints a failed write to stderr, and panics if stderr is closed as well.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal());
    let all = tracing_subscriber::registry()
        .with(filter)
        .with(log_layer());
    match settings.log.format {
        LogFormat::Json => all.with(log.json()).init(),
        LogFormat::Text => all.with(log).init(),
    }
    // Resolved before the gateway starts, so that invalid node settings do not leave a half-started gateway.
    let own = if up.no_node || !settings.node.enabled {
        None
    } else {
        Some(OwnNode::of(&settings, ctx)?)
    };
    if let Some(warning) = own.as_ref().and_then(OwnNode::warning) {
        output::print_note(warning);
    }
    let options = Options {
        home: ctx.home.clone(),
        clock: ctx.clock.clone(),
        ids: ctx.ids.clone(),
        passphrase: ctx.passphrase(),
        environment: ctx.environment(),
        vectors: vectors(),
    };
    // Started from the callback, once the port is known; port 0 is only resolved there.
    let mut running_node = None;
    let ready = |ready: &Ready| {
        let started = own
            .as_ref()
            .map(|own| own.start(ready, settings.tls.as_ref(), ctx));
        let node = node_line(own.as_ref(), started.as_ref());
        greet(ready, &node, ctx.is_service());
        running_node = started.and_then(Result::ok);
        if completes_upgrade {
            upgrade::complete(&ctx.home);
        }
    };
    let served = daemon::run(options, up.listen, Box::new(ready)).await;
    // The node goes last: calls that are finishing may still use it.
    if let Some(running_node) = running_node {
        running_node.stop().await;
    }
    // After everything that is traced.
    if let Some(telemetry) = telemetry {
        telemetry.shutdown().await;
    }
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Describes this machine's node.
fn node_line(own: Option<&OwnNode>, started: Option<&Result<RunningNode, Failure>>) -> String {
    match (own, started) {
        (Some(own), Some(Ok(_))) => format!("{} ({})", own.id, own.sharing),
        (Some(own), Some(Err(failure))) => format!("{} is not shared: {}", own.id, failure.0),
        _ => "none (this machine is not shared)".to_owned(),
    }
}

fn greet(ready: &Ready, node: &str, is_service: bool) {
    let home = ready.gateway.home();
    let url = &ready.url;
    output::print_line(format!(
        "manyhands {} is up at {url}",
        env!("CARGO_PKG_VERSION")
    ));
    // A service's output is stored in a log, where a link would be a credential that others may read.
    let page = match is_service {
        true => format!("{url} (`manyhands link` prints a one-time link)"),
        false => format!(
            "{url}{} (one-time link; `manyhands link` prints another)",
            ready.gateway.login_link()
        ),
    };
    output::print_line(format!("  page      {page}"));
    output::print_line(format!("  guide     {url}/docs/"));
    output::print_line(format!("  home      {}", home.display()));
    output::print_line(format!("  settings  {}", home.join(CONFIG_FILE).display()));
    output::print_line(format!(
        "  token     {} (owner token; keep it secret)",
        home.join(manyhands_gateway::OWNER_TOKEN_FILE).display()
    ));
    output::print_line(format!("  node      {node}"));
    output::print_line(format!(
        "  MCP       {url}/mcp, or `manyhands mcp` on stdio"
    ));
    output::print_line(
        "  try       manyhands call gsv__WriteFile '{\"path\":\"memory/a.md\",\"content\":\"hi\"}'",
    );
}

/// Finds the word vectors installed next to the executable or its build directory.
fn vectors() -> Option<std::path::PathBuf> {
    let program = std::env::current_exe().ok()?;
    // `target/release/manyhands` finds `target/vectors`, an installed binary its own directory.
    let mut around = program.ancestors().skip(1).take(2);
    around.find_map(|folder| Some(folder.join("vectors")).filter(|found| found.is_dir()))
}
