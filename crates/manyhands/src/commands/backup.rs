//! `backup` and `restore`.

use std::process::ExitCode;

use manyhands_config::{ConfigFile, Settings};
use manyhands_store::{Backup as BackupOf, ChainVerdict, Overwrite, Restore as RestoreOf, Staged};

use crate::args::{Backup, Restore};
use crate::context::CliContext;
use manyhands_terminal::output::{self, Done, Failure};

/// Backs up everything to one file, while the gateway runs.
pub async fn backup(asked: Backup, ctx: &CliContext) -> Done {
    let file = ctx.file(&asked.file)?;
    let summary = manyhands_store::backup(BackupOf {
        home: ctx.home.clone(),
        file: file.clone(),
        overwrite: overwrite(asked.force),
        now: ctx.clock.now(),
        product_version: env!("CARGO_PKG_VERSION").to_owned(),
    })
    .await?;
    output::print_line(format!(
        "wrote {} files, {} bytes to {}",
        summary.members,
        summary.bytes,
        file.display()
    ));
    output::print_note(
        "warning: the backup contains the encryption keys; keep it where only you can read it",
    );
    // Reported after the backup: directories elsewhere are not restored with it.
    let (settings, _) = ctx.config().load()?;
    for elsewhere in [settings.workspace_root, settings.file_state_dir]
        .into_iter()
        .flatten()
    {
        output::print_note(format!(
            "not included, because it is outside of the home: {}",
            elsewhere.display()
        ));
    }
    for skipped in summary.skipped {
        output::print_note(format!("not included: {skipped}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Restores a backup. Nothing changes until all of it has been verified.
pub async fn restore(asked: Restore, ctx: &CliContext) -> Done {
    let staged = manyhands_store::stage(RestoreOf {
        file: ctx.file(&asked.file)?,
        home: ctx.home.clone(),
        overwrite: overwrite(asked.force),
        now: ctx.clock.now(),
    })
    .await?;
    if !asked.trust_settings {
        check_settings(&staged, ctx)?;
    }
    // Verified on the staged copy, before anything of the current home is touched.
    let audit = staged
        .verify_audit(ctx.clock.clone(), ctx.ids.clone(), ctx.passphrase())
        .await;
    // Before the commit: a restored home must never be usable with tokens that should be revoked.
    if asked.revoke_tokens {
        staged.revoke_tokens().await?;
    }
    // Counted before the commit, while the staged database is still open.
    let tokens = staged.live_tokens().await?;
    let summary = staged.commit().await?;
    output::print_line(format!(
        "restored {} files to {}",
        summary.members,
        ctx.home.display()
    ));
    if let Some(aside) = summary.previous_home {
        output::print_line(format!(
            "the previous home was moved to {}",
            aside.display()
        ));
    }
    match audit {
        Ok(verdict) if verdict.ok => {
            output::print_note(format!("audit log verified: {} entries", verdict.checked));
        }
        Ok(verdict) => output::print_note(format!(
            "WARN the audit log in the backup was altered: {}; see `manyhands audit verify`",
            first_problem(&verdict)
        )),
        Err(error) => output::print_note(format!("WARN the audit log was not verified: {error}")),
    }
    output::print_note(match tokens {
        0 => "no access token of the backup is valid; the gateway creates one when it starts"
            .to_owned(),
        count => format!(
            "access tokens that were valid when the backup was made stay valid: {count}; \
             restore with --revoke-tokens to revoke them"
        ),
    });
    Ok(ExitCode::SUCCESS)
}

/// Refuses a backup whose settings would change what this machine runs.
fn check_settings(staged: &Staged, ctx: &CliContext) -> Result<(), Failure> {
    // Without a file the defaults apply, which change nothing.
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
    let ours = ctx.config().load();
    // Invalid settings of our own must not make a restore impossible: compare with the defaults.
    let ours = ours.map_or_else(|_| Settings::default(), |(settings, _)| settings);
    let keys = manyhands_config::machine_changes(&ours, &theirs);
    if keys.is_empty() {
        return Ok(());
    }
    Err(Failure(format!(
        "the backup changes settings that affect this machine: {}\n{REMEDY}",
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
