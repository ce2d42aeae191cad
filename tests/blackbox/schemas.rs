//! Schemas that describe more work than anybody could do, on every way in: each is refused with its
//! reason, and the gateway goes on answering and still ends when it is told.

use serde_json::{Map, Value, json};

use crate::harness::Gateway;
use crate::http::{Request, Response};

/// `levels` definitions, each made by `level` from a reference to the next.
fn tower(levels: usize, level: impl Fn(Value) -> Value) -> Value {
    let mut defs = Map::new();
    for number in 0..levels {
        let next = json!({ "$ref": format!("#/$defs/d{}", number + 1) });
        defs.insert(format!("d{number}"), level(next));
    }
    defs.insert(format!("d{levels}"), json!({ "type": "object" }));
    json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": defs })
}

/// Schemas that must be refused, and what the refusal says.
pub fn bombs() -> Vec<(Value, &'static str)> {
    let all = |next: Value| json!({ "allOf": [next, next, next, next] });
    let any = |next: Value| json!({ "anyOf": [next, next, next, next] });
    let unevaluated =
        |next: Value| json!({ "allOf": [next, next], "unevaluatedProperties": false });
    vec![
        (tower(40, all), "expands to more than"),
        (tower(40, any), "expands to more than"),
        (tower(16, unevaluated), "expands to more than"),
        (
            json!({ "type": "object", "allOf": [{ "$ref": "#" }, { "$ref": "#" }] }),
            "refers to itself",
        ),
        (
            json!({ "type": "object", "properties": { "a": { "pattern": "((a{200}){200}){200}" } } }),
            "pattern",
        ),
        (
            json!({ "type": "object", "$ref": "http://127.0.0.1:1/schema.json" }),
            "never fetched",
        ),
    ]
}

/// A recursive schema that is in order, and two checks at each level of what is sent.
pub fn tree() -> Value {
    json!({ "type": "object", "allOf": [
        { "properties": { "a": { "$ref": "#" } } },
        { "properties": { "a": { "$ref": "#" } } },
    ] })
}

/// Objects within each other.
pub fn deep(levels: usize) -> Value {
    (0..levels).fold(json!({}), |inner, _| json!({ "a": inner }))
}

/// Sends all requests at once, and sees meanwhile that the gateway answers others.
#[track_caller]
pub fn attacked(gateway: &Gateway, requests: &[Request]) -> Vec<Response> {
    let to = gateway.addr;
    std::thread::scope(|scope| {
        let sent: Vec<_> = requests
            .iter()
            .map(|request| scope.spawn(move || request.send(to)))
            .collect();
        while !sent.iter().all(|one| one.is_finished()) {
            assert_eq!(gateway.get("/healthz").status, 200);
        }
        let answers = sent.into_iter().map(|one| one.join().expect("an answer"));
        answers.collect()
    })
}

/// Ends the gateway while it is being attacked; whoever attacks may lose the connection.
#[track_caller]
pub fn ends_under(gateway: Gateway, requests: Vec<Request>) {
    let to = gateway.addr;
    let sent = requests
        .into_iter()
        .map(|request| std::thread::spawn(move || drop(request.try_send(to))));
    let sent: Vec<_> = sent.collect();
    gateway.stop();
    sent.into_iter()
        .for_each(|one| one.join().expect("no panic"));
}
