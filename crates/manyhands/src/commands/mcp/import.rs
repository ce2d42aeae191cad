//! `mcp import`: imports servers from other programs' settings.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use manyhands_config::McpServer;
use serde_json::{Value, json};

use super::path;
use super::server_store::{KnownServers, ServerStore};
use crate::args::Import;
use crate::commands::call::encode;
use crate::context::CliContext;
use crate::own_gateway;
use crate::remote::{Remote, text};
use manyhands_ai_clients::import::{ImportedServer, Source, VaultEntry, known_files};
use manyhands_ai_clients::{Client, UserEnv};
use manyhands_terminal::output::{self, Done, Failure};

/// What to import.
struct Selection {
    sources: Vec<Source>,
    names: Vec<String>,
    /// Whether all servers of the sources are meant if no name is given.
    everything: bool,
}

/// Lists the servers found, or imports the selected ones.
pub async fn run(import: Import, ctx: &CliContext) -> Done {
    let wanted = wanted(&import, ctx)?;
    if wanted.names.is_empty() && !wanted.everything {
        show(&wanted.sources);
        return Ok(ExitCode::SUCCESS);
    }
    let missing = wanted
        .names
        .iter()
        .filter(|name| !wanted.sources.iter().any(|source| source.has(name)));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    if !missing.is_empty() {
        return Err(Failure(format!(
            "not found: {}\nhint: list what can be imported with `manyhands mcp import`",
            missing.join(", ")
        )));
    }
    let store = ServerStore::of(ctx)?;
    let mut importer = Importer {
        known: store.known().await?,
        kept: match store.gateway() {
            Some(gateway) => names(&gateway.get("/api/secrets").await?),
            None => Vec::new(),
        },
        store,
        import: &import,
        taken: BTreeMap::new(),
        left: 0,
    };
    let chosen = |name: &str, given: &str| {
        let named = |one: &String| one == name || one == given;
        wanted.names.is_empty() || wanted.names.iter().any(named)
    };
    for source in &wanted.sources {
        for skipped in &source.contents.skipped {
            if chosen("", &skipped.given) {
                let why = &skipped.why;
                importer.leave(
                    &skipped.given,
                    &format!("{why} ({})", source.path.display()),
                );
            }
        }
        for found in &source.contents.found {
            if chosen(found.name.as_str(), &found.given) {
                importer.take(found, &source.path).await?;
            }
        }
    }
    if !import.dry_run {
        let new: Vec<_> = importer.taken.values().map(|found| &found.name).collect();
        importer.store.settle(&new).await?;
    }
    // With explicit names, anything skipped is a failure; without, it is only reported.
    Ok(match importer.left > 0 && !wanted.names.is_empty() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

fn names(listed: &Value) -> Vec<String> {
    listed["names"]
        .as_array()
        .into_iter()
        .flatten()
        .map(text)
        .collect()
}

/// Reads the files and splits the arguments into source and names.
fn wanted(import: &Import, ctx: &CliContext) -> Result<Selection, Failure> {
    let user_env = UserEnv {
        user: ctx.user_folder()?,
        env: ctx.environment(),
    };
    let here = ctx.here()?;
    let mut names = import.words.clone();
    let first = names.first().cloned().unwrap_or_default();
    if let Ok(client) = first.parse::<Client>() {
        names.remove(0);
        let sources = read_known(&[client], &user_env, &here);
        if sources.is_empty() {
            let files = client.files(&user_env, &here);
            let files: Vec<String> = files
                .iter()
                .map(|file| file.display().to_string())
                .collect();
            return Err(Failure(format!(
                "no MCP servers of {first} found; looked for {}",
                files.join(", ")
            )));
        }
        return Ok(Selection {
            sources,
            names,
            everything: true,
        });
    }
    // Programs come first: a file named like one can still be given as ./NAME.
    let is_path = first.contains(['/', '.']) || Path::new(&first).is_file();
    if is_path {
        let file = ctx.file(Path::new(&first))?;
        names.remove(0);
        let source = Source::load(&file, None, &user_env)
            .map_err(|why| Failure(format!("{}: {why}", file.display())))?;
        if source.is_empty() {
            return Err(Failure(format!(
                "{} contains no MCP servers",
                file.display()
            )));
        }
        let sources = vec![source];
        return Ok(Selection {
            sources,
            names,
            everything: true,
        });
    }
    Ok(Selection {
        sources: read_known(&Client::ALL, &user_env, &here),
        names,
        everything: import.all,
    })
}

/// Reads the files of these programs; unreadable ones are reported and skipped.
fn read_known(clients: &[Client], user_env: &UserEnv, here: &Path) -> Vec<Source> {
    known_files(clients, user_env, here, |path, why| {
        output::print_note(format!("skipped {}: {why}", path.display()));
    })
}

fn show(sources: &[Source]) {
    let mut rows = Vec::new();
    for source in sources {
        let from = source.owner.map_or("", Client::word).to_owned();
        let path = source.path.display().to_string();
        for found in &source.contents.found {
            rows.push(vec![
                found.name.to_string(),
                what(&found.server),
                from.clone(),
                path.clone(),
            ]);
        }
        for skipped in &source.contents.skipped {
            let why = format!("cannot be imported: {}", skipped.why);
            rows.push(vec![skipped.given.clone(), why, from.clone(), path.clone()]);
        }
    }
    if rows.is_empty() {
        output::print_line(
            "no MCP servers found\nhint: pass a file, as in `manyhands mcp import servers.json`",
        );
        return;
    }
    output::table(&["name", "server", "program", "file"], rows);
    output::print_note(
        "nothing imported yet\nhint: `manyhands mcp import NAME`, `manyhands mcp import PROGRAM`, or --all",
    );
}

/// Describes a server without anything that might be a secret.
fn what(server: &McpServer) -> String {
    let off = if server.enabled { "" } else { " (disabled)" };
    let what = match (&server.command, &server.url) {
        (Some(command), _) => command.clone(),
        (None, Some(url)) => url.split('?').next().unwrap_or_default().to_owned(),
        (None, None) => String::new(),
    };
    format!("{what}{off}")
}

/// An import in progress.
struct Importer<'a> {
    store: ServerStore,
    import: &'a Import,
    known: KnownServers,
    /// Names of the secrets in the vault.
    kept: Vec<String>,
    taken: BTreeMap<String, &'a ImportedServer>,
    left: usize,
}

impl<'a> Importer<'a> {
    fn leave(&mut self, name: &str, why: &str) {
        self.left += 1;
        output::print_note(format!("skipped {name}: {why}"));
    }

    async fn take(&mut self, found: &'a ImportedServer, from: &Path) -> Result<(), Failure> {
        let name = found.name.as_str();
        if let Some(other) = self.taken.get(name) {
            if other.server != found.server {
                let why = format!(
                    "another server with that name is already imported ({})",
                    from.display()
                );
                self.leave(name, &why);
            }
            return Ok(());
        }
        // A gateway that is its own server would call itself in a loop.
        if self.is_ourselves(&found.server) {
            self.leave(name, "it is this gateway itself");
            return Ok(());
        }
        match self.known.get(name) {
            Some(Some(known)) if *known == found.server => {
                output::print_line(format!("{name} already exists"));
                return Ok(());
            }
            Some(_) if !self.import.force => {
                self.leave(
                    name,
                    "a server with that name already exists; --force overwrites it",
                );
                return Ok(());
            }
            _ => {}
        }
        if matches!(self.store, ServerStore::Remote(_)) && found.server.url.is_none() {
            self.leave(name, "a remote gateway accepts only servers with a URL");
            return Ok(());
        }
        self.taken.insert(name.to_owned(), found);
        let (given, from) = (&found.given, from.display());
        let called = match given == name {
            true => String::new(),
            false => format!(", named {given:?} there"),
        };
        if self.import.dry_run {
            output::print_line(format!("would add {name} from {from}{called}"));
            for secret in &found.secrets {
                output::print_line(format!(
                    "  would store its secret {} in the vault",
                    secret.name
                ));
            }
        } else {
            // Secrets first: a server whose references do not resolve would fail at its first start.
            for secret in &found.secrets {
                self.keep(secret).await?;
            }
            self.write(found).await?;
            output::print_line(format!("added {name} from {from}{called}"));
        }
        for note in &found.notes {
            output::print_note(format!("  {name}: {note}"));
        }
        if !found.server.enabled {
            output::print_note(format!(
                "  {name} is disabled; enable it with `manyhands config set mcpServers.{name}.enabled true`"
            ));
        }
        Ok(())
    }

    async fn write(&self, found: &ImportedServer) -> Result<(), Failure> {
        if let ServerStore::Remote(remote) = &self.store
            && self.known.contains_key(found.name.as_str())
        {
            // The API has no replace; a gateway refuses to add a server that exists.
            remote.delete(&path(found.name.as_str(), "")).await?;
        }
        self.store.put(&found.name, &found.server).await
    }

    /// Stores a secret in the vault, or explains how to.
    async fn keep(&self, secret: &VaultEntry) -> Result<(), Failure> {
        let name = &secret.name;
        if self.kept.contains(name) && !self.import.force {
            output::print_note(format!(
                "  secret {name} already exists and was not changed"
            ));
            return Ok(());
        }
        let gateway = self.store.gateway();
        match (&secret.value, gateway) {
            (Some(value), Some(gateway)) => {
                let put = json!({ "value": value.expose() });
                gateway
                    .put(&format!("/api/secrets/{}", encode(name)), &put)
                    .await?;
                output::print_line(format!("  stored secret {name} in the vault"));
            }
            (value, _) => {
                let why = match value {
                    Some(_) => "no gateway is running",
                    None => "its value is not in the file",
                };
                let about = secret.about.as_deref().map(|about| format!(" ({about})"));
                output::print_note(format!(
                    "  secret {name}{} is not set: {why}\n  hint: printf %s \"$VALUE\" | manyhands secret set {name}",
                    about.unwrap_or_default()
                ));
            }
        }
        Ok(())
    }

    fn is_ourselves(&self, server: &McpServer) -> bool {
        let ours = self.store.gateway().map(Remote::url);
        let (Some(ours), Some(url)) = (ours, &server.url) else {
            return false;
        };
        own_gateway::listening_address(url, ours).is_some()
    }
}
