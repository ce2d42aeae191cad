//! Programs that store MCP servers in their own settings: where their files are, and how an entry in them looks.
//!
//! One table for reading (`mcp import`) and writing (`connect`).

mod format;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{Value, json};

pub use format::Format;

/// The user's environment, which the files refer to.
pub struct UserEnv {
    /// Home directory.
    pub user: PathBuf,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
}

/// A supported program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Cline, as an extension of Visual Studio Code or on its own.
    Cline,
    /// Continue.
    Continue,
}

/// The directory a path of the table is relative to.
#[derive(Debug, Clone, Copy)]
enum Base {
    /// `XDG_CONFIG_HOME`, or `~/.config`.
    Config,
    /// The home directory.
    Home,
    /// `~/Library/Application Support`, on macOS.
    Mac,
    /// The directory in this variable, or else this one in the home directory.
    Variable(&'static str, &'static str),
}

use Base::{Config, Home, Mac, Variable};

/// How servers are stored in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// An object of servers by name.
    Map,
    /// A list of servers, with their name inside.
    List,
}

/// How an entry spells what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// `command`, `args`, `env`; `url`, `headers`. With the values of `type` for both, if it needs them, and the key of
    /// the URL.
    Usual {
        types: Option<(&'static str, &'static str)>,
        url: &'static str,
    },
    /// Zed: entries that do not come from an extension have `source`.
    Zed,
    /// Codex: `http_headers`.
    Codex,
    /// opencode: the command is a list.
    Opencode,
    /// Goose: `cmd`, `envs`, `uri`.
    Goose,
    /// Continue: headers are in `requestOptions`.
    Continue,
}

/// What the table says about a program.
struct Row {
    word: &'static str,
    title: &'static str,
    /// Files of a project, relative to its directory.
    project: &'static [&'static str],
    /// Files of the user; the first one for this system is created if none exists.
    user: &'static [(Base, &'static str)],
    /// Directories whose presence shows that the program is installed, besides those of its files.
    folders: &'static [(Base, &'static str)],
    /// Commands that show the same, if they are on the search path.
    commands: &'static [&'static str],
    /// Key of the servers in a file.
    key: &'static str,
    layout: Layout,
    spelling: Spelling,
}

const USUAL: Spelling = Spelling::Usual {
    types: None,
    url: "url",
};

impl Client {
    /// Refuses a file whose creation would make the program ignore its existing settings.
    pub fn check_new(self, path: &Path) -> Result<(), String> {
        let older = path.with_file_name("config.json");
        match self == Self::Continue && !path.exists() && older.exists() {
            true => Err(format!(
                "its settings are in {}, which it would ignore if {} existed; nothing was changed\nhint: convert them to config.yaml in Continue first",
                older.display(),
                path.display()
            )),
            false => Ok(()),
        }
    }

    /// All supported programs.
    pub const ALL: [Self; 12] = [
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
        Self::Cline,
        Self::Continue,
    ];

    fn row(self) -> &'static Row {
        match self {
            Self::ClaudeDesktop => &Row {
                word: "claude-desktop",
                title: "Claude Desktop",
                project: &[],
                user: &[
                    (Config, "Claude/claude_desktop_config.json"),
                    (Mac, "Claude/claude_desktop_config.json"),
                ],
                folders: &[],
                commands: &["claude-desktop"],
                key: "mcpServers",
                layout: Layout::Map,
                spelling: USUAL,
            },
            Self::ClaudeCode => &Row {
                word: "claude-code",
                title: "Claude Code",
                project: &[".mcp.json"],
                user: &[(Home, ".claude.json")],
                folders: &[(Home, ".claude")],
                commands: &["claude"],
                key: "mcpServers",
                layout: Layout::Map,
                spelling: Spelling::Usual {
                    types: Some(("stdio", "http")),
                    url: "url",
                },
            },
            Self::Cursor => &Row {
                word: "cursor",
                title: "Cursor",
                project: &[".cursor/mcp.json"],
                user: &[(Home, ".cursor/mcp.json")],
                folders: &[],
                commands: &["cursor", "cursor-agent"],
                key: "mcpServers",
                layout: Layout::Map,
                spelling: USUAL,
            },
            Self::VsCode => &Row {
                word: "vscode",
                title: "Visual Studio Code",
                project: &[".vscode/mcp.json"],
                user: &[(Config, "Code/User/mcp.json"), (Mac, "Code/User/mcp.json")],
                folders: &[],
                commands: &["code"],
                key: "servers",
                layout: Layout::Map,
                spelling: Spelling::Usual {
                    types: Some(("stdio", "http")),
                    url: "url",
                },
            },
            Self::Windsurf => &Row {
                word: "windsurf",
                title: "Windsurf",
                project: &[],
                user: &[(Home, ".codeium/windsurf/mcp_config.json")],
                folders: &[],
                commands: &["windsurf"],
                key: "mcpServers",
                layout: Layout::Map,
                spelling: Spelling::Usual {
                    types: None,
                    url: "serverUrl",
                },
            },
            Self::Zed => &Row {
                word: "zed",
                title: "Zed",
                project: &[".zed/settings.json"],
                user: &[
                    (Config, "zed/settings.json"),
                    (Home, ".config/zed/settings.json"),
                ],
                folders: &[],
                commands: &["zed", "zeditor"],
                key: "context_servers",
                layout: Layout::Map,
                spelling: Spelling::Zed,
            },
            Self::Codex => &Row {
                word: "codex",
                title: "Codex",
                project: &[".codex/config.toml"],
                user: &[(Variable("CODEX_HOME", ".codex"), "config.toml")],
                folders: &[],
                commands: &["codex"],
                key: "mcp_servers",
                layout: Layout::Map,
                spelling: Spelling::Codex,
            },
            Self::Opencode => &Row {
                word: "opencode",
                title: "opencode",
                project: &["opencode.json", "opencode.jsonc", ".opencode/opencode.json"],
                user: &[
                    (Config, "opencode/opencode.json"),
                    (Config, "opencode/opencode.jsonc"),
                ],
                folders: &[],
                commands: &["opencode"],
                key: "mcp",
                layout: Layout::Map,
                spelling: Spelling::Opencode,
            },
            Self::Gemini => &Row {
                word: "gemini",
                title: "Gemini CLI",
                project: &[".gemini/settings.json"],
                user: &[(Home, ".gemini/settings.json")],
                folders: &[],
                commands: &["gemini"],
                key: "mcpServers",
                layout: Layout::Map,
                // `url` would be taken for the older transport with server-sent events.
                spelling: Spelling::Usual {
                    types: None,
                    url: "httpUrl",
                },
            },
            Self::Goose => &Row {
                word: "goose",
                title: "Goose",
                project: &[],
                user: &[
                    (Config, "goose/config.yaml"),
                    (Home, ".config/goose/config.yaml"),
                ],
                folders: &[],
                commands: &["goose"],
                key: "extensions",
                layout: Layout::Map,
                spelling: Spelling::Goose,
            },
            Self::Cline => &Row {
                word: "cline",
                title: "Cline",
                project: &[],
                user: &[
                    (
                        Config,
                        "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                    ),
                    (
                        Mac,
                        "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                    ),
                    (Home, ".cline/data/settings/cline_mcp_settings.json"),
                ],
                folders: &[
                    (Config, "Code/User/globalStorage/saoudrizwan.claude-dev"),
                    (Mac, "Code/User/globalStorage/saoudrizwan.claude-dev"),
                    (Home, ".cline"),
                ],
                commands: &["cline"],
                key: "mcpServers",
                layout: Layout::Map,
                spelling: Spelling::Usual {
                    types: Some(("stdio", "streamableHttp")),
                    url: "url",
                },
            },
            Self::Continue => &Row {
                word: "continue",
                title: "Continue",
                project: &[],
                user: &[(Home, ".continue/config.yaml")],
                folders: &[],
                commands: &["cn"],
                key: "mcpServers",
                layout: Layout::List,
                spelling: Spelling::Continue,
            },
        }
    }

    /// Its name on the command line.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// Its name as people know it.
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// Key of the servers in its file.
    pub fn key(self) -> &'static str {
        self.row().key
    }

    /// How servers are stored below that key.
    pub fn layout(self) -> Layout {
        self.row().layout
    }

    /// Files it may have, those of the directory `here` first.
    pub fn files(self, user_env: &UserEnv, here: &Path) -> Vec<PathBuf> {
        let project = self.row().project.iter().map(|file| here.join(file));
        project.chain(self.user_files(user_env)).collect()
    }

    /// Files of the user that it may have, whatever system this is.
    fn user_files(self, user_env: &UserEnv) -> impl Iterator<Item = PathBuf> {
        let files = self.row().user.iter();
        files.map(|(base, file)| base.path(user_env).join(file))
    }

    /// The file of the user to write to: an existing one, or the one it would create on this system.
    pub fn settings(self, user_env: &UserEnv) -> PathBuf {
        let existing = self.user_files(user_env).find(|file| file.exists());
        existing.unwrap_or_else(|| {
            let files = self.row().user;
            let ours = |(base, _): &&(Base, &str)| cfg!(target_os = "macos") == base.is_mac();
            // Most programs use the same place on every system.
            let (base, file) = files.iter().find(ours).unwrap_or(&files[0]);
            base.path(user_env).join(file)
        })
    }

    /// Whether the program appears to be installed: its settings, their directory, or its command exist.
    pub fn is_installed(self, user_env: &UserEnv) -> bool {
        let row = self.row();
        let mut folders = row.folders.iter();
        let mut own = self.user_files(user_env).filter_map(|file| {
            // The home directory itself proves nothing.
            let folder = file.parent()?.to_owned();
            (folder != user_env.user).then_some(folder)
        });
        self.user_files(user_env).any(|file| file.exists())
            || folders.any(|(base, folder)| base.path(user_env).join(folder).is_dir())
            || (self != Self::Cline && own.any(|folder| folder.is_dir()))
            || row.commands.iter().any(|name| user_env.has_command(name))
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

    /// Its entry for a server.
    pub fn entry(self, server: &ClientServer<'_>) -> Value {
        let spelling = self.row().spelling;
        match *server {
            ClientServer::Command {
                program,
                url,
                token,
            } => {
                let env = json!({ "MANYHANDS_URL": url, "MANYHANDS_TOKEN": token });
                match spelling {
                    Spelling::Usual { types, .. } => {
                        let mut entry = json!({ "command": program, "args": ["mcp"], "env": env });
                        typed(&mut entry, types.map(|(stdio, _)| stdio));
                        entry
                    }
                    Spelling::Zed => json!({
                        "source": "custom", "command": program, "args": ["mcp"], "env": env,
                    }),
                    Spelling::Codex => json!({ "command": program, "args": ["mcp"], "env": env }),
                    Spelling::Opencode => json!({
                        "type": "local", "command": [program, "mcp"], "enabled": true, "environment": env,
                    }),
                    Spelling::Goose => json!({
                        "name": ENTRY, "type": "stdio", "enabled": true, "cmd": program,
                        "args": ["mcp"], "envs": env, "timeout": 300,
                    }),
                    Spelling::Continue => json!({
                        "type": "stdio", "command": program, "args": ["mcp"], "env": env,
                    }),
                }
            }
            ClientServer::Http { address, token } => {
                let headers = json!({ "Authorization": format!("Bearer {token}") });
                match spelling {
                    Spelling::Usual { types, url } => {
                        let mut entry = json!({ url: address, "headers": headers });
                        typed(&mut entry, types.map(|(_, http)| http));
                        entry
                    }
                    Spelling::Zed => {
                        json!({ "source": "custom", "url": address, "headers": headers })
                    }
                    Spelling::Codex => json!({ "url": address, "http_headers": headers }),
                    Spelling::Opencode => json!({
                        "type": "remote", "url": address, "enabled": true, "headers": headers,
                    }),
                    Spelling::Goose => json!({
                        "name": ENTRY, "type": "streamable_http", "enabled": true, "uri": address,
                        "headers": headers, "timeout": 300,
                    }),
                    Spelling::Continue => json!({
                        "type": "streamable-http", "url": address,
                        "requestOptions": { "headers": headers },
                    }),
                }
            }
        }
    }

    /// Whether it can use a server by its URL with a header; Claude Desktop only starts commands.
    pub fn supports_http(self) -> bool {
        self != Self::ClaudeDesktop
    }
}

/// Name of our entry in the files of all programs.
pub const ENTRY: &str = "manyhands";

/// This gateway, as a server for a client.
#[derive(Debug, Clone, Copy)]
pub enum ClientServer<'a> {
    /// The client starts `manyhands mcp`.
    Command {
        /// Path of the executable.
        program: &'a str,
        /// URL of the gateway.
        url: &'a str,
        /// The client's token.
        token: &'a str,
    },
    /// The client connects to `/mcp`.
    Http {
        /// URL of `/mcp`.
        address: &'a str,
        /// The client's token.
        token: &'a str,
    },
}

/// Puts `type` first, as the documentation of the programs does.
fn typed(entry: &mut Value, word: Option<&str>) {
    if let (Some(map), Some(word)) = (entry.as_object_mut(), word) {
        map.shift_insert(0, "type".to_owned(), json!(word));
    }
}

impl Base {
    fn is_mac(self) -> bool {
        matches!(self, Mac)
    }

    fn path(self, user_env: &UserEnv) -> PathBuf {
        let user = |name: &str| user_env.user.join(name);
        let folder = |variable: &str, other: &str| match user_env.env.get(variable) {
            // The specification of XDG says that relative paths are to be ignored.
            Some(set) if Path::new(set).is_absolute() => PathBuf::from(set),
            _ => user(other),
        };
        match self {
            Config => folder("XDG_CONFIG_HOME", ".config"),
            Home => user_env.user.clone(),
            Mac => user("Library/Application Support"),
            Variable(variable, other) => folder(variable, other),
        }
    }
}

impl UserEnv {
    /// Whether a command is on the search path.
    pub fn has_command(&self, name: &str) -> bool {
        let path = self.env.get("PATH").map(String::as_str).unwrap_or_default();
        std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .any(|folder| folder.join(name).is_file())
    }
}

impl FromStr for Client {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let mut known = Self::ALL.into_iter();
        known.find(|client| client.word() == word).ok_or(())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn user_env(user: &Path, path: &Path) -> UserEnv {
        let env = [("PATH".to_owned(), path.display().to_string())];
        UserEnv {
            user: user.to_owned(),
            env: env.into(),
        }
    }

    #[test]
    fn every_program_is_known_by_its_word() {
        let user_env = user_env(Path::new("/home/me"), Path::new("/nowhere"));
        for client in Client::ALL {
            assert_eq!(client.word().parse(), Ok(client));
            let files = client.files(&user_env, Path::new("/here"));
            assert!(files.iter().all(|file| file.is_absolute()), "{files:?}");
            assert!(files.contains(&client.settings(&user_env)));
        }
        assert_eq!("notepad".parse::<Client>(), Err(()));
    }

    #[test]
    fn a_program_is_found_by_its_settings_their_directory_or_its_command() {
        let folder = tempfile::tempdir().expect("a folder");
        let (user, bin) = (folder.path().join("user"), folder.path().join("bin"));
        for made in [&user, &bin] {
            std::fs::create_dir(made).expect("a folder");
        }
        let user_env = user_env(&user, &bin);
        let found = || -> Vec<&str> {
            let all = Client::ALL.into_iter();
            let found = all.filter(|client| client.is_installed(&user_env));
            found.map(Client::word).collect()
        };
        assert_eq!(found(), [""; 0]);
        std::fs::write(user.join(".claude.json"), "{}").expect("a file");
        std::fs::create_dir_all(user.join(".config/zed")).expect("a folder");
        std::fs::write(bin.join("codex"), "").expect("a file");
        assert_eq!(found(), ["claude-code", "zed", "codex"]);
    }
}
