//! Discovery of tools, skills, accounts and resources, over an index that follows their changes.

mod entries;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use manyhands_agent_services::skills::{self, ResolvedSkill};
use manyhands_core::{
    AgentId, Caller, Catalogue, ChatRef, Clock, Invoke, Question, Reach, ToolError,
};
use manyhands_discovery::{Index, IndexEntry, ItemKind, Query, SearchOutcome};
use manyhands_federation::servers::Servers;
use manyhands_host::workspace::Workspace;
use manyhands_host::{LiveSettings, Resources};
use manyhands_node_registry::Nodes;
use manyhands_path::Path;
use tokio::time::Instant;

pub use entries::SkillFacts;

/// How long the skills of an agent are cached.
const SKILLS_HOLD: Duration = Duration::from_secs(10);
/// Agents whose skills are cached.
const MAX_AGENTS: usize = 64;
/// How long the word vectors stay in memory after the last search.
const REST_AFTER: Duration = Duration::from_secs(300);

/// Dependencies of the finder.
pub struct FinderParts {
    /// The catalogue of all tools.
    pub catalogue: Arc<ArcSwap<Catalogue>>,
    /// MCP servers.
    pub servers: Arc<Servers>,
    /// Collections granted to agents.
    pub resources: Resources,
    /// The agents' workspaces.
    pub workspace: Workspace,
    /// Connected nodes.
    pub nodes: Arc<Nodes>,
    /// The current settings.
    pub settings: LiveSettings,
    /// Clock.
    pub clock: Arc<dyn Clock>,
    /// Folder of the word vectors, if any.
    pub vectors: Option<PathBuf>,
    /// Decides what may be found; set once the gateway is assembled.
    pub path: Arc<OnceLock<Weak<Path>>>,
}

/// Finds capabilities that match a request.
pub struct Finder {
    parts: FinderParts,
    index: Arc<Index>,
    seen: Mutex<IndexedTools>,
    skills: Mutex<BTreeMap<AgentId, CachedSkills>>,
    used: Arc<Mutex<Option<Instant>>>,
}

/// The skills of an agent, and when they were read.
type CachedSkills = (Instant, Arc<Vec<SkillFacts>>);

/// The indexed state of the catalogue.
#[derive(Default)]
struct IndexedTools {
    catalogue: usize,
    /// Hash of the tools of each server.
    servers: HashMap<String, u64>,
}

/// A search request.
pub struct FindRequest<'a> {
    pub text: &'a str,
    pub kinds: Option<BTreeSet<ItemKind>>,
    pub limit: usize,
    pub caller: &'a Caller,
    pub agent: &'a AgentId,
    /// Tools the caller is given.
    pub reach: &'a Reach,
    /// The chat the request comes from.
    pub place: Option<&'a ChatRef>,
    /// Only skills for this context, or for all.
    pub context: Option<&'a str>,
    /// Whether to bypass the caches.
    pub refresh: bool,
}

impl Finder {
    /// Creates a finder.
    pub fn new(parts: FinderParts) -> Arc<Self> {
        Arc::new(Self {
            index: Arc::new(Index::new(parts.clock.clone(), parts.vectors.clone())),
            parts,
            seen: Mutex::default(),
            skills: Mutex::default(),
            used: Arc::default(),
        })
    }

    /// The current tools.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.parts.catalogue.load_full()
    }

    /// Whether a call would be allowed; false while the gateway starts or stops.
    pub fn allows(&self, question: Question<'_>) -> bool {
        let path = self.parts.path.get().and_then(Weak::upgrade);
        path.is_some_and(|path| !path.authorize(question).is_denied())
    }

    /// The MCP servers and accounts.
    pub fn servers(&self) -> &Arc<Servers> {
        &self.parts.servers
    }

    /// The resources.
    pub fn resources(&self) -> &Resources {
        &self.parts.resources
    }

    /// Finds what matches and what the caller may see.
    pub async fn find(
        self: &Arc<Self>,
        request: FindRequest<'_>,
    ) -> Result<SearchOutcome, ToolError> {
        let catalogue = self.catalogue();
        let (agent, caller) = (request.agent, request.caller);
        // Gathered before the blocking task, since it cannot await.
        let skills = self.skills(agent, request.refresh).await;
        let accounts: Vec<IndexEntry> =
            entries::accounts(&self.parts.servers.accounts().of_agent(agent));
        let resources: Vec<IndexEntry> = entries::resources(&self.parts.resources.of(agent).await?);
        let mut allowed: BTreeSet<String> = BTreeSet::new();
        let known = accounts.iter().chain(&resources);
        allowed.extend(known.map(|entry| entry.key.clone()));
        let fits = |skill: &&SkillFacts| {
            skill.contexts.is_empty()
                || request
                    .context
                    .is_none_or(|context| skill.contexts.iter().any(|one| one == context))
        };
        allowed.extend(skills.iter().filter(fits).map(|skill| skill.key(agent)));
        let this = self.clone();
        let (all, refresh, owner) = (catalogue.clone(), request.refresh, agent.clone());
        // Owned, because the blocking task may outlive this request.
        let text = request.text.to_owned();
        let (kinds, limit) = (request.kinds, request.limit);
        let (caller, reach) = (caller.clone(), request.reach.clone());
        let place = request.place.cloned();
        // Searching takes milliseconds of CPU and must not block the async threads.
        let search = tokio::task::spawn_blocking(move || {
            this.follow(&all, refresh);
            // Replaced on every search, because what the agent has been granted was read just now.
            this.index.upsert(&format!("connections:{owner}"), accounts);
            this.index.upsert(&format!("resources:{owner}"), resources);
            let own = skills.iter().map(|skill| skill.entry(&owner)).collect();
            this.index.upsert(&format!("skills:{owner}"), own);
            // Checked for every candidate, so that results never reveal a tool the caller may not
            // use.
            let may = |entry: &IndexEntry| match entry.kind {
                ItemKind::Tool => all.resolve(&entry.key).is_some_and(|tool| {
                    if !tool.spec().is_usable_in(place.as_ref()) {
                        return false;
                    }
                    let question = Question::available(&caller, &owner, tool.spec());
                    this.allows(question.within(&reach))
                }),
                // The index holds the connections, resources and skills of every agent that has
                // searched, so only the caller's own may match.
                _ => allowed.contains(&entry.key),
            };
            this.index.search(&Query {
                text: &text,
                kinds,
                limit,
                allowed: &may,
            })
        });
        let answer = search.await;
        self.rest_later();
        answer.map_err(|e| ToolError::internal(format!("the search failed: {e}")))
    }

    /// Updates the index to the current catalogue.
    fn follow(&self, catalogue: &Arc<Catalogue>, refresh: bool) {
        let mut seen = self.seen.lock().expect("no panic while held");
        // The catalogue is replaced as a whole, so its address tells whether it changed.
        let now = Arc::as_ptr(catalogue).addr();
        if seen.catalogue == now && !refresh {
            return;
        }
        let offered = entries::by_server(catalogue);
        let gone: Vec<String> = seen
            .servers
            .keys()
            .filter(|server| !offered.contains_key(*server))
            .cloned()
            .collect();
        for server in gone {
            self.index.remove(&format!("tools:{server}"));
            seen.servers.remove(&server);
        }
        for (server, specs) in offered {
            let number = entries::number(&specs);
            // Only changed servers are indexed again; embedding thousands of tools is slow.
            if refresh || seen.servers.get(&server) != Some(&number) {
                let tools = specs.iter().map(|spec| entries::tool(&server, spec));
                self.index
                    .upsert(&format!("tools:{server}"), tools.collect());
                seen.servers.insert(server, number);
            }
        }
        seen.catalogue = now;
    }

    /// The skills an agent can use.
    pub async fn skills(&self, agent: &AgentId, refresh: bool) -> Arc<Vec<SkillFacts>> {
        let now = Instant::now();
        // In a block, so that the lock is released before anything is awaited.
        let cached = {
            let cached = self.skills.lock().expect("no panic while held");
            cached.get(agent).cloned()
        };
        if let Some((at, skills)) = cached
            && now < at + SKILLS_HOLD
            && !refresh
        {
            return skills;
        }
        let settings = self.parts.settings.current();
        let able = self.parts.nodes.abilities();
        let all = skills::resolve_all(&self.parts.workspace, agent, &settings.skills, &able).await;
        let usable = all
            .into_iter()
            .filter(|seen: &ResolvedSkill| seen.status.eligible);
        let skills: Arc<Vec<SkillFacts>> = Arc::new(usable.map(SkillFacts::of).collect());
        // Dropped all at once: a rare event, and simpler than tracking use.
        let mut cached = self.skills.lock().expect("no panic while held");
        if cached.len() >= MAX_AGENTS {
            cached.clear();
        }
        cached.insert(agent.clone(), (now, skills.clone()));
        skills
    }

    /// Releases the word vectors once nobody has searched for a while.
    fn rest_later(self: &Arc<Self>) {
        let now = Instant::now();
        let waiting = self
            .used
            .lock()
            .expect("no panic while held")
            .replace(now)
            .is_some();
        // A release task already runs and will see the newer time.
        if waiting {
            return;
        }
        let (index, used) = (Arc::downgrade(&self.index), self.used.clone());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(REST_AFTER).await;
                let mut last = used.lock().expect("no panic while held");
                if last.is_none_or(|last| last.elapsed() >= REST_AFTER) {
                    // Cleared under the lock, so that a search at this moment starts a new task.
                    *last = None;
                    drop(last);
                    if let Some(index) = index.upgrade() {
                        index.unload_vectors();
                    }
                    return;
                }
            }
        });
    }
}
