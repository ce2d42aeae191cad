//! The provider that replays a file.

use std::time::Duration;

use manyhands_llm::{
    Arguments, Block, Cost, Delta, ErrorKind, Message, ModelRequest, Models, ReplyBlock,
    StopReason, ToolResult,
};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::support::{ask, models, outside, user};

fn play(yaml: &str) -> (Models, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.yaml");
    std::fs::write(&path, yaml).unwrap();
    let models = models(
        json!({ "default": "scripted/demo", "providers": { "scripted": { "kind": "scripted", "script": path } } }),
    );
    (models, folder)
}

const DEMO: &str = r#"
models: [demo]
turns:
  - text: First.
    usage: { input: 10, output: 2 }
  - deltas: [Sec, ond.]
    thinking: hm
    stop: length
  - when: { user: weather }
    text: Let me look.
    calls:
      - { name: weather, arguments: { city: Oslo } }
      - { id: mine, name: weather, raw: "{city" }
  - when: { result_of: weather }
    text: It is sunny.
  - when: { user: once }
    times: 1
    error: { kind: rate_limited, retry_after_seconds: 1, message: slow down }
  - when: { user: once }
    text: At last.
"#;

#[tokio::test]
async fn turns_come_in_order_and_say_that_they_are_scripted() {
    let (models, _folder) = play(DEMO);
    let (reply, _) = ask(&models, &user("a")).await;
    let reply = reply.unwrap();
    assert!(reply.scripted && reply.model.to_string() == "scripted/demo");
    assert_eq!(
        (reply.text(), reply.usage.input, reply.cost),
        ("First.".into(), 10, Cost::MicroDollars(0))
    );
    let (reply, received) = ask(&models, &user("b")).await;
    let reply = reply.unwrap();
    assert_eq!(
        (reply.text(), reply.stop),
        ("Second.".into(), StopReason::Length)
    );
    assert_eq!(
        received,
        [
            Delta::Thinking("hm".into()),
            Delta::Text("Sec".into()),
            Delta::Text("ond.".into())
        ]
    );
    let error = ask(&models, &user("c")).await.0.unwrap_err();
    assert!(
        error.to_string().contains("no turn left for \"c\""),
        "{error}"
    );
}

#[tokio::test]
async fn scripted_turns_match_the_last_message_or_result() {
    let (models, _folder) = play(DEMO);
    let mut request = user("What is the WEATHER like?");
    let reply = ask(&models, &request).await.0.unwrap();
    let calls: Vec<_> = reply.calls().collect();
    assert_eq!(
        (calls.len(), calls[1].id.as_str(), reply.stop),
        (2, "mine", StopReason::Calls)
    );
    assert!(matches!(calls[1].arguments, Arguments::Broken { .. }));
    let results = calls.iter().map(|call| ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        content: vec![Block::text("sunny")],
        is_error: false,
    });
    let results = results.collect();
    request.messages.push(reply.message());
    request.messages.push(Message::Tool { results });
    assert_eq!(
        ask(&models, &request).await.0.unwrap().text(),
        "It is sunny."
    );
}

#[tokio::test]
async fn conversations_keep_their_position_across_a_restart() {
    let (models, _folder) = play(DEMO);
    let of = |session: &str, messages: Vec<Message>| {
        let mut request = ModelRequest {
            messages,
            ..ModelRequest::default()
        };
        request.account.session = Some(session.into());
        request
    };
    let first = of("one", vec![Message::user("x")]);
    assert_eq!(ask(&models, &first).await.0.unwrap().text(), "First.");
    let other = of("two", vec![Message::user("x")]);
    assert_eq!(ask(&models, &other).await.0.unwrap().text(), "First.");
    let said = Message::Assistant {
        content: vec![ReplyBlock::text("First.")],
    };
    let resumed = of("three", vec![Message::user("x"), said, Message::user("y")]);
    assert_eq!(ask(&models, &resumed).await.0.unwrap().text(), "Second.");
}

#[tokio::test(start_paused = true)]
async fn errors_and_delays_take_the_same_road_as_real_ones() {
    let (models, _folder) = play(DEMO);
    let started = Instant::now();
    let reply = ask(&models, &user("once")).await.0.unwrap();
    assert_eq!((reply.text(), reply.attempts.len()), ("At last.".into(), 2));
    assert!(started.elapsed() >= Duration::from_secs(1));
    let (models, _folder) = play(
        "turns:\n  - { deltas: [a, b], delay_ms: 2000, between_ms: 500 }\n  - { text: lost, error: { kind: cut, after_text: true } }\n  - text: found\n",
    );
    let started = Instant::now();
    ask(&models, &user("x")).await.0.unwrap();
    assert_eq!(started.elapsed(), Duration::from_millis(2_500));
    let (reply, received) = ask(&models, &user("y")).await;
    assert_eq!(reply.unwrap().text(), "found");
    assert!(
        matches!(
            &received[..],
            [Delta::Text(_), Delta::Restart { .. }, Delta::Text(_)]
        ),
        "{received:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_script_can_be_stopped() {
    let (models, _folder) = play("turns:\n  - { text: late, delay_ms: 60000 }\n");
    let cancel = CancellationToken::new();
    let request = user("x");
    let mut ignore = |_| {};
    let stop = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let (reply, ()) = tokio::join!(models.reply(&request, &mut ignore, &cancel), stop);
    assert_eq!(reply.unwrap_err().kind, ErrorKind::Cancelled);
}

#[tokio::test]
async fn a_script_is_listed_and_tested_under_its_label() {
    let (models, _folder) = play(DEMO);
    let cancel = CancellationToken::new();
    let lists = models.list(&cancel).await;
    assert!(lists[0].scripted);
    assert_eq!(lists[0].offered.as_ref().unwrap()[0].model, "demo");
    let checked = models
        .test(&"scripted/demo".parse().unwrap(), &cancel)
        .await
        .unwrap();
    assert!(checked.scripted);
}

#[tokio::test]
async fn no_script_goes_by_the_name_of_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.yaml");
    std::fs::write(&path, DEMO).unwrap();
    for (name, taken) in [
        ("scripted", true),
        ("scripted-demo", true),
        ("openai", false),
    ] {
        let settings = json!({ "providers": { name: { "kind": "scripted", "script": path } } });
        let settings = serde_json::from_value(settings).unwrap();
        let models = Models::new(
            &settings,
            outside(std::sync::Arc::new(manyhands_llm::NoBudget)),
        );
        assert_eq!(
            models.problems().is_empty(),
            taken,
            "{:?}",
            models.problems()
        );
    }
}

#[tokio::test]
async fn an_invalid_script_is_explained() {
    for (yaml, words) in [
        ("turns:\n  - {}", "turn 1 says nothing"),
        ("turns:\n  - { txt: hi }", "txt"),
        ("turns: [", "script"),
        ("turns:\n  - { error: { kind: tired } }", "tired"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("demo.yaml");
        std::fs::write(&path, yaml).unwrap();
        let settings =
            json!({ "providers": { "scripted": { "kind": "scripted", "script": path } } });
        let settings = serde_json::from_value(settings).unwrap();
        let models = Models::new(
            &settings,
            outside(std::sync::Arc::new(manyhands_llm::NoBudget)),
        );
        assert!(
            models.problems()[0].contains(words),
            "{:?}",
            models.problems()
        );
    }
}
