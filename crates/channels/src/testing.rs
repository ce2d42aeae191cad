//! What tests of platforms have in common.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use manyhands_core::{Ids, ManualClock, SeededEntropy, Timestamp};
use manyhands_guard::{Egress, EgressPolicy, HeaderMap, HeaderName, HeaderValue, SystemLookup};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::channel::{ChannelError, ConnectionStatus, EventSink, WebhookRequest};
use crate::message::Inbound;

/// A way out that reaches this machine.
pub(crate) fn egress() -> Arc<Egress> {
    let policy = EgressPolicy {
        allow_private: vec!["127.0.0.0/8".parse().unwrap()],
        ..EgressPolicy::default()
    };
    Arc::new(Egress::new(policy, Arc::new(SystemLookup)))
}

pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Timestamp(1_749_416_400_000)))
}

pub(crate) fn ids(clock: &Arc<ManualClock>) -> Ids {
    Ids::new(clock.clone(), Arc::new(SeededEntropy::new(7)))
}

/// Headers of a webhook.
pub(crate) fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
    let all = all.iter().map(|(name, value)| {
        let value = HeaderValue::from_str(value).unwrap();
        (HeaderName::from_static(name), value)
    });
    all.collect()
}

/// A webhook by POST.
pub(crate) fn posted<'a>(headers: &'a HeaderMap, body: &'a str) -> WebhookRequest<'a> {
    WebhookRequest {
        method: "POST",
        query: "",
        headers,
        body: body.as_bytes(),
        now: 0,
    }
}

/// An ear that only learns how a channel stands.
#[derive(Default)]
pub(crate) struct Watcher {
    seen: Mutex<Vec<ConnectionStatus>>,
    news: Notify,
}

impl Watcher {
    /// Waits until the channel stood so.
    pub(crate) async fn until(
        &self,
        fits: impl Fn(&ConnectionStatus) -> bool,
    ) -> Vec<ConnectionStatus> {
        loop {
            let news = self.news.notified();
            let seen = self.seen.lock().unwrap().clone();
            if seen.iter().any(&fits) {
                return seen;
            }
            news.await;
        }
    }
}

#[async_trait]
impl EventSink for Watcher {
    async fn receive(&self, _: Vec<Inbound>) -> Result<(), ChannelError> {
        Ok(())
    }

    async fn load_value(&self, _: &str) -> Result<Option<String>, ChannelError> {
        Ok(None)
    }

    async fn store_value(&self, _: &str, _: &str) -> Result<(), ChannelError> {
        Ok(())
    }

    fn set_status(&self, status: ConnectionStatus) {
        self.seen.lock().unwrap().push(status);
        self.news.notify_waiters();
    }
}

/// Any small JSON.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,8}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{"type": 1}, [], "x"])),
    ]
}

/// Puts something else in one place of a JSON; which, is counted from `at`.
pub(crate) fn mangle(whole: &mut Value, at: usize, with: Value) {
    let mut places = Vec::new();
    pointers(whole, String::new(), &mut places);
    if let Some(place) = whole.pointer_mut(&places[at % places.len()]) {
        *place = with;
    }
}

fn pointers(value: &Value, here: String, all: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, format!("{here}/{index}"), all);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                pointers(item, format!("{here}/{name}"), all);
            }
        }
        _ => {}
    }
    all.push(here);
}
