//! Applies patches to the files of a jail.

use manyhands_guard::{Jail, RelPath};

use super::apply::HunkReport;
use super::commit::commit;
use super::error::ApplyError;
use super::parse::{FileChange, FilePatch, Patch};
use super::plan::{PatchPlan, PlannedChange};

/// Maximum size of a file to patch, in bytes.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum total size of all files of one patch, in bytes.
pub const MAX_TOTAL_BYTES: u64 = 128 * 1024 * 1024;

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// Its content or executable bit changed.
    Modified,
    /// It was created.
    Created,
    /// It was deleted.
    Deleted,
    /// It was renamed.
    Renamed,
    /// It was copied from another.
    Copied,
}

impl FileAction {
    /// Its name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Modified => "modified",
            Self::Created => "created",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::Copied => "copied",
        }
    }
}

/// What happened to one file, and where its hunks were applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    /// Its path, the new one if it was renamed.
    pub path: RelPath,
    /// The source of a rename or copy.
    pub from: Option<RelPath>,
    /// What was done.
    pub action: FileAction,
    /// Where its hunks were applied, in order.
    pub hunks: Vec<HunkReport>,
}

/// Applies a patch for one file to the file at `path`, regardless of the name in the patch. The patch may
/// create or delete it, but not rename or copy it.
///
/// Blocks, like all of [`Jail`].
pub fn apply_to_file(
    jail: &Jail,
    path: &RelPath,
    patch: &Patch<'_>,
) -> Result<FileReport, ApplyError> {
    let [part] = patch.files.as_slice() else {
        let count = patch.files.len();
        return Err(ApplyError::SeveralFiles { count });
    };
    let action = match part.change {
        FileChange::Modify => FileAction::Modified,
        FileChange::Create => FileAction::Created,
        FileChange::Delete => FileAction::Deleted,
        FileChange::Rename | FileChange::Copy => return Err(ApplyError::NotInPlace),
    };
    let step = PlannedChange {
        action,
        from: path.clone(),
        to: path.clone(),
    };
    let mut plan = PatchPlan::new(jail, std::slice::from_ref(&step));
    let hunks = plan.add(&step, part)?;
    commit(jail, plan.finish())?;
    Ok(report(step, hunks))
}

/// Applies a patch for any number of files, beneath `dir`.
///
/// Everything is planned before the first write. A failed write, for instance because a file changed
/// meanwhile, rolls back the earlier ones. Directories are created as needed and kept when they become
/// empty. Renames and copies start from the files as they were before the patch; other parts see the
/// results of earlier parts. Blocks, like all of [`Jail`].
pub fn apply_to_dir(
    jail: &Jail,
    dir: &RelPath,
    patch: &Patch<'_>,
) -> Result<Vec<FileReport>, ApplyError> {
    let mut steps = Vec::with_capacity(patch.files.len());
    for (number, part) in patch.files.iter().enumerate() {
        steps.push(resolve(jail, dir, part, number + 1)?);
    }
    let mut plan = PatchPlan::new(jail, &steps);
    let mut hunks = Vec::with_capacity(steps.len());
    for (step, part) in steps.iter().zip(&patch.files) {
        hunks.push(plan.add(step, part)?);
    }
    commit(jail, plan.finish())?;
    let done = steps.into_iter().zip(hunks);
    Ok(done.map(|(step, hunks)| report(step, hunks)).collect())
}

fn report(step: PlannedChange, hunks: Vec<HunkReport>) -> FileReport {
    let moved = matches!(step.action, FileAction::Renamed | FileAction::Copied);
    FileReport {
        path: step.to,
        from: moved.then_some(step.from),
        action: step.action,
        hunks,
    }
}

/// The files that a part of a patch is about.
fn resolve(
    jail: &Jail,
    dir: &RelPath,
    part: &FilePatch<'_>,
    number: usize,
) -> Result<PlannedChange, ApplyError> {
    let path = |name: &Option<String>| match name {
        Some(name) => beneath(dir, name),
        None => Err(ApplyError::Unnamed { part: number }),
    };
    let (action, from, to) = match part.change {
        FileChange::Create => (FileAction::Created, path(&part.new)?, path(&part.new)?),
        FileChange::Delete => (FileAction::Deleted, path(&part.old)?, path(&part.old)?),
        FileChange::Rename => (FileAction::Renamed, path(&part.old)?, path(&part.new)?),
        FileChange::Copy => (FileAction::Copied, path(&part.old)?, path(&part.new)?),
        FileChange::Modify => {
            let (old, new) = (path(&part.old)?, path(&part.new)?);
            // `--- file.orig` and `+++ file`, or the reverse: use the one that exists.
            let only_old = old != new
                && matches!(jail.metadata(&new), Ok(None))
                && matches!(jail.metadata(&old), Ok(Some(_)));
            let path = if only_old { old } else { new };
            (FileAction::Modified, path.clone(), path)
        }
    };
    Ok(PlannedChange { action, from, to })
}

fn beneath(dir: &RelPath, name: &str) -> Result<RelPath, ApplyError> {
    RelPath::parse(name)
        .and_then(|path| dir.join(&path))
        .map_err(|why| ApplyError::Name {
            name: name.to_owned(),
            why,
        })
}
