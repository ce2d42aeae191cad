//! Writing what was worked out, and taking it back if one write fails.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use manyhands_guard::{Jail, JailError, RelPath, Version, WriteMode};

use super::error::ApplyError;
use super::plan::{Move, Original, Wanted, failed};

/// A change that was made, with what is needed to take it back.
struct Done {
    path: RelPath,
    before: Option<Original>,
    /// What is there now; `None` if nothing is.
    now: Option<Version>,
    /// The deepest directory above it that was there before.
    ground: Option<RelPath>,
}

/// Makes all moves, or none. New content is written before anything is removed.
pub(super) fn commit(jail: &Jail, moves: Vec<Move>) -> Result<(), ApplyError> {
    let (writes, removals): (Vec<_>, Vec<_>) =
        moves.into_iter().partition(|step| step.after.is_some());
    let mut done = Vec::new();
    for step in writes.into_iter().chain(removals) {
        let path = step.path.clone();
        if let Err(error) = make(jail, step, &mut done) {
            let left = take_back(jail, done);
            return Err(match left.is_empty() {
                true => failed(&path, error),
                false => ApplyError::NotPutBack { path, error, left },
            });
        }
    }
    Ok(())
}

fn make(jail: &Jail, step: Move, done: &mut Vec<Done>) -> Result<(), JailError> {
    match step.after {
        Some(wanted) => write(jail, step.path, step.before, &wanted, done),
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
    wanted: &Wanted,
    done: &mut Vec<Done>,
) -> Result<(), JailError> {
    let mode = match &before {
        Some(before) => WriteMode::IfVersion(before.version.clone()),
        None => WriteMode::CreateNew,
    };
    let ground = match &before {
        Some(_) => None,
        None => Some(ground(jail, &path)?),
    };
    let there = before.as_ref().map(|before| before.mode);
    let written = match jail.write(&path, &wanted.bytes, mode) {
        Ok(meta) => meta,
        Err(error) => {
            if let Some(ground) = &ground {
                tidy(jail, &path, ground);
            }
            return Err(error);
        }
    };
    let now = Some(written.version);
    done.push(Done {
        path: path.clone(),
        before,
        now,
        ground,
    });
    set_mode(jail, &path, there, wanted)
}

fn remove(
    jail: &Jail,
    path: RelPath,
    before: Original,
    done: &mut Vec<Done>,
) -> Result<(), JailError> {
    let found = jail.metadata(&path)?.map(|meta| meta.version);
    if found.as_ref() != Some(&before.version) || !jail.remove_file(&path)? {
        return Err(JailError::Changed);
    }
    done.push(Done {
        path,
        before: Some(before),
        now: None,
        ground: None,
    });
    Ok(())
}

/// Gives a written file its permissions, where they are not what the jail gave it.
fn set_mode(
    jail: &Jail,
    path: &RelPath,
    there: Option<u32>,
    wanted: &Wanted,
) -> Result<(), JailError> {
    const READ_BITS: u32 = 0o444;
    const EXECUTE_BITS: u32 = 0o111;
    if wanted.mode == there && wanted.executable.is_none() {
        return Ok(());
    }
    let (file, _) = jail.open_file(path)?;
    let found = file.metadata()?.permissions().mode() & 0o777;
    let mode = wanted.mode.unwrap_or(found);
    let mode = match wanted.executable {
        Some(true) => mode | ((mode & READ_BITS) >> 2),
        Some(false) => mode & !EXECUTE_BITS,
        None => mode,
    };
    if mode != found {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Undoes, last first, and tells which files could not be put back.
fn take_back(jail: &Jail, done: Vec<Done>) -> Vec<RelPath> {
    let mut left = Vec::new();
    for step in done.into_iter().rev() {
        if undo(jail, &step).is_err() {
            left.push(step.path);
        }
    }
    left
}

fn undo(jail: &Jail, step: &Done) -> Result<(), JailError> {
    let Some(before) = &step.before else {
        // Someone else's by now, if it is another version.
        let found = jail.metadata(&step.path)?.map(|meta| meta.version);
        if found != step.now {
            return Err(JailError::Changed);
        }
        jail.remove_file(&step.path)?;
        if let Some(ground) = &step.ground {
            tidy(jail, &step.path, ground);
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

/// The deepest directory above `path` that is there.
fn ground(jail: &Jail, path: &RelPath) -> Result<RelPath, JailError> {
    let mut above = path.parent().unwrap_or_default();
    while !above.is_root() && jail.metadata(&above)?.is_none() {
        above = above.parent().unwrap_or_default();
    }
    Ok(above)
}

/// Removes the directories made for `path`, and none that were there before. What cannot be
/// tidied is an empty directory, no harm.
fn tidy(jail: &Jail, path: &RelPath, ground: &RelPath) {
    if path.parent().as_ref() != Some(ground) {
        let _ = jail.remove_empty_parents(path);
        let _ = jail.create_dirs(ground);
    }
}
