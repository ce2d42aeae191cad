//! MCP servers that the owner adds over the network: from a URL, a command, pasted JSON, the directory, or the settings
//! of other programs on this machine.
//!
//! A command starts a program on this machine, so it is added only after the owner confirmed exactly what will run. Only
//! its program, arguments and variables come from the network: its folders, its sandbox and documents that are read
//! from this machine are set in config.toml. Literal secrets go to the vault, and pasted text is never filled in with
//! the gateway's own environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use manyhands_ai_clients::import::{ImportedServer, Pasted, Source, is_secret_value, known_files};
use manyhands_ai_clients::{Client, UserEnv};
use manyhands_config::McpServer;
use manyhands_core::{Caller, ErrorCode, Secret, ServerName, ToolError};
use manyhands_federation::directory::{Directory, Input};
use manyhands_federation::plan::ServerPlan;
use manyhands_federation::servers::SERVER_VARIABLES;
use serde_json::json;

use crate::gateway::Gateway;

/// Shorter secrets are refused by the vault: they could not be redacted reliably.
const MIN_SECRET: usize = 8;
/// Variables that say where other programs have their settings, besides those of servers.
const CLIENT_VARIABLES: [&str; 2] = ["XDG_CONFIG_HOME", "CODEX_HOME"];

/// Where a new server comes from.
#[derive(Debug, Clone)]
pub enum ServerSource {
    /// A remote server.
    Url {
        /// Its URL.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// A local command.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its variables.
        env: BTreeMap<String, String>,
    },
    /// JSON as it stands in READMEs.
    Json {
        /// The text.
        text: String,
        /// Values of its blanks.
        values: BTreeMap<String, String>,
    },
    /// A server of the directory.
    Listed {
        /// Its name there.
        name: String,
        /// Values of its inputs.
        values: BTreeMap<String, String>,
    },
}

/// A server that could be added.
#[derive(Debug)]
pub struct ServerDraft {
    /// Its name.
    pub name: ServerName,
    /// Its settings.
    pub server: McpServer,
    /// What it runs.
    pub plan: ServerPlan,
    /// Its secrets.
    pub secrets: Vec<NeededSecret>,
    /// Values it needs that are not secret.
    pub values: Vec<Input>,
    /// What was not taken over, and why.
    pub notes: Vec<String>,
    /// Whether it needs a login with OAuth.
    pub oauth: bool,
    /// All servers of pasted JSON.
    pub names: Vec<String>,
}

/// A secret of a server.
#[derive(Debug)]
pub struct NeededSecret {
    /// What it is.
    pub input: Input,
    /// Its name in the vault.
    pub vault: String,
    /// Its value, if it is known.
    pub value: Option<Secret>,
    /// Whether the vault has it.
    pub stored: bool,
}

/// What was imported, and what was not.
#[derive(Debug, Default)]
pub struct Imported {
    /// Servers that were added.
    pub added: Vec<ServerName>,
    /// Servers that were not, and why.
    pub skipped: Vec<(String, String)>,
}

impl ServerDraft {
    /// Whether it starts a program on this machine.
    pub fn is_local(&self) -> bool {
        self.server.command.is_some()
    }

    /// The refusal to run its command unconfirmed.
    pub fn needs_confirm(&self) -> ToolError {
        let message = format!(
            "must be true: {} will run on the gateway's machine as {}",
            self.name,
            self.plan.command_line()
        );
        ToolError::parameter("confirm", message).hint("nothing was added")
    }

    /// The secrets that are required and not known.
    fn missing(&self) -> Vec<&str> {
        let unknown = self
            .secrets
            .iter()
            .filter(|one| !one.input.optional && one.value.is_none() && !one.stored);
        let secrets = unknown.map(|one| one.input.name.as_str());
        let values = self.values.iter().map(|one| one.name.as_str());
        secrets.chain(values).collect()
    }
}

impl Gateway {
    /// What adding a server would do. `secrets` are given by their names without the server's.
    pub async fn draft_server(
        &self,
        source: ServerSource,
        name: Option<&str>,
        secrets: &BTreeMap<String, Secret>,
    ) -> Result<ServerDraft, ToolError> {
        let stored = self.store.vault().names().await?;
        let mut draft = match source {
            ServerSource::Listed {
                name: listed,
                values,
            } => self.of_listing(&listed, values, name, secrets, &stored)?,
            ServerSource::Json { text, values } => {
                let pasted = Pasted::parse(&text, None).or_else(|why| match name {
                    // A single entry, or one server under another name.
                    Some(name) => Pasted::parse(&text, Some(name)),
                    None => Err(why),
                });
                let pasted = pasted.map_err(|why| ToolError::parameter("json", why))?;
                self.of_pasted(pasted, &text, &values, name)?
            }
            ServerSource::Url { url, headers } => {
                let name = required(name)?;
                let entry = json!({ "url": url, "headers": headers });
                self.of_entry(name, entry)?
            }
            ServerSource::Command { command, args, env } => {
                let name = required(name)?;
                if command.contains('/') && !Path::new(&command).is_absolute() {
                    let message = "must be the name of a program, or an absolute path";
                    return Err(ToolError::parameter("command", message));
                }
                let entry = json!({ "command": command, "args": args, "env": env });
                self.of_entry(name, entry)?
            }
        };
        for one in &mut draft.secrets {
            one.stored = stored.contains(&one.vault);
            if let Some(given) = secrets.get(&one.input.name) {
                one.value = Some(given.clone());
            }
        }
        if let Some(unknown) = secrets
            .keys()
            .find(|name| !draft.secrets.iter().any(|one| one.input.name == **name))
        {
            let known: Vec<&str> = draft
                .secrets
                .iter()
                .map(|s| s.input.name.as_str())
                .collect();
            let message = format!("{unknown:?} is not a secret of this server");
            let known = match known.is_empty() {
                true => "it needs no secrets".to_owned(),
                false => format!("it needs {}", known.join(", ")),
            };
            return Err(ToolError::parameter("secrets", message).hint(known));
        }
        let taken = &self.settings.current().mcp_servers;
        if taken.contains_key(&draft.name) {
            let message = format!("a server named {} already exists", draft.name);
            draft.plan.problems.push(message);
        }
        Ok(draft)
    }

    /// Adds a server with its secrets: both or neither.
    pub async fn add_server(
        &self,
        caller: &Caller,
        draft: ServerDraft,
    ) -> Result<ServerName, ToolError> {
        let name = draft.name.clone();
        // Setting it would replace the existing entry.
        if self.settings.current().mcp_servers.contains_key(&name) {
            let message = format!("a server named {name} already exists");
            return Err(ToolError::new(ErrorCode::Conflict, message));
        }
        let missing = draft.missing();
        if !missing.is_empty() {
            let message = format!("missing values: {}", missing.join(", "));
            return Err(ToolError::parameter("secrets", message).hint("nothing was added"));
        }
        let mut new = Vec::new();
        for one in &draft.secrets {
            let Some(value) = &one.value else { continue };
            if value.expose().trim().chars().count() < MIN_SECRET {
                let message = format!(
                    "{} has less than {MIN_SECRET} characters: it could not be redacted reliably",
                    one.input.name
                );
                return Err(ToolError::parameter("secrets", message).hint("nothing was added"));
            }
            new.push((one, Secret::new(value.expose().trim())));
        }
        let vault = self.store.vault();
        let written = async {
            // Secrets first: a server whose references do not resolve would fail at its first start.
            for (one, value) in &new {
                vault.set(&one.vault, value).await?;
            }
            self.redact_stored_secrets().await?;
            let key = format!("mcpServers.{name}");
            self.set_local(caller, &key, Some(draft.server.brief()))
                .await
        };
        if let Err(error) = written.await {
            for (one, _) in new.iter().filter(|(one, _)| !one.stored) {
                // Best effort: the error that matters is the one being returned.
                let _ = vault.remove(&one.vault).await;
            }
            return Err(error);
        }
        let about = format!("{name}: {}", draft.plan.command_line());
        self.note(caller, "server.add", &about).await?;
        self.servers.take_over(&self.settings).await; // awaited, so that the server is listed when this returns
        Ok(name)
    }

    /// The servers of other programs on this machine.
    pub async fn importable_servers(&self) -> Result<Vec<Source>, ToolError> {
        let user_env = self.client_env();
        let read = tokio::task::spawn_blocking(move || {
            let here = user_env.user.clone();
            known_files(&Client::ALL, &user_env, &here, |path, why| {
                tracing::warn!(event = "client_settings_unreadable", path = %path.display(), why, "failed to read the settings of another program");
            })
        });
        read.await.map_err(|e| ToolError::internal(e.to_string()))
    }

    /// What importing a server would do.
    pub async fn draft_import(&self, found: &ImportedServer) -> Result<ServerDraft, ToolError> {
        let stored = self.store.vault().names().await?;
        let mut draft = self.of_imported(found, Vec::new(), Vec::new());
        for one in &mut draft.secrets {
            one.stored = stored.contains(&one.vault);
        }
        if self
            .settings
            .current()
            .mcp_servers
            .contains_key(&draft.name)
        {
            let message = format!("a server named {} already exists", draft.name);
            draft.plan.problems.push(message);
        }
        Ok(draft)
    }

    /// Imports servers of another program by their names. A secret whose value is unknown is left to the owner.
    pub async fn import_servers(
        &self,
        caller: &Caller,
        client: &str,
        names: &[String],
        confirm: bool,
    ) -> Result<Imported, ToolError> {
        let sources = self.importable_servers().await?;
        let of_client = |source: &&Source| source.owner.is_some_and(|owner| owner.word() == client);
        let sources: Vec<&Source> = sources.iter().filter(of_client).collect();
        if sources.is_empty() {
            let message = format!("no MCP servers of {client:?} found on this machine");
            return Err(ToolError::not_found(message));
        }
        let mut imported = Imported::default();
        let mut drafts = Vec::new();
        for name in names {
            let mut found = sources.iter().flat_map(|source| &source.contents.found);
            let found = found.find(|one| one.given == *name || one.name.as_str() == name);
            let Some(found) = found else {
                let why = "there is no such server that can be imported";
                imported.skipped.push((name.clone(), why.to_owned()));
                continue;
            };
            let mut draft = self.draft_import(found).await?;
            for one in &mut draft.secrets {
                one.input.optional = true;
            }
            drafts.push((name, draft));
        }
        // Before the first one is added: a refused import has changed nothing.
        let local = drafts.iter().find(|(_, draft)| draft.is_local());
        if let Some((_, draft)) = local
            && !confirm
        {
            return Err(draft.needs_confirm());
        }
        for (name, draft) in drafts {
            match self.add_server(caller, draft).await {
                Ok(added) => imported.added.push(added),
                Err(error) => imported.skipped.push((name.clone(), error.message)),
            }
        }
        Ok(imported)
    }

    /// Turns a server on or off, and chooses which of its tools are disabled.
    pub async fn change_server(
        &self,
        caller: &Caller,
        name: &ServerName,
        enabled: Option<bool>,
        disabled_tools: Option<&[String]>,
    ) -> Result<(), ToolError> {
        let known = self.settings.current().mcp_servers.get(name).cloned();
        let known = known
            .ok_or_else(|| ToolError::not_found(format!("no MCP server {:?}", name.as_str())))?;
        if let Some(tools) = disabled_tools {
            if let Some(wrong) = tools.iter().find(|tool| tool.contains('*')) {
                let message = format!("{wrong:?} is a pattern; name the tools");
                return Err(ToolError::parameter("disabledTools", message));
            }
            // Patterns are the owner's own; the names are ours to replace.
            let mut hide: Vec<String> = known.hide.iter().map(|one| one.to_string()).collect();
            hide.retain(|one| one.contains('*'));
            hide.extend(tools.iter().cloned());
            self.set_local(
                caller,
                &format!("mcpServers.{name}.hide"),
                Some(json!(hide)),
            )
            .await?;
        }
        if let Some(enabled) = enabled {
            self.set_local(
                caller,
                &format!("mcpServers.{name}.enabled"),
                Some(json!(enabled)),
            )
            .await?;
        }
        self.servers.take_over(&self.settings).await; // awaited, so that the change is seen when this returns
        Ok(())
    }

    fn of_entry(&self, name: &str, entry: serde_json::Value) -> Result<ServerDraft, ToolError> {
        let text = String::new();
        self.of_pasted(
            Pasted::of_entry(name, &entry),
            &text,
            &BTreeMap::new(),
            Some(name),
        )
    }

    fn of_pasted(
        &self,
        mut pasted: Pasted,
        text: &str,
        values: &BTreeMap<String, String>,
        name: Option<&str>,
    ) -> Result<ServerDraft, ToolError> {
        // Only its home: text from elsewhere must not be filled in with this machine's variables.
        let user_env = UserEnv {
            user: self.user_home(),
            env: BTreeMap::new(),
        };
        let wrong = |why: String| ToolError::parameter("json", why);
        let contents = pasted.contents(&user_env).map_err(wrong)?;
        let names: Vec<String> = contents.found.iter().map(|one| one.given.clone()).collect();
        if let (Some(name), false) = (name, text.is_empty()) {
            if names.iter().any(|given| given == name) {
                pasted.select(name);
            } else {
                let renamed = Pasted::parse(text, Some(name));
                pasted = renamed.map_err(|why| ToolError::parameter("name", why))?;
            }
        }
        let blanks = pasted.blanks(&user_env);
        pasted.fill(&user_env, values);
        let contents = pasted.contents(&user_env).map_err(wrong)?;
        let Some(found) = contents.found.first() else {
            let why = contents.skipped.first().map(|one| one.why.clone());
            let why = why.unwrap_or_else(|| "it has no MCP server".to_owned());
            return Err(wrong(why));
        };
        if let Some(name) = name {
            named(name)?;
        }
        let open = blanks
            .into_iter()
            .filter(|blank| !values.contains_key(&blank.name))
            .map(|blank| Input::plain(&blank.name, blank.about));
        let mut draft = self.of_imported(found, open.collect(), names);
        // Where a program starts is decided on this machine.
        draft.server.cwd = None;
        Ok(draft)
    }

    fn of_imported(
        &self,
        found: &ImportedServer,
        values: Vec<Input>,
        names: Vec<String>,
    ) -> ServerDraft {
        let secrets = found.secrets.iter().map(|secret| {
            let key = secret.name.rsplit('/').next().unwrap_or_default();
            let about = secret.about.clone();
            NeededSecret {
                input: Input::secret(key, about.unwrap_or_else(|| key.to_owned())),
                vault: secret.name.clone(),
                value: secret.value.clone(),
                stored: false,
            }
        });
        ServerDraft {
            name: found.name.clone(),
            server: found.server.clone(),
            plan: self.plan_of(&found.server),
            secrets: secrets.collect(),
            values,
            notes: found.notes.clone(),
            oauth: false,
            names,
        }
    }

    fn of_listing(
        &self,
        listed: &str,
        given: BTreeMap<String, String>,
        name: Option<&str>,
        secrets: &BTreeMap<String, Secret>,
        stored: &[String],
    ) -> Result<ServerDraft, ToolError> {
        let directory = Directory::builtin();
        let listing = directory.find(listed).ok_or_else(|| {
            let message = format!("{listed:?} is not in the directory");
            match directory.similar(listed).as_slice() {
                [] => ToolError::parameter("directory", message),
                names => ToolError::parameter("directory", message)
                    .hint(format!("did you mean {}?", names.join(", "))),
            }
        })?;
        let name = named(name.unwrap_or(&listing.name))?;
        let known = |key: &&String| {
            let mut inputs = listing.inputs.iter();
            inputs.any(|input| input.name == **key && !input.secret)
        };
        if let Some(unknown) = given.keys().find(|key| !known(key)) {
            let message = format!("{unknown:?} is not a value of {listed}");
            return Err(
                ToolError::parameter("values", message).hint("secrets are given in `secrets`")
            );
        }
        if let Some((key, _)) = given
            .iter()
            .find(|(key, value)| is_secret_value(key, value))
        {
            let message = format!("{key} looks like a secret and would be stored in plain text");
            return Err(ToolError::parameter("values", message));
        }
        let (mut values, mut open, mut needed) = (given, Vec::new(), Vec::new());
        for input in &listing.inputs {
            if input.secret {
                let vault = format!("mcp/{name}/{}", input.name);
                // An optional secret that is not given leaves its variable or header out.
                if !input.optional || secrets.contains_key(&input.name) || stored.contains(&vault) {
                    values.insert(input.name.clone(), format!("${{{vault}}}"));
                }
                needed.push(NeededSecret {
                    input: input.clone(),
                    vault,
                    value: None,
                    stored: false,
                });
            } else if !values.contains_key(&input.name) {
                match &input.default {
                    Some(default) => {
                        values.insert(input.name.clone(), default.clone());
                    }
                    None if input.optional => {}
                    None => open.push(input.clone()),
                }
            }
        }
        let server = listing.server(&values);
        Ok(ServerDraft {
            name,
            plan: self.plan_of(&server),
            server,
            secrets: needed,
            values: open,
            notes: Vec::new(),
            oauth: listing.oauth,
            names: Vec::new(),
        })
    }

    fn plan_of(&self, server: &McpServer) -> ServerPlan {
        let path = self.tool_deps.host.variable("PATH").unwrap_or_default();
        ServerPlan::of(server, &path.into())
    }

    fn user_home(&self) -> PathBuf {
        let home = self.tool_deps.host.variable("HOME");
        home.map_or_else(|| PathBuf::from("/"), PathBuf::from)
    }

    /// What the settings of other programs on this machine may refer to.
    fn client_env(&self) -> UserEnv {
        let names = SERVER_VARIABLES.iter().chain(&CLIENT_VARIABLES);
        let value = |name: &&str| {
            let value = self.tool_deps.host.variable(name)?;
            Some(((*name).to_owned(), value.to_owned()))
        };
        UserEnv {
            user: self.user_home(),
            env: names.filter_map(value).collect(),
        }
    }
}

fn required(name: Option<&str>) -> Result<&str, ToolError> {
    let name = name.ok_or_else(|| ToolError::parameter("name", "is required"))?;
    named(name).map(|_| name)
}

fn named(name: &str) -> Result<ServerName, ToolError> {
    name.parse()
        .map_err(|e| ToolError::parameter("name", format!("{e}")))
}
