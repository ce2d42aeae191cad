//! `spawn`

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use manyhands_agent::{Input, Minds, Origin, SessionKey, TurnAnswer, TurnEvent, TurnOutcome};
use manyhands_core::{
    CallContext, Effects, ErrorCode, Group, Outcome, RunsOn, Step, Taint, ToolError, ToolSpec,
    TypedTool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::agent_deps::{AgentToolDeps, agent_model, principal};
use crate::registration::{Registration, typed};
use crate::subtask::{Observe, OutputSchema, Subtask, summary};

/// Time limit of a sub-agent.
const DEADLINE: Duration = Duration::from_secs(3_600);

const ABOUT: &str = "You are a sub-agent: another agent gave you one task. Do it with the tools you have, and ask nobody back. Answer with the result alone; your answer goes to that agent, not to a person.";

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

pub(crate) const TOOL: Registration = Registration {
    name: "spawn",
    enabled: |tools| tools.spawn.enabled,
    build: |deps| typed(Spawn(deps.agents())),
};

struct Spawn(AgentToolDeps);

impl TypedTool for Spawn {
    type Params = Params;
    type Output = Subtask<Value>;

    fn spec(&self) -> ToolSpec {
        // The sub-agent's calls are judged one by one; spawning it only calls models and stores a
        // session.
        super::spec(TOOL.name)
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
            model: agent_model(params.model.as_deref())?,
            schema: params.output_schema,
            observe: params.observe_profile.unwrap_or_default(),
            steps: AtomicU64::new(0),
        };
        let key = minds.sub_session(&context.agent, ABOUT).await?;
        // Stops the sub-agent's turn when this call ends for any reason.
        let _stop = minds.stop_on_drop(&key);
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
    steps: AtomicU64,
}

impl SubAgentTask<'_> {
    async fn run(&self, key: &SessionKey, task: String) -> Result<Outcome, ToolError> {
        let Some(schema) = &self.schema else {
            let answer = self.ask(key, task).await?;
            let tainted = answer.tainted;
            let done = turn_text(answer.end).map(|text| (summary(&text), Value::String(text)));
            return self.end(key, done, tainted);
        };
        let answer = self
            .ask(key, format!("{task}\n\n{}", schema.instructions()))
            .await?;
        let mut tainted = answer.tainted;
        let mut fits = schema.parse_reply(turn_text(answer.end)).await;
        // Models often fix the format once told what is wrong; a third attempt rarely helps.
        if let Ok(Err(why)) = &fits {
            let again = format!(
                "Your answer cannot be used: {why}. {}",
                schema.instructions()
            );
            let answer = self.ask(key, again).await?;
            // The second answer may have read more untrusted text than the first.
            tainted.absorb(&answer.tainted);
            fits = schema.parse_reply(turn_text(answer.end)).await;
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
                // Providers with structured output enforce the schema themselves; the answer is
                // checked all the same.
                Some(OutputSchema::Schema(schema)) => Some(Value::Object(schema.clone())),
                _ => None,
            },
            ..Input::text(text)
        };
        let mut pending = self.minds.ask(key, input, &self.origin).await?;
        let mut on = |what: &TurnEvent| {
            if let Some(message) = self.observe.progress_message(what) {
                self.report(message);
            }
        };
        tokio::select! {
            answer = pending.answer(&mut on) => answer,
            () = self.context.cancel.cancelled() => {
                let message = "the sub-agent was stopped because its caller was";
                Err(ToolError::new(ErrorCode::Cancelled, message))
            }
        }
    }

    fn report(&self, message: String) {
        self.context.progress.report(Step {
            done: self.steps.fetch_add(1, Ordering::Relaxed) + 1,
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
        self.report(format!("{status}: {summary}"));
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
fn turn_text(end: TurnOutcome) -> Result<String, String> {
    match end {
        TurnOutcome::Answered(text) => Ok(text),
        TurnOutcome::Failed(error) => Err(error),
        TurnOutcome::Stopped => Err("it was stopped".to_owned()),
    }
}
