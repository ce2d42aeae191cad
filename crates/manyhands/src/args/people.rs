//! What can be typed about contacts and what is to be done.

use clap::Subcommand;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Todo {
    #[command(subcommand)]
    pub command: Option<TodoCommand>,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum TodoCommand {
    /// List what is open and what comes again.
    List {
        /// Also what was done.
        #[arg(long)]
        done: bool,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write an item down.
    Add {
        /// What is to be done.
        content: String,
        /// Who it is about, by name or reference id; may be repeated.
        #[arg(long = "person", value_name = "NAME")]
        people: Vec<String>,
        /// The chat it belongs to, as in tg:-1001234567890.
        #[arg(long, value_name = "CHAT")]
        chat: Option<String>,
        /// Again and again: daily, weekly, "every N days" or "every N hours".
        #[arg(long, value_name = "HOW", requires = "next")]
        repeat: Option<String>,
        /// When it is first due, as "YYYY-MM-DD HH:MM".
        #[arg(long, value_name = "TIME", requires = "repeat")]
        next: Option<String>,
        /// The time zone of that; UTC when not given.
        #[arg(long, value_name = "ZONE", requires = "next")]
        tz: Option<String>,
    },
    /// Tick an item off.
    Done {
        /// Its id, its text, or a part of it.
        item: String,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Contacts {
    #[command(subcommand)]
    pub command: Option<ContactsCommand>,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum ContactsCommand {
    /// List the contacts.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one.
    Show {
        /// Its contact_id, or tg:@name.
        contact: String,
    },
}
