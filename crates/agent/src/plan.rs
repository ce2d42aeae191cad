//! Plans of a turn: made by a model, shown to it while it works, and advanced by successful calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The tool that makes plans.
pub(crate) const PLAN_TOOL: &str = "plan_create";

/// Progress of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not started.
    #[default]
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Completed,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// What to do.
    pub step: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: StepStatus,
}

/// A plan for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Plan")]
pub struct TaskPlan {
    /// The reasoning behind it.
    pub thought: String,
    /// The steps, in order.
    pub steps: Vec<PlanStep>,
}

impl TaskPlan {
    /// Parses a plan as models write it: bare or under `plan`, steps as objects or strings. Empty steps and those beyond
    /// `most` are dropped; one step is in progress unless all are completed.
    pub fn read(value: &Value, most: usize) -> Option<Self> {
        let plan = value.get("plan").unwrap_or(value);
        let steps = plan.as_array().or_else(|| plan["steps"].as_array())?;
        let mut steps: Vec<PlanStep> = steps.iter().filter_map(step).take(most).collect();
        if steps.is_empty() {
            return None;
        }
        // Models mark several steps as in progress; advancing needs exactly one.
        let working = |step: &&mut PlanStep| step.status == StepStatus::InProgress;
        steps
            .iter_mut()
            .filter(working)
            .skip(1)
            .for_each(|step| step.status = StepStatus::Pending);
        let mut plan = Self {
            thought: plan["thought"].as_str().unwrap_or_default().to_owned(),
            steps,
        };
        plan.begin_next();
        Some(plan)
    }

    /// The plan in the result of a call of the planning tool.
    pub(crate) fn given_by(tool: &str, value: &Value) -> Option<Self> {
        (tool == PLAN_TOOL)
            .then(|| Self::read(value, usize::MAX))
            .flatten()
    }

    /// Updates the current plan after a call: a new plan replaces it, a success advances it by one step.
    pub(crate) fn update(plan: &mut Option<Self>, new: Option<&Self>, succeeded: bool) {
        match (new, plan) {
            (Some(new), plan) => *plan = Some(new.clone()),
            (None, Some(plan)) if succeeded => plan.advance(),
            _ => {}
        }
    }

    /// Completes the step in progress and starts the next one.
    fn advance(&mut self) {
        let working = |step: &&mut PlanStep| step.status == StepStatus::InProgress;
        if let Some(step) = self.steps.iter_mut().find(working) {
            step.status = StepStatus::Completed;
        }
        self.begin_next();
    }

    fn begin_next(&mut self) {
        let is = |status| move |step: &PlanStep| step.status == status;
        if self.steps.iter().any(is(StepStatus::InProgress)) {
            return;
        }
        let next = self.steps.iter().position(is(StepStatus::Pending));
        if let Some(next) = next {
            self.steps[next].status = StepStatus::InProgress;
        }
    }

    /// The plan as the prompt shows it.
    pub(crate) fn shown(&self) -> String {
        let mut text = "## Your plan\nEach call that succeeds counts as one step; say so when a step is not done yet.\n".to_owned();
        for step in &self.steps {
            let mark = match step.status {
                StepStatus::Pending => "[ ]",
                StepStatus::InProgress => "[>]",
                StepStatus::Completed => "[x]",
            };
            text.push_str(&format!("{mark} {}\n", step.step));
        }
        text
    }
}

fn step(value: &Value) -> Option<PlanStep> {
    let (text, status) = match value {
        Value::String(text) => (text.as_str(), StepStatus::Pending),
        other => {
            let status = serde_json::from_value(other["status"].clone());
            (other["step"].as_str()?, status.unwrap_or_default())
        }
    };
    let step = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!step.is_empty()).then_some(PlanStep { step, status })
}

/// The JSON in a model's reply: all of it, or the part between fences or prose.
pub fn json_in(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let from = text.find(['{', '['])?;
    let to = text.rfind(['}', ']'])?;
    serde_json::from_str(text.get(from..=to)?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: Value, expect: &[(&str, StepStatus)]) {
        let plan = TaskPlan::read(&value, 3);
        let steps = plan.map(|plan| plan.steps).unwrap_or_default();
        let steps: Vec<(&str, StepStatus)> = steps
            .iter()
            .map(|step| (step.step.as_str(), step.status))
            .collect();
        assert_eq!(steps, expect, "{value}");
    }

    #[test]
    fn a_plan_is_read_however_a_model_writes_it() {
        use StepStatus::{Completed, InProgress, Pending};
        let two = [("a", InProgress), ("b", Pending)];
        check(
            json!({ "plan": { "thought": "t", "steps": ["a", "b"] } }),
            &two,
        );
        check(
            json!({ "steps": [{ "step": "a" }, { "step": " b " }] }),
            &two,
        );
        check(json!(["a", "", "b", 7]), &two);
        check(
            json!({ "plan": ["a", "b", "c", "d"] }),
            &[("a", InProgress), ("b", Pending), ("c", Pending)],
        );
        check(
            json!([{ "step": "a", "status": "completed" }, { "step": "b", "status": "odd" }]),
            &[("a", Completed), ("b", InProgress)],
        );
        check(
            json!([{ "step": "a", "status": "in_progress" }, { "step": "b", "status": "in_progress" }]),
            &two,
        );
        for nothing in [
            json!({}),
            json!([]),
            json!("a"),
            json!({ "plan": { "steps": 3 } }),
        ] {
            check(nothing, &[]);
        }
    }

    #[test]
    fn only_successful_calls_advance_a_plan() {
        let mut plan = TaskPlan::read(&json!(["a", "b"]), 9);
        let marks = |plan: &Option<TaskPlan>| plan.as_ref().unwrap().shown();
        assert!(marks(&plan).ends_with("[>] a\n[ ] b\n"));
        TaskPlan::update(&mut plan, None, false);
        assert!(marks(&plan).ends_with("[>] a\n[ ] b\n"));
        TaskPlan::update(&mut plan, None, true);
        assert!(marks(&plan).ends_with("[x] a\n[>] b\n"));
        TaskPlan::update(&mut plan, None, true);
        TaskPlan::update(&mut plan, None, true);
        assert!(marks(&plan).ends_with("[x] a\n[x] b\n"));
        let mut none = None;
        TaskPlan::update(&mut none, None, true);
        assert_eq!(none, None);
    }

    #[test]
    fn json_is_extracted_from_fences_and_prose() {
        for text in [
            r#"{"a":1}"#,
            "```json\n{\"a\":1}\n```",
            "Here you are: {\"a\":1} - good luck",
        ] {
            assert_eq!(json_in(text), Some(json!({ "a": 1 })), "{text}");
        }
        assert_eq!(json_in("no } json {"), None);
        assert_eq!(json_in("7"), Some(json!(7)));
    }
}
