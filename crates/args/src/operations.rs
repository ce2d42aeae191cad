//! Arguments of `install` and the other commands of the gateway's service, `upgrade` and `doctor`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// The service managers.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManagerOption {
    /// systemd.
    Systemd,
    /// launchd, of macOS.
    Launchd,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  manyhands install                        for this user, started at login
  sudo manyhands install --system          for the machine, started at boot, as the user `manyhands`
  manyhands install --system --print       show the unit without installing it")]
pub struct Install {
    /// Install for the whole machine, as a system service with its own user; needs root.
    #[arg(long)]
    pub system: bool,
    /// User that the system service runs as; created if it does not exist.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "manyhands",
        requires = "system"
    )]
    pub user: String,
    /// Executable that the service starts; default: this one.
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// Print the service file instead of installing it.
    #[arg(long, visible_alias = "dry-run")]
    pub print: bool,
    /// Do not open the page in a browser.
    #[arg(long)]
    pub no_browser: bool,
    /// Seconds to wait until the gateway is ready.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,
    /// Service manager; default: the one of this operating system.
    #[arg(long, value_enum, hide = true)]
    pub manager: Option<ManagerOption>,
}

/// Selects the gateway's service.
#[derive(clap::Args)]
pub struct ServiceSelector {
    /// The machine's service; default: the user's, or the machine's if the user has none.
    #[arg(long)]
    pub system: bool,
    /// Service manager; default: the one of this operating system.
    #[arg(long, value_enum, hide = true)]
    pub manager: Option<ManagerOption>,
}

#[derive(clap::Args)]
pub struct StartService {
    #[command(flatten)]
    pub which: ServiceSelector,
    /// Seconds to wait until the gateway is ready.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  manyhands logs                           the last 100 lines
  manyhands logs -f                        follow the log until Ctrl-C")]
pub struct ServiceLogs {
    #[command(flatten)]
    pub which: ServiceSelector,
    /// Number of lines.
    #[arg(long, short = 'n', default_value_t = 100, value_name = "N")]
    pub lines: u32,
    /// Print new lines as they are written, until Ctrl-C.
    #[arg(long, short)]
    pub follow: bool,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  manyhands upgrade https://example.org/manyhands/releases/latest/download
  manyhands upgrade ./manyhands-0.2.0-x86_64-unknown-linux-gnu.tar.gz --check
  manyhands upgrade                        finish or undo an upgrade that was interrupted

Beside the archive there must be SHA256SUMS and its signature SHA256SUMS.minisig. The home is backed up to
its folder `backups`; if the new version does not become ready, the old version and the home are restored.")]
pub struct Upgrade {
    /// A release archive, the folder it is in, or the URL of either.
    #[arg(value_name = "FILE|URL")]
    pub source: Option<String>,
    /// Only verify the release and compare versions.
    #[arg(long)]
    pub check: bool,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    pub yes: bool,
    /// Public key of the release's signature, or a file that contains it; default: the one built in.
    #[arg(long, value_name = "KEY|FILE")]
    pub public_key: Option<String>,
    /// Accept a local file without a signature. Its checksum is still verified.
    #[arg(long)]
    pub allow_unsigned: bool,
    /// Accept a version older than this one.
    #[arg(long)]
    pub allow_downgrade: bool,
    /// Seconds to wait until the new version is ready.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,
    /// Service manager; default: the one of this operating system.
    #[arg(long, value_enum, hide = true)]
    pub manager: Option<ManagerOption>,
}

#[derive(Subcommand)]
pub enum Migrate {
    /// Bring a copy of a database up to date with this version.
    Check {
        /// A folder with a copy of `manyhands.db` and, if there is one, `config.toml`. The copy is changed.
        copy: PathBuf,
    },
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  manyhands doctor
  manyhands doctor --fix                   repair what is safe to repair, then check
  manyhands doctor --bundle report.tar.gz  write a report without secrets, for a bug report")]
pub struct Doctor {
    /// Repair what is safe to repair, such as file permissions, and print each action.
    #[arg(long)]
    pub fix: bool,
    /// Write a report without secrets or messages to this file (.tar.gz).
    #[arg(long, value_name = "FILE")]
    pub bundle: Option<PathBuf>,
}
