//! `connect`, the first request on every socket, and its answer.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The protocol version spoken here.
pub const PROTOCOL: u32 = 1;

/// An addition: a node stops a call when it is told `tool.cancel`.
pub const ADDITION_CANCEL: &str = "tool.cancel";

/// An addition: transfers carry a SHA-256, are taken up again where they broke off, and wait
/// for `transfer.ack` when 4 MiB are on their way.
pub const ADDITION_CHECKED: &str = "transfer.checked";

/// An addition: a node tells what a call prints, by `tool.output`, where `tool.invoke` asks for it.
pub const ADDITION_OUTPUT: &str = "tool.output";

/// An addition: a node gives all of an output that its result shows in part, as `fullOutput` of the result, where
/// `tool.invoke` asks for it.
pub const ADDITION_FULL_OUTPUT: &str = "tool.fullOutput";

/// An addition: the node runs programs and writes files only inside a sandbox. An agent then uses it
/// without asking, as it does the gateway's own machine.
pub const ADDITION_SANDBOXED: &str = "node.sandboxed";

/// An addition: a node may name a session in `client.sessionKey`, and its tools are there for that session only.
pub const ADDITION_SESSION: &str = "node.session";

/// How long a socket may take to send `connect`.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(15);

/// How many requests of one client's socket are worked on at a time.
pub const MAX_OPEN_REQUESTS: usize = 64;

/// Says who connects, with what, and which versions it speaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectParams {
    /// The lowest protocol version the client speaks.
    pub min_protocol: u32,
    /// The highest protocol version the client speaks.
    pub max_protocol: u32,
    /// Who connects.
    pub client: Client,
    /// How it proves that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// For a node: the tools it offers, without prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolDefinition>>,
    /// For a node: what it and its tools can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_runtime: Option<NodeRuntime>,
    /// Additions to the protocol that the client knows; see `features.additions`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additions: Vec<String>,
}

/// Who connects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// Its id; for a node, the node id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// The system it runs on.
    pub platform: String,
    /// As what it connects.
    pub mode: ClientMode,
    /// For a channel: which service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// For a channel: which account of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// For a node: the one session whose agent has its tools. What it offers are then tools of an MCP server, whose
    /// results it gives back as they are. An addition, `node.session`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}

/// As what a client connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClientMode {
    /// A person's or a program's client.
    Client,
    /// A machine that lends its tools.
    Node,
    /// A bridge to a chat service.
    Channel,
}

/// How a client proves who it is. Prints without the token.
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

/// A tool as lists show it and nodes offer it.
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

/// What a node and its tools can do. The capabilities are `filesystem.list`,
/// `filesystem.read`, `filesystem.write`, `filesystem.edit`, `text.search` and
/// `shell.exec`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeRuntime {
    /// What the machine can do.
    pub host_capabilities: Vec<String>,
    /// What each tool needs of that.
    pub tool_capabilities: BTreeMap<String, Vec<String>>,
}

/// The answer to a `connect` that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HelloOk {
    /// Says that this is the greeting.
    #[serde(rename = "type")]
    pub kind: HelloKind,
    /// The protocol version from here on.
    pub protocol: u32,
    /// Who answers.
    pub server: Server,
    /// What may be asked, and what may be told.
    pub features: Features,
    /// For a node: the name it has here, which is another than its own after a renaming.
    #[serde(rename = "nodeId", default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
}

impl HelloOk {
    /// The greeting of this version of the protocol.
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

/// The word that opens a greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HelloKind {
    /// The connection stands.
    HelloOk,
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Server {
    /// The gateway's version.
    pub version: String,
    /// This socket's id, for logs on both sides.
    pub connection_id: String,
}

/// What may be asked, and what may be told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Features {
    /// The methods this client may call.
    pub methods: Vec<String>,
    /// The events it may be sent.
    pub events: Vec<String>,
    /// The additions to the protocol that the gateway knows: `tool.cancel`, `transfer.checked`, `tool.output`, `process.watch`.
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
