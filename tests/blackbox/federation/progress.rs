//! How far a server's tool is, seen in a conversation.

use serde_json::Value;

use super::{known, node, official};
use crate::chat_http::scripted;
use crate::chat_socket::Chat;

const SCRIPT: &str = r#"
models: [demo]
turns:
  - when: { user: work }
    calls: [{ id: c1, name: everything__trigger-long-running-operation, arguments: { duration: 2, steps: 4 } }]
  - when: { result_of: everything__trigger-long-running-operation }
    text: It is done.
"#;

#[test]
fn progress_without_message_is_shown_as_a_line() {
    let everything = node("everything", &[&official("everything"), "stdio"], "");
    let rules = "[[policy.rules]]\ndecision = \"allow\"\n";
    let gateway = scripted(SCRIPT, &format!("{rules}\n{everything}"));
    known(&gateway, "everything");
    let mut chat = Chat::owner(&gateway);
    chat.send("main", "r1", "work");
    let told = chat.until("r1", "final");
    let printed = told.iter().filter(|told| told["state"] == "output");
    let printed: String = printed.filter_map(|told| told["text"].as_str()).collect();
    assert_eq!(printed, "1 of 4\n2 of 4\n3 of 4\n4 of 4\n");
    let done = told.iter().find(|told| told["state"] == "done");
    assert_eq!(done.expect("its end")["ok"], Value::Bool(true));
}
