//! Arguments of `mcp` and `connection`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use manyhands_config::Confinement;
use manyhands_core::ServerName;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Mcp {
    /// Tools to expose: small, all, or the name of a profile; default: as configured.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    #[command(subcommand)]
    pub command: Option<McpCommand>,
}

#[derive(Subcommand)]
pub enum McpCommand {
    /// List MCP servers and their status.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a server with its tools and tools held for review.
    Show {
        /// The server's name.
        name: String,
    },
    /// Add a server: by name, by its command or URL, from JSON, or from an OpenAPI document.
    Add(Box<AddServer>),
    /// Search the well-known servers and the official MCP registry.
    Search(SearchServers),
    /// Remove a server from the settings.
    Remove {
        /// The server's name.
        name: ServerName,
    },
    /// Connect to a server and list its tools; exits with 1 on failure.
    Test {
        /// The server's name.
        name: String,
    },
    /// Review tool definitions that changed since you accepted them, and accept the new ones.
    Accept {
        /// The server's name.
        name: String,
        /// One tool, by the server's name for it; default: all held tools.
        tool: Option<String>,
        /// Accept without prompting.
        #[arg(long)]
        yes: bool,
    },
    /// Show a server's log (its standard error).
    Logs {
        /// The server's name.
        name: String,
    },
    /// Log in to a server that uses OAuth: prints the URL to open in a browser and waits.
    Login {
        /// The server's name.
        name: String,
        /// Add another account with this name; default: log in to the first account again.
        #[arg(long, value_name = "ACCOUNT", conflicts_with = "connection")]
        account: Option<String>,
        /// Log in again to the account with this PCID.
        #[arg(long, value_name = "PCID")]
        connection: Option<String>,
    },
    /// Log out of a server: revokes and deletes its tokens.
    Logout {
        /// The server's name.
        name: String,
        /// The account's PCID; required if there are several.
        #[arg(long, value_name = "PCID")]
        connection: Option<String>,
    },
    /// Import servers from other programs' settings; only lists them unless some are named.
    Import(Import),
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  manyhands mcp add github                                      a well-known server, by name
  manyhands mcp add files -- npx -y @modelcontextprotocol/server-filesystem /srv/data
  manyhands mcp add linear --url https://mcp.linear.app/mcp     a remote server
  manyhands mcp add --json - < servers.json                     JSON from a README, on standard input
  manyhands mcp add github --yes --secret GITHUB_TOKEN=@token.txt

Without --url, --openapi, --json or a command, NAME is looked up among the well-known servers;
`manyhands mcp search` lists them. A name with a slash is looked up in the official MCP registry.")]
pub struct AddServer {
    /// A name for the server: 1-32 of A-Z, a-z, 0-9, - and _; or the name of a well-known server.
    #[arg(required_unless_present = "json", value_parser = server)]
    pub name: Option<String>,
    // Shares its clap id with the global `--url` of every command: see `Args::from_matches`.
    /// URL of a remote server, or of the service described by --openapi. (The gateway's own URL then
    /// comes from MANYHANDS_URL.)
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// HTTP header to send with every request. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub header: Vec<(String, String)>,
    /// Environment variable for the command. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub env: Vec<(String, String)>,
    /// Working directory of the command; default: a private folder.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// OpenAPI document of an HTTP service: each operation becomes a tool.
    #[arg(long, value_name = "FILE|URL")]
    pub openapi: Option<String>,
    /// Confine the command to its own folder; default: off.
    #[arg(long, value_enum)]
    pub sandbox: Option<OnOff>,
    /// Servers as JSON in any format of other programs, as in a README; - reads standard input.
    #[arg(long, value_name = "JSON|-", conflicts_with_all = ["openapi", "header", "env", "cwd", "command"])]
    pub json: Option<String>,
    /// Store a well-known server, or the single server in the JSON, under this name.
    #[arg(long = "name", value_name = "NAME")]
    pub alias: Option<ServerName>,
    /// A secret the server needs, from a file or an environment variable; it is stored in the vault. May be repeated.
    #[arg(long, value_name = "NAME=@FILE|NAME=VARIABLE", value_parser = secret)]
    pub secret: Vec<(String, SecretSource)>,
    /// Another value the server needs. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub input: Vec<(String, String)>,
    /// Show what would be added and add nothing.
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Add it without asking.
    #[arg(short, long)]
    pub yes: bool,
    #[command(flatten)]
    pub registry: RegistryOption,
    /// The command and its arguments, after --.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Where a secret is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// A file.
    File(PathBuf),
    /// An environment variable.
    Variable(String),
}

#[derive(clap::Args)]
pub struct RegistryOption {
    /// URL of the MCP registry, or off.
    #[arg(
        long,
        value_name = "URL|off",
        env = "MANYHANDS_REGISTRY",
        default_value = "https://registry.modelcontextprotocol.io"
    )]
    pub registry: String,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  manyhands mcp search                list the well-known servers
  manyhands mcp search mail           those for mail, and what the official registry has
  manyhands mcp search postgres --registry off")]
pub struct SearchServers {
    /// Words that must all occur; without any, lists the well-known servers.
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub registry: RegistryOption,
}

/// Sandbox of a local server.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnOff {
    /// Confined to its own folder.
    On,
    /// Runs with the permissions of the gateway's user.
    Off,
}

impl From<OnOff> for Confinement {
    fn from(word: OnOff) -> Self {
        match word {
            OnOff::On => Self::On,
            OnOff::Off => Self::Off,
        }
    }
}

#[derive(clap::Args)]
pub struct Import {
    /// A file, or a program whose settings are read (claude-desktop, claude-code, cursor, vscode, windsurf,
    /// zed, codex, opencode, gemini, goose, cline, continue), followed by server names. Default: all of these programs.
    #[arg(value_name = "FILE|PROGRAM|NAME")]
    pub words: Vec<String>,
    /// Import all servers found.
    #[arg(long)]
    pub all: bool,
    /// Only show what would be imported.
    #[arg(long)]
    pub dry_run: bool,
    /// Overwrite existing servers with the same name.
    #[arg(long)]
    pub force: bool,
}

#[derive(Subcommand)]
pub enum Connection {
    /// List accounts.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Add an account of a service.
    Add {
        /// The service: a server's name, or the `service` in its settings.
        service: String,
        /// A name for the account; default: the service's name.
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        options: AccountOptions,
    },
    /// Show an account; credentials are never shown.
    Show {
        /// The account's PCID.
        pcid: String,
    },
    /// Change an account's name, agents or credentials.
    Set {
        /// The account's PCID.
        pcid: String,
        /// New name of the account.
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        options: AccountOptions,
    },
    /// Test an account; exits with 1 on failure.
    Test {
        /// The account's PCID.
        pcid: String,
    },
    /// Remove an account and its credentials.
    Remove {
        /// The account's PCID.
        pcid: String,
    },
}

/// Credentials and agents of an account.
#[derive(clap::Args)]
pub struct AccountOptions {
    /// Credential to set, such as token. The value is prompted for or read as one line of standard input;
    /// KEY=VARIABLE reads it from an environment variable. May be repeated.
    #[arg(long, value_name = "KEY[=VARIABLE]", value_parser = credential)]
    pub credential: Vec<(String, Option<String>)>,
    /// Agents that may use the account, such as main or team-*. May be repeated.
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    pub agents: Vec<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is not NAME=VALUE")),
    }
}

/// Parses a server's name; those of the MCP registry have a slash.
fn server(text: &str) -> Result<String, String> {
    match text.parse::<ServerName>() {
        Err(error) if !text.contains('/') => Err(error.to_string()),
        _ => Ok(text.to_owned()),
    }
}

/// Parses the source of a secret; rejects literal values for the reason below.
fn secret(text: &str) -> Result<(String, SecretSource), String> {
    if let Some((name, file)) = text.split_once("=@")
        && !name.is_empty()
        && !file.is_empty()
    {
        return Ok((name.to_owned(), SecretSource::File(file.into())));
    }
    match credential(text)? {
        (name, Some(variable)) => Ok((name, SecretSource::Variable(variable))),
        (name, None) => Err(format!(
            "expected {name}=@FILE, or {name}=VARIABLE with the name of an environment variable"
        )),
    }
}

/// Rejects literal values: they would be visible in the shell history and the process list.
fn credential(text: &str) -> Result<(String, Option<String>), String> {
    let Some((key, variable)) = text.split_once('=') else {
        return Ok((text.to_owned(), None));
    };
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // A secret rarely looks like the name of a variable; what does not is taken for a value.
    let is_name = !variable.is_empty()
        && !variable.starts_with(|c: char| c.is_ascii_digit())
        && variable.chars().all(legal);
    if !is_name {
        return Err(format!(
            "expected the name of an environment variable after {key}=; to enter the value itself, leave out `=...` and use the prompt or standard input"
        ));
    }
    Ok((key.to_owned(), Some(variable.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_comes_from_a_file_or_a_variable() {
        let file = SecretSource::File("dir/token".into());
        assert_eq!(secret("KEY=@dir/token"), Ok(("KEY".to_owned(), file)));
        let variable = SecretSource::Variable("TOKEN".to_owned());
        assert_eq!(secret("KEY=TOKEN"), Ok(("KEY".to_owned(), variable)));
        for wrong in ["KEY", "KEY=", "KEY=@", "=@file", "KEY=sk-12345678"] {
            assert!(secret(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_credential_is_never_an_argument() {
        assert_eq!(credential("token"), Ok(("token".to_owned(), None)));
        let named = ("token".to_owned(), Some("GITHUB_TOKEN".to_owned()));
        assert_eq!(credential("token=GITHUB_TOKEN"), Ok(named));
        for value in ["token=sk-123", "token=", "token=a b", "token=1x"] {
            assert!(credential(value).is_err(), "{value}");
        }
    }
}
