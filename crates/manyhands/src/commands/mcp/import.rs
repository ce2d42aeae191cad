//! `mcp import`: servers taken over from other programs' files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use manyhands_config::McpServer;
use serde_json::{Value, json};

use super::path;
use super::place::{Known, Place};
use crate::args::Import;
use crate::commands::call::encode;
use crate::commands::import::{Around, Client, Contents, Found, Kept, read};
use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::own_gateway;
use crate::remote::{Remote, text};

/// The largest file that is read; what some programs keep beside their servers is large.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// A file and what stands in it.
struct Source {
    path: PathBuf,
    owner: Option<Client>,
    contents: Contents,
}

/// What was asked for.
struct Wanted {
    sources: Vec<Source>,
    names: Vec<String>,
    /// Whether everything of the sources is meant when no name is given.
    everything: bool,
}

/// Shows what there is, and takes over what was named.
pub async fn run(import: Import, ground: &Ground) -> Done {
    let wanted = wanted(&import, ground)?;
    if wanted.names.is_empty() && !wanted.everything {
        show(&wanted.sources);
        return Ok(ExitCode::SUCCESS);
    }
    let missing = wanted
        .names
        .iter()
        .filter(|name| !is_there(&wanted.sources, name));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    if !missing.is_empty() {
        return Err(Failure(format!(
            "found nowhere: {}\nhint: `manyhands mcp import` shows what there is",
            missing.join(", ")
        )));
    }
    let place = Place::of(ground)?;
    let mut taking = Taking {
        known: place.known().await?,
        kept: match place.gateway() {
            Some(gateway) => names(&gateway.get("/api/secrets").await?),
            None => Vec::new(),
        },
        place,
        import: &import,
        taken: BTreeMap::new(),
        left: 0,
    };
    let chosen = |name: &str, given: &str| {
        let named = |one: &String| one == name || one == given;
        wanted.names.is_empty() || wanted.names.iter().any(named)
    };
    for source in &wanted.sources {
        for passed in &source.contents.passed {
            if chosen("", &passed.given) {
                let why = &passed.why;
                taking.leave(&passed.given, &format!("{why} ({})", source.path.display()));
            }
        }
        for found in &source.contents.found {
            if chosen(found.name.as_str(), &found.given) {
                taking.take(found, &source.path).await?;
            }
        }
    }
    if !import.dry_run {
        let new: Vec<_> = taking.taken.values().map(|found| &found.name).collect();
        taking.place.settle(&new).await?;
    }
    // What nobody named may stay where it is; what was named should have come.
    Ok(match taking.left > 0 && !wanted.names.is_empty() {
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

/// Reads the files in question, and sorts out what the words are.
fn wanted(import: &Import, ground: &Ground) -> Result<Wanted, Failure> {
    let around = Around {
        user: ground.user_folder()?,
        env: ground.environment(),
    };
    let here = ground.here()?;
    let mut names = import.words.clone();
    let first = names.first().cloned().unwrap_or_default();
    if let Ok(client) = first.parse::<Client>() {
        names.remove(0);
        let sources = known_files(&[client], &around, &here);
        if sources.is_empty() {
            let files = client.files(&around, &here);
            let files: Vec<String> = files
                .iter()
                .map(|file| file.display().to_string())
                .collect();
            return Err(Failure(format!(
                "{first} has no MCP servers here; looked for {}",
                files.join(", ")
            )));
        }
        return Ok(Wanted {
            sources,
            names,
            everything: true,
        });
    }
    let is_path = first.contains(['/', '.']) || Path::new(&first).is_file();
    if is_path {
        let file = ground.file(Path::new(&first))?;
        names.remove(0);
        let contents = load(&file, None, &around)
            .map_err(|why| Failure(format!("{}: {why}", file.display())))?;
        if contents.found.is_empty() && contents.passed.is_empty() {
            return Err(Failure(format!("{} names no MCP server", file.display())));
        }
        let sources = vec![Source {
            path: file,
            owner: None,
            contents,
        }];
        return Ok(Wanted {
            sources,
            names,
            everything: true,
        });
    }
    Ok(Wanted {
        sources: known_files(&Client::ALL, &around, &here),
        names,
        everything: import.all,
    })
}

/// What the files of these programs say; one that cannot be read is told, and passed over.
fn known_files(clients: &[Client], around: &Around, here: &Path) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for client in clients {
        for path in client.files(around, here) {
            if sources.iter().any(|source| source.path == path) || !path.is_file() {
                continue;
            }
            match load(&path, Some(*client), around) {
                Ok(contents) if contents.found.is_empty() && contents.passed.is_empty() => {}
                Ok(contents) => {
                    let owner = Some(*client);
                    sources.push(Source {
                        path,
                        owner,
                        contents,
                    });
                }
                Err(why) => output::remark(format!("{} is passed over: {why}", path.display())),
            }
        }
    }
    sources
}

fn load(path: &Path, client: Option<Client>, around: &Around) -> Result<Contents, String> {
    let about = std::fs::metadata(path).map_err(|e| e.to_string())?;
    if !about.is_file() || about.len() > MAX_FILE {
        return Err(format!(
            "it is not a file of at most {} MiB",
            MAX_FILE / 1024 / 1024
        ));
    }
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    read(&text, path, client, around)
}

fn is_there(sources: &[Source], name: &str) -> bool {
    sources.iter().any(|source| {
        let contents = &source.contents;
        let found = contents.found.iter();
        found
            .clone()
            .any(|one| one.name.as_str() == name || one.given == name)
            || contents.passed.iter().any(|one| one.given == name)
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
        for passed in &source.contents.passed {
            let why = format!("cannot be taken over: {}", passed.why);
            rows.push(vec![passed.given.clone(), why, from.clone(), path.clone()]);
        }
    }
    if rows.is_empty() {
        output::say(
            "no program that is known here has MCP servers\nhint: name a file, as in `manyhands mcp import servers.json`",
        );
        return;
    }
    output::table(&["name", "what", "program", "file"], rows);
    output::remark(
        "nothing is imported yet\nhint: `manyhands mcp import NAME`, `manyhands mcp import PROGRAM`, or --all",
    );
}

/// What a server is, without anything that might be a secret.
fn what(server: &McpServer) -> String {
    let off = if server.enabled { "" } else { " (off)" };
    let what = match (&server.command, &server.url) {
        (Some(command), _) => command.clone(),
        (None, Some(url)) => url.split('?').next().unwrap_or_default().to_owned(),
        (None, None) => String::new(),
    };
    format!("{what}{off}")
}

/// Servers on their way into the settings.
struct Taking<'a> {
    place: Place,
    import: &'a Import,
    known: Known,
    /// The names of the secrets that are kept.
    kept: Vec<String>,
    taken: BTreeMap<String, &'a Found>,
    left: usize,
}

impl<'a> Taking<'a> {
    fn leave(&mut self, name: &str, why: &str) {
        self.left += 1;
        output::remark(format!("{name} is left where it is: {why}"));
    }

    async fn take(&mut self, found: &'a Found, from: &Path) -> Result<(), Failure> {
        let name = found.name.as_str();
        if let Some(other) = self.taken.get(name) {
            if other.server != found.server {
                let why = format!("another of that name is taken already ({})", from.display());
                self.leave(name, &why);
            }
            return Ok(());
        }
        if self.is_ourselves(&found.server) {
            self.leave(name, "it is this gateway itself");
            return Ok(());
        }
        match self.known.get(name) {
            Some(Some(known)) if *known == found.server => {
                output::say(format!("{name} is there already"));
                return Ok(());
            }
            Some(_) if !self.import.force => {
                self.leave(
                    name,
                    "there is a server of that name already; --force overwrites it",
                );
                return Ok(());
            }
            _ => {}
        }
        if matches!(self.place, Place::Far(_)) && found.server.url.is_none() {
            self.leave(name, "over the network only servers with a url are added");
            return Ok(());
        }
        self.taken.insert(name.to_owned(), found);
        let (given, from) = (&found.given, from.display());
        let called = match given == name {
            true => String::new(),
            false => format!(", called {given:?} there"),
        };
        if self.import.dry_run {
            output::say(format!("{name} would be added from {from}{called}"));
            for secret in &found.secrets {
                output::say(format!(
                    "  its secret {} would be kept in the vault",
                    secret.place
                ));
            }
        } else {
            for secret in &found.secrets {
                self.keep(secret).await?;
            }
            self.write(found).await?;
            output::say(format!("{name} is added from {from}{called}"));
        }
        for note in &found.notes {
            output::remark(format!("  {name}: {note}"));
        }
        if !found.server.enabled {
            output::remark(format!(
                "  {name} is switched off: `manyhands config set mcpServers.{name}.enabled true`"
            ));
        }
        Ok(())
    }

    async fn write(&self, found: &Found) -> Result<(), Failure> {
        if let Place::Far(remote) = &self.place
            && self.known.contains_key(found.name.as_str())
        {
            remote.delete(&path(found.name.as_str(), "")).await?;
        }
        self.place.put(&found.name, &found.server).await
    }

    /// Puts a secret into the vault, or says how that is done.
    async fn keep(&self, secret: &Kept) -> Result<(), Failure> {
        let place = &secret.place;
        if self.kept.contains(place) && !self.import.force {
            output::remark(format!(
                "  the secret {place} is kept already, and stays as it is"
            ));
            return Ok(());
        }
        let gateway = self.place.gateway();
        match (&secret.value, gateway) {
            (Some(value), Some(gateway)) => {
                let put = json!({ "value": value.expose() });
                gateway
                    .put(&format!("/api/secrets/{}", encode(place)), &put)
                    .await?;
                output::say(format!("  the secret {place} is kept in the vault"));
            }
            (value, _) => {
                let why = match value {
                    Some(_) => "no gateway runs that could keep it",
                    None => "its value is not in the file",
                };
                let about = secret.about.as_deref().map(|about| format!(" ({about})"));
                output::remark(format!(
                    "  {place}{} is still to be set: {why}\n  hint: printf %s \"$VALUE\" | manyhands secret set {place}",
                    about.unwrap_or_default()
                ));
            }
        }
        Ok(())
    }

    fn is_ourselves(&self, server: &McpServer) -> bool {
        let ours = self.place.gateway().map(Remote::url);
        let (Some(ours), Some(url)) = (ours, &server.url) else {
            return false;
        };
        own_gateway::meant(url, ours).is_some()
    }
}
