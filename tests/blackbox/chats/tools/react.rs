//! `message_react` on Telegram.

use serde_json::{Value, json};

use super::{given, refuses};
use crate::chats::telegram::fixture::{ADA, BO, GROUP, MAIN, OWNED, Stage, uses};

const TOOL: &str = "message_react";

#[test]
fn a_reaction_goes_to_the_message_that_is_answered() {
    let turns = uses(
        "like it",
        TOOL,
        &json!({ "emoji": "\u{1f44d}", "is_big": true }),
        "Liked.",
    ) + &uses(
        "love it",
        TOOL,
        &json!({ "emoji": "\u{2764}\u{fe0f}" }),
        "Loved.",
    );
    let stage = Stage::new(OWNED, &turns);
    let asked = stage.write(ADA, "like it");
    stage.reads(ADA.id, "Liked.");
    assert_eq!(stage.telegram.reactions(ADA.id, asked), ["\u{1f44d}"]);
    let sent = &stage.requests("setMessageReaction")[0].body;
    assert_eq!(sent["is_big"], true);
    let told: Value = serde_json::from_str(&stage.given(MAIN)).expect("a result");
    assert_eq!(told["reacted"], true, "{told}");
    assert_eq!(told["message_id"], asked.to_string().as_str(), "{told}");
    // As keyboards write it.
    let asked = stage.write(ADA, "love it");
    stage.reads(ADA.id, "Loved.");
    assert_eq!(stage.telegram.reactions(ADA.id, asked).len(), 1);
    // A guest has it too, in a group and alone, and the owner is not asked.
    let asked = stage.call(BO, GROUP, "like it");
    stage.reads(GROUP, "Liked.");
    assert_eq!(stage.telegram.reactions(GROUP, asked), ["\u{1f44d}"]);
    let asked = stage.write(BO, "like it");
    stage.reads(BO.id, "Liked.");
    assert_eq!(stage.telegram.reactions(BO.id, asked), ["\u{1f44d}"]);
    assert_eq!(stage.scene.approvals(), Vec::<Value>::new());
}

#[test]
fn a_guests_reaction_in_another_chat_needs_the_owner() {
    let here = json!({ "emoji": "\u{1f44d}", "chat_id": 22 });
    let there = json!({ "emoji": "\u{1f44d}", "chat_id": 11, "message_id": 1 });
    let turns = uses("this", TOOL, &here, "Liked.") + &uses("other", TOOL, &there, "Tried.");
    let stage = Stage::new(OWNED, &turns);
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
    let asked = stage.write(BO, "this");
    stage.reads(BO.id, "Liked.");
    assert_eq!(
        stage.telegram.reactions(BO.id, asked).len(),
        1,
        "named, and the same"
    );
    assert_eq!(stage.scene.approvals(), Vec::<Value>::new());
    stage.write(BO, "other");
    stage.asked(ADA.id, TOOL);
    assert_eq!(stage.scene.approvals().len(), 1);
}

#[test]
fn reactions_stay_within_the_allowed_groups() {
    let listed = "channels.telegram.allow_groups = [\"-7\"]\n";
    let stage = Stage::new(&format!("{OWNED}{listed}"), "");
    for group in [GROUP, -7] {
        stage.call(BO, group, "hello");
        stage.reads(group, "Good morning");
    }
    let react = |chat: i64| json!({ "chat_id": chat, "message_id": 1, "emoji": "\u{1f525}" });
    let words = ["chat_id", "-5", "allowed groups", "allow_groups"];
    refuses(&stage, TOOL, react(GROUP), "invalid_arguments", &words);
    assert_eq!(stage.requests("setMessageReaction").len(), 0);
    let asked = stage.call(BO, -7, "hello");
    let mut allowed = react(-7);
    allowed["message_id"] = json!(asked);
    let said = stage.scene.gateway.call(TOOL, allowed);
    assert_eq!(said["result"]["reacted"], true, "{said}");
}

#[test]
fn a_reaction_may_name_another_message_and_another_chat() {
    let stage = Stage::new(OWNED, "");
    let asked = stage.write(BO, "hello");
    stage.reads(BO.id, "Good morning");
    let other = json!({ "chat_id": 22, "message_id": asked, "emoji": "\u{1f525}" });
    let said = stage.scene.gateway.call(TOOL, other);
    assert_eq!(said["result"]["reacted"], true, "{said}");
    assert_eq!(stage.telegram.reactions(BO.id, asked), ["\u{1f525}"]);
}

#[test]
fn an_unsupported_reaction_is_refused_locally() {
    let burger = uses(
        "burger",
        TOOL,
        &json!({ "emoji": "\u{1f354}" }),
        "No burger.",
    ) + &uses("named", TOOL, &json!({ "emoji": "thumbsup" }), "No name.")
        + &uses(
            "slack",
            TOOL,
            &json!({ "emoji": "\u{1f44d}", "channel_id": "C1" }),
            "No Slack.",
        )
        + &uses(
            "gone",
            TOOL,
            &json!({ "emoji": "\u{1f44d}", "message_id": 999_999 }),
            "No message.",
        )
        + &uses(
            "elsewhere",
            TOOL,
            &json!({ "emoji": "\u{1f44d}", "chat_id": 404, "message_id": 1 }),
            "No chat.",
        );
    let settings = format!("{OWNED}policy.rules = [{{ decision = \"allow\" }}]\n");
    let stage = Stage::new(&settings, &burger);
    for (word, end, words) in [
        ("burger", "No burger.", &["emoji", "\u{1f44d}"][..]),
        ("named", "No name.", &["emoji", "\u{1f44d}"]),
        ("slack", "No Slack.", &["channel_id"]),
        ("elsewhere", "No chat.", &["chat_id", "404"]),
    ] {
        let told = given(&stage, word, end);
        for word in words {
            assert!(told.contains(word), "{word:?} in {told}");
        }
    }
    assert_eq!(stage.requests("setMessageReaction").len(), 0);
    let told = given(&stage, "gone", "No message.");
    assert!(told.contains("message to react not found"), "{told}");
    // Outside of chats everything has to be named.
    let bare = json!({ "emoji": "\u{1f44d}" });
    refuses(
        &stage,
        TOOL,
        bare,
        "invalid_arguments",
        &["Telegram", "chat_id"],
    );
    let no_message = json!({ "emoji": "\u{1f44d}", "chat_id": 11 });
    refuses(
        &stage,
        TOOL,
        no_message,
        "invalid_arguments",
        &["message_id"],
    );
}
