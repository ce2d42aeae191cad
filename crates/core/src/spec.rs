//! What is known of a tool without calling it.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::chat_ref::{ChatRef, Where};
use crate::effects::Effects;
use crate::name::ToolName;
use crate::pattern::Pattern;

/// How `tools` and the page group the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// There on every gateway.
    Core,
    /// There because something was configured or connected.
    Extra,
    /// There inside a chat of some kind.
    Channel,
}

/// Who is shown the tool without asking for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Exposure {
    /// In every list.
    Direct,
    /// Callable, found by discovery, and kept out of a model's first list.
    Discoverable,
}

/// Where a tool does its work.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RunsOn {
    /// Inside the gateway, on its own records.
    Gateway,
    /// On the gateway's machine, behind the guard.
    Host,
    /// On a node.
    Node {
        /// Which one.
        id: String,
    },
    /// In a federated server.
    Server {
        /// Which one.
        name: String,
    },
}

/// What a tool looks like in chats of one platform.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The platform.
    pub channel: &'static str,
    /// What it does there.
    pub description: &'static str,
    /// What it takes there: a part of what it takes at all.
    pub input_schema: Arc<Value>,
}

/// Who may use a tool at all, as its owner restricted it.
#[derive(Debug, Clone, Default)]
pub struct Audience {
    /// Names of tokens; everybody when `None`. The owner is never left out.
    pub tokens: Option<Arc<[Pattern]>>,
    /// Names of agents; every agent when `None`.
    pub agents: Option<Arc<[Pattern]>>,
    /// The one session in whose turns it is there, by key; every session and every direct caller when `None`.
    pub session: Option<Arc<str>>,
    /// The setting that restricts it, named in a refusal.
    pub setting: Option<Arc<str>>,
}

/// What is known of a tool without calling it.
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
    /// What it does to the world.
    pub effects: Effects,
    /// Who is shown it.
    pub exposure: Exposure,
    /// Where it does its work.
    pub runs_on: RunsOn,
    /// How long a call may take.
    #[serde(skip)]
    pub deadline: Duration,
    /// Who may use it at all, beyond their rights; everybody unless said.
    #[serde(skip)]
    pub audience: Audience,
    /// On a node: whether its programs and writes stay inside a sandbox.
    #[serde(skip)]
    pub sandboxed: bool,
    /// The chats in which it is there.
    #[serde(skip)]
    pub chats: Where,
    /// Whether a call from outside of chats can work: not where it needs a chat that nobody could name.
    #[serde(skip)]
    pub outside_chats: bool,
    /// What it looks like in a chat of one platform, where that differs.
    #[serde(skip)]
    pub variants: Arc<[Variant]>,
    /// It waits for turns whose calls take places of their own, so it takes none itself.
    #[serde(skip)]
    pub waits: bool,
    /// It shows or changes how the gateway is set up: for the owner, and for tokens whose tool
    /// patterns name it in full. `*` does not include it.
    #[serde(skip)]
    pub administers: bool,
    /// It only removes what is stored, so it is still allowed when storage is full.
    #[serde(skip)]
    pub frees: bool,
}

impl ToolSpec {
    /// A core tool of `family` that runs in the gateway, takes nothing, and whose
    /// effects are unknown until said.
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
            effects: Effects::default(),
            exposure: Exposure::Direct,
            runs_on: RunsOn::Gateway,
            deadline: Duration::from_secs(60),
            audience: Audience::default(),
            sandboxed: false,
            chats: Where::Anywhere,
            outside_chats: true,
            variants: Arc::default(),
            waits: false,
            administers: false,
            frees: false,
        }
    }

    /// Says what it does to the world.
    #[must_use]
    pub fn effects(mut self, effects: Effects) -> Self {
        self.effects = effects;
        self
    }

    /// Says how long a call may take.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Says that it waits for turns, whose calls take places of their own.
    #[must_use]
    pub fn waits(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Marks it as administration: a wildcard in a token's tool patterns does not grant it.
    #[must_use]
    pub fn administers(mut self) -> Self {
        self.administers = true;
        self
    }

    /// Says that it only removes what is stored.
    #[must_use]
    pub fn frees(mut self) -> Self {
        self.frees = true;
        self
    }

    /// Says in which chats it is there.
    #[must_use]
    pub fn chats(mut self, chats: Where) -> Self {
        self.chats = chats;
        self
    }

    /// Says whether it can work outside of chats.
    #[must_use]
    pub fn outside_chats(mut self, works: bool) -> Self {
        self.outside_chats = works;
        self
    }

    /// Whether a call that is made in `place`, which is none outside of chats, can work.
    pub fn works_in(&self, place: Option<&ChatRef>) -> bool {
        match place {
            None => self.outside_chats,
            Some(_) => self.chats.has(place),
        }
    }

    /// Says what it looks like in chats of single platforms.
    #[must_use]
    pub fn variants(mut self, variants: Vec<Variant>) -> Self {
        self.variants = variants.into();
        self
    }

    /// How it is shown to a model that speaks in `place`: its description and its parameters.
    pub fn shown_in(&self, place: Option<&ChatRef>) -> (&str, &Arc<Value>) {
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
            RunsOn::Server { .. } => false,
        }
    }

    /// Says how listings group it.
    #[must_use]
    pub fn group(mut self, group: Group) -> Self {
        self.group = group;
        self
    }

    /// Says who is shown it.
    #[must_use]
    pub fn exposure(mut self, exposure: Exposure) -> Self {
        self.exposure = exposure;
        self
    }

    /// Says where it does its work.
    #[must_use]
    pub fn runs_on(mut self, place: RunsOn) -> Self {
        self.runs_on = place;
        self
    }
}
