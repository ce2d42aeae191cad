//! A pool of real workers, and a host that does what tests need.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::SystemClock;
use manyhands_guard::{Sandbox, Supervisor};
use manyhands_script::{
    Fault, FaultKind, Host, HostError, HostRequest, Limits, Pool, PoolParts, Report, Run, sandbox,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The worker of this crate.
pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_manyhands-script-worker"))
}

/// Answers what it is asked, and remembers it.
#[derive(Default)]
pub(crate) struct Echo {
    pub(crate) asked: Mutex<Vec<HostRequest>>,
    /// Calls that are being answered now, and the most there ever were.
    pub(crate) at_once: Mutex<(usize, usize)>,
    /// Told when a call of `never` has come.
    pub(crate) waiting: Notify,
    gathered: tokio::sync::Mutex<usize>,
    all_here: Notify,
}

/// Counts a call down however it ends.
struct Counted<'a>(&'a Echo);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.at_once.lock().unwrap().0 -= 1;
    }
}

#[async_trait]
impl Host for Echo {
    async fn call(&self, ask: HostRequest) -> Result<Value, HostError> {
        self.asked.lock().unwrap().push(ask.clone());
        let _counted = {
            let mut at_once = self.at_once.lock().unwrap();
            at_once.0 += 1;
            at_once.1 = at_once.1.max(at_once.0);
            Counted(self)
        };
        let (tool, arguments) = match ask {
            HostRequest::Tool {
                tool, arguments, ..
            } => (tool, arguments),
            HostRequest::CreateArtifact {
                filename, content, ..
            } => {
                return Ok(json!({"success": true, "filename": filename, "size": content.len()}));
            }
            HostRequest::ReadArtifact { identifier } => {
                return Ok(json!({"success": true, "content": format!("of {identifier}")}));
            }
        };
        match tool.as_str() {
            "say" => Ok(arguments),
            "fail" => Err(HostError::new("NOT_FOUND", "there is no such thing")),
            "big" => Ok(Value::String(
                "x".repeat(arguments["bytes"].as_u64().unwrap() as usize),
            )),
            "never" => {
                self.waiting.notify_one();
                std::future::pending().await
            }
            // Answers once as many as `of` are there.
            "meet" => {
                let of = arguments["of"].as_u64().unwrap() as usize;
                let here = self.all_here.notified();
                tokio::pin!(here);
                here.as_mut().enable();
                let mut gathered = self.gathered.lock().await;
                *gathered += 1;
                if *gathered >= of {
                    self.all_here.notify_waiters();
                } else {
                    drop(gathered);
                    here.await;
                }
                Ok(arguments)
            }
            other => Err(HostError::new("UNKNOWN_TOOL", format!("no tool {other}"))),
        }
    }
}

/// A pool with a host, and the supervisor that counts its workers.
pub(crate) struct Stage {
    pub(crate) pool: Pool,
    pub(crate) supervisor: Supervisor,
    pub(crate) host: Arc<Echo>,
    pub(crate) limits: Limits,
    pub(crate) timeout: Duration,
    pub(crate) cancel: CancellationToken,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(program(), &[], 0)
    }

    pub(crate) fn with(program: PathBuf, args: &[&str], warm: usize) -> Self {
        let sandbox = sandbox(&program);
        Self::within(sandbox, program, args, warm)
    }

    pub(crate) fn within(sandbox: Sandbox, program: PathBuf, args: &[&str], warm: usize) -> Self {
        let supervisor = Supervisor::new(16);
        let pool = Pool::new(PoolParts {
            supervisor: supervisor.clone(),
            sandbox,
            program,
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            warm,
            clock: Arc::new(SystemClock::default()),
        });
        Self {
            pool,
            supervisor,
            host: Arc::new(Echo::default()),
            limits: Limits::default(),
            timeout: Duration::from_secs(60),
            cancel: CancellationToken::new(),
        }
    }

    pub(crate) async fn run(&self, code: &str) -> Report {
        let run = Run {
            code: code.to_owned(),
            timeout: self.timeout,
            limits: self.limits,
            host: Arc::clone(&self.host) as Arc<dyn Host>,
        };
        self.pool.run(run, self.cancel.clone()).await
    }

    /// Waits until as many workers are left as wait in the pool; the test's own deadline is the runner's.
    pub(crate) async fn settled(&self) {
        while self.supervisor.running() > self.pool.waiting() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// After whatever was, another run is fine and no process is left.
    pub(crate) async fn is_healthy(&self) {
        let mut well = Self {
            pool: self.pool.clone(),
            supervisor: self.supervisor.clone(),
            host: Arc::default(),
            limits: Limits::default(),
            timeout: Duration::from_secs(60),
            cancel: CancellationToken::new(),
        };
        well.limits.calls = 10;
        let report = well.run("return await callTool('s', 'say', {a: 1});").await;
        assert_eq!(report.outcome, Ok(json!({"a": 1})));
        self.settled().await;
    }
}

/// `code` returns `expect`.
pub(crate) async fn check(code: &str, expect: Value) {
    let report = Stage::new().run(code).await;
    assert_eq!(report.outcome, Ok(expect), "{code}\n{:?}", report.logs);
}

/// `code` fails so.
pub(crate) async fn fault(code: &str, kind: FaultKind) -> Fault {
    let report = Stage::new().run(code).await;
    let fault = report.outcome.expect_err(code);
    assert_eq!(fault.kind, kind, "{code}: {fault:?}");
    fault
}
