//! One reply of a model.

use manyhands_core::Timestamp;
use manyhands_llm::{
    BillingContext, Delta, ErrorKind, ModelError, ModelRequest, OutputSchema, Reply, StopReason,
    SystemPart, ToolChoice, ToolDef,
};
use manyhands_store::{CallRecord, CallState, SessionChange, TurnState, Usage};

use super::{Halt, Said, Turn};
use crate::client::ClientTool;
use crate::conversation::kind;
use crate::event::What;
use crate::outcome::{Failure, Outcome};
use crate::prompt;
use crate::shape::{Shape, toolset};

const CONCLUDE: &str = "You have used up your steps. Answer now with what you have, without tools, and say what is left undone.";

impl Turn {
    /// Asks the model once more. `Some` is the answer; `None` means that it asked for tools.
    pub(super) async fn next_reply(&mut self) -> Result<Option<Said>, Halt> {
        self.make_room(false).await?;
        let request = self.request().await;
        let reply = match self.ask(&request).await? {
            Err(error) if error.kind == ErrorKind::ContextOverflow => {
                self.make_room(true).await?;
                let request = self.request().await;
                self.ask(&request).await?
            }
            other => other,
        };
        let reply = reply.map_err(|error| Halt::Failed(Failure::from(&error)))?;
        self.take(reply).await
    }

    async fn ask(&self, request: &ModelRequest) -> Result<Result<Reply, ModelError>, Halt> {
        let models = self.minds.house.models();
        self.minds.begin_reply(&self.session.key);
        let (minds, key, run) = (&self.minds, &self.session.key, &self.record.run_id);
        let mut on = |delta: Delta| {
            let what = match delta {
                Delta::Text(text) => What::Delta(text),
                Delta::Thinking(text) => What::Thinking(text),
                Delta::Restart { because, .. } => What::Restart { because },
                Delta::CallStart { .. } | Delta::CallArguments { .. } => return,
            };
            minds.tell(key, run, what);
        };
        let replied = self
            .in_time(models.reply(request, &mut on, &self.cancel))
            .await?;
        match replied {
            Err(error) if error.kind == ErrorKind::Cancelled => Err(Halt::Stopped),
            other => Ok(other),
        }
    }

    async fn request(&mut self) -> ModelRequest {
        let (key, minds) = (self.key(), self.minds.clone());
        let taint = &mut self.work.tainted;
        let built = prompt::build(&*minds.house, &key, &self.agent, &self.settings, taint);
        let mut system = built.await;
        let last = self.work.step >= i64::from(self.limits.steps);
        if let Some(plan) = &self.work.plan {
            system.push(SystemPart::changing(plan.shown()));
        }
        if last {
            system.push(SystemPart::changing(CONCLUDE));
        }
        let model = self.input.model.clone();
        let client = self.input.client.as_deref();
        let tool_choice = match client {
            _ if last => ToolChoice::None,
            // A call that has to be made is made once: after it the model decides.
            Some(client) if self.work.step == 0 => client.tool_choice.clone(),
            Some(client) if client.tool_choice == ToolChoice::None => ToolChoice::None,
            _ => ToolChoice::Auto,
        };
        ModelRequest {
            model: model
                .or_else(|| self.settings.model.clone())
                .or_else(|| self.agent.model.clone()),
            system,
            messages: self.conversation.messages(),
            tools: self.tools(),
            tool_choice,
            sampling: client.map_or_else(Default::default, |client| client.sampling.clone()),
            thinking: (self.input.thinking)
                .or(self.settings.thinking_level)
                .or(self.agent.thinking),
            max_output_tokens: client
                .and_then(|client| client.max_tokens)
                .or(self.settings.max_tokens),
            output: self.input.output.clone().map(|schema| OutputSchema {
                name: "answer".to_owned(),
                schema,
            }),
            cache_key: Some(self.session.id.clone()),
            account: BillingContext {
                turn: Some(self.record.id.clone()),
                session: Some(self.session.key.clone()),
                agent: Some(self.agent.payer().to_string()),
            },
            ..ModelRequest::default()
        }
    }

    /// The tools that the model is shown: the agent's own, then the client's. Where both have a name, the client's
    /// counts: it expects to run what it offered.
    fn tools(&self) -> Vec<ToolDef> {
        let mut tools = toolset(&self.minds.path.catalogue(), &self.shape());
        if let Some(client) = &self.input.client {
            tools.retain(|tool| self.input.client_tool(&tool.name).is_none());
            tools.extend(client.tools.iter().map(ClientTool::shown));
        }
        tools
    }

    /// What decides which tools the turn has.
    pub(super) fn shape(&self) -> Shape<'_> {
        Shape {
            path: &*self.minds.path,
            caller: &self.caller,
            agent: &self.session.agent,
            tools: &self.agent.tools,
            discover: &self.agent.discover,
            only: self.input.tools.as_deref(),
            place: self.origin.place.as_ref(),
            session: Some(&self.session.key),
        }
    }

    /// Keeps a reply, with the calls it asks for.
    async fn take(&mut self, reply: Reply) -> Result<Option<Said>, Halt> {
        let usage = &mut self.work.usage;
        usage.replies += 1;
        usage.input_tokens += reply.usage.total_input();
        usage.output_tokens += reply.usage.output;
        usage.cost_micros += reply.cost.micro_dollars().unwrap_or(0);
        let message = reply.message();
        let mut acts = vec![self.append(kind::ASSISTANT, &message), self.spent(&reply)];
        acts.extend(self.newly_tainted());
        let asked: Vec<CallRecord> = reply
            .calls()
            .zip(0..)
            .map(|(call, place)| CallRecord {
                turn: self.record.id.clone(),
                step: self.work.step,
                place,
                call_id: call.id.clone(),
                tool: call.name.clone(),
                arguments: serde_json::to_string(&call.arguments).unwrap_or_default(),
                state: CallState::Asked,
                outcome: None,
            })
            .collect();
        let text = reply.text();
        let own = asked
            .iter()
            .any(|call| self.input.client_tool(&call.tool).is_none());
        if !own {
            // With nothing to run here the turn ends, with an answer or with calls for the client.
            let (stop, calls) = (reply.stop, !asked.is_empty());
            let text = match (stop, text.is_empty() && !calls) {
                (StopReason::End | StopReason::Calls, true) => {
                    "(the model said nothing)".to_owned()
                }
                _ => text,
            };
            let stop = if calls { StopReason::Calls } else { stop };
            let outcome = Outcome::answered(&text, stop, self.work.usage);
            acts.push(self.moved(TurnState::Done, Some(outcome.json())));
            self.commit(acts).await?;
            self.keep(message);
            return Ok(Some(Said { text, stop }));
        }
        acts.extend(asked.into_iter().map(SessionChange::Ask));
        acts.push(self.moved(TurnState::Running, None));
        self.commit(acts).await?;
        self.keep(message);
        if !text.is_empty() {
            self.tell_said(&self.record.run_id, What::Partial(text));
        }
        Ok(None)
    }

    fn spent(&self, reply: &Reply) -> SessionChange {
        SessionChange::Spend(usage(reply, self.minds.now()))
    }
}

/// What a reply used up, for the books.
pub(crate) fn usage(reply: &Reply, now: Timestamp) -> Usage {
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    Usage {
        day: now.rfc3339().chars().take(10).collect(),
        model: reply.model.to_string(),
        input_tokens: count(reply.usage.total_input()),
        output_tokens: count(reply.usage.output),
        cache_read_tokens: count(reply.usage.cache_read),
        cache_write_tokens: count(reply.usage.cache_write),
        cost_micros: count(reply.cost.micro_dollars().unwrap_or(0)),
    }
}
