//! Runs JavaScript written by a model, each script in its own process.
//!
//! One run is one process: started ahead of time, confined before it reads any code, and ended afterwards. It is connected by
//! two pipes that carry frames of JSON, and everything it sends is limited and validated here. It has no files, no
//! network and no environment; it can only send requests to its [`Host`], which answers with the rights of the caller who
//! started the run.
//!
//! - [`Pool`] keeps warm workers and runs code in them
//! - [`Host`] is what a script can access: tools and artifacts
//! - [`worker::serve`] is the worker's side
//! - [`declare`] declares tools as TypeScript, for models

/// The hidden command of the product's binary that runs a worker.
pub const WORKER_COMMAND: &str = "script-worker";

mod declare;
mod excerpt;
mod frames;
mod host;
mod limits;
mod pool;
mod report;
pub mod worker;

pub use declare::{Declared, declare};
pub use host::{Host, HostError, HostRequest};
pub use limits::{Limits, TIMEOUT_MAX, TIMEOUT_MIN};
pub use pool::{Pool, PoolParts, Run, sandbox};
pub use report::{Fault, FaultKind, Level, LogLine, Report};
