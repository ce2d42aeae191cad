//! The typed settings. Every field's doc comment is also its manual: the commented default file and
//! `docs/config.md` are generated from it, and the schema attributes are what a configuration is validated
//! against.

use std::collections::BTreeMap;
use std::path::PathBuf;

use manyhands_core::{AgentId, ServerName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::acp::Acp;
use crate::agents::{Agent, Sessions};
use crate::channels::Channels;
use crate::cron::{Cron, Heartbeat};
use crate::models::ModelSettings;
use crate::node::Node;
use crate::oauth::Oauth;
use crate::policy::Policy;
use crate::servers::{Discovery, McpFace, McpServer};
use crate::skills::Skills;
use crate::telemetry::Telemetry;
use crate::tools::{AuthProfile, EgressSettings, Tools};

const MIB: u64 = 1024 * 1024;

/// All settings in `config.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address to listen on, as host:port. Port 0 picks a free port.
    #[schemars(extend("x-check" = "address", "x-restart" = true))]
    pub listen: String,
    /// Allow listening on other than loopback addresses without TLS. Tokens are then sent unencrypted.
    #[schemars(extend("x-restart" = true))]
    pub insecure_remote: bool,
    /// Host names, besides this machine's own, that requests may be addressed to.
    #[schemars(extend("x-check" = "host"))]
    pub allowed_hosts: Vec<String>,
    /// Web origins, such as `https://desk.example`, whose pages may call the gateway.
    #[schemars(extend("x-check" = "origin"))]
    pub allowed_origins: Vec<String>,
    /// Public URL of the gateway, such as `https://hands.example`, used in links to artifacts. Default: the address it listens on.
    #[schemars(extend("x-check" = "origin"))]
    pub public_url: Option<String>,
    /// Addresses and networks of reverse proxies in front of the gateway, such as `10.0.0.2` or
    /// `172.16.0.0/12`. Only requests from these may set the client address with `X-Forwarded-For` or `Forwarded`,
    /// which failed logins and open connections are counted by; the proxy must set or append it.
    #[schemars(extend("x-check" = "proxy"))]
    pub trusted_proxies: Vec<String>,
    /// Serve TLS with this certificate and key.
    #[schemars(extend("x-restart" = true, "x-local" = true))]
    pub tls: Option<Tls>,
    /// Limits per caller and in total.
    pub limits: Limits,
    /// Retention of the audit log.
    pub audit: AuditLog,
    /// Which calls are allowed, need approval, or are denied.
    pub policy: Policy,
    /// Working directory of `tool::*`. Default: `host/workspace` in the home.
    #[schemars(extend("x-restart" = true, "x-local" = true))]
    pub workspace_root: Option<PathBuf>,
    /// Directory for temporary files. Default: `host/cache` in the home.
    #[schemars(extend("x-restart" = true, "x-local" = true))]
    pub file_cache_dir: Option<PathBuf>,
    /// Directory for persistent files. Default: `host/state` in the home.
    #[schemars(extend("x-restart" = true, "x-local" = true))]
    pub file_state_dir: Option<PathBuf>,
    /// Networks that outgoing requests may reach.
    pub egress: EgressSettings,
    /// Credentials that `url_fetch` may use, and for which URLs.
    pub auth_profiles: Vec<AuthProfile>,
    /// Settings of single tools.
    pub tools: Tools,
    /// The gateway's own machine as a node: `manyhands up` shares it, in addition to nodes that connect
    /// from elsewhere.
    #[schemars(extend("x-restart" = true, "x-local" = true))]
    pub node: Node,
    /// Models and their providers.
    pub models: ModelSettings,
    /// Agents by name: 1-64 of a-z, 0-9, - and _.
    #[schemars(with = "BTreeMap<String, Agent>", extend("x-mask" = "names"))]
    pub agents: BTreeMap<AgentId, Agent>,
    /// External agents for `acp_spawn`.
    pub acp: Acp,
    /// Sessions of agents, and limits of one turn.
    pub sessions: Sessions,
    /// Skills: which are enabled, and what they require.
    pub skills: Skills,
    /// Chat platforms, and who may message the agents there.
    pub channels: Channels,
    /// MCP servers by a name of your choice: 1-32 of A-Z, a-z, 0-9, - and _. They decide which programs run and where
    /// credentials are sent, so they can only be set in the file.
    #[serde(rename = "mcpServers")]
    #[schemars(with = "BTreeMap<String, McpServer>", extend("x-local" = true, "x-mask" = "names"))]
    pub mcp_servers: BTreeMap<ServerName, McpServer>,
    /// Which tools MCP clients see.
    pub mcp: McpFace,
    /// Authorization servers whose access tokens are accepted at `/mcp`, besides the gateway's own tokens.
    pub oauth: Oauth,
    /// Capability discovery.
    pub discovery: Discovery,
    /// Scheduled jobs.
    pub cron: Cron,
    /// Heartbeats: agents check at an interval whether there is something to do.
    pub heartbeat: Heartbeat,
    /// The user's time zone, such as `Europe/Berlin`. Default: the machine's.
    #[schemars(extend("x-check" = "timezone"))]
    pub timezone: Option<String>,
    /// The gateway's log.
    pub log: Log,
    /// Prometheus metrics at `/metrics`.
    pub metrics: Metrics,
    /// Export of traces, metrics and logs to an OpenTelemetry collector.
    #[schemars(extend("x-local" = true))]
    pub telemetry: Telemetry,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            // Loopback only: exposing the gateway is a decision of its owner.
            listen: "127.0.0.1:7717".to_owned(),
            insecure_remote: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            public_url: None,
            trusted_proxies: Vec::new(),
            tls: None,
            limits: Limits::default(),
            audit: AuditLog::default(),
            policy: Policy::default(),
            workspace_root: None,
            file_cache_dir: None,
            file_state_dir: None,
            egress: EgressSettings::default(),
            auth_profiles: Vec::new(),
            tools: Tools::default(),
            node: Node::default(),
            models: ModelSettings::default(),
            agents: BTreeMap::new(),
            acp: Acp::default(),
            sessions: Sessions::default(),
            skills: Skills::default(),
            channels: Channels::default(),
            mcp_servers: BTreeMap::new(),
            mcp: McpFace::default(),
            oauth: Oauth::default(),
            discovery: Discovery::default(),
            cron: Cron::default(),
            heartbeat: Heartbeat::default(),
            timezone: None,
            log: Log::default(),
            metrics: Metrics::default(),
            telemetry: Telemetry::default(),
        }
    }
}

/// TLS certificate and key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Certificate chain, a PEM file.
    pub cert: PathBuf,
    /// Private key, a PEM file that only the gateway's user can read.
    pub key: PathBuf,
}

/// Limits per caller and in total.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum size of a request, in bytes.
    #[schemars(range(min = 1), extend("x-restart" = true))]
    pub request_bytes: u64,
    /// Maximum size of an inline result, in bytes. Larger results are truncated, and stored in full as an artifact.
    #[schemars(range(min = 1))]
    pub result_bytes: u64,
    /// Maximum size of a result stored as an artifact, and of a file read at once, in bytes.
    #[schemars(range(min = 1))]
    pub artifact_bytes: u64,
    /// Days that a large result is stored.
    #[schemars(range(min = 1))]
    pub artifact_days: u32,
    /// Maximum size of a file stored as an artifact by a tool or an upload, in bytes.
    #[schemars(range(min = 1))]
    pub artifact_file_bytes: u64,
    /// Maximum total size of one agent's artifacts, in bytes.
    #[schemars(range(min = 1))]
    pub artifact_agent_bytes: u64,
    /// Maximum total size of all artifacts, in bytes.
    #[schemars(range(min = 1))]
    pub artifact_total_bytes: u64,
    /// Days that a file stored as an artifact is retained. 0 means until it is deleted.
    pub artifact_kept_days: u32,
    /// Lifetime of an artifact's download link, in minutes.
    #[schemars(range(min = 1, max = 10_080))]
    pub artifact_url_minutes: u32,
    /// Maximum number of artifacts per agent. 0 means no limit.
    pub artifact_agent_files: u64,
    /// Maximum total size of one caller's artifacts, in bytes. 0 means no limit; the owner has none.
    pub artifact_caller_bytes: u64,
    /// Maximum number of artifacts per caller. 0 means no limit; the owner has none.
    pub artifact_caller_files: u64,
    /// Maximum size of one datastore, filestore or knowledge base, in bytes.
    #[schemars(range(min = 1))]
    pub collection_bytes: u64,
    /// Maximum number of rows, files or documents in one datastore, filestore or knowledge base. 0 means no limit.
    pub collection_entries: u64,
    /// Maximum total size of one agent's workspace, in bytes. 0 means no limit.
    pub workspace_bytes: u64,
    /// Maximum number of files in one agent's workspace. 0 means no limit.
    pub workspace_files: u64,
    /// Maximum number of sessions per agent. Only the owner may start more. 0 means no limit.
    pub agent_sessions: u64,
    /// Bytes that one caller may write per hour: files, artifacts, records and everything else a call stores. The
    /// owner is not limited; an agent acting for the owner is. 0 means no limit.
    pub write_bytes_per_hour: u64,
    /// Free disk space, in bytes, below which only the owner can still write. Below an eighth of it nobody can;
    /// reading, deleting, approving and administration still work. 0 disables this.
    pub min_free_bytes: u64,
    /// Calls one caller may make per minute, and refusals one caller may cause per minute. The owner is not limited.
    #[schemars(range(min = 1))]
    pub calls_per_minute: u32,
    /// Calls one caller may make per day (UTC). 0 means no limit; the owner has none.
    pub calls_per_day: u64,
    /// Maximum number of concurrent calls, over all callers; further calls are queued.
    #[schemars(range(min = 1), extend("x-restart" = true))]
    pub concurrent_calls: u32,
    /// Minutes until an approval request expires.
    #[schemars(range(min = 1))]
    pub approval_minutes: u32,
    /// Seconds that running calls get to finish when the gateway stops.
    #[schemars(range(min = 1))]
    pub shutdown_seconds: u32,
    /// Failed logins with the same invalid token, or with invalid codes, from one address before they get
    /// status 429. A valid token or code is always accepted, however many failed before.
    #[schemars(range(min = 1), extend("x-restart" = true))]
    pub failed_logins: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: 16 * MIB,
            result_bytes: MIB,
            artifact_bytes: 64 * MIB,
            artifact_days: 30,
            artifact_file_bytes: 100 * MIB,
            artifact_agent_bytes: 10 * 1024 * MIB,
            artifact_total_bytes: 50 * 1024 * MIB,
            artifact_kept_days: 0,
            artifact_url_minutes: 60,
            artifact_agent_files: 100_000,
            artifact_caller_bytes: 5 * 1024 * MIB,
            artifact_caller_files: 20_000,
            collection_bytes: 1024 * MIB,
            collection_entries: 1_000_000,
            workspace_bytes: 2 * 1024 * MIB,
            workspace_files: 100_000,
            agent_sessions: 10_000,
            write_bytes_per_hour: 1024 * MIB,
            // SQLite needs room for its WAL, and the owner for the commands that free space.
            min_free_bytes: 512 * MIB,
            calls_per_minute: 600,
            calls_per_day: 0,
            concurrent_calls: 64,
            approval_minutes: 15,
            shutdown_seconds: 10,
            failed_logins: 10,
        }
    }
}

/// Retention of the audit log. Old entries are removed only together with a sealed checkpoint, so that
/// `manyhands audit verify` still proves the rest and that nothing else was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuditLog {
    /// Days that entries are retained. 0 means forever.
    pub keep_days: u32,
    /// Maximum size of the audit log in the database, in bytes; the oldest entries are removed first.
    /// 0 means no limit.
    pub max_bytes: u64,
    /// Archive entries in a compressed file under `blobs/audit` before they are removed.
    pub archive: bool,
}

impl Default for AuditLog {
    fn default() -> Self {
        Self {
            // A year plus a margin, for yearly reviews.
            keep_days: 400,
            max_bytes: 2 * 1024 * MIB,
            archive: true,
        }
    }
}

/// The gateway's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// Log level: off, error, warn, info, debug or trace, optionally per module, as in
    /// `info,manyhands_path=debug`.
    #[schemars(extend("x-check" = "level", "x-restart" = true))]
    pub level: String,
    /// Log format.
    #[schemars(extend("x-restart" = true))]
    pub format: LogFormat,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            level: "info".to_owned(),
            format: LogFormat::Text,
        }
    }
}

/// Prometheus metrics at `/metrics`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// Serve `/metrics` without a token. The metrics name tools, channels and models: enable this only if everyone who
    /// can reach the gateway may know them. A scraper can send a token instead.
    pub open: bool,
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Human-readable.
    Text,
    /// One JSON object per line.
    Json,
}
