//! One reply of a model.

use manyhands_llm::{
    BillingContext, Delta, ErrorKind, ModelError, ModelId, ModelRequest, OutputSchema, Reply,
    StopReason, SystemPart, ToolChoice, ToolDef,
};
use manyhands_store::{CallRecord, CallState, SessionChange, TurnState};

use super::{FinalAnswer, Halt, Turn};
use crate::client::ClientTool;
use crate::conversation::kind;
use crate::event::TurnEvent;
use crate::failure::Failure;
use crate::outcome::StoredOutcome;
use crate::prompt;
use crate::title::TitleRequest;
use crate::toolset::{ToolScope, toolset};
use crate::usage::usage_of;

const CONCLUDE: &str = "You have used up your steps. Answer now with what you have, without tools, and say what is left undone.";

impl Turn {
    /// Gets the next reply of the model. `Some` is the answer; `None` means that it called tools.
    pub(super) async fn next_reply(&mut self) -> Result<Option<FinalAnswer>, Halt> {
        self.make_room(false).await?;
        let request = self.request().await;
        let reply = match self.ask(&request).await? {
            // Our estimate of the size was too low. Once only: if the shortened conversation is too long as well, the error
            // goes to the user.
            Err(error) if error.kind == ErrorKind::ContextOverflow => {
                self.make_room(true).await?;
                let request = self.request().await;
                self.ask(&request).await?
            }
            other => other,
        };
        let reply = reply.map_err(|error| Halt::Failed(Failure::from(&error)))?;
        self.store(reply).await
    }

    async fn ask(&self, request: &ModelRequest) -> Result<Result<Reply, ModelError>, Halt> {
        let models = self.minds.env.models();
        // Numbered before the first delta, so that subscribers can tell a retried reply from the one before.
        self.minds.begin_reply(&self.session.key);
        self.spoken().clear();
        let (minds, key, run) = (&self.minds, &self.session.key, &self.record.run_id);
        let mut on = |delta: Delta| {
            let what = match delta {
                Delta::Text(text) => {
                    self.spoken().push_str(&text);
                    TurnEvent::Delta(text)
                }
                Delta::Thinking(text) => TurnEvent::Thinking(text),
                Delta::Restart { because, .. } => {
                    self.spoken().clear();
                    TurnEvent::Restart { because }
                }
                Delta::CallStart { .. } | Delta::CallArguments { .. } => return,
            };
            minds.publish(key, run, what);
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
        let taint = &mut self.progress.tainted;
        let built = prompt::build(&*minds.env, &key, &self.agent, &self.settings, taint);
        let mut system = built.await;
        // The last reply gets no tools, so that a turn at its limit ends with an answer instead of an error.
        let last = self.progress.step >= i64::from(self.limits.steps);
        // Last in the prompt, because it changes with every step: everything before stays cached.
        if let Some(plan) = &self.progress.plan {
            system.push(SystemPart::changing(plan.shown()));
        }
        if last {
            system.push(SystemPart::changing(CONCLUDE));
        }
        let model = self.input.model.clone();
        let client = self.input.client.as_deref();
        let tool_choice = match client {
            _ if last => ToolChoice::None,
            // A forced call is made once; forcing it again after its result would never end.
            Some(client) if self.progress.step == 0 => client.tool_choice.clone(),
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

    /// The tools shown to the model: the agent's, then the client's. The client's win a name conflict: it expects to run
    /// what it offered.
    fn tools(&self) -> Vec<ToolDef> {
        let mut tools = toolset(&self.minds.path.catalogue(), &self.scope());
        if let Some(client) = &self.input.client {
            tools.retain(|tool| self.input.client_tool(&tool.name).is_none());
            tools.extend(client.tools.iter().map(ClientTool::shown));
        }
        tools
    }

    /// What decides which tools the turn has.
    pub(super) fn scope(&self) -> ToolScope<'_> {
        ToolScope {
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

    /// Stores a reply with its usage and the calls it asks for.
    async fn store(&mut self, reply: Reply) -> Result<Option<FinalAnswer>, Halt> {
        let usage = &mut self.progress.usage;
        usage.replies += 1;
        usage.input_tokens += reply.usage.total_input();
        usage.output_tokens += reply.usage.output;
        usage.cost_micros += reply.cost.micro_dollars().unwrap_or(0);
        let message = reply.message();
        let mut acts = vec![self.append(kind::ASSISTANT, &message), self.spent(&reply)];
        let size = reply.usage.total_input().saturating_add(reply.usage.output);
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        acts.push(SessionChange::ContextTokens(size));
        acts.extend(self.newly_tainted());
        let asked: Vec<CallRecord> = reply
            .calls()
            .zip(0..)
            .map(|(call, place)| CallRecord {
                turn: self.record.id.clone(),
                step: self.progress.step,
                place,
                call_id: call.id.clone(),
                tool: call.name.clone(),
                arguments: serde_json::to_string(&call.arguments).unwrap_or_default(),
                state: CallState::Requested,
                outcome: None,
            })
            .collect();
        let text = reply.text();
        let own = asked
            .iter()
            .any(|call| self.input.client_tool(&call.tool).is_none());
        if !own {
            // Nothing to run here, so the turn ends: with an answer, or with calls for the client. Answer and end are one
            // commit, so a crash cannot leave an answered turn open to be answered again.
            let (stop, calls) = (reply.stop, !asked.is_empty());
            let text = match (stop, text.is_empty() && !calls) {
                (StopReason::End | StopReason::Calls, true) => {
                    "(the model said nothing)".to_owned()
                }
                _ => text,
            };
            let stop = if calls { StopReason::Calls } else { stop };
            let outcome = StoredOutcome::answered(&text, stop, self.progress.usage);
            acts.push(self.moved(TurnState::Done, Some(outcome.json())));
            self.commit(acts).await?;
            self.spoken().clear();
            self.remember(message);
            if !calls {
                self.ask_for_title(&text, &reply.model);
            }
            return Ok(Some(FinalAnswer { text, stop }));
        }
        // The calls are recorded with the reply: after a crash the turn finds what it was about to run.
        acts.extend(asked.into_iter().map(SessionChange::AddCall));
        acts.push(self.moved(TurnState::Running, None));
        self.commit(acts).await?;
        self.spoken().clear();
        self.remember(message);
        if !text.is_empty() {
            self.publish_message(&self.record.run_id, TurnEvent::Partial(text));
        }
        Ok(None)
    }

    /// Asks for a title of the session after its first reply.
    fn ask_for_title(&mut self, reply: &str, used: &ModelId) {
        let Some(replaces) = self.titled.take() else {
            return;
        };
        if !self.key().is_conversation() || reply.trim().is_empty() {
            return;
        }
        self.minds.give_title(TitleRequest {
            session: (self.session.key.clone(), self.session.id.clone()),
            replaces,
            message: self.input.text.clone(),
            reply: reply.to_owned(),
            used: used.clone(),
            payer: self.agent.payer().to_string(),
        });
    }

    fn spent(&self, reply: &Reply) -> SessionChange {
        SessionChange::Spend(usage_of(reply, self.minds.now()))
    }
}
