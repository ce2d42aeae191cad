//! `manyhands doctor --fix`, its warnings where nothing is configured, and the report without secrets.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::harness::{Gateway, Home, run};
use crate::service::stage::Stage;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
}

fn mode(path: &Path) -> u32 {
    let found = std::fs::metadata(path).expect("it exists");
    found.permissions().mode() & 0o777
}

#[test]
fn what_is_not_configured_is_a_warning_with_its_remedy() {
    let gateway = Gateway::start();
    let ran = gateway.cli(&["doctor"]);
    assert_eq!(ran.code, Some(0), "warnings are no errors: {ran:?}");
    for (warning, fix) in [
        (
            "WARN   models     none configured",
            "fix: manyhands models add",
        ),
        (
            "WARN   backup     no backup was ever made",
            "fix: manyhands backup FILE",
        ),
    ] {
        let after = ran
            .stdout
            .split_once(warning)
            .unwrap_or_else(|| panic!("{ran:?}"))
            .1;
        let next = after.lines().nth(1).expect("a remedy");
        assert!(next.contains(fix), "{next}");
    }
    let served = gateway.get("/api/doctor").text();
    assert!(
        served.contains("no backup was ever made"),
        "the page has it too: {served}"
    );
    let file = gateway.home.outside("all.backup").display().to_string();
    gateway.cli(&["backup", &file]).ok();
    let home = gateway.stop();
    let ran = home.cli(&["doctor"]).ok();
    assert!(
        ran.stdout.contains("ok     backup     ") && ran.stdout.contains(&file),
        "{ran:?}"
    );
    let open = Home::new().with_config("listen = \"0.0.0.0:1\"\ninsecure_remote = true\n");
    let ran = open.cli(&["doctor"]).ok();
    assert!(
        ran.stdout.contains("WARN   listening  on 0.0.0.0:1"),
        "{ran:?}"
    );
}

#[test]
fn what_is_safe_to_repair_is_repaired_and_printed() {
    let gateway = Gateway::start();
    gateway.write("a.md", "kept");
    let home = gateway.kill9();
    let path = home.path();
    set_mode(&path, 0o755);
    for name in ["owner.token", "vault.key", "manyhands.db", "config.toml"] {
        set_mode(&path.join(name), 0o644);
    }
    set_mode(&path.join("blobs"), 0o755);
    std::fs::write(path.join(".new-abc"), "half").expect("a file");
    std::fs::write(path.join("notes.txt"), "mine").expect("a file");
    set_mode(&path.join("notes.txt"), 0o644);
    let ran = home.cli(&["doctor", "--fix"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = path.display();
    for line in [
        format!("fixed  home       chmod 700 {shown}"),
        format!("fixed  files      chmod 600 {shown}/owner.token"),
        format!("fixed  files      chmod 600 {shown}/vault.key"),
        format!("fixed  folders    chmod 700 {shown}/blobs"),
        format!("fixed  files      removed the half-written {shown}/.new-abc"),
        "fixed  lock       removed the note of a gateway that had crashed".to_owned(),
    ] {
        assert!(ran.stdout.contains(&line), "{line}: {ran:?}");
    }
    assert_eq!((mode(&path), mode(&path.join("vault.key"))), (0o700, 0o600));
    assert_eq!(
        mode(&path.join("notes.txt")),
        0o644,
        "what is not ours stays"
    );
    let ran = home.cli(&["doctor", "--fix"]);
    assert!(!ran.stdout.contains("fixed"), "once is enough: {ran:?}");
    set_mode(&path.join("vault.key"), 0o644);
    let ran = home.cli(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout
            .contains("ERROR  files      other users can read"),
        "{ran:?}"
    );
    assert_eq!(
        mode(&path.join("vault.key")),
        0o644,
        "without --fix it stays"
    );
    home.cli(&["doctor", "--fix"]).ok();
    let gateway = Gateway::on(home);
    assert_eq!(gateway.read("a.md").as_deref(), Some("kept"));
}

#[test]
fn a_folder_that_is_no_home_is_not_repaired() {
    let home = Home::new();
    let folder = home.outside("user");
    set_mode(&folder, 0o755);
    let mut command = home.command();
    command
        .env("MANYHANDS_HOME", &folder)
        .args(["doctor", "--fix"]);
    let ran = run(command, "");
    assert!(!ran.stdout.contains("fixed"), "{ran:?}");
    assert_eq!(mode(&folder), 0o755);
}

/// The files of a report.
fn unpacked(file: &Path) -> BTreeMap<String, String> {
    let file = std::fs::File::open(file).expect("the report");
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let entries = archive.entries().expect("an archive");
    let mut files = BTreeMap::new();
    for entry in entries {
        let mut entry = entry.expect("an entry");
        let name = entry.path().expect("a name").display().to_string();
        let mut text = String::new();
        entry.read_to_string(&mut text).expect("text");
        files.insert(name, text);
    }
    files
}

/// Secrets that are planted everywhere.
const PLANTED: [&str; 6] = [
    "planted-vault-secret-1",
    "planted-config-key-2",
    "planted-userinfo-3",
    "planted-service-env-4",
    "planted-message-5",
    "planted-shell-env-6",
];

#[test]
fn a_report_contains_no_planted_secret() {
    let [vault, key, userinfo, service, message, shell] = PLANTED;
    let stage = Stage::with_config(&format!(
        "[models]\ndefault = \"work/small\"\n[models.providers.work]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n[mcpServers.x]\ncommand = \"/nowhere/at-all\"\nargs = [\"--api-key\", \"{key}\"]\n"
    ));
    std::fs::write(
        stage.home.path().join("service.env"),
        format!("OTHER_KEY={service}\n"),
    )
    .expect("a file");
    set_mode(&stage.home.path().join("service.env"), 0o600);
    stage.install();
    let mut command = stage.command(&["secret", "set", "bank"]);
    command.env("X", "y");
    run(command, vault).ok();
    stage
        .cli(&[
            "call",
            "gsv__WriteFile",
            &format!("{{\"path\":\"memory/a.md\",\"content\":\"{message}\"}}"),
        ])
        .ok();
    let token = stage.read("home/owner.token").trim().to_owned();
    // What a log should never contain, and a careless program may write.
    let mut log = stage.read("state/log");
    for secret in [vault, key, service, shell, &token] {
        log.push_str(&format!("careless {secret} line\n"));
    }
    log.push_str(&format!("GET http://me:{userinfo}@127.0.0.1/x\n"));
    std::fs::write(stage.path("state/log"), log).expect("the log");
    let file = stage.path("report.tar.gz");
    let name = file.display().to_string();
    let mut command = stage.command(&["doctor", "--bundle", &name]);
    command.env("BANK_API_KEY", shell);
    let ran = run(command, "").ok();
    assert!(
        ran.stdout.contains(&format!("the report is in {name}")),
        "{ran:?}"
    );
    assert_eq!(mode(&file), 0o600);
    let files = unpacked(&file);
    let names: Vec<&str> = files
        .keys()
        .map(|name| name.rsplit('/').next().expect("a name"))
        .collect();
    assert_eq!(
        names,
        [
            "doctor.txt",
            "log.txt",
            "platform.json",
            "service.txt",
            "settings.json"
        ]
    );
    for (name, text) in &files {
        for secret in PLANTED.iter().copied().chain([token.as_str()]) {
            assert!(!text.contains(secret), "{secret} is in {name}:\n{text}");
        }
    }
    let of = |name: &str| &files[&format!("manyhands-report/{name}")];
    assert!(
        of("log.txt").contains("careless [redacted] line"),
        "{}",
        of("log.txt")
    );
    assert!(
        of("log.txt").contains(" is up at http://"),
        "the rest is there"
    );
    assert!(of("doctor.txt").contains("database"));
    assert!(
        of("settings.json").contains("\"kind\": \"openai\""),
        "{}",
        of("settings.json")
    );
    assert!(of("service.txt").contains("ExecStart="));
    let platform: serde_json::Value = serde_json::from_str(of("platform.json")).expect("JSON");
    assert_eq!(platform["version"], env!("CARGO_PKG_VERSION"));
    assert!(
        platform["schema"]
            .as_i64()
            .is_some_and(|schema| schema >= 19),
        "{platform}"
    );
    let again = stage.cli(&["doctor", "--bundle", &name]);
    assert_eq!(
        again.code,
        Some(1),
        "a file that exists is not replaced: {again:?}"
    );
}

#[test]
fn a_report_of_a_home_without_a_gateway_is_written_too() {
    let home = Home::new();
    let file = home.outside("report.tar.gz");
    home.cli(&["doctor", "--bundle", &file.display().to_string()])
        .ok();
    let files = unpacked(&file);
    assert!(files["manyhands-report/log.txt"].contains("not installed as a service"));
    assert!(files["manyhands-report/doctor.txt"].contains("will be created by the first"));
}
