//! Approvals: where authorization decides `ask`, the owner sees exactly what will run.
//!
//! A request is a row on disk. The caller may wait for the answer, or come back and
//! make the same call again: the same caller with the same arguments finds its own
//! request by fingerprint, so no client needs to know of approvals. An approval is
//! used up by the call it allows.
//!
//! An answer reaches as far as the owner says: once; for the conversation, where calls that fit the
//! proposed rule run without another question until the conversation is reset; or always, which adds
//! that rule to the policy. A request belongs to the conversation it was made in. When that goes on
//! without an answer, because somebody stopped it, the request is withdrawn.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::{Decision, Limits, Rule};
use manyhands_core::{ApprovalId, Clock, ErrorCode, Ids, Timestamp, ToolError};
use manyhands_guard::Redactor;
use manyhands_store::{
    ApprovalDecision, ApprovalFilter, ApprovalRecord, ApprovalState, Approvals, Changes,
    NewApproval, StoreError,
};
use serde_json::json;
use tokio::sync::broadcast;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::authorize::CompiledRule;
use crate::canonical::{HELD, digest};
use crate::layer::{Call, CallResult, Layer, Next};
use crate::proposal::propose;
use crate::secret_params::mask_secret_params;

/// The largest arguments that a request can show, in bytes.
const MAX_SHOWN: usize = HELD;
/// How many pending requests one caller may have.
const MAX_PENDING: u32 = 20;
/// How many calls of one caller may wait for an answer at once.
const MAX_WAITING: usize = 8;

/// Approval requests and their answers.
#[derive(Clone)]
pub struct ApprovalRequests {
    approvals: Approvals,
    clock: Arc<dyn Clock>,
    ids: Ids,
    decided: broadcast::Sender<ApprovalId>,
}

impl ApprovalRequests {
    pub(crate) fn new(approvals: Approvals, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        // Bounded: a call that lags behind reads its request again, so a lost message delays nobody.
        let (decided, _) = broadcast::channel(256);
        Self {
            approvals,
            clock,
            ids,
            decided,
        }
    }

    /// Answers a request; the call that waits for it goes on at once. `message` is for the model.
    pub async fn decide(
        &self,
        id: ApprovalId,
        answer: ApprovalDecision,
        message: Option<&str>,
        by: &str,
    ) -> Result<ApprovalRecord, StoreError> {
        let record = self
            .approvals
            .decide(id, answer, message, by, self.clock.now())
            .await?;
        // After the decision is stored: the call that wakes up reads it from there.
        let _ = self.decided.send(id); // nobody waiting is fine
        Ok(record)
    }

    /// One request as it stands now.
    pub async fn get(&self, id: ApprovalId) -> Result<Option<ApprovalRecord>, StoreError> {
        self.approvals.get(id, self.clock.now()).await
    }

    /// Withdraws a request that no call waits for any more.
    async fn withdraw(&self, id: ApprovalId) {
        match self.approvals.withdraw(id, self.clock.now()).await {
            Ok(true) => drop(self.decided.send(id)), // nobody waiting is fine
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(event = "approval_withdraw_failed", %id, %error, "failed to withdraw an approval request")
            }
        }
    }

    /// Notifies of new, answered and used requests.
    pub fn changes(&self) -> &Changes {
        self.approvals.changes()
    }

    /// How many requests are pending, and when the first of them expires.
    pub async fn pending(&self) -> Result<(u64, Option<Timestamp>), StoreError> {
        self.approvals.pending(self.clock.now()).await
    }

    /// The requests in a state, or all; newest first.
    pub async fn list(
        &self,
        state: Option<ApprovalState>,
    ) -> Result<Vec<ApprovalRecord>, StoreError> {
        let filter = ApprovalFilter {
            state,
            ..ApprovalFilter::default()
        };
        self.approvals.list(&filter, self.clock.now()).await
    }
}

/// Requests the owner's approval where the policy requires it.
pub struct Approve {
    pub(crate) requests: ApprovalRequests,
    pub(crate) limits: Arc<ArcSwap<Limits>>,
    pub(crate) redactor: Arc<ArcSwap<Redactor>>,
    /// How many calls of each caller wait for an answer.
    pub(crate) waiting: Mutex<HashMap<String, usize>>,
    /// Fires when the gateway takes no more calls: questions stay on disk, waiting does not.
    pub(crate) draining: CancellationToken,
    /// Whether the gateway is about to stop: what ends now goes on after the next start.
    pub(crate) parking: Arc<AtomicBool>,
}

#[async_trait]
impl Layer for Approve {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let asks = matches!(&call.verdict, Some(verdict) if verdict.decision == Decision::Ask);
        if asks && !self.is_granted(call).await? {
            call.approval = Some(self.obtain_approval(call).await?);
        }
        next.run(call).await
    }
}

impl Approve {
    /// Whether the owner approved calls like this one for the conversation. An approval given before
    /// untrusted text was read says nothing about what that text asks for.
    async fn is_granted(&self, call: &Call) -> Result<bool, ToolError> {
        let Some(session) = call.session() else {
            return Ok(false);
        };
        let now = self.requests.clock.now();
        let granted = self
            .requests
            .approvals
            .granted(session, &call.request.caller.key(), now)
            .await;
        let granted = granted.map_err(unstored)?;
        let spec = call.spec()?;
        let question = call.question(spec);
        Ok(granted.into_iter().any(|record| {
            let covers_taint = record.tainted_by.is_some() || !call.request.taint.is_tainted();
            let rule = record.proposal.map(serde_json::from_value::<Rule>);
            let rule = rule.and_then(Result::ok);
            let fits = rule.is_some_and(|rule| {
                CompiledRule::new(&rule).is_ok_and(|rule| rule.matches(question))
            });
            covers_taint && record.agent == call.request.agent && fits
        }))
    }

    /// The owner's approval of exactly this call. It is used up when the call starts.
    async fn obtain_approval(&self, call: &Call) -> Result<ApprovalId, ToolError> {
        // Subscribed before the request is read: an answer that arrives between the two is not missed.
        let mut decided = self.requests.decided.subscribe();
        let caller = call.request.caller.key();
        // Each waiting call holds a task and its arguments; a caller without a free slot gets the
        // request's id at once instead of waiting for the answer.
        let _waiting = WaitSlot::enter(&self.waiting, &caller);
        let patience = match &_waiting {
            Some(_) => call.request.approval_wait,
            None => Duration::ZERO,
        };
        let until = Instant::now() + patience;
        let mut record = self.open_request(call).await?;
        if record.state == ApprovalState::Pending
            && let Some(witness) = &call.request.witness
        {
            witness.approval_pending(record.id).await;
        }
        loop {
            match record.state {
                ApprovalState::Approved => return Ok(record.id),
                ApprovalState::Denied => {
                    let message = match &record.message {
                        Some(reason) => {
                            format!("the owner denied this call of {}: {reason}", record.tool)
                        }
                        None => format!("the owner denied this call of {}", record.tool),
                    };
                    return Err(ToolError::new(ErrorCode::ApprovalDenied, message)
                        .hint("do not repeat it: ask the owner what they would rather have")
                        .details(json!({ "approvalId": record.id })));
                }
                ApprovalState::Pending => {
                    let answered = tokio::select! {
                        answered = timeout_at(until, wait_for(&mut decided, record.id)) => answered.is_ok(),
                        () = self.draining.cancelled() => false,
                        () = stop_waiting(call) => false,
                        () = call.cancel.cancelled() => {
                            // A stopped turn withdraws its request, or the owner would answer for
                            // nobody. At a shutdown it stays: the turn resumes after the restart.
                            let parked = self.parking.load(Ordering::SeqCst);
                            if call.session().is_some() && !parked {
                                self.requests.withdraw(record.id).await;
                            }
                            let message = "cancelled while waiting for the owner's approval";
                            return Err(ToolError::new(ErrorCode::Cancelled, message));
                        }
                    };
                    if !answered {
                        return Err(required(&record));
                    }
                }
                // No longer an answer to this call: a new request takes its place below.
                ApprovalState::Used | ApprovalState::Expired | ApprovalState::Withdrawn => {}
            }
            record = self.open_request(call).await?;
        }
    }

    /// The open request for exactly this call, or a new one.
    async fn open_request(&self, call: &Call) -> Result<ApprovalRecord, ToolError> {
        let spec = call.spec()?;
        let now = self.requests.clock.now();
        let minutes = u64::from(self.limits.load().approval_minutes);
        let rule = call
            .verdict
            .as_ref()
            .map(|v| v.rule.to_string())
            .unwrap_or_default();
        let caller = call.request.caller.key();
        let arguments = call.exact_arguments();
        self.bound_size(arguments.len)?;
        // The fingerprint is of what will run, so an approval never covers other arguments. All of them
        // are shown, whatever a server's schema says; only values from the vault and credential
        // parameters of built-in tools are masked.
        let mut shown = mask_secret_params(Some(spec), &call.request.arguments).into_owned();
        self.redactor.load().value(&mut shown);
        let mut parts = vec![
            caller.as_bytes(),
            call.request.agent.as_str().as_bytes(),
            spec.name.as_str().as_bytes(),
            arguments.head(), // all of it, as its size was checked
        ];
        // The conversation too: an approval given in one must not be found by the same call in another.
        parts.extend(call.session().map(str::as_bytes));
        let fingerprint = digest(&parts);
        self.bound(&caller, &fingerprint).await?;
        let new = NewApproval {
            id: self.requests.ids.next(),
            fingerprint,
            caller,
            caller_name: call.request.caller.label(),
            agent: call.request.agent.clone(),
            session: call.session().map(str::to_owned),
            tool: spec.name.to_string(),
            arguments: shown,
            effects: call.effects,
            rule,
            reason: call.verdict.as_ref().and_then(|v| v.reason.clone()),
            proposal: serde_json::to_value(propose(call, spec)).ok(),
            taint: call.request.taint.clone(),
            expires: now.plus(Duration::from_secs(minutes * 60)),
        };
        self.requests
            .approvals
            .open_or_find(&new, now)
            .await
            .map_err(unstored)
    }
}

impl Approve {
    /// Refuses arguments that are too large to be shown.
    fn bound_size(&self, size: usize) -> Result<(), ToolError> {
        if size <= MAX_SHOWN {
            return Ok(());
        }
        let message = format!(
            "the arguments have {size} bytes; more than {MAX_SHOWN} cannot be shown to the owner for approval"
        );
        Err(ToolError::new(ErrorCode::TooLarge, message).hint("make smaller calls"))
    }

    /// Limits the pending requests of one caller.
    async fn bound(&self, caller: &str, fingerprint: &str) -> Result<(), ToolError> {
        let filter = ApprovalFilter {
            state: Some(ApprovalState::Pending),
            caller: Some(caller.to_owned()),
            limit: Some(MAX_PENDING),
        };
        let pending = self
            .requests
            .approvals
            .list(&filter, self.requests.clock.now())
            .await;
        let pending = pending.map_err(unstored)?;
        // A repeated call finds its own request and adds none, so the limit does not apply to it.
        let known = pending
            .iter()
            .any(|record| record.fingerprint == fingerprint);
        if !known && pending.len() >= MAX_PENDING as usize {
            let message =
                format!("{MAX_PENDING} approval requests of this caller are pending already");
            return Err(ToolError::new(ErrorCode::RateLimited, message)
                .hint("wait for answers before requesting more"));
        }
        Ok(())
    }
}

/// Completes when the caller stops waiting.
async fn stop_waiting(call: &Call) {
    match &call.request.witness {
        Some(witness) => witness.stop_waiting().await,
        None => std::future::pending().await,
    }
}

/// Counts one waiting call until it is dropped.
struct WaitSlot<'a> {
    waiting: &'a Mutex<HashMap<String, usize>>,
    caller: String,
}

impl<'a> WaitSlot<'a> {
    fn enter(waiting: &'a Mutex<HashMap<String, usize>>, caller: &str) -> Option<Self> {
        let mut counts = waiting.lock().expect("no panic while held");
        let count = counts.entry(caller.to_owned()).or_default();
        if *count >= MAX_WAITING {
            return None;
        }
        *count += 1;
        Some(Self {
            waiting,
            caller: caller.to_owned(),
        })
    }
}

impl Drop for WaitSlot<'_> {
    fn drop(&mut self) {
        let mut counts = self.waiting.lock().expect("no panic while held");
        if let Some(count) = counts.get_mut(&self.caller) {
            *count -= 1;
            // Removed at zero: callers come and go, and the table must not grow with them.
            if *count == 0 {
                counts.remove(&self.caller);
            }
        }
    }
}

async fn wait_for(decided: &mut broadcast::Receiver<ApprovalId>, id: ApprovalId) {
    loop {
        match decided.recv().await {
            Ok(other) if other != id => {}
            // Ours, or so many were missed that ours may be among them: look again.
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

fn required(record: &ApprovalRecord) -> ToolError {
    let message = format!(
        "{} needs the owner's approval ({})",
        record.tool, record.rule
    );
    let hint = format!(
        "the owner can run `manyhands approvals approve {}`; then make the same call again",
        record.id
    );
    ToolError::new(ErrorCode::ApprovalRequired, message)
        .hint(hint)
        .details(json!({
            "approvalId": record.id,
            "expiresAt": record.expires.rfc3339(),
            "tool": record.tool,
            "arguments": record.arguments,
        }))
}

fn unstored(error: StoreError) -> ToolError {
    ToolError::from(error).context("the approval could not be stored")
}

#[cfg(test)]
mod tests;
