//! Other people's MCP servers through the real gateway: their tools, their questions, their tricks.

mod accounts;
mod eras;
mod everyday;
mod hostile;
mod inspector;
mod moved;
mod notifications;
mod openapi;
mod pass;
mod pins;
mod processes;
mod progress;
mod python;
mod questions;
mod schemas;
mod taint;
mod tool_lists;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, eventually, run};
use crate::npm::packages;

fn servers() -> PathBuf {
    packages("mcp-servers")
}

/// One of the official servers.
fn official(name: &str) -> String {
    let program = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
    servers().join(program).display().to_string()
}

/// The settings of a server that is a program of Node.
fn node(name: &str, args: &[&str], more: &str) -> String {
    format!("[mcpServers.{name}]\ncommand = \"node\"\nargs = {args:?}\n{more}\n")
}

/// A server that offers what a file beside the home says.
pub struct Scripted {
    file: PathBuf,
}

impl Scripted {
    /// With tools of these names.
    pub fn beside(home: &Home, file: &str, names: &[&str]) -> Self {
        let this = Self {
            file: home.outside(file),
        };
        let tools = names
            .iter()
            .map(|name| json!({ "name": name, "description": format!("The tool {name}") }));
        this.offer(&tools.collect::<Vec<_>>());
        this
    }

    pub fn offer(&self, tools: &[Value]) {
        let next = self.file.with_extension("next");
        std::fs::write(&next, json!({ "tools": tools }).to_string()).expect("the script");
        std::fs::rename(next, &self.file).expect("the script");
    }

    /// What its one resource says from now on.
    fn note(&self, text: &str) {
        let note = format!("{}.note", self.file.display());
        let next = format!("{note}.next");
        std::fs::write(&next, text).expect("the note");
        std::fs::rename(next, note).expect("the note");
    }

    /// Has whatever starts from now on say nothing at all.
    fn fall_silent(&self) {
        std::fs::write(format!("{}.silent", self.file.display()), "").expect("a mark");
    }

    pub fn settings(&self, name: &str, more: &str) -> String {
        let program = servers().join("scripted.mjs").display().to_string();
        node(name, &[&program, &self.file.display().to_string()], more)
    }

    /// The processes that were ever started.
    fn starts(&self) -> Vec<u32> {
        let noted = self.noted("starts");
        noted.lines().filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Those of them that still run.
    fn running(&self) -> Vec<u32> {
        let mut started = self.starts();
        started.retain(|pid| runs(*pid, &self.file));
        started
    }

    /// How many requests were taken back there.
    fn cancelled(&self) -> usize {
        self.noted("cancelled").lines().count()
    }

    fn noted(&self, what: &str) -> String {
        let noted = format!("{}.{what}", self.file.display());
        std::fs::read_to_string(noted).unwrap_or_default()
    }
}

/// Whether a process runs that was started with `file`; its number may be another's by now.
fn runs(pid: u32, file: &Path) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let file = file.as_os_str().as_encoded_bytes();
    line.split(|byte| *byte == 0).any(|word| word == file)
}

/// A gateway with these settings, once it knows the tools of these servers.
#[track_caller]
fn gateway(home: Home, settings: &str, knows: &[&str]) -> Gateway {
    let gateway = Gateway::on(home.with_config(settings));
    for server in knows {
        known(&gateway, server);
    }
    gateway
}

/// Waits until a server's tools are known.
#[track_caller]
pub fn known(gateway: &Gateway, server: &str) {
    eventually(&format!("the tools of {server} are known"), || {
        let prefix = format!("{server}__");
        names(gateway).iter().any(|name| name.starts_with(&prefix))
    });
}

/// The names of all tools.
#[track_caller]
fn names(gateway: &Gateway) -> Vec<String> {
    let listed = gateway.get("/api/tools").json();
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    tools.iter().map(name).collect()
}

/// One server as the owner sees it.
#[track_caller]
fn server(gateway: &Gateway, name: &str) -> Value {
    gateway.get(&format!("/api/servers/{name}")).json()["result"].clone()
}

/// What a stranger's client sees of one server through the gateway, deed by deed.
#[track_caller]
fn stranger(gateway: &Gateway, sdk: &str, era: &str, server: &str, plan: Value) -> Vec<Value> {
    let ran = run(client(gateway, sdk, era, server, &plan), "").ok();
    ran.json()["seen"].as_array().expect("what it saw").clone()
}

/// A stranger's client of one server through the gateway.
fn client(gateway: &Gateway, sdk: &str, era: &str, server: &str, plan: &Value) -> Command {
    let mut client = gateway.home.wrap(Command::new("node"));
    client
        .arg(packages("mcp-client").join("pass.mjs"))
        .args([sdk, era, &gateway.url, &gateway.owner, server])
        .arg(plan.to_string());
    client
}

/// Every official client, and the era it speaks.
const STRANGERS: [(&str, &str); 3] = [
    ("v1", "2025-11-25"),
    ("v2", "2025-11-25"),
    ("v2", "2026-07-28"),
];
