//! Writes planned changes, and rolls them back if one fails.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use manyhands_guard::{Jail, JailError, RelPath, Version, WriteMode};

use super::error::ApplyError;
use super::plan::{Move, NewContents, Original, failed};

/// A change that was made, with what is needed to undo it.
struct AppliedChange {
    path: RelPath,
    before: Option<Original>,
    /// The current version; `None` if the file is gone.
    now: Option<Version>,
    /// The deepest parent directory that existed before.
    existing_dir: Option<RelPath>,
}

/// Makes all changes, or none. New content is written before anything is removed.
pub(super) fn commit(jail: &Jail, moves: Vec<Move>) -> Result<(), ApplyError> {
    // If a write fails, nothing has been deleted yet, so undoing is simple and safe.
    let (writes, removals): (Vec<_>, Vec<_>) =
        moves.into_iter().partition(|step| step.after.is_some());
    let mut done = Vec::new();
    for step in writes.into_iter().chain(removals) {
        let path = step.path.clone();
        if let Err(error) = make(jail, step, &mut done) {
            let left = roll_back(jail, done);
            return Err(match left.is_empty() {
                true => failed(&path, error),
                false => ApplyError::NotPutBack { path, error, left },
            });
        }
    }
    Ok(())
}

fn make(jail: &Jail, step: Move, done: &mut Vec<AppliedChange>) -> Result<(), JailError> {
    match step.after {
        Some(expected) => write(jail, step.path, step.before, &expected, done),
        None => match step.before {
            Some(before) => remove(jail, step.path, before, done),
            None => Ok(()),
        },
    }
}

fn write(
    jail: &Jail,
    path: RelPath,
    before: Option<Original>,
    expected: &NewContents,
    done: &mut Vec<AppliedChange>,
) -> Result<(), JailError> {
    let mode = match &before {
        // The file must be the one that was planned against; a concurrent change fails the patch.
        Some(before) => WriteMode::IfVersion(before.version.clone()),
        None => WriteMode::CreateNew,
    };
    let existing_dir = match &before {
        Some(_) => None,
        None => Some(deepest_existing_dir(jail, &path)?),
    };
    let there = before.as_ref().map(|before| before.mode);
    let written = match jail.write(&path, &expected.bytes, mode) {
        Ok(meta) => meta,
        Err(error) => {
            if let Some(existing_dir) = &existing_dir {
                tidy(jail, &path, existing_dir);
            }
            return Err(error);
        }
    };
    let now = Some(written.version);
    // Recorded before the mode is set: if that fails, the file must be undone as well.
    done.push(AppliedChange {
        path: path.clone(),
        before,
        now,
        existing_dir,
    });
    set_mode(jail, &path, there, expected)
}

fn remove(
    jail: &Jail,
    path: RelPath,
    before: Original,
    done: &mut Vec<AppliedChange>,
) -> Result<(), JailError> {
    let found = jail.metadata(&path)?.map(|meta| meta.version);
    // Deleting a file that changed since it was read would lose someone's work.
    if found.as_ref() != Some(&before.version) || !jail.remove_file(&path)? {
        return Err(JailError::Changed);
    }
    done.push(AppliedChange {
        path,
        before: Some(before),
        now: None,
        existing_dir: None,
    });
    Ok(())
}

/// Sets a written file's permissions, if they differ from the jail's default.
fn set_mode(
    jail: &Jail,
    path: &RelPath,
    there: Option<u32>,
    expected: &NewContents,
) -> Result<(), JailError> {
    const READ_BITS: u32 = 0o444;
    const EXECUTE_BITS: u32 = 0o111;
    if expected.mode == there && expected.executable.is_none() {
        return Ok(());
    }
    let (file, _) = jail.open_file(path)?;
    let found = file.metadata()?.permissions().mode() & 0o777;
    let mode = expected.mode.unwrap_or(found);
    let mode = match expected.executable {
        // Executable by everyone who may read it, as git does.
        Some(true) => mode | ((mode & READ_BITS) >> 2),
        Some(false) => mode & !EXECUTE_BITS,
        None => mode,
    };
    if mode != found {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Undoes changes in reverse order, and returns the files that could not be restored.
fn roll_back(jail: &Jail, done: Vec<AppliedChange>) -> Vec<RelPath> {
    let mut left = Vec::new();
    // Backwards: a later change may lie in a folder that an earlier one created.
    for step in done.into_iter().rev() {
        if undo(jail, &step).is_err() {
            left.push(step.path);
        }
    }
    left
}

fn undo(jail: &Jail, step: &AppliedChange) -> Result<(), JailError> {
    let Some(before) = &step.before else {
        // Another version means that someone else has changed it since: leave it alone.
        let found = jail.metadata(&step.path)?.map(|meta| meta.version);
        if found != step.now {
            return Err(JailError::Changed);
        }
        jail.remove_file(&step.path)?;
        if let Some(existing_dir) = &step.existing_dir {
            tidy(jail, &step.path, existing_dir);
        }
        return Ok(());
    };
    let mode = match &step.now {
        Some(version) => WriteMode::IfVersion(version.clone()),
        None => WriteMode::CreateNew,
    };
    jail.write(&step.path, &before.bytes, mode)?;
    let (file, _) = jail.open_file(&step.path)?;
    Ok(file.set_permissions(Permissions::from_mode(before.mode))?)
}

/// The deepest existing directory above `path`.
fn deepest_existing_dir(jail: &Jail, path: &RelPath) -> Result<RelPath, JailError> {
    let mut above = path.parent().unwrap_or_default();
    while !above.is_root() && jail.metadata(&above)?.is_none() {
        above = above.parent().unwrap_or_default();
    }
    Ok(above)
}

/// Removes the directories created for `path`, and no others. A leftover is an empty directory and
/// harmless.
fn tidy(jail: &Jail, path: &RelPath, existing_dir: &RelPath) {
    if path.parent().as_ref() != Some(existing_dir) {
        let _ = jail.remove_empty_parents(path);
        let _ = jail.create_dirs(existing_dir);
    }
}
