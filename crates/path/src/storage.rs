//! Storage: a call stores no more than its caller may, and nothing while disk space is low.
//!
//! What an agent's workspace, a collection or the artifacts hold in all is bounded by the store.
//! Here is who pays: each caller has so many bytes an hour. The owner's own calls are not metered;
//! those that an agent makes while it works for the owner are. Arguments are paid for before the call
//! starts, whatever it stores them as; what it stores beyond that, such as a file that it was sent
//! piece by piece, is paid for as it is written.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::Limits;
use manyhands_core::{Caller, Clock, Effects, RunsOn, ToolError, ToolSpec};
use manyhands_store::{ArtifactQuota, Charge, DiskWatch, StoreError, charged_to};

use crate::canonical::text_len;
use crate::layer::{Call, CallResult, Layer, Next};

const HOUR: Duration = Duration::from_secs(3_600);
/// Callers that are metered one by one; more share one meter.
const MAX_CALLERS: usize = 10_000;
/// The meter that those beyond share.
const OTHERS: &str = "(others)";

/// Meters what calls store.
pub struct Storage {
    pub(crate) rates: Arc<WriteRates>,
}

#[async_trait]
impl Layer for Storage {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        if !stores(call.spec()?, call.effects) {
            return next.run(call).await;
        }
        let payer = self.rates.payer(call)?;
        if payer.who.is_none() {
            return next.run(call).await;
        }
        payer.prepay(text_len(&call.request.arguments))?;
        charged_to(payer, next.run(call)).await
    }
}

/// Whether a tool may leave something on this machine. What it leaves elsewhere is not ours to count.
fn stores(spec: &ToolSpec, effects: Effects) -> bool {
    let here = matches!(spec.runs_on, RunsOn::Gateway | RunsOn::Host);
    here && effects.changes() && !spec.frees_storage
}

/// How many artifacts, and how large, a caller may keep. 0 in the settings means no limit.
pub fn artifact_room(limits: &Limits, owner: bool) -> ArtifactQuota {
    let bounded = |limit: u64| if limit == 0 { u64::MAX } else { limit };
    let of_caller = |limit: u64| if owner { u64::MAX } else { bounded(limit) };
    ArtifactQuota {
        one: limits.artifact_file_bytes,
        agent: limits.artifact_agent_bytes,
        all: limits.artifact_total_bytes,
        agent_files: bounded(limits.artifact_agent_files),
        caller: of_caller(limits.artifact_caller_bytes),
        caller_files: of_caller(limits.artifact_caller_files),
    }
}

/// What callers have written in the last hour.
pub(crate) struct WriteRates {
    limits: Arc<ArcSwap<Limits>>,
    clock: Arc<dyn Clock>,
    disk: DiskWatch,
    meters: Mutex<HashMap<String, WriteMeter>>,
}

/// What one caller may still write, refilled evenly over the hour.
struct WriteMeter {
    left: f64,
    refilled: Duration,
}

impl WriteRates {
    pub(crate) fn new(
        limits: Arc<ArcSwap<Limits>>,
        clock: Arc<dyn Clock>,
        disk: DiskWatch,
    ) -> Self {
        Self {
            limits,
            clock,
            disk,
            meters: Mutex::default(),
        }
    }

    /// Who pays for what `call` stores; refused while disk space is too low for them.
    pub(crate) fn payer(self: &Arc<Self>, call: &Call) -> Result<Arc<Payer>, StoreError> {
        let owner = call.request.caller.is_owner();
        // In a turn the agent decides what is written, even when it works for the owner: a runaway
        // agent must not fill the disk.
        let direct =
            owner && call.request.caller.actor.is_none() && call.request.lineage.is_empty();
        self.disk.admit(direct)?;
        let who = match owner {
            _ if direct => None,
            true => Some(format!("agent:{}", call.request.agent)),
            false => Some(call.request.caller.key()),
        };
        Ok(Arc::new(Payer {
            who,
            rates: self.clone(),
            prepaid: AtomicU64::new(0),
        }))
    }

    /// Charges a caller for bytes that no call stores.
    pub(crate) fn charge_caller(&self, caller: &Caller, bytes: u64) -> Result<(), ToolError> {
        let owner = caller.is_owner();
        self.disk.admit(owner)?;
        match owner {
            true => Ok(()),
            false => self.charge(&caller.key(), bytes).map_err(ToolError::from),
        }
    }

    fn charge(&self, who: &str, bytes: u64) -> Result<(), StoreError> {
        let limit = self.limits.load().write_bytes_per_hour;
        if limit == 0 || bytes == 0 {
            return Ok(());
        }
        let now = self.clock.monotonic();
        let whole = limit as f64;
        let mut meters = self.meters.lock().expect("no panic while held");
        let mut who = who;
        if meters.len() >= MAX_CALLERS && !meters.contains_key(who) {
            // A full meter is the same as none.
            meters.retain(|_, meter| meter.refill(whole, now) < whole);
            if meters.len() >= MAX_CALLERS {
                who = OTHERS;
            }
        }
        if !meters.contains_key(who) {
            let meter = WriteMeter {
                left: whole,
                refilled: now,
            };
            meters.insert(who.to_owned(), meter);
        }
        let Some(meter) = meters.get_mut(who) else {
            return Ok(());
        };
        let (left, needed) = (meter.refill(whole, now), bytes as f64);
        if needed > left {
            let what = if needed > whole {
                format!(
                    "{bytes} bytes are more than one caller may write in an hour: {limit} (limits.write_bytes_per_hour); write less, or ask the owner to raise the limit"
                )
            } else {
                let minutes = ((needed - left) / whole * 60.0).ceil();
                format!(
                    "this caller has written {} of {limit} bytes that it may write in an hour (limits.write_bytes_per_hour); retry in {minutes} minutes, or ask the owner to raise the limit",
                    (whole - left) as u64,
                )
            };
            return Err(StoreError::Quota { what });
        }
        meter.left -= needed;
        Ok(())
    }

    fn refund(&self, who: &str, bytes: u64) {
        let mut meters = self.meters.lock().expect("no panic while held");
        if let Some(meter) = meters.get_mut(who) {
            meter.left += bytes as f64;
        }
    }
}

impl WriteMeter {
    fn refill(&mut self, whole: f64, now: Duration) -> f64 {
        let elapsed = now.saturating_sub(self.refilled).as_secs_f64();
        self.left = (self.left + elapsed * whole / HOUR.as_secs_f64()).min(whole);
        self.refilled = now;
        self.left
    }
}

/// Pays for what one call stores.
pub(crate) struct Payer {
    /// The meter; none where nothing is metered.
    who: Option<String>,
    rates: Arc<WriteRates>,
    /// Paid for with the arguments, and not stored yet.
    prepaid: AtomicU64,
}

impl Payer {
    fn prepay(&self, bytes: u64) -> Result<(), StoreError> {
        self.charge(bytes)?;
        self.prepaid.store(bytes, Ordering::Release);
        Ok(())
    }
}

impl Charge for Payer {
    fn charge(&self, bytes: u64) -> Result<(), StoreError> {
        let Some(who) = &self.who else {
            return Ok(());
        };
        // From what was prepaid first: bytes that arrived as arguments are charged once.
        let spend = |left: u64| Some(left.saturating_sub(bytes));
        let paid = self
            .prepaid
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, spend);
        let paid = paid.unwrap_or_default().min(bytes);
        let charged = self.rates.charge(who, bytes - paid);
        // The write is refused, so nothing of what was prepaid is used up.
        if charged.is_err() {
            self.prepaid.fetch_add(paid, Ordering::AcqRel);
        }
        charged
    }

    fn refund(&self, bytes: u64) {
        if let Some(who) = &self.who {
            self.rates.refund(who, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, client};
    use manyhands_core::{CallRequest, ErrorCode, Invoke as _};
    use serde_json::{Value, json};

    const KIB: u64 = 1024;

    fn text(bytes: u64) -> Value {
        json!({ "text": "x".repeat(bytes as usize) })
    }

    #[tokio::test]
    async fn writes_are_limited_per_caller_and_hour_and_not_for_the_owner() {
        let fixture = Fixture::with_limits(|l| l.write_bytes_per_hour = 10 * KIB).await;
        let write =
            |who: &str, bytes| fixture.call_as(client(who, &["*"]), "test::save", text(bytes));
        let before = fixture.count();
        write("busy", 6 * KIB).await.unwrap();
        let refused = write("busy", 6 * KIB).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::BudgetExceeded);
        for part in ["limits.write_bytes_per_hour", "10240", "retry in"] {
            assert!(refused.message.contains(part), "{refused}");
        }
        let large = write("busy", 11 * KIB).await.unwrap_err();
        assert!(
            large.message.contains("more than one caller may write"),
            "{large}"
        );
        assert_eq!(fixture.count(), before + 1, "nothing refused has run");
        write("other", 6 * KIB).await.unwrap();
        for _ in 0..5 {
            fixture.call("test::save", text(6 * KIB)).await.unwrap();
        }
        fixture
            .call_as(client("busy", &["*"]), "test::echo", text(6 * KIB))
            .await
            .unwrap();
        fixture.clock.advance(HOUR / 2);
        write("busy", 6 * KIB).await.unwrap();
        fixture.clock.advance(HOUR);
        write("busy", 9 * KIB).await.unwrap();
    }

    #[tokio::test]
    async fn an_agent_that_works_for_the_owner_is_metered() {
        let fixture = Fixture::with_limits(|l| l.write_bytes_per_hour = 10 * KIB).await;
        let write = |lineage: &[&str]| {
            let mut request = CallRequest::new("test::save", text(6 * KIB), fixture.owner.clone());
            request.lineage = lineage.iter().map(|key| (*key).to_owned()).collect();
            fixture.path.invoke(request)
        };
        write(&["agent:main:a"]).await.unwrap();
        let refused = write(&["agent:main:a"]).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::BudgetExceeded);
        write(&[]).await.unwrap();
    }

    #[tokio::test]
    async fn bytes_stored_beyond_the_arguments_are_charged_once() {
        let fixture = Fixture::with_limits(|l| l.write_bytes_per_hour = 1_000).await;
        let limits = Limits {
            write_bytes_per_hour: 1_000,
            ..Limits::default()
        };
        let rates = Arc::new(WriteRates::new(
            Arc::new(ArcSwap::from_pointee(limits)),
            fixture.clock.clone(),
            fixture.disk(),
        ));
        let call = fixture.call_of(client("c", &["*"]), "t");
        let payer = rates.payer(&call).unwrap();
        payer.prepay(400).unwrap();
        payer.charge(400).unwrap();
        let left = || rates.meters.lock().unwrap().values().next().unwrap().left;
        assert!(
            (left() - 600.0).abs() < 0.001,
            "the arguments were paid for: {}",
            left()
        );
        payer.charge(500).unwrap();
        assert!((left() - 100.0).abs() < 0.001);
        payer.charge(101).unwrap_err();
        payer.refund(500);
        assert!((left() - 600.0).abs() < 0.001);
        let another = rates.payer(&call).unwrap();
        another.prepay(601).unwrap_err();
        another.prepay(600).unwrap();
    }

    #[tokio::test]
    async fn beyond_a_limit_callers_share_a_meter() {
        let fixture = Fixture::new().await;
        let limits = Limits {
            write_bytes_per_hour: 1_000,
            ..Limits::default()
        };
        let rates = WriteRates::new(
            Arc::new(ArcSwap::from_pointee(limits)),
            fixture.clock.clone(),
            fixture.disk(),
        );
        for number in 0..MAX_CALLERS {
            rates.charge(&number.to_string(), 1_000).unwrap();
        }
        rates.charge("late", 600).unwrap();
        rates.charge("later", 600).unwrap_err();
        assert_eq!(rates.meters.lock().unwrap().len(), MAX_CALLERS + 1);
        fixture.clock.advance(HOUR);
        rates.charge("later", 600).unwrap();
        assert!(
            rates.meters.lock().unwrap().len() < 3,
            "idle meters are dropped"
        );
    }

    #[tokio::test]
    async fn while_space_is_low_others_cannot_write_and_the_owner_can() {
        let fixture = Fixture::new().await;
        let who = || client("c", &["*"]);
        fixture
            .call_as(who(), "test::count", json!({}))
            .await
            .unwrap();
        fixture.min_free(fixture.disk().space().free.saturating_mul(2));
        let before = fixture.count();
        for tool in ["test::count", "test::save", "test::post"] {
            let arguments = if tool == "test::count" {
                json!({})
            } else {
                text(1)
            };
            let low = fixture.call_as(who(), tool, arguments).await.unwrap_err();
            assert_eq!(low.code, ErrorCode::StorageFull, "{tool}");
            assert!(low.message.contains("limits.min_free_bytes"), "{low}");
        }
        assert_eq!(fixture.count(), before, "nothing has run");
        fixture.call_as(who(), "test::echo", text(1)).await.unwrap();
        fixture
            .call_as(who(), "test::delete", json!({}))
            .await
            .unwrap();
        fixture.call("test::count", json!({})).await.unwrap();
        fixture.min_free(u64::MAX);
        let low = fixture.call("test::count", json!({})).await.unwrap_err();
        assert_eq!(
            low.code,
            ErrorCode::StorageFull,
            "the reserve is the audit's"
        );
        fixture.call("test::delete", json!({})).await.unwrap();
        fixture.call("test::echo", text(1)).await.unwrap();
        fixture.min_free(0);
        fixture
            .call_as(who(), "test::count", json!({}))
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_large_result_is_stored_only_within_its_callers_limit() {
        let fixture = Fixture::with_limits(|limits| {
            limits.result_bytes = 1_000;
            limits.write_bytes_per_hour = 5_000;
        })
        .await;
        let read = |bytes| fixture.call_as(client("c", &["*"]), "test::echo", text(bytes));
        let kept = read(3_000).await.unwrap().cut.unwrap();
        assert!(kept.artifact().is_some());
        let cut = read(3_001).await.unwrap().cut.unwrap();
        assert_eq!((cut.artifact(), cut.full_size() > 3_000), (None, true));
        let owner = fixture.call("test::echo", text(3_002)).await.unwrap();
        assert!(owner.cut.unwrap().artifact().is_some());
    }
}
