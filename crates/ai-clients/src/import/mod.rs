//! Reads MCP servers from other programs' settings.
//!
//! Every program has its own format. All are read into one form, with the secrets that belong in the vault and a
//! note for everything that could not be imported.

mod entry;
mod known_files;
mod pasted;
#[cfg(test)]
mod tests;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use manyhands_config::McpServer;
use manyhands_core::{Secret, ServerName};
use serde_json::{Map, Value};

use crate::{Client, Format, UserEnv, project_of};
pub use entry::legal_name;
pub use known_files::{Source, known_files};
pub use pasted::{Blank, Pasted};
pub use values::{is_placeholder, is_secret_value};

use entry::Dialect;

/// A server that can be imported.
#[derive(Debug)]
pub struct ImportedServer {
    /// Its name in the file.
    pub given: String,
    /// Its name in our settings.
    pub name: ServerName,
    /// Its settings.
    pub server: McpServer,
    /// Secrets it needs in the vault.
    pub secrets: Vec<VaultEntry>,
    /// What was not imported, and why.
    pub notes: Vec<String>,
}

/// A secret that a server refers to.
#[derive(Debug)]
pub struct VaultEntry {
    /// Its name in the vault.
    pub name: String,
    /// Its value, if the file or the environment has it.
    pub value: Option<Secret>,
    /// Description from the file.
    pub about: Option<String>,
}

/// A server that cannot be imported.
#[derive(Debug, PartialEq, Eq)]
pub struct SkippedServer {
    /// Its name in the file.
    pub given: String,
    /// The reason.
    pub why: String,
}

/// The servers in a file.
#[derive(Debug, Default)]
pub struct Contents {
    /// Servers that can be imported.
    pub found: Vec<ImportedServer>,
    /// Servers that cannot.
    pub skipped: Vec<SkippedServer>,
}

/// One section of a file.
struct Section<'a> {
    dialect: Dialect,
    servers: &'a Map<String, Value>,
    /// The project directory the section belongs to, if any.
    project: Option<PathBuf>,
    /// Servers disabled outside of their own entries.
    off: Vec<&'a str>,
    /// Descriptions of values the user is prompted for, by id.
    inputs: BTreeMap<&'a str, &'a str>,
}

/// Reads a file; `client` is the program it belongs to, if known.
pub fn read(
    text: &str,
    path: &Path,
    client: Option<Client>,
    user_env: &UserEnv,
) -> Result<Contents, String> {
    let mut document = Format::of(path).parse(text)?;
    name_listed(&mut document);
    let sections = sections(&document, path, client, user_env);
    let mut contents = Contents::default();
    let mut taken: BTreeMap<ServerName, String> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for section in &sections {
        for (given, entry) in section.servers {
            let mut pass = |why: String| {
                let given = given.clone();
                contents.skipped.push(SkippedServer { given, why });
            };
            // Claude Code repeats the same server in several projects.
            if !seen.insert((given, entry.to_string())) {
                continue;
            }
            match entry::read(given, entry, section, user_env) {
                Err(why) => pass(why),
                Ok(found) => match taken.get(&found.name) {
                    Some(other) if other == given => {
                        pass("it appears more than once with different settings".to_owned());
                    }
                    Some(other) => {
                        pass(format!("it would be named {} like {other:?}", found.name));
                    }
                    None => {
                        taken.insert(found.name.clone(), given.clone());
                        contents.found.push(found);
                    }
                },
            }
        }
    }
    Ok(contents)
}

/// Turns a list of servers with names inside (Continue) into servers by name.
fn name_listed(document: &mut Value) {
    let listed = document.get_mut("mcpServers");
    if let Some(servers @ Value::Array(_)) = listed {
        let list = servers.as_array().into_iter().flatten();
        let named = list.filter_map(|one| Some((one["name"].as_str()?.to_owned(), one.clone())));
        *servers = Value::Object(named.collect());
    }
}

/// Finds the sections with servers in a document.
fn sections<'a>(
    document: &'a Value,
    path: &Path,
    client: Option<Client>,
    user_env: &UserEnv,
) -> Vec<Section<'a>> {
    let client = client.or_else(|| Client::of(path));
    let project = project_of(path, user_env);
    let map = |value: &'a Value| value.as_object();
    let inputs_of = |value: &'a Value| {
        let inputs = value["inputs"].as_array().into_iter().flatten();
        let named = inputs.filter_map(|one| {
            Some((
                one["id"].as_str()?,
                one["description"].as_str().unwrap_or(""),
            ))
        });
        named.collect::<BTreeMap<_, _>>()
    };
    let mut sections = Vec::new();
    let mut add = |dialect, servers: Option<&'a Map<String, Value>>| {
        if let Some(servers) = servers {
            sections.push(Section {
                dialect,
                servers,
                project: project.clone(),
                off: Vec::new(),
                inputs: inputs_of(document),
            });
        }
    };
    let gemini = client == Some(Client::Gemini);
    let plain = if gemini {
        Dialect::Gemini
    } else {
        Dialect::Plain
    };
    add(plain, map(&document["mcpServers"]));
    add(Dialect::Plain, map(&document["servers"]));
    add(Dialect::Zed, map(&document["context_servers"]));
    add(Dialect::Codex, map(&document["mcp_servers"]));
    add(
        Dialect::Goose,
        map(&document["extensions"]).filter(|_| client.is_none_or(|c| c == Client::Goose)),
    );
    match map(&document["mcp"]["servers"]) {
        Some(servers) if client == Some(Client::Opencode) => add(Dialect::Opencode, Some(servers)),
        Some(servers) => add(Dialect::Plain, Some(servers)),
        None if gemini => {}
        None => add(Dialect::Opencode, map(&document["mcp"])),
    }
    for section in &mut sections {
        if section.inputs.is_empty() {
            section.inputs = inputs_of(&document["mcp"]);
        }
        if gemini {
            section.off = switched_off(&document["mcp"], section.servers);
        }
    }
    // Claude Code stores the servers of every directory it was used in.
    for (folder, about) in map(&document["projects"]).into_iter().flatten() {
        let Some(servers) = map(&about["mcpServers"]) else {
            continue;
        };
        let off = about["disabledMcpServers"].as_array().into_iter().flatten();
        sections.push(Section {
            dialect: Dialect::Plain,
            servers,
            project: Some(PathBuf::from(folder)),
            off: off.filter_map(Value::as_str).collect(),
            inputs: BTreeMap::new(),
        });
    }
    let is_server = |one: &Value| one["command"].is_string() || one["url"].is_string();
    // Some projects ship a bare list of servers, without any section around it.
    if sections.is_empty()
        && let Some(all) = map(document).filter(|all| all.values().all(is_server))
    {
        sections.push(Section {
            dialect: Dialect::Plain,
            servers: all,
            project,
            off: Vec::new(),
            inputs: BTreeMap::new(),
        });
    }
    sections
}

/// Servers excluded by `allowed` and `excluded`.
fn switched_off<'a>(rules: &'a Value, servers: &'a Map<String, Value>) -> Vec<&'a str> {
    let list = |key: &str| {
        let all = rules[key].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).collect::<Vec<&str>>()
    };
    let (allowed, excluded) = (list("allowed"), list("excluded"));
    let names = servers.keys().map(String::as_str);
    names
        .filter(|name| excluded.contains(name) || (!allowed.is_empty() && !allowed.contains(name)))
        .collect()
}
