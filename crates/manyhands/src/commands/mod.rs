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
mod connection;
mod cp;
mod cron;
mod doctor;
mod heartbeat;
mod import;
mod link;
mod login;
mod mcp;
mod models;
mod node;
mod nodes;
mod people;
mod policy;
mod resource;
pub mod script_worker;
mod secret;
mod sessions;
mod skills;
mod token;
mod tools;
mod up;
mod usage;

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Args, Command};
use crate::ground::Ground;
use crate::output::Done;

/// Runs one command.
pub async fn run(command: Command, ground: &Ground) -> Done {
    match command {
        Command::Up(up) => up::run(up, ground).await,
        Command::Node(node) => node::run(node, ground).await,
        Command::Nodes(nodes) => nodes::run(nodes, ground).await,
        Command::Cp(cp) => cp::run(cp, ground).await,
        Command::Chat(chat) => chat::run(chat, ground).await,
        Command::Sessions(sessions) => sessions::run(sessions, ground).await,
        Command::Cron(cron) => cron::run(*cron, ground).await,
        Command::Heartbeat(heartbeat) => heartbeat::run(heartbeat, ground).await,
        Command::Link => link::run(ground).await,
        Command::Channel(one) => channel::channel(one, ground).await,
        Command::Pair(pair) => channel::pair(pair, ground).await,
        Command::Outbox(outbox) => channel::outbox(outbox, ground).await,
        Command::Inbox(inbox) => channel::inbox(inbox, ground).await,
        Command::Models(models) => models::run(models, ground).await,
        Command::Agents(agents) => agents::run(agents, ground).await,
        Command::Skills(skills) => skills::run(skills, ground).await,
        Command::Usage(usage) => usage::run(usage, ground).await,
        Command::Call(call) => call::run(call, ground).await,
        Command::Trigger(trigger) => call::trigger(trigger, ground).await,
        Command::Tools(tools) => tools::run(tools, ground).await,
        Command::Mcp(mcp) => mcp::run(mcp, ground).await,
        Command::Connection(connection) => connection::run(connection, ground).await,
        Command::Acp(acp) => acp::run(acp, ground).await,
        Command::Config(config) => config::run(config, ground).await,
        Command::Token(token) => token::run(token, ground).await,
        Command::Secret(secret) => secret::run(secret, ground).await,
        Command::Policy(policy) => policy::run(policy, ground).await,
        Command::Approvals(approvals) => approvals::run(approvals, ground).await,
        Command::Audit(audit) => audit::run(audit, ground).await,
        Command::Artifact(artifact) => artifact::run(artifact, ground).await,
        Command::Resource(resource) => resource::run(resource, ground).await,
        Command::Todo(todo) => people::todo(todo, ground).await,
        Command::Contacts(contacts) => people::contacts(contacts, ground).await,
        Command::Backup(backup) => backup::backup(backup, ground).await,
        Command::Restore(restore) => backup::restore(restore, ground).await,
        Command::Doctor => doctor::run(ground).await,
        Command::Keeper | Command::ScriptWorker => Ok(ExitCode::SUCCESS), // handled before there is a ground to stand on
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "manyhands", &mut script);
            crate::output::bytes(&script)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
