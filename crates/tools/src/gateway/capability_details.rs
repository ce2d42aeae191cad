//! `capability_details`

use std::collections::BTreeSet;
use std::sync::Arc;

use manyhands_core::{
    CallContext, Catalogue, Effects, Outcome, Question, RunsOn, ToolError, ToolSpec, TypedTool,
};
use manyhands_federation::servers::address::{name_there, server_of};
use manyhands_federation::servers::wrapped;
use manyhands_script::{Declared, declare};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::capabilities_discover::{CapabilityType, one_line};
use crate::finder::{Finder, SkillFacts};
use crate::registration::{Registration, always, typed};

/// Most items per request.
const MAX_ITEMS: usize = 50;
/// Most tools of a server described in full.
const MAX_OF_SERVER: usize = 100;

/// Get full details for selected capabilities. For tools: inputSchema (full JSON Schema), outputSchema, isDynamic (true for dynamic
/// servers), and any matching agent skill content. For agent skills: the full knowledge content. For connections: their metadata. For
/// resources: collection details. A server's name gives its tools.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Names/IDs of capabilities to get details for. Use exact names returned from capabilities_discover.
    #[schemars(length(min = 1, max = 50))]
    items: Vec<String>,
    /// Filter results to specific capability types. If omitted, searches all types.
    types: Option<Vec<CapabilityType>>,
    /// Also give TypeScript declarations of the tools, for code-execution_execute.
    typescript: Option<bool>,
}

/// Details of each item.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Items found, each with its `type`.
    items: Vec<Value>,
    /// Items not found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_found: Vec<String>,
    /// TypeScript declarations of the tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    typescript: Option<String>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "capability_details",
    enabled: always,
    build: |deps| {
        typed(Details {
            finder: deps.finder.clone(),
        })
    },
};

struct Details {
    finder: Arc<Finder>,
}

impl TypedTool for Details {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        if params.items.len() > MAX_ITEMS {
            return Err(ToolError::parameter(
                "items",
                format!("must be at most {MAX_ITEMS}"),
            ));
        }
        let wants = |kind: CapabilityType| {
            params
                .types
                .as_ref()
                .is_none_or(|types| types.is_empty() || types.contains(&kind))
        };
        let catalogue = self.finder.catalogue();
        let skills = self.finder.skills(&context.agent, false).await;
        let accounts = self.finder.servers().accounts().of_agent(&context.agent);
        let resources = self.finder.resources().of(&context.agent).await?;
        let (mut items, mut not_found) = (Vec::new(), Vec::new());
        let mut declared: Vec<&ToolSpec> = Vec::new();
        let mut described: BTreeSet<String> = BTreeSet::new();
        for item in &params.items {
            let before = items.len();
            if wants(CapabilityType::Tool) {
                for spec in self.tools(&catalogue, item, context) {
                    // A tool may be named by itself and again by its server.
                    if described.insert(spec.name.to_string()) {
                        items.push(tool(spec, &skills));
                        declared.push(spec);
                    }
                }
            }
            if wants(CapabilityType::AgentSkill) {
                let named = skills.iter().filter(|skill| skill.name == *item);
                items.extend(named.map(skill));
            }
            if wants(CapabilityType::Connection) {
                let named = accounts.iter().filter(|one| {
                    one.name == *item || one.id.to_string() == *item || one.service == *item
                });
                items.extend(named.map(|one| {
                    json!({
                        "type": "connection", "name": one.name, "id": one.id, "PCID": one.id, "service": one.service,
                        "kind": one.kind, "status": one.status, "created": one.created.rfc3339(),
                    })
                }));
            }
            if wants(CapabilityType::Resource) {
                let named = resources
                    .iter()
                    .filter(|(one, _)| one.name == *item || one.id.to_string() == *item);
                items.extend(named.map(|(one, level)| {
                    json!({
                        "type": "resource", "name": one.name, "id": one.id, "collectionId": one.id, "kind": one.kind,
                        "description": one.description, "access": level, "items": one.items,
                    })
                }));
            }
            // A repeated name adds nothing and was found all the same.
            if items.len() == before && !described.contains(item) {
                not_found.push(item.clone());
            }
        }
        let typescript = (params.typescript == Some(true)).then(|| typescript(&declared));
        Outcome::of(&Output {
            items,
            not_found,
            typescript,
        })
    }
}

impl Details {
    /// The tool of that name, or the tools of the server of that name, as far as the caller may use
    /// them.
    fn tools<'a>(
        &self,
        catalogue: &'a Catalogue,
        item: &str,
        context: &CallContext,
    ) -> Vec<&'a ToolSpec> {
        // The same question as for a call: details must not reveal a tool that the caller may not
        // use.
        let may = |spec: &ToolSpec| {
            let question = Question::available(&context.caller, &context.agent, spec);
            let question = question
                .within(&context.reach)
                .in_session(context.lineage.last().map(String::as_str));
            spec.is_usable_in(context.chat.as_deref()) && self.finder.allows(question)
        };
        if let Some(tool) = catalogue.resolve(item) {
            return Some(tool.spec())
                .filter(|spec| may(spec))
                .into_iter()
                .collect();
        }
        // Some clients write the servers of MCP with this prefix.
        let named = item.strip_prefix("remote/").unwrap_or(item);
        let all = catalogue.specs().filter(|spec| may(spec));
        let of_server: Vec<&ToolSpec> = all
            .filter(|spec| server_of(spec) == named)
            .take(MAX_OF_SERVER)
            .collect();
        match of_server.is_empty() {
            false => of_server,
            // The name at its server, if only one server has it.
            true => {
                let mut named: Vec<&ToolSpec> = catalogue
                    .specs()
                    .filter(|spec| may(spec) && name_there(spec) == item)
                    .collect();
                named.truncate(MAX_OF_SERVER);
                named
            }
        }
    }
}

fn tool(spec: &ToolSpec, skills: &[SkillFacts]) -> Value {
    let server = server_of(spec);
    let about: Vec<Value> = skills
        .iter()
        .filter(|skill| skill.is_about(&server, spec))
        .map(skill_content)
        .collect();
    let mut item = json!({
        "type": "tool",
        "name": spec.name.wire(),
        "server": server,
        "tool": name_there(spec),
        "description": spec.description,
        "inputSchema": *spec.input_schema,
        "isDynamic": matches!(&spec.runs_on, RunsOn::Server { name } if name.starts_with("dynamic/")),
        "effects": spec.effects,
    });
    if let Some(schema) = &spec.output_schema {
        item["outputSchema"] = schema.clone();
    }
    if !about.is_empty() {
        item["skills"] = json!(about);
    }
    item
}

fn skill(skill: &SkillFacts) -> Value {
    json!({
        "type": "agentSkill", "name": skill.name, "id": skill.name, "description": skill.description,
        "path": skill.path, "content": skill.text,
    })
}

fn skill_content(skill: &SkillFacts) -> Value {
    json!({ "name": skill.name, "content": skill.text })
}

fn typescript(specs: &[&ToolSpec]) -> String {
    let names: Vec<(String, String, String)> = specs
        .iter()
        .map(|spec| {
            (
                server_of(spec),
                name_there(spec),
                one_line(&spec.description),
            )
        })
        .collect();
    let declared: Vec<Declared> = specs
        .iter()
        .zip(&names)
        .map(|(spec, (server, tool, description))| Declared {
            server,
            tool,
            description,
            input: &spec.input_schema,
            output: wrapped::schema_of(spec),
        })
        .collect();
    declare(&declared)
}
