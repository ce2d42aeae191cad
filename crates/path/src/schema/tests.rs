//! Schemas and values that are too much work, each beside one that looks alike and is fine.

use serde_json::{Map, Value, json};

use super::*;

/// `levels` definitions, each made by `level` from the reference to the next one.
fn tower(levels: usize, level: impl Fn(Value) -> Value) -> Value {
    let mut defs = Map::new();
    for number in 0..levels {
        let next = json!({ "$ref": format!("#/$defs/d{}", number + 1) });
        defs.insert(format!("d{number}"), level(next));
    }
    defs.insert(format!("d{levels}"), json!({ "type": "object" }));
    json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": defs })
}

/// `levels` schemas within each other.
fn nested(levels: usize, level: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(json!({ "type": "string" }), |inner, _| level(inner))
}

/// `levels` objects within each other, under this name.
fn deep(levels: usize, name: &str) -> Value {
    (0..levels).fold(json!({}), |inner, _| json!({ name: inner }))
}

fn twice(schema: &Value) -> Value {
    json!([schema, schema])
}

#[track_caller]
fn refused(name: &str, schema: &Value, says: &str) {
    match Schema::compile(schema) {
        Ok(_) => panic!("{name} was taken"),
        Err(why) => assert!(why.contains(says), "{name}: {why}"),
    }
}

#[track_caller]
fn works(name: &str, schema: &Value, fits: &Value, not: &Value) {
    let schema = Schema::compile(schema).unwrap_or_else(|why| panic!("{name}: {why}"));
    for (value, valid) in [(fits, true), (not, false)] {
        schema
            .cost(value)
            .unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(schema.validator.is_valid(value), valid, "{name}: {value}");
    }
}

/// A schema that is too much for any value, what the refusal says, and one like it that is fine with
/// a value that fits and one that does not.
type Bomb = (&'static str, Value, &'static str, Value, Value, Value);

fn combinators() -> Vec<Bomb> {
    let expands = "expands to more than";
    let all = |width: usize| move |next: Value| json!({ "allOf": vec![next; width] });
    let any = |next: Value| json!({ "anyOf": twice(&next) });
    let one = |next: Value| json!({ "oneOf": [next, { "type": "string" }, next] });
    let not = |next: Value| json!({ "not": { "anyOf": twice(&next) } });
    let cond = |next: Value| json!({ "if": next, "then": next, "else": next });
    let depends = |next: Value| json!({ "dependentSchemas": { "a": next, "b": next } });
    let old = |next: Value| json!({ "dependencies": { "a": next, "b": next, "c": ["d"] } });
    let mixed =
        |next: Value| json!({ "$ref": next["$ref"], "allOf": [next], "not": { "not": next } });
    let (object, text) = (json!({}), json!("x"));
    let table = |name, bomb: Value, control: Value| {
        (name, bomb, expands, control, object.clone(), text.clone())
    };
    vec![
        table(
            "allOf of 4 references, 40 levels",
            tower(40, all(4)),
            tower(4, all(4)),
        ),
        table("allOf of 2 references", tower(30, all(2)), tower(8, all(2))),
        table(
            "allOf of one long list",
            tower(3, all(40)),
            tower(1, all(40)),
        ),
        table("anyOf", tower(20, any), tower(5, any)),
        table(
            "oneOf",
            tower(20, one),
            json!({ "oneOf": [{ "type": "object" }, { "type": "null" }] }),
        ),
        table("not", tower(20, not), tower(2, not)),
        table("if, then and else", tower(15, cond), tower(3, cond)),
        table("dependentSchemas", tower(20, depends), tower(4, depends)),
        table("dependencies", tower(20, old), tower(4, old)),
        table(
            "several keywords at once",
            tower(15, mixed),
            tower(2, mixed),
        ),
    ]
}

fn references() -> Vec<Bomb> {
    let chain = |next: Value| next;
    let anchors = |levels: usize| {
        let mut defs = Map::new();
        for number in 0..levels {
            let next = json!({ "$ref": format!("#a{}", number + 1) });
            let level = json!({ "$anchor": format!("a{number}"), "allOf": twice(&next) });
            defs.insert(format!("d{number}"), level);
        }
        defs.insert(
            "end".to_owned(),
            json!({ "$anchor": format!("a{levels}"), "type": "object" }),
        );
        json!({ "$ref": "#a0", "$defs": defs })
    };
    let dynamic = |levels: usize| {
        let mut defs = Map::new();
        for number in 0..levels {
            let next = json!({ "$dynamicRef": format!("#a{}", number + 1) });
            let level = json!({ "$dynamicAnchor": format!("a{number}"), "allOf": twice(&next) });
            defs.insert(format!("d{number}"), level);
        }
        let end = json!({ "$dynamicAnchor": format!("a{levels}"), "type": "object" });
        defs.insert("end".to_owned(), end);
        json!({ "$dynamicRef": "#a0", "$defs": defs })
    };
    let resources = |count: usize| {
        let refs = |own: usize| -> Vec<Value> {
            let others = (0..count).filter(|other| *other != own);
            others
                .map(|other| json!({ "properties": { "a": { "$ref": format!("r{other}") } } }))
                .collect()
        };
        let defs: Map<String, Value> = (0..count)
            .map(|own| {
                (
                    format!("d{own}"),
                    json!({ "$id": format!("r{own}"), "type": "object", "allOf": refs(own) }),
                )
            })
            .collect();
        json!({ "$id": "https://example.org/root", "$ref": "r0", "$defs": defs })
    };
    let ids = |count: usize| {
        let defs = (0..count).map(|n| {
            (
                format!("d{n}"),
                json!({ "id": format!("r{n}"), "type": "object" }),
            )
        });
        json!({ "$schema": "http://json-schema.org/draft-04/schema#", "definitions": defs.collect::<Map<_, _>>(), "properties": { "a": { "$ref": "r0" } } })
    };
    let pet = json!({ "properties": { "pet": { "$ref": "#/$defs/a~1b%20c" } }, "$defs": { "a/b c": { "type": "object" } } });
    let tree = json!({ "type": "object", "properties": { "next": { "$ref": "#" } } });
    let (object, text) = (json!({}), json!("x"));
    vec![
        (
            "a chain of references",
            tower(200, chain),
            "chain of more than",
            tower(40, chain),
            object.clone(),
            text.clone(),
        ),
        (
            "anchors",
            anchors(20),
            "expands to more than",
            anchors(5),
            object.clone(),
            text.clone(),
        ),
        (
            "dynamic references",
            dynamic(20),
            "expands to more than",
            dynamic(5),
            object.clone(),
            text.clone(),
        ),
        (
            "many resources that refer to each other",
            resources(12),
            "inner $id",
            resources(3),
            deep(3, "a"),
            json!({ "a": 1 }),
        ),
        (
            "resources as draft 4 names them",
            ids(12),
            "inner $id",
            ids(2),
            json!({ "a": {} }),
            json!({ "a": 1 }),
        ),
        (
            "a circle",
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "allOf": [{ "$ref": "#" }] } } }),
            "refers to itself",
            tree,
            deep(30, "next"),
            json!({ "next": { "next": 1 } }),
        ),
        (
            "a circle of two that branches",
            json!({ "anyOf": [{ "$ref": "#/$defs/a" }, { "$ref": "#/$defs/b" }], "$defs": {
            "a": { "allOf": [{ "$ref": "#/$defs/b" }, { "$ref": "#/$defs/b" }] },
            "b": { "allOf": [{ "$ref": "#/$defs/a" }, { "$ref": "#/$defs/a" }] },
        } }),
            "refers to itself",
            pet.clone(),
            json!({ "pet": {} }),
            json!({ "pet": 1 }),
        ),
        (
            "another document",
            json!({ "$ref": "http://169.254.169.254/schema.json" }),
            "never fetched",
            pet.clone(),
            json!({ "pet": {} }),
            json!({ "pet": 1 }),
        ),
        (
            "a file",
            json!({ "$ref": "file:///etc/passwd" }),
            "never fetched",
            json!({ "$id": "https://example.org/a", "$ref": "a#/$defs/b", "$defs": { "b": { "type": "object" } } }),
            object.clone(),
            text.clone(),
        ),
        (
            "a target that is not there",
            json!({ "$ref": "#/$defs/none" }),
            "does not have",
            json!({ "$ref": "https://json-schema.org/draft/2020-12/schema" }),
            json!({ "type": "string" }),
            json!({ "type": 7 }),
        ),
        (
            "a reference that is no text",
            json!({ "$ref": 7 }),
            "no text",
            json!({ "properties": { "$ref": { "type": "string" } } }),
            json!({ "$ref": "x" }),
            json!({ "$ref": 7 }),
        ),
    ]
}

fn sizes() -> Vec<Bomb> {
    let properties = |count: usize| {
        let all: Map<String, Value> = (0..count)
            .map(|n| (format!("p{n}"), json!({ "type": "string" })))
            .collect();
        json!({ "type": "object", "properties": all })
    };
    let options = |count: usize| json!({ "enum": (0..count).collect::<Vec<_>>() });
    let items = |inner: Value| json!({ "type": "array", "items": inner });
    let unevaluated =
        |next: Value| json!({ "unevaluatedProperties": false, "allOf": twice(&next) });
    let open = |next: Value| json!({ "properties": { "a": {} }, "unevaluatedProperties": false, "allOf": [next] });
    let lists = |next: Value| json!({ "unevaluatedItems": false, "anyOf": twice(&next) });
    let wide = |count: usize| {
        let all: Vec<Value> = (0..count).map(|n| json!({ "properties": { format!("p{n}"): {} }, "unevaluatedProperties": false, "$ref": "#/$defs/d" })).collect();
        let many: Vec<Value> = (0..40).map(|_| json!({ "type": "object" })).collect();
        json!({ "properties": { "x": { "prefixItems": all } }, "$defs": { "d": { "allOf": many } } })
    };
    vec![
        (
            "deep nesting",
            nested(100, items),
            "nests deeper than",
            nested(3, items),
            json!([[["x"]]]),
            json!([[[1]]]),
        ),
        (
            "many properties",
            properties(6_000),
            "subschemas",
            properties(1_000),
            json!({ "p1": "x" }),
            json!({ "p1": 1 }),
        ),
        (
            "a huge enum",
            options(60_000),
            "values",
            options(5_000),
            json!(4_999),
            json!(5_000),
        ),
        (
            "a huge text",
            json!({ "const": "x".repeat(300_000) }),
            "bytes",
            json!({ "const": "x" }),
            json!("x"),
            json!("y"),
        ),
        (
            "unevaluatedProperties at every level",
            tower(12, unevaluated),
            "expands to more than",
            tower(2, open),
            json!({}),
            json!({ "b": 1 }),
        ),
        (
            "unevaluatedItems at every level",
            tower(12, lists),
            "expands to more than",
            json!({ "prefixItems": [{ "type": "string" }], "unevaluatedItems": false }),
            json!(["x"]),
            json!(["x", 1]),
        ),
        (
            "unevaluatedProperties in many places",
            wide(400),
            "unevaluatedProperties",
            wide(4),
            json!({ "x": [{ "p0": 1 }] }),
            json!({ "x": [{ "p1": 1 }] }),
        ),
    ]
}

fn patterns() -> Vec<Bomb> {
    let pattern = |text: &str| json!({ "pattern": text });
    let names = |text: &str| json!({ "patternProperties": { text: { "type": "string" } }, "additionalProperties": false });
    let many = |count: usize| {
        let all: Map<String, Value> = (0..count)
            .map(|n| {
                (
                    format!("^(p{n}|[a-z]{{200}}x)$"),
                    json!({ "type": "string" }),
                )
            })
            .collect();
        json!({ "patternProperties": all })
    };
    vec![
        (
            "counted repetition",
            pattern("(((a{100}){100}){100}){100}"),
            "pattern",
            pattern("^a{1,100}$"),
            json!("aaa"),
            json!("b"),
        ),
        (
            "counted repetition of letters",
            pattern("^(\\p{L}{1,500}){1,500}$"),
            "pattern",
            pattern("^\\p{L}{1,5}$"),
            json!("äb"),
            json!("1"),
        ),
        (
            "a long pattern",
            pattern(&"a?".repeat(5_000)),
            "pattern",
            pattern("^(a|b)?$"),
            json!("a"),
            json!("c"),
        ),
        (
            "repetition in patternProperties",
            names("((x{200}){200}){200}"),
            "pattern",
            names("^x-"),
            json!({ "x-a": "b" }),
            json!({ "y": "b" }),
        ),
        (
            "repetition behind look-around",
            pattern("(?=((b{100}){100}){100})b"),
            "pattern",
            pattern("^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z.]+$"),
            json!("a.b@example.org"),
            json!("a..b@example.org"),
        ),
        (
            "what is no expression",
            pattern("(("),
            "pattern",
            pattern("\\(\\("),
            json!("(("),
            json!("("),
        ),
        (
            "many large patterns",
            many(900),
            "together",
            many(5),
            json!({ "p1": "x" }),
            json!({ "p1": 1 }),
        ),
    ]
}

#[test]
fn schemas_that_are_too_costly_are_refused_and_similar_ones_are_not() {
    let all = [combinators(), references(), sizes(), patterns()].concat();
    assert!(all.len() >= 34);
    for (name, bomb, says, control, fits, not) in &all {
        refused(name, bomb, says);
        works(name, control, fits, not);
    }
}

/// A schema, a value that is too much for it, what the refusal says, and values that fit and do not.
type Pair = (&'static str, Value, Value, &'static str, Value, Value);

fn pairs() -> Vec<Pair> {
    let too_long = "takes too long";
    let twice_below = |next: Value| json!({ "properties": { "a": { "allOf": twice(&next) } } });
    let tree = json!({ "allOf": [
        { "properties": { "a": { "$ref": "#" } }, "type": "object" },
        { "properties": { "a": { "$ref": "#" } } },
    ] });
    let union = json!({ "anyOf": [
        { "type": "object", "required": ["and"], "properties": { "and": { "type": "array", "items": { "$ref": "#" } } } },
        { "type": "object", "required": ["and", "or"], "properties": { "and": { "items": { "$ref": "#" } }, "or": { "items": { "$ref": "#" } } } },
        { "type": "integer" },
    ] });
    let clauses = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({ "and": [inner] }));
    let both = json!({ "patternProperties": { "^a": { "$ref": "#" }, "a$": { "$ref": "#" } }, "type": "object" });
    let lists = json!({ "items": { "$ref": "#" }, "contains": { "$ref": "#" }, "minContains": 0, "type": "array" });
    let deep_list = |levels: usize| (0..levels).fold(json!([]), |inner, _| json!([inner]));
    let unevaluated_part = json!({ "type": "object", "unevaluatedProperties": { "$ref": "#" } });
    let unique = json!({ "uniqueItems": true, "items": { "type": "integer" } });
    let large: Vec<u32> = (0..2_000_000).collect();
    let branches: Vec<Value> = (0..200)
        .map(|n| json!({ "required": [format!("p{n}")] }))
        .collect();
    let many = json!({ "items": { "anyOf": branches } });
    let email = json!({ "items": { "pattern": "^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z.]+$" } });
    let words = json!({ "pattern": "^(\\p{L}{1,8} ?)*$" });
    let names = json!({ "propertyNames": { "pattern": "^[a-z]{1,200}$" } });
    let long_names: Map<String, Value> = (0..200)
        .map(|n| (format!("{}{n}", "a".repeat(40_000)), json!(1)))
        .collect();
    let stack = json!({ "properties": { "a": { "allOf": [{ "allOf": [{ "allOf": [{ "$ref": "#" }] }] }] } }, "type": "object" });
    vec![
        (
            "two checks at each level of a finite schema",
            tower(40, twice_below),
            deep(40, "a"),
            too_long,
            deep(5, "a"),
            json!("x"),
        ),
        (
            "a tree described twice",
            tree,
            deep(40, "a"),
            too_long,
            deep(8, "a"),
            json!({ "a": 1 }),
        ),
        (
            "a union without a discriminator",
            union,
            clauses(40),
            too_long,
            clauses(6),
            json!({ "and": ["x"] }),
        ),
        (
            "two patterns for one name",
            both,
            deep(40, "a"),
            too_long,
            deep(6, "a"),
            json!({ "a": 1 }),
        ),
        (
            "items and contains",
            lists,
            deep_list(40),
            too_long,
            json!([[[]], [[]]]),
            json!([1]),
        ),
        (
            "unevaluatedProperties of itself",
            unevaluated_part,
            deep(40, "a"),
            too_long,
            deep(6, "a"),
            json!({ "a": 1 }),
        ),
        (
            "uniqueItems of a long list",
            unique,
            json!(large),
            "send less at once",
            json!([1, 2]),
            json!([1, 1]),
        ),
        (
            "a long list of wide unions",
            many,
            json!(vec![json!({}); 100_000]),
            "send less at once",
            json!([{ "p7": 1 }]),
            json!([{ "q": 1 }]),
        ),
        (
            "look-around over a long list",
            email,
            json!(vec!["a.b@example.org"; 100_000]),
            too_long,
            json!(vec!["a.b@example.org"; 500]),
            json!(["a..b@example.org"]),
        ),
        (
            "a large pattern over a long text",
            words,
            json!("a ".repeat(4_000_000)),
            too_long,
            json!("a b"),
            json!("-"),
        ),
        (
            "long names of properties",
            names,
            json!(long_names),
            too_long,
            json!({ "abc": 1 }),
            json!({ "1": 1 }),
        ),
        (
            "a deep stack",
            stack,
            deep(110, "a"),
            "nests too deeply",
            deep(40, "a"),
            json!({ "a": { "a": 1 } }),
        ),
    ]
}

#[test]
fn values_that_are_too_costly_are_refused_and_similar_ones_are_not() {
    for (name, schema, bomb, says, fits, not) in &pairs() {
        works(name, schema, fits, not);
        let schema = Schema::compile(schema).expect("it works");
        match schema.cost(bomb) {
            Ok(cost) => panic!("{name} was taken at {cost}"),
            Err(why) => assert!(why.contains(says), "{name}: {why}"),
        }
    }
}

#[test]
fn what_recurses_without_branching_may_be_large() {
    let any_json = json!({ "anyOf": [
        { "type": ["string", "number", "boolean", "null"] },
        { "type": "array", "items": { "$ref": "#" } },
        { "type": "object", "additionalProperties": { "$ref": "#" } },
    ] });
    let row =
        json!({ "name": "x", "tags": ["a", "b", { "deep": [1, 2, 3] }], "next": deep(30, "a") });
    let schema = Schema::compile(&any_json).unwrap();
    let value = json!(vec![row; 1_000]);
    assert!(schema.cost(&value).is_ok());
    assert!(schema.validator.is_valid(&value));
}

#[test]
fn the_deepest_check_that_is_allowed_fits_a_small_stack() {
    let schema = json!({ "type": "object", "properties": {
        "a": { "allOf": [{ "anyOf": [{ "oneOf": [{ "$ref": "#" }] }] }] },
    } });
    let schema = Schema::compile(&schema).unwrap();
    let deepest = (1..125)
        .map(|levels| {
            let mut value = json!(7);
            for _ in 0..levels {
                value = json!({ "a": value });
            }
            value
        })
        .take_while(|value| schema.cost(value).is_ok())
        .last()
        .unwrap();
    let small = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let checked = small.spawn(move || {
        let valid = schema.validator.is_valid(&deepest);
        let errors: Vec<String> = schema
            .validator
            .iter_errors(&deepest)
            .map(|e| bounded(&e))
            .collect();
        (valid, errors.len())
    });
    assert_eq!(checked.unwrap().join().unwrap(), (false, 1));
}

#[test]
fn a_quoted_error_is_bounded() {
    let schema = Schema::compile(&json!({ "propertyNames": { "maxLength": 3 } })).unwrap();
    let value = json!({ "ä".repeat(10_000): 1 });
    let error = schema
        .validator
        .iter_errors(&value)
        .next()
        .map(|e| bounded(&e))
        .unwrap();
    assert!(error.len() < 320 && error.ends_with("..."), "{error}");
    let short = json!({ "äbcd": 1 });
    let error = schema
        .validator
        .iter_errors(&short)
        .next()
        .map(|e| bounded(&e))
        .unwrap();
    assert!(error.contains("äbcd") && !error.ends_with("..."), "{error}");
}
