//! What failures say, and what they keep to themselves.

use manyhands_llm::{ErrorKind, ModelError};
use serde_json::{Value, json};

use crate::fake::{Fake, FakeReply};
use crate::support::{KEY, ask, chat, formats, models, outside, provider, user};

async fn fails(kind: &str, fake: &Fake) -> ModelError {
    let models = models(json!({
        "default": "p/gpt-4o",
        "providers": { "p": { "kind": kind, "base_url": fake.url(), "api_key": "vault:key" } },
        "retry": { "retries": 0 },
    }));
    ask(&models, &user("hi")).await.0.unwrap_err()
}

#[tokio::test]
async fn a_key_that_is_echoed_is_not_shown() {
    let echo = format!("Incorrect API key provided: {KEY}. Find yours at example.com");
    let fake = Fake::replying(|_| Ok(()), vec![FakeReply::error(401, "", &echo)]).await;
    let error = fails("openai", &fake).await;
    assert_eq!(
        fake.received()[0].header("authorization"),
        format!("Bearer {KEY}"),
        "it was sent"
    );
    let text = format!("{error} {error:?}");
    assert!(text.contains("Incorrect API key provided: ***"), "{text}");
    assert!(!text.contains(KEY), "{text}");
}

#[tokio::test]
async fn failures_within_a_reply_are_classified() {
    for (kind, stream, expect) in [
        (
            "anthropic",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ErrorKind::Overloaded,
        ),
        (
            "openai",
            r#"{"error":{"message":"upstream died","code":502}}"#,
            ErrorKind::Server { status: 502 },
        ),
        (
            "openai",
            r#"{"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#,
            ErrorKind::Refused,
        ),
        (
            "openai",
            r#"{"choices":[{"delta":{"refusal":"I cannot"},"finish_reason":"stop"}]}"#,
            ErrorKind::Refused,
        ),
        (
            "openai-responses",
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow"}}}"#,
            ErrorKind::RateLimited { retry_after: None },
        ),
        (
            "openai-responses",
            r#"{"type":"error","code":"server_error","message":"x"}"#,
            ErrorKind::Server { status: 0 },
        ),
        (
            "openai-responses",
            r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}"#,
            ErrorKind::Refused,
        ),
        (
            "gemini",
            r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#,
            ErrorKind::Refused,
        ),
        (
            "gemini",
            r#"{"candidates":[{"finishReason":"SAFETY"}]}"#,
            ErrorKind::Refused,
        ),
        (
            "gemini",
            r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"bad call"}]}"#,
            ErrorKind::Garbage,
        ),
        (
            "gemini",
            r#"{"error":{"code":503,"status":"UNAVAILABLE","message":"busy"}}"#,
            ErrorKind::Overloaded,
        ),
    ] {
        let fake = Fake::replying(
            |_| Ok(()),
            vec![FakeReply::Stream(format!("data: {stream}\n\n").into())],
        )
        .await;
        let error = fails(kind, &fake).await;
        assert_eq!(error.kind, expect, "{kind} {stream}");
        let text = error.to_string();
        assert!(
            text.starts_with("p/gpt-4o: ") && text.lines().count() == 2,
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    // The port was ours a moment ago, and nobody listens there now.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let models = models(json!({
        "default": "p/m",
        "providers": { "p": { "kind": "openai", "base_url": format!("http://127.0.0.1:{port}/v1") } },
        "retry": { "retries": 0 },
    }));
    let error = ask(&models, &user("hi")).await.0.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unreachable);
    assert!(error.to_string().contains("base_url"), "{error}");
}

#[tokio::test]
async fn no_request_goes_anywhere_but_to_the_base_url() {
    let format = chat();
    let elsewhere = Fake::replying(
        |_| Ok(()),
        vec![FakeReply::Stream(format.short.clone().into())],
    )
    .await;
    let to: &'static str = Box::leak(
        format!("location: {}/v1/chat/completions\r\n", elsewhere.url()).into_boxed_str(),
    );
    let fake = Fake::replying(format.check, vec![FakeReply::Whole(307, to, String::new())]).await;
    let error = fails("openai", &fake).await;
    assert_eq!(error.kind, ErrorKind::BadRequest);
    assert!(error.to_string().contains("base_url"), "{error}");
    assert_eq!((fake.received().len(), elsewhere.received().len()), (1, 0));
}

#[tokio::test]
async fn missing_configuration_is_explained() {
    let format = chat();
    let fake = Fake::replying(
        format.check,
        vec![FakeReply::Stream(format.short.clone().into())],
    )
    .await;
    let mut no_key = provider(format.kind, &fake);
    no_key["api_key"] = json!("vault:missing");
    for (settings, kind, words) in [
        (json!({}), ErrorKind::NotConfigured, "models.default"),
        (
            json!({ "default": "p/m", "providers": { "p": no_key } }),
            ErrorKind::Auth,
            "manyhands secret set missing",
        ),
    ] {
        let error = ask(&models(settings), &user("hi")).await.0.unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(fake.received().len(), 0, "without its key nothing is sent");
}

#[tokio::test]
async fn one_broken_provider_does_not_keep_the_others_from_working() {
    let format = chat();
    let fake = Fake::replying(
        format.check,
        vec![FakeReply::Stream(format.short.clone().into())],
    )
    .await;
    let settings: Value = json!({
        "default": "broken/m",
        "fallbacks": ["nobody/m", "nonsense", "scripted/m", "p/gpt-4o"],
        "providers": {
            "broken": { "kind": "openai", "base_url": "ftp://x" },
            "scripted": { "kind": "scripted", "script": "/nowhere/at-all.yaml" },
            "p": provider(format.kind, &fake),
        },
    });
    let settings = serde_json::from_value(settings).unwrap();
    let models = manyhands_llm::Models::new(
        &settings,
        outside(std::sync::Arc::new(manyhands_llm::NoBudget)),
    );
    let problems = models.problems().join("\n");
    for words in [
        "models.providers.broken: base_url uses ftp",
        "script /nowhere/at-all.yaml",
        "unknown provider \"nobody\"",
        "\"nonsense\" is not a model name",
    ] {
        assert!(problems.contains(words), "{words} in {problems}");
    }
    let reply = ask(&models, &user("hi")).await.0.unwrap();
    assert_eq!(reply.model.to_string(), "p/gpt-4o");
    assert_eq!(reply.attempts.len(), 3);
}

#[tokio::test]
async fn a_reply_without_end_is_not_read_for_ever() {
    for format in formats() {
        let endless = "data: ".to_owned() + &"x".repeat(17 * 1024 * 1024);
        let fake = Fake::replying(format.check, vec![FakeReply::Stream(endless.into())]).await;
        let models = models(json!({
            "default": format!("p/{}", format.model),
            "providers": { "p": provider(format.kind, &fake) },
            "retry": { "retries": 0 },
        }));
        let error = ask(&models, &user("hi")).await.0.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Garbage, "{error}");
    }
}
