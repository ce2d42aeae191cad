//! Time in which nobody was there, and clocks that are wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use manyhands_store::RunState::{self, Ok as Good, Skipped};
use serde_json::json;

use super::fixture::{DAY, HOUR, MINUTE, START, Stage, settings};

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap()
}

type Expect = BTreeMap<i64, (RunState, i64)>;

/// An hourly job of this policy; after five and a half hours away, these runs.
async fn after_downtime(policy: &str, window: f64, expect: Expect) {
    let stage = Stage::new().await;
    let more = json!({ "missed": policy, "missedWindowHours": window });
    let job = stage.every(60, more).await.id;
    let stage = stage.away(HOUR * 11 / 2).await;
    assert_eq!(stage.settled(&job).await, expect, "{policy}, {window} h");
    stage.stop().await;
}

#[tokio::test]
async fn downtime_across_fire_times_follows_the_policy() {
    let h = ms(HOUR);
    after_downtime("skip", 24.0, BTreeMap::from([(h, (Skipped, 5))])).await;
    let once = BTreeMap::from([(h, (Skipped, 4)), (5 * h, (Good, 1))]);
    after_downtime("once", 24.0, once).await;
    let too_old = BTreeMap::from([(h, (Skipped, 5))]);
    after_downtime("once", 0.25, too_old).await;
    let all = (1..=5).map(|at| (at * h, (Good, 1))).collect();
    after_downtime("all", 24.0, all).await;
    let some = BTreeMap::from([(h, (Skipped, 3)), (4 * h, (Good, 1)), (5 * h, (Good, 1))]);
    after_downtime("all", 2.0, some).await;
}

#[tokio::test]
async fn what_was_missed_can_be_seen() {
    let stage = Stage::new().await;
    let job = stage.every(60, json!({ "missed": "skip" })).await.id;
    let stage = stage.away(HOUR * 11 / 2).await;
    stage.settled(&job).await;
    let runs = stage.runs(&job).await;
    let why = runs[0].error.as_deref().unwrap();
    assert!(
        why.starts_with("missed: the scheduler was not running (5 runs from 2026-11-15T14:00:00Z"),
        "{why}"
    );
    let shown = stage.store.cron().get(&job).await.unwrap().unwrap();
    assert_eq!(shown.last_status, Some(Skipped));
    stage.stop().await;
}

#[tokio::test]
async fn a_clock_that_jumps_an_hour_or_a_year_is_like_time_away() {
    for (jump, missed) in [(HOUR, 5), (DAY * 365, 52_559)] {
        let stage = Stage::new().await;
        let job = stage.every(10, json!({})).await.id;
        stage.pass(jump);
        let runs = stage.settled(&job).await;
        let (at, last) = runs.last_key_value().unwrap();
        assert_eq!((*at, *last), (ms(jump), (Good, 1)), "{jump:?}");
        let (first, passed) = runs.first_key_value().unwrap();
        assert_eq!(*first, ms(MINUTE * 10));
        assert_eq!(passed.0, Skipped);
        // So many are no longer counted one by one.
        assert_eq!(passed.1, missed.min(10_001));
        assert_eq!(runs.len(), 2);
        // And from there the grid goes on.
        stage.pass(MINUTE * 10);
        let runs = stage.settled(&job).await;
        assert_eq!(runs.last_key_value().unwrap().0, &ms(jump + MINUTE * 10));
        stage.stop().await;
    }
}

#[tokio::test]
async fn a_clock_that_is_put_back_neither_starves_a_job_nor_doubles_a_run() {
    // The clock was a day ahead, and then it was put right while nothing ran.
    let stage = Stage::new().await;
    let job = stage.every(60, json!({})).await.id;
    stage.pass(DAY);
    let ahead = stage.settled(&job).await;
    assert_eq!(ahead.last_key_value().unwrap().0, &ms(DAY));
    let settings = settings();
    let (home, _) = stage.stop().await;
    let right = std::sync::Arc::new(manyhands_core::ManualClock::at(START));
    let stage = Stage::at(home, right, settings).await;
    stage
        .until(async || {
            let job = stage.store.cron().get(&job).await.unwrap().unwrap();
            (job.next_run.unwrap().0 - START.0 == ms(HOUR)).then_some(())
        })
        .await;
    for _ in 0..25 {
        stage.pass(HOUR);
        stage.settled(&job).await;
    }
    let runs = stage.settled(&job).await;
    // The row for the first instant stands for those that were passed over then; the one that ran did not run again.
    let good: Vec<i64> = runs
        .iter()
        .filter(|(_, run)| run.0 == Good)
        .map(|(at, _)| at / ms(HOUR))
        .collect();
    let expect: Vec<i64> = (2..=25).collect();
    assert_eq!(good, expect);
    stage.stop().await;
}

#[tokio::test]
async fn summer_time_neither_loses_nor_doubles_a_run() {
    // From the evening before the clocks change, ten minutes at a time.
    for (start, expect) in [
        (
            1_774_731_600_000_i64, // 2026-03-28 21:00 UTC
            ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
        ),
        (
            1_792_872_000_000, // 2026-10-24 20:00 UTC
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
        ),
    ] {
        let clock = manyhands_core::ManualClock::at(manyhands_core::Timestamp(start));
        let home = tempfile::tempdir().unwrap();
        let stage = Stage::at(home, std::sync::Arc::new(clock), settings()).await;
        let job = json!({
            "name": "nightly", "schedule": { "kind": "cron", "expr": "30 2 * * *" },
            "spec": { "mode": "task", "message": "look", "deliver": false }
        });
        let job = stage.add(job).await.id;
        for _ in 0..(2 * 24 * 6) {
            stage.pass(MINUTE * 10);
            if stage
                .store
                .cron()
                .next_due()
                .await
                .unwrap()
                .is_some_and(|due| due <= stage.now())
            {
                stage.settled(&job).await;
            }
        }
        stage.settled(&job).await;
        let runs = stage.runs(&job).await;
        let instants: Vec<String> = runs.iter().map(|run| run.scheduled.rfc3339()).collect();
        assert_eq!(instants, expect);
        assert!(runs.iter().all(|run| run.state == Good));
        stage.stop().await;
    }
}

#[tokio::test]
async fn a_user_who_moves_takes_their_jobs_along() {
    let stage = Stage::new().await;
    let job = |tz: serde_json::Value| {
        json!({
            "name": "daily", "schedule": { "kind": "cron", "expr": "0 9 * * *", "tz": tz },
            "spec": { "mode": "task", "message": "look", "deliver": false }
        })
    };
    let own = stage.add(job(json!(null))).await;
    let fixed = stage.add(job(json!("Europe/Berlin"))).await;
    let at = |time: &str| {
        let at: jiff::Timestamp = time.parse().unwrap();
        Some(at.as_millisecond())
    };
    assert_eq!(own.state.next_run_at_ms, at("2026-11-16T08:00:00Z"));
    stage
        .until(async || {
            // It looked around once.
            let beat = stage.store.cron().get("heartbeat-main").await.unwrap();
            beat.map(drop)
        })
        .await;
    // While nothing ran.
    let (home, clock) = stage.stop().await;
    let mut moved = settings();
    moved.timezone = Some("America/New_York".to_owned());
    let stage = Stage::at(home, clock, moved).await;
    stage
        .until(async || {
            let job = stage.store.cron().get(&own.id).await.unwrap().unwrap();
            (job.next_run.map(|at| at.0) == at("2026-11-15T14:00:00Z")).then_some(())
        })
        .await;
    let there = stage.store.cron().get(&fixed.id).await.unwrap().unwrap();
    assert_eq!(there.next_run.map(|at| at.0), at("2026-11-16T08:00:00Z"));
    // And while it runs.
    stage.settings.replace(settings());
    stage.cron.look();
    stage
        .until(async || {
            let job = stage.store.cron().get(&own.id).await.unwrap().unwrap();
            (job.next_run.map(|at| at.0) == at("2026-11-16T08:00:00Z")).then_some(())
        })
        .await;
    stage.stop().await;
}
