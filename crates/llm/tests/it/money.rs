//! Money is asked for before anything is sent, and the books are right afterwards.

use std::sync::Arc;

use manyhands_llm::{
    BillingContext, Budget, Cap, Caps, Cost, ErrorKind, MemoryBudget, ModelRequest, Models, Scope,
};
use serde_json::json;

use crate::fake::{Fake, FakeReply};
use crate::support::{ask, chat, models_with, outside, provider, user};

const PRICE: &str = r#"{ "input": 1.0, "output": 10.0 }"#;

fn requested() -> ModelRequest {
    ModelRequest {
        max_output_tokens: Some(100),
        account: BillingContext {
            turn: Some("t1".into()),
            session: Some("s1".into()),
            agent: Some("main".into()),
        },
        ..user("hi")
    }
}

async fn set_up(caps: Caps, says: Vec<FakeReply>, priced: bool) -> (Models, MemoryBudget, Fake) {
    let format = chat();
    let fake = Fake::replying(format.check, says).await;
    let budget = MemoryBudget::new(caps, outside(Arc::new(manyhands_llm::NoBudget)).clock);
    let mut settings = json!({ "default": "p/gpt-4o", "providers": { "p": provider(format.kind, &fake) }, "retry": { "retries": 0 } });
    if priced {
        settings["prices"]["p/gpt-4o"] = serde_json::from_str(PRICE).unwrap();
    }
    let shared: Arc<dyn Budget> = Arc::new(budget.clone());
    (models_with(settings, shared), budget, fake)
}

fn day(micro_dollars: u64) -> Caps {
    Caps {
        day: Cap {
            micro_dollars: Some(micro_dollars),
            tokens: None,
        },
        ..Caps::default()
    }
}

fn hello() -> FakeReply {
    FakeReply::Stream(chat().short.into())
}

#[tokio::test]
async fn a_call_that_could_cost_too_much_is_never_made() {
    // A hundred tokens of reply alone could cost a thousand.
    let (models, budget, fake) = set_up(day(1_000), vec![hello()], true).await;
    let error = ask(&models, &requested()).await.0.unwrap_err();
    assert_eq!(error.kind, ErrorKind::OverBudget);
    assert!(
        error.to_string().contains("models.limits.per_day.dollars"),
        "{error}"
    );
    assert_eq!(fake.received().len(), 0);
    assert_eq!(budget.spent(Scope::Day, ""), (0, 0));
    let (models, budget, fake) = set_up(day(1_100), vec![hello()], true).await;
    let reply = ask(&models, &requested()).await.0.unwrap();
    assert_eq!(fake.received().len(), 1);
    // Nine read, three written.
    assert_eq!(reply.cost, Cost::MicroDollars(39));
    for (scope, key) in [
        (Scope::Day, ""),
        (Scope::Turn, "t1"),
        (Scope::Session, "s1"),
        (Scope::Agent, "main"),
    ] {
        assert_eq!(budget.spent(scope, key), (39, 12), "{scope}");
    }
}

#[tokio::test]
async fn a_request_that_failed_before_the_reply_costs_nothing() {
    let (models, budget, fake) = set_up(
        day(1_100),
        vec![FakeReply::error(500, "", "oops"), hello()],
        true,
    )
    .await;
    assert!(ask(&models, &requested()).await.0.is_err());
    assert_eq!(budget.spent(Scope::Day, ""), (0, 0));
    assert!(
        ask(&models, &requested()).await.0.is_ok(),
        "what was set aside went back"
    );
    assert_eq!(fake.received().len(), 2);
}

#[tokio::test]
async fn a_cut_reply_is_charged() {
    let text = chat().short;
    let half = text.as_bytes()[..text.find("\n\n").unwrap() + 2].to_vec();
    let (models, budget, _) = set_up(Caps::default(), vec![FakeReply::Break(half)], true).await;
    let error = ask(&models, &requested()).await.0.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cut);
    let spent = error.attempts[0].spent.unwrap();
    assert!(
        spent.usage.input > 0 && spent.usage.output == 1,
        "{spent:?}"
    );
    let (micros, tokens) = budget.spent(Scope::Turn, "t1");
    assert_eq!(
        (Cost::MicroDollars(micros), tokens),
        (spent.cost, spent.usage.total())
    );
}

#[tokio::test]
async fn a_server_on_this_machine_is_free_unless_priced() {
    let (models, _, _) = set_up(day(0), vec![hello()], false).await;
    assert_eq!(
        ask(&models, &requested()).await.0.unwrap().cost,
        Cost::MicroDollars(0)
    );
    let (models, _, fake) = set_up(day(0), vec![hello()], true).await;
    assert_eq!(
        ask(&models, &requested()).await.0.unwrap_err().kind,
        ErrorKind::OverBudget
    );
    assert_eq!(fake.received().len(), 0);
    let settings = json!({ "providers": { "far": { "kind": "openai", "base_url": "https://far.example/v1" } } });
    let models = models_with(settings, Arc::new(manyhands_llm::NoBudget));
    assert_eq!(models.price(&"far/nobody-knows".parse().unwrap()), None);
    assert_eq!(
        models.price(&"far/gpt-5".parse().unwrap()).unwrap().input,
        1.25
    );
}

#[tokio::test]
async fn many_calls_at_once_stay_within_the_limit() {
    // Each sets aside about 1,008 and comes to 39.
    let (models, budget, fake) = set_up(day(3_100), vec![hello()], true).await;
    let request = requested();
    let replies = futures_util::future::join_all((0..20).map(|_| ask(&models, &request))).await;
    let succeeded = replies.iter().filter(|(reply, _)| reply.is_ok()).count();
    let refused = replies.iter().filter_map(|(reply, _)| reply.as_ref().err());
    assert!(
        refused
            .clone()
            .all(|error| error.kind == ErrorKind::OverBudget)
    );
    assert_eq!(
        (succeeded + refused.count(), fake.received().len()),
        (20, succeeded)
    );
    assert!(succeeded >= 3, "{succeeded}");
    assert_eq!(budget.spent(Scope::Day, "").0, succeeded as u64 * 39);
}
