//! `mcp add`: a server written down.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use manyhands_config::{Confinement, McpServer};

use super::place::Place;
use crate::args::AddServer;
use crate::commands::import::is_secret_value;
use crate::ground::Ground;
use crate::output::{self, Done, Failure};

/// Adds a server.
pub async fn run(add: AddServer, ground: &Ground) -> Done {
    let place = Place::of(ground)?;
    let name = add.name.clone();
    if let Place::Far(remote) = &place
        && (add.url.is_none() || add.openapi.is_some() || !add.command.is_empty())
    {
        return Err(Failure(format!(
            "over the network only a server with --url is added\nhint: type this on the machine of {}",
            remote.url()
        )));
    }
    if place.known().await?.contains_key(name.as_str()) {
        return Err(Failure(format!(
            "there is a server {name} already\nhint: `manyhands mcp remove {name}` first, or choose another name"
        )));
    }
    let plain = plain_secrets(&add);
    let lost = lost_files(&add, &ground.here()?);
    let server = described(add, ground)?;
    place.put(&name, &server).await?;
    place.settle(&[&name]).await?;
    output::say(format!("{name} is added"));
    for (option, key) in plain {
        output::remark(format!(
            "{key} looks like a secret and stands in config.toml for all to read\nhint: printf %s \"$VALUE\" | manyhands secret set mcp/{name}/{key}, and {option} '{key}=${{mcp/{name}/{key}}}'"
        ));
    }
    for file in lost {
        output::remark(format!(
            "{file} is a file here, but the program starts in a folder of its own\nhint: use its whole path, or --cwd ."
        ));
    }
    if place.gateway().is_some() {
        output::remark(format!(
            "hint: `manyhands mcp test {name}` asks it for its tools"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// What was typed, as the settings have it.
fn described(add: AddServer, ground: &Ground) -> Result<McpServer, Failure> {
    let wrong = |why: &str| Err(Failure(why.to_owned()));
    let mut words = add.command.into_iter();
    let command = words.next();
    match (&command, &add.url, &add.openapi) {
        (None, None, None) => {
            return wrong(
                "say what to add: --url URL, --openapi FILE, or -- and the program with its arguments",
            );
        }
        (Some(_), Some(_), _) => {
            return wrong(
                "--url and a program are two servers: use one of them\nhint: here --url is the server's address; the gateway is named by MANYHANDS_URL",
            );
        }
        (Some(_), _, Some(_)) => return wrong("--openapi needs no program"),
        _ => {}
    }
    if command.is_none() && (!add.env.is_empty() || add.cwd.is_some() || add.sandbox.is_some()) {
        return wrong("--env, --cwd and --sandbox are for programs");
    }
    if command.is_some() && !add.header.is_empty() {
        return wrong("--header is for servers with --url or --openapi");
    }
    Ok(McpServer {
        command: command.map(|command| whole(command, ground)).transpose()?,
        args: words.collect(),
        env: add.env.into_iter().collect(),
        cwd: add.cwd.map(|dir| ground.file(&dir)).transpose()?,
        url: add.url,
        headers: add.header.into_iter().collect(),
        openapi: add
            .openapi
            .map(|document| match document.contains("://") {
                true => Ok(document),
                false => file(&document, ground),
            })
            .transpose()?,
        sandbox: add.sandbox.map_or(Confinement::Off, Confinement::from),
        ..McpServer::default()
    })
}

/// A program that is named by a path, from where the user stands.
fn whole(command: String, ground: &Ground) -> Result<String, Failure> {
    match command.contains('/') {
        true => file(&command, ground),
        false => Ok(command),
    }
}

fn file(path: &str, ground: &Ground) -> Result<String, Failure> {
    let whole = ground.file(Path::new(path))?;
    if !whole.exists() {
        return Err(Failure(format!("there is no file {}", whole.display())));
    }
    let text = whole.into_os_string().into_string();
    text.map_err(|path| Failure(format!("{path:?} is not UTF-8")))
}

/// Keys whose values would stand in the file as they are, though they should not.
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

/// Arguments that name files from where the user stands, which is not where the program will.
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
