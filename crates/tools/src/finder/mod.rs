//! What can be found: tools, skills, accounts and resources, in an index that follows them as they
//! come and go.

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
use manyhands_host::{LiveSettings, Resources};
use manyhands_host::workspace::Workspace;
use manyhands_node_registry::Nodes;
use manyhands_path::Path;
use tokio::time::Instant;

pub use entries::SkillFacts;

/// How long the skills of an agent are taken to be as they were.
const SKILLS_HOLD: Duration = Duration::from_secs(10);
/// How many agents' skills are held.
const MAX_AGENTS: usize = 64;
/// How long the word vectors are held in memory after the last search.
const REST_AFTER: Duration = Duration::from_secs(300);

/// What the finder stands on.
pub struct FinderParts {
    /// The catalogue of all tools.
    pub catalogue: Arc<ArcSwap<Catalogue>>,
    /// MCP servers.
    pub servers: Arc<Servers>,
    /// Collections that agents are granted.
    pub resources: Resources,
    /// The agents' workspaces.
    pub workspace: Workspace,
    /// Connected nodes.
    pub nodes: Arc<Nodes>,
    /// The settings in force.
    pub settings: LiveSettings,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Where word vectors are, if anywhere.
    pub vectors: Option<PathBuf>,
    /// Decides what may be found; there once the gateway is put together.
    pub path: Arc<OnceLock<Weak<Path>>>,
}

/// Finds what fits a request.
pub struct Finder {
    parts: FinderParts,
    index: Arc<Index>,
    seen: Mutex<SeenTools>,
    skills: Mutex<BTreeMap<AgentId, Held>>,
    used: Arc<Mutex<Option<Instant>>>,
}

/// The skills of an agent, and when they were read.
type Held = (Instant, Arc<Vec<SkillFacts>>);

/// What the index holds of the catalogue.
#[derive(Default)]
struct SeenTools {
    catalogue: usize,
    /// A number for what each server offers.
    servers: HashMap<String, u64>,
}

/// Who looks, and for what.
pub struct Wish<'a> {
    pub text: &'a str,
    pub kinds: Option<BTreeSet<ItemKind>>,
    pub limit: usize,
    pub caller: &'a Caller,
    pub agent: &'a AgentId,
    /// The tools that whoever looks is given.
    pub reach: &'a Reach,
    /// The chat in which it is asked.
    pub place: Option<&'a ChatRef>,
    /// Only skills for this context, or for all.
    pub context: Option<&'a str>,
    /// Whether everything is read anew.
    pub anew: bool,
}

impl Finder {
    /// A search over `parts`.
    pub fn new(parts: FinderParts) -> Arc<Self> {
        Arc::new(Self {
            index: Arc::new(Index::new(parts.clock.clone(), parts.vectors.clone())),
            parts,
            seen: Mutex::default(),
            skills: Mutex::default(),
            used: Arc::default(),
        })
    }

    /// The tools there are now.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.parts.catalogue.load_full()
    }

    /// Whether what is asked would be allowed; nothing while the gateway starts or stops.
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

    /// What fits, and may be seen by whoever asks.
    pub async fn find(self: &Arc<Self>, wish: Wish<'_>) -> Result<SearchOutcome, ToolError> {
        let catalogue = self.catalogue();
        let (agent, caller) = (wish.agent, wish.caller);
        let skills = self.skills(agent, wish.anew).await;
        let accounts: Vec<IndexEntry> =
            entries::accounts(&self.parts.servers.accounts().of_agent(agent));
        let resources: Vec<IndexEntry> = entries::resources(&self.parts.resources.of(agent).await?);
        let mut allowed: BTreeSet<String> = BTreeSet::new();
        let known = accounts.iter().chain(&resources);
        allowed.extend(known.map(|entry| entry.key.clone()));
        let fits = |skill: &&SkillFacts| {
            skill.contexts.is_empty()
                || wish
                    .context
                    .is_none_or(|context| skill.contexts.iter().any(|one| one == context))
        };
        allowed.extend(skills.iter().filter(fits).map(|skill| skill.key(agent)));
        let this = self.clone();
        let (all, anew, owner) = (catalogue.clone(), wish.anew, agent.clone());
        let text = wish.text.to_owned();
        let (kinds, limit) = (wish.kinds, wish.limit);
        let (caller, reach) = (caller.clone(), wish.reach.clone());
        let place = wish.place.cloned();
        let search = tokio::task::spawn_blocking(move || {
            this.follow(&all, anew);
            this.index.upsert(&format!("connections:{owner}"), accounts);
            this.index.upsert(&format!("resources:{owner}"), resources);
            let own = skills.iter().map(|skill| skill.entry(&owner)).collect();
            this.index.upsert(&format!("skills:{owner}"), own);
            let may = |entry: &IndexEntry| match entry.kind {
                ItemKind::Tool => all.resolve(&entry.key).is_some_and(|tool| {
                    if !tool.spec().works_in(place.as_ref()) {
                        return false;
                    }
                    let question = Question::available(&caller, &owner, tool.spec());
                    this.allows(question.within(&reach))
                }),
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
        answer.map_err(|e| ToolError::internal(format!("the search broke: {e}")))
    }

    /// Brings the index up to what the catalogue offers.
    fn follow(&self, catalogue: &Arc<Catalogue>, anew: bool) {
        let mut seen = self.seen.lock().expect("no panic while held");
        let now = Arc::as_ptr(catalogue).addr();
        if seen.catalogue == now && !anew {
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
            if anew || seen.servers.get(&server) != Some(&number) {
                let tools = specs.iter().map(|spec| entries::tool(&server, spec));
                self.index
                    .upsert(&format!("tools:{server}"), tools.collect());
                seen.servers.insert(server, number);
            }
        }
        seen.catalogue = now;
    }

    /// The skills that an agent can use, with what they say of themselves.
    pub async fn skills(&self, agent: &AgentId, anew: bool) -> Arc<Vec<SkillFacts>> {
        let now = Instant::now();
        let held = {
            let held = self.skills.lock().expect("no panic while held");
            held.get(agent).cloned()
        };
        if let Some((at, skills)) = held
            && now < at + SKILLS_HOLD
            && !anew
        {
            return skills;
        }
        let settings = self.parts.settings.current();
        let able = self.parts.nodes.abilities();
        let all = skills::look(&self.parts.workspace, agent, &settings.skills, &able).await;
        let usable = all
            .into_iter()
            .filter(|seen: &ResolvedSkill| seen.status.eligible);
        let skills: Arc<Vec<SkillFacts>> = Arc::new(usable.map(SkillFacts::of).collect());
        let mut held = self.skills.lock().expect("no panic while held");
        if held.len() >= MAX_AGENTS {
            held.clear();
        }
        held.insert(agent.clone(), (now, skills.clone()));
        skills
    }

    /// Gives the word vectors back once nobody has searched for a while.
    fn rest_later(self: &Arc<Self>) {
        let now = Instant::now();
        let waiting = self
            .used
            .lock()
            .expect("no panic while held")
            .replace(now)
            .is_some();
        if waiting {
            return;
        }
        let (index, used) = (Arc::downgrade(&self.index), self.used.clone());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(REST_AFTER).await;
                let mut last = used.lock().expect("no panic while held");
                if last.is_none_or(|last| last.elapsed() >= REST_AFTER) {
                    *last = None;
                    drop(last);
                    if let Some(index) = index.upgrade() {
                        index.rest();
                    }
                    return;
                }
            }
        });
    }
}
