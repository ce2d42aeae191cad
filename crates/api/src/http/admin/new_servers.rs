//! MCP servers to add: from a URL, a command, pasted JSON, the directory, or other programs' settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use manyhands_ai_clients::import::SkippedServer;
use manyhands_config::McpServer;
use manyhands_core::{Secret, ServerName, ToolError};
use manyhands_federation::directory::Input;
use manyhands_gateway::Gateway;
use manyhands_gateway::new_servers::{ServerDraft, ServerSource};
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::body;
use super::servers::{ServerAdded, ServerKind, add_remote};
use crate::http::object::Json;
use crate::http::patterns;

/// The most text that can be pasted.
const MAX_PASTED: usize = 1024 * 1024;

/// Where a server comes from: exactly one of `url`, `command`, `json` and `directory`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewServer {
    /// Name: 1-32 of A-Z, a-z, 0-9, - and _. Of pasted JSON with several servers, the one to add.
    #[schemars(regex(pattern = patterns::SERVER), length(max = 32))]
    name: Option<String>,
    /// URL of a remote server.
    url: Option<String>,
    /// Its headers.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Program to run on the gateway's machine.
    command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    args: Vec<String>,
    /// Its environment variables.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// JSON as it stands in READMEs.
    json: Option<String>,
    /// Name in the directory.
    directory: Option<String>,
    /// Values that are not secret, by name.
    #[serde(default)]
    values: BTreeMap<String, String>,
}

/// A server to add: `server`, or exactly one of `url`, `command`, `json` and `directory`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewServer {
    /// Name: 1-32 of A-Z, a-z, 0-9, - and _. Of pasted JSON with several servers, the one to add.
    #[schemars(regex(pattern = patterns::SERVER), length(max = 32))]
    name: Option<String>,
    /// The entry under `mcpServers` in config.toml, for remote servers with a `url`.
    server: Option<McpServer>,
    /// URL of a remote server.
    url: Option<String>,
    /// Its headers.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Program to run on the gateway's machine; needs `confirm`.
    command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    args: Vec<String>,
    /// Its environment variables.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// JSON as it stands in READMEs; a local command needs `confirm`.
    json: Option<String>,
    /// Name in the directory; a local command needs `confirm`.
    directory: Option<String>,
    /// Values that are not secret, by name.
    #[serde(default)]
    values: BTreeMap<String, String>,
    /// Secrets by name, stored in the vault.
    #[serde(default, deserialize_with = "hidden")]
    #[schemars(with = "BTreeMap<String, String>")]
    secrets: BTreeMap<String, Secret>,
    /// Confirms that the command shown by the preview may run on the gateway's machine.
    #[serde(default)]
    confirm: bool,
}

/// Reads secrets without repeating one in a type error.
fn hidden<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Secret>, D::Error> {
    let given = BTreeMap::<String, Value>::deserialize(from)?;
    let secrets = given.into_iter().map(|(name, value)| match value {
        Value::String(text) => Ok((name, Secret::new(text))),
        _ => Err(de::Error::custom("secrets must be text")),
    });
    secrets.collect()
}

/// A secret that a server needs.
#[derive(Serialize, JsonSchema)]
pub struct SecretView {
    /// Its name.
    name: String,
    /// What it is.
    label: String,
    /// Page where it can be found or created.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Whether the server works without it.
    optional: bool,
    /// Whether it need not be given: it was pasted, or is stored in the vault.
    known: bool,
}

/// What adding a server would do. Nothing is stored or started.
#[derive(Serialize, JsonSchema)]
pub struct ServerPreview {
    /// Its name.
    #[schemars(with = "String")]
    name: ServerName,
    /// Transport.
    kind: ServerKind,
    /// The exact program and its arguments, or the URL.
    runs: Vec<String>,
    /// Names of its environment variables.
    env: Vec<String>,
    /// Its secrets.
    secrets: Vec<SecretView>,
    /// Values that it still needs and that are not secret.
    values: Vec<Input>,
    /// What would keep it from working or from being added.
    problems: Vec<String>,
    /// What is not taken over, and why.
    notes: Vec<String>,
    /// Whether adding it needs `confirm`, because it starts a program on the gateway's machine.
    confirm: bool,
    /// Whether it needs a login with OAuth.
    oauth: bool,
    /// All servers of the pasted JSON.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<String>,
}

impl From<ServerDraft> for ServerPreview {
    fn from(draft: ServerDraft) -> Self {
        let confirm = draft.is_local();
        let secrets = draft.secrets.into_iter().map(|one| SecretView {
            known: one.value.is_some() || one.stored,
            name: one.input.name,
            label: one.input.description,
            url: one.input.url,
            optional: one.input.optional,
        });
        Self {
            name: draft.name,
            kind: match confirm {
                true => ServerKind::Stdio,
                false => ServerKind::Http,
            },
            runs: draft.plan.runs,
            env: draft.server.env.into_keys().collect(),
            secrets: secrets.collect(),
            values: draft.values,
            problems: draft.plan.problems,
            notes: draft.notes,
            confirm,
            oauth: draft.oauth,
            servers: draft.names,
        }
    }
}

/// The one source that a request names.
fn source(from: PreviewServer) -> Result<(Option<String>, ServerSource), Refusal> {
    let given = [
        ("url", from.url.is_some()),
        ("command", from.command.is_some()),
        ("json", from.json.is_some()),
        ("directory", from.directory.is_some()),
    ];
    let given: Vec<&str> = given.iter().filter(|one| one.1).map(|one| one.0).collect();
    let wrong = |parameter: &str, message: &str| Refusal(ToolError::parameter(parameter, message));
    let [kind] = given.as_slice() else {
        let parameter = given.get(1).copied().unwrap_or("url");
        return Err(wrong(
            parameter,
            "give exactly one of url, command, json and directory",
        ));
    };
    // A part that would be ignored is a mistake the owner should see.
    let misplaced = [
        ("headers", !from.headers.is_empty(), ["url", ""]),
        ("args", !from.args.is_empty(), ["command", ""]),
        ("env", !from.env.is_empty(), ["command", ""]),
        ("values", !from.values.is_empty(), ["json", "directory"]),
    ];
    if let Some((part, _, of)) = misplaced
        .iter()
        .find(|(_, used, of)| *used && !of.contains(kind))
    {
        return Err(wrong(
            part,
            &format!("needs {}", of.join(" or ").trim_end_matches(" or ")),
        ));
    }
    let source = match (from.url, from.command, from.json, from.directory) {
        (Some(url), ..) => ServerSource::Url {
            url,
            headers: from.headers,
        },
        (_, Some(command), ..) => ServerSource::Command {
            command,
            args: from.args,
            env: from.env,
        },
        (_, _, Some(text), _) => {
            if text.len() > MAX_PASTED {
                return Err(wrong("json", "must be at most 1 MiB"));
            }
            ServerSource::Json {
                text,
                values: from.values,
            }
        }
        (_, _, _, name) => ServerSource::Listed {
            name: name.unwrap_or_default(),
            values: from.values,
        },
    };
    Ok((from.name, source))
}

/// Shows what adding a server would do.
pub async fn preview(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    wanted: Result<Json<PreviewServer>, JsonRejection>,
) -> Answer<ServerPreview> {
    let (name, source) = source(body(wanted)?)?;
    let draft = gateway
        .draft_server(source, name.as_deref(), &BTreeMap::new())
        .await?;
    answer(draft.into())
}

/// Adds a server. A local command has to be confirmed.
pub async fn add(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    add: Result<Json<NewServer>, JsonRejection>,
) -> Answer<ServerAdded> {
    let NewServer {
        name,
        server,
        url,
        headers,
        command,
        args,
        env,
        json,
        directory,
        values,
        secrets,
        confirm,
    } = body(add)?;
    if let Some(server) = server {
        if url.is_some() || command.is_some() || json.is_some() || directory.is_some() {
            let message = "excludes url, command, json and directory";
            return Err(Refusal(ToolError::parameter("server", message)));
        }
        let name = name.ok_or_else(|| Refusal(ToolError::parameter("name", "is required")))?;
        return add_remote(&gateway, &owner.caller, &name, server).await;
    }
    let (name, source) = source(PreviewServer {
        name,
        url,
        headers,
        command,
        args,
        env,
        json,
        directory,
        values,
    })?;
    let draft = gateway
        .draft_server(source, name.as_deref(), &secrets)
        .await?;
    if draft.is_local() && !confirm {
        return Err(Refusal(draft.needs_confirm()));
    }
    let name = gateway.add_server(&owner.caller, draft).await?;
    answer(ServerAdded { name, added: true })
}

/// The servers of a program on the gateway's machine.
#[derive(Serialize, JsonSchema)]
pub struct ClientServers {
    /// The program, as `client` of an import.
    client: String,
    /// Its display name.
    title: String,
    /// The file with them.
    file: String,
    /// Servers that can be imported.
    servers: Vec<ServerPreview>,
    /// Servers that cannot.
    skipped: Vec<SkippedView>,
}

/// A server that cannot be imported.
#[derive(Serialize, JsonSchema)]
pub struct SkippedView {
    /// Its name.
    name: String,
    /// The reason.
    reason: String,
}

impl From<&SkippedServer> for SkippedView {
    fn from(skipped: &SkippedServer) -> Self {
        Self {
            name: skipped.given.clone(),
            reason: skipped.why.clone(),
        }
    }
}

/// Programs with MCP servers.
#[derive(Serialize, JsonSchema)]
pub struct ImportList {
    /// The programs; one with several files is listed once for each.
    clients: Vec<ClientServers>,
}

/// Lists the MCP servers of other programs on the gateway's machine.
pub async fn importable(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ImportList> {
    let mut clients = Vec::new();
    for source in gateway.importable_servers().await? {
        let Some(owner) = source.owner else { continue };
        let mut servers = Vec::new();
        for found in &source.contents.found {
            servers.push(gateway.draft_import(found).await?.into());
        }
        clients.push(ClientServers {
            client: owner.word().to_owned(),
            title: owner.title().to_owned(),
            file: source.path.display().to_string(),
            servers,
            skipped: source
                .contents
                .skipped
                .iter()
                .map(SkippedView::from)
                .collect(),
        });
    }
    answer(ImportList { clients })
}

/// Servers to import.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportServers {
    /// The program.
    client: String,
    /// Names of its servers.
    names: Vec<String>,
    /// Whether the local commands among them, as the list shows them, may run.
    #[serde(default)]
    confirm: bool,
}

/// What was imported.
#[derive(Serialize, JsonSchema)]
pub struct ServersImported {
    /// Servers that were added.
    #[schemars(with = "Vec<String>")]
    added: Vec<ServerName>,
    /// Servers that were not.
    skipped: Vec<SkippedView>,
}

/// Imports MCP servers of another program, with their secrets. Local commands have to be confirmed.
pub async fn import(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    wanted: Result<Json<ImportServers>, JsonRejection>,
) -> Answer<ServersImported> {
    let ImportServers {
        client,
        names,
        confirm,
    } = body(wanted)?;
    let imported = gateway
        .import_servers(&owner.caller, &client, &names, confirm)
        .await?;
    let skipped = imported.skipped.into_iter();
    answer(ServersImported {
        added: imported.added,
        skipped: skipped
            .map(|(name, reason)| SkippedView { name, reason })
            .collect(),
    })
}
