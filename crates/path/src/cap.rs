//! Cap: a result too large to show is shortened visibly, and stored whole as an artifact.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::Limits;
use manyhands_core::{
    ArtifactId, Clock, ContentBlock, Cut, CutPart, Outcome, ToolError, content_of,
};
use manyhands_store::{ArtifactQuota, Artifacts, Bucket, NewArtifact, charged_to};
use serde_json::{Map, Value, json};

use crate::cut::{Shortened, fits, shorten, text_at};
use crate::layer::{Call, CallResult, Layer, Next};
use crate::storage::{WriteRates, artifact_room as room};

/// The largest value that shows a picture: 10 MiB in base64, and what is said of it.
const MAX_PICTURE: u64 = 14 * 1024 * 1024;
/// Texts that are stored one by one, so that their lines can be read and searched; more are stored as one JSON file.
const MAX_TEXTS: usize = 4;

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
        let mut outcome = next.run(call).await?;
        let limits = self.limits.load_full();
        if !outcome.full_texts.is_empty() {
            self.store_whole(call, &mut outcome, &limits).await?;
        }
        let shown = limits
            .result_bytes
            .min(call.request.max_result_bytes.unwrap_or(u64::MAX));
        let room = match call.request.full_result {
            true => limits.artifact_bytes.max(limits.result_bytes),
            false => room_for(&outcome.value, shown),
        };
        if fits(&outcome.value, room) {
            return Ok(outcome);
        }
        self.spill(call, outcome, &limits, shown).await
    }
}

impl Cap {
    async fn spill(
        &self,
        call: &Call,
        mut outcome: Outcome,
        limits: &Limits,
        shown: u64,
    ) -> CallResult {
        let whole = outcome.value;
        let short = shorten(&whole, usize::try_from(shown).unwrap_or(usize::MAX));
        let known = outcome.cut.take().unwrap_or_default();
        let parts = self.keep(call, &whole, &short, known, limits).await?;
        outcome.raw = None; // the unchanged result would be the size that was just cut
        outcome.value = short.value;
        let cut = Cut { parts };
        mark(&mut outcome.value, &cut);
        let new = links(&cut).filter(|link| !outcome.blocks.contains(link));
        let new: Vec<ContentBlock> = new.collect();
        outcome.blocks.extend(new);
        outcome.cut = Some(cut);
        Ok(outcome)
    }

    /// Stores the texts that the tool itself showed in part.
    async fn store_whole(
        &self,
        call: &Call,
        outcome: &mut Outcome,
        limits: &Limits,
    ) -> Result<(), ToolError> {
        let mut cut = outcome.cut.take().unwrap_or_default();
        for (field, text) in std::mem::take(&mut outcome.full_texts) {
            let size = text.len() as u64;
            let name = format!("{}-{field}.txt", call.spec()?.name.wire());
            let mut part = CutPart::text(&field, size, None);
            part.artifact = self.store(call, limits, name, &part.mime, text).await?;
            cut.parts.push(part);
        }
        mark(&mut outcome.value, &cut);
        outcome.blocks.extend(links(&cut));
        outcome.cut = Some(cut);
        Ok(())
    }

    /// Stores what is not shown: each long text as text, or the whole as JSON. What the tool has stored itself is not
    /// stored again.
    async fn keep(
        &self,
        call: &Call,
        whole: &Value,
        short: &Shortened,
        known: Cut,
        limits: &Limits,
    ) -> Result<Vec<CutPart>, ToolError> {
        let tool = call.spec()?.name.wire();
        if short.lists || short.texts.len() > MAX_TEXTS {
            let text = serde_json::to_string_pretty(whole).unwrap_or_default();
            let mut part = CutPart {
                field: String::new(),
                size: text.len() as u64,
                artifact: None,
                mime: "application/json".to_owned(),
            };
            part.artifact = self
                .store(call, limits, format!("{tool}.json"), &part.mime, text)
                .await?;
            return Ok(vec![part]);
        }
        let mut parts = known.parts;
        for field in &short.texts {
            if parts.iter().any(|part| part.field == *field) {
                continue;
            }
            let text = text_at(whole, field).unwrap_or_default();
            let is_json = text.trim_start().starts_with(['{', '['])
                && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            let (mime, ending) = match is_json {
                true => ("application/json", "json"),
                false => ("text/plain; charset=utf-8", "txt"),
            };
            let name = match field.as_str() {
                "" => format!("{tool}.{ending}"),
                field => format!("{tool}-{field}.{ending}"),
            };
            parts.push(CutPart {
                field: field.clone(),
                size: text.len() as u64,
                artifact: self
                    .store(call, limits, name, mime, text.to_owned())
                    .await?,
                mime: mime.to_owned(),
            });
        }
        Ok(parts)
    }

    /// The artifact that holds `text`, unless it is too large or there is no room.
    async fn store(
        &self,
        call: &Call,
        limits: &Limits,
        name: String,
        mime: &str,
        text: String,
    ) -> Result<Option<ArtifactId>, ToolError> {
        if text.len() as u64 > limits.artifact_bytes {
            return Ok(None);
        }
        let new = NewArtifact {
            name,
            mime: mime.to_owned(),
            agent: call.request.agent.clone(),
            call: call.id,
            caller: call.request.caller.key(),
            bucket: Bucket::Results,
            quota: ArtifactQuota {
                one: limits.artifact_bytes,
                ..room(limits, call.request.caller.is_owner())
            },
            expires: Some(self.clock.now().plus(Duration::from_secs(
                u64::from(limits.artifact_days) * 86_400,
            ))),
        };
        // Reading must not fill the disk either: a stored result is a write of the caller.
        let stored = match self.rates.payer(call) {
            Ok(payer) => charged_to(payer, self.artifacts.put(new, text.into())).await,
            Err(low) => Err(low),
        };
        Ok(match stored {
            Ok(record) => Some(record.id),
            Err(error) => {
                tracing::warn!(event = "large_result_not_stored", call = %call.id, %error, "failed to store a large result");
                None
            }
        })
    }
}

/// Where the whole of each part is.
fn links(cut: &Cut) -> impl Iterator<Item = ContentBlock> {
    cut.parts.iter().filter_map(|part| {
        let what = match part.field.as_str() {
            "" => "result",
            field => field,
        };
        Some(ContentBlock::ResourceLink {
            uri: format!("artifact:{}", part.artifact?),
            name: format!("the whole {what}, {} bytes", part.size),
            mime_type: Some(part.mime.clone()),
            size: Some(part.size),
        })
    })
}

/// How many bytes the value may have: a picture is of no use in part.
fn room_for(value: &Value, shown: u64) -> u64 {
    let picture = |block: &ContentBlock| matches!(block, ContentBlock::Image { .. });
    match content_of(value) {
        Some(blocks) if blocks.iter().any(picture) => shown.max(MAX_PICTURE),
        _ => shown,
    }
}

/// Says in the result itself, before the rest of it, that it is a part and where the whole is.
fn mark(value: &mut Value, cut: &Cut) {
    let mut marked = Map::new();
    marked.insert("truncated".to_owned(), json!(true));
    marked.insert("fullSize".to_owned(), json!(cut.full_size()));
    if let Some(id) = cut.artifact() {
        marked.insert("artifactId".to_owned(), json!(id.to_string()));
    }
    let several: Map<String, Value> = match cut.parts.as_slice() {
        [] | [_] => Map::new(),
        parts => parts
            .iter()
            .filter_map(|part| Some((part.field.clone(), json!(part.artifact?.to_string()))))
            .collect(),
    };
    if !several.is_empty() {
        marked.insert("artifactIds".to_owned(), Value::Object(several));
    }
    match value.take() {
        Value::Object(fields) => {
            let rest = fields
                .into_iter()
                .filter(|(name, _)| !marked.contains_key(name));
            let rest: Vec<_> = rest.collect();
            marked.extend(rest);
        }
        other => {
            marked.insert("preview".to_owned(), other);
        }
    }
    *value = Value::Object(marked);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    #[tokio::test]
    async fn a_large_text_is_shortened_visibly_and_stored_as_text() {
        let fixture = Fixture::new().await;
        let text = "äöü\n".repeat(300_000);
        let arguments = json!({ "text": text });
        let outcome = fixture.call("test::echo", arguments).await.unwrap();
        let names: Vec<&String> = outcome.value.as_object().unwrap().keys().collect();
        assert_eq!(names[..3], ["truncated", "fullSize", "artifactId"]);
        assert_eq!(outcome.value["truncated"], true);
        assert_eq!(outcome.value["fullSize"], text.len());
        let shown = outcome.value["text"].as_str().unwrap();
        assert!(shown.starts_with("äöü\näöü\n") && shown.ends_with("äöü\näöü\n"));
        let cut = outcome.cut.unwrap();
        let id = cut.artifact().unwrap();
        assert_eq!(outcome.value["artifactId"], id.to_string());
        assert_eq!(fixture.artifact(id).await, text.as_bytes());
        assert!(cut.note().contains(&id.to_string()), "{}", cut.note());
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
}
