//! `contacts_send`, and the files of contacts.

use serde_json::{Value, json};

use super::refuses;
use crate::harness::{Gateway, tree};
use crate::http::Request;

const TOOL: &str = "contacts_send";
const ACTIVE: &str = "file_state_dir/contacts/ACTIVE.md";

/// Writes the file of contacts as an agent would.
#[track_caller]
fn put(gateway: &Gateway, content: &str) {
    let put = json!({ "path": ACTIVE, "content": content });
    let said = gateway.call("write_file", put);
    assert_eq!(said["ok"], true, "{said}");
}

fn to(contact: &str) -> Value {
    json!({ "contact_id": contact, "message_text": "hello" })
}

#[test]
fn both_files_of_contacts_are_there_with_a_template() {
    let gateway = Gateway::start();
    for file in ["ACTIVE", "INACTIVE"] {
        let path = format!("file_state_dir/contacts/{file}.md");
        let read = gateway.call("read_file", json!({ "path": path }));
        let text = read["result"]["content"].as_str().expect("text").to_owned();
        for word in [
            "created_at:",
            "contact_id:",
            "tg_private_chat_id:",
            "cooldown_until:",
        ] {
            assert!(text.contains(word), "{word} in {file}: {text}");
        }
    }
    let listed = gateway.get("/api/contacts").json()["result"].clone();
    assert_eq!(listed["count"], 0, "the example is nobody: {listed}");
    // What the template shows, written outside of its comment, is a contact.
    let read = gateway.call("read_file", json!({ "path": ACTIVE }));
    let text = read["result"]["content"].as_str().expect("text").to_owned();
    let (_, example) = text.split_once("## Alice").expect("an example");
    let example = example.replace("-->", "");
    put(&gateway, &format!("{text}\n## Alice{example}"));
    let listed = gateway.get("/api/contacts").json()["result"].clone();
    assert_eq!(listed["contacts"][0]["contact_id"], "tg:90001", "{listed}");
    let home = gateway.kill9();
    let gateway = Gateway::on(home);
    let again = gateway.get("/api/contacts").json()["result"].clone();
    assert_eq!(again["count"], 1, "a start changes no file: {again}");
}

#[test]
fn contacts_edited_by_hand_are_the_contacts() {
    let gateway = Gateway::start();
    refuses(
        &gateway,
        TOOL,
        to("tg:90001"),
        "not_found",
        &["no contact tg:90001", "ACTIVE.md"],
    );
    let first =
        "# Active Contacts\n\n## Alice\n```yaml\ncontact_id: tg:90001\ntg_username: alice\n```\n";
    put(&gateway, first);
    refuses(
        &gateway,
        TOOL,
        to("tg:90001"),
        "failed",
        &["tg:90001 has no chat"],
    );
    put(
        &gateway,
        &first.replace("alice\n", "alice\ntg_private_chat_id: 90001\n"),
    );
    let read = gateway.call("read_file", json!({ "path": ACTIVE }));
    let text = read["result"]["content"].as_str().expect("text").to_owned();
    assert!(text.contains("## Alice"), "{text}");
    let before = tree(&gateway.home.path().join("host/state"));
    for id in ["tg:90001", "tg:@Alice"] {
        let words = "no telegram channel is configured";
        refuses(&gateway, TOOL, to(id), "unavailable", &[words]);
    }
    let after = tree(&gateway.home.path().join("host/state"));
    assert_eq!(
        after, before,
        "what is missing here is no failure of theirs"
    );
}

#[test]
fn a_contact_in_cooldown_is_not_messaged() {
    let gateway = Gateway::start();
    let with = |until: &str| {
        format!(
            "## Alice\n```yaml\ncontact_id: tg:1\ntg_private_chat_id: 1\ncooldown_until: {until}\n```\n"
        )
    };
    put(&gateway, &with("2999-01-01T00:00:00Z"));
    refuses(
        &gateway,
        TOOL,
        to("tg:1"),
        "unavailable",
        &["tg:1 is cooling down until 2999-01-01"],
    );
    put(&gateway, &with("2020-01-01T00:00:00Z"));
    refuses(
        &gateway,
        TOOL,
        to("tg:1"),
        "unavailable",
        &["no telegram channel"],
    );
}

#[test]
fn messages_are_validated_before_the_contact_is_looked_up() {
    let gateway = Gateway::start();
    put(
        &gateway,
        "## Alice\n```yaml\ncontact_id: tg:1\ntg_private_chat_id: 1\n```\n",
    );
    let wrong = "invalid_arguments";
    for (arguments, words) in [
        (
            json!({ "message_text": "hello" }),
            "contact_id: is required",
        ),
        (
            json!({ "contact_id": "tg:1" }),
            "message_text or message_base64 is required",
        ),
        (
            json!({ "contact_id": "tg:1", "message_base64": "e30" }),
            "missing field",
        ),
        (
            json!({ "contact_id": "tg:1", "message_text": "x", "content_type": "text/plain" }),
            "content_type: must be application/json",
        ),
        (
            json!({ "contact_id": "tg:1", "message_text": "x", "session_id": "x" }),
            "UUIDv7",
        ),
        (
            json!({ "contact_id": "tg:1", "message_text": "x", "chat_id": "irc:x" }),
            "chat_id",
        ),
        (
            json!({ "contact_id": "tg:1", "message_text": "x", "topic": "x" }),
            "topic: is not a parameter",
        ),
    ] {
        refuses(&gateway, TOOL, arguments, wrong, &[words]);
    }
    let gateway = Gateway::with_config("tools.contacts_send.enabled = false");
    let said = gateway.call(TOOL, to("tg:1"));
    let error = said["error"].as_str().expect("an error");
    assert!(error.contains("contacts_send tool is disabled"), "{error}");
}

#[test]
fn contacts_are_listed_for_the_owner_alone() {
    let gateway = Gateway::start();
    let empty = gateway.cli(&["contacts"]).ok();
    assert!(empty.stdout.contains("no contacts"), "{empty:?}");
    put(
        &gateway,
        "# Active Contacts\n<!--\n## Example\n```yaml\ncontact_id: x\n```\n-->\n## Alice\n```yaml\ncontact_id: tg:1\nnickname: Alice\ntg_private_chat_id: 1\n```\n## Broken\n```yaml\ncontact_id: [\n```\n",
    );
    let listed = gateway.get("/api/contacts").json()["result"].clone();
    assert_eq!(listed["count"], 1, "{listed}");
    assert_eq!(listed["contacts"][0]["reachable_ids"], json!(["tg:1"]));
    let shown = gateway.cli(&["contacts", "list"]).ok();
    assert!(
        shown.stdout.contains("Alice") && shown.stdout.contains("tg:1"),
        "{shown:?}"
    );
    let one = gateway.cli(&["contacts", "show", "tg:1"]).ok().json();
    assert_eq!(
        (&one["nickname"], &one["active"]),
        (&json!("Alice"), &json!(true))
    );
    let none = gateway.cli(&["contacts", "show", "tg:2"]);
    assert!(
        none.code != Some(0) && none.stderr.contains("no contact tg:2"),
        "{none:?}"
    );
    for path in ["/api/contacts", "/api/contacts/tg:1", "/api/todos"] {
        let stranger = gateway.send(&Request::get(path));
        assert_eq!(stranger.status, 401, "{path}");
        assert_eq!(gateway.get(path).status, 200, "{path}");
    }
}
