//! The ground every tool stands on: files only beneath a handle, requests only
//! to addresses that were checked, programs only under supervision.
//!
//! Nothing here knows any one tool. Each module is the single owner of one
//! dangerous power, and `clippy.toml` keeps that power out of every other crate:
//!
//! - [`Jail`] opens files, beneath a directory handle and by [`RelPath`]
//! - [`Egress`] sends requests, to addresses it has checked
//! - [`Supervisor`] starts programs, inside a [`Sandbox`] where one is asked for
//! - [`Redactor`] takes known secrets out of what is shown or kept
//! - [`Live`] tells what a running tool prints, within bounds
//! - [`LoginThrottle`] tells those who keep failing to log in to wait
//! - [`Lobby`] bounds connections that have not authenticated, [`TrustedProxies`] says whose they are
//! - [`read_private`] and [`create_private`] handle files that hold secrets

mod egress;
mod forwarded;
mod jail;
mod live;
mod lobby;
mod private_file;
mod redact;
mod rel_path;
mod sandbox;
mod supervisor;
mod throttle;

pub use egress::{
    Body, Egress, EgressError, EgressPolicy, FetchLimits, GatewayClient, Lookup, Request, Response,
    SystemLookup, is_public, trust,
};
pub use forwarded::TrustedProxies;
pub use jail::{
    Entry, Jail, JailError, Kind, Meta, Missing, NewFile, PartFile, PendingFile, Version, WriteMode,
};
pub use live::Live;
pub use lobby::{Lobby, Seat};
pub use private_file::{PrivateFileError, create_private, read_private};
pub use redact::{RedactStream, Redactor};
pub use rel_path::{PART_PREFIX, PathError, RelPath};
/// The words requests are written in.
pub use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
pub use reqwest::{Method, StatusCode};
pub use sandbox::{
    Limits, PreparedSandbox, Probe, Sandbox, SandboxError, SandboxProblem, SelfTest, probe,
    self_test,
};
pub use supervisor::{
    Captured, Exit, Finished, Program, Running, Stdin, SuperviseError, Supervisor, keep_watch,
};
pub use throttle::{LoginThrottle, canonical};
