//! JavaScript that a model wrote, run in a process of its own.
//!
//! One run is one process: started ahead of time, shut in before it reads any code, and gone
//! afterwards. Between it and us are two pipes that carry frames of JSON, and whatever it says
//! is counted, measured and checked here. It has no files, no network and no environment; all it
//! can do is ask its [`Host`], which answers with the rights of whoever started the run.
//!
//! - [`Pool`] keeps workers warm and runs code in them
//! - [`Host`] is what a script can reach: tools and artifacts
//! - [`worker::serve`] is the other end of the pipes
//! - [`declare`] writes tools down as TypeScript, for models to read

/// The hidden command of the product's binary that is a worker.
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
pub use host::{Ask, Host, Thrown};
pub use limits::{Limits, TIMEOUT_MAX, TIMEOUT_MIN};
pub use pool::{Pool, PoolParts, Run, sandbox};
pub use report::{Fault, FaultKind, Level, LogLine, Report};
