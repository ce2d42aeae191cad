//! Redact: no known secret leaves in a result, an error, progress or output.

use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_core::{ContentBlock, Outcome, Progress, Step, ToolError};
use manyhands_guard::{Live, Redactor};

use crate::layer::{Call, CallResult, Layer, Next};

/// Replaces known secrets in whatever comes back.
pub struct Redact {
    pub(crate) redactor: Arc<ArcSwap<Redactor>>,
}

#[async_trait]
impl Layer for Redact {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let result = watched(self.redactor.load_full(), call, next).await;
        let redactor = self.redactor.load();
        match result {
            Ok(outcome) => Ok(redact_outcome(&redactor, outcome)),
            Err(error) => Err(redact_error(&redactor, error)),
        }
    }
}

/// Runs the rest of the path, redacting progress and output on their way to the listener.
async fn watched(redactor: Arc<Redactor>, call: &mut Call, next: Next<'_>) -> CallResult {
    // Taken out of the request, so that the tool can only reach the listener through the redactor.
    let listener = std::mem::take(&mut call.request.progress);
    if listener.has_step_listener() {
        let (listener, redactor) = (listener.clone(), redactor.clone());
        call.request.progress = Progress::to(move |mut step: Step| {
            if let Some(message) = &mut step.message {
                redact_text(&redactor, message);
            }
            listener.report(step);
        });
    }
    if !listener.has_output_listener() {
        return next.run(call).await; // without a listener no output is buffered
    }
    let live = Arc::new(Live::new(&redactor));
    let output = live.clone();
    let progress = std::mem::take(&mut call.request.progress);
    call.request.progress = progress.with_output(move |text| output.take(text));
    let result = tokio::select! {
        // The result first: once it is there, the rest of the output is forwarded below, in one piece.
        biased;
        result = next.run(call) => result,
        never = live.forward(|piece| listener.print(&piece)) => match never {},
    };
    if let Some(last) = live.finish() {
        listener.print(&last);
    }
    result
}

fn redact_outcome(redactor: &Redactor, mut outcome: Outcome) -> Outcome {
    redactor.value(&mut outcome.value);
    if let Some(raw) = &mut outcome.raw {
        redactor.value(raw);
    }
    for (_, text) in &mut outcome.full_texts {
        redact_text(redactor, text);
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
    use std::sync::{Arc, Mutex};

    use crate::testing::{Fixture, SECRET};
    use manyhands_core::{CallRequest, Invoke, Progress};
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
    async fn live_output_is_redacted() {
        let fixture = Fixture::new().await;
        let (first, second) = SECRET.split_at(5);
        let pieces = json!({ "pieces": ["is ", first, second, "\n"], "step": SECRET });
        let shown = Arc::new(Mutex::new((String::new(), Vec::new())));
        let (printed, stepped) = (shown.clone(), shown.clone());
        let watching = Progress::to(move |step| stepped.lock().unwrap().1.push(step.message))
            .with_output(move |text| printed.lock().unwrap().0.push_str(text));
        let mut request = CallRequest::new("test::print", pieces.clone(), fixture.owner.clone());
        request.progress = watching;
        fixture.path.invoke(request.clone()).await.unwrap();
        let (printed, steps) = shown.lock().unwrap().clone();
        assert_eq!(printed, "is [redacted]\n");
        assert_eq!(steps, [Some("[redacted]".to_owned())]);

        let lines = Arc::new(Mutex::new(String::new()));
        let output = lines.clone();
        request.progress =
            Progress::default().with_output(move |text| output.lock().unwrap().push_str(text));
        fixture.path.invoke(request).await.unwrap();
        let lines = lines.lock().unwrap().clone();
        assert_eq!(
            lines, "is [redacted]\n[redacted]\n",
            "a step is a line of it"
        );
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
