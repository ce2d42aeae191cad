//! The commands, one file each.

mod acp;
mod agents;
mod approvals;
mod artifact;
mod audit;
mod backup;
mod call;
mod channel;
mod chat;
mod config;
mod connect;
mod connection;
mod cp;
mod cron;
mod doctor;
mod heartbeat;
mod link;
mod login;
mod mcp;
mod migrate;
mod models;
mod node;
mod nodes;
mod overview;
mod people;
mod policy;
mod resource;
pub mod script_worker;
mod secret;
mod service;
mod sessions;
mod skills;
mod token;
mod tools;
mod trust;
mod up;
mod upgrade;
mod usage;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::context::CliContext;
use manyhands_terminal::output::{Done, Failure};

/// Runs a command.
pub async fn run(command: Option<Command>, ctx: &CliContext) -> Done {
    let Some(command) = command else {
        return overview::run(ctx).await;
    };
    match command {
        Command::Up(up) => up::run(up, ctx).await,
        Command::Install(install) => service::install(install, ctx).await,
        Command::Uninstall(which) => service::uninstall(which, ctx).await,
        Command::Start(start) => service::start(start, ctx).await,
        Command::Stop(which) => service::stop(which, ctx).await,
        Command::Restart(start) => service::restart(start, ctx).await,
        Command::Status(which) => service::status(which, ctx).await,
        Command::Logs(logs) => service::logs(logs, ctx).await,
        Command::Upgrade(upgrade) => upgrade::run(upgrade, ctx).await,
        Command::Node(node) => node::run(node, ctx).await,
        Command::Nodes(nodes) => nodes::run(nodes, ctx).await,
        Command::Cp(cp) => cp::run(cp, ctx).await,
        Command::Chat(chat) => chat::run(chat, ctx).await,
        Command::Sessions(sessions) => sessions::run(sessions, ctx).await,
        Command::Cron(cron) => cron::run(cron.or_list(), ctx).await,
        Command::Heartbeat(heartbeat) => heartbeat::run(heartbeat.or_list(), ctx).await,
        Command::Link => link::run(ctx).await,
        Command::Channel(one) => channel::channel(one.or_list(), ctx).await,
        Command::Pair(pair) => channel::pair(pair.or_list(), ctx).await,
        Command::Outbox(outbox) => channel::outbox(outbox, ctx).await,
        Command::Inbox(inbox) => channel::inbox(inbox, ctx).await,
        Command::Models(models) => models::run(models, ctx).await,
        Command::Agents(agents) => agents::run(agents, ctx).await,
        Command::Skills(skills) => skills::run(skills, ctx).await,
        Command::Usage(usage) => usage::run(usage, ctx).await,
        Command::Call(call) => call::run(call, ctx).await,
        Command::Trigger(trigger) => call::trigger(trigger, ctx).await,
        Command::Tools(tools) => tools::run(tools, ctx).await,
        Command::Mcp(mcp) => mcp::run(mcp, ctx).await,
        Command::Connect(connect) => connect::run(connect, ctx).await,
        Command::Connection(connection) => connection::run(connection.or_list(), ctx).await,
        Command::Acp(acp) => acp::run(acp, ctx).await,
        Command::Config(config) => config::run(config, ctx).await,
        Command::Token(token) => token::run(token.or_list(), ctx).await,
        Command::Secret(secret) => secret::run(secret.or_list(), ctx).await,
        Command::Policy(policy) => policy::run(policy.or_list(), ctx).await,
        Command::Approvals(approvals) => approvals::run(approvals.or_list(), ctx).await,
        Command::Trust(trust) => trust::run(trust.or_list(), ctx).await,
        Command::Audit(audit) => audit::run(audit.or_list(), ctx).await,
        Command::Artifact(artifact) => artifact::run(artifact, ctx).await,
        Command::Resource(resource) => resource::run(resource.or_list(), ctx).await,
        Command::Todo(todo) => people::todo(todo, ctx).await,
        Command::Contacts(contacts) => people::contacts(contacts, ctx).await,
        Command::Backup(backup) => backup::backup(backup, ctx).await,
        Command::Restore(restore) => backup::restore(restore, ctx).await,
        Command::Doctor(doctor) => doctor::run(doctor, ctx).await,
        Command::Migrate(migrate) => migrate::run(migrate, ctx).await,
        Command::Keeper | Command::ScriptWorker => Ok(ExitCode::SUCCESS), // handled in `main`, before a context exists
        Command::Completions { shell } => {
            // Generated into memory: clap would panic if the pipe is closed.
            let mut script = Vec::new();
            clap_complete::generate(
                shell,
                &mut Args::definition(crate::VERSION),
                "manyhands",
                &mut script,
            );
            manyhands_terminal::output::bytes(&script)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Man { dir } => {
            // Written by the program itself, so that its packages need no second list of its commands.
            clap_mangen::generate_to(Args::definition(crate::VERSION), &dir)
                .map_err(|e| Failure(format!("{}: {e}", dir.display())))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
