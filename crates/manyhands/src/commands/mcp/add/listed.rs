//! Adds a well-known server, or one of the MCP registry: shows what it runs and needs, asks, and writes it.

use std::collections::BTreeMap;
use std::process::ExitCode;

use manyhands_core::ServerName;
use manyhands_federation::directory::{Input, Listing};

use super::super::server_store::ServerStore;
use super::inputs::Inputs;
use super::plan;
use crate::args::AddServer;
use crate::context::CliContext;
use manyhands_terminal::output::{self, Done, Failure};

/// Adds a listing; `registry` is the URL of the registry it came from.
pub async fn run(
    listing: &Listing,
    registry: Option<&str>,
    add: &AddServer,
    ctx: &CliContext,
) -> Done {
    let name = match &add.alias {
        Some(name) => name.clone(),
        None => listing.name.parse::<ServerName>().map_err(|e| {
            Failure(format!(
                "{}: {e}\nhint: choose a name with --name NAME",
                listing.name
            ))
        })?,
    };
    let store = ServerStore::of(ctx)?;
    plan::check(&store, &name, listing.url.is_some()).await?;
    output::print_line(shown(listing, registry, &name, ctx));
    if !plan::confirmed(add, false).await {
        return Ok(match add.dry_run {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        });
    }
    let stored = plan::stored(&store).await?;
    let mut inputs = Inputs::new(add, false, ctx);
    let (mut values, mut secrets) = (BTreeMap::new(), Vec::new());
    for input in &listing.inputs {
        if !input.secret {
            if let Some(value) = inputs.plain(input).await? {
                values.insert(input.name.clone(), value);
            }
            continue;
        }
        let vault = format!("mcp/{name}/{}", input.name);
        if !input.optional {
            plan::vault(&store, std::slice::from_ref(&input.name))?;
        }
        let kept = stored.contains(&vault);
        let value = inputs.secret(input, kept)?;
        if value.is_some() || kept {
            values.insert(input.name.clone(), format!("${{{vault}}}"));
        }
        secrets.extend(value.map(|value| (vault, value)));
    }
    inputs.check()?;
    plan::write(&store, &name, &listing.server(&values), &secrets).await?;
    if listing.oauth {
        output::print_note(format!("hint: log in with `manyhands mcp login {name}`"));
    } else if store.gateway().is_some() {
        output::print_note(format!("hint: test it with `manyhands mcp test {name}`"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What will be added, for the user to decide.
fn shown(listing: &Listing, registry: Option<&str>, name: &ServerName, ctx: &CliContext) -> String {
    let mut lines = vec![
        format!("{} ({name})", listing.title),
        format!("  {}", listing.description),
    ];
    // Inputs are shown as their names in angle brackets.
    let named = listing
        .inputs
        .iter()
        .filter(|input| !listing.is_variable(input));
    let named = named.map(|input| (input.name.clone(), format!("<{}>", input.name)));
    lines.extend(plan::runs(&listing.server(&named.collect()), ctx));
    lines.extend(listing.inputs.iter().flat_map(need));
    if listing.oauth {
        lines.push("  login     in a browser, with OAuth".to_owned());
    }
    if !listing.homepage.is_empty() {
        lines.push(format!("  homepage  {}", listing.homepage));
    }
    let package = listing.package.as_ref();
    match (
        registry,
        package.and_then(|package| package.version.as_ref()),
    ) {
        (Some(url), _) => lines.push(format!(
            "  source    {url}; anyone can publish there, and manyhands has not checked it"
        )),
        (None, Some(version)) => {
            let released = package.and_then(|package| package.released.as_ref());
            let released = released
                .map(|date| format!(" of {date}"))
                .unwrap_or_default();
            lines.push(format!("  checked   version {version}{released}"));
        }
        (None, None) => {}
    }
    lines.join("\n")
}

fn need(input: &Input) -> Vec<String> {
    let kind = if input.secret { "secret  " } else { "value   " };
    let optional = if input.optional { "; optional" } else { "" };
    let default = input.default.as_ref();
    let default = default
        .map(|value| format!("; default {value}"))
        .unwrap_or_default();
    let mut lines = vec![format!(
        "  {kind}  {}: {}{optional}{default}",
        input.name, input.description
    )];
    if !input.scopes.is_empty() {
        lines.push(format!("            scopes: {}", input.scopes.join(", ")));
    }
    if let Some(url) = &input.url {
        lines.push(format!("            get it at {url}"));
    }
    lines
}
