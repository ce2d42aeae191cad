//! The Agent Client Protocol, both ways: agents of others that are given tasks, and an agent here
//! that an editor talks to.

mod editor;
mod hostile;
mod real;
mod servers;
mod spawn;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{Gateway, Home};

const AGENT: &str = include_str!("acp/agent.py");

/// A gateway with the scripted agent under a few names, and more settings.
fn gateway(more: &str) -> Gateway {
    let home = Home::new();
    std::fs::create_dir(home.outside("agent")).expect("a folder");
    std::fs::write(home.outside("agent/agent.py"), AGENT).expect("the agent");
    let folder = home.outside("agent");
    let agent = |name: &str, more: &str| {
        format!(
            "[acp.agents.{name}]\ncommand = \"python3\"\nargs = [{:?}]\nread = [{folder:?}]\n{more}\n",
            folder.join("agent.py"),
        )
    };
    let settings = [
        "[tools.acp_spawn]\nenabled = true\n".to_owned(),
        agent("asks", ""),
        agent("denied", "permissions = \"deny\""),
        agent("vouched", "permissions = \"allow\""),
        agent("bare", "files = false\nterminal = false"),
        agent("free", "sandbox = \"off\""),
        agent("brief", "timeout = 3"),
        agent("keyed", "env = { KEY = \"vault:KEY\", PLAIN = \"plain\" }"),
        more.to_owned(),
    ];
    let home = home.with_config(&settings.concat());
    Gateway::on(home)
}

/// The folder that agents work in.
fn workspace(gateway: &Gateway) -> PathBuf {
    gateway.home.path().join("host/workspace")
}

/// Gives a task; the whole answer.
#[track_caller]
fn give(gateway: &Gateway, agent: &str, task: &str) -> Value {
    gateway.call("acp_spawn", json!({ "agent": agent, "task": task }))
}

/// Gives a task that gets done; its output.
#[track_caller]
fn done(gateway: &Gateway, agent: &str, task: &str) -> String {
    let said = give(gateway, agent, task);
    assert_eq!(said["result"]["status"], "done", "{said}");
    let output = said["result"]["output"].as_str();
    output.unwrap_or_else(|| panic!("{said}")).to_owned()
}

/// The same, where the output is JSON.
#[track_caller]
fn told(gateway: &Gateway, agent: &str, task: &str) -> Value {
    let output = done(gateway, agent, task);
    serde_json::from_str(&output).unwrap_or_else(|e| panic!("{e}: {output}"))
}
