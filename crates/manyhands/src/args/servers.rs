//! What can be typed about MCP servers and connections.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use manyhands_config::Confinement;
use manyhands_core::ServerName;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Mcp {
    /// What to show: small, all, or one of the gateway's profiles; as its settings say unless given.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    #[command(subcommand)]
    pub command: Option<McpCommand>,
}

#[derive(Subcommand)]
pub enum McpCommand {
    /// List the MCP servers whose tools are offered, and how they stand.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one, with its tools and what of them is held back.
    Show {
        /// Its name.
        name: String,
    },
    /// Add one: a program of this machine, an address, or an OpenAPI document.
    Add(Box<AddServer>),
    /// Take one out of the settings.
    Remove {
        /// Its name.
        name: ServerName,
    },
    /// Ask one for its tools now; ends with 1 when that fails.
    Test {
        /// Its name.
        name: String,
    },
    /// See how tools changed since you took them on, and take them on as they are now.
    Accept {
        /// The server.
        name: String,
        /// One tool, by its name there; all that is held back when not given.
        tool: Option<String>,
        /// Take them on without being asked.
        #[arg(long)]
        yes: bool,
    },
    /// Show what its program last wrote to standard error.
    Logs {
        /// Its name.
        name: String,
    },
    /// Log in at one that wants OAuth: shows the address to open in a browser, and waits.
    Login {
        /// Its name.
        name: String,
        /// Open a further account under this name; else the first is logged in again.
        #[arg(long, value_name = "ACCOUNT", conflicts_with = "connection")]
        account: Option<String>,
        /// Log the account of this PCID in again.
        #[arg(long, value_name = "PCID")]
        connection: Option<String>,
    },
    /// Log out of one: its tokens are given back and forgotten.
    Logout {
        /// Its name.
        name: String,
        /// The account, by its PCID; needed where there are several.
        #[arg(long, value_name = "PCID")]
        connection: Option<String>,
    },
    /// Take servers over from other programs' files; shows what there is unless something is named.
    Import(Import),
}

#[derive(clap::Args)]
pub struct AddServer {
    /// What you call it: 1-32 of A-Z, a-z, 0-9, - and _.
    pub name: ServerName,
    // It has the id of the option by which every command names its gateway: see `Args::read`.
    /// The address of a server elsewhere, or of the service that --openapi describes. The gateway is
    /// named by MANYHANDS_URL here.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// A header to send with every request. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub header: Vec<(String, String)>,
    /// A variable of the program's environment. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub env: Vec<(String, String)>,
    /// Where the program starts; a private folder when not given.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// The OpenAPI document of an HTTP service: each operation becomes a tool.
    #[arg(long, value_name = "FILE|URL")]
    pub openapi: Option<String>,
    /// Whether the program is confined to its own folder; off when not given.
    #[arg(long, value_enum)]
    pub sandbox: Option<OnOff>,
    /// The program and its arguments, after --.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// On or off.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnOff {
    /// Confined.
    On,
    /// As free as the gateway's user.
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
    /// A file, or a program whose own files are read (claude-desktop, claude-code, cursor, vscode,
    /// windsurf, zed, codex, opencode, gemini, goose); then the names of servers. All of these when not given.
    #[arg(value_name = "FILE|PROGRAM|NAME")]
    pub words: Vec<String>,
    /// Everything that is found.
    #[arg(long)]
    pub all: bool,
    /// Only show what would be done.
    #[arg(long)]
    pub dry_run: bool,
    /// Overwrite servers of the same name.
    #[arg(long)]
    pub force: bool,
}

#[derive(Subcommand)]
pub enum Connection {
    /// List the accounts of services.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Open an account of a service.
    Add {
        /// The service: a server's name, or what its settings call its service.
        service: String,
        /// What you call it; the service's name when not given.
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        given: Given,
    },
    /// Show one; credentials are never shown.
    Show {
        /// Its id.
        pcid: String,
    },
    /// Change one: its name, its agents, or credentials.
    Set {
        /// Its id.
        pcid: String,
        /// What you call it.
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        given: Given,
    },
    /// Try one; ends with 1 when it does not work.
    Test {
        /// Its id.
        pcid: String,
    },
    /// Close one, and forget its credentials.
    Remove {
        /// Its id.
        pcid: String,
    },
}

/// What is given to an account.
#[derive(clap::Args)]
pub struct Given {
    /// A credential, such as token. Its value is the line of standard input for it, or is asked for;
    /// KEY=VARIABLE takes it from that variable of the environment. May be repeated.
    #[arg(long, value_name = "KEY[=VARIABLE]", value_parser = credential)]
    pub credential: Vec<(String, Option<String>)>,
    /// The agents that may use it, such as main or team-*. May be repeated.
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    pub agents: Vec<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is not NAME=VALUE")),
    }
}

/// A value itself is refused: it would stand in the history of the shell and in the list of processes.
fn credential(text: &str) -> Result<(String, Option<String>), String> {
    let Some((key, variable)) = text.split_once('=') else {
        return Ok((text.to_owned(), None));
    };
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = !variable.is_empty()
        && !variable.starts_with(|c: char| c.is_ascii_digit())
        && variable.chars().all(legal);
    if !is_name {
        return Err(format!(
            "after {key}= comes the name of a variable of the environment; a value is read from standard input"
        ));
    }
    Ok((key.to_owned(), Some(variable.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_named_and_never_given() {
        assert_eq!(credential("token"), Ok(("token".to_owned(), None)));
        let named = ("token".to_owned(), Some("GITHUB_TOKEN".to_owned()));
        assert_eq!(credential("token=GITHUB_TOKEN"), Ok(named));
        for value in ["token=sk-123", "token=", "token=a b", "token=1x"] {
            assert!(credential(value).is_err(), "{value}");
        }
    }
}
