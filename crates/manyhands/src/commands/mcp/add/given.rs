//! Adds a server by its command, URL or OpenAPI document.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use manyhands_config::{Confinement, McpServer};
use manyhands_core::ServerName;

use super::super::server_store::ServerStore;
use crate::args::AddServer;
use crate::context::CliContext;
use manyhands_ai_clients::import::is_secret_value;
use manyhands_terminal::output::{self, Done, Failure};

/// Adds a server.
pub async fn run(name: ServerName, add: AddServer, ctx: &CliContext) -> Done {
    let store = ServerStore::of(ctx)?;
    if let ServerStore::Remote(remote) = &store
        && (add.url.is_none() || add.openapi.is_some() || !add.command.is_empty())
    {
        return Err(Failure(format!(
            "a remote gateway accepts only servers with --url\nhint: run this on the machine of {}",
            remote.url()
        )));
    }
    if store.known().await?.contains_key(name.as_str()) {
        return Err(Failure(format!(
            "server {name} already exists\nhint: run `manyhands mcp remove {name}` first, or choose another name"
        )));
    }
    // Determined before `add` is consumed; reported after it was saved.
    let plain = plain_secrets(&add);
    let lost = lost_files(&add, &ctx.here()?);
    let server = described(add, ctx)?;
    store.put(&name, &server).await?;
    store.settle(&[&name]).await?;
    output::print_line(format!("added {name}"));
    for (option, key) in plain {
        output::print_note(format!(
            "warning: {key} looks like a secret and is stored in plain text in config.toml\nhint: printf %s \"$VALUE\" | manyhands secret set mcp/{name}/{key}, and {option} '{key}=${{mcp/{name}/{key}}}'"
        ));
    }
    for file in lost {
        output::print_note(format!(
            "warning: {file} is relative to this directory, but the server starts in a private one\nhint: use its full path, or --cwd ."
        ));
    }
    if store.gateway().is_some() {
        output::print_note(format!("hint: test it with `manyhands mcp test {name}`"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Converts the arguments to settings.
fn described(add: AddServer, ctx: &CliContext) -> Result<McpServer, Failure> {
    let wrong = |why: &str| Err(Failure(why.to_owned()));
    let mut words = add.command.into_iter();
    let command = words.next();
    match (&command, &add.url, &add.openapi) {
        (None, None, None) => {
            return wrong("no server given: use --url URL, --openapi FILE, or -- COMMAND");
        }
        (Some(_), Some(_), _) => {
            return wrong(
                "--url and a command exclude each other\nhint: --url is the server's URL here; select the gateway with MANYHANDS_URL",
            );
        }
        (Some(_), _, Some(_)) => return wrong("--openapi and a command exclude each other"),
        _ => {}
    }
    if command.is_none() && (!add.env.is_empty() || add.cwd.is_some() || add.sandbox.is_some()) {
        return wrong("--env, --cwd and --sandbox need a command");
    }
    if command.is_some() && !add.header.is_empty() {
        return wrong("--header needs --url or --openapi");
    }
    Ok(McpServer {
        command: command.map(|command| whole(command, ctx)).transpose()?,
        args: words.collect(),
        env: add.env.into_iter().collect(),
        cwd: add.cwd.map(|dir| ctx.file(&dir)).transpose()?,
        url: add.url,
        headers: add.header.into_iter().collect(),
        openapi: add
            .openapi
            .map(|document| match document.contains("://") {
                true => Ok(document),
                false => file(&document, ctx),
            })
            .transpose()?,
        sandbox: add.sandbox.map_or(Confinement::Off, Confinement::from),
        ..McpServer::default()
    })
}

/// Resolves a command given as a path.
fn whole(command: String, ctx: &CliContext) -> Result<String, Failure> {
    match command.contains('/') {
        true => file(&command, ctx),
        false => Ok(command),
    }
}

fn file(path: &str, ctx: &CliContext) -> Result<String, Failure> {
    let whole = ctx.file(Path::new(path))?;
    if !whole.exists() {
        return Err(Failure(format!("file not found: {}", whole.display())));
    }
    let text = whole.into_os_string().into_string();
    text.map_err(|path| Failure(format!("{path:?} is not UTF-8")))
}

/// Keys whose values look like secrets and would be stored in plain text.
fn plain_secrets(add: &AddServer) -> Vec<(&'static str, String)> {
    let secret = |(key, value): &&(String, String)| {
        is_secret_value(key, value) && !value.contains("${") && !value.starts_with("vault:")
    };
    let env = add
        .env
        .iter()
        .filter(secret)
        .map(|(key, _)| ("--env", key.clone()));
    let headers = add.header.iter().filter(secret);
    env.chain(headers.map(|(key, _)| ("--header", key.clone())))
        .collect()
}

/// Arguments that name files relative to the current directory, which is not where the server will start.
fn lost_files(add: &AddServer, here: &Path) -> Vec<String> {
    if add.cwd.is_some() {
        return Vec::new();
    }
    let arguments = add.command.iter().skip(1);
    let lost = arguments.filter(|word| {
        let path = PathBuf::from(word.as_str());
        path.is_relative() && !word.is_empty() && here.join(path).is_file()
    });
    lost.cloned().collect()
}
