//! Cap: a result too large to show is cut visibly, and kept whole as an artifact.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::Limits;
use manyhands_core::{Clock, ContentBlock, Cut, Outcome, content_of};
use manyhands_store::{Artifacts, Bucket, NewArtifact, Room, charged_to};
use serde_json::{Value, json};

use crate::layer::{Call, CallResult, Layer, Next};
use crate::storage::{WriteRates, artifact_room as room};

/// The largest value that shows a picture: 10 MiB in base64, and what is said of it.
const MAX_PICTURE: u64 = 14 * 1024 * 1024;

/// Bounds what comes back.
pub struct Cap {
    pub(crate) limits: Arc<ArcSwap<Limits>>,
    pub(crate) artifacts: Artifacts,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rates: Arc<WriteRates>,
}

#[async_trait]
impl Layer for Cap {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let outcome = next.run(call).await?;
        let limits = self.limits.load_full();
        let room = match call.whole {
            true => limits.artifact_bytes.max(limits.result_bytes),
            false => room_for(&outcome.value, &limits),
        };
        if fits(&outcome.value, room) {
            return Ok(outcome);
        }
        self.spill(call, outcome, &limits).await
    }
}

impl Cap {
    async fn spill(&self, call: &Call, mut outcome: Outcome, limits: &Limits) -> CallResult {
        let whole = outcome.value.to_string();
        let full_size = whole.len() as u64;
        let artifact = if full_size <= limits.artifact_bytes {
            let new = NewArtifact {
                name: format!("{}.json", call.spec()?.name.wire()),
                mime: "application/json".to_owned(),
                agent: call.agent.clone(),
                call: call.id,
                caller: call.caller.key(),
                bucket: Bucket::Results,
                room: Room {
                    one: limits.artifact_bytes,
                    ..room(limits, call.caller.is_owner())
                },
                expires: Some(self.clock.now().plus(Duration::from_secs(
                    u64::from(limits.artifact_days) * 86_400,
                ))),
            };
            // Reading must not fill the disk either: a result kept whole is a write of the caller.
            let kept = match self.rates.payer(call) {
                Ok(payer) => charged_to(payer, self.artifacts.put(new, whole.into())).await,
                Err(low) => Err(low),
            };
            match kept {
                Ok(record) => Some(record.id),
                Err(error) => {
                    tracing::warn!(call = %call.id, %error, "a large result could not be kept whole");
                    None
                }
            }
        } else {
            None
        };
        let room = usize::try_from(limits.result_bytes).unwrap_or(usize::MAX);
        outcome.value = cut(outcome.value, room);
        outcome.raw = None;
        mark(
            &mut outcome.value,
            full_size,
            artifact.map(|id| id.to_string()),
        );
        if let Some(id) = artifact {
            outcome.blocks.push(ContentBlock::ResourceLink {
                uri: format!("artifact:{id}"),
                name: format!("the whole result, {full_size} bytes"),
                mime_type: Some("application/json".to_owned()),
                size: Some(full_size),
            });
        }
        outcome.cut = Some(Cut {
            full_size,
            artifact,
        });
        Ok(outcome)
    }
}

/// How many bytes the value may have: a picture is of no use in part.
fn room_for(value: &Value, limits: &Limits) -> u64 {
    let picture = |block: &ContentBlock| matches!(block, ContentBlock::Image { .. });
    match content_of(value) {
        Some(blocks) if blocks.iter().any(picture) => limits.result_bytes.max(MAX_PICTURE),
        _ => limits.result_bytes,
    }
}

/// Whether the value serialises into `limit` bytes, without building the text.
fn fits(value: &Value, limit: u64) -> bool {
    struct Counter(u64);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(bytes.len() as u64)
                .ok_or(std::io::ErrorKind::FileTooLarge)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Counter(limit), value).is_ok()
}

/// Keeps the shape and shortens what is long: texts on a character boundary, lists by their tail.
fn cut(value: Value, room: usize) -> Value {
    let mut value = value;
    let mut share = room / 2;
    loop {
        shorten(&mut value, share);
        if fits(&value, room as u64) || share < 16 {
            break;
        }
        share /= 2;
    }
    if fits(&value, room as u64) {
        value
    } else {
        json!({})
    }
}

fn shorten(value: &mut Value, share: usize) {
    match value {
        Value::String(text) => text.truncate(text.floor_char_boundary(share)),
        Value::Array(items) => {
            items.truncate(share / 8);
            items.iter_mut().for_each(|item| shorten(item, share));
        }
        Value::Object(map) => map.values_mut().for_each(|item| shorten(item, share)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Says in the result itself that it is a part, and where the whole is.
fn mark(value: &mut Value, full_size: u64, artifact: Option<String>) {
    if !value.is_object() {
        *value = json!({ "preview": value.take() });
    }
    value["truncated"] = json!(true);
    value["fullSize"] = json!(full_size);
    if let Some(id) = artifact {
        value["artifactId"] = json!(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    #[tokio::test]
    async fn a_large_result_is_cut_visibly_and_kept_whole() {
        let fixture = Fixture::new().await;
        let text = "äöü".repeat(300_000);
        let outcome = fixture
            .call("test::echo", json!({ "text": text }))
            .await
            .unwrap();
        let whole = json!({ "text": text }).to_string();
        assert_eq!(outcome.value["truncated"], true);
        assert_eq!(outcome.value["fullSize"], whole.len());
        let shown = outcome.value["text"].as_str().unwrap();
        assert!(text.starts_with(shown) && !shown.is_empty());
        let id = outcome.cut.unwrap().artifact.unwrap();
        assert_eq!(outcome.value["artifactId"], id.to_string());
        assert_eq!(fixture.artifact(id).await, whole.as_bytes());
    }

    #[tokio::test]
    async fn a_result_within_the_limit_is_left_alone() {
        let fixture = Fixture::new().await;
        let text = "x".repeat(200_000);
        let outcome = fixture
            .call("test::echo", json!({ "text": text }))
            .await
            .unwrap();
        assert_eq!(outcome.value, json!({ "text": text }));
        assert_eq!(outcome.cut, None);
    }

    #[test]
    fn cutting_keeps_the_shape_within_the_room() {
        for value in [
            json!({ "a": "x".repeat(5_000), "b": ["y".repeat(900), "z"], "n": 5 }),
            json!((0..10_000).collect::<Vec<_>>()),
            json!("é".repeat(5_000)),
        ] {
            let short = cut(value.clone(), 1_000);
            assert!(short.to_string().len() <= 1_000);
            assert_eq!(short.is_object(), value.is_object());
            assert_eq!(short.is_array(), value.is_array());
        }
    }
}
