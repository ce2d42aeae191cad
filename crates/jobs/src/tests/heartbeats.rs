//! Heartbeats: when they look, and when they speak.

use std::time::Duration;

use manyhands_config::Settings;
use manyhands_core::{AgentId, ErrorCode};
use manyhands_store::RunState;

use super::fixture::{DAY, HOUR, MINUTE, Stage};

const JOB: &str = "heartbeat-main";

fn on() -> Settings {
    let mut settings = super::fixture::settings();
    settings.heartbeat.enabled = true;
    settings.heartbeat.active_from = "00:00".to_owned();
    settings.heartbeat.active_until = "24:00".to_owned();
    settings
}

/// The stage once the heartbeat is there.
async fn stage(settings: Settings) -> Stage {
    let stage = Stage::with(settings).await;
    stage
        .until(async || stage.store.cron().get(JOB).await.unwrap().map(drop))
        .await;
    stage
}

/// Lets half an hour pass; how the look went, and why.
async fn beat(stage: &Stage) -> (RunState, String) {
    let before = stage.runs(JOB).await.len();
    stage.pass(MINUTE * 30);
    let runs = stage
        .until(async || {
            let runs = stage.runs(JOB).await;
            let ended = runs.iter().all(|run| run.state != RunState::Running);
            (ended && runs.len() > before).then_some(runs)
        })
        .await;
    let last = runs.last().unwrap().clone();
    (last.state, last.error.or(last.summary).unwrap_or_default())
}

#[tokio::test]
async fn nothing_is_asked_while_there_is_nothing_to_look_at() {
    let stage = stage(on()).await;
    let (state, why) = beat(&stage).await;
    assert_eq!(state, RunState::Skipped);
    assert_eq!(why, "HEARTBEAT.md says nothing, and no TODO is open");
    stage
        .write("HEARTBEAT.md", "# Heartbeat\n<!-- nothing -->\n")
        .await;
    stage.write("TODO.md", "- [x] done\n").await;
    assert_eq!(beat(&stage).await.0, RunState::Skipped);
    assert!(stage.model.asked.lock().unwrap().is_empty());
    stage.write("TODO.md", "- [ ] call Ada\n").await;
    assert_eq!(beat(&stage).await.0, RunState::Ok);
    assert_eq!(stage.model.asked.lock().unwrap().len(), 1);
    stage.stop().await;
}

#[tokio::test]
async fn it_speaks_up_once_a_day_about_the_same_thing_and_keeps_quiet_about_nothing() {
    let stage = stage(on()).await;
    stage.write("HEARTBEAT.md", "say: HEARTBEAT_OK\n").await;
    assert_eq!(
        beat(&stage).await,
        (RunState::Ok, "HEARTBEAT_OK".to_owned())
    );
    assert!(stage.postman.texts().is_empty());
    stage.write("HEARTBEAT.md", "say: the disk is full\n").await;
    let (state, said) = beat(&stage).await;
    assert_eq!(state, RunState::Ok);
    assert_eq!(said, "the disk is full\n[delivered to the chat]");
    let (_, again) = beat(&stage).await;
    assert!(
        again.ends_with("[not delivered: same text as within the last day]"),
        "{again}"
    );
    assert_eq!(stage.postman.texts(), ["the disk is full"]);
    stage.pass(DAY);
    stage
        .until(async || (stage.postman.texts().len() == 2).then_some(()))
        .await;
    stage.stop().await;
}

#[tokio::test]
async fn it_looks_only_in_active_hours_unless_somebody_wants_it_to() {
    let mut night = on();
    // It is 14:00 in Berlin.
    night.heartbeat.active_from = "22:00".to_owned();
    night.heartbeat.active_until = "06:00".to_owned();
    let stage = stage(night).await;
    stage.write("HEARTBEAT.md", "say: hello\n").await;
    let next = async || stage.cron.pulses(None).await.unwrap()[0].next_run_at_ms;
    let evening = Some(super::fixture::START.0 + 8 * 3_600_000);
    assert_eq!(next().await, evening, "the first that will happen is told");
    assert_eq!(
        beat(&stage).await,
        (RunState::Skipped, "outside active hours".to_owned())
    );
    let forced = stage
        .cron
        .trigger_heartbeat(&AgentId::main())
        .await
        .unwrap();
    assert_eq!(forced.status, "ok");
    stage.pass(HOUR * 9);
    stage.settled(JOB).await;
    assert_eq!(beat(&stage).await.0, RunState::Ok, "it is night");
    let nobody = "nobody".parse().unwrap();
    let error = stage.cron.trigger_heartbeat(&nobody).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    stage.stop().await;
}

#[tokio::test]
async fn a_busy_agent_is_left_alone() {
    let stage = stage(on()).await;
    stage.write("HEARTBEAT.md", "say: hello\n").await;
    let main = "main".parse().unwrap();
    let owner = manyhands_agent_services::origin_of(&manyhands_core::Caller::gateway());
    let input = manyhands_agent::Input::text("hang");
    stage.minds.send(&main, None, input, &owner).await.unwrap();
    stage
        .until(async || (!stage.model.asked.lock().unwrap().is_empty()).then_some(()))
        .await;
    assert_eq!(
        beat(&stage).await,
        (RunState::Skipped, "the agent is busy".to_owned())
    );
    stage.model.go.notify_one();
    stage
        .until(async || (stage.minds.busy_count() == 0).then_some(()))
        .await;
    assert_eq!(beat(&stage).await.0, RunState::Ok);
    stage.stop().await;
}

#[tokio::test]
async fn a_look_that_never_falls_into_the_active_hours_is_not_announced() {
    let mut never = on();
    never.heartbeat.active_from = "14:10".to_owned();
    never.heartbeat.active_until = "14:20".to_owned();
    let stage = stage(never).await;
    let pulse = stage.cron.pulses(None).await.unwrap();
    assert!(pulse[0].enabled && pulse[0].next_run_at_ms.is_none());
    stage.stop().await;
}

#[tokio::test]
async fn three_failures_in_a_row_are_told() {
    let stage = stage(on()).await;
    stage.write("HEARTBEAT.md", "fail\n").await;
    for round in 1..=4 {
        assert_eq!(beat(&stage).await.0, RunState::Error);
        if round >= 3 {
            // The run is on record before anybody is told.
            let told = async || (!stage.postman.texts().is_empty()).then_some(());
            stage.until(told).await;
        }
        let told = stage.postman.texts();
        assert_eq!(told.len(), usize::from(round >= 3), "{told:?}");
    }
    assert!(stage.postman.texts()[0].starts_with("The heartbeat of main failed 3 times in a row"));
    let pulse = stage.cron.pulses(None).await.unwrap();
    assert_eq!(pulse[0].consecutive_failures, 4);
    stage.stop().await;
}

#[tokio::test]
async fn the_target_says_where_it_speaks() {
    for (target, channel, told) in [
        ("last", None, 1),
        ("none", None, 0),
        ("telegram", Some("telegram"), 1),
    ] {
        let mut settings = on();
        settings.heartbeat.target = target.to_owned();
        let stage = stage(settings).await;
        stage.write("HEARTBEAT.md", "say: hello\n").await;
        assert_eq!(beat(&stage).await.0, RunState::Ok);
        let given = stage.postman.given.lock().unwrap().clone();
        assert_eq!(given.len(), told, "{target}");
        assert!(
            given
                .iter()
                .all(|(to, ..)| to.channel.as_deref() == channel)
        );
        stage.stop().await;
    }
}

#[tokio::test]
async fn settings_change_it_and_it_can_be_switched_on_by_hand() {
    let mut off = on();
    off.heartbeat.enabled = false;
    let stage = stage(off.clone()).await;
    let main = AgentId::main();
    let pulse = stage.cron.pulses(Some(&main)).await.unwrap();
    assert!(!pulse[0].enabled && pulse[0].next_run_at_ms.is_none());
    let started = stage.cron.start_heartbeat(&main).await.unwrap();
    let now = super::fixture::START.0;
    assert_eq!(started.next_run_at_ms, Some(now + 30 * 60_000));
    // Settings that say nothing else of it leave it as it is; others put it back.
    stage.settings.replace(off.clone());
    stage.cron.look();
    let pulse = stage.cron.pulses(Some(&main)).await.unwrap();
    assert!(pulse[0].enabled);
    off.heartbeat.every_minutes = 5;
    off.heartbeat.enabled = true;
    stage.settings.replace(off);
    let pulse = stage.cron.pulses(Some(&main)).await.unwrap();
    let five = i64::try_from(Duration::from_secs(300).as_millis()).unwrap();
    assert_eq!(pulse[0].next_run_at_ms, Some(now + five));
    stage.stop().await;
}
