//! What can be typed about chats on platforms.

use clap::{Subcommand, ValueEnum};

#[derive(Subcommand)]
pub enum Channel {
    /// Show how the accounts stand.
    #[command(alias = "list")]
    Status {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Give an account its credentials, which are asked for or read from standard input, a line each; and use it.
    Login {
        /// telegram, slack, line, discord or whatsapp.
        channel: String,
        #[command(flatten)]
        account: Account,
        /// How events come; the first that the platform has unless said.
        #[arg(long, value_enum)]
        mode: Option<Mode>,
        /// WhatsApp: the phone number id.
        #[arg(long, value_name = "ID")]
        number: Option<String>,
        /// Take a credential from a variable of the environment, such as token=BOT_TOKEN.
        #[arg(long = "env", value_name = "NAME=VARIABLE", value_parser = pair)]
        env: Vec<(String, String)>,
    },
    /// Let a program of yours carry another service, as a bridge; its token is shown once.
    Bridge {
        /// What the service is called.
        channel: String,
        #[command(flatten)]
        account: Account,
    },
    /// Forget an account and its credentials.
    Logout {
        /// The platform.
        channel: String,
        #[command(flatten)]
        account: Account,
    },
    /// Start an account, or begin anew with it.
    Start {
        /// The platform.
        channel: String,
        #[command(flatten)]
        account: Account,
    },
    /// Stop an account, until it is started again.
    Stop {
        /// The platform.
        channel: String,
        #[command(flatten)]
        account: Account,
    },
}

#[derive(clap::Args)]
pub struct Account {
    /// Which account of ours there.
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
    let parts = text.split_once('=');
    let (name, variable) = parts.ok_or("write it as NAME=VARIABLE")?;
    Ok((name.to_owned(), variable.to_owned()))
}

#[derive(Subcommand)]
pub enum Pair {
    /// List those who ask to be known, and those who are.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let somebody speak to the agents.
    Approve {
        /// The platform.
        channel: String,
        /// Their code, or their id.
        who: String,
        /// It is you: their words count as yours.
        #[arg(long)]
        owner: bool,
    },
    /// Let somebody not speak to the agents; they are not told.
    Reject {
        /// The platform.
        channel: String,
        /// Their code, or their id.
        who: String,
    },
    /// Forget somebody: they are a stranger again.
    Forget {
        /// The platform.
        channel: String,
        /// Their id.
        who: String,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Outbox {
    #[command(subcommand)]
    pub command: Option<OutboxCommand>,
    /// Only those that are pending, sending, sent, failed, unknown or dropped.
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum OutboxCommand {
    /// Try a message again that did not arrive.
    Resend {
        /// Its id.
        id: String,
    },
    /// Let go of a message that did not arrive.
    Drop {
        /// Its id.
        id: String,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Inbox {
    #[command(subcommand)]
    pub command: Option<InboxCommand>,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum InboxCommand {
    /// Work on a message again.
    Retry {
        /// Its id.
        id: String,
    },
}
