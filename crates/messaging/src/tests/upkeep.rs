//! What is over is forgotten, and what is not is counted.

use std::sync::Arc;
use std::time::Duration;

use manyhands_core::ManualClock;
use manyhands_path::Metrics;
use manyhands_store::{InboxState, NewOutbound, OutboxKey, OutboxState, SendResult};

use super::fixture::{Model, Stage, calm, damaged, direct, open_to_all};

const DAY: Duration = Duration::from_secs(86_400);

fn words(key: &str) -> NewOutbound {
    NewOutbound {
        key: OutboxKey::new(key),
        channel: "line".to_owned(),
        account: "default".to_owned(),
        lane: key.parse().unwrap(),
        body: "{}".to_owned(),
        session_key: None,
    }
}

#[tokio::test]
async fn what_ended_is_forgotten_after_its_days_and_what_waits_stays() {
    let home = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(calm().0.now()));
    let mut settings = open_to_all();
    settings.channels.kept_days = 10;
    let path = home.path().join("home");
    let stage = Stage::closed(&path, settings, clock.clone(), Arc::new(Model::default())).await;
    let records = stage.store.chats();
    let many: Vec<_> = (0..2_500)
        .map(|number| damaged("lane", &format!("old-{number}")))
        .collect();
    records.receive(many).await.unwrap();
    records
        .receive(vec![damaged("other", "new")])
        .await
        .unwrap();
    while let Some(row) = records.next_inbound_in("lane").await.unwrap() {
        records
            .finish_inbound(&row.id, InboxState::Failed, None)
            .await
            .unwrap();
    }
    let ids = records
        .send(&[words("sent"), words("waits")])
        .await
        .unwrap();
    records.mark_sending(&ids[0]).await.unwrap();
    let sent = SendResult::Sent { message: None };
    records.finish_attempt(&ids[0], &sent).await.unwrap();
    clock.advance(DAY * 9);
    assert_eq!(stage.chats.sweep().await.unwrap(), 0, "not yet");
    clock.advance(DAY * 2);
    assert_eq!(stage.chats.sweep().await.unwrap(), 2_501);
    assert_eq!(stage.chats.sweep().await.unwrap(), 0);
    let left = records.backlog().await.unwrap();
    assert_eq!((left.waiting, left.failed), (1, 0));
    let left = records
        .outbox(Some(OutboxState::Pending), 10)
        .await
        .unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].key.as_str(), "waits");
    stage.stop().await;
}

#[tokio::test]
async fn strangers_whom_nobody_wanted_to_know_are_forgotten() {
    let home = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(calm().0.now()));
    let mut settings = open_to_all();
    settings.channels.line.dm = manyhands_config::DmPolicy::Pairing;
    let path = home.path().join("home");
    let stage = Stage::open(&path, settings, clock.clone(), Arc::new(Model::default())).await;
    for who in ["asks", "friend"] {
        stage.hear(vec![direct(who, who, "hello")]).await;
    }
    let records = stage.store.chats();
    super::fixture::until("both ask", async || {
        records.senders().await.unwrap().len() == 2
    })
    .await;
    let friend = crate::Pair {
        channel: "line",
        who: "friend",
    };
    stage.chats.approve(friend, false).await.unwrap();
    clock.advance(DAY * 31);
    stage.chats.sweep().await.unwrap();
    let left = records.senders().await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].id, "friend");
    stage.stop().await;
}

#[tokio::test]
async fn figures_tell_what_waits_and_what_did_not_arrive() {
    let home = tempfile::tempdir().unwrap();
    let mut settings = open_to_all();
    let account = super::fixture::account("http://127.0.0.1:9");
    settings
        .channels
        .line
        .accounts
        .insert("default".to_owned(), account);
    let path = home.path().join("home");
    let stage = Stage::closed(&path, settings, calm().0, Arc::new(Model::default())).await;
    let records = stage.store.chats();
    records.receive(vec![damaged("a", "1")]).await.unwrap();
    let ids = records.send(&[words("a"), words("b"), words("c")]).await;
    let ids = ids.unwrap();
    for id in &ids[..2] {
        records.mark_sending(id).await.unwrap();
    }
    let why = "gone".to_owned();
    let failed = SendResult::Failed { why: why.clone() };
    records.finish_attempt(&ids[0], &failed).await.unwrap();
    let unknown = SendResult::Unknown { why, resend: false };
    records.finish_attempt(&ids[1], &unknown).await.unwrap();
    let metrics = Metrics::default();
    stage.chats.measure(&metrics).await;
    let text = metrics.render();
    for line in [
        "inbox_messages{state=\"waiting\"} 1",
        "inbox_messages{state=\"failed\"} 0",
        "outbox_messages{state=\"waiting\"} 1",
        "outbox_messages{state=\"failed\"} 1",
        "outbox_messages{state=\"unknown\"} 1",
        "channel_connected{channel=\"line\",account=\"default\"} 0",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    stage.stop().await;
}
