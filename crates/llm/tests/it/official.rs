//! The fakes of these tests, judged by the model makers' own clients: their requests are taken, and
//! they read of the replies what we read.

#![allow(
    clippy::disallowed_methods,
    reason = "the clients are programs of their own"
)]

use std::process::Command;

use manyhands_llm::settings::ProviderKind;
use serde_json::{Value, json};

use crate::fake::{Fake, FakeReply};
use crate::npm::packages;
use crate::support::{Format, KEY, formats};

/// What the official client of a format reads of `stream`.
async fn client(format: &Format, stream: String) -> Value {
    let fake = Fake::replying(format.check, vec![FakeReply::Stream(stream.into())]).await;
    let kind = serde_json::to_value(format.kind).unwrap();
    let args = [kind.as_str().unwrap(), &fake.url(), format.model, KEY].map(str::to_owned);
    let node = move || {
        let mut node = Command::new("node");
        node.arg(packages("model-server").join("official.mjs"))
            .args(args);
        node.output().expect("node")
    };
    let ran = tokio::task::spawn_blocking(node).await.unwrap();
    assert!(
        ran.status.success(),
        "{kind}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert_eq!(fake.received().len(), 1, "{kind}: it asks once");
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// The rich reply with its broken arguments made whole: a client gives up over those.
fn sound(format: &Format) -> String {
    let quoted = "\\\"Bergen\\\"";
    match format.kind {
        ProviderKind::Openai => format
            .rich
            .replace("Ber\"", "\\\"Ber\"")
            .replace("\"gen}\"", "\"gen\\\"}\""),
        ProviderKind::Gemini => {
            let broken = "\"{\\\"city\\\": Bergen}\"";
            format.rich.replace(broken, "{\"city\":\"Bergen\"}")
        }
        _ => format.rich.replace("Bergen", quoted),
    }
}

#[tokio::test]
async fn the_official_clients_read_the_same_replies() {
    for format in formats() {
        let kind = format.kind;
        let stream = sound(&format);
        assert_ne!(stream, format.rich);
        let read = client(&format, stream).await;
        assert_eq!(read["thinking"], "Let me see.", "{kind:?}: {read}");
        assert_eq!(read["text"], "Looking it up \u{1f980}", "{kind:?}: {read}");
        let call = |city: &str| json!({ "name": "weather", "arguments": { "city": city } });
        assert_eq!(
            read["calls"],
            json!([call("Oslo"), call("Bergen")]),
            "{kind:?}"
        );
        let (stop, input, output) = match kind {
            ProviderKind::Anthropic => ("tool_use", 100, 40),
            ProviderKind::Openai => ("tool_calls", 1150, 40),
            ProviderKind::OpenaiResponses => ("completed", 1150, 40),
            _ => ("STOP", 1150, 30),
        };
        assert_eq!(read["stop"], stop, "{kind:?}: {read}");
        assert_eq!(
            (&read["input"], &read["output"], &read["cached"]),
            (&json!(input), &json!(output), &json!(1000)),
            "{kind:?}"
        );
        let read = client(&format, format.short.clone()).await;
        assert_eq!(
            (&read["text"], &read["calls"]),
            (&json!("Hello"), &json!([])),
            "{kind:?}: {read}"
        );
        assert_eq!(
            (&read["input"], &read["output"]),
            (&json!(9), &json!(3)),
            "{kind:?}"
        );
    }
}
