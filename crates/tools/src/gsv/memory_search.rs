//! `memory_search`

use manyhands_agent::{MEMORY_TOOL, MemoryHit};
use manyhands_agent_services::memory::{Library, scope};
use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent_deps::AgentToolDeps;
use crate::registration::{Registration, always, typed};

const DEFAULT_LIMIT: u32 = 10;

/// Look through your memory by words: what was said in your conversations, also in those that were
/// summarised, reset or archived, and what stands in MEMORY.md and memory/*.md of your
/// workspace. All words count; when nothing has them all, any of them. Callers other than
/// the owner find only messages of the sessions of their own token.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The words to look for, also as the beginnings of longer ones.
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// Maximum number of results. Default 10, maximum 50.
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
}

/// Search results.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The results, best first.
    results: Vec<MemoryHit>,
    /// Number of results.
    count: usize,
    /// False while older conversations are still being read after a start.
    complete: bool,
}

pub(crate) const TOOL: Registration = Registration {
    name: MEMORY_TOOL,
    enabled: always,
    build: |deps| typed(MemorySearch(deps.agents())),
};

struct MemorySearch(AgentToolDeps);

impl TypedTool for MemorySearch {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let minds = self.0.minds()?;
        let scope = scope(&context.caller, Some(&context.agent), &self.0.settings)?;
        let library = Library {
            minds,
            memory: minds.memory(),
            blobs: &self.0.blobs,
            settings: &self.0.settings,
        };
        let limit = params.limit.unwrap_or(DEFAULT_LIMIT);
        let found = library.search(&params.query, &scope, &[], limit).await?;
        Outcome::of(&Output {
            count: found.found.len(),
            results: found.found,
            complete: found.complete,
        })
    }
}
