//! `plan_create`, and which tools are listed where.

use serde_json::{Value, json};

use super::{gives, refuses, scripted};
use crate::harness::Gateway;

const PLANS: &str = "
  - when: { user: bake }
    text: '[\"mix\", \"bake\", \"eat\", \"wash up\"]'
  - when: { user: '\"style\":\"terse\"' }
    text: '{\"plan\": {\"thought\": \"short\", \"steps\": [{\"step\": \"go\", \"status\": \"pending\"}]}}'
  - when: { user: two at most }
    text: '{\"plan\": {\"thought\": \"\", \"steps\": [\"a\", \"b\", \"c\"]}}'
  - when: { user: nonsense }
    text: I would rather not.
";

#[test]
fn a_plan_matches_the_spec() {
    let gateway = scripted(PLANS, "tools.plan_create.max_steps = 3");
    let plan =
        |arguments: Value| gives(&gateway, "plan_create", arguments, &["plan"])["plan"].clone();
    let step = |step: &str, status: &str| json!({ "step": step, "status": status });
    let bare = plan(json!({ "task": "bake", "max_steps": 50 }));
    let steps = json!([
        step("mix", "in_progress"),
        step("bake", "pending"),
        step("eat", "pending")
    ]);
    assert_eq!(
        bare,
        json!({ "thought": "", "steps": steps }),
        "three are the most there may be"
    );
    let terse = plan(json!({ "task": "travel", "style": "terse", "model": "scripted/other" }));
    assert_eq!(
        terse,
        json!({ "thought": "short", "steps": [step("go", "in_progress")] })
    );
    let two = plan(json!({ "task": "two at most", "max_steps": 2 }));
    assert_eq!(two["steps"].as_array().expect("steps").len(), 2);
    refuses(
        &gateway,
        "plan_create",
        json!({ "task": "nonsense" }),
        "failed",
        &["gave no plan"],
    );
    for (arguments, words) in [
        (json!({}), "task: is required"),
        (
            json!({ "task": "x", "max_steps": 0 }),
            "max_steps: must be at least 1",
        ),
        (
            json!({ "task": "x", "model": "nonsense" }),
            "provider/model",
        ),
    ] {
        refuses(
            &gateway,
            "plan_create",
            arguments,
            "invalid_arguments",
            &[words],
        );
    }
}

#[test]
fn without_a_model_a_plan_names_the_missing_setting() {
    let gateway = Gateway::start();
    refuses(
        &gateway,
        "plan_create",
        json!({ "task": "bake" }),
        "unavailable",
        &["models.default"],
    );
}

#[test]
fn disabled_tools_are_absent_and_enabled_ones_are_extra() {
    let gateway = scripted("", "tools.spawn.enabled = false");
    let extra = gateway.get("/api/tools").json()["result"]["groups"]["extra"].clone();
    assert_eq!(extra, json!(["plan_create", "todo_update"]));
    refuses(
        &gateway,
        "spawn",
        json!({}),
        "unavailable",
        &["spawn tool is disabled"],
    );
    let both = Gateway::start().get("/api/tools").json();
    assert_eq!(
        both["result"]["groups"]["extra"],
        json!(["plan_create", "spawn", "todo_update"])
    );
}
