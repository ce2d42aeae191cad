//! Real programs in the real sandbox. Each refusal has the same program succeeding where it may.

use super::*;
use crate::root::Root;

struct Fixture {
    dir: tempfile::TempDir,
    root: Root,
    supervisor: Supervisor,
}

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("scratch")).unwrap();
    std::fs::write(dir.path().join("secret"), "canary").unwrap();
    let root = Root::open(&dir.path().join("work")).unwrap();
    Fixture {
        dir,
        root,
        supervisor: Supervisor::new(4),
    }
}

impl Fixture {
    fn job(&self, script: &str) -> Job {
        Job {
            progress: manyhands_core::Progress::default(),
            program: "/bin/bash".into(),
            args: ["--noprofile", "--norc", "-c", script]
                .map(OsString::from)
                .to_vec(),
            cwd: self.root.jail().clone(),
            cwd_shown: self.root.folder().to_owned(),
            env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            writable: vec![self.root.jail().clone()],
            readable: Vec::new(),
            network: false,
            timeout: Duration::from_secs(120),
            max_stdout: 10_000,
            max_stderr: 10_000,
            max_kept: 1 << 20,
        }
    }

    async fn run(&self, job: Job) -> Ran {
        run(
            job,
            &self.supervisor,
            &self.dir.path().join("scratch"),
            &CancellationToken::new(),
        )
        .await
        .unwrap()
    }

    async fn bash(&self, script: &str) -> Ran {
        self.run(self.job(script)).await
    }
}

#[tokio::test]
async fn exit_code_and_both_streams_come_back_apart() {
    let ran = fixture().bash("echo out; echo err >&2; exit 3").await;
    assert_eq!(
        (
            ran.code(),
            ran.stdout.text.as_str(),
            ran.stderr.text.as_str()
        ),
        (3, "out\n", "err\n")
    );
    assert_eq!((ran.signal(), ran.timed_out), (None, false));
}

#[tokio::test]
async fn a_signal_is_named() {
    let ran = fixture().bash("kill -SEGV $$").await;
    assert_eq!((ran.code(), ran.signal()), (139, Some("SIGSEGV")));
}

#[tokio::test]
async fn a_timeout_says_so_and_grandchildren_are_gone() {
    let fixture = fixture();
    let script = "rm -f beat; (while :; do echo alive >> beat; /bin/sleep 0.01; done) & while [ ! -s beat ]; do :; done; echo begun; wait";
    let mut timeout = Duration::from_millis(500);
    let ran = loop {
        let mut job = fixture.job(script);
        job.timeout = timeout;
        let ran = fixture.run(job).await;
        if ran.stdout.text == "begun\n" || timeout > Duration::from_secs(20) {
            break ran;
        }
        timeout *= 4; // this machine was too slow to begin with it
    };
    assert_eq!(
        (ran.code(), ran.timed_out, ran.stdout.text.as_str()),
        (124, true, "begun\n")
    );
    let beat = || {
        std::fs::metadata(fixture.root.folder().join("beat"))
            .unwrap()
            .len()
    };
    let after = beat();
    // Something that takes longer than several beats: another program, run to its end.
    fixture
        .bash("for i in 1 2 3 4 5; do /bin/sleep 0.02; done")
        .await;
    assert_eq!(beat(), after);
    assert_eq!(fixture.supervisor.running(), 0);
}

#[tokio::test]
async fn it_works_in_its_folder_and_sees_nothing_beside() {
    let fixture = fixture();
    let secret = fixture.dir.path().join("secret");
    let ran = fixture
        .bash(&format!(
            "echo hi > mine && cat mine; cat {0}; echo x >> {0}; ls {1}",
            secret.display(),
            fixture.dir.path().display()
        ))
        .await;
    assert_eq!(ran.stdout.text, "hi\n");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "canary");
    assert_eq!(
        std::fs::read_to_string(fixture.root.folder().join("mine")).unwrap(),
        "hi\n"
    );
}

#[tokio::test]
async fn its_temporary_folder_is_its_own_and_goes_with_it() {
    let fixture = fixture();
    let ran = fixture.bash("echo x > $TMPDIR/t && cat $TMPDIR/t && echo $TMPDIR; echo y > /tmp/manyhands-shared-tmp").await;
    let folder = ran.stdout.text.lines().nth(1).unwrap();
    assert!(ran.stdout.text.starts_with("x\n"));
    eventually_empty(folder).await;
    assert!(!std::path::Path::new("/tmp/manyhands-shared-tmp").exists());
}

#[tokio::test]
async fn the_environment_holds_only_what_was_given() {
    let fixture = fixture();
    let mut job = fixture.job("env | sort");
    job.env.insert("GIVEN".to_owned(), "yes".to_owned());
    let ran = fixture.run(job).await;
    let names: Vec<&str> = ran
        .stdout
        .text
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    assert_eq!(
        names,
        ["GIVEN", "HOME", "PATH", "PWD", "SHLVL", "TMPDIR", "_"]
    );
}

#[tokio::test]
async fn it_starts_in_the_folder_it_was_given_even_if_that_is_moved() {
    let fixture = fixture();
    std::fs::create_dir(fixture.root.folder().join("sub")).unwrap();
    let sub = manyhands_guard::RelPath::parse("sub").unwrap();
    let mut job = fixture.job("echo here > file");
    job.cwd = fixture.root.sub(&sub).unwrap();
    std::fs::rename(
        fixture.root.folder().join("sub"),
        fixture.root.folder().join("moved"),
    )
    .unwrap();
    std::os::unix::fs::symlink(fixture.dir.path(), fixture.root.folder().join("sub")).unwrap();
    fixture.run(job).await;
    assert!(fixture.root.folder().join("moved/file").exists());
    assert!(!fixture.dir.path().join("file").exists());
}

#[tokio::test]
async fn endless_output_is_bounded_in_memory_and_kept_up_to_the_limit() {
    let fixture = fixture();
    let mut job = fixture.job("head -c 5000000 /dev/zero | tr '\\0' x");
    job.max_stdout = 1_000;
    let ran = fixture.run(job).await;
    assert_eq!(
        (ran.code(), ran.stdout.total, ran.stdout.truncated),
        (0, 5_000_000, true)
    );
    assert!(ran.stdout.text.len() < 1_100);
    assert_eq!(
        ran.stdout.retained.unwrap().metadata().unwrap().len(),
        1 << 20
    );
}

#[tokio::test]
async fn cancelling_ends_it() {
    let fixture = fixture();
    let cancel = CancellationToken::new();
    let scratch = fixture.dir.path().join("scratch");
    let job = fixture.job("echo begun > begun; sleep 1000");
    let started = fixture.root.folder().join("begun");
    let watch = async {
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        cancel.cancel();
    };
    let (ran, ()) = tokio::join!(run(job, &fixture.supervisor, &scratch, &cancel), watch);
    assert_eq!(ran.unwrap().signal(), Some("SIGTERM"));
    assert_eq!(fixture.supervisor.running(), 0);
}

#[tokio::test]
async fn no_socket_opens_unless_the_network_is_granted() {
    let fixture = fixture();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached");
    assert_eq!(fixture.bash(&script).await.stdout.text, "");
    let mut granted = fixture.job(&script);
    granted.network = true;
    assert_eq!(fixture.run(granted).await.stdout.text, "reached\n");
}

/// Waits until a folder is gone; it is removed behind the call's back.
async fn eventually_empty(folder: &str) {
    let going = async {
        while std::path::Path::new(folder).exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), going).await;
    assert!(waited.is_ok(), "{folder} is still there");
}

#[tokio::test]
async fn a_deep_and_closed_temporary_folder_is_removed_too() {
    let fixture = fixture();
    // Not by the shell, which looks at the whole path at every step.
    let deep = r#"perl -e 'chdir $ENV{TMPDIR}; for (1 .. 3000) { mkdir "d" and chdir "d" or die } mkdir "closed", 0' && echo $TMPDIR"#;
    let ran = fixture.bash(deep).await;
    assert_eq!(ran.code(), 0, "{}", ran.stderr.text);
    eventually_empty(ran.stdout.text.trim()).await;
}
