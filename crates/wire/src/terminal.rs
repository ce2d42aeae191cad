//! Terminals on nodes.
//!
//! A terminal is one call: `tool.invoke` of `Terminal` opens it, `tool.result` says how its shell ended, and `terminal.close`
//! closes it, as does `tool.cancel`. Its output is asked for piece by piece, so a slow reader holds back the program and nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An addition: a node whose owner allows terminals runs a shell in one on `tool.invoke` of `Terminal`, which is not
/// among its tools.
pub const ADDITION_TERMINAL: &str = "node.terminal";

/// The tool that opens a terminal on a node that announced `node.terminal`.
pub const TERMINAL_TOOL: &str = "Terminal";

/// Largest number of columns or rows.
pub const MAX_TERMINAL_SIZE: u32 = 1_000;

/// Most bytes of one input.
pub const MAX_TERMINAL_INPUT: usize = 1024 * 1024;

/// A terminal to open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalOpenParams {
    /// The node.
    pub node_id: String,
    /// Columns, 1 to 1000.
    pub cols: u32,
    /// Rows, 1 to 1000.
    pub rows: u32,
    /// The folder it starts in; default: the node's workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// The terminal is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalOpenResult {
    /// Its id, which is the id of the call in the audit log.
    pub terminal_id: String,
}

/// Something typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalInputParams {
    /// The terminal.
    pub terminal_id: String,
    /// What was typed, at most 1 MiB.
    pub data: String,
}

/// A new size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalResizeParams {
    /// The terminal.
    pub terminal_id: String,
    /// Columns, 1 to 1000.
    pub cols: u32,
    /// Rows, 1 to 1000.
    pub rows: u32,
}

/// The terminal to close.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalCloseParams {
    /// The terminal.
    pub terminal_id: String,
}

/// The request was passed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TerminalResult {
    /// Always true.
    pub ok: bool,
}

/// Output of a terminal, at most 16 KiB before decoding. From a node: the first is empty and says that the shell runs, each other
/// one answers a `terminal.read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalOutputEvent {
    /// The terminal.
    pub terminal_id: String,
    /// The output, with control sequences.
    pub data: String,
}

/// A terminal has closed, and everything that ran in it has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalClosedEvent {
    /// The terminal.
    pub terminal_id: String,
    /// Exit code of the shell, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why it closed, if its shell did not exit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Asks a node for the next output of a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalReadEvent {
    /// The terminal.
    pub terminal_id: String,
}

/// Types into a terminal of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalInputEvent {
    /// The terminal.
    pub terminal_id: String,
    /// What was typed.
    pub data: String,
}

/// Changes the size of a terminal of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalResizeEvent {
    /// The terminal.
    pub terminal_id: String,
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
}

/// Closes a terminal of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalCloseEvent {
    /// The terminal.
    pub terminal_id: String,
}

/// The arguments of `Terminal`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalArgs {
    /// Columns.
    #[schemars(range(min = 1, max = 1000))]
    pub cols: u16,
    /// Rows.
    #[schemars(range(min = 1, max = 1000))]
    pub rows: u16,
    /// The folder it starts in; default: the node's workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// How the shell of a terminal ended: the result of `Terminal`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalEnd {
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_str, to_string};

    #[test]
    fn what_goes_over_the_wire_has_its_golden_text() {
        let open: TerminalOpenParams =
            from_str(r#"{"nodeId":"n","cols":80,"rows":24,"theirs":1}"#).unwrap();
        assert_eq!(
            to_string(&open).unwrap(),
            r#"{"nodeId":"n","cols":80,"rows":24}"#
        );
        let closed = TerminalClosedEvent {
            terminal_id: "t".into(),
            exit_code: Some(3),
            reason: None,
        };
        assert_eq!(
            to_string(&closed).unwrap(),
            r#"{"terminalId":"t","exitCode":3}"#
        );
        let end: TerminalEnd = from_str(r#"{"exitCode":null,"signal":"SIGHUP"}"#).unwrap();
        assert_eq!(end.signal.as_deref(), Some("SIGHUP"));
    }
}
