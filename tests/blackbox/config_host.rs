//! What names programs or files of the gateway's machine is set on that machine, and nowhere else.

use serde_json::{Value, json};

use crate::harness::{Gateway, Ran};
use crate::http::{Request, Response};

/// Settings that only the machine's own owner sets, a value that would be fine, and whether it
/// holds without a restart.
fn local() -> Vec<(&'static str, Value, bool)> {
    vec![
        ("tools.bash.rewrite.binary", json!("echo"), true),
        ("tools.bash.injected_env_vars", json!(["HOME"]), true),
        ("tools.powershell.injected_env_vars", json!(["HOME"]), true),
        ("tools.shell_exec.allow", json!(["echo", "rm"]), true),
        ("tools.read_file.roots", json!(["/etc"]), true),
        ("workspace_root", json!("/tmp"), false),
        ("file_cache_dir", json!("/tmp"), false),
        ("file_state_dir", json!("/tmp"), false),
        ("tls", json!({ "cert": "/x", "key": "/y" }), false),
    ]
}

/// The same settings by other names: a part, the whole they are in, another spelling.
fn disguised() -> Vec<(&'static str, Value)> {
    vec![
        (
            "tools.bash.rewrite",
            json!({ "enabled": true, "binary": "echo" }),
        ),
        (
            "tools.bash",
            json!({ "rewrite": { "enabled": true, "binary": "echo" } }),
        ),
        ("tools", json!({ "shell_exec": { "allow": ["rm"] } })),
        ("tools.shell_exec", json!({ "allow": ["rm"] })),
        ("tools.shell_exec.allow.0", json!("rm")),
        ("tools.shell_exec.allow.40", json!("rm")),
        ("tools.bash.injected_env_vars.0", json!("HOME")),
        ("tools.read_file.roots.0", json!("/")),
        ("\"tools\".\"shell_exec\".\"allow\"", json!(["rm"])),
        ("tools.\"bash\".rewrite.\"binary\"", json!("echo")),
        ("\"workspace_root\"", json!("/tmp")),
        ("tls.cert", json!("/x")),
        ("tls.key", json!("/x")),
        ("tools.read_file", json!({ "roots": ["/"] })),
    ]
}

fn put(gateway: &Gateway, token: &str, path: &str, value: &Value) -> Response {
    let body = json!({ "path": path, "value": value });
    gateway.send(&Request::new("PUT", "/api/config").json(&body).bearer(token))
}

fn settings(gateway: &Gateway) -> (Vec<u8>, Value) {
    let file = std::fs::read(gateway.home.path().join("config.toml")).expect("the settings");
    (
        file,
        gateway.get("/api/config").json()["result"]["config"].clone(),
    )
}

#[test]
fn machine_settings_are_refused_remotely() {
    let gateway = Gateway::start();
    let client = gateway.client("laptop");
    let mut socket = gateway.ws();
    let before = settings(&gateway);
    let all = local()
        .into_iter()
        .map(|(path, value, _)| (path, value))
        .chain(disguised());
    for (path, value) in all {
        let said = put(&gateway, &gateway.owner, path, &value);
        assert_eq!(
            (said.status, said.json()["code"].as_str()),
            (403, Some("forbidden")),
            "{path}: {}",
            said.text()
        );
        let error = said.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(
            error.contains("manyhands config set"),
            "it says where to: {error}"
        );
        let said = socket.request("config.set", json!({ "path": path, "value": value }));
        assert_eq!(said["error"]["code"], 403, "{path}: {said}");
        assert_eq!(put(&gateway, &client, path, &value).status, 403, "{path}");
    }
    for odd in [
        "tools.shell_exec.allow ",
        " workspace_root",
        "Tools.shell_exec.allow",
        "tools..bash",
        "",
        ".",
    ] {
        let said = put(&gateway, &gateway.owner, odd, &json!(["rm"]));
        assert!(
            (400..500).contains(&said.status),
            "{odd:?}: {}",
            said.text()
        );
        let said = socket.request("config.set", json!({ "path": odd, "value": ["rm"] }));
        assert_eq!(said["ok"], false, "{odd:?}: {said}");
    }
    assert_eq!(
        settings(&gateway),
        before,
        "neither the file nor what is in force changed"
    );
    let said = put(&gateway, &gateway.owner, "tools.bash.timeout", &json!(7));
    assert_eq!(said.status, 200, "the control: {}", said.text());
    let said = socket.request(
        "config.set",
        json!({ "path": "tools.bash.deny_paths", "value": ["x"] }),
    );
    assert_eq!(said["ok"], true, "the control: {said}");
    let (_, now) = settings(&gateway);
    assert_eq!(
        (
            &now["tools"]["bash"]["timeout"],
            &now["tools"]["bash"]["deny_paths"]
        ),
        (&json!(7), &json!(["x"]))
    );
}

#[test]
fn locally_they_are_applied_or_require_a_restart() {
    let gateway = Gateway::start();
    let before = gateway.call("tool::shell_exec", json!({ "argv": ["rm", "--version"] }));
    assert_eq!(before["code"], "forbidden", "{before}");
    for (path, value, live) in local() {
        let ran: Ran = gateway
            .cli(&["config", "set", path, &value.to_string()])
            .ok();
        let when = if live { "active on" } else { "restart" };
        assert!(
            ran.stdout.contains(path) && ran.stdout.contains(when),
            "{ran:?}"
        );
    }
    for (path, value, live) in local() {
        if live {
            let shown = gateway.get(&format!("/api/config?path={path}")).json();
            assert_eq!(shown["result"]["value"], value, "{path}");
        } else {
            gateway.daemon.log.wait_for(&format!("{path:?}"));
        }
    }
    gateway.daemon.log.wait_for("needs_restart=[\"");
    let after = gateway.call("tool::shell_exec", json!({ "argv": ["rm", "--version"] }));
    assert_eq!(after["result"]["exitCode"], 0, "the list is live: {after}");
    let gone = gateway.call("tool::shell_exec", json!({ "argv": ["cat"] }));
    assert_eq!(gone["code"], "forbidden", "{gone}");
    let read = gateway.call("read_file", json!({ "path": "/etc/passwd" }));
    assert_eq!(read["ok"], true, "the added root is live: {read}");
    let written = gateway.call("tool::file_write", json!({ "path": "a", "content": "x" }));
    let place = gateway
        .home
        .path()
        .canonicalize()
        .expect("the home")
        .join("host/workspace/a");
    assert_eq!(
        written["result"]["path"],
        place.display().to_string(),
        "the folder waits for the restart"
    );
}
