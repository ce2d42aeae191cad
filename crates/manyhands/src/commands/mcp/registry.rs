//! The official MCP registry: searched when reachable, and never trusted.
//!
//! Anyone can publish there. A result is only shown, or turned into the same form as a well-known server, which the user
//! confirms before anything is written.

use std::time::Duration;

use manyhands_federation::directory::{
    Input, Listing, Package, Registry as Published, RemoteTransport,
};
use manyhands_guard::{Egress, FetchLimits, GatewayClient, HeaderMap, HeaderValue, Method};
use serde_json::Value;

use crate::args::RegistryOption;
use crate::commands::call::segment;
use crate::remote::text;
use manyhands_terminal::output::Failure;

/// A search must not make the user wait for long if the registry is not reachable.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Maximum size of a response.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum number of results.
const LIMIT: usize = 30;

/// A registry.
pub struct Registry {
    client: GatewayClient,
    url: String,
}

impl Registry {
    /// The registry of the option; `None` if it is off.
    pub fn new(option: &RegistryOption) -> Result<Option<Self>, Failure> {
        let url = option.registry.trim_end_matches('/').to_owned();
        if url.is_empty() || url == "off" {
            return Ok(None);
        }
        let client =
            Egress::gateway(&url).map_err(|e| Failure(format!("--registry {url}: {e}")))?;
        Ok(Some(Self { client, url }))
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Servers whose names contain the text.
    pub async fn search(&self, words: &str) -> Result<Vec<Listing>, Failure> {
        let found = self.servers(words).await?;
        Ok(found.iter().filter_map(|one| listing(one).ok()).collect())
    }

    /// The server with exactly this name.
    pub async fn find(&self, name: &str) -> Result<Listing, Failure> {
        let found = self.servers(name).await?;
        let found = found.iter().find(|one| one["name"] == name);
        let found = found.ok_or_else(|| {
            let last = name.rsplit('/').next().unwrap_or(name);
            Failure(format!(
                "{} has no server {name:?}\nhint: find one with `manyhands mcp search {last}`",
                self.url
            ))
        })?;
        listing(found).map_err(|why| {
            Failure(format!(
                "{name} cannot be added by name: {why}\nhint: see {}",
                text(&found["repository"]["url"])
            ))
        })
    }

    async fn servers(&self, words: &str) -> Result<Vec<Value>, Failure> {
        let failed = |why: &dyn std::fmt::Display| {
            Failure(format!(
                "the MCP registry at {} is not available: {why}",
                self.url
            ))
        };
        let path = format!(
            "{}/v0/servers?search={}&limit={LIMIT}&version=latest",
            self.client.base().path().trim_end_matches('/'),
            segment(words)
        );
        let mut headers = HeaderMap::new();
        headers.insert("accept", HeaderValue::from_static("application/json"));
        let limits = FetchLimits {
            total_timeout: Some(TIMEOUT),
            max_bytes: Some(MAX_BYTES),
            ..FetchLimits::default()
        };
        let asked = self.client.fetch(Method::GET, &path, headers, None, limits);
        let answer = asked.await.map_err(|e| failed(&e))?;
        if answer.status.as_u16() != 200 {
            return Err(failed(&format!("status {}", answer.status.as_u16())));
        }
        let body = answer.bytes().await.map_err(|e| failed(&e))?;
        let body: Value = serde_json::from_slice(&body).map_err(|e| failed(&e))?;
        let servers = body["servers"].as_array();
        let servers = servers.ok_or_else(|| failed(&"its response has no servers"))?;
        // Newer versions wrap each server together with the registry's own data.
        let inner = servers.iter().map(|one| one.get("server").unwrap_or(one));
        Ok(inner.take(LIMIT).cloned().collect())
    }
}

/// Converts a published server, or says why it cannot be added by name.
fn listing(server: &Value) -> Result<Listing, String> {
    let full = server["name"].as_str().ok_or("it has no name")?;
    let mut listing = Listing {
        name: legal_name(full),
        title: server["title"].as_str().unwrap_or(full).to_owned(),
        description: text(&server["description"]),
        homepage: server["websiteUrl"]
            .as_str()
            .or(server["repository"]["url"].as_str())
            .unwrap_or_default()
            .to_owned(),
        tags: vec![full.to_owned()],
        package: None,
        args: Vec::new(),
        url: None,
        transport: None,
        headers: Default::default(),
        oauth: false,
        inputs: Vec::new(),
        verified: false,
    };
    let mut why = "it has neither a package nor a URL".to_owned();
    for remote in server["remotes"].as_array().into_iter().flatten() {
        match remote_of(&mut listing, remote) {
            Ok(()) => return Ok(listing),
            Err(reason) => why = reason,
        }
    }
    for package in server["packages"].as_array().into_iter().flatten() {
        match package_of(&mut listing, package) {
            Ok(()) => return Ok(listing),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

/// The last part of a name such as `io.github.owner/server`, as a name for the settings.
fn legal_name(full: &str) -> String {
    let last = full.rsplit('/').next().unwrap_or(full);
    manyhands_ai_clients::import::legal_name(last).to_string()
}

fn remote_of(listing: &mut Listing, remote: &Value) -> Result<(), String> {
    let url = remote["url"]
        .as_str()
        .filter(|url| url.starts_with("https://"));
    let url = url.ok_or("its URL is not https")?;
    if url.contains('{') {
        return Err("its URL has to be completed".to_owned());
    }
    let transport = match remote["type"]
        .as_str()
        .or(remote["transport_type"].as_str())
    {
        Some("sse") => Some(RemoteTransport::Sse),
        _ => None,
    };
    let mut inputs = Vec::new();
    for header in remote["headers"].as_array().into_iter().flatten() {
        let name = header["name"].as_str().ok_or("a header has no name")?;
        let value = header["value"].as_str().unwrap_or("{value}");
        let input = input(header, &variable(name));
        // A value such as `Bearer {token}` says where the secret goes.
        let value = match (value.find('{'), value.rfind('}')) {
            (Some(from), Some(to)) if from < to => {
                format!("{}${{{}}}{}", &value[..from], input.name, &value[to + 1..])
            }
            _ if input.secret => format!("${{{}}}", input.name),
            _ => value.to_owned(),
        };
        if value.contains("${") {
            inputs.push(input);
        }
        listing.headers.insert(name.to_owned(), value);
    }
    listing.url = Some(url.to_owned());
    listing.transport = transport;
    listing.inputs = inputs;
    Ok(())
}

fn package_of(listing: &mut Listing, package: &Value) -> Result<(), String> {
    let kind = package["registryType"]
        .as_str()
        .or(package["registry_type"].as_str());
    let version = package["version"]
        .as_str()
        .filter(|version| *version != "latest");
    let name = text(&package["identifier"]);
    let (registry, pinned) = match kind {
        Some("npm") => (
            Published::Npm,
            version.map(|version| format!("{name}@{version}")),
        ),
        Some("pypi") => (
            Published::Pypi,
            version.map(|version| format!("{name}=={version}")),
        ),
        Some("oci") => (Published::Docker, None),
        other => return Err(format!("packages of type {other:?} are not supported")),
    };
    let is_named = !name.is_empty();
    let name = pinned.unwrap_or(name);
    // These become words of a command line: an option in place of a name would change what runs.
    let legal = |c: char| c.is_ascii_alphanumeric() || "@/._:=+-".contains(c);
    if !is_named || name.starts_with('-') || !name.chars().all(legal) {
        return Err(format!("invalid package name {name:?}"));
    }
    if !matches!(package["transport"]["type"].as_str(), None | Some("stdio")) {
        return Err("its package does not use stdio".to_owned());
    }
    let (mut args, mut inputs) = (Vec::new(), Vec::new());
    for argument in package["packageArguments"].as_array().into_iter().flatten() {
        let label = argument["name"].as_str().or(argument["valueHint"].as_str());
        let about = input(argument, &variable(label.unwrap_or("argument")));
        let value = argument["value"]
            .as_str()
            .filter(|value| !value.contains('{'));
        if value.is_none() && about.secret {
            return Err(format!(
                "it needs the secret {} on its command line",
                about.name
            ));
        }
        // An optional argument without a value is left out: there is nothing to say.
        if value.is_none() && about.optional && about.default.is_none() {
            continue;
        }
        if argument["type"] == "named" {
            args.extend(argument["name"].as_str().map(str::to_owned));
        }
        match value {
            Some(value) => args.push(value.to_owned()),
            None => {
                args.push(format!("${{{}}}", about.name));
                inputs.push(about);
            }
        }
    }
    for variable in package["environmentVariables"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let name = variable["name"].as_str().ok_or("a variable has no name")?;
        inputs.push(input(variable, name));
    }
    listing.headers.clear();
    listing.package = Some(Package {
        registry,
        name,
        command: None,
        version: version.map(str::to_owned),
        released: None,
    });
    (listing.args, listing.inputs) = (args, inputs);
    Ok(())
}

fn input(about: &Value, name: &str) -> Input {
    let default = about["default"].as_str().or(about["value"].as_str());
    let secret = about["isSecret"] == true || manyhands_config::is_secret_key(name);
    Input {
        name: name.to_owned(),
        description: about["description"]
            .as_str()
            .unwrap_or("no description")
            .to_owned(),
        secret,
        optional: about["isRequired"] != true,
        default: default
            .filter(|value| !secret && !value.contains('{'))
            .map(str::to_owned),
        url: None,
        scopes: Vec::new(),
    }
}

/// A name for an input, from that of a header or option.
fn variable(name: &str) -> String {
    let name = name.trim_start_matches('-');
    let legal = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    };
    name.chars().map(legal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_published_package_becomes_a_listing_of_its_exact_version() {
        let server = json!({
            "name": "io.github.owner/mail-server", "description": "Mail", "version": "1.2.3",
            "repository": { "url": "https://github.com/owner/mail" },
            "packages": [
                { "registryType": "mcpb", "identifier": "https://x/y.mcpb" },
                {
                    "registryType": "npm", "identifier": "@owner/mail", "version": "1.2.3",
                    "transport": { "type": "stdio" },
                    "packageArguments": [
                        { "type": "positional", "value": "serve" },
                        { "type": "named", "name": "--root", "isRequired": true, "description": "a folder" },
                        { "type": "named", "name": "--quiet" },
                    ],
                    "environmentVariables": [
                        { "name": "MAIL_PASSWORD", "isRequired": true, "isSecret": true, "description": "password" },
                        { "name": "MAIL_HOST", "default": "localhost" },
                    ],
                },
            ],
        });
        let found = listing(&server).unwrap();
        assert_eq!(
            (found.name.as_str(), found.verified),
            ("mail-server", false)
        );
        let (program, args) = found.command().unwrap();
        assert_eq!(program, "npx");
        assert_eq!(
            args,
            ["-y", "@owner/mail@1.2.3", "serve", "--root", "${ROOT}"]
        );
        let inputs: Vec<_> = found
            .inputs
            .iter()
            .map(|input| (input.name.as_str(), input.secret, input.optional))
            .collect();
        assert_eq!(
            inputs,
            [
                ("ROOT", false, false),
                ("MAIL_PASSWORD", true, false),
                ("MAIL_HOST", false, true)
            ]
        );
    }

    #[test]
    fn a_published_url_keeps_its_secret_out_of_the_settings() {
        let server = json!({
            "name": "com.example/issues", "description": "Issues",
            "remotes": [
                { "type": "sse", "url": "http://example.com/sse" },
                { "type": "streamable-http", "url": "https://example.com/mcp", "headers": [
                    { "name": "Authorization", "value": "Bearer {token}", "isRequired": true, "isSecret": true },
                    { "name": "X-Region", "value": "eu" },
                ] },
            ],
        });
        let found = listing(&server).unwrap();
        assert_eq!(found.url.as_deref(), Some("https://example.com/mcp"));
        assert_eq!(found.headers["Authorization"], "Bearer ${AUTHORIZATION}");
        assert_eq!(found.headers["X-Region"], "eu");
        assert!(found.inputs.len() == 1 && found.inputs[0].secret);
    }

    #[test]
    fn what_could_change_the_command_is_refused() {
        let package = |package: Value| {
            let server = json!({ "name": "a/b", "packages": [package] });
            listing(&server).map(|_| ()).unwrap_err()
        };
        for (kind, identifier, version) in [
            ("npm", "--registry=http://evil", "1"),
            ("npm", "a b", "1"),
            ("pypi", "x;rm", "1"),
            ("npm", "", "1"),
        ] {
            let why = package(
                json!({ "registryType": kind, "identifier": identifier, "version": version }),
            );
            assert!(why.contains("invalid package name"), "{identifier}: {why}");
        }
        let secret = json!({ "registryType": "npm", "identifier": "x", "packageArguments": [
            { "type": "named", "name": "--api-key", "isRequired": true },
        ] });
        assert!(package(secret).contains("on its command line"));
        assert!(package(json!({ "registryType": "nuget" })).contains("not supported"));
        assert_eq!(
            listing(&json!({ "name": "a/b" })).unwrap_err(),
            "it has neither a package nor a URL"
        );
    }
}
