//! Settings of MCP servers, in the format other programs use for `mcpServers`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use manyhands_core::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One MCP server: a local `command`, the `url` of a remote one, or the `openapi` document of an HTTP
/// service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct McpServer {
    /// Transport: `stdio`, `http` or `sse`. Default: derived from `command` or `url`; an `http` server that only
    /// supports the older `sse` is detected.
    #[serde(rename = "type")]
    pub kind: Option<ServerKind>,
    /// The program to start.
    pub command: Option<String>,
    /// Arguments.
    #[schemars(extend("x-mask" = "args"))]
    pub args: Vec<String>,
    /// Environment variables. A value may contain `${NAME}`: a credential of the selected connection, or else a
    /// secret of the vault.
    #[schemars(extend("x-secret" = true))]
    pub env: BTreeMap<String, String>,
    /// Working directory. Default: a private one.
    pub cwd: Option<PathBuf>,
    /// URL.
    #[schemars(extend("x-check" = "url"))]
    pub url: Option<String>,
    /// HTTP headers to send with every request; values as in `env`.
    #[schemars(extend("x-secret" = true))]
    pub headers: BTreeMap<String, String>,
    /// OpenAPI document of an HTTP service, a file or a URL: each operation becomes a tool of the server
    /// `dynamic/NAME`. `url` is the service's URL if the document has none. Hosts are accepted together with the
    /// tools, and a document that names others later is held until you accept it. Private addresses have to be in
    /// `egress.allow_private`.
    pub openapi: Option<String>,
    /// Enable the server.
    pub enabled: bool,
    /// Tools to offer, by the server's names.
    pub tools: Vec<Pattern>,
    /// Tools to exclude from those.
    pub hide: Vec<Pattern>,
    /// Renames tools: the server's name, then ours.
    #[schemars(extend("x-mask" = "names"))]
    pub rename: BTreeMap<String, String>,
    /// Replaces descriptions of tools, by the server's names.
    #[schemars(extend("x-mask" = "names"))]
    pub descriptions: BTreeMap<String, String>,
    /// Timeout of a call in seconds, not counting the time a person needs to answer the server's questions.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
    /// Announce to the server that it may ask questions (elicitation), for servers that offer some tools only then. Clients at `/mcp/NAME`
    /// are always asked; for other callers, questions are declined.
    pub asks: bool,
    /// For a local command: `on` confines it to its own folder and read-only system files; `off` runs it with the
    /// permissions of the gateway's user.
    pub sandbox: Confinement,
    /// For a command in the sandbox: folders it may read and write, besides its own.
    pub folders: Vec<PathBuf>,
    /// For a command in the sandbox: allow network access.
    pub network: bool,
    /// Agents that may use it, by name.
    pub agents: Vec<Pattern>,
    /// Tokens that may use it, by name; the owner's always may.
    #[schemars(extend("x-mask" = "names"))]
    pub tokens: Vec<Pattern>,
    /// Hold tools that appear later until you accept them, like changed ones.
    pub hold_new: bool,
    /// Service whose connections it uses. Default: its own name.
    pub service: Option<String>,
    /// OAuth settings, if the server does not announce them itself.
    pub oauth: Option<OauthSettings>,
}

impl Default for McpServer {
    fn default() -> Self {
        let everybody = || vec![Pattern::new("*")];
        Self {
            kind: None,
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            url: None,
            headers: BTreeMap::new(),
            openapi: None,
            enabled: true,
            tools: everybody(),
            hide: Vec::new(),
            rename: BTreeMap::new(),
            descriptions: BTreeMap::new(),
            // The default of the MCP specification's SDKs.
            timeout: 60,
            asks: false,
            // Most servers are started through npx or uvx, which need their caches in the user's home.
            sandbox: Confinement::Off,
            folders: Vec::new(),
            network: true,
            agents: everybody(),
            tokens: everybody(),
            hold_new: false,
            service: None,
            oauth: None,
        }
    }
}

impl McpServer {
    /// The entry as it is written to config.toml: only what differs from the defaults.
    pub fn brief(&self) -> Value {
        let (mut said, plain) = (json!(self), json!(Self::default()));
        if let Some(map) = said.as_object_mut() {
            map.retain(|key, value| plain.get(key) != Some(value));
            // TOML has no null: unset values inside of tables have to be removed as well.
            for inner in map.values_mut().filter_map(Value::as_object_mut) {
                inner.retain(|_, value| !value.is_null());
            }
        }
        said
    }
}

/// Transport of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServerKind {
    /// A local program, over its stdin and stdout.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, as before 2025.
    Sse,
}

/// Sandbox of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confinement {
    /// In the sandbox.
    On,
    /// With the permissions of the gateway's user.
    Off,
}

/// OAuth settings of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct OauthSettings {
    /// Client id, if the server does not support dynamic registration.
    pub client_id: Option<String>,
    /// Client secret, as `vault:NAME`.
    #[schemars(extend("x-check" = "vault"))]
    pub client_secret: Option<String>,
    /// Scopes to request. Default: those the server announces.
    pub scopes: Vec<String>,
}

/// Which tools MCP clients see at `/mcp`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpFace {
    /// `small` (discovery, artifacts and code; everything else through them), `all`, or one of
    /// `mcp.profiles`. A client selects another with `/mcp?profile=NAME`.
    pub profile: String,
    /// Profiles by name: the tools of each, by pattern.
    #[schemars(extend("x-mask" = "names"))]
    pub profiles: BTreeMap<String, Vec<Pattern>>,
}

impl Default for McpFace {
    fn default() -> Self {
        Self {
            profile: "small".to_owned(),
            profiles: BTreeMap::new(),
        }
    }
}

/// Capability discovery.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Discovery {
    /// Model that reranks results, as `provider/model`. Default: none.
    pub rerank: Option<String>,
    /// Folder with word vectors. Default: the one that `make up` installs.
    #[schemars(extend("x-local" = true, "x-restart" = true))]
    pub vectors: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_non_default_values_are_written() {
        let server = McpServer {
            command: Some("npx".to_owned()),
            ..McpServer::default()
        };
        assert_eq!(server.brief(), json!({ "command": "npx" }));
        let oauth = OauthSettings {
            scopes: vec!["read".to_owned()],
            ..OauthSettings::default()
        };
        let server = McpServer {
            oauth: Some(oauth),
            ..server
        };
        let expected = json!({ "command": "npx", "oauth": { "scopes": ["read"] } });
        assert_eq!(server.brief(), expected);
    }

    #[test]
    fn the_shape_matches_the_settings() {
        let read = |value| serde_json::from_value::<McpServer>(value);
        let program = json!({ "command": "npx", "args": ["-y", "x"], "env": { "KEY": "${KEY}" } });
        assert_eq!(read(program).unwrap().command.as_deref(), Some("npx"));
        let remote =
            json!({ "type": "http", "url": "https://x.example/mcp", "headers": { "A": "b" } });
        assert_eq!(read(remote).unwrap().kind, Some(ServerKind::Http));
        assert!(read(json!({ "commando": "npx" })).is_err());
    }
}
