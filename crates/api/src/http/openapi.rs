//! The OpenAPI document, generated from the table the router is built from.

use std::sync::Arc;

use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use manyhands_core::{Envelope, ToolSpec, schema_of};
use manyhands_gateway::Gateway;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::answer_type::Answering;
use super::patterns;
use super::routes::Route;

/// Required access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// No token needed.
    Open,
    /// Any valid token.
    Token,
    /// The owner's token.
    Owner,
}

/// Schema of a type; the types it refers to become components.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Contents of a response body.
#[derive(Clone, Copy)]
enum ResponseBody {
    /// Result of a tool, in our envelope.
    Tool,
    /// Result of this schema, in our envelope.
    Result(SchemaOf),
    /// Another media type; errors are in our envelope.
    Media(&'static str),
    /// An external format, errors included.
    Format(&'static str),
    /// A page of this media type, errors included.
    Page(&'static str),
}

/// An operation.
pub struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    summary: &'static str,
    access: Access,
    query: Option<Value>,
    request: Option<Value>,
    body: ResponseBody,
    /// Can also stream events, and responds 202 while waiting for an approval.
    streams: bool,
    /// Media type of a request body that is raw bytes.
    bytes: Option<&'static str>,
}

impl Operation {
    pub(super) fn new(
        method: &'static str,
        path: &'static str,
        access: Access,
        summary: &'static str,
    ) -> Self {
        Self {
            method,
            path,
            summary,
            access,
            query: None,
            request: None,
            body: ResponseBody::Tool,
            streams: false,
            bytes: None,
        }
    }

    /// Responses and errors use an external format.
    pub(super) fn answers_in(mut self, format: &'static str) -> Self {
        self.body = ResponseBody::Format(format);
        self
    }

    /// Responses have this media type; errors are in our envelope.
    pub(super) fn gives(mut self, media: &'static str) -> Self {
        self.body = ResponseBody::Media(media);
        self
    }

    /// Responses and errors are pages of this media type.
    pub(super) fn shows(mut self, media: &'static str) -> Self {
        self.body = ResponseBody::Page(media);
        self
    }

    /// The request body is raw bytes.
    pub(super) fn takes_bytes(mut self, media: &'static str) -> Self {
        self.bytes = Some(media);
        self
    }

    /// Sets the result type; [`Operation::by`] takes it from the handler.
    pub(super) fn answers<T: JsonSchema>(mut self) -> Self {
        self.body = ResponseBody::Result(|generator| generator.subschema_for::<T>());
        self
    }

    /// Also streams events on request, and responds 202 while waiting for an approval.
    pub(super) fn or_streams(mut self) -> Self {
        self.streams = true;
        self
    }

    pub(super) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(bounded(schema_of::<T>()));
        self
    }

    pub(super) fn request<T: JsonSchema>(mut self) -> Self {
        self.request = Some(bounded(schema_of::<T>()));
        self
    }

    /// Sets the handler. The result type is taken from its signature.
    pub(super) fn by<H, M, A>(self, handler: H) -> Route
    where
        H: Handler<M, Arc<Gateway>> + Answering<A>,
        H::Result: JsonSchema,
        M: 'static,
    {
        let filter = match self.method {
            "get" => MethodFilter::GET,
            "put" => MethodFilter::PUT,
            "delete" => MethodFilter::DELETE,
            _ => MethodFilter::POST,
        };
        (self.answers::<H::Result>(), on(filter, handler))
    }

    /// A stable operation id from method and path.
    fn id(&self) -> String {
        let words = self.path.split(|c: char| !c.is_ascii_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        std::iter::once(self.method)
            .chain(words)
            .collect::<Vec<_>>()
            .join("_")
    }

    fn describe(&self, generator: &mut SchemaGenerator) -> Value {
        let mut described = json!({
            "operationId": self.id(),
            "summary": self.summary,
            "responses": self.responses(generator),
        });
        let parameters = self.parameters();
        if !parameters.is_empty() {
            described["parameters"] = Value::Array(parameters);
        }
        if let Some(schema) = &self.request {
            described["requestBody"] = json!({
                "required": true,
                "content": { "application/json": { "schema": schema } },
            });
        }
        if let Some(media) = self.bytes {
            described["requestBody"] = json!({ "content": { media: {} } });
        }
        described["security"] = match self.access {
            Access::Open => json!([]),
            Access::Token | Access::Owner => json!([{ "bearer": [] }]),
        };
        if self.access == Access::Owner {
            described["description"] = json!("Needs the owner's token.");
        }
        described
    }

    fn responses(&self, generator: &mut SchemaGenerator) -> Value {
        const WRONG: &str = "error with a stable code";
        let response = |about: &str, media: &str, schema: Value| json!({ "description": about, "content": { media: schema } });
        let json = "application/json";
        match self.body {
            ResponseBody::Tool => json!({
                "200": envelope("result of the tool"),
                "default": envelope(WRONG),
            }),
            ResponseBody::Result(shape) => {
                let result = json!({ "schema": good(&shape(generator).to_value()) });
                let mut all = json!({
                    "200": response("success", json, result.clone()),
                    "default": envelope(WRONG),
                });
                if self.streams {
                    all["200"]["content"]["text/event-stream"] = json!({});
                    all["202"] = response("waiting for the owner's approval", json, result);
                }
                all
            }
            ResponseBody::Media(media) => json!({
                "200": response("success", media, json!({})),
                "default": envelope(WRONG),
            }),
            ResponseBody::Page(media) => json!({
                "200": response("the page", media, json!({})),
                "default": response("error page", media, json!({})),
            }),
            ResponseBody::Format(format) => {
                let mut all = json!({
                    "200": response(&format!("success, in {format}"), json, json!({})),
                    "default": response(&format!("{WRONG}, in {format}"), json, json!({})),
                });
                if self.streams {
                    all["200"]["content"]["text/event-stream"] = json!({});
                }
                all
            }
        }
    }

    fn parameters(&self) -> Vec<Value> {
        let in_path = self
            .path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let mut parameters: Vec<Value> = in_path
            .map(|name| {
                let name = name.trim_start_matches('*');
                let schema = patterns::in_path(self.path, name);
                json!({ "name": name, "in": "path", "required": true, "schema": schema })
            })
            .collect();
        let schema = self.query.as_ref();
        let needed = schema.and_then(|schema| schema["required"].as_array());
        let properties = schema.and_then(|schema| schema["properties"].as_object());
        for (name, schema) in properties.into_iter().flatten() {
            let mut schema = schema.clone();
            let about = schema.as_object_mut().and_then(|s| s.remove("description"));
            let mut parameter = json!({ "name": name, "in": "query", "schema": schema });
            if needed.is_some_and(|needed| needed.contains(&json!(name))) {
                parameter["required"] = json!(true);
            }
            // OpenAPI describes the parameter, not its schema.
            if let Some(about) = about {
                parameter["description"] = about;
            }
            parameters.push(parameter);
        }
        parameters
    }
}

/// Adds the bounds of integer types, which the parser enforces.
fn bounded(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(map) => {
            let (least, most) = match map.get("format").and_then(Value::as_str) {
                Some("uint8") => (json!(0), json!(u8::MAX)),
                Some("uint16") => (json!(0), json!(u16::MAX)),
                Some("uint32") => (json!(0), json!(u32::MAX)),
                Some("uint64") => (json!(0), json!(u64::MAX)),
                Some("int32") => (json!(i32::MIN), json!(i32::MAX)),
                Some("int64") => (json!(i64::MIN), json!(i64::MAX)),
                _ => (Value::Null, Value::Null),
            };
            if !least.is_null() {
                map.entry("minimum").or_insert(least);
                map.entry("maximum").or_insert(most);
            }
            for value in map.values_mut() {
                *value = bounded(value.take());
            }
        }
        Value::Array(all) => {
            for value in all {
                *value = bounded(value.take());
            }
        }
        _ => {}
    }
    schema
}

/// The envelope of a successful result.
fn good(result: &Value) -> Value {
    json!({
        "type": "object",
        "required": ["ok", "result"],
        "properties": { "ok": { "const": true }, "result": result },
    })
}

fn envelope(about: &str) -> Value {
    json!({
        "description": about,
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Envelope" } } },
    })
}

/// Builds the document: all operations, and one for each of `tools`.
pub fn document<'a>(tools: impl Iterator<Item = &'a ToolSpec>) -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    // `envelope` refers to it by name, so it must be among the definitions.
    generator.subschema_for::<Envelope>();
    let mut paths = Map::new();
    for operation in super::routes::operations() {
        // OpenAPI has no catch-all parameters.
        let path = operation.path.replace("{*", "{");
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        entry[operation.method] = operation.describe(&mut generator);
    }
    for spec in tools {
        let result = spec.output_schema.as_ref();
        let operation = json!({
            "post": {
                "operationId": spec.name.wire(),
                "summary": first_line(&spec.description),
                "description": spec.description,
                "tags": [spec.family],
                "x-effects": spec.effects,
                "security": [{ "bearer": [] }],
                "requestBody": {
                    "required": needs_something(&spec.input_schema),
                    "content": { "application/json": { "schema": spec.input_schema } },
                },
                "responses": {
                    "200": {
                        "description": "the result",
                        "content": { "application/json": { "schema": good(result.unwrap_or(&Value::Bool(true))) } },
                    },
                    "default": envelope("error with a stable code"),
                },
            },
        });
        paths.insert(format!("/api/tools/{}", spec.name), operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Manyhands",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The HTTP face of a Manyhands gateway.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:7717" }],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// Whether a tool has required parameters.
fn needs_something(schema: &Value) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|names| !names.is_empty())
}

fn first_line(text: &str) -> &str {
    text.split(['.', '\n']).next().unwrap_or_default()
}
