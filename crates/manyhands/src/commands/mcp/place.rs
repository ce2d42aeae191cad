//! Where servers are written down: the file of the gateway on this machine, or a gateway elsewhere.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use manyhands_config::{ConfigFile, McpServer};
use manyhands_core::ServerName;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::ground::Ground;
use crate::output::Failure;
use crate::remote::{Remote, text};

/// How long a running gateway may take to see the file.
const SEEN_WITHIN: Duration = Duration::from_secs(15);
/// How often it is asked meanwhile.
const LOOK: Duration = Duration::from_millis(50);

/// Where servers are written down.
pub enum Place {
    /// The file of this home.
    File {
        /// The file.
        file: ConfigFile,
        /// The gateway that runs on this home, if one does.
        running: Option<Remote>,
    },
    /// A gateway of another machine, or of another home.
    Far(Remote),
}

/// What is known of the servers that are written down, by name; nothing but the name of those far away.
pub type Known = BTreeMap<String, Option<McpServer>>;

impl Place {
    /// The one in question.
    pub fn of(ground: &Ground) -> Result<Self, Failure> {
        let running = ground.running();
        if let Some(named) = ground.named_url()
            && ground.own_address(named).is_none()
        {
            return Ok(Self::Far(ground.remote()?));
        }
        let running = running.map(|_| ground.remote()).transpose()?;
        let file = ground.config();
        Ok(Self::File { file, running })
    }

    /// The gateway, if there is one to ask.
    pub fn gateway(&self) -> Option<&Remote> {
        match self {
            Self::File { running, .. } => running.as_ref(),
            Self::Far(remote) => Some(remote),
        }
    }

    /// The servers that are written down.
    pub async fn known(&self) -> Result<Known, Failure> {
        match self {
            Self::File { file, .. } => {
                let servers = file.load()?.0.mcp_servers.into_iter();
                Ok(servers
                    .map(|(name, one)| (name.to_string(), Some(one)))
                    .collect())
            }
            Self::Far(remote) => {
                let listed = remote.get("/api/servers").await?;
                let servers = listed["servers"].as_array().into_iter().flatten();
                Ok(servers.map(|one| (text(&one["name"]), None)).collect())
            }
        }
    }

    /// Writes a server down, in place of what stands under its name.
    pub async fn put(&self, name: &ServerName, server: &McpServer) -> Result<(), Failure> {
        match self {
            Self::File { file, .. } => {
                if let Some(home) = file.path().parent() {
                    make_home(home)?;
                }
                file.set(&key(name), &brief(server))?;
            }
            Self::Far(remote) => {
                let new = json!({ "name": name, "server": brief(server) });
                remote.expect_post("/api/servers", &new).await?;
            }
        }
        Ok(())
    }

    /// Waits until the gateway, if there is one, has these servers, so that the next command finds them.
    pub async fn settle(&self, names: &[&ServerName]) -> Result<(), Failure> {
        match self.gateway() {
            Some(gateway) => until(gateway, |known| names.iter().all(|name| known(name))).await,
            None => Ok(()),
        }
    }
}

/// Waits until a gateway no longer has a server.
pub async fn gone(gateway: &Remote, name: &ServerName) -> Result<(), Failure> {
    until(gateway, |known| !known(name)).await
}

/// Waits until what a gateway knows of servers is as it should be.
async fn until(
    gateway: &Remote,
    holds: impl Fn(&dyn Fn(&ServerName) -> bool) -> bool,
) -> Result<(), Failure> {
    let last = Instant::now() + SEEN_WITHIN;
    loop {
        let listed = gateway.get("/api/servers").await?;
        let servers = listed["servers"].as_array();
        let known = |name: &ServerName| {
            servers.is_some_and(|all| all.iter().any(|one| one["name"] == name.as_str()))
        };
        if holds(&known) {
            return Ok(());
        }
        if Instant::now() >= last {
            return Err(Failure(format!(
                "it is written, but the gateway at {} has not taken it over\nhint: its log says why; `manyhands config check` looks at the file",
                gateway.url()
            )));
        }
        sleep(LOOK).await;
    }
}

/// The home, as the first start of a gateway would make it.
fn make_home(home: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(home);
    made.map_err(|e| Failure(format!("{}: {e}", home.display())))
}

/// Where a server stands in the settings.
pub fn key(name: &ServerName) -> String {
    format!("mcpServers.{name}")
}

/// What the file says of a server: what differs from the defaults.
fn brief(server: &McpServer) -> Value {
    let (mut said, plain) = (json!(server), json!(McpServer::default()));
    if let Some(map) = said.as_object_mut() {
        map.retain(|key, value| plain.get(key) != Some(value));
        // What is not said inside is left out too: a file cannot say null.
        for inner in map.values_mut().filter_map(Value::as_object_mut) {
            inner.retain(|_, value| !value.is_null());
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_config::OauthSettings;

    #[test]
    fn the_file_says_only_what_differs_from_the_defaults() {
        let server = McpServer {
            command: Some("npx".to_owned()),
            ..McpServer::default()
        };
        assert_eq!(brief(&server), json!({ "command": "npx" }));
        let oauth = OauthSettings {
            scopes: vec!["read".to_owned()],
            ..OauthSettings::default()
        };
        let server = McpServer {
            oauth: Some(oauth),
            ..server
        };
        let expected = json!({ "command": "npx", "oauth": { "scopes": ["read"] } });
        assert_eq!(brief(&server), expected);
    }
}
