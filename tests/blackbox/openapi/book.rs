//! The document as a test holds it against real answers: what it does not name is not answered.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::harness::Gateway;
use crate::http::{Request, Response};

/// The document, and which of its operations were looked at.
pub struct Book {
    pub document: Value,
    seen: BTreeSet<(String, String)>,
}

impl Book {
    #[track_caller]
    pub fn of(gateway: &Gateway) -> Self {
        Self {
            document: gateway.get("/api/openapi.json").json(),
            seen: BTreeSet::new(),
        }
    }

    /// Every operation that is not one tool: method, path, and what is said of it.
    pub fn operations(&self) -> Vec<(&str, &str, &Value)> {
        let paths = self.document["paths"].as_object().expect("paths");
        let tool = |path: &str| {
            path.strip_prefix("/api/tools/")
                .is_some_and(|name| !name.starts_with('{'))
        };
        let all = paths.iter().filter(|(path, _)| !tool(path));
        all.flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods").iter();
            methods.map(move |(method, said)| (method.as_str(), path.as_str(), said))
        })
        .collect()
    }

    /// The paths whose result was not looked at yet.
    pub fn unseen(&self, method: &str) -> Vec<String> {
        let all = self.operations().into_iter();
        let asked = all.filter(|(its, path, said)| {
            *its == method && path.starts_with("/api/") && result_of(said).is_some()
        });
        let paths = asked.map(|(_, path, _)| path.to_owned());
        paths
            .filter(|path| !self.seen.contains(&(method.to_owned(), path.clone())))
            .collect()
    }

    /// Asks as the owner; the answer must be what the document says. Gives the result.
    #[track_caller]
    pub fn get(&mut self, gateway: &Gateway, path: &str) -> Value {
        self.ask(gateway, "get", path, None)
    }

    /// The same with another method and a body.
    #[track_caller]
    pub fn ask(
        &mut self,
        gateway: &Gateway,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Value {
        let mut request = Request::new(&method.to_ascii_uppercase(), path).bearer(&gateway.owner);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = gateway.send(&request);
        self.check(method, path, &answer)
    }

    /// Holds an answer against the document.
    #[track_caller]
    pub fn check(&mut self, method: &str, path: &str, answer: &Response) -> Value {
        let text = answer.text();
        assert_eq!(answer.status, 200, "{method} {path}: {text}");
        let said = answer.json();
        let template = self.template(method, path);
        let wrong = self.problems(method, &template, &said);
        assert!(
            wrong.is_empty(),
            "{method} {template}: {wrong:#?}\n{said:#}"
        );
        self.seen.insert((method.to_owned(), template));
        said["result"].clone()
    }

    /// What is wrong with an answer, as the document sees it.
    #[track_caller]
    pub fn problems(&self, method: &str, template: &str, answer: &Value) -> Vec<String> {
        let said = &self.document["paths"][template][method];
        let schema = &said["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(
            schema.is_object(),
            "{method} {template} says what it answers"
        );
        let mut strict = strictly(schema, true);
        let named = self.document["components"]["schemas"].as_object();
        let named = named.expect("schemas").iter();
        let named: Map<String, Value> = named
            .map(|(name, schema)| (name.clone(), strictly(schema, false)))
            .collect();
        strict["components"] = json!({ "schemas": named });
        strict["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        let validator = jsonschema::validator_for(&strict).expect("a schema");
        validator
            .iter_errors(answer)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }

    /// The path of the document that an address fits, words before parameters.
    #[track_caller]
    fn template(&self, method: &str, path: &str) -> String {
        let path = path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |template: &&str| {
            let its: Vec<&str> = template.split('/').collect();
            let same = |(its, part): (&&str, &&str)| its == part || its.starts_with('{');
            its.len() == parts.len() && its.iter().zip(&parts).all(same)
        };
        let all = self.operations().into_iter();
        let all = all
            .filter(|(its, ..)| *its == method)
            .map(|(_, path, _)| path);
        let best = all
            .filter(fits)
            .min_by_key(|path| path.matches('{').count());
        best.unwrap_or_else(|| panic!("the document has {method} {path}"))
            .to_owned()
    }
}

/// The schema of an operation's result, where it has one.
pub fn result_of(operation: &Value) -> Option<&Value> {
    let content = &operation["responses"]["200"]["content"]["application/json"];
    content["schema"]["properties"].get("result")
}

/// The schema with nothing let through that it does not name. `whole` where it stands for a value by
/// itself, and not for a part of what is said of one.
fn strictly(schema: &Value, whole: bool) -> Value {
    let Value::Object(said) = schema else {
        return schema.clone();
    };
    let mut strict = Map::new();
    for (key, value) in said {
        let list = |whole: bool| -> Option<Value> {
            let items = value.as_array()?.iter();
            Some(items.map(|one| strictly(one, whole)).collect())
        };
        let value = match key.as_str() {
            "properties" | "patternProperties" => {
                let fields = value.as_object().expect("fields").iter();
                let fields = fields.map(|(name, one)| (name.clone(), strictly(one, true)));
                Value::Object(fields.collect())
            }
            "items" | "additionalProperties" => strictly(value, true),
            "prefixItems" => list(true).expect("a list"),
            "allOf" | "anyOf" | "oneOf" => list(false).expect("a list"),
            _ => value.clone(),
        };
        strict.insert(key.clone(), value);
    }
    let says = ["type", "$ref", "properties", "allOf", "anyOf", "oneOf"];
    if whole && says.iter().any(|key| strict.contains_key(*key)) {
        strict.insert("unevaluatedProperties".to_owned(), json!(false));
    }
    Value::Object(strict)
}
