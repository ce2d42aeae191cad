//! The configured MCP servers. Their tools are in the catalogue from the moment they are known.
//!
//! Accepted tool definitions are stored, so a starting gateway knows the tools without starting the
//! servers; a server starts on first use.

pub mod address;
mod call;
mod connections;
mod imported;
mod launch;
mod legacy_clients;
mod naming;
pub mod oauth;
mod offer;
mod openapi;
mod pinning;
mod server;
mod tool;
pub mod wrapped;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use manyhands_config::McpServer;
use manyhands_core::{
    Catalogue, Clock, ErrorCode, Ids, RunsOn, ServerName, ToolError, ToolSpec, contained,
};
use manyhands_guard::Supervisor;
use manyhands_store::{ConnectionRecord, Pins, Store, StoreError, Vault};
use manyhands_upstream::{ServerNotification, UpstreamDeps as UpstreamGround};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use connections::is_client_id;
pub use connections::{ChosenConnection, ConnectionDraft, ServiceAccounts};
pub use launch::{SERVER_VARIABLES, find_program};
pub use openapi::fuzz_document;
pub use pinning::AcceptSelection;
pub use server::Server;

use manyhands_host::LiveSettings;
use manyhands_host::machine::{Host, KEEPER_COMMAND};
use manyhands_host::web::Web;
use manyhands_node_registry::Nodes;

use oauth::{Oauth, OauthParts, Pending, Returned};

/// How long the page shown after a login waits for the tool list.
const LISTING: Duration = Duration::from_secs(15);
/// The most server programs running at once.
const MAX_PROGRAMS: usize = 256;
/// The most servers whose tools are listed at once.
const MAX_LOOKS: usize = 4;
/// Delay between a tools-changed notification and listing the tools, to merge bursts of
/// notifications.
const SETTLE: Duration = Duration::from_millis(200);
/// The longest delay after listing tools panicked.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Shared services of all servers.
pub struct ServerDeps {
    accounts: ServiceAccounts,
    pins: Pins,
    oauth: Arc<Oauth>,
    vault: Vault,
    host: Host,
    home: PathBuf,
    clock: Arc<dyn Clock>,
    upstream: UpstreamGround,
    /// Sends the requests of OpenAPI servers.
    web: Web,
    /// Notified of every new connection.
    opened: mpsc::Sender<OpenedConnection>,
}

/// A server and the notifications of its new connection.
type OpenedConnection = (ServerName, broadcast::Receiver<ServerNotification>);

/// All configured servers.
pub struct Servers {
    deps: Arc<ServerDeps>,
    servers: RwLock<BTreeMap<ServerName, Arc<Server>>>,
    catalogue: Arc<ArcSwap<Catalogue>>,
    nodes: Arc<Nodes>,
    looks: Arc<Semaphore>,
    tasks: TaskTracker,
    /// Held while settings are applied, so that two changes cannot interleave.
    taking: tokio::sync::Mutex<()>,
    stopping: CancellationToken,
}

/// Arguments of [`Servers::open`].
pub struct ServersParts<'a> {
    /// Everything that is stored.
    pub store: &'a Store,
    /// This machine.
    pub host: Host,
    /// Requests that leave the machine.
    pub web: Web,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Ids,
    /// The settings in force.
    pub settings: LiveSettings,
    /// The catalogue of all tools.
    pub catalogue: Arc<ArcSwap<Catalogue>>,
    /// Connected nodes.
    pub nodes: Arc<Nodes>,
}

impl Servers {
    /// Opens the stored state. No server is started yet.
    pub async fn open(parts: ServersParts<'_>) -> Result<Arc<Self>, StoreError> {
        let ServersParts {
            store,
            host,
            web,
            clock,
            ids,
            settings,
            catalogue,
            nodes,
        } = parts;
        let (opened, connections) = mpsc::channel(MAX_PROGRAMS);
        let accounts = ServiceAccounts::open(store, clock.clone(), ids.clone()).await?;
        let deps = ServerDeps {
            opened,
            oauth: Oauth::open(OauthParts {
                accounts: accounts.clone(),
                vault: store.vault().clone(),
                clock: clock.clone(),
                ids: ids.clone(),
                settings,
            }),
            accounts,
            pins: store.pins().clone(),
            vault: store.vault().clone(),
            host,
            web,
            home: store.home().to_owned(),
            upstream: UpstreamGround {
                supervisor: Supervisor::new(MAX_PROGRAMS)
                    .with_keeper("/proc/self/exe".into(), vec![KEEPER_COMMAND.to_owned()]),
                clock: clock.clone(),
                entropy: ids.entropy(),
            },
            clock,
        };
        let servers = Arc::new(Self {
            deps: Arc::new(deps),
            servers: RwLock::default(),
            catalogue,
            nodes,
            looks: Arc::new(Semaphore::new(MAX_LOOKS)),
            tasks: TaskTracker::new(),
            taking: tokio::sync::Mutex::default(),
            stopping: CancellationToken::new(),
        });
        let (following, stopping) = (servers.clone(), servers.stopping.clone());
        servers.tasks.spawn(async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = following.follow(connections) => {}
            }
        });
        Ok(servers)
    }

    /// The accounts of services.
    pub fn accounts(&self) -> &ServiceAccounts {
        &self.deps.accounts
    }

    /// The logins at servers.
    pub fn oauth(&self) -> &Arc<Oauth> {
        &self.deps.oauth
    }

    /// Completes a login with the response that the browser brought. The tools are listed before
    /// the login counts as done, so that a client that sees it done can call them. Runs to
    /// completion even if the caller goes away.
    pub async fn end_login(
        self: &Arc<Self>,
        login: Pending,
        returned: Returned,
    ) -> Result<ConnectionRecord, ToolError> {
        let this = self.clone();
        // A task of its own: the browser may close the page, but a code can be exchanged only once.
        let ending = self.tasks.spawn(async move {
            let oauth = this.oauth();
            let ended = oauth.exchange(&login, &returned).await;
            if let Ok(record) = &ended {
                this.logged_in(&login.server, record).await;
            }
            oauth.tell(&login, &ended);
            ended
        });
        let stopping = |_| ToolError::new(ErrorCode::Unavailable, "the gateway is stopping");
        ending.await.map_err(stopping)?
    }

    async fn logged_in(self: &Arc<Self>, name: &ServerName, account: &ConnectionRecord) {
        self.reconnect(account).await;
        let Ok(server) = self.get(name.as_str()) else {
            return; // removed from the settings meanwhile
        };
        let listed = tokio::select! {
            biased;
            () = self.stopping.cancelled() => return,
            listed = tokio::time::timeout(LISTING, self.refresh(name.as_str())) => listed,
        };
        match listed {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::warn!(event = "server_list_tools_failed", server = %name, %error, "failed to list the tools of a server after a login");
            }
            Err(_) => self.refresh_soon(&server, Duration::ZERO), // slow: finish in the background
        }
        self.look_again(&account.service);
    }

    /// Returns every server, by name.
    pub fn all(&self) -> Vec<Arc<Server>> {
        self.servers
            .read()
            .expect("no panic while held")
            .values()
            .cloned()
            .collect()
    }

    /// Returns one server.
    pub fn get(&self, name: &str) -> Result<Arc<Server>, ToolError> {
        let name = name
            .strip_prefix("remote/")
            .or(name.strip_prefix("dynamic/"))
            .unwrap_or(name);
        let servers = self.servers.read().expect("no panic while held");
        let found = servers.iter().find(|(known, _)| known.as_str() == name);
        found.map(|(_, server)| server.clone()).ok_or_else(|| {
            let shown: String = name.chars().take(100).collect();
            let known: Vec<&str> = servers.keys().map(ServerName::as_str).collect();
            let hint = match known.is_empty() {
                true => "the owner adds one with `manyhands mcp add`".to_owned(),
                false => format!("there are {}", known.join(", ")),
            };
            ToolError::not_found(format!("there is no MCP server {shown:?}")).hint(hint)
        })
    }

    /// Returns the service whose accounts a tool uses, if the tool belongs to a server.
    pub fn service_of(&self, spec: &ToolSpec) -> Option<String> {
        let RunsOn::Server { name } = &spec.runs_on else {
            return None;
        };
        self.get(name)
            .ok()
            .map(|server| server.service().to_owned())
    }

    /// Applies the settings: starts new and changed servers, stops removed ones.
    pub async fn take_over(self: &Arc<Self>, settings: &LiveSettings) {
        let _one = self.taking.lock().await;
        let settings = settings.current();
        let wanted = |config: &McpServer| config.enabled;
        let mut ended = Vec::new();
        let mut begun = Vec::new();
        {
            let mut servers = self.servers.write().expect("no panic while held");
            servers.retain(|name, server| {
                let same = settings
                    .mcp_servers
                    .get(name)
                    .is_some_and(|now| now == server.config() && wanted(now));
                if !same {
                    ended.push(server.clone());
                }
                same
            });
            begun.extend(
                settings
                    .mcp_servers
                    .iter()
                    .filter(|(name, config)| wanted(config) && !servers.contains_key(*name))
                    .map(|(name, config)| (name.clone(), config.clone())),
            );
        }
        // Unpublished before it is stopped, so that no call reaches a server that is going away.
        for server in ended {
            self.unpublish(&server);
            self.tasks.spawn(async move { server.stop().await });
        }
        for (name, config) in begun {
            let pins = self.deps.pins.list(name.as_str()).await.unwrap_or_else(|error| {
                tracing::error!(event = "server_pins_read_failed", server = %name, %error, "failed to read the accepted tool definitions of a server");
                Vec::new()
            });
            let unknown = pins.is_empty();
            let server = Server::new(name.clone(), config, pins, self.deps.clone()).await;
            let unknown = unknown || server.lacks_requests();
            self.servers
                .write()
                .expect("no panic while held")
                .insert(name, server.clone());
            self.publish(&server);
            if unknown {
                self.refresh_soon(&server, Duration::ZERO);
            }
        }
    }

    /// Lists the tools of a server in the background.
    fn refresh_soon(self: &Arc<Self>, server: &Arc<Server>, after: Duration) {
        let (this, server) = (self.clone(), server.clone());
        self.tasks.spawn(async move {
            let stopping = this.stopping.clone();
            let work = async {
                tokio::time::sleep(after).await;
                let Ok(_place) = this.looks.clone().acquire_owned().await else {
                    return;
                };
                if let Err(error) = this.refresh(server.name().as_str()).await {
                    tracing::warn!(event = "server_list_tools_failed", server = %server.name(), %error, "failed to list the tools of a server");
                }
            };
            tokio::select! {
                biased;
                () = stopping.cancelled() => {}
                () = work => {}
            }
        });
    }

    /// Lists the tools of a server now.
    pub async fn refresh(self: &Arc<Self>, name: &str) -> Result<Arc<Server>, ToolError> {
        let server = self.get(name)?;
        if server.look().await? {
            self.publish(&server);
        }
        Ok(server)
    }

    /// Lists the tools of a server after every new connection and every tools-changed notification.
    async fn follow(self: Arc<Self>, mut opened: mpsc::Receiver<OpenedConnection>) {
        while let Some((name, news)) = opened.recv().await {
            let this = self.clone();
            self.tasks.spawn(async move {
                let look = || {
                    let (this, name) = (this.clone(), name.clone());
                    async move { this.refresh(name.as_str()).await.map(drop) }
                };
                tokio::select! {
                    () = this.stopping.cancelled() => {}
                    () = follow_changes(&name, news, look) => {}
                }
            });
        }
    }

    /// Accepts held tool definitions of a server.
    pub async fn accept(
        self: &Arc<Self>,
        name: &str,
        wanted: &AcceptSelection<'_>,
    ) -> Result<Vec<String>, ToolError> {
        let server = self.get(name)?;
        let accepted = server.accept(wanted).await?;
        if accepted.is_empty() {
            let message = match wanted.tool {
                Some(tool) => format!("tool {tool:?} has no change to accept, or it changed again"),
                None => format!("server {name} has no change to accept, or it changed again"),
            };
            return Err(ToolError::not_found(message).hint("review the changes again"));
        }
        self.publish(&server);
        Ok(accepted)
    }

    /// Lists the tools of a service's servers that have none yet.
    pub fn look_again(self: &Arc<Self>, service: &str) {
        for server in self.all() {
            if server.service() == service && server.pins().is_empty() {
                self.refresh_soon(&server, Duration::ZERO);
            }
        }
    }

    /// Tests an account at the first server that uses it.
    pub async fn test(&self, id: &str) -> Result<ConnectionRecord, ToolError> {
        let account = self.deps.accounts.get(id)?;
        let all = self.all();
        let server = all
            .iter()
            .find(|server| server.service() == account.service);
        let server = server.ok_or_else(|| {
            let message = format!("no MCP server uses the service {:?}", account.service);
            ToolError::new(ErrorCode::Unavailable, message)
        })?;
        server.try_out(account.id).await;
        self.deps.accounts.get(id)
    }

    /// Closes connections of an account, so that the next use sees its new credentials.
    pub async fn reconnect(&self, account: &ConnectionRecord) {
        for server in self.all() {
            server.close(account.id).await;
            if server.service() == account.service {
                server.close_refused().await;
            }
        }
    }

    fn publish(&self, server: &Arc<Server>) {
        let tools = server.tools();
        let shelf = server.name().as_str();
        if self.nodes.find(shelf).is_ok() {
            tracing::warn!(
                event = "server_name_taken",
                server = shelf,
                "a node has the same name, so the server's tools are hidden"
            );
            return;
        }
        // Nodes and servers share one name space; a connected node keeps its name.
        self.catalogue.rcu(|all| {
            let mut all = (**all).clone();
            if let Err(error) = all.set_namespace(shelf, tools.clone()) {
                tracing::warn!(event = "server_tools_not_published", server = shelf, %error, "failed to add a server's tools to the catalogue");
            }
            all
        });
        self.nodes.note_change();
    }

    fn unpublish(&self, server: &Server) {
        self.catalogue.rcu(|all| {
            let mut all = (**all).clone();
            all.remove_namespace(server.name().as_str());
            all
        });
        self.nodes.note_change();
    }

    /// Stops every server.
    pub async fn stop(&self) {
        self.stopping.cancel();
        // Closed first, so that `wait` below can return once the tasks have ended.
        self.tasks.close();
        for server in self.all() {
            server.stop().await;
        }
        self.tasks.wait().await;
        self.deps.oauth.rest().await;
    }
}

/// Lists the tools at once and after every notification, while the server is connected. After a
/// panic it retries with growing delays.
async fn follow_changes<F>(
    name: &ServerName,
    mut news: broadcast::Receiver<ServerNotification>,
    look: impl Fn() -> F,
) where
    F: Future<Output = Result<(), ToolError>>,
{
    let mut wait = SETTLE;
    loop {
        tokio::time::sleep(wait).await;
        while news.try_recv().is_ok() {} // one look serves for all that was told
        match contained(look()).await {
            Ok(looked) => {
                if let Err(error) = looked {
                    tracing::warn!(event = "server_list_tools_failed", server = %name, %error, "failed to list the tools of a server");
                }
                wait = SETTLE;
            }
            Err(panicked) if wait < LONGEST_WAIT => {
                let reason = &panicked.reason;
                tracing::error!(event = "server_list_tools_panicked", server = %name, reason, "internal error: listing tools panicked; will retry");
                wait = (wait * 2).min(LONGEST_WAIT);
                continue;
            }
            // It panics every time. Wait for the next change of its tools before trying again.
            Err(_) => wait = SETTLE,
        }
        while !matches!(
            news.recv().await,
            Ok(ServerNotification::Tools) | Err(RecvError::Lagged(_) | RecvError::Closed)
        ) {}
        if news.is_closed() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Follows a server through two changes, with a look that panics so many times at first; how often
    /// it was looked at.
    async fn looks(panics: usize) -> usize {
        let (tell, news) = broadcast::channel(8);
        let (note, mut looked) = mpsc::channel(8);
        let before = AtomicUsize::new(0);
        let follower = tokio::spawn(async move {
            let look = || {
                let (note, before) = (note.clone(), before.fetch_add(1, Ordering::SeqCst));
                async move {
                    note.send(()).await.unwrap();
                    if before < panics {
                        std::panic::resume_unwind(Box::new("as planned"));
                    }
                    Ok(())
                }
            };
            follow_changes(&"s".parse().unwrap(), news, look).await;
        });
        for _ in 0..=panics {
            looked.recv().await.unwrap();
        }
        tell.send(ServerNotification::Tools).unwrap();
        looked.recv().await.unwrap();
        drop(tell);
        follower.await.unwrap();
        panics + 2 + usize::from(looked.recv().await.is_some())
    }

    #[tokio::test]
    async fn a_server_is_followed_on_after_a_look_that_panicked() {
        assert_eq!(looks(2).await, 4);
        assert_eq!(looks(0).await, 2, "control");
    }
}
