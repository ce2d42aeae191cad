//! Backup while it is busy, restore elsewhere, and nothing that was tampered with.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, tree};
use crate::http::{Connection, Request};

fn file_text(path: &std::path::Path) -> &str {
    path.to_str().expect("a path")
}

/// What a home holds that a restore has to bring back, without what a restart changes.
fn kept(home: &Home) -> Vec<(String, Vec<u8>)> {
    let mut all = tree(&home.path());
    all.retain(|(name, _)| {
        name.starts_with("blobs")
            || ["config.toml", "owner.token", "vault.key"].contains(&name.as_str())
    });
    all
}

fn tokens(gateway: &Gateway) -> Value {
    let mut listed = gateway.get("/api/tokens").json()["result"]["tokens"].clone();
    for token in listed.as_array_mut().expect("tokens") {
        token.as_object_mut().expect("a token").remove("lastUsedAt");
    }
    listed
}

/// A gateway with something of everything.
fn furnished() -> Gateway {
    let gateway = Gateway::with_config("# mine\n[limits]\nresult_bytes = 2000\n");
    for number in 0..30 {
        gateway.write(
            &format!("d{}/file {number}é.md", number % 3),
            &format!("content {number}\r\n").repeat(number),
        );
    }
    gateway.write("skills/own/SKILL.md", "own");
    std::fs::create_dir_all(gateway.home.blob("skills/global")).expect("a folder");
    std::fs::write(gateway.home.blob("skills/global/SKILL.md"), "global").expect("a skill");
    gateway
        .home
        .cli_with(&["secret", "set", "key"], "hunter2-hunter2")
        .ok();
    gateway
}

#[test]
fn a_backup_of_a_quiet_home_comes_back_equal() {
    let gateway = furnished();
    let (client, _) =
        gateway.token(json!({ "name": "phone", "role": "client", "tools": ["gsv__*"] }));
    let (_, gone) = gateway.token(json!({ "name": "gone", "role": "client" }));
    gateway.send(&Request::new("DELETE", &format!("/api/tokens/{gone}")).bearer(&gateway.owner));
    gateway.write("big.md", &"x".repeat(9_000));
    let cut = gateway.call("gsv__ReadFile", json!({ "path": "big.md" }));
    let artifact = cut["result"]["artifactId"]
        .as_str()
        .expect("an artifact")
        .to_owned();
    let file = gateway.home.outside("all.backup");
    gateway.cli(&["backup", file_text(&file)]).ok();
    let mode = std::fs::metadata(&file).expect("the backup").mode() & 0o7777;
    assert_eq!(mode, 0o600, "it holds the keys");
    let (before, listed) = (kept(&gateway.home), tokens(&gateway));

    let fresh = Home::new();
    fresh.cli(&["restore", file_text(&file)]).ok();
    assert_eq!(
        std::fs::metadata(fresh.path()).expect("the home").mode() & 0o7777,
        0o700
    );
    assert_eq!(kept(&fresh), before, "every file, byte for byte");
    assert_eq!(fresh.cli(&["audit", "verify"]).code, Some(0));
    let restored = Gateway::on(fresh);
    assert_eq!(restored.owner, gateway.owner);
    assert_eq!(tokens(&restored), listed);
    assert_eq!(
        restored.call_as(&client, "gsv__ReadFile", json!({})).status,
        200,
        "tokens go on"
    );
    assert_eq!(restored.read("d0/file 0é.md").as_deref(), Some(""));
    assert_eq!(restored.cli(&["secret", "list"]).ok().stdout, "key\n");
    restored.write("leak.md", "hunter2-hunter2");
    assert_eq!(
        restored.read("leak.md").as_deref(),
        Some("[redacted]"),
        "the vault opens"
    );
    assert!(
        restored
            .cli(&["artifact", &artifact])
            .ok()
            .stdout
            .contains(&"x".repeat(9_000))
    );
    restored.verify_audit();
    gateway.write("still.md", "here");
    assert_eq!(restored.read("still.md"), None, "they are two");
}

#[test]
fn a_backup_while_writers_run_holds_everything_acknowledged_before() {
    let gateway = furnished();
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let (stop, owner, to) = (stop.clone(), gateway.owner.clone(), gateway.addr);
            std::thread::spawn(move || {
                let mut connection = Connection::open(to).expect("a connection");
                let mut written = 0;
                while !stop.load(Ordering::Relaxed) {
                    let name = format!("busy/{writer}-{}.md", written % 40);
                    let arguments =
                        json!({ "path": name, "content": format!("{name};").repeat(400) });
                    let request =
                        Request::post("/api/tools/gsv__WriteFile", &arguments).bearer(&owner);
                    let said = connection.send(&request).expect("an answer");
                    assert_eq!(said.status, 200, "{}", said.text());
                    written += 1;
                }
                written
            })
        })
        .collect();
    gateway.write("just before.md", "acknowledged");
    let mut backups = Vec::new();
    for number in 0..3 {
        let file = gateway.home.outside(&format!("{number}.backup"));
        gateway.cli(&["backup", file_text(&file)]).ok();
        backups.push(file);
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        assert!(writer.join().expect("a writer") > 0, "writing went on");
    }
    for file in backups {
        let fresh = Home::new();
        fresh.cli(&["restore", file_text(&file)]).ok();
        let restored = Gateway::on(fresh);
        assert_eq!(
            restored.read("just before.md").as_deref(),
            Some("acknowledged")
        );
        for (name, bytes) in tree(&restored.home.blob("agents/main/busy")) {
            let whole = format!("busy/{name};").repeat(400);
            assert!(bytes == whole.as_bytes(), "{name} is whole");
        }
        restored.verify_audit();
    }
}

#[test]
fn a_backup_that_was_tampered_with_changes_nothing() {
    let gateway = furnished();
    let file = gateway.home.outside("good.backup");
    gateway.cli(&["backup", file_text(&file)]).ok();
    let good = std::fs::read(&file).expect("the backup");
    let mut bad: Vec<(String, Vec<u8>)> = vec![
        ("empty".to_owned(), Vec::new()),
        ("something else".to_owned(), b"not a backup at all".to_vec()),
        (
            "more at the end".to_owned(),
            [good.clone(), vec![0; 700]].concat(),
        ),
    ];
    for part in 1..8 {
        let at = good.len() * part / 8;
        bad.push((format!("cut at {at}"), good[..at].to_vec()));
        let mut changed = good.clone();
        changed[at] ^= 0xff;
        bad.push((format!("changed at {at}"), changed));
    }
    bad.push((
        "without its last byte".to_owned(),
        good[..good.len() - 1].to_vec(),
    ));
    let occupied = Gateway::start();
    occupied.write("mine.md", "mine");
    let occupied = occupied.stop();
    let before = tree(&occupied.path());
    let mut refused = 0;
    for (what, bytes) in bad {
        let altered = gateway.home.outside("bad.backup");
        std::fs::write(&altered, &bytes).expect("the altered backup");
        let fresh = Home::new();
        let ran = fresh.cli(&["restore", file_text(&altered)]);
        if ran.code == Some(0) && (what == "more at the end" || what.starts_with("changed")) {
            // Padding, or a back-reference of the compression that means the same bytes.
            assert_eq!(kept(&fresh), kept(&gateway.home), "{what}");
            continue;
        }
        refused += 1;
        assert_eq!(ran.code, Some(1), "{what}: {ran:?}");
        assert!(ran.stderr.starts_with("error: "), "{what}: {ran:?}");
        assert!(tree(&fresh.path()).is_empty(), "{what}: nothing was made");
        let ran = occupied.cli(&["restore", "--force", file_text(&altered)]);
        assert_eq!(ran.code, Some(1), "{what}: {ran:?}");
        assert_eq!(
            tree(&occupied.path()),
            before,
            "{what}: the home is as it was"
        );
    }
    assert!(refused >= 12, "{refused} were refused");
    let fresh = Home::new();
    fresh.cli(&["restore", file_text(&file)]).ok();
    assert_eq!(kept(&fresh), kept(&gateway.home), "the control");
}

#[test]
fn restoring_asks_before_it_replaces_and_never_under_a_running_daemon() {
    let gateway = furnished();
    let file = gateway.home.outside("all.backup");
    gateway.cli(&["backup", file_text(&file)]).ok();
    let bytes = std::fs::read(&file).expect("the backup");
    let again = gateway.cli(&["backup", file_text(&file)]);
    assert_eq!(
        again.code,
        Some(1),
        "a backup is not overwritten by accident: {again:?}"
    );
    assert_eq!(std::fs::read(&file).expect("the backup"), bytes);
    gateway.cli(&["backup", "--force", file_text(&file)]).ok();

    let before = kept(&gateway.home);
    for args in [
        vec!["restore", file_text(&file)],
        vec!["restore", "--force", file_text(&file)],
    ] {
        let ran = gateway.cli(&args);
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        assert!(
            ran.stderr.contains(&gateway.daemon.pid().to_string()) || args.len() == 2,
            "{ran:?}"
        );
        assert_eq!(kept(&gateway.home), before, "nothing changed");
    }
    gateway.write("on.md", "it goes on");
    assert_eq!(gateway.read("on.md").as_deref(), Some("it goes on"));

    let other = Gateway::start();
    other.write("mine.md", "mine");
    let other = other.stop();
    let mine = tree(&other.path());
    let ran = other.cli(&["restore", file_text(&file)]);
    assert_eq!(
        ran.code,
        Some(1),
        "a home in use is not replaced by accident: {ran:?}"
    );
    assert_eq!(tree(&other.path()), mine);
    let ran = other.cli(&["restore", "--force", file_text(&file)]).ok();
    let aside = ran
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("the previous home was moved to "));
    let aside = aside.unwrap_or_else(|| panic!("{ran:?}"));
    let put_aside = tree(std::path::Path::new(aside));
    assert!(
        put_aside
            .iter()
            .any(|(name, bytes)| name == "blobs/agents/main/mine.md" && bytes == b"mine"),
        "nothing is thrown away"
    );
    let missing = other.cli(&["restore", "--force", "/nowhere.backup"]);
    assert_eq!(missing.code, Some(1));
    let restored = Gateway::on(other);
    assert_eq!(restored.owner, gateway.owner);
    restored.verify_audit();
}

/// A backup may come from anybody: which programs run here, and who reaches them, is not its to say.
#[test]
fn machine_settings_are_restored_only_on_request() {
    for (settings, key) in [
        ("listen = \"127.0.0.1:0\"\n", "listen"),
        ("allowed_hosts = [\"evil.example\"]\n", "allowed_hosts"),
        ("[node]\nenabled = false\nsandbox = \"off\"\n", "node"),
        (
            "[mcpServers.evil]\ncommand = \"sh\"\nargs = [\"-c\", \"true\"]\n",
            "mcpServers",
        ),
    ] {
        let gateway = Gateway::with_config(settings);
        gateway.write("mine.md", "mine");
        let file = gateway.home.outside("all.backup");
        gateway.cli(&["backup", file_text(&file)]).ok();
        let fresh = Home::new();
        let ran = fresh.cli(&["restore", file_text(&file)]);
        assert_eq!(ran.code, Some(1), "{key}: {ran:?}");
        assert!(
            ran.stderr.contains(key) && ran.stderr.contains("--trust-settings"),
            "{ran:?}"
        );
        assert!(tree(&fresh.path()).is_empty(), "{key}: nothing was made");
        fresh
            .cli(&["restore", "--trust-settings", file_text(&file)])
            .ok();
        assert_eq!(kept(&fresh), kept(&gateway.home), "{key}: the control");
        // Where the same settings hold already, there is nothing to agree to.
        let home = gateway.stop();
        home.cli(&["restore", "--force", file_text(&file)]).ok();
    }
    let gateway = Gateway::start();
    let file = gateway.home.outside("all.backup");
    std::fs::write(gateway.home.path().join("config.toml"), "listn = 1\n").expect("settings");
    manyhands_backup(&gateway, &file);
    let fresh = Home::new();
    let ran = fresh.cli(&["restore", file_text(&file)]);
    assert_eq!(ran.code, Some(1), "settings that are none: {ran:?}");
    assert!(tree(&fresh.path()).is_empty(), "nothing was made");
}

/// Takes a backup of a home whose settings the command line itself complains about.
fn manyhands_backup(gateway: &Gateway, file: &std::path::Path) {
    gateway.cli(&["backup", file_text(file)]);
    assert!(file.is_file(), "the backup is there");
}

#[test]
fn a_restore_reports_contents_and_revokes_tokens_on_request() {
    let gateway = furnished();
    let (client, _) = gateway.token(json!({ "name": "phone", "role": "client" }));
    let file = gateway.home.outside("all.backup");
    gateway.cli(&["backup", file_text(&file)]).ok();
    let kept = Home::new();
    let ran = kept.cli(&["restore", file_text(&file)]).ok();
    assert!(ran.stderr.contains("audit log verified"), "{ran:?}");
    assert!(ran.stderr.contains("stay valid: 2"), "{ran:?}");
    let revoked = Home::new();
    let ran = revoked
        .cli(&["restore", "--revoke-tokens", file_text(&file)])
        .ok();
    assert!(ran.stderr.contains("no access token"), "{ran:?}");
    let (kept, revoked) = (Gateway::on(kept), Gateway::on(revoked));
    for (token, name) in [(&gateway.owner, "owner"), (&client, "client")] {
        let tried = |at: &Gateway| at.call_as(token, "gsv__ReadFile", json!({})).status;
        assert_eq!((tried(&kept), tried(&revoked)), (200, 401), "{name}");
    }
    assert_ne!(revoked.owner, gateway.owner);
    assert!(
        revoked.read("d0/file 3é.md").is_some(),
        "the new token works"
    );
}
