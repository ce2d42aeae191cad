//! The product's own state, the user's home and the machine's secrets.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Yard, bash_argv, text};
use crate::harness::{BINARY, tree};

/// Ways to make or change the file `$F`; each does so where it may.
const CHANGES: &[&str] = &[
    "echo evil >> \"$F\"",
    "echo evil > \"$F.new\" && mv -f \"$F.new\" \"$F\"",
    "echo evil > here && mv -f here \"$F\"",
    "echo evil > here && ln -f here \"$F\"",
    "ln -sfn /dev/null \"$F\"",
    "rm -f \"$F\"; mkdir -p \"$F\"",
    "mkdir -p \"$(dirname \"$F\")\" && cp /etc/passwd \"$F\"",
    "python3 -c 'import os, sys; os.close(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_TRUNC))' \"$F\"",
    "mv \"$(dirname \"$F\")\" \"$(dirname \"$F\").old\" && mkdir \"$(dirname \"$F\")\"",
];

/// What lies at `path`: its kind, mode, owner and size, and its bytes where it is a file.
fn fingerprint(path: &Path) -> Option<(u32, u32, u64, Vec<u8>)> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    let bytes = if meta.is_file() {
        std::fs::read(path).unwrap_or_default()
    } else {
        Vec::new()
    };
    Some((meta.mode(), meta.uid(), meta.ino(), bytes))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        // What the gateway itself writes all the time comes and goes.
        .filter(|name| !name.starts_with("manyhands.db-") && !name.contains("audit.head"))
        .collect();
    names.sort();
    names
}

/// What must not be made or changed, there or not.
fn forbidden(yard: &Yard) -> Vec<PathBuf> {
    let home = yard.gateway.home.path();
    let user = yard.gateway.home.outside("user");
    let bin = Path::new(BINARY).parent().expect("a folder");
    [
        home.join("config.toml"),
        home.join("owner.token"),
        home.join("vault.key"),
        home.join("gateway.lock"),
        home.join("new"),
        home.join("hooks/pre"),
        home.join("host/new"),
        home.join("host/scratch/new"),
        home.join("blobs/skills/x/SKILL.md"),
        home.join("blobs/agents/main/x.md"),
        home.join("blobs/artifacts/x"),
        user.join(".bashrc"),
        user.join(".profile"),
        user.join(".ssh/authorized_keys"),
        user.join(".config/autostart/x.desktop"),
        user.join(".gitconfig"),
        bin.join("manyhands-evil"),
        PathBuf::from("/etc/ld.so.preload"),
        PathBuf::from("/usr/local/bin/manyhands-evil"),
        PathBuf::from("/etc/cron.d/manyhands-evil"),
        PathBuf::from("/dev/shm/manyhands-evil"),
        PathBuf::from("/var/tmp/manyhands-evil"),
    ]
    .into()
}

#[test]
fn config_skills_hooks_and_homes_cannot_be_made_or_changed() {
    let yard = Yard::new();
    let user = yard.gateway.home.outside("user");
    std::fs::create_dir_all(user.join(".ssh")).expect("a folder");
    std::fs::write(user.join(".bashrc"), "# mine\n").expect("a file");
    let home = yard.gateway.home.path();
    let (homes, users) = (names(&home), tree(&user));
    let binary = fingerprint(Path::new(BINARY));
    for path in forbidden(&yard) {
        let before = fingerprint(&path);
        for change in CHANGES {
            let said = yard.bash(&format!("F={}; {change}", text(&path)));
            let after = fingerprint(&path);
            assert!(after == before, "{}: {change}: {said:?}", path.display());
        }
    }
    assert_eq!(names(&home), homes);
    assert!(tree(&user) == users);
    assert!(fingerprint(Path::new(BINARY)) == binary);
    // The same changes work inside, hooks of a repository included, and outside when free.
    for path in [
        yard.work().join(".git/hooks/pre-commit"),
        yard.work().join("a/config.toml"),
    ] {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        for change in CHANGES {
            let before = (
                fingerprint(&path),
                names(&yard.work()),
                names(path.parent().expect("one")),
            );
            let said = yard.bash(&format!("F={}; {change}", text(&path)));
            let after = (
                fingerprint(&path),
                names(&yard.work()),
                names(path.parent().expect("one")),
            );
            let moved = change.starts_with("mv \"$(dirname");
            assert!(
                after != before || moved && said.code == 0,
                "{change}: {said:?}"
            );
            let _ = std::fs::remove_dir_all(&path);
        }
    }
    for change in CHANGES {
        yard.lay_out();
        let path = yard.outside().join("deep/file");
        std::fs::create_dir_all(yard.outside().join("deep")).expect("a folder");
        let before = tree(&yard.outside());
        let said = yard.freely(&bash_argv(&format!("F={}; {change}", text(&path))));
        assert!(
            tree(&yard.outside()) != before,
            "control of {change}: {said:?}"
        );
    }
    yard.assert_well();
}

/// A program owns the files of its user; owning is not enough to change their modes, times or owners.
#[test]
fn modes_owners_times_and_attributes_outside_cannot_be_changed() {
    let yard = Yard::new();
    let home = yard.gateway.home.path();
    let changes = [
        "os.chmod(f, 0o777)",
        "os.chmod(f, 0)",
        "os.chown(f, os.getuid(), os.getgid())",
        "os.utime(f, (1, 1))",
        "os.setxattr(f, 'user.manyhands', b'x')",
        "os.chmod(os.path.basename(f), 0o777, dir_fd=os.open(os.path.dirname(f), os.O_PATH))",
        "(os.chdir(os.path.dirname(f)), os.chmod(os.path.basename(f), 0o666))",
    ];
    let seen = |path: &Path| {
        let meta = std::fs::metadata(path).expect("it is there");
        (meta.mode(), meta.mtime(), meta.ctime(), meta.ctime_nsec())
    };
    let mut worked = Vec::new();
    for path in [
        yard.secret(),
        yard.outside(),
        home.join("owner.token"),
        home.join("vault.key"),
        home.join("config.toml"),
    ] {
        for change in changes {
            let before = seen(&path);
            let script = format!("import os; f = {:?}; {change}", text(&path));
            yard.shell(&["python3", "-c", &script].map(str::to_owned));
            if seen(&path) != before {
                let name = path
                    .file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned();
                worked.push(format!("{name}: {change}"));
            }
        }
    }
    assert!(worked.is_empty(), "from inside: {worked:#?}");
    for change in changes {
        let script = format!("import os; f = {:?}; {change}", text(&yard.secret()));
        let free = yard.freely(&["python3", "-c", &script].map(str::to_owned));
        assert_eq!(free.code, 0, "control of {change}: {free:?}");
    }
}

#[test]
fn no_secret_of_the_product_the_user_or_the_machine_is_read() {
    let yard = Yard::new();
    let user = yard.gateway.home.outside("user");
    std::fs::create_dir_all(user.join(".ssh")).expect("a folder");
    std::fs::write(user.join(".ssh/id_ed25519"), "a private key\n").expect("a file");
    std::fs::write(user.join(".netrc"), "password\n").expect("a file");
    let home = yard.gateway.home.path();
    let mut files = vec![
        home.join("owner.token"),
        home.join("vault.key"),
        home.join("config.toml"),
        home.join("manyhands.db"),
        home.join("manyhands.db-wal"),
        home.join("audit.head"),
        home.join("gateway.lock"),
        user.join(".ssh/id_ed25519"),
        user.join(".netrc"),
        format!("/proc/{}/environ", yard.gateway.daemon.pid()).into(),
        format!(
            "/proc/{}/root{}",
            yard.gateway.daemon.pid(),
            text(&yard.secret())
        )
        .into(),
        "/proc/self/environ".into(),
        "/proc/1/cmdline".into(),
        "/etc/hostname".into(),
        "/etc/machine-id".into(),
    ];
    if rustix::process::getuid().is_root() {
        files.extend(
            [
                "/etc/shadow",
                "/etc/gshadow",
                "/proc/1/environ",
                "/proc/kallsyms",
            ]
            .map(PathBuf::from),
        );
    }
    let mut tried = 0;
    for file in files {
        // What this machine lacks or hides from everybody proves nothing.
        if !std::fs::read(&file).is_ok_and(|bytes| !bytes.is_empty()) {
            continue;
        }
        tried += 1;
        for said in [
            yard.shell(&["cat".to_owned(), text(&file).to_owned()]),
            yard.bash(&format!(
                "cat {0}; while read -r l; do echo \"$l\"; done < {0}; exit 1",
                text(&file)
            )),
        ] {
            assert_eq!(
                (said.stdout.as_str(), said.code),
                ("", 1),
                "{}",
                file.display()
            );
        }
    }
    assert!(tried >= 10, "only {tried}");
    // What every program may know is no secret.
    assert_eq!(
        yard.shell(&["cat", "/etc/passwd"].map(str::to_owned)).code,
        0
    );
}

/// What the gateway happens to have open is not handed on.
#[test]
fn no_descriptor_is_inherited() {
    let home = crate::harness::Home::new();
    let secret = home.outside("held");
    std::fs::write(&secret, "held open\n").expect("a file");
    let mut command = home.wrap(std::process::Command::new("bash"));
    let script = "exec 7< \"$0\" 8>> \"$0\"; exec \"$@\"";
    command
        .args(["-c", script])
        .arg(&secret)
        .arg(BINARY)
        .args(crate::harness::UP);
    let gateway = crate::harness::Gateway::from(home, command);
    let open = "import os\nfor n in range(3, 1024):\n    try: os.fstat(n); print(n)\n    except OSError: pass";
    let list = |tool: &str, arguments| {
        let said = gateway.call(tool, arguments);
        assert_eq!(said["ok"], true, "{said}");
        said["result"]["stdout"].as_str().expect("text").to_owned()
    };
    let shell = list(
        "tool::shell_exec",
        serde_json::json!({ "argv": ["python3", "-c", open] }),
    );
    let cmd = format!("exec 5< /dev/null; python3 -c '{open}'");
    let bash = list("bash", serde_json::json!({ "cmd": cmd }));
    assert_eq!(
        (shell.as_str(), bash.as_str()),
        ("", "5\n"),
        "only what the script itself opened"
    );
    assert_eq!(list("bash", serde_json::json!({ "cmd": "cat <&7" })), "");
}
