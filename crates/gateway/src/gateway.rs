//! The assembled gateway: store, path, authentication, settings.

use std::path::Path as FilePath;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use manyhands_agent::Minds;
use manyhands_agent_services::{AgentMailer, ModelRegistry, People};
use manyhands_config::ConfigFile;
use manyhands_core::{
    CallRequest, Caller, Catalogue, Clock, Ids, Invoke, NodeId, Outcome, Role, Secret, ToolError,
};
use manyhands_federation::oauth_guests::Guests;
use manyhands_federation::servers::{Servers, is_client_id};
use manyhands_guard::{PendingConnections, Redactor};
use manyhands_host::LiveSettings;
use manyhands_host::artifacts::ArtifactStore;
use manyhands_host::workspace::Workspace;
use manyhands_jobs::JobScheduler;
use manyhands_messaging::Chats;
use manyhands_node_registry::Nodes;
use manyhands_path::Path;
use manyhands_store::{
    AuditEntry, AuditKind, AuditStatus, Durability, NodeRecord, Store, StoreError,
};
use manyhands_tools::ToolDeps;
use manyhands_wire::{NodeExecEventParams, NodeForgetResult};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::announcement::announcement;
use crate::auth::{Admitted, Authenticator};
use crate::finding::Finding;
use crate::listening::ListenAddress;
use crate::login_links::LoginLinks;

/// The assembled gateway. Every face holds it and calls its path.
pub struct Gateway {
    /// All persistent data.
    pub store: Store,
    /// The one path to all tools.
    pub path: Arc<Path>,
    /// Authentication.
    pub auth: Authenticator,
    /// The current settings.
    pub settings: LiveSettings,
    /// Clock.
    pub clock: Arc<dyn Clock>,
    /// Id generator.
    pub ids: Ids,
    /// The built-in tools and their dependencies.
    pub tool_deps: ToolDeps,
    /// Connected and known nodes.
    pub nodes: Arc<Nodes>,
    /// MCP servers and connected accounts.
    pub servers: Arc<Servers>,
    /// Callers with tokens of external issuers.
    pub guests: Guests,
    /// The configured models.
    pub model_registry: Arc<ModelRegistry>,
    pub(crate) minds: Arc<OnceLock<Minds>>,
    /// All tools.
    pub catalogue: Arc<ArcSwap<Catalogue>>,
    pub(crate) redactor: Arc<ArcSwap<Redactor>>,
    pub(crate) owner_token: Secret,
    /// The settings file.
    pub config: ConfigFile,
    pub(crate) listening: OnceLock<ListenAddress>,
    pub(crate) stopping: CancellationToken,
    /// One-time login links for browsers.
    pub(crate) links: LoginLinks,
    /// The findings of the last health check, and when it ran.
    pub findings: Mutex<Option<(Duration, Vec<Finding>)>>,
    /// Connections that are not authenticated yet.
    pub lobby: Arc<PendingConnections>,
    /// Sockets that have not sent `connect` yet.
    pub socket_lobby: Arc<PendingConnections>,
}

impl Gateway {
    /// The agents' workspaces.
    pub fn workspace(&self) -> &Workspace {
        &self.tool_deps.workspace
    }

    /// The artifact store.
    pub fn artifacts(&self) -> &ArtifactStore {
        &self.tool_deps.artifacts
    }

    /// Messages between agents.
    pub fn post(&self) -> &AgentMailer {
        &self.tool_deps.post
    }

    /// Contacts and to-dos.
    pub fn people(&self) -> &People {
        &self.tool_deps.people
    }

    /// Chats on messaging platforms.
    pub fn chats(&self) -> &Chats {
        &self.tool_deps.chats
    }

    /// Scheduled jobs.
    pub fn cron(&self) -> &JobScheduler {
        &self.tool_deps.cron
    }

    /// The agents.
    pub fn minds(&self) -> &Minds {
        self.minds.get().expect("set before `open` returns")
    }

    /// The home folder.
    pub fn home(&self) -> &FilePath {
        self.store.home()
    }

    /// The settings file.
    pub fn config_file(&self) -> &ConfigFile {
        &self.config
    }

    /// The address it listens on, once it does.
    pub fn listening(&self) -> Option<ListenAddress> {
        self.listening.get().copied()
    }

    /// Records the address it listens on.
    pub fn listens_on(&self, listening: ListenAddress) {
        let _ = self.listening.set(listening); // set once, by the daemon
    }

    /// Whether it is shutting down.
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Calls a tool for an authenticated caller. The call is cancelled when the token lapses.
    pub async fn invoke(
        &self,
        admitted: &Admitted,
        request: CallRequest,
    ) -> Result<Outcome, ToolError> {
        tokio::select! {
            biased;
            lapsed = self.auth.lapsed(admitted) => Err(lapsed),
            outcome = self.path.invoke(request) => outcome,
        }
    }

    /// Creates a one-time login link for a browser: its path and fragment.
    pub fn login_link(&self) -> String {
        let bytes: [u8; 24] = self.ids.random();
        let code: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.links.add(&code, self.clock.now().0);
        // In the fragment, which browsers do not send to servers or proxies.
        format!("/login#code={code}")
    }

    /// Redeems the code of a login link; returns whether it was valid.
    pub fn use_link(&self, code: &str) -> bool {
        self.links.take(code, self.clock.now().0)
    }

    /// A token for this machine's own node, valid while this process runs.
    pub fn own_node_token(&self, node: &NodeId) -> Secret {
        let name = self.nodes.present_name(node);
        self.auth.create_temporary(name.as_str(), Role::Node)
    }

    /// Handles an event of a node's background process. If the process ended, its session is
    /// notified once, before the event is acknowledged to the node.
    pub async fn handle_process_event(
        &self,
        node: &NodeId,
        event: NodeExecEventParams,
    ) -> Result<bool, ToolError> {
        let stored = self.nodes.record_notice(node, event).await;
        let (new, news) = stored?;
        if let Some(announcement) = announcement(&news) {
            let (key, run, input, origin) = announcement;
            let sent = self.minds().send(&key, Some(run), input, &origin).await;
            if let Err(error) = sent {
                // The session may be full or its token revoked; the event is stored all the same.
                tracing::warn!(event = "process_event_undelivered", %node, session = %key, %error, "background-process event not delivered to its session");
            }
        }
        Ok(new)
    }

    /// Removes a node and revokes its own token.
    pub async fn forget_node(
        &self,
        caller: &Caller,
        id: &str,
        force: bool,
    ) -> Result<NodeForgetResult, ToolError> {
        let (forgotten, record) = self.nodes.forget(id, force).await?;
        self.revoke_node_token(&record).await?;
        self.note(caller, "node.forget", id).await?;
        Ok(forgotten)
    }

    /// Revokes a node's own token; returns whether it was connected.
    pub async fn revoke_node(&self, caller: &Caller, id: &str) -> Result<bool, ToolError> {
        let record = self.nodes.on_record(id)?;
        // The token first: a node that is only disconnected would reconnect at once.
        self.revoke_node_token(&record).await?;
        let disconnected = self.nodes.disconnect(&record.id, "its token was revoked");
        self.note(caller, "node.revoke", id).await?;
        Ok(disconnected)
    }

    async fn revoke_node_token(&self, record: &NodeRecord) -> Result<(), ToolError> {
        // A node may have several tokens left over from earlier enrolments.
        for token in self.auth.of_node(record) {
            let revoked = self.auth.revoke(token).await;
            revoked?;
        }
        Ok(())
    }

    /// Reloads the redactor with all current secrets.
    pub async fn redact_stored_secrets(&self) -> Result<(), StoreError> {
        let vault = self.store.vault().all().await?;
        // OAuth client ids are in the vault but public; redacting them would mangle URLs.
        let secret = |(name, _): &(String, Secret)| !is_client_id(name);
        let vault = vault.into_iter().filter(secret);
        let mut secrets: Vec<Secret> = vault.map(|(_, secret)| secret).collect();
        secrets.push(self.owner_token.clone());
        secrets.extend(self.tool_deps.host.secrets());
        secrets.extend(self.servers.oauth().passing_secrets());
        self.redactor.store(Arc::new(Redactor::new(&secrets)));
        Ok(())
    }

    /// The redactor for all current secrets.
    pub fn redactor(&self) -> Arc<Redactor> {
        self.redactor.load_full()
    }

    /// Redacts all secrets from a value.
    pub fn redact(&self, value: &mut Value) {
        self.redactor.load().value(value);
    }

    /// Writes an owner's action to the audit log; on disk when this returns.
    pub async fn note(&self, caller: &Caller, what: &str, about: &str) -> Result<(), StoreError> {
        let entry = AuditEntry {
            caller: caller.key(),
            tool: what.to_owned(),
            summary: self.redactor.load().text(about).into_owned(),
            status: AuditStatus::Ok,
            ..AuditEntry::new(AuditKind::Event, self.clock.now())
        };
        self.store.audit().record(entry, Durability::OnDisk).await
    }

    /// Fires when the gateway shuts down.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Stops accepting calls and lets running ones finish within the grace period.
    pub async fn drain(&self) {
        // Parked before cancelling: a call that arrives now is rejected, not interrupted.
        self.path.keep_requests_open();
        self.stopping.cancel();
        let grace = Duration::from_secs(self.settings.current().limits.shutdown_seconds.into());
        self.path.drain(grace).await;
        self.minds().rest().await;
        self.cron().rest().await;
        self.chats().rest().await;
    }

    /// Stops everything and flushes to disk. The gateway cannot be used afterwards.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.path.keep_requests_open();
        self.stopping.cancel();
        self.path.drain(Duration::ZERO).await;
        self.minds().rest().await;
        self.cron().rest().await;
        self.chats().rest().await;
        self.servers.stop().await;
        // Both flushes run even if the first fails; the store is closed in any case.
        let flushed = self.auth.flush().await.and(self.nodes.flush().await);
        self.store.close().await.and(flushed)
    }
}
