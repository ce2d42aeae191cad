//! Arguments of `artifact` and `resource`.

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use manyhands_store::{CollectionKind, Level};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Artifact {
    #[command(flatten)]
    pub get: Option<GetArtifact>,
    #[command(subcommand)]
    pub command: Option<ArtifactCommand>,
}

#[derive(clap::Args)]
pub struct GetArtifact {
    /// The artifact's id.
    pub id: String,
    /// File to write; default: standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum ArtifactCommand {
    /// List artifacts, newest first.
    List {
        /// Only artifacts of this agent.
        #[arg(long)]
        agent: Option<String>,
        /// Only artifacts in this chat; `results` holds large tool results.
        #[arg(long)]
        chat: Option<String>,
        /// Maximum number of results.
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show an artifact's metadata.
    Show {
        /// The artifact's id.
        id: String,
    },
    /// Write an artifact to a file or standard output.
    Get(GetArtifact),
    /// Store a file as an artifact.
    Put {
        /// The file to read, or - for standard input.
        file: PathBuf,
        /// Name of the artifact; default: the file's name.
        #[arg(long)]
        name: Option<String>,
        /// Agent that owns the artifact.
        #[arg(long, default_value = "main")]
        agent: String,
        /// Chat to store it in; default: a new one.
        #[arg(long)]
        chat: Option<String>,
    },
    /// Delete an artifact.
    Rm {
        /// The artifact's id.
        id: String,
    },
    /// Create a temporary download link that needs no token.
    Url {
        /// The artifact's id.
        id: String,
    },
}

#[derive(Subcommand)]
pub enum Resource {
    /// List resources.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Create a resource.
    Create {
        /// The kind of resource.
        #[arg(value_parser = kinds())]
        kind: CollectionKind,
        /// Name of the resource.
        name: String,
        /// Description of the resource.
        #[arg(long, default_value = "")]
        description: String,
        /// Grant an agent access, as AGENT=LEVEL; default: main=admin. May be repeated.
        #[arg(long, value_name = "AGENT=LEVEL", value_parser = grant)]
        grant: Vec<(String, Level)>,
    },
    /// Show a resource and who has access.
    Show {
        /// The resource's id or name.
        resource: String,
    },
    /// Delete a resource and its contents.
    Rm {
        /// The resource's id or name.
        resource: String,
    },
    /// Grant an agent access to a resource.
    Grant {
        /// The resource's id or name.
        resource: String,
        /// The agent.
        agent: String,
        /// Access level.
        #[arg(value_parser = levels())]
        level: Level,
    },
    /// Revoke an agent's access to a resource.
    Revoke {
        /// The resource's id or name.
        resource: String,
        /// The agent.
        agent: String,
    },
    /// Manage the secrets in a vault.
    #[command(subcommand)]
    Secret(VaultSecret),
}

#[derive(Subcommand)]
pub enum VaultSecret {
    /// Store a secret in a vault; the value is read from standard input.
    Set {
        /// The vault's id or name.
        vault: String,
        /// The secret's name.
        name: String,
        /// Host the secret may be sent to, such as api.example.com or *.example.com. May be repeated.
        #[arg(long, value_name = "HOST")]
        host: Vec<String>,
    },
    /// Delete a secret from a vault.
    Rm {
        /// The vault's id or name.
        vault: String,
        /// The secret's name.
        name: String,
    },
}

fn kinds() -> impl TypedValueParser<Value = CollectionKind> {
    PossibleValuesParser::new(CollectionKind::ALL.map(CollectionKind::as_str))
        .try_map(|word| word.parse::<CollectionKind>())
}

fn levels() -> impl TypedValueParser<Value = Level> {
    PossibleValuesParser::new(Level::ALL.map(Level::as_str)).try_map(|word| word.parse::<Level>())
}

fn grant(text: &str) -> Result<(String, Level), String> {
    let (agent, level) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} is not AGENT=LEVEL, for example main=write"))?;
    let level = level.parse().map_err(|e| format!("{level:?}: {e}"))?;
    Ok((agent.to_owned(), level))
}
