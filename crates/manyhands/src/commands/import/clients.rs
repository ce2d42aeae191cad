//! Programs that store MCP servers in their own settings, and where.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::UserEnv;

/// A supported program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    VsCode,
    /// Windsurf.
    Windsurf,
    /// Zed.
    Zed,
    /// Codex.
    Codex,
    /// opencode.
    Opencode,
    /// Gemini CLI.
    Gemini,
    /// Goose.
    Goose,
}

impl Client {
    /// All supported programs.
    pub const ALL: [Self; 10] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Windsurf,
        Self::Zed,
        Self::Codex,
        Self::Opencode,
        Self::Gemini,
        Self::Goose,
    ];

    /// Its name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Goose => "goose",
        }
    }

    /// Files it may have, those of the directory `here` first.
    pub fn files(self, user_env: &UserEnv, here: &Path) -> Vec<PathBuf> {
        let user = |name: &str| user_env.user.join(name);
        let folder = |variable: &str, other: &str| match user_env.env.get(variable) {
            // The specification of XDG says that relative paths are to be ignored.
            Some(set) if Path::new(set).is_absolute() => PathBuf::from(set),
            _ => user(other),
        };
        let config = folder("XDG_CONFIG_HOME", ".config");
        let mac = user("Library/Application Support");
        match self {
            Self::ClaudeDesktop => {
                let file = "Claude/claude_desktop_config.json";
                vec![config.join(file), mac.join(file)]
            }
            Self::ClaudeCode => vec![here.join(".mcp.json"), user(".claude.json")],
            Self::Cursor => vec![here.join(".cursor/mcp.json"), user(".cursor/mcp.json")],
            Self::VsCode => vec![
                here.join(".vscode/mcp.json"),
                config.join("Code/User/mcp.json"),
                mac.join("Code/User/mcp.json"),
            ],
            Self::Windsurf => vec![user(".codeium/windsurf/mcp_config.json")],
            Self::Zed => vec![
                here.join(".zed/settings.json"),
                config.join("zed/settings.json"),
                user(".config/zed/settings.json"),
            ],
            Self::Codex => vec![
                here.join(".codex/config.toml"),
                folder("CODEX_HOME", ".codex").join("config.toml"),
            ],
            Self::Opencode => vec![
                here.join("opencode.json"),
                here.join("opencode.jsonc"),
                here.join(".opencode/opencode.json"),
                config.join("opencode/opencode.json"),
                config.join("opencode/opencode.jsonc"),
            ],
            Self::Gemini => vec![
                here.join(".gemini/settings.json"),
                user(".gemini/settings.json"),
            ],
            Self::Goose => vec![
                config.join("goose/config.yaml"),
                user(".config/goose/config.yaml"),
            ],
        }
    }

    /// Recognises a program's file by its path.
    pub fn of(path: &Path) -> Option<Self> {
        let text = path.to_string_lossy();
        let owners = [
            ("/.gemini/settings.json", Self::Gemini),
            ("/.codex/config.toml", Self::Codex),
            ("goose/config.yaml", Self::Goose),
            ("opencode.json", Self::Opencode),
            ("opencode.jsonc", Self::Opencode),
            ("zed/settings.json", Self::Zed),
        ];
        let found = owners.iter().find(|(end, _)| text.ends_with(end));
        found.map(|(_, client)| *client)
    }
}

impl FromStr for Client {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter();
        known
            .into_iter()
            .find(|client| client.word() == word)
            .ok_or(())
    }
}

/// The project directory a settings file belongs to, if any.
pub fn project_of(path: &Path, user_env: &UserEnv) -> Option<PathBuf> {
    let (folder, name) = (path.parent()?, path.file_name()?.to_str()?);
    let inside = folder.file_name().and_then(|name| name.to_str());
    let project = match (inside.unwrap_or(""), name) {
        ("opencode", _) => return None,
        (".vscode" | ".zed" | ".cursor" | ".gemini" | ".codex" | ".opencode", _) => {
            folder.parent()?
        }
        (_, ".mcp.json" | "opencode.json" | "opencode.jsonc") => folder,
        _ => return None,
    };
    // A dot directory in the home holds the user's settings, not a project's.
    (project != user_env.user).then(|| project.to_owned())
}
