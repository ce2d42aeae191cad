use super::*;

#[tokio::test]
async fn a_finished_command_has_the_specified_shape() {
    let fixture = fixture();
    let job = fixture.bash("echo hello").await;
    let told = serde_json::to_value(BashResult::Completed(Box::new(job.clone()))).unwrap();
    assert_eq!(
        told,
        serde_json::json!({
            "status": "completed",
            "sessionId": job.session_id.to_string(),
            "exitCode": 0,
            "signal": null,
            "timedOut": false,
            "startedAt": NOON.0,
            "endedAt": NOON.0,
            "durationMs": 0,
            "output": "hello\n",
            "tail": "hello\n",
            "truncated": false,
            "totalChars": 6,
            "workdir": fixture.dir.path().to_str().unwrap(),
        })
    );
}

#[tokio::test]
async fn a_running_command_has_the_specified_shape() {
    let fixture = fixture();
    let job = fixture.leave(fixture.in_background("cat")).await;
    let told = serde_json::to_value(BashResult::Running(job.clone())).unwrap();
    assert_eq!(
        told,
        serde_json::json!({
            "status": "running",
            "sessionId": job.session_id.to_string(),
            "pid": job.pid,
            "startedAt": NOON.0,
            "tail": "",
            "workdir": fixture.dir.path().to_str().unwrap(),
            "timeoutMs": 300_000,
            "retainedMs": 1_800_000,
            "lifetime": "it is stopped 5 minutes after its start unless it ends before (timeout sets how long); once it ended, Process shows its output for 30 minutes",
        })
    );
    assert!(lives(job.pid));
}

#[tokio::test]
async fn exit_codes_and_signals_are_told_apart() {
    let fixture = fixture();
    for (command, status, exit_code, signal) in [
        ("true", JobStatus::Completed, Some(0), None),
        ("exit 3", JobStatus::Failed, Some(3), None),
        ("kill -SEGV $$", JobStatus::Failed, None, Some("SIGSEGV")),
        ("no-such-program", JobStatus::Failed, Some(127), None),
    ] {
        let job = fixture.bash(command).await;
        let told = (job.status, job.exit_code, job.signal.as_deref());
        assert_eq!(told, (status, exit_code, signal), "{command}");
        assert!(!job.timed_out, "{command}");
    }
    assert_eq!(fixture.supervisor.running(), 0);
}

#[tokio::test]
async fn times_come_from_the_injected_clock() {
    let fixture = fixture();
    let fifo = fixture.dir.path().join("go");
    assert_eq!(fixture.bash("mkfifo go").await.exit_code, Some(0));
    let advance = async {
        until(|| fixture.dir.path().join("up").exists()).await;
        fixture.clock.advance(Duration::from_millis(1_234));
        tokio::fs::write(&fifo, "now\n").await.unwrap();
    };
    let (job, ()) = tokio::join!(fixture.bash("touch up; cat go"), advance);
    assert_eq!(
        (job.started_at, job.ended_at, job.duration_ms),
        (NOON, NOON.plus(Duration::from_millis(1_234)), 1_234)
    );
    assert_eq!(job.output, "now\n");
}

#[tokio::test]
async fn the_shell_is_a_login_shell() {
    let fixture = fixture();
    std::fs::write(fixture.dir.path().join(".bash_profile"), "GREETING=hi").unwrap();
    let job = fixture
        .bash("shopt -q login_shell && echo login $GREETING; tr '\\0' ' ' < /proc/$$/cmdline")
        .await;
    assert!(
        job.output.starts_with("login hi\n/bin/bash -lc "),
        "{}",
        job.output
    );
    // Whatever the shell: without one that exists it is sh, which reads its own profile.
    let plain = fixture_with(|settings| {
        settings
            .env
            .insert("SHELL".to_owned(), "/no/shell".to_owned());
        settings.shell = JobSettings::of_env(settings.env.clone()).shell;
    });
    std::fs::write(plain.dir.path().join(".profile"), "GREETING=hello").unwrap();
    let job = plain
        .bash("echo $GREETING; tr '\\0' ' ' < /proc/$$/cmdline")
        .await;
    assert!(
        job.output.starts_with("hello\n/bin/sh -lc "),
        "{}",
        job.output
    );
}

#[tokio::test]
async fn the_environment_is_exactly_what_was_given() {
    let fixture = fixture_with(|settings| {
        settings.env.insert("GIVEN".to_owned(), "a b=c".to_owned());
    });
    let job = fixture.bash("tr '\\0' '\\n' < /proc/$$/environ").await;
    let home = fixture.dir.path().display();
    let expect = format!("GIVEN=a b=c\nHOME={home}\nPATH=/usr/bin:/bin\nSHELL=/bin/bash\n");
    assert_eq!(job.output, expect);
}

#[tokio::test]
async fn it_starts_in_its_workdir_and_only_there() {
    let fixture = fixture();
    std::fs::write(fixture.dir.path().join("file"), "").unwrap();
    let at = |workdir: PathBuf| BashRequest {
        workdir,
        ..fixture.request("pwd -P")
    };
    let real = fixture.dir.path().canonicalize().unwrap();
    let job = fixture.run(at(real.clone())).await;
    assert_eq!(job.output, format!("{}\n", real.display()));
    for (workdir, expect) in [
        (
            real.join("gone"),
            "gone does not exist; create it first, or name another",
        ),
        (real.join("file"), "file is not a directory"),
        (
            PathBuf::from("here"),
            "workdir here is not an absolute path",
        ),
    ] {
        let error = fixture.ask(at(workdir)).await.unwrap_err().to_string();
        assert!(error.ends_with(expect), "{error}");
    }
    assert_eq!(fixture.supervisor.running(), 0);
}

#[tokio::test]
async fn what_no_shell_can_be_given_is_refused_and_nothing_starts() {
    let fixture = fixture();
    let refused = |change: fn(&mut BashRequest)| {
        let mut request = fixture.request("touch started");
        change(&mut request);
        fixture.ask(request)
    };
    assert!(matches!(
        refused(|r| r.command = " \n".to_owned()).await,
        Err(JobError::EmptyCommand)
    ));
    assert!(matches!(
        refused(|r| r.command.push('\0')).await,
        Err(JobError::NulInCommand)
    ));
    assert!(matches!(
        refused(|r| r.command.push_str(&" ".repeat(MAX_COMMAND))).await,
        Err(JobError::CommandTooLong { .. })
    ));
    for ms in [0, MAX_TIMEOUT_MS + 1, u64::MAX] {
        let request = BashRequest {
            timeout_ms: Some(ms),
            ..fixture.request("touch started")
        };
        assert!(
            matches!(fixture.ask(request).await, Err(JobError::Timeout { given, .. }) if given == ms)
        );
    }
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let late = fixture
        .jobs
        .bash(fixture.in_background("touch started"), &cancelled)
        .await;
    assert!(matches!(late, Err(JobError::Cancelled)));
    assert!(!fixture.dir.path().join("started").exists());
    // The longest of each is taken.
    let mut longest = fixture.request("touch started; :");
    longest.command += &" ".repeat(MAX_COMMAND - longest.command.len());
    longest.timeout_ms = Some(MAX_TIMEOUT_MS);
    assert_eq!(fixture.run(longest).await.exit_code, Some(0));
    assert!(fixture.dir.path().join("started").exists());
}

#[tokio::test]
async fn both_streams_are_in_the_output_and_apart_too() {
    let fixture = fixture();
    let script = "for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done";
    let job = fixture.bash(script).await;
    let lines = |word: &str| (1..=5).map(|i| format!("{word}{i}\n")).collect::<String>();
    assert_eq!(job.stdout.unwrap(), lines("out"));
    assert_eq!(job.stderr.unwrap(), lines("err"));
    for word in ["out", "err"] {
        let of_one = job
            .output
            .split_inclusive('\n')
            .filter(|l| l.starts_with(word));
        assert_eq!(of_one.collect::<String>(), lines(word));
    }
    assert_eq!(job.total_chars, 50);
    // Without standard error there is nothing to tell apart.
    let job = fixture.bash("echo out").await;
    assert_eq!(
        (job.output.as_str(), job.stdout, job.stderr),
        ("out\n", None, None)
    );
}

#[tokio::test]
async fn a_waited_for_command_has_no_input() {
    let job = fixture().bash("cat; read x; echo $?").await;
    assert_eq!(job.output, "1\n");
}

#[tokio::test]
async fn fifty_megabytes_leave_the_end_of_them() {
    let fixture = fixture();
    let job = fixture
        .bash("head -c 50000000 /dev/zero | tr '\\0' x; echo; echo the end")
        .await;
    assert_eq!(
        (job.exit_code, job.truncated, job.total_chars),
        (Some(0), true, 50_000_009)
    );
    assert_eq!(job.output.len(), MAX_CHARS);
    assert!(job.output.starts_with("xxx") && job.output.ends_with("x\nthe end\n"));
    assert_eq!(job.tail, job.output[MAX_CHARS - TAIL_CHARS..]);
}

#[tokio::test]
async fn characters_are_counted_not_bytes() {
    let fixture = fixture();
    let exactly = fixture.bash("printf 'é%.0s' {1..200000}").await;
    assert_eq!((exactly.truncated, exactly.total_chars), (false, 200_000));
    assert_eq!((exactly.output.len(), exactly.tail.len()), (400_000, 8_000));
    let one_more = fixture.bash("printf x; printf 'é%.0s' {1..200000}").await;
    assert_eq!((one_more.truncated, one_more.total_chars), (true, 200_001));
    assert_eq!(one_more.output, exactly.output);
}

#[tokio::test]
async fn what_is_not_text_is_shown_as_such() {
    let job = fixture().bash("printf 'a\\377b\\342\\202'").await;
    assert_eq!(job.output, "a\u{fffd}b\u{fffd}");
}

/// Runs a command out of its time, which is longer each time that was too short to print anything.
async fn runs_out_of_time(fixture: &Fixture, command: &str) -> CompletedJob {
    let mut timeout_ms = 1_500;
    loop {
        let request = BashRequest {
            timeout_ms: Some(timeout_ms),
            ..fixture.request(command)
        };
        let job = fixture.run(request).await;
        if !job.output.is_empty() || timeout_ms > 20_000 {
            return job;
        }
        timeout_ms *= 4; // this machine was too slow to begin with it
    }
}

#[tokio::test]
async fn time_up_ends_the_whole_group_even_if_it_ignores_the_request() {
    let fixture = fixture();
    let command = "trap '' TERM; bash -c 'trap \"\" TERM; echo $$; while :; do sleep 1000; done' & wait; wait";
    let job = runs_out_of_time(&fixture, command).await;
    assert_eq!(
        (
            job.status,
            job.timed_out,
            job.exit_code,
            job.signal.as_deref()
        ),
        (JobStatus::Failed, true, None, Some("SIGKILL"))
    );
    let grandchild = job.output.trim().parse().unwrap();
    until(|| !lives(grandchild)).await;
    assert_eq!(fixture.supervisor.running(), 0);
}

#[tokio::test]
async fn a_command_whose_time_is_up_may_tidy_up_and_has_still_failed() {
    let fixture = fixture();
    let command = "rm -f f; mkfifo f; trap 'echo tidy; exit 0' TERM; read x <> f";
    let job = runs_out_of_time(&fixture, command).await;
    assert_eq!(
        (
            job.status,
            job.timed_out,
            job.exit_code,
            job.output.as_str()
        ),
        (JobStatus::Failed, true, Some(0), "tidy\n")
    );
}

#[tokio::test]
async fn what_escaped_with_the_pipe_cannot_hang_the_call() {
    let fixture = fixture();
    let job = fixture
        .bash("mkfifo up; setsid sh -c 'echo $$; echo > up; exec sleep 1000' & read x < up; echo last")
        .await;
    assert_eq!(job.exit_code, Some(0));
    let (escaped, last) = job.output.split_once('\n').unwrap();
    assert_eq!(last, "last\n");
    let escaped = rustix::process::Pid::from_raw(escaped.parse().unwrap()).unwrap();
    rustix::process::kill_process(escaped, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn cancelling_a_call_ends_its_program() {
    let fixture = fixture();
    for yield_ms in [None, Some(120_000)] {
        let cancel = CancellationToken::new();
        let request = BashRequest {
            yield_ms,
            ..fixture.request("echo $$ > pid; exec sleep 1000")
        };
        let watch = async {
            until(|| fixture.supervisor.running() == 1).await;
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(fixture.jobs.bash(request, &cancel), watch);
        assert!(matches!(ended, Err(JobError::Cancelled)));
        assert_eq!(fixture.supervisor.running(), 0);
        assert!(fixture.jobs.process_list().is_empty());
    }
}

#[tokio::test]
async fn dropping_a_call_ends_its_program_but_not_a_background_one() {
    let fixture = fixture();
    let kept = fixture.background("cat").await;
    for yield_ms in [None, Some(120_000)] {
        let request = BashRequest {
            yield_ms,
            ..fixture.request("exec sleep 1000")
        };
        tokio::select! {
            ended = fixture.ask(request) => panic!("{ended:?}"),
            () = until(|| fixture.supervisor.running() == 2) => {}
        }
        until(|| fixture.supervisor.running() == 1).await;
    }
    assert!(fixture.jobs.poll(kept).unwrap().running);
}

#[tokio::test]
async fn a_sandbox_confines_the_command() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "canary").unwrap();
    let command = format!("cat {} 2>&1", secret.display());
    let free = fixture();
    assert_eq!(free.bash(&command).await.output, "canary");
    let mut confined = fixture_with(|_| {});
    let home = confined.dir.path().to_owned();
    let sandboxed = fixture_with(|settings| {
        settings.sandbox = Some(Sandbox::system_read_only().writing(&home));
    });
    confined.jobs = sandboxed.jobs.clone();
    let job = confined.bash(&command).await;
    assert!(
        !job.output.contains("canary") && job.exit_code == Some(1),
        "{job:?}"
    );
    assert_eq!(
        confined.bash("echo mine > f && cat f").await.output,
        "mine\n"
    );
}

#[tokio::test]
async fn a_confined_command_has_a_folder_of_its_own_that_goes_with_it() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path().to_owned();
    let fixture = fixture_with(|settings| {
        settings.sandbox = Some(Sandbox::system_read_only());
        settings.scratch = Some(at.clone());
    });
    let request = BashRequest {
        workdir: "/".into(),
        ..fixture.request("echo x > $TMPDIR/f && cat ~/f && echo $TMPDIR; echo y > /tmp/mh-leak")
    };
    let job = fixture.run(request).await;
    let shown = format!("x\n{}/mh-job-", at.display());
    let stdout = job.stdout.as_deref().unwrap_or_default();
    assert!(stdout.starts_with(&shown), "{}", job.output);
    assert_eq!(job.exit_code, Some(1), "{}", job.output);
    until(|| std::fs::read_dir(&at).unwrap().count() == 0).await;
}

#[tokio::test]
async fn all_of_a_long_output_is_given_to_whoever_takes_it() {
    let fixture = fixture();
    let lines = 40_000;
    let request = |full_output| BashRequest {
        full_output,
        ..fixture.request(&format!("seq {lines}; echo last >&2"))
    };
    let whole: String = (1..=lines).map(|n| format!("{n}\n")).collect();
    let job = fixture.run(request(true)).await;
    assert!(job.truncated && whole.len() > super::super::MAX_CHARS);
    let full = job.full_output.expect("all of it");
    assert_eq!(full.replace("last\n", ""), whole);
    assert_eq!(fixture.run(request(false)).await.full_output, None);
    let short = BashRequest {
        full_output: true,
        ..fixture.request("echo short")
    };
    assert_eq!(fixture.run(short).await.full_output, None);
    let endless = BashRequest {
        full_output: true,
        ..fixture.request("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo end")
    };
    let full = fixture.run(endless).await.full_output.expect("both ends");
    assert!(full.len() < 9_000_000 && full.contains("[... left out: more than 8 MiB ...]"));
    assert!(full.starts_with("xxx") && full.ends_with("x\nend\n"));
}
