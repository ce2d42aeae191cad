//! The OpenAPI document, made from the same table the router is.

use manyhands_core::{Catalogue, Envelope, schema_of};
use serde_json::{Map, Value, json};

/// Who may use an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody who reaches the address.
    Open,
    /// Anybody with a token.
    Token,
    /// The owner.
    Owner,
}

/// One operation, as the document describes it.
pub struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) access: Access,
    pub(super) query: Option<Value>,
    pub(super) request: Option<Value>,
    /// What it answers in, when that is not our envelope.
    pub(super) answers_in: Option<&'static str>,
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
            answers_in: None,
        }
    }

    /// Answers and errors are in somebody else's format.
    pub(super) fn answers_in(mut self, format: &'static str) -> Self {
        self.answers_in = Some(format);
        self
    }

    pub(super) fn query<T: schemars::JsonSchema>(mut self) -> Self {
        self.query = Some(schema_of::<T>());
        self
    }

    pub(super) fn request<T: schemars::JsonSchema>(mut self) -> Self {
        self.request = Some(schema_of::<T>());
        self
    }

    fn describe(&self) -> Value {
        let said = |about: &str| match self.answers_in {
            None => response(about),
            Some(format) => json!({
                "description": format!("{about}, in {format}"),
                "content": { "application/json": {} },
            }),
        };
        let mut described = json!({
            "summary": self.summary,
            "responses": {
                "200": said("the answer"),
                "default": said("what was wrong, with a stable code"),
            },
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
        described["security"] = match self.access {
            Access::Open => json!([]),
            Access::Token | Access::Owner => json!([{ "bearer": [] }]),
        };
        if self.access == Access::Owner {
            described["description"] = json!("Needs the owner's token.");
        }
        described
    }

    fn parameters(&self) -> Vec<Value> {
        let in_path = self
            .path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let mut parameters: Vec<Value> = in_path
            .map(|name| json!({ "name": name.trim_start_matches('*'), "in": "path", "required": true, "schema": { "type": "string" } }))
            .collect();
        let properties = self
            .query
            .as_ref()
            .and_then(|schema| schema["properties"].as_object());
        for (name, schema) in properties.into_iter().flatten() {
            let mut schema = schema.clone();
            let about = schema.as_object_mut().and_then(|s| s.remove("description"));
            let mut parameter = json!({ "name": name, "in": "query", "schema": schema });
            if let Some(about) = about {
                parameter["description"] = about;
            }
            parameters.push(parameter);
        }
        parameters
    }
}

fn response(about: &str) -> Value {
    json!({
        "description": about,
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Envelope" } } },
    })
}

/// The whole document: the operations, and one for each tool in the catalogue.
pub fn document(catalogue: &Catalogue) -> Value {
    let mut paths = Map::new();
    for operation in super::routes::operations() {
        let path = operation.path.replace("{*", "{");
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        entry[operation.method] = operation.describe();
    }
    for spec in catalogue.specs() {
        let operation = json!({
            "post": {
                "operationId": spec.name.wire(),
                "summary": first_line(&spec.description),
                "description": spec.description,
                "tags": [spec.family],
                "x-effects": spec.effects,
                "security": [{ "bearer": [] }],
                "requestBody": { "content": { "application/json": { "schema": spec.input_schema } } },
                "responses": {
                    "200": {
                        "description": "the result",
                        "content": { "application/json": { "schema": {
                            "type": "object",
                            "required": ["ok", "result"],
                            "properties": { "ok": { "const": true }, "result": spec.output_schema },
                        } } },
                    },
                    "default": response("what was wrong, with a stable code"),
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
            "schemas": { "Envelope": schema_of::<Envelope>() },
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn first_line(text: &str) -> &str {
    text.split(['.', '\n']).next().unwrap_or_default()
}
