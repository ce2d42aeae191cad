//! Settings of external agents that speak the Agent Client Protocol.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::servers::Confinement;

/// External agents for `acp_spawn`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Acp {
    /// Agents that speak the Agent Client Protocol on stdio, by a name of your choice. They decide which programs run,
    /// so they can only be set in the file.
    #[schemars(extend("x-local" = true, "x-mask" = "names"))]
    pub agents: BTreeMap<String, AcpAgent>,
}

/// One agent. It runs in the sandbox: it can read the system's programs and the folders named here, write to its
/// home and its `cwd`, and use the network, which its model needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcpAgent {
    /// The program: an absolute path, or a name that is searched in the system's folders.
    #[schemars(length(min = 1))]
    pub command: String,
    /// Arguments.
    #[serde(default)]
    #[schemars(extend("x-mask" = "args"))]
    pub args: Vec<String>,
    /// Environment variables; a value may be `vault:NAME`. Besides these it gets `PATH`, `HOME`, `PWD`, `TMPDIR`, and
    /// the variables for language and time zone.
    #[serde(default)]
    #[schemars(extend("x-secret" = true))]
    pub env: BTreeMap<String, String>,
    /// Working directory: its files and commands stay inside. Default: `workspace_root`.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// Its persistent home directory, with its login and settings. Default: `host/acp/NAME` in the gateway's home.
    #[serde(default)]
    pub home: Option<PathBuf>,
    /// Folders it may read and run programs from, besides the system's, such as where it is installed.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// `on` confines it as described above; `off` runs it with the permissions of the gateway's user. Agents with
    /// their own runtime, such as Claude Code, start only with `off`.
    #[serde(default = "on")]
    pub sandbox: Confinement,
    /// Allow network access. Without it an agent cannot reach its model.
    #[serde(default = "yes")]
    pub network: bool,
    /// Its permission requests: `deny` denies them, `ask` asks the owner, `allow` allows what the rules
    /// allow. Each is a call of `acp_permit`, so `policy` rules can match that tool and decide by `agent`, `kind`
    /// and `title`.
    #[serde(default)]
    pub permissions: AcpPermissions,
    /// Allow it to read and write text files in its `cwd` through the gateway.
    #[serde(default = "yes")]
    pub files: bool,
    /// Allow it to run commands through the gateway, like `bash`.
    #[serde(default = "yes")]
    pub terminal: bool,
    /// Timeout of one task in seconds.
    #[serde(default = "half_an_hour")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u64,
}

/// How an agent's permission requests are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AcpPermissions {
    /// Denied.
    Deny,
    /// The owner is asked; no answer means denied.
    #[default]
    Ask,
    /// Allowed, as far as the rules allow it.
    Allow,
}

fn on() -> Confinement {
    // An external agent is a program that nobody here has reviewed.
    Confinement::On
}

fn yes() -> bool {
    true
}

fn half_an_hour() -> u64 {
    // Coding tasks take long; the setting allows up to an hour.
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
    fn an_agent_is_confined_and_needs_approval_by_default() {
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
    fn none_of_its_keys_can_be_set_remotely() {
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
