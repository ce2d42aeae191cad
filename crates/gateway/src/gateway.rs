//! The gateway put together: store, path, doorman, settings.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use manyhands_agent::Minds;
use manyhands_config::{Changes, ConfigError, ConfigFile, Settings, Tools, diff};
use manyhands_core::{
    CallRequest, Caller, Catalogue, Clock, ErrorCode, Ids, Invoke, NodeId, Outcome, Role, Secret,
    ToolError,
};
use manyhands_guard::{PrivateFileError, Redactor};
use manyhands_path::{AgentRules, Parts, Path, PolicyEngine, RootOf};
use manyhands_store::{
    AuditEntry, AuditKind, AuditStatus, Blobs, Durability, NodeRecord, Store, StoreError,
};
use manyhands_wire::{NodeExecEventParams, NodeForgetResult};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::artifacts::Shelf;
use crate::doorman::{Admitted, Doorman};
use crate::families;
use crate::families::gateway::{Connections, Scripts, resources::Resources};
use crate::finder::{Finder, FinderParts};
use crate::guests::Guests;
use crate::home::{self, CONFIG_FILE};
use crate::host::{Host, HostParts};
use crate::http::Listening;
use crate::minds::{self, Kin, Post, Thinkers};
use crate::nodes::Nodes;
use crate::nodes::transfer::Transfers;
use crate::servers::{Servers, ServersParts};
use crate::settings::LiveSettings;
use crate::web::Web;
use crate::workspace::Workspace;

/// How many sockets there may be that have not said who they are.
const MAX_STRANGERS: usize = 128;

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
    families: Families,
    /// Machines that lend their hands.
    pub(crate) nodes: Arc<Nodes>,
    /// MCP servers and accounts of services.
    pub(crate) servers: Arc<Servers>,
    /// Those who come with tokens that others made.
    pub(crate) guests: Guests,
    /// The models there are now.
    pub(crate) thinkers: Arc<Thinkers>,
    minds: Arc<OnceLock<Minds>>,
    catalogue: Arc<ArcSwap<Catalogue>>,
    redactor: Arc<ArcSwap<Redactor>>,
    owner_token: Secret,
    config: ConfigFile,
    listening: OnceLock<Listening>,
    stopping: CancellationToken,
    /// How many sockets there may be that have not said who they are.
    pub(crate) strangers: Arc<Semaphore>,
}

/// What the families' tools stand on.
struct Families {
    workspace: Workspace,
    minds: Arc<OnceLock<Minds>>,
    nodes: Arc<Nodes>,
    transfers: Transfers,
    host: Host,
    web: Web,
    ids: Ids,
    blobs: Blobs,
    post: Post,
    shelf: Shelf,
    resources: Resources,
    connections: Arc<dyn Connections>,
    thinkers: Arc<Thinkers>,
    finder: Arc<Finder>,
    scripts: Scripts,
}

impl Families {
    /// All tools that are switched on.
    fn catalogue(&self, settings: &LiveSettings, all: &Arc<ArcSwap<Catalogue>>) -> Catalogue {
        let switches = &settings.current().tools;
        let minds = families::MindGround {
            minds: self.minds.clone(),
            settings: settings.clone(),
            ids: self.ids.clone(),
            workspace: self.workspace.clone(),
            blobs: self.blobs.clone(),
            post: self.post.clone(),
        };
        let gsv = families::gsv::tools(&families::gsv::Ground {
            workspace: &self.workspace,
            settings,
            nodes: &self.nodes,
            transfers: &self.transfers,
            catalogue: all,
            minds: &minds,
        });
        let tool = families::tool::tools(switches, &self.host, &self.web, &minds);
        let unified = families::unified::tools(switches, &self.host, &self.web, &minds);
        let gateway = families::gateway::tools(&families::gateway::Ground {
            shelf: &self.shelf,
            resources: &self.resources,
            connections: &self.connections,
            web: &self.web,
            thinkers: &self.thinkers,
            finder: &self.finder,
            scripts: &self.scripts,
            settings,
            catalogue: all,
        });
        let mut catalogue = Catalogue::default();
        for name in switched_off(switches) {
            catalogue.disable(name);
        }
        for tool in gsv.into_iter().chain(tool).chain(unified).chain(gateway) {
            catalogue
                .add(tool)
                .expect("built-in tools have names of their own");
        }
        catalogue
    }
}

/// The owner's rules and those of agents; whoever an agent made is bound by that agent's.
fn rules(settings: &Settings, kin: &Arc<Kin>) -> Result<PolicyEngine, String> {
    let own = settings.agents.iter();
    let own: AgentRules = own
        .map(|(agent, said)| (agent.clone(), said.policy.clone()))
        .collect();
    let (kin, named) = (kin.clone(), own.clone());
    let root_of: RootOf = Arc::new(move |agent| match named.contains_key(agent) {
        true => agent.clone(),
        false => kin.place(agent).1,
    });
    PolicyEngine::with_agents(&settings.policy, &own, root_of).map_err(|e| e.to_string())
}

/// Refuses folders for tools that would let them at the gateway's own files.
fn keep_apart(home: &FilePath, settings: &Settings) -> Result<(), StartError> {
    let home = full(home);
    let default = |chosen: &Option<PathBuf>, name: &str| {
        full(
            &chosen
                .clone()
                .unwrap_or_else(|| home.join("host").join(name)),
        )
    };
    let three = [
        (
            "workspace_root",
            default(&settings.workspace_root, "workspace"),
        ),
        ("file_cache_dir", default(&settings.file_cache_dir, "cache")),
        ("file_state_dir", default(&settings.file_state_dir, "state")),
    ];
    for (key, folder) in &three {
        let nested =
            |(other, around): &&(&str, PathBuf)| other != key && folder.starts_with(around);
        if let Some((other, _)) = three.iter().find(nested) {
            return Err(StartError::Nested {
                key,
                other,
                folder: folder.clone(),
            });
        }
        apart(key, folder, &home)?;
    }
    keep_roots_apart(&home, settings)
}

/// The same for the folders that may be read beside those.
fn keep_roots_apart(home: &FilePath, settings: &Settings) -> Result<(), StartError> {
    let home = full(home);
    let mut roots = settings.tools.read_file.roots.iter();
    roots.try_for_each(|root| apart("tools.read_file.roots", &full(FilePath::new(root)), &home))?;
    for agent in settings.acp.agents.values() {
        for folder in agent.cwd.iter().chain(&agent.home) {
            apart("acp.agents", &full(folder), &home)?;
        }
        // A folder with programs may well be that of the gateway's own.
        if let Some(read) = agent.read.iter().find(|one| home.starts_with(full(one))) {
            return Err(StartError::Folder {
                key: "acp.agents",
                folder: read.clone(),
                home,
            });
        }
    }
    Ok(())
}

fn full(path: &FilePath) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Whether a folder holds neither the gateway's files nor its program, nor lies among them.
fn apart(key: &'static str, folder: &FilePath, home: &FilePath) -> Result<(), StartError> {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(FilePath::parent);
    let holds = home.starts_with(folder) || program.is_some_and(|own| own.starts_with(folder));
    let inside = folder.starts_with(home) && !folder.starts_with(home.join("host"));
    if holds || inside {
        return Err(StartError::Folder {
            key,
            folder: folder.to_owned(),
            home: home.to_owned(),
        });
    }
    Ok(())
}

/// The names of the tools that are switched off.
fn switched_off(switches: &Tools) -> impl Iterator<Item = &'static str> {
    let all = [
        ("read_file", switches.read_file.enabled),
        ("write_file", switches.write_file.enabled),
        ("bash", switches.bash.enabled),
        ("powershell", switches.powershell.enabled),
        ("url_fetch", switches.url_fetch.enabled),
        ("web_search", switches.web_search.enabled),
        ("tool::file_read", switches.file_read.enabled),
        ("tool::file_write", switches.file_write.enabled),
        ("tool::file_list", switches.file_list.enabled),
        ("tool::apply_patch", switches.apply_patch.enabled),
        ("tool::shell_exec", switches.shell_exec.enabled),
        ("tool::web_fetch", switches.web_fetch.enabled),
        ("tool::web_search", switches.web_search.enabled),
        ("spawn", switches.spawn.enabled),
        ("acp_spawn", switches.acp_spawn.enabled),
        ("acp_permit", switches.acp_spawn.enabled),
        ("plan_create", switches.plan_create.enabled),
        ("tool::agent_spawn", switches.agent_spawn.enabled),
        ("tool::agent_send", switches.agent_send.enabled),
    ];
    all.into_iter().filter(|(_, on)| !on).map(|(name, _)| name)
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
        let servers = Servers::open(ServersParts {
            store: &store,
            host: host.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            settings: live.clone(),
            catalogue: catalogue.clone(),
            nodes: nodes.clone(),
        });
        let servers = servers.await?;
        let workspace = Workspace::new(store.blobs().clone(), live.clone());
        let minds: Arc<OnceLock<Minds>> = Arc::default();
        let kin = Arc::new(Kin::open(store.blobs().clone()).await?);
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
        let shelf = Shelf::new(&store, live.clone(), redactor.clone(), clock.clone());
        let resources = Resources::new(store.collections().clone(), live.clone(), redactor.clone());
        let finder = Finder::new(FinderParts {
            catalogue: catalogue.clone(),
            servers: servers.clone(),
            resources: resources.clone(),
            workspace: workspace.clone(),
            nodes: nodes.clone(),
            settings: live.clone(),
            clock: clock.clone(),
            vectors: settings.discovery.vectors.clone().or(vectors),
        });
        let scripts = Scripts {
            pool: host.scripts(clock.clone()),
            shelf: shelf.clone(),
            catalogue: catalogue.clone(),
            path: Arc::default(),
        };
        let families = Families {
            minds: minds.clone(),
            blobs: store.blobs().clone(),
            post,
            shelf,
            resources,
            finder,
            scripts,
            connections: Arc::new(store.connections().clone()),
            thinkers: thinkers.clone(),
            transfers: Transfers::new(nodes.clone(), workspace.clone()),
            workspace,
            nodes: nodes.clone(),
            web: Web::new(&live, host.clone(), store.vault().clone()),
            host,
            ids: ids.clone(),
        };
        catalogue.store(Arc::new(families.catalogue(&live, &catalogue)));
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
        let _ = families.scripts.path.set(Arc::downgrade(&path)); // set here and nowhere else
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
            stopping: CancellationToken::new(),
            strangers: Arc::new(Semaphore::new(MAX_STRANGERS)),
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

    /// The minds of this gateway.
    pub(crate) fn minds(&self) -> &Minds {
        self.minds.get().expect("an open gateway has its minds")
    }

    /// Where everything is kept.
    pub fn home(&self) -> &FilePath {
        self.store.home()
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
        let (new, news) = kept.map_err(|e| ToolError::internal(e.to_string()))?;
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
        self.note(caller, "node.forget", id)
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?;
        Ok(forgotten)
    }

    /// Takes a node's own token back; whether it was connected.
    pub(crate) async fn revoke_node(&self, caller: &Caller, id: &str) -> Result<bool, ToolError> {
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
        let mut secrets: Vec<Secret> = vault.into_iter().map(|(_, secret)| secret).collect();
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

    /// Sets one value in config.toml and takes it over; answers with the keys that need a restart.
    pub async fn set_config(
        &self,
        caller: &Caller,
        path: &str,
        value: Value,
    ) -> Result<Vec<String>, ToolError> {
        if manyhands_config::is_local(path) {
            let message = format!(
                "{path} names programs or files of the gateway's machine, and is set there only"
            );
            return Err(ToolError::new(ErrorCode::Forbidden, message)
                .hint("edit config.toml on that machine, or run `manyhands config set` there"));
        }
        self.set_local(caller, path, Some(value)).await
    }

    /// The same for what only this machine decides, once that was seen to; nothing takes a value out.
    pub(crate) async fn set_local(
        &self,
        caller: &Caller,
        path: &str,
        value: Option<Value>,
    ) -> Result<Vec<String>, ToolError> {
        let (file, key) = (self.config.clone(), path.to_owned());
        let set = tokio::task::spawn_blocking(move || match value {
            Some(value) => file.set(&key, &value),
            None => file.unset(&key),
        });
        let (settings, _) = set
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?
            .map_err(|e| config_refusal(&e))?;
        let changes = self.take_over(settings)?;
        self.note(caller, "config.set", path)
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?;
        Ok(changes.needs_restart)
    }

    /// Takes new settings over; what needs a restart is told, and waits for one.
    pub fn take_over(&self, settings: Settings) -> Result<Changes, ToolError> {
        keep_roots_apart(self.home(), &settings)
            .map_err(|e| ToolError::parameter("tools.read_file.roots", e.to_string()))?;
        let changes = diff(&self.settings.current(), &settings);
        let rules = rules(&settings, &self.families.post.kin)
            .map_err(|e| ToolError::parameter("policy.rules", e))?;
        self.path.reconfigure(settings.limits.clone(), rules);
        self.settings.replace(settings);
        if changes.keys.iter().any(|key| key.starts_with("tools.")) {
            let built_in = self.families.catalogue(&self.settings, &self.catalogue);
            self.catalogue.rcu(|all| all.with_built_in(&built_in));
            self.nodes.note_change();
        }
        self.families.web.reconfigure();
        if changes.keys.iter().any(|key| key.starts_with("models.")) {
            self.thinkers.reconfigure(&self.settings.current());
        }
        if changes
            .keys
            .iter()
            .any(|key| key == "mcpServers" || key.starts_with("mcpServers."))
        {
            let (servers, settings) = (self.servers.clone(), self.settings.clone());
            tokio::spawn(async move { servers.take_over(&settings).await });
        }
        if !changes.is_empty() {
            tracing::info!(keys = ?changes.keys, needs_restart = ?changes.needs_restart, "settings changed");
        }
        Ok(changes)
    }

    /// Fires when the gateway is on its way down.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Takes no new calls and lets running ones finish, for a while.
    pub async fn drain(&self) {
        self.stopping.cancel();
        let grace = Duration::from_secs(self.settings.current().limits.shutdown_seconds.into());
        self.path.drain(grace).await;
        self.minds().rest().await;
    }

    /// Puts everything on disk. Nothing can be asked afterwards.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.stopping.cancel();
        self.path.drain(Duration::ZERO).await;
        self.minds().rest().await;
        self.servers.stop().await;
        let flushed = self.doorman.flush().await.and(self.nodes.flush().await);
        self.store.close().await.and(flushed)
    }
}

fn config_refusal(error: &ConfigError) -> ToolError {
    match error {
        ConfigError::Changed { .. } => ToolError::new(ErrorCode::Conflict, error.to_string()),
        ConfigError::Invalid { .. } | ConfigError::Path(_) | ConfigError::Value { .. } => {
            ToolError::parameter("path", error.to_string())
        }
        _ => ToolError::new(ErrorCode::Failed, error.to_string()),
    }
}
