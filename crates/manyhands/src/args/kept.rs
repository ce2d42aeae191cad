//! What can be typed about artifacts and resources.

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
    /// Where to write it; standard output when not given.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum ArtifactCommand {
    /// List artifacts, newest first.
    List {
        /// Only those of this agent.
        #[arg(long)]
        agent: Option<String>,
        /// Only those in this chat; results for large results.
        #[arg(long)]
        chat: Option<String>,
        /// How many at most.
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what is known of one.
    Show {
        /// The artifact's id.
        id: String,
    },
    /// Write the bytes of one to a file or standard output.
    Get(GetArtifact),
    /// Keep a file as an artifact.
    Put {
        /// The file, or - for standard input.
        file: PathBuf,
        /// Its name; that of the file when not given.
        #[arg(long)]
        name: Option<String>,
        /// For which agent.
        #[arg(long, default_value = "main")]
        agent: String,
        /// Into which chat; a new one when not given.
        #[arg(long)]
        chat: Option<String>,
    },
    /// Remove one.
    Rm {
        /// The artifact's id.
        id: String,
    },
    /// Make a link by which one is downloaded without a token, for a while.
    Url {
        /// The artifact's id.
        id: String,
    },
}

#[derive(Subcommand)]
pub enum Resource {
    /// List every resource.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make one.
    Create {
        /// What it holds.
        #[arg(value_parser = kinds())]
        kind: CollectionKind,
        /// Its name.
        name: String,
        /// What it is for.
        #[arg(long, default_value = "")]
        description: String,
        /// Who may use it, as AGENT=LEVEL; main=admin when not given. May be repeated.
        #[arg(long, value_name = "AGENT=LEVEL", value_parser = grant)]
        grant: Vec<(String, Level)>,
    },
    /// Show one, with who may use it.
    Show {
        /// Its id or name.
        which: String,
    },
    /// Remove one with all it holds.
    Rm {
        /// Its id or name.
        which: String,
    },
    /// Let an agent use one.
    Grant {
        /// Its id or name.
        which: String,
        /// The agent.
        agent: String,
        /// How much it may do.
        #[arg(value_parser = levels())]
        level: Level,
    },
    /// Let an agent no longer use one.
    Revoke {
        /// Its id or name.
        which: String,
        /// The agent.
        agent: String,
    },
    /// Keep secrets in a vault.
    #[command(subcommand)]
    Secret(VaultSecret),
}

#[derive(Subcommand)]
pub enum VaultSecret {
    /// Put a secret into a vault, read from standard input.
    Set {
        /// The vault's id or name.
        which: String,
        /// The secret's name.
        name: String,
        /// A host it may be sent to, such as api.example.com or *.example.com. May be repeated.
        #[arg(long, value_name = "HOST")]
        host: Vec<String>,
    },
    /// Forget a secret of a vault.
    Rm {
        /// The vault's id or name.
        which: String,
        /// The secret's name.
        name: String,
    },
}

fn kinds() -> impl TypedValueParser<Value = CollectionKind> {
    PossibleValuesParser::new(CollectionKind::ALL.map(CollectionKind::word))
        .try_map(|word| word.parse::<CollectionKind>())
}

fn levels() -> impl TypedValueParser<Value = Level> {
    PossibleValuesParser::new(Level::ALL.map(Level::word)).try_map(|word| word.parse::<Level>())
}

fn grant(text: &str) -> Result<(String, Level), String> {
    let (agent, level) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} is not AGENT=LEVEL, such as main=write"))?;
    let level = level.parse().map_err(|e| format!("{level:?}: {e}"))?;
    Ok((agent.to_owned(), level))
}
