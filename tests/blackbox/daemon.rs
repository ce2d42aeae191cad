//! The daemon's life: first start, settings, second daemons, listening, stopping.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::harness::{Daemon, Gateway, Home, eventually, tree, up};
use crate::http::{Connection, Request};
use crate::sql::WriteLock;
use crate::tls::Certificate;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        .mode()
        & 0o7777
}

/// Starts a gateway that must not start: what it said.
#[track_caller]
fn refused(home: &Home, args: &[&str]) -> String {
    let mut command = home.command();
    command.args(["up", "--no-node"]).args(args);
    let mut daemon = Daemon::spawn(command);
    match daemon.wait_until_up() {
        Ok(url) => panic!("it started at {url}"),
        Err(log) => {
            assert!(log.starts_with("exit status: 1"), "{log}");
            log
        }
    }
}

/// Only tables, all the way down.
fn sets_nothing(table: &toml::Table) -> bool {
    let mut below = table.values().map(toml::Value::as_table);
    below.all(|table| table.is_some_and(sets_nothing))
}

#[test]
fn a_first_start_creates_a_private_home_and_prints_its_paths() {
    let home = Home::new();
    let dir = home.path();
    assert!(!dir.exists());
    let mut command = up(&home);
    command.stdout(std::process::Stdio::piped());
    let gateway = Gateway::from(home, command);
    assert_eq!(mode(&dir), 0o700);
    for file in [
        "owner.token",
        "vault.key",
        "manyhands.db",
        "config.toml",
        "gateway.lock",
        "audit.head",
    ] {
        assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&dir.join("blobs")), 0o700);
    let text = std::fs::read_to_string(dir.join("config.toml")).expect("the settings");
    let said = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with('['));
    assert_eq!(said.count(), 0, "every setting is a comment:\n{text}");
    assert!(
        text.contains("#listen = \"127.0.0.1:7717\"") && text.contains("policy"),
        "{text}"
    );
    let parsed: toml::Table = text.parse().expect("valid TOML");
    assert!(sets_nothing(&parsed), "{parsed:?}");
    let checked = gateway.cli(&["config", "check"]).ok().stdout;
    assert!(checked.contains("config.toml is valid"), "{checked}");
    assert_eq!(
        gateway.cli(&["config", "path"]).ok().stdout.trim(),
        dir.join("config.toml").to_str().expect("a path")
    );
    let owner = gateway.owner.clone();
    gateway.write("a.md", "kept");
    let gateway = gateway.restart();
    assert_eq!(gateway.owner, owner, "a second start keeps the token");
    assert_eq!(gateway.read("a.md").as_deref(), Some("kept"));
    assert_eq!(
        std::fs::read_to_string(dir.join("config.toml")).expect("the settings"),
        text,
        "and the settings"
    );
}

#[test]
fn the_greeting_names_home_settings_token_and_addresses() {
    let home = Home::new();
    let out = home.outside("out");
    let file = std::fs::File::create(&out).expect("a file");
    let mut command = up(&home);
    // Into a file, so that the whole of it can be read.
    let mut child = command
        .stdout(file)
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the gateway");
    eventually("the greeting", || {
        std::fs::read_to_string(&out).is_ok_and(|text| text.contains("try "))
    });
    let _ = child.kill();
    let _ = child.wait();
    let text = std::fs::read_to_string(&out).expect("the greeting");
    let dir = home.path();
    let [config, token] =
        ["config.toml", "owner.token"].map(|file| dir.join(file).display().to_string());
    let version = concat!(
        "manyhands ",
        env!("CARGO_PKG_VERSION"),
        " is up at http://127.0.0.1:"
    );
    for words in [
        version,
        &dir.display().to_string(),
        &config,
        &token,
        "/mcp",
        "manyhands call gsv__WriteFile",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    let secret = std::fs::read_to_string(dir.join("owner.token")).expect("the token");
    assert!(
        !text.contains(secret.trim()),
        "the token itself is not printed"
    );
}

#[test]
fn a_second_daemon_refuses_and_names_the_first() {
    let gateway = Gateway::start();
    gateway.write("a.md", "first");
    let log = refused(&gateway.home, &["--listen", "127.0.0.1:0"]);
    let pid = gateway.daemon.pid().to_string();
    for words in [pid.as_str(), &gateway.url, "in use"] {
        assert!(log.contains(words), "{words} in {log}");
    }
    gateway.write("b.md", "still first");
    assert_eq!(
        gateway.read("a.md").as_deref(),
        Some("first"),
        "the first goes on working"
    );
    gateway.verify_audit();
    let home = gateway.kill9();
    let gateway = Gateway::on(home);
    assert_eq!(
        gateway.read("b.md").as_deref(),
        Some("still first"),
        "a dead daemon's lock keeps nobody out"
    );
}

#[test]
fn listening_on_the_network_needs_tls_or_an_explicit_override() {
    let home = Home::new();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let log = refused(&home, &["--listen", listen]);
        for words in [listen, "TLS", "insecure_remote = true"] {
            assert!(log.contains(words), "{words} in {log}");
        }
    }
    drop(home);
    let home = Home::new().with_config("insecure_remote = true\n");
    let mut command = home.command();
    command.args(["up", "--no-node", "--listen", "0.0.0.0:0"]);
    let gateway = Gateway::from(home, command);
    let here = std::net::SocketAddr::from(([127, 0, 0, 1], gateway.addr.port()));
    assert_eq!(Request::get("/healthz").send(here).status, 200);
    let foreign = Request::get("/healthz").header("Host", "evil.example");
    assert_eq!(foreign.send(here).status, 403, "names are still checked");
    let ran = gateway.cli(&["call", "gsv__ReadFile"]).ok();
    assert_eq!(ran.json()["ok"], true, "the command line finds it");
}

#[test]
fn tls_serves_every_interface_on_the_network() {
    let home = Home::new();
    let certificate = Certificate::new(home.outside("").as_path());
    let home = home.with_config(&certificate.config());
    let mut command = home.command();
    command.args(["up", "--no-node", "--listen", "0.0.0.0:0"]);
    let gateway = Gateway::from(home, command);
    assert!(gateway.url.starts_with("https://"), "{}", gateway.url);
    let here = std::net::SocketAddr::from(([127, 0, 0, 1], gateway.addr.port()));
    let health = certificate.send(
        here,
        &Request::get("/healthz").header("Connection", "close"),
    );
    assert_eq!((health.status, health.text().as_str()), (200, "ok\n"));
    let call = Request::post(
        "/api/tools/gsv__WriteFile",
        &json!({ "path": "a.md", "content": "tls" }),
    );
    let unknown = certificate.send(here, &call.clone().header("Connection", "close"));
    assert_eq!(unknown.status, 401);
    let written = certificate.send(
        here,
        &call.bearer(&gateway.owner).header("Connection", "close"),
    );
    assert_eq!(written.json()["result"]["written"], true);
    let origin = |origin: &str| {
        let host = here.to_string();
        let request = Request::get("/api/tools")
            .bearer(&gateway.owner)
            .header("Connection", "close");
        certificate
            .send(
                here,
                &request.header("Origin", &origin.replace("HOST", &host)),
            )
            .status
    };
    assert_eq!(
        (origin("https://HOST"), origin("http://HOST")),
        (200, 403),
        "the page of this address is https"
    );
    let plain = Request::get("/healthz").try_send(here);
    assert!(
        !plain.is_ok_and(|response| response.status == 200),
        "nothing is served in the clear"
    );
}

#[test]
fn a_missing_certificate_is_named() {
    let home = Home::new()
        .with_config("tls = { cert = \"/nowhere/cert.pem\", key = \"/nowhere/key.pem\" }\n");
    let log = refused(&home, &["--listen", "127.0.0.1:0"]);
    assert!(log.contains("/nowhere/cert.pem"), "{log}");
}

#[test]
fn wrong_settings_are_refused_with_line_and_nearest_key() {
    let home = Home::new().with_config(
        "listen = \"127.0.0.1:0\"\n\n[limits]\nrequest_byts = 5\ncalls_per_minute = 0\n",
    );
    let config = home.path().join("config.toml");
    let log = refused(&home, &[]);
    for words in [
        ":4: unknown key `limits.request_byts`; did you mean `request_bytes`?",
        ":5: `limits.calls_per_minute` must be at least 1",
    ] {
        assert!(
            log.contains(&format!("{}{words}", config.display())),
            "{words} in {log}"
        );
    }
    let left: Vec<String> = tree(&home.path())
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(left, ["config.toml"], "nothing was made");
    let checked = home.cli(&["config", "check"]);
    assert_eq!(checked.code, Some(1));
    assert!(
        checked.stderr.contains(":4:") && checked.stderr.contains(":5:"),
        "{checked:?}"
    );
    let doctor = home.cli(&["doctor"]);
    assert_eq!(doctor.code, Some(1));
    assert!(doctor.stdout.contains("ERROR  settings"), "{doctor:?}");
    std::fs::write(&config, "listen = \"127.0.0.1:0\"\n").expect("the settings");
    let gateway = Gateway::on(home);
    assert_eq!(
        gateway.send(&Request::get("/readyz")).status,
        200,
        "the control"
    );
}

#[test]
fn an_address_in_use_is_reported() {
    let gateway = Gateway::start();
    let other = Home::new();
    let log = refused(&other, &["--listen", &gateway.addr.to_string()]);
    assert!(
        log.contains("cannot listen on") && log.contains(&gateway.addr.to_string()),
        "{log}"
    );
    let log = refused(&other, &["--listen", "nonsense"]);
    assert!(log.contains("nonsense"), "{log}");
}

#[test]
fn settings_are_got_set_and_unset_in_the_file() {
    let home = Home::new().with_config("# mine\nallowed_hosts = [\"a.example\"] # keep\n");
    let file = home.path().join("config.toml");
    let text = || std::fs::read_to_string(&file).expect("the settings");
    let get = |path: &str| {
        home.cli(&["config", "get", path])
            .ok()
            .stdout
            .trim()
            .to_owned()
    };
    assert_eq!(get("listen"), "127.0.0.1:7717");
    assert_eq!(get("limits.calls_per_minute"), "600");
    assert_eq!(get("allowed_hosts"), "[\"a.example\"]");
    let all: Value = serde_json::from_str(&home.cli(&["config", "get"]).ok().stdout).expect("JSON");
    assert_eq!(all["limits"]["result_bytes"], 1_048_576);
    home.cli(&["config", "set", "limits.calls_per_minute", "7"])
        .ok();
    home.cli(&["config", "set", "listen", "127.0.0.1:1234"])
        .ok();
    home.cli(&[
        "config",
        "set",
        "allowed_hosts",
        "[\"b.example\",\"c.example\"]",
    ])
    .ok();
    assert_eq!(
        (get("limits.calls_per_minute"), get("listen")),
        ("7".to_owned(), "127.0.0.1:1234".to_owned())
    );
    assert!(
        text().contains("# mine") && text().contains("# keep"),
        "comments are the owner's:\n{}",
        text()
    );
    home.cli(&["config", "unset", "limits.calls_per_minute"])
        .ok();
    assert_eq!(get("limits.calls_per_minute"), "600");
    let before = text();
    let wrong: [&[&str]; 7] = [
        &["config", "set", "limits.calls_per_minut", "7"],
        &["config", "set", "limits.calls_per_minute", "many"],
        &["config", "set", "limits.calls_per_minute", "-1"],
        &["config", "set", "listen", "nowhere"],
        &["config", "unset", "limits.nothing"],
        &["config", "get", "limits.calls_per_minut"],
        &["config", "set", "", "1"],
    ];
    for args in wrong {
        let ran = home.cli(args);
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        assert!(
            ran.stderr.starts_with("error: ") && ran.stdout.is_empty(),
            "{ran:?}"
        );
        assert_eq!(text(), before, "{args:?} changed the file");
    }
    let near = home
        .cli(&["config", "get", "limits.calls_per_minut"])
        .stderr;
    assert!(
        near.contains("did you mean `limits.calls_per_minute`?"),
        "{near}"
    );
}

#[test]
fn changed_settings_apply_without_a_restart() {
    let gateway = Gateway::start();
    let client = gateway.client("laptop");
    let read = || gateway.call_as(&client, "gsv__ReadFile", json!({}));
    assert_eq!(read().status, 200);
    let rules =
        json!([{ "decision": "deny", "callers": ["client:*"], "reason": "closed for today" }])
            .to_string();
    gateway.cli(&["config", "set", "policy.rules", &rules]).ok();
    gateway.daemon.log.wait_for("settings changed");
    let said = read();
    assert_eq!(
        said.json()["code"],
        "denied_by_policy",
        "a rule holds at once: {}",
        said.text()
    );
    let put =
        Request::new("PUT", "/api/config").json(&json!({ "path": "policy.rules", "value": [] }));
    let done = gateway.send(&put.bearer(&gateway.owner));
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(read().status, 200, "over HTTP it holds with the answer");

    let foreign = |host: &str| {
        gateway
            .send(&Request::get("/healthz").header("Host", host))
            .status
    };
    assert_eq!(foreign("desk.example"), 403);
    gateway
        .cli(&["config", "set", "allowed_hosts", "[\"desk.example\"]"])
        .ok();
    eventually("the host is ours", || foreign("desk.example") == 200);

    let file = gateway.home.path().join("config.toml");
    let good = std::fs::read_to_string(&file).expect("the settings");
    std::fs::write(&file, format!("{good}\nnonsense = 1\n")).expect("the settings");
    gateway.daemon.log.wait_for("unknown key");
    assert_eq!(foreign("desk.example"), 200, "the settings in force stay");
    std::fs::write(&file, &good).expect("the settings");
    let restart = gateway.send(
        &Request::new("PUT", "/api/config")
            .json(&json!({ "path": "listen", "value": "127.0.0.1:1" }))
            .bearer(&gateway.owner),
    );
    assert_eq!(
        restart.json()["result"]["needsRestart"],
        json!(["listen"]),
        "{}",
        restart.text()
    );
    let wrong = gateway.send(
        &Request::new("PUT", "/api/config")
            .json(&json!({ "path": "limits.result_byte", "value": 1 }))
            .bearer(&gateway.owner),
    );
    assert_eq!(
        (
            wrong.status,
            wrong.json()["code"].as_str().map(str::to_owned)
        ),
        (400, Some("invalid_arguments".to_owned()))
    );
}

#[test]
fn every_live_limit_applies_at_once() {
    let gateway = Gateway::start();
    let set = |path: &str, value: Value| {
        let put = Request::new("PUT", "/api/config").json(&json!({ "path": path, "value": value }));
        let done = gateway.send(&put.bearer(&gateway.owner)).json();
        assert_eq!(done["ok"], true, "{done}");
        done["result"]["needsRestart"] == json!([])
    };
    gateway.write("big.md", &"x".repeat(50_000));
    let write = |bytes: usize| {
        let arguments = json!({ "path": "w.md", "content": "x".repeat(bytes) });
        gateway
            .call_as(&gateway.owner, "gsv__WriteFile", arguments)
            .status
    };
    assert_eq!(write(50_000), 200);
    if set("limits.request_bytes", json!(10_000)) {
        assert_eq!(write(50_000), 413, "limits.request_bytes");
        assert_eq!(write(5_000), 200);
    }
    if set("limits.result_bytes", json!(1_000)) {
        let said = gateway.call("gsv__ReadFile", json!({ "path": "big.md" }));
        assert_eq!(said["result"]["truncated"], true, "limits.result_bytes");
    }
    if set("limits.artifact_bytes", json!(10_000)) {
        let said = gateway.call("gsv__ReadFile", json!({ "path": "big.md" }));
        assert_eq!(
            said["code"], "too_large",
            "limits.artifact_bytes is the most that is read: {said}"
        );
    }
    if set("limits.failed_logins", json!(2)) {
        let guess = || {
            gateway
                .call_as("mh_nonsense", "gsv__ReadFile", json!({}))
                .status
        };
        let statuses: Vec<u16> = (0..4).map(|_| guess()).collect();
        assert_eq!(statuses, [401, 401, 429, 429], "limits.failed_logins");
    }
    if set("log.level", json!("debug")) {
        gateway.call("gsv__ReadFile", json!({}));
        gateway.daemon.log.wait_for("DEBUG");
    }
}

/// A process that does not outlive its test.
struct Bound(Child);

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

#[test]
fn a_signal_ends_it_even_if_its_log_is_not_read() {
    let home = Home::new();
    let mut command = up(&home);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut bound = Bound(command.spawn().expect("the gateway"));
    let child = &mut bound.0;
    let mut first = String::new();
    BufReader::new(child.stdout.take().expect("its output"))
        .read_line(&mut first)
        .expect("its first line");
    assert!(first.contains(" is up at "), "{first}");
    drop(child.stderr.take()); // with the reader of its output gone too, every write fails
    rustix::process::kill_process(Pid::from_child(child), Signal::TERM).expect("a live process");
    let mut ended = None;
    eventually("it ends", || {
        ended = child.try_wait().expect("its state");
        ended.is_some()
    });
    assert!(ended.expect("its end").success(), "{ended:?}");
}

#[test]
fn a_signal_lets_running_calls_finish_and_ends_with_0() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut gateway = Gateway::start();
        let lock = WriteLock::take(&gateway.home.path());
        let mut running = Connection::open(gateway.addr).expect("a connection");
        let write = Request::post(
            "/api/tools/gsv__WriteFile",
            &json!({ "path": "a.md", "content": "done" }),
        );
        let bytes = write.bearer(&gateway.owner).bytes(running.host());
        running.write(&bytes).expect("sent");
        let mut socket = gateway.ws();
        gateway.daemon.signal(signal);
        gateway.daemon.log.wait_for("stopping");
        let closed = socket.closed();
        assert_eq!(closed.code, Some(1012), "{closed:?}");
        lock.release();
        let said = running.read().expect("an answer").json();
        assert_eq!(said["ok"], true, "{said}");
        assert_eq!(
            gateway.daemon.wait().code(),
            Some(0),
            "{}",
            gateway.daemon.log.text()
        );
        let home = gateway.kill9();
        assert_eq!(home.cli(&["audit", "verify"]).code, Some(0));
        let gateway = Gateway::on(home);
        assert_eq!(gateway.read("a.md").as_deref(), Some("done"));
    }
}

#[test]
fn probes_and_the_description_answer() {
    let gateway = Gateway::start();
    let get = |path: &str| gateway.send(&Request::get(path));
    assert_eq!(
        (get("/healthz").status, get("/healthz").text().as_str()),
        (200, "ok\n")
    );
    assert_eq!(
        (get("/readyz").status, get("/readyz").text().as_str()),
        (200, "ready\n")
    );
    let root = get("/").text().to_lowercase();
    assert!(
        root.contains("manyhands"),
        "the page, or a greeting where it was not built"
    );
    let document = gateway.get("/api/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    for path in [
        "/api/tools",
        "/api/tools/gsv__WriteFile",
        "/api/tokens/{id}",
        "/api/secrets/{name}",
    ] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
    let nowhere = gateway.get("/nowhere");
    assert_eq!(
        (
            nowhere.status,
            nowhere.json()["code"].as_str().map(str::to_owned)
        ),
        (404, Some("not_found".to_owned()))
    );
    assert_eq!(gateway.post("/api/audit", &json!({})).status, 405);
}

#[test]
fn the_doctor_reports_problems() {
    let home = Home::new();
    let ran = home.cli(&["doctor"]);
    assert_eq!(ran.code, Some(0), "before the first start: {ran:?}");
    let gateway = Gateway::on(home);
    let ran = gateway.cli(&["doctor"]);
    assert_eq!(ran.code, Some(0), "while it runs: {ran:?}");
    assert!(
        ran.stdout.contains(&gateway.url) && ran.stdout.contains("sandbox"),
        "{ran:?}"
    );
    let home = gateway.stop();
    let ran = home.cli(&["doctor"]);
    assert_eq!(ran.code, Some(0), "after it stopped: {ran:?}");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(home.path().join("owner.token"), open).expect("a mode");
    let ran = home.cli(&["doctor"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.contains("ERROR  token") && ran.stdout.contains("chmod 600"),
        "{ran:?}"
    );
    let mut command = home.command();
    command.args(["--url", "http://127.0.0.1:1", "call", "gsv__ReadFile"]);
    assert_eq!(crate::harness::run(command, "").code, Some(1));
}

#[test]
fn without_a_gateway_commands_explain_how_to_start_one() {
    let home = Home::new();
    let ran = home.cli(&["call", "gsv__ReadFile"]);
    assert_eq!(
        (ran.code, ran.json()["code"].as_str().map(str::to_owned)),
        (Some(1), Some("unavailable".to_owned()))
    );
    assert!(
        ran.json()["error"]
            .as_str()
            .expect("an error")
            .contains("manyhands up"),
        "{ran:?}"
    );
    let ran = home.cli(&["tools"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("manyhands up"), "{ran:?}");
    assert_eq!(home.cli(&["nonsense"]).code, Some(2));
    assert!(!home.path().exists(), "asking makes nothing");
}

#[test]
fn completions_and_help_are_written() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = home.cli(&["completions", shell]).ok();
        assert!(
            ran.stdout.contains("approvals") && ran.stdout.contains("manyhands"),
            "{shell}"
        );
    }
    let bash = home.cli(&["completions", "bash"]).ok().stdout;
    assert!(bash.contains("complete -F"), "{bash}");
    let help = home.cli(&["--help"]).ok().stdout;
    for command in [
        "up",
        "call",
        "trigger",
        "tools",
        "mcp",
        "config",
        "token",
        "secret",
        "policy",
        "approvals",
        "audit",
        "artifact",
        "backup",
        "restore",
        "doctor",
        "completions",
    ] {
        assert!(
            help.contains(&format!("  {command}")),
            "{command} in {help}"
        );
    }
    let version = home.cli(&["--version"]).ok().stdout;
    assert_eq!(
        version.trim(),
        concat!("manyhands ", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn man_pages_cover_every_command_and_need_a_directory() {
    let home = Home::new();
    let dir = home.outside("man");
    let missing = home.cli(&["man", dir.to_str().expect("a path")]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stderr.contains("man: "), "{missing:?}");
    assert!(!dir.exists(), "nothing was made");

    std::fs::create_dir(&dir).expect("a folder");
    home.cli(&["man", dir.to_str().expect("a path")]).ok();
    for page in ["manyhands.1", "manyhands-up.1", "manyhands-mcp-add.1"] {
        let text = std::fs::read_to_string(dir.join(page)).expect(page);
        assert!(text.contains(".TH manyhands"), "{page}: {text}");
    }
    assert!(
        !dir.join("manyhands-keeper.1").exists(),
        "internal commands have none"
    );
}

#[test]
fn the_log_is_for_people_or_for_machines() {
    let gateway = Gateway::start();
    let client = gateway.client("laptop");
    gateway
        .cli(&["config", "set", "limits.result_bytes", "5000"])
        .ok();
    gateway.daemon.log.wait_for("settings changed");
    gateway.call_as(&client, "gsv__ReadFile", json!({}));
    let text = gateway.daemon.log.text();
    assert!(
        !text.contains('\u{1b}'),
        "no colours where nobody looks: {text:?}"
    );
    let gateway = Gateway::with_config("[log]\nformat = \"json\"\n");
    gateway
        .cli(&["config", "set", "limits.result_bytes", "5000"])
        .ok();
    gateway.daemon.log.wait_for("settings changed");
    for line in gateway.daemon.log.text().lines() {
        let entry: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert!(
            entry["level"].is_string() && entry["timestamp"].is_string(),
            "{entry}"
        );
    }
}

#[test]
fn ordinary_calls_write_nothing_to_the_log() {
    let gateway = Gateway::start();
    let before = gateway.daemon.log.text();
    for _ in 0..3 {
        gateway.write("a.md", "x");
        gateway
            .ws()
            .call("gsv__ReadFile", &json!({ "path": "nowhere" }));
        for era in [crate::mcp::Era::Initialize, crate::mcp::Era::Stateless] {
            crate::mcp::list(&gateway, era, &gateway.owner);
        }
    }
    let log = gateway.daemon.log.clone();
    gateway.stop();
    log.wait_for_end();
    let said = log.text()[before.len()..].to_owned();
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.contains("stopping"))
        .collect();
    assert!(lines.is_empty(), "{lines:?}");
}

#[test]
fn a_passphrase_opens_the_vault_and_nothing_else_does() {
    let home = Home::new();
    let with = |home: &Home, passphrase: Option<&str>| {
        let mut command = up(home);
        if let Some(passphrase) = passphrase {
            command.env("MANYHANDS_PASSPHRASE", passphrase);
        }
        command
    };
    let command = with(&home, Some("correct horse"));
    let gateway = Gateway::from(home, command);
    gateway
        .home
        .cli_with(&["secret", "set", "key"], "hunter2-hunter2")
        .ok();
    let home = gateway.stop();
    let before = tree(&home.path());
    for wrong in [None, Some("wrong horse")] {
        let mut daemon = Daemon::spawn(with(&home, wrong));
        let log = daemon.wait_until_up().expect_err("it must not start");
        assert!(
            log.contains("MANYHANDS_PASSPHRASE") || log.contains("passphrase"),
            "{log}"
        );
        let vault = |files: &[(String, Vec<u8>)]| {
            files.iter().find(|(name, _)| name == "vault.key").cloned()
        };
        assert_eq!(
            vault(&tree(&home.path())),
            vault(&before),
            "nothing changed"
        );
    }
    let command = with(&home, Some("correct horse"));
    let gateway = Gateway::from(home, command);
    gateway.write("a.md", "hunter2-hunter2");
    assert_eq!(
        gateway.read("a.md").as_deref(),
        Some("[redacted]"),
        "the control"
    );
}

#[test]
fn an_owner_who_lost_their_token_gets_another() {
    let gateway = Gateway::start();
    let old = gateway.owner.clone();
    let listed = gateway.get("/api/tokens").json();
    let id = listed["result"]["tokens"][0]["id"].as_str().expect("an id");
    let revoked = gateway.send(&Request::new("DELETE", &format!("/api/tokens/{id}")).bearer(&old));
    assert_eq!(revoked.status, 409, "the last owner's token stays");
    gateway.cli(&["tools"]).ok();
    let id = id.to_owned();
    let home = gateway.stop();
    std::fs::remove_file(home.path().join("owner.token")).expect("the file goes");
    let gateway = Gateway::on(home);
    assert_ne!(gateway.owner, old);
    assert_eq!(gateway.call("gsv__ReadFile", json!({}))["ok"], true);
    let now = gateway.owner.clone();
    let revoked = gateway.send(&Request::new("DELETE", &format!("/api/tokens/{id}")).bearer(&now));
    assert_eq!(revoked.status, 200, "there is another by now");
    assert_eq!(
        gateway.call_as(&old, "gsv__ReadFile", json!({})).status,
        401
    );
    let home = gateway.stop();
    std::fs::write(home.path().join("owner.token"), "nonsense\n").expect("the file");
    let log = refused(&home, &["--listen", "127.0.0.1:0"]);
    assert!(log.contains("owner.token"), "{log}");
}
