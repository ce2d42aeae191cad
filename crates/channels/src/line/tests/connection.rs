//! How it stands, and what people are called.

use std::time::Duration;

use manyhands_platforms::Fault;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::channel::{Channel, ChannelError, ConnectionStatus};
use crate::testing::Watcher;

#[tokio::test]
async fn we_know_who_we_are() {
    let near = Near::new().await;
    let me = near.line.me().await.unwrap();
    assert_eq!((&*me.id, &*me.name), (Fake::BOT, "Manyhands"));
    assert_eq!(me.handle.as_deref(), Some("216ruabc"));
}

/// Listens while `test` runs.
async fn listening<T>(near: &Near, sink: &Watcher, test: impl Future<Output = T>) -> T {
    let stop = CancellationToken::new();
    let listen = near.line.listen(sink, &stop);
    let test = async {
        let done = test.await;
        stop.cancel();
        done
    };
    let (listened, done) = tokio::join!(listen, test);
    assert_eq!(listened, Ok(()));
    done
}

#[tokio::test]
async fn names_are_asked_for_in_the_background_and_once() {
    let near = Near::new().await;
    near.fake.call(ADA, "Ada");
    near.fake.call(GROUP, "Engines");
    let sink = Watcher::default();
    let text = || json!({"type": "text", "text": "hi"});
    let first = near.heard(GROUP, text()).0;
    assert_eq!((first.place.sender_name, first.chat_name), (None, None));
    let journal = near.fake.journal();
    let asked = journal.until(|all| all.iter().any(|one| one.path.ends_with("summary")));
    listening(&near, &sink, asked).await;
    // The answer is kept once it was read, which the next question waits for.
    near.line.sender_name(&first_place(&near)).await.unwrap();
    let asked = near.fake.asked_for_names();
    let second = near.heard(GROUP, text()).0;
    assert_eq!(second.place.sender_name.as_deref(), Some("Ada"));
    assert_eq!(near.fake.asked_for_names(), asked);
    assert!(asked <= 3, "{asked}");
}

fn first_place(near: &Near) -> ChatRef {
    near.heard(GROUP, json!({"type": "text", "text": "hi"}))
        .0
        .place
}

#[tokio::test]
async fn somebody_is_called_by_name_within_a_day_and_asked_again_after_it() {
    let near = Near::new().await;
    near.fake.call(ADA, "Ada");
    let place = near
        .heard(ADA, json!({"type": "text", "text": "hi"}))
        .0
        .place;
    assert_eq!(
        near.line.sender_name(&place).await.unwrap().as_deref(),
        Some("Ada")
    );
    near.fake.call(ADA, "Countess");
    assert_eq!(
        near.line.sender_name(&place).await.unwrap().as_deref(),
        Some("Ada")
    );
    near.clock.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(
        near.line.sender_name(&place).await.unwrap().as_deref(),
        Some("Countess")
    );
    assert_eq!(near.fake.asked_for_names(), 2);
    // Whoever does not let us know has no name, and is not asked for at every message.
    let bob = ChatRef {
        sender: Some(BOB.to_owned()),
        ..place
    };
    assert_eq!(near.line.sender_name(&bob).await.unwrap(), None);
    assert_eq!(near.line.sender_name(&bob).await.unwrap(), None);
    assert_eq!(near.fake.asked_for_names(), 3);
}

#[tokio::test]
async fn a_wrong_token_ends_it_and_an_outage_does_not() {
    let near = Near::with(|account| account.token = Secret::new("wrong")).await;
    let stop = CancellationToken::new();
    let refused = near.line.listen(&Watcher::default(), &stop).await;
    assert!(
        matches!(refused, Err(ChannelError::Refused(_))),
        "{refused:?}"
    );
    let near = Near::new().await;
    near.fake.fail("/info", Fault::answer(503, "down"));
    let sink = Watcher::default();
    let seen = listening(
        &near,
        &sink,
        sink.until(|one| *one == ConnectionStatus::Connected),
    )
    .await;
    assert!(
        matches!(seen[1], ConnectionStatus::Broken { .. }),
        "{seen:?}"
    );
}

#[tokio::test]
async fn the_webhook_is_set_where_it_is_ours_to_set() {
    let ours = "https://gateway.example/hooks/line/main";
    let near = Near::with(|account| account.webhook = Some(ours.parse().unwrap())).await;
    let sink = Watcher::default();
    listening(
        &near,
        &sink,
        sink.until(|one| *one == ConnectionStatus::Connected),
    )
    .await;
    assert_eq!(near.fake.webhook(), Some((ours.to_owned(), true)));
    // One that LINE does not use is told to its owner.
    near.fake.set_webhook("https://elsewhere.example/", false);
    let sink = Watcher::default();
    let broken = |one: &ConnectionStatus| matches!(one, ConnectionStatus::Broken { why } if why.contains("Use webhook"));
    listening(&near, &sink, sink.until(broken)).await;
    assert_eq!(near.fake.webhook(), Some((ours.to_owned(), false)));
}
