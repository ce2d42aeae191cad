//! What the path adds to a call: the same tool called bare and through every layer.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::Settings;
use manyhands_core::{
    CallContext, CallId, CallRequest, Caller, Catalogue, Clock, Effects, Ids, Invoke, OsEntropy,
    Outcome, SystemClock, Tool, ToolError, ToolSpec,
};
use manyhands_guard::Redactor;
use manyhands_path::{Parts, Path};
use manyhands_store::Store;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::stats::{line, micros, percentile, spread};

const CALLS: usize = 20_000;

struct Echo(ToolSpec);

#[async_trait]
impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, arguments: Value, _: &CallContext) -> Result<Outcome, ToolError> {
        Ok(Outcome::value(arguments))
    }
}

/// Times one tool that only echoes: bare, then through the path.
pub async fn path_cost() -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let ids = Ids::new(clock.clone(), Arc::new(OsEntropy));
    let store = Store::open(home.path(), clock.clone(), ids.clone(), None).await?;
    let mut spec = ToolSpec::new("bench::echo", "bench").effects(Effects::READS);
    spec.input_schema = Arc::new(json!({
        "type": "object", "additionalProperties": false, "required": ["path"],
        "properties": { "path": { "type": "string" }, "lines": { "type": "integer", "minimum": 1 } },
    }));
    let tool = Arc::new(Echo(spec));
    let mut catalogue = Catalogue::default();
    catalogue.add(tool.clone())?;
    let settings = Settings::default();
    let path = Path::new(Parts {
        catalogue: Arc::new(ArcSwap::from_pointee(catalogue)),
        store: store.clone(),
        clock,
        ids: ids.clone(),
        redactor: Arc::new(ArcSwap::from_pointee(Redactor::new(&[]))),
        limits: settings.limits,
        policy: settings.policy,
    })?;
    let caller = Arc::new(Caller::gateway());
    let arguments = json!({ "path": "memory/a.md", "lines": 3 });
    let request = CallRequest::new("bench::echo", arguments.clone(), caller.clone());
    let context = CallContext::new(request, ids.next::<CallId>(), CancellationToken::new());
    let mut bare = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let began = Instant::now();
        tool.call(arguments.clone(), &context).await?;
        bare.push(began.elapsed());
    }
    let mut through: Vec<Duration> = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let request = CallRequest::new("bench::echo", arguments.clone(), caller.clone());
        let began = Instant::now();
        path.invoke(request).await?;
        through.push(began.elapsed());
    }
    bare.sort();
    line(
        "a bare call of an echoing tool, p50",
        &micros(percentile(&bare, 0.5)),
        "",
    );
    spread("the same through the whole path", through, "100 us");
    store.close().await?;
    Ok(())
}
