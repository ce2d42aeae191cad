//! `output_schema` of `spawn`, from somebody who wants to stop the gateway with it.

use serde_json::{Value, json};

use super::{scripted, sessions};
use crate::http::Request;
use crate::schemas::{attacked, bombs, deep, ends_under, tree};

fn spawn(owner: &str, task: &str, schema: &Value) -> Request {
    let call = json!({ "task": task, "tools": ["gsv__ReadFile"], "output_schema": schema });
    Request::post("/api/tools/spawn", &call).bearer(owner)
}

/// A script in which a task is answered with objects in each other.
fn script() -> String {
    let turn = |task: &str, levels: usize| {
        format!(
            "\n  - when: {{ user: {task} }}\n    text: '{}'",
            deep(levels)
        )
    };
    // The more telling words first: a second question repeats the first.
    turn("shallow", 6) + &turn("abyss", 60) + &turn("cannot be used", 60) + "\n"
}

#[test]
fn a_schema_that_would_never_end_is_refused_before_anything_starts() {
    let gateway = scripted(&script(), "");
    let attack: Vec<Request> = bombs()
        .iter()
        .map(|(schema, _)| spawn(&gateway.owner, "shallow", schema))
        .collect();
    let answers = attacked(&gateway, &attack);
    for (answer, (schema, says)) in answers.iter().zip(bombs()) {
        let said = answer.json();
        assert_eq!(said["code"], "invalid_arguments", "{said}");
        let error = said["error"].as_str().expect("an error");
        assert!(error.contains("output_schema"), "{error}");
        assert!(error.contains(says), "{error} for {schema}");
    }
    assert_eq!(sessions(&gateway), Vec::<String>::new());
    let good = spawn(&gateway.owner, "shallow", &tree())
        .send(gateway.addr)
        .json();
    assert_eq!(good["result"]["status"], "done", "{good}");
    assert_eq!(good["result"]["output"], deep(6));
    ends_under(gateway, attack);
}

#[test]
fn a_result_that_would_never_be_checked_fails_the_task() {
    let gateway = scripted(&script(), "");
    let attack = vec![spawn(&gateway.owner, "abyss", &tree())];
    for answer in attacked(&gateway, &attack) {
        let said = answer.json();
        assert_eq!(said["result"]["status"], "failed", "{said}");
        let error = said["result"]["error"].as_str().expect("an error");
        assert!(error.contains("takes too long to check"), "{error}");
    }
    let good = spawn(&gateway.owner, "shallow", &tree())
        .send(gateway.addr)
        .json();
    assert_eq!(good["result"]["output"], deep(6), "{good}");
    ends_under(gateway, attack);
}
