//! What a server says of its own tools, and whom its owner keeps it for.

use serde_json::json;

use super::{REST, RUN, answer, approvals, pauses};
use crate::federation::{Scripted, known};
use crate::harness::{Gateway, Home, eventually};

/// A gateway with a server that keeps what it is given, and the file in which it does.
#[track_caller]
fn stage(turns: &str, more: &str, agents: &str) -> (Gateway, std::path::PathBuf) {
    let home = Home::new();
    let server = Scripted::beside(&home, "server", &["page"]);
    let hidden = json!({ "type": "object", "properties": { "text": { "type": "string", "writeOnly": true } } });
    let keep =
        json!({ "name": "keep", "inputSchema": hidden, "annotations": { "readOnlyHint": false } });
    server.offer(&[json!({ "name": "page" }), keep]);
    let script = home.outside("script.yaml");
    std::fs::write(&script, format!("{RUN}{turns}{REST}")).expect("the script");
    let config = format!(
        "# asks by default\n[models]\ndefault = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {script:?}\n{agents}\n{}",
        server.settings("s", more)
    );
    let kept = home.outside("server.kept");
    let gateway = Gateway::on(home.with_config(&config));
    known(&gateway, "s");
    (gateway, kept)
}

#[test]
fn a_schema_of_a_server_hides_nothing_from_the_owner_or_the_audit() {
    let turns = "  - when: { user: keep it }
    calls: [{ name: s__keep, arguments: { text: the words in question } }]
";
    let (gateway, kept) = stage(turns, "", "");
    let asked = pauses(&gateway, "main", "keep it");
    assert_eq!(
        asked["arguments"],
        json!({ "text": "the words in question" })
    );
    assert!(!kept.exists());
    answer(&gateway, &asked, json!({ "decision": "approve" }));
    eventually("it was kept", || kept.exists());
    let entries = gateway.audit();
    let calls = entries.iter().filter(|one| one["tool"] == "s__keep");
    let shown = calls.map(ToString::to_string).collect::<String>();
    assert!(shown.contains("the words in question"), "{shown}");
}

#[test]
fn a_restricted_server_refuses_others_before_anybody_is_asked() {
    let more = "tokens = [\"phone\"]\nagents = [\"main\", \"helper\"]";
    let (gateway, kept) = stage("", more, "[agents.helper]\n[agents.other]\n");
    let (phone, tablet) = (gateway.client("phone"), gateway.client("tablet"));
    let keep = json!({ "text": "x" });
    let refused = gateway.call_as(&tablet, "s__keep", keep.clone());
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(
        refused.text().contains("mcpServers.s"),
        "{}",
        refused.text()
    );
    let refused = gateway.call("s__keep?agent=other", keep.clone());
    assert_eq!(refused["code"], "forbidden", "{refused}");
    assert!(approvals(&gateway).is_empty(), "nobody was asked");
    assert!(!kept.exists());
    // The control: who is listed is asked about, and the owner's agent may.
    let asked = gateway.call_as(&phone, "s__keep", keep.clone()).json();
    assert_eq!(asked["code"], "approval_required", "{asked}");
    assert_eq!(approvals(&gateway).len(), 1);
    assert!(!kept.exists());
    let done = gateway.call("s__keep?agent=helper", keep);
    assert_eq!(done["ok"], true, "{done}");
    assert!(kept.exists());
}
