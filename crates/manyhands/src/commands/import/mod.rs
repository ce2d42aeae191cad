//! MCP servers that other programs were told of: where their files lie, and what stands in them.
//!
//! Each program has its own words for the same things. They are read here into one form, together with
//! what belongs into the vault, and with a note for whatever could not be taken over.

mod clients;
mod document;
mod entry;
#[cfg(test)]
mod tests;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use manyhands_config::McpServer;
use manyhands_core::{Secret, ServerName};
use serde_json::{Map, Value};

pub use clients::Client;
pub use values::is_secret_value;

use document::Format;
use entry::Dialect;

/// The user's surroundings, in which the files were meant.
pub struct Around {
    /// The user's own folder.
    pub user: PathBuf,
    /// The environment.
    pub env: BTreeMap<String, String>,
}

/// A server that can be taken over.
#[derive(Debug)]
pub struct Found {
    /// Its name there.
    pub given: String,
    /// Its name here.
    pub name: ServerName,
    /// What the settings will say of it.
    pub server: McpServer,
    /// What it needs of the vault.
    pub secrets: Vec<Kept>,
    /// What was not taken over, and why.
    pub notes: Vec<String>,
}

/// A secret that a server refers to.
#[derive(Debug)]
pub struct Kept {
    /// Its name in the vault.
    pub place: String,
    /// Its value, where the file or the environment has it.
    pub value: Option<Secret>,
    /// What it is, where somebody wrote that down.
    pub about: Option<String>,
}

/// A server that cannot be taken over.
#[derive(Debug, PartialEq, Eq)]
pub struct Passed {
    /// Its name there.
    pub given: String,
    /// Why.
    pub why: String,
}

/// What stands in a file.
#[derive(Debug, Default)]
pub struct Contents {
    /// What can be taken over.
    pub found: Vec<Found>,
    /// What cannot.
    pub passed: Vec<Passed>,
}

/// The servers of one section of a file.
struct Section<'a> {
    dialect: Dialect,
    servers: &'a Map<String, Value>,
    /// The folder that the section is for, if it is for one.
    project: Option<PathBuf>,
    /// Names that are switched off beside the servers themselves.
    off: Vec<&'a str>,
    /// What the user is asked for, by id.
    inputs: BTreeMap<&'a str, &'a str>,
}

/// Reads a file. `client` says whose it is, where that is known.
pub fn read(
    text: &str,
    path: &Path,
    client: Option<Client>,
    around: &Around,
) -> Result<Contents, String> {
    let document = Format::of(path).parse(text)?;
    let sections = sections(&document, path, client, around);
    let mut contents = Contents::default();
    let mut taken: BTreeMap<ServerName, String> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for section in &sections {
        for (given, entry) in section.servers {
            let mut pass = |why: String| {
                let given = given.clone();
                contents.passed.push(Passed { given, why });
            };
            // The same server stands in several projects of one file.
            if !seen.insert((given, entry.to_string())) {
                continue;
            }
            match entry::read(given, entry, section, around) {
                Err(why) => pass(why),
                Ok(found) => match taken.get(&found.name) {
                    Some(other) if other == given => {
                        pass("it is there more than once, with other settings".to_owned());
                    }
                    Some(other) => {
                        pass(format!(
                            "it would be called {} here, as {other:?} is",
                            found.name
                        ));
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

/// Where in a document servers are written down.
fn sections<'a>(
    document: &'a Value,
    path: &Path,
    client: Option<Client>,
    around: &Around,
) -> Vec<Section<'a>> {
    let client = client.or_else(|| Client::of(path));
    let project = clients::project_of(path, around);
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
    // Claude Code keeps the servers of each folder that it was used in.
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

/// The names that `allowed` leaves out and `excluded` names.
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
