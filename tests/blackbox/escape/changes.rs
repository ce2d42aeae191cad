//! Modes, owners and times: changed in the workspace, and nowhere else, whatever is swapped.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Yard, bash_argv, text};

/// How often each change is tried while folders and links change places.
const ROUNDS: usize = 2_000;

/// A folder and a file that turn into links to the outside and back, and changes by their names.
/// Prints how many changes were made and how many refused.
const RACE: &str = r#"
import ctypes, os, platform, signal, sys
outside, rounds = sys.argv[1], int(sys.argv[2])
if not os.path.lexists("link"):
    os.mkdir("swap")
    open("swap/secret", "w").close()
    os.symlink(outside, "other")
    open("file", "w").close()
    os.symlink(outside + "/secret", "link")
libc = ctypes.CDLL(None, use_errno=True)
renameat2 = 276 if platform.machine() == "aarch64" else 316
child = os.fork()
if child == 0:
    while True:
        for pair in ((b"swap", b"other"), (b"file", b"link")):
            libc.syscall(renameat2, -100, pair[0], -100, pair[1], 2)
made = refused = 0
folder = os.open(".", os.O_RDONLY)
for n in range(rounds):
    for change in (
        lambda: os.chmod("swap/secret", 0o700 + n % 64),
        lambda: os.chmod("file", 0o700 + n % 64),
        lambda: os.chmod("file", 0o700 + n % 64, dir_fd=folder),
        lambda: os.chown("swap/secret", os.getuid(), os.getgid()),
        lambda: os.utime("file", (1, n)),
        lambda: os.utime("../" + os.path.basename(os.getcwd()) + "/swap/secret", (1, n)),
    ):
        try:
            change()
            made += 1
        except PermissionError:
            refused += 1
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print(made, refused)
"#;

/// What must stay as it is of a file: owner, mode, and times of its bytes and of the rest.
fn state(path: &Path) -> [i64; 5] {
    let meta = std::fs::metadata(path).expect("a file");
    [
        meta.uid().into(),
        meta.gid().into(),
        meta.mode().into(),
        meta.mtime(),
        meta.ctime_nsec(),
    ]
}

#[test]
fn swapped_folders_and_links_never_lead_a_change_outside() {
    let yard = Yard::new();
    yard.put("race.py", RACE, 0o644);
    let argv = |rounds: usize| {
        let rounds = rounds.to_string();
        ["python3", "race.py", text(&yard.outside()), &rounds].map(str::to_owned)
    };
    let before = (state(&yard.secret()), state(&yard.outside()));
    let said = yard.shell(&argv(ROUNDS));
    assert_eq!(said.code, 0, "{said:?}");
    let counts: Vec<usize> = said
        .stdout
        .split_whitespace()
        .map(|count| count.parse().expect("a number"))
        .collect();
    let all = ROUNDS * 6;
    // Both faces were met, so the race was one.
    assert!(counts.iter().all(|count| *count > all / 50), "{said:?}");
    assert_eq!(counts.iter().sum::<usize>(), all);
    assert_eq!((state(&yard.secret()), state(&yard.outside())), before);
    // Unconfined, the same race leads outside. Whoever wins a single round is chance, so it may take several.
    let led_outside = (0..50).any(|_| {
        let free = yard.freely(&argv(ROUNDS / 10));
        assert_eq!(free.code, 0, "control: {free:?}");
        state(&yard.secret()) != before.0
    });
    assert!(led_outside, "control: nothing changed");
    yard.assert_well();
}

/// Each changes something outside where it may; `$OUT` is the folder outside.
const CHANGES: &[&str] = &[
    "chmod 777 $OUT/secret",
    "chmod -R 777 $OUT",
    "chown -R $(id -u):$(id -g) $OUT/secret",
    "chgrp $(id -g) $OUT",
    "touch -d @1 $OUT/secret",
    "touch -h -d @1 ../outside/secret",
    "cp -p --attributes-only /etc/passwd $OUT/secret",
    "ln -s $OUT/secret s && chmod 777 s",
    "ln -s $OUT o && touch -d @1 o/secret",
    "cd $OUT && chmod 777 secret",
    "cd $OUT && python3 -c 'import os; os.chmod(\"secret\", 0o777, dir_fd=os.open(\".\", os.O_PATH))'",
    "python3 -c 'import os; fd = os.open(os.environ[\"OUT\"] + \"/secret\", os.O_PATH); os.chmod(f\"/proc/self/fd/{fd}\", 0o777)'",
    "python3 -c 'import os; os.utime(os.environ[\"OUT\"] + \"/secret\", (1, 1), follow_symlinks=False)'",
    "python3 -c 'import os; os.chdir(os.environ[\"OUT\"]); os.chown(\"secret\", os.getuid(), -1)'",
];

#[test]
fn modes_owners_and_times_outside_stay_and_inside_change() {
    let yard = Yard::new();
    for change in CHANGES {
        yard.lay_out();
        let script = format!("export OUT={}\n{change}", text(&yard.outside()));
        let before = (state(&yard.secret()), state(&yard.outside()));
        let said = yard.bash(&script);
        assert_ne!(said.code, 0, "{change}: {said:?}");
        assert_eq!(
            (state(&yard.secret()), state(&yard.outside())),
            before,
            "{change}"
        );
        let free = yard.freely(&bash_argv(&script));
        let after = (state(&yard.secret()), state(&yard.outside()));
        assert!(
            free.code == 0 && after != before,
            "control of {change}: {free:?}"
        );
        // The same inside, where it is allowed.
        let inside = yard.work().join("outside");
        std::fs::create_dir(&inside).expect("a folder");
        std::fs::write(inside.join("secret"), "mine").expect("a file");
        let before = (state(&inside.join("secret")), state(&inside));
        let script = format!(
            "export OUT={}\nmkdir -p x && cd x\nrm -f s o\n{change}",
            text(&inside)
        );
        let said = yard.bash(&script);
        let after = (state(&inside.join("secret")), state(&inside));
        assert!(
            said.code == 0 && after != before,
            "inside, {change}: {said:?}"
        );
    }
    yard.assert_well();
}

#[test]
fn no_program_of_the_workspace_runs_as_its_owner() {
    let yard = Yard::new();
    yard.put("run", "#!/bin/sh\n", 0o755);
    for script in [
        "chmod u+s run",
        "chmod g+s run",
        "install -m 4755 run copy",
        "python3 -c 'import os; os.umask(0); os.open(\"new\", os.O_CREAT | os.O_WRONLY, 0o4755)'",
        "python3 -c 'import os, stat; os.mknod(\"node\", stat.S_IFREG | 0o4755)'",
    ] {
        let said = yard.bash(script);
        assert_ne!(said.code, 0, "{script}: {said:?}");
        for entry in std::fs::read_dir(yard.work()).expect("the workspace") {
            let meta = entry.expect("an entry").metadata().expect("a file");
            assert_eq!(meta.mode() & 0o6000, 0, "{script}");
        }
        let free = yard.freely(&bash_argv(script));
        assert_eq!(free.code, 0, "control of {script}: {free:?}");
    }
    assert_eq!(yard.bash("chmod 700 run && ./run").code, 0);
}
