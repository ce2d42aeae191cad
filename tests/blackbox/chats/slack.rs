//! Slack over Socket Mode: marks, mentions, threads, pairing, files, buttons, reactions, sockets
//! that go.

use manyhands_platforms::slack::{APP_TOKEN, BOT_TOKEN, Posted, Slack};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::fixture::{ASK, Scene, WRITE, threads};
use crate::harness::eventually;

const DM: &str = "D0ADA";
const ROOM: &str = "C0GENERAL";
const ADA: &str = "U0ADA";

struct Stage {
    scene: Scene,
    slack: Slack,
}

/// A gateway in a workspace in which Ada is the owner.
#[track_caller]
fn stage(more: &str, turns: &str) -> Stage {
    let threads = threads();
    let slack = threads.block_on(Slack::start());
    stage_in(threads, slack, more, turns)
}

#[track_caller]
fn stage_in(threads: Runtime, slack: Slack, more: &str, turns: &str) -> Stage {
    let settings = format!(
        "{more}\n[sessions.identity_links]\nowner = [\"slack:{ADA}\"]\n[channels.slack.accounts.default]\ntoken = \"vault:bot\"\napp_token = \"vault:app\"\napi_url = \"{}\"\n",
        slack.api()
    );
    let scene = Scene::new(threads, &settings, turns);
    scene.use_account(
        "slack",
        "default",
        &[("bot", BOT_TOKEN), ("app", APP_TOKEN)],
    );
    Stage { scene, slack }
}

impl Stage {
    /// Somebody says something; the event as it was told.
    fn say(&self, chat: &str, user: &str, text: &str, more: Value) -> Value {
        let event = self.slack.message(chat, user, text, more);
        self.slack.deliver("events_api", event.clone());
        event
    }

    /// Waits until that many messages are to be seen, and gives them.
    #[track_caller]
    fn posted(&self, count: usize) -> Vec<Posted> {
        let journal = self.slack.journal();
        let what = format!("{count} messages");
        self.scene
            .wait(journal, &what, || self.slack.posted().len() >= count);
        let posted = self.slack.posted();
        assert_eq!(posted.len(), count, "{posted:#?}");
        posted
    }

    /// Waits for a message with these words.
    #[track_caller]
    fn message_with(&self, words: &str) -> Posted {
        let find = || {
            let all = self.slack.posted();
            all.into_iter().find(|one| one.text.contains(words))
        };
        let journal = self.slack.journal();
        self.scene.wait(journal, words, || find().is_some());
        find().expect("it is there")
    }
}

#[test]
fn a_direct_message_is_answered_with_slacks_marks() {
    let stage = stage("", "");
    stage.say(DM, ADA, "hello &amp; good day", json!({}));
    let posted = stage.posted(1);
    let answer = &posted[0];
    assert_eq!(
        answer.text,
        "*Good* morning, _dear_ <https://a.test/x|friend>."
    );
    assert_eq!((answer.channel.as_str(), &answer.thread), (DM, &None));
    assert_eq!(stage.scene.heard("main"), ["hello & good day"]);
    let account = || stage.scene.account("slack", "default");
    eventually("its name", || account()["name"] == "hands");
    assert!(account()["lastMessageAt"].is_i64(), "{}", account());
}

#[test]
fn a_streamed_answer_ends_as_one_message() {
    let turns = r#"
  - when: { user: a story }
    deltas: ["Once upon a time there was a machine that had many hands. ", "It wrote ", "**and** wrote."]
    between_ms: 2500
"#;
    let stage = stage("", turns);
    stage.say(DM, ADA, "a story", json!({}));
    let last = stage.message_with("*and* wrote.");
    assert!(last.text.starts_with("Once upon a time"), "{last:?}");
    assert!(last.edits >= 1, "it grew: {last:?}");
    stage.scene.at_rest();
    assert_eq!(stage.slack.posted().len(), 1, "{:?}", stage.slack.posted());
}

#[test]
fn in_a_channel_a_mention_is_answered_once_in_its_thread() {
    let stage = stage("", "");
    stage.say(ROOM, ADA, "hello everybody", json!({}));
    // Slack tells of a call twice: as a message and as a call.
    let called = stage.say(ROOM, ADA, "<@U0BOT> hello", json!({}));
    let mut again = called["event"].clone();
    again["type"] = json!("app_mention");
    let again = stage.slack.callback(again);
    stage.slack.deliver("events_api", again);
    let posted = stage.posted(1);
    let ts = called["event"]["ts"].as_str().expect("a stamp");
    assert_eq!(posted[0].thread.as_deref(), Some(ts));
    assert_eq!(posted[0].channel, ROOM);

    let parent = stage.say(ROOM, "U0EVE", "something else", json!({}));
    let parent = parent["event"]["ts"].as_str().expect("a stamp").to_owned();
    let within = json!({ "thread_ts": parent });
    stage.say(ROOM, ADA, "hello there", within.clone());
    stage.say(ROOM, ADA, "<@U0BOT> hello again", within);
    let posted = stage.posted(2);
    assert_eq!(posted[1].thread.as_deref(), Some(parent.as_str()));
    stage.scene.at_rest();
    assert_eq!(stage.slack.posted().len(), 2);
    let sessions = stage.scene.sessions();
    assert_eq!(
        sessions.len(),
        2,
        "the channel and the thread: {sessions:?}"
    );
    let of_thread = sessions.iter().find(|key| key.contains(":thread:"));
    let of_thread = stage.scene.heard(of_thread.expect("the thread's"));
    assert_eq!(of_thread.len(), 1, "{of_thread:?}");
}

#[test]
fn a_stranger_gets_one_code_and_is_answered_once_approved() {
    let stage = stage("", "");
    let scene = &stage.scene;
    stage.say("D0EVE", "U0EVE", "hello", json!({}));
    let told = stage.posted(1)[0].clone();
    assert_eq!(told.channel, "D0EVE");
    let pairs = scene.pairs();
    let asking = &pairs[0];
    let code = asking["code"].as_str().expect("a code");
    assert!(told.text.contains(code), "{told:?}");
    assert_eq!(
        (&asking["senderId"], &asking["state"], &asking["name"]),
        (&json!("U0EVE"), &json!("asking"), &json!("Eve"))
    );
    stage.say("D0EVE", "U0EVE", "hello?", json!({}));
    // Nobody is paired before the eyes of a channel.
    stage.say(ROOM, "U0EVE", "<@U0BOT> hello", json!({}));
    stage.say(DM, ADA, "hello", json!({}));
    stage.posted(2);
    scene.at_rest();
    assert_eq!(
        scene.sessions(),
        ["agent:main:main"],
        "nobody else was heard"
    );

    scene.approve("slack", code, false);
    assert_eq!(stage.posted(3)[2].channel, "D0EVE", "she is told");
    stage.say("D0EVE", "U0EVE", "hello again", json!({}));
    let answer = stage.posted(4)[3].clone();
    assert!(answer.text.starts_with("*Good*"), "{answer:?}");
    let own = scene.sessions();
    assert_eq!(own.len(), 2, "a session of her own: {own:?}");

    let rejected = scene
        .gateway
        .post("/api/pairs/slack/U0EVE/reject", &json!({}));
    assert_eq!(rejected.status, 200, "{}", rejected.text());
    stage.say("D0EVE", "U0EVE", "hello still", json!({}));
    stage.say(DM, ADA, "hello you", json!({}));
    stage.posted(5);
    scene.at_rest();
    assert_eq!(stage.slack.posted().len(), 5);
}

#[test]
fn pictures_are_shown_to_the_model_and_files_are_kept() {
    let stage = stage("", "");
    let png = b"\x89PNG\r\n\x1a\nnot much of a picture";
    let picture = stage.slack.put_file("F0CAT", "cat.png", "image/png", png);
    let report = stage
        .slack
        .put_file("F0DOC", "report.txt", "text/plain", b"all is well");
    let more = json!({ "subtype": "file_share", "files": [picture, report] });
    stage.say(DM, ADA, "hello, look", more);
    stage.posted(1);
    let heard = stage.scene.heard("main").join("\n");
    assert!(heard.contains("[a picture]"), "{heard}");
    assert!(heard.contains("\"report.txt\", 11 bytes"), "{heard}");
    let id = heard.split("artifact ").nth(1).expect("an artifact");
    let id = id.split(' ').next().expect("an id");
    let kept = stage.scene.gateway.get(&format!("/api/artifacts/{id}"));
    assert_eq!(kept.body, b"all is well");
}

#[test]
fn an_approval_is_two_buttons_and_only_the_owners_press_counts() {
    let stage = stage(&format!("{ASK}\n[channels.slack]\ndm = \"open\"\n"), WRITE);
    let scene = &stage.scene;
    stage.say(DM, ADA, "write it", json!({}));
    let asked = stage.message_with("gsv__WriteFile");
    assert_eq!(asked.channel, DM);
    let buttons = asked.blocks.last().expect("buttons")["elements"].clone();
    let data = |at: usize| buttons[at]["value"].as_str().expect("data").to_owned();
    assert_eq!(buttons.as_array().map(Vec::len), Some(2), "{asked:?}");
    assert!(asked.text.contains("note.md"), "what will run is shown");

    let press = |chat: &str, user: &str, data: &str| {
        let press = stage.slack.press(chat, user, &asked.ts, data);
        let id = stage.slack.deliver("interactive", press);
        scene.run(stage.slack.acked(&id));
        scene.all_worked_on();
    };
    press(DM, "U0EVE", &data(0));
    press(DM, ADA, "approve:something else");
    assert_eq!(scene.approvals().len(), 1, "nothing is decided yet");
    assert_eq!(scene.gateway.read("note.md"), None);
    press(DM, ADA, &data(0));
    stage.message_with("Written.");
    assert_eq!(scene.gateway.read("note.md").as_deref(), Some("kept"));
    scene.at_rest();
    let mut all = stage.slack.posted().into_iter();
    let settled = all.find(|one| one.ts == asked.ts).expect("it is there");
    assert!(
        settled.blocks.is_empty(),
        "the buttons are gone: {settled:?}"
    );
}

#[test]
fn a_refused_call_is_not_made() {
    let stage = stage(ASK, WRITE);
    stage.say(DM, ADA, "write it", json!({}));
    let asked = stage.message_with("gsv__WriteFile");
    let buttons = asked
        .blocks
        .iter()
        .flat_map(|block| block["elements"].as_array())
        .flatten();
    let mut denies = buttons.filter(|button| button["text"]["text"] == "Deny");
    let no = denies.next().expect("a button that denies");
    let no = no["value"].as_str().expect("data");
    let press = stage.slack.press(DM, ADA, &asked.ts, no);
    stage.slack.deliver("interactive", press);
    stage.message_with("Written."); // what the script says after any result
    assert_eq!(stage.scene.gateway.read("note.md"), None);
    assert!(stage.scene.approvals().is_empty());
}

const REACT: &str = r#"
  - when: { user: react plainly }
    calls: [{ name: message_react, arguments: { emoji: thumbsup } }]
  - when: { user: react with our own }
    calls: [{ name: message_react, arguments: { emoji: ":party_parrot:" } }]
  - when: { user: react to that }
    calls: [{ name: message_react, arguments: { emoji: eyes, channel_id: D0ADA, message_ts: "STAMP" } }]
  - when: { user: react raw }
    calls: [{ name: message_react, arguments: { emoji: "👍" } }]
  - when: { user: react unknown }
    calls: [{ name: message_react, arguments: { emoji: no_such_emoji } }]
  - when: { user: react elsewhere }
    calls: [{ name: message_react, arguments: { emoji: eyes, channel_id: C0SECRET, message_ts: "1700000000.000001" } }]
  - when: { user: react as on telegram }
    calls: [{ name: message_react, arguments: { emoji: eyes, chat_id: 5, message_id: 6 } }]
  - when: { result_of: message_react }
    text: Done.
"#;

#[test]
fn reactions_are_names_of_the_workspace_and_go_to_what_is_answered_unless_said() {
    let threads = threads();
    let slack = threads.block_on(Slack::start());
    let before = slack.message(DM, ADA, "long ago", json!({}));
    let before = before["event"]["ts"].as_str().expect("a stamp").to_owned();
    // A conversation in which a tool failed is tainted; this is not about asking.
    let rules = "[[policy.rules]]\ndecision = \"allow\"\ntools = [\"message_react\"]\n";
    let stage = stage_in(threads, slack, rules, &REACT.replace("STAMP", &before));
    let react = |words: &str, count: usize| {
        let event = stage.say(DM, ADA, words, json!({}));
        stage.posted(count);
        let said = stage.scene.said("main");
        let result = said.iter().rev().find(|(role, _)| role == "tool");
        let ts = event["event"]["ts"].as_str().expect("a stamp").to_owned();
        (ts, result.expect("a result").1.clone())
    };
    let (first, _) = react("react plainly", 1);
    let (second, _) = react("react with our own", 2);
    react("react to that", 3);
    let reacted = |ts: &str, name: &str| (ts.to_owned(), name.to_owned());
    let good = [
        reacted(&first, "thumbsup"),
        reacted(&second, "party_parrot"),
        reacted(&before, "eyes"),
    ];
    assert_eq!(stage.slack.reactions(), good);
    for (count, (words, reason)) in (4..).zip([
        ("react raw", "name of a Slack emoji"),
        ("react unknown", "not an emoji of this workspace"),
        ("react elsewhere", "C0SECRET"),
        ("react as on telegram", "chat_id"),
    ]) {
        let (_, result) = react(words, count);
        assert!(result.contains(reason), "{words}: {result}");
    }
    assert_eq!(stage.slack.reactions(), good, "nothing else arrived");
    assert_eq!(stage.slack.journal().at("/reactions.add").len(), 3);
    assert!(!stage.slack.journal().at("/emoji.list").is_empty());
}

#[test]
fn a_socket_that_is_announced_to_go_loses_nothing_and_doubles_nothing() {
    let stage = stage("", "");
    let scene = &stage.scene;
    stage.say(DM, ADA, "hello one", json!({}));
    stage.posted(1);
    stage.slack.announce("warning");
    scene.run(stage.slack.sockets(2, 2));
    // Both are open: what comes on either is heard, and what comes on both is one.
    let twice = stage.slack.message(DM, ADA, "hello two", json!({}));
    stage.slack.deliver_on_oldest("events_api", twice.clone());
    stage.slack.deliver("events_api", twice);
    stage.say(DM, ADA, "hello three", json!({}));
    stage.slack.close_oldest();
    scene.run(stage.slack.sockets(2, 1));
    stage.say(DM, ADA, "hello four", json!({}));
    stage.posted(4);
    scene.at_rest();
    let heard = ["hello one", "hello two", "hello three", "hello four"];
    assert_eq!(scene.heard("main"), heard);
    assert_eq!(stage.slack.posted().len(), 4);
}

#[test]
fn a_socket_that_is_cut_loses_nothing_and_doubles_nothing() {
    let stage = stage("", "");
    let scene = &stage.scene;
    stage.say(DM, ADA, "hello one", json!({}));
    stage.posted(1);
    stage.slack.close_oldest();
    scene.run(stage.slack.sockets(1, 0));
    let unheard = stage.say(DM, ADA, "hello two", json!({}));
    scene.run(stage.slack.sockets(2, 1));
    stage.posted(2);
    // The acknowledgement may have been lost on its way: it is told again.
    stage.slack.deliver("events_api", unheard);
    stage.say(DM, ADA, "hello three", json!({}));
    stage.posted(3);
    scene.at_rest();
    assert_eq!(
        scene.heard("main"),
        ["hello one", "hello two", "hello three"]
    );
    assert_eq!(stage.slack.posted().len(), 3);
    scene.connected("slack", "default");
}
