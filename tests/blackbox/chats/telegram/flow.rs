//! Answers: long, seen coming, to commands; and updates, each taken once.

use manyhands_platforms::Fault;
use manyhands_platforms::telegram::Telegram;
use serde_json::{Value, json};

use super::fixture::{ADA, BO, MAIN, OWNED, Stage};
use crate::chats::fixture::Scene;
use crate::harness::{Gateway, eventually};
use crate::sql::Sql;

#[test]
fn a_long_answer_arrives_in_order_in_pieces_that_fit() {
    let lines: Vec<String> = (0..400)
        .map(|at| format!("line {at} \u{1f600} of an answer that goes on"))
        .collect();
    let whole = lines.join("\\n");
    let turns = format!("  - when: {{ user: tell all }}\n    text: \"{whole}\"\n");
    let stage = Stage::new(
        &format!("{OWNED}channels.telegram.stream = false\n"),
        &turns,
    );
    stage.write(ADA, "tell all");
    stage.reads(ADA.id, "line 399 ");
    stage.scene.at_rest();
    let texts = stage.texts(ADA.id);
    assert!(texts.len() >= 4, "{}", texts.len());
    for text in &texts {
        assert!(text.encode_utf16().count() <= 4_096);
    }
    let got: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    assert_eq!(got, lines, "whole, and in order");
}

const SLOW: &str = r#"
  - when: { user: slowly }
    deltas: ["This is the beginning of an answer that takes its time, ", "it goes on for a while, ", "and on, ", "and ends here."]
    between_ms: 1500
"#;

const SLOWLY: &str = "This is the beginning of an answer that takes its time, it goes on for a while, and on, and ends here.";

#[test]
fn a_streamed_answer_ends_as_one_message_with_the_whole_text() {
    let stage = Stage::new(OWNED, SLOW);
    stage.write(ADA, "slowly");
    stage.reads(ADA.id, SLOWLY);
    stage.scene.at_rest();
    assert_eq!(stage.texts(ADA.id), [SLOWLY]);
    let sent = stage.requests("sendMessage");
    assert_eq!(sent.len(), 1, "one message: {sent:?}");
    let first = sent[0].body["text"].as_str().expect("text");
    assert!(SLOWLY.starts_with(first) && first != SLOWLY, "{first}");
    let edits = stage.requests("editMessageText");
    assert!(!edits.is_empty());
    for edit in &edits {
        let text = edit.body["text"].as_str().expect("text");
        assert!(SLOWLY.starts_with(text), "{text}");
    }
    assert!(
        !stage.requests("sendChatAction").is_empty(),
        "typing is shown"
    );
    // Where it is switched off, only the answer is seen.
    let still = Stage::new(&format!("{OWNED}channels.telegram.stream = false\n"), SLOW);
    still.write(ADA, "slowly");
    still.reads(ADA.id, SLOWLY);
    still.scene.at_rest();
    assert_eq!(still.requests("sendMessage").len(), 1);
    assert_eq!(still.requests("editMessageText").len(), 0);
}

#[test]
fn an_answer_that_is_done_while_its_first_draft_is_on_the_way_is_still_one_message() {
    let stage = Stage::new(OWNED, SLOW);
    let (go, held) = tokio::sync::watch::channel(false);
    stage.telegram.fail("sendMessage", Fault::Held(held));
    stage.write(ADA, "slowly");
    let begun = || !stage.texts(ADA.id).is_empty();
    stage.scene.wait(stage.telegram.journal(), "a draft", begun);
    let done = |said: &[(String, String)]| said.iter().any(|(_, text)| text == SLOWLY);
    eventually("the end of the turn", || done(&stage.scene.said(MAIN)));
    assert_eq!(stage.scene.outbox("sent"), Vec::<Value>::new());
    go.send_replace(true);
    stage.reads(ADA.id, SLOWLY);
    stage.scene.at_rest();
    assert_eq!(stage.texts(ADA.id), [SLOWLY]);
    assert_eq!(stage.requests("sendMessage").len(), 1);
}

#[test]
fn a_draft_does_not_overtake_earlier_messages() {
    let stage = Stage::new(OWNED, SLOW);
    let why = "Too Many Requests: retry after 4";
    let busy = Telegram::refusal(429, why, json!({ "retry_after": 4 }));
    stage.telegram.fail("sendMessage", busy);
    stage.write(ADA, "/status");
    stage.write(ADA, "slowly");
    stage.reads(ADA.id, SLOWLY);
    stage.scene.at_rest();
    let texts = stage.texts(ADA.id);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("session: "), "{texts:?}");
}

#[test]
fn text_before_a_tool_call_is_a_separate_message() {
    let note = "arguments: { path: note.md, content: kept }";
    let turns = format!(
        "  - when: {{ user: write it }}\n    deltas: [\"I write it down now, and then we shall see what \", comes of it.]\n    between_ms: 1500\n    calls: [{{ name: gsv__WriteFile, {note} }}]\n  - when: {{ result_of: gsv__WriteFile }}\n    deltas: [\"It is written down, as far as I can tell, \", and all is well.]\n    between_ms: 1500\n"
    );
    let stage = Stage::new(OWNED, &turns);
    stage.write(ADA, "write it");
    stage.reads(ADA.id, "all is well.");
    stage.scene.at_rest();
    assert_eq!(
        stage.texts(ADA.id),
        [
            "I write it down now, and then we shall see what comes of it.",
            "It is written down, as far as I can tell, and all is well.",
        ]
    );
}

#[test]
fn a_long_streamed_answer_ends_in_chunks_without_leftover() {
    let lines: Vec<String> = (0..150)
        .map(|at| format!("line {at} of an answer that goes on and on"))
        .collect();
    let half = lines[..75].join("\\n");
    let rest = lines[75..].join("\\n");
    let turns = format!(
        "  - when: {{ user: tell all }}\n    deltas: [\"{half}\\n\", \"{rest}\"]\n    between_ms: 2500\n"
    );
    let stage = Stage::new(OWNED, &turns);
    stage.write(ADA, "tell all");
    stage.reads(ADA.id, "line 149 ");
    stage.scene.at_rest();
    let texts = stage.texts(ADA.id);
    let got: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
    assert_eq!(got, lines, "{texts:?}");
    assert!(!stage.requests("editMessageText").is_empty());
}

#[test]
fn marks_are_shown_as_marks_and_signs_as_signs() {
    let turns = r#"
  - when: { user: signs }
    text: "a < b && c > d, **bold**, `x<y>`\n```rust\nlet a = &b;\n```"
"#;
    let stage = Stage::new(OWNED, turns);
    stage.write(ADA, "signs");
    let shown = stage.reads(ADA.id, "a < b && c > d, bold, x<y>");
    let text = shown["text"].as_str().expect("text");
    assert!(
        text.contains("let a = &b;") && !text.contains("```"),
        "{text}"
    );
    let marks = shown["entities"].as_array().expect("marks");
    let kinds: Vec<&Value> = marks.iter().map(|mark| &mark["type"]).collect();
    assert_eq!(kinds, ["bold", "code", "pre"]);
    assert_eq!(marks[2]["language"], "rust");
}

#[test]
fn the_platforms_rate_limit_is_respected_in_advance() {
    let lines: Vec<String> = (0..400)
        .map(|at| format!("line {at} of an answer that goes on"))
        .collect();
    let whole = lines.join("\\n");
    let turns = format!("  - when: {{ user: tell all }}\n    text: \"{whole}\"\n");
    let stage = Stage::new(
        &format!("{OWNED}channels.telegram.stream = false\n"),
        &turns,
    );
    stage.telegram.limit_rates();
    stage.write(ADA, "/help");
    stage.write(ADA, "tell all");
    stage.reads(ADA.id, "line 399 ");
    stage.write(ADA, "/status");
    stage.reads(ADA.id, "session: ");
    let sent = stage.requests("sendMessage");
    assert!(sent.len() >= 5);
    assert!(
        sent.iter().all(|one| one.status == 200),
        "nobody had to ask us to wait"
    );
}

#[test]
fn commands_are_answered_at_once() {
    let stage = Stage::new(OWNED, "");
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
    stage.write(ADA, "/status");
    let status = stage.reads(ADA.id, "session: ");
    let status = status["text"].as_str().expect("text");
    assert!(
        status.contains(MAIN) && status.contains("scripted/demo"),
        "{status}"
    );
    stage.write(ADA, "/help");
    let help = stage.reads(ADA.id, "/compact");
    assert!(
        help["text"].as_str().expect("text").contains("/approve"),
        "{help}"
    );
    assert_eq!(
        stage.scene.said(MAIN).len(),
        2,
        "commands are not part of it"
    );
    stage.write(ADA, "/new");
    stage.reads(ADA.id, "new session");
    assert_eq!(stage.scene.said(MAIN), []);
    stage.write(ADA, "/statsu");
    stage.reads(ADA.id, "did you mean /status?");
    // A guest has their own conversation, and no say in models.
    stage.write(BO, "/model scripted/demo");
    stage.reads(BO.id, "only the owner");
    stage.write(BO, "/status");
    stage.reads(BO.id, "agent:main:telegram:dm:22");
}

fn highest_offset(stage: &Stage) -> Option<i64> {
    let asked = stage.requests("getUpdates");
    asked
        .iter()
        .filter_map(|one| one.body["offset"].as_i64())
        .max()
}

#[test]
fn an_update_is_acknowledged_only_once_stored() {
    let stage = Stage::new(OWNED, "");
    let mut lock = Sql::open(&stage.scene.gateway.home.path());
    lock.run("BEGIN IMMEDIATE");
    let before = stage.requests("getUpdates").len();
    let message = stage.message(ADA, ADA.id, json!({ "text": "hello" }));
    let update = stage.telegram.deliver(json!({ "message": message }));
    let taken = || stage.requests("getUpdates").len() > before;
    stage
        .scene
        .wait(stage.telegram.journal(), "an answered poll", taken);
    assert_eq!(stage.telegram.pending(), 1, "it is not confirmed");
    assert!(highest_offset(&stage) <= Some(update));
    let Stage {
        scene, telegram, ..
    } = stage;
    let Scene { gateway, threads } = scene;
    let home = gateway.kill9();
    lock.close();
    assert_eq!(telegram.pending(), 1, "nor by a crash");
    let stage = Stage::again(
        Scene {
            gateway: Gateway::on(home),
            threads,
        },
        telegram,
    );
    stage.reads(ADA.id, "Good morning");
    eventually("its confirmation", || stage.telegram.pending() == 0);
    stage.scene.at_rest();
    assert_eq!(stage.texts(ADA.id).len(), 1);
}

#[test]
fn an_update_that_comes_again_is_answered_once() {
    let stage = Stage::new(OWNED, "");
    let message = stage.message(ADA, ADA.id, json!({ "text": "hello" }));
    let update = stage.telegram.deliver(json!({ "message": message }));
    stage.reads(ADA.id, "Good morning");
    for _ in 0..3 {
        stage
            .telegram
            .deliver(json!({ "update_id": update, "message": message }));
        eventually("it is taken", || stage.telegram.pending() == 0);
    }
    stage.write(BO, "hello");
    stage.reads(BO.id, "Good morning");
    stage.scene.at_rest();
    assert_eq!(stage.texts(ADA.id).len(), 1);
    assert_eq!(stage.scene.heard(MAIN), ["hello"]);
}
