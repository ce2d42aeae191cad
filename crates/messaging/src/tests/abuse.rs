//! Many, huge and damaged: a chat that goes wrong harms only itself.

use std::sync::Arc;

use manyhands_config::DmPolicy;
use manyhands_core::ChatRef;
use manyhands_platforms::line::Line;
use manyhands_store::{NewOutbound, OutboxState};

use super::fixture::{
    Model, Stage, account, calm, damaged, direct, heard_in_sessions, open_to_all, until,
};
use crate::outgoing::OutgoingText;

#[tokio::test]
async fn an_event_that_cannot_be_read_is_laid_aside_and_others_go_on() {
    let home = tempfile::tempdir().unwrap();
    let stage = Stage::new(&home.path().join("home"), open_to_all()).await;
    let records = stage.store.chats();
    let lane = direct("U1", "x", "").place.lane();
    let poison = (0..50).map(|number| damaged(&lane, &format!("poison-{number}")));
    records.receive(poison.collect()).await.unwrap();
    stage
        .hear(vec![
            direct("U1", "same", "msg-same"),
            direct("U2", "other", "msg-other"),
        ])
        .await;
    until("both are answered", async || {
        records.undelivered().await.unwrap().waiting == 2
    })
    .await;
    let left = records.backlog().await.unwrap();
    assert_eq!((left.waiting, left.failed), (0, 50));
    let failed = records.failed_inbound(1).await.unwrap();
    let why = failed[0].why.clone().unwrap();
    assert!(why.starts_with("the event is damaged"), "{why}");
    // Tried again it is laid aside again, and harms nobody.
    stage.chats.rehear(&failed[0].id).await.unwrap();
    until("it is laid aside again", async || {
        records.backlog().await.unwrap().failed == 50
    })
    .await;
    stage.stop().await;
}

/// How much of this process is in memory, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_ascii_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap()
}

#[tokio::test]
async fn ten_thousand_strangers_grow_neither_memory_nor_the_list_of_those_who_ask() {
    const STRANGERS: usize = 10_000;
    let home = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let home = home.unwrap();
    let mut settings = open_to_all();
    settings.channels.line.dm = DmPolicy::Pairing;
    let stage = Stage::new(&home.path().join("home"), settings).await;
    let records = stage.store.chats();
    let stranger = |number: usize| {
        let who = format!("U{number:032x}");
        direct(&who, &format!("event-{number}"), &"hello ".repeat(100))
    };
    stage.hear((0..500).map(stranger).collect()).await;
    until("the first are met", async || {
        records.backlog().await.unwrap().waiting == 0
    })
    .await;
    let before = resident();
    for first in (500..STRANGERS).step_by(500) {
        stage
            .hear((first..first + 500).map(stranger).collect())
            .await;
    }
    until("all are met", async || {
        records.backlog().await.unwrap().waiting == 0
    })
    .await;
    let senders = records.senders().await.unwrap();
    assert_eq!(senders.len(), 1_000, "no more may ask at once");
    let told = records.undelivered().await.unwrap().waiting;
    assert_eq!(told, 1_000, "each of them is told once, nobody else");
    assert!(heard_in_sessions(&stage.store).await.is_empty());
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 * 1024, "{grown} KiB more");
    // The owner is heard all the same.
    let friend = crate::Pair {
        channel: "line",
        who: &senders[0].id,
    };
    stage.chats.approve(friend, true).await.unwrap();
    let mut word = direct(&senders[0].id, "from-owner", "msg-owner");
    word.place.chat.clone_from(&senders[0].id);
    stage.hear(vec![word]).await;
    until("the owner is heard", async || {
        !heard_in_sessions(&stage.store).await.is_empty()
    })
    .await;
    stage.stop().await;
}

#[tokio::test]
async fn chats_with_thousands_of_messages_do_not_starve_another() {
    let home = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let home = home.unwrap();
    let stage = Stage::new(&home.path().join("home"), open_to_all()).await;
    let records = stage.store.chats();
    // More chats than are worked on at once, whose models hang and whose queues are full; one of
    // them floods.
    let flood = |number: usize| direct("Uflood", &format!("f{number}"), "hang");
    for first in (0..5_000).step_by(500) {
        stage.hear((first..first + 500).map(flood).collect()).await;
    }
    for chat in 0..80 {
        let one = |number: usize| direct(&format!("U{chat}"), &format!("{chat}-{number}"), "hang");
        stage.hear((0..6).map(one).collect()).await;
    }
    stage
        .hear(vec![direct("Uquiet", "quiet", "msg-quiet")])
        .await;
    let lane = direct("Uquiet", "", "").place.lane();
    until("the quiet one is answered", async || {
        let waiting = records.next_outbound("line", "default", 10).await.unwrap();
        waiting.iter().any(|row| row.lane == lane)
    })
    .await;
    let left = records.backlog().await.unwrap();
    assert!(left.waiting > 4_000, "{left:?}");
    assert_eq!(left.failed, 0, "they wait, and are not given up");
    stage.stop().await;
}

#[tokio::test]
async fn a_thousand_chats_are_answered_a_few_at_a_time() {
    const CHATS: usize = 1_000;
    let line = Line::start("token", "secret").await;
    let home = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let home = home.unwrap();
    let mut settings = open_to_all();
    let accounts = &mut settings.channels.line.accounts;
    accounts.insert("default".to_owned(), account(&line.url));
    let path = home.path().join("home");
    let stage = Stage::closed(&path, settings, calm().0, Arc::new(Model::default())).await;
    let vault = stage.store.vault();
    for (name, value) in [("token", "token"), ("secret", "secret")] {
        let value = manyhands_core::Secret::new(value);
        vault.set(name, &value).await.unwrap();
    }
    let records = stage.store.chats();
    let mut rows: Vec<NewOutbound> = Vec::new();
    for number in 0..CHATS {
        let place = ChatRef::dm("line", "default", format!("U{number:032x}"));
        let key = format!("word-{number}");
        let words = OutgoingText::new(&place, &key, &key);
        rows.extend(stage.chats.rows(words).unwrap());
    }
    // One that cannot be read stands in nobody's way.
    rows[0].body = "{".to_owned();
    records.send(&rows).await.unwrap();
    stage.chats.start().await.unwrap();
    let mut most = 0;
    until("all arrived", async || {
        let sending = records.outbox(Some(OutboxState::Sending), 1_000).await;
        most = sending.unwrap().len().max(most);
        line.arrived().len() == CHATS - 1
    })
    .await;
    until("all is on record", async || {
        records.undelivered().await.unwrap().waiting == 0
    })
    .await;
    let failed = records.outbox(Some(OutboxState::Failed), 10).await.unwrap();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].why.as_deref(), Some("the message is damaged"));
    assert!((1..=16).contains(&most), "{most} at once");
    stage.stop().await;
}
