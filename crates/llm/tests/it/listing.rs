//! Which models there are, and whether one answers.

use manyhands_llm::{ErrorKind, OfferedModel};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fake::{Fake, FakeReply, ReceivedRequest};
use crate::support::{KEY, chat, models};

fn is(
    target: &'static str,
    header: &'static str,
) -> impl Fn(&ReceivedRequest) -> Result<(), String> + Send + Sync {
    move |received| {
        let key = received.header(header);
        let known = key == KEY || key == format!("Bearer {KEY}");
        (received.method == "GET" && received.target == target && known)
            .then_some(())
            .ok_or_else(|| format!("{} {}", received.method, received.target))
    }
}

fn list(body: serde_json::Value) -> Vec<FakeReply> {
    vec![FakeReply::Whole(200, "", body.to_string())]
}

#[tokio::test]
async fn model_lists_are_read_from_every_kind_of_server() {
    let claude = Fake::replying(is("/v1/models?limit=1000", "x-api-key"), list(json!({ "data": [{ "type": "model", "id": "claude-opus-5-5", "display_name": "Claude Opus 5.5", "max_input_tokens": 1000 }] }))).await;
    let openai = Fake::replying(
        is("/v1/models", "authorization"),
        list(json!({ "object": "list", "data": [{ "id": "gpt-5.5", "object": "model" }] })),
    )
    .await;
    let google = Fake::replying(is("/v1beta/models?pageSize=1000", "x-goog-api-key"), list(json!({ "models": [
        { "name": "models/gemini-3.5-flash", "displayName": "Flash", "inputTokenLimit": 9, "supportedGenerationMethods": ["generateContent"] },
        { "name": "models/embed", "supportedGenerationMethods": ["embedContent"] },
    ] }))).await;
    // An old Ollama has no /v1/models.
    let ollama = Fake::replying(
        is("/api/tags", "authorization"),
        list(json!({ "models": [{ "name": "qwen3:4b" }] })),
    )
    .await;
    let broken = Fake::replying(|_| Ok(()), vec![FakeReply::error(401, "", "no")]).await;
    let entry = |kind: &str, fake: &Fake| json!({ "kind": kind, "base_url": fake.url(), "api_key": "vault:key" });
    let models = models(json!({
        "default": "claude/claude-opus-5-5",
        "fallbacks": ["openai/gpt-5.5", "openai/other"],
        "providers": {
            "claude": entry("anthropic", &claude), "openai": entry("openai-responses", &openai),
            "google": entry("gemini", &google), "ollama": entry("openai", &ollama), "x-broken": entry("openai", &broken),
        },
    }));
    let lists = models.list(&CancellationToken::new()).await;
    let offered = |name: &str| {
        lists
            .iter()
            .find(|list| list.provider == name)
            .unwrap()
            .offered
            .clone()
    };
    let named = |model: &str| OfferedModel {
        model: model.into(),
        title: None,
        context_tokens: None,
    };
    assert_eq!(
        offered("claude").unwrap(),
        [OfferedModel {
            model: "claude-opus-5-5".into(),
            title: Some("Claude Opus 5.5".into()),
            context_tokens: Some(1000)
        }]
    );
    assert_eq!(offered("openai").unwrap(), [named("gpt-5.5")]);
    assert_eq!(
        offered("google").unwrap(),
        [OfferedModel {
            model: "gemini-3.5-flash".into(),
            title: Some("Flash".into()),
            context_tokens: Some(9)
        }]
    );
    assert_eq!(offered("ollama").unwrap(), [named("qwen3:4b")]);
    assert_eq!(offered("x-broken").unwrap_err().kind, ErrorKind::Auth);
    let configured: Vec<usize> = lists.iter().map(|list| list.configured.len()).collect();
    assert_eq!(configured, [1, 0, 0, 2, 0]);
    assert!(lists.iter().all(|list| !list.scripted));
}

#[tokio::test]
async fn a_test_sends_one_request_and_reports_the_result() {
    let format = chat();
    let fake = Fake::replying(
        format.check,
        vec![
            FakeReply::Stream(format.short.clone().into()),
            FakeReply::error(500, "", "oops"),
        ],
    )
    .await;
    let models = models(json!({
        "fallbacks": ["p/other"],
        "providers": { "p": { "kind": "openai", "base_url": fake.url(), "api_key": "vault:key" } },
    }));
    let (model, cancel) = ("p/gpt-4o".parse().unwrap(), CancellationToken::new());
    let checked = models.test(&model, &cancel).await.unwrap();
    assert_eq!((checked.text.as_str(), checked.usage.output), ("Hello", 3));
    let error = models.test(&model, &cancel).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Server { status: 500 });
    assert_eq!(
        fake.received().len(),
        2,
        "neither tried again nor handed on"
    );
}
