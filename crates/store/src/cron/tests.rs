use super::*;
use crate::testing::TestHome;

fn job(id: &str, next: i64) -> JobRecord {
    JobRecord {
        id: id.to_owned(),
        agent: manyhands_core::AgentId::main(),
        kind: JobKind::Job,
        creator: "gateway".to_owned(),
        name: format!("job {id}"),
        description: None,
        enabled: true,
        delete_after_run: false,
        schedule: "{}".to_owned(),
        spec: "{}".to_owned(),
        missed: MissedRuns::Once,
        window_ms: 1,
        overlap: Overlap::Skip,
        origin: "{}".to_owned(),
        next_run: Some(Timestamp(next)),
        running: None,
        last_run: None,
        last_duration: None,
        last_status: None,
        last_error: None,
        failures: 0,
        created: Timestamp(1),
        updated: Timestamp(1),
    }
}

fn run(id: &str, job: &str, at: i64) -> RunRecord {
    RunRecord {
        id: id.to_owned(),
        job: job.to_owned(),
        maker: "gateway".to_owned(),
        scheduled: Timestamp(at),
        until: None,
        amount: 1,
        forced: false,
        state: RunState::Running,
        claimed: Timestamp(at + 5),
        ended: None,
        error: None,
        summary: None,
        next_run: None,
    }
}

fn claim(job: &str, at: i64, next: i64, id: &str) -> Claim {
    Claim {
        job: job.to_owned(),
        expected: Timestamp(at),
        next: Some(Timestamp(next)),
        skipped: None,
        run: Some(run(id, job, at)),
    }
}

fn end(id: &str, at: i64) -> RunEnd {
    RunEnd {
        id: id.to_owned(),
        state: RunState::Ok,
        error: None,
        summary: Some("done".to_owned()),
        at: Timestamp(at),
        once: false,
        remove: false,
    }
}

#[tokio::test]
async fn an_instant_is_claimed_once_whoever_asks() {
    let home = TestHome::new();
    let store = home.open().await;
    let cron = store.cron();
    assert!(cron.create(&job("a", 100), 10).await.unwrap());
    assert_eq!(cron.next_due().await.unwrap(), Some(Timestamp(100)));
    assert!(cron.due(Timestamp(99), 10).await.unwrap().is_empty());
    assert_eq!(cron.due(Timestamp(100), 10).await.unwrap().len(), 1);
    let twice = vec![claim("a", 100, 200, "r1"), claim("a", 100, 200, "r2")];
    assert_eq!(cron.claim(twice).await.unwrap(), [true, false]);
    // It runs: not due, and nobody else begins it.
    assert_eq!(cron.next_due().await.unwrap(), None);
    assert!(!cron.force(&run("f", "a", 150)).await.unwrap());
    let open = cron.open_runs().await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].id, "r1");
    assert!(cron.finish(&end("r1", 130)).await.unwrap());
    assert!(!cron.finish(&end("r1", 140)).await.unwrap(), "only once");
    let after = cron.get("a").await.unwrap().unwrap();
    assert_eq!(after.next_run, Some(Timestamp(200)));
    assert_eq!(after.last_duration, Some(25));
    assert_eq!(after.last_status, Some(RunState::Ok));
    // The clock went back, and the same instant comes again.
    cron.reschedule("a", Timestamp(200), Some(Timestamp(100)))
        .await
        .unwrap();
    let again = cron.claim(vec![claim("a", 100, 200, "r3")]).await.unwrap();
    assert_eq!(again, [false], "it has its row");
    let (runs, count) = cron.runs(Some("a"), None, 10, 0).await.unwrap();
    assert_eq!((runs.len(), count), (1, 1));
    assert_eq!(runs[0].summary.as_deref(), Some("done"));
    assert!(cron.force(&run("f", "a", 151)).await.unwrap());
}

#[tokio::test]
async fn a_job_that_ran_once_is_off_or_gone_and_its_run_stays() {
    let home = TestHome::new();
    let store = home.open().await;
    let cron = store.cron();
    for (id, remove) in [("stays", false), ("goes", true)] {
        cron.create(&job(id, 100), 10).await.unwrap();
        let once = Claim {
            next: None,
            ..claim(id, 100, 0, &format!("run-{id}"))
        };
        assert_eq!(cron.claim(vec![once]).await.unwrap(), [true]);
        let end = RunEnd {
            once: true,
            remove,
            ..end(&format!("run-{id}"), 200)
        };
        assert!(cron.finish(&end).await.unwrap());
        assert_eq!(cron.runs(Some(id), None, 10, 0).await.unwrap().1, 1);
    }
    let stays = cron.get("stays").await.unwrap().unwrap();
    assert!(!stays.enabled);
    assert!(cron.get("goes").await.unwrap().is_none());
    assert_eq!(cron.sweep(Timestamp(1_000)).await.unwrap(), 1, "in time");
    assert!(cron.remove("stays").await.unwrap());
    assert!(!cron.remove("stays").await.unwrap());
    assert_eq!(cron.runs(None, None, 10, 0).await.unwrap().1, 0);
}

#[tokio::test]
async fn two_hundred_runs_of_a_job_are_kept() {
    let home = TestHome::new();
    let store = home.open().await;
    let cron = store.cron();
    cron.create(&job("a", 0), 10).await.unwrap();
    cron.create(&job("b", 0), 10).await.unwrap();
    assert!(cron.claim(vec![claim("b", 0, 1, "b0")]).await.unwrap()[0]);
    for at in 0..210 {
        let id = format!("r{at}");
        assert!(cron.claim(vec![claim("a", at, at + 1, &id)]).await.unwrap()[0]);
        assert!(cron.finish(&end(&id, at + 6)).await.unwrap());
    }
    let (runs, count) = cron.runs(Some("a"), None, 500, 0).await.unwrap();
    assert_eq!((runs.len(), count), (200, 200));
    assert_eq!(runs[0].id, "r209", "the latest first");
    assert_eq!(cron.open_runs().await.unwrap()[0].id, "b0", "not its");
}

#[tokio::test]
async fn jobs_are_limited_per_creator() {
    let home = TestHome::new();
    let store = home.open().await;
    let cron = store.cron();
    let of = |maker: &str, id: &str| JobRecord {
        creator: maker.to_owned(),
        ..job(id, 5)
    };
    for (maker, id, expect) in [
        ("a", "1", JobCreation::Created),
        ("a", "2", JobCreation::Created),
        ("a", "3", JobCreation::FullForCreator),
        ("b", "4", JobCreation::Created),
        ("b", "5", JobCreation::Full),
    ] {
        let made = cron.create_within(&of(maker, id), 3, 2).await.unwrap();
        assert_eq!(made, expect, "{id}");
        let there = cron.get(id).await.unwrap();
        assert_eq!(there.is_some(), expect == JobCreation::Created, "{id}");
    }
}

#[tokio::test]
async fn jobs_are_limited_and_concurrent_changes_conflict() {
    let home = TestHome::new();
    let store = home.open().await;
    let cron = store.cron();
    assert!(cron.create(&job("a", 5), 1).await.unwrap());
    assert!(!cron.create(&job("b", 5), 1).await.unwrap());
    let beat = JobRecord {
        kind: JobKind::Heartbeat,
        ..job("h", 5)
    };
    assert!(cron.create(&beat, 1).await.unwrap(), "it does not count");
    let changed = JobRecord {
        name: "other".to_owned(),
        updated: Timestamp(2),
        enabled: false,
        next_run: None,
        ..job("a", 5)
    };
    cron.update(&changed, Timestamp(1), true).await.unwrap();
    let late = cron.update(&changed, Timestamp(1), true).await;
    assert!(matches!(late, Err(StoreError::Changed { .. })), "{late:?}");
    let on = JobFilter::default();
    let all = JobFilter {
        disabled: true,
        ..on
    };
    let others = JobFilter {
        creator: Some("other"),
        ..all
    };
    assert_eq!(cron.list(on, 10, 0).await.unwrap().1, 0);
    assert_eq!(cron.list(all, 10, 0).await.unwrap().0[0].name, "other");
    assert_eq!(cron.list(others, 10, 0).await.unwrap().1, 0);
    assert_eq!(cron.counts(all, Timestamp(9)).await.unwrap().all, 1);
}

/// How the database would go about a statement, in its own words.
async fn plan_of(home: &TestHome, statement: Statement) -> String {
    let sql = Sql::open(&home.path().join("manyhands.db")).await.unwrap();
    let rows = sql.all(statement.explained()).await.unwrap();
    let lines: Vec<String> = rows.iter().map(|row| row.text("detail").unwrap()).collect();
    lines.join("; ")
}

#[tokio::test]
async fn what_is_due_is_found_by_the_index_among_a_hundred_thousand() {
    let home = TestHome::new();
    let store = home.open().await;
    home.raw(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
         INSERT INTO cron_job (id, agent, kind, maker, name, enabled, delete_after_run, schedule,
           spec, missed, window_ms, overlap, origin, next_run, failures, created, updated)
         SELECT 'job' || i, 'main', 'job', 'gateway', 'n', 1, 0, '{}', '{}', 'once', 1, 'skip', '{}',
           1000 + i, 0, 1, 1 FROM n",
    )
    .await;
    for statement in [due(Timestamp(1_010), 100), next_due()] {
        let plan = plan_of(&home, statement).await;
        assert!(plan.contains("USING INDEX cron_job_due"), "{plan}");
        assert!(
            !plan.contains("SCAN cron_job ") || plan.contains("cron_job_due"),
            "{plan}"
        );
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    }
    let due = store.cron().due(Timestamp(1_010), 100).await.unwrap();
    assert_eq!(due.len(), 11);
    assert_eq!(
        store.cron().next_due().await.unwrap(),
        Some(Timestamp(1_000))
    );
    let later = store.cron().due_after(Timestamp(1_003), "job0", 3).await;
    let later: Vec<String> = later.unwrap().into_iter().map(|job| job.id).collect();
    assert_eq!(later, ["job10", "job100", "job1000"], "not job1");
}
