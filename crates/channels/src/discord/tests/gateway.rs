use manyhands_platforms::Fault;
use manyhands_platforms::discord::{DIRECT, TOKEN};
use serde_json::json;

use super::{Rig, near, said};
use crate::channel::{Channel, ChannelError, ConnectionStatus};

impl Rig {
    fn tell(&self, text: &str) {
        let message = self.far.message(DIRECT, text, json!({}));
        self.far.deliver("MESSAGE_CREATE", message);
    }

    async fn texts(&self, count: usize) -> Vec<String> {
        let heard = self.sink.heard(count).await;
        heard.iter().map(|one| said(one).text.clone()).collect()
    }
}

#[tokio::test]
async fn a_broken_connection_goes_on_where_it_was_and_loses_nothing() {
    let (rig, listening) = Rig::connected().await;
    rig.tell("one");
    rig.texts(1).await;
    let mut resumed = 0;
    for code in [1000, 1001, 4000, 4008] {
        rig.far.close(code);
        rig.far.alone().await;
        // It is said while nobody listens.
        rig.tell(&code.to_string());
        resumed += 1;
        rig.far.sessions(1, resumed).await;
    }
    let texts = rig.texts(5).await;
    assert_eq!(texts, ["one", "1000", "1001", "4000", "4008"]);
    assert_eq!(rig.far.counts(), (1, 4));
    let standings = rig.sink.inner().standings.clone();
    assert!(
        standings
            .iter()
            .any(|one| matches!(one, ConnectionStatus::Broken { why } if why.contains("4000")))
    );
    rig.sink
        .until(|kept| (kept.standings.last() == Some(&ConnectionStatus::Connected)).then_some(()))
        .await;
    listening.stop().await.unwrap();
}

#[tokio::test]
async fn discord_may_ask_to_come_again_and_to_begin_anew() {
    let (rig, listening) = Rig::connected().await;
    rig.far.say(7, json!(null));
    rig.far.sessions(1, 1).await;
    rig.far.say(9, json!(true));
    rig.far.sessions(1, 2).await;
    rig.far.say(9, json!(false));
    rig.far.sessions(2, 2).await;
    rig.tell("still there");
    assert_eq!(rig.texts(1).await, ["still there"]);
    listening.stop().await.unwrap();
}

#[tokio::test]
async fn a_session_that_discord_forgot_is_begun_anew() {
    let (rig, listening) = Rig::connected().await;
    rig.far.forget_session();
    rig.far.close(4009);
    rig.far.sessions(2, 0).await;
    rig.far.forget_session();
    rig.far.close(4000);
    rig.far.sessions(3, 0).await;
    rig.tell("here");
    assert_eq!(rig.texts(1).await, ["here"]);
    listening.stop().await.unwrap();
}

#[tokio::test]
async fn what_was_not_kept_is_told_again_and_in_order() {
    let (rig, listening) = Rig::connected().await;
    rig.sink.inner().failing = 1;
    rig.tell("one");
    rig.tell("two");
    assert_eq!(rig.texts(2).await, ["one", "two"]);
    assert_eq!(rig.sink.inner().failed, 1);
    assert_eq!(rig.far.counts(), (1, 1));
    listening.stop().await.unwrap();
}

#[tokio::test]
async fn another_process_goes_on_with_the_session_that_was_noted() {
    let (mut rig, listening) = Rig::connected().await;
    rig.tell("one");
    rig.texts(1).await;
    listening.stop().await.unwrap();
    rig.far.alone().await;
    rig.tell("two");
    rig.near = near(&rig.far, TOKEN);
    let listening = rig.listen();
    assert_eq!(rig.texts(2).await, ["one", "two"]);
    rig.far.sessions(1, 1).await;
    assert_eq!(rig.far.counts(), (1, 1));
    listening.stop().await.unwrap();
}

#[tokio::test]
async fn the_heart_beats_and_silence_breaks_the_connection() {
    let rig = Rig::new().await;
    rig.far.beat_every(1_000);
    let listening = rig.listen();
    rig.far.sessions(1, 0).await;
    rig.far.heartbeats(3).await;
    // Discord may ask for one at any time.
    rig.far.say(1, json!(null));
    rig.far.heartbeats(4).await;
    rig.far.be_deaf(true);
    rig.sink
        .until(|kept| {
            let silent = |one: &ConnectionStatus| matches!(one, ConnectionStatus::Broken { why } if why.contains("stopped acknowledging"));
            kept.standings.iter().any(silent).then_some(())
        })
        .await;
    rig.far.be_deaf(false);
    rig.far.sessions(1, 1).await;
    listening.stop().await.unwrap();
}

#[tokio::test]
async fn who_is_not_let_in_is_told_what_to_do() {
    for (code, advice) in [
        (4014, "Message Content Intent"),
        (4004, "developer portal"),
        (4011, "too many"),
    ] {
        let rig = Rig::new().await;
        rig.far.refuse(Some(code));
        let refused = rig.listen().task.await.unwrap();
        assert!(
            matches!(&refused, Err(ChannelError::Refused(why)) if why.contains(advice)),
            "{refused:?}"
        );
        // Once that is done, it works.
        rig.far.refuse(None);
        let listening = rig.listen();
        rig.far.sessions(1, 0).await;
        listening.stop().await.unwrap();
    }
    let mut rig = Rig::new().await;
    rig.near = near(&rig.far, "wrong");
    let refused = rig.listen().task.await.unwrap();
    assert!(
        matches!(&refused, Err(ChannelError::Refused(why)) if why.contains("token") && !why.contains("wrong"))
    );
}

#[tokio::test]
async fn babble_and_outages_are_survived() {
    let rig = Rig::new().await;
    rig.far.fail("/gateway/bot", Fault::answer(503, "<html>"));
    rig.far.fail("/users/@me", Fault::Drop);
    let listening = rig.listen();
    rig.far.sessions(1, 0).await;
    rig.far.babble("{not json");
    rig.far.sessions(1, 1).await;
    rig.far
        .babble(r#"{"op":0,"t":"MESSAGE_CREATE","s":3,"d":{"id":5}}"#);
    rig.far.babble(r#"{"op":99}"#);
    rig.tell("after");
    assert_eq!(rig.texts(1).await, ["after"]);
    listening.stop().await.unwrap();
}

#[tokio::test]
async fn no_session_is_begun_when_none_is_left() {
    let rig = Rig::new().await;
    rig.far.starts_left(0);
    let listening = rig.listen();
    rig.sink
        .until(|kept| {
            let none = |one: &ConnectionStatus| matches!(one, ConnectionStatus::Broken { why } if why.contains("limit of new Discord sessions"));
            kept.standings.iter().any(none).then_some(())
        })
        .await;
    assert_eq!(rig.far.counts(), (0, 0));
    listening.stop().await.unwrap();
}

#[test]
fn the_token_goes_only_to_sockets_of_discord() {
    let rt = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let rig = rt.block_on(Rig::new());
    let mut account = rig.near.account.clone();
    account.api = super::super::API.parse().unwrap();
    let egress = rig.near.api.egress().clone();
    let ids = rig.near.api.ids().clone();
    let near = super::Discord::new(account, egress, rig.near.clock.clone(), ids);
    for (url, good) in [
        ("wss://gateway.discord.gg", true),
        ("wss://gateway-us-east1-b.discord.gg/", true),
        ("ws://gateway.discord.gg", false),
        ("wss://gateway.discord.gg.evil.example", false),
        ("wss://evil.example/?x=.discord.gg", false),
        ("wss://notdiscord.gg", false),
        ("nonsense", false),
    ] {
        let made = near.socket_url(url);
        assert_eq!(made.is_ok(), good, "{url}");
        if let Ok(made) = made {
            assert!(made.ends_with("/?v=10&encoding=json"), "{made}");
        }
    }
    assert_eq!(rig.near.name(), "discord");
}
