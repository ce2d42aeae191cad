//! Running the calls that a reply asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use manyhands_core::{CallId, CallRequest, Effects, ErrorCode, Progress, Reach, ToolError};
use manyhands_llm::{Arguments, Message, StopReason, ToolCall, ToolResult};
use manyhands_store::{CallRecord, CallState, SessionChange, TurnState};
use serde_json::Value;

use super::witness::CallWitness;
use super::{FinalAnswer, Halt, Turn};
use crate::call_diff;
use crate::call_output::{CallOutput, CallStats, CallVerdict, RESULT_ROOM};
use crate::event::TurnEvent;
use crate::failure::{Failure, FailureKind};
use crate::outcome::StoredOutcome;
use crate::picture_ref::{PictureRef, result_pictures};
use crate::plan::TaskPlan;
use crate::toolset::{ToolScope, is_given};

/// A call of the reply and its record on disk.
struct TurnCall {
    call: ToolCall,
    record: CallRecord,
    effects: Effects,
}

impl Turn {
    /// Runs the calls of the last reply and appends their results. Read-only calls run concurrently, others one by one.
    /// Calls that were started before a crash are not run again.
    ///
    /// `Some` ends the turn: the reply has calls for the client too, who sends their results with its next request.
    pub(super) async fn run_calls(&mut self) -> Result<Option<FinalAnswer>, Halt> {
        let step = self.progress.step;
        let mut pending_calls = self.pending_calls(step).await?;
        let mut outputs: Vec<CallOutput> = Vec::with_capacity(pending_calls.len());
        while !pending_calls.is_empty() {
            // In the model's order: a call may rely on what an earlier one wrote. Only adjacent reads run together.
            let alone = !pending_calls[0].effects.only_reads();
            let together = pending_calls
                .iter()
                .take_while(|pending| pending.effects.only_reads());
            let count = if alone { 1 } else { together.count() };
            let group: Vec<TurnCall> = pending_calls.drain(..count).collect();
            for pending in &group {
                self.count_repeats(pending);
            }
            let this = &*self;
            let running = group.iter().map(|pending| this.settle(pending));
            let running = join_all(running);
            // Waiting for the owner does not count against the turn's own time.
            let longest = self.limits.wall + self.limits.approval;
            let done = tokio::time::timeout(longest, running).await;
            let done = done.map_err(|_| {
                let message = "a tool did not finish within the turn's time limit";
                Halt::Failed(Failure::new(FailureKind::TurnTimeout, message))
            })?;
            for one in done {
                let one = one?;
                self.progress.tainted.absorb(&one.taints);
                TaskPlan::update(&mut self.progress.plan, one.plan.as_ref(), !one.is_error);
                outputs.push(one);
            }
        }
        self.append_outputs(step, outputs).await
    }

    async fn pending_calls(&self, step: i64) -> Result<Vec<TurnCall>, Halt> {
        let records = self.minds.sessions.calls(&self.record.id, step).await?;
        let catalogue = self.minds.path.catalogue();
        let pending = |(call, record): (ToolCall, CallRecord)| {
            let tool = catalogue.resolve(&call.name);
            let effects = match (tool, &call.arguments) {
                (Some(tool), Arguments::Named(named)) => {
                    tool.effects_of(&Value::Object(named.clone()), &catalogue)
                }
                _ => Effects::READS, // it will be refused, so it has no effects
            };
            TurnCall {
                call,
                record,
                effects,
            }
        };
        // Matched by position, not by id: some models give two calls the same id.
        let calls = self.conversation.open_calls(&self.record.id).into_iter();
        let pending_calls = calls.zip(records).map(pending);
        Ok(pending_calls
            .filter(|pending| self.is_own(&pending.call))
            .collect())
    }

    /// Whether a call is run here, not by the client.
    fn is_own(&self, call: &ToolCall) -> bool {
        self.input.client_tool(&call.name).is_none()
    }

    fn count_repeats(&mut self, pending: &TurnCall) {
        let same = format!("{}\n{}", pending.record.tool, pending.record.arguments);
        let (last, count) = &mut self.progress.repeated;
        match *last == same {
            true => *count += 1,
            false => (*last, *count) = (same, 1),
        }
    }

    /// The result of one call, from now or from before a crash.
    async fn settle(&self, pending: &TurnCall) -> Result<CallOutput, Halt> {
        let tool = &pending.call.name;
        if let Some(outcome) = &pending.record.outcome
            && let Ok(output) = serde_json::from_str(outcome)
        {
            return Ok(output);
        }
        // Started without a result: the process died in between. It may have taken effect, so running it again could do it
        // twice; the model is asked to check.
        if pending.record.state == CallState::Started {
            let output = CallOutput::unknown(tool);
            self.settled(pending, &output).await?;
            return Ok(output);
        }
        let output = self.call(pending).await?;
        self.settled(pending, &output).await?;
        Ok(output)
    }

    /// Makes a call; returns its result with how it went.
    async fn call(&self, pending: &TurnCall) -> Result<CallOutput, Halt> {
        let tool = &pending.call.name;
        let not_run = |text: &str| {
            let stats = CallStats::ended(CallVerdict::Failed);
            Ok(CallOutput::error(tool, text).with(stats))
        };
        let arguments = match &pending.call.arguments {
            Arguments::Named(named) => Value::Object(named.clone()),
            Arguments::Broken { problem, .. } => {
                return not_run(problem);
            }
        };
        let catalogue = self.minds.path.catalogue();
        let known = catalogue.resolve(tool);
        // Checked here as well: a model may call a tool it was never shown, from an earlier conversation or a guess.
        if known.is_some_and(|known| !is_given(known.spec(), &self.scope())) {
            return not_run("not run: it is not among your tools");
        }
        // A stuck model is first told, then stopped: twice the limit leaves it as many chances to change its mind.
        let (_, repeated) = &self.progress.repeated;
        if *repeated > self.limits.repeats * 2 {
            let message =
                format!("the model made the same call of {tool} {repeated} times in a row");
            return Err(Halt::Failed(Failure::new(FailureKind::Looping, message)));
        }
        if *repeated > self.limits.repeats {
            let text = format!(
                "not run: you made this very call {repeated} times in a row. Do something else, or answer."
            );
            return not_run(&text);
        }
        let id = self.minds.ids.next::<CallId>();
        self.publish(TurnEvent::ToolStarted {
            call_id: pending.call.id.clone(),
            tool: tool.clone(),
            arguments: arguments.clone(),
            call: Some(id),
        });
        let diff = call_diff::of(&arguments);
        let mut request = CallRequest::new(tool.clone(), arguments.clone(), self.caller.clone());
        request.id = Some(id);
        request.progress = self.stream_output(pending);
        request.agent = self.session.agent.clone();
        request.approval_wait = self.limits.approval;
        request.taint = self.progress.tainted.clone();
        request.lineage = self.lineage();
        request.reach = self.reach();
        request.chat = self.origin.place.clone().map(Arc::new);
        request.max_result_bytes = Some(RESULT_ROOM);
        let witness = Arc::new(CallWitness {
            minds: self.minds.clone(),
            session: (self.session.key.clone(), self.session.id.clone()),
            turn: self.record.id.clone(),
            run_id: self.record.run_id.clone(),
            place: (pending.record.step, pending.record.place),
            call_id: pending.call.id.clone(),
            tool: tool.clone(),
            arguments,
            origin: self.origin.clone(),
            above: self.origin.lineage.clone(),
            gave_up: AtomicBool::new(false),
            times: Mutex::default(),
        });
        request.witness = Some(witness.clone());
        // Monotonic: the wall clock may be set while a call runs for minutes.
        let began = self.minds.clock.monotonic();
        let result = self.minds.path.invoke(request).await;
        let (ms, waited_ms) = witness.took(began);
        let asked = |error: &ToolError| error.code == ErrorCode::ApprovalRequired;
        // Neither of these two is a result, so none is stored. The record decides when the turn is loaded again: a call that
        // did not start is made again, one that did is reported as interrupted.
        if witness.gave_up.load(Ordering::SeqCst) && result.as_ref().is_err_and(asked) {
            return Err(Halt::Parked);
        }
        let closing = self.minds.env.stopping().is_cancelled();
        if closing
            && result
                .as_ref()
                .is_err_and(|error| is_shutdown_error(error.code))
        {
            return Err(Halt::Suspended);
        }
        let stats = CallStats {
            ms,
            waited_ms,
            call: Some(id),
            diff: result.as_ref().ok().and(diff),
            ..CallStats::of(&result)
        };
        Ok(CallOutput::of(tool, pending.effects, result).with(stats))
    }

    /// Publishes the output of a call while it runs, if anybody watches the session.
    fn stream_output(&self, pending: &TurnCall) -> Progress {
        // Without listeners the path need not collect output at all.
        if !self.minds.subscribers.is_watched(&self.key()) {
            return Progress::default();
        }
        let (minds, key) = (self.minds.clone(), self.session.key.clone());
        let (run_id, call) = (self.record.run_id.clone(), pending.call.clone());
        Progress::default().with_output(move |text| {
            let what = TurnEvent::ToolOutput {
                call_id: call.id.clone(),
                tool: call.name.clone(),
                text: text.to_owned(),
            };
            minds.publish(&key, &run_id, what);
        })
    }

    /// Limits tools that call other tools to those that this turn may use itself.
    fn reach(&self) -> Reach {
        let (caller, agent) = (self.caller.clone(), self.agent.clone());
        let (path, id) = (self.minds.path.clone(), self.session.agent.clone());
        let only = self.scope().only.map(<[String]>::to_vec);
        let (place, session) = (self.origin.place.clone(), self.session.key.clone());
        Reach::only(move |spec| {
            let scope = ToolScope {
                path: &*path,
                caller: &caller,
                agent: &id,
                tools: &agent.tools,
                discover: &agent.discover,
                only: only.as_deref(),
                place: place.as_ref(),
                session: Some(&session),
            };
            is_given(spec, &scope)
        })
    }

    /// The sessions that wait for the calls of this turn, its own last.
    fn lineage(&self) -> Arc<[String]> {
        let own = std::iter::once(&self.session.key);
        self.origin.lineage.iter().chain(own).cloned().collect()
    }

    /// Stores the result of a call, then publishes it. On disk before the next call starts, so that a crash does not
    /// repeat this one.
    async fn settled(&self, pending: &TurnCall, output: &CallOutput) -> Result<(), Halt> {
        let act = SessionChange::Call {
            turn: self.record.id.clone(),
            step: pending.record.step,
            place: pending.record.place,
            state: CallState::Done,
            outcome: serde_json::to_string(output).ok(),
        };
        let (key, id) = (&self.session.key, &self.session.id);
        let now = self.minds.clock.now();
        self.minds.sessions.commit(key, id, vec![act], now).await?;
        // Pictures have a name only once the message with the results is stored: see `append_outputs`.
        if !output.has_pictures() {
            self.publish(done(&pending.call, output, Vec::new()));
        }
        Ok(())
    }

    /// Appends the results to the conversation, in the order of the calls, and advances to the next step.
    async fn append_outputs(
        &mut self,
        step: i64,
        outputs: Vec<CallOutput>,
    ) -> Result<Option<FinalAnswer>, Halt> {
        let calls = self.conversation.open_calls(&self.record.id);
        let (calls, left): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| self.is_own(call));
        let made: Vec<_> = outputs.iter().map(|output| output.made.clone()).collect();
        // By their index among the results.
        let held: Vec<(usize, TurnEvent)> = calls
            .iter()
            .zip(&outputs)
            .enumerate()
            .filter(|(_, (_, output))| output.has_pictures())
            .map(|(at, (call, output))| (at, done(call, output, Vec::new())))
            .collect();
        let result = |(call, output): (ToolCall, CallOutput)| ToolResult {
            id: call.id,
            name: call.name,
            content: output.content,
            is_error: output.is_error,
        };
        let results = calls.into_iter().zip(outputs).map(result).collect();
        let message = Message::Tool { results };
        self.progress.step = step + 1;
        let (stop, text) = (StopReason::Calls, String::new());
        let moved = match left.is_empty() {
            true => self.moved(TurnState::Running, None),
            false => {
                let outcome = StoredOutcome::answered(&text, stop, self.progress.usage);
                self.moved(TurnState::Done, Some(outcome.json()))
            }
        };
        // Results and step number in one commit: with the number alone a crash would lose the results, with the results alone
        // the next reply's calls would be recorded under a step that is done.
        let mut acts = vec![self.append_results(&message, &made), moved];
        // In the same commit as the text, because the next turn of the session reads that text too.
        acts.extend(self.newly_tainted());
        self.commit(acts).await?;
        let mut refs = result_pictures(self.last_seq(), &message);
        self.remember_results(message, made);
        for (at, mut event) in held {
            if let TurnEvent::ToolDone { pictures, .. } = &mut event {
                *pictures = std::mem::take(&mut refs[at]);
            }
            self.publish(event);
        }
        Ok((!left.is_empty()).then_some(FinalAnswer { text, stop }))
    }
}

/// The event that a call ended.
fn done(call: &ToolCall, output: &CallOutput, pictures: Vec<PictureRef>) -> TurnEvent {
    TurnEvent::ToolDone {
        call_id: call.id.clone(),
        tool: call.name.clone(),
        ok: !output.is_error,
        shown: output.shown(),
        stats: Box::new(output.made.clone().unwrap_or_default()),
        pictures,
    }
}

/// Whether a call may have failed only because the gateway is stopping.
fn is_shutdown_error(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Unavailable | ErrorCode::Cancelled | ErrorCode::ApprovalRequired
    )
}
