//! `connect`, the first request on every socket, and its response.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The supported protocol version.
pub const PROTOCOL: u32 = 1;

/// An addition: a node cancels a call on `tool.cancel`.
pub const ADDITION_CANCEL: &str = "tool.cancel";

/// An addition: transfers have a SHA-256, can be resumed, and wait for `transfer.ack` when 4 MiB are unacknowledged.
pub const ADDITION_CHECKED: &str = "transfer.checked";

/// An addition: a node sends output of a call as `tool.output`, if `tool.invoke` requests it.
pub const ADDITION_OUTPUT: &str = "tool.output";

/// An addition: a node returns the complete output as `fullOutput` of a truncated result, if `tool.invoke`
/// requests it.
pub const ADDITION_FULL_OUTPUT: &str = "tool.fullOutput";

/// An addition: the node runs programs and writes files only inside a sandbox. Agents may then use it without
/// approval, like the gateway's own machine.
pub const ADDITION_SANDBOXED: &str = "node.sandboxed";

/// An addition: a node may name a session in `client.sessionKey`; its tools are then available in that session only.
pub const ADDITION_SESSION: &str = "node.session";

/// Timeout for sending `connect`.
// Long enough for a slow TLS handshake, short enough that idle sockets cannot use up the limit.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(15);

/// Maximum number of concurrent requests per client socket.
// Per socket, because each open request holds a task and its arguments.
pub const MAX_OPEN_REQUESTS: usize = 64;

/// Identifies the client and the versions it supports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectParams {
    /// Lowest supported protocol version.
    pub min_protocol: u32,
    /// Highest supported protocol version.
    pub max_protocol: u32,
    /// The client.
    pub client: Client,
    /// Its credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// For a node: the tools it offers, without prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolDefinition>>,
    /// For a node: its capabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_runtime: Option<NodeRuntime>,
    /// Additions the client supports; see `features.additions`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additions: Vec<String>,
}

/// The client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// Its id; for a node, the node id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Its operating system.
    pub platform: String,
    /// Its role.
    pub mode: ClientMode,
    /// For a channel: the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// For a channel: the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// For a node: the only session whose agent may use its tools. They are then tools of an MCP server, whose results are
    /// passed through unchanged. An addition: `node.session`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}

/// Role of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClientMode {
    /// A client of a user or a program.
    Client,
    /// A machine that shares its tools.
    Node,
    /// A bridge to a chat service.
    Channel,
}

/// Credentials. The token is not printed by `Debug`.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Auth {
    /// An access token of the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "***");
        f.debug_struct("Auth").field("token", &token).finish()
    }
}

/// A tool definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its parameters.
    pub input_schema: Value,
}

/// Capabilities of a node and its tools: `filesystem.list`, `filesystem.read`, `filesystem.write`, `filesystem.edit`,
/// `text.search` and `shell.exec`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRuntime {
    /// Capabilities of the machine.
    pub host_capabilities: Vec<String>,
    /// Capabilities each tool needs.
    pub tool_capabilities: BTreeMap<String, Vec<String>>,
}

/// Response to an accepted `connect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HelloOk {
    /// Marks this response.
    #[serde(rename = "type")]
    pub kind: HelloKind,
    /// The negotiated protocol version.
    pub protocol: u32,
    /// The gateway.
    pub server: Server,
    /// Available methods and events.
    pub features: Features,
    /// For a node: its name on the gateway, which differs from its own after a rename.
    #[serde(rename = "nodeId", default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
}

impl HelloOk {
    /// Creates a hello for this protocol version.
    pub fn new(server: Server, features: Features) -> Self {
        Self {
            kind: HelloKind::HelloOk,
            protocol: PROTOCOL,
            server,
            features,
            node_id: None,
        }
    }
}

/// Type tag of a hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HelloKind {
    /// The connection was accepted.
    HelloOk,
}

/// The gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Server {
    /// The gateway's version.
    pub version: String,
    /// This socket's id, for logs on both sides.
    pub connection_id: String,
}

/// Available methods and events.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Features {
    /// Methods this client may call.
    pub methods: Vec<String>,
    /// Events this client may receive.
    pub events: Vec<String>,
    /// Additions the gateway supports: `tool.cancel`, `transfer.checked`, `tool.output`, `process.watch`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additions: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_string};

    #[test]
    fn a_client_written_by_others_connects_unchanged() {
        let params: ConnectParams = from_value(json!({
            "minProtocol": 1,
            "maxProtocol": 1,
            "client": {
                "id": "laptop", "version": "0.3.1", "platform": "darwin-arm64", "mode": "node",
                "instance": "an addition of theirs",
            },
            "auth": { "token": "t", "kind": "bearer" },
            "tools": [{ "name": "Bash", "description": "runs", "inputSchema": { "type": "object" } }],
            "nodeRuntime": {
                "hostCapabilities": ["shell.exec", "display.surface"],
                "toolCapabilities": { "Bash": ["shell.exec"] },
            },
            "locale": "en",
        }))
        .unwrap();
        assert_eq!(params.client.mode, ClientMode::Node);
        assert_eq!(params.auth.unwrap().token.as_deref(), Some("t"));
        assert_eq!(params.tools.unwrap()[0].name, "Bash");
        let runtime = params.node_runtime.unwrap();
        assert_eq!(runtime.tool_capabilities["Bash"], ["shell.exec"]);
    }

    #[test]
    fn the_smallest_connect_and_every_mode() {
        for mode in ["client", "node", "channel"] {
            let value = json!({
                "minProtocol": 1, "maxProtocol": 1,
                "client": { "id": "x", "version": "1", "platform": "linux", "mode": mode },
            });
            let params: ConnectParams = from_value(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(&params).unwrap(), value);
        }
        let wrong = json!({
            "minProtocol": 1, "maxProtocol": 1,
            "client": { "id": "x", "version": "1", "platform": "linux", "mode": "root" },
        });
        assert!(from_value::<ConnectParams>(wrong).is_err());
    }

    #[test]
    fn hello_has_its_golden_text() {
        let server = Server {
            version: "0.1.0".into(),
            connection_id: "c1".into(),
        };
        let features = Features {
            methods: vec!["tools.list".into()],
            events: vec![],
            additions: vec![],
        };
        let hello = HelloOk::new(server, features);
        let text = to_string(&hello).unwrap();
        assert_eq!(
            text,
            r#"{"type":"hello-ok","protocol":1,"server":{"version":"0.1.0","connectionId":"c1"},"features":{"methods":["tools.list"],"events":[]}}"#
        );
        assert_eq!(serde_json::from_str::<HelloOk>(&text).unwrap(), hello);
    }

    #[test]
    fn a_token_is_never_printed() {
        let auth = Auth {
            token: Some("hunter2".into()),
        };
        assert_eq!(format!("{auth:?}"), "Auth { token: Some(\"***\") }");
    }
}
