//! The traits of tools, and the catalogue of all tools. They are one module because a tool may look
//! up others in the catalogue that holds it.

mod catalogue;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::call::CallContext;
use crate::chat_ref::ChatRef;
use crate::effects::Effects;
use crate::error::{ErrorCode, ToolError};
use crate::outcome::Outcome;
use crate::spec::ToolSpec;

pub use catalogue::{Catalogue, CatalogueEntry, DuplicateTool};

/// A tool as the catalogue holds it.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Its metadata.
    fn spec(&self) -> &ToolSpec;
    /// The canonical spelling of the arguments, so that rules and approvals see what will be used.
    /// Called after they were validated against the schema.
    fn canonical(&self, arguments: Value) -> Value {
        arguments
    }
    /// The tool's own validation, which runs before the schema's and has clearer messages.
    fn check(&self, _arguments: &Value) -> Result<(), ToolError> {
        Ok(())
    }
    /// What a call with these arguments does; override it if that depends on them.
    fn effects_of(&self, _arguments: &Value) -> Effects {
        self.spec().effects
    }
    /// Whether a call with these arguments is part of the reply in its chat and reaches nobody else. Like
    /// the text of the reply, it then needs no approval.
    fn replies(&self, _arguments: &Value, _place: Option<&ChatRef>) -> bool {
        false
    }
    /// The calls of other tools that a call with these arguments amounts to: a transfer reads one file
    /// and writes another. Each is authorized as if it were made by itself.
    fn implies(&self, _arguments: &Value, _catalogue: &Catalogue) -> Vec<Implied> {
        Vec::new()
    }
    /// How long a call with these arguments may take; override it if that depends on them.
    fn deadline_of(&self, _arguments: &Value) -> Duration {
        self.spec().deadline
    }
    /// Does the work. Only the path calls this.
    async fn call(&self, arguments: Value, context: &CallContext) -> Result<Outcome, ToolError>;
}

/// A call that another one amounts to.
pub struct Implied {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// The arguments that rules can match.
    pub arguments: Value,
}

/// A name in the catalogue that only forwards calls to other tools. The path replaces the call by the
/// one it stands for, so that rules, approvals and the audit see what will run.
pub trait Forwarder: Send + Sync {
    /// Its metadata.
    fn spec(&self) -> &ToolSpec;
    /// The call that a call with these arguments, which fit the schema, stands for.
    fn forward(&self, arguments: &Value, catalogue: &Catalogue) -> Result<Forward, ToolError>;
}

/// The call that a call of a [`Forwarder`] stands for.
#[derive(Debug, Clone)]
pub struct Forward {
    /// The tool's canonical name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// Which connection to use: service and id.
    pub connection: Option<(String, String)>,
}

/// A tool with typed parameters and a typed result: what a tool's file implements.
pub trait TypedTool: Send + Sync + 'static {
    /// Its parameters; the input schema comes from this type.
    type Params: DeserializeOwned + JsonSchema + Send;
    /// Its result; the output schema comes from this type.
    type Output: JsonSchema;

    /// Name, family, effects and the rest. The schemas are filled in, and the
    /// description is the doc comment of [`Self::Params`].
    fn spec(&self) -> ToolSpec;
    /// See [`Tool::canonical`].
    fn canonical(&self, arguments: Value) -> Value {
        arguments
    }
    /// See [`Tool::check`].
    fn check(&self, _arguments: &Value) -> Result<(), ToolError> {
        Ok(())
    }
    /// See [`Tool::effects_of`].
    fn effects_of(&self, _arguments: &Value) -> Effects {
        self.spec().effects
    }
    /// See [`Tool::replies`].
    fn replies(&self, _arguments: &Value, _place: Option<&ChatRef>) -> bool {
        false
    }
    /// See [`Tool::implies`].
    fn implies(&self, _arguments: &Value, _catalogue: &Catalogue) -> Vec<Implied> {
        Vec::new()
    }
    /// Does the work.
    fn run(
        &self,
        params: Self::Params,
        context: &CallContext,
    ) -> impl Future<Output = Result<Outcome, ToolError>> + Send;
}

/// Adapts a [`TypedTool`] to [`Tool`].
pub struct Typed<T> {
    spec: ToolSpec,
    tool: T,
}

impl<T: TypedTool> Typed<T> {
    /// Fills the schemas in from the types.
    pub fn new(tool: T) -> Self {
        let mut spec = tool.spec();
        let mut input = input_schema::<T::Params>();
        if let Some(Value::String(text)) =
            // Moved out of the schema, where models would read it a second time.
            input.as_object_mut().and_then(|o| o.remove("description"))
        {
            spec.description = text.into();
        }
        spec.input_schema = Arc::new(input);
        spec.output_schema = Some(output_schema::<T::Output>());
        Self { spec, tool }
    }
}

#[async_trait]
impl<T: TypedTool> Tool for Typed<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn canonical(&self, arguments: Value) -> Value {
        self.tool.canonical(arguments)
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        self.tool.check(arguments)
    }

    fn effects_of(&self, arguments: &Value) -> Effects {
        self.tool.effects_of(arguments)
    }

    fn replies(&self, arguments: &Value, place: Option<&ChatRef>) -> bool {
        self.tool.replies(arguments, place)
    }

    fn implies(&self, arguments: &Value, catalogue: &Catalogue) -> Vec<Implied> {
        self.tool.implies(arguments, catalogue)
    }

    async fn call(&self, arguments: Value, context: &CallContext) -> Result<Outcome, ToolError> {
        let params = serde_json::from_value(arguments)
            .map_err(|e| ToolError::new(ErrorCode::InvalidArguments, e.to_string()))?;
        self.tool.run(params, context).await
    }
}

/// The JSON Schema of a type for deserialization, self-contained and without a document header.
pub fn schema_of<T: JsonSchema>() -> Value {
    schema::<T>(SchemaSettings::draft2020_12())
}

/// The JSON Schema of a type for serialization: fields that may be omitted are not required.
pub fn serialize_schema_of<T: JsonSchema>() -> Value {
    schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// The schema of a tool's parameters.
pub fn input_schema<T: JsonSchema>() -> Value {
    without_number_formats(schema_of::<T>())
}

/// The schema of a tool's result.
pub fn output_schema<T: JsonSchema>() -> Value {
    without_number_formats(serialize_schema_of::<T>())
}

/// Removes number formats such as `uint64`, which are not part of JSON Schema: strict validators of MCP clients
/// warn about unknown formats or reject the schema.
fn without_number_formats(mut schema: Value) -> Value {
    const SIZES: [&str; 4] = ["uint", "int", "double", "float"];
    match &mut schema {
        Value::Object(fields) => {
            let format = fields.get("format").and_then(Value::as_str);
            if format.is_some_and(|format| SIZES.iter().any(|size| format.starts_with(size))) {
                fields.remove("format");
            }
            for field in fields.values_mut() {
                *field = without_number_formats(field.take());
            }
        }
        Value::Array(all) => {
            for one in all {
                *one = without_number_formats(one.take());
            }
        }
        _ => {}
    }
    schema
}

fn schema<T: JsonSchema>(mut settings: SchemaSettings) -> Value {
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The name of the Rust type means nothing to a model.
    schema.remove("title");
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    /// The doc comment of the type.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    #[allow(dead_code)]
    struct Params {
        /// Where.
        path: String,
        replace_all: Option<bool>,
    }

    #[test]
    fn schemas_are_plain_and_refuse_unknown_parameters() {
        let schema = schema_of::<Params>();
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["required"], serde_json::json!(["path"]));
        assert_eq!(schema["properties"]["path"]["description"], "Where.");
        assert!(schema["properties"]["replaceAll"].is_object());
        assert!(schema.get("$schema").is_none() && schema.get("$defs").is_none());
    }
}
