//! `doctor`: checks the installation, repairs what is safe to repair, and writes a report.

mod bundle;
mod fix;

use std::process::ExitCode;

use manyhands_api::doctor::{Finding, State, chats, machine};
use manyhands_gateway::OWNER_TOKEN_FILE;
use manyhands_store::{HomeLock, StoreError};

use crate::args::{Doctor, ServiceSelector};
use crate::commands::service::Installed;
use crate::commands::upgrade;
use crate::context::CliContext;
use crate::own_node::OwnNode;
use manyhands_service_manager::Session;
use manyhands_terminal::output::{self, Done, Failure};

/// Runs all checks; exits with 1 if there is an error.
pub async fn run(asked: Doctor, ctx: &CliContext) -> Done {
    if asked.fix {
        for done in fix::repair(ctx).await? {
            output::print_line(format!("fixed  {done}"));
        }
    }
    let findings = findings(ctx).await;
    for line in lines(&findings) {
        output::print_line(line);
    }
    if let Some(file) = &asked.bundle {
        let file = ctx.file(file)?;
        bundle::write(&file, &findings, ctx).await?;
        output::print_line(format!("the report is in {}", file.display()));
    }
    let is_broken = findings.iter().any(|found| found.state == State::Wrong);
    Ok(match is_broken {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// The findings as they are printed.
fn lines(findings: &[Finding]) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in findings {
        let word = match finding.state {
            State::Ok => "ok",
            State::Look => "WARN",
            State::Wrong => "ERROR",
        };
        lines.push(format!("{word:<6} {:<10} {}", finding.what, finding.about));
        if let Some(remedy) = &finding.remedy {
            lines.push(format!("       {:<10} fix: {remedy}", ""));
        }
    }
    lines
}

/// Checks the gateway, or its home if it does not run or respond.
async fn findings(ctx: &CliContext) -> Vec<Finding> {
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
    findings.extend(unfinished_upgrade(ctx).await);
    findings
}

async fn unfinished_upgrade(ctx: &CliContext) -> Option<Finding> {
    match upgrade::unfinished(&ctx.home).await {
        Ok(None) => None,
        Ok(Some(about)) => Some(Finding::warning(
            "upgrade",
            about,
            "wait until it has ended, or run `manyhands upgrade` to finish or undo it",
        )),
        Err(failure) => Some(Finding::wrong(
            "upgrade",
            failure.0,
            "follow the message, then run `manyhands upgrade`",
        )),
    }
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
    findings.extend(machine::secret_files(home));
    findings.extend(machine::backups(home, ctx.clock.now()));
    // Invalid settings are reported by `machine::settings` above.
    if let Ok(settings) = settings {
        findings.push(machine::models(&settings.models));
        findings.push(machine::listen(&settings));
    }
    findings.push(machine::service(is_service(ctx)));
    findings
}

/// Whether a service runs the gateway of this home.
fn is_service(ctx: &CliContext) -> bool {
    let session = Session::new(ctx.environment());
    let which = ServiceSelector {
        system: false,
        manager: None,
    };
    let service = Installed::find(&which, &session, ctx);
    service.is_ok_and(|service| service.ctx.home == ctx.home)
}

/// Opens the store and checks it, while no gateway is running.
async fn store_findings(ctx: &CliContext) -> Vec<Finding> {
    if !ctx.home.join(OWNER_TOKEN_FILE).exists() {
        return vec![Finding::fine("gateway", "not started yet: `manyhands up`")];
    }
    diagnose(ctx).await.unwrap_or_else(|error| {
        vec![Finding::wrong(
            "gateway",
            error.to_string(),
            "follow the message, or restore a backup with `manyhands restore`",
        )]
    })
}

/// Opens the store and counts its nodes and unfinished messages.
async fn diagnose(ctx: &CliContext) -> Result<Vec<Finding>, StoreError> {
    let (_lock, store) = ctx.store().await?;
    let nodes = store.nodes().list().await;
    // Collected before closing, reported after: an error must not leave the store open.
    let (inbox, outbox) = (
        store.chats().backlog().await,
        store.chats().undelivered().await,
    );
    store.close().await?;
    let mut findings = vec![
        Finding::fine("gateway", "not running; its store opens"),
        Finding::fine("nodes", format!("{} registered", nodes?.len())),
    ];
    findings.extend(chats(&[], &inbox?, &outbox?));
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
