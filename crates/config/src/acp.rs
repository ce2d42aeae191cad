//! Settings of agents that others made and that speak the Agent Client Protocol.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::servers::Confinement;

/// Agents that others made, for `acp_spawn`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Acp {
    /// Agents that speak the Agent Client Protocol on standard input and output, by a name of your
    /// choice. Which programs run is decided here, so these are set in the file.
    #[schemars(extend("x-local" = true, "x-mask" = "names"))]
    pub agents: BTreeMap<String, AcpAgent>,
}

/// One agent. It runs in the sandbox: it sees the system's programs, the folders named here, and a
/// home of its own; it can change its home and its `cwd`, and reaches the network, since its model
/// is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcpAgent {
    /// The program: an absolute path, or a bare name that is looked for in the system's folders.
    #[schemars(length(min = 1))]
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    #[schemars(extend("x-mask" = "args"))]
    pub args: Vec<String>,
    /// Its environment; a value may be `vault:NAME`. It has `PATH`, `HOME`, `PWD`, `TMPDIR`, the
    /// words for language and time, and what is named here.
    #[serde(default)]
    #[schemars(extend("x-secret" = true))]
    pub env: BTreeMap<String, String>,
    /// The folder it works in: its files and its commands stay below it. That of `workspace_root`
    /// unless said.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The folder that is its home, which stays: its login and its settings are there.
    /// `host/acp/NAME` in the gateway's home unless said.
    #[serde(default)]
    pub home: Option<PathBuf>,
    /// Folders it may read and run programs from, besides the system's: where it is installed, for one.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// `on` confines it as said above; `off` leaves it as free as the gateway's user. Agents that
    /// bring a runtime like that of Claude Code start only with `off`.
    #[serde(default = "on")]
    pub sandbox: Confinement,
    /// Whether it may use the network. Without it an agent reaches no model.
    #[serde(default = "yes")]
    pub network: bool,
    /// What becomes of what it asks to be allowed: `deny` refuses, `ask` asks the owner, `allow` lets
    /// it through as far as the rules do. Each is a call of `acp_permit`, so rules of `policy` may name
    /// that and decide by `agent`, `kind` and `title`.
    #[serde(default)]
    pub permissions: AcpPermissions,
    /// Whether it may read and write text files below its `cwd` through the gateway.
    #[serde(default = "yes")]
    pub files: bool,
    /// Whether it may run commands through the gateway, as `bash` does.
    #[serde(default = "yes")]
    pub terminal: bool,
    /// Seconds one task may take.
    #[serde(default = "half_an_hour")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
}

/// What becomes of what an agent asks to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AcpPermissions {
    /// It is refused.
    Deny,
    /// The owner is asked; nobody's answer is a no.
    #[default]
    Ask,
    /// It is let through, as far as the rules let it.
    Allow,
}

fn on() -> Confinement {
    Confinement::On
}

fn yes() -> bool {
    true
}

fn half_an_hour() -> u64 {
    1_800
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConfigFile;

    fn load(text: &str) -> Result<Acp, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        let loaded = ConfigFile::new(path).load();
        loaded
            .map(|(settings, _)| settings.acp)
            .map_err(|e| e.to_string())
    }

    #[test]
    fn an_agent_is_confined_and_asks_unless_said() {
        let acp = load("[acp.agents.qwen]\ncommand = \"qwen\"\nargs = [\"--acp\"]").unwrap();
        let qwen = &acp.agents["qwen"];
        assert_eq!(qwen.sandbox, Confinement::On);
        assert_eq!(qwen.permissions, AcpPermissions::Ask);
        assert!(qwen.network && qwen.files && qwen.terminal && qwen.timeout == 1_800);
        let loose = "[acp.agents.a]\ncommand = \"a\"\nsandbox = \"off\"\npermissions = \"allow\"";
        let loose = &load(loose).unwrap().agents["a"];
        assert_eq!(loose.sandbox, Confinement::Off);
        assert_eq!(loose.permissions, AcpPermissions::Allow);
    }

    #[test]
    fn a_wrong_agent_is_refused_by_key() {
        let wrong = load("[acp.agents.a]\ncommand = \"a\"\ntimeout = 0\npermissions = \"yes\"");
        let wrong = wrong.unwrap_err();
        for key in ["timeout", "permissions"] {
            assert!(wrong.contains(&format!("acp.agents.a.{key}")), "{wrong}");
        }
        assert!(load("[acp.agents.a]\nargs = []").is_err(), "no command");
    }

    #[test]
    fn no_key_of_it_is_set_from_afar() {
        for key in [
            "acp.agents",
            "acp.agents.a",
            "acp.agents.a.command",
            "acp.agents.a.env.X",
        ] {
            assert!(crate::is_local(key), "{key}");
        }
    }
}
