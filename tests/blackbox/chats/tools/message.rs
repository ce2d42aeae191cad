//! `gsv__Message`

use serde_json::{Value, json};

use super::{given, refuses};
use crate::chats::telegram::fixture::{ADA, BO, GROUP, MAIN, OWNED, Stage, called, uses};

const TOOL: &str = "gsv__Message";

#[test]
fn without_a_target_it_goes_to_the_current_chat() {
    let turns = uses("tell me", TOOL, &json!({ "text": "**psst**" }), "Told.");
    let stage = Stage::new(OWNED, &turns);
    let given = given(&stage, "tell me", "Told.");
    assert!(
        given.contains("\"sent\":true") || given.contains("\"sent\": true"),
        "{given}"
    );
    assert_eq!(stage.texts(ADA.id), ["psst", "Told."]);
    assert_eq!(stage.written(ADA.id)[0]["entities"][0]["type"], "bold");
    // In a group it is the group.
    stage.call(ADA, GROUP, "tell me");
    stage.reads(GROUP, "Told.");
    assert_eq!(stage.texts(GROUP), ["psst", "Told."]);
    assert_eq!(stage.texts(ADA.id).len(), 2);
}

#[test]
fn it_reaches_other_chats_by_name_and_answers_messages_there() {
    let stage = Stage::new(OWNED, "");
    let asked = stage.call(BO, GROUP, "hello");
    stage.reads(GROUP, "Good morning");
    let to =
        json!({ "text": "see", "channel": "telegram", "to": "-5", "replyToId": asked.to_string() });
    let said = stage.scene.gateway.call(TOOL, to);
    assert_eq!(said["ok"], true, "{said}");
    let result = &said["result"];
    let sent = stage.reads(GROUP, "see");
    assert_eq!(sent["reply_to_message"]["message_id"], asked);
    let number = sent["message_id"].as_i64().expect("a number").to_string();
    assert_eq!(
        json!({
            "sent": true, "state": "sent", "channel": "telegram", "accountId": "default",
            "to": "-5", "peerKind": "group", "messageId": number,
        }),
        without(result, "outboxId"),
    );
    // Capital letters, another kind of conversation and the account are understood too.
    let to = json!({
        "text": "and see", "channel": "Telegram", "to": "-5", "peerKind": "channel", "accountId": "default",
    });
    let said = stage.scene.gateway.call(TOOL, to);
    assert_eq!(said["result"]["peerKind"], "channel", "{said}");
    stage.reads(GROUP, "and see");
    // Answering what is not there is better than silence.
    let to = json!({ "text": "late", "channel": "telegram", "to": "-5", "replyToId": "999999" });
    let said = stage.scene.gateway.call(TOOL, to);
    assert_eq!(said["result"]["sent"], true, "{said}");
}

fn without(result: &Value, key: &str) -> Value {
    let mut result = result.clone();
    let taken = result.as_object_mut().expect("an object").remove(key);
    assert!(taken.is_some_and(|id| id.is_string()), "{result}");
    result
}

#[test]
fn an_unknown_target_is_an_error_and_sends_nothing() {
    let stage = Stage::new(OWNED, "");
    let psst = |more: Value| {
        let mut all = json!({ "text": "psst" });
        for (key, value) in more.as_object().expect("fields") {
            all[key] = value.clone();
        }
        all
    };
    let wrong = "invalid_arguments";
    for (more, code, words) in [
        (json!({}), wrong, &["to", "nobody has written"][..]),
        (json!({ "to": "11" }), wrong, &["channel", "is required"]),
        (
            json!({ "channel": "pigeon" }),
            wrong,
            &["channel", "pigeon", "telegram"],
        ),
        (
            json!({ "channel": "slack", "to": "C1" }),
            "unavailable",
            &["slack is not in use"],
        ),
        (
            json!({ "channel": "telegram", "to": "11", "accountId": "other" }),
            wrong,
            &["accountId", "other", "default"],
        ),
        (
            json!({ "channel": "telegram", "to": "404" }),
            "failed",
            &["chat not found"],
        ),
        (
            json!({ "channel": "telegram", "to": "nobody" }),
            "failed",
            &["Telegram rejected it"],
        ),
        (
            json!({ "channel": "telegram", "to": "11", "replyToId": "first" }),
            "failed",
            &["first"],
        ),
        (
            json!({ "channel": "telegram", "to": "11", "peerKind": "crowd" }),
            wrong,
            &["peerKind"],
        ),
        (
            json!({ "channel": "telegram", "to": "11", "loud": true }),
            wrong,
            &["loud"],
        ),
        (
            json!({ "channel": "telegram", "to": "11", "text": "" }),
            wrong,
            &["text"],
        ),
        (
            json!({ "channel": "telegram", "to": "11", "text": "  \n" }),
            wrong,
            &["text"],
        ),
    ] {
        refuses(&stage, TOOL, psst(more), code, words);
    }
    let all = stage.telegram.written();
    assert_eq!(all, Vec::<Value>::new());
    stage.telegram.chat(ADA.id, "private");
    let said = stage
        .scene
        .gateway
        .call(TOOL, psst(json!({ "channel": "telegram", "to": "11" })));
    assert_eq!(said["result"]["sent"], true, "{said}");
    assert_eq!(stage.texts(ADA.id), ["psst"]);
}

#[test]
fn outside_of_chats_it_goes_to_the_last_chat_of_the_session() {
    let turns = uses("tell me", TOOL, &json!({ "text": "psst" }), "Told.");
    let stage = Stage::new(OWNED, &turns);
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
    stage.write(BO, "hello");
    stage.reads(BO.id, "Good morning");
    // The owner, at another face: the session's chat is Ada's, though Bo wrote last.
    let said = stage.scene.gateway.call(
        "gsv__SessionSend",
        json!({ "sessionKey": MAIN, "message": "tell me" }),
    );
    assert_eq!(said["result"]["reply"], "Told.", "{said}");
    assert_eq!(stage.texts(ADA.id).last().map(String::as_str), Some("psst"));
    assert_eq!(stage.texts(BO.id).len(), 1);
}

#[test]
fn a_long_message_comes_in_pieces_and_is_sent_once() {
    let stage = Stage::new(OWNED, "");
    stage.telegram.chat(ADA.id, "private");
    let lines: Vec<String> = (0..300)
        .map(|at| format!("line {at} of what is to be told"))
        .collect();
    let to = json!({ "text": lines.join("\n"), "channel": "telegram", "to": "11" });
    let said = stage.scene.gateway.call(TOOL, to);
    assert_eq!(said["result"]["sent"], true, "{said}");
    let texts = stage.texts(ADA.id);
    assert!(texts.len() > 1);
    let got: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    assert_eq!(got, lines);
}

#[test]
fn a_guest_needs_a_grant() {
    let turns = uses(
        "tell them",
        TOOL,
        &json!({ "text": "psst", "to": "11" }),
        "Told.",
    );
    let settings = format!("{OWNED}policy.rules = [{{ decision = \"allow\", tools = [\"*\"] }}]\n");
    let stage = Stage::new(&settings, &turns);
    stage.telegram.chat(ADA.id, "private");
    stage.write(BO, "tell them");
    stage.reads(BO.id, "Told.");
    assert_eq!(stage.texts(ADA.id), Vec::<String>::new());
    stage.send(ADA, GROUP, called("tell them"));
    stage.reads(GROUP, "Told.");
    assert_eq!(stage.texts(ADA.id), ["psst"]);
}
