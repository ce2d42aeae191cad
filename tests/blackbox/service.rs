//! The gateway as a service: installed, started, stopped, watched and removed through the real binary, with a service
//! manager that really starts it.

pub mod stage;

use std::process::Stdio;

use serde_json::json;

use crate::harness::{Daemon, Gateway, Home, eventually, run, up};
use crate::http::Request;
use stage::Stage;

/// The code of a one-time login link.
#[track_caller]
fn code(link: &str) -> String {
    let (_, code) = link.split_once("#code=").expect("a login link");
    code.split_whitespace().next().expect("a code").to_owned()
}

/// Whether a login link works: it does once.
fn logs_in(stage: &Stage, link: &str) -> bool {
    let body = json!({ "code": code(link) });
    let login = Request::post("/api/session/login", &body).send(stage.address);
    login.status == 200
}

#[test]
fn an_installed_gateway_is_ready_and_its_links_work() {
    let stage = Stage::new();
    let mut command = stage.command(&["install"]);
    command.env("DISPLAY", ":0");
    let ran = run(command, "").ok();
    assert!(stage.is_ready(), "{ran:?}");
    let url = format!("http://{}", stage.address);
    assert!(
        ran.stdout.contains(&format!("runs as a service at {url}")),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .contains("only this machine can reach the gateway"),
        "{ran:?}"
    );
    let page = ran.stdout.lines().find(|line| line.starts_with("  page"));
    let page = page.expect("a link");
    eventually("the browser was opened", || !stage.opened().is_empty());
    let opened = stage.opened();
    assert_ne!(code(page), code(&opened), "each has its own link");
    for link in [page, &opened] {
        assert!(logs_in(&stage, link), "{link}");
        assert!(!logs_in(&stage, link), "a link works once");
    }
    let unit = std::fs::read_to_string(stage.unit()).expect("the unit");
    for line in [
        "NoNewPrivileges=yes",
        "WantedBy=default.target",
        "KillMode=mixed",
    ] {
        assert!(unit.contains(line), "{line}: {unit}");
    }
    let token = std::fs::read_to_string(stage.home.path().join("owner.token"));
    assert!(!unit.contains(token.expect("a token").trim()), "{unit}");
}

#[test]
fn without_a_display_nothing_is_opened() {
    let stage = Stage::new();
    stage.cli(&["install"]).ok();
    let mut command = stage.command(&["install", "--no-browser"]);
    command.env("DISPLAY", ":0");
    run(command, "").ok();
    assert_eq!(stage.opened(), "");
    assert!(stage.is_ready(), "installing twice restarts it");
    assert!(stage.calls().contains("restart manyhands.service"));
}

#[test]
fn a_service_is_stopped_started_restarted_and_removed() {
    let stage = Stage::new();
    stage.install();
    let first = stage.pid();
    let shown = stage.cli(&["status"]).ok().stdout;
    assert!(shown.contains("gateway   ready (process"), "{shown}");
    assert!(shown.contains("active (running), enabled"), "{shown}");
    let ran = stage.cli(&["restart"]).ok();
    assert!(
        ran.stdout.contains("the gateway is running at http://"),
        "{ran:?}"
    );
    assert_ne!(stage.pid(), first);
    stage.cli(&["stop"]).ok();
    assert!(stage.pid().is_none());
    let ran = stage.cli(&["status"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("gateway   not running"), "{ran:?}");
    stage.cli(&["start"]).ok();
    assert!(stage.is_ready());
    let ran = stage.cli(&["uninstall"]).ok();
    assert!(!stage.unit().exists() && stage.pid().is_none(), "{ran:?}");
    assert!(
        stage.home.path().join("owner.token").exists(),
        "the data stays"
    );
    for command in ["start", "stop", "restart", "uninstall", "logs"] {
        let ran = stage.cli(&[command]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.stderr
                .contains("not installed as a service\nhint: manyhands install"),
            "{ran:?}"
        );
    }
}

#[test]
fn the_log_is_shown_and_followed() {
    let stage = Stage::new();
    stage.install();
    let log = stage.cli(&["logs", "-n", "7"]).ok().stdout;
    assert!(log.contains(" is up at http://"), "{log}");
    assert!(!log.contains("#code="), "no credential is logged: {log}");
    assert!(
        stage
            .calls()
            .contains("journalctl --user -u manyhands.service -n 7")
    );
    let mut follower = stage.command(&["logs", "-f"]);
    follower.stderr(Stdio::null());
    let mut follower = Daemon::spawn(follower);
    follower
        .wait_for_line(" is up at ")
        .expect("the log so far");
    stage.cli(&["restart"]).ok();
    follower
        .wait_for_line(" is up at ")
        .expect("what came later");
}

#[test]
fn a_phone_gets_a_code_where_it_can_reach_the_gateway() {
    let stage = Stage::with_config("insecure_remote = true\n");
    let config = stage.home.path().join("config.toml");
    let text = std::fs::read_to_string(&config).expect("the settings");
    let open = text.replace("127.0.0.1:", "0.0.0.0:");
    std::fs::write(
        &config,
        format!("public_url = \"https://hands.example\"\n{open}"),
    )
    .expect("the settings");
    let ran = stage.install();
    let link = ran
        .stdout
        .lines()
        .find(|line| line.contains("scan the code"));
    let link = link.unwrap_or_else(|| panic!("{ran:?}"));
    assert!(link.contains("https://hands.example/login#code="), "{link}");
    assert!(logs_in(&stage, link));
    let blocks = ran.stdout.lines().filter(|line| line.starts_with("███"));
    assert!(blocks.count() > 10, "{ran:?}");
}

#[test]
fn without_a_service_manager_the_remedy_is_named_and_nothing_is_written() {
    let stage = Stage::new();
    let refused = |path: &str| {
        let mut command = stage.command(&["install"]);
        command.env("PATH", path);
        let ran = run(command, "");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(!stage.unit().exists(), "nothing is written");
        ran.stderr
    };
    let empty = stage.path("state").display().to_string();
    let error = refused(&empty);
    assert!(error.contains("`systemctl` is not installed"), "{error}");
    assert!(
        error.contains("run it in the foreground: manyhands up"),
        "{error}"
    );
    let broken = stage.path("broken");
    std::fs::create_dir(&broken).expect("a folder");
    let text = "#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n";
    stage::script(&broken.join("systemctl"), text);
    let error = refused(&format!("{}:/usr/bin:/bin", broken.display()));
    assert!(error.contains("Failed to connect to bus"), "{error}");
    assert!(error.contains("a container or `su` has none"), "{error}");
}

#[test]
fn a_gateway_that_does_not_start_shows_its_last_log_lines() {
    let stage = Stage::new();
    let taken = std::net::TcpListener::bind(stage.address).expect("the port");
    let ran = stage.cli(&["install"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for words in [
        "the gateway did not start: failed",
        "cannot listen on",
        "`manyhands logs` shows more",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
    drop(taken);
    stage.cli(&["start"]).ok();
    let config = stage.home.path().join("config.toml");
    std::fs::write(config, "listn = 5\n").expect("the settings");
    let ran = stage.cli(&["install"]);
    assert!(ran.stderr.contains("listn"), "{ran:?}");
    assert!(
        stage.is_ready(),
        "wrong settings are refused before anything is restarted"
    );
}

#[test]
fn a_service_does_not_replace_another_gateway() {
    let stage = Stage::new();
    stage.install();
    let other = stage.path("other").display().to_string();
    let ran = stage.cli(&["install", "--home", &other]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("already runs the gateway of"),
        "{ran:?}"
    );
    assert!(stage.is_ready());

    let foreground = Stage::new();
    let mut command = foreground.command(&["up"]);
    command.stdin(Stdio::null());
    let mut daemon = Daemon::spawn(command);
    daemon.wait_until_up().expect("a gateway");
    for command in ["install", "status"] {
        let ran = foreground.cli(&[command]);
        let text = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            text.contains(&format!("process {}", daemon.pid())),
            "{ran:?}"
        );
        assert_eq!(ran.code, Some(i32::from(command == "install")), "{ran:?}");
    }
    assert!(!foreground.unit().exists());
}

#[test]
fn the_units_are_printed_without_installing_anything() {
    let home = Home::new();
    let user = home.cli(&["install", "--print"]).ok().stdout;
    let env = format!("Environment=\"MANYHANDS_HOME={}\"", home.path().display());
    assert!(user.contains(&env), "{user}");
    let mut command = home.command();
    command.env_remove("MANYHANDS_HOME").args([
        "install",
        "--system",
        "--dry-run",
        "--program",
        "/usr/bin/manyhands",
    ]);
    let system = run(command, "").ok().stdout;
    for line in [
        "ExecStart=\"/usr/bin/manyhands\" \"up\"",
        "Environment=\"MANYHANDS_HOME=/var/lib/manyhands\"",
        "User=manyhands",
        "StateDirectory=manyhands",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "PrivateTmp=yes",
        "NoNewPrivileges=yes",
        "WantedBy=multi-user.target",
    ] {
        assert!(system.lines().any(|l| l == line), "{line}: {system}");
    }
    assert!(!home.path().exists() && !home.outside("user/.config").exists());
}

#[test]
fn launchd_is_served_alike() {
    let stage = Stage::new();
    let on = |args: &[&str]| stage.cli(&[args, &["--manager", "launchd"]].concat());
    on(&["install"]).ok();
    assert!(stage.is_ready());
    let plist = stage.path("user/Library/LaunchAgents/manyhands.gateway.plist");
    assert!(plist.is_file());
    let first = stage.pid();
    on(&["restart"]).ok();
    assert_ne!(stage.pid(), first);
    assert!(on(&["status"]).ok().stdout.contains("running ("));
    assert!(on(&["logs"]).ok().stdout.contains(" is up at http://"));
    on(&["stop"]).ok();
    assert!(stage.pid().is_none());
    on(&["start"]).ok();
    on(&["uninstall"]).ok();
    assert!(!plist.exists() && stage.pid().is_none());
}

#[test]
fn a_gateway_that_is_a_service_says_so_to_the_doctor() {
    let stage = Stage::new();
    stage.install();
    let found = stage.cli(&["doctor"]).stdout;
    assert!(
        found.contains("ok     service    the gateway is a service"),
        "{found}"
    );
    let home = Home::new();
    let command = up(&home);
    let gateway = Gateway::from(home, command);
    let found = gateway.get("/api/doctor").text();
    assert!(!found.contains("the gateway is a service"), "{found}");
}
