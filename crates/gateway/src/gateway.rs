//! The gateway put together: store, path, doorman, settings.

use std::path::Path as FilePath;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use manyhands_agent::Minds;
use manyhands_agent_services::{People, Post, Thinkers};
use manyhands_config::ConfigFile;
use manyhands_core::{
    CallRequest, Caller, Catalogue, Clock, Ids, Invoke, NodeId, Outcome, Role, Secret, ToolError,
};
use manyhands_federation::oauth_guests::Guests;
use manyhands_federation::servers::{Servers, is_client_id};
use manyhands_guard::{Lobby, Redactor};
use manyhands_host::LiveSettings;
use manyhands_host::artifacts::Shelf;
use manyhands_host::workspace::Workspace;
use manyhands_jobs::Cron;
use manyhands_messaging::Chats;
use manyhands_node_registry::Nodes;
use manyhands_path::Path;
use manyhands_store::{
    AuditEntry, AuditKind, AuditStatus, Durability, NodeRecord, Store, StoreError,
};
use manyhands_tools::Families;
use manyhands_wire::{NodeExecEventParams, NodeForgetResult};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::announcement::announcement;
use crate::auth::{Admitted, Doorman};
use crate::finding::Finding;
use crate::listening::Listening;
use crate::login_links::Links;

/// The assembled gateway. Faces hold it and ask its path.
pub struct Gateway {
    /// Everything that is kept.
    pub store: Store,
    /// The one path to the tools.
    pub path: Arc<Path>,
    /// Who may come in.
    pub doorman: Doorman,
    /// The settings in force.
    pub settings: LiveSettings,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Ids,
    /// The built-in tools and what they use.
    pub families: Families,
    /// Machines that lend their hands.
    pub nodes: Arc<Nodes>,
    /// MCP servers and accounts of services.
    pub servers: Arc<Servers>,
    /// Those who come with tokens that others made.
    pub guests: Guests,
    /// The models there are now.
    pub thinkers: Arc<Thinkers>,
    pub(crate) minds: Arc<OnceLock<Minds>>,
    /// The catalogue of all tools.
    pub catalogue: Arc<ArcSwap<Catalogue>>,
    pub(crate) redactor: Arc<ArcSwap<Redactor>>,
    pub(crate) owner_token: Secret,
    /// The file of the settings.
    pub config: ConfigFile,
    pub(crate) listening: OnceLock<Listening>,
    pub(crate) stopping: CancellationToken,
    /// Links that log a browser in, once.
    pub(crate) links: Links,
    /// The last findings of a check, and when they were made.
    pub findings: Mutex<Option<(Duration, Vec<Finding>)>>,
    /// Connections that have not shown a valid token.
    pub lobby: Arc<Lobby>,
    /// Sockets that have not sent `connect`.
    pub socket_lobby: Arc<Lobby>,
}

impl Gateway {
    /// The agents' workspaces.
    pub fn workspace(&self) -> &Workspace {
        &self.families.workspace
    }

    /// The artifacts.
    pub fn shelf(&self) -> &Shelf {
        &self.families.shelf
    }

    /// The post between agents.
    pub fn post(&self) -> &Post {
        &self.families.post
    }

    /// Contacts, and what is to be done for them.
    pub fn people(&self) -> &People {
        &self.families.people
    }

    /// Chats on platforms.
    pub fn chats(&self) -> &Chats {
        &self.families.chats
    }

    /// The jobs of this gateway.
    pub fn cron(&self) -> &Cron {
        &self.families.cron
    }

    /// The minds of this gateway.
    pub fn minds(&self) -> &Minds {
        self.minds.get().expect("an open gateway has its minds")
    }

    /// Where everything is kept.
    pub fn home(&self) -> &FilePath {
        self.store.home()
    }

    /// The file of the settings.
    pub fn config_file(&self) -> &ConfigFile {
        &self.config
    }

    /// Where it listens, once it does.
    pub fn listening(&self) -> Option<Listening> {
        self.listening.get().copied()
    }

    /// Records where it listens, once.
    pub fn listens_on(&self, listening: Listening) {
        let _ = self.listening.set(listening); // said once, by the daemon
    }

    /// Whether it is on its way down.
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Calls a tool for somebody who was let in. The call ends when their token does.
    pub async fn invoke(
        &self,
        asker: &Admitted,
        request: CallRequest,
    ) -> Result<Outcome, ToolError> {
        tokio::select! {
            biased;
            lapsed = self.doorman.lapsed(asker) => Err(lapsed),
            outcome = self.path.invoke(request) => outcome,
        }
    }

    /// A link that logs a browser in, once: its path and fragment.
    pub fn login_link(&self) -> String {
        let bytes: [u8; 24] = self.ids.random();
        let code: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.links.add(&code, self.clock.now().0);
        format!("/login#code={code}")
    }

    /// Uses the code of a login link up; whether it was good.
    pub fn use_link(&self, code: &str) -> bool {
        self.links.take(code, self.clock.now().0)
    }

    /// A token for this machine's own node: it holds as long as this gateway runs.
    pub fn own_node_token(&self, node: &NodeId) -> Secret {
        let name = self.nodes.present_name(node);
        self.doorman.create_passing(name.as_str(), Role::Node)
    }

    /// Takes news of a program in the background of a node. What has ended is told in the
    /// conversation that started it, once, before the node hears that it was taken.
    pub async fn take_news(
        &self,
        node: &NodeId,
        told: NodeExecEventParams,
    ) -> Result<bool, ToolError> {
        let kept = self.nodes.tell(node, told).await;
        let (new, news) = kept.map_err(|e| ToolError::internal(e.to_string()))?;
        if let Some(announcement) = announcement(&news) {
            let (key, run, input, origin) = announcement;
            let sent = self.minds().send(&key, Some(run), input, &origin).await;
            if let Err(error) = sent {
                // The conversation may be full, or its token gone: the news are kept all the same.
                tracing::warn!(event = "process_event_undelivered", %node, session = %key, %error, "background-process event not delivered to its session");
            }
        }
        Ok(new)
    }

    /// Forgets a node, and takes its own token back.
    pub async fn forget_node(
        &self,
        caller: &Caller,
        id: &str,
        force: bool,
    ) -> Result<NodeForgetResult, ToolError> {
        let (forgotten, record) = self.nodes.forget(id, force).await?;
        self.revoke_node_token(&record).await?;
        self.note(caller, "node.forget", id)
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?;
        Ok(forgotten)
    }

    /// Takes a node's own token back; whether it was connected.
    pub async fn revoke_node(&self, caller: &Caller, id: &str) -> Result<bool, ToolError> {
        let record = self.nodes.on_record(id)?;
        self.revoke_node_token(&record).await?;
        let disconnected = self
            .nodes
            .disconnect(&record.id, "its token was taken back");
        self.note(caller, "node.revoke", id)
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?;
        Ok(disconnected)
    }

    async fn revoke_node_token(&self, record: &NodeRecord) -> Result<(), ToolError> {
        for token in self.doorman.of_node(record) {
            let revoked = self.doorman.revoke(token).await;
            revoked.map_err(|e| ToolError::internal(e.to_string()))?;
        }
        Ok(())
    }

    /// Tells the redactor every secret there is.
    pub async fn learn_secrets(&self) -> Result<(), StoreError> {
        let vault = self.store.vault().all().await?;
        let secret = |(name, _): &(String, Secret)| !is_client_id(name);
        let vault = vault.into_iter().filter(secret);
        let mut secrets: Vec<Secret> = vault.map(|(_, secret)| secret).collect();
        secrets.push(self.owner_token.clone());
        secrets.extend(self.families.host.secrets());
        secrets.extend(self.servers.oauth().passing_secrets());
        self.redactor.store(Arc::new(Redactor::new(&secrets)));
        Ok(())
    }

    /// What cuts every secret there is out of texts.
    pub fn redactor(&self) -> Arc<Redactor> {
        self.redactor.load_full()
    }

    /// Cuts every secret there is out of a value.
    pub fn redact(&self, value: &mut Value) {
        self.redactor.load().value(value);
    }

    /// Writes what the owner did into the audit; on disk when this returns.
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

    /// Fires when the gateway is on its way down.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Takes no new calls and lets running ones finish, for a while.
    pub async fn drain(&self) {
        self.path.park();
        self.stopping.cancel();
        let grace = Duration::from_secs(self.settings.current().limits.shutdown_seconds.into());
        self.path.drain(grace).await;
        self.minds().rest().await;
        self.cron().rest().await;
        self.chats().rest().await;
    }

    /// Puts everything on disk. Nothing can be asked afterwards.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.path.park();
        self.stopping.cancel();
        self.path.drain(Duration::ZERO).await;
        self.minds().rest().await;
        self.cron().rest().await;
        self.chats().rest().await;
        self.servers.stop().await;
        let flushed = self.doorman.flush().await.and(self.nodes.flush().await);
        self.store.close().await.and(flushed)
    }
}
