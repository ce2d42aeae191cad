//! Arguments of `connect`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use manyhands_ai_clients::Client;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  manyhands connect                      connect all installed clients, asking before each change
  manyhands connect claude-code cursor   connect these two
  manyhands connect --dry-run            show what would change
  manyhands connect --list               show which clients are installed and connected
  manyhands connect --undo cursor        restore Cursor's settings and revoke its token")]
pub struct Connect {
    /// Clients to connect; default: all that are installed.
    #[arg(value_name = "CLIENT", value_parser = clients())]
    pub clients: Vec<String>,
    /// List clients, whether they are installed and whether they are connected.
    #[arg(long, conflicts_with_all = ["undo", "dry_run", "yes", "http"])]
    pub list: bool,
    /// Restore the settings of these clients, or of all that are connected, and revoke their tokens.
    #[arg(long, conflicts_with = "http")]
    pub undo: bool,
    /// Let the client connect to the URL of the gateway, instead of starting `manyhands mcp`. Claude Desktop
    /// cannot do this.
    #[arg(long)]
    pub http: bool,
    /// Show the changes and make none.
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Make the changes without asking.
    #[arg(short, long)]
    pub yes: bool,
    /// With --list: print JSON.
    #[arg(long, requires = "list")]
    pub json: bool,
}

/// Parses the name of a client.
fn clients() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(Client::ALL.map(Client::word))
}
