//! Audit layers: record who called what, and how it ended.
//!
//! Two layers. `Started` stands just before the tool and puts a call that changes something
//! on disk before it begins, so that not even a crash hides it. `Audit` stands outside
//! and records how every call ended, refusals included. A call that changes something is
//! not answered before that record is on disk. Neither wait can be left out: without the first, a
//! crash could hide what was done; without the second, an answer could be forgotten. Calls
//! that are made at the same time share both with each other and with all that is recorded.
//!
//! A call that only looks, here or elsewhere, is written down with the next group, some
//! milliseconds later at most: losing it in a crash hides nothing that was done.

use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_core::{Clock, ErrorCode, ToolError};
use manyhands_guard::Redactor;
use manyhands_store::{
    Approvals, Audit as Chain, AuditEntry, AuditKind, AuditStatus, Durability, StoreError,
};

use crate::canonical::CanonicalText;
use crate::layer::{Call, CallResult, Layer, Next};
use crate::refusals::{Recording, Refusals};

/// How much of the arguments the record shows.
const SUMMARY_BYTES: usize = 512;

/// Records how calls end.
pub struct Audit {
    pub(crate) chain: Chain,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) redactor: Arc<ArcSwap<Redactor>>,
    pub(crate) refusals: Arc<Refusals>,
}

/// Records that a call that changes something is about to begin.
pub struct Started {
    pub(crate) approvals: Approvals,
    pub(crate) chain: Chain,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) redactor: Arc<ArcSwap<Redactor>>,
}

#[async_trait]
impl Layer for Audit {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let began = self.clock.monotonic();
        let result = next.run(call).await;
        let took = self.clock.monotonic().saturating_sub(began);
        let kind = if call.started {
            AuditKind::Finished
        } else {
            AuditKind::Refused
        };
        if let (AuditKind::Refused, Err(error)) = (kind, &result) {
            // Before the arguments are hashed: recording a flood of refusals must not cost more than
            // refusing it.
            match self.refusals.record(call, error.code) {
                Recording::Individual => {}
                Recording::Counted => return result,
                Recording::FirstCounted { caller } => {
                    let entry = self.refusals.flood_entry(caller);
                    if let Err(error) = self.chain.record(entry, Durability::Soon).await {
                        tracing::error!(event = "audit_record_failed", %error, "failed to record in the audit that refusals are counted");
                    }
                    return result;
                }
            }
        }
        // What a screen lists is not a call that somebody makes. Refused and failed ones are recorded all the same.
        if call.request.is_view && call.effects.only_reads() && result.is_ok() {
            return result;
        }
        let mut entry = entry(call, kind, &*self.clock, &self.redactor.load());
        entry.duration_us = u64::try_from(took.as_micros()).ok();
        match &result {
            Ok(outcome) => {
                entry.status = AuditStatus::Ok;
                entry.code = outcome.exit.clone().unwrap_or_default();
            }
            Err(error) => {
                entry.status = AuditStatus::Error;
                entry.code = error.code.as_str().to_owned();
            }
        }
        let durability = durability(call);
        match self.chain.record(entry, durability).await {
            Ok(()) => result,
            // Reads continue when the disk is full. A change that took effect is reported as an error
            // although it succeeded: acknowledging it without a record would hide it from the audit.
            Err(error) if durability == Durability::OnDisk && call.started && result.is_ok() => {
                Err(unstored(error)
                    .hint("the tool ran and took effect, but its audit record could not be stored"))
            }
            Err(error) => {
                tracing::error!(event = "audit_record_failed", call = %call.id, %error, "failed to store an audit record");
                result
            }
        }
    }
}

#[async_trait]
impl Layer for Started {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        // Used up in one conditional update, so that two equal calls cannot both run on one approval; and
        // before the start is recorded, because the call that loses did not start.
        if let Some(approval) = call.approval {
            let used = self
                .approvals
                .consume(approval, call.id, self.clock.now())
                .await;
            if !used.map_err(unstored)? {
                let message = "the owner's approval was used up by another call, or has expired";
                return Err(ToolError::new(ErrorCode::ApprovalRequired, message)
                    .hint("make the same call again to ask once more"));
            }
        }
        if durability(call) == Durability::OnDisk {
            let entry = entry(
                call,
                AuditKind::Started,
                &*self.clock,
                &self.redactor.load(),
            );
            self.chain
                .record(entry, Durability::OnDisk)
                .await
                .map_err(|error| {
                    unstored(error).hint("nothing was run: free some space and call again")
                })?;
        }
        // Last, and its error stops the call: an agent's turn must have the start on disk, or it would
        // run the call again after a crash.
        if let Some(witness) = &call.request.witness {
            witness.starting().await?;
        }
        call.started = true;
        next.run(call).await
    }
}

/// Calls that only look may be recorded a few milliseconds later.
fn durability(call: &Call) -> Durability {
    match call.found() {
        Some(_) if call.effects.changes() => Durability::OnDisk,
        _ => Durability::Soon,
    }
}

fn entry(call: &Call, kind: AuditKind, clock: &dyn Clock, redactor: &Redactor) -> AuditEntry {
    let spec = call.found().map(|tool| tool.spec());
    // The name of an unknown tool is chosen by the caller: bounded, and redacted below, since it may contain
    // anything.
    let asked: String = call.request.tool.chars().take(100).collect();
    let arguments = call.recorded_arguments();
    AuditEntry {
        call: Some(call.id),
        caller: call.request.caller.key(),
        agent: call.request.agent.to_string(),
        actor: call.request.caller.actor.as_ref().map(ToString::to_string),
        session: call.session().map(str::to_owned),
        tool: spec.map_or_else(
            || redactor.text(&asked).into_owned(),
            |spec| spec.name.to_string(),
        ),
        effects: call.effects,
        arguments_digest: arguments.digest.clone(),
        summary: summary(arguments, redactor),
        ..AuditEntry::new(kind, clock.now())
    }
}

/// The beginning of the arguments, without secrets.
fn summary(arguments: &CanonicalText, redactor: &Redactor) -> String {
    let mut shown = match arguments.whole() {
        Some(text) => redactor.text(text).into_owned(),
        // What a stream holds back stays out: it may be the first half of a secret.
        None => String::from_utf8_lossy(&redactor.stream().push(arguments.head())).into_owned(),
    };
    shown.truncate(shown.floor_char_boundary(SUMMARY_BYTES));
    shown
}

fn unstored(error: StoreError) -> ToolError {
    ToolError::from(error).context("the audit record could not be stored")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::HELD;
    use crate::testing::{self, Fixture};
    use manyhands_core::{CallRequest, Effects, Ids, Invoke, Secret, SeededEntropy};
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    #[tokio::test]
    async fn a_call_with_effects_is_recorded_before_and_after() {
        let fixture = Fixture::new().await;
        fixture.call("test::count", json!({})).await.unwrap();
        let kinds: Vec<_> = fixture
            .audit("test::count")
            .await
            .iter()
            .rev()
            .map(|e| e.entry.kind)
            .collect();
        assert_eq!(kinds, [AuditKind::Started, AuditKind::Finished]);
        let last = fixture.last_audit("test::count").await;
        assert_eq!(
            (last.status, last.effects),
            (AuditStatus::Ok, Effects::WRITES)
        );
    }

    #[tokio::test]
    async fn a_refusal_is_recorded_and_never_started() {
        let fixture = Fixture::new().await;
        let stranger = testing::client("stranger", &["other"]);
        fixture
            .call_as(stranger, "test::count", json!({}))
            .await
            .unwrap_err();
        let entries = fixture.audit("test::count").await;
        assert_eq!(entries.len(), 1);
        let entry = &entries[0].entry;
        assert_eq!(
            (entry.kind, entry.code.as_str()),
            (AuditKind::Refused, "forbidden")
        );
        assert!(entry.caller.starts_with("client:stranger:"));
    }

    #[tokio::test]
    async fn reads_are_recorded_once_here_and_elsewhere() {
        let fixture = Fixture::new().await;
        for (tool, kinds) in [
            ("test::echo", vec![AuditKind::Finished]),
            ("test::fetch", vec![AuditKind::Finished]),
            ("test::post", vec![AuditKind::Finished, AuditKind::Started]),
        ] {
            fixture.call(tool, json!({ "text": "x" })).await.unwrap();
            let entries = fixture.audit(tool).await;
            let found: Vec<_> = entries.iter().map(|e| e.entry.kind).collect();
            assert_eq!(found, kinds, "{tool}");
            assert_eq!(entries[0].entry.summary, r#"{"text":"x"}"#);
        }
    }

    #[tokio::test]
    async fn what_a_screen_lists_is_no_entry_unless_it_fails_or_changes_something() {
        let fixture = Fixture::new().await;
        let view = async |tool: &str, arguments: serde_json::Value| {
            let mut request = CallRequest::new(tool, arguments, fixture.owner.clone());
            request.is_view = true;
            fixture.path.invoke(request).await
        };
        view("test::echo", json!({ "text": "x" })).await.unwrap();
        assert_eq!(fixture.audit("test::echo").await.len(), 0);
        view("test::echo", json!({ "wrong": 1 })).await.unwrap_err();
        assert_eq!(fixture.audit("test::echo").await.len(), 1);
        view("test::count", json!({})).await.unwrap();
        assert_eq!(fixture.audit("test::count").await.len(), 2);
    }

    #[test]
    fn a_summary_shows_no_secret_however_large_the_arguments_are() {
        let redactor = Redactor::new(&[Secret::new("short-secret")]);
        let check = |arguments: serde_json::Value, expect: &str| {
            let text = CanonicalText::of(&arguments);
            assert_eq!(summary(&text, &redactor), expect);
        };
        check(json!({ "a": "short-secret" }), r#"{"a":"[redacted]"}"#);
        let after = format!("short-secret {}", "x".repeat(HELD));
        let text = CanonicalText::of(&json!({ "a": after }));
        let shown = summary(&text, &redactor);
        assert!(shown.starts_with(r#"{"a":"[redacted] xxx"#), "{shown}");
        assert_eq!(shown.len(), SUMMARY_BYTES);
    }

    #[tokio::test]
    async fn a_change_is_on_disk_before_it_is_answered() {
        let fixture = Fixture::new().await;
        let catalogue = fixture.path.catalogue();
        let ids = Ids::new(fixture.clock.clone(), Arc::new(SeededEntropy::new(3)));
        for (tool, wait) in [
            ("test::echo", Durability::Soon),
            ("test::fetch", Durability::Soon),
            ("test::post", Durability::OnDisk),
            ("test::count", Durability::OnDisk),
            ("test::launch", Durability::OnDisk),
        ] {
            let request = CallRequest::new(tool, json!({}), fixture.owner.clone());
            let mut call = Call::new(ids.next(), request, CancellationToken::new());
            call.resolved(catalogue.resolve(tool).unwrap().tool().unwrap().clone());
            assert_eq!(durability(&call), wait, "{tool}");
        }
        let before = fixture.commits();
        let post = fixture.call("test::post", json!({ "text": "x" }));
        post.await.unwrap();
        let commits = fixture.commits() - before;
        assert!(commits >= 2, "once before it began, once before its answer");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn concurrent_changes_share_their_fsyncs() {
        let fixture = Arc::new(Fixture::new().await);
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..200 {
            let fixture = fixture.clone();
            calls.spawn(async move { fixture.call("test::count", json!({})).await.unwrap() });
        }
        calls.join_all().await;
        let commits = fixture.commits();
        assert_eq!(fixture.count(), 200);
        assert!(commits < 200, "{commits} waits for 400 records");
    }
}
