//! One run of a job: its turn, the delivery of the reply, its outcome.

use std::sync::Arc;
use std::time::Duration;

use manyhands_agent::{Input, Origin, SessionKey, TurnAnswer, TurnOutcome};
use manyhands_agent_services::job_delivery::{DeliveryTarget, JobDelivery};
use manyhands_agent_services::session_key;
use manyhands_core::{CallRequest, ErrorCode, Timestamp, ToolError, contained};
use manyhands_store::{JobKind, RunEnd, RunRecord, RunState, StoreError};
use serde_json::json;

use super::Inner;
use super::job::{Job, Spec, Task};

/// How much of a reply is stored with its run.
const SUMMARY: usize = 500;
/// How much of an error is stored.
const MAX_ERROR: usize = 1_000;

/// The delay before storing an outcome is retried.
const BEFORE_NEXT_TRY: Duration = Duration::from_secs(5);

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunOutcome {
    pub(super) state: RunState,
    pub(super) error: Option<String>,
    pub(super) summary: Option<String>,
}

impl RunOutcome {
    pub(super) fn ok(summary: String) -> Self {
        Self {
            state: RunState::Ok,
            error: None,
            summary: Some(summary),
        }
    }

    pub(super) fn failed(error: impl Into<String>) -> Self {
        Self {
            state: RunState::Error,
            error: Some(cut(&error.into(), MAX_ERROR)),
            summary: None,
        }
    }

    pub(super) fn skipped(why: impl Into<String>) -> Self {
        Self {
            state: RunState::Skipped,
            error: Some(why.into()),
            summary: None,
        }
    }
}

/// The beginning of a text, with an ellipsis if it was cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

impl Inner {
    /// Runs a job and records the outcome. Repeated after a crash, it resumes the same turn.
    /// `lineage` are the sessions that wait for it.
    pub(super) async fn perform(self: &Arc<Self>, job: &Job, run: RunRecord, lineage: &[String]) {
        let work = contained(async {
            match job.record.kind {
                JobKind::Job => self.work(job, &run, lineage).await,
                JobKind::Heartbeat => self.beat(job, &run).await,
            }
        });
        let went = match work.await.unwrap_or_else(|panicked| {
            let (job, reason) = (&job.record.id, &panicked.reason);
            tracing::error!(
                event = "job_panicked",
                job,
                reason,
                "internal error: a job panicked"
            );
            Ok(RunOutcome::failed(panicked.to_string()))
        }) {
            Ok(went) => went,
            // The row still says running, so the run is resumed after the next start.
            Err(_) if self.stopping.is_cancelled() => return,
            Err(error) => RunOutcome::failed(error.text()),
        };
        // A job with an open run is never due again, so the outcome must reach the disk.
        while let Err(error) = self.close(job, &run, &went).await {
            tracing::error!(event = "job_run_save_failed", job = job.record.id, %error, "failed to persist the outcome of a job run; will retry");
            tokio::select! {
                () = self.stopping.cancelled() => return, // resumed after the next start
                () = tokio::time::sleep(BEFORE_NEXT_TRY) => {}
            }
        }
    }

    async fn close(&self, job: &Job, run: &RunRecord, went: &RunOutcome) -> Result<(), StoreError> {
        let once = job.schedule.is_once();
        let ok = went.state == RunState::Ok;
        let end = RunEnd {
            id: run.id.clone(),
            state: went.state,
            error: went.error.clone(),
            summary: went.summary.clone(),
            at: self.clock.now(),
            once,
            // A failed job stays, so that its owner can see why and run it again.
            remove: once && ok && job.record.delete_after_run,
        };
        self.records.finish(&end).await?;
        if let (RunState::Error, Some(error)) = (went.state, &went.error) {
            tracing::warn!(
                event = "job_failed",
                job = job.record.id,
                name = job.record.name,
                error,
                "job failed"
            );
        }
        if job.record.kind == JobKind::Heartbeat {
            self.alert_on_failures(job).await;
        }
        Ok(())
    }

    /// Closes a run that cannot be resumed.
    pub(super) async fn interrupted(
        &self,
        run: &RunRecord,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let end = RunEnd {
            id: run.id.clone(),
            state: RunState::Error,
            error: Some("interrupted: the gateway stopped before the run started".to_owned()),
            summary: None,
            at: now,
            once: true,
            remove: false,
        };
        self.records.finish(&end).await.map(drop)
    }

    /// The session of a run, and its origin.
    fn session(&self, job: &Job, run: &RunRecord) -> Result<(SessionKey, Origin), ToolError> {
        let agent = &job.record.agent;
        let origin = Origin {
            place: None, // replies go to the target of the job
            job: Some(job.record.id.clone()),
            lineage: Vec::new(),
            ..job.origin.clone()
        };
        // An event is a message to the main conversation, with the rights of the creator today.
        if let Spec::Event(_) = job.spec()? {
            let caller = self.minds()?.caller(&origin)?;
            return Ok((session_key(&caller, agent, "main")?, origin));
        }
        // The text of a task is an instruction of its creator and not data to be fenced; the taint
        // of what it may come from is carried along.
        let origin = Origin {
            tainted: origin.taint(),
            trusted: true,
            ..origin
        };
        let key = SessionKey::cron(agent, &job.record.id, &run.id);
        Ok((key, origin))
    }

    /// Returns whether the turn of a run exists.
    pub(super) async fn was_sent(&self, job: &Job, run: &RunRecord) -> bool {
        let Ok(minds) = self.minds() else {
            return false;
        };
        let key = match job.record.kind {
            JobKind::Job => self.session(job, run).map(|(key, _)| key),
            JobKind::Heartbeat => Ok(SessionKey::heartbeat(&job.record.agent)),
        };
        match key {
            // On a storage error assume that it exists: repeating a run is worse than leaving it to
            // the next start.
            Ok(key) => minds.has_run(&key, &run.id).await.unwrap_or(true),
            Err(_) => false,
        }
    }

    /// The session of an event job, which may be one that waits for it.
    pub(super) fn event_session(&self, job: &Job, run: &RunRecord) -> Option<SessionKey> {
        let is_event = matches!(job.spec(), Ok(Spec::Event(_)));
        let (key, _) = is_event.then(|| self.session(job, run).ok()).flatten()?;
        Some(key)
    }

    async fn work(
        &self,
        job: &Job,
        run: &RunRecord,
        lineage: &[String],
    ) -> Result<RunOutcome, ToolError> {
        let (key, origin) = self.session(job, run)?;
        match job.spec()? {
            Spec::Event(text) => {
                let answer = self.ask(&key, run, Input::text(text), &origin).await?;
                let target = self.target(job, &key, None, &origin);
                self.tell(run, answer, Some((target, false))).await
            }
            Spec::Task(task) => {
                let waits = Origin {
                    lineage: lineage.to_vec(),
                    ..origin.clone()
                };
                let input = Input {
                    model: task.model.clone(),
                    thinking: task.thinking,
                    ..Input::text(task.message.clone())
                };
                let asked = self.ask(&key, run, input, &waits);
                let answer = match task.timeout_seconds {
                    None => asked.await?,
                    Some(seconds) => match self.within(run, seconds, asked).await {
                        Some(answer) => answer?,
                        None => {
                            // Stopped, or the turn would go on and spend money after its run has failed.
                            self.minds()?.stop(&key);
                            let error = format!("timed out after timeoutSeconds ({seconds} s)");
                            return Ok(RunOutcome::failed(error));
                        }
                    },
                };
                let must = task.deliver == Some(true) || task.channel.is_some();
                let wanted = task.deliver != Some(false);
                let target = self.target(job, &key, Some(&task), &origin);
                let whole = wanted.then_some((target, must && !task.best_effort));
                self.tell(run, answer, whole).await
            }
        }
    }

    /// Waits for a reply as long as the task's timeout allows, counted from the start of the run,
    /// also across restarts.
    async fn within<T>(
        &self,
        run: &RunRecord,
        seconds: u32,
        asked: impl Future<Output = T>,
    ) -> Option<T> {
        // A restart must not give the task its whole time again.
        let spent = self.clock.now().since(run.claimed);
        let left = Duration::from_secs(seconds.into()).saturating_sub(spent);
        tokio::time::timeout(left, asked).await.ok()
    }

    /// Starts the turn under the run's own id: however often it is called, there is one turn.
    pub(super) async fn ask(
        &self,
        key: &SessionKey,
        run: &RunRecord,
        input: Input,
        origin: &Origin,
    ) -> Result<TurnAnswer, ToolError> {
        let minds = self.minds()?;
        let id = Some(run.id.clone());
        let mut asked = minds.ask_as(key, id, input, origin).await?;
        asked.answer(&mut |_| {}).await
    }

    fn target(
        &self,
        job: &Job,
        key: &SessionKey,
        task: Option<&Task>,
        origin: &Origin,
    ) -> DeliveryTarget {
        // A task has a new session of its own; the person to be told talks to the agent in another
        // one.
        let session = match task {
            None => key.clone(),
            Some(_) => {
                let caller = self.minds().and_then(|minds| minds.caller(origin));
                let main = caller.and_then(|who| session_key(&who, &job.record.agent, "main"));
                main.unwrap_or_else(|_| SessionKey::main(&job.record.agent))
            }
        };
        DeliveryTarget {
            channel: task.and_then(|task| task.channel.clone()),
            to: task.and_then(|task| task.to.clone()),
            session,
            place: job.origin.place.clone(),
            origin: origin.clone(),
            asks: job.record.updated != job.record.created && origin.tainted.is_tainted(),
        }
    }

    /// Delivers a reply and returns the outcome of the run. With `must`, an undelivered reply is an
    /// error.
    async fn tell(
        &self,
        run: &RunRecord,
        answer: TurnAnswer,
        to: Option<(DeliveryTarget, bool)>,
    ) -> Result<RunOutcome, ToolError> {
        let text = match answer.end {
            TurnOutcome::Answered(text) => text,
            TurnOutcome::Failed(error) => return Ok(RunOutcome::failed(error)),
            TurnOutcome::Stopped => return Ok(RunOutcome::failed("its turn was stopped")),
        };
        let summary = cut(&text, SUMMARY);
        let Some((target, must)) = to else {
            return Ok(RunOutcome::ok(summary));
        };
        let (note, reached) = self.hand_over(target, &text, &run.id).await?;
        let summary = format!("{summary}\n[{note}]");
        Ok(match reached || !must {
            true => RunOutcome::ok(summary),
            false => RunOutcome {
                state: RunState::Error,
                error: Some(note),
                summary: Some(summary),
            },
        })
    }

    /// Delivers a text. Returns a description for the run's summary, and whether it was delivered.
    pub(super) async fn hand_over(
        &self,
        target: DeliveryTarget,
        text: &str,
        key: &str,
    ) -> Result<(String, bool), ToolError> {
        if text.trim().is_empty() {
            return Ok(("not delivered: the reply was empty".to_owned(), true));
        }
        // Untrusted text was read before the job was changed, so it may have chosen the recipient:
        // sending needs the owner's approval.
        if target.asks && (target.channel.is_some() || target.to.is_some()) {
            return self.send_with_approval(&target, text, key).await;
        }
        match self.deliver().deliver(target, text, key).await {
            Ok(JobDelivery::To(chat)) => Ok((format!("delivered to {chat}"), true)),
            Ok(JobDelivery::NoChat) => Ok(("not delivered: no chat".to_owned(), false)),
            Err(error) if self.stopping.is_cancelled() => Err(error),
            Err(error) => Ok((format!("not delivered: {}", error.text()), false)),
        }
    }
}

impl Inner {
    /// Sends a reply through the call of `gsv__Message` that it amounts to, so that rules and
    /// approvals apply.
    async fn send_with_approval(
        &self,
        target: &DeliveryTarget,
        text: &str,
        key: &str,
    ) -> Result<(String, bool), ToolError> {
        let minds = self.minds()?;
        let agent = target.session.agent();
        let caller = minds.caller(&target.origin)?;
        let caller = Arc::new(caller.through(target.origin.actor(agent)));
        let arguments = json!({ "text": text, "channel": target.channel, "to": target.to });
        let mut request = CallRequest::new("gsv__Message", arguments, caller);
        request.id = key.parse().ok(); // idempotent: repeated after a crash it is the same message
        request.agent = agent.clone();
        request.taint = target.origin.tainted.clone();
        let minutes = self.settings.current().limits.approval_minutes;
        request.approval_wait = Duration::from_secs(u64::from(minutes) * 60);
        match minds.path().invoke(request).await {
            Ok(_) => Ok(("delivered with approval".to_owned(), true)),
            Err(error) if self.stopping.is_cancelled() => Err(error),
            Err(error) => Ok((format!("not delivered: {}", error.text()), false)),
        }
    }
}

/// Returns a run as stored now.
pub(super) async fn look_up(inner: &Inner, run: &str) -> Result<RunRecord, ToolError> {
    let found = inner.records.run(run).await?;
    found.ok_or_else(|| ToolError::new(ErrorCode::NotFound, "the job was removed while it ran"))
}
