//! The gateway put together: store, path, doorman, settings.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use manyhands_agent::Minds;
use manyhands_config::{ConfigError, ConfigFile};
use manyhands_core::{
    CallRequest, Caller, Catalogue, Clock, Ids, Invoke, NodeId, Outcome, Role, Secret, ToolError,
};
use manyhands_guard::{Lobby, PrivateFileError, Redactor};
use manyhands_path::{Parts, Path};
use manyhands_store::{
    AuditEntry, AuditKind, AuditStatus, Durability, NodeRecord, Store, StoreError,
};
use manyhands_wire::{NodeExecEventParams, NodeForgetResult};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::artifacts::Shelf;
use crate::chats::{Chats, ChatsParts};
use crate::cron::{Cron, CronParts};
use crate::doctor::Doctor;
use crate::doorman::{Admitted, Doorman};
use crate::families::gateway::{Scripts, resources::Resources};
use crate::families::{Families, People};
use crate::finder::{Finder, FinderParts};
use crate::folders::keep_apart;
use crate::guests::Guests;
use crate::home::{self, CONFIG_FILE};
use crate::host::{Host, HostParts};
use crate::http::{Links, Listening};
use crate::minds::{self, Kin, Post, Thinkers};
use crate::nodes::Nodes;
use crate::nodes::transfer::Transfers;
use crate::reconfigure::{quotas, rules};
use crate::servers::{Servers, ServersParts, is_client_id};
use crate::settings::LiveSettings;
use crate::web::Web;
use crate::workspace::Workspace;

/// How many connections there may be that have not shown a valid token, in total and of one address.
/// Well below the 1,024 descriptors that a process usually has.
const UNKNOWN_CONNECTIONS: (usize, usize) = (512, 256);
/// How many of them may be sockets: each may send a whole frame before it has to show a token.
const UNKNOWN_SOCKETS: (usize, usize) = (128, 96);

/// Why a gateway did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings are wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The store did not open.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A private file of the home is not there or not private.
    #[error(transparent)]
    Private(#[from] PrivateFileError),
    /// The owner's token file holds something else.
    #[error("{} does not hold a token; remove it and start again to get a new one", .path.display())]
    OwnerToken {
        /// Where it is.
        path: PathBuf,
    },
    /// A rule's pattern did not compile.
    #[error("a policy rule holds a wrong pattern: {0}")]
    Policy(String),
    /// A folder for tools holds the gateway's own files, or lies among them.
    #[error("{key}: {} holds the gateway's own files in {} or its program, or lies among them; choose a folder apart from both", .folder.display(), .home.display())]
    Folder {
        /// Which setting.
        key: &'static str,
        /// The folder.
        folder: PathBuf,
        /// The gateway's home.
        home: PathBuf,
    },
    /// One folder for tools lies in another, and could be swapped from there.
    #[error("{key}: {} lies in {other}, where programs could put another in its place; choose folders apart", .folder.display())]
    Nested {
        /// Which setting.
        key: &'static str,
        /// The setting of the folder around it.
        other: &'static str,
        /// The folder.
        folder: PathBuf,
    },
    /// The owner's certificates cannot be used.
    #[error("egress.ca_file {}: {why}", .path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A folder that the tools of this machine work in cannot be opened.
    #[error(
        "a folder for the tools of this machine cannot be opened: {source}; see workspace_root, file_cache_dir and file_state_dir"
    )]
    Host {
        /// Why.
        source: std::io::Error,
    },
    /// The address cannot be listened on.
    #[error("{0}")]
    Listen(String),
}

/// What a gateway is opened with.
pub struct Options {
    /// Where everything is kept.
    pub home: PathBuf,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids and randomness.
    pub ids: Ids,
    /// The vault's passphrase, when it has one.
    pub passphrase: Option<Secret>,
    /// The environment the gateway was started in; tools see only what is named to them.
    pub environment: BTreeMap<String, String>,
    /// Where word vectors for discovery are, unless the settings say so.
    pub vectors: Option<PathBuf>,
}

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
    pub(crate) families: Families,
    /// Machines that lend their hands.
    pub(crate) nodes: Arc<Nodes>,
    /// MCP servers and accounts of services.
    pub(crate) servers: Arc<Servers>,
    /// Those who come with tokens that others made.
    pub(crate) guests: Guests,
    /// The models there are now.
    pub(crate) thinkers: Arc<Thinkers>,
    minds: Arc<OnceLock<Minds>>,
    pub(crate) catalogue: Arc<ArcSwap<Catalogue>>,
    redactor: Arc<ArcSwap<Redactor>>,
    owner_token: Secret,
    pub(crate) config: ConfigFile,
    listening: OnceLock<Listening>,
    stopping: CancellationToken,
    /// Links that log a browser in, once.
    pub(crate) links: Links,
    /// Looks whether all is in order.
    pub(crate) doctor: Doctor,
    /// Connections that have not shown a valid token.
    pub(crate) lobby: Arc<Lobby>,
    /// Sockets that have not sent `connect`.
    pub(crate) socket_lobby: Arc<Lobby>,
}

impl Gateway {
    /// Opens a home, creating what is not there yet.
    pub async fn open(options: Options) -> Result<Arc<Self>, StartError> {
        let Options {
            home,
            clock,
            ids,
            passphrase,
            environment,
            vectors,
        } = options;
        let store = Store::open(&home, clock.clone(), ids.clone(), passphrase).await?;
        let config = ConfigFile::new(home.join(CONFIG_FILE));
        config.create()?;
        let (settings, _) = config.load()?;
        store.limit(quotas(&settings));
        let doorman = Doorman::open(
            store.tokens().clone(),
            clock.clone(),
            ids.clone(),
            settings.limits.failed_logins,
        )
        .await?;
        let owner_token = home::owner_token(&home, &doorman, &*clock).await?;
        let live = LiveSettings::new(settings.clone());
        keep_apart(&home, &settings)?;
        trust_own(settings.egress.ca_file.as_deref())?;
        let host_failed = |source| StartError::Host { source };
        let artifacts = store.artifacts().clone();
        let redactor = Arc::new(ArcSwap::from_pointee(Redactor::new(&[])));
        let host = Host::open(HostParts {
            home: &home,
            environment,
            settings: live.clone(),
            artifacts,
            clock: clock.clone(),
            redactor: redactor.clone(),
        })
        .map_err(host_failed)?;
        let catalogue: Arc<ArcSwap<Catalogue>> = Arc::default();
        let nodes = Nodes::open(
            store.nodes().clone(),
            catalogue.clone(),
            clock.clone(),
            ids.clone(),
        );
        let nodes = Arc::new(nodes.await?);
        let web = Web::new(&live, host.clone(), store.vault().clone());
        let servers = Servers::open(ServersParts {
            store: &store,
            host: host.clone(),
            web: web.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            settings: live.clone(),
            catalogue: catalogue.clone(),
            nodes: nodes.clone(),
        });
        let servers = servers.await?;
        let workspace = Workspace::new(&store, clock.clone(), live.clone());
        let minds: Arc<OnceLock<Minds>> = Arc::default();
        let kin = Arc::new(Kin::open(&store).await?);
        let thinkers = Thinkers::open(&settings, &store, &kin, clock.clone(), ids.clone()).await?;
        let thinkers = Arc::new(thinkers);
        let post = Post {
            mail: store.mail().clone(),
            minds: minds.clone(),
            settings: live.clone(),
            kin,
            clock: clock.clone(),
            ids: ids.clone(),
        };
        let stopping = CancellationToken::new();
        let cron = Cron::new(CronParts {
            records: store.cron().clone(),
            minds: minds.clone(),
            kin: post.kin.clone(),
            workspace: workspace.clone(),
            settings: live.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            stopping: stopping.clone(),
        });
        let shelf = Shelf::new(&store, live.clone(), redactor.clone(), clock.clone());
        let resources = Resources::new(store.collections().clone(), live.clone(), redactor.clone());
        let late_path: Arc<OnceLock<Weak<Path>>> = Arc::default();
        let finder = Finder::new(FinderParts {
            catalogue: catalogue.clone(),
            servers: servers.clone(),
            resources: resources.clone(),
            workspace: workspace.clone(),
            nodes: nodes.clone(),
            settings: live.clone(),
            clock: clock.clone(),
            vectors: settings.discovery.vectors.clone().or(vectors),
            path: late_path.clone(),
        });
        let scripts = Scripts {
            pool: host.scripts(clock.clone()),
            shelf: shelf.clone(),
            catalogue: catalogue.clone(),
            servers: servers.clone(),
            path: late_path.clone(),
        };
        let people = People::new(host.state().jail(), clock.clone(), ids.clone());
        if let Err(error) = people.contacts.prepare() {
            tracing::warn!(%error, "the files of contacts could not be created");
        }
        let chats = Chats::open(ChatsParts {
            store: &store,
            settings: live.clone(),
            web: web.clone(),
            shelf: shelf.clone(),
            people: people.clone(),
            minds: minds.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            stopping: stopping.clone(),
        });
        let chats = chats.await?;
        chats.carry_for(&people, &cron);
        let families = Families {
            minds: minds.clone(),
            blobs: store.blobs().clone(),
            post,
            people,
            shelf,
            resources,
            finder,
            scripts,
            cron,
            chats,
            connections: Arc::new(store.connections().clone()),
            thinkers: thinkers.clone(),
            transfers: Transfers::new(nodes.clone(), workspace.clone()),
            workspace,
            nodes: nodes.clone(),
            web,
            host,
            ids: ids.clone(),
        };
        catalogue.store(Arc::new(families.catalogue(&live)));
        let rules =
            rules(&settings, &families.post.kin).map_err(|e| StartError::Policy(e.to_string()))?;
        let path = Path::new(Parts {
            catalogue: catalogue.clone(),
            store: store.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            redactor: redactor.clone(),
            limits: settings.limits.clone(),
            policy: settings.policy,
        })
        .map_err(|e| StartError::Policy(e.to_string()))?;
        path.reconfigure(settings.limits, rules);
        let path = Arc::new(path);
        let _ = late_path.set(Arc::downgrade(&path)); // set here and nowhere else
        let gateway = Arc::new(Self {
            store,
            path,
            doorman,
            settings: live,
            clock,
            ids,
            families,
            nodes,
            servers,
            guests: Guests::default(),
            thinkers,
            minds,
            catalogue,
            redactor,
            owner_token,
            config,
            listening: OnceLock::new(),
            stopping,
            links: Links::default(),
            doctor: Doctor::default(),
            lobby: Lobby::new(UNKNOWN_CONNECTIONS.0, UNKNOWN_CONNECTIONS.1),
            socket_lobby: Lobby::new(UNKNOWN_SOCKETS.0, UNKNOWN_SOCKETS.1),
        });
        gateway.learn_secrets().await?;
        gateway.teach_of_logins();
        gateway.close_interrupted_calls().await?;
        let (thinkers, workspace) = (&gateway.thinkers, &gateway.families.workspace);
        let minds = minds::minds(&gateway, thinkers.clone(), workspace.clone());
        let _ = gateway.minds.set(minds); // set here and nowhere else
        gateway.servers.take_over(&gateway.settings).await;
        Ok(gateway)
    }

    /// The agents' workspaces.
    pub(crate) fn workspace(&self) -> &Workspace {
        &self.families.workspace
    }

    /// The artifacts.
    pub(crate) fn shelf(&self) -> &Shelf {
        &self.families.shelf
    }

    /// The post between agents.
    pub(crate) fn post(&self) -> &Post {
        &self.families.post
    }

    /// Contacts, and what is to be done for them.
    pub(crate) fn people(&self) -> &People {
        &self.families.people
    }

    /// Chats on platforms.
    pub(crate) fn chats(&self) -> &Chats {
        &self.families.chats
    }

    /// The jobs of this gateway.
    pub(crate) fn cron(&self) -> &Cron {
        &self.families.cron
    }

    /// The minds of this gateway.
    pub(crate) fn minds(&self) -> &Minds {
        self.minds.get().expect("an open gateway has its minds")
    }

    /// Where everything is kept.
    pub fn home(&self) -> &FilePath {
        self.store.home()
    }

    /// The file of the settings.
    pub(crate) fn config_file(&self) -> &ConfigFile {
        &self.config
    }

    /// Where it listens, once it does.
    pub fn listening(&self) -> Option<Listening> {
        self.listening.get().copied()
    }

    pub(crate) fn listens_on(&self, listening: Listening) {
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

    /// A token for this machine's own node: it holds as long as this gateway runs.
    pub fn own_node_token(&self, node: &NodeId) -> Secret {
        let name = self.nodes.present_name(node);
        self.doorman.create_passing(name.as_str(), Role::Node)
    }

    /// Takes news of a program in the background of a node. What has ended is told in the
    /// conversation that started it, once, before the node hears that it was taken.
    pub(crate) async fn take_news(
        &self,
        node: &NodeId,
        told: NodeExecEventParams,
    ) -> Result<bool, ToolError> {
        let kept = self.nodes.tell(node, told).await;
        let (new, news) = kept?;
        if let Some(announcement) = minds::announcement(&news) {
            let (key, run, input, origin) = announcement;
            let sent = self.minds().send(&key, Some(run), input, &origin).await;
            if let Err(error) = sent {
                // The conversation may be full, or its token gone: the news are kept all the same.
                tracing::warn!(%node, session = %key, %error, "news of a program were not told in its conversation");
            }
        }
        Ok(new)
    }

    /// Forgets a node, and takes its own token back.
    pub(crate) async fn forget_node(
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

    /// Takes a node's own token back; whether it was connected.
    pub(crate) async fn revoke_node(&self, caller: &Caller, id: &str) -> Result<bool, ToolError> {
        let record = self.nodes.on_record(id)?;
        self.revoke_node_token(&record).await?;
        let disconnected = self
            .nodes
            .disconnect(&record.id, "its token was taken back");
        self.note(caller, "node.revoke", id).await?;
        Ok(disconnected)
    }

    async fn revoke_node_token(&self, record: &NodeRecord) -> Result<(), ToolError> {
        for token in self.doorman.of_node(record) {
            let revoked = self.doorman.revoke(token).await;
            revoked?;
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

    /// Tokens that come while it runs are cut out of results like any other secret.
    fn teach_of_logins(self: &Arc<Self>) {
        let gateway = Arc::downgrade(self);
        self.servers.oauth().teaches(Box::new(move || {
            let gateway = gateway.upgrade();
            Box::pin(async move {
                if let Some(Err(error)) = match &gateway {
                    Some(gateway) => Some(gateway.learn_secrets().await),
                    None => None,
                } {
                    tracing::error!(%error, "a new token could not be told to the redactor");
                }
            })
        }));
    }

    /// What cuts every secret there is out of texts.
    pub(crate) fn redactor(&self) -> Arc<Redactor> {
        self.redactor.load_full()
    }

    /// Cuts every secret there is out of a value.
    pub(crate) fn redact(&self, value: &mut Value) {
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

    /// Calls that a crash cut off are closed in the audit as what they are: of unknown outcome.
    async fn close_interrupted_calls(&self) -> Result<(), StoreError> {
        for begun in self.store.audit().unfinished().await? {
            tracing::warn!(tool = begun.entry.tool, call = ?begun.entry.call, "a call was cut off by a crash; its outcome is not known");
            let entry = AuditEntry {
                at: self.clock.now(),
                kind: AuditKind::Finished,
                status: AuditStatus::Error,
                code: "interrupted".to_owned(),
                ..begun.entry
            };
            self.store.audit().record(entry, Durability::OnDisk).await?;
        }
        Ok(())
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

/// Trusts the certificates that the owner names, before anything is asked over TLS.
fn trust_own(path: Option<&FilePath>) -> Result<(), StartError> {
    let Some(path) = path else {
        return Ok(());
    };
    let read = std::fs::read(path).map_err(|error| error.to_string());
    let trusted = read.and_then(|pem| manyhands_guard::trust(&pem));
    trusted.map_err(|why| StartError::Certificates {
        path: path.to_owned(),
        why,
    })
}
