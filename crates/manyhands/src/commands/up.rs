//! `up`: the gateway itself.

use std::io::IsTerminal;
use std::process::ExitCode;

use manyhands_config::LogFormat;
use manyhands_gateway::daemon::{self, Ready};
use manyhands_gateway::{CONFIG_FILE, Options};
use tracing_subscriber::EnvFilter;

use crate::args::Up;
use crate::ground::Ground;
use crate::output::{self, Done, Failure};

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
        .with_ansi(std::io::stderr().is_terminal());
    match settings.log.format {
        LogFormat::Json => log.json().init(),
        LogFormat::Text => log.init(),
    }
    let options = Options {
        home: ground.home.clone(),
        clock: ground.clock.clone(),
        ids: ground.ids.clone(),
        passphrase: ground.passphrase(),
        environment: ground.environment(),
    };
    daemon::run(options, up.listen, greet).await?;
    Ok(ExitCode::SUCCESS)
}

fn greet(ready: &Ready) {
    let home = ready.gateway.home();
    let url = &ready.url;
    output::say(format!(
        "manyhands {} is up at {url}",
        env!("CARGO_PKG_VERSION")
    ));
    output::say(format!("  home      {}", home.display()));
    output::say(format!("  settings  {}", home.join(CONFIG_FILE).display()));
    output::say(format!(
        "  token     {} (the owner's; keep it to yourself)",
        home.join(manyhands_gateway::OWNER_TOKEN_FILE).display()
    ));
    output::say(format!(
        "  MCP       {url}/mcp, or `manyhands mcp` over standard input and output"
    ));
    output::say(
        "  try       manyhands call gsv__WriteFile '{\"path\":\"memory/a.md\",\"content\":\"hi\"}'",
    );
}
