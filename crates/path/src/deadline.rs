//! Deadline and cancellation: a call ends when its time is up or its asker has gone.

use std::pin::pin;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{ErrorCode, ToolError};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::layer::{Call, CallResult, Layer, Next};

/// How long a tool that was told to stop may take to say how far it came.
const GRACE: Duration = Duration::from_millis(500);

/// Ends calls on time.
pub struct Deadline {
    /// Fires when the gateway stops.
    pub(crate) stopping: CancellationToken,
}

#[async_trait]
impl Layer for Deadline {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let spec = call.spec()?;
        let own = call.tool()?.deadline_of(&call.arguments);
        let limit = call.deadline.map_or(own, |asked| asked.min(own));
        let harmless = spec.effects.only_reads();
        let name = spec.name.clone();
        let cancel = call.cancel.clone();
        let mut work = pin!(next.run(call));
        let (code, message) = tokio::select! {
            biased;
            result = &mut work => return result,
            () = self.stopping.cancelled() =>
                (ErrorCode::Unavailable, format!("the gateway stopped while {name} was running")),
            () = cancel.cancelled() =>
                (ErrorCode::Cancelled, format!("{name} was cancelled")),
            () = sleep(limit) =>
                (ErrorCode::DeadlineExceeded, format!("{name} took longer than {limit:?} and was stopped")),
        };
        cancel.cancel();
        // A tool that finishes after all says more than "stopped" does.
        if let Ok(Ok(outcome)) = timeout(GRACE, work).await {
            return Ok(outcome);
        }
        let error = ToolError::new(code, message);
        Err(if harmless {
            error
        } else {
            error.hint("what it had begun may have taken effect: check before calling again")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;
    use manyhands_core::{CallRequest, Invoke};
    use serde_json::json;

    #[tokio::test]
    async fn a_call_ends_at_its_deadline() {
        let fixture = Fixture::new().await;
        let error = fixture.call("test::brief", json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::DeadlineExceeded);
        assert_eq!(
            error.message,
            "test::brief took longer than 20ms and was stopped"
        );
        assert!(
            error
                .hint
                .is_some_and(|hint| hint.contains("may have taken effect"))
        );
    }

    #[tokio::test]
    async fn an_asker_can_shorten_the_deadline_but_not_lengthen_it() {
        let fixture = Fixture::new().await;
        for (asked, expect) in [(5, "5ms"), (60_000, "20ms")] {
            let mut request = CallRequest::new("test::brief", json!({}), fixture.owner.clone());
            request.deadline = Some(Duration::from_millis(asked));
            let error = fixture.path.invoke(request).await.unwrap_err();
            assert!(
                error.message.contains(&format!("than {expect} ")),
                "{error}"
            );
        }
    }

    #[tokio::test]
    async fn an_asker_that_goes_away_cancels_the_call() {
        let fixture = Fixture::new().await;
        let request = CallRequest::new("test::hang", json!({}), fixture.owner.clone());
        {
            let mut asked = pin!(fixture.path.invoke(request));
            tokio::select! {
                _ = &mut asked => panic!("it hangs"),
                () = fixture.hanging.notified() => {}
            }
        }
        fixture.stopped.notified().await;
        let entry = fixture.last_audit("test::hang").await;
        assert_eq!(entry.code, "cancelled");
    }
}
