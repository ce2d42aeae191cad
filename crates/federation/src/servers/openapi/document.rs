//! Reads an OpenAPI document into operations, each with a name, a schema and its request.

use std::collections::BTreeMap;

use manyhands_upstream::REQUEST;
use serde_json::{Map, Value, json};
use url::Url;

use super::request::{BodyKind, OperationRequest, Parameter, Slot};
use super::server;

/// The most operations of one document that become tools.
const MAX_OPERATIONS: usize = 5_000;
/// How deep schemas are resolved.
const MAX_DEPTH: usize = 12;
/// The most nodes in the schema of one operation; long texts and value lists count as several.
const MAX_NODES: usize = 5_000;
/// How many bytes of text count as one node.
const NODE_BYTES: usize = 64;
/// The most bytes of all tool definitions. References are expanded at every use, so a short
/// document could otherwise grow without bound.
const MAX_WRITTEN: usize = 64 * 1024 * 1024;

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// One operation of a service.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) request: OperationRequest,
    /// The tool definition, including the request it stands for.
    pub(super) definition: Value,
}

/// A parsed document.
#[derive(Debug)]
pub(super) struct ApiDocument {
    /// The default server of the document.
    pub(super) server: Option<String>,
    pub(super) operations: Vec<Operation>,
}

/// Where a document came from, and whether its `servers` count.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DocumentSource<'a> {
    pub(super) from: Option<&'a Url>,
    /// Whether the settings name the server, so the document's `servers` are ignored.
    pub(super) settled: bool,
}

/// Parses a JSON or YAML document.
pub(super) fn read(text: &str, source: DocumentSource<'_>) -> Result<ApiDocument, String> {
    let root: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(json) => serde_saphyr::from_str(text)
            .map_err(|yaml| format!("it is neither JSON ({json}) nor YAML ({yaml})"))?,
    };
    let version = root["openapi"].as_str().unwrap_or_default();
    if !version.starts_with("3.") {
        return Err("it has no `openapi: 3.x` version field".to_owned());
    }
    let paths = root["paths"].as_object().ok_or("it has no paths")?;
    let whole = match source {
        DocumentSource { settled: true, .. } => None,
        DocumentSource { from, .. } => match server::named(&root, from)? {
            // The OpenAPI default: the service is where its document is.
            None if from.is_some() => Some(server::canonical("/", from)?.into()),
            named => named,
        },
    };
    let mut names = BTreeMap::new();
    let mut written = 0;
    let mut operations: Vec<Operation> = Vec::new();
    for (path, item) in paths.iter().filter(|(path, _)| !path.starts_with("x-")) {
        server::checked_path(path)?;
        let item = resolve(&root, item);
        for method in METHODS {
            let Some(operation) = item.get(method).filter(|found| found.is_object()) else {
                continue;
            };
            if operations.len() == MAX_OPERATIONS {
                return Err(format!("it has more than {MAX_OPERATIONS} operations"));
            }
            let name = name_of(operation, method, path, &mut names);
            let server = match source.settled {
                true => None,
                false => Some(server_of(&[operation, item], &whole, source.from)?),
            };
            let mut operation = operation_of(&root, item, operation, method, path, name);
            operation.request.server = server;
            operation.definition[REQUEST] = json!(operation.request);
            written += weight(&operation.definition) * NODE_BYTES;
            if written > MAX_WRITTEN {
                return Err(format!(
                    "its tools exceed {MAX_WRITTEN} bytes with all references resolved"
                ));
            }
            operations.push(operation);
        }
    }
    let first = operations.first();
    let server = whole.or_else(|| first.and_then(|one| one.request.server.clone()));
    Ok(ApiDocument { server, operations })
}

/// The server of an operation: its own, else that of its path, else that of the document.
fn server_of(own: &[&Value], whole: &Option<String>, from: Option<&Url>) -> Result<String, String> {
    for object in own {
        if let Some(server) = server::named(object, from)? {
            return Ok(server);
        }
    }
    whole
        .clone()
        .ok_or_else(|| "it does not name a server; set url next to openapi".to_owned())
}

/// Names in use, each with how often it was requested.
type NameCounts = BTreeMap<String, usize>;

fn name_of(operation: &Value, method: &str, path: &str, names: &mut NameCounts) -> String {
    let said = operation["operationId"].as_str().map(str::to_owned);
    let said = said.unwrap_or_else(|| format!("{method}_{}", path.trim_matches('/')));
    let legal = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let plain: String = said.chars().take(100).map(legal).collect();
    let words: Vec<&str> = plain.split('_').filter(|word| !word.is_empty()).collect();
    let wanted = words.join("_");
    let mut name = wanted.clone();
    while names.contains_key(&name) {
        // Continue counting where the last duplicate stopped; starting from 1 each time would be
        // quadratic.
        let count = names.entry(wanted.clone()).or_insert(1);
        *count += 1;
        name = format!("{wanted}_{count}");
    }
    names.insert(name.clone(), 1);
    name
}

/// How many nodes a value counts as.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / NODE_BYTES,
        Value::Array(list) => 1 + list.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => {
            let each = fields.iter();
            1 + each
                .map(|(name, inner)| name.len() / NODE_BYTES + weight(inner))
                .sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

fn operation_of(
    root: &Value,
    item: &Value,
    operation: &Value,
    method: &str,
    path: &str,
    name: String,
) -> Operation {
    let mut budget = MAX_NODES;
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut parameters: Vec<Parameter> = Vec::new();
    let own = operation["parameters"].as_array().into_iter().flatten();
    let shared = item["parameters"].as_array().into_iter().flatten();
    for parameter in own.chain(shared) {
        let parameter = resolve(root, parameter);
        let (Some(named), Some(slot)) = (parameter["name"].as_str(), slot(parameter)) else {
            continue;
        };
        if parameters
            .iter()
            .any(|other| other.name == named && other.slot == slot)
        {
            continue; // the parameter of an operation overrides that of its path
        }
        let mut key = named.to_owned();
        while properties.contains_key(&key) || key == "body" {
            key.push('_');
        }
        let mut schema = schema_of(root, &parameter["schema"], &mut budget);
        describe(&mut schema, &parameter["description"]);
        properties.insert(key.clone(), schema);
        if parameter["required"] == true || slot == Slot::Path {
            required.push(Value::String(key.clone()));
        }
        parameters.push(Parameter {
            key,
            name: named.to_owned(),
            slot,
            explode: parameter["explode"]
                .as_bool()
                .unwrap_or(slot == Slot::Query),
        });
    }
    let asked = resolve(root, &operation["requestBody"]);
    let body = body_of(asked);
    if let Some((_, media)) = &body {
        let mut schema = schema_of(root, &media["schema"], &mut budget);
        describe(&mut schema, &asked["description"]);
        properties.insert("body".to_owned(), schema);
        if asked["required"] == true {
            required.push(json!("body"));
        }
    }
    let texts = [&operation["summary"], &operation["description"]];
    let mut texts: Vec<&str> = texts.iter().filter_map(|text| text.as_str()).collect();
    texts.dedup();
    let reads = matches!(method, "get" | "head" | "options");
    let mut definition = json!({
        "name": name,
        "description": match texts.is_empty() {
            true => format!("{} {path}", method.to_ascii_uppercase()),
            false => texts.join("\n\n"),
        },
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": reads, "destructiveHint": method == "delete" },
    });
    if let Some(schema) = output_of(root, operation, &mut budget) {
        definition["outputSchema"] = schema;
    }
    Operation {
        request: OperationRequest {
            server: None,
            method: method.to_ascii_uppercase(),
            path: path.to_owned(),
            parameters,
            body: body.map(|(kind, _)| kind),
        },
        definition,
    }
}

fn slot(parameter: &Value) -> Option<Slot> {
    match parameter["in"].as_str()? {
        "path" => Some(Slot::Path),
        "query" => Some(Slot::Query),
        "header" => {
            // Headers that authenticate are set from the connection and never by the caller.
            let name = parameter["name"].as_str()?.to_ascii_lowercase();
            let ours = ["accept", "authorization", "content-type", "cookie", "host"];
            (!ours.contains(&name.as_str())).then_some(Slot::Header)
        }
        _ => None,
    }
}

fn body_of(asked: &Value) -> Option<(BodyKind, &Value)> {
    let content = asked["content"].as_object()?;
    let kind = |media: &str| {
        let media = media.split(';').next().unwrap_or_default().trim();
        match media {
            "application/x-www-form-urlencoded" => Some(BodyKind::Form),
            media if media == "application/json" || media.ends_with("+json") => {
                Some(BodyKind::Json)
            }
            "*/*" => Some(BodyKind::Json),
            media if media.starts_with("text/") => Some(BodyKind::Text),
            _ => None,
        }
    };
    let mut known = content
        .iter()
        .filter_map(|(media, of)| Some((kind(media)?, of)));
    known.next()
}

/// The schema of a successful response, if all success responses declare one.
fn output_of(root: &Value, operation: &Value, budget: &mut usize) -> Option<Value> {
    let answers = operation["responses"].as_object()?.iter();
    let good = answers.filter(|(status, _)| status.starts_with('2'));
    let mut schemas: Vec<Value> = Vec::new();
    for (_, answer) in good {
        let content = resolve(root, answer)["content"].as_object();
        let json = |media: &str| {
            let media = media.split(';').next().unwrap_or_default().trim();
            media == "application/json" || media.ends_with("+json")
        };
        let mut bodies = content.into_iter().flatten();
        // A response that may also have another media type has no reliable schema.
        let (_, body) = bodies.find(|(media, _)| json(media))?;
        let schema = schema_of(root, body.get("schema")?, budget);
        if !schemas.contains(&schema) {
            schemas.push(schema);
        }
    }
    match schemas.len() {
        0 => None,
        1 => schemas.pop().filter(Value::is_object),
        _ => Some(json!({ "anyOf": schemas })),
    }
}

fn describe(schema: &mut Value, text: &Value) {
    if let (Some(text), Some(schema)) = (text.as_str(), schema.as_object_mut()) {
        schema
            .entry("description")
            .or_insert_with(|| Value::String(text.to_owned()));
    }
}

/// Follows a `$ref` within the document.
fn resolve<'a>(root: &'a Value, mut value: &'a Value) -> &'a Value {
    for _ in 0..MAX_DEPTH {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
            return value;
        };
        let pointer = reference.strip_prefix('#').unwrap_or("/-");
        match root.pointer(pointer) {
            Some(found) => value = found,
            None => return &Value::Null,
        }
    }
    &Value::Null
}

/// Returns a self-contained JSON Schema. Recursive or too deep parts accept anything.
fn schema_of(root: &Value, schema: &Value, budget: &mut usize) -> Value {
    let mut within = Vec::new();
    plain(root, schema, budget, &mut within)
}

fn plain<'a>(
    root: &'a Value,
    schema: &'a Value,
    budget: &mut usize,
    within: &mut Vec<&'a Value>,
) -> Value {
    let schema = resolve(root, schema);
    let circular = within.iter().any(|outer| std::ptr::eq(*outer, schema));
    let Some(map) = schema.as_object() else {
        return match schema {
            Value::Bool(_) => schema.clone(),
            _ => json!({}),
        };
    };
    if circular || within.len() >= MAX_DEPTH || *budget == 0 {
        return json!({});
    }
    *budget -= 1;
    within.push(schema);
    let mut out = Map::new();
    for (key, value) in map {
        let kept = match key.as_str() {
            "properties" | "patternProperties" => {
                let each = value.as_object().into_iter().flatten();
                let each = each.map(|(name, of)| (name.clone(), plain(root, of, budget, within)));
                Value::Object(each.collect())
            }
            "items" | "additionalProperties" | "not" | "contains" | "propertyNames" => {
                plain(root, value, budget, within)
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                let each = value.as_array().into_iter().flatten();
                Value::Array(each.map(|of| plain(root, of, budget, within)).collect())
            }
            "type" | "enum" | "const" | "format" | "description" | "title" | "default"
            | "required" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"
            | "multipleOf" | "minLength" | "maxLength" | "pattern" | "minItems" | "maxItems"
            | "uniqueItems" | "minProperties" | "maxProperties" => {
                // References are expanded at every use, so long texts and lists count against the
                // budget each time.
                match budget.checked_sub(weight(value)) {
                    Some(left) => *budget = left,
                    None => continue,
                }
                value.clone()
            }
            _ => continue,
        };
        out.insert(key.clone(), kept);
    }
    within.pop();
    settle_old_words(map, &mut out);
    Value::Object(out)
}

/// Translates keywords of OpenAPI 3.0 to JSON Schema.
fn settle_old_words(map: &Map<String, Value>, out: &mut Map<String, Value>) {
    if map.get("nullable") == Some(&Value::Bool(true))
        && let Some(Value::String(kind)) = out.get("type").cloned()
    {
        out.insert("type".to_owned(), json!([kind, "null"]));
        if let Some(Value::Array(words)) = out.get_mut("enum")
            && !words.contains(&Value::Null)
        {
            words.push(Value::Null);
        }
    }
    for (flag, limit) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        match out.get(flag) {
            Some(Value::Bool(true)) => {
                let bound = out.remove(limit).unwrap_or(Value::Null);
                out.insert(flag.to_owned(), bound);
                if out[flag].is_null() {
                    out.remove(flag);
                }
            }
            Some(Value::Bool(false)) => drop(out.remove(flag)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PETS: &str = r##"
openapi: 3.0.3
servers:
  - url: https://{where}.example/v1
    variables: { where: { default: pets } }
paths:
  /pets/{id}:
    parameters:
      - { name: id, in: path, required: true, schema: { type: integer } }
    get:
      operationId: getPet
      summary: One pet
      parameters:
        - { name: fields, in: query, schema: { type: array, items: { type: string } } }
        - { name: Authorization, in: header, schema: { type: string } }
      responses:
        "200":
          content:
            application/json; charset=utf-8:
              schema: { $ref: "#/components/schemas/Pet" }
        "404": { description: gone }
    delete:
      responses: { "200": { content: { application/json: { schema: {} } } }, "204": { description: gone } }
  /pets:
    post:
      operationId: add pet!
      requestBody:
        required: true
        content:
          application/json:
            schema: { $ref: "#/components/schemas/Pet" }
components:
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        name: { type: string, nullable: true, example: Rex }
        age: { type: integer, minimum: 0, exclusiveMinimum: true }
        parent: { $ref: "#/components/schemas/Pet" }
"##;

    #[test]
    fn operations_become_tools() {
        let document = read(PETS, DocumentSource::default()).unwrap();
        assert_eq!(document.server.as_deref(), Some("https://pets.example/v1"));
        let names: Vec<&str> = document
            .operations
            .iter()
            .map(|one| one.definition["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["getPet", "delete_pets_id", "add_pet"]);
        let get = &document.operations[0];
        assert_eq!(get.definition["inputSchema"]["required"], json!(["id"]));
        assert_eq!(get.definition["annotations"]["readOnlyHint"], true);
        let keys: Vec<&str> = get
            .request
            .parameters
            .iter()
            .map(|one| one.key.as_str())
            .collect();
        assert_eq!(keys, ["fields", "id"]);
    }

    #[test]
    fn schemas_stand_alone_and_end() {
        let document = read(PETS, DocumentSource::default()).unwrap();
        let body = &document.operations[2].definition["inputSchema"]["properties"]["body"];
        assert_eq!(
            body["properties"]["name"]["type"],
            json!(["string", "null"])
        );
        assert_eq!(
            body["properties"]["age"],
            json!({ "type": "integer", "exclusiveMinimum": 0 })
        );
        assert_eq!(body["properties"]["parent"], json!({}));
        assert!(!body.to_string().contains("$ref"));
    }

    #[test]
    fn what_a_good_answer_holds_is_the_output_schema() {
        let document = read(PETS, DocumentSource::default()).unwrap();
        let [get, delete, add] = &document.operations[..] else {
            panic!("three operations");
        };
        let schema = &get.definition["outputSchema"];
        assert_eq!(schema["required"], json!(["name"]));
        assert!(!schema.to_string().contains("$ref"), "{schema}");
        for unknown in [delete, add] {
            assert!(unknown.definition.get("outputSchema").is_none());
        }
    }

    /// A document whose service the settings name.
    fn settled(text: &str) -> Result<ApiDocument, String> {
        let source = DocumentSource {
            settled: true,
            from: None,
        };
        read(text, source)
    }

    /// A document in which every operation refers to the same schema.
    fn repeated(operations: usize, named: Option<&str>, pet: Value) -> String {
        let operation = json!({
            "operationId": named,
            "requestBody": { "content": { "application/json": { "schema": {
                "type": "object",
                "properties": (0..100).map(|n| (format!("p{n}"), json!({ "$ref": "#/components/schemas/Pet" }))).collect::<Map<_, _>>(),
            } } } },
        });
        let paths = (0..operations).map(|n| (format!("/{n}"), json!({ "post": operation })));
        let paths: Map<String, Value> = paths.collect();
        let root = json!({ "openapi": "3.1.0", "paths": paths, "components": { "schemas": { "Pet": pet } } });
        root.to_string()
    }

    #[test]
    fn what_is_referred_to_often_is_written_out_only_so_often() {
        let long: Vec<String> = (0..2_000)
            .map(|n| format!("option {n} {}", "x".repeat(100)))
            .collect();
        let document = settled(&repeated(1, None, json!({ "enum": long }))).unwrap();
        let written = document.operations[0].definition.to_string();
        assert!(
            written.len() < 3 * MAX_NODES * NODE_BYTES,
            "{}",
            written.len()
        );
        let error = settled(&repeated(2_000, None, json!({ "enum": long[..40] }))).unwrap_err();
        assert!(error.contains("exceed"), "{error}");
        let document = settled(&repeated(20, None, json!({ "enum": ["a", "b"] }))).unwrap();
        let body = &document.operations[19].definition["inputSchema"]["properties"]["body"];
        assert_eq!(body["properties"]["p99"]["enum"], json!(["a", "b"]));
    }

    #[test]
    fn many_operations_of_one_name_are_told_apart() {
        let document = settled(&repeated(4_000, Some("a"), json!({}))).unwrap();
        let names = document
            .operations
            .iter()
            .map(|one| one.definition["name"].as_str().unwrap());
        let names: Vec<&str> = names.collect();
        assert_eq!(names[..3], ["a", "a_2", "a_3"]);
        let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), 4_000);
    }

    #[test]
    fn what_is_no_document_is_refused_in_words() {
        for (text, why) in [
            ("{}", "openapi: 3.x"),
            ("[1", "neither JSON"),
            (r#"{"openapi":"3.1.0"}"#, "no paths"),
            (r#"{"swagger":"2.0","paths":{}}"#, "openapi: 3.x"),
        ] {
            let error = read(text, DocumentSource::default()).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn the_nearest_servers_count_and_are_part_of_what_is_accepted() {
        let text = json!({
            "openapi": "3.1.0",
            "servers": [{ "url": "https://API.example/v1/" }, { "url": "https://second.example" }],
            "paths": {
                "/a": { "get": {} },
                "/b": { "servers": [{ "url": "https://b.example" }], "get": {}, "post": { "servers": [{ "url": "https://c.example" }] } },
                "x-note": "no path",
            },
        });
        let servers = |source: DocumentSource<'_>| {
            let document = read(&text.to_string(), source).unwrap();
            let each = document.operations.iter().map(|one| {
                assert_eq!(one.definition[REQUEST], json!(one.request));
                one.request.server.clone()
            });
            (each.collect::<Vec<_>>(), document.server)
        };
        let own = |text: &str| Some(text.to_owned());
        let (each, whole) = servers(DocumentSource::default());
        assert_eq!(whole, own("https://api.example/v1"));
        assert_eq!(
            each,
            [
                own("https://api.example/v1"),
                own("https://b.example/"),
                own("https://c.example/")
            ]
        );
        let settled = DocumentSource {
            settled: true,
            ..DocumentSource::default()
        };
        assert_eq!(servers(settled), (vec![None; 3], None));
    }

    #[test]
    fn a_document_without_servers_is_where_it_came_from() {
        let text = json!({ "openapi": "3.1.0", "paths": { "/a": { "get": {} } } }).to_string();
        let from = Url::parse("https://docs.example/v2/openapi.json").unwrap();
        let source = DocumentSource {
            from: Some(&from),
            settled: false,
        };
        let document = read(&text, source).unwrap();
        assert_eq!(document.server.as_deref(), Some("https://docs.example/"));
        let error = read(&text, DocumentSource::default()).unwrap_err();
        assert!(error.contains("set url next to openapi"), "{error}");
    }
}
