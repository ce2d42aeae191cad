//! `mcp add`: adds a server by its command or URL, by name, or from pasted JSON.

mod given;
mod inputs;
mod listed;
mod pasted;
mod plan;

use manyhands_core::ServerName;
use manyhands_federation::directory::Directory;

use super::registry::Registry;
use crate::args::AddServer;
use crate::context::CliContext;
use manyhands_terminal::output::{Done, Failure};

/// Adds one or more servers.
pub async fn run(add: AddServer, ctx: &CliContext) -> Done {
    if let Some(json) = &add.json {
        return pasted::run(json, &add, ctx).await;
    }
    let name = add.name.as_deref().unwrap_or_default();
    if add.url.is_some() || add.openapi.is_some() || !add.command.is_empty() {
        let name: ServerName = name.parse().map_err(|e| Failure(format!("NAME: {e}")))?;
        return given::run(name, add, ctx).await;
    }
    let settings = [
        ("--header", add.header.is_empty()),
        ("--env", add.env.is_empty()),
        ("--cwd", add.cwd.is_none()),
        ("--sandbox", add.sandbox.is_none()),
    ];
    if let Some((option, _)) = settings.iter().find(|(_, unused)| !unused) {
        return Err(Failure(format!(
            "no server given: {option} needs --url URL, --openapi FILE, or -- COMMAND"
        )));
    }
    // Publishers in the registry have names such as io.github.owner/server; no built-in name has a slash.
    if name.contains('/') {
        let registry = Registry::new(&add.registry)?.ok_or_else(|| {
            Failure(format!(
                "{name} is a name in the MCP registry, which --registry off excludes"
            ))
        })?;
        let listing = registry.find(name).await?;
        return listed::run(&listing, Some(registry.url()), &add, ctx).await;
    }
    match Directory::builtin().find(name) {
        Some(listing) => listed::run(listing, None, &add, ctx).await,
        None => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> Failure {
    let similar = Directory::builtin().similar(name);
    let meant = match similar.as_slice() {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(", ")),
    };
    Failure(format!(
        "no server given: {name:?} is not a well-known server{meant}\nhint: find one with `manyhands mcp search {name}`, or use --url URL, --openapi FILE, --json JSON, or -- COMMAND"
    ))
}
