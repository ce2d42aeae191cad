//! A node's tools, one file each. The behaviour is in `hands`; these files hold the definitions.

mod bash;
mod check;
mod edit;
mod glob;
mod grep;
mod process;
mod read;
mod toolbox;
mod write;

use futures_util::future::BoxFuture;
use manyhands_core::{Progress, ToolError, input_schema};
use manyhands_hands::local::LocalError;
use manyhands_wire::ToolDefinition;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use toolbox::{Confinement, SandboxMode, ToolSettings, Toolbox, ToolboxError};

/// A tool's definition and function.
struct NodeTool {
    name: &'static str,
    /// The capability the tool needs.
    capability: &'static str,
    definition: ToolDefinition,
    run: Run,
}

type ToolResult = Result<Value, ToolError>;
type Run = Box<dyn Fn(Value, CallInfo) -> BoxFuture<'static, ToolResult> + Send + Sync>;

/// What a tool knows about a call besides its parameters.
struct CallInfo {
    call_id: String,
    cancel: CancellationToken,
    progress: Progress,
    full_output: bool,
}

/// How the output of a call is reported besides the result.
#[derive(Debug, Clone, Default)]
pub struct OutputOptions {
    /// Receives output as it is printed.
    pub progress: Progress,
    /// Also return the full output if the result shows only a part.
    pub full_output: bool,
}

/// Creates a tool from a function over typed parameters. Its description is the doc comment of the type.
fn tool<P, F>(name: &'static str, capability: &'static str, run: F) -> NodeTool
where
    P: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(P, CallInfo) -> BoxFuture<'static, ToolResult> + Send + Sync + 'static,
{
    let mut schema = input_schema::<P>();
    let about = schema.as_object_mut().and_then(|s| s.remove("description"));
    let about = about.as_ref().and_then(Value::as_str).unwrap_or_default();
    let definition = ToolDefinition {
        name: name.to_owned(),
        description: about.to_owned(),
        input_schema: schema.clone(),
    };
    let typed = move |arguments| -> Result<P, ToolError> {
        let arguments = check::check(&schema, arguments)?;
        serde_json::from_value(arguments).map_err(|e| ToolError::parameter("args", e.to_string()))
    };
    NodeTool {
        name,
        capability,
        definition,
        run: Box::new(move |arguments, call| match typed(arguments) {
            Ok(params) => run(params, call),
            Err(wrong) => Box::pin(std::future::ready(Err(wrong))),
        }),
    }
}

fn to_json<T: Serialize>(result: &T) -> ToolResult {
    serde_json::to_value(result).map_err(|e| ToolError::internal(e.to_string()))
}

/// Runs blocking file I/O on a blocking thread.
async fn blocking<T: Serialize + Send + 'static>(
    work: impl FnOnce() -> Result<T, LocalError> + Send + 'static,
) -> ToolResult {
    // Serialised there as well: a large result would block the runtime.
    let done = tokio::task::spawn_blocking(move || work().map(|result| to_json(&result)));
    let done = done.await.map_err(|e| ToolError::internal(e.to_string()))?;
    done.map_err(ToolError::from)?
}
