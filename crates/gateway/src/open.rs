//! Opening a gateway: creates its parts, each before those that depend on it.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use arc_swap::ArcSwap;
use manyhands_agent::Minds;
use manyhands_agent_services::{AgentMailer, ModelRegistry, People, SpawnedAgents};
use manyhands_config::ConfigFile;
use manyhands_core::{Catalogue, Clock, Ids, Secret};
use manyhands_federation::oauth_guests::Guests;
use manyhands_federation::servers::{Servers, ServersParts};
use manyhands_guard::{PendingConnections, Redactor};
use manyhands_host::artifacts::ArtifactStore;
use manyhands_host::web::Web;
use manyhands_host::workspace::Workspace;
use manyhands_host::{Host, HostParts, LiveSettings, Resources};
use manyhands_jobs::{JobScheduler, JobSchedulerParts};
use manyhands_messaging::{Chats, ChatsParts};
use manyhands_node_registry::Nodes;
use manyhands_node_registry::transfer::Transfers;
use manyhands_path::{Parts, Path};
use manyhands_store::{AuditEntry, AuditKind, AuditStatus, Durability, Store, StoreError};
use manyhands_tools::{Finder, FinderParts, Scripts, ToolDeps};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::agent_env;
use crate::auth::Authenticator;
use crate::folders::keep_apart;
use crate::gateway::Gateway;
use crate::home::{self, CONFIG_FILE};
use crate::login_links::LoginLinks;
use crate::reconfigure::{quotas, rules};
use crate::start_error::StartError;

/// Unauthenticated connections, in total and per address. Well below the usual limit of 1,024 file
/// descriptors of a process.
const UNKNOWN_CONNECTIONS: (usize, usize) = (512, 256);
/// Unauthenticated sockets: each may send one whole frame before it presents a token.
const UNKNOWN_SOCKETS: (usize, usize) = (128, 96);

/// Options for opening a gateway.
pub struct Options {
    /// Home folder.
    pub home: PathBuf,
    /// Clock.
    pub clock: Arc<dyn Clock>,
    /// Ids and randomness.
    pub ids: Ids,
    /// Passphrase of the vault, if it has one.
    pub passphrase: Option<Secret>,
    /// Environment of the gateway process; tools see only the variables named for them.
    pub environment: BTreeMap<String, String>,
    /// Word vectors for discovery, unless set in the settings.
    pub vectors: Option<PathBuf>,
}

impl Gateway {
    /// Opens a home, creating what is missing.
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
        let auth = Authenticator::open(
            store.tokens().clone(),
            clock.clone(),
            ids.clone(),
            settings.limits.failed_logins,
        )
        .await?;
        let owner_token = home::owner_token(&home, &auth, &*clock).await?;
        // Before any folder is opened: a folder inside the home would expose tokens and keys to
        // tools.
        let live = LiveSettings::new(settings.clone());
        keep_apart(&home, &settings)?;
        trust_owner_certificates(settings.egress.ca_file.as_deref())?;
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
        // Agents are created last because they use the path; parts that need them get this cell.
        let minds: Arc<OnceLock<Minds>> = Arc::default();
        let spawned_agents = Arc::new(SpawnedAgents::open(&store).await?);
        let model_registry = ModelRegistry::open(
            &settings,
            &store,
            &spawned_agents,
            clock.clone(),
            ids.clone(),
        )
        .await?;
        let model_registry = Arc::new(model_registry);
        let post = AgentMailer {
            mail: store.mail().clone(),
            minds: minds.clone(),
            settings: live.clone(),
            spawned_agents,
            clock: clock.clone(),
            ids: ids.clone(),
        };
        let stopping = CancellationToken::new();
        let cron = JobScheduler::new(JobSchedulerParts {
            records: store.cron().clone(),
            minds: minds.clone(),
            spawned_agents: post.spawned_agents.clone(),
            workspace: workspace.clone(),
            settings: live.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            stopping: stopping.clone(),
        });
        let artifacts = ArtifactStore::new(&store, live.clone(), redactor.clone(), clock.clone());
        let resources = Resources::new(store.collections().clone(), live.clone(), redactor.clone());
        // The path needs the catalogue and its tools need the path, so they get a weak cell that is
        // set below; weak, so that the gateway can be dropped.
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
            artifacts: artifacts.clone(),
            catalogue: catalogue.clone(),
            servers: servers.clone(),
            path: late_path.clone(),
        };
        let people = People::new(host.state().jail(), clock.clone(), ids.clone());
        if let Err(error) = people.contacts.prepare() {
            tracing::warn!(event = "contact_files_failed", %error, "failed to create contact files");
        }
        let chats = Chats::open(ChatsParts {
            store: &store,
            settings: live.clone(),
            web: web.clone(),
            artifacts: artifacts.clone(),
            people: people.clone(),
            minds: minds.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            stopping: stopping.clone(),
        });
        let chats = chats.await?;
        cron.delivers_by(chats.carry_for(&people));
        let tool_deps = ToolDeps {
            settings: live.clone(),
            minds: minds.clone(),
            blobs: store.blobs().clone(),
            post,
            people,
            artifacts,
            resources,
            finder,
            scripts,
            cron,
            chats,
            connections: Arc::new(store.connections().clone()),
            model_registry: model_registry.clone(),
            transfers: Transfers::new(nodes.clone(), workspace.clone()),
            workspace,
            nodes: nodes.clone(),
            web,
            host,
            ids: ids.clone(),
        };
        catalogue.store(Arc::new(manyhands_tools::built_in(&tool_deps)));
        let rules = rules(&settings, &tool_deps.post.spawned_agents)
            .map_err(|e| StartError::Policy(e.to_string()))?;
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
            auth,
            settings: live,
            clock,
            ids,
            tool_deps,
            nodes,
            servers,
            guests: Guests::default(),
            model_registry,
            minds,
            catalogue,
            redactor,
            owner_token,
            config,
            listening: OnceLock::new(),
            stopping,
            links: LoginLinks::default(),
            findings: Mutex::default(),
            lobby: PendingConnections::new(UNKNOWN_CONNECTIONS.0, UNKNOWN_CONNECTIONS.1),
            socket_lobby: PendingConnections::new(UNKNOWN_SOCKETS.0, UNKNOWN_SOCKETS.1),
        });
        // From here on secrets are redacted, so nothing may be logged or returned before.
        gateway.redact_stored_secrets().await?;
        gateway.redact_new_logins();
        gateway.close_interrupted_calls().await?;
        let (model_registry, workspace) = (&gateway.model_registry, &gateway.tool_deps.workspace);
        let minds = agent_env::minds(&gateway, model_registry.clone(), workspace.clone());
        let _ = gateway.minds.set(minds); // set here and nowhere else
        gateway.servers.take_over(&gateway.settings).await;
        Ok(gateway)
    }

    /// Adds tokens obtained while running to the redactor.
    fn redact_new_logins(self: &Arc<Self>) {
        let gateway = Arc::downgrade(self);
        self.servers.oauth().teaches(Box::new(move || {
            let gateway = gateway.upgrade();
            Box::pin(async move {
                if let Some(Err(error)) = match &gateway {
                    Some(gateway) => Some(gateway.redact_stored_secrets().await),
                    None => None,
                } {
                    tracing::error!(event = "redactor_update_failed", %error, "failed to add a new token to the redactor");
                }
            })
        }));
    }

    /// Closes calls interrupted by a crash in the audit log, with unknown outcome.
    async fn close_interrupted_calls(&self) -> Result<(), StoreError> {
        for record in self.store.audit().unfinished().await? {
            tracing::warn!(event = "call_interrupted", tool = record.entry.tool, call = ?record.entry.call, "call interrupted by a crash; its outcome is unknown");
            let entry = AuditEntry {
                at: self.clock.now(),
                kind: AuditKind::Finished,
                status: AuditStatus::Error,
                code: "interrupted".to_owned(),
                ..record.entry
            };
            self.store.audit().record(entry, Durability::OnDisk).await?;
        }
        Ok(())
    }
}

/// Trusts the owner's certificates; must run before the first TLS connection.
fn trust_owner_certificates(path: Option<&FilePath>) -> Result<(), StartError> {
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
