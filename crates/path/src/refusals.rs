//! Refusals: a flood of refused calls costs a few audit entries a minute, not one for each call.
//!
//! The first refusals of a caller in a minute are recorded one by one, as all calls are. Further ones
//! are counted, and once a minute the counts are recorded: one entry for each caller, tool and error
//! code. A caller that goes on past `limits.calls_per_minute` is turned away before its calls are
//! even looked at, and those are counted too. Every refusal is in the audit, alone or in a count.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use arc_swap::ArcSwap;
use manyhands_config::Limits;
use manyhands_core::{Caller, Clock, ErrorCode, Timestamp, ToolError};
use manyhands_store::{Audit as Chain, AuditEntry, AuditKind, AuditStatus, Durability};
use serde_json::json;

use crate::layer::Call;

/// How long refusals are counted together.
const WINDOW: Duration = Duration::from_secs(60);
/// Refusals of one caller in a window that are recorded one by one.
const RECORDED: u64 = 60;
/// Callers that are told apart. Refusals of more callers are counted together.
const MAX_CALLERS: usize = 1_024;
/// Pairs of tool and error code that are told apart for one caller.
const MAX_KINDS: usize = 32;

/// In place of a caller or tool that is not told apart.
const OTHERS: &str = "(others)";
/// In place of a name that is no tool's: callers could choose as many as they like.
const UNKNOWN: &str = "(unknown)";
/// In place of a tool that was not looked up.
const ANY: &str = "(any)";

/// What becomes of the audit entry of one refused call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Recording {
    /// It is recorded by itself.
    Individual,
    /// It is counted.
    Counted,
    /// It is counted, the first one of its window: `caller` is to be recorded as counted from now on.
    /// Without that a crash within the window would leave no trace of the flood.
    FirstCounted {
        /// The caller whose refusals are counted.
        caller: String,
    },
}

/// Counts refusals.
pub(crate) struct Refusals {
    chain: Chain,
    clock: Arc<dyn Clock>,
    limits: Arc<ArcSwap<Limits>>,
    windows: Mutex<HashMap<String, Window>>,
    /// Until when some caller is turned away, in milliseconds of the monotonic clock: ordinary calls
    /// look at nothing else.
    blocked_until: AtomicU64,
    writing: AtomicBool,
}

struct Window {
    began: Duration,
    refused: u64,
    counts: HashMap<(String, &'static str), Count>,
}

#[derive(Clone, Copy)]
struct Count {
    calls: u64,
    first: Timestamp,
    last: Timestamp,
}

impl Window {
    fn new(began: Duration) -> Self {
        Self {
            began,
            refused: 0,
            counts: HashMap::new(),
        }
    }

    fn ends(&self) -> Duration {
        self.began + WINDOW
    }

    /// Starts over once its time is up; counts stay until they are recorded.
    fn roll(&mut self, now: Duration) {
        if now >= self.ends() {
            (self.began, self.refused) = (now, 0);
        }
    }

    fn count(&mut self, tool: &str, code: &'static str, count: Count) {
        let full = self.counts.len() >= MAX_KINDS;
        let mut kind = (tool.to_owned(), code);
        if full && !self.counts.contains_key(&kind) {
            kind.0 = OTHERS.to_owned();
        }
        let known = self
            .counts
            .entry(kind)
            .or_insert(Count { calls: 0, ..count });
        known.calls += count.calls;
        known.first = known.first.min(count.first);
        known.last = known.last.max(count.last);
    }
}

impl Refusals {
    pub(crate) fn new(
        chain: Chain,
        clock: Arc<dyn Clock>,
        limits: Arc<ArcSwap<Limits>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            chain,
            clock,
            limits,
            windows: Mutex::default(),
            blocked_until: AtomicU64::new(0),
            writing: AtomicBool::new(false),
        })
    }

    fn windows(&self) -> MutexGuard<'_, HashMap<String, Window>> {
        self.windows.lock().expect("no panic while held")
    }

    /// Turns a caller away who was refused too often in this window.
    pub(crate) fn admit(self: &Arc<Self>, caller: &Caller) -> Result<(), ToolError> {
        let now = self.clock.monotonic();
        if millis(now) >= self.blocked_until.load(Ordering::Relaxed) || caller.is_owner() {
            return Ok(());
        }
        let most = self.most();
        let mut windows = self.windows();
        let Some(window) = windows.get_mut(&caller.key()) else {
            return Ok(());
        };
        window.roll(now);
        if window.refused < most {
            return Ok(());
        }
        window.count(ANY, ErrorCode::RateLimited.as_str(), self.once());
        let wait = window.ends().saturating_sub(now);
        drop(windows);
        self.write_later();
        let message = format!("more than {most} of this caller's calls were refused in a minute");
        Err(ToolError::new(ErrorCode::RateLimited, message)
            .hint("stop making calls that are refused; the owner sees them in the audit log")
            .retry_after(wait))
    }

    /// Refusals in a window from which on a caller is turned away. Never fewer than are recorded one
    /// by one: a tight limit on calls is no reason to turn somebody away who mistypes.
    fn most(&self) -> u64 {
        RECORDED.max(self.limits.load().calls_per_minute.into())
    }

    /// Decides how a refused call gets into the audit, and counts it if it is not recorded alone.
    pub(crate) fn record(self: &Arc<Self>, call: &Call, code: ErrorCode) -> Recording {
        let now = self.clock.monotonic();
        let mut windows = self.windows();
        let (caller, window) = find(&mut windows, call.request.caller.key(), now);
        window.roll(now);
        window.refused += 1;
        if window.refused >= self.most() && !call.request.caller.is_owner() {
            let until = millis(window.ends());
            // The maximum: another caller may be blocked for longer.
            self.blocked_until.fetch_max(until, Ordering::Relaxed);
        }
        if window.refused <= RECORDED {
            return Recording::Individual;
        }
        let tool = call
            .found()
            .map_or(UNKNOWN, |tool| tool.spec().name.as_str());
        window.count(tool, code.as_str(), self.once());
        let begun = window.refused == RECORDED + 1;
        drop(windows);
        self.write_later();
        match begun {
            true => Recording::FirstCounted { caller },
            false => Recording::Counted,
        }
    }

    fn once(&self) -> Count {
        let now = self.clock.now();
        Count {
            calls: 1,
            first: now,
            last: now,
        }
    }

    /// The entry that says that refusals of `caller` are counted from now on.
    pub(crate) fn flood_entry(&self, caller: String) -> AuditEntry {
        AuditEntry {
            caller,
            tool: "audit".to_owned(),
            code: "refusals_counted".to_owned(),
            summary: format!(
                "more than {RECORDED} calls were refused in a minute: further ones are counted, and recorded as one entry for each tool and code"
            ),
            ..AuditEntry::new(AuditKind::Event, self.clock.now())
        }
    }

    /// Records the counts when the window is over, and goes on while there are any.
    fn write_later(self: &Arc<Self>) {
        if self.writing.swap(true, Ordering::AcqRel) {
            return;
        }
        // Weak, so that the task does not keep the audit open after the gateway has stopped.
        let refusals = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(WINDOW).await;
                let Some(refusals) = refusals.upgrade() else {
                    return;
                };
                refusals.flush().await;
                // Cleared before the check: a refusal counted after the check then starts another writer.
                refusals.writing.store(false, Ordering::Release);
                let more = refusals.windows().values().any(|w| !w.counts.is_empty());
                if !more || refusals.writing.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
        });
    }

    /// Records all counts. What cannot be recorded stays counted.
    pub(crate) async fn flush(&self) {
        let now = self.clock.monotonic();
        let mut all = Vec::new();
        self.windows().retain(|caller, window| {
            for ((tool, code), count) in window.counts.drain() {
                all.push((caller.clone(), tool, code, count));
            }
            now < window.ends()
        });
        // Recorded without the lock: this waits for the disk, and refusals go on meanwhile.
        for (caller, tool, code, count) in all {
            let entry = AuditEntry {
                caller: caller.clone(),
                tool: tool.clone(),
                code: code.to_owned(),
                status: AuditStatus::Error,
                summary: json!({
                    "count": count.calls,
                    "first": count.first.rfc3339(),
                    "last": count.last.rfc3339(),
                })
                .to_string(),
                ..AuditEntry::new(AuditKind::Refused, self.clock.now())
            };
            if let Err(error) = self.chain.record(entry, Durability::Soon).await {
                tracing::error!(event = "audit_record_failed", %error, caller, tool, code, count = count.calls, "failed to record counted refusals in the audit; will retry");
                let mut windows = self.windows();
                find(&mut windows, caller, now).1.count(&tool, code, count);
            }
        }
    }
}

/// The window of a caller, or the one that it shares when too many callers are told apart already.
fn find(
    windows: &mut HashMap<String, Window>,
    caller: String,
    now: Duration,
) -> (String, &mut Window) {
    let mut caller = caller;
    if windows.len() >= MAX_CALLERS && !windows.contains_key(&caller) {
        windows.retain(|_, window| now < window.ends() || !window.counts.is_empty());
        if windows.len() >= MAX_CALLERS {
            caller = OTHERS.to_owned();
        }
    }
    match windows.entry(caller.clone()) {
        Entry::Occupied(known) => (caller, known.into_mut()),
        Entry::Vacant(free) => (caller, free.insert(Window::new(now))),
    }
}

fn millis(at: Duration) -> u64 {
    u64::try_from(at.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, client};
    use manyhands_store::AuditRecord;
    use serde_json::{Value, json};

    /// Everything that the audit says of refusals by callers whose key contains `who`.
    async fn refusals(fixture: &Fixture, who: &str) -> Vec<AuditRecord> {
        let all = fixture.whole_audit().await;
        let of = |record: &AuditRecord| {
            record.entry.kind == AuditKind::Refused && record.entry.caller.contains(who)
        };
        all.into_iter().filter(of).collect()
    }

    /// How many calls an entry stands for.
    fn calls(record: &AuditRecord) -> u64 {
        let counted = serde_json::from_str::<Value>(&record.entry.summary).ok();
        counted.and_then(|said| said["count"].as_u64()).unwrap_or(1)
    }

    fn total(records: &[AuditRecord]) -> u64 {
        records.iter().map(calls).sum()
    }

    #[tokio::test]
    async fn twenty_thousand_refusals_grow_the_audit_by_little_and_all_are_counted() {
        let quiet = Fixture::new().await.size_when_closed().await;
        let fixture = Fixture::new().await;
        let mut codes: HashMap<ErrorCode, u64> = HashMap::new();
        for number in 0..20_000 {
            let stranger = client("stranger", &["other"]);
            let long = json!({ "text": format!("{number}{}", "x".repeat(2_000)) });
            let refused = fixture.call_as(stranger, "test::post", long).await;
            *codes.entry(refused.unwrap_err().code).or_default() += 1;
        }
        assert_eq!(codes[&ErrorCode::Forbidden], 600, "limits.calls_per_minute");
        assert_eq!(codes[&ErrorCode::RateLimited], 19_400);
        fixture.path.drain(Duration::ZERO).await;
        let recorded = refusals(&fixture, "stranger").await;
        assert_eq!(total(&recorded), 20_000, "every refusal is counted");
        assert_eq!(recorded.len(), RECORDED as usize + 2);
        let grown = fixture.size_when_closed().await - quiet;
        assert!(grown < 100_000, "{grown} bytes");
    }

    #[tokio::test]
    async fn ordinary_refusals_are_recorded_one_by_one() {
        let fixture = Fixture::new().await;
        for minute in 1..=3 {
            for _ in 0..RECORDED {
                let stranger = client("stranger", &["other"]);
                let refused = fixture.call_as(stranger, "test::count", json!({})).await;
                assert_eq!(refused.unwrap_err().code, ErrorCode::Forbidden);
            }
            let recorded = refusals(&fixture, "stranger").await;
            assert_eq!(recorded.len(), minute * RECORDED as usize);
            assert!(
                recorded
                    .iter()
                    .all(|one| calls(one) == 1 && one.entry.call.is_some())
            );
            fixture.clock.advance(WINDOW);
        }
    }

    #[tokio::test]
    async fn a_flood_is_recorded_as_it_begins_and_when_its_window_is_over() {
        let fixture = Fixture::new().await;
        for _ in 0..RECORDED + 5 {
            let stranger = client("stranger", &["other"]);
            let _ = fixture.call_as(stranger, "test::count", json!({})).await;
        }
        let begun = fixture.audit("audit").await;
        assert_eq!(begun[0].entry.code, "refusals_counted");
        assert!(begun[0].entry.caller.contains("stranger"));
        assert_eq!(total(&refusals(&fixture, "stranger").await), RECORDED);
        fixture.clock.advance(WINDOW);
        tokio::time::pause();
        tokio::time::advance(WINDOW).await;
        tokio::time::resume();
        let mut recorded = refusals(&fixture, "stranger").await;
        while total(&recorded) < RECORDED + 5 {
            tokio::task::yield_now().await;
            recorded = refusals(&fixture, "stranger").await;
        }
        let last = &recorded[0].entry;
        assert_eq!(
            (last.tool.as_str(), last.code.as_str()),
            ("test::count", "forbidden")
        );
        let said: Value = serde_json::from_str(&last.summary).unwrap();
        assert_eq!(said["count"], 5);
        assert_eq!(said["first"], "2023-11-14T22:13:20Z");
    }

    #[tokio::test]
    async fn only_the_flooding_caller_is_blocked_and_only_for_a_while() {
        let fixture = Fixture::with_limits(|limits| limits.calls_per_minute = 100).await;
        let text = json!({ "text": "x" });
        let loud = || client("loud", &["test::echo"]);
        for _ in 0..100 {
            let refused = fixture.call_as(loud(), "test::count", json!({})).await;
            assert_eq!(refused.unwrap_err().code, ErrorCode::Forbidden);
        }
        let turned = fixture.call_as(loud(), "test::echo", text.clone()).await;
        let turned = turned.unwrap_err();
        assert_eq!(turned.code, ErrorCode::RateLimited);
        assert_eq!(turned.retry_after, Some(WINDOW));
        let quiet = client("quiet", &["test::echo"]);
        assert!(
            fixture
                .call_as(quiet, "test::echo", text.clone())
                .await
                .is_ok()
        );
        for _ in 0..200 {
            let refused = fixture.call("nonsense", json!({})).await.unwrap_err();
            assert_eq!(
                refused.code,
                ErrorCode::UnknownTool,
                "the owner is never turned away"
            );
        }
        fixture.clock.advance(WINDOW);
        assert!(fixture.call_as(loud(), "test::echo", text).await.is_ok());
    }

    #[tokio::test]
    async fn memory_is_bounded_however_many_callers_and_tools_there_are() {
        let fixture = Fixture::new().await;
        let refusals = Refusals::new(
            fixture.chain(),
            fixture.clock.clone(),
            Arc::new(ArcSwap::from_pointee(Limits::default())),
        );
        let callers = MAX_CALLERS + 500;
        for number in 0..callers {
            let who = client(&format!("c{number}"), &[]);
            let call = fixture.call_of(who, "nonsense");
            for _ in 0..RECORDED + 10 {
                refusals.record(&call, ErrorCode::UnknownTool);
            }
        }
        assert_eq!(refusals.windows().len(), MAX_CALLERS + 1);
        let mut window = Window::new(Duration::ZERO);
        for number in 0..1_000 {
            window.count(&format!("t{number}"), "forbidden", refusals.once());
        }
        assert_eq!(window.counts.len(), MAX_KINDS + 1);
        let counted: u64 = window.counts.values().map(|count| count.calls).sum();
        assert_eq!(counted, 1_000, "none is lost");
        let windows = refusals.windows();
        let sum: u64 = windows
            .values()
            .flat_map(|w| w.counts.values())
            .map(|c| c.calls)
            .sum();
        let alone = RECORDED * windows.len() as u64;
        assert_eq!(sum + alone, (RECORDED + 10) * callers as u64);
    }
}
