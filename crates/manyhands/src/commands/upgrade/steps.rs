//! The steps of an upgrade, and undoing them. Each may be interrupted at any moment and done again.

use std::fs::{DirBuilder, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use manyhands_gateway::CONFIG_FILE;
use manyhands_store::{Backup, Holder, HomeLock, Overwrite};
use tokio::time::Instant;

use super::Target;
use super::journal::{BACKUPS, Journal, file_time, give_to_owner_of, sync_folder};
use super::release::Release;
use crate::context::CliContext;
use manyhands_service_manager::path_text;
use manyhands_terminal::output::Failure;

/// How long a stopped gateway may take to release its home.
const RELEASE_WITHIN: Duration = Duration::from_secs(30);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// Where the unpacked backup is while a home is restored.
const ROLLBACK: &str = ".rollback";
/// Beginnings of temporary names in the folder of backups.
const TEMPORARY: [&str; 4] = [".check-", ".unpack-", ".backup-", ROLLBACK];

/// Creates a folder that only its owner may enter, if it is missing.
pub fn private_folder(folder: &Path) -> Result<(), Failure> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    created.map_err(|e| Failure(format!("cannot create {}: {e}", folder.display())))
}

/// The folder of backups, created if it is missing.
fn backups(home: &Path) -> Result<PathBuf, Failure> {
    let folder = home.join(BACKUPS);
    private_folder(&folder)?;
    give_to_owner_of(home, &folder)?;
    Ok(folder)
}

/// Unpacks the new program beside the old one, and tries it on a copy of the database.
pub async fn prepare(
    release: &Release,
    journal: &Journal,
    target: &Target<'_>,
) -> Result<(), Failure> {
    let staged = journal.staged();
    let failed = |e: std::io::Error| {
        Failure(format!(
            "cannot write {}: {e}\nhint: run this as a user who may write there",
            staged.display()
        ))
    };
    let program = release.program()?;
    let _ = std::fs::remove_file(&staged); // of an upgrade that nobody finished
    let mut file = File::create_new(&staged).map_err(failed)?;
    file.write_all(&program).map_err(failed)?;
    // As the old one: a service of another user must be able to start it.
    let mode = std::fs::metadata(&journal.program).map_or(0o755, |old| old.permissions().mode());
    file.set_permissions(Permissions::from_mode(mode & 0o777 | 0o500))
        .map_err(failed)?;
    file.sync_all().map_err(failed)?;
    drop(file); // a file that is open for writing cannot be executed
    let printed = target
        .session
        .run_file(&staged, &["--version"])
        .await
        .map_err(|failure| {
            Failure(format!(
                "the new program does not run on this machine: {}\nhint: use the archive for {} {}",
                failure.0,
                std::env::consts::OS,
                std::env::consts::ARCH
            ))
        })?;
    let version = printed.split_whitespace().nth(1);
    if version != Some(&journal.to) {
        return Err(Failure(format!(
            "the archive is named {}, and its program is {:?}: it is not what it claims to be",
            journal.to,
            printed.trim()
        )));
    }
    try_on_copy(&staged, target).await
}

/// Lets the new program migrate a copy of the database, and read the settings.
async fn try_on_copy(staged: &Path, target: &Target<'_>) -> Result<(), Failure> {
    let home = &target.ctx.home;
    let copy = tempfile::Builder::new()
        .prefix(TEMPORARY[0])
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(backups(home)?)?;
    if !manyhands_store::copy_database(home, copy.path()).await? {
        return Ok(()); // no gateway was started on this home yet
    }
    let settings = home.join(CONFIG_FILE);
    if settings.is_file() {
        std::fs::copy(settings, copy.path().join(CONFIG_FILE))?;
    }
    let folder = path_text(copy.path())?;
    let args = ["migrate", "check", &folder];
    let tried = target.session.run_file(staged, &args).await;
    tried.map(drop).map_err(|failure| {
        Failure(format!(
            "the new version cannot use this home; nothing was changed: {}",
            failure.0
        ))
    })
}

/// Takes the lock of the home, when the gateway that was stopped has released it.
pub async fn lock_home(ctx: &CliContext) -> Result<HomeLock, Failure> {
    let us = Holder {
        pid: std::process::id(),
        listen: None,
        started_at: ctx.clock.now(),
    };
    let until = Instant::now() + RELEASE_WITHIN;
    loop {
        match HomeLock::acquire(&ctx.home, &us) {
            Ok(lock) => {
                give_to_owner_of(&ctx.home, &ctx.home.join("gateway.lock"))?;
                return Ok(lock);
            }
            Err(error) if Instant::now() >= until => return Err(error.into()),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Backs up the home; `None` if there is nothing yet.
pub async fn backup(journal: &Journal, ctx: &CliContext) -> Result<Option<PathBuf>, Failure> {
    let home = &ctx.home;
    if !home.join("manyhands.db").is_file() {
        return Ok(None);
    }
    let name = format!(
        "before-{}-{}.backup",
        journal.to,
        file_time(journal.started_at)
    );
    let file = backups(home)?.join(name);
    manyhands_store::backup(Backup {
        home: home.clone(),
        file: file.clone(),
        overwrite: Overwrite::Replace,
        now: ctx.clock.now(),
        product_version: journal.from.clone(),
    })
    .await?;
    give_to_owner_of(home, &file)?;
    Ok(Some(file))
}

/// Puts the new program in place of the old one, which is kept.
pub fn swap(journal: &Journal) -> Result<(), Failure> {
    let (program, previous) = (&journal.program, journal.previous());
    let failed = |e: std::io::Error| Failure(format!("cannot replace {}: {e}", program.display()));
    remove_file(&previous)?;
    // A second name for the old program, so that there is no moment without a program.
    if std::fs::hard_link(program, &previous).is_err() {
        std::fs::copy(program, &previous).map_err(failed)?;
    }
    std::fs::rename(journal.staged(), program).map_err(failed)?;
    sync_folder(program.parent().unwrap_or(Path::new("/"))).map_err(failed)
}

/// Whether the programs were exchanged.
pub fn is_swapped(journal: &Journal) -> bool {
    // The rename that exchanges them is what removes the one and comes after the other.
    !journal.staged().exists() && journal.previous().exists()
}

/// Removes what an upgrade made before anything was exchanged.
pub fn discard(journal: &Journal, home: &Path) -> Result<(), Failure> {
    remove_file(&journal.staged())?;
    sweep(home)?;
    Journal::remove(home)
}

/// Removes temporary files.
pub fn sweep(home: &Path) -> Result<(), Failure> {
    let begins = |name: &str, with: &[&str]| with.iter().any(|prefix| name.starts_with(prefix));
    for (folder, with) in [
        (home.join(BACKUPS), &TEMPORARY[..]),
        (home.to_owned(), &[".upgrade-"]),
    ] {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if !begins(&entry.file_name().to_string_lossy(), with) {
                continue;
            }
            match entry.file_type()?.is_dir() {
                true => std::fs::remove_dir_all(entry.path())?,
                false => remove_file(&entry.path())?,
            }
        }
    }
    Ok(())
}

/// Puts the old program back; `false` if it already is.
pub fn restore_program(journal: &Journal) -> Result<bool, Failure> {
    let (program, previous) = (&journal.program, journal.previous());
    if !previous.exists() {
        return Ok(false);
    }
    let failed = |e: std::io::Error| Failure(format!("cannot restore {}: {e}", program.display()));
    std::fs::rename(&previous, program).map_err(failed)?;
    sync_folder(program.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
    Ok(true)
}

/// Puts the home back as it was backed up; what the new version made of it is moved aside.
pub async fn restore_home(journal: &Journal, home: &Path) -> Result<(), Failure> {
    let Some(backup) = &journal.backup else {
        return Ok(());
    };
    let folder = backups(home)?;
    let complete = folder.join(ROLLBACK);
    if !complete.exists() {
        let unpacked = tempfile::Builder::new()
            .prefix(TEMPORARY[1])
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&folder)?;
        manyhands_store::unpack_backup(backup, unpacked.path()).await?;
        give_to_owner_of(home, unpacked.path())?;
        // Only what is complete gets this name, so that a restart goes on from here.
        std::fs::rename(unpacked.keep(), &complete)?;
        sync_folder(&folder)?;
    }
    let aside = journal.aside(home);
    manyhands_store::put_back(&complete, home, &aside)?;
    give_to_owner_of(home, &aside)?;
    Ok(())
}

fn remove_file(file: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure(format!(
            "cannot remove {}: {error}",
            file.display()
        ))),
        _ => Ok(()),
    }
}
