//! What is claimed of the records of chats.

use manyhands_core::{ChatRef, Timestamp};

use super::*;
use crate::testing::TestHome;

fn event(lane: &str, id: &str) -> NewInbound {
    NewInbound {
        channel: "telegram".to_owned(),
        account: "default".to_owned(),
        event: id.to_owned(),
        lane: lane.parse().unwrap(),
        body: format!("\"{id}\""),
    }
}

fn words(lane: &str, key: &str) -> NewOutbound {
    NewOutbound {
        key: OutboxKey::new(key),
        channel: "telegram".to_owned(),
        account: "default".to_owned(),
        lane: lane.parse().unwrap(),
        body: key.to_owned(),
        session_key: None,
    }
}

async fn next(chats: &Chats) -> Vec<String> {
    let rows = chats
        .next_outbound("telegram", "default", 100)
        .await
        .unwrap();
    rows.into_iter().map(|row| row.key.to_string()).collect()
}

#[tokio::test]
async fn an_event_is_stored_once_however_often_it_is_delivered() {
    let home = TestHome::new();
    let store = home.open().await;
    let chats = store.chats();
    let tell = |n: usize| {
        let chats = chats.clone();
        let events = vec![event("a", "1"), event("b", &format!("own-{n}"))];
        tokio::spawn(async move { chats.receive(events).await.unwrap() })
    };
    let told: Vec<_> = (0..40).map(tell).collect();
    let mut new = 0;
    for one in told {
        new += one.await.unwrap();
    }
    assert_eq!(new, 41, "the shared one once, and each one's own");
    assert_eq!(chats.receive(vec![event("a", "1")]).await.unwrap(), 0);
    store.close().await.unwrap();
    let store = home.open().await;
    let heads = store.chats().next_inbound(&[], 10).await.unwrap();
    assert_eq!(
        heads.len(),
        2,
        "the first of each chat, after a restart too"
    );
}

#[tokio::test]
async fn a_chat_is_processed_in_order_without_delaying_others() {
    let home = TestHome::new();
    let store = home.open().await;
    let chats = store.chats();
    let events = vec![event("a", "1"), event("a", "2"), event("b", "3")];
    chats.receive(events).await.unwrap();
    let heads = chats.next_inbound(&["a".to_owned()], 10).await.unwrap();
    assert_eq!(heads.len(), 1);
    assert_eq!(heads[0].event, "3");
    let first = chats.next_inbound_in("a").await.unwrap().unwrap();
    assert_eq!(first.event, "1");
    chats
        .finish_inbound(&first.id, InboxState::Failed, Some("poison"))
        .await
        .unwrap();
    assert_eq!(
        chats.next_inbound_in("a").await.unwrap().unwrap().event,
        "2"
    );
    let failed = chats.failed_inbound(10).await.unwrap();
    assert_eq!(failed[0].why.as_deref(), Some("poison"));
    assert!(chats.retry_inbound(&first.id).await.unwrap());
    assert_eq!(
        chats.next_inbound_in("a").await.unwrap().unwrap().event,
        "1"
    );
    assert!(
        !chats.retry_inbound(&first.id).await.unwrap(),
        "it is no longer failed"
    );
}

#[tokio::test]
async fn a_message_queued_twice_under_one_key_is_sent_once_and_in_order() {
    let home = TestHome::new();
    let store = home.open().await;
    let chats = store.chats();
    let ids = chats
        .send(&[words("a", "1"), words("a", "2"), words("b", "3")])
        .await
        .unwrap();
    let again = chats.send(&[words("a", "1")]).await.unwrap();
    assert_eq!(again[0], ids[0]);
    assert_eq!(next(chats).await, ["1", "3"]);
    assert!(chats.mark_sending(&ids[0]).await.unwrap());
    assert!(
        !chats.mark_sending(&ids[0]).await.unwrap(),
        "it is on its way"
    );
    let wait = SendResult::Retry {
        due: Timestamp(1),
        why: "busy".to_owned(),
    };
    chats.finish_attempt(&ids[0], &wait).await.unwrap();
    assert_eq!(
        next(chats).await,
        ["1", "3"],
        "the second waits for the first"
    );
    chats.mark_sending(&ids[0]).await.unwrap();
    let message = Some("m".to_owned());
    chats
        .finish_attempt(&ids[0], &SendResult::Sent { message })
        .await
        .unwrap();
    assert_eq!(next(chats).await, ["2", "3"]);
    chats.mark_sending(&ids[1]).await.unwrap();
    let why = "no such chat".to_owned();
    chats
        .finish_attempt(&ids[1], &SendResult::Failed { why })
        .await
        .unwrap();
    assert_eq!(next(chats).await, ["3"]);
    assert_eq!(chats.undelivered().await.unwrap().failed, 1);
    assert!(chats.resend(&ids[1]).await.unwrap());
    assert_eq!(next(chats).await, ["3", "2"], "at the end");
    assert!(chats.drop_outbound(&ids[1]).await.unwrap());
    assert_eq!(chats.undelivered().await.unwrap().failed, 0);
}

#[tokio::test]
async fn a_message_of_unknown_outcome_is_shown_and_resent_in_its_position() {
    let home = TestHome::new();
    let store = home.open().await;
    let chats = store.chats();
    let ids = chats
        .send(&[words("a", "1"), words("a", "2")])
        .await
        .unwrap();
    for (id, key) in [(ids[0].clone(), "1+")] {
        chats.mark_sending(&id).await.unwrap();
        assert_eq!(chats.interrupted().await.unwrap().len(), 1);
        let end = SendResult::Unknown {
            why: "cut".to_owned(),
            resend: true,
        };
        chats.finish_attempt(&id, &end).await.unwrap();
        assert_eq!(next(chats).await, [key], "before what came later");
    }
    let lost = chats.undelivered().await.unwrap();
    assert_eq!((lost.unknown, lost.waiting), (1, 2));
    let shown = chats.outbox(Some(OutboxState::Unknown), 10).await.unwrap();
    assert_eq!(shown[0].key.as_str(), "1");
    let again = chats.outbound(&ids[0]).await.unwrap().unwrap();
    assert_eq!(
        again.key.as_str(),
        "1+",
        "a platform that knows it by its id takes it once"
    );
}

#[tokio::test]
async fn chats_waiting_for_a_retry_do_not_delay_others() {
    let home = TestHome::new();
    let store = home.open().await;
    let chats = store.chats();
    let mut ids = Vec::new();
    for number in 0..5 {
        let slow = words(&format!("slow-{number}"), &format!("{number}"));
        ids.extend(chats.send(&[slow]).await.unwrap());
    }
    for (number, id) in (0_i64..).zip(&ids) {
        chats.mark_sending(id).await.unwrap();
        let wait = SendResult::Retry {
            due: Timestamp(i64::MAX - number),
            why: "slowly".to_owned(),
        };
        chats.finish_attempt(id, &wait).await.unwrap();
    }
    chats.send(&[words("quick", "q")]).await.unwrap();
    let first = chats.next_outbound("telegram", "default", 2).await.unwrap();
    let keys: Vec<&str> = first.iter().map(|row| row.key.as_str()).collect();
    assert_eq!(keys, ["q", "4"], "what is due, then what is next");
}

#[tokio::test]
async fn a_message_that_cannot_be_attempted_fails_too() {
    let home = TestHome::new();
    let store = home.open().await;
    let chats = store.chats();
    let ids = chats
        .send(&[words("a", "1"), words("a", "2")])
        .await
        .unwrap();
    let why = "the message is damaged".to_owned();
    chats
        .finish_attempt(&ids[0], &SendResult::Failed { why })
        .await
        .unwrap();
    assert_eq!(next(chats).await, ["2"]);
    assert_eq!(chats.undelivered().await.unwrap().failed, 1);
    let done = SendResult::Sent { message: None };
    chats.finish_attempt(&ids[1], &done).await.unwrap();
    assert_eq!(
        next(chats).await,
        ["2"],
        "what was not on its way did not arrive"
    );
}

#[tokio::test]
async fn queueing_a_reply_and_removing_the_pending_one_are_one_transaction() {
    let home = TestHome::new();
    let store = home.open().await;
    let chats = store.chats();
    let promise = PendingReply {
        session_key: "agent:main:main".to_owned(),
        run_id: "r".to_owned(),
        chat: ChatRef::dm("telegram", "default", "42"),
        ticket: Some("t".to_owned()),
        draft: None,
        created: Timestamp(1),
    };
    chats.add_pending_reply(&promise).await.unwrap();
    chats.add_pending_reply(&promise).await.unwrap();
    chats
        .set_draft("agent:main:main", "r", Some("77"))
        .await
        .unwrap();
    let owed = chats
        .pending_reply("agent:main:main", "r")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(owed.draft.as_deref(), Some("77"));
    assert_eq!(owed.chat, promise.chat);
    for _ in 0..2 {
        let answer = [words("a", "reply:1"), words("a", "reply:2")];
        chats
            .send_reply("agent:main:main", "r", &answer)
            .await
            .unwrap();
        assert!(chats.pending_replies().await.unwrap().is_empty());
        assert_eq!(chats.undelivered().await.unwrap().waiting, 2);
    }
}

#[tokio::test]
async fn pending_replies_of_one_moment_are_in_the_order_of_their_messages() {
    let home = TestHome::new();
    let store = home.open().await;
    let chats = store.chats();
    let events = (0..20).map(|number| event("a", &number.to_string()));
    chats.receive(events.collect()).await.unwrap();
    let mut runs = Vec::new();
    while let Some(row) = chats.next_inbound(&[], 1).await.unwrap().pop() {
        let state = InboxState::Done;
        chats.finish_inbound(&row.id, state, None).await.unwrap();
        runs.push(row.id);
    }
    assert_eq!(runs.len(), 20);
    let mut recorded = runs.clone();
    recorded.sort();
    for run_id in recorded {
        let promise = PendingReply {
            session_key: "agent:main:main".to_owned(),
            run_id,
            chat: ChatRef::dm("telegram", "default", "42"),
            ticket: None,
            draft: None,
            created: Timestamp(1),
        };
        chats.add_pending_reply(&promise).await.unwrap();
    }
    let all = chats.pending_replies().await.unwrap();
    let of_session = chats.pending_replies_of("agent:main:main").await.unwrap();
    for listed in [all, of_session] {
        let listed: Vec<String> = listed.into_iter().map(|one| one.run_id).collect();
        assert_eq!(listed, runs);
    }
}

#[tokio::test]
async fn a_decided_sender_stays_decided() {
    let home = TestHome::new();
    let store = home.open().await;
    let chats = store.chats();
    let ada = SenderRow {
        channel: "line".to_owned(),
        id: "U1".to_owned(),
        name: Some("Ada".to_owned()),
        handle: None,
        state: SenderState::Asking,
        owner: false,
        code: Some("ABCD".to_owned()),
        first_message: Some("hello".to_owned()),
        chat: ChatRef::dm("line", "default", "U1"),
        requested: Timestamp(1),
        decided: None,
    };
    assert!(chats.request_pairing(&ada).await.unwrap());
    assert!(!chats.request_pairing(&ada).await.unwrap());
    assert!(
        chats
            .decide_sender("line", "U1", SenderState::Approved, true)
            .await
            .unwrap()
    );
    assert!(!chats.request_pairing(&ada).await.unwrap());
    let known = chats.sender("line", "U1").await.unwrap().unwrap();
    assert_eq!((known.state, known.owner), (SenderState::Approved, true));
    assert_eq!(known.code, None);
    assert_eq!(chats.sweep_senders(Timestamp(100)).await.unwrap(), 0);
    assert!(chats.remove_sender("line", "U1").await.unwrap());
    assert!(
        !chats
            .decide_sender("line", "U1", SenderState::Approved, false)
            .await
            .unwrap()
    );
}

#[test]
fn keys_of_outgoing_messages_keep_their_text_and_purpose() {
    for (text, contact, resend) in [
        ("said:018f", false, false),
        ("contact:00ff:key:0", true, false),
        ("contact:00ff:key:0+", true, true),
        ("odd", false, false),
    ] {
        let key: OutboxKey = text.parse().unwrap();
        assert_eq!(key.to_string(), text);
        assert_eq!((key.is_to_contact(), key.is_resend()), (contact, resend));
    }
    let first = OutboxKey::new(format!("{}x", OutboxKey::contact_prefix("00ff")));
    assert_eq!(first.as_str(), "contact:00ff:x");
    assert_eq!(first.resend().as_str(), "contact:00ff:x+");
}
