//! Real programs that change modes, owners, times and groups. Each refusal has the same program
//! succeeding where it may.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, getegid, geteuid, test_kill_process};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::sandbox::Sandbox;
use crate::supervisor::{Exit, Finished, Program, Supervisor};

/// A folder `inside` that may be written, and a file `outside` beside it.
struct Fixture(TempDir);

/// What must not change of a file.
type State = (u32, u32, u32, i64);

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("inside")).unwrap();
        let fixture = Self(dir);
        for name in ["outside", "inside/file"] {
            fs::write(fixture.path(name), "text").unwrap();
            fs::set_permissions(fixture.path(name), fs::Permissions::from_mode(0o644)).unwrap();
        }
        fixture
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn mode(&self, name: &str) -> u32 {
        fs::symlink_metadata(self.path(name)).unwrap().mode() & 0o7777
    }

    fn modified(&self, name: &str) -> i64 {
        fs::symlink_metadata(self.path(name)).unwrap().mtime()
    }

    async fn run(&self, program: Program, confined: bool) -> Finished {
        let sandbox = Sandbox::system_read_only().writing(self.path("inside"));
        let program = program
            .env("PATH", "/usr/bin:/bin")
            .env("YARD", self.0.path())
            .cwd(self.path("inside"))
            .timeout(Duration::from_secs(120))
            .sandbox(confined.then_some(sandbox));
        let supervisor = Supervisor::new(1);
        let finished = supervisor.run(program, CancellationToken::new()).await;
        finished.unwrap()
    }

    async fn bash(&self, script: &str) -> Finished {
        let program = Program::new("/bin/bash").args(["-c", script]);
        self.run(program, true).await
    }

    /// Runs Perl with `syscall` at hand, and gives back what it printed.
    async fn perl(&self, script: &str) -> String {
        let program = Program::new("/usr/bin/perl").args(["-e", script]);
        let finished = self.run(program, true).await;
        assert_eq!(finished.stderr.text(), "", "{script}");
        finished.stdout.text()
    }

    #[track_caller]
    fn assert_ok(finished: &Finished) {
        assert_eq!(finished.exit, Exit::Code(0), "{}", finished.stderr.text());
        assert_eq!(finished.stderr.text(), "");
    }
}

fn state(path: &Path) -> State {
    let meta = fs::metadata(path).unwrap();
    (meta.mode(), meta.uid(), meta.gid(), meta.mtime())
}

#[tokio::test]
async fn modes_change_by_every_name_a_file_inside_has() {
    let fixture = Fixture::new();
    symlink("file", fixture.path("inside/link")).unwrap();
    symlink(fixture.path("inside"), fixture.path("inside/here")).unwrap();
    fs::create_dir(fixture.path("inside/sub")).unwrap();
    let full = fixture.path("inside/file");
    for (mode, name) in [
        ("600", "file"),
        ("604", "./sub/../file"),
        ("640", "link"),
        ("700", full.to_str().unwrap()),
        ("711", "here/here/file"),
    ] {
        Fixture::assert_ok(&fixture.bash(&format!("chmod {mode} {name}")).await);
        let expect = u32::from_str_radix(mode, 8).unwrap();
        assert_eq!(fixture.mode("inside/file"), expect, "{name}");
    }
    // By descriptor, by a folder's descriptor, and as libc spells a descriptor's path.
    let told = fixture
        .perl(&format!(
            "open(F, '<', 'file'); chmod(0601, *F) or print $!; print((stat 'file')[2] & 07777);\
             chmod(0602, '/proc/self/fd/' . fileno(F)) or print $!; print ' ', (stat 'file')[2] & 07777;\
             opendir(D, 'sub'); syscall({}, fileno(D), my $p = '../file', 0603) and print $!;\
             print ' ', (stat 'file')[2] & 07777; unlink 'file';\
             chmod(0604, *F) or print $!; print ' ', (stat F)[2] & 07777",
            libc::SYS_fchmodat
        ))
        .await;
    assert_eq!(told, format!("{} {} {} {}", 0o601, 0o602, 0o603, 0o604));
}

#[tokio::test]
async fn times_and_owners_change_inside() {
    let fixture = Fixture::new();
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let script = format!(
        "touch -d @1000000000 file && ln -s nowhere link && touch -h -d @1100000000 link && \
         chown {user}:{group} file && chown -h {user} link && chgrp {group} . && mkdir d && chmod g+s d && \
         cp -p file copy && touch copy2 && touch -r file copy2 && install -m 750 file e && \
         perl -e 'utime(1200000000, 1200000000, \"file\") == 1 or die $!; open(F, \"<\", \"e\"); \
         utime(1300000000, 1300000000, *F) == 1 or die $!'"
    );
    Fixture::assert_ok(&fixture.bash(&script).await);
    for (name, time) in [
        ("inside/file", 1_200_000_000),
        ("inside/link", 1_100_000_000),
        ("inside/copy", 1_000_000_000),
        ("inside/copy2", 1_000_000_000),
        ("inside/e", 1_300_000_000),
    ] {
        assert_eq!(fixture.modified(name), time, "{name}");
    }
    assert_eq!(
        (fixture.mode("inside/e"), fixture.mode("inside/d") & 0o2000),
        (0o750, 0o2000)
    );
}

/// Each changes `outside`, or something of the system's where the user is root.
const OUTSIDE: &[&str] = &[
    "chmod 777 $YARD/outside",
    "chmod 777 ../outside",
    "ln -sf $YARD/outside link; chmod 777 link",
    "ln -sfn $YARD out; chmod 777 out/outside",
    "touch -d @1 $YARD/outside",
    "touch -h -d @1 $YARD/outside",
    "chown $(id -u) $YARD/outside",
    "chown -h $(id -u):$(id -g) ../outside",
    "perl -e 'utime(1, 1, \"../outside\") == 1 or exit 1'",
    "perl -e 'chmod(0777, \"/proc/self/cwd/../outside\") == 1 or exit 1'",
    "chmod 777 $YARD",
];

#[tokio::test]
async fn nothing_outside_changes_by_any_name() {
    let fixture = Fixture::new();
    let before = (state(&fixture.path("outside")), state(fixture.0.path()));
    for script in OUTSIDE {
        let refused = fixture.bash(script).await;
        assert_ne!(refused.exit, Exit::Code(0), "{script}");
        let after = (state(&fixture.path("outside")), state(fixture.0.path()));
        assert_eq!(after, before, "{script}");
        let program = Program::new("/bin/bash").args(["-c", script]);
        let free = fixture.run(program, false).await;
        assert_eq!(
            free.exit,
            Exit::Code(0),
            "control of {script}: {}",
            free.stderr.text()
        );
        fs::set_permissions(fixture.path("outside"), fs::Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(fixture.0.path(), fs::Permissions::from_mode(before.1.0)).unwrap();
        let then = fs::FileTimes::new()
            .set_modified(std::time::UNIX_EPOCH + Duration::from_secs(before.0.3 as u64));
        let file = fs::File::options()
            .write(true)
            .open(fixture.path("outside"));
        file.unwrap().set_times(then).unwrap();
    }
}

/// A descriptor of what may only be read gives no right to change it, whoever owns it.
#[tokio::test]
async fn what_may_be_read_cannot_be_changed_by_descriptor() {
    let fixture = Fixture::new();
    let lent = tempfile::tempdir().unwrap();
    let file = lent.path().join("lent");
    fs::write(&file, "text").unwrap();
    let before = state(&file);
    let script = format!(
        "open(F, '<', '{}') or die; print chmod(0777, *F) + utime(1, 1, *F) + chown($<, -1, *F)",
        file.display()
    );
    let program = || Program::new("/usr/bin/perl").args(["-e", &script]);
    let sandbox = Sandbox::system_read_only()
        .writing(fixture.path("inside"))
        .reading(lent.path());
    let supervisor = Supervisor::new(1);
    let confined = program().sandbox(Some(sandbox));
    let confined = supervisor.run(confined, CancellationToken::new()).await;
    assert_eq!(confined.unwrap().stdout.text(), "0");
    assert_eq!(state(&file), before);
    let free = supervisor.run(program(), CancellationToken::new()).await;
    assert_eq!(free.unwrap().stdout.text(), "3");
}

#[tokio::test]
async fn no_file_runs_as_its_owner_or_group() {
    let fixture = Fixture::new();
    for script in [
        "chmod u+s file",
        "chmod 2755 file",
        "install -m 4755 file new",
        "perl -e 'sysopen(F, \"new\", 0101, 04755) or exit 1'",
        "perl -e 'umask 0; sysopen(F, \"new\", 0101, 02755) or exit 1'",
        "perl -e 'sysopen(F, \".\", 020200002, 04755) or exit 1'", // O_TMPFILE | O_RDWR
    ] {
        let refused = fixture.bash(script).await;
        assert_ne!(refused.exit, Exit::Code(0), "{script}");
        let program = Program::new("/bin/bash").args(["-c", script]);
        let free = fixture.run(program, false).await;
        assert_eq!(
            free.exit,
            Exit::Code(0),
            "control of {script}: {}",
            free.stderr.text()
        );
        let _ = fs::remove_file(fixture.path("inside/new"));
        fs::set_permissions(
            fixture.path("inside/file"),
            fs::Permissions::from_mode(0o644),
        )
        .unwrap();
    }
    Fixture::assert_ok(
        &fixture
            .bash("chmod +t . && chmod 755 file && chmod 1644 file")
            .await,
    );
}

/// Without access for its owner no later call could start in the folder, not even to repair it.
#[tokio::test]
async fn a_program_cannot_lock_everybody_out_of_its_folder() {
    let fixture = Fixture::new();
    for mode in ["0", "500", "u-x"] {
        let refused = fixture.bash(&format!("chmod {mode} .")).await;
        assert_ne!(refused.exit, Exit::Code(0), "{mode}");
    }
    Fixture::assert_ok(
        &fixture
            .bash("mkdir d && chmod 0 d && chmod 711 . && touch -d @1 .")
            .await,
    );
    assert_eq!(
        (fixture.mode("inside"), fixture.mode("inside/d")),
        (0o711, 0)
    );
}

#[tokio::test]
async fn files_can_only_be_owned_by_oneself() {
    let fixture = Fixture::new();
    for other in ["12345", ":12345", "12345:12345"] {
        let refused = fixture.bash(&format!("chown {other} file")).await;
        assert_ne!(refused.exit, Exit::Code(0), "{other}");
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    Fixture::assert_ok(&fixture.bash(&format!("chown {user}:{group} file")).await);
    let meta = fs::metadata(fixture.path("inside/file")).unwrap();
    assert_eq!((meta.uid(), meta.gid()), (user, group));
}

/// The broker answers what it cannot read or find as the kernel does, and goes on.
#[tokio::test]
async fn malformed_arguments_each_get_an_error() {
    let fixture = Fixture::new();
    let (chmodat, utimensat) = (libc::SYS_fchmodat, libc::SYS_utimensat);
    let cases = [
        (format!("{chmodat}, -100, 0, 0600"), libc::EFAULT),
        (format!("{chmodat}, -100, 1 << 46, 0600"), libc::EFAULT),
        (format!("{chmodat}, -100, -1, 0600"), libc::EFAULT),
        (format!("{chmodat}, -100, my $a = '', 0600"), libc::ENOENT),
        (
            format!("{chmodat}, -100, my $a = 'none', 0600"),
            libc::ENOENT,
        ),
        (
            format!("{chmodat}, -100, my $a = 'none/none', 0600"),
            libc::ENOENT,
        ),
        (
            format!("{chmodat}, -100, my $a = 'file/none', 0600"),
            libc::ENOTDIR,
        ),
        (
            format!("{chmodat}, -100, my $a = 'x/' x 3000, 0600"),
            libc::ENAMETOOLONG,
        ),
        (
            format!("{chmodat}, -100, my $a = 'loop', 0600"),
            libc::ELOOP,
        ),
        (format!("{chmodat}, 99, my $a = 'file', 0600"), libc::EBADF),
        (format!("{chmodat}, 0, my $a = 'file', 0600"), libc::EACCES),
        (format!("{}, 99, 0600", libc::SYS_fchmod), libc::EBADF),
        (format!("{}, 1, 0600", libc::SYS_fchmod), libc::EPERM), // a pipe
        (
            format!("{utimensat}, -100, my $a = 'file', 5, 0"),
            libc::EFAULT,
        ),
        (
            format!("{utimensat}, -100, my $a = 'file', 0, 0xff"),
            libc::EINVAL,
        ),
        (
            format!("{utimensat}, -100, my $a = 'file', my $b = pack('q4', 1, 2e9, 1, 0), 0"),
            libc::EINVAL,
        ),
        (
            format!("{chmodat}, -100, my $a = '/proc/self/fd/99', 0600"),
            libc::EBADF,
        ),
        // Of other places nothing is told, be there something or not.
        (
            format!("{chmodat}, -100, my $a = '/etc/passwd', 0600"),
            libc::EPERM,
        ),
        (
            format!("{chmodat}, -100, my $a = '/etc/none', 0600"),
            libc::EACCES,
        ),
        (
            format!("{chmodat}, -100, my $a = '/proc/1/cwd', 0600"),
            libc::EACCES,
        ),
        (
            format!("{chmodat}, -100, my $a = '/proc/self/root/etc', 0600"),
            libc::EACCES,
        ),
        (
            format!("{chmodat}, -100, my $a = '/dev/null', 0600"),
            libc::EPERM,
        ),
    ];
    symlink("loop", fixture.path("inside/loop")).unwrap();
    let script: String = cases
        .iter()
        .map(|(call, _)| format!("syscall({call}) == 0 ? print '0 ' : print $! + 0, ' ';"))
        .collect();
    let told = fixture.perl(&script).await;
    let told: Vec<&str> = told.split_whitespace().collect();
    for ((call, errno), told) in cases.iter().zip(&told) {
        assert_eq!(*told, errno.to_string(), "{call}");
    }
    assert_eq!(told.len(), cases.len());
    assert_eq!(fixture.mode("inside/file"), 0o644);
    let works = format!("print syscall({chmodat}, -100, my $a = 'file', 0600)");
    assert_eq!(fixture.perl(&works).await, "0");
    assert_eq!(fixture.mode("inside/file"), 0o600);
}

#[tokio::test]
async fn a_flood_of_calls_from_many_processes_is_answered() {
    let fixture = Fixture::new();
    let script = "for my $n (1 .. 40) { next if fork; for (1 .. 100) { \
        chmod(0600 + $_ % 8, 'file') == 1 or exit 1; chmod(0777, '../outside') and exit 2 } exit 0 } \
        my $bad = 0; while (wait > 0) { $bad++ if $? } print $bad";
    assert_eq!(fixture.perl(script).await, "0");
    assert_eq!(fixture.mode("outside"), 0o644);
}

#[tokio::test]
async fn a_timeout_ends_its_own_group_and_nothing_else() {
    let fixture = Fixture::new();
    let finished = fixture
        .bash("timeout 0.2 sleep 1000; echo after $?; timeout 100 sh -c 'exit 3'; echo $?")
        .await;
    assert_eq!(finished.stdout.text(), "after 124\n3\n");
    Fixture::assert_ok(&finished);
    let finished = fixture
        .bash("setsid sh -c 'kill -KILL 0'; echo after $?")
        .await;
    assert_eq!(finished.stdout.text(), "after 137\n");
}

fn runs(id: &str) -> bool {
    let zombie =
        fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| stat.contains(") Z "));
    let id = Pid::from_raw(id.parse().unwrap()).unwrap();
    test_kill_process(id).is_ok() && !zombie
}

#[tokio::test]
async fn sessions_and_groups_end_with_the_call() {
    let fixture = Fixture::new();
    let script = "set -m; sleep 1000 & echo $!; setsid sleep 1000 & echo $!; \
        setsid -f sh -c 'echo $$ > one; trap \"\" TERM; while :; do sleep 1000; done'; \
        perl -MPOSIX -e 'exit if fork; setsid; exit if fork; setpgrp; open(F, \">\", \"two\"); \
        print F \"$$\\n\"; close F; sleep 1000'; \
        until [ -s one ] && [ -s two ]; do :; done; cat one two; disown -a";
    let finished = fixture.bash(script).await;
    assert_eq!(finished.exit, Exit::Code(0), "{}", finished.stderr.text());
    let ids = finished.stdout.text();
    assert_eq!(ids.lines().count(), 4, "{ids}");
    for id in ids.lines() {
        assert!(!runs(id), "{id} of {ids}");
    }
}

/// However many it asks for: each is known, or is not made.
#[tokio::test]
async fn a_bomb_of_sessions_ends_with_the_call() {
    let fixture = Fixture::new();
    let script = "use POSIX; $| = 1; my ($made, $refused) = (0, 0); for (1 .. 200) { pipe(R, W); \
        my $p = fork; if (!$p) { my $s = setsid; syswrite W, $s > 0 ? 'y' : 'n'; $SIG{TERM} = 'IGNORE'; \
        sleep 1000; exit } close W; sysread R, my $c, 1; $c eq 'y' ? $made++ : $refused++; \
        print \"$p\\n\" } print STDERR \"$made $refused\"; exit 0";
    let program = Program::new("/usr/bin/perl").args(["-e", script]);
    let finished = fixture.run(program, true).await;
    assert_eq!(finished.stderr.text(), "64 136");
    for id in finished.stdout.text().lines() {
        assert!(!runs(id), "{id}");
    }
}

/// ExtraGroups come and go by the hundred in an ordinary script.
#[tokio::test]
async fn ended_groups_free_their_slots() {
    let fixture = Fixture::new();
    let finished = fixture
        .bash("for i in $(seq 150); do setsid -w true || exit 1; done; echo all")
        .await;
    assert_eq!(
        finished.stdout.text(),
        "all\n",
        "{}",
        finished.stderr.text()
    );
}
