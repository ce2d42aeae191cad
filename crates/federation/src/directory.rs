//! Well-known MCP servers by name: what they run or where they are, and what they need.
//!
//! The list is a file of this repository, `data/servers.json`; `tools/check-servers` verifies its packages against their
//! registries. A listing only becomes a server of the settings when the owner adds it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use manyhands_config::{McpServer, ServerKind, nearest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The list, as JSON.
const LIST: &str = include_str!("../data/servers.json");

/// The well-known servers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    /// The servers.
    pub servers: Vec<Listing>,
}

/// A well-known server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ServerListing")]
pub struct Listing {
    /// Name to add it by.
    pub name: String,
    /// Display name.
    pub title: String,
    /// What it does.
    pub description: String,
    /// Page about it.
    pub homepage: String,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Package to run on the gateway's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<Package>,
    /// Arguments of the program; `${NAME}` is an input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// URL of a remote server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its transport, if it is not `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<RemoteTransport>,
    /// HTTP headers; `${NAME}` is an input.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Whether it needs a login with OAuth.
    #[serde(default)]
    pub oauth: bool,
    /// What it has to be told. An input that no argument, header or URL refers to is an environment variable.
    #[serde(default)]
    pub inputs: Vec<Input>,
    /// Whether its package was found in its registry. URLs and images are not checked.
    #[serde(default)]
    pub verified: bool,
}

/// The transport of a remote server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ListingTransport")]
pub enum RemoteTransport {
    /// Streamable HTTP.
    Http,
    /// The older HTTP with server-sent events.
    Sse,
}

/// A package with a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ListingPackage")]
pub struct Package {
    /// Where it is published.
    pub registry: Registry,
    /// Its name there.
    pub name: String,
    /// Its program, if that has another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Version that was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Date of that version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<String>,
}

/// A package registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ListingRegistry")]
pub enum Registry {
    /// npm, run with `npx`.
    Npm,
    /// PyPI, run with `uvx`.
    Pypi,
    /// A container image, run with `docker`.
    Docker,
}

/// Something a server has to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ListingInput")]
pub struct Input {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Whether it is stored in the vault.
    #[serde(default)]
    pub secret: bool,
    /// Whether it can be left out.
    #[serde(default)]
    pub optional: bool,
    /// Value if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Page where it can be found or created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Rights that a key needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

impl Input {
    /// A required value that is not secret.
    pub fn plain(name: &str, description: String) -> Self {
        Self {
            name: name.to_owned(),
            description,
            secret: false,
            optional: false,
            default: None,
            url: None,
            scopes: Vec::new(),
        }
    }

    /// A required secret.
    pub fn secret(name: &str, description: String) -> Self {
        Self {
            secret: true,
            ..Self::plain(name, description)
        }
    }
}

impl Directory {
    /// The built-in list.
    pub fn builtin() -> &'static Self {
        static DIRECTORY: LazyLock<Directory> = LazyLock::new(|| {
            // A test reads the file, so a release cannot contain an invalid one.
            serde_json::from_str(LIST).expect("data/servers.json is valid")
        });
        &DIRECTORY
    }

    /// The server with this name.
    pub fn find(&self, name: &str) -> Option<&Listing> {
        self.servers.iter().find(|listing| listing.name == name)
    }

    /// Servers in which every word occurs, the best match first.
    pub fn search(&self, words: &str) -> Vec<&Listing> {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let scored = self.servers.iter().filter_map(|listing| {
            let scores = words.iter().map(|word| listing.score(word));
            let total = scores.sum::<Option<u32>>()?;
            Some((total, listing))
        });
        let mut scored: Vec<(u32, &Listing)> = scored.collect();
        // Stable, so that equally good matches stay in the order of the list.
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        scored.into_iter().map(|(_, listing)| listing).collect()
    }

    /// Names that a mistyped or partial name may stand for.
    pub fn similar(&self, name: &str) -> Vec<&str> {
        let names = self.servers.iter().map(|listing| listing.name.as_str());
        let mut found: Vec<&str> = nearest(name, names).into_iter().collect();
        for listing in self.search(&name.replace(['-', '_'], " ")) {
            if found.len() < 5 && !found.contains(&listing.name.as_str()) {
                found.push(&listing.name);
            }
        }
        found
    }
}

impl Listing {
    /// How well a word of a search fits; `None` if it does not.
    fn score(&self, word: &str) -> Option<u32> {
        let (title, tag) = (self.title.to_lowercase(), |tag: &String| tag == word);
        match word {
            _ if self.name == word => Some(8),
            _ if self.tags.iter().any(tag) => Some(4),
            _ if self.name.contains(word) || title.contains(word) => Some(3),
            _ if self.description.to_lowercase().contains(word) => Some(1),
            _ => None,
        }
    }

    /// The command that runs it, if it runs on the gateway's machine.
    pub fn command(&self) -> Option<(&'static str, Vec<String>)> {
        let package = self.package.as_ref()?;
        let name = package.name.clone();
        let (program, mut args) = match package.registry {
            Registry::Npm => ("npx", vec!["-y".to_owned(), name]),
            Registry::Pypi => match &package.command {
                Some(command) => ("uvx", vec!["--from".to_owned(), name, command.clone()]),
                None => ("uvx", vec![name]),
            },
            Registry::Docker => {
                let mut args = vec!["run".to_owned(), "-i".to_owned(), "--rm".to_owned()];
                // Docker passes on a variable of its own environment if only its name is given.
                for input in self.inputs.iter().filter(|input| self.is_variable(input)) {
                    args.extend(["-e".to_owned(), input.name.clone()]);
                }
                args.push(name);
                ("docker", args)
            }
        };
        args.extend(self.args.iter().cloned());
        Some((program, args))
    }

    /// Whether an input is an environment variable.
    pub fn is_variable(&self, input: &Input) -> bool {
        let reference = format!("${{{}}}", input.name);
        let places = self.args.iter().chain(self.headers.values());
        !places
            .chain(&self.url)
            .any(|text| text.contains(&reference))
    }

    /// Its settings. `values` has the inputs by name; for a secret, the reference to the vault.
    pub fn server(&self, values: &BTreeMap<String, String>) -> McpServer {
        let filled = |text: &String| {
            values.iter().fold(text.clone(), |text, (name, value)| {
                text.replace(&format!("${{{name}}}"), value)
            })
        };
        let variables = self.inputs.iter().filter(|input| self.is_variable(input));
        let set = variables
            .filter_map(|input| Some((input.name.clone(), values.get(&input.name)?.clone())));
        let mut server = McpServer {
            env: set.collect(),
            ..McpServer::default()
        };
        if let Some((program, args)) = self.command() {
            server.command = Some(program.to_owned());
            server.args = args.iter().map(filled).collect();
            return server;
        }
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), filled(value)));
        McpServer {
            kind: self.transport.map(|transport| match transport {
                RemoteTransport::Http => ServerKind::Http,
                RemoteTransport::Sse => ServerKind::Sse,
            }),
            url: self.url.as_ref().map(filled),
            // A header whose input was left out would be sent with the text of the reference.
            headers: headers.filter(|(_, value)| !self.refers(value)).collect(),
            env: BTreeMap::new(),
            ..server
        }
    }

    fn refers(&self, text: &str) -> bool {
        let mut names = self
            .inputs
            .iter()
            .map(|input| format!("${{{}}}", input.name));
        names.any(|reference| text.contains(&reference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use manyhands_core::ServerName;

    #[test]
    fn every_listing_is_complete_and_can_be_added() {
        let directory = Directory::builtin();
        assert!(directory.servers.len() >= 60, "{}", directory.servers.len());
        let mut names = BTreeSet::new();
        for listing in &directory.servers {
            let name = &listing.name;
            assert!(names.insert(name), "{name} is listed twice");
            assert!(name.parse::<ServerName>().is_ok(), "{name}");
            for text in [&listing.title, &listing.description] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{name}: {text:?}");
            }
            assert!(listing.homepage.starts_with("https://"), "{name}");
            assert!(!listing.tags.is_empty(), "{name} has no tags");
            assert!(
                listing.package.is_some() != listing.url.is_some(),
                "{name} needs either a package or a URL"
            );
            let published = listing.package.as_ref();
            let published = published.filter(|package| package.registry != Registry::Docker);
            assert_eq!(listing.verified, published.is_some(), "{name}");
            if let Some(package) = published {
                assert!(package.version.is_some(), "{name} has no version");
            }
            if let Some(url) = &listing.url {
                assert!(url.starts_with("https://"), "{name}: {url}");
            }
            for input in &listing.inputs {
                let place = format!("{name}: {}", input.name);
                // Arguments and URLs are stored in plain text.
                let reference = format!("${{{}}}", input.name);
                let mut plain = listing.args.iter().chain(&listing.url);
                let in_plain = plain.any(|text| text.contains(&reference));
                assert!(
                    !(input.secret && in_plain),
                    "{place} is a secret in plain text"
                );
                assert!(
                    listing.package.is_some() || !listing.is_variable(input),
                    "{place}"
                );
                assert!(!input.secret || input.default.is_none(), "{place}");
                assert!(!input.description.is_empty(), "{place}");
                if let Some(url) = &input.url {
                    assert!(url.starts_with("https://"), "{place}: {url}");
                }
            }
        }
    }

    #[test]
    fn a_listing_becomes_settings_with_its_values() {
        let directory = Directory::builtin();
        let of = |name: &str, values: &[(&str, &str)]| {
            let values = values
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            directory
                .find(name)
                .expect("a listing")
                .server(&values.collect())
        };
        let files = of("filesystem", &[("DIRECTORY", "/srv/data")]);
        assert_eq!(files.command.as_deref(), Some("npx"));
        let args = ["-y", "@modelcontextprotocol/server-filesystem", "/srv/data"];
        assert_eq!(files.args, args);
        assert!(files.env.is_empty());
        let github = of("github", &[("GITHUB_TOKEN", "${mcp/github/GITHUB_TOKEN}")]);
        assert_eq!(
            github.headers["Authorization"],
            "Bearer ${mcp/github/GITHUB_TOKEN}"
        );
        assert_eq!((github.command, github.env.len()), (None, 0));
        let local = of("github-docker", &[("GITHUB_PERSONAL_ACCESS_TOKEN", "${x}")]);
        let args = [
            "run",
            "-i",
            "--rm",
            "-e",
            "GITHUB_PERSONAL_ACCESS_TOKEN",
            "ghcr.io/github/github-mcp-server",
        ];
        assert_eq!(local.args, args);
        assert_eq!(local.env["GITHUB_PERSONAL_ACCESS_TOKEN"], "${x}");
        let word = of("word", &[]);
        assert_eq!(
            word.args,
            ["--from", "office-word-mcp-server", "word_mcp_server"]
        );
    }

    #[test]
    fn servers_are_found_by_words_and_by_mistyped_names() {
        let directory = Directory::builtin();
        let found = |words: &str| -> Vec<&str> {
            let found = directory.search(words).into_iter();
            found.map(|listing| listing.name.as_str()).collect()
        };
        assert!(found("mail").contains(&"google-workspace"));
        assert_eq!(found("GitHub")[0], "github");
        assert!(found("database postgres").contains(&"neon"));
        assert!(found("no such thing").is_empty());
        assert_eq!(found("").len(), directory.servers.len());
        assert_eq!(directory.similar("gihtub")[0], "github");
        assert_eq!(directory.similar("play-wright")[0], "playwright");
        assert!(directory.similar("mail").contains(&"email"));
        assert!(directory.similar("zzzzzzzzzzzz").is_empty());
    }
}
