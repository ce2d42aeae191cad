//! What jobs do when they are due.

use std::time::Duration;

use manyhands_core::{Caller, ErrorCode, Timestamp};
use manyhands_llm::Thinking;
use manyhands_store::RunState;
use serde_json::json;

use super::fixture::{HOUR, MINUTE, START, Stage, settings};
use crate::{JobInput, RunMode};

fn task(message: &str) -> serde_json::Value {
    json!({ "mode": "task", "message": message })
}

fn soon(spec: serde_json::Value) -> serde_json::Value {
    json!({ "name": "soon", "schedule": { "kind": "at", "in": "10 minutes" }, "spec": spec })
}

#[tokio::test]
async fn an_event_speaks_in_the_main_session_and_its_answer_goes_to_the_last_chat() {
    let stage = Stage::new().await;
    let job = stage
        .add(soon(
            json!({ "mode": "systemEvent", "text": "water the plants" }),
        ))
        .await;
    assert_eq!(job.state.next_run_at_ms, Some(START.0 + 600_000));
    stage.pass(MINUTE * 9);
    assert!(stage.settled(&job.id).await.is_empty(), "not yet");
    stage.pass(MINUTE);
    stage.settled(&job.id).await;
    let runs = stage.runs(&job.id).await;
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].state, RunState::Ok);
    let summary = runs[0].summary.as_deref().unwrap();
    assert_eq!(summary, "did: water the plants\n[delivered to the chat]");
    let main = "main".parse().unwrap();
    let said = stage.minds.recent(&main, 10).await.unwrap();
    assert_eq!(said[0].text, "water the plants");
    let given = stage.postman.given.lock().unwrap().clone();
    assert_eq!(given.len(), 1);
    assert_eq!(given[0].0.session, main);
    assert_eq!(given[0].2, runs[0].id, "told once, whatever is given twice");
    // Once is once: it is off, and stays to be looked at.
    let job = stage.store.cron().get(&job.id).await.unwrap().unwrap();
    assert!(!job.enabled && job.next_run.is_none());
    stage.stop().await;
}

#[tokio::test]
async fn a_task_has_a_clean_conversation_each_time_with_its_own_model_and_thinking() {
    let stage = Stage::new().await;
    let spec = json!({
        "mode": "task", "message": "look", "model": "test/other", "thinking": "high",
        "deliver": true, "channel": "telegram", "to": "42"
    });
    let job = stage.every(10, json!({ "spec": spec })).await.id;
    for _ in 0..2 {
        stage.pass(MINUTE * 10);
        stage.settled(&job).await;
    }
    let asked = stage.model.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 2);
    for request in &asked {
        assert_eq!(request.messages.len(), 1, "nothing is carried over");
        let model = request.model.as_ref().map(ToString::to_string);
        assert_eq!(model.as_deref(), Some("test/other"));
        assert_eq!(request.thinking, Some(Thinking::High));
    }
    let (target, text, _) = stage.postman.given.lock().unwrap()[0].clone();
    assert_eq!(target.channel.as_deref(), Some("telegram"));
    assert_eq!(target.to.as_deref(), Some("42"));
    assert_eq!(text, "did: look");
    stage.stop().await;
}

#[tokio::test]
async fn an_answer_without_a_chat_is_an_error_only_where_a_chat_was_wanted() {
    let stage = Stage::new().await;
    *stage.postman.has_chat.lock().unwrap() = false;
    for (more, state) in [
        (json!({}), RunState::Ok),
        (json!({ "deliver": false }), RunState::Ok),
        (json!({ "deliver": true }), RunState::Error),
        (json!({ "channel": "slack" }), RunState::Error),
        (
            json!({ "deliver": true, "bestEffortDeliver": true }),
            RunState::Ok,
        ),
    ] {
        let mut spec = task("look");
        for (key, value) in more.as_object().unwrap() {
            spec[key] = value.clone();
        }
        let job = stage.add(soon(spec)).await.id;
        stage.pass(MINUTE * 10);
        stage.settled(&job).await;
        let runs = stage.runs(&job).await;
        assert_eq!(runs[0].state, state, "{more}: {runs:?}");
        let summary = runs[0].summary.as_deref().unwrap();
        let noted = summary.ends_with("[not delivered: no chat]");
        assert_eq!(noted, more != json!({ "deliver": false }), "{summary}");
    }
    stage.stop().await;
}

#[tokio::test]
async fn a_failed_turn_is_an_error_and_never_ok() {
    let stage = Stage::new().await;
    let job = stage
        .every(10, json!({ "spec": task("fail"), "deleteAfterRun": true }))
        .await
        .id;
    stage.pass(MINUTE * 10);
    stage.settled(&job).await;
    let runs = stage.runs(&job).await;
    assert_eq!(runs[0].state, RunState::Error);
    assert!(runs[0].error.is_some() && runs[0].summary.is_none());
    let job = stage.store.cron().get(&job).await.unwrap().unwrap();
    assert_eq!((job.failures, job.last_status), (1, Some(RunState::Error)));
    stage.stop().await;
}

#[tokio::test]
async fn a_task_that_takes_too_long_is_stopped() {
    let stage = Stage::new().await;
    let mut spec = task("hang");
    spec["timeoutSeconds"] = json!(1);
    let job = stage.add(soon(spec)).await.id;
    stage.pass(MINUTE * 10);
    stage.settled(&job).await;
    let runs = stage.runs(&job).await;
    let error = runs[0].error.as_deref().unwrap();
    assert_eq!(error, "timed out after timeoutSeconds (1 s)");
    stage
        .until(async || (stage.minds.busy_count() == 0).then_some(()))
        .await;
    stage.stop().await;
}

#[tokio::test]
async fn a_one_shot_job_goes_after_a_good_run_if_it_says_so_and_stays_after_a_bad_one() {
    let stage = Stage::new().await;
    for (message, stays) in [("look", false), ("fail", true)] {
        let mut job = soon(task(message));
        job["deleteAfterRun"] = json!(true);
        let job = stage.add(job).await.id;
        stage.pass(MINUTE * 10);
        stage.settled(&job).await;
        let there = stage.store.cron().get(&job).await.unwrap();
        assert_eq!(there.is_some(), stays);
        assert!(there.is_none_or(|job| !job.enabled));
        assert_eq!(stage.runs(&job).await.len(), 1, "what came of it stays");
    }
    stage.stop().await;
}

#[tokio::test]
async fn a_run_that_goes_on_makes_the_next_one_a_visible_skip() {
    let stage = Stage::new().await;
    let job = stage.every(10, json!({ "spec": task("hang") })).await.id;
    stage.pass(MINUTE * 10);
    let running = async || {
        let job = stage.store.cron().get(&job).await.unwrap().unwrap();
        job.running.map(drop)
    };
    stage.until(running).await;
    stage
        .until(async || (!stage.model.asked.lock().unwrap().is_empty()).then_some(()))
        .await;
    stage.pass(MINUTE * 25);
    stage.model.go.notify_one();
    let runs = stage
        .until(async || {
            let runs = stage.runs(&job).await;
            (runs.len() == 2).then_some(runs)
        })
        .await;
    assert_eq!(runs[0].state, RunState::Ok);
    assert_eq!((runs[1].state, runs[1].amount), (RunState::Skipped, 2));
    let why = runs[1].error.as_deref().unwrap();
    assert!(
        why.starts_with("skipped: the previous run was still running (2 runs"),
        "{why}"
    );
    let job = stage.store.cron().get(&job).await.unwrap().unwrap();
    let next = job.next_run.unwrap().0 - START.0;
    assert_eq!(next, 40 * 60_000, "the grid stays");
    stage.stop().await;
}

#[tokio::test]
async fn no_more_run_at_once_than_the_settings_say() {
    let mut few = settings();
    few.cron.max_concurrent_runs = 3;
    let stage = Stage::with(few).await;
    for _ in 0..10 {
        stage.add(soon(task("hang"))).await;
    }
    stage.pass(MINUTE * 10);
    let asked = || stage.model.asked.lock().unwrap().len();
    for done in 0..10 {
        let most = (done + 3).min(10);
        stage.until(async || (asked() == most).then_some(())).await;
        let open = stage.store.cron().open_runs().await.unwrap().len();
        assert!(open <= 3, "{open} at once");
        stage.model.go.notify_one();
        stage
            .until(async || {
                let (runs, _) = stage.store.cron().runs(None, None, 50, 0).await.unwrap();
                let ended = runs.iter().filter(|run| run.state == RunState::Ok);
                (ended.count() > done).then_some(())
            })
            .await;
    }
    stage.stop().await;
}

#[tokio::test]
async fn a_stop_in_the_middle_of_a_run_is_gone_on_with_and_nothing_runs_twice() {
    let stage = Stage::new().await;
    let job = stage.every(10, json!({ "spec": task("hang") })).await.id;
    stage.pass(MINUTE * 10);
    stage
        .until(async || (!stage.model.asked.lock().unwrap().is_empty()).then_some(()))
        .await;
    let before = stage.runs(&job).await;
    let stage = stage.away(MINUTE).await;
    stage
        .until(async || (!stage.model.asked.lock().unwrap().is_empty()).then_some(()))
        .await;
    stage.model.go.notify_one();
    stage.settled(&job).await;
    let runs = stage.runs(&job).await;
    assert_eq!(runs.len(), 1);
    assert_eq!((&runs[0].id, runs[0].state), (&before[0].id, RunState::Ok));
    stage.stop().await;
}

#[tokio::test]
async fn a_job_runs_with_the_rights_of_whoever_made_it_as_they_are_then() {
    let stage = Stage::new().await;
    let caller = Caller::gateway();
    let mut asker = Stage::asker(&caller);
    asker.origin.person = Some("chat:gone".to_owned());
    let input: JobInput = serde_json::from_value(soon(task("look"))).unwrap();
    let job = stage.cron.add(&asker, input).await.unwrap().id;
    stage.pass(MINUTE * 10);
    stage.settled(&job).await;
    let runs = stage.runs(&job).await;
    assert_eq!(runs[0].error.as_deref(), Some("they are no longer let in"));
    assert!(
        stage.model.asked.lock().unwrap().is_empty(),
        "no model was asked"
    );
    stage.stop().await;
}

#[tokio::test]
async fn jobs_run_by_hand_when_due_or_forced_also_while_the_schedule_is_off() {
    let mut off = settings();
    off.cron.enabled = false;
    let stage = Stage::with(off).await;
    let owner = Caller::gateway();
    let asker = Stage::asker(&owner);
    let job = stage.every(60, json!({})).await.id;
    let due = stage
        .cron
        .run(&asker, RunMode::Due, None, &[])
        .await
        .unwrap();
    assert!(due.is_empty());
    let not_due = stage.cron.run(&asker, RunMode::Due, Some(&job), &[]).await;
    assert_eq!(not_due.unwrap()[0].status, "skipped");
    let forced = stage
        .cron
        .run(&asker, RunMode::Force, Some(&job), &[])
        .await;
    let forced = forced.unwrap();
    assert_eq!(forced[0].status, "ok");
    assert_eq!(
        forced[0].next_run_at_ms,
        Some(START.0 + 3_600_000),
        "it stays"
    );
    let twice = stage
        .cron
        .run(&asker, RunMode::Force, Some(&job), &[])
        .await;
    assert_eq!(twice.unwrap()[0].status, "ok", "in the same millisecond");
    stage.pass(HOUR);
    let due = stage
        .cron
        .run(&asker, RunMode::Due, None, &[])
        .await
        .unwrap();
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].status, "ok");
    let unknown = stage
        .cron
        .run(&asker, RunMode::Force, Some("nope"), &[])
        .await;
    assert_eq!(unknown.unwrap_err().code, ErrorCode::NotFound);
    let runs = stage.runs(&job).await;
    assert_eq!(runs.iter().filter(|run| run.forced).count(), 2);
    stage.stop().await;
}

#[tokio::test]
async fn an_event_that_is_forced_from_its_own_session_is_not_waited_for() {
    let stage = Stage::new().await;
    let owner = Caller::gateway();
    let asker = Stage::asker(&owner);
    let spec = json!({ "mode": "systemEvent", "text": "hang" });
    let job = stage.every(60, json!({ "spec": spec })).await.id;
    let lineage = ["agent:main:main".to_owned()];
    let ran = stage
        .cron
        .run(&asker, RunMode::Force, Some(&job), &lineage)
        .await;
    assert_eq!(ran.unwrap()[0].status, "running");
    let again = stage
        .cron
        .run(&asker, RunMode::Force, Some(&job), &[])
        .await;
    assert_eq!(
        again.unwrap()[0].error.as_deref(),
        Some("it is already running")
    );
    stage
        .until(async || (!stage.model.asked.lock().unwrap().is_empty()).then_some(()))
        .await;
    stage.model.go.notify_one();
    stage.settled(&job).await;
    stage.stop().await;
}

#[tokio::test]
async fn jobs_are_changed_field_by_field() {
    let stage = Stage::new().await;
    let owner = Caller::gateway();
    let asker = Stage::asker(&owner);
    let job = stage.every(60, json!({})).await.id;
    let patch = async |patch: serde_json::Value| {
        let patch: JobInput = serde_json::from_value(patch).unwrap();
        stage.cron.update(&asker, &job, patch).await
    };
    let named = patch(json!({ "name": "other", "description": "why" }))
        .await
        .unwrap();
    assert_eq!(named.name, "other");
    assert_eq!(named.state.next_run_at_ms, Some(START.0 + 3_600_000));
    let off = patch(json!({ "enabled": false })).await.unwrap();
    assert_eq!(off.state.next_run_at_ms, None);
    stage.pass(HOUR * 2);
    let on = patch(json!({ "enabled": true })).await.unwrap();
    assert_eq!(
        on.state.next_run_at_ms,
        Some(START.0 + 3 * 3_600_000),
        "its grid"
    );
    let spec = patch(json!({ "spec": { "message": "see" } }))
        .await
        .unwrap()
        .spec;
    assert_eq!(
        spec,
        json!({ "mode": "task", "message": "see", "deliver": false })
    );
    let spec = json!({ "spec": { "mode": "systemEvent", "text": "hear" } });
    let spec = patch(spec).await.unwrap().spec;
    assert_eq!(spec, json!({ "mode": "systemEvent", "text": "hear" }));
    let cron = json!({ "schedule": { "kind": "cron", "expr": "0 9 * * *" } });
    let cron = patch(cron).await.unwrap();
    assert_eq!(cron.schedule_text, "at 09:00 (Europe/Berlin)");
    let wrong =
        patch(json!({ "schedule": { "kind": "at", "at": "yesterday" }, "name": " " })).await;
    let wrong = wrong.unwrap_err().message;
    assert!(
        wrong.contains("patch.name") && wrong.contains("patch.schedule.at"),
        "{wrong}"
    );
    let removed = stage.cron.remove(&asker, &job).await.unwrap();
    assert!(removed);
    assert!(!stage.cron.remove(&asker, &job).await.unwrap());
    stage.stop().await;
}

#[tokio::test]
async fn everything_that_is_wrong_with_a_job_is_said_at_once() {
    let stage = Stage::new().await;
    let wrong = json!({
        "schedule": { "kind": "every", "everyMinutes": 0 },
        "spec": { "mode": "task", "text": "x", "thinking": "hard", "timeoutSeconds": 0, "to": "1", "model": "nowhere/x" },
        "agentId": "nobody", "missedWindowHours": 0
    });
    let error = stage.try_add(wrong).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArguments);
    let named: Vec<&str> = error
        .problems
        .iter()
        .map(|p| p.parameter.as_str())
        .collect();
    for field in [
        "job.name",
        "job.schedule.everyMinutes",
        "job.spec.text",
        "job.spec.message",
        "job.spec.thinking",
        "job.spec.timeoutSeconds",
        "job.spec.to",
        "job.spec.model",
        "job.agentId",
        "job.missedWindowHours",
    ] {
        assert!(named.contains(&field), "{field} in {named:?}");
    }
    let (jobs, _) = stage
        .store
        .cron()
        .list(Default::default(), 10, 0)
        .await
        .unwrap();
    assert!(jobs.is_empty());
    stage.stop().await;
}

#[tokio::test]
async fn there_are_no_more_jobs_than_the_settings_say() {
    let mut few = settings();
    few.cron.max_jobs = 2;
    let stage = Stage::with(few).await;
    for _ in 0..2 {
        stage.every(60, json!({})).await;
    }
    let full = stage.try_add(soon(task("look"))).await.unwrap_err();
    assert!(full.message.contains("(limit 2)"), "{}", full.message);
    stage.stop().await;
}

#[tokio::test]
async fn a_damaged_job_is_switched_off_and_stands_in_nobodys_way() {
    let stage = Stage::new().await;
    let broken = stage.every(10, json!({})).await.id;
    let good = stage.every(10, json!({})).await.id;
    let mut record = stage.store.cron().get(&broken).await.unwrap().unwrap();
    let seen = record.updated;
    record.schedule = "no schedule".to_owned();
    stage
        .store
        .cron()
        .update(&record, seen, false)
        .await
        .unwrap();
    stage.pass(MINUTE * 10);
    stage.settled(&good).await;
    assert_eq!(stage.runs(&good).await.len(), 1);
    let broken = stage
        .until(async || {
            let broken = stage.store.cron().get(&broken).await.unwrap().unwrap();
            (!broken.enabled).then_some(broken)
        })
        .await;
    assert!(broken.next_run.is_none());
    stage.stop().await;
}

#[tokio::test]
async fn what_was_claimed_long_ago_and_never_sent_is_over() {
    let stage = Stage::new().await;
    let job = stage.every(600, json!({})).await;
    let record = stage.store.cron().get(&job.id).await.unwrap().unwrap();
    let (home, clock) = stage.stop().await;
    // As a crash right after the claim leaves it.
    let ids = manyhands_core::Ids::new(
        clock.clone(),
        std::sync::Arc::new(manyhands_core::OsEntropy),
    );
    let path = home.path().join("home");
    let store = manyhands_store::Store::open(&path, clock.clone(), ids, None)
        .await
        .unwrap();
    let run = manyhands_store::RunRecord {
        id: "r".to_owned(),
        job: job.id.clone(),
        maker: record.creator,
        scheduled: START,
        until: None,
        amount: 1,
        forced: false,
        state: RunState::Running,
        claimed: START,
        ended: None,
        error: None,
        summary: None,
        next_run: Some(Timestamp(START.0 + 600 * 60_000)),
    };
    assert!(store.cron().force(&run).await.unwrap());
    store.close().await.unwrap();
    clock.advance(Duration::from_secs(48 * 3_600));
    let stage = Stage::at(home, clock, settings()).await;
    let run = stage
        .until(async || {
            let run = stage.store.cron().run("r").await.unwrap().unwrap();
            (run.state != RunState::Running).then_some(run)
        })
        .await;
    assert_eq!(run.state, RunState::Error);
    assert!(run.error.unwrap().starts_with("interrupted"));
    stage.stop().await;
}
