//! `gsv__Transfer`

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use manyhands_core::{
    CallContext, Caller, Catalogue, Effects, ErrorCode, Outcome, ToolError, ToolSpec, TypedTool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nodes::Nodes;
use crate::nodes::transfer::{End, Transfers};

/// As long as it moves it may go on: a day.
const DEADLINE: Duration = Duration::from_secs(24 * 3_600);

/// Transfer a file between connected nodes and/or the workspace. Stays pending until the file is
/// at its destination, whole and with the right SHA-256; until then nothing is seen there. A
/// connection that breaks is waited for, and the transfer goes on where it was.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Source endpoint. Format: {nodeId}:/path/to/file for a node filesystem path, or gsv:path/to/file for a path of your workspace.
    #[schemars(length(min = 1))]
    source: String,
    /// Destination endpoint. Same format as source. Parent directories are created.
    #[schemars(length(min = 1))]
    destination: String,
}

/// What was transferred.
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
    /// The SHA-256 of the file, where an end knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// How often the transfer was taken up again after a connection broke.
    #[serde(skip_serializing_if = "is_zero")]
    resumed: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

pub(super) struct Transfer {
    pub(super) nodes: Arc<Nodes>,
    pub(super) transfers: Transfers,
    pub(super) catalogue: Arc<ArcSwap<Catalogue>>,
}

impl TypedTool for Transfer {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec("gsv__Transfer")
            .effects(Effects::READS.and(Effects::WRITES))
            .deadline(DEADLINE)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let source = End::parse("source", &params.source)?;
        let destination = End::parse("destination", &params.destination)?;
        if source == destination {
            return Err(ToolError::parameter("destination", "is the source itself"));
        }
        self.permit(&source, Way::Reading, &context.caller)?;
        self.permit(&destination, Way::Writing, &context.caller)?;
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
    /// Whoever may not read or write a node's files by its own tools may not do it this way.
    fn permit(&self, end: &End, way: Way, caller: &Caller) -> Result<(), ToolError> {
        let End::Node { id, .. } = end else {
            return Ok(());
        };
        let node = self.nodes.find(id.as_str())?;
        let (tools, does, done) = match way {
            Way::Reading => (node.readers(), "reads", "read"),
            Way::Writing => (node.writers(), "writes", "written"),
        };
        let catalogue = self.catalogue.load();
        let permitted = |name: &String| {
            let tool = catalogue.resolve(name);
            tool.is_some_and(|tool| caller.rights.permit(tool.spec()).is_ok())
        };
        if tools.iter().any(permitted) {
            return Ok(());
        }
        let message = match tools.is_empty() {
            true => format!("node {id} does not let its files be {done}"),
            false => format!("this token may not call a tool of node {id} that {does} files"),
        };
        Err(ToolError::new(ErrorCode::Forbidden, message))
    }
}

/// What is done to the file of an end.
#[derive(Clone, Copy)]
enum Way {
    Reading,
    Writing,
}
