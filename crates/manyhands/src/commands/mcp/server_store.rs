//! Where servers are configured: the settings file of this home, or a remote gateway.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use manyhands_config::{ConfigFile, McpServer};
use manyhands_core::ServerName;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::Failure;

/// How long a running gateway may take to apply the file.
const APPLY_TIMEOUT: Duration = Duration::from_secs(15);
/// Polling interval meanwhile.
const APPLY_POLL: Duration = Duration::from_millis(50);

/// Where servers are configured.
pub enum ServerStore {
    /// The settings file of this home.
    File {
        /// The file.
        file: ConfigFile,
        /// The gateway running on this home, if any.
        running: Option<Remote>,
    },
    /// A gateway on another machine or home.
    Remote(Remote),
}

/// Configured servers by name; `None` for those of a remote gateway, whose details are not available.
pub type KnownServers = BTreeMap<String, Option<McpServer>>;

impl ServerStore {
    /// Selects the store from the context.
    pub fn of(ctx: &CliContext) -> Result<Self, Failure> {
        let running = ctx.running();
        if let Some(named) = ctx.named_url()
            && ctx.own_address(named).is_none()
        {
            return Ok(Self::Remote(ctx.remote()?));
        }
        // The file is edited directly, but a running gateway has to be told and asked.
        let running = running.map(|_| ctx.remote()).transpose()?;
        let file = ctx.config();
        Ok(Self::File { file, running })
    }

    /// The gateway, if there is one.
    pub fn gateway(&self) -> Option<&Remote> {
        match self {
            Self::File { running, .. } => running.as_ref(),
            Self::Remote(remote) => Some(remote),
        }
    }

    /// Returns the configured servers.
    pub async fn known(&self) -> Result<KnownServers, Failure> {
        match self {
            Self::File { file, .. } => {
                let servers = file.load()?.0.mcp_servers.into_iter();
                Ok(servers
                    .map(|(name, one)| (name.to_string(), Some(one)))
                    .collect())
            }
            Self::Remote(remote) => {
                let listed = remote.get("/api/servers").await?;
                let servers = listed["servers"].as_array().into_iter().flatten();
                Ok(servers.map(|one| (text(&one["name"]), None)).collect())
            }
        }
    }

    /// Adds or replaces a server.
    pub async fn put(&self, name: &ServerName, server: &McpServer) -> Result<(), Failure> {
        match self {
            Self::File { file, .. } => {
                if let Some(home) = file.path().parent() {
                    // Servers can be added before the gateway was ever started.
                    make_home(home)?;
                }
                file.set(&key(name), &server.brief())?;
            }
            Self::Remote(remote) => {
                let new = json!({ "name": name, "server": server.brief() });
                remote.expect_post("/api/servers", &new).await?;
            }
        }
        Ok(())
    }

    /// Waits until the gateway, if any, has these servers, so that the next command finds them.
    pub async fn settle(&self, names: &[&ServerName]) -> Result<(), Failure> {
        let Some(gateway) = self.gateway() else {
            return Ok(());
        };
        if let Self::File { .. } = self {
            // Not left to the gateway's watch of the file: it sees no change if a server was removed through the API
            // and is added again just as it was.
            gateway
                .expect_post("/api/config/reload", &json!({}))
                .await?;
        }
        until(gateway, |known| names.iter().all(|name| known(name))).await
    }
}

/// Waits until a gateway no longer has a server.
pub async fn wait_until_removed(gateway: &Remote, name: &ServerName) -> Result<(), Failure> {
    until(gateway, |known| !known(name)).await
}

/// Polls until the gateway's list of servers satisfies `holds`.
async fn until(
    gateway: &Remote,
    holds: impl Fn(&dyn Fn(&ServerName) -> bool) -> bool,
) -> Result<(), Failure> {
    let last = Instant::now() + APPLY_TIMEOUT;
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
                "saved, but the gateway at {} has not applied it\nhint: see its log; check the file with `manyhands config check`",
                gateway.url()
            )));
        }
        sleep(APPLY_POLL).await;
    }
}

/// Creates the home with the permissions a gateway would give it.
fn make_home(home: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(home);
    made.map_err(|e| Failure(format!("{}: {e}", home.display())))
}

/// Dotted path of a server in the settings.
pub fn key(name: &ServerName) -> String {
    format!("mcpServers.{name}")
}
