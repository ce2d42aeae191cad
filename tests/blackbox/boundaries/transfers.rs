//! A transfer is a read and a write, and what is said of those holds for it.

use serde_json::{Value, json};

use super::{ends, said};
use crate::harness::Gateway;
use crate::nodes::fixture::Machine;

const RULES: &str = r#"
[[policy.rules]]
decision = "deny"
tools = ["gsv__ReadFile", "box__Read"]
when.path = { contains = "secret" }
[[policy.rules]]
decision = "deny"
tools = ["gsv__WriteFile", "box__Write"]
when.path = { contains = "locked" }
"#;

#[track_caller]
fn transfer(gateway: &Gateway, from: &str, to: &str) -> Value {
    gateway.call(
        "gsv__Transfer",
        json!({ "source": from, "destination": to }),
    )
}

#[test]
fn rules_on_reading_and_writing_hold_for_transfers_however_the_path_is_spelled() {
    let gateway = Gateway::with_config(RULES);
    let machine = Machine::lend(&gateway, "box");
    gateway.write("memory/secret.md", "one");
    gateway.write("memory/plain.md", "two");
    machine.put("secret.txt", b"three");
    machine.put("plain.txt", b"four");
    let there = |name: &str| machine.end(name);
    for (from, to) in [
        ("gsv:memory/secret.md".to_owned(), "gsv:out.md".to_owned()),
        ("gsv:./memory/secret.md".to_owned(), "gsv:out.md".to_owned()),
        ("gsv:memory/./secret.md".to_owned(), there("out.md")),
        ("gsv:./memory/secret.md".to_owned(), there("out.md")),
        (there("secret.txt"), "gsv:out.md".to_owned()),
        (
            "gsv:memory/plain.md".to_owned(),
            "gsv:./locked/out.md".to_owned(),
        ),
        ("gsv:memory/plain.md".to_owned(), there("locked.txt")),
        (there("plain.txt"), "gsv:locked/out.md".to_owned()),
    ] {
        let refused = transfer(&gateway, &from, &to);
        assert_eq!(
            refused["code"], "denied_by_policy",
            "{from} {to}: {refused}"
        );
        let copied = gateway.cli(&["cp", &from, &to]);
        assert_eq!(copied.code, Some(1), "{from} {to}: {copied:?}");
    }
    assert_eq!(gateway.read("out.md"), None);
    assert_eq!(gateway.read("locked/out.md"), None);
    assert!(!machine.file("out.md").exists() && !machine.file("locked.txt").exists());
    // The control: what no rule names is carried both ways.
    let carried = transfer(&gateway, "gsv:./memory/plain.md", &there("out.md"));
    assert_eq!(carried["ok"], true, "{carried}");
    gateway.cli(&["cp", &there("plain.txt"), "gsv:out.md"]).ok();
    assert_eq!(gateway.read("out.md").as_deref(), Some("four"));
    assert!(machine.file("out.md").exists());
}

#[test]
fn an_agent_without_reading_or_writing_does_not_transfer_either() {
    let turns = "  - when: { user: carry it }
    calls: [{ name: gsv__Transfer, arguments: { source: 'gsv:a.md', destination: 'gsv:b.md' } }]
";
    let settings = "[agents.reads]\ntools = [\"gsv__Transfer\", \"gsv__ReadFile\"]\n[agents.writes]\ntools = [\"gsv__Transfer\", \"gsv__WriteFile\"]\n[agents.both]\ntools = [\"gsv__*\"]\n";
    let gateway = super::gateway(turns, settings);
    for (agent, carried) in [("reads", false), ("writes", false), ("both", true)] {
        let file = json!({ "path": "a.md", "content": "carried" });
        let written = gateway.call(&format!("gsv__WriteFile?agent={agent}"), file);
        assert_eq!(written["ok"], true, "{written}");
        let key = format!("agent:{agent}:main");
        ends(&gateway, &key, "carry it");
        let there = gateway.home.blob(&format!("agents/{agent}/b.md")).exists();
        assert_eq!(there, carried, "{agent}: {}", said(&gateway, &key));
    }
}
