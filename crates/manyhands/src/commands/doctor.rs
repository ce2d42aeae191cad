//! `doctor`: checks the installation and suggests fixes.

use std::process::ExitCode;

use manyhands_api::doctor::{Finding, State, chats, machine};
use manyhands_gateway::OWNER_TOKEN_FILE;
use manyhands_store::{HomeLock, StoreError};

use crate::context::CliContext;
use crate::output::{self, Done, Failure};
use crate::own_node::OwnNode;

/// Runs all checks; exits with 1 if there is an error.
pub async fn run(_asked: crate::args::Doctor, ctx: &CliContext) -> Done {
    let mut findings = match HomeLock::holder(&ctx.home) {
        Some(holder) => match gateway_findings(ctx).await {
            Ok(found) => {
                let mut findings = vec![Finding::fine("gateway", format!("{holder}"))];
                findings.extend(found);
                findings
            }
            // The process exists but does not respond: check from outside, without its lock on the
            // store.
            Err(failure) => {
                let mut findings = home_findings(ctx);
                findings.push(Finding::wrong(
                    "gateway",
                    format!("{holder} does not respond: {}", failure.0),
                    "check its log and restart it",
                ));
                findings.extend(machine::sandbox().await);
                findings
            }
        },
        None => {
            let mut findings = home_findings(ctx);
            findings.extend(store_findings(ctx).await);
            findings.extend(machine::sandbox().await);
            findings
        }
    };
    findings.extend(own_node(ctx));
    let mut wrong = 0;
    for finding in &findings {
        let what = &finding.what;
        let word = match finding.state {
            State::Ok => "ok",
            State::Look => "WARN",
            State::Wrong => "ERROR",
        };
        wrong += usize::from(finding.state == State::Wrong);
        output::print_line(format!("{word:<6} {what:<10} {}", finding.about));
        if let Some(remedy) = &finding.remedy {
            output::print_line(format!("       {:<10} fix: {remedy}", ""));
        }
    }
    Ok(if wrong == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Asks the running gateway for its findings.
async fn gateway_findings(ctx: &CliContext) -> Result<Vec<Finding>, Failure> {
    let mut found = ctx.remote()?.get("/api/doctor").await?;
    serde_json::from_value(found["findings"].take())
        .map_err(|error| Failure(format!("unexpected response: {error}")))
}

/// Checks what can be checked without opening the store.
fn home_findings(ctx: &CliContext) -> Vec<Finding> {
    let home = &ctx.home;
    let settings = ctx.config().load().map(|(settings, _)| settings);
    let limits = settings.as_ref().map(|settings| settings.limits.clone());
    let mut findings = vec![
        machine::home(home),
        machine::settings(&ctx.config()),
        machine::owner_token(home),
        machine::space(home, limits.unwrap_or_default().min_free_bytes),
    ];
    // Invalid settings are reported by `machine::settings` above.
    if let Ok(settings) = settings {
        findings.push(machine::models(&settings.models));
    }
    findings
}

/// Opens the store and checks it, while no gateway is running.
async fn store_findings(ctx: &CliContext) -> Vec<Finding> {
    if !ctx.home.join(OWNER_TOKEN_FILE).exists() {
        return vec![Finding::fine("gateway", "not started yet: `manyhands up`")];
    }
    look(ctx).await.unwrap_or_else(|error| {
        vec![Finding::wrong(
            "gateway",
            error.to_string(),
            "follow the message, or restore a backup with `manyhands restore`",
        )]
    })
}

/// Opens the store and counts its nodes and unfinished messages.
async fn look(ctx: &CliContext) -> Result<Vec<Finding>, StoreError> {
    let (_lock, store) = ctx.store().await?;
    let nodes = store.nodes().list().await;
    // Collected before closing, reported after: an error must not leave the store open.
    let (heard, said) = (store.chats().backlog().await, store.chats().lost().await);
    store.close().await?;
    let mut findings = vec![
        Finding::fine("gateway", "not running; its store opens"),
        Finding::fine("nodes", format!("{} registered", nodes?.len())),
    ];
    findings.extend(chats(&[], &heard?, &said?));
    Ok(findings)
}

/// Checks how this machine is shared; invalid settings are reported elsewhere.
fn own_node(ctx: &CliContext) -> Option<Finding> {
    let (settings, _) = ctx.config().load().ok()?;
    if !settings.node.enabled {
        let about = "this machine is not shared: node.enabled = false";
        return Some(Finding::fine("own node", about));
    }
    Some(match OwnNode::of(&settings, ctx) {
        Ok(own) => {
            let mut about = format!("{} ({})", own.id, own.sharing);
            if let Some(warning) = own.warning() {
                about.push_str(&format!("; {warning}"));
            }
            Finding::fine("own node", about)
        }
        Err(failure) => Finding::wrong(
            "own node",
            failure.0,
            "fix [node] in config.toml, or start with `manyhands up --no-node`",
        ),
    })
}
