//! Several accounts, agents and topics; and what is said while something else is worked on.

use manyhands_platforms::telegram::Telegram;
use serde_json::json;

use super::fixture::{ADA, BO, GROUP, MAIN, OWNED, Stage};
use crate::chats::fixture::{ASK, Scene, WRITE, threads};

#[test]
fn each_account_receives_and_answers_separately() {
    let threads = threads();
    let first = threads.block_on(Telegram::start());
    let second = threads.block_on(Telegram::start());
    let settings = format!(
        "{OWNED}\n{}{}",
        Stage::account(&first, "default"),
        Stage::account(&second, "work")
    );
    let scene = Scene::new(threads, &settings, "");
    let secrets = [("tg", Telegram::TOKEN)];
    scene.use_account("telegram", "default", &secrets);
    scene.use_account("telegram", "work", &[]);
    let stage = Stage::again(scene, first);
    // The same number at both is two updates.
    let message = stage.message(BO, BO.id, json!({ "text": "hello" }));
    stage
        .telegram
        .deliver(json!({ "update_id": 5000, "message": message }));
    second.deliver(json!({ "update_id": 5000, "message": message }));
    stage.reads(BO.id, "Good morning");
    stage.scene.wait(second.journal(), "an answer", || {
        second.written().len() == 1
    });
    stage.scene.at_rest();
    assert_eq!(stage.texts(BO.id).len(), 1);
    assert_eq!(second.written().len(), 1);
    assert_eq!(stage.scene.kept(), 2);
    // One that is stopped harms not the other.
    let stop = "/api/channels/telegram/work/stop";
    assert_eq!(stage.scene.gateway.post(stop, &json!({})).status, 200);
    assert_eq!(stage.scene.account("telegram", "work")["state"], "stopped");
    stage.write(BO, "/status");
    stage.reads(BO.id, "session: ");
    // A message can name the account.
    let psst = |account: &str| {
        let to = json!({ "text": "psst", "channel": "telegram", "to": "22", "accountId": account });
        stage.scene.gateway.call("gsv__Message", to)
    };
    let refused = psst("work");
    assert_eq!(refused["code"], "invalid_arguments", "{refused}");
    assert!(
        refused["error"].as_str().unwrap().contains("default"),
        "{refused}"
    );
    let start = "/api/channels/telegram/work/start";
    assert_eq!(stage.scene.gateway.post(start, &json!({})).status, 200);
    stage.scene.connected("telegram", "work");
    let sent = psst("work");
    assert_eq!(sent["result"]["accountId"], "work", "{sent}");
    assert_eq!(second.written().len(), 2);
    assert_eq!(stage.texts(BO.id).len(), 2);
}

#[test]
fn chats_may_have_agents_of_their_own() {
    let settings = format!(
        "{OWNED}channels.telegram.chats.\"-5\" = \"helper\"\nagents.helper.model = \"scripted/other\"\n"
    );
    let stage = Stage::new(&settings, "");
    stage.call(BO, GROUP, "hello");
    stage.call(BO, -6, "hello");
    stage.reads(GROUP, "Good morning");
    stage.reads(-6, "Good morning");
    stage.write(ADA, "/status");
    stage.reads(ADA.id, "scripted/demo");
    let mut sessions = stage.scene.sessions();
    sessions.sort();
    assert_eq!(
        sessions,
        [
            "agent:helper:telegram:group:-5",
            MAIN,
            "agent:main:telegram:group:-6"
        ]
    );
    let command = json!({
        "text": "/status@hands_bot",
        "entities": [{ "type": "bot_command", "offset": 0, "length": 17 }],
    });
    stage.send(BO, GROUP, command);
    let status = stage.reads(GROUP, "session: ");
    let status = status["text"].as_str().expect("text");
    assert!(status.contains("scripted/other"), "{status}");
}

#[test]
fn each_topic_is_a_conversation_and_answers_stay_in_it() {
    let stage = Stage::new(OWNED, "");
    let topic = |number: i64| {
        let mut message = super::fixture::called("hello");
        message["message_thread_id"] = json!(number);
        message["is_topic_message"] = json!(true);
        stage.send(BO, GROUP, message)
    };
    let (seven, nine) = (topic(7), topic(9));
    let both = || stage.written(GROUP).len() == 2;
    stage
        .scene
        .wait(stage.telegram.journal(), "two answers", both);
    for (topic, asked) in [(7, seven), (9, nine)] {
        let all = stage.written(GROUP);
        let answer = all.iter().find(|one| one["message_thread_id"] == topic);
        let answer = answer.unwrap_or_else(|| panic!("{all:?}"));
        assert_eq!(answer["reply_to_message"]["message_id"], asked);
        let session = format!("agent:main:telegram:thread:-5:thread:{topic}");
        assert_eq!(
            stage.scene.heard(&session).len(),
            1,
            "{:?}",
            stage.scene.sessions()
        );
    }
}

#[test]
fn messages_during_a_turn_are_merged_and_answered_once() {
    let turns = format!("  - when: {{ user: also that }}\n    text: All three of it.\n{WRITE}");
    let stage = Stage::new(&format!("{OWNED}{ASK}"), &turns);
    stage.write(ADA, "write it");
    let (question, yes, _) = stage.asked(ADA.id, "gsv__WriteFile");
    stage.write(ADA, "and this");
    stage.write(ADA, "and also that");
    // A command is answered meanwhile.
    stage.write(ADA, "/status");
    stage.reads(ADA.id, "1 running, 2 queued");
    stage.press(ADA, &question, &yes);
    stage.reads(ADA.id, "All three of it.");
    stage.scene.at_rest();
    let texts = stage.texts(ADA.id);
    assert_eq!(
        texts.len(),
        3,
        "the question, the command and one answer: {texts:?}"
    );
    let heard = stage.scene.heard(MAIN);
    assert_eq!(heard, ["write it", "and this", "and also that"]);
}

#[test]
fn a_group_that_moves_is_followed() {
    let stage = Stage::new(OWNED, "");
    stage.telegram.chat(-77, "supergroup");
    stage.telegram.move_chat(GROUP, -77);
    stage.call(BO, GROUP, "hello");
    stage.reads(-77, "Good morning");
    stage.scene.at_rest();
    assert_eq!(
        stage.scene.outbox("failed"),
        Vec::<serde_json::Value>::new()
    );
}

#[test]
fn people_who_write_are_among_the_contacts() {
    let stage = Stage::new(OWNED, "");
    stage.write(BO, "hello");
    stage.reads(BO.id, "Good morning");
    let listed = stage.scene.gateway.get("/api/contacts").text();
    assert!(listed.contains("Bo"), "{listed}");
    assert!(!listed.contains("Eve"), "{listed}");
}
