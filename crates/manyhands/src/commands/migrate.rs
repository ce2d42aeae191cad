//! `migrate check`: whether this version can use a home, tried on a copy. Started by `upgrade` of another version.

use std::process::ExitCode;

use manyhands_config::ConfigFile;
use manyhands_gateway::CONFIG_FILE;

use crate::args::Migrate;
use crate::context::CliContext;
use manyhands_terminal::output::{self, Done};

/// Runs the command.
pub async fn run(asked: Migrate, ctx: &CliContext) -> Done {
    let Migrate::Check { copy } = asked;
    let copy = ctx.file(&copy)?;
    let settings = ConfigFile::new(copy.join(CONFIG_FILE));
    if settings.path().is_file() {
        settings.load()?;
    }
    let change = manyhands_store::try_migrations(&copy).await?;
    output::print_line(format!("schema {} -> {}", change.from, change.to));
    Ok(ExitCode::SUCCESS)
}
