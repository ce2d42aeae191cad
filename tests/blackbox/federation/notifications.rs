//! What servers tell without being asked, heard by the official clients through the gateway.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{STRANGERS, Scripted, gateway};
use crate::harness::{Gateway, Home};
use crate::mcp::Lines;
use crate::npm::packages;

/// A stranger's client that listens.
struct Listener {
    child: Child,
    lines: Lines,
    who: String,
}

impl Listener {
    /// One of an era, at a path; it follows a resource if one is named.
    fn start(gateway: &Gateway, (sdk, era): (&str, &str), path: &str, more: &[&str]) -> Self {
        let mut client = gateway.home.wrap(Command::new("node"));
        client
            .arg(packages("mcp-client").join("changes.mjs"))
            .args([sdk, era, "http", &gateway.url, &gateway.owner, path])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = client.spawn().expect("node");
        Self {
            lines: Lines::of(child.stdout.take().expect("its output")),
            child,
            who: format!("{sdk} {era} at {path} {more:?}"),
        }
    }

    /// What it says next.
    #[track_caller]
    fn says(&self, what: &str) -> Value {
        let said = self.lines.next();
        assert!(said.get(what).is_some(), "{}: {said}", self.who);
        said[what].clone()
    }

    #[track_caller]
    fn ends(mut self) {
        drop(self.child.stdin.take());
        assert!(
            self.child.wait().expect("its end").success(),
            "{}",
            self.who
        );
    }
}

#[test]
fn every_client_is_notified_of_tool_list_changes() {
    for (path, prefix) in [("/mcp?profile=all", "s__"), ("/mcp/s", "")] {
        for stranger in STRANGERS {
            let home = Home::new();
            let scripted = Scripted::beside(&home, "script", &["changed", "old"]);
            let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
            let listener = Listener::start(&gateway, stranger, path, &[]);
            let shows = |listed: &Value, name: &str| {
                let listed = listed.as_array().expect("names");
                listed.contains(&json!(format!("{prefix}{name}")))
            };
            let listed = listener.says("listed");
            assert!(shows(&listed, "old") && !shows(&listed, "new"), "{listed}");
            let changed = json!({ "name": "changed", "description": "The tool changed" });
            scripted.offer(&[changed, json!({ "name": "new" })]);
            assert_eq!(gateway.call("s__changed", json!({}))["ok"], true);
            let told = listener.says("told");
            assert!(shows(&told, "new") && !shows(&told, "old"), "{told}");
            listener.ends();
        }
    }
}

#[test]
fn resource_subscribers_are_notified_of_changes() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo"]);
    scripted.note("nothing yet");
    let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
    for stranger in STRANGERS {
        // Whoever can be asked something has a line to the server of their own.
        for able in ["{}", r#"{"elicitation":{}}"#] {
            let more = ["note://one", able];
            let listener = Listener::start(&gateway, stranger, "/mcp/s", &more);
            listener.says("listed");
            assert_eq!(listener.says("follows"), "note://one");
            for number in 0..2 {
                let text = format!("{number} for {}", listener.who);
                scripted.note(&text);
                assert_eq!(listener.says("updated"), text);
            }
            listener.ends();
        }
    }
}
