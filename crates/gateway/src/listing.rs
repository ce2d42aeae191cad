//! The catalogue as every face lists it.

use manyhands_core::{Caller, Catalogue, Effect, Face, Group, RunsOn, ToolSpec, ViewContext};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One tool in a list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolListing {
    /// The canonical name.
    pub name: String,
    /// The name as model APIs and MCP carry it.
    pub wire_name: String,
    /// The family it belongs to.
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
    /// What it does to the world.
    pub effects: Vec<Effect>,
    /// Where it does its work.
    pub runs_on: String,
    /// How many seconds a call may take at the most.
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

/// What a caller may call, in a stable order.
pub fn for_caller(catalogue: &Catalogue, caller: &Caller) -> Vec<ToolListing> {
    let context = ViewContext {
        caller,
        face: Face::Program,
    };
    catalogue.view(context).map(ToolListing::from).collect()
}

/// The list with the names of each group beside it.
pub fn grouped(catalogue: &Catalogue, caller: &Caller) -> Value {
    let tools = for_caller(catalogue, caller);
    let names = |group: Group| -> Vec<&str> {
        let of_group = tools.iter().filter(|tool| tool.group == group_word(group));
        of_group.map(|tool| tool.name.as_str()).collect()
    };
    let groups = json!({
        "core": names(Group::Core),
        "extra": names(Group::Extra),
        "channel": names(Group::Channel),
    });
    json!({ "groups": groups, "tools": tools })
}

fn group_word(group: Group) -> &'static str {
    match group {
        Group::Core => "core",
        Group::Extra => "extra",
        Group::Channel => "channel",
    }
}
