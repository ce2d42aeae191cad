//! Heartbeats: at intervals, an agent checks by itself whether there is something to do.
//!
//! A heartbeat is a job like any other, created from the settings. It costs nothing while there is
//! nothing to check: no model is called if HEARTBEAT.md is empty and no to-do is open.

use std::sync::Arc;

use manyhands_agent::{Input, Origin, SessionKey, TurnOutcome, fence};
use manyhands_agent_services::job_delivery::DeliveryTarget;
use manyhands_agent_services::{local_time, origin_of};
use manyhands_config::Heartbeat;
use manyhands_core::{AgentId, Caller, ErrorCode, Taint, Timestamp, ToolError};
use manyhands_host::workspace::WorkspaceEntry;
use manyhands_llm::ModelId;
use manyhands_schedule::Schedule;
use manyhands_store::{JobKind, JobRecord, MissedRuns, RunRecord, RunState, StoreError};
use manyhands_wire::{CronRun, HeartbeatState};

use super::job::{Job, blank, run_shown};
use super::run::{RunOutcome, cut};
use super::service::json;
use super::{Inner, JobScheduler};

/// The reply of an agent that has nothing to report.
const NOTHING: &str = "HEARTBEAT_OK";
/// How much of a message is stored to recognise it again.
const KEPT: usize = 4_000;
/// For how long the same message is not sent again.
const SAME_MS: i64 = 86_400_000;
/// How many failures in a row raise an alert.
const TOO_MANY: i64 = 3;
/// How many runs are searched for the same message. A day at the shortest interval has more, but an
/// agent rarely sends different messages in each.
const LOOKED_AT: u32 = 200;
/// How many intervals ahead the next one within the active hours is searched: a day of the shortest
/// interval, years of the longest.
const AHEAD: usize = 1_500;
/// How much of the files is shown to the agent.
const MAX_FILE: usize = 20_000;

fn id(agent: &AgentId) -> String {
    format!("heartbeat-{agent}")
}

impl JobScheduler {
    /// Returns the state of heartbeats, of one agent or of all.
    pub async fn pulses(&self, agent: Option<&AgentId>) -> Result<Vec<HeartbeatState>, ToolError> {
        let inner = &self.inner;
        inner.sync_heartbeats().await?;
        let mut pulses = Vec::new();
        for record in inner.records.heartbeats().await? {
            if agent.is_none_or(|agent| *agent == record.agent) {
                pulses.push(inner.pulse(record).await?);
            }
        }
        match agent {
            Some(agent) if pulses.is_empty() => Err(no_agent(agent)),
            _ => Ok(pulses),
        }
    }

    /// Enables an agent's heartbeat until the settings change.
    pub async fn start_heartbeat(&self, agent: &AgentId) -> Result<HeartbeatState, ToolError> {
        let inner = &self.inner;
        let mut record = inner.heartbeat_of(agent).await?;
        let seen = record.updated;
        let now = inner.clock.now();
        let schedule = every(&inner.settings.current().heartbeat.of(agent), now);
        record.enabled = true;
        record.schedule = json(&schedule)?;
        record.next_run = schedule.next_after(now, &inner.zone());
        record.updated = Timestamp(now.0.max(seen.0 + 1));
        let updated = inner.records.update(&record, seen, true).await;
        updated?;
        self.look();
        inner.pulse(record).await
    }

    /// Runs a heartbeat now, whatever the hour. An error while it is running.
    pub async fn trigger_heartbeat(&self, agent: &AgentId) -> Result<CronRun, ToolError> {
        let inner = &self.inner;
        let record = inner.heartbeat_of(agent).await?;
        let begun = inner.force(record, inner.clock.now()).await?;
        let Some((job, run)) = begun else {
            let message = format!("the heartbeat of {agent} is already running");
            return Err(ToolError::new(ErrorCode::Conflict, message));
        };
        let (id, work) = (run.id.clone(), inner.clone());
        let done = inner
            .tasks
            .spawn(async move { work.perform(&job, run, &[]).await });
        // The outcome is read from the record, so a panic or cancelled task shows there, too.
        let _ = done.await;
        let run = super::run::look_up(inner, &id).await?;
        Ok(run_shown(run))
    }
}

fn no_agent(agent: &AgentId) -> ToolError {
    ToolError::not_found(format!("there is no agent {agent}"))
        .hint("add agents to config.toml under [agents]")
}

/// The schedule of a heartbeat that starts now.
fn every(settings: &Heartbeat, now: Timestamp) -> Schedule {
    Schedule::Every {
        every_ms: i64::from(settings.every_minutes) * 60_000,
        anchor_ms: now.0,
    }
}

impl Inner {
    /// Creates, changes and removes heartbeats as the settings say.
    pub(super) async fn sync_heartbeats(&self) -> Result<(), StoreError> {
        let settings = self.settings.current();
        let now = self.clock.now();
        let there = self.records.heartbeats().await?;
        let mut agents: Vec<AgentId> = settings.agents.keys().cloned().collect();
        if !agents.contains(&AgentId::main()) {
            agents.push(AgentId::main());
        }
        for gone in there.iter().filter(|job| !agents.contains(&job.agent)) {
            self.records.remove(&gone.id).await?;
        }
        for agent in agents {
            let said = settings.heartbeat.of(&agent);
            let spec = spec_of(&said);
            match there.iter().find(|job| job.agent == agent) {
                Some(record) if record.spec == spec => {}
                Some(record) => self.change_heartbeat(record, &said, spec, now).await?,
                None => self.make_heartbeat(agent, &said, spec, now).await?,
            }
        }
        Ok(())
    }

    async fn make_heartbeat(
        &self,
        agent: AgentId,
        said: &Heartbeat,
        spec: String,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let schedule = every(said, now);
        let origin = origin_of(&Caller::gateway());
        let record = JobRecord {
            kind: JobKind::Heartbeat,
            name: format!("heartbeat of {agent}"),
            enabled: said.enabled,
            schedule: json(&schedule).unwrap_or_default(),
            spec,
            missed: MissedRuns::Once,
            window_ms: i64::from(said.every_minutes) * 60_000,
            origin: json(&origin).unwrap_or_default(),
            next_run: next(&schedule, said, now, self),
            ..blank(id(&agent), agent, "gateway".to_owned(), now)
        };
        match self.records.create(&record, u64::MAX).await {
            // Another task created it first, with the same content.
            Ok(_) | Err(StoreError::Exists { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn change_heartbeat(
        &self,
        there: &JobRecord,
        said: &Heartbeat,
        spec: String,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let schedule = every(said, now);
        let record = JobRecord {
            enabled: said.enabled,
            schedule: json(&schedule).unwrap_or_default(),
            spec,
            window_ms: i64::from(said.every_minutes) * 60_000,
            next_run: next(&schedule, said, now, self),
            updated: Timestamp(now.0.max(there.updated.0 + 1)),
            ..there.clone()
        };
        match self.records.update(&record, there.updated, true).await {
            Err(StoreError::Changed { .. }) => Ok(()), // another task was faster
            other => other,
        }
    }

    async fn heartbeat_of(&self, agent: &AgentId) -> Result<JobRecord, ToolError> {
        self.sync_heartbeats().await?;
        let found = self.records.get(&id(agent)).await?;
        found.ok_or_else(|| no_agent(agent))
    }

    async fn pulse(&self, record: JobRecord) -> Result<HeartbeatState, ToolError> {
        let said = self.settings.current().heartbeat.of(&record.agent);
        let runs = self.records.runs(Some(&record.id), None, 1, 0).await;
        let last = runs?.0.into_iter().next();
        let running = record.running.as_ref().and(record.last_run);
        let next = self.next_look(&record, &said);
        Ok(HeartbeatState {
            agent_id: record.agent.to_string(),
            enabled: record.enabled,
            every_minutes: said.every_minutes,
            active_from: said.active_from,
            active_until: said.active_until,
            target: said.target,
            next_run_at_ms: next.map(|at| at.0),
            running_at_ms: running.map(|at| at.0),
            consecutive_failures: record.failures,
            last: last.map(run_shown),
        })
    }

    /// The next run within the active hours.
    fn next_look(&self, record: &JobRecord, said: &Heartbeat) -> Option<Timestamp> {
        let schedule: Schedule = serde_json::from_str(&record.schedule).ok()?;
        let zone = self.zone();
        let after = |at: &Timestamp| schedule.next_after(*at, &zone);
        let mut looks = std::iter::successors(record.next_run, after).take(AHEAD);
        looks.find(|at| said.is_active(self.minute_of_day(*at)))
    }

    /// Minutes since midnight, in the configured time zone.
    fn minute_of_day(&self, at: Timestamp) -> u32 {
        let settings = self.settings.current();
        let here = local_time(at.0, settings.timezone.as_deref());
        u32::try_from(here.since_midnight_ms / 60_000).unwrap_or(0)
    }

    /// Runs one heartbeat.
    pub(super) async fn beat(
        self: &Arc<Self>,
        job: &Job,
        run: &RunRecord,
    ) -> Result<RunOutcome, ToolError> {
        let agent = &job.record.agent;
        let said = self.settings.current().heartbeat.of(agent);
        let key = SessionKey::heartbeat(agent);
        // A resumed run has passed these checks before the interruption.
        if !self.minds()?.has_run(&key, &run.id).await? {
            let minute = self.minute_of_day(self.clock.now());
            if !run.forced && !said.is_active(minute) {
                return Ok(RunOutcome::skipped("outside active hours"));
            }
            let main = SessionKey::main(agent);
            if self.minds()?.is_busy(&main) || self.minds()?.is_busy(&key) {
                return Ok(RunOutcome::skipped("the agent is busy"));
            }
        }
        let (notes, todos) = (self.notes(agent).await, self.todos(agent).await);
        if notes.is_none() && todos.is_none() {
            return Ok(RunOutcome::skipped(
                "HEARTBEAT.md says nothing, and no TODO is open",
            ));
        }
        let model = said.model.as_deref().map(str::parse::<ModelId>).transpose();
        let model =
            model.map_err(|error| ToolError::parameter("heartbeat.model", error.to_string()))?;
        let input = Input {
            model,
            ..Input::text(question(notes.as_ref(), todos.as_deref()))
        };
        // Untrusted: people in chats may have caused a to-do, and anyone with a token may have
        // written HEARTBEAT.md.
        let mut tainted = Taint::when(todos.is_some(), "file:TODO.md");
        if let Some((_, written)) = &notes {
            tainted.absorb(written);
        }
        let origin = Origin {
            tainted,
            job: Some(job.record.id.clone()),
            ..job.origin.clone()
        };
        let answer = self.ask(&key, run, input, &origin).await?;
        match answer.end {
            TurnOutcome::Answered(text) => self.deliver_report(job, run, &said, &text).await,
            TurnOutcome::Failed(error) => Ok(RunOutcome::failed(error)),
            TurnOutcome::Stopped => Ok(RunOutcome::failed("its turn was stopped")),
        }
    }

    /// Delivers the reply, unless it reports nothing or was delivered within a day.
    async fn deliver_report(
        &self,
        job: &Job,
        run: &RunRecord,
        said: &Heartbeat,
        text: &str,
    ) -> Result<RunOutcome, ToolError> {
        let kept_text = cut(text, KEPT);
        if is_nothing(text) {
            return Ok(RunOutcome::ok(kept_text));
        }
        // Compared with delivered messages only: an undelivered one must be tried again.
        if self.was_said(job, run, &kept_text).await? {
            return Ok(RunOutcome::ok(format!(
                "{kept_text}\n[not delivered: same text as within the last day]"
            )));
        }
        let note = match self.heartbeat_target(job, said) {
            None => "not delivered: heartbeat.target is none".to_owned(),
            Some(target) => self.hand_over(target, text, &run.id).await?.0,
        };
        Ok(RunOutcome::ok(format!("{kept_text}\n[{note}]")))
    }

    fn heartbeat_target(&self, job: &Job, said: &Heartbeat) -> Option<DeliveryTarget> {
        let channel = match said.target.as_str() {
            "none" => return None,
            "last" => None,
            channel => Some(channel.to_owned()),
        };
        Some(DeliveryTarget {
            to: channel.is_some().then(|| said.to.clone()).flatten(),
            channel,
            session: SessionKey::main(&job.record.agent),
            place: None,
            origin: job.origin.clone(),
            asks: false, // the owner chose the recipient in the settings
        })
    }

    async fn was_said(&self, job: &Job, run: &RunRecord, text: &str) -> Result<bool, ToolError> {
        let runs = self.records.runs(Some(&job.record.id), None, LOOKED_AT, 0);
        let (runs, _) = runs.await?;
        let since = self.clock.now().0 - SAME_MS;
        let spoken = format!("{text}\n[delivered to ");
        Ok(runs.iter().any(|one| {
            let summary = one.summary.as_deref().unwrap_or_default();
            one.id != run.id && one.claimed.0 > since && summary.starts_with(&spoken)
        }))
    }

    /// The content of HEARTBEAT.md, if it has any.
    async fn notes(&self, agent: &AgentId) -> Option<(String, Taint)> {
        let (text, taint) = self.file(agent, "HEARTBEAT.md").await?;
        says_something(&text).then(|| (cut(&text, MAX_FILE), taint))
    }

    /// The open items of TODO.md.
    async fn todos(&self, agent: &AgentId) -> Option<String> {
        let (text, _) = self.file(agent, "TODO.md").await?;
        let open: Vec<&str> = text
            .lines()
            .filter(|line| line.trim_start().starts_with("- [ ] "))
            .collect();
        (!open.is_empty()).then(|| cut(&open.join("\n"), MAX_FILE))
    }

    async fn file(&self, agent: &AgentId, path: &str) -> Option<(String, Taint)> {
        match self.workspace.find(agent, path).await {
            Ok(WorkspaceEntry::File(file)) => Some((file.text, file.taint)),
            _ => None,
        }
    }

    /// Alerts the owner after too many failures in a row.
    pub(super) async fn alert_on_failures(&self, job: &Job) {
        let Ok(Some(now)) = self.records.get(&job.record.id).await else {
            return;
        };
        // Exactly at the limit: one alert per series of failures.
        if now.failures != TOO_MANY || now.last_status != Some(RunState::Error) {
            return;
        }
        let agent = &now.agent;
        let error = now.last_error.unwrap_or_default();
        tracing::error!(event = "heartbeat_failing", %agent, error, failures = TOO_MANY, "heartbeat failed several times in a row");
        let said = self.settings.current().heartbeat.of(agent);
        if let Some(target) = self.heartbeat_target(job, &said) {
            let text =
                format!("The heartbeat of {agent} failed {TOO_MANY} times in a row: {error}");
            // The key contains the run, so a resumed run does not alert twice.
            let key = format!("{}-alert-{}", now.id, now.last_run.map_or(0, |at| at.0));
            if let Err(error) = self.hand_over(target, &text, &key).await {
                tracing::warn!(event = "heartbeat_alert_not_delivered", %agent, %error, "failed to alert the user about the failing heartbeat");
            }
        }
    }
}

/// The next run of an enabled heartbeat.
fn next(schedule: &Schedule, said: &Heartbeat, now: Timestamp, inner: &Inner) -> Option<Timestamp> {
    let next = schedule.next_after(now, &inner.zone());
    next.filter(|_| said.enabled)
}

/// The settings that determine the schedule, stored to detect a change.
fn spec_of(said: &Heartbeat) -> String {
    serde_json::json!({ "enabled": said.enabled, "everyMinutes": said.every_minutes }).to_string()
}

/// Returns whether a file holds more than headings, comments and empty lines.
fn says_something(text: &str) -> bool {
    let mut rest = text;
    let mut shown = String::new();
    while let Some((before, after)) = rest.split_once("<!--") {
        shown.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    let mut lines = shown.lines().map(str::trim);
    lines.any(|line| !line.is_empty() && !line.starts_with('#') && line != "-" && line != "- [ ]")
}

/// Returns whether the reply reports nothing.
fn is_nothing(text: &str) -> bool {
    let bare = text
        .trim()
        .trim_matches(['*', '`', '_', '.', '"', ' ', '\n']);
    bare.is_empty() || bare == NOTHING
}

fn question(notes: Option<&(String, Taint)>, todos: Option<&str>) -> String {
    let mut text = String::from(
        "This is your heartbeat: nobody asked, it is time to look by yourself whether there is something to do.",
    );
    if let Some((notes, taint)) = notes {
        text.push_str("\n\nHEARTBEAT.md says:\n\n");
        match taint.is_tainted() {
            true => text.push_str(&fence::fenced("file:HEARTBEAT.md", notes)),
            false => text.push_str(notes),
        }
    }
    if let Some(todos) = todos {
        text.push_str("\n\nOpen in TODO.md:\n\n");
        text.push_str(todos);
    }
    text.push_str("\n\nDo what is due now. Then answer with what the user should know; if there is nothing, answer with ");
    text.push_str(NOTHING);
    text.push_str(" and nothing else.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_headings_and_comments_says_nothing() {
        for (text, says) in [
            ("", false),
            ("# Heartbeat\n\n<!-- write here -->\n", false),
            ("# Heartbeat\n<!-- two\nlines -->\n- [ ]\n", false),
            ("<!-- never closed\nlook at mail", false),
            ("# Heartbeat\n- look at mail\n", true),
            ("<!-- a --> look <!-- b -->", true),
        ] {
            assert_eq!(says_something(text), says, "{text:?}");
        }
    }

    #[test]
    fn only_nothing_is_nothing() {
        for (text, nothing) in [
            ("HEARTBEAT_OK", true),
            (" **HEARTBEAT_OK**.\n", true),
            ("", true),
            ("HEARTBEAT_OK, but the disk is full", false),
            ("The disk is full.", false),
        ] {
            assert_eq!(is_nothing(text), nothing, "{text:?}");
        }
    }
}
