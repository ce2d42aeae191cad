//! Deadline and cancellation: a call ends when its time is up or its asker has gone.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{Answers, ErrorCode, ToolError};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::layer::{Call, CallResult, Layer, Next};

/// How long a tool that was told to stop may take to say how far it came.
const GRACE: Duration = Duration::from_millis(500);
/// How often it is looked whether somebody who is asked something still thinks about it.
const MIN_SLEEP: Duration = Duration::from_millis(100);

/// Ends calls on time.
pub struct Deadline {
    /// Fires when the gateway stops.
    pub(crate) stopping: CancellationToken,
}

#[async_trait]
impl Layer for Deadline {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let spec = call.spec()?;
        let own = call.tool()?.deadline_of(&call.request.arguments);
        let limit = call.request.deadline.map_or(own, |asked| asked.min(own));
        let harmless = !call.effects.changes();
        let name = spec.name.clone();
        let cancel = call.cancel.clone();
        let answers = call.request.answers.clone();
        let mut work = pin!(next.run(call));
        let (code, message) = tokio::select! {
            // A result that is there wins over a deadline that passes at the same moment.
            biased;
            result = &mut work => return result,
            () = self.stopping.cancelled() =>
                (ErrorCode::Unavailable, format!("the gateway stopped while {name} was running")),
            () = cancel.cancelled() =>
                (ErrorCode::Cancelled, format!("{name} was cancelled")),
            () = time_is_up(limit, answers) =>
                (ErrorCode::DeadlineExceeded, format!("{name} took longer than {limit:?} and was stopped")),
        };
        cancel.cancel();
        // The tool was told to stop and gets a moment to report how far it came: an outcome says more
        // than "stopped". Bounded, because a tool may ignore the token.
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

/// Completes when a call has taken `limit`, not counting the time its client takes to answer requests, which is bounded
/// where they are made.
async fn time_is_up(limit: Duration, answers: Option<Arc<dyn Answers>>) {
    let started = Instant::now();
    let spent = || answers.as_ref().map_or(Duration::ZERO, |a| a.time_spent());
    let before = spent();
    let mut left = limit;
    while !left.is_zero() {
        sleep(left).await;
        let worked = started.elapsed().saturating_sub(spent() - before);
        left = limit.saturating_sub(worked);
        if !left.is_zero() {
            // At least a little: the time spent on answers grows while this sleeps, and ever shorter sleeps would
            // spin.
            left = left.max(MIN_SLEEP);
        }
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
    async fn a_caller_can_shorten_the_deadline_but_not_lengthen_it() {
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

    /// Somebody who thinks from one moment to another.
    #[derive(Debug)]
    struct Thinker(Instant, Instant);

    #[async_trait]
    impl Answers for Thinker {
        fn capabilities(&self) -> serde_json::Value {
            json!({})
        }

        async fn answer(
            &self,
            _: &str,
            _: serde_json::Value,
        ) -> Result<serde_json::Value, ToolError> {
            Ok(json!({}))
        }

        fn time_spent(&self) -> Duration {
            Instant::now().min(self.1).saturating_duration_since(self.0)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_does_not_run_while_the_client_answers() {
        let (limit, second) = (Duration::from_secs(2), Duration::from_secs(1));
        let now = Instant::now();
        time_is_up(limit, None).await;
        assert_eq!(now.elapsed(), limit, "the control");
        for (from, to) in [(1, 31), (0, 10), (1, 2), (5, 9)] {
            let now = Instant::now();
            let thinker = Thinker(now + second * from, now + second * to);
            time_is_up(limit, Some(Arc::new(thinker))).await;
            let spent = if from < 2 { to - from } else { 0 };
            let took = now.elapsed();
            let expect = limit + second * spent;
            assert!(
                took >= expect && took < expect + MIN_SLEEP * 2,
                "{from} to {to}: {took:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_disconnecting_caller_cancels_the_call() {
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
