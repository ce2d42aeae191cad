//! Settings of the gateway's own node.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The gateway's own machine as a node: `manyhands up` shares it, in addition to nodes that connect
/// from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Node {
    /// Share the gateway's own machine as a node when `manyhands up` runs.
    pub enabled: bool,
    /// Name of the node. Default: the hostname.
    #[schemars(extend("x-check" = "node"))]
    pub id: Option<String>,
    /// Working directory of the node's tools; it must exist. Default: `workspace_root`, or the jail if that is
    /// different.
    pub workspace: Option<PathBuf>,
    /// Directory the node's file tools cannot leave; it must contain the workspace. Default: the workspace itself,
    /// or none if `sandbox` is `off`.
    pub jail: Option<PathBuf>,
    /// What the node's commands may change: `workspace` (the workspace and the jail), `read-only` (nothing), or `off`
    /// (everything the gateway's user may). Unless it is `off`, they run in the sandbox, without network; with
    /// `off` the tools can also access the gateway's own files.
    pub sandbox: NodeSandbox,
    /// Whether the owner may open terminals on the node, from the web page. A terminal is a shell with the limits of
    /// commands.
    pub terminal: bool,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            enabled: true,
            id: None,
            workspace: None,
            jail: None,
            // The node runs in the gateway's process, next to its keys.
            sandbox: NodeSandbox::Workspace,
            terminal: false,
        }
    }
}

/// What a node's commands may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeSandbox {
    /// The workspace and the jail.
    Workspace,
    /// Nothing.
    ReadOnly,
    /// Everything the gateway's user may.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConfigFile;

    fn load(text: &str) -> Result<Node, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        let loaded = ConfigFile::new(path).load();
        loaded
            .map(|(settings, _)| settings.node)
            .map_err(|e| e.to_string())
    }

    #[test]
    fn the_own_machine_is_shared_sandboxed_by_default() {
        let node = load("").unwrap();
        assert_eq!(node, Node::default());
        assert!(node.enabled && node.sandbox == NodeSandbox::Workspace);
        let node = load("[node]\nid = \"desk\"\nsandbox = \"read-only\"\njail = \"/srv\"").unwrap();
        assert_eq!(node.id.as_deref(), Some("desk"));
        assert_eq!(node.sandbox, NodeSandbox::ReadOnly);
    }

    #[test]
    fn a_wrong_name_or_sandbox_is_refused_by_key() {
        let wrong = load("[node]\nid = \"Desk\"\nsandbox = \"none\"").unwrap_err();
        assert!(
            wrong.contains("`node.id` is not a node's name: use 1-32 of a-z, 0-9 and -"),
            "{wrong}"
        );
        assert!(wrong.contains("`node.sandbox` must be one of"), "{wrong}");
    }

    #[test]
    fn none_of_its_keys_can_be_set_remotely() {
        for key in ["enabled", "id", "workspace", "jail", "sandbox", "terminal"] {
            assert!(crate::is_local(&format!("node.{key}")), "{key}");
        }
        assert!(crate::is_local("node") && !crate::is_local("log.level"));
    }
}
