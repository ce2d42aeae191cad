//! `node`: shares this machine with a gateway.

mod announce;
mod identity;
mod service;

use std::path::Path;
use std::process::ExitCode;

use manyhands_node::{NodeLog, NodeOptions, SandboxMode};
use manyhands_telemetry::Process;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::{Node, SandboxOption, ShareOptions};
use crate::context::CliContext;
use crate::enrolment::Enrolments;
use crate::remote::Remote;
use crate::sharing::{self, OptionNames, Sharing, SharingRequest, holds};
use crate::telemetry;
use identity::{Identity, TokenSource};
use manyhands_terminal::output::{self, Done, Failure};

/// Names of the options.
const OPTIONS: OptionNames = OptionNames {
    workspace: "--workspace",
    jail: "--jail",
    sandbox_off: "--sandbox off",
};

/// Shares the machine in the foreground, or manages its service.
pub async fn run(node: Node, ctx: &CliContext) -> Done {
    match node.service {
        None => share(&node.share, ctx).await,
        Some(asked) => service::run(asked, ctx).await,
    }
}

/// Shares the machine until stopped by a signal or refused by the gateway.
async fn share(asked: &ShareOptions, ctx: &CliContext) -> Done {
    let sharing = sharing_of(asked, ctx)?;
    let supervisor = sharing::supervisor(ctx)?;
    // Before the enrolment: a code must not be used up by a workspace that cannot be opened.
    let toolbox = sharing.toolbox(ctx.environment(), &supervisor, ctx)?;
    let identity = identity::of(asked.id.as_ref(), asked.code.as_deref(), ctx).await?;
    if identity.source == TokenSource::Owner {
        refuse_if_online(&identity).await?;
    }
    let Identity { id, url, token, .. } = identity;
    let process = Process {
        service: "manyhands-node",
        host: ctx.machine(),
        node: Some(id.to_string()),
    };
    let telemetry = telemetry::start(process, None, ctx);
    announce::listen(&id, &url, &sharing, ctx)?;
    let mut options = NodeOptions::new(url, token, id.clone());
    options.state_dir = Some(Enrolments::of(&ctx.home).state(&id)?);
    let stop = CancellationToken::new();
    let signals = tokio::spawn(stop_on_signal(stop.clone()));
    let ended = manyhands_node::run(options, toolbox, NodeLog::new(ctx.clock.clone()), stop);
    let ended = ended.await;
    // The exit status is only meaningful once no child process writes to the terminal any more.
    sharing::all_ended(&supervisor).await;
    if let Some(telemetry) = telemetry {
        telemetry.shutdown().await;
    }
    // Otherwise its second signal would exit with 1 while we are already stopping.
    signals.abort();
    ended?;
    Ok(ExitCode::SUCCESS)
}

/// With the owner's token a node could displace any other, such as the gateway's own; refuse that.
async fn refuse_if_online(identity: &Identity) -> Result<(), Failure> {
    let Identity { id, url, token, .. } = identity;
    let listed = Remote::new(url, token.clone())?.get("/api/nodes").await?;
    let mut nodes = listed["nodes"].as_array().into_iter().flatten();
    let taken = nodes.any(|node| node["nodeId"] == id.as_str() && node["online"] == true);
    if taken {
        return Err(Failure(format!(
            "node {id} is already connected to {url}\nhint: choose another name with --id; the gateway shares its own machine automatically, unless started with --no-node"
        )));
    }
    Ok(())
}

/// Resolves the options and prints a warning if needed.
fn sharing_of(asked: &ShareOptions, ctx: &CliContext) -> Result<Sharing, Failure> {
    let parts = SharingRequest {
        workspace: asked.workspace.clone(),
        jail: asked.jail.clone(),
        sandbox: asked.sandbox.map(mode),
        terminals: asked.terminal,
    };
    let sharing = Sharing::new(parts, &ctx.here()?, OPTIONS)?;
    protect_tokens(&sharing, &ctx.home)?;
    if let Some(warning) = sharing.warning(OPTIONS) {
        output::print_note(warning);
    }
    Ok(sharing)
}

/// Refuses a sandbox that contains the tokens stored in the home.
fn protect_tokens(sharing: &Sharing, home: &Path) -> Result<(), Failure> {
    let mut reach = sharing.reach().into_iter();
    match reach.find(|folder| holds(folder, home)) {
        Some(around) => Err(Failure(format!(
            "{} contains {}, where tokens are stored, so the tools could read them\nhint: choose another directory with {} or {}, or move the tokens with MANYHANDS_HOME",
            around.display(),
            home.display(),
            OPTIONS.workspace,
            OPTIONS.jail
        ))),
        None => Ok(()),
    }
}

fn mode(word: SandboxOption) -> SandboxMode {
    match word {
        SandboxOption::ReadOnly => SandboxMode::ReadOnly,
        SandboxOption::Workspace => SandboxMode::Workspace,
        SandboxOption::Off => SandboxMode::Off,
    }
}

/// The first signal stops the node and its child processes; the second exits at once.
async fn stop_on_signal(stop: CancellationToken) {
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        output::print_note("cannot install signal handlers; stop the process with kill -9");
        return;
    };
    let mut received =
        async || tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} };
    received().await;
    stop.cancel();
    received().await;
    std::process::exit(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_around_the_tokens_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let home = folder.path().join("home");
        let check = |workspace: &Path, sandbox| {
            let asked = SharingRequest {
                workspace: Some(workspace.to_owned()),
                sandbox: Some(mode(sandbox)),
                ..SharingRequest::default()
            };
            protect_tokens(&Sharing::new(asked, &inner, OPTIONS).unwrap(), &home)
        };
        for sandbox in [SandboxOption::Workspace, SandboxOption::ReadOnly] {
            let refused = check(folder.path(), sandbox).unwrap_err().0;
            assert!(refused.contains("where tokens are stored"), "{refused}");
            assert!(check(&inner, sandbox).is_ok());
        }
        assert!(check(folder.path(), SandboxOption::Off).is_ok());
    }
}
