//! A real path over a real store, with a few small tools to send down it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::{Limits, Policy};
use manyhands_core::{
    ArtifactId, CallContext, CallRequest, Caller, Catalogue, Credential, Effects, ErrorCode, Ids,
    Invoke, ManualClock, Outcome, Pattern, Principal, Rights, Role, Secret, SeededEntropy, Step,
    Timestamp, TokenId, Tool, ToolError, ToolSpec,
};
use manyhands_guard::Redactor;
use manyhands_store::{
    Audit, AuditEntry, AuditFilter, AuditKind, AuditRecord, DiskWatch, Durability, Quotas, Store,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::layer::{Call, CallResult};
use crate::stack::{Parts, Path};

/// What the fixture's redactor knows.
pub(crate) const SECRET: &str = "s3cr3t-canary-value";

pub(crate) fn caller(role: Role, name: &str, tools: &[&str]) -> Caller {
    let mut bytes = [0_u8; 16];
    let kept = name.len().min(16);
    bytes[..kept].copy_from_slice(&name.as_bytes()[..kept]);
    let credential = Credential {
        id: TokenId(uuid::Uuid::from_bytes(bytes)),
        name: name.into(),
    };
    let principal = match role {
        Role::Owner => Principal::Owner(credential),
        Role::Client | Role::ReadOnly => Principal::Token(credential),
        Role::Node => Principal::Node(credential),
        Role::Channel => Principal::Bridge(credential),
    };
    let tools = tools.iter().map(|tool| Pattern::new(*tool)).collect();
    Caller::new(principal, name, Rights::new(role, tools))
}

pub(crate) fn client(name: &str, tools: &[&str]) -> Caller {
    caller(Role::Client, name, tools)
}

pub(crate) fn owner() -> Caller {
    caller(Role::Owner, "owner", &["*"])
}

pub(crate) async fn call_on(
    path: &Path,
    caller: Caller,
    tool: &str,
    arguments: Value,
) -> CallResult {
    path.invoke(CallRequest::new(tool, arguments, Arc::new(caller)))
        .await
}

pub(crate) struct Fixture {
    pub(crate) path: Path,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) owner: Arc<Caller>,
    pub(crate) hanging: Arc<Notify>,
    pub(crate) stopped: Arc<Notify>,
    counted: Arc<AtomicUsize>,
    limits: Limits,
    store: Store,
    catalogue: Arc<ArcSwap<Catalogue>>,
    _home: tempfile::TempDir,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with_limits(|_| {}).await
    }

    pub(crate) async fn with_limits(change: impl FnOnce(&mut Limits)) -> Self {
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp(1_700_000_000_000)));
        let ids = Ids::new(clock.clone(), Arc::new(SeededEntropy::new(1)));
        let store = Store::open(home.path(), clock.clone(), ids, None)
            .await
            .unwrap();
        let (hanging, stopped, counted) = <(Arc<Notify>, Arc<Notify>, Arc<AtomicUsize>)>::default();
        let mut catalogue = Catalogue::default();
        for (name, effects, act) in [
            ("test::echo", Effects::READS, Act::Echo),
            (
                "test::fetch",
                Effects::READS.and(Effects::LEAVES),
                Act::Echo,
            ),
            (
                "test::post",
                Effects::READS.and(Effects::LEAVES).and(Effects::WRITES),
                Act::Echo,
            ),
            ("test::fail", Effects::READS, Act::Fail),
            ("test::print", Effects::READS, Act::Print),
            ("test::panic", Effects::READS, Act::Panic),
            (
                "test::hang",
                Effects::WRITES,
                Act::Hang(hanging.clone(), stopped.clone()),
            ),
            (
                "test::brief",
                Effects::WRITES,
                Act::Hang(hanging.clone(), stopped.clone()),
            ),
            (
                "test::wait",
                Effects::READS,
                Act::Hang(hanging.clone(), stopped.clone()),
            ),
            ("test::count", Effects::WRITES, Act::Count(counted.clone())),
            ("test::launch", Effects::RUNS, Act::Count(counted.clone())),
            ("test::save", Effects::WRITES, Act::Count(counted.clone())),
            ("test::delete", Effects::WRITES, Act::Count(counted.clone())),
        ] {
            catalogue
                .add(Arc::new(TestTool::new(name, effects, act)))
                .unwrap();
        }
        let catalogue = Arc::new(ArcSwap::from_pointee(catalogue));
        let mut limits = Limits::default();
        change(&mut limits);
        let path = build(&store, &clock, &catalogue, &limits);
        let owner = Arc::new(owner());
        Self {
            path,
            clock,
            owner,
            hanging,
            stopped,
            counted,
            limits,
            store,
            catalogue,
            _home: home,
        }
    }

    /// The path as a restarted gateway would build it, over the same store.
    pub(crate) fn restarted(&self) -> Path {
        build(&self.store, &self.clock, &self.catalogue, &self.limits)
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> CallResult {
        self.call_as((*self.owner).clone(), tool, arguments).await
    }

    pub(crate) async fn call_as(&self, caller: Caller, tool: &str, arguments: Value) -> CallResult {
        call_on(&self.path, caller, tool, arguments).await
    }

    /// How often a tool with effects really ran.
    pub(crate) fn count(&self) -> usize {
        self.counted.load(Ordering::SeqCst)
    }

    /// How often the audit was written to disk.
    pub(crate) fn commits(&self) -> u64 {
        self.store.audit().commits()
    }

    /// The audit of one tool, newest first, once everything queued is on disk.
    pub(crate) async fn audit(&self, tool: &str) -> Vec<AuditRecord> {
        let marker = AuditEntry::new(AuditKind::Event, Timestamp(0));
        self.store
            .audit()
            .record(marker, Durability::OnDisk)
            .await
            .unwrap();
        let filter = AuditFilter {
            tool: Some(Pattern::new(tool)),
            ..AuditFilter::default()
        };
        self.store.audit().query(&filter).await.unwrap()
    }

    /// The whole audit, newest first, once everything queued is on disk.
    pub(crate) async fn whole_audit(&self) -> Vec<AuditRecord> {
        self.audit("").await;
        let filter = AuditFilter {
            limit: Some(100_000),
            ..AuditFilter::default()
        };
        self.store.audit().query(&filter).await.unwrap()
    }

    /// The chain that the path writes to.
    pub(crate) fn chain(&self) -> Audit {
        self.store.audit().clone()
    }

    /// Free space where the store is.
    pub(crate) fn disk(&self) -> DiskWatch {
        self.store.disk().clone()
    }

    /// Sets how much space must be free for others than the owner to write.
    pub(crate) fn min_free(&self, bytes: u64) {
        self.store.limit(Quotas {
            min_free_bytes: bytes,
            ..Quotas::default()
        });
    }

    /// Stops the path, closes the store, and says how large the database is then.
    pub(crate) async fn size_when_closed(self) -> u64 {
        self.path.drain(Duration::ZERO).await;
        self.store.close().await.unwrap();
        let database = self._home.path().join("manyhands.db");
        std::fs::metadata(database).unwrap().len()
    }

    /// A call as a layer sees it before its tool is found.
    pub(crate) fn call_of(&self, caller: Caller, tool: &str) -> Call {
        let ids = Ids::new(self.clock.clone(), Arc::new(SeededEntropy::new(3)));
        let request = CallRequest::new(tool, json!({}), Arc::new(caller));
        Call::new(ids.next(), request, CancellationToken::new())
    }

    pub(crate) async fn last_audit(&self, tool: &str) -> AuditEntry {
        self.path.drain(Duration::from_secs(5)).await;
        self.audit(tool).await.remove(0).entry
    }

    pub(crate) async fn last_audit_of(&self, tool: &str) -> AuditEntry {
        self.audit(tool).await.remove(0).entry
    }

    pub(crate) async fn artifact(&self, id: ArtifactId) -> Vec<u8> {
        let stream = self.store.artifacts().open(id, None).await.unwrap();
        let chunks: Vec<_> = futures_util::TryStreamExt::try_collect(stream)
            .await
            .unwrap();
        chunks.concat()
    }
}

fn build(
    store: &Store,
    clock: &Arc<ManualClock>,
    catalogue: &Arc<ArcSwap<Catalogue>>,
    limits: &Limits,
) -> Path {
    Path::new(Parts {
        catalogue: catalogue.clone(),
        store: store.clone(),
        clock: clock.clone(),
        ids: Ids::new(clock.clone(), Arc::new(SeededEntropy::new(2))),
        redactor: Arc::new(ArcSwap::from_pointee(Redactor::new(&[Secret::new(SECRET)]))),
        limits: limits.clone(),
        policy: Policy::default(),
    })
    .unwrap()
}

enum Act {
    Echo,
    /// Prints `pieces`, then tells the `step`.
    Print,
    Fail,
    Panic,
    Hang(Arc<Notify>, Arc<Notify>),
    Count(Arc<AtomicUsize>),
}

struct TestTool {
    spec: ToolSpec,
    act: Act,
}

impl TestTool {
    fn new(name: &str, effects: Effects, act: Act) -> Self {
        let mut spec = ToolSpec::new(name, "test").effects(effects);
        if name == "test::brief" {
            spec = spec.deadline(Duration::from_millis(20));
        }
        if name == "test::delete" {
            spec = spec.frees_storage();
        }
        if name == "test::wait" {
            spec = spec.waits_for_turns();
        }
        let takes_text = !matches!(act, Act::Hang(..) | Act::Panic | Act::Print)
            && !["test::count", "test::delete"].contains(&name);
        if takes_text {
            spec.input_schema = Arc::new(json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["text"],
                "properties": { "command": { "type": "string" }, "text": { "type": "string" } },
            }));
        }
        if matches!(act, Act::Print) {
            spec.input_schema = Arc::new(json!({ "type": "object" }));
        }
        Self { spec, act }
    }
}

#[async_trait]
impl Tool for TestTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Value, context: &CallContext) -> CallResult {
        match &self.act {
            Act::Echo => Ok(Outcome::value(arguments)),
            Act::Fail => Err(ToolError::new(
                ErrorCode::Failed,
                format!("could not do {arguments}"),
            )),
            Act::Print => {
                for piece in arguments["pieces"].as_array().into_iter().flatten() {
                    context.progress.print(piece.as_str().unwrap_or_default());
                    tokio::task::yield_now().await;
                }
                context.progress.report(Step {
                    message: arguments["step"].as_str().map(str::to_owned),
                    ..Step::default()
                });
                Ok(Outcome::value(json!({})))
            }
            Act::Panic => panic!("as asked"),
            Act::Hang(hanging, stopped) => {
                hanging.notify_one();
                context.cancel.cancelled().await;
                stopped.notify_one();
                std::future::pending().await
            }
            Act::Count(counted) => {
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(Outcome::value(json!({})))
            }
        }
    }
}
