//! Commands that list when no subcommand is given.

use clap::Subcommand;

use super::{
    Approvals, Audit, Channel, Connection, Cron, Heartbeat, Pair, Policy, Resource, Secret, Token,
    Trust,
};

/// A command whose default is its list.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct OrList<T: Subcommand> {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<T>,
}

impl<T: Subcommand + Lists> OrList<T> {
    /// The subcommand that was given, or the list.
    pub fn or_list(self) -> T {
        self.command.unwrap_or_else(|| T::list(self.json))
    }
}

/// Subcommands of which one lists.
pub trait Lists {
    /// The list without filters.
    fn list(json: bool) -> Self;
}

macro_rules! lists {
    ($($command:ident :: $list:ident,)*) => {
        $(impl Lists for $command {
            fn list(json: bool) -> Self {
                Self::$list { json }
            }
        })*
    };
}

lists! {
    Channel::Status, Connection::List, Pair::List, Policy::List, Resource::List, Secret::List,
    Token::List, Trust::List,
}

impl Lists for Approvals {
    fn list(json: bool) -> Self {
        Self::List { all: false, json }
    }
}

impl Lists for Audit {
    fn list(json: bool) -> Self {
        Self::List {
            tool: None,
            caller: None,
            agent: None,
            call: None,
            status: None,
            after: None,
            before: None,
            limit: 50,
            json,
        }
    }
}

impl Lists for Cron {
    fn list(json: bool) -> Self {
        Self::List {
            agent: None,
            all: false,
            limit: 50,
            offset: 0,
            json,
        }
    }
}

impl Lists for Heartbeat {
    fn list(json: bool) -> Self {
        Self::Status { agent: None, json }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Args, Command};
    use clap::Parser;

    fn parse(line: &str) -> Result<Command, clap::Error> {
        let words = std::iter::once("manyhands").chain(line.split_whitespace());
        Args::try_parse_from(words).map(|args| args.command.expect("a command"))
    }

    #[test]
    fn without_a_subcommand_the_list_is_meant() {
        for line in [
            "approvals",
            "audit",
            "channel",
            "connection",
            "cron",
            "heartbeat",
            "pair",
            "policy",
            "resource",
            "secret",
            "token",
            "trust",
        ] {
            assert!(parse(line).is_ok(), "{line}");
            assert!(parse(&format!("{line} --json")).is_ok(), "{line} --json");
            assert!(parse(&format!("{line} --frobnicate")).is_err(), "{line}");
        }
    }

    #[test]
    fn the_list_has_the_same_defaults_either_way() {
        use super::{Audit, Cron};
        let (Ok(Command::Cron(short)), Ok(Command::Cron(long))) =
            (parse("cron"), parse("cron list"))
        else {
            panic!("no cron");
        };
        let limit = |cron| match cron {
            Cron::List { limit, offset, .. } => (limit, offset),
            _ => panic!("no list"),
        };
        assert_eq!(limit(short.or_list()), limit(long.or_list()));
        let (Ok(Command::Audit(short)), Ok(Command::Audit(long))) =
            (parse("audit"), parse("audit list"))
        else {
            panic!("no audit");
        };
        let limit = |audit| match audit {
            Audit::List { limit, .. } => limit,
            _ => panic!("no list"),
        };
        assert_eq!(limit(short.or_list()), limit(long.or_list()));
    }
}
