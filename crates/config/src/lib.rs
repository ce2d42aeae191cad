//! The owner's settings: their types, and reading, validating, editing, watching and documenting `config.toml`.
//!
//! The types in [`Settings`] are the only list of keys. Validation, suggestions, masking, the commented default file
//! and the reference are all derived from their schema, so a new key needs nothing but one documented field.

mod acp;
mod agents;
mod appended;
mod change;
mod channels;
mod check;
mod cron;
mod document;
mod edit;
mod error;
mod file;
mod format;
mod line;
mod mask;
pub mod models;
mod nearest;
mod node;
mod oauth;
mod path;
mod policy;
mod read;
mod reference;
mod section;
mod servers;
mod settings;
mod shape;
mod skills;
mod telemetry;
mod toml_value;
mod tools;
mod watch;
mod write;

pub use acp::{Acp, AcpAgent, AcpPermissions};
pub use agents::{Agent, DmScope, Reset, ResetMode, Sessions, ThinkingLevel};
pub use change::{Changes, diff, local_changes, machine_changes};
pub use channels::{
    BridgeName, Channel, ChannelAccount, ChannelMode, Channels, DmPolicy, GroupPolicy, Sender,
    Transcription,
};
pub use check::{Provenance, Source};
pub use cron::{AgentHeartbeat, Cron, Heartbeat, MissedPolicy};
pub use document::default_file;
pub use error::{ConfigError, PathError, Problem};
pub use file::{ConfigFile, Edit, FileText};
pub use manyhands_core::Decision;
pub use mask::{is_secret_key, mask, masked, masked_args, masked_text};
pub use nearest::nearest;
pub use node::{Node, NodeSandbox};
pub use oauth::{Oauth, OauthGrant, OauthRole, TokenAlgorithm, TrustedIssuer};
pub use path::KeyPath;
pub use policy::{AgentPolicy, ApprovalMode, Policy, Predicate, Rule};
pub use read::{get, is_local, value_from_text};
pub use reference::{reference, schema};
pub use servers::{Confinement, Discovery, McpFace, McpServer, OauthSettings, ServerKind};
pub use settings::{AuditLog, Limits, Log, LogFormat, Settings, Tls};
pub use skills::{SkillEntry, SkillNeeds, Skills};
pub use telemetry::Telemetry;
pub use tools::{
    AcpSpawn, AuthProfile, EgressSettings, FileList, PowerShell, ReadFile, Rewrite, Shell,
    ShellExec, Switch, Tools, UrlFetch, WebFetch, WebSearch, WriteFile,
};
pub use watch::{POLL, Watcher};
