//! Upgrading through the real binary: what is verified, what is kept, and the way back from every failure and every
//! interruption.

mod interrupted;
mod releases;

use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::harness::{Daemon, Ran, eventually, run};
use crate::http::Request;
use crate::service::stage::{Stage, link};
use releases::{key, name, scripted, serve, signed};

/// A gateway as a service, with something to lose.
struct Desk {
    stage: Stage,
    token: String,
}

impl Desk {
    fn new() -> Self {
        let stage = Stage::new();
        stage.install();
        let token = std::fs::read_to_string(stage.home.path().join("owner.token"));
        let token = token.expect("the owner's token").trim().to_owned();
        let desk = Self { stage, token };
        desk.write("kept");
        desk
    }

    /// Writes the file that has to survive.
    #[track_caller]
    fn write(&self, content: &str) {
        let said = self.call(
            "gsv__WriteFile",
            json!({ "path": "memory/a.md", "content": content }),
        );
        assert_eq!(said["ok"], true, "{said}");
    }

    /// The file that has to survive.
    #[track_caller]
    fn content(&self) -> String {
        let said = self.call("gsv__ReadFile", json!({ "path": "memory/a.md" }));
        said["result"]["content"]
            .as_str()
            .unwrap_or_else(|| panic!("{said}"))
            .to_owned()
    }

    #[track_caller]
    fn call(&self, tool: &str, arguments: serde_json::Value) -> serde_json::Value {
        let request = Request::post(&format!("/api/tools/{tool}"), &arguments).bearer(&self.token);
        request.send(self.stage.address).json()
    }

    /// Upgrades to the release in an archive, unsigned.
    #[track_caller]
    fn upgrade(&self, archive: &Path) -> Ran {
        let archive = archive.display().to_string();
        self.stage.cli(&[
            "upgrade",
            &archive,
            "--allow-unsigned",
            "--yes",
            "--timeout",
            "30",
        ])
    }

    /// The version that the installed program says it is.
    fn version(&self) -> String {
        let said = self.stage.cli(&["--version"]).ok().stdout;
        said.split_whitespace()
            .nth(1)
            .expect("a version")
            .to_owned()
    }

    /// That the gateway runs, with all that was stored, and nothing is left of an upgrade.
    #[track_caller]
    fn assert_whole(&self, content: &str) {
        assert!(self.stage.is_ready(), "it runs");
        assert_eq!(self.content(), content);
        self.stage.cli(&["audit", "verify"]).ok();
        let home = self.stage.home.path();
        assert!(!home.join("upgrade.json").exists(), "no journal is left");
        assert!(
            !self.stage.path("bin/manyhands.new").exists(),
            "no program is left"
        );
        let left = std::fs::read_dir(home.join("backups"))
            .into_iter()
            .flatten();
        let mut left = left.map(|entry| entry.expect("an entry").file_name());
        let hidden = left.find(|name| name.to_string_lossy().starts_with('.'));
        assert_eq!(hidden, None, "no temporary file is left");
    }

    /// That nothing happened: not even the gateway was restarted.
    #[track_caller]
    fn assert_unchanged(&self, pid: Option<rustix::process::Pid>) {
        assert_eq!(self.stage.pid(), pid, "the gateway went on");
        assert_eq!(self.version(), env!("CARGO_PKG_VERSION"));
        assert!(!self.stage.path("bin/manyhands.previous").exists());
        self.assert_whole("kept");
    }
}

#[test]
fn a_signed_release_is_verified_backed_up_swapped_and_started() {
    let desk = Desk::new();
    let archive = signed(&desk.stage).display().to_string();
    let before = desk.stage.pid();
    let ran = desk
        .stage
        .cli(&["upgrade", &archive, "--public-key", &key(), "--check"])
        .ok();
    assert!(ran.stdout.contains("9.9.9 is newer than"), "{ran:?}");
    assert!(
        ran.stdout.contains("signature and checksum verified"),
        "{ran:?}"
    );
    desk.assert_unchanged(before);
    let ran = desk
        .stage
        .cli(&["upgrade", &archive, "--public-key", &key()]);
    assert!(
        ran.stderr.contains("not confirmed, so nothing was changed"),
        "{ran:?}"
    );
    desk.assert_unchanged(before);
    let ran = desk
        .stage
        .cli(&["upgrade", &archive, "--public-key", &key(), "--yes"])
        .ok();
    assert!(ran.stdout.contains("upgraded manyhands"), "{ran:?}");
    assert_eq!(desk.version(), "9.9.9");
    assert_ne!(desk.stage.pid(), before);
    desk.assert_whole("kept");
    let old = run(
        desk.stage
            .command_of(&desk.stage.path("bin/manyhands.previous"), &["--version"]),
        "",
    );
    assert!(old.ok().stdout.contains(env!("CARGO_PKG_VERSION")));
    let backups = desk.stage.home.path().join("backups");
    let backup = std::fs::read_dir(backups)
        .expect("backups")
        .next()
        .expect("a backup");
    let backup = backup.expect("an entry").path();
    let elsewhere = desk.stage.path("elsewhere").display().to_string();
    let file = backup.display().to_string();
    let restore = desk.stage.command_of(
        &desk.stage.path("bin/real"),
        &["--home", &elsewhere, "restore", &file, "--trust-settings"],
    );
    run(restore, "").ok();
}

#[test]
fn what_is_not_verified_is_refused_and_changes_nothing() {
    let desk = Desk::new();
    let pid = desk.stage.pid();
    let archive = signed(&desk.stage);
    let folder = desk.stage.path("release");
    let file = archive.display().to_string();
    let refused = |args: &[&str], words: &str| {
        let ran = desk
            .stage
            .cli(&[&["upgrade", &file, "--yes"], args].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(words), "{words:?}: {ran:?}");
    };
    refused(&[], "no public key is built into this program");
    let other = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    refused(
        &["--public-key", other],
        "the signature of SHA256SUMS is wrong",
    );
    refused(
        &["--public-key", "nonsense"],
        "neither a file nor a minisign public key",
    );
    let sums = std::fs::read_to_string(folder.join("SHA256SUMS")).expect("the checksums");
    let changed = sums.replacen(['a', 'b', 'c'], "d", 1);
    std::fs::write(folder.join("SHA256SUMS"), changed).expect("the checksums");
    refused(
        &["--public-key", &key()],
        "the signature of SHA256SUMS is wrong",
    );
    std::fs::write(folder.join("SHA256SUMS"), &sums).expect("the checksums");
    let bytes = std::fs::read(&archive).expect("the archive");
    let mut spoiled = bytes.clone();
    *spoiled.last_mut().expect("a byte") ^= 1;
    std::fs::write(&archive, spoiled).expect("the archive");
    refused(&["--public-key", &key()], "it is damaged or was changed");
    std::fs::write(&archive, bytes).expect("the archive");
    std::fs::remove_file(folder.join("SHA256SUMS.minisig")).expect("the signature");
    refused(&["--public-key", &key()], "there is no SHA256SUMS.minisig");
    std::fs::remove_file(folder.join("SHA256SUMS")).expect("the checksums");
    refused(&["--allow-unsigned"], "there is no SHA256SUMS beside");
    std::fs::write(folder.join("SHA256SUMS"), "").expect("the checksums");
    refused(
        &["--allow-unsigned"],
        "SHA256SUMS does not list manyhands-9.9.9",
    );
    desk.assert_unchanged(pid);
    std::fs::write(folder.join("SHA256SUMS"), sums).expect("the checksums");
    let ran = desk.upgrade(&archive).ok();
    assert!(
        ran.stderr
            .contains("warning: the signature is not verified"),
        "{ran:?}"
    );
    assert_eq!(desk.version(), "9.9.9");
}

#[test]
fn a_release_is_found_at_a_url_and_through_redirects() {
    let desk = Desk::new();
    let pid = desk.stage.pid();
    signed(&desk.stage);
    let address = serve(&desk.stage.path("release"));
    let key = key();
    for url in [
        format!("http://{address}/release"),
        format!("http://{address}/release/{}", name("9.9.9")),
        format!("http://{address}/latest/"),
        desk.stage.path("release").display().to_string(),
    ] {
        let ran = desk
            .stage
            .cli(&["upgrade", &url, "--public-key", &key, "--check"])
            .ok();
        assert!(ran.stdout.contains("9.9.9 is newer than"), "{url}: {ran:?}");
    }
    let base = format!("http://{address}/release");
    for (args, words) in [
        (
            vec![base.as_str(), "--allow-unsigned"],
            "no public key is built in",
        ),
        (
            vec!["http://example.org/x", "--public-key", &key],
            "starts with https://",
        ),
        (vec!["ftp://127.0.0.1/x"], "starts with https://"),
        (vec!["/nowhere/at/all.tar.gz"], "does not exist"),
        (vec![], "no release given"),
    ] {
        let ran = desk.stage.cli(&[&["upgrade", "--yes"], &args[..]].concat());
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{args:?}: {ran:?}");
    }
    desk.assert_unchanged(pid);
    desk.stage
        .cli(&["upgrade", &base, "--public-key", &key, "--yes"])
        .ok();
    assert_eq!(desk.version(), "9.9.9");
    desk.assert_whole("kept");
}

#[test]
fn an_older_version_is_refused_unless_it_is_wanted() {
    let desk = Desk::new();
    let pid = desk.stage.pid();
    let older = scripted(&desk.stage, "0.0.1", "");
    let ran = desk.upgrade(&older);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("is older than this version"), "{ran:?}");
    desk.assert_unchanged(pid);
    let file = older.display().to_string();
    desk.stage
        .cli(&[
            "upgrade",
            &file,
            "--allow-unsigned",
            "--yes",
            "--allow-downgrade",
        ])
        .ok();
    assert_eq!(desk.version(), "0.0.1");
    desk.assert_whole("kept");
    let same = scripted(&desk.stage, env!("CARGO_PKG_VERSION"), "");
    link(
        Path::new(crate::harness::BINARY),
        &desk.stage.path("bin/again"),
    );
    let again = desk.stage.path("bin/again");
    let file = same.display().to_string();
    let ran = run(
        desk.stage
            .command_of(&again, &["upgrade", &file, "--allow-unsigned", "--yes"]),
        "",
    )
    .ok();
    assert!(ran.stdout.contains("is already installed"), "{ran:?}");
}

#[test]
fn a_program_that_cannot_use_the_home_is_not_installed() {
    let desk = Desk::new();
    let pid = desk.stage.pid();
    for (version, script, words) in [
        (
            "9.0.1",
            "[ \"$1\" = migrate ] && { echo 'error: step 99 failed' >&2; exit 1; }",
            "cannot use this home; nothing was changed",
        ),
        (
            "9.0.2",
            "[ \"$1\" = --version ] && exec echo manyhands 7.7.7",
            "it is not what it claims to be",
        ),
        ("9.0.3", "exit 126", "does not run on this machine"),
    ] {
        let ran = desk.upgrade(&scripted(&desk.stage, version, script));
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
        desk.assert_unchanged(pid);
    }
    assert_eq!(
        desk.upgrade(&scripted(&desk.stage, "9.0.4", "")).code,
        Some(0)
    );
}

/// What a new version that destroys the home and does not start does.
pub const DESTROYS: &str = "if [ \"$1\" = up ]; then\n  cd \"$MANYHANDS_HOME\"\n  echo garbage > manyhands.db\n  rm -f manyhands.db-wal manyhands.db-shm config.toml\n  rm -rf blobs\n  echo 'error: this version does not start' >&2\n  exit 1\nfi";

#[test]
fn a_version_that_does_not_become_ready_is_undone_with_all_data() {
    let desk = Desk::new();
    let ran = desk.upgrade(&scripted(&desk.stage, "8.8.8", DESTROYS));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for words in [
        "8.8.8 did not work, and 0.1.0 was restored with its data",
        "this version does not start",
        "`manyhands logs` shows more",
        "what 8.8.8 made of the home is in",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
    assert_eq!(desk.version(), env!("CARGO_PKG_VERSION"));
    desk.assert_whole("kept");
    desk.write("goes on");
    let hangs = scripted(&desk.stage, "8.8.9", "[ \"$1\" = up ] && exec sleep 600");
    let hangs = hangs.display().to_string();
    let ran = desk.stage.cli(&[
        "upgrade",
        &hangs,
        "--allow-unsigned",
        "--yes",
        "--timeout",
        "1",
    ]);
    assert!(
        ran.stderr.contains("was not ready within 1 seconds"),
        "{ran:?}"
    );
    assert_eq!(desk.version(), env!("CARGO_PKG_VERSION"));
    desk.stage.cli(&["start"]).ok();
    desk.assert_whole("goes on");
}

#[test]
fn a_gateway_in_the_foreground_is_left_alone_and_one_that_does_not_run_stays_so() {
    let stage = Stage::new();
    let mut command = stage.command(&["up"]);
    command.stdin(Stdio::null());
    let mut daemon = Daemon::spawn(command);
    daemon.wait_until_up().expect("a gateway");
    let archive = scripted(&stage, "9.9.9", "").display().to_string();
    let upgrade = || stage.cli(&["upgrade", &archive, "--allow-unsigned", "--yes"]);
    let ran = upgrade();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("kill {}", daemon.pid())),
        "{ran:?}"
    );
    assert!(stage.is_ready());
    daemon.kill9();
    let ran = upgrade().ok();
    assert!(
        ran.stdout
            .contains("not running; start it with `manyhands up`"),
        "{ran:?}"
    );
    assert!(!stage.is_ready());
    assert!(stage.cli(&["--version"]).ok().stdout.contains("9.9.9"));
    assert!(stage.read("state/calls").is_empty(), "there is no service");
}

#[test]
fn a_program_of_a_package_manager_is_upgraded_by_it() {
    let stage = Stage::new();
    let archive = scripted(&stage, "9.9.9", "").display().to_string();
    let folder = stage.path("lib/node_modules/manyhands/bin");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join("manyhands");
    link(Path::new(crate::harness::BINARY), &program);
    let args = ["upgrade", &archive, "--allow-unsigned", "--yes"];
    let ran = run(stage.command_of(&program, &args), "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("hint: npm install --global manyhands@latest"),
        "{ran:?}"
    );
    let ran = run(stage.command_of(&program, &["--version"]), "").ok();
    assert!(ran.stdout.contains(env!("CARGO_PKG_VERSION")), "{ran:?}");
    stage.cli(&args).ok();
}

#[test]
fn one_upgrade_at_a_time() {
    let desk = Desk::new();
    let archive = scripted(&desk.stage, "9.9.9", "");
    let lock =
        std::fs::File::create(desk.stage.home.path().join("upgrade.lock")).expect("the lock");
    lock.lock().expect("the lock");
    let ran = desk.upgrade(&archive);
    assert!(ran.stderr.contains("another upgrade of"), "{ran:?}");
    assert_eq!(desk.version(), env!("CARGO_PKG_VERSION"));
    drop(lock);
    desk.upgrade(&archive).ok();
    eventually("it is ready", || desk.stage.is_ready());
}
