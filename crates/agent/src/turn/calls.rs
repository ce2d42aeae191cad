//! The tools that a reply asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use manyhands_core::{CallId, CallRequest, Effects, ErrorCode, Progress, Reach, ToolError};
use manyhands_llm::{Arguments, Message, StopReason, ToolCall, ToolResult};
use manyhands_store::{CallRecord, CallState, SessionChange, TurnState};
use serde_json::Value;

use super::witness::CallWitness;
use super::{Halt, Said, Turn};
use crate::event::What;
use crate::outcome::{Failure, FailureKind, Outcome};
use crate::plan::Plan;
use crate::shape::{Given, Made, RESULT_ROOM, Shape, is_given};

/// One call of the reply, and where it stands.
struct Place {
    call: ToolCall,
    record: CallRecord,
    effects: Effects,
}

impl Turn {
    /// Runs what the last reply asked for, and gives the model what came of it. Calls that only
    /// look run together; the others one by one. What was started before a crash is not run again.
    ///
    /// `Some` ends the turn: the reply has calls for the client too, who sends their results with its next request.
    pub(super) async fn run_calls(&mut self) -> Result<Option<Said>, Halt> {
        let step = self.work.step;
        let mut places = self.places(step).await?;
        let mut given: Vec<Given> = Vec::with_capacity(places.len());
        while !places.is_empty() {
            let alone = !places[0].effects.only_reads();
            let together = places.iter().take_while(|place| place.effects.only_reads());
            let count = if alone { 1 } else { together.count() };
            let group: Vec<Place> = places.drain(..count).collect();
            for place in &group {
                self.count_repeats(place);
            }
            let this = &*self;
            let running = group.iter().map(|place| this.settle(place));
            let running = join_all(running);
            let longest = self.limits.wall + self.limits.approval;
            let done = tokio::time::timeout(longest, running).await;
            let done = done.map_err(|_| {
                let message = "a tool did not end within the time of the turn";
                Halt::Failed(Failure::new(FailureKind::TurnTimeout, message))
            })?;
            for one in done {
                let one = one?;
                self.work.tainted.absorb(&one.taints);
                Plan::go_on(&mut self.work.plan, &one);
                given.push(one);
            }
        }
        self.give(step, given).await
    }

    async fn places(&self, step: i64) -> Result<Vec<Place>, Halt> {
        let records = self.minds.sessions.calls(&self.record.id, step).await?;
        let catalogue = self.minds.path.catalogue();
        let place = |(call, record): (ToolCall, CallRecord)| {
            let tool = catalogue.resolve(&call.name);
            let effects = match (tool, &call.arguments) {
                (Some(tool), Arguments::Named(named)) => {
                    tool.effects_of(&Value::Object(named.clone()), &catalogue)
                }
                _ => Effects::READS, // it will be refused, which harms nobody
            };
            Place {
                call,
                record,
                effects,
            }
        };
        // By their order: a careless model may call two things by one id.
        let calls = self.conversation.open_calls(&self.record.id).into_iter();
        let places = calls.zip(records).map(place);
        Ok(places.filter(|place| self.is_own(&place.call)).collect())
    }

    /// Whether a call is run here, not by the client.
    fn is_own(&self, call: &ToolCall) -> bool {
        self.input.client_tool(&call.name).is_none()
    }

    fn count_repeats(&mut self, place: &Place) {
        let same = format!("{}\n{}", place.record.tool, place.record.arguments);
        let (last, count) = &mut self.work.repeated;
        match *last == same {
            true => *count += 1,
            false => (*last, *count) = (same, 1),
        }
    }

    /// What one call gave, whether now or before a crash.
    async fn settle(&self, place: &Place) -> Result<Given, Halt> {
        let tool = &place.call.name;
        if let Some(outcome) = &place.record.outcome
            && let Ok(given) = serde_json::from_str(outcome)
        {
            return Ok(given);
        }
        if place.record.state == CallState::Started {
            let given = Given::unknown(tool);
            self.settled(place, &given).await?;
            return Ok(given);
        }
        let began = self.minds.clock.monotonic();
        let (mut given, call) = self.call(place).await?;
        let took = self.minds.clock.monotonic().saturating_sub(began);
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        given.made = Some(Made { ms, call });
        self.settled(place, &given).await?;
        Ok(given)
    }

    /// What a call gives, and which one it was if it came to the path.
    async fn call(&self, place: &Place) -> Result<(Given, Option<CallId>), Halt> {
        let tool = &place.call.name;
        let arguments = match &place.call.arguments {
            Arguments::Named(named) => Value::Object(named.clone()),
            Arguments::Broken { problem, .. } => return Ok((Given::error(tool, problem), None)),
        };
        let catalogue = self.minds.path.catalogue();
        let known = catalogue.resolve(tool);
        if known.is_some_and(|known| !is_given(known.spec(), &self.shape())) {
            let text = "not run: it is not among your tools";
            return Ok((Given::error(tool, text), None));
        }
        let (_, repeated) = &self.work.repeated;
        if *repeated > self.limits.repeats * 2 {
            let message =
                format!("the model made the same call of {tool} {repeated} times in a row");
            return Err(Halt::Failed(Failure::new(FailureKind::Looping, message)));
        }
        if *repeated > self.limits.repeats {
            let text = format!(
                "not run: you made this very call {repeated} times in a row. Do something else, or answer."
            );
            return Ok((Given::error(tool, &text), None));
        }
        let id = self.minds.ids.next::<CallId>();
        self.tell(What::ToolStarted {
            call_id: place.call.id.clone(),
            tool: tool.clone(),
            arguments: arguments.clone(),
            call: Some(id),
        });
        let mut request = CallRequest::new(tool.clone(), arguments.clone(), self.caller.clone());
        request.id = Some(id);
        request.progress = self.progress(place);
        request.agent = self.session.agent.clone();
        request.approval_wait = self.limits.approval;
        request.taint = self.work.tainted.clone();
        request.lineage = self.lineage();
        request.reach = self.reach();
        request.place = self.origin.place.clone().map(Arc::new);
        request.room = Some(RESULT_ROOM);
        let witness = Arc::new(CallWitness {
            minds: self.minds.clone(),
            session: (self.session.key.clone(), self.session.id.clone()),
            turn: self.record.id.clone(),
            run_id: self.record.run_id.clone(),
            place: (place.record.step, place.record.place),
            call_id: place.call.id.clone(),
            tool: tool.clone(),
            arguments,
            origin: self.origin.clone(),
            above: self.origin.lineage.clone(),
            gave_up: AtomicBool::new(false),
        });
        request.witness = Some(witness.clone());
        let result = self.minds.path.invoke(request).await;
        let asked = |error: &ToolError| error.code == ErrorCode::ApprovalRequired;
        if witness.gave_up.load(Ordering::SeqCst) && result.as_ref().is_err_and(asked) {
            return Err(Halt::Parked);
        }
        let closing = self.minds.house.stopping().is_cancelled();
        if closing
            && result
                .as_ref()
                .is_err_and(|error| is_of_closing(error.code))
        {
            return Err(Halt::Suspended);
        }
        Ok((Given::of(tool, place.effects, result), Some(id)))
    }

    /// Whoever watches the session is told what a call prints.
    fn progress(&self, place: &Place) -> Progress {
        if !self.minds.audience.is_watched(&self.key()) {
            return Progress::default();
        }
        let (minds, key) = (self.minds.clone(), self.session.key.clone());
        let (run_id, call) = (self.record.run_id.clone(), place.call.clone());
        Progress::default().printing(move |text| {
            let what = What::ToolOutput {
                call_id: call.id.clone(),
                tool: call.name.clone(),
                text: text.to_owned(),
            };
            minds.tell(&key, &run_id, what);
        })
    }

    /// The tools that the task has, also by way of those that lead to others.
    fn reach(&self) -> Reach {
        let (caller, agent) = (self.caller.clone(), self.agent.clone());
        let (path, id) = (self.minds.path.clone(), self.session.agent.clone());
        let only = self.shape().only.map(<[String]>::to_vec);
        let (place, session) = (self.origin.place.clone(), self.session.key.clone());
        Reach::only(move |spec| {
            let shape = Shape {
                path: &*path,
                caller: &caller,
                agent: &id,
                tools: &agent.tools,
                discover: &agent.discover,
                only: only.as_deref(),
                place: place.as_ref(),
                session: Some(&session),
            };
            is_given(spec, &shape)
        })
    }

    /// The sessions that wait for what is called here.
    fn lineage(&self) -> Arc<[String]> {
        let own = std::iter::once(&self.session.key);
        self.origin.lineage.iter().chain(own).cloned().collect()
    }

    /// Keeps what a call gave.
    async fn settled(&self, place: &Place, given: &Given) -> Result<(), Halt> {
        let act = SessionChange::Call {
            turn: self.record.id.clone(),
            step: place.record.step,
            place: place.record.place,
            state: CallState::Done,
            outcome: serde_json::to_string(given).ok(),
        };
        let (key, id) = (&self.session.key, &self.session.id);
        let now = self.minds.clock.now();
        self.minds.sessions.commit(key, id, vec![act], now).await?;
        self.tell(What::ToolDone {
            call_id: place.call.id.clone(),
            tool: place.call.name.clone(),
            ok: !given.is_error,
            shown: given.shown(),
            took_ms: given.made.map_or(0, |made| made.ms),
            call: given.made.and_then(|made| made.call),
        });
        Ok(())
    }

    /// The results become part of the conversation, in the order of the calls.
    async fn give(&mut self, step: i64, given: Vec<Given>) -> Result<Option<Said>, Halt> {
        let calls = self.conversation.open_calls(&self.record.id);
        let (calls, left): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| self.is_own(call));
        let made: Vec<_> = given.iter().map(|given| given.made).collect();
        let result = |(call, given): (ToolCall, Given)| ToolResult {
            id: call.id,
            name: call.name,
            content: given.content,
            is_error: given.is_error,
        };
        let results = calls.into_iter().zip(given).map(result).collect();
        let message = Message::Tool { results };
        self.work.step = step + 1;
        let (stop, text) = (StopReason::Calls, String::new());
        let moved = match left.is_empty() {
            true => self.moved(TurnState::Running, None),
            false => {
                let outcome = Outcome::answered(&text, stop, self.work.usage);
                self.moved(TurnState::Done, Some(outcome.json()))
            }
        };
        let mut acts = vec![self.append_results(&message, &made), moved];
        // With the text itself: the next turn of the conversation reads it too.
        acts.extend(self.newly_tainted());
        self.commit(acts).await?;
        self.keep_results(message, made);
        Ok((!left.is_empty()).then_some(Said { text, stop }))
    }
}

/// Whether a call may have failed only because the house closes.
fn is_of_closing(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Unavailable | ErrorCode::Cancelled | ErrorCode::ApprovalRequired
    )
}
