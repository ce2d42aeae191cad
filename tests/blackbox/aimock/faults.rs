//! A model server that fails in every way it knows: the next model answers, or the asker is told.

use serde_json::{Value, json};

use super::server::Aimock;
use super::{
    CHAT, FORMATS, Format, GEMINI, MESSAGES, RESPONSES, answered, joined, provider, told, turn,
};
use crate::harness::{Gateway, Home};

/// Faults by the name of an agent: the header that makes the server fail so, how often it is asked
/// with two retries, and what it calls what it did.
const FAULTS: [(&str, &str, &str, usize, &str); 5] = [
    ("rate", "x-aimock-chaos-ratelimit", "1", 3, "rateLimit"),
    ("drop", "x-aimock-chaos-drop", "1", 3, "drop"),
    ("garbage", "x-aimock-chaos-malformed", "1", 3, "malformed"),
    // One that hangs up at once is asked once more each time.
    ("gone", "x-aimock-chaos-disconnect", "1", 6, "disconnect"),
    ("slow", "x-aimock-chaos-latency", "30000", 1, ""),
];

const SAID: &str = "Good morning, and welcome to a house of many hands.";

/// A gateway whose agents have a model each that fails.
fn failing(format: &Format, url: &str, retry: &str, fallbacks: &str) -> Gateway {
    let mut settings = format!(
        "sessions.titles = false\n[models]\ndefault = \"well/backup\"\n{fallbacks}\n[models.retry]\nbase_milliseconds = 50\n{retry}\n{}",
        provider("well", &CHAT, url, "")
    );
    for (name, header, value, _, _) in FAULTS {
        let quick = match name {
            "slow" => "timeouts = { first_byte_seconds = 1, last_resort_seconds = 1 }",
            _ => "",
        };
        let fails = format!("headers = {{ {header} = \"{value}\" }}\n{quick}");
        settings += &provider(name, format, url, &fails);
        settings += &format!("[agents.{name}]\nmodel = \"{name}/{}\"\n", format.model);
    }
    Gateway::on(Home::new().with_config(&settings))
}

fn hello() -> Value {
    json!([{ "match": { "userMessage": "hello" }, "response": { "content": SAID } }])
}

/// Every fault of one format leads to the next model.
fn check_failover(format: &Format) {
    let server = Aimock::start(&hello());
    let standby = "fallbacks = [\"well/backup\"]";
    let gateway = failing(format, &server.url(), "", standby);
    let mut before = 0;
    for (name, _, _, asked, action) in FAULTS {
        let place = format!("{} {name}", format.kind);
        let events = turn(
            &gateway,
            json!({ "message": "hello", "agentId": name, "sessionKey": "main" }),
        );
        assert_eq!(answered(&events)["text"], SAID, "{place}: {events:?}");
        assert_eq!(joined(&events, "delta"), SAID, "{place}: told once");
        let journal = server.journal().split_off(before);
        before += journal.len();
        let done = |entry: &&Value| entry["response"]["chaosAction"] == action;
        if !action.is_empty() {
            let failed = journal.iter().filter(done).count();
            assert_eq!(failed, asked, "{place}: {journal:?}");
        }
        let model = |entry: &Value| entry["body"]["model"].as_str().map(str::to_owned);
        let last = journal
            .iter()
            .rfind(|entry| model(entry).as_deref() == Some("backup"));
        let last = last.unwrap_or_else(|| panic!("{place}: {journal:?}"));
        let at = |entry: &Value| entry["timestamp"].as_i64().expect("a time");
        let first = journal.iter().map(at).min().expect("a first question");
        // Five seconds, and as much again for a machine that is busy.
        assert!(at(last) - first < 10_000, "{place}: {journal:?}");
    }
}

#[test]
fn every_fault_of_chat_completions_leads_to_the_next_model() {
    check_failover(&CHAT);
}

#[test]
fn every_fault_of_responses_leads_to_the_next_model() {
    check_failover(&RESPONSES);
}

#[test]
fn every_fault_of_messages_leads_to_the_next_model() {
    check_failover(&MESSAGES);
}

#[test]
fn every_fault_of_gemini_leads_to_the_next_model() {
    check_failover(&GEMINI);
}

#[test]
fn without_a_fallback_model_the_caller_gets_the_error() {
    let server = Aimock::start(&hello());
    for format in &FORMATS {
        let gateway = failing(format, &server.url(), "retries = 0", "");
        for (name, words) in [
            ("rate", "429"),
            ("drop", "500"),
            ("garbage", "invalid reply"),
            ("gone", "connection closed"),
            ("slow", "sent nothing for 1 second"),
        ] {
            let place = format!("{} {name}", format.kind);
            let body = json!({ "message": "hello", "agentId": name, "sessionKey": "main" });
            let events = turn(&gateway, body);
            let (event, error) = events.last().expect("an end");
            assert_eq!(event, "error", "{place}: {events:?}");
            let said = error["message"].as_str().expect("words");
            assert!(said.contains(words), "{place}: {words:?} in {said:?}");
            let who = format!("{name}/{}", format.model);
            assert!(said.contains(&who), "{place}: {said:?}");
            let shown = gateway.cli(&["chat", "--agent", name, "hello"]);
            assert_eq!(
                (shown.code, shown.stdout.as_str()),
                (Some(1), ""),
                "{place}"
            );
            assert!(shown.stderr.contains(words), "{place}: {shown:?}");
        }
        let control = turn(&gateway, json!({ "message": "hello" }));
        assert_eq!(answered(&control)["text"], SAID);
    }
}

#[test]
fn retry_after_is_respected() {
    let busy = |status: u16| json!({ "error": { "message": "come back later", "type": "rate_limit_error" }, "status": status, "retryAfter": 1 });
    let fixtures = json!([
        { "match": { "userMessage": "limited", "sequenceIndex": 0 }, "response": busy(429) },
        { "match": { "userMessage": "limited", "sequenceIndex": 1 }, "response": { "content": "Now." } },
        { "match": { "userMessage": "broken", "sequenceIndex": 0 }, "response": busy(503) },
        { "match": { "userMessage": "broken", "sequenceIndex": 1 }, "response": { "content": "Whole." } },
    ]);
    for format in &FORMATS {
        let server = Aimock::start(&fixtures);
        let gateway = super::gateway(format, &server.url(), "");
        for (message, said, least) in [("limited", "Now.", 1_000), ("broken", "Whole.", 250)] {
            let place = format!("{} {message}", format.kind);
            let before = server.journal().len();
            let events = turn(&gateway, json!({ "message": message }));
            assert_eq!(answered(&events)["text"], said, "{place}");
            let journal = server.journal().split_off(before);
            assert_eq!(journal.len(), 2, "{place}: {journal:?}");
            assert_eq!(
                journal[0]["body"], journal[1]["body"],
                "{place}: the same again"
            );
            let at = |n: usize| journal[n]["timestamp"].as_i64().expect("a time");
            // Two clocks of one machine: a timer may be a little early by the other.
            assert!(at(1) - at(0) >= least - 20, "{place}: {journal:?}");
        }
    }
}

/// What two models say, of which the first breaks off.
fn cut() -> Value {
    let long = json!({ "path": "half.md", "content": "a text that is much longer than what will come of it" });
    json!([
        {
            "match": { "userMessage": "hello", "model": "cut" },
            "response": { "content": "Good evening, and farewell to all of you who are here." },
            "chunkSize": 5, "latency": 20, "truncateAfterChunks": 8,
        },
        {
            "match": { "userMessage": "write it", "model": "cut" },
            "response": { "toolCalls": [{ "id": "call_w", "name": "gsv__WriteFile", "arguments": long }] },
            "chunkSize": 5, "latency": 20, "truncateAfterChunks": 9,
        },
        { "match": { "userMessage": "hello", "model": "backup" }, "response": { "content": SAID } },
        { "match": { "userMessage": "write it", "model": "backup" }, "response": { "content": "I did not write." } },
    ])
}

/// A gateway whose model breaks off, and whose other model does not.
fn cutting(format: &Format, url: &str) -> Gateway {
    Gateway::on(Home::new().with_config(&format!(
        "[models]\ndefault = \"there/cut\"\nfallbacks = [\"well/backup\"]\n[models.retry]\nretries = 0\n{}{}",
        provider("there", format, url, ""),
        provider("well", &CHAT, url, ""),
    )))
}

#[test]
fn an_interrupted_reply_is_withdrawn_and_restarted() {
    for format in &FORMATS {
        let kind = format.kind;
        let server = Aimock::start(&cut());
        let gateway = cutting(format, &server.url());
        let events = turn(&gateway, json!({ "message": "hello" }));
        assert_eq!(answered(&events)["text"], SAID, "{kind}: {events:?}");
        let at = events.iter().position(|(name, _)| name == "restart");
        let at = at.unwrap_or_else(|| panic!("{kind}: {events:?}"));
        let because = events[at].1["because"].as_str().expect("words");
        assert!(because.starts_with("there/cut: "), "{kind}: {because}");
        let void = joined(&events[..at], "delta");
        assert!(
            "Good evening, and farewell".starts_with(&void[..5]),
            "{kind}: {void}"
        );
        assert_eq!(joined(&events[at..], "delta"), SAID, "{kind}");
        let kept = gateway.get("/api/sessions/main/messages").json();
        assert!(!kept.to_string().contains("evening"), "{kind}: {kept}");
    }
}

#[test]
fn a_call_that_breaks_off_is_never_run() {
    // Gemini's calls come whole or not at all.
    for format in [&CHAT, &RESPONSES, &MESSAGES] {
        let kind = format.kind;
        let server = Aimock::start(&cut());
        let gateway = cutting(format, &server.url());
        let events = turn(&gateway, json!({ "message": "write it" }));
        assert_eq!(
            answered(&events)["text"],
            "I did not write.",
            "{kind}: {events:?}"
        );
        let journal = server.journal();
        assert_eq!(
            journal[0]["response"]["interrupted"], true,
            "{kind}: {journal:?}"
        );
        assert_eq!(told(&events, "tool"), Vec::<&Value>::new(), "{kind}");
        assert_eq!(gateway.read("half.md"), None, "{kind}");
    }
}
