//! Redact: no known secret leaves in a result or an error.

use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_core::{ContentBlock, Outcome, ToolError};
use manyhands_guard::Redactor;

use crate::layer::{Call, CallResult, Layer, Next};

/// Replaces known secrets in whatever comes back.
pub struct Redact {
    pub(crate) redactor: Arc<ArcSwap<Redactor>>,
}

#[async_trait]
impl Layer for Redact {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let result = next.run(call).await;
        let redactor = self.redactor.load();
        match result {
            Ok(outcome) => Ok(redact_outcome(&redactor, outcome)),
            Err(error) => Err(redact_error(&redactor, error)),
        }
    }
}

fn redact_outcome(redactor: &Redactor, mut outcome: Outcome) -> Outcome {
    redactor.value(&mut outcome.value);
    if let Some(raw) = &mut outcome.raw {
        redactor.value(raw);
    }
    for block in &mut outcome.blocks {
        match block {
            ContentBlock::Text { text } => redact_text(redactor, text),
            ContentBlock::ResourceLink { uri, name, .. } => {
                redact_text(redactor, uri);
                redact_text(redactor, name);
            }
            ContentBlock::Image { .. } => {}
        }
    }
    outcome
}

fn redact_error(redactor: &Redactor, mut error: ToolError) -> ToolError {
    redact_text(redactor, &mut error.message);
    if let Some(hint) = &mut error.hint {
        redact_text(redactor, hint);
    }
    for problem in &mut error.problems {
        redact_text(redactor, &mut problem.message);
        redact_text(redactor, &mut problem.parameter);
    }
    if let Some(details) = &mut error.details {
        redactor.value(details);
    }
    error
}

fn redact_text(redactor: &Redactor, text: &mut String) {
    if let std::borrow::Cow::Owned(clean) = redactor.text(text) {
        *text = clean;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Fixture, SECRET};
    use serde_json::json;

    #[tokio::test]
    async fn a_known_secret_leaves_in_no_result_and_no_error() {
        let fixture = Fixture::new().await;
        let text = format!("the key is {SECRET}!");
        let outcome = fixture
            .call("test::echo", json!({ "text": text }))
            .await
            .unwrap();
        assert_eq!(outcome.value, json!({ "text": "the key is [redacted]!" }));
        let error = fixture
            .call("test::fail", json!({ "text": text }))
            .await
            .unwrap_err();
        assert!(error.text().contains("[redacted]") && !error.text().contains(SECRET));
        let same = fixture
            .call("test::echo", json!({ "text": "no secret" }))
            .await
            .unwrap();
        assert_eq!(same.value, json!({ "text": "no secret" }));
    }

    #[tokio::test]
    async fn the_audit_holds_no_secret_either() {
        let fixture = Fixture::new().await;
        fixture
            .call("test::echo", json!({ "text": SECRET }))
            .await
            .unwrap();
        let entry = fixture.last_audit("test::echo").await;
        assert!(entry.summary.contains("[redacted]"), "{}", entry.summary);
    }
}
