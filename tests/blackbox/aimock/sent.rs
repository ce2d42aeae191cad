//! What a model is sent, pinned: as the server read it, and as it passed.

use serde_json::{Value, json};

use super::server::Passed;
use super::{
    CHAT, FORMATS, Format, GEMINI, MESSAGES, RESPONSES, answered, turn, watched, with_notes,
};

/// Everything but the marks for the cache, which move on with the conversation.
fn unmarked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| *name != "cache_control");
            kept.map(|(name, value)| (name.clone(), unmarked(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(unmarked).collect(),
        other => other.clone(),
    }
}

/// The conversation of a body, in whatever words.
fn talk(body: &Value) -> Vec<Value> {
    let talk = ["messages", "input", "contents"].map(|name| body.get(name));
    let talk = talk.into_iter().flatten().next().expect("a conversation");
    let talk = unmarked(talk);
    let talk = talk.as_array().expect("a list").iter();
    talk.filter(|message| message["role"] != "system" && message["role"] != "developer")
        .cloned()
        .collect()
}

/// Two turns: one with two calls at once and their results, one without.
#[track_caller]
fn two_turns(format: &Format, more: &str) -> (Vec<Passed>, Vec<Value>) {
    let (gateway, relay, server) = watched(format, more);
    let gateway = with_notes(gateway);
    answered(&turn(
        &gateway,
        json!({ "message": "look at both, please" }),
    ));
    answered(&turn(&gateway, json!({ "message": "hello" })));
    let (passed, journal) = (relay.passed(), server.journal());
    assert_eq!((passed.len(), journal.len()), (3, 3), "{}", format.kind);
    (passed, journal)
}

/// What of the system's text does not change with the clock.
fn stable(system: &Value) -> &str {
    let text = system["content"].as_str().expect("a text");
    let (stable, _) = text
        .split_once("## Here and now")
        .expect("the changing part");
    stable
}

#[test]
fn a_conversation_only_grows_at_its_end() {
    for format in &FORMATS {
        let kind = format.kind;
        let (passed, journal) = two_turns(format, "");
        for pair in passed.windows(2) {
            let (before, after) = (talk(&pair[0].body), talk(&pair[1].body));
            assert!(after.len() > before.len(), "{kind}");
            assert_eq!(after[..before.len()], before, "{kind}: it is append-only");
            for same in ["tools", "tool_choice", "toolConfig", "model"] {
                assert_eq!(pair[0].body.get(same), pair[1].body.get(same), "{kind}");
            }
        }
        let first = journal[0]["body"]["messages"][0].clone();
        for entry in &journal {
            let body = &entry["body"];
            let messages = body["messages"].as_array().expect("messages");
            let systems = messages.iter().filter(|m| m["role"] == "system").count();
            assert_eq!(
                (systems, &messages[0]["role"]),
                (1, &json!("system")),
                "{kind}"
            );
            assert_eq!(stable(&messages[0]), stable(&first), "{kind}");
            assert!(stable(&first).len() > 500, "{kind}: most of it stays");
            let tools = body["tools"].as_array().expect("tools");
            let names = tools
                .iter()
                .map(|t| t["function"]["name"].as_str().expect("a name"));
            let names: Vec<&str> = names.collect();
            assert!(names.contains(&"gsv__ReadFile"), "{kind}: {names:?}");
            assert!(names.is_sorted(), "{kind}: {names:?}");
        }
    }
}

#[test]
fn each_result_answers_its_call_in_order() {
    for format in &FORMATS {
        let kind = format.kind;
        let (_, journal) = two_turns(format, "");
        for entry in &journal[1..] {
            let messages = entry["body"]["messages"].as_array().expect("messages");
            // The server reads calls at once as one message or as two.
            let calls = messages.iter().filter_map(|m| m["tool_calls"].as_array());
            let calls: Vec<&Value> = calls.flatten().collect();
            assert_eq!(calls.len(), 2, "{kind}: {entry}");
            let last = messages.iter().rposition(|m| m["tool_calls"].is_array());
            let last = last.expect("a call");
            for (place, (path, content)) in [("a.md", "seven"), ("b.md", "eight")]
                .into_iter()
                .enumerate()
            {
                let (call, result) = (calls[place], &messages[last + 1 + place]);
                let arguments = call["function"]["arguments"].as_str().expect("a text");
                assert_eq!(arguments, json!({ "path": path }).to_string(), "{kind}");
                assert_eq!(result["tool_call_id"], call["id"], "{kind}: {entry}");
                let result = result["content"].to_string();
                assert!(result.contains(content), "{kind}: {result}");
            }
            let results = messages.iter().filter(|m| m["role"] == "tool").count();
            assert_eq!(results, 2, "{kind}: one for each: {entry}");
        }
        if kind != "gemini" {
            // Gemini's server here makes ids of its own.
            let text = journal[1].to_string();
            assert!(text.contains("call_a") && text.contains("call_b"), "{kind}");
        }
    }
}

/// The fields that a format has for how much to write and how hard to think.
#[test]
fn token_limit_and_effort_are_sent_in_each_format() {
    let low = "[agents.main]\nthinking = \"low\"\n";
    for (format, path, expect) in [
        (
            &CHAT,
            "POST /v1/chat/completions ",
            vec![
                ("/stream", json!(true)),
                ("/stream_options/include_usage", json!(true)),
                ("/max_completion_tokens", json!(4321)),
                ("/reasoning_effort", json!("low")),
            ],
        ),
        (
            &RESPONSES,
            "POST /v1/responses ",
            vec![
                ("/stream", json!(true)),
                ("/store", json!(false)),
                ("/max_output_tokens", json!(4321)),
                ("/reasoning/effort", json!("low")),
            ],
        ),
        (
            &MESSAGES,
            "POST /v1/messages ",
            vec![
                ("/stream", json!(true)),
                ("/max_tokens", json!(4321)),
                ("/thinking/type", json!("adaptive")),
                ("/output_config/effort", json!("low")),
            ],
        ),
        (
            &GEMINI,
            "POST /v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse ",
            vec![
                ("/generationConfig/maxOutputTokens", json!(4321)),
                (
                    "/generationConfig/thinkingConfig/thinkingLevel",
                    json!("low"),
                ),
            ],
        ),
    ] {
        let (passed, _) = two_turns(format, low);
        for Passed { head, body } in &passed {
            assert!(head.starts_with(path), "{head}");
            for (field, value) in &expect {
                assert_eq!(body.pointer(field), Some(value), "{}: {field}", format.kind);
            }
        }
    }
}

#[test]
fn stable_prefix_and_last_message_get_cache_markers() {
    let (passed, _) = two_turns(&MESSAGES, "");
    let ephemeral = json!({ "type": "ephemeral" });
    for Passed { head, body } in &passed {
        assert!(
            head.to_ascii_lowercase()
                .contains("anthropic-version: 2023-06-01")
        );
        let system = body["system"].as_array().expect("blocks");
        assert_eq!(system.len(), 2, "what stays, and here and now: {system:?}");
        assert_eq!(system[0]["cache_control"], ephemeral);
        assert_eq!(system[1].get("cache_control"), None, "it changes");
        assert!(
            system[1]["text"]
                .as_str()
                .expect("a text")
                .contains("## Here and now")
        );
        let messages = body["messages"].as_array().expect("messages");
        let last = messages.last().expect("a message")["content"].as_array();
        let last = last.expect("blocks").last().expect("a block");
        assert_eq!(last["cache_control"], ephemeral);
        let marks = body.to_string().matches("\"cache_control\"").count();
        assert_eq!(marks, 2, "at most four are taken, two are enough");
    }
    let first = &passed[0].body["system"][0];
    assert!(passed.iter().all(|one| one.body["system"][0] == *first));
}

#[test]
fn a_schema_is_sent_in_each_format() {
    let schema = json!({
        "type": "object", "properties": { "a": { "type": "string" } },
        "required": ["a"], "additionalProperties": false,
    });
    let body = json!({
        "model": "agent/main", "messages": [{ "role": "user", "content": "as data" }],
        "response_format": { "type": "json_schema", "json_schema": { "name": "answer", "schema": schema } },
    });
    for (format, field) in [
        (&CHAT, "/response_format/json_schema/schema"),
        (&RESPONSES, "/text/format/schema"),
        (&MESSAGES, "/output_config/format/schema"),
        (&GEMINI, "/generationConfig/responseJsonSchema"),
    ] {
        let (gateway, relay, _server) = watched(format, "");
        let said = gateway.post("/v1/chat/completions", &body).json();
        let text = said["choices"][0]["message"]["content"].as_str();
        let text = text.unwrap_or_else(|| panic!("{}: {said}", format.kind));
        assert_eq!(
            serde_json::from_str::<Value>(text).ok(),
            Some(json!({ "a": "b" }))
        );
        assert_eq!(said["usage"]["total_tokens"], 7, "{said}");
        let passed = relay.passed();
        assert_eq!(
            passed[0].body.pointer(field),
            Some(&schema),
            "{}",
            format.kind
        );
    }
}
