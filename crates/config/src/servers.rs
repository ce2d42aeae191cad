//! Settings of MCP servers, in the shape that other programs keep under `mcpServers`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use manyhands_core::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One MCP server: a `command` that is started here, the `url` of one elsewhere, or the `openapi`
/// document of a plain HTTP service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct McpServer {
    /// How it is spoken to: `stdio`, `http` or `sse`. Follows from `command` or `url` unless said;
    /// an `http` server that only knows the older `sse` is found out by itself.
    #[serde(rename = "type")]
    pub kind: Option<ServerKind>,
    /// The program to start.
    pub command: Option<String>,
    /// Its arguments.
    #[schemars(extend("x-mask" = "args"))]
    pub args: Vec<String>,
    /// Its environment. A value may hold `${NAME}`: a credential of the connection that is used,
    /// else a secret of the vault.
    #[schemars(extend("x-secret" = true))]
    pub env: BTreeMap<String, String>,
    /// The folder it starts in; a private one unless said.
    pub cwd: Option<PathBuf>,
    /// Its address.
    #[schemars(extend("x-check" = "url"))]
    pub url: Option<String>,
    /// Headers to send with every request; values as in `env`.
    #[schemars(extend("x-secret" = true))]
    pub headers: BTreeMap<String, String>,
    /// The OpenAPI document of an HTTP service, a file or an address: each operation becomes a
    /// tool of the server `dynamic/NAME`. `url` says where the service is when the document does not.
    /// Hosts are accepted together with the tools, and a document that names others later is held until you
    /// accept it. Private addresses have to be in `egress.allow_private`.
    pub openapi: Option<String>,
    /// Whether it is used.
    pub enabled: bool,
    /// The tools that are offered, by their names there.
    pub tools: Vec<Pattern>,
    /// Of those, the tools that are not.
    pub hide: Vec<Pattern>,
    /// Other names for tools: theirs, then ours.
    #[schemars(extend("x-mask" = "names"))]
    pub rename: BTreeMap<String, String>,
    /// Other descriptions for tools, by their names there.
    #[schemars(extend("x-mask" = "names"))]
    pub descriptions: BTreeMap<String, String>,
    /// Seconds a call may take. What somebody needs to answer a question of the server does not count.
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
    /// Whether it hears that it may ask questions, for servers that offer some tools only then. Clients at `/mcp/NAME` are asked
    /// whatever this says; where a call comes from elsewhere, questions are dismissed.
    pub asks: bool,
    /// For a program: `on` confines it to its own folder and read-only system files; `off` leaves it
    /// as free as the gateway's user.
    pub sandbox: Confinement,
    /// For a program in the sandbox: folders it may read and write besides its own.
    pub folders: Vec<PathBuf>,
    /// For a program in the sandbox: whether it may use the network.
    pub network: bool,
    /// Agents for which it may be used, by name.
    pub agents: Vec<Pattern>,
    /// Tokens by which it may be used, by name; the owner's always may.
    #[schemars(extend("x-mask" = "names"))]
    pub tokens: Vec<Pattern>,
    /// Whether tools that appear after the first time wait for your word, as changed ones do.
    pub hold_new: bool,
    /// The service whose connections it uses; its own name unless said.
    pub service: Option<String>,
    /// How to log in, where the server does not say all of it itself.
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
            timeout: 60,
            asks: false,
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

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServerKind {
    /// A program, over its input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, as before 2025.
    Sse,
}

/// Whether a program is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confinement {
    /// In the sandbox.
    On,
    /// As free as the gateway's user.
    Off,
}

/// How to log in at a server that wants OAuth.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct OauthSettings {
    /// The client's id, where the server does not register clients by itself.
    pub client_id: Option<String>,
    /// Its secret, as `vault:NAME`.
    #[schemars(extend("x-check" = "vault"))]
    pub client_secret: Option<String>,
    /// What to ask for; what the server names unless said.
    pub scopes: Vec<String>,
}

/// What MCP clients are shown at `/mcp`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpFace {
    /// `small` (discovery, artifacts and code; everything else through them), `all`, or one of
    /// `mcp.profiles`. A client asks for another with `/mcp?profile=NAME`.
    pub profile: String,
    /// Profiles by name: the tools each shows, by pattern.
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

/// How capabilities are found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Discovery {
    /// The model that puts what was found in order, as `provider/model`; none unless said.
    pub rerank: Option<String>,
    /// The folder with word vectors; the one that `make up` brings in unless said.
    #[schemars(extend("x-local" = true, "x-restart" = true))]
    pub vectors: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_shape_is_the_one_people_have() {
        let read = |value| serde_json::from_value::<McpServer>(value);
        let program = json!({ "command": "npx", "args": ["-y", "x"], "env": { "KEY": "${KEY}" } });
        assert_eq!(read(program).unwrap().command.as_deref(), Some("npx"));
        let remote =
            json!({ "type": "http", "url": "https://x.example/mcp", "headers": { "A": "b" } });
        assert_eq!(read(remote).unwrap().kind, Some(ServerKind::Http));
        assert!(read(json!({ "commando": "npx" })).is_err());
    }
}
