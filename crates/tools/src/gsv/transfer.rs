//! `gsv__Transfer`

use std::sync::Arc;
use std::time::Duration;

use manyhands_core::{
    CallContext, Catalogue, CatalogueEntry, Effects, ErrorCode, Implied, Outcome, ToolError,
    ToolSpec, TypedTool,
};
use manyhands_node_registry::Nodes;
use manyhands_node_registry::transfer::{TransferEnd, Transfers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::registration::{Registration, always, typed};

/// A transfer may take a day, as long as it makes progress.
const DEADLINE: Duration = Duration::from_secs(24 * 3_600);

/// Transfer a file between connected nodes and/or the workspace. Stays pending until the file is
/// at its destination, whole and with the right SHA-256; until then nothing is seen there. A
/// connection that breaks is waited for, and the transfer goes on where it was.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Source endpoint. Format: {nodeId}:/path/to/file for a node filesystem path (`~/` is the home of its user), or
    /// gsv:path/to/file for a path of your workspace. gsv:workspace/path is the same as gsv:path, unless a file stands at
    /// `workspace/path` in your workspace.
    #[schemars(length(min = 1))]
    source: String,
    /// Destination endpoint. Same format as source. Parent directories are created.
    #[schemars(length(min = 1))]
    destination: String,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Echoed source endpoint.
    source: String,
    /// Echoed destination endpoint.
    destination: String,
    /// Total bytes transferred.
    bytes_transferred: u64,
    /// Detected MIME type of the transferred file (when available).
    #[serde(skip_serializing_if = "Option::is_none")]
    mime: Option<String>,
    /// SHA-256 of the file, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// Number of times it was resumed after a broken connection.
    #[serde(skip_serializing_if = "is_zero")]
    resumed: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

pub(crate) const TOOL: Registration = Registration {
    name: "gsv__Transfer",
    enabled: always,
    build: |deps| {
        typed(Transfer {
            nodes: deps.nodes.clone(),
            transfers: deps.transfers.clone(),
        })
    },
};

struct Transfer {
    nodes: Arc<Nodes>,
    transfers: Transfers,
}

impl TypedTool for Transfer {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::READS.and(Effects::WRITES))
            .deadline(DEADLINE)
    }

    fn canonical(&self, mut arguments: Value) -> Value {
        // Rules and approvals must see the path in the spelling that will be used.
        for name in ["source", "destination"] {
            if let Some(Value::String(end)) = arguments.get_mut(name)
                && let Ok(parsed) = TransferEnd::parse(name, end)
            {
                *end = parsed.canonical().to_string();
            }
        }
        arguments
    }

    fn implies(&self, arguments: &Value, catalogue: &Catalogue) -> Vec<Implied> {
        let end = |name: &str, direction: Direction| {
            let end = TransferEnd::parse(name, arguments.get(name)?.as_str()?).ok()?;
            self.implied(&end, direction, catalogue)
        };
        let ends = [
            end("source", Direction::Reading),
            end("destination", Direction::Writing),
        ];
        let mut all: Vec<Implied> = ends.into_iter().flatten().collect();
        // Both readings of an ambiguous path must be allowed.
        all.extend(self.other_reading(arguments, catalogue));
        all
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let source = TransferEnd::parse("source", &params.source)?;
        let source = self
            .transfers
            .resolve_workspace_path(source, &context.agent)
            .await;
        let destination = TransferEnd::parse("destination", &params.destination)?;
        let destination = self
            .transfers
            .resolve_workspace_path(destination, &context.agent)
            .await;
        // Compared after resolution: two spellings may name the same file.
        if source == destination {
            return Err(ToolError::parameter(
                "destination",
                "must differ from the source",
            ));
        }
        self.shares(&source, Direction::Reading)?;
        self.shares(&destination, Direction::Writing)?;
        let there = self.transfers.run(&source, &destination, context).await?;
        Outcome::of(&Output {
            source: params.source,
            destination: params.destination,
            bytes_transferred: there.bytes,
            mime: there.mime,
            sha256: there.sha256,
            resumed: there.resumed,
        })
    }
}

impl Transfer {
    /// The implied calls if `gsv:workspace/PATH` means `PATH`. Which one it means is only known
    /// when it runs, so both must be allowed: otherwise one spelling could evade a rule for the
    /// other.
    fn other_reading(&self, arguments: &Value, catalogue: &Catalogue) -> Vec<Implied> {
        let mut other = arguments.clone();
        let mut all = Vec::new();
        for (name, direction) in [
            ("source", Direction::Reading),
            ("destination", Direction::Writing),
        ] {
            let end = arguments.get(name).and_then(Value::as_str);
            let end = end.and_then(|end| TransferEnd::parse(name, end).ok());
            if let Some(below) = end.and_then(|end| end.without_workspace()) {
                other[name] = json!(below.to_string());
                all.extend(self.implied(&below, direction, catalogue));
            }
        }
        if !all.is_empty()
            && let Some(CatalogueEntry::Tool(tool)) = catalogue.resolve(TOOL.name)
        {
            all.push(Implied {
                tool: tool.clone(),
                arguments: other,
            });
        }
        all
    }

    /// The call that reading or writing one endpoint implies.
    fn implied(
        &self,
        end: &TransferEnd,
        direction: Direction,
        catalogue: &Catalogue,
    ) -> Option<Implied> {
        let (names, path): (Vec<String>, &str) = match (end, direction) {
            (TransferEnd::Workspace { path }, Direction::Reading) => {
                (vec!["gsv__ReadFile".to_owned()], path)
            }
            (TransferEnd::Workspace { path }, Direction::Writing) => {
                (vec!["gsv__WriteFile".to_owned()], path)
            }
            (TransferEnd::Node { id, path }, direction) => {
                let node = self.nodes.find(id.as_str()).ok()?; // reported when the call runs
                let names = match direction {
                    Direction::Reading => node.readers(),
                    Direction::Writing => node.writers(),
                };
                (names.to_vec(), path)
            }
        };
        let mut tools = names
            .iter()
            .filter_map(|name| catalogue.resolve(name)?.tool());
        let tool = tools.next()?.clone();
        let arguments = json!({ "path": path });
        Some(Implied { tool, arguments })
    }

    /// Whether a node shares files in that direction.
    fn shares(&self, end: &TransferEnd, direction: Direction) -> Result<(), ToolError> {
        let TransferEnd::Node { id, .. } = end else {
            return Ok(());
        };
        let node = self.nodes.find(id.as_str())?;
        let (tools, done) = match direction {
            Direction::Reading => (node.readers(), "read"),
            Direction::Writing => (node.writers(), "written"),
        };
        if !tools.is_empty() {
            return Ok(());
        }
        let message = format!("node {id} does not allow its files to be {done}");
        Err(ToolError::new(ErrorCode::Forbidden, message))
    }
}

/// Direction of a transfer at one endpoint.
#[derive(Clone, Copy)]
enum Direction {
    Reading,
    Writing,
}
