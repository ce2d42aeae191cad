//! `up`: the gateway itself.

use std::io::IsTerminal;
use std::process::ExitCode;

use manyhands_api::daemon::{self, Ready};
use manyhands_config::LogFormat;
use manyhands_gateway::{CONFIG_FILE, Options};
use tracing_subscriber::EnvFilter;

use crate::args::Up;
use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::own_node::{Lent, OwnNode};

/// Starts the gateway and serves until a signal ends it.
pub async fn run(up: Up, ground: &Ground) -> Done {
    let (settings, _) = ground.config().load()?;
    let filter = ground
        .log_filter()
        .unwrap_or_else(|| settings.log.level.clone());
    // The MCP library tells of every request at `info`; our own audit does that better.
    let quiet = format!("rmcp=warn,{filter}");
    let filter = EnvFilter::try_new(quiet)
        .map_err(|e| Failure(format!("the log level {filter:?} is wrong: {e}")))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // It reports a failed write on standard error itself, and panics when nobody reads that any more.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal());
    match settings.log.format {
        LogFormat::Json => log.json().init(),
        LogFormat::Text => log.init(),
    }
    let own = if up.no_node || !settings.node.enabled {
        None
    } else {
        Some(OwnNode::of(&settings, ground)?)
    };
    if let Some(warning) = own.as_ref().and_then(OwnNode::warning) {
        output::remark(warning);
    }
    let options = Options {
        home: ground.home.clone(),
        clock: ground.clock.clone(),
        ids: ground.ids.clone(),
        passphrase: ground.passphrase(),
        environment: ground.environment(),
        vectors: vectors(),
    };
    let mut lent = None;
    let ready = |ready: &Ready| {
        let started = own
            .as_ref()
            .map(|own| own.start(ready, settings.tls.as_ref(), ground));
        greet(ready, &node_line(own.as_ref(), started.as_ref()));
        lent = started.and_then(Result::ok);
    };
    let served = daemon::run(options, up.listen, Box::new(ready)).await;
    if let Some(lent) = lent {
        lent.stop().await;
    }
    served?;
    Ok(ExitCode::SUCCESS)
}

/// This machine as a node, in words.
fn node_line(own: Option<&OwnNode>, started: Option<&Result<Lent, Failure>>) -> String {
    match (own, started) {
        (Some(own), Some(Ok(_))) => format!("{} ({})", own.id, own.lending),
        (Some(own), Some(Err(failure))) => format!("{} is not lent: {}", own.id, failure.0),
        _ => "none: this machine is not lent".to_owned(),
    }
}

fn greet(ready: &Ready, node: &str) {
    let home = ready.gateway.home();
    let url = &ready.url;
    output::say(format!(
        "manyhands {} is up at {url}",
        env!("CARGO_PKG_VERSION")
    ));
    output::say(format!(
        "  page      {url}{} (works once; `manyhands link` prints another)",
        ready.gateway.login_link()
    ));
    output::say(format!("  home      {}", home.display()));
    output::say(format!("  settings  {}", home.join(CONFIG_FILE).display()));
    output::say(format!(
        "  token     {} (the owner's; keep it to yourself)",
        home.join(manyhands_gateway::OWNER_TOKEN_FILE).display()
    ));
    output::say(format!("  node      {node}"));
    output::say(format!(
        "  MCP       {url}/mcp, or `manyhands mcp` over standard input and output"
    ));
    output::say(
        "  try       manyhands call gsv__WriteFile '{\"path\":\"memory/a.md\",\"content\":\"hi\"}'",
    );
}

/// The word vectors that were brought in beside the program, or beside the folder of its build.
fn vectors() -> Option<std::path::PathBuf> {
    let program = std::env::current_exe().ok()?;
    let mut around = program.ancestors().skip(1).take(2);
    around.find_map(|folder| Some(folder.join("vectors")).filter(|found| found.is_dir()))
}
