//! Parameters and results of the methods after `connect`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::connect::ToolDefinition;

/// No parameters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ToolsListParams {}

/// Tools the caller may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolsListResult {
    /// The tools.
    pub tools: Vec<ToolDefinition>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInvokeParams {
    /// The tool's name.
    pub tool: String,
    /// Arguments; omitted means an empty object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Map<String, Value>>,
    /// Agent on whose behalf, and in whose workspace, it runs; default: `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Whether to send progress as `tool.progress`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<bool>,
}

/// A tool call for a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestParams {
    /// The client's id of the call, used in its events.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// Arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Map<String, Value>>,
    /// The session on behalf of whose agent it is called.
    pub session_key: String,
}

/// The call was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRequestResult {
    /// Always `sent`.
    pub status: String,
}

/// The tool's result, as the tool documents it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ToolInvokeResult(pub Value);

/// Selects a setting; default: all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ConfigGetParams {
    /// A dotted path, as in `limits.request_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// One setting or all of them, with secrets masked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ConfigGetResult {
    /// The requested setting.
    One {
        /// Its path.
        path: String,
        /// Its value.
        value: Value,
    },
    /// All settings.
    All {
        /// The whole configuration.
        config: Value,
    },
}

/// A change of a setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigSetParams {
    /// A dotted path, as in `limits.request_bytes`.
    pub path: String,
    /// The new value.
    pub value: Value,
}

/// The setting was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSetResult {
    /// Always true.
    pub ok: bool,
    /// The setting's path.
    pub path: String,
    /// Keys that take effect only after a restart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_restart: Vec<String>,
}

/// Selects a workspace folder.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceListParams {
    /// The folder; default: the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The agent; default: `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// Contents of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceListResult {
    /// The folder.
    pub path: String,
    /// Its files.
    pub files: Vec<String>,
    /// Its folders.
    pub directories: Vec<String>,
}

/// Selects a workspace file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceReadParams {
    /// The file.
    pub path: String,
    /// The agent; default: `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// A file and its contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceReadResult {
    /// The file.
    pub path: String,
    /// Its text.
    pub content: String,
    /// Its size in bytes.
    pub size: u64,
    /// Time of the last write (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// Version, which changes with the contents; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceWriteParams {
    /// The file; parent folders are created.
    pub path: String,
    /// Its complete contents.
    pub content: String,
    /// The agent; default: `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Write only if the file still has this version, or with an empty one only if it does not exist; otherwise it is a conflict
    /// and nothing is written. An addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_version: Option<String>,
}

/// The file was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceWriteResult {
    /// The file.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Always true.
    pub written: bool,
    /// The new version; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Selects a workspace file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceDeleteParams {
    /// The file.
    pub path: String,
    /// The agent; default: `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// The file was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceDeleteResult {
    /// The file.
    pub path: String,
    /// Always true.
    pub deleted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;
    use serde_json::{from_str, json, to_string};
    use std::fmt::Debug;

    /// The exact text on the wire, and the same value from it.
    #[track_caller]
    fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T, text: &str) {
        assert_eq!(to_string(&value).unwrap(), text);
        assert_eq!(from_str::<T>(text).unwrap(), value);
    }

    #[test]
    fn parameters_have_their_golden_text() {
        let (path, agent_id) = (|| "a.md".to_owned(), || Some("main".to_owned()));
        check(ToolsListParams {}, "{}");
        check(
            ToolInvokeParams {
                tool: "gsv__ReadFile".into(),
                args: json!({ "path": "a.md" }).as_object().cloned(),
                agent_id: None,
                progress: None,
            },
            r#"{"tool":"gsv__ReadFile","args":{"path":"a.md"}}"#,
        );
        check(ConfigGetParams::default(), "{}");
        check(
            ConfigSetParams {
                path: "log.level".into(),
                value: json!("warn"),
            },
            r#"{"path":"log.level","value":"warn"}"#,
        );
        check(WorkspaceListParams::default(), "{}");
        check(
            WorkspaceReadParams {
                path: path(),
                agent_id: agent_id(),
            },
            r#"{"path":"a.md","agentId":"main"}"#,
        );
        check(
            WorkspaceWriteParams {
                path: path(),
                content: "x".into(),
                agent_id: agent_id(),
                if_version: None,
            },
            r#"{"path":"a.md","content":"x","agentId":"main"}"#,
        );
        check(
            WorkspaceWriteParams {
                path: path(),
                content: "x".into(),
                agent_id: None,
                if_version: Some(String::new()),
            },
            r#"{"path":"a.md","content":"x","ifVersion":""}"#,
        );
        check(
            WorkspaceDeleteParams {
                path: path(),
                agent_id: None,
            },
            r#"{"path":"a.md"}"#,
        );
    }

    #[test]
    fn results_have_their_golden_text() {
        let path = || "a.md".to_owned();
        check(
            ToolsListResult {
                tools: vec![ToolDefinition {
                    name: "t".into(),
                    description: "d".into(),
                    input_schema: json!({ "type": "object" }),
                }],
            },
            r#"{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"}}]}"#,
        );
        check(ToolInvokeResult(json!({ "ok": true })), r#"{"ok":true}"#);
        check(
            ConfigGetResult::One {
                path: "listen".into(),
                value: json!("a:1"),
            },
            r#"{"path":"listen","value":"a:1"}"#,
        );
        check(
            ConfigGetResult::All { config: json!({}) },
            r#"{"config":{}}"#,
        );
        check(
            ConfigSetResult {
                ok: true,
                path: "log.level".into(),
                needs_restart: vec![],
            },
            r#"{"ok":true,"path":"log.level"}"#,
        );
        check(
            WorkspaceListResult {
                path: "/".into(),
                files: vec![path()],
                directories: vec![],
            },
            r#"{"path":"/","files":["a.md"],"directories":[]}"#,
        );
        check(
            WorkspaceReadResult {
                path: path(),
                content: "x".into(),
                size: 1,
                last_modified: Some("2026-01-02T03:04:05Z".into()),
                version: Some("v1".into()),
            },
            r#"{"path":"a.md","content":"x","size":1,"lastModified":"2026-01-02T03:04:05Z","version":"v1"}"#,
        );
        check(
            WorkspaceWriteResult {
                path: path(),
                size: 1,
                written: true,
                version: None,
            },
            r#"{"path":"a.md","size":1,"written":true}"#,
        );
        check(
            WorkspaceDeleteResult {
                path: path(),
                deleted: true,
            },
            r#"{"path":"a.md","deleted":true}"#,
        );
    }

    #[test]
    fn fields_we_do_not_know_are_ignored() {
        let params: ConfigGetParams = from_str(r#"{"path":"a","verbose":true}"#).unwrap();
        assert_eq!(params.path.as_deref(), Some("a"));
        let params: ToolInvokeParams = from_str(r#"{"tool":"t","args":null,"x":1}"#).unwrap();
        assert_eq!(params.args, None);
        assert!(from_str::<ToolInvokeParams>(r#"{"args":{}}"#).is_err());
    }
}
