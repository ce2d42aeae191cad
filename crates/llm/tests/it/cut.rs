//! Streams cut at every byte.

use manyhands_llm::settings::ProviderKind;
use manyhands_llm::{Delta, ErrorKind};
use serde_json::{Value, json};

use crate::fake::{Fake, FakeReply};
use crate::support::{Format, ask, formats, models, provider, user};

const BACKUP: &str = "turns:\n  - when: {user: hi}\n    text: from the backup\n";

/// Where the reply is whole, so that nothing after it matters.
fn complete_from(format: &Format) -> usize {
    let last = match format.kind {
        // The reason to stop is enough; the usage may be lost.
        ProviderKind::Openai => "\"finish_reason\":\"stop\"",
        ProviderKind::Anthropic => "\"message_stop\"",
        ProviderKind::OpenaiResponses => "\"response.completed\"",
        _ => "\"STOP\"",
    };
    let at = format.short.rfind(last).unwrap();
    at + format.short[at..].find("\n\n").unwrap() + 2
}

async fn cut_everywhere(format: Format, reply_with: fn(Vec<u8>) -> FakeReply) {
    let stream = format.short.clone().into_bytes();
    let pieces = stream.clone();
    let fake = Fake::start(format.check, move |n| reply_with(pieces[..n].to_vec())).await;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("backup.yaml");
    std::fs::write(&script, BACKUP).unwrap();
    let models = models(json!({
        "default": format!("p/{}", format.model),
        "fallbacks": ["scripted-backup/b"],
        "providers": { "p": provider(format.kind, &fake), "scripted-backup": { "kind": "scripted", "script": script } },
        "retry": { "retries": 0 },
    }));
    let complete = complete_from(&format);
    let first_event = format.short.find("\n\n").unwrap() + 2;
    for cut in 0..=stream.len() {
        let (reply, received) = ask(&models, &user("hi")).await;
        let at_byte = format!("{:?} cut at {cut} of {}", format.kind, stream.len());
        let reply = reply.unwrap_or_else(|error| panic!("{at_byte}: {error}"));
        let shown = received
            .iter()
            .any(|delta| matches!(delta, Delta::Text(text) if text != "from the backup"));
        let restarts = received
            .iter()
            .filter(|delta| matches!(delta, Delta::Restart { .. }))
            .count();
        if cut >= complete {
            assert_eq!(
                (reply.text(), restarts),
                ("Hello".to_owned(), 0),
                "{at_byte}"
            );
            continue;
        }
        assert_eq!(reply.text(), "from the backup", "{at_byte}");
        assert!(reply.scripted && reply.model.to_string() == "scripted-backup/b");
        let failure = reply.attempts[0].failure.clone().unwrap();
        let right = match failure.kind {
            ErrorKind::Cut => true,
            ErrorKind::Garbage => cut < first_event,
            _ => false,
        };
        assert!(right, "{at_byte}: {failure:?}");
        assert_eq!(restarts, usize::from(shown), "{at_byte}: {received:?}");
        assert_eq!(last_text(&received), "from the backup");
    }
}

/// What a listener that heeds restarts ends up with.
fn last_text(received: &[Delta]) -> String {
    received
        .iter()
        .fold(String::new(), |mut text, delta| match delta {
            Delta::Text(more) => {
                text.push_str(more);
                text
            }
            Delta::Restart { .. } => String::new(),
            _ => text,
        })
}

#[tokio::test]
async fn a_line_that_breaks_anywhere_leads_to_the_next_model() {
    for format in formats() {
        cut_everywhere(format, FakeReply::Break).await;
    }
}

#[tokio::test]
async fn a_stream_that_ends_anywhere_as_if_whole_leads_to_the_next_model() {
    for format in formats() {
        cut_everywhere(format, FakeReply::End).await;
    }
}

#[tokio::test]
async fn no_byte_changed_anywhere_makes_it_panic() {
    for format in formats() {
        let stream = format.rich.clone().into_bytes();
        let mangled = stream.clone();
        let fake = Fake::start(format.check, move |n| {
            let mut bytes = mangled.clone();
            bytes[n * 3] = b"\0\"{}:\n9x"[n % 8];
            FakeReply::Stream(bytes)
        })
        .await;
        let models = models(json!({
            "default": format!("p/{}", format.model),
            "providers": { "p": provider(format.kind, &fake) },
            "retry": { "retries": 0 },
        }));
        for _ in 0..stream.len() / 3 {
            if let (Err(error), _) = ask(&models, &user("hi")).await {
                let kinds = matches!(
                    error.kind,
                    ErrorKind::Garbage | ErrorKind::Cut | ErrorKind::Server { .. }
                );
                assert!(kinds, "{error}");
            }
        }
    }
}

#[tokio::test]
async fn numbers_beyond_all_bounds_do_no_harm() {
    for format in formats() {
        let huge = Value::from(u64::MAX).to_string();
        let stream = format.short.replace("\":9", &format!("\":{huge}"));
        let stream = stream.replace("\":3", &format!("\":{huge}"));
        assert_ne!(stream, format.short);
        let fake = Fake::replying(format.check, vec![FakeReply::Stream(stream.into())]).await;
        let models = models(json!({
            "default": format!("p/{}", format.model),
            "providers": { "p": provider(format.kind, &fake) },
            "prices": { format.model: { "input": 1e9, "output": 1e9 } },
        }));
        let (reply, _) = ask(&models, &user("hi")).await;
        assert_eq!(reply.unwrap().text(), "Hello");
    }
}
