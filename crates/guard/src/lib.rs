//! Security foundation of all tools: files only beneath a directory handle, requests only to
//! checked addresses, programs only under supervision.
//!
//! Nothing here knows a particular tool. Each module is the single owner of one
//! dangerous capability, and `clippy.toml` bans that capability in every other crate:
//!
//! - [`Jail`] opens files, beneath a directory handle and by [`RelPath`]
//! - [`Egress`] sends requests, to addresses it has checked
//! - [`Supervisor`] starts programs, inside a [`Sandbox`] on request
//! - [`Redactor`] masks known secrets in output and stored data
//! - [`Live`] streams a running tool's output within bounds
//! - [`LoginThrottle`] slows down clients that repeatedly fail to log in
//! - [`PendingConnections`] bounds unauthenticated connections, [`TrustedProxies`] determines their client address
//! - [`SseParser`] parses server-sent events of bounded size
//! - [`read_private`] and [`create_private`] handle files that hold secrets
//!
//! # The sandbox
//!
//! A program starts in a folder given by handle, confined before it runs, with a private home and temporary folder that are removed with it.
//! Landlock does not cover calls that change modes, owners and times or create process groups, so seccomp forwards them to a broker
//! (`sandbox/broker`), one thread per program: it changes files only through handles beneath the writable folders, and records
//! each new process group before it exists, so that it ends with the call. Without seccomp notification (some containers) these calls are
//! refused. A second process, the keeper, learns of every process group before its program starts, and kills the remaining ones when the gateway dies.

mod egress;
mod forwarded;
mod jail;
mod live;
mod pending_connections;
mod private_file;
mod redact;
mod rel_path;
mod sandbox;
mod self_test;
mod sse;
mod supervisor;
mod throttle;

pub use egress::{
    Body, Egress, EgressError, EgressPolicy, FetchLimits, GatewayClient, Lookup, Request, Response,
    SystemLookup, is_public, trust,
};
pub use forwarded::TrustedProxies;
pub use jail::{
    EntryKind, Jail, JailError, ListedEntry, Meta, Missing, NewFile, PartFile, PendingFile,
    Version, WriteMode,
};
pub use live::Live;
pub use pending_connections::{PendingConnection, PendingConnections};
pub use private_file::{PrivateFileError, create_private, read_private};
pub use redact::{RedactStream, Redactor};
pub use rel_path::{PART_PREFIX, PathError, RelPath};
/// The HTTP types that requests are built from.
pub use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
pub use reqwest::{Method, StatusCode};
pub use sandbox::{
    PreparedSandbox, Probe, Sandbox, SandboxError, SandboxLimits, SandboxProblem, probe,
};
pub use self_test::{SelfTest, self_test};
pub use sse::{SseEvent, SseParser, SseTooLong};
pub use supervisor::{
    Captured, Exit, Finished, Program, RunningProgram, Stdin, SuperviseError, Supervisor, Terminal,
    TerminalSize, run_keeper,
};
pub use throttle::{LoginThrottle, canonical};
