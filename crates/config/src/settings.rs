//! The typed settings. Every field's doc comment is also its manual: the
//! commented default file and `docs/config.md` are made from this file, and the
//! schema attributes are what a configuration is checked against.

use std::collections::BTreeMap;
use std::path::PathBuf;

use manyhands_core::{AgentId, Decision, Effect, Pattern, ServerName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::acp::Acp;
use crate::agents::{Agent, Sessions};
use crate::channels::Channels;
use crate::cron::{Cron, Heartbeat};
use crate::models::ModelSettings;
use crate::node::Node;
use crate::oauth::Oauth;
use crate::servers::{Discovery, McpFace, McpServer};
use crate::skills::Skills;
use crate::tools::{AuthProfile, EgressSettings, Tools};

const MIB: u64 = 1024 * 1024;

/// Everything the owner can set in `config.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The address to listen on, as host:port. Port 0 takes a free one.
    #[schemars(extend("x-check" = "address", "x-restart" = true))]
    pub listen: String,
    /// Allow listening beyond this machine without TLS. Tokens then cross the
    /// network readable by anyone on the way.
    #[schemars(extend("x-restart" = true))]
    pub insecure_remote: bool,
    /// Host names, beside this machine's own, that a request may be addressed to.
    #[schemars(extend("x-check" = "host"))]
    pub allowed_hosts: Vec<String>,
    /// Web origins, such as `https://desk.example`, whose pages may call the gateway.
    #[schemars(extend("x-check" = "origin"))]
    pub allowed_origins: Vec<String>,
    /// The address by which others reach the gateway, such as `https://hands.example`: links to
    /// artifacts begin with it. The address it listens on unless said.
    #[schemars(extend("x-check" = "origin"))]
    pub public_url: Option<String>,
    /// Addresses and networks of reverse proxies in front of the gateway, such as `10.0.0.2` or
    /// `172.16.0.0/12`. Only for requests from these does `X-Forwarded-For` or `Forwarded` name the
    /// client that failed logins and open connections are counted for; the proxy must set or append it.
    #[schemars(extend("x-check" = "proxy"))]
    pub trusted_proxies: Vec<String>,
    /// Serve TLS with this certificate and key.
    #[schemars(extend("x-restart" = true, "x-local" = true))]
    pub tls: Option<Tls>,
    /// What one caller, and all of them together, may use up.
    pub limits: Limits,
    /// How long the audit log is kept.
    pub audit: AuditLog,
    /// What is allowed, asked about and refused.
    pub policy: Policy,
    /// The folder that `tool::*` work in; `host/workspace` in the home unless said.
    #[schemars(extend("x-restart" = true, "x-local" = true))]
    pub workspace_root: Option<PathBuf>,
    /// The folder for files that may be thrown away; `host/cache` in the home unless said.
    #[schemars(extend("x-restart" = true, "x-local" = true))]
    pub file_cache_dir: Option<PathBuf>,
    /// The folder for files that are to stay; `host/state` in the home unless said.
    #[schemars(extend("x-restart" = true, "x-local" = true))]
    pub file_state_dir: Option<PathBuf>,
    /// What requests beyond this machine may reach.
    pub egress: EgressSettings,
    /// Secrets that `url_fetch` may use, and where.
    pub auth_profiles: Vec<AuthProfile>,
    /// The tools one by one.
    pub tools: Tools,
    /// The gateway's own machine as a node: `manyhands up` lends it, beside the nodes that connect
    /// from elsewhere.
    #[schemars(extend("x-restart" = true, "x-local" = true))]
    pub node: Node,
    /// The models that agents think with.
    pub models: ModelSettings,
    /// Agents by name: 1-64 of a-z, 0-9, - and _.
    #[schemars(with = "BTreeMap<String, Agent>", extend("x-mask" = "names"))]
    pub agents: BTreeMap<AgentId, Agent>,
    /// Agents that others made, for `acp_spawn`.
    pub acp: Acp,
    /// Conversations of agents, and how far one turn of them may go.
    pub sessions: Sessions,
    /// Skills: which are used, and what they need.
    pub skills: Skills,
    /// Chats: which platforms the gateway speaks, and who may speak to its agents there.
    pub channels: Channels,
    /// MCP servers by a name of your choice: 1-32 of A-Z, a-z, 0-9, - and _. Which programs run and where
    /// credentials are sent is decided here, so these are set in the file.
    #[serde(rename = "mcpServers")]
    #[schemars(with = "BTreeMap<String, McpServer>", extend("x-local" = true, "x-mask" = "names"))]
    pub mcp_servers: BTreeMap<ServerName, McpServer>,
    /// What MCP clients are shown.
    pub mcp: McpFace,
    /// Whose access tokens are taken at `/mcp`, beside the gateway's own.
    pub oauth: Oauth,
    /// How capabilities are found.
    pub discovery: Discovery,
    /// Jobs with a schedule.
    pub cron: Cron,
    /// Every so often agents look whether there is something to do.
    pub heartbeat: Heartbeat,
    /// The zone of the user's days and hours, such as `Europe/Berlin`; the machine's unless said.
    #[schemars(extend("x-check" = "timezone"))]
    pub timezone: Option<String>,
    /// What the gateway writes about itself.
    pub log: Log,
    /// Numbers about the gateway for Prometheus, at `/metrics`.
    pub metrics: Metrics,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
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
        }
    }
}

/// Serve TLS with this certificate and key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The certificate chain, a PEM file.
    pub cert: PathBuf,
    /// Its key, a PEM file that only the gateway's user can read.
    pub key: PathBuf,
}

/// What one caller, and all of them together, may use up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The largest request, in bytes.
    #[schemars(range(min = 1), extend("x-restart" = true))]
    pub request_bytes: u64,
    /// The largest result returned whole, in bytes. More is cut, and the whole is
    /// kept as an artifact.
    #[schemars(range(min = 1))]
    pub result_bytes: u64,
    /// The largest result kept whole as an artifact, and the largest file read at once, in bytes.
    #[schemars(range(min = 1))]
    pub artifact_bytes: u64,
    /// Days a large result is kept whole.
    #[schemars(range(min = 1))]
    pub artifact_days: u32,
    /// The largest file kept as an artifact by a tool or an upload, in bytes.
    #[schemars(range(min = 1))]
    pub artifact_file_bytes: u64,
    /// All artifacts of one agent together, in bytes.
    #[schemars(range(min = 1))]
    pub artifact_agent_bytes: u64,
    /// All artifacts together, in bytes.
    #[schemars(range(min = 1))]
    pub artifact_total_bytes: u64,
    /// Days that a file written as an artifact is kept. 0 means until somebody removes it.
    pub artifact_kept_days: u32,
    /// Minutes that a download link of an artifact is good.
    #[schemars(range(min = 1, max = 10_080))]
    pub artifact_url_minutes: u32,
    /// Artifacts that one agent may have. 0 means no limit.
    pub artifact_agent_files: u64,
    /// All artifacts of one caller together, in bytes. 0 means no limit; the owner has none.
    pub artifact_caller_bytes: u64,
    /// Artifacts that one caller may have. 0 means no limit; the owner has none.
    pub artifact_caller_files: u64,
    /// What one datastore, filestore or knowledge base holds at most, in bytes.
    #[schemars(range(min = 1))]
    pub collection_bytes: u64,
    /// Rows, files or documents in one datastore, filestore or knowledge base. 0 means no limit.
    pub collection_entries: u64,
    /// All files in the workspace of one agent together, in bytes. 0 means no limit.
    pub workspace_bytes: u64,
    /// Files in the workspace of one agent. 0 means no limit.
    pub workspace_files: u64,
    /// Conversations of one agent. Only the owner may start more. 0 means no limit.
    pub agent_sessions: u64,
    /// Bytes that one caller may write in an hour: files, artifacts, records and whatever else a call
    /// stores. The owner is not limited; an agent that works for the owner is. 0 means no limit.
    pub write_bytes_per_hour: u64,
    /// With less free disk space than this, in bytes, only the owner can still write. With less than an
    /// eighth of it nobody can; reading, deleting, approving and administration go on. 0 turns this off.
    pub min_free_bytes: u64,
    /// Calls one caller may make in a minute, and refusals one caller may cause in a minute. The owner
    /// is not limited.
    #[schemars(range(min = 1))]
    pub calls_per_minute: u32,
    /// Calls one caller may make in a day, by UTC. 0 means no limit; the owner has none.
    pub calls_per_day: u64,
    /// Calls that may run at once, over all callers; the rest wait their turn.
    #[schemars(range(min = 1), extend("x-restart" = true))]
    pub concurrent_calls: u32,
    /// Minutes the owner has to answer a request for permission.
    #[schemars(range(min = 1))]
    pub approval_minutes: u32,
    /// Seconds that running calls get to finish when the gateway stops.
    #[schemars(range(min = 1))]
    pub shutdown_seconds: u32,
    /// Failed logins with the same wrong token, or with wrong codes, from one address before they are
    /// answered with 429. A valid token or code is always accepted, however many failed before.
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

/// How long the audit log is kept. Old entries are removed only together with a sealed checkpoint, so that
/// `manyhands audit verify` still proves the rest and that nothing else was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuditLog {
    /// Days that entries are kept. 0 means for ever.
    pub keep_days: u32,
    /// The most that the audit log may occupy in the database, in bytes; the oldest entries go first.
    /// 0 means no limit.
    pub max_bytes: u64,
    /// Write entries into a compressed file under `blobs/audit` before they are removed.
    pub archive: bool,
}

impl Default for AuditLog {
    fn default() -> Self {
        Self {
            keep_days: 400,
            max_bytes: 2 * 1024 * MIB,
            archive: true,
        }
    }
}

/// What is allowed, needs approval, or is refused.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// When agents ask for approval where no rule matches: ask, auto or read-only. An agent's own
    /// `mode` overrides it.
    pub mode: ApprovalMode,
    /// Rules in order; the first that matches a call decides it.
    pub rules: Vec<Rule>,
}

/// When an agent asks for approval, where no rule matches. What the owner calls directly, from
/// the command line, the page or HTTP, is never asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Reading is free, and so are writes in its own folders and programs inside the sandbox.
    /// Everything outside of it, sending to people and network writes ask; after untrusted text was
    /// read, programs ask too.
    #[default]
    Ask,
    /// Asks only after untrusted text was read.
    Auto,
    /// Reads, and is refused everything else.
    ReadOnly,
}

/// Rules of one agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentPolicy {
    /// Rules in order; the first that matches a call counts, unless `policy` is stricter.
    pub rules: Vec<Rule>,
}

/// One rule. Every part that is given has to match for the rule to decide a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What happens to a call that matches.
    pub decision: Decision,
    /// Tool name patterns, `*` for any run of characters.
    #[serde(default = "any_tool")]
    #[schemars(length(min = 1))]
    pub tools: Vec<Pattern>,
    /// Matches a tool that has at least one of these effects. Empty: any.
    #[serde(default)]
    pub effects: Vec<Effect>,
    /// For calls allowed by this rule: programs they start may use the network.
    #[serde(default)]
    pub network: bool,
    /// Caller patterns, such as `owner:*`, `client:laptop`, `guest:corp/*` or `person:telegram:42`.
    /// Empty: any.
    #[serde(default)]
    pub callers: Vec<Pattern>,
    /// Agent name patterns. Empty: any.
    #[serde(default)]
    pub agents: Vec<Pattern>,
    /// Tests of arguments, by dotted argument path; a path with dots is quoted.
    #[serde(default)]
    pub when: BTreeMap<String, Predicate>,
    /// Why, shown with a refusal or an approval request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn any_tool() -> Vec<Pattern> {
    vec![Pattern::new("*")]
}

/// A test of one argument; every part that is given has to hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct Predicate {
    /// The argument is exactly this value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// The argument's text contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// The argument's text starts with this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_with: Option<String>,
    /// The argument's text matches this regular expression somewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-check" = "regex"))]
    pub matches: Option<String>,
    /// The argument is a URL of one of these hosts; `*.example.com` for subdomains. A URL that
    /// cannot be understood matches where the rule denies or asks, and not where it allows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<Pattern>,
    /// The argument is a command whose programs, by their resolved names, are among these:
    /// `/usr/bin/git` and `env git` are `git`. Where the rule allows, all of them have to be, and a
    /// command that cannot be understood does not match; where it denies or asks, one is enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<Pattern>,
}

/// What the gateway writes about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// How much to write: off, error, warn, info, debug or trace, also per part
    /// as in `info,manyhands_path=debug`.
    #[schemars(extend("x-check" = "level", "x-restart" = true))]
    pub level: String,
    /// How to write it.
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

/// Numbers about the gateway for Prometheus, at `/metrics`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// Serve `/metrics` without a token. The numbers name tools, channels and models: set this only where
    /// everyone who can reach the gateway may know them. A scraper can send a token instead.
    pub open: bool,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one JSON object per line.
    Json,
}
