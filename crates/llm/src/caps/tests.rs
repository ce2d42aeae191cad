use std::sync::Arc;
use std::time::Duration;

use manyhands_core::{ManualClock, Timestamp};

use super::*;
use crate::request::BillingContext;
use crate::usage::Usage;

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Timestamp(1_700_000_000_000)))
}

fn estimate(tokens: u64, cost: Cost) -> Estimate {
    Estimate {
        model: "a/b".parse().unwrap(),
        account: BillingContext {
            turn: Some("t".into()),
            session: Some("s".into()),
            agent: Some("main".into()),
        },
        input_tokens: tokens,
        output_tokens: 0,
        cost,
    }
}

fn spent(tokens: u64, micros: u64) -> Spent {
    Spent {
        usage: Usage {
            input: tokens,
            ..Usage::default()
        },
        cost: Cost::MicroDollars(micros),
    }
}

fn tokens(cap: u64) -> Cap {
    Cap {
        tokens: Some(cap),
        micro_dollars: None,
    }
}

fn money(cap: u64) -> Cap {
    Cap {
        tokens: None,
        micro_dollars: Some(cap),
    }
}

#[tokio::test]
async fn each_scope_has_its_own_limit() {
    let free = Cost::MicroDollars(0);
    for (scope, caps) in [
        (
            Scope::Call,
            Caps {
                call: tokens(10),
                ..Caps::default()
            },
        ),
        (
            Scope::Turn,
            Caps {
                turn: tokens(10),
                ..Caps::default()
            },
        ),
        (
            Scope::Session,
            Caps {
                session: tokens(10),
                ..Caps::default()
            },
        ),
        (
            Scope::Agent,
            Caps {
                agent: tokens(10),
                ..Caps::default()
            },
        ),
        (
            Scope::Day,
            Caps {
                day: tokens(10),
                ..Caps::default()
            },
        ),
    ] {
        let budget = MemoryBudget::new(caps, clock());
        let reserved = budget.reserve(&estimate(10, free)).await.unwrap();
        reserved.settle(spent(4, 0)).await;
        let requested = if scope == Scope::Call { 11 } else { 7 };
        let refused = budget
            .reserve(&estimate(requested, free))
            .await
            .err()
            .unwrap();
        let OverBudget::Tokens {
            scope: exceeded, ..
        } = refused.clone()
        else {
            panic!("{refused}");
        };
        assert_eq!(exceeded, scope);
        assert!(
            refused
                .to_string()
                .contains(&format!("models.limits.per_{scope}.tokens"))
        );
        assert!(budget.reserve(&estimate(6, free)).await.is_ok(), "{scope}");
    }
}

#[tokio::test]
async fn reservations_count_and_are_released() {
    let caps = Caps {
        day: money(100),
        ..Caps::default()
    };
    let budget = MemoryBudget::new(caps, clock());
    let requested = estimate(1, Cost::MicroDollars(60));
    let first = budget.reserve(&requested).await.unwrap();
    let refused = budget.reserve(&requested).await.err().unwrap();
    assert_eq!(
        refused,
        OverBudget::Money {
            scope: Scope::Day,
            cap: 100,
            left: 40,
            requested: 60
        }
    );
    drop(first);
    assert_eq!(
        budget.spent(Scope::Day, ""),
        (0, 0),
        "released: nothing was spent"
    );
    let second = budget.reserve(&requested).await.unwrap();
    second.settle(spent(5, 40)).await;
    assert_eq!(budget.spent(Scope::Day, ""), (40, 5));
    assert!(budget.reserve(&requested).await.is_ok());
}

#[tokio::test]
async fn daily_limits_reset_and_session_limits_do_not() {
    let caps = Caps {
        day: money(100),
        session: money(150),
        ..Caps::default()
    };
    let clock = clock();
    let budget = MemoryBudget::new(caps, Arc::clone(&clock) as Arc<dyn Clock>);
    let requested = estimate(1, Cost::MicroDollars(100));
    budget
        .reserve(&requested)
        .await
        .unwrap()
        .settle(spent(1, 100))
        .await;
    assert!(budget.reserve(&requested).await.is_err());
    clock.advance(Duration::from_secs(24 * 60 * 60));
    let refused = budget.reserve(&requested).await.err().unwrap();
    assert!(matches!(
        refused,
        OverBudget::Money {
            scope: Scope::Session,
            ..
        }
    ));
    budget.forget(Scope::Session, "s");
    assert!(budget.reserve(&requested).await.is_ok());
}

#[tokio::test]
async fn a_limit_in_dollars_needs_a_price() {
    let caps = Caps {
        turn: money(100),
        ..Caps::default()
    };
    let budget = MemoryBudget::new(caps, clock());
    let refused = budget
        .reserve(&estimate(1, Cost::Unknown))
        .await
        .err()
        .unwrap();
    assert!(refused.to_string().contains("models.prices"), "{refused}");
    let unlimited = MemoryBudget::new(Caps::default(), clock());
    assert!(unlimited.reserve(&estimate(1, Cost::Unknown)).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_never_spend_more_than_the_cap() {
    let caps = Caps {
        day: money(1_000),
        ..Caps::default()
    };
    let budget = MemoryBudget::new(caps, clock());
    let tasks = (0..200).map(|n: u64| {
        let budget = budget.clone();
        tokio::spawn(async move {
            let reserved = budget.reserve(&estimate(1, Cost::MicroDollars(30))).await;
            let Ok(reserved) = reserved else { return false };
            tokio::task::yield_now().await;
            if n.is_multiple_of(3) {
                drop(reserved);
                return false;
            }
            reserved.settle(spent(1, 30)).await;
            true
        })
    });
    let mut settled = 0;
    for task in tasks.collect::<Vec<_>>() {
        settled += u64::from(task.await.unwrap());
    }
    let (micros, _) = budget.spent(Scope::Day, "");
    assert_eq!(micros, settled * 30);
    assert!(micros <= 1_000 && settled > 0, "{micros}");
    let books = lock(&budget.books);
    assert!(
        books
            .0
            .values()
            .all(|entry| entry.reserved == Sum::default())
    );
}

#[tokio::test]
async fn the_books_do_not_grow_for_ever() {
    let clock = clock();
    let budget = MemoryBudget::new(Caps::default(), Arc::clone(&clock) as Arc<dyn Clock>);
    for turn in 0..MANY {
        let mut requested = estimate(1, Cost::MicroDollars(1));
        requested.account.turn = Some(turn.to_string());
        budget
            .reserve(&requested)
            .await
            .unwrap()
            .settle(spent(1, 1))
            .await;
    }
    clock.advance(DAY * 2);
    budget
        .reserve(&estimate(1, Cost::MicroDollars(1)))
        .await
        .unwrap()
        .settle(spent(1, 1))
        .await;
    assert!(lock(&budget.books).0.len() < 10);
}

#[test]
fn the_owners_limits_become_caps() {
    let limits: ModelLimits = serde_json::from_value(serde_json::json!({
        "per_day": { "dollars": 2.5 },
        "per_turn": { "tokens": 1000 },
    }))
    .unwrap();
    let caps = Caps::from(&limits);
    assert_eq!(caps.day, money(2_500_000));
    assert_eq!(caps.turn, tokens(1_000));
    assert_eq!(caps.session, Cap::default());
}

#[tokio::test]
async fn what_was_spent_before_still_counts_and_limits_can_change() {
    let clock = clock();
    let open = MemoryBudget::new(Caps::default(), clock.clone());
    open.remember(Scope::Day, "", 0, 90);
    let capped = open.under(Caps {
        day: tokens(100),
        ..Caps::default()
    });
    let free = Cost::MicroDollars(0);
    assert!(capped.reserve(&estimate(20, free)).await.is_err());
    assert!(capped.reserve(&estimate(10, free)).await.is_ok());
    assert!(open.reserve(&estimate(20, free)).await.is_ok());
    clock.advance(Duration::from_secs(86_400));
    assert!(
        capped.reserve(&estimate(20, free)).await.is_ok(),
        "a new day"
    );
}
