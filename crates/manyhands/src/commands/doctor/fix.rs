//! `doctor --fix`: repairs what is safe to repair. Nothing is deleted that holds data.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use manyhands_gateway::{CONFIG_FILE, OWNER_TOKEN_FILE};
use manyhands_store::{Holder, HomeLock};

use crate::commands::upgrade;
use crate::context::CliContext;
use manyhands_terminal::output::Failure;

/// Files that only their owner may read.
const PRIVATE: [&str; 10] = [
    OWNER_TOKEN_FILE,
    CONFIG_FILE,
    "vault.key",
    "audit.head",
    "manyhands.db",
    "manyhands.db-wal",
    "manyhands.db-shm",
    "gateway.lock",
    "upgrade.json",
    "service.env",
];
/// Folders that only their owner may enter.
const FOLDERS: [&str; 4] = ["blobs", "backups", "host", "nodes"];
/// Beginnings of the names of files that a crash left half-written in the home.
const HALF_WRITTEN: [&str; 2] = [".new-", ".upgrade-"];

/// Repairs a home; returns what was done.
pub async fn repair(ctx: &CliContext) -> Result<Vec<String>, Failure> {
    let home = &ctx.home;
    // A folder that is not a home is left alone: nobody wants a closed /tmp.
    if !home.join("manyhands.db").is_file() {
        return Ok(Vec::new());
    }
    let mut done = Vec::new();
    close(home, 0o700, "home", &mut done)?;
    for name in PRIVATE {
        close(&home.join(name), 0o600, "files", &mut done)?;
    }
    for name in FOLDERS {
        close(&home.join(name), 0o700, "folders", &mut done)?;
    }
    let blobs = home.join("blobs");
    if !blobs.exists() {
        let made = DirBuilder::new().mode(0o700).create(&blobs);
        made.map_err(|e| Failure(format!("cannot create {}: {e}", blobs.display())))?;
        done.push(format!("folders    created {}", blobs.display()));
    }
    if let Some(text) = upgrade::repair(home).await? {
        done.push(format!("upgrade    {text}"));
    }
    without_gateway(ctx, &mut done)?;
    Ok(done)
}

/// Takes the permissions of others away from a file or folder of ours.
fn close(path: &Path, mode: u32, what: &str, done: &mut Vec<String>) -> Result<(), Failure> {
    // A link is left alone: what it leads to may be meant for others.
    let Ok(found) = path.symlink_metadata() else {
        return Ok(());
    };
    if found.is_symlink() || found.mode() & 0o077 == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(|e| Failure(format!("cannot change the mode of {}: {e}", path.display())))?;
    done.push(format!("{what:<10} chmod {mode:o} {}", path.display()));
    Ok(())
}

/// Repairs what a running gateway would be using.
fn without_gateway(ctx: &CliContext, done: &mut Vec<String>) -> Result<(), Failure> {
    let home = &ctx.home;
    let lock_file = home.join("gateway.lock");
    let is_stale = std::fs::metadata(&lock_file).is_ok_and(|found| found.len() > 0);
    let us = Holder {
        pid: std::process::id(),
        listen: None,
        started_at: ctx.clock.now(),
    };
    let Ok(_lock) = HomeLock::acquire(home, &us) else {
        return Ok(()); // a gateway is running
    };
    if is_stale {
        // Dropping the lock empties the file.
        done.push(format!(
            "lock       removed the note of a gateway that had crashed from {}",
            lock_file.display()
        ));
    }
    for entry in std::fs::read_dir(home)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_left = HALF_WRITTEN.iter().any(|prefix| name.starts_with(prefix));
        if is_left && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            std::fs::remove_file(entry.path())?;
            done.push(format!(
                "files      removed the half-written {}",
                entry.path().display()
            ));
        }
    }
    Ok(())
}
