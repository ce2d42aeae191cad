//! Discord: marks, mentions, threads, pairing, files, buttons, and connections that break.

use manyhands_platforms::discord::{ADA, BOT, CHANNEL, DIRECT, Discord, THREAD, TOKEN};
use serde_json::{Value, json};

use super::fixture::{ASK, Scene, WRITE, threads};

struct Stage {
    scene: Scene,
    discord: Discord,
}

fn owner() -> String {
    format!("[sessions.identity_links]\nowner = [\"discord:{ADA}\"]\n")
}

#[track_caller]
fn stage(more: &str, turns: &str) -> Stage {
    let threads = threads();
    let discord = threads.block_on(Discord::start());
    let settings = format!(
        "{more}\n[channels.discord.accounts.default]\ntoken = \"vault:discord\"\napi_url = \"{}\"\ndata_url = \"{}\"\n",
        discord.api(),
        discord.files()
    );
    let scene = Scene::new(threads, &settings, turns);
    scene.use_account("discord", "default", &[("discord", TOKEN)]);
    Stage { scene, discord }
}

impl Stage {
    /// Ada says something; the event.
    fn say(&self, channel: &str, text: &str, more: Value) -> Value {
        let event = self.discord.message(channel, text, more);
        self.discord.deliver("MESSAGE_CREATE", event.clone());
        event
    }

    /// Waits until that many messages are to be seen, and gives them.
    #[track_caller]
    fn posted(&self, count: usize) -> Vec<Value> {
        let what = format!("{count} messages");
        self.scene.wait(self.discord.journal(), &what, || {
            self.discord.posted().len() >= count
        });
        let posted = self.discord.posted();
        assert_eq!(posted.len(), count, "{posted:#?}");
        posted
    }
}

/// That a text calls the bot.
fn calls() -> Value {
    json!({ "mentions": [{ "id": BOT, "username": "hands", "discriminator": "0000", "avatar": null, "bot": true }] })
}

#[test]
fn a_direct_message_is_answered_with_discords_marks_and_calls_nobody() {
    let stage = stage(&owner(), "");
    stage.say(DIRECT, "hello", json!({}));
    let answer = stage.posted(1)[0].clone();
    let text = answer["content"].as_str().expect("a text");
    assert!(text.starts_with("**Good** morning, *dear* "), "{text}");
    assert!(text.contains("(https://a.test/x)"), "{text}");
    assert_eq!(answer["channel_id"], DIRECT);
    assert_eq!(answer["allowed_mentions"]["parse"], json!([]));
    assert_eq!(stage.scene.heard("main"), ["hello"]);
}

#[test]
fn in_a_server_only_mentions_are_answered_and_threads_stay_threads() {
    let stage = stage(&owner(), "");
    stage.say(CHANNEL, "hello everybody", json!({}));
    let call = stage.say(CHANNEL, &format!("<@{BOT}> hello"), calls());
    let answer = stage.posted(1)[0].clone();
    assert_eq!(answer["channel_id"], CHANNEL);
    assert_eq!(answer["message_reference"]["message_id"], call["id"]);
    stage.say(THREAD, "hello within", json!({}));
    stage.say(THREAD, &format!("<@{BOT}> hello again"), calls());
    assert_eq!(stage.posted(2)[1]["channel_id"], THREAD);
    stage.scene.at_rest();
    assert_eq!(stage.discord.posted().len(), 2);
    let sessions = stage.scene.sessions();
    assert_eq!(
        sessions.len(),
        2,
        "the channel and the thread: {sessions:?}"
    );
}

#[test]
fn a_stranger_is_paired_and_a_program_never_is() {
    let stage = stage("", "");
    let robot = json!({ "id": "444000000000000009", "username": "robot", "discriminator": "0", "avatar": null, "bot": true });
    stage.say(DIRECT, "hello", json!({ "author": robot }));
    stage.say(DIRECT, "hello", json!({}));
    let told = stage.posted(1)[0].clone();
    let pairs = stage.scene.pairs();
    assert_eq!(pairs.len(), 1, "{pairs:?}");
    assert_eq!(pairs[0]["senderId"], ADA);
    let code = pairs[0]["code"].as_str().expect("a code");
    assert!(told["content"].as_str().expect("a text").contains(code));
    assert!(stage.scene.sessions().is_empty());
    stage.scene.approve("discord", code, true);
    stage.posted(2);
    stage.say(DIRECT, "hello", json!({}));
    stage.posted(3);
    assert_eq!(stage.scene.heard("main"), ["hello"]);
}

#[test]
fn pictures_are_shown_and_files_are_kept() {
    let stage = stage(&owner(), "");
    let png: &[u8] = b"\x89PNG\r\n\x1a\nnot much of a picture";
    let picture = stage.discord.put_file("cat.png", "image/png", png);
    let file = stage
        .discord
        .put_file("report.txt", "text/plain", &b"all is well"[..]);
    let more = json!({ "attachments": [picture, file] });
    stage.say(DIRECT, "hello, look", more);
    stage.posted(1);
    let heard = stage.scene.heard("main").join("\n");
    assert!(heard.contains("[a picture]"), "{heard}");
    assert!(heard.contains("\"report.txt\", 11 bytes"), "{heard}");
}

#[test]
fn an_approval_is_two_buttons_that_the_owner_presses() {
    let stage = stage(
        &format!("{ASK}\n{}\n[channels.discord]\ndm = \"open\"\n", owner()),
        WRITE,
    );
    stage.say(DIRECT, "write it", json!({}));
    let asked = stage.posted(1)[0].clone();
    let id = asked["id"].as_str().expect("an id");
    let yes = asked["components"][0]["components"][0]["custom_id"].as_str();
    let yes = yes.expect("a button");
    let press = |who: Option<&str>| {
        let mut press = stage.discord.press(DIRECT, id, yes);
        if let Some(who) = who {
            press["member"]["user"]["id"] = json!(who);
        }
        stage.discord.deliver("INTERACTION_CREATE", press);
    };
    press(Some("444000000000000008"));
    stage.scene.run(stage.discord.answered(1));
    stage.scene.all_worked_on();
    assert_eq!(stage.scene.approvals().len(), 1, "not theirs to say");
    assert_eq!(stage.scene.gateway.read("note.md"), None);
    press(None);
    stage.scene.run(stage.discord.answered(2));
    let posted = stage.posted(2);
    assert_eq!(posted[1]["content"], "Written.");
    assert_eq!(stage.scene.gateway.read("note.md").as_deref(), Some("kept"));
    stage.scene.at_rest();
    let settled = stage.discord.posted()[0].clone();
    assert_eq!(settled["components"], json!([]), "the buttons are gone");
    assert!(!stage.discord.whispers().is_empty(), "and they were told");
}

#[test]
fn a_connection_that_breaks_is_resumed_and_nothing_is_lost_or_doubled() {
    let stage = stage(&owner(), "");
    stage.say(DIRECT, "hello one", json!({}));
    stage.posted(1);
    let mut told = vec!["hello one".to_owned()];
    for (round, code) in [4000, 1001, 4000].into_iter().enumerate() {
        stage.discord.close(code);
        stage.scene.run(stage.discord.alone());
        for part in ["a", "b"] {
            let text = format!("hello {round}{part}");
            stage.say(DIRECT, &text, json!({}));
            told.push(text);
        }
        stage.scene.run(stage.discord.sessions(1, round + 1));
        // A message that was told before is told once more.
        stage.posted(told.len());
    }
    stage.scene.at_rest();
    assert_eq!(stage.discord.counts(), (1, 3), "resumed each time");
    assert_eq!(stage.scene.heard("main"), told);
    assert_eq!(stage.discord.posted().len(), told.len());
}

#[test]
fn an_invalid_discord_session_is_restarted() {
    let stage = stage(&owner(), "");
    stage.say(DIRECT, "hello one", json!({}));
    stage.posted(1);
    stage.discord.forget_session();
    stage.discord.close(4000);
    stage.scene.run(stage.discord.sessions(2, 0));
    stage.say(DIRECT, "hello two", json!({}));
    stage.posted(2);
    assert_eq!(stage.scene.heard("main"), ["hello one", "hello two"]);
    stage.scene.connected("discord", "default");
}

#[test]
fn after_kill_9_the_session_goes_on_where_it_was() {
    let Stage { scene, discord } = stage(&owner(), "");
    let first = discord.message(DIRECT, "hello one", json!({}));
    discord.deliver("MESSAGE_CREATE", first.clone());
    scene.wait(discord.journal(), "an answer", || {
        discord.posted().len() == 1
    });
    scene.at_rest();
    let home = scene.gateway.kill9();
    scene.threads.block_on(discord.alone());
    let missed = discord.message(DIRECT, "hello two", json!({}));
    discord.deliver("MESSAGE_CREATE", missed);
    let gateway = crate::harness::Gateway::on(home);
    let threads = scene.threads;
    let scene = Scene { gateway, threads };
    scene.wait(discord.journal(), "an answer", || {
        discord.posted().len() == 2
    });
    discord.deliver("MESSAGE_CREATE", first);
    scene.at_rest();
    assert_eq!(discord.counts(), (1, 1), "resumed");
    assert_eq!(scene.heard("main"), ["hello one", "hello two"]);
    assert_eq!(discord.posted().len(), 2);
}
