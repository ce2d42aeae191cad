use super::*;
use crate::Store;
use crate::testing::TestHome;

fn agent(name: &str) -> AgentId {
    name.parse().unwrap()
}

fn turn(id: &str, run: &str) -> TurnRecord {
    TurnRecord {
        id: id.to_owned(),
        session_key: "agent:main:main".to_owned(),
        run_id: run.to_owned(),
        state: TurnState::Queued,
        input: "{}".to_owned(),
        origin: "{}".to_owned(),
        work: "{}".to_owned(),
        outcome: None,
        created: Timestamp(1),
        started: None,
        ended: None,
    }
}

fn said(text: &str) -> SessionChange {
    SessionChange::Append {
        turn: Some("t1".to_owned()),
        kind: "user",
        body: text.to_owned(),
    }
}

fn moved(state: TurnState) -> SessionChange {
    SessionChange::Turn {
        id: "t1".to_owned(),
        state,
        work: None,
        outcome: None,
    }
}

async fn with_session() -> (TestHome, Store, SessionRecord) {
    let home = TestHome::new();
    let store = home.open().await;
    let key = "agent:main:main".to_owned();
    let session = SessionRecord::new(key, "s1".to_owned(), agent("main"), Timestamp(1));
    store.sessions().create(&session).await.unwrap();
    (home, store, session)
}

#[tokio::test]
async fn a_step_is_applied_completely_or_not_at_all() {
    let (_home, store, session) = with_session().await;
    let sessions = store.sessions();
    sessions.enqueue(&turn("t1", "r1"), 9, None).await.unwrap();
    let acts = vec![moved(TurnState::Running), said("a"), said("b")];
    let after = sessions
        .commit(&session.key, "s1", acts, Timestamp(2))
        .await;
    assert_eq!(after.unwrap().next_seq, 2);
    let broken = vec![
        said("c"),
        SessionChange::Turn {
            id: "no such turn".to_owned(),
            state: TurnState::Done,
            work: None,
            outcome: None,
        },
    ];
    let refused = sessions
        .commit(&session.key, "s1", broken, Timestamp(3))
        .await;
    assert!(matches!(refused, Err(StoreError::Changed { .. })));
    let entries = sessions.entries("s1", 0, 10).await.unwrap();
    let bodies: Vec<&str> = entries.iter().map(|entry| entry.body.as_str()).collect();
    assert_eq!(bodies, ["a", "b"]);
    let last = sessions.entries_before("s1", i64::MAX, 1).await.unwrap();
    assert_eq!(last[0].body, "b");
}

#[tokio::test]
async fn a_step_prepared_before_a_new_message_is_refused() {
    let (_home, store, session) = with_session().await;
    let sessions = store.sessions();
    let commit = |acts| sessions.commit(&session.key, "s1", acts, Timestamp(2));
    commit(vec![SessionChange::ExpectNextSeq(0), said("a")])
        .await
        .unwrap();
    let late = commit(vec![SessionChange::ExpectNextSeq(0), said("b")]).await;
    assert!(matches!(late, Err(StoreError::Changed { .. })), "{late:?}");
    let entries = sessions.entries("s1", 0, 10).await.unwrap();
    assert_eq!(entries.len(), 1, "nothing changed");
    commit(vec![SessionChange::ExpectNextSeq(1), said("b")])
        .await
        .unwrap();
}

#[tokio::test]
async fn settings_are_not_undone_by_an_earlier_reader() {
    let (_home, store, session) = with_session().await;
    let sessions = store.sessions();
    let commit = |acts| sessions.commit(&session.key, "s1", acts, Timestamp(2));
    let set = |label: &str| SessionChange::Settings {
        was: (session.settings.clone(), session.label.clone()),
        settings: session.settings.clone(),
        label: Some(label.to_owned()),
    };
    commit(vec![set("first")]).await.unwrap();
    let late = commit(vec![set("second")]).await;
    assert!(matches!(late, Err(StoreError::Changed { .. })), "{late:?}");
    let stale = SessionChange::Session(Box::new(session.clone()));
    let after = commit(vec![stale]).await.unwrap();
    assert_eq!(after.label.as_deref(), Some("first"));
}

#[tokio::test]
async fn a_step_of_a_conversation_that_was_reset_is_refused() {
    let (_home, store, session) = with_session().await;
    let sessions = store.sessions();
    let reset = SessionRecord {
        id: "s2".to_owned(),
        previous: vec!["s1".to_owned()],
        ..session.clone()
    };
    let acts = vec![SessionChange::Session(Box::new(reset))];
    sessions
        .commit(&session.key, "s1", acts, Timestamp(2))
        .await
        .unwrap();
    let late = sessions
        .commit(&session.key, "s1", vec![said("late")], Timestamp(3))
        .await;
    assert!(matches!(late, Err(StoreError::Changed { .. })));
    let there = sessions.get(&session.key).await.unwrap().unwrap();
    assert_eq!((there.id.as_str(), there.previous.len()), ("s2", 1));
}

#[tokio::test]
async fn the_same_run_is_one_turn_and_an_ended_turn_stays_ended() {
    let (_home, store, session) = with_session().await;
    let sessions = store.sessions();
    let first = sessions.enqueue(&turn("t1", "r1"), 2, None).await.unwrap();
    assert_eq!(first, Enqueued::New { before: 0 });
    let again = sessions.enqueue(&turn("t2", "r1"), 2, None).await.unwrap();
    assert!(matches!(again, Enqueued::Known(turn) if turn.id == "t1"));
    let third = sessions.enqueue(&turn("t3", "r3"), 2, None).await.unwrap();
    assert_eq!(third, Enqueued::New { before: 1 });
    let more = sessions.enqueue(&turn("t4", "r4"), 2, None).await.unwrap();
    assert_eq!(more, Enqueued::Full);
    let again = sessions.enqueue(&turn("t2", "r1"), 2, None).await.unwrap();
    assert!(
        matches!(again, Enqueued::Known(_)),
        "asking again needs no place"
    );
    let open = sessions.open_turns(&session.key).await.unwrap();
    assert_eq!(open.len(), 2);
    assert_eq!(
        sessions.with_open_turns().await.unwrap(),
        [session.key.as_str()]
    );
    let done = vec![moved(TurnState::Done)];
    sessions
        .commit(&session.key, "s1", done, Timestamp(9))
        .await
        .unwrap();
    let again = vec![moved(TurnState::Running)];
    let again = sessions
        .commit(&session.key, "s1", again, Timestamp(10))
        .await;
    assert!(again.is_err(), "it has ended");
    let ended = sessions.turn("t1").await.unwrap().unwrap();
    assert_eq!(
        (ended.state, ended.ended),
        (TurnState::Done, Some(Timestamp(9)))
    );
}

#[tokio::test]
async fn calls_keep_their_state() {
    let (_home, store, session) = with_session().await;
    let sessions = store.sessions();
    let ask = |place| {
        SessionChange::AddCall(CallRecord {
            turn: "t1".to_owned(),
            step: 0,
            place,
            call_id: format!("c{place}"),
            tool: "gsv__ReadFile".to_owned(),
            arguments: "{}".to_owned(),
            state: CallState::Requested,
            outcome: None,
        })
    };
    let call = |state, outcome: Option<&str>| SessionChange::Call {
        turn: "t1".to_owned(),
        step: 0,
        place: 1,
        state,
        outcome: outcome.map(str::to_owned),
    };
    let acts = vec![ask(0), ask(1), call(CallState::Started, None)];
    sessions
        .commit(&session.key, "s1", acts, Timestamp(2))
        .await
        .unwrap();
    let calls = sessions.calls("t1", 0).await.unwrap();
    assert_eq!(calls[0].state, CallState::Requested);
    assert_eq!(calls[1].state, CallState::Started);
    let acts = vec![call(CallState::Done, Some("\"ok\""))];
    sessions
        .commit(&session.key, "s1", acts, Timestamp(3))
        .await
        .unwrap();
    let calls = sessions.calls("t1", 0).await.unwrap();
    assert_eq!(calls[1].outcome.as_deref(), Some("\"ok\""));
}

#[tokio::test]
async fn usage_adds_up_by_day() {
    let (_home, store, session) = with_session().await;
    let sessions = store.sessions();
    let spend = SessionChange::Spend(Usage {
        day: "2026-11-15".to_owned(),
        model: "scripted/a".to_owned(),
        input_tokens: 10,
        output_tokens: 2,
        cost_micros: 7,
        ..Usage::default()
    });
    let acts = vec![spend.clone(), spend];
    let after = sessions
        .commit(&session.key, "s1", acts, Timestamp(2))
        .await
        .unwrap();
    assert_eq!((after.input_tokens, after.cost_micros), (20, 14));
    let rows = sessions.usage("2026-11-01").await.unwrap();
    assert_eq!((rows[0].calls, rows[0].usage.output_tokens), (2, 4));
    assert!(sessions.usage("2026-12-01").await.unwrap().is_empty());
}

#[tokio::test]
async fn mail_is_bounded_and_reading_frees_slots() {
    let home = TestHome::new();
    let store = home.open().await;
    let mail = store.mail();
    let message = |id: &str, at| AgentMessage {
        id: id.to_owned(),
        sender: agent("a"),
        recipient: agent("b"),
        body: "hello".to_owned(),
        at: Timestamp(at),
    };
    let since = |at: i64| Timestamp(at - 60_000);
    let send = |id: &str, at| {
        let (mail, message) = (mail.clone(), message(id, at));
        async move {
            mail.send(&message, "agent:b:main", 3, 2, since(message.at.0))
                .await
                .unwrap()
        }
    };
    assert_eq!(send("1", 1_000_000).await, Ok(()));
    assert_eq!(send("2", 1_000_001).await, Ok(()));
    assert_eq!(send("3", 1_000_002).await, Err(mail::MailboxFull::Pair));
    assert_eq!(send("3", 2_000_000).await, Ok(()));
    assert_eq!(send("4", 3_000_000).await, Err(mail::MailboxFull::Queue));
    let waiting = mail.waiting(&agent("b"), 10).await.unwrap();
    let ids: Vec<String> = waiting.into_iter().map(|message| message.id).collect();
    assert_eq!(ids, ["1", "2", "3"]);
    mail.read(&ids, Timestamp(3_000_000)).await.unwrap();
    assert_eq!(send("4", 3_000_000).await, Ok(()));
}

#[tokio::test]
async fn both_directions_of_a_pair_count_together() {
    let home = TestHome::new();
    let store = home.open().await;
    let mail = store.mail();
    let send = |id: &'static str, from: &str, to: &str| {
        let message = AgentMessage {
            id: id.to_owned(),
            sender: agent(from),
            recipient: agent(to),
            body: "hello".to_owned(),
            at: Timestamp(1_000),
        };
        let main = format!("agent:{to}:main");
        let mail = mail.clone();
        async move {
            mail.send(&message, &main, 9, 3, Timestamp(0))
                .await
                .unwrap()
        }
    };
    assert_eq!(send("1", "a", "b").await, Ok(()));
    assert_eq!(send("2", "b", "a").await, Ok(()));
    assert_eq!(send("3", "a", "b").await, Ok(()));
    assert_eq!(send("4", "b", "a").await, Err(mail::MailboxFull::Pair));
    assert_eq!(send("4", "a", "b").await, Err(mail::MailboxFull::Pair));
    assert_eq!(send("4", "a", "c").await, Ok(()), "control: another pair");
}

#[tokio::test]
async fn the_mail_queue_is_bounded_wherever_messages_wait() {
    let (_home, store, session) = with_session().await;
    let (mail, sessions) = (store.mail(), store.sessions());
    let send = |id: u64| {
        let message = AgentMessage {
            id: id.to_string(),
            sender: agent(&format!("s{id}")),
            recipient: session.agent.clone(),
            body: "hello".to_owned(),
            at: Timestamp(1_000),
        };
        let (mail, key) = (mail.clone(), session.key.clone());
        async move {
            mail.send(&message, &key, 1_000, 10, Timestamp(0))
                .await
                .unwrap()
        }
    };
    for id in 0..1_000 {
        assert_eq!(send(id).await, Ok(()), "{id}");
    }
    assert_eq!(send(1_000).await, Err(mail::MailboxFull::Queue));
    // One is carried into the session, and waits there: first both ways, then only as a turn.
    sessions
        .enqueue(&turn("t1", "mail-0"), 9, None)
        .await
        .unwrap();
    assert_eq!(send(1_000).await, Err(mail::MailboxFull::Queue));
    mail.read(&["0".to_owned()], Timestamp(2)).await.unwrap();
    assert_eq!(send(1_000).await, Err(mail::MailboxFull::Queue));
    // Once it is worked on, there is room for one.
    let running = SessionChange::Turn {
        id: "t1".to_owned(),
        state: TurnState::Running,
        work: None,
        outcome: None,
    };
    let begun = sessions.commit(&session.key, "s1", vec![running], Timestamp(3));
    begun.await.unwrap();
    assert_eq!(send(1_000).await, Ok(()));
    assert_eq!(send(1_001).await, Err(mail::MailboxFull::Queue));
}
