//! Metadata of tools.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::chat_ref::{ChatRef, ChatScope};
use crate::effects::Effects;
use crate::name::ToolName;
use crate::pattern::Pattern;

/// How `tools` and the page group the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// On every gateway.
    Core,
    /// Available because something was configured or connected.
    Extra,
    /// Available in chats.
    Channel,
}

/// Whether the tool is part of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Exposure {
    /// In every list.
    Direct,
    /// Callable and found by discovery, but not in a model's initial list.
    Discoverable,
}

/// Where a tool runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RunsOn {
    /// Inside the gateway, on its own records.
    Gateway,
    /// On the gateway's machine, behind the guard.
    Host,
    /// On a node.
    Node {
        /// Its name.
        id: String,
    },
    /// In a federated server.
    Server {
        /// Its name.
        name: String,
    },
}

/// Presentation of a tool in chats of one platform.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The platform.
    pub channel: &'static str,
    /// Its description there.
    pub description: &'static str,
    /// Its parameters there, a subset of all.
    pub input_schema: Arc<Value>,
}

/// Who may use a tool at all, as its owner restricted it.
#[derive(Debug, Clone, Default)]
pub struct Audience {
    /// Names of tokens; all if `None`. The owner is always included.
    pub tokens: Option<Arc<[Pattern]>>,
    /// Names of agents; all if `None`.
    pub agents: Option<Arc<[Pattern]>>,
    /// Key of the only session that may use it; all sessions and direct callers if `None`.
    pub session: Option<Arc<str>>,
    /// The setting that restricts it, named in a refusal.
    pub setting: Option<Arc<str>>,
}

/// Metadata of a tool.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// The canonical name.
    #[schemars(with = "String")]
    pub name: ToolName,
    /// The family it belongs to, such as `gsv`.
    pub family: String,
    /// How listings group it.
    pub group: Group,
    /// What it does, for models and people.
    pub description: Arc<str>,
    /// The JSON Schema of its parameters. Shared: many nodes offer the same tools.
    pub input_schema: Arc<Value>,
    /// The JSON Schema of its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Its effects.
    pub effects: Effects,
    /// Whether it is part of lists.
    pub exposure: Exposure,
    /// Where it runs.
    pub runs_on: RunsOn,
    /// How long a call may take.
    #[serde(skip)]
    pub deadline: Duration,
    /// Who may use it, in addition to the caller's rights; default: everybody.
    #[serde(skip)]
    pub audience: Audience,
    /// On a node: whether its programs and writes stay inside a sandbox.
    #[serde(skip)]
    pub sandboxed: bool,
    /// The chats in which it is available.
    #[serde(skip)]
    pub chats: ChatScope,
    /// Whether it works outside of chats; not if it needs a chat that the arguments cannot name.
    #[serde(skip)]
    pub outside_chats: bool,
    /// Platforms with a different presentation.
    #[serde(skip)]
    pub variants: Arc<[Variant]>,
    /// It waits for turns, whose calls need permits of the concurrency limit, so it takes none itself.
    #[serde(skip)]
    pub waits_for_turns: bool,
    /// It shows or changes the configuration of the gateway: for the owner, and for tokens whose tool patterns name it in
    /// full. `*` does not include it.
    #[serde(skip)]
    pub administers: bool,
    /// It only removes what is stored, so it is still allowed when storage is full.
    #[serde(skip)]
    pub frees_storage: bool,
}

impl ToolSpec {
    /// A core tool of `family` that runs in the gateway, without parameters and with unknown effects.
    ///
    /// # Panics
    /// When `name` is not a tool name: names of built-in tools are literals.
    pub fn new(name: &str, family: &str) -> Self {
        Self {
            name: name.parse().expect("a literal tool name"),
            family: family.to_owned(),
            group: Group::Core,
            description: "".into(),
            input_schema: Arc::new(json!({ "type": "object", "additionalProperties": false })),
            output_schema: None,
            // Unknown effects: treated as dangerous until the tool declares some.
            effects: Effects::default(),
            exposure: Exposure::Direct,
            runs_on: RunsOn::Gateway,
            deadline: Duration::from_secs(60),
            audience: Audience::default(),
            sandboxed: false,
            chats: ChatScope::Anywhere,
            outside_chats: true,
            variants: Arc::default(),
            waits_for_turns: false,
            administers: false,
            frees_storage: false,
        }
    }

    /// Sets its effects.
    #[must_use]
    pub fn effects(mut self, effects: Effects) -> Self {
        self.effects = effects;
        self
    }

    /// Sets the time limit of a call.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Marks it as waiting for turns, whose calls need permits of their own.
    #[must_use]
    pub fn waits_for_turns(mut self) -> Self {
        self.waits_for_turns = true;
        self
    }

    /// Marks it as administration: a wildcard in a token's tool patterns does not grant it.
    #[must_use]
    pub fn administers(mut self) -> Self {
        self.administers = true;
        self
    }

    /// Marks it as only removing what is stored.
    #[must_use]
    pub fn frees_storage(mut self) -> Self {
        self.frees_storage = true;
        self
    }

    /// Sets the chats in which it is available.
    #[must_use]
    pub fn chats(mut self, chats: ChatScope) -> Self {
        self.chats = chats;
        self
    }

    /// Sets whether it works outside of chats.
    #[must_use]
    pub fn outside_chats(mut self, works: bool) -> Self {
        self.outside_chats = works;
        self
    }

    /// Whether a call works in this chat, or outside of chats if `None`.
    pub fn is_usable_in(&self, place: Option<&ChatRef>) -> bool {
        match place {
            None => self.outside_chats,
            Some(_) => self.chats.includes(place),
        }
    }

    /// Sets presentations for single platforms.
    #[must_use]
    pub fn variants(mut self, variants: Vec<Variant>) -> Self {
        self.variants = variants.into();
        self
    }

    /// Its description and parameters for a model in this chat.
    pub fn presentation_in(&self, place: Option<&ChatRef>) -> (&str, &Arc<Value>) {
        let fits = |one: &&Variant| place.is_some_and(|place| place.channel == one.channel);
        match self.variants.iter().find(fits) {
            Some(one) => (one.description, &one.input_schema),
            None => (&self.description, &self.input_schema),
        }
    }

    /// Whether what it changes stays inside the gateway's own folders or a sandbox.
    pub fn is_contained(&self) -> bool {
        match self.runs_on {
            RunsOn::Gateway | RunsOn::Host => true,
            RunsOn::Node { .. } => self.sandboxed,
            // Whatever the server claims: what it does is out of our control.
            RunsOn::Server { .. } => false,
        }
    }

    /// Sets its group.
    #[must_use]
    pub fn group(mut self, group: Group) -> Self {
        self.group = group;
        self
    }

    /// Sets its exposure.
    #[must_use]
    pub fn exposure(mut self, exposure: Exposure) -> Self {
        self.exposure = exposure;
        self
    }

    /// Sets where it runs.
    #[must_use]
    pub fn runs_on(mut self, place: RunsOn) -> Self {
        self.runs_on = place;
        self
    }
}
