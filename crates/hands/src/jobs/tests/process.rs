use super::*;

#[tokio::test]
async fn a_conversation_through_standard_input() {
    let fixture = fixture();
    let id = fixture.background("cat").await;
    let wrote = fixture.jobs.write(id, "hal").await.unwrap();
    assert_eq!((wrote.bytes_written, wrote.status), (3, JobStatus::Running));
    fixture.prints(id, "hal").await;
    assert_eq!(
        fixture.jobs.submit(id, "lo").await.unwrap().bytes_written,
        3
    );
    fixture.prints(id, "hallo\n").await;
    assert_eq!(fixture.jobs.submit(id, "").await.unwrap().bytes_written, 1);
    fixture.prints(id, "hallo\n\n").await;
    let poll = fixture.jobs.poll(id).unwrap();
    assert_eq!((poll.running, poll.tail.as_str()), (true, "hallo\n\n"));
}

#[tokio::test]
async fn streams_that_take_turns_stay_in_order() {
    let fixture = fixture();
    let script = "for i in 1 2 3; do echo out$i; read x; echo err$i >&2; read x; done; echo done";
    let id = fixture.background(script).await;
    let mut expect = String::new();
    for i in 1..=3 {
        for word in ["out", "err"] {
            expect.push_str(&format!("{word}{i}\n"));
            fixture.prints(id, &expect).await;
            fixture.jobs.submit(id, "").await.unwrap();
        }
    }
    assert_eq!(fixture.ends(id).await.tail, expect + "done\n");
}

#[tokio::test]
async fn a_character_whose_halves_arrive_apart_is_whole() {
    let fixture = fixture();
    let id = fixture
        .background(r"printf 'a\303'; read x; printf e >&2; read x; printf '\244z'")
        .await;
    fixture.prints(id, "a").await;
    fixture.jobs.submit(id, "").await.unwrap();
    fixture.prints(id, "ae").await;
    fixture.jobs.submit(id, "").await.unwrap();
    assert_eq!(fixture.ends(id).await.tail, "aeäz");
}

#[tokio::test]
async fn a_yielding_call_waits_for_what_ends_and_leaves_what_does_not() {
    let fixture = fixture();
    let mut events = fixture.jobs.events();
    let waiting = |command: &str, ms| BashRequest {
        yield_ms: Some(ms),
        ..fixture.request(command)
    };
    let job = fixture
        .run(waiting("echo quick; echo e >&2", u64::MAX))
        .await;
    assert_eq!(
        (job.exit_code, job.stdout.as_deref()),
        (Some(0), Some("quick\n"))
    );
    assert!(fixture.jobs.process_list().is_empty());
    assert!(matches!(
        fixture.jobs.poll(job.session_id),
        Err(JobError::NotFound(_))
    ));
    // Shorter than the shortest: brought to 10 ms, and left running after that.
    let left = fixture.leave(waiting("read x; echo $x", 0)).await;
    fixture.jobs.submit(left.session_id, "on").await.unwrap();
    assert_eq!(fixture.ends(left.session_id).await.tail, "on\n");
    let kinds = [events.recv().await.unwrap(), events.recv().await.unwrap()]
        .map(|event| (event.session_id, event.event));
    assert_eq!(
        kinds,
        [
            (left.session_id, JobEventKind::Started),
            (left.session_id, JobEventKind::Finished)
        ]
    );
    assert!(events.try_recv().is_err(), "no news of what was waited for");
}

#[tokio::test]
async fn events_report_how_each_background_job_ended() {
    let fixture = fixture();
    let mut events = fixture.jobs.events();
    for (command, kind, exit_code, signal, tail) in [
        (
            "echo yes",
            JobEventKind::Finished,
            Some(0),
            None,
            Some("yes\n"),
        ),
        ("exit 4", JobEventKind::Failed, Some(4), None, None),
        (
            "kill -9 $$",
            JobEventKind::Failed,
            None,
            Some("SIGKILL"),
            None,
        ),
        (
            "exec sleep 1000",
            JobEventKind::TimedOut,
            None,
            Some("SIGTERM"),
            None,
        ),
    ] {
        let request = BashRequest {
            timeout_ms: (kind == JobEventKind::TimedOut).then_some(100),
            origin: Some("call 7".to_owned()),
            ..fixture.in_background(command)
        };
        let session_id = fixture.leave(request).await.session_id;
        let started = JobEvent {
            session_id,
            event: JobEventKind::Started,
            origin: Some("call 7".to_owned()),
            exit_code: None,
            signal: None,
            output_tail: None,
            started_at: NOON,
            ended_at: None,
        };
        assert_eq!(events.recv().await.unwrap(), started, "{command}");
        let ended = JobEvent {
            event: kind,
            exit_code,
            signal: signal.map(str::to_owned),
            output_tail: tail.map(str::to_owned),
            ended_at: Some(NOON),
            ..started
        };
        assert_eq!(events.recv().await.unwrap(), ended, "{command}");
        let poll = fixture.jobs.poll(session_id).unwrap();
        let timed_out = kind == JobEventKind::TimedOut;
        assert_eq!(
            (poll.running, poll.timed_out),
            (false, timed_out),
            "{command}"
        );
    }
    let told = serde_json::to_value(JobEventKind::TimedOut).unwrap();
    assert_eq!(told, "timed_out");
}

#[tokio::test]
async fn the_log_is_read_by_pages() {
    let fixture = fixture();
    let id = fixture.background("seq 1 500").await;
    fixture.ends(id).await;
    let page = fixture.jobs.log(id, 0, None).unwrap();
    assert_eq!(
        (page.total_lines, page.total_chars, page.next_offset),
        (500, 1_892, Some(200))
    );
    assert_eq!(
        (page.log.lines().count(), page.dropped_lines, page.exit_code),
        (200, None, Some(0))
    );
    let page = fixture.jobs.log(id, 498, Some(9)).unwrap();
    assert_eq!(
        (page.log.as_str(), page.offset, page.next_offset),
        ("499\n500\n", 498, None)
    );
    assert!(matches!(
        fixture.jobs.log(id, 0, Some(0)),
        Err(JobError::LogLimit)
    ));
    assert_eq!(fixture.jobs.log(id, 0, Some(1)).unwrap().log, "1\n");
}

#[tokio::test]
async fn dropped_lines_are_counted() {
    let fixture = fixture();
    let id = fixture.background("seq 100000 199999").await;
    fixture.ends(id).await;
    let page = fixture.jobs.log(id, 0, Some(2)).unwrap();
    assert_eq!(
        (page.total_lines, page.total_chars, page.truncated),
        (100_000, 700_000, true)
    );
    // 200,000 characters are 28,571 lines of seven and the last three of another.
    assert_eq!((page.dropped_lines, page.offset), (Some(71_428), 71_428));
    assert_eq!(page.log, "28\n171429\n");
    assert_eq!(fixture.jobs.log(id, 99_999, None).unwrap().log, "199999\n");
}

#[tokio::test]
async fn killing_takes_the_whole_group_at_once() {
    let fixture = fixture();
    let bystander = fixture.background("cat").await;
    let id = fixture
        .background(
            "trap 'echo tidy' TERM; bash -c 'trap \"\" TERM; echo $$; sleep 1000; :' & wait",
        )
        .await;
    let grandchild = fixture.first_pid(id).await;
    let killed = fixture.jobs.kill(id).await.unwrap();
    assert_eq!(
        (
            killed.status,
            killed.running,
            killed.signal.as_deref(),
            killed.timed_out
        ),
        (JobStatus::Failed, false, Some("SIGKILL"), false)
    );
    assert!(!killed.tail.contains("tidy"));
    until(|| !lives(grandchild)).await;
    assert!(matches!(fixture.jobs.kill(id).await, Err(JobError::Exited(gone)) if gone == id));
    assert!(fixture.jobs.poll(bystander).unwrap().running);
}

#[tokio::test]
async fn only_background_jobs_accept_input() {
    let fixture = fixture();
    let jobs = &fixture.jobs;
    let waited_for = fixture.bash("echo hi").await.session_id;
    let control = fixture.background("cat").await;
    assert!(
        matches!("nonsense".parse::<SessionId>(), Err(JobError::NotFound(id)) if id == "nonsense")
    );
    let unknown = "0192d9f0-0000-7000-8000-000000000000".parse().unwrap();
    for id in [waited_for, unknown] {
        let not_found = |error: JobError| {
            let expect = format!("no background session {id}\n");
            assert!(error.to_string().starts_with(&expect), "{error}");
        };
        not_found(jobs.poll(id).unwrap_err());
        not_found(jobs.log(id, 0, None).unwrap_err());
        not_found(jobs.write(id, "x").await.unwrap_err());
        not_found(jobs.submit(id, "x").await.unwrap_err());
        not_found(jobs.kill(id).await.unwrap_err());
    }
    assert_eq!(fixture.printed(control), "");
    let same: SessionId = control.to_string().parse().unwrap();
    jobs.submit(same, "x").await.unwrap();
    fixture.prints(control, "x\n").await;
    jobs.kill(same).await.unwrap();
}

#[tokio::test]
async fn nothing_is_written_to_what_has_ended_or_does_not_listen() {
    let fixture = fixture();
    let over = fixture.background("true").await;
    fixture.ends(over).await;
    assert!(matches!(
        fixture.jobs.write(over, "x").await,
        Err(JobError::Exited(_))
    ));
    assert!(matches!(
        fixture.jobs.submit(over, "x").await,
        Err(JobError::Exited(_))
    ));
    let deaf = fixture
        .background("exec <&-; echo closed; sleep 1000")
        .await;
    fixture.prints(deaf, "closed\n").await;
    for _ in 0..2 {
        let error = fixture.jobs.submit(deaf, "x").await.unwrap_err();
        assert!(
            matches!(error, JobError::StdinClosed(id) if id == deaf),
            "{error}"
        );
    }
    assert!(fixture.jobs.poll(deaf).unwrap().running);
}

#[tokio::test]
async fn a_program_that_does_not_read_cannot_hang_the_writer() {
    let fixture = fixture();
    let id = fixture.background("sleep 1000").await;
    fixture.jobs.write(id, "fits in the pipe").await.unwrap();
    let big = vec![b'x'; 1 << 20];
    let session = fixture.jobs.find(id).unwrap();
    let fed = crate::jobs::process::feed(&session, &big, Duration::from_millis(20)).await;
    let error = fed.unwrap_err();
    let JobError::NotReading { written, total, .. } = error else {
        panic!("{error}");
    };
    assert!(0 < written && written < total && total == 1 << 20);
}

#[tokio::test]
async fn a_writer_learns_that_the_program_ended_meanwhile() {
    let fixture = fixture();
    let id = fixture.background("exec sleep 1000").await;
    let big = "x".repeat(1 << 20);
    let (wrote, killed) = tokio::join!(fixture.jobs.write(id, &big), fixture.jobs.kill(id));
    assert!(
        matches!(wrote, Err(JobError::Exited(_) | JobError::StdinClosed(_))),
        "{wrote:?}"
    );
    assert!(!killed.unwrap().running);
}

#[tokio::test]
async fn the_list_is_newest_first_and_shows_what_helps_to_choose() {
    let fixture = fixture();
    let first = fixture.background("echo first; exit 2").await;
    fixture.ends(first).await;
    let same_moment = fixture.background("cat").await;
    fixture.clock.advance(Duration::from_secs(1));
    let long = format!("cat # {}", "é".repeat(300));
    let last = fixture.background(&long).await;
    fixture.clock.advance(Duration::from_secs(1));
    let list = fixture.jobs.process_list();
    let ids: Vec<SessionId> = list.iter().map(|entry| entry.session_id).collect();
    assert_eq!(ids, [last, same_moment, first]);
    assert_eq!(list[0].command, format!("cat # {}…", "é".repeat(194)));
    let runtimes: Vec<u64> = list.iter().map(|entry| entry.runtime_ms).collect();
    assert_eq!(runtimes, [1_000, 2_000, 0]);
    let told = serde_json::to_value(&list[2]).unwrap();
    assert_eq!(
        told,
        serde_json::json!({
            "sessionId": first.to_string(), "status": "failed", "pid": list[2].pid,
            "startedAt": NOON.0, "endedAt": NOON.0, "runtimeMs": 0,
            "workdir": fixture.dir.path().to_str().unwrap(), "command": "echo first; exit 2",
            "tail": "first\n", "truncated": false, "exitCode": 2, "signal": null, "timedOut": false,
        })
    );
}

#[tokio::test]
async fn finished_sessions_are_kept_for_thirty_minutes_and_running_ones_for_ever() {
    let fixture = fixture();
    let running = fixture.background("cat").await;
    let over = fixture.background("echo kept").await;
    fixture.ends(over).await;
    fixture.clock.advance(RETENTION - Duration::from_millis(1));
    assert_eq!(fixture.jobs.process_list().len(), 2);
    assert_eq!(fixture.jobs.poll(over).unwrap().tail, "kept\n");
    fixture.clock.advance(Duration::from_millis(1));
    assert!(matches!(
        fixture.jobs.poll(over),
        Err(JobError::NotFound(_))
    ));
    let left: Vec<SessionId> = fixture
        .jobs
        .process_list()
        .iter()
        .map(|e| e.session_id)
        .collect();
    assert_eq!(left, [running]);
}

#[tokio::test]
async fn of_finished_sessions_the_last_256_are_kept() {
    let fixture = fixture_with(|settings| settings.shell = "/bin/sh".into());
    let running = fixture.background("cat").await;
    let mut ids = Vec::new();
    for _ in 0..MAX_FINISHED + 2 {
        fixture.clock.advance(Duration::from_millis(1));
        let id = fixture.background(":").await;
        fixture.ends(id).await;
        ids.push(id);
    }
    let mut expect: Vec<SessionId> = ids.split_off(2);
    expect.reverse();
    expect.push(running);
    let kept: Vec<SessionId> = fixture
        .jobs
        .process_list()
        .iter()
        .map(|e| e.session_id)
        .collect();
    assert_eq!(kept, expect);
}

#[tokio::test]
async fn the_ceiling_of_background_jobs_holds_and_a_place_comes_free() {
    let fixture = fixture_with(|settings| settings.max_jobs = 1);
    let first = fixture.background("cat").await;
    let may_yield = BashRequest {
        yield_ms: Some(10),
        ..fixture.request("touch started")
    };
    for request in [fixture.in_background("touch started"), may_yield] {
        let error = fixture.ask(request).await.unwrap_err();
        assert!(
            error.to_string().contains("1 background jobs run already"),
            "{error}"
        );
        assert!(error.to_string().contains("\"kill\""), "{error}");
    }
    assert_eq!(fixture.supervisor.running(), 1);
    assert!(!fixture.dir.path().join("started").exists());
    assert_eq!(fixture.bash("echo waited for").await.exit_code, Some(0));
    fixture.jobs.kill(first).await.unwrap();
    let second = fixture.background("touch started").await;
    fixture.ends(second).await;
    assert!(fixture.dir.path().join("started").exists());
}

#[tokio::test]
async fn everything_ends_with_the_last_handle() {
    let Fixture {
        dir: _dir,
        clock: _clock,
        supervisor,
        jobs,
    } = {
        let fixture = fixture();
        let clone = fixture.jobs.clone();
        drop(clone);
        fixture
    };
    let request = |command: &str| BashRequest {
        progress: manyhands_core::Progress::default(),
        full_output: false,
        command: command.to_owned(),
        workdir: "/".into(),
        timeout_ms: None,
        background: true,
        yield_ms: None,
        origin: None,
    };
    let mut pids = Vec::new();
    for command in [
        "sleep 1000 & echo $!; wait",
        "trap '' TERM; sleep 1000 & echo $!; wait; wait",
    ] {
        let left = jobs.bash(request(command), &CancellationToken::new()).await;
        let BashResult::Running(job) = left.unwrap() else {
            panic!("has ended");
        };
        let log = || jobs.log(job.session_id, 0, None).unwrap().log;
        until(|| log().ends_with('\n')).await;
        pids.extend([job.pid, log().trim().parse().unwrap()]);
    }
    assert!(pids.iter().all(|pid| lives(*pid)));
    drop(jobs);
    until(|| supervisor.running() == 0).await;
    until(|| !pids.iter().any(|pid| lives(*pid))).await;
}
