//! Settings of the tools that work on this machine and beyond it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// What requests beyond this machine may reach.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EgressSettings {
    /// Private networks that requests may reach all the same, such as `192.168.7.0/24`.
    #[schemars(extend("x-check" = "network"))]
    pub allow_private: Vec<String>,
    /// A PEM file of certificates that are trusted beside the system's, such as a company's own certificate authority. It counts for
    /// every request the gateway makes: MCP servers, authorization servers, OpenAPI services, models, chats, and what agents fetch.
    #[schemars(extend("x-restart" = true, "x-local" = true))]
    pub ca_file: Option<PathBuf>,
}

/// The tools one by one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// Reading files of this machine.
    pub read_file: ReadFile,
    /// Writing files of this machine.
    pub write_file: WriteFile,
    /// Command lines in bash.
    pub bash: Shell,
    /// Command lines in PowerShell.
    pub powershell: PowerShell,
    /// Requests to the web.
    pub url_fetch: UrlFetch,
    /// Searching the web, under both names of the tool.
    pub web_search: WebSearch,
    /// `tool::file_read`.
    pub file_read: Switch,
    /// `tool::file_write`.
    pub file_write: Switch,
    /// `tool::file_list`.
    pub file_list: FileList,
    /// `tool::apply_patch`.
    pub apply_patch: Switch,
    /// `tool::shell_exec`.
    pub shell_exec: ShellExec,
    /// `tool::web_fetch`.
    pub web_fetch: WebFetch,
    /// `spawn`: sub-agents for single tasks.
    pub spawn: Switch,
    /// `acp_spawn`: tasks for agents that others made; they are named in `acp.agents`.
    pub acp_spawn: AcpSpawn,
    /// `plan_create`: plans made by a model.
    pub plan_create: PlanCreate,
    /// `todo_update`: what is to be done, in `TODO.md`.
    pub todo_update: Switch,
    /// `contacts_send`: messages to contacts.
    pub contacts_send: Switch,
    /// `tool::agent_spawn`: agents made from templates.
    pub agent_spawn: Switch,
    /// `tool::agent_send`: messages between agents.
    pub agent_send: Switch,
}

/// A tool that can only be switched on and off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Switch {
    /// Whether the tool is there.
    pub enabled: bool,
}

impl Default for Switch {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// `acp_spawn`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AcpSpawn {
    /// Whether the tool is there.
    pub enabled: bool,
}

/// `plan_create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlanCreate {
    /// Whether the tool is there.
    pub enabled: bool,
    /// The most steps of a plan; a call may ask for fewer.
    #[schemars(range(min = 1, max = 100))]
    pub max_steps: u32,
}

impl Default for PlanCreate {
    fn default() -> Self {
        Self {
            enabled: true,
            max_steps: 6,
        }
    }
}

/// Reading files of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReadFile {
    /// Whether the tool is there.
    pub enabled: bool,
    /// The most bytes one call gives back.
    #[schemars(range(min = 1))]
    pub max_bytes: u64,
    /// Names and paths that are never read: `config.yaml` refuses every file of that name,
    /// `private/` everything below a folder of that name.
    pub deny_paths: Vec<String>,
    /// Folders, beside the workspace and the two file folders, whose files may be read.
    #[schemars(extend("x-local" = true))]
    pub roots: Vec<String>,
}

impl Default for ReadFile {
    fn default() -> Self {
        Self {
            enabled: true,
            max_bytes: 256 * KIB,
            deny_paths: vec!["config.yaml".to_owned()],
            roots: Vec::new(),
        }
    }
}

/// Writing files of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WriteFile {
    /// Whether the tool is there.
    pub enabled: bool,
    /// The largest file it writes; more is refused.
    #[schemars(range(min = 1))]
    pub max_bytes: u64,
}

impl Default for WriteFile {
    fn default() -> Self {
        Self {
            enabled: true,
            max_bytes: 512 * KIB,
        }
    }
}

/// Command lines in bash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shell {
    /// Whether the tool is there.
    pub enabled: bool,
    /// Seconds a command may take; a call may ask for less.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
    /// The most bytes of each stream one call gives back.
    #[schemars(range(min = 1))]
    pub max_output_bytes: u64,
    /// Names and paths that a command may not mention. A convenience: the sandbox decides what
    /// a command can reach.
    pub deny_paths: Vec<String>,
    /// Variables of the gateway's own environment that commands see too.
    #[schemars(extend("x-local" = true))]
    pub injected_env_vars: Vec<String>,
    /// Put a program in front of every command.
    pub rewrite: Rewrite,
}

impl Default for Shell {
    fn default() -> Self {
        Self {
            enabled: true,
            timeout: 30,
            max_output_bytes: 256 * KIB,
            deny_paths: vec!["config.yaml".to_owned()],
            injected_env_vars: Vec::new(),
            rewrite: Rewrite::default(),
        }
    }
}

/// Put a program in front of every command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rewrite {
    /// Whether to.
    pub enabled: bool,
    /// Which one: `rtk` turns `git status` into `rtk git status`.
    #[schemars(extend("x-local" = true))]
    pub binary: String,
}

/// Command lines in PowerShell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PowerShell {
    /// Whether the tool is there. It needs `pwsh` on this machine.
    pub enabled: bool,
    /// Seconds a command may take; a call may ask for less.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
    /// The most bytes of each stream one call gives back.
    #[schemars(range(min = 1))]
    pub max_output_bytes: u64,
    /// Names and paths that a command may not mention.
    pub deny_paths: Vec<String>,
    /// Variables of the gateway's own environment that commands see too.
    #[schemars(extend("x-local" = true))]
    pub injected_env_vars: Vec<String>,
}

impl Default for PowerShell {
    fn default() -> Self {
        Self {
            enabled: cfg!(windows),
            timeout: 30,
            max_output_bytes: 256 * KIB,
            deny_paths: vec!["config.yaml".to_owned()],
            injected_env_vars: Vec::new(),
        }
    }
}

/// Requests to the web.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UrlFetch {
    /// Whether the tool is there.
    pub enabled: bool,
    /// Seconds a request may take; a call may ask for less.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
    /// The most bytes one call gives back.
    #[schemars(range(min = 1))]
    pub max_bytes: u64,
    /// The largest download.
    #[schemars(range(min = 1))]
    pub max_download_bytes: u64,
}

impl Default for UrlFetch {
    fn default() -> Self {
        Self {
            enabled: true,
            timeout: 30,
            max_bytes: 512 * KIB,
            max_download_bytes: 100 * MIB,
        }
    }
}

/// Searching the web.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebSearch {
    /// Whether the tools are there.
    pub enabled: bool,
    /// Seconds a search may take.
    #[schemars(range(min = 1, max = 600))]
    pub timeout: u64,
    /// Results when a call does not say how many; 20 at most.
    #[schemars(range(min = 1, max = 20))]
    pub max_results: u32,
    /// Tavily's key, as `vault:NAME`. Without it `TAVILY_API_KEY` of the environment is used.
    #[schemars(extend("x-check" = "vault"))]
    pub tavily_api_key: Option<String>,
    /// Brave's key, as `vault:NAME`. Without it `BRAVE_API_KEY` of the environment is used.
    #[schemars(extend("x-check" = "vault"))]
    pub brave_api_key: Option<String>,
    /// The address of a SearXNG of your own, such as `https://search.example`.
    #[schemars(extend("x-check" = "url"))]
    pub searxng_url: Option<String>,
}

impl Default for WebSearch {
    fn default() -> Self {
        Self {
            enabled: true,
            timeout: 20,
            max_results: 5,
            tavily_api_key: None,
            brave_api_key: None,
            searxng_url: None,
        }
    }
}

/// `tool::file_list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileList {
    /// Whether the tool is there.
    pub enabled: bool,
    /// The most entries one call gives back.
    #[schemars(range(min = 1, max = 200_000))]
    pub max_entries: u32,
}

impl Default for FileList {
    fn default() -> Self {
        Self {
            enabled: true,
            max_entries: 10_000,
        }
    }
}

/// `tool::shell_exec`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShellExec {
    /// Whether the tool is there.
    pub enabled: bool,
    /// Seconds a program may take; a call may ask for less.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
    /// Programs that may be named. What they can do, the sandbox decides.
    #[schemars(extend("x-local" = true))]
    pub allow: Vec<String>,
}

impl Default for ShellExec {
    fn default() -> Self {
        const ALLOWED: &str = "git node npm npx bun deno python3 python pip ls cat grep find echo mkdir touch cp mv \
            head tail wc sort uniq diff curl wget tar zip unzip jq sed awk which env date cargo rustc go make cmake";
        Self {
            enabled: true,
            timeout: 120,
            allow: ALLOWED.split_whitespace().map(str::to_owned).collect(),
        }
    }
}

/// `tool::web_fetch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebFetch {
    /// Whether the tool is there.
    pub enabled: bool,
    /// Seconds a request may take.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
    /// The largest response that is read; a call may ask for less.
    #[schemars(range(min = 1))]
    pub max_bytes: u64,
}

impl Default for WebFetch {
    fn default() -> Self {
        Self {
            enabled: true,
            timeout: 30,
            max_bytes: 500_000,
        }
    }
}

/// A secret that a request may carry, and exactly where to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthProfile {
    /// What a call names it by.
    #[schemars(length(min = 1))]
    pub id: String,
    /// Where it may go: scheme, host, port and the beginning of the path, as in
    /// `https://api.example/v1`.
    #[schemars(extend("x-check" = "url"))]
    pub url: String,
    /// With which methods; `GET` unless said.
    #[serde(default = "only_get")]
    pub methods: Vec<String>,
    /// In which header; `Authorization` unless said.
    #[serde(default = "authorization")]
    pub header: String,
    /// How it is written there, with `{}` for the secret; `Bearer {}` unless said.
    #[serde(default = "bearer")]
    pub format: String,
    /// The secret, as `vault:NAME`.
    #[schemars(extend("x-check" = "vault"))]
    pub secret: String,
}

fn only_get() -> Vec<String> {
    vec!["GET".to_owned()]
}

fn authorization() -> String {
    "Authorization".to_owned()
}

fn bearer() -> String {
    "Bearer {}".to_owned()
}
