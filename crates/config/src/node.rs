//! Settings of the node that the gateway's own machine is.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The gateway's own machine as a node: `manyhands up` lends it, beside the nodes that connect
/// from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Node {
    /// Whether `manyhands up` lends the gateway's own machine as a node.
    pub enabled: bool,
    /// The node's name; the machine's own unless said.
    #[schemars(extend("x-check" = "node"))]
    pub id: Option<String>,
    /// Where the node's tools start: a folder that is there. That of `workspace_root` unless said,
    /// or the jail where that is another.
    pub workspace: Option<PathBuf>,
    /// The folder that the node's file tools do not leave, with the workspace in it. The workspace
    /// itself unless said, and none when `sandbox` is `off`.
    pub jail: Option<PathBuf>,
    /// What the node's commands may change: the `workspace` and the jail, nothing (`read-only`), or
    /// whatever the gateway's user may (`off`). They run in the sandbox, without network, unless it
    /// is `off`; then the tools reach the gateway's own files too.
    pub sandbox: NodeSandbox,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            enabled: true,
            id: None,
            workspace: None,
            jail: None,
            sandbox: NodeSandbox::Workspace,
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
    /// Whatever the gateway's user may.
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
    fn the_own_machine_is_lent_in_the_sandbox_unless_said() {
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
    fn no_key_of_it_is_set_from_afar() {
        for key in ["enabled", "id", "workspace", "jail", "sandbox"] {
            assert!(crate::is_local(&format!("node.{key}")), "{key}");
        }
        assert!(crate::is_local("node") && !crate::is_local("log.level"));
    }
}
