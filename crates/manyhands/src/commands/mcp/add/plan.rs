//! A server about to be added: what it will do, its secrets, and the writing of both.

use manyhands_config::McpServer;
use manyhands_core::{Secret, ServerName};
use manyhands_federation::plan::ServerPlan;
use serde_json::{Value, json};

use super::super::server_store::ServerStore;
use crate::args::AddServer;
use crate::commands::call::encode;
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::editor::{Question, is_interactive};
use manyhands_terminal::output::{self, Failure};

/// Refuses what the store cannot accept, before anything is asked or written.
pub async fn check(store: &ServerStore, name: &ServerName, is_remote: bool) -> Result<(), Failure> {
    if let ServerStore::Remote(remote) = store
        && !is_remote
    {
        return Err(Failure(format!(
            "a remote gateway accepts only servers with a URL\nhint: run this on the machine of {}",
            remote.url()
        )));
    }
    if store.known().await?.contains_key(name.as_str()) {
        return Err(Failure(format!(
            "server {name} already exists\nhint: run `manyhands mcp remove {name}` first, or choose another name with --name"
        )));
    }
    Ok(())
}

/// The gateway that stores secrets.
pub fn vault<'s>(store: &'s ServerStore, secrets: &[String]) -> Result<&'s Remote, Failure> {
    store.gateway().ok_or_else(|| {
        Failure(format!(
            "no gateway is running to store {} in its vault; nothing was added\nhint: start it with `manyhands up`",
            secrets.join(", ")
        ))
    })
}

/// Describes what a server runs or where it is.
pub fn runs(server: &McpServer, ctx: &CliContext) -> Vec<String> {
    let path = ctx.environment().remove("PATH").unwrap_or_default();
    let plan = ServerPlan::of(server, &path.into());
    let mut lines = Vec::new();
    if server.command.is_some() {
        lines.push(format!("  runs      {}", plan.command_line()));
        lines.extend(plan.problems.iter().map(|why| format!("            {why}")));
        lines.push("  access    network and the files of your user".to_owned());
    } else {
        lines.extend(plan.runs.iter().map(|url| format!("  connects  {url}")));
    }
    lines
}

/// Whether to go on, after the plan was shown.
pub async fn confirmed(add: &AddServer, piped: bool) -> bool {
    if add.dry_run || add.yes {
        return add.yes;
    }
    // A script has to say `--yes`: silence is not consent.
    if !is_interactive() || piped {
        output::print_note("nothing was added\nhint: --yes adds it without asking");
        return false;
    }
    output::print_prompt("Add it? [y/N] ");
    let answer = Question::start().answer().await.unwrap_or_default();
    let yes = matches!(answer.trim(), "y" | "Y" | "yes");
    if !yes {
        output::print_note("nothing was added");
    }
    yes
}

/// Names of the secrets in the vault.
pub async fn stored(store: &ServerStore) -> Result<Vec<String>, Failure> {
    let Some(gateway) = store.gateway() else {
        return Ok(Vec::new());
    };
    let listed = gateway.get("/api/secrets").await?;
    let names = listed["names"].as_array().into_iter().flatten();
    Ok(names.map(text).collect())
}

/// Stores the secrets and adds the server: both or neither.
pub async fn write(
    store: &ServerStore,
    name: &ServerName,
    server: &McpServer,
    secrets: &[(String, Secret)],
) -> Result<(), Failure> {
    let known = stored(store).await?;
    let mut new = Vec::new();
    // Secrets first: a server whose references do not resolve would fail at its first start.
    let written = async {
        for (secret, value) in secrets {
            let gateway = vault(store, std::slice::from_ref(secret))?;
            let put = json!({ "value": value.expose() });
            gateway.put(&path(secret), &put).await?;
            if !known.contains(secret) {
                new.push(secret.clone());
            }
        }
        store.put(name, server).await
    };
    let written: Result<(), Failure> = written.await;
    if written.is_err()
        && let Some(gateway) = store.gateway()
    {
        for secret in new {
            // Best effort: the error that matters is the one being returned.
            let _: Result<Value, Failure> = gateway.delete(&path(&secret)).await;
        }
    }
    written?;
    store.settle(&[name]).await?;
    output::print_line(format!("added {name}"));
    for (secret, _) in secrets {
        output::print_line(format!("stored secret {secret} in the vault"));
    }
    Ok(())
}

fn path(secret: &str) -> String {
    format!("/api/secrets/{}", encode(secret))
}
