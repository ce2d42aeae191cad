//! The official servers that are written in Python, from their registry.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::hostile::{Http, plain};
use super::{STRANGERS, gateway, servers, stranger};
use crate::harness::{BINARY, Home, run};

/// One of the servers, which are installed where `make test` has not done so.
fn program(name: &str) -> PathBuf {
    let target = Path::new(BINARY).ancestors().nth(2).expect("the target");
    let mut install = Command::new("python3");
    install.arg(servers().join("python")).arg(target);
    let ran = run(install, "");
    assert_eq!(
        ran.code,
        Some(0),
        "the tests need Python 3.11 or newer with venv: {ran:?}"
    );
    Path::new(ran.stdout.trim()).join("bin").join(name)
}

fn settings(name: &str, program: &Path, args: &[&str]) -> String {
    format!("[mcpServers.{name}]\ncommand = {program:?}\nargs = {args:?}\n")
}

#[track_caller]
fn good(said: Value) -> Value {
    assert_eq!(said["ok"], true, "{said}");
    said["result"].clone()
}

#[test]
fn the_clock_of_a_real_python_server_is_read() {
    let program = program("mcp-server-time");
    let settings = settings("clock", &program, &["--local-timezone", "UTC"]);
    let gateway = gateway(Home::new(), &settings, &["clock"]);
    let noon =
        json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let converted = good(gateway.call("clock__convert_time", noon.clone()));
    let there = converted["target"]["datetime"].as_str().expect("a time");
    assert!(there.contains("T21:00:00+09:00"), "{converted}");
    for (sdk, era) in STRANGERS {
        let plan = json!([["tools"], ["call", "convert_time", noon]]);
        let seen = stranger(&gateway, sdk, era, "clock", plan);
        let tools = seen[0]["value"].to_string();
        assert!(tools.contains("get_current_time"), "{sdk} {era}: {tools}");
        let there = seen[1].to_string();
        assert!(there.contains("T21:00:00+09:00"), "{sdk} {era}: {there}");
    }
    let nowhere = json!({ "timezone": "Nowhere/At-All" });
    let said = gateway.call("clock__get_current_time", nowhere);
    assert_eq!(said["code"], "failed", "{said}");
    assert!(said.to_string().contains("Nowhere/At-All"), "{said}");
    let missing = gateway.call("clock__get_current_time", json!({}));
    assert_eq!(missing["code"], "invalid_arguments", "{missing}");
}

#[test]
fn a_commit_is_made_by_a_real_python_server() {
    let home = Home::new();
    let repository = home.outside("repository");
    std::fs::create_dir(&repository).expect("a folder");
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(args).current_dir(&repository);
        run(git, "").ok().stdout
    };
    git(&["init", "--quiet"]);
    git(&["config", "user.name", "Ada"]);
    git(&["config", "user.email", "ada@example.com"]);
    std::fs::write(repository.join("note.md"), "kept\n").expect("a file");
    let path = repository.display().to_string();
    let settings = settings("git", &program("mcp-server-git"), &["--repository", &path]);
    let gateway = gateway(home, &settings, &["git"]);
    let call = |tool: &str, more: Value| {
        let mut arguments = more;
        arguments["repo_path"] = json!(path);
        gateway.call(&format!("git__{tool}"), arguments)
    };
    let status = good(call("git_status", json!({})));
    assert!(status.to_string().contains("note.md"), "{status}");
    good(call("git_add", json!({ "files": ["note.md"] })));
    good(call("git_commit", json!({ "message": "A note" })));
    assert_eq!(git(&["log", "--format=%an: %s"]).trim(), "Ada: A note");
    let log = good(call("git_log", json!({})));
    assert!(log.to_string().contains("A note"), "{log}");
    let elsewhere = json!({ "repo_path": gateway.home.outside("").display().to_string() });
    let refused = gateway.call("git__git_status", elsewhere);
    assert_eq!(refused["ok"], false, "{refused}");
}

#[test]
fn a_page_is_fetched_by_a_real_python_server() {
    let site = Http::start(|head, _| {
        match head.lines().next().unwrap_or_default().split(' ').nth(1) {
            Some("/robots.txt") => plain(
                "200 OK",
                "Content-Type: text/plain\r\n",
                "User-agent: *\nDisallow: /private\n",
            ),
            Some("/page") => plain(
                "200 OK",
                "Content-Type: text/html\r\n",
                "<html><body><article><h1>Tea</h1><p>It is served at four, with <b>milk</b>.</p></article></body></html>",
            ),
            _ => plain("404 Not Found", "", ""),
        }
    });
    let program = program("mcp-server-fetch");
    let settings =
        settings("fetch", &program, &["--allow-private-ips"]) + &settings("wary", &program, &[]);
    let gateway = gateway(Home::new(), &settings, &["fetch", "wary"]);
    let fetch = |server: &str, page: &str| {
        let url = json!({ "url": format!("{}/{page}", site.url) });
        gateway.call(&format!("{server}__fetch"), url)
    };
    let page = good(fetch("fetch", "page"));
    assert!(page.to_string().contains("served at four"), "{page}");
    let count = || {
        let asked = site.asked();
        let private = asked.iter().filter(|head| head.contains("/private"));
        (private.count(), asked.len())
    };
    let forbidden = fetch("fetch", "private/page");
    assert_eq!(forbidden["ok"], false, "{forbidden}");
    assert!(forbidden.to_string().contains("robots"), "{forbidden}");
    let (private, before) = count();
    assert_eq!(private, 0, "its rules are its own");
    let refused = fetch("wary", "page");
    assert_eq!(refused["ok"], false, "{refused}");
    assert_eq!(count().1, before, "nobody came");
}
