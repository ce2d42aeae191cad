use super::*;
use crate::supervisor::{Exit, Finished, Program, Supervisor};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A yard with an `outside` file and an `inside` directory that may be written.
fn yard() -> (TempDir, Sandbox) {
    let yard = tempfile::tempdir().unwrap();
    fs::write(yard.path().join("outside"), "canary").unwrap();
    fs::create_dir(yard.path().join("inside")).unwrap();
    let sandbox = Sandbox::system_read_only().writing(yard.path().join("inside"));
    (yard, sandbox)
}

async fn bash(script: &str, yard: &Path, sandbox: Option<Sandbox>) -> Finished {
    let program = Program::new("/bin/bash")
        .args(["-c", script])
        .env("PATH", "/usr/bin:/bin")
        .env("YARD", yard)
        .cwd("/")
        .timeout(Duration::from_secs(120))
        .sandbox(sandbox);
    let supervisor = Supervisor::new(1);
    supervisor
        .run(program, CancellationToken::new())
        .await
        .unwrap()
}

fn outside(yard: &TempDir) -> String {
    fs::read_to_string(yard.path().join("outside")).unwrap()
}

/// `script` fails in the sandbox, leaving the outside as it was, and succeeds without.
#[track_caller]
fn check_refused(script: &str) -> impl Future<Output = ()> {
    let script = script.to_owned();
    async move {
        let (yard, sandbox) = yard();
        let confined = bash(&script, yard.path(), Some(sandbox)).await;
        assert_ne!(
            confined.exit,
            Exit::Code(0),
            "{script}: {}",
            confined.stdout.text()
        );
        assert!(!confined.timed_out, "{script}");
        assert_eq!(outside(&yard), "canary", "{script}");
        assert!(!confined.stdout.text().contains("canary"), "{script}");
        let names = fs::read_dir(yard.path()).unwrap().count();
        assert_eq!(names, 2, "{script} left something outside");
        let free = bash(&script, yard.path(), None).await;
        assert_eq!(
            free.exit,
            Exit::Code(0),
            "control of {script}: {}",
            free.stderr.text()
        );
    }
}

#[tokio::test]
async fn files_outside_cannot_be_read() {
    check_refused("cat $YARD/outside").await;
    check_refused("ls $YARD").await;
    check_refused("ln -s $YARD/outside $YARD/inside/link; cat $YARD/inside/link").await;
    check_refused("ln $YARD/outside $YARD/inside/hard").await;
    check_refused("cat /proc/self/status > /dev/null").await;
    check_refused("cat /proc/$PPID/cmdline > /dev/null").await;
}

#[tokio::test]
async fn files_outside_cannot_be_changed() {
    check_refused("echo x > $YARD/new").await;
    check_refused("echo x >> $YARD/outside").await;
    check_refused("truncate -s 0 $YARD/outside").await;
    check_refused(": > $YARD/outside").await;
    check_refused("mkdir $YARD/dir").await;
    check_refused("rm $YARD/outside").await;
    check_refused("mv $YARD/outside $YARD/inside/").await;
}

#[tokio::test]
async fn files_inside_can_be_changed() {
    let (yard, sandbox) = yard();
    let script = "cd $YARD/inside && mkdir -p a/b && echo one > a/b/f && echo two >> a/b/f \
        && mv a/b/f g && ln -s g h && truncate -s 3 g && rm -r a && cat h \
        && echo x > /dev/null && head -c 1 /dev/urandom > /dev/null && sort g | wc -l";
    let finished = bash(script, yard.path(), Some(sandbox)).await;
    assert_eq!(finished.exit, Exit::Code(0), "{}", finished.stderr.text());
    assert_eq!(
        fs::read_to_string(yard.path().join("inside/g")).unwrap(),
        "one"
    );
}

#[tokio::test]
async fn a_missing_writable_path_prevents_the_start() {
    let sandbox = Sandbox::system_read_only().writing("/no/such/place");
    let program = Program::new("/bin/true").sandbox(Some(sandbox));
    let refused = Supervisor::new(1)
        .run(program, CancellationToken::new())
        .await;
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("/no/such/place"), "{message}");
}

#[tokio::test]
async fn no_socket_can_be_opened() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    check_refused(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}")).await;
    check_refused("exec 3<>/dev/udp/127.0.0.1/9").await;
    let perl = |domain: u8| format!("perl -e 'socket(my $s, {domain}, 1, 0) or exit 1'");
    check_refused(&perl(1)).await;
    check_refused(&perl(2)).await;
    check_refused(&perl(10)).await;
}

#[tokio::test]
async fn with_a_network_the_internet_is_reached_and_daemons_are_not() {
    let (yard, mut sandbox) = yard();
    sandbox.network = true;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    let reached = bash(&script, yard.path(), Some(sandbox.clone())).await;
    assert_eq!(reached.exit, Exit::Code(0), "{}", reached.stderr.text());
    let unix = "perl -e 'socket(my $s, 1, 1, 0) or exit 1'";
    let refused = bash(unix, yard.path(), Some(sandbox)).await;
    assert_eq!(refused.exit, Exit::Code(1));
    assert_eq!(bash(unix, yard.path(), None).await.exit, Exit::Code(0));
}

#[tokio::test]
async fn programs_may_still_talk_among_themselves() {
    let (yard, sandbox) = yard();
    let script =
        "perl -e 'use Socket; socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or exit 1'";
    let finished = bash(script, yard.path(), Some(sandbox)).await;
    assert_eq!(finished.exit, Exit::Code(0), "{}", finished.stderr.text());
}

#[tokio::test]
async fn a_process_group_of_others_cannot_be_joined() {
    // That of this test: in the same session, so that the kernel alone would allow it.
    let ours = rustix::process::getpgrp().as_raw_nonzero();
    let script = format!(
        "perl -e 'my $p = fork; if ($p) {{ waitpid $p, 0; exit($? >> 8) }} \
         exit(setpgrp(0, {ours}) ? 0 : 1)'"
    );
    check_refused(&script).await;
}

#[tokio::test]
async fn root_has_no_capabilities_and_gets_none_by_starting_programs() {
    let (_yard, sandbox) = yard();
    let program = Program::new("/bin/sh")
        .args(["-c", "sleep 1000 & echo up; wait"])
        .env("PATH", "/usr/bin:/bin")
        .sandbox(Some(sandbox));
    let mut running = Supervisor::new(1)
        .start(program, &CancellationToken::new())
        .unwrap();
    let mut line = String::new();
    let mut output = tokio::io::BufReader::new(running.stdout.as_mut().unwrap());
    tokio::io::AsyncBufReadExt::read_line(&mut output, &mut line)
        .await
        .unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap();
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        let has = status.lines().find_map(|line| line.strip_prefix(set));
        assert_eq!(has.map(str::trim), Some("0000000000000000"), "{set}");
    }
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
}

#[tokio::test]
async fn dangerous_calls_are_refused() {
    // Bad arguments on purpose: without the filter the kernel says anything but EPERM (1).
    for (name, number) in [
        ("io_uring_setup", libc::SYS_io_uring_setup),
        ("keyctl", libc::SYS_keyctl),
    ] {
        let script = format!("perl -e 'syscall({number}, 0, 0, 0, 0, 0); exit($! == 1 ? 1 : 0)'");
        let (yard, sandbox) = yard();
        let confined = bash(&script, yard.path(), Some(sandbox)).await;
        assert_eq!(confined.exit, Exit::Code(1), "{name}");
        assert_eq!(
            bash(&script, yard.path(), None).await.exit,
            Exit::Code(0),
            "{name}"
        );
    }
    let script = format!(
        "perl -e 'syscall({}, 0, 0); exit($! == 38 ? 0 : 1)'",
        libc::SYS_clone3
    );
    let (yard, sandbox) = yard();
    let confined = bash(&script, yard.path(), Some(sandbox)).await;
    assert_eq!(confined.exit, Exit::Code(0), "clone3 is said not to exist");
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn the_other_calling_convention_cannot_bypass_the_filter() {
    // getpid by its x32 number: EPERM (1) from the filter, ENOSYS (38) or a number without.
    let script = "perl -e 'my $r = syscall(0x40000000 + 39); exit($r < 0 && $! == 1 ? 1 : 0)'";
    check_refused(script).await;
}

#[tokio::test]
async fn other_programs_cannot_be_signalled() {
    let (yard, sandbox) = yard();
    let supervisor = Supervisor::new(1);
    let bystander = Program::new("/bin/sleep").args(["1000"]);
    let mut bystander = supervisor
        .start(bystander, &CancellationToken::new())
        .unwrap();
    let script = format!("kill -9 {}", bystander.id());
    let scoped = probe().landlock_abi.is_some_and(|abi| abi >= 6);
    let confined = bash(&script, yard.path(), Some(sandbox)).await;
    assert_eq!(
        confined.exit != Exit::Code(0),
        scoped,
        "{}",
        confined.stderr.text()
    );
    let free = bash(&script, yard.path(), None).await;
    assert_eq!(free.exit, Exit::Code(0));
    assert_eq!(
        bystander.wait().await.unwrap().0,
        Exit::Signal("SIGKILL".to_owned())
    );
}

#[tokio::test]
async fn memory_is_bounded() {
    let script = "perl -e '$x = \"x\" x (256 << 20); print length $x'";
    let (yard, mut sandbox) = yard();
    sandbox.limits.memory_bytes = 64 << 20;
    let confined = bash(script, yard.path(), Some(sandbox)).await;
    assert_ne!(confined.exit, Exit::Code(0));
    let free = bash(script, yard.path(), None).await;
    assert_eq!(free.stdout.text(), (256 << 20).to_string());
}

#[tokio::test]
async fn file_size_is_bounded() {
    let script = "head -c 100000 /dev/zero > $YARD/inside/big";
    let (yard, mut sandbox) = yard();
    sandbox.limits.file_bytes = 10_000;
    let confined = bash(script, yard.path(), Some(sandbox)).await;
    assert_ne!(confined.exit, Exit::Code(0));
    let big = yard.path().join("inside/big");
    assert_eq!(fs::metadata(&big).unwrap().len(), 10_000);
    assert_eq!(bash(script, yard.path(), None).await.exit, Exit::Code(0));
    assert_eq!(fs::metadata(&big).unwrap().len(), 100_000);
}

#[tokio::test]
async fn processor_time_is_bounded() {
    let (yard, mut sandbox) = yard();
    sandbox.limits.cpu_seconds = 1;
    let finished = bash("while :; do :; done", yard.path(), Some(sandbox)).await;
    assert!(matches!(finished.exit, Exit::Signal(_)) && !finished.timed_out);
}

/// RLIMIT_NPROC does not bind root, so what surely ends a fork bomb is that every group of
/// its processes is known.
#[tokio::test]
async fn a_fork_bomb_ends_with_the_call() {
    let (yard, mut sandbox) = yard();
    sandbox.limits.processes = 64;
    let script = "n=0; while [ $n -lt 60 ]; do (trap '' TERM; sleep 1000) & n=$((n + 1)); done; \
        echo up; wait";
    let program = Program::new("/bin/sh")
        .args(["-c", script])
        .env("PATH", "/usr/bin:/bin")
        .cwd(yard.path().join("inside"))
        .timeout(Duration::from_secs(2))
        .sandbox(Some(sandbox));
    let supervisor = Supervisor::new(1);
    let mut running = supervisor
        .start(program, &CancellationToken::new())
        .unwrap();
    let group = rustix::process::Pid::from_raw(running.id().cast_signed()).unwrap();
    running.wait().await.unwrap();
    while rustix::process::test_kill_process_group(group).is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
