//! `gsv__LogsGet`

use std::sync::Arc;

use manyhands_core::{
    CallContext, Effects, ErrorCode, NodeId, Outcome, ToolError, ToolSpec, TypedTool,
};
use manyhands_node_registry::{ConnectedNode, Nodes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::registration::{Registration, always, typed};

const DEFAULT_LINES: u32 = 100;

/// Fetch recent log lines from a connected node. Each line is a JSON object with the time, the
/// level, a message, and what it is about.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Node ID to fetch logs from. Required when multiple nodes are connected; with one, it is that one.
    node_id: Option<String>,
    /// Number of lines to return. Default 100, maximum 5000.
    #[schemars(range(min = 1, max = 5000))]
    lines: Option<u32>,
}

/// The end of a node's log.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The node.
    node_id: String,
    /// The lines, oldest first.
    lines: Vec<String>,
    /// Number of lines returned.
    count: usize,
    /// Whether there were more.
    truncated: bool,
}

pub(crate) const TOOL: Registration = Registration {
    name: "gsv__LogsGet",
    enabled: always,
    build: |deps| typed(LogsGet(deps.nodes.clone())),
};

struct LogsGet(Arc<Nodes>);

impl TypedTool for LogsGet {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        // Not administrative: a line records when a tool ran and whether it succeeded, never its
        // arguments or result.
        super::spec(TOOL.name).effects(Effects::READS)
    }

    async fn run(&self, params: Params, _: &CallContext) -> Result<Outcome, ToolError> {
        let node = self.choose(params.node_id.as_deref())?;
        let lines = params.lines.unwrap_or(DEFAULT_LINES);
        let answer = node.logs(self.0.new_id(), lines).await?;
        if let Some(error) = answer.error {
            return Err(ToolError::new(ErrorCode::Failed, error));
        }
        let mut all = answer.lines.unwrap_or_default();
        // A node is another program and may send more lines than were requested.
        let most = usize::try_from(lines).unwrap_or(usize::MAX);
        let surplus = all.len().saturating_sub(most);
        all.drain(..surplus);
        Outcome::of(&Output {
            node_id: node.id().to_string(),
            count: all.len(),
            lines: all,
            truncated: surplus > 0 || answer.truncated == Some(true),
        })
    }
}

impl LogsGet {
    /// The named node, or the only connected one.
    fn choose(&self, named: Option<&str>) -> Result<Arc<ConnectedNode>, ToolError> {
        if let Some(named) = named {
            let id = named.parse::<NodeId>();
            let id = id.map_err(|e| ToolError::parameter("nodeId", e.to_string()))?;
            return self.0.find(id.as_str());
        }
        match self.0.online().as_slice() {
            [one] => self.0.find(one.as_str()),
            [] => {
                let message = "no node is connected";
                Err(ToolError::new(ErrorCode::Unavailable, message)
                    .hint("start one with `manyhands node --id NAME`"))
            }
            several => {
                let names: Vec<&str> = several.iter().take(50).map(NodeId::as_str).collect();
                let message = format!(
                    "is required: {} nodes are connected: {}",
                    several.len(),
                    names.join(", ")
                );
                Err(ToolError::parameter("nodeId", message))
            }
        }
    }
}
