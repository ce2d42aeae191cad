//! Heartbeats: every so often an agent looks by itself whether there is something to do.
//!
//! A heartbeat is a job like any other, made from the settings. It costs nothing while there is
//! nothing to look at: no model is asked when HEARTBEAT.md says nothing and no TODO is open.

use std::sync::Arc;

use manyhands_agent::{End, Input, Origin, SessionKey, fence};
use manyhands_agent_services::job_delivery::Target;
use manyhands_agent_services::{local_time, origin_of};
use manyhands_config::Heartbeat;
use manyhands_core::{AgentId, Caller, ErrorCode, Taint, Timestamp, ToolError};
use manyhands_host::workspace::Found;
use manyhands_llm::ModelId;
use manyhands_schedule::Schedule;
use manyhands_store::{JobKind, JobRecord, MissedRuns, RunRecord, RunState, StoreError};
use manyhands_wire::{CronRun, HeartbeatState};

use super::desk::json;
use super::job::{Job, blank, run_shown};
use super::run::{Went, cut};
use super::{Cron, Inner, kept};

/// What the agent says when there is nothing to say.
const NOTHING: &str = "HEARTBEAT_OK";
/// How much of what was said is kept to know it again.
const KEPT: usize = 4_000;
/// For how long the same words are not said again.
const SAME_MS: i64 = 86_400_000;
/// How many failures in a row are too many.
const TOO_MANY: i64 = 3;
/// How many runs are looked at for the same words: a day of the shortest interval has more, and
/// nobody says different things in each.
const LOOKED_AT: u32 = 200;
/// How many looks ahead the next within the active hours is sought: a day of the shortest interval,
/// and years of the longest.
const AHEAD: usize = 1_500;
/// How much of the files is shown to the agent.
const MAX_FILE: usize = 20_000;

fn id(agent: &AgentId) -> String {
    format!("heartbeat-{agent}")
}

impl Cron {
    /// How heartbeats stand, of one agent or of all.
    pub async fn pulses(&self, agent: Option<&AgentId>) -> Result<Vec<HeartbeatState>, ToolError> {
        let inner = &self.inner;
        inner.keep_heartbeats().await.map_err(kept)?;
        let mut pulses = Vec::new();
        for record in inner.records.heartbeats().await.map_err(kept)? {
            if agent.is_none_or(|agent| *agent == record.agent) {
                pulses.push(inner.pulse(record).await?);
            }
        }
        match agent {
            Some(agent) if pulses.is_empty() => Err(no_agent(agent)),
            _ => Ok(pulses),
        }
    }

    /// Switches an agent's heartbeat on, from now on, until the settings change.
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
        updated.map_err(kept)?;
        self.look();
        inner.pulse(record).await
    }

    /// Has an agent look now, whatever the hour; refused while it is looking.
    pub async fn trigger_heartbeat(&self, agent: &AgentId) -> Result<CronRun, ToolError> {
        let inner = &self.inner;
        let record = inner.heartbeat_of(agent).await?;
        let begun = inner.force(record, inner.clock.now()).await?;
        let Some((job, run)) = begun else {
            let message = format!("{agent} is looking already");
            return Err(ToolError::new(ErrorCode::Conflict, message));
        };
        let (id, work) = (run.id.clone(), inner.clone());
        let done = inner
            .tasks
            .spawn(async move { work.perform(&job, run, &[]).await });
        let _ = done.await; // whatever became of it is on record
        let run = super::run::look_up(inner, &id).await?;
        Ok(run_shown(run))
    }
}

fn no_agent(agent: &AgentId) -> ToolError {
    ToolError::not_found(format!("there is no agent {agent}"))
        .hint("config.toml makes agents under [agents]")
}

/// The grid of a heartbeat that begins now.
fn every(settings: &Heartbeat, now: Timestamp) -> Schedule {
    Schedule::Every {
        every_ms: i64::from(settings.every_minutes) * 60_000,
        anchor_ms: now.0,
    }
}

impl Inner {
    /// Makes the heartbeats what the settings say; those of agents that are gone go.
    pub(super) async fn keep_heartbeats(&self) -> Result<(), StoreError> {
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
            Err(StoreError::Changed { .. }) => Ok(()), // somebody else was faster
            other => other,
        }
    }

    async fn heartbeat_of(&self, agent: &AgentId) -> Result<JobRecord, ToolError> {
        self.keep_heartbeats().await.map_err(kept)?;
        let found = self.records.get(&id(agent)).await.map_err(kept)?;
        found.ok_or_else(|| no_agent(agent))
    }

    async fn pulse(&self, record: JobRecord) -> Result<HeartbeatState, ToolError> {
        let said = self.settings.current().heartbeat.of(&record.agent);
        let runs = self.records.runs(Some(&record.id), None, 1, 0).await;
        let last = runs.map_err(kept)?.0.into_iter().next();
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

    /// The next look within the active hours: those outside of them are passed over.
    fn next_look(&self, record: &JobRecord, said: &Heartbeat) -> Option<Timestamp> {
        let schedule: Schedule = serde_json::from_str(&record.schedule).ok()?;
        let zone = self.zone();
        let after = |at: &Timestamp| schedule.next_after(*at, &zone);
        let mut looks = std::iter::successors(record.next_run, after).take(AHEAD);
        looks.find(|at| said.is_active(self.minute_of_day(*at)))
    }

    /// Minutes since midnight, by the clock of the settings.
    fn minute_of_day(&self, at: Timestamp) -> u32 {
        let settings = self.settings.current();
        let here = local_time(at.0, settings.timezone.as_deref());
        u32::try_from(here.since_midnight_ms / 60_000).unwrap_or(0)
    }

    /// One look.
    pub(super) async fn beat(
        self: &Arc<Self>,
        job: &Job,
        run: &RunRecord,
    ) -> Result<Went, ToolError> {
        let agent = &job.record.agent;
        let said = self.settings.current().heartbeat.of(agent);
        let key = SessionKey::heartbeat(agent);
        if !self.minds()?.knows_run(&key, &run.id).await? {
            let minute = self.minute_of_day(self.clock.now());
            if !run.forced && !said.is_active(minute) {
                return Ok(Went::skipped("outside of active hours"));
            }
            let main = SessionKey::main(agent);
            if self.minds()?.is_busy(&main) || self.minds()?.is_busy(&key) {
                return Ok(Went::skipped("the agent is busy"));
            }
        }
        let (notes, todos) = (self.notes(agent).await, self.todos(agent).await);
        if notes.is_none() && todos.is_none() {
            return Ok(Went::skipped(
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
        // People in chats may have written what is open, and anybody with a token HEARTBEAT.md.
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
            End::Said(text) => self.speak_up(job, run, &said, &text).await,
            End::Failed(error) => Ok(Went::failed(error)),
            End::Stopped => Ok(Went::failed("somebody stopped its turn")),
        }
    }

    /// Says what was found, unless it is nothing, or was said within a day.
    async fn speak_up(
        &self,
        job: &Job,
        run: &RunRecord,
        said: &Heartbeat,
        text: &str,
    ) -> Result<Went, ToolError> {
        let kept_text = cut(text, KEPT);
        if is_nothing(text) {
            return Ok(Went::ok(kept_text));
        }
        if self.was_said(job, run, &kept_text).await? {
            return Ok(Went::ok(format!(
                "{kept_text}\n[not delivered: the same was said within a day]"
            )));
        }
        let note = match self.heartbeat_target(job, said) {
            None => "not delivered: heartbeat.target is none".to_owned(),
            Some(target) => self.hand_over(target, text, &run.id).await?.0,
        };
        Ok(Went::ok(format!("{kept_text}\n[{note}]")))
    }

    fn heartbeat_target(&self, job: &Job, said: &Heartbeat) -> Option<Target> {
        let channel = match said.target.as_str() {
            "none" => return None,
            "last" => None,
            channel => Some(channel.to_owned()),
        };
        Some(Target {
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
        let (runs, _) = runs.await.map_err(kept)?;
        let since = self.clock.now().0 - SAME_MS;
        let spoken = format!("{text}\n[delivered to ");
        Ok(runs.iter().any(|one| {
            let summary = one.summary.as_deref().unwrap_or_default();
            one.id != run.id && one.claimed.0 > since && summary.starts_with(&spoken)
        }))
    }

    /// HEARTBEAT.md, when it says anything.
    async fn notes(&self, agent: &AgentId) -> Option<(String, Taint)> {
        let (text, taint) = self.file(agent, "HEARTBEAT.md").await?;
        says_something(&text).then(|| (cut(&text, MAX_FILE), taint))
    }

    /// The lines of TODO.md that are open.
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
            Ok(Found::File(file)) => Some((file.text, file.taint)),
            _ => None,
        }
    }

    /// Tells the owner when the look failed too often.
    pub(super) async fn mind_failures(&self, job: &Job) {
        let Ok(Some(now)) = self.records.get(&job.record.id).await else {
            return;
        };
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
            let key = format!("{}-alert-{}", now.id, now.last_run.map_or(0, |at| at.0));
            if let Err(error) = self.hand_over(target, &text, &key).await {
                tracing::warn!(event = "heartbeat_alert_not_delivered", %agent, %error, "failed to alert the user about the failing heartbeat");
            }
        }
    }
}

/// The next look of a heartbeat that is switched on.
fn next(schedule: &Schedule, said: &Heartbeat, now: Timestamp, inner: &Inner) -> Option<Timestamp> {
    let next = schedule.next_after(now, &inner.zone());
    next.filter(|_| said.enabled)
}

/// What the settings say of when it looks, to see that they changed.
fn spec_of(said: &Heartbeat) -> String {
    serde_json::json!({ "enabled": said.enabled, "everyMinutes": said.every_minutes }).to_string()
}

/// Whether a file holds more than headings, comments and empty lines.
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

/// Whether the agent found nothing to say.
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
