//! `node`: this machine, lent to a gateway.

mod announce;
mod identity;
mod launchd;
mod service;
mod session;
mod systemd;

use std::path::Path;
use std::process::ExitCode;

use manyhands_node::{NodeLog, NodeOptions, SandboxMode};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::{Lend, Node, SandboxWord};
use crate::enrolment::Enrolments;
use crate::ground::Ground;
use crate::lending::{self, Asked, Lending, Words, holds};
use crate::output::{self, Done, Failure};
use crate::remote::Remote;
use identity::{Identity, Proof};

/// What the flags are called.
const WORDS: Words = Words {
    workspace: "--workspace",
    jail: "--jail",
    sandbox_off: "--sandbox off",
};

/// Lends the machine here, or sees to its service.
pub async fn run(node: Node, ground: &Ground) -> Done {
    match node.service {
        None => lend(&node.lend, ground).await,
        Some(asked) => service::run(asked, ground).await,
    }
}

/// Lends the machine until a signal ends it, or the gateway refuses it.
async fn lend(asked: &Lend, ground: &Ground) -> Done {
    let lending = lending_of(asked, ground)?;
    let supervisor = lending::supervisor(ground)?;
    let toolbox = lending.toolbox(ground.environment(), &supervisor, ground)?;
    let identity = identity::of(asked.id.as_ref(), asked.code.as_deref(), ground).await?;
    if identity.proof == Proof::Owner {
        leave_alone(&identity).await?;
    }
    let Identity { id, url, token, .. } = identity;
    announce::listen(&id, &url, &lending, ground)?;
    let mut options = NodeOptions::new(url, token, id.clone());
    options.state_dir = Some(Enrolments::of(&ground.home).state(&id)?);
    let stop = CancellationToken::new();
    let signals = tokio::spawn(stop_on_signal(stop.clone()));
    let ended = manyhands_node::run(options, toolbox, NodeLog::new(ground.clock.clone()), stop);
    let ended = ended.await;
    lending::all_ended(&supervisor).await;
    signals.abort();
    ended?;
    Ok(ExitCode::SUCCESS)
}

/// Whoever shows the owner's token could push any node out, such as the gateway's own.
async fn leave_alone(identity: &Identity) -> Result<(), Failure> {
    let Identity { id, url, token, .. } = identity;
    let listed = Remote::new(url, token.clone())?.get("/api/nodes").await?;
    let mut nodes = listed["nodes"].as_array().into_iter().flatten();
    let taken = nodes.any(|node| node["nodeId"] == id.as_str() && node["online"] == true);
    if taken {
        return Err(Failure(format!(
            "a node {id} is connected to {url} already\nhint: choose another name with --id; the gateway lends its own machine by itself, unless it is started with --no-node"
        )));
    }
    Ok(())
}

/// How much of the machine is lent, with what the owner should know about it said.
fn lending_of(asked: &Lend, ground: &Ground) -> Result<Lending, Failure> {
    let parts = Asked {
        workspace: asked.workspace.clone(),
        jail: asked.jail.clone(),
        sandbox: asked.sandbox.map(mode),
    };
    let lending = Lending::new(parts, &ground.here()?, WORDS)?;
    keep_tokens(&lending, &ground.home)?;
    if let Some(warning) = lending.warning(WORDS) {
        output::remark(warning);
    }
    Ok(lending)
}

/// In a sandbox the tools do not reach the tokens that are kept here.
fn keep_tokens(lending: &Lending, home: &Path) -> Result<(), Failure> {
    let mut reach = lending.reach().into_iter();
    match reach.find(|folder| holds(folder, home)) {
        Some(around) => Err(Failure(format!(
            "{} holds {}, where tokens are kept, and the tools would reach them\nhint: name a folder without it with {} or {}, or keep tokens elsewhere with MANYHANDS_HOME",
            around.display(),
            home.display(),
            WORDS.workspace,
            WORDS.jail
        ))),
        None => Ok(()),
    }
}

fn mode(word: SandboxWord) -> SandboxMode {
    match word {
        SandboxWord::ReadOnly => SandboxMode::ReadOnly,
        SandboxWord::Workspace => SandboxMode::Workspace,
        SandboxWord::Off => SandboxMode::Off,
    }
}

/// The first signal stops the node and its programs; the second ends everything at once.
async fn stop_on_signal(stop: CancellationToken) {
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        output::remark("signals cannot be heard; end the process with kill -9");
        return;
    };
    let mut heard =
        async || tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} };
    heard().await;
    stop.cancel();
    heard().await;
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
            let asked = Asked {
                workspace: Some(workspace.to_owned()),
                sandbox: Some(mode(sandbox)),
                ..Asked::default()
            };
            keep_tokens(&Lending::new(asked, &inner, WORDS).unwrap(), &home)
        };
        for sandbox in [SandboxWord::Workspace, SandboxWord::ReadOnly] {
            let refused = check(folder.path(), sandbox).unwrap_err().0;
            assert!(refused.contains("where tokens are kept"), "{refused}");
            assert!(check(&inner, sandbox).is_ok());
        }
        assert!(check(folder.path(), SandboxWord::Off).is_ok());
    }
}
