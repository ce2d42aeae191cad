//! What is sent, word for word, of a conversation with everything in it.

use manyhands_llm::settings::ProviderKind;
use manyhands_llm::{
    Arguments, Block, Message, ModelId, ModelRequest, Opaque, OutputSchema, ReplyBlock, Sampling,
    SystemPart, Thinking, ToolCall, ToolChoice, ToolDef, ToolResult,
};
use serde_json::{Value, json};

use crate::fake::{Fake, FakeReply};
use crate::support::{Format, ask, formats, models, provider};

fn image() -> Block {
    Block::Image {
        data: "aW1n".into(),
        mime_type: "image/png".into(),
    }
}

fn call(id: &str, arguments: &str, opaque: Option<Opaque>) -> ReplyBlock {
    ReplyBlock::Call(ToolCall {
        id: id.into(),
        name: "weather".into(),
        arguments: Arguments::parse(arguments),
        opaque,
    })
}

fn result(id: &str, content: Vec<Block>, is_error: bool) -> ToolResult {
    ToolResult {
        id: id.into(),
        name: "weather".into(),
        content,
        is_error,
    }
}

fn weather() -> ToolDef {
    ToolDef {
        name: "weather".into(),
        description: "Tells the weather.".into(),
        input_schema: json!({ "$schema": "x", "type": "object", "properties": { "city": { "type": "string" } } }).into(),
    }
}

/// A turn of before, and one whose tools have just answered, with thoughts of `own` in it.
fn everything(model: &ModelId, own: Value) -> ModelRequest {
    let opaque = |data: &Value| {
        Some(Opaque {
            from: model.clone(),
            data: data.clone(),
        })
    };
    let thought = |text: &str| ReplyBlock::Thinking {
        text: text.into(),
        opaque: opaque(&own),
    };
    let foreign = ReplyBlock::Thinking {
        text: "somebody else's".into(),
        opaque: Some(Opaque {
            from: "other/model".parse().unwrap(),
            data: json!({ "signature": "theirs" }),
        }),
    };
    let signed = model
        .model
        .contains("gemini")
        .then(|| opaque(&own))
        .flatten();
    ModelRequest {
        model: Some(model.clone()),
        system: vec![
            SystemPart::stable("You are kind."),
            SystemPart::changing("It is noon."),
        ],
        messages: vec![
            Message::User {
                content: vec![Block::text("What is this?"), image()],
            },
            Message::Assistant {
                content: vec![thought("old"), ReplyBlock::text("A picture.")],
            },
            Message::user("Look at Oslo and Bergen."),
            Message::user("Please."),
            Message::Assistant {
                content: vec![
                    thought("new"),
                    foreign,
                    ReplyBlock::text("Looking."),
                    call("id-1", r#"{"city": "Oslo"}"#, signed),
                    call(
                        "an id: too long and strange, of another provider altogether, 65+",
                        "{city",
                        None,
                    ),
                ],
            },
            Message::Tool {
                results: vec![
                    result("id-1", vec![Block::text("sunny"), image()], false),
                    result(
                        "an id: too long and strange, of another provider altogether, 65+",
                        vec![Block::text("not JSON"), image()],
                        true,
                    ),
                ],
            },
        ],
        tools: vec![weather()],
        thinking: Some(Thinking::High),
        max_output_tokens: Some(500),
        output: Some(OutputSchema {
            name: "answer".into(),
            schema: json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"], "additionalProperties": false }),
        }),
        sampling: Sampling {
            temperature: Some(0.5),
            ..Sampling::default()
        },
        cache_key: Some("session-1".into()),
        ..ModelRequest::default()
    }
}

fn opaque_of(kind: ProviderKind) -> Value {
    match kind {
        ProviderKind::OpenaiResponses => {
            json!({ "summary": [{ "type": "summary_text", "text": "new" }], "encrypted_content": "enc-1" })
        }
        _ => json!({ "signature": "sig-1" }),
    }
}

/// The body that `model` is sent, which the strict server took.
async fn sent(
    format: &Format,
    model: &str,
    change: impl FnOnce(&mut ModelRequest),
) -> (Value, Vec<String>) {
    let fake = Fake::replying(
        format.check,
        vec![FakeReply::Stream(format.short.clone().into())],
    )
    .await;
    let models = models(json!({ "providers": { "p": provider(format.kind, &fake) } }));
    let id: ModelId = format!("p/{model}").parse().unwrap();
    let mut request = everything(&id, opaque_of(format.kind));
    change(&mut request);
    let (reply, _) = ask(&models, &request).await;
    let reply = reply.unwrap_or_else(|error| panic!("{model}: {error}"));
    assert_eq!(reply.text(), "Hello");
    (fake.received()[0].body.clone(), reply.notes)
}

#[tokio::test]
async fn everything_is_sent_as_each_provider_takes_it() {
    for format in formats() {
        let (body, notes) = sent(&format, format.model, |_| {}).await;
        let name = serde_json::to_value(format.kind).unwrap();
        insta::with_settings!({ sort_maps => true, omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_json_snapshot!(name.as_str().unwrap(), json!({ "body": body, "notes": notes }));
        });
    }
}

#[tokio::test]
async fn every_model_accepts_every_thinking_level() {
    use Thinking::{High, Low, Medium, Minimal, None, Xhigh};
    let models: [(usize, &[&str]); 4] = [
        (
            0,
            &[
                "claude-opus-5-5",
                "claude-sonnet-5-5",
                "claude-haiku-5-5",
                "claude-opus-5",
                "claude-opus-4-8",
                "claude-opus-4-6",
                "claude-sonnet-4-5",
                "claude-3-5-haiku",
                "glm-5",
            ],
        ),
        (1, &["gpt-4o", "gpt-5", "gpt-5.5", "o3", "qwen3"]),
        (2, &["gpt-4o", "gpt-5", "gpt-5.6-sol"]),
        (
            3,
            &[
                "gemini-2.5-pro",
                "gemini-2.5-flash",
                "gemini-3.5-flash",
                "gemini-3.1-pro",
            ],
        ),
    ];
    let formats = formats();
    for (at, names) in models {
        for name in names {
            for level in [None, Minimal, Low, Medium, High, Xhigh] {
                for choice in [
                    ToolChoice::Auto,
                    ToolChoice::Required,
                    ToolChoice::Tool("weather".into()),
                ] {
                    sent(&formats[at], name, |request| {
                        request.thinking = Some(level);
                        request.max_output_tokens = Some(50_000);
                        request.tool_choice = choice;
                    })
                    .await;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_model_that_takes_over_in_the_middle_of_a_turn_is_not_shown_foreign_thoughts() {
    for format in formats() {
        let model = match format.kind {
            ProviderKind::Anthropic => "claude-sonnet-4-5",
            _ => format.model,
        };
        let (body, _) = sent(&format, model, |request| {
            for message in &mut request.messages {
                if let Message::Assistant { content } = message {
                    content.retain(|block| !matches!(block, ReplyBlock::Thinking { .. }));
                    for block in content {
                        if let ReplyBlock::Call(call) = block {
                            call.opaque = None;
                        }
                    }
                }
            }
        })
        .await;
        let body = body.to_string();
        assert!(
            !body.contains("sig-1") && !body.contains("enc-1") && !body.contains("theirs"),
            "{body}"
        );
    }
}

#[tokio::test]
async fn only_the_stable_beginning_and_the_last_message_are_marked_for_the_cache() {
    let format = crate::support::anthropic();
    let (body, _) = sent(&format, format.model, |_| {}).await;
    let marked = |value: &Value| value.get("cache_control").is_some();
    assert_eq!(body["system"][0]["text"], "You are kind.");
    assert!(marked(&body["system"][0]) && !marked(&body["system"][1]));
    assert!(
        !marked(&body["tools"][0]),
        "the system's mark covers the tools"
    );
    let last = body["messages"].as_array().unwrap().last().unwrap();
    let blocks = last["content"].as_array().unwrap();
    assert!(marked(blocks.last().unwrap()));
    assert_eq!(body.to_string().matches("cache_control").count(), 2);
    let (body, _) = sent(&format, format.model, |request| request.system.clear()).await;
    assert!(marked(&body["tools"][0]));
    let responses = crate::support::responses();
    let (body, _) = sent(&responses, responses.model, |_| {}).await;
    assert_eq!(body["prompt_cache_key"], "session-1");
}

#[tokio::test]
async fn sampling_is_sent_in_each_format_and_what_has_no_field_is_noted() {
    let sampled = |request: &mut ModelRequest| {
        request.thinking = None;
        request.sampling = Sampling {
            temperature: Some(0.0),
            top_p: Some(0.5),
            top_k: Some(40),
            stop: vec!["END".into()],
            seed: Some(7),
            presence_penalty: Some(0.25),
            frequency_penalty: Some(-0.25),
            logit_bias: json!({ "42": -100 }).as_object().unwrap().clone(),
            parallel_calls: Some(false),
        };
    };
    let formats = formats();
    let (body, notes) = sent(&formats[0], "claude-sonnet-4-5", sampled).await;
    assert_eq!(body["temperature"], 0.0);
    assert_eq!(body["top_k"], 40);
    assert_eq!(body["stop_sequences"], json!(["END"]));
    assert_eq!(body["tool_choice"]["disable_parallel_tool_use"], true);
    assert!(
        notes.iter().any(|note| note.starts_with("seed ")),
        "{notes:?}"
    );
    let (body, notes) = sent(&formats[1], "gpt-4o", sampled).await;
    for (field, value) in [
        ("temperature", json!(0.0)),
        ("top_p", json!(0.5)),
        ("top_k", json!(40)),
        ("stop", json!(["END"])),
        ("seed", json!(7)),
        ("presence_penalty", json!(0.25)),
        ("frequency_penalty", json!(-0.25)),
        ("logit_bias", json!({ "42": -100 })),
        ("parallel_tool_calls", json!(false)),
    ] {
        assert_eq!(body[field], value, "{field}");
    }
    assert!(notes.is_empty(), "{notes:?}");
    let (body, notes) = sent(&formats[2], "gpt-4o", sampled).await;
    assert_eq!(body["temperature"], 0.0);
    assert_eq!(body["parallel_tool_calls"], false);
    assert!(
        notes.iter().any(|note| note.starts_with("stop ")),
        "{notes:?}"
    );
    let (body, _) = sent(&formats[3], "gemini-3.5-flash", sampled).await;
    let config = &body["generationConfig"];
    assert_eq!(config["stopSequences"], json!(["END"]));
    assert_eq!(config["seed"], 7);
    assert_eq!(config["topP"], 0.5);
    let (body, notes) = sent(&formats[1], "gpt-5.5", sampled).await;
    assert_eq!(body.get("temperature"), None);
    assert_eq!(
        notes.len(),
        7,
        "a model that thinks takes none of them: {notes:?}"
    );
}

#[tokio::test]
async fn any_json_object_can_be_asked_for_in_each_format() {
    let object = |request: &mut ModelRequest| {
        request.output.as_mut().unwrap().schema = OutputSchema::any_object();
    };
    let formats = formats();
    let (body, _) = sent(&formats[0], "claude-opus-5", object).await;
    assert_eq!(body["output_config"].get("format"), None);
    assert!(body["system"].to_string().contains("JSON Schema"));
    let (body, _) = sent(&formats[1], "gpt-4o", object).await;
    assert_eq!(body["response_format"], json!({ "type": "json_object" }));
    let (body, _) = sent(&formats[2], "gpt-4o", object).await;
    assert_eq!(body["text"]["format"], json!({ "type": "json_object" }));
    let (body, _) = sent(&formats[3], "gemini-3.5-flash", object).await;
    let config = &body["generationConfig"];
    assert_eq!(config["responseMimeType"], "application/json");
    assert_eq!(config.get("responseJsonSchema"), None);
}

#[tokio::test]
async fn an_unenforceable_schema_is_requested_in_the_prompt() {
    let open = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let output =
        |request: &mut ModelRequest| request.output.as_mut().unwrap().schema = open.clone();
    let formats = formats();
    let (body, _) = sent(&formats[0], "claude-opus-5", output).await;
    assert_eq!(body["output_config"].get("format"), None);
    assert!(body["system"].to_string().contains("JSON Schema"));
    let (body, notes) = sent(&formats[3], "gemini-2.5-flash", |_| {}).await;
    assert_eq!(body["generationConfig"].get("responseJsonSchema"), None);
    assert!(
        body["systemInstruction"]
            .to_string()
            .contains("JSON Schema")
    );
    assert!(notes[0].contains("in the prompt"), "{notes:?}");
    let (body, _) = sent(&formats[1], "gpt-4o", output).await;
    assert_eq!(body["response_format"]["json_schema"]["strict"], false);
}
