use manyhands_platforms::Fault;

use super::*;

#[tokio::test]
async fn what_was_said_is_heard_and_then_forgotten_by_telegram() {
    let fake = Fake::start().await;
    fake.deliver(private(json!({"text": "hello"})));
    let listening = Listening::start(polling(&fake), Arc::default());
    let heard = listening.keeper.until(1).await;
    assert_eq!(heard[0].event, "1000");
    assert_eq!(heard[0].at, 1_700_000_000_000);
    assert_eq!(heard[0].handle.as_deref(), Some("ada"));
    let place = &heard[0].place;
    assert_eq!((place.kind, place.chat.as_str()), (PeerKind::Dm, "42"));
    assert_eq!(place.message.as_deref(), Some("9"));
    assert_eq!(place.sender.as_deref(), Some("5"));
    assert_eq!(place.sender_name.as_deref(), Some("Ada L"));
    assert_eq!(said(&heard[0]).text, "hello");
    // While a poll waits, more comes at once.
    fake.deliver(private(json!({"text": "again"})));
    listening.keeper.until(2).await;
    // The next poll says what may be forgotten, and the one after it says nothing of it.
    let polls = fake.journal().until(|all| {
        let confirmed = |one: &manyhands_platforms::Recorded| one.body["offset"] == 1002;
        all.iter().any(confirmed)
    });
    polls.await;
    assert_eq!(fake.pending(), 0);
    assert!(fake.webhook().is_none());
    listening.end().await.unwrap();
}

#[tokio::test]
async fn a_flood_is_heard_whole_and_in_order() {
    let fake = Fake::start().await;
    for number in 1..=250 {
        fake.deliver(private(
            json!({"text": format!("word {number}"), "message_id": number}),
        ));
    }
    let listening = Listening::start(polling(&fake), Arc::default());
    let heard = listening.keeper.until(250).await;
    let words: Vec<&str> = heard
        .iter()
        .map(|event| said(event).text.as_str())
        .collect();
    let expect: Vec<String> = (1..=250).map(|number| format!("word {number}")).collect();
    assert_eq!(words, expect);
    // A few at first, then as many as Telegram gives.
    let polls = fake.journal().at("/getUpdates");
    let limits: Vec<&Value> = polls.iter().map(|poll| &poll.body["limit"]).collect();
    assert_eq!(limits[..3], [5, 100, 100]);
    listening.end().await.unwrap();
}

#[tokio::test]
async fn what_could_not_be_kept_is_not_acknowledged_and_comes_again() {
    let fake = Fake::start().await;
    let keeper = Arc::new(Keeper::default());
    keeper.failing.store(3, Ordering::SeqCst);
    fake.deliver(private(json!({"text": "precious"})));
    let listening = Listening::start(polling(&fake), keeper);
    let heard = listening.keeper.until(1).await;
    assert_eq!(said(&heard[0]).text, "precious");
    assert_eq!(listening.keeper.asked.load(Ordering::SeqCst), 4);
    let broken = |one: &ConnectionStatus| matches!(one, ConnectionStatus::Broken { why } if why.contains("disk is full"));
    listening.keeper.set_status(broken).await;
    // No poll confirmed it before it was kept.
    let polls = fake.journal().at("/getUpdates");
    assert!(
        polls[..4].iter().all(|poll| poll.body["offset"].is_null()),
        "{polls:?}"
    );
    listening.end().await.unwrap();
}

#[tokio::test]
async fn an_update_after_a_long_silence_may_have_a_lower_number() {
    let fake = Fake::start().await;
    fake.deliver(
        json!({"update_id": 900_000, "message": private(json!({"text": "first"}))["message"]}),
    );
    let mut channel = polling(&fake);
    channel.pace.hold = Duration::ZERO;
    let listening = Listening::start(channel, Arc::default());
    listening.keeper.until(1).await;
    let confirmed = fake.journal().until(|all| {
        let at = all.iter().position(|one| one.body["offset"] == 900_001);
        at.is_some_and(|at| all[at + 1..].iter().any(|one| one.path == "/getUpdates"))
    });
    confirmed.await;
    fake.deliver(json!({"update_id": 5, "message": private(json!({"text": "second"}))["message"]}));
    let heard = listening.keeper.until(2).await;
    assert_eq!(said(&heard[1]).text, "second");
    listening.end().await.unwrap();
}

#[tokio::test]
async fn an_update_that_cannot_be_read_does_not_hold_up_the_others() {
    let fake = Fake::start().await;
    fake.deliver(json!({"message": {"chat": "what"}}));
    fake.deliver(json!({"poll": {"id": "1"}}));
    fake.deliver(private(json!({"text": "still here"})));
    let listening = Listening::start(polling(&fake), Arc::default());
    let heard = listening.keeper.until(1).await;
    assert_eq!(said(&heard[0]).text, "still here");
    listening.end().await.unwrap();
}

#[tokio::test]
async fn a_webhook_that_was_set_is_removed_without_losing_what_waits() {
    let fake = Fake::start().await;
    fake.take_over("https://other.example/hook");
    fake.deliver(private(json!({"text": "waiting"})));
    let listening = Listening::start(polling(&fake), Arc::default());
    listening.keeper.until(1).await;
    assert_eq!(fake.webhook(), None);
    // Set again behind our back: it is said, and removed again.
    fake.take_over("https://other.example/hook");
    fake.deliver(private(json!({"text": "more"})));
    let broken = |one: &ConnectionStatus| matches!(one, ConnectionStatus::Broken { why } if why.contains("webhook is set"));
    listening.keeper.set_status(broken).await;
    listening.keeper.until(2).await;
    assert_eq!(fake.webhook(), None);
    listening.end().await.unwrap();
}

#[tokio::test]
async fn another_program_with_the_same_token_is_told_about() {
    let fake = Fake::start().await;
    let first = Listening::start(polling(&fake), Arc::default());
    first
        .keeper
        .set_status(|one| *one == ConnectionStatus::Connected)
        .await;
    let second = Listening::start(polling(&fake), Arc::default());
    let broken = |one: &ConnectionStatus| matches!(one, ConnectionStatus::Broken { why } if why.contains("another program"));
    first.keeper.set_status(broken).await;
    second.end().await.unwrap();
    fake.deliver(private(json!({"text": "to whoever is left"})));
    first.keeper.until(1).await;
    first.end().await.unwrap();
}

#[tokio::test]
async fn a_broken_connection_is_made_again() {
    let fake = Fake::start().await;
    fake.fail("getMe", Fault::answer(502, "<html>bad gateway</html>"));
    fake.fail("getUpdates", Fault::Drop);
    fake.fail("getUpdates", Fault::answer(200, "what?"));
    fake.fail(
        "getUpdates",
        Fault::answer(
            500,
            "{\"ok\":false,\"error_code\":500,\"description\":\"Internal\"}",
        ),
    );
    fake.fail(
        "getUpdates",
        Fake::refusal(
            429,
            "Too Many Requests: retry after 0",
            json!({"retry_after": 0}),
        ),
    );
    fake.deliver(private(json!({"text": "after all"})));
    let listening = Listening::start(polling(&fake), Arc::default());
    listening.keeper.until(1).await;
    let stood = listening.keeper.stood.borrow().clone();
    assert_eq!(stood[0], ConnectionStatus::Connecting);
    let broken = stood
        .iter()
        .filter(|one| matches!(one, ConnectionStatus::Broken { .. }));
    assert_eq!(broken.count(), 5, "{stood:?}");
    listening
        .keeper
        .set_status(|one| *one == ConnectionStatus::Connected)
        .await;
    listening.end().await.unwrap();
}

#[tokio::test]
async fn a_wrong_token_ends_the_listening_and_is_never_shown() {
    let fake = Fake::start().await;
    let wrong = "77:AAH-wrong_token-0123456789";
    for token in [wrong, "no token at all"] {
        let channel = channel_with(&fake.url, token, UpdateDelivery::Poll);
        let listening = Listening::start(channel, Arc::default());
        let ended = listening.task.await.unwrap();
        let Err(ChannelError::Refused(why)) = ended else {
            panic!("{ended:?}");
        };
        assert!(why.contains("BotFather"), "{why}");
        assert!(!why.contains(token), "{why}");
    }
}

#[tokio::test]
async fn a_stop_ends_a_poll_that_waits() {
    let fake = Fake::start().await;
    let listening = Listening::start(polling(&fake), Arc::default());
    listening
        .keeper
        .set_status(|one| *one == ConnectionStatus::Connected)
        .await;
    listening.end().await.unwrap();
}

fn picture(number: i64, caption: Option<&str>) -> Value {
    let mut more = json!({
        "message_id": number,
        "media_group_id": "album",
        "photo": [{"file_id": format!("p{number}"), "file_unique_id": "u", "width": 9, "height": 9}],
    });
    if let Some(caption) = caption {
        more["caption"] = json!(caption);
    }
    private(more)
}

fn pictures(event: &Inbound) -> Vec<&str> {
    said(event)
        .media
        .iter()
        .map(|media| media.id.as_str())
        .collect()
}

#[tokio::test]
async fn an_album_is_one_message() {
    let fake = Fake::start().await;
    fake.deliver(private(json!({"text": "look"})));
    fake.deliver(picture(10, Some("my pictures")));
    fake.deliver(picture(11, None));
    fake.deliver(picture(12, None));
    fake.deliver(private(json!({"text": "nice?", "message_id": 13})));
    let listening = Listening::start(polling(&fake), Arc::default());
    let heard = listening.keeper.until(3).await;
    assert_eq!(said(&heard[0]).text, "look");
    assert_eq!(said(&heard[1]).text, "my pictures");
    assert_eq!(pictures(&heard[1]), ["p10", "p11", "p12"]);
    assert_eq!(heard[1].event, "1001");
    assert_eq!(said(&heard[2]).text, "nice?");
    listening.end().await.unwrap();
}

#[tokio::test]
async fn what_joins_an_album_too_late_is_heard_by_itself() {
    let fake = Fake::start().await;
    let keeper = Arc::new(Keeper::default());
    // The album was kept as two pictures, and the process ended before Telegram knew.
    keeper
        .store_value("telegram.albums", "{\"1000\":[1000,1001]}")
        .await
        .unwrap();
    for number in 10..13 {
        fake.deliver(picture(number, None));
    }
    let listening = Listening::start(polling(&fake), keeper);
    let heard = listening.keeper.until(2).await;
    assert_eq!(pictures(&heard[0]), ["p10", "p11"]);
    assert_eq!(pictures(&heard[1]), ["p12"]);
    assert_eq!(heard[1].event, "1002");
    listening.end().await.unwrap();
}
