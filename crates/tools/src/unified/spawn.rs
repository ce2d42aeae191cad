//! `spawn`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use manyhands_agent::{
    Input, Minds, Origin, SessionKey, TurnAnswer, TurnEvent, TurnOutcome, json_in,
};
use manyhands_core::{
    CallContext, Effects, ErrorCode, Group, Outcome, RunsOn, Step, Taint, ToolError, ToolSpec,
    TypedTool,
};
use manyhands_path::{check_schema_aside, validate_against};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::envelope::{Subtask, summary};
use crate::ground::{self, AgentToolDeps, principal};

/// Time limit of a sub-agent.
const DEADLINE: Duration = Duration::from_secs(3_600);

const ABOUT: &str = "You are a sub-agent: another agent gave you one task. Do it with the tools you have, and ask nobody back. TurnAnswer with the result alone; your answer goes to that agent, not to a person.";

/// Give a task to a sub-agent that works in a conversation of its own with the tools you choose, and wait for its result
/// in the subtask envelope. It acts with your caller's rights, cannot make agents itself, and is stopped when this call is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What to do. The sub-agent knows nothing of your conversation: say all it needs.
    #[schemars(length(min = 1))]
    task: String,
    /// The only tools it may use, by name; at least one. `spawn` and `tool::agent_spawn` are left out.
    #[schemars(length(min = 1, max = 200))]
    tools: Vec<String>,
    /// Another model than yours, as `provider/model`.
    model: Option<String>,
    /// A JSON Schema that the result has to fit, which is checked; or a name for it, with which the result has to be
    /// JSON of any shape. A result that does not match is requested once more; then the task fails.
    output_schema: Option<OutputSchema>,
    /// Progress to report. `default`: only how it ended. `long_shell`: each tool it calls and how that
    /// went. `web_extract`: each page it fetches and each search it makes.
    observe_profile: Option<Observe>,
}

/// A JSON Schema, or a name.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum OutputSchema {
    /// A name: the result must be JSON.
    Name(String),
    /// A JSON Schema the result must match.
    Schema(serde_json::Map<String, Value>),
}

impl OutputSchema {
    /// Rejects a schema that is invalid or too expensive to check.
    pub(super) async fn check(&self) -> Result<(), ToolError> {
        match self {
            Self::Name(_) => Ok(()),
            Self::Schema(_) => check_schema_aside(self.value()).await.map_err(|why| {
                let message = format!("is not a usable JSON Schema: it {why}");
                ToolError::parameter("output_schema", message)
            }),
        }
    }

    /// The schema as reported in the envelope.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Name(name) => Value::from(name.as_str()),
            Self::Schema(schema) => Value::Object(schema.clone()),
        }
    }

    /// Instructions for the sub-agent.
    pub(super) fn asked(&self) -> String {
        let json = "Your whole answer must be one JSON value, without words or fences around it.";
        match self {
            Self::Name(name) => format!("{json} Its shape is called {name}."),
            Self::Schema(_) => format!("{json} It must fit this JSON Schema: {}", self.value()),
        }
    }

    /// Parses the answer as JSON and checks it.
    pub(super) async fn fit(&self, text: &str) -> Result<Value, String> {
        let value = json_in(text).ok_or("it is not JSON")?;
        match self {
            Self::Name(_) => Ok(value),
            Self::Schema(_) => validate_against(Arc::new(self.value()), value).await,
        }
    }

    /// Checks a sub-agent's answer, or passes its failure on.
    pub(super) async fn fit_said(
        &self,
        said: Result<String, String>,
    ) -> Result<Result<Value, String>, String> {
        Ok(self.fit(&said?).await)
    }
}

/// How much progress to report.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub(super) enum Observe {
    #[default]
    Default,
    LongShell,
    WebExtract,
}

impl Observe {
    /// The progress message for an event, if it is reported.
    pub(super) fn told(self, what: &TurnEvent) -> Option<String> {
        match (self, what) {
            (
                Self::LongShell,
                TurnEvent::ToolStarted {
                    tool, arguments, ..
                },
            ) => {
                let line = ["cmd", "command", "path", "url", "query", "q"]
                    .iter()
                    .find_map(|key| arguments[key].as_str());
                Some(format!("{tool}: {}", summary(line.unwrap_or("..."))))
            }
            (
                Self::LongShell,
                TurnEvent::ToolDone {
                    tool, ok, took_ms, ..
                },
            ) => {
                let how = if *ok { "done" } else { "failed" };
                Some(format!("{tool}: {how} after {took_ms} ms"))
            }
            (Self::WebExtract, TurnEvent::ToolStarted { arguments, .. }) => {
                let page = arguments["url"]
                    .as_str()
                    .map(|url| format!("page {}", summary(url)));
                let search = ["query", "q"]
                    .iter()
                    .find_map(|key| arguments[key].as_str());
                page.or_else(|| search.map(|words| format!("search {}", summary(words))))
            }
            _ => None,
        }
    }
}

pub(super) struct Spawn(pub(super) AgentToolDeps);

impl TypedTool for Spawn {
    type Params = Params;
    type Output = Subtask<Value>;

    fn spec(&self) -> ToolSpec {
        // The sub-agent's calls are judged one by one; spawning it only calls models and stores a
        // session.
        super::spec("spawn")
            .effects(Effects::READS.and(Effects::WRITES).and(Effects::LEAVES))
            .runs_on(RunsOn::Gateway)
            .group(Group::Extra)
            .deadline(DEADLINE)
            .waits_for_turns()
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        if let Some(schema) = &params.output_schema {
            schema.check().await?;
        }
        let minds = self.0.minds()?;
        let running = SubAgentTask {
            minds,
            context,
            origin: principal(context),
            // Never more than the caller's own tools.
            tools: minds.tools_for_sub(&params.tools, context).await?,
            model: ground::model(params.model.as_deref())?,
            schema: params.output_schema,
            observe: params.observe_profile.unwrap_or_default(),
            told: AtomicU64::new(0),
        };
        let key = minds.sub_session(&context.agent, ABOUT).await?;
        // Stops the sub-agent's turn when this call ends for any reason.
        let _leash = minds.leash(&key);
        running.run(&key, params.task).await
    }
}

/// A running task.
struct SubAgentTask<'a> {
    minds: &'a Minds,
    context: &'a CallContext,
    origin: Origin,
    tools: Vec<String>,
    model: Option<manyhands_llm::ModelId>,
    schema: Option<OutputSchema>,
    observe: Observe,
    /// Number of progress messages.
    told: AtomicU64,
}

impl SubAgentTask<'_> {
    async fn run(&self, key: &SessionKey, task: String) -> Result<Outcome, ToolError> {
        let Some(schema) = &self.schema else {
            let answer = self.ask(key, task).await?;
            let tainted = answer.tainted;
            let done = said(answer.end).map(|text| (summary(&text), Value::String(text)));
            return self.end(key, done, tainted);
        };
        let answer = self
            .ask(key, format!("{task}\n\n{}", schema.asked()))
            .await?;
        let mut tainted = answer.tainted;
        let mut fits = schema.fit_said(said(answer.end)).await;
        // Models often fix the format once told what is wrong; a third attempt rarely helps.
        if let Ok(Err(why)) = &fits {
            let again = format!("Your answer cannot be used: {why}. {}", schema.asked());
            let answer = self.ask(key, again).await?;
            // The second answer may have read more untrusted text than the first.
            tainted.absorb(&answer.tainted);
            fits = schema.fit_said(said(answer.end)).await;
        }
        let done = fits.and_then(|fits| {
            fits.map_err(|why| format!("the result does not match output_schema: {why}"))
        });
        let done = done.map(|value| (summary(&value.to_string()), value));
        self.end(key, done, tainted)
    }

    async fn ask(&self, key: &SessionKey, text: String) -> Result<TurnAnswer, ToolError> {
        let input = Input {
            tools: Some(self.tools.clone()),
            model: self.model.clone(),
            output: match &self.schema {
                Some(OutputSchema::Schema(schema)) => Some(Value::Object(schema.clone())),
                _ => None,
            },
            ..Input::text(text)
        };
        let mut asked = self.minds.ask(key, input, &self.origin).await?;
        let mut on = |what: &TurnEvent| {
            if let Some(message) = self.observe.told(what) {
                self.tell(message);
            }
        };
        tokio::select! {
            answer = asked.answer(&mut on) => answer,
            () = self.context.cancel.cancelled() => {
                let message = "the sub-agent was stopped because its caller was";
                Err(ToolError::new(ErrorCode::Cancelled, message))
            }
        }
    }

    fn tell(&self, message: String) {
        self.context.progress.report(Step {
            done: self.told.fetch_add(1, Ordering::Relaxed) + 1,
            total: None,
            message: Some(message),
        });
    }

    fn end(
        &self,
        key: &SessionKey,
        done: Result<(String, Value), String>,
        tainted: Taint,
    ) -> Result<Outcome, ToolError> {
        let (status, summary, output, error) = match done {
            Ok((summary, output)) => ("done", summary, output, String::new()),
            Err(error) => ("failed", summary(&error), Value::Null, error),
        };
        self.tell(format!("{status}: {summary}"));
        let id = key.rest().rsplit(':').next().unwrap_or_default();
        let envelope = Subtask {
            task_id: id.to_owned(),
            status,
            summary,
            output_kind: match self.schema {
                Some(_) => "json",
                None => "text",
            },
            output_schema: self
                .schema
                .as_ref()
                .map_or(Value::Null, OutputSchema::value),
            output,
            error,
        };
        Ok(Outcome::of(&envelope)?.tainted_by(tainted))
    }
}

/// The final text of a turn, or why there is none.
fn said(end: TurnOutcome) -> Result<String, String> {
    match end {
        TurnOutcome::Answered(text) => Ok(text),
        TurnOutcome::Failed(error) => Err(error),
        TurnOutcome::Stopped => Err("it was stopped".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_profile_tells_what_it_says() {
        let started = |tool: &str, arguments: Value| TurnEvent::ToolStarted {
            call_id: String::new(),
            tool: tool.to_owned(),
            arguments,
            call: None,
        };
        let done = TurnEvent::ToolDone {
            call_id: String::new(),
            tool: "bash".to_owned(),
            ok: false,
            shown: String::new(),
            took_ms: 7,
            call: None,
        };
        let bash = started("bash", json!({ "cmd": "make\nmake test" }));
        let page = started("url_fetch", json!({ "url": "https://a.example/" }));
        let search = started("web_search", json!({ "q": "tea" }));
        for (profile, what, expect) in [
            (Observe::Default, &bash, None),
            (Observe::Default, &page, None),
            (Observe::LongShell, &bash, Some("bash: make")),
            (Observe::LongShell, &done, Some("bash: failed after 7 ms")),
            (
                Observe::LongShell,
                &page,
                Some("url_fetch: https://a.example/"),
            ),
            (Observe::WebExtract, &bash, None),
            (Observe::WebExtract, &done, None),
            (Observe::WebExtract, &page, Some("page https://a.example/")),
            (Observe::WebExtract, &search, Some("search tea")),
        ] {
            assert_eq!(profile.told(what).as_deref(), expect, "{what:?}");
        }
    }
}
