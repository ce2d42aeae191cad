//! Streams cut at every byte.

use manyhands_llm::settings::ProviderKind;
use manyhands_llm::{Delta, ErrorKind};
use serde_json::{Value, json};

use crate::fake::{Fake, Say};
use crate::support::{Format, ask, formats, models, provider, user};

const BACKUP: &str = "turns:\n  - when: {user: hi}\n    text: from the backup\n";

/// Where the reply is whole, so that nothing after it matters.
fn whole_at(format: &Format) -> usize {
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

async fn cut_everywhere(format: Format, say: fn(Vec<u8>) -> Say) {
    let stream = format.short.clone().into_bytes();
    let pieces = stream.clone();
    let fake = Fake::start(format.check, move |n| say(pieces[..n].to_vec())).await;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("backup.yaml");
    std::fs::write(&script, BACKUP).unwrap();
    let models = models(json!({
        "default": format!("p/{}", format.model),
        "fallbacks": ["scripted-backup/b"],
        "providers": { "p": provider(format.kind, &fake), "scripted-backup": { "kind": "scripted", "script": script } },
        "retry": { "retries": 0 },
    }));
    let whole = whole_at(&format);
    let first_event = format.short.find("\n\n").unwrap() + 2;
    for cut in 0..=stream.len() {
        let (reply, heard) = ask(&models, &user("hi")).await;
        let place = format!("{:?} cut at {cut} of {}", format.kind, stream.len());
        let reply = reply.unwrap_or_else(|error| panic!("{place}: {error}"));
        let shown = heard
            .iter()
            .any(|delta| matches!(delta, Delta::Text(text) if text != "from the backup"));
        let restarts = heard
            .iter()
            .filter(|delta| matches!(delta, Delta::Restart { .. }))
            .count();
        if cut >= whole {
            assert_eq!((reply.text(), restarts), ("Hello".to_owned(), 0), "{place}");
            continue;
        }
        assert_eq!(reply.text(), "from the backup", "{place}");
        assert!(reply.scripted && reply.model.to_string() == "scripted-backup/b");
        let failure = reply.attempts[0].failure.clone().unwrap();
        let right = match failure.kind {
            ErrorKind::Cut => true,
            ErrorKind::Garbage => cut < first_event,
            _ => false,
        };
        assert!(right, "{place}: {failure:?}");
        assert_eq!(restarts, usize::from(shown), "{place}: {heard:?}");
        assert_eq!(last_text(&heard), "from the backup");
    }
}

/// What a listener that heeds restarts ends up with.
fn last_text(heard: &[Delta]) -> String {
    heard
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
        cut_everywhere(format, Say::Break).await;
    }
}

#[tokio::test]
async fn a_stream_that_ends_anywhere_as_if_whole_leads_to_the_next_model() {
    for format in formats() {
        cut_everywhere(format, Say::End).await;
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
            Say::Stream(bytes)
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
        let fake = Fake::saying(format.check, vec![Say::Stream(stream.into())]).await;
        let models = models(json!({
            "default": format!("p/{}", format.model),
            "providers": { "p": provider(format.kind, &fake) },
            "prices": { format.model: { "input": 1e9, "output": 1e9 } },
        }));
        let (reply, _) = ask(&models, &user("hi")).await;
        assert_eq!(reply.unwrap().text(), "Hello");
    }
}
