//! `backup` and `restore`.

use std::process::ExitCode;

use manyhands_store::{Backup as BackupOf, Overwrite, Restore as RestoreOf};

use crate::args::{Backup, Restore};
use crate::ground::Ground;
use crate::output::{self, Done};

/// Writes everything into one file, while the gateway runs.
pub async fn backup(asked: Backup, ground: &Ground) -> Done {
    let file = ground.file(&asked.file)?;
    let summary = manyhands_store::backup(BackupOf {
        home: ground.home.clone(),
        file: file.clone(),
        overwrite: overwrite(asked.force),
        now: ground.clock.now(),
        product_version: env!("CARGO_PKG_VERSION").to_owned(),
    })
    .await?;
    output::say(format!(
        "{} files, {} bytes are in {}",
        summary.members,
        summary.bytes,
        file.display()
    ));
    output::remark("It holds the keys too: keep it where only you can read it.");
    let (settings, _) = ground.config().load()?;
    for elsewhere in [settings.workspace_root, settings.file_state_dir]
        .into_iter()
        .flatten()
    {
        output::remark(format!(
            "left out, because it is not in the home: {}",
            elsewhere.display()
        ));
    }
    for skipped in summary.skipped {
        output::remark(format!("left out: {skipped}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Brings a backup back.
pub async fn restore(asked: Restore, ground: &Ground) -> Done {
    let summary = manyhands_store::restore(RestoreOf {
        file: ground.file(&asked.file)?,
        home: ground.home.clone(),
        overwrite: overwrite(asked.force),
        now: ground.clock.now(),
    })
    .await?;
    output::say(format!(
        "{} files are back in {}",
        summary.members,
        ground.home.display()
    ));
    if let Some(aside) = summary.previous_home {
        output::say(format!("what was there before is in {}", aside.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn overwrite(force: bool) -> Overwrite {
    if force {
        Overwrite::Replace
    } else {
        Overwrite::Refuse
    }
}
