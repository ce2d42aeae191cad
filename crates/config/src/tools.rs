//! Settings of tools on this machine and of outgoing requests.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Networks that outgoing requests may reach.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EgressSettings {
    /// Private networks that requests may reach, such as `192.168.7.0/24`.
    #[schemars(extend("x-check" = "network"))]
    pub allow_private: Vec<String>,
    /// PEM file of certificates that are trusted in addition to the system's, such as a company's own certificate authority. Applies to
    /// all requests of the gateway: MCP servers, authorization servers, OpenAPI services, models, chats, and what agents fetch.
    #[schemars(extend("x-restart" = true, "x-local" = true))]
    pub ca_file: Option<PathBuf>,
}

/// Settings of single tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// `read_file`: reads files of this machine.
    pub read_file: ReadFile,
    /// `write_file`: writes files of this machine.
    pub write_file: WriteFile,
    /// `bash`: runs commands in bash.
    pub bash: Shell,
    /// `powershell`: runs commands in PowerShell.
    pub powershell: PowerShell,
    /// `url_fetch`: makes HTTP requests.
    pub url_fetch: UrlFetch,
    /// `web_search`: searches the web, under both names of the tool.
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
    /// `acp_spawn`: tasks for external agents, which are configured in `acp.agents`.
    pub acp_spawn: AcpSpawn,
    /// `plan_create`: plans created by a model.
    pub plan_create: PlanCreate,
    /// `todo_update`: to-dos in `TODO.md`.
    pub todo_update: Switch,
    /// `contacts_send`: messages to contacts.
    pub contacts_send: Switch,
    /// `tool::agent_spawn`: agents created from templates.
    pub agent_spawn: Switch,
    /// `tool::agent_send`: messages between agents.
    pub agent_send: Switch,
}

/// A tool that can only be enabled and disabled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Switch {
    /// Enable the tool.
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
    /// Enable the tool.
    pub enabled: bool,
}

/// `plan_create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlanCreate {
    /// Enable the tool.
    pub enabled: bool,
    /// Maximum number of steps in a plan; a call may request fewer.
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

/// `read_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReadFile {
    /// Enable the tool.
    pub enabled: bool,
    /// Maximum number of bytes returned by one call.
    #[schemars(range(min = 1))]
    pub max_bytes: u64,
    /// Names and paths that are never read: `config.yaml` denies every file with that name,
    /// `private/` everything below a folder with that name.
    pub deny_paths: Vec<String>,
    /// Folders, besides the workspace and the two file folders, whose files may be read.
    #[schemars(extend("x-local" = true))]
    pub roots: Vec<String>,
}

impl Default for ReadFile {
    fn default() -> Self {
        Self {
            enabled: true,
            max_bytes: 256 * KIB,
            // Named in the tool's specification: the file often holds credentials.
            deny_paths: vec!["config.yaml".to_owned()],
            roots: Vec::new(),
        }
    }
}

/// `write_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WriteFile {
    /// Enable the tool.
    pub enabled: bool,
    /// Maximum size of a file; larger ones are refused.
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

/// `bash`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shell {
    /// Enable the tool.
    pub enabled: bool,
    /// Timeout of a command in seconds; a call may request less.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
    /// Maximum number of bytes returned per stream.
    #[schemars(range(min = 1))]
    pub max_output_bytes: u64,
    /// Names and paths that a command may not mention. This is only a convenience: the sandbox decides what
    /// a command can access.
    pub deny_paths: Vec<String>,
    /// Environment variables of the gateway that are passed to commands.
    #[schemars(extend("x-local" = true))]
    pub injected_env_vars: Vec<String>,
    /// Prefix every command with a program.
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

/// Prefix every command with a program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rewrite {
    /// Enable the prefix.
    pub enabled: bool,
    /// The program: `rtk` turns `git status` into `rtk git status`.
    #[schemars(extend("x-local" = true))]
    pub binary: String,
}

/// `powershell`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PowerShell {
    /// Enable the tool. It needs `pwsh` on this machine.
    pub enabled: bool,
    /// Timeout of a command in seconds; a call may request less.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
    /// Maximum number of bytes returned per stream.
    #[schemars(range(min = 1))]
    pub max_output_bytes: u64,
    /// Names and paths that a command may not mention.
    pub deny_paths: Vec<String>,
    /// Environment variables of the gateway that are passed to commands.
    #[schemars(extend("x-local" = true))]
    pub injected_env_vars: Vec<String>,
}

impl Default for PowerShell {
    fn default() -> Self {
        Self {
            // Elsewhere `pwsh` is rarely installed, and bash is what models expect.
            enabled: cfg!(windows),
            timeout: 30,
            max_output_bytes: 256 * KIB,
            deny_paths: vec!["config.yaml".to_owned()],
            injected_env_vars: Vec::new(),
        }
    }
}

/// `url_fetch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UrlFetch {
    /// Enable the tool.
    pub enabled: bool,
    /// Timeout of a request in seconds; a call may request less.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
    /// Maximum number of bytes returned by one call.
    #[schemars(range(min = 1))]
    pub max_bytes: u64,
    /// Maximum size of a download.
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

/// `web_search`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebSearch {
    /// Enable the tools.
    pub enabled: bool,
    /// Timeout of a search in seconds.
    #[schemars(range(min = 1, max = 600))]
    pub timeout: u64,
    /// Default number of results; at most 20.
    #[schemars(range(min = 1, max = 20))]
    pub max_results: u32,
    /// Tavily API key, as `vault:NAME`. Default: the environment variable `TAVILY_API_KEY`.
    #[schemars(extend("x-check" = "vault"))]
    pub tavily_api_key: Option<String>,
    /// Brave API key, as `vault:NAME`. Default: the environment variable `BRAVE_API_KEY`.
    #[schemars(extend("x-check" = "vault"))]
    pub brave_api_key: Option<String>,
    /// URL of your own SearXNG instance, such as `https://search.example`.
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
    /// Enable the tool.
    pub enabled: bool,
    /// Maximum number of entries returned by one call.
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
    /// Enable the tool.
    pub enabled: bool,
    /// Timeout of a program in seconds; a call may request less.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
    /// Programs that may be called. What they can do is decided by the sandbox.
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
    /// Enable the tool.
    pub enabled: bool,
    /// Timeout of a request in seconds.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
    /// Maximum size of a response; a call may request less.
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

/// A credential that requests may carry, and the URLs it may be sent to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthProfile {
    /// Id used in calls.
    #[schemars(length(min = 1))]
    pub id: String,
    /// URL it may be sent to: scheme, host, port and path prefix, as in `https://api.example/v1`.
    #[schemars(extend("x-check" = "url"))]
    pub url: String,
    /// Allowed methods. Default: `GET`.
    #[serde(default = "only_get")]
    pub methods: Vec<String>,
    /// Header that carries it. Default: `Authorization`.
    #[serde(default = "authorization")]
    pub header: String,
    /// Format of the header, with `{}` for the secret. Default: `Bearer {}`.
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
