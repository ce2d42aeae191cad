//! The catalogue as every face lists it.

use manyhands_config::Settings;
use manyhands_core::{
    AgentId, Caller, Catalogue, Effect, Group, Invoke, Pattern, Question, RunsOn, ToolError,
    ToolSpec,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool in a list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolListing {
    /// Canonical name.
    pub name: String,
    /// Name used with model APIs and MCP.
    pub wire_name: String,
    /// Family the tool belongs to.
    pub family: String,
    /// `core`, `extra` or `channel`.
    pub group: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its parameters.
    pub input_schema: Value,
    /// The JSON Schema of its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Effects of a call.
    pub effects: Vec<Effect>,
    /// Where it runs.
    pub runs_on: String,
    /// Longest duration of a call, in seconds.
    pub timeout_seconds: u64,
}

impl From<&ToolSpec> for ToolListing {
    fn from(spec: &ToolSpec) -> Self {
        Self {
            name: spec.name.to_string(),
            wire_name: spec.name.wire(),
            family: spec.family.clone(),
            group: group_word(spec.group).to_owned(),
            description: spec.description.to_string(),
            input_schema: (*spec.input_schema).clone(),
            output_schema: spec.output_schema.clone(),
            effects: spec.effects.iter().collect(),
            timeout_seconds: spec.deadline.as_secs(),
            runs_on: match &spec.runs_on {
                RunsOn::Gateway => "gateway".to_owned(),
                RunsOn::Host => "host".to_owned(),
                RunsOn::Node { id } => format!("node {id}"),
                RunsOn::Server { name } => format!("server {name}"),
            },
        }
    }
}

/// Tools of the small surface: all other tools are found and called through them.
const SMALL: [&str; 9] = [
    "capabilities_discover",
    "capability_details",
    "gateway_invoke",
    "code-execution_execute",
    "gateway_write_artifact",
    "gateway_write_artifact_from_url",
    "gateway_read_artifact",
    "gateway_list_artifacts",
    "gateway_list_workspace",
];

/// Selects the listed tools among those a caller may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Surface {
    /// Discovery, artifacts and code execution.
    Small,
    /// Every tool.
    All,
    /// Tools matching the patterns of a profile.
    Profile(Vec<Pattern>),
}

impl Surface {
    /// The surface of that name, or the default of the settings.
    pub fn named(settings: &Settings, name: Option<&str>) -> Result<Self, ToolError> {
        let profiles = &settings.mcp.profiles;
        let found = |name: &str| match name {
            "small" => Some(Self::Small),
            "all" => Some(Self::All),
            other => profiles.get(other).cloned().map(Self::Profile),
        };
        match name {
            Some(name) => found(name).ok_or_else(|| {
                let own = profiles.keys().map(String::as_str);
                let known: Vec<&str> = ["small", "all"].into_iter().chain(own).collect();
                let shown: String = name.chars().take(80).collect();
                let message = format!("unknown profile {shown:?}; available: {}", known.join(", "));
                ToolError::parameter("profile", message)
            }),
            // A default profile that was removed shows the least, not the most.
            None => Ok(found(&settings.mcp.profile).unwrap_or(Self::Small)),
        }
    }

    /// The tools a caller is shown, in a stable order: those of which some call would be allowed. A
    /// caller without access to `gateway_invoke` is shown every tool they may call.
    pub fn view<'a>(
        &'a self,
        path: &'a dyn Invoke,
        catalogue: &'a Catalogue,
        caller: &'a Caller,
    ) -> impl Iterator<Item = &'a ToolSpec> {
        // For the main agent, or any agent the tool is restricted to.
        let may = move |spec: &ToolSpec| {
            let named = spec.audience.agents.iter().flat_map(|agents| agents.iter());
            let named = named.filter_map(|agent| agent.to_string().parse::<AgentId>().ok());
            std::iter::once(AgentId::main()).chain(named).any(|agent| {
                let question = Question::available(caller, &agent, spec);
                !path.authorize(question).is_denied()
            })
        };
        // Without the right to `gateway_invoke` the small surface would hide callable tools for
        // good.
        let door = catalogue.resolve("gateway_invoke").map(|door| door.spec());
        let through = door.is_some_and(&may);
        catalogue
            .specs()
            .filter(move |spec| spec.is_usable_in(None) && may(spec))
            .filter(move |spec| match self {
                Self::Small => !through || SMALL.contains(&spec.name.as_str()),
                Self::All => true,
                Self::Profile(patterns) => {
                    let name = spec.name.as_str();
                    patterns
                        .iter()
                        .any(|pattern| pattern.matches(name) || pattern.matches(&spec.name.wire()))
                }
            })
    }
}

/// The tools a caller may use, in a stable order.
pub fn for_caller(
    path: &dyn Invoke,
    catalogue: &Catalogue,
    caller: &Caller,
    surface: &Surface,
) -> Vec<ToolListing> {
    let shown = surface.view(path, catalogue, caller);
    shown.map(ToolListing::from).collect()
}

/// Tool names by group.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolGroups {
    core: Vec<String>,
    extra: Vec<String>,
    channel: Vec<String>,
}

/// Tools, and their names by group.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolList {
    /// Names by group.
    groups: ToolGroups,
    tools: Vec<ToolListing>,
    /// Tools that work only inside a chat of a messaging platform; listed for information.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    in_chats: Vec<ToolListing>,
}

/// Lists tools with their names by group.
pub fn grouped(path: &dyn Invoke, caller: &Caller, surface: &Surface) -> ToolList {
    let catalogue = path.catalogue();
    let tools = for_caller(path, &catalogue, caller, surface);
    let main = AgentId::main();
    let previewed = |spec: &&ToolSpec| {
        let question = Question::available(caller, &main, spec);
        !spec.is_usable_in(None) && !path.authorize(question).is_denied()
    };
    let in_chats = match surface {
        Surface::All => catalogue
            .specs()
            .filter(previewed)
            .map(ToolListing::from)
            .collect(),
        Surface::Small | Surface::Profile(_) => Vec::new(),
    };
    let names = |group: Group| {
        let of_group = tools.iter().filter(|tool| tool.group == group_word(group));
        of_group.map(|tool| tool.name.clone()).collect()
    };
    let groups = ToolGroups {
        core: names(Group::Core),
        extra: names(Group::Extra),
        channel: names(Group::Channel),
    };
    ToolList {
        groups,
        tools,
        in_chats,
    }
}

fn group_word(group: Group) -> &'static str {
    match group {
        Group::Core => "core",
        Group::Extra => "extra",
        Group::Channel => "channel",
    }
}
