//! Approve: where policy says ask, the owner sees exactly what will run, once.
//!
//! A question is a row on disk. The caller may wait for the answer, or come back and
//! make the same call again: the same caller with the same arguments finds its own
//! question by fingerprint, so no client needs to know of approvals. An approval is
//! used up by the call it lets through.
//!
//! What is asked in a conversation belongs to it: another one asks for itself. When it goes on
//! without an answer, because somebody stopped it, the question is withdrawn.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::{Decision, Limits};
use manyhands_core::{ApprovalId, Clock, ErrorCode, Ids, Timestamp, ToolError};
use manyhands_guard::Redactor;
use manyhands_store::{
    ApprovalFilter, ApprovalRecord, ApprovalState, Approvals, Changes, Decision as Answer,
    NewApproval, StoreError,
};
use serde_json::json;
use tokio::sync::broadcast;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::canonical::{canonical, digest};
use crate::layer::{Call, CallResult, Layer, Next};
use crate::shown::shown;

/// The largest arguments that a question shows, in bytes.
const MAX_SHOWN: usize = 64 * 1024;
/// How many questions one caller may have open.
const MAX_PENDING: u32 = 20;
/// How many calls of one caller may wait for an answer at once.
const MAX_WAITING: usize = 8;

/// Where questions wait and are answered.
#[derive(Clone)]
pub struct ApprovalDesk {
    approvals: Approvals,
    clock: Arc<dyn Clock>,
    ids: Ids,
    decided: broadcast::Sender<ApprovalId>,
}

impl ApprovalDesk {
    pub(crate) fn new(approvals: Approvals, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        let (decided, _) = broadcast::channel(256);
        Self {
            approvals,
            clock,
            ids,
            decided,
        }
    }

    /// Answers a question; whoever waits for it goes on at once.
    pub async fn decide(
        &self,
        id: ApprovalId,
        answer: Answer,
        by: &str,
    ) -> Result<ApprovalRecord, StoreError> {
        let record = self
            .approvals
            .decide(id, answer, by, self.clock.now())
            .await?;
        let _ = self.decided.send(id); // nobody waiting is fine
        Ok(record)
    }

    /// Takes a question back for which nobody waits any more.
    async fn withdraw(&self, id: ApprovalId) {
        match self.approvals.withdraw(id, self.clock.now()).await {
            Ok(true) => drop(self.decided.send(id)), // nobody waiting is fine
            Ok(false) => {}
            Err(error) => tracing::warn!(%id, %error, "a question could not be withdrawn"),
        }
    }

    /// Tells when a question is put, answered or used.
    pub fn changes(&self) -> &Changes {
        self.approvals.changes()
    }

    /// How many questions wait for an answer, and when the first of them runs out.
    pub async fn pending(&self) -> Result<(u64, Option<Timestamp>), StoreError> {
        self.approvals.pending(self.clock.now()).await
    }

    /// The questions that have come this far, or all there were; newest first.
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

/// Asks the owner where policy says so.
pub struct Approve {
    pub(crate) desk: ApprovalDesk,
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
        if asks {
            call.approval = Some(self.permission(call).await?);
        }
        next.run(call).await
    }
}

impl Approve {
    /// The owner's yes to exactly this call. It is used up when the call starts.
    async fn permission(&self, call: &Call) -> Result<ApprovalId, ToolError> {
        // Listening before looking: an answer between the two is not missed.
        let mut decided = self.desk.decided.subscribe();
        let caller = call.caller.key();
        let _waiting = Waiting::enter(&self.waiting, &caller);
        let patience = match &_waiting {
            Some(_) => call.approval_wait,
            None => Duration::ZERO, // enough of this caller's calls wait already
        };
        let until = Instant::now() + patience;
        let mut record = self.question(call).await?;
        if record.state == ApprovalState::Pending
            && let Some(witness) = &call.witness
        {
            witness.waits(record.id).await;
        }
        loop {
            match record.state {
                ApprovalState::Approved => return Ok(record.id),
                ApprovalState::Denied => {
                    let message = format!("the owner refused this call of {}", record.tool);
                    return Err(ToolError::new(ErrorCode::ApprovalDenied, message)
                        .hint("do not repeat it: ask the owner what they would rather have")
                        .details(json!({ "approvalId": record.id })));
                }
                ApprovalState::Pending => {
                    let answered = tokio::select! {
                        answered = timeout_at(until, wait_for(&mut decided, record.id)) => answered.is_ok(),
                        () = self.draining.cancelled() => false,
                        () = call.cancel.cancelled() => {
                            let parked = self.parking.load(Ordering::SeqCst);
                            if place(call).is_some() && !parked {
                                self.desk.withdraw(record.id).await;
                            }
                            let message = "cancelled while waiting for the owner's approval";
                            return Err(ToolError::new(ErrorCode::Cancelled, message));
                        }
                    };
                    if !answered {
                        return Err(required(&record));
                    }
                }
                ApprovalState::Used | ApprovalState::Expired | ApprovalState::Withdrawn => {}
            }
            record = self.question(call).await?;
        }
    }

    /// The open question for exactly this call, or a new one.
    async fn question(&self, call: &Call) -> Result<ApprovalRecord, ToolError> {
        let spec = call.spec()?;
        let now = self.desk.clock.now();
        let minutes = u64::from(self.limits.load().approval_minutes);
        let rule = call
            .verdict
            .as_ref()
            .map(|v| v.rule.to_string())
            .unwrap_or_default();
        let caller = call.caller.key();
        let arguments = canonical(&call.arguments);
        // The fingerprint is of what will run; what is kept and shown holds no known secret.
        let mut shown = shown(Some(spec), &call.arguments).into_owned();
        self.redactor.load().value(&mut shown);
        let mut parts = vec![
            caller.as_str(),
            call.agent.as_str(),
            spec.name.as_str(),
            &arguments,
        ];
        parts.extend(place(call));
        let fingerprint = digest(&parts);
        self.bound(&caller, &fingerprint, arguments.len()).await?;
        let new = NewApproval {
            id: self.desk.ids.next(),
            fingerprint,
            caller,
            caller_name: call.caller.name.clone(),
            agent: call.agent.clone(),
            session: place(call).map(str::to_owned),
            tool: spec.name.to_string(),
            arguments: shown,
            effects: call.tool()?.effects_of(&call.arguments),
            rule,
            expires: now.plus(Duration::from_secs(minutes * 60)),
        };
        self.desk
            .approvals
            .open_or_find(&new, now)
            .await
            .map_err(|e| unavailable(&e))
    }
}

impl Approve {
    /// Keeps one caller from burying the owner in questions.
    async fn bound(&self, caller: &str, fingerprint: &str, size: usize) -> Result<(), ToolError> {
        if size > MAX_SHOWN {
            let message = format!(
                "the arguments have {size} bytes; more than {MAX_SHOWN} cannot be shown to the owner for approval"
            );
            return Err(ToolError::new(ErrorCode::TooLarge, message).hint("make smaller calls"));
        }
        let filter = ApprovalFilter {
            state: Some(ApprovalState::Pending),
            caller: Some(caller.to_owned()),
            limit: Some(MAX_PENDING),
        };
        let pending = self
            .desk
            .approvals
            .list(&filter, self.desk.clock.now())
            .await;
        let pending = pending.map_err(|e| unavailable(&e))?;
        let known = pending
            .iter()
            .any(|record| record.fingerprint == fingerprint);
        if !known && pending.len() >= MAX_PENDING as usize {
            let message =
                format!("{MAX_PENDING} of this caller's questions wait for the owner already");
            return Err(ToolError::new(ErrorCode::RateLimited, message)
                .hint("wait for answers before asking more"));
        }
        Ok(())
    }
}

/// The conversation that a call is asked in.
fn place(call: &Call) -> Option<&str> {
    call.lineage.last().map(String::as_str)
}

/// One call that waits, counted until it is dropped.
struct Waiting<'a> {
    waiting: &'a Mutex<HashMap<String, usize>>,
    caller: String,
}

impl<'a> Waiting<'a> {
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

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut counts = self.waiting.lock().expect("no panic while held");
        if let Some(count) = counts.get_mut(&self.caller) {
            *count -= 1;
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

fn unavailable(error: &StoreError) -> ToolError {
    ToolError::new(
        ErrorCode::Unavailable,
        format!("the approval could not be stored: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Fixture};
    use manyhands_core::{CallRequest, Invoke};

    async fn ask(fixture: &Fixture, text: &str) -> Result<(), (ErrorCode, Option<ApprovalId>)> {
        let caller = testing::client("laptop", &["*"]);
        let outcome = fixture
            .call_as(caller, "test::launch", json!({ "text": text }))
            .await;
        outcome.map(drop).map_err(|e| {
            let id = e
                .details
                .and_then(|d| d["approvalId"].as_str().and_then(|id| id.parse().ok()));
            (e.code, id)
        })
    }

    #[tokio::test]
    async fn an_approved_call_runs_once_when_the_caller_comes_back() {
        let fixture = Fixture::new().await;
        let (code, id) = ask(&fixture, "a").await.unwrap_err();
        assert_eq!((code, fixture.count()), (ErrorCode::ApprovalRequired, 0));
        assert_eq!(
            ask(&fixture, "a").await.unwrap_err().1,
            id,
            "one question, not two"
        );
        fixture
            .path
            .approvals()
            .decide(id.unwrap(), Answer::Approve, "owner")
            .await
            .unwrap();
        assert_eq!(
            ask(&fixture, "b").await.unwrap_err().0,
            ErrorCode::ApprovalRequired,
            "other arguments"
        );
        ask(&fixture, "a").await.unwrap();
        assert_eq!(fixture.count(), 1);
        assert_eq!(
            ask(&fixture, "a").await.unwrap_err().0,
            ErrorCode::ApprovalRequired,
            "single use"
        );
        assert_eq!(fixture.count(), 1);
    }

    #[tokio::test]
    async fn a_refused_call_stays_refused() {
        let fixture = Fixture::new().await;
        let id = ask(&fixture, "a").await.unwrap_err().1.unwrap();
        fixture
            .path
            .approvals()
            .decide(id, Answer::Deny, "owner")
            .await
            .unwrap();
        assert_eq!(
            ask(&fixture, "a").await.unwrap_err().0,
            ErrorCode::ApprovalDenied
        );
        assert!(
            fixture
                .path
                .approvals()
                .decide(id, Answer::Approve, "owner")
                .await
                .is_err(),
            "decided is decided"
        );
        assert_eq!(fixture.count(), 0);
    }

    #[tokio::test]
    async fn a_secret_in_a_question_is_neither_kept_nor_shown() {
        let fixture = Fixture::new().await;
        let id = ask(&fixture, testing::SECRET).await.unwrap_err().1.unwrap();
        let shown = fixture.path.approvals().list(None).await.unwrap().remove(0);
        assert_eq!(shown.arguments, json!({ "text": "[redacted]" }));
        fixture
            .path
            .approvals()
            .decide(id, Answer::Approve, "owner")
            .await
            .unwrap();
        let other = ask(&fixture, "[redacted]").await.unwrap_err().0;
        assert_eq!(
            other,
            ErrorCode::ApprovalRequired,
            "only the call itself is let through"
        );
        ask(&fixture, testing::SECRET).await.unwrap();
    }

    #[tokio::test]
    async fn a_question_expires() {
        let fixture = Fixture::new().await;
        let id = ask(&fixture, "a").await.unwrap_err().1.unwrap();
        fixture.clock.advance(Duration::from_secs(15 * 60 + 1));
        assert!(
            fixture
                .path
                .approvals()
                .decide(id, Answer::Approve, "owner")
                .await
                .is_err()
        );
        let again = ask(&fixture, "a").await.unwrap_err().1.unwrap();
        assert_ne!(again, id);
        fixture
            .path
            .approvals()
            .decide(again, Answer::Approve, "owner")
            .await
            .unwrap();
        fixture.clock.advance(Duration::from_secs(15 * 60 + 1));
        assert_eq!(
            ask(&fixture, "a").await.unwrap_err().0,
            ErrorCode::ApprovalRequired,
            "a late approval is void"
        );
        assert_eq!(fixture.count(), 0);
    }

    #[tokio::test]
    async fn a_waiting_caller_goes_on_when_the_owner_agrees() {
        let fixture = Fixture::new().await;
        let mut request = CallRequest::new(
            "test::launch",
            json!({ "text": "a" }),
            Arc::new(testing::client("laptop", &["*"])),
        );
        request.approval_wait = Duration::from_secs(30);
        let desk = fixture.path.approvals();
        let owner = async {
            let id = loop {
                match desk
                    .list(Some(ApprovalState::Pending))
                    .await
                    .unwrap()
                    .first()
                {
                    Some(record) => break record.id,
                    None => tokio::task::yield_now().await,
                }
            };
            desk.decide(id, Answer::Approve, "owner").await.unwrap();
        };
        let (outcome, ()) = tokio::join!(fixture.path.invoke(request), owner);
        outcome.unwrap();
        assert_eq!(fixture.count(), 1);
    }

    #[tokio::test]
    async fn a_stopping_gateway_parks_the_question_and_lets_the_caller_go() {
        let fixture = Fixture::new().await;
        let laptop = testing::client("laptop", &["*"]);
        let mut request = CallRequest::new(
            "test::launch",
            json!({ "text": "a" }),
            Arc::new(laptop.clone()),
        );
        request.approval_wait = Duration::from_secs(600);
        let stop = async {
            while fixture
                .path
                .approvals()
                .list(Some(ApprovalState::Pending))
                .await
                .unwrap()
                .is_empty()
            {
                tokio::task::yield_now().await;
            }
            fixture.path.drain(Duration::from_secs(600)).await;
        };
        let (outcome, ()) = tokio::join!(fixture.path.invoke(request), stop);
        assert_eq!(outcome.unwrap_err().code, ErrorCode::ApprovalRequired);
        let restarted = fixture.restarted();
        let id = restarted
            .approvals()
            .list(Some(ApprovalState::Pending))
            .await
            .unwrap()[0]
            .id;
        restarted
            .approvals()
            .decide(id, Answer::Approve, "owner")
            .await
            .unwrap();
        testing::call_on(&restarted, laptop, "test::launch", json!({ "text": "a" }))
            .await
            .unwrap();
        assert_eq!(fixture.count(), 1);
    }

    /// The same call in the turn of a session, waited for.
    fn in_session(session: &str) -> CallRequest {
        let caller = Arc::new(testing::client("laptop", &["*"]));
        let mut request = CallRequest::new("test::launch", json!({ "text": "a" }), caller);
        request.approval_wait = Duration::from_secs(600);
        request.lineage = [session.to_owned()].into();
        request
    }

    /// The questions that wait, once there are so many.
    async fn waiting(fixture: &Fixture, count: usize) -> Vec<ApprovalRecord> {
        loop {
            let desk = fixture.path.approvals();
            let open = desk.list(Some(ApprovalState::Pending)).await.unwrap();
            if open.len() == count {
                return open;
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn two_conversations_ask_for_themselves_and_a_yes_is_for_one_of_them() {
        let fixture = Fixture::new().await;
        let desk = fixture.path.approvals();
        let path = &fixture.path;
        let first = path.invoke(in_session("agent:main:a"));
        let second = path.invoke(in_session("agent:main:b"));
        let owner = async {
            let open = waiting(&fixture, 2).await;
            let of = |session: &str| {
                let found = open.iter().find(|q| q.session.as_deref() == Some(session));
                found.expect("its question").id
            };
            let (a, b) = (of("agent:main:a"), of("agent:main:b"));
            desk.decide(b, Answer::Deny, "owner").await.unwrap();
            desk.decide(a, Answer::Approve, "owner").await.unwrap();
        };
        let (first, second, ()) = tokio::join!(first, second, owner);
        first.unwrap();
        assert_eq!(second.unwrap_err().code, ErrorCode::ApprovalDenied);
        assert_eq!(fixture.count(), 1);
        let outside = ask(&fixture, "a").await.unwrap_err().0;
        assert_eq!(
            outside,
            ErrorCode::ApprovalRequired,
            "whoever is in no conversation asks too"
        );
    }

    #[tokio::test]
    async fn who_is_stopped_takes_the_question_back_for_good() {
        let fixture = Fixture::new().await;
        let desk = fixture.path.approvals();
        let asking = fixture.path.invoke(in_session("agent:main:a"));
        let id = tokio::select! {
            _ = asking => unreachable!("it waits"),
            open = waiting(&fixture, 1) => open[0].id,
        };
        waiting(&fixture, 0).await; // dropping the call stopped it
        let late = desk.decide(id, Answer::Approve, "owner").await;
        assert!(
            matches!(&late, Err(StoreError::Settled { state, .. }) if state == "withdrawn"),
            "{late:?}"
        );
        let withdrawn = desk.list(Some(ApprovalState::Withdrawn)).await.unwrap();
        assert_eq!(withdrawn[0].id, id);
        let again = fixture.path.invoke(in_session("agent:main:a"));
        let other = tokio::select! {
            _ = again => unreachable!("it waits"),
            open = waiting(&fixture, 1) => open[0].id,
        };
        assert_ne!(other, id, "the same call asks anew");
        assert_eq!(fixture.count(), 0);
    }

    #[tokio::test]
    async fn what_comes_back_later_finds_its_question() {
        let fixture = Fixture::new().await;
        let mut outside = in_session("x");
        outside.lineage = Arc::default();
        let id = tokio::select! {
            _ = fixture.path.invoke(outside) => unreachable!("it waits"),
            open = waiting(&fixture, 1) => open[0].id,
        };
        let stopping = tokio::select! {
            _ = fixture.path.invoke(in_session("agent:main:a")) => unreachable!("it waits"),
            open = async {
                let open = waiting(&fixture, 2).await;
                fixture.path.park();
                open
            } => open,
        };
        fixture.path.drain(Duration::from_secs(5)).await; // both calls have ended by then
        let open = fixture
            .restarted()
            .approvals()
            .list(Some(ApprovalState::Pending))
            .await;
        let open: Vec<_> = open.unwrap().iter().map(|one| one.id).collect();
        assert_eq!(open.len(), 2);
        assert!(open.contains(&id) && stopping.iter().all(|one| open.contains(&one.id)));
    }

    #[tokio::test]
    async fn the_owner_sees_exactly_what_will_run() {
        let fixture = Fixture::new().await;
        let _ = ask(&fixture, "rm -rf /").await;
        let shown = fixture
            .path
            .approvals()
            .list(Some(ApprovalState::Pending))
            .await
            .unwrap()
            .remove(0);
        assert_eq!(
            (shown.tool.as_str(), &shown.arguments),
            ("test::launch", &json!({ "text": "rm -rf /" }))
        );
        assert_eq!(
            (shown.caller_name.as_str(), shown.rule.as_str()),
            ("laptop", "default: the tool runs programs")
        );
    }
}
