use super::*;
use rustix::process::{Pid, test_kill_process};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};

fn sh(script: &str) -> Program {
    Program::new("/bin/sh")
        .args(["-c", script])
        .env("PATH", "/usr/bin:/bin")
}

async fn run(program: Program) -> Finished {
    let supervisor = Supervisor::new(1);
    let finished = supervisor
        .run(program, CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(supervisor.running(), 0);
    finished
}

/// Waits until process `id` is gone; the test's own deadline is the runner's.
async fn gone(id: &str) {
    let pid = Pid::from_raw(id.trim().parse().unwrap()).unwrap();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim()));
        let zombie = stat.is_ok_and(|stat| stat.contains(") Z "));
        if test_kill_process(pid).is_err() || zombie {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn first_line(running: &mut RunningProgram) -> String {
    let mut line = String::new();
    let mut lines = BufReader::new(running.stdout.as_mut().unwrap());
    lines.read_line(&mut line).await.unwrap();
    line
}

#[tokio::test]
async fn output_exit_code_and_directory_come_back() {
    let finished = run(sh("pwd; echo no >&2; exit 3").cwd("/usr")).await;
    assert_eq!(finished.exit, Exit::Code(3));
    assert_eq!(finished.stdout.text(), "/usr\n");
    assert_eq!(finished.stderr.text(), "no\n");
    assert!(!finished.timed_out && !finished.stdout.truncated);
}

#[tokio::test]
async fn the_environment_holds_only_what_was_put_there() {
    let program = Program::new("/usr/bin/env").env("ONLY", "this");
    assert_eq!(run(program).await.stdout.text(), "ONLY=this\n");
}

#[tokio::test]
async fn input_is_fed_and_a_program_may_ignore_it() {
    let big = vec![b'x'; 1 << 20];
    let counted = run(sh("wc -c").stdin(Stdin::Bytes(big.clone()))).await;
    assert_eq!(counted.stdout.text().trim(), "1048576");
    let ignored = run(sh("exit 0").stdin(Stdin::Bytes(big))).await;
    assert_eq!(ignored.exit, Exit::Code(0));
    assert_eq!(run(sh("cat")).await.stdout.total, 0);
}

#[tokio::test]
async fn endless_output_is_drained_but_not_kept() {
    let finished = run(sh("head -c 5000000 /dev/zero; echo end").max_output(1000)).await;
    assert_eq!(finished.stdout.total, 5_000_004);
    assert!(finished.stdout.truncated && finished.stdout.bytes.len() < 1100);
    assert!(finished.stdout.text().ends_with("end\n"));
}

#[tokio::test]
async fn a_signal_is_named() {
    assert_eq!(
        run(sh("kill -9 $$")).await.exit,
        Exit::Signal("SIGKILL".to_owned())
    );
}

#[tokio::test]
async fn a_timeout_stops_the_whole_group_even_if_it_ignores_the_request() {
    let script = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1000; done'";
    let mut timeout = Duration::from_secs(1);
    let finished = loop {
        let finished = run(sh(script).timeout(timeout)).await;
        if finished.stdout.total > 0 || timeout > Duration::from_secs(20) {
            break finished;
        }
        timeout *= 4; // this machine was too slow to begin with it
    };
    assert!(finished.timed_out);
    assert_eq!(finished.exit, Exit::Signal("SIGKILL".to_owned()));
    gone(&finished.stdout.text()).await;
}

#[tokio::test]
async fn a_program_that_is_asked_to_stop_may_clean_up() {
    let supervisor = Supervisor::new(1);
    let script = "trap 'echo tidy; exit 7' TERM; echo up; while :; do sleep 0.01; done";
    let mut running = supervisor
        .start(sh(script), &CancellationToken::new())
        .unwrap();
    assert_eq!(first_line(&mut running).await, "up\n");
    running.stop();
    assert_eq!(first_line(&mut running).await, "tidy\n");
    assert_eq!(running.wait().await.unwrap(), (Exit::Code(7), false));
}

#[tokio::test]
async fn cancelling_stops_it() {
    let supervisor = Supervisor::new(1);
    let cancel = CancellationToken::new();
    let mut running = supervisor
        .start(sh("echo $$; exec sleep 1000"), &cancel)
        .unwrap();
    let id = first_line(&mut running).await;
    assert_eq!(id.trim(), running.id().to_string());
    cancel.cancel();
    let ended = running.wait().await.unwrap();
    assert_eq!(ended, (Exit::Signal("SIGTERM".to_owned()), false));
    assert_eq!(supervisor.running(), 0);
}

#[tokio::test]
async fn dropping_the_handle_kills_and_reaps_the_group() {
    let supervisor = Supervisor::new(1);
    let cancel = CancellationToken::new();
    let script = "sleep 1000 & echo $!; wait";
    let mut running = supervisor.start(sh(script), &cancel).unwrap();
    let grandchild = first_line(&mut running).await;
    let leader = running.id().to_string();
    drop(running);
    while supervisor.running() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(
        !std::path::Path::new(&format!("/proc/{leader}")).exists(),
        "not reaped"
    );
    gone(&grandchild).await;
}

#[tokio::test]
async fn dropping_a_run_stops_it_too() {
    let supervisor = Supervisor::new(1);
    let running = supervisor.run(sh("sleep 1000"), CancellationToken::new());
    let gave_up = tokio::time::timeout(Duration::from_millis(50), running).await;
    assert!(gave_up.is_err());
    while supervisor.running() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn the_end_of_the_runtime_is_the_end_of_the_group() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (grandchild, running) = runtime.block_on(async {
        let cancel = CancellationToken::new();
        let script = sh("sleep 1000 & echo $!; wait");
        let mut running = Supervisor::new(1).start(script, &cancel).unwrap();
        (first_line(&mut running).await, running)
    });
    drop(runtime);
    let waiting = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    waiting.block_on(gone(&grandchild));
    drop(running);
}

#[tokio::test]
async fn what_the_leader_leaves_behind_is_killed() {
    let finished = run(sh("sleep 1000 & echo $!")).await;
    assert_eq!(finished.exit, Exit::Code(0));
    gone(&finished.stdout.text()).await;
}

#[tokio::test]
async fn a_grandchild_that_escaped_with_the_pipe_cannot_hang_the_call() {
    let dir = tempfile::tempdir().unwrap();
    let script = "mkfifo up; setsid sh -c 'echo $$; echo > up; exec sleep 1000' & read x < up";
    let finished = run(sh(script).cwd(dir.path())).await;
    assert_eq!(finished.exit, Exit::Code(0));
    assert!(finished.duration < Duration::from_secs(60));
    let escaped = Pid::from_raw(finished.stdout.text().trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(escaped, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn the_limit_holds_and_slots_are_freed() {
    let supervisor = Supervisor::new(1);
    let cancel = CancellationToken::new();
    let mut running = supervisor.start(sh("exec sleep 1000"), &cancel).unwrap();
    assert_eq!(supervisor.running(), 1);
    let refused = supervisor.run(sh("true"), CancellationToken::new()).await;
    assert!(matches!(refused, Err(SuperviseError::Busy { max: 1 })));
    running.stop();
    running.wait().await.unwrap();
    let finished = supervisor
        .run(sh("true"), CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(finished.exit, Exit::Code(0));
}

#[tokio::test]
async fn a_program_that_cannot_start_takes_no_slot() {
    let supervisor = Supervisor::new(1);
    let go = |path: &str| supervisor.run(Program::new(path), CancellationToken::new());
    assert!(matches!(
        go("sh").await,
        Err(SuperviseError::NotAbsolute(_))
    ));
    let missing = go("/no/such/program").await.unwrap_err().to_string();
    assert!(
        missing.starts_with("cannot start /no/such/program"),
        "{missing}"
    );
    assert_eq!(supervisor.running(), 0);
    assert_eq!(go("/bin/true").await.unwrap().exit, Exit::Code(0));
}

#[tokio::test]
async fn pipes_carry_a_conversation() {
    let supervisor = Supervisor::new(1);
    let cancel = CancellationToken::new();
    let mut running = supervisor
        .start(sh("cat").stdin(Stdin::Piped), &cancel)
        .unwrap();
    running
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"hello\n")
        .await
        .unwrap();
    assert_eq!(first_line(&mut running).await, "hello\n");
    drop(running.stdin.take());
    assert_eq!(running.wait().await.unwrap(), (Exit::Code(0), false));
}
