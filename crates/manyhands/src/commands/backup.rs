//! `backup` and `restore`.

use std::process::ExitCode;

use manyhands_config::{ConfigFile, Settings};
use manyhands_store::{Backup as BackupOf, ChainVerdict, Overwrite, Restore as RestoreOf, Staged};

use crate::args::{Backup, Restore};
use crate::ground::Ground;
use crate::output::{self, Done, Failure};

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

/// Brings a backup back. Until all of it was checked, nothing changes.
pub async fn restore(asked: Restore, ground: &Ground) -> Done {
    let staged = manyhands_store::stage(RestoreOf {
        file: ground.file(&asked.file)?,
        home: ground.home.clone(),
        overwrite: overwrite(asked.force),
        now: ground.clock.now(),
    })
    .await?;
    if !asked.trust_settings {
        check_settings(&staged, ground)?;
    }
    let audit = staged
        .verify_audit(
            ground.clock.clone(),
            ground.ids.clone(),
            ground.passphrase(),
        )
        .await;
    if asked.revoke_tokens {
        staged.revoke_tokens().await?;
    }
    let tokens = staged.live_tokens().await?;
    let summary = staged.commit().await?;
    output::say(format!(
        "{} files are back in {}",
        summary.members,
        ground.home.display()
    ));
    if let Some(aside) = summary.previous_home {
        output::say(format!("what was there before is in {}", aside.display()));
    }
    match audit {
        Ok(verdict) if verdict.ok => {
            output::remark(format!("audit log verified: {} entries", verdict.checked));
        }
        Ok(verdict) => output::remark(format!(
            "WARN the audit log in the backup was altered: {}; see `manyhands audit verify`",
            first_problem(&verdict)
        )),
        Err(error) => output::remark(format!("WARN the audit log was not verified: {error}")),
    }
    output::remark(match tokens {
        0 => "no access token of the backup is valid; the gateway creates one when it starts"
            .to_owned(),
        count => format!(
            "access tokens that were valid when the backup was made stay valid: {count}; \
             restore with --revoke-tokens to revoke them"
        ),
    });
    Ok(ExitCode::SUCCESS)
}

/// Refuses a backup whose settings would change what this machine does.
fn check_settings(staged: &Staged, ground: &Ground) -> Result<(), Failure> {
    let Some(file) = staged.config() else {
        return Ok(());
    };
    const REMEDY: &str =
        "nothing was changed; to restore it with these settings, add --trust-settings";
    let (theirs, _) = ConfigFile::new(file).load().map_err(|error| {
        Failure(format!(
            "the settings in the backup cannot be used: {error}\n{REMEDY}"
        ))
    })?;
    let ours = ground.config().load();
    let ours = ours.map_or_else(|_| Settings::default(), |(settings, _)| settings);
    let keys = manyhands_config::machine_changes(&ours, &theirs);
    if keys.is_empty() {
        return Ok(());
    }
    Err(Failure(format!(
        "the backup changes settings that decide what this machine does: {}\n{REMEDY}",
        keys.join(", ")
    )))
}

fn first_problem(verdict: &ChainVerdict) -> String {
    let first = verdict.problems.first();
    first.map_or_else(String::new, |problem| {
        format!("entry {}: {}", problem.seq, problem.what)
    })
}

fn overwrite(force: bool) -> Overwrite {
    if force {
        Overwrite::Replace
    } else {
        Overwrite::Refuse
    }
}
