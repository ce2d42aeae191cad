//! Arguments of `channel`, `pair`, `outbox` and `inbox`.

use clap::{Subcommand, ValueEnum};

#[derive(Subcommand)]
pub enum Channel {
    /// Show the status of all accounts.
    #[command(alias = "list")]
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Log an account in and start it; credentials are prompted for or read from stdin, one per line.
    Login {
        /// telegram, slack, line, discord or whatsapp.
        channel: String,
        #[command(flatten)]
        account: Account,
        /// How events are delivered; default: the first mode the platform supports.
        #[arg(long, value_enum)]
        mode: Option<Mode>,
        /// WhatsApp: the phone number ID.
        #[arg(long, value_name = "ID")]
        number: Option<String>,
        /// Read a credential from an environment variable, such as token=BOT_TOKEN.
        #[arg(long = "env", value_name = "NAME=VARIABLE", value_parser = pair)]
        env: Vec<(String, String)>,
    },
    /// Connect another service through a bridge program of your own; prints its token once.
    Bridge {
        /// A name for the service.
        channel: String,
        #[command(flatten)]
        account: Account,
    },
    /// Remove an account and its credentials.
    Logout {
        /// The platform.
        channel: String,
        #[command(flatten)]
        account: Account,
    },
    /// Start or restart an account.
    Start {
        /// The platform.
        channel: String,
        #[command(flatten)]
        account: Account,
    },
    /// Stop an account until it is started again.
    Stop {
        /// The platform.
        channel: String,
        #[command(flatten)]
        account: Account,
    },
}

#[derive(clap::Args)]
pub struct Account {
    /// The account on that platform.
    #[arg(long = "account", value_name = "NAME", default_value = "default")]
    pub name: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    Poll,
    Socket,
    Webhook,
}

impl Mode {
    pub fn word(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Socket => "socket",
            Self::Webhook => "webhook",
        }
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    // Only the first `=` separates, as in a shell.
    let parts = text.split_once('=');
    let (name, variable) = parts.ok_or("expected NAME=VARIABLE")?;
    Ok((name.to_owned(), variable.to_owned()))
}

#[derive(Subcommand)]
pub enum Pair {
    /// List pairing requests and paired people.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Approve a pairing request: this person may message the agents.
    Approve {
        /// The platform.
        channel: String,
        /// The pairing code or the sender's id.
        who: String,
        /// This person is you: their messages have the owner's rights.
        #[arg(long)]
        owner: bool,
    },
    /// Reject a pairing request; the sender is not notified.
    Reject {
        /// The platform.
        channel: String,
        /// The pairing code or the sender's id.
        who: String,
    },
    /// Remove a paired person; they have to pair again.
    Forget {
        /// The platform.
        channel: String,
        /// The sender's id.
        who: String,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Outbox {
    #[command(subcommand)]
    pub command: Option<OutboxCommand>,
    /// Only messages in this state: pending, sending, sent, failed, unknown or dropped.
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum OutboxCommand {
    /// Send an undelivered message again.
    Resend {
        /// The message's id.
        id: String,
    },
    /// Discard an undelivered message.
    Drop {
        /// The message's id.
        id: String,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Inbox {
    #[command(subcommand)]
    pub command: Option<InboxCommand>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum InboxCommand {
    /// Process a failed message again.
    Retry {
        /// The message's id.
        id: String,
    },
}
