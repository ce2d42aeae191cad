//! Tries, waits and the next model, on a clock that stands still.

use std::time::Duration;

use manyhands_llm::{Delta, ErrorKind, ModelError, Reply};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fake::{Fake, FakeReply};
use crate::support::{
    Format, anthropic, ask, chat, formats, gemini, models, provider, responses, user,
};

const LATEST: Duration = Duration::from_secs(5);

fn hello(format: &Format) -> FakeReply {
    FakeReply::Stream(format.short.clone().into())
}

/// Two models, of which the first does as it is told and the second answers.
async fn with_backup(
    first: Vec<FakeReply>,
    settings: Value,
) -> (Result<Reply, ModelError>, Vec<Delta>, Duration, usize) {
    let (one, two) = (anthropic(), chat());
    let ill = Fake::replying(one.check, first).await;
    let well = Fake::replying(two.check, vec![hello(&two)]).await;
    let mut all = json!({
        "default": "a/claude-opus-5",
        "fallbacks": ["b/gpt-4o"],
        "providers": { "a": provider(one.kind, &ill), "b": provider(two.kind, &well) },
    });
    for (key, value) in settings.as_object().unwrap() {
        all[key] = value.clone();
    }
    let models = models(all);
    let started = Instant::now();
    let (reply, received) = ask(&models, &user("hi")).await;
    (reply, received, started.elapsed(), ill.received().len())
}

#[tokio::test(start_paused = true)]
async fn every_fault_leads_to_the_next_model_within_five_seconds() {
    let text = anthropic().short;
    let half = text[..text.find("lo\"").unwrap()].to_owned();
    let half = &half[..half.rfind("\n\n").unwrap() + 2];
    let rate = |after| ErrorKind::RateLimited { retry_after: after };
    for (reply_with, kind, tries) in [
        (FakeReply::error(429, "", "slow down"), rate(None), 3),
        (
            FakeReply::error(429, "retry-after: 60\r\n", "slow down"),
            rate(Some(Duration::from_secs(60))),
            1,
        ),
        (
            FakeReply::error(429, "retry-after: 10\r\n", "slow down"),
            rate(Some(Duration::from_secs(10))),
            1,
        ),
        (
            FakeReply::error(500, "", "oops"),
            ErrorKind::Server { status: 500 },
            3,
        ),
        (
            FakeReply::error(502, "", "oops"),
            ErrorKind::Server { status: 502 },
            3,
        ),
        (FakeReply::error(503, "", "oops"), ErrorKind::Overloaded, 3),
        (FakeReply::error(529, "", "oops"), ErrorKind::Overloaded, 3),
        (FakeReply::Break(half.into()), ErrorKind::Cut, 3),
        (FakeReply::End(half.into()), ErrorKind::Cut, 3),
        (FakeReply::Raw(Vec::new()), ErrorKind::Cut, 3),
        (
            FakeReply::Raw(b"SMTP 220 hello\r\n\r\n".to_vec()),
            ErrorKind::Cut,
            3,
        ),
        (
            FakeReply::Stream(b"data: not json\n\n".to_vec()),
            ErrorKind::Garbage,
            3,
        ),
        (
            FakeReply::Stream(b"<html>hello</html>".to_vec()),
            ErrorKind::Garbage,
            3,
        ),
        (
            FakeReply::Whole(200, "", "{\"hello\": 1}".into()),
            ErrorKind::Garbage,
            3,
        ),
        (FakeReply::Silent, ErrorKind::Silent, 1),
        (FakeReply::Hang(Vec::new()), ErrorKind::Silent, 1),
        (FakeReply::error(401, "", "no"), ErrorKind::Auth, 1),
        (FakeReply::error(400, "", "bad"), ErrorKind::BadRequest, 1),
        (
            FakeReply::error(404, "", "no such model"),
            ErrorKind::BadRequest,
            1,
        ),
        (
            FakeReply::Whole(
                307,
                "location: https://elsewhere.example/\r\n",
                String::new(),
            ),
            ErrorKind::BadRequest,
            1,
        ),
    ] {
        let (reply, received, took, requested) =
            with_backup(vec![reply_with.clone()], json!({})).await;
        let reply = reply.unwrap_or_else(|error| panic!("{reply_with:?}: {error}"));
        assert_eq!(
            (reply.text(), reply.model.to_string()),
            ("Hello".into(), "b/gpt-4o".into())
        );
        assert!(took <= LATEST, "{reply_with:?} took {took:?}");
        // One that hangs up at once is asked once more each time.
        let hung_up = matches!(&reply_with, FakeReply::Raw(bytes) if bytes.is_empty());
        assert_eq!(
            requested,
            tries * (1 + usize::from(hung_up)),
            "{reply_with:?}"
        );
        assert_eq!(reply.attempts.len(), tries + 1);
        let failure = reply.attempts[0].failure.clone().unwrap();
        assert_eq!(failure.kind, kind, "{reply_with:?}: {}", failure.message);
        let cut =
            matches!(&reply_with, FakeReply::Break(_)) || matches!(&reply_with, FakeReply::End(_));
        let restarts = received
            .iter()
            .filter(|delta| matches!(delta, Delta::Restart { .. }))
            .count();
        assert_eq!(
            restarts,
            if cut { 3 } else { 0 },
            "{reply_with:?}: {received:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_failover_announces_the_restart_and_its_reason() {
    let text = anthropic().short;
    let half = text.as_bytes()[..text.find("event: content_block_stop").unwrap()].to_vec();
    let (reply, received, _, _) = with_backup(
        vec![FakeReply::Break(half)],
        json!({ "retry": { "retries": 0 } }),
    )
    .await;
    assert_eq!(reply.unwrap().text(), "Hello");
    let because = "a/claude-opus-5: the reply was cut off".to_owned();
    let model = "b/gpt-4o".parse().unwrap();
    let text = |text: &str| Delta::Text(text.into());
    assert_eq!(
        received,
        [
            text("Hel"),
            text("lo"),
            Delta::Restart { model, because },
            text("Hel"),
            text("lo")
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn silence_in_the_middle_is_waited_for_and_then_left() {
    let text = anthropic().short;
    let half = text.as_bytes()[..text.find("event: content_block_stop").unwrap()].to_vec();
    let (reply, received, took, _) = with_backup(vec![FakeReply::Hang(half)], json!({})).await;
    let reply = reply.unwrap();
    assert_eq!(reply.text(), "Hello");
    assert_eq!(
        reply.attempts[0].failure.clone().unwrap().kind,
        ErrorKind::Silent
    );
    assert!(
        took >= Duration::from_secs(30) && took < Duration::from_secs(35),
        "{took:?}"
    );
    assert!(
        received
            .iter()
            .any(|delta| matches!(delta, Delta::Restart { .. }))
    );
    let spent = reply.attempts[0].spent.expect("what was said was paid for");
    assert_eq!(spent.usage.input, 9);
}

#[tokio::test(start_paused = true)]
async fn alone_a_model_is_waited_for_longer() {
    for format in formats() {
        let fake = Fake::replying(format.check, vec![FakeReply::Silent]).await;
        let models = models(json!({
            "default": format!("p/{}", format.model),
            "providers": { "p": provider(format.kind, &fake) },
            "retry": { "retries": 0 },
        }));
        let started = Instant::now();
        let error = ask(&models, &user("hi")).await.0.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Silent);
        assert!(
            error.to_string().contains("sent nothing for 120 seconds"),
            "{error}"
        );
        assert!(started.elapsed() >= Duration::from_secs(120));
    }
}

#[tokio::test(start_paused = true)]
async fn temporary_failures_are_retried_with_the_same_model() {
    let format = responses();
    let replies = vec![
        FakeReply::error(500, "", "oops"),
        FakeReply::error(429, "retry-after: 2\r\n", "slow"),
        hello(&format),
    ];
    let fake = Fake::replying(format.check, replies).await;
    let models = models(
        json!({ "default": "p/gpt-5.5", "providers": { "p": provider(format.kind, &fake) } }),
    );
    let started = Instant::now();
    let reply = ask(&models, &user("hi")).await.0.unwrap();
    assert_eq!(
        (reply.text(), reply.attempts.len()),
        ("Hello".to_owned(), 3)
    );
    let took = started.elapsed();
    assert!(
        took >= Duration::from_millis(2_250) && took < Duration::from_secs(4),
        "{took:?}"
    );
}

#[tokio::test]
async fn a_line_that_was_closed_meanwhile_is_no_failure() {
    for format in formats() {
        let fake = Fake::replying(
            format.check,
            vec![FakeReply::Raw(Vec::new()), hello(&format)],
        )
        .await;
        let models = models(json!({
            "default": format!("p/{}", format.model),
            "providers": { "p": provider(format.kind, &fake) },
            "retry": { "retries": 0 },
        }));
        let reply = ask(&models, &user("hi")).await.0.unwrap();
        assert_eq!(
            (reply.text(), reply.attempts.len()),
            ("Hello".to_owned(), 1)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn waits_vary_and_grow() {
    let format = chat();
    let mut seen = Vec::new();
    for _ in 0..4 {
        let fake = Fake::replying(format.check, vec![FakeReply::error(500, "", "oops")]).await;
        let models = models(
            json!({ "default": "p/gpt-4o", "providers": { "p": provider(format.kind, &fake) }, "retry": { "retries": 3 } }),
        );
        for _ in 0..3 {
            let started = Instant::now();
            ask(&models, &user("hi")).await.0.unwrap_err();
            seen.push(started.elapsed());
        }
    }
    // 0.5, 1 and 2 seconds, each at least half and at most all of it.
    let bounds = Duration::from_millis(1_750)..=Duration::from_millis(3_600);
    assert!(seen.iter().all(|took| bounds.contains(took)), "{seen:?}");
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 1, "chance plays a part");
}

#[tokio::test(start_paused = true)]
async fn fallbacks_are_tried_in_order_and_all_errors_are_reported() {
    let formats = [anthropic(), chat(), responses(), gemini()];
    let mut fakes = Vec::new();
    for (format, status) in formats.iter().zip([401, 500, 400, 503]) {
        fakes.push(
            Fake::replying(
                format.check,
                vec![FakeReply::error(status, "", &format!("no from {status}"))],
            )
            .await,
        );
    }
    let names = ["a", "b", "c", "d"];
    let mut providers = json!({});
    for ((name, format), fake) in names.iter().zip(&formats).zip(&fakes) {
        providers[name] = provider(format.kind, fake);
    }
    let models = models(json!({
        "default": "a/claude-opus-5",
        "fallbacks": ["b/gpt-4o", "a/claude-opus-5", "c/gpt-5.5", "d/gemini-3.5-flash"],
        "providers": providers,
    }));
    let error = ask(&models, &user("hi")).await.0.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth, "the first one's failure");
    let mut requested: Vec<String> = error
        .attempts
        .iter()
        .map(|attempt| attempt.model.provider.clone())
        .collect();
    requested.dedup();
    assert_eq!(requested, names);
    let told = error.to_string();
    assert!(
        told.starts_with("a/claude-opus-5: answered 401: no from 401; then b/gpt-4o: answered 500"),
        "{told}"
    );
    assert!(
        told.contains("then d/gemini-3.5-flash: answered 503"),
        "{told}"
    );
    assert!(
        told.lines()
            .last()
            .unwrap()
            .contains("manyhands models test"),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn final_errors_do_not_fail_over() {
    for (reply_with, kind) in [
        (
            FakeReply::error(400, "", "prompt is too long: 9 > 8"),
            ErrorKind::ContextOverflow,
        ),
        (
            FakeReply::error(413, "", "too large"),
            ErrorKind::ContextOverflow,
        ),
        (
            FakeReply::error(400, "", "violates our usage policies"),
            ErrorKind::Refused,
        ),
        (
            FakeReply::Stream(anthropic().short.replace("end_turn", "refusal").into()),
            ErrorKind::Refused,
        ),
    ] {
        let (reply, _, _, requested) = with_backup(vec![reply_with.clone()], json!({})).await;
        assert_eq!(reply.unwrap_err().kind, kind, "{reply_with:?}");
        assert_eq!(requested, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_fallback_that_is_too_small_does_not_hide_what_happened() {
    let (one, two) = (anthropic(), chat());
    let ill = Fake::replying(one.check, vec![FakeReply::error(503, "", "busy")]).await;
    let small = Fake::replying(
        two.check,
        vec![FakeReply::error(400, "", "maximum context length is 8")],
    )
    .await;
    let models = models(json!({
        "default": "a/claude-opus-5",
        "fallbacks": ["b/gpt-4o"],
        "providers": { "a": provider(one.kind, &ill), "b": provider(two.kind, &small) },
    }));
    let error = ask(&models, &user("hi")).await.0.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Overloaded);
    assert!(
        error.to_string().contains("maximum context length"),
        "{error}"
    );
}

#[tokio::test]
async fn stopping_closes_the_line_and_is_no_failure_of_the_model() {
    for format in formats() {
        let half = format.short[..format.short.find("\n\n").unwrap() + 2].to_owned();
        for hang in [FakeReply::Silent, FakeReply::Hang(half.into())] {
            let fake = Fake::replying(format.check, vec![hang]).await;
            let models = models(json!({
                "default": format!("p/{}", format.model),
                "fallbacks": ["p/other"],
                "providers": { "p": provider(format.kind, &fake) },
            }));
            let cancel = CancellationToken::new();
            let request = user("hi");
            let mut ignore = |_| {};
            let reply = models.reply(&request, &mut ignore, &cancel);
            let stop = async {
                while fake.received().is_empty() {
                    tokio::task::yield_now().await;
                }
                cancel.cancel();
            };
            let (reply, ()) = tokio::join!(reply, stop);
            assert_eq!(reply.unwrap_err().kind, ErrorKind::Cancelled);
            let closed = fake.closed.acquire().await.unwrap();
            closed.forget();
            assert_eq!(fake.received().len(), 1, "nobody else was asked");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_replies_come_at_once_from_many_tasks() {
    let format = responses();
    let fake = Fake::replying(format.check, vec![hello(&format)]).await;
    let models = std::sync::Arc::new(models(json!({
        "default": "p/gpt-5.5",
        "providers": { "p": provider(format.kind, &fake) },
    })));
    let tasks = (0..100).map(|_| {
        let models = std::sync::Arc::clone(&models);
        tokio::spawn(async move { ask(&models, &user("hi")).await.0.unwrap().text() })
    });
    for task in tasks.collect::<Vec<_>>() {
        assert_eq!(task.await.unwrap(), "Hello");
    }
    assert_eq!(fake.received().len(), 100);
}

#[tokio::test(start_paused = true)]
async fn stopping_ends_a_wait_too() {
    let format = chat();
    let fake = Fake::replying(
        format.check,
        vec![FakeReply::error(429, "retry-after: 25\r\n", "slow")],
    )
    .await;
    let models = models(
        json!({ "default": "p/gpt-4o", "providers": { "p": provider(format.kind, &fake) } }),
    );
    let cancel = CancellationToken::new();
    let request = user("hi");
    let mut ignore = |_| {};
    let started = Instant::now();
    let stop = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let (reply, ()) = tokio::join!(models.reply(&request, &mut ignore, &cancel), stop);
    assert_eq!(reply.unwrap_err().kind, ErrorKind::Cancelled);
    assert!(started.elapsed() < Duration::from_secs(2));
}
