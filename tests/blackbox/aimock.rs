//! The model loop against a model server that nobody here wrote, in each format it speaks.

mod client_tools;
mod faults;
mod hostile;
mod large;
mod sent;
pub mod server;

use serde_json::{Value, json};

use crate::chat_http::Events;
use crate::harness::{Gateway, Home};
use server::{Aimock, Relay};

/// A format, with a model that thinks.
struct Format {
    kind: &'static str,
    model: &'static str,
    /// What follows the address of the server.
    base: &'static str,
}

const CHAT: Format = Format {
    kind: "openai",
    model: "gpt-5.5",
    base: "/v1",
};
const RESPONSES: Format = Format {
    kind: "openai-responses",
    model: "gpt-5.5",
    base: "/v1",
};
const MESSAGES: Format = Format {
    kind: "anthropic",
    model: "claude-opus-5",
    base: "",
};
const GEMINI: Format = Format {
    kind: "gemini",
    model: "gemini-3.5-flash",
    base: "",
};
const FORMATS: [Format; 4] = [CHAT, RESPONSES, MESSAGES, GEMINI];

/// The settings of a provider.
fn provider(name: &str, format: &Format, url: &str, more: &str) -> String {
    let Format { kind, base, .. } = format;
    format!("[models.providers.{name}]\nkind = \"{kind}\"\nbase_url = \"{url}{base}\"\n{more}\n")
}

/// A gateway whose model is the format's at `url`.
#[track_caller]
fn gateway(format: &Format, url: &str, more: &str) -> Gateway {
    let settings = format!(
        "sessions.titles = false\n[models]\ndefault = \"there/{}\"\nmax_output_tokens = 4321\n{}{more}",
        format.model,
        provider("there", format, url, "")
    );
    Gateway::on(Home::new().with_config(&settings))
}

/// Tokens in the words of every format.
fn usage(input: u64, output: u64) -> Value {
    json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "input_tokens": input, "output_tokens": output,
        "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output,
    })
}

/// Everything that one turn told.
#[track_caller]
fn turn(gateway: &Gateway, body: Value) -> Vec<(String, Value)> {
    Events::chat(gateway, &gateway.owner, &body).rest()
}

/// The data of the events of one name.
fn told<'a>(events: &'a [(String, Value)], name: &str) -> Vec<&'a Value> {
    let named = events.iter().filter(|(event, _)| event == name);
    named.map(|(_, data)| data).collect()
}

/// The texts of the events of one name, put together.
fn joined(events: &[(String, Value)], name: &str) -> String {
    let texts = told(events, name).into_iter();
    texts.filter_map(|data| data["text"].as_str()).collect()
}

/// The end of a turn that has an answer.
#[track_caller]
fn answered(events: &[(String, Value)]) -> &Value {
    match events.last() {
        Some((name, data)) if name == "final" => data,
        _ => panic!("no answer: {events:?}"),
    }
}

/// How the model is to answer in the tests of what is said and sent.
fn fixtures() -> Value {
    let call = |id: &str, path: &str| json!({ "id": id, "name": "gsv__ReadFile", "arguments": { "path": path } });
    json!([
        {
            "match": { "userMessage": "look at both", "hasToolResult": false },
            "response": {
                "content": "I look at both.",
                "toolCalls": [call("call_a", "a.md"), call("call_b", "b.md")],
                "usage": usage(100, 7),
            },
        },
        {
            "match": { "userMessage": "look at both", "hasToolResult": true },
            "response": { "content": "One says seven, the other says eight.", "usage": usage(120, 9) },
        },
        {
            "match": { "userMessage": "hello" },
            "response": {
                "content": "Good morning, and welcome to a house of many hands.",
                "reasoning": "a greeting",
                "usage": usage(130, 11),
            },
        },
        {
            "match": { "userMessage": "as data" },
            "response": { "content": { "a": "b" }, "usage": usage(5, 2) },
        },
    ])
}

fn with_notes(gateway: Gateway) -> Gateway {
    gateway.write("a.md", "seven");
    gateway.write("b.md", "eight");
    gateway
}

/// A turn with parallel calls, then one that only talks: what the asker sees is the same from
/// every format.
#[track_caller]
fn check_turns(format: &Format) {
    let kind = format.kind;
    let server = Aimock::start(&fixtures());
    let gateway = with_notes(gateway(format, &server.url(), ""));
    let events = turn(&gateway, json!({ "message": "look at both, please" }));
    let end = answered(&events);
    assert_eq!(
        end["text"], "One says seven, the other says eight.",
        "{kind}: {events:?}"
    );
    assert_eq!(
        joined(&events, "delta"),
        "I look at both.One says seven, the other says eight.",
        "{kind}: it is told as it comes"
    );
    assert_eq!(told(&events, "partial")[0]["text"], "I look at both.");
    let mut paths = Vec::new();
    for tool in told(&events, "tool") {
        assert_eq!(tool["tool"], "gsv__ReadFile", "{kind}: {tool}");
        match tool["phase"].as_str() {
            Some("started") => paths.push(tool["arguments"]["path"].clone()),
            _ => assert_eq!(tool["ok"], true, "{kind}: {tool}"),
        }
    }
    paths.sort_by_key(ToString::to_string);
    assert_eq!(paths, ["a.md", "b.md"], "{kind}: both were called");
    let used = |end: &Value| {
        let tokens = |name: &str| end["usage"][name].as_u64().expect("a number");
        (tokens("inputTokens"), tokens("outputTokens"))
    };
    assert_eq!(used(end), (220, 16), "{kind}: both replies are counted");

    let events = turn(&gateway, json!({ "message": "hello" }));
    let end = answered(&events);
    let said = "Good morning, and welcome to a house of many hands.";
    assert_eq!(
        (&end["text"], used(end)),
        (&json!(said), (130, 11)),
        "{kind}"
    );
    assert_eq!(joined(&events, "delta"), said, "{kind}");
    assert!(told(&events, "delta").len() > 1, "{kind}: in pieces");
    assert_eq!(joined(&events, "thinking"), "a greeting", "{kind}");
    let ran = gateway.cli(&["chat", "hello"]).ok();
    assert_eq!(ran.stdout.trim(), said, "{kind}");
}

#[test]
fn a_turn_with_parallel_calls_comes_through_chat_completions() {
    check_turns(&CHAT);
}

#[test]
fn a_turn_with_parallel_calls_comes_through_responses() {
    check_turns(&RESPONSES);
}

#[test]
fn a_turn_with_parallel_calls_comes_through_messages() {
    check_turns(&MESSAGES);
}

#[test]
fn a_turn_with_parallel_calls_comes_through_gemini() {
    check_turns(&GEMINI);
}

/// A gateway, and all that it sends to a server.
#[track_caller]
fn watched(format: &Format, more: &str) -> (Gateway, Relay, Aimock) {
    let server = Aimock::start(&fixtures());
    let relay = Relay::before(server.addr);
    let gateway = gateway(format, &relay.url, more);
    (gateway, relay, server)
}
