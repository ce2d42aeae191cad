//! A node's tools, one file each. The behaviour is in `hands`; here are the words.

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
use manyhands_core::{Progress, ToolError, schema_of};
use manyhands_hands::local::LocalError;
use manyhands_wire::ToolDefinition;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use toolbox::{Confinement, SandboxMode, ToolSettings, Toolbox, ToolboxError};

/// What a tool says, and does.
struct NodeTool {
    name: &'static str,
    /// What the tool needs, in the words of the gateway.
    capability: &'static str,
    definition: ToolDefinition,
    run: Run,
}

type Said = Result<Value, ToolError>;
type Run = Box<dyn Fn(Value, Asked) -> BoxFuture<'static, Said> + Send + Sync>;

/// What a tool knows of the call beside its parameters.
struct Asked {
    call_id: String,
    cancel: CancellationToken,
    progress: Progress,
    full_output: bool,
}

/// What the gateway wants of an output beside the result.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    /// Told what is printed.
    pub progress: Progress,
    /// All of it with the result, where that shows a part.
    pub full_output: bool,
}

/// Makes a tool of a function over typed parameters. The description is the doc comment of
/// the type.
fn tool<P, F>(name: &'static str, capability: &'static str, run: F) -> NodeTool
where
    P: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(P, Asked) -> BoxFuture<'static, Said> + Send + Sync + 'static,
{
    let mut schema = schema_of::<P>();
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
        run: Box::new(move |arguments, asked| match typed(arguments) {
            Ok(params) => run(params, asked),
            Err(wrong) => Box::pin(std::future::ready(Err(wrong))),
        }),
    }
}

fn said<T: Serialize>(result: &T) -> Said {
    serde_json::to_value(result).map_err(|e| ToolError::internal(e.to_string()))
}

/// Runs blocking work on files where it holds nobody up.
async fn blocking<T: Serialize + Send + 'static>(
    work: impl FnOnce() -> Result<T, LocalError> + Send + 'static,
) -> Said {
    let done = tokio::task::spawn_blocking(move || work().map(|result| said(&result)));
    let done = done.await.map_err(|e| ToolError::internal(e.to_string()))?;
    done.map_err(ToolError::from)?
}
