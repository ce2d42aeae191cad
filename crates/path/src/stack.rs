//! Assembles the layers and invokes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::{Limits, Policy};
use manyhands_core::{
    CallRequest, Caller, Catalogue, Clock, ErrorCode, Ids, Invoke, Outcome, Question, Tool,
    ToolError, Verdict,
};
use manyhands_guard::Redactor;
use manyhands_store::Store;
use manyhands_telemetry::carry;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::approve::{ApprovalRequests, Approve};
use crate::audit::{Audit, Started};
use crate::authorize::{Authorize, Authorizer, Available};
use crate::budget::{Budget, Concurrency};
use crate::cap::Cap;
use crate::deadline::Deadline;
use crate::layer::{Call, CallResult, Layer, Next};
use crate::metrics::{Measure, Metrics};
use crate::redact::Redact;
use crate::refusals::Refusals;
use crate::remedy::Remedy;
use crate::resolve::Resolve;
use crate::run::Run;
use crate::storage::{Storage, WriteRates};
use crate::trace;
use crate::validate::Validate;

/// The parts that the path is built from.
pub struct Parts {
    /// All tools there are now; swapped when tools come and go.
    pub catalogue: Arc<ArcSwap<Catalogue>>,
    /// Records, artifacts, approvals.
    pub store: Store,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids of calls.
    pub ids: Ids,
    /// Known secrets.
    pub redactor: Arc<ArcSwap<Redactor>>,
    /// Limits at the start.
    pub limits: Limits,
    /// Rules at the start.
    pub policy: Policy,
}

/// The one path every call takes.
pub struct Path {
    layers: Arc<[Arc<dyn Layer>]>,
    catalogue: Arc<ArcSwap<Catalogue>>,
    ids: Ids,
    limits: Arc<ArcSwap<Limits>>,
    authorizer: Arc<ArcSwap<Authorizer>>,
    metrics: Arc<Metrics>,
    refusals: Arc<Refusals>,
    rates: Arc<WriteRates>,
    requests: ApprovalRequests,
    running: TaskTracker,
    parking: Arc<AtomicBool>,
    draining: CancellationToken,
    stopping: CancellationToken,
}

impl Path {
    /// Stacks the layers.
    pub fn new(parts: Parts) -> Result<Self, regex::Error> {
        let Parts {
            catalogue,
            store,
            clock,
            ids,
            redactor,
            limits,
            policy,
        } = parts;
        let limits = Arc::new(ArcSwap::from_pointee(limits));
        let authorizer = Arc::new(ArcSwap::from_pointee(Authorizer::new(&policy)?));
        let metrics = Arc::new(Metrics::default());
        let requests = ApprovalRequests::new(store.approvals().clone(), clock.clone(), ids.clone());
        let (draining, stopping) = (CancellationToken::new(), CancellationToken::new());
        let parking = Arc::new(AtomicBool::new(false));
        let validate = Arc::new(Validate::default());
        let refusals = Refusals::new(store.audit().clone(), clock.clone(), limits.clone());
        let rates = Arc::new(WriteRates::new(
            limits.clone(),
            clock.clone(),
            store.disk().clone(),
        ));
        let layers: Vec<Arc<dyn Layer>> = vec![
            Arc::new(Measure {
                metrics: metrics.clone(),
                clock: clock.clone(),
            }),
            Arc::new(Audit {
                chain: store.audit().clone(),
                clock: clock.clone(),
                redactor: redactor.clone(),
                refusals: refusals.clone(),
            }),
            Arc::new(Remedy),
            Arc::new(Cap {
                limits: limits.clone(),
                artifacts: store.artifacts().clone(),
                clock: clock.clone(),
                rates: rates.clone(),
            }),
            Arc::new(Redact {
                redactor: redactor.clone(),
            }),
            Arc::new(Resolve {
                catalogue: catalogue.clone(),
                authorizer: authorizer.clone(),
                validate: validate.clone(),
            }),
            Arc::new(Available {
                authorizer: authorizer.clone(),
            }),
            validate,
            Arc::new(Authorize {
                authorizer: authorizer.clone(),
                catalogue: catalogue.clone(),
            }),
            // Before the owner is asked: nobody should approve a call that is then refused for want of room.
            Arc::new(Storage {
                rates: rates.clone(),
            }),
            Arc::new(Approve {
                requests: requests.clone(),
                limits: limits.clone(),
                redactor: redactor.clone(),
                waiting: Default::default(),
                draining: draining.clone(),
                parking: parking.clone(),
            }),
            Arc::new(Budget::new(
                limits.clone(),
                clock.clone(),
                store.audit().clone(),
            )),
            Arc::new(Concurrency::new(limits.load().concurrent_calls)),
            Arc::new(Started {
                approvals: store.approvals().clone(),
                chain: store.audit().clone(),
                clock,
                redactor,
            }),
            Arc::new(Deadline {
                stopping: stopping.clone(),
            }),
            Arc::new(Run),
        ];
        Ok(Self {
            layers: layers.into(),
            catalogue,
            ids,
            limits,
            authorizer,
            metrics,
            refusals,
            rates,
            requests,
            running: TaskTracker::new(),
            parking,
            draining,
            stopping,
        })
    }

    /// Takes new limits and rules from the next call on.
    pub fn reconfigure(&self, limits: Limits, authorizer: Authorizer) {
        // Not atomic together: a call in between may see new rules with old limits, each valid alone.
        self.authorizer.store(Arc::new(authorizer));
        self.limits.store(Arc::new(limits));
    }

    /// The numbers behind `/metrics`.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Approval requests.
    pub fn approvals(&self) -> &ApprovalRequests {
        &self.requests
    }

    /// The current snapshot of the rules.
    pub fn authorizer(&self) -> Arc<Authorizer> {
        self.authorizer.load_full()
    }

    /// Charges a caller for `bytes` that are stored outside of a call, such as a message; refused when
    /// it has written too much or disk space is low.
    pub fn charge(&self, caller: &Caller, bytes: u64) -> Result<(), ToolError> {
        self.rates.charge_caller(caller, bytes)
    }

    /// Marks the start of a shutdown: approval requests of calls that are cancelled from now on stay
    /// open, because their turns resume later. Call this before anything is cancelled.
    pub fn keep_requests_open(&self) {
        self.parking.store(true, Ordering::SeqCst);
    }

    /// Refuses new calls, lets running ones finish for `grace`, then ends the rest.
    pub async fn drain(&self, grace: Duration) {
        // Parked before anything is cancelled, so that no approval request is withdrawn by the shutdown.
        // The tracker is closed before calls are told to stop, so that none starts in between.
        self.keep_requests_open();
        self.running.close();
        self.draining.cancel();
        if timeout(grace, self.running.wait()).await.is_err() {
            self.stopping.cancel();
            self.running.wait().await;
        }
        self.refusals.flush().await;
    }
}

impl Path {
    /// Takes a call of a tool that is not in the catalogue down the whole path: an interface whose
    /// arguments are no JSON, such as an upload, is judged by the spec it gives.
    pub async fn invoke_with(
        &self,
        tool: Arc<dyn Tool>,
        request: CallRequest,
    ) -> Result<Outcome, ToolError> {
        self.take(request, Some(tool)).await
    }

    async fn take(
        &self,
        request: CallRequest,
        tool: Option<Arc<dyn Tool>>,
    ) -> Result<Outcome, ToolError> {
        if self.running.is_closed() {
            return Err(
                ToolError::new(ErrorCode::Unavailable, "the gateway is stopping")
                    .hint("call again once it is back"),
            );
        }
        // Before a task is spawned: a caller that floods the path is turned away at the lowest cost.
        if let Err(refused) = self.refusals.admit(&request.caller) {
            self.metrics.count_early_refusal(refused.code);
            return Err(refused);
        }
        let cancel = self.stopping.child_token();
        // Dropping this future, as an interface does when its client disconnects, drops the guard and
        // so cancels the call.
        let going_away = cancel.clone().drop_guard();
        let id = request.id.unwrap_or_else(|| self.ids.next());
        let mut call = Call::new(id, request, cancel);
        if let Some(tool) = tool {
            call.resolved(tool);
        }
        let layers = self.layers.clone();
        // In a task of its own: the audit records how the call ended even if the caller disconnects.
        let work = self.running.spawn(carry(async move {
            let mut span = trace::begin();
            let result: CallResult = span.run(Next::new(&layers).run(&mut call)).await;
            trace::describe(&mut span, &call, &result);
            result
        }));
        let result = work.await;
        going_away.disarm();
        result.unwrap_or_else(|e| Err(ToolError::internal(format!("the path broke: {e}"))))
    }
}

#[async_trait]
impl Invoke for Path {
    async fn invoke(&self, request: CallRequest) -> Result<Outcome, ToolError> {
        self.take(request, None).await
    }

    fn authorize(&self, question: Question<'_>) -> Verdict {
        self.authorizer.load().authorize(question)
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.load_full()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;
    use serde_json::json;

    #[tokio::test]
    async fn a_stopping_gateway_refuses_new_calls_and_ends_running_ones() {
        let fixture = Fixture::new().await;
        let hanging = CallRequest::new("test::hang", json!({}), fixture.owner.clone());
        let stop = async {
            fixture.hanging.notified().await;
            fixture.path.drain(Duration::ZERO).await;
        };
        let (ended, ()) = tokio::join!(fixture.path.invoke(hanging), stop);
        assert_eq!(ended.unwrap_err().code, ErrorCode::Unavailable);
        let late = fixture.call("test::echo", json!({ "text": "x" })).await;
        assert_eq!(late.unwrap_err().code, ErrorCode::Unavailable);
    }

    #[tokio::test]
    async fn new_rules_apply_from_the_next_call_on() {
        let fixture = Fixture::new().await;
        let text = json!({ "text": "x" });
        assert!(fixture.call("test::echo", text.clone()).await.is_ok());
        let policy: Policy = serde_json::from_value(json!({
            "rules": [{ "decision": "deny", "tools": ["test::echo"], "reason": "quiet hours" }],
        }))
        .unwrap();
        let rules = Authorizer::new(&policy).unwrap();
        fixture.path.reconfigure(Limits::default(), rules);
        let error = fixture.call("test::echo", text).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::DeniedByPolicy);
        assert_eq!(
            error.message,
            "test::echo is refused by policy.rules.0: quiet hours"
        );
    }
}
