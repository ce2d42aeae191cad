//! What is made of what comes.

use manyhands_llm::settings::ProviderKind;
use manyhands_llm::{Arguments, Cost, Delta, Message, ReplyBlock, StopReason, ToolResult, Usage};
use serde_json::json;

use crate::fake::{Fake, FakeReply};
use crate::support::{Format, ask, chat, formats, models, provider, user};

async fn reply_to(format: &Format, stream: &str) -> (manyhands_llm::Reply, Vec<Delta>) {
    let fake = Fake::replying(format.check, vec![FakeReply::Stream(stream.into())]).await;
    let models = models(
        json!({ "default": format!("p/{}", format.model), "providers": { "p": provider(format.kind, &fake) },
        "prices": { format.model: { "input": 1.0, "output": 10.0, "cache_read": 0.1, "cache_write": 2.0 } } }),
    );
    let (reply, received) = ask(&models, &user("hi")).await;
    (reply.unwrap(), received)
}

#[tokio::test]
async fn thoughts_texts_and_parallel_calls_are_the_same_from_everyone() {
    for format in formats() {
        let (reply, received) = reply_to(&format, &format.rich).await;
        let kind = format.kind;
        assert_eq!(reply.text(), "Looking it up \u{1f980}", "{kind:?}");
        assert_eq!(reply.stop, StopReason::Calls);
        assert!(!reply.scripted);
        let thought = reply.content.iter().find_map(|block| match block {
            ReplyBlock::Thinking { text, .. } => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(thought, Some("Let me see."), "{kind:?}");
        let calls: Vec<_> = reply.calls().collect();
        assert_eq!(calls.len(), 2, "{kind:?}");
        assert!(calls.iter().all(|call| call.name == "weather") && calls[0].id != calls[1].id);
        let Arguments::Named(named) = &calls[0].arguments else {
            panic!("{calls:?}");
        };
        assert_eq!(named["city"], "Oslo");
        let Arguments::Broken { problem, .. } = &calls[1].arguments else {
            panic!("{calls:?}");
        };
        assert!(problem.contains("JSON"), "{problem}");
        check_deltas(&received, kind);
    }
}

#[track_caller]
fn check_deltas(received: &[Delta], kind: ProviderKind) {
    let mut text = String::new();
    let mut thought = String::new();
    let mut arguments = [String::new(), String::new()];
    let mut started = 0;
    for delta in received {
        match delta {
            Delta::Text(more) => text.push_str(more),
            Delta::Thinking(more) => thought.push_str(more),
            Delta::CallStart { index, .. } => {
                assert_eq!(*index, started);
                started += 1;
            }
            Delta::CallArguments { index, json } => arguments[*index].push_str(json),
            Delta::Restart { .. } => panic!("nothing began anew"),
        }
    }
    assert_eq!(
        (&*text, &*thought),
        ("Looking it up \u{1f980}", "Let me see.")
    );
    assert_eq!(started, 2, "{kind:?}");
    assert!(arguments[0].contains("Oslo") && arguments[1].contains("Bergen"));
}

#[tokio::test]
async fn tokens_and_costs_add_up() {
    for format in formats() {
        let (reply, _) = reply_to(&format, &format.rich).await;
        let cached = format.kind != ProviderKind::Gemini;
        let reasoning = if format.kind == ProviderKind::Anthropic {
            0
        } else {
            10
        };
        let usage = Usage {
            input: if cached { 100 } else { 150 },
            output: 40,
            cache_read: 1_000,
            cache_write: if cached { 50 } else { 0 },
            reasoning,
        };
        assert_eq!(reply.usage, usage, "{:?}", format.kind);
        assert_eq!((usage.total_input(), usage.total()), (1_150, 1_190));
        // 100 + 400 + 100 + 100, or 150 + 400 + 100.
        let cost = if cached { 700 } else { 650 };
        assert_eq!(reply.cost, Cost::MicroDollars(cost));
        assert_eq!(reply.attempts.len(), 1);
        assert_eq!(reply.attempts[0].spent.unwrap().usage, usage);
    }
}

#[tokio::test]
async fn a_reply_is_sent_back_unchanged_and_accepted() {
    for format in formats() {
        let replies = vec![
            FakeReply::Stream(format.rich.clone().into()),
            FakeReply::Stream(format.short.clone().into()),
        ];
        let fake = Fake::replying(format.check, replies).await;
        let models = models(
            json!({ "default": format!("p/{}", format.model), "providers": { "p": provider(format.kind, &fake) } }),
        );
        let mut request = user("Look at Oslo and Bergen.");
        request.thinking = Some(manyhands_llm::Thinking::Medium);
        let (first, _) = ask(&models, &request).await;
        let first = first.unwrap();
        let results = first.calls().map(|call| ToolResult {
            id: call.id.clone(),
            name: call.name.clone(),
            content: vec![manyhands_llm::Block::text("sunny")],
            is_error: false,
        });
        let results = results.collect();
        request.messages.push(first.message());
        request.messages.push(Message::Tool { results });
        let (second, _) = ask(&models, &request).await;
        assert_eq!(second.unwrap().text(), "Hello", "{:?}", format.kind);
        let sent = fake.received()[1].body.to_string();
        let secret = match format.kind {
            ProviderKind::Openai => continue,
            ProviderKind::OpenaiResponses => "enc-1",
            _ => "sig-1",
        };
        assert!(sent.contains(secret), "{:?}: {sent}", format.kind);
    }
}

#[tokio::test]
async fn servers_that_are_only_compatible_are_understood() {
    let chunk = |delta: &str, rest: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{delta}{rest}}}]}}\n\n")
    };
    let format = chat();
    // All calls numbered 0, no ids at first, arguments whole, `stop` for calls, no last word, no usage.
    let stream = chunk(
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}"#,
        "",
    ) + &chunk(
        r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"y","arguments":{"k":1}}}]}"#,
        "",
    ) + &chunk(
        r#"{"tool_calls":[{"index":5,"function":{"name":"z"}}]}"#,
        "",
    ) + &chunk("{}", r#","finish_reason":"stop""#);
    let fake = Fake::replying(format.check, vec![FakeReply::End(stream.into())]).await;
    let models = models(
        json!({ "default": "p/gpt-4o", "providers": { "p": provider(format.kind, &fake) } }),
    );
    let (reply, _) = ask(&models, &user("hi")).await;
    let reply = reply.unwrap();
    let names: Vec<&str> = reply.calls().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["x", "y", "z"]);
    assert!(reply.calls().all(|call| !call.id.is_empty()));
    assert_eq!(reply.stop, StopReason::Calls);
    assert!(reply.usage.total() > 0);
    assert!(
        reply.notes.iter().any(|note| note.contains("estimated")),
        "{:?}",
        reply.notes
    );
}

#[tokio::test]
async fn a_reply_that_is_too_long_says_so() {
    let ends = [
        ("\"tool_use\"", "\"max_tokens\""),
        ("\"finish_reason\":\"stop\"", "\"finish_reason\":\"length\""),
        ("response.completed", "response.incomplete"),
        ("STOP", "MAX_TOKENS"),
    ];
    for (format, (from, to)) in formats().into_iter().zip(ends) {
        let stream = format
            .short
            .replace("end_turn", "tool_use")
            .replace(from, to);
        let (reply, _) = reply_to(&format, &stream).await;
        assert_eq!(reply.stop, StopReason::Length, "{:?}", format.kind);
        assert_eq!(reply.text(), "Hello");
    }
}

#[tokio::test]
async fn addresses_are_taken_with_and_without_the_version() {
    let format = chat();
    for (suffix, target) in [
        ("", "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/api/v1", "/api/v1/chat/completions"),
        ("/openai", "/openai/chat/completions"),
    ] {
        let fake = Fake::replying(
            |_| Ok(()),
            vec![FakeReply::Stream(format.short.clone().into())],
        )
        .await;
        let base = format!("{}{suffix}", fake.url());
        let models = models(
            json!({ "default": "p/m", "providers": { "p": { "kind": "openai", "base_url": base } } }),
        );
        ask(&models, &user("hi")).await.0.unwrap();
        let received = &fake.received()[0];
        assert_eq!(received.target, target);
        assert_eq!(
            received.header("authorization"),
            "",
            "no key is sent where none is set"
        );
    }
    let claude = crate::support::anthropic();
    for suffix in ["", "/v1"] {
        let fake = Fake::replying(
            |_| Ok(()),
            vec![FakeReply::Stream(claude.short.clone().into())],
        )
        .await;
        let base = format!("{}/anthropic{suffix}", fake.url());
        let models = models(
            json!({ "default": "p/m", "providers": { "p": { "kind": "anthropic", "base_url": base,
            "headers": { "x-team": "desk", "x-proxy-key": "vault:key" } } } }),
        );
        ask(&models, &user("hi")).await.0.unwrap();
        let received = &fake.received()[0];
        assert_eq!(received.target, "/anthropic/v1/messages");
        assert_eq!(
            (received.header("x-team"), received.header("x-proxy-key")),
            ("desk", crate::support::KEY)
        );
    }
}
