//! Index entries of tools, connections, resources and skills.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use manyhands_agent_services::skills::ResolvedSkill;
use manyhands_core::{AgentId, Catalogue, ToolSpec};
use manyhands_discovery::{IndexEntry, ItemKind};
use manyhands_federation::servers::address::{name_there, server_of};
use manyhands_store::{CollectionRecord, ConnectionRecord, Level};
use serde::Deserialize;
use serde_json::Value;

/// Parameters of one tool that are indexed.
const MAX_PARAMETERS: usize = 60;

/// The tools of each server.
pub(super) fn by_server(catalogue: &Catalogue) -> BTreeMap<String, Vec<&ToolSpec>> {
    let mut servers: BTreeMap<String, Vec<&ToolSpec>> = BTreeMap::new();
    for spec in catalogue.specs() {
        servers.entry(server_of(spec)).or_default().push(spec);
    }
    servers
}

/// Hash of the listed tools.
pub(super) fn number(specs: &[&ToolSpec]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for spec in specs {
        spec.name.hash(&mut hasher);
        spec.description.hash(&mut hasher);
        // By address, since schemas are large and never change in place. An equal schema at another
        // address only costs indexing again.
        Arc::as_ptr(&spec.input_schema).addr().hash(&mut hasher);
    }
    hasher.finish()
}

pub(super) fn tool(server: &str, spec: &ToolSpec) -> IndexEntry {
    let properties = spec.input_schema["properties"].as_object();
    let parameters = properties.into_iter().flatten().take(MAX_PARAMETERS);
    let description = |value: &Value| value["description"].as_str().unwrap_or_default().to_owned();
    IndexEntry {
        key: spec.name.to_string(),
        kind: ItemKind::Tool,
        name: name_there(spec),
        server: server.to_owned(),
        title: String::new(),
        description: spec.description.to_string(),
        parameters: parameters
            .map(|(name, value)| (name.clone(), description(value)))
            .collect(),
        tags: Vec::new(),
    }
}

pub(super) fn accounts(all: &[ConnectionRecord]) -> Vec<IndexEntry> {
    let entry = |one: &ConnectionRecord| IndexEntry {
        key: one.id.to_string(),
        kind: ItemKind::Connection,
        name: one.name.clone(),
        server: one.service.clone(),
        title: format!("{} connection", one.service),
        description: format!("A connection to {}, an account of it.", one.service),
        parameters: Vec::new(),
        tags: vec!["connection".to_owned(), "account".to_owned()],
    };
    all.iter().map(entry).collect()
}

pub(super) fn resources(all: &[(CollectionRecord, Level)]) -> Vec<IndexEntry> {
    let entry = |(one, _): &(CollectionRecord, Level)| IndexEntry {
        key: one.id.to_string(),
        kind: ItemKind::Resource,
        name: one.name.clone(),
        server: one.kind.as_str().to_owned(),
        title: String::new(),
        description: one.description.clone(),
        parameters: Vec::new(),
        tags: vec![one.kind.as_str().to_owned(), "resource".to_owned()],
    };
    all.iter().map(entry).collect()
}

/// What a skill declares about itself.
#[derive(Debug, Clone)]
pub struct SkillFacts {
    pub name: String,
    pub description: String,
    /// Path of its text.
    pub path: String,
    pub text: String,
    /// Contexts it applies to; empty for all.
    pub(super) contexts: Vec<String>,
    /// Tools and servers it mentions.
    tools: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Front {
    context: OneOrMany,
    tools: OneOrMany,
}

/// One word or a list.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn list(self) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::One(word) => vec![word],
            Self::Many(words) => words,
        }
    }
}

impl SkillFacts {
    pub(super) fn of(seen: ResolvedSkill) -> Self {
        // Some editors write a byte order mark.
        let front = seen.text.trim_start_matches('\u{feff}').strip_prefix("---");
        let front = front
            .and_then(|rest| rest.split_once("\n---"))
            .map(|(front, _)| front);
        let front: Front = front
            // Invalid front matter loses only these hints: whether the skill may be used was decided
            // when it was resolved.
            .and_then(|front| serde_saphyr::from_str(front).ok())
            .unwrap_or_default();
        Self {
            name: seen.status.name,
            description: seen.status.description,
            path: seen.path,
            text: seen.text,
            contexts: front.context.list(),
            tools: front.tools.list(),
        }
    }

    /// Key in the index.
    pub(super) fn key(&self, agent: &AgentId) -> String {
        format!("skill:{agent}:{}", self.name)
    }

    pub(super) fn entry(&self, agent: &AgentId) -> IndexEntry {
        IndexEntry {
            key: self.key(agent),
            kind: ItemKind::AgentSkill,
            name: self.name.clone(),
            server: String::new(),
            title: String::new(),
            description: self.description.clone(),
            parameters: Vec::new(),
            tags: self.tools.clone(),
        }
    }

    /// Whether it concerns a tool or its server.
    pub fn is_about(&self, server: &str, spec: &ToolSpec) -> bool {
        let names = [spec.name.to_string(), name_there(spec), server.to_owned()];
        let mentioned = |name: &String| self.name == *name || self.tools.contains(name);
        names.iter().any(mentioned)
    }
}
