//! Arguments of `todo` and `contacts`.

use clap::Subcommand;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Todo {
    #[command(subcommand)]
    pub command: Option<TodoCommand>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum TodoCommand {
    /// List open and recurring items.
    List {
        /// Include completed items.
        #[arg(long)]
        done: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Add an item.
    Add {
        /// Text of the item.
        content: String,
        /// Person it concerns, by name or reference id. May be repeated.
        #[arg(long = "person", value_name = "NAME")]
        people: Vec<String>,
        /// Chat it belongs to, such as tg:-1001234567890.
        #[arg(long, value_name = "CHAT")]
        chat: Option<String>,
        /// Recurrence: daily, weekly, "every N days" or "every N hours".
        #[arg(long, value_name = "INTERVAL", requires = "next")]
        repeat: Option<String>,
        /// First due time, as "YYYY-MM-DD HH:MM".
        #[arg(long, value_name = "TIME", requires = "repeat")]
        next: Option<String>,
        /// Time zone of --next; default: UTC.
        #[arg(long, value_name = "ZONE", requires = "next")]
        tz: Option<String>,
    },
    /// Complete an item.
    Done {
        /// The item's id, text, or a unique part of the text.
        item: String,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Contacts {
    #[command(subcommand)]
    pub command: Option<ContactsCommand>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum ContactsCommand {
    /// List contacts.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a contact.
    Show {
        /// The contact's contact_id, or tg:@name.
        contact: String,
    },
}
