//! Patches applied to the files of a jail.

use manyhands_guard::{Jail, RelPath};

use super::apply::HunkReport;
use super::commit::commit;
use super::error::ApplyError;
use super::parse::{Change, FilePatch, Patch};
use super::plan::{Plan, Step};

/// The largest file that is patched, in bytes.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// The most that all files of one patch may hold, in bytes.
pub const MAX_TOTAL_BYTES: u64 = 128 * 1024 * 1024;

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Its content or executable bit changed.
    Modified,
    /// It was made.
    Created,
    /// It was removed.
    Deleted,
    /// It was moved.
    Renamed,
    /// It was made from another.
    Copied,
}

impl Action {
    /// The word for it in results.
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

/// What was done to one file, and where its hunks went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    /// Its path, the new one if it was renamed.
    pub path: RelPath,
    /// Where it was renamed or copied from.
    pub from: Option<RelPath>,
    /// What was done.
    pub action: Action,
    /// Where its hunks went, in order.
    pub hunks: Vec<HunkReport>,
}

/// Applies a patch for one file to the file at `path`, whatever name the patch gives it. The
/// patch may create or delete it, but not rename or copy it.
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
        Change::Modify => Action::Modified,
        Change::Create => Action::Created,
        Change::Delete => Action::Deleted,
        Change::Rename | Change::Copy => return Err(ApplyError::NotInPlace),
    };
    let step = Step {
        action,
        from: path.clone(),
        to: path.clone(),
    };
    let mut plan = Plan::new(jail, std::slice::from_ref(&step));
    let hunks = plan.add(&step, part)?;
    commit(jail, plan.finish())?;
    Ok(report(step, hunks))
}

/// Applies a patch for any number of files to the names it gives, beneath `dir`.
///
/// Everything is worked out before the first write. A write that fails, for instance because
/// a file changed meanwhile, puts back those before it. Directories are made as needed and are left
/// when they become empty. Renames and copies start from the files as they were before the patch;
/// other parts see what earlier parts made. Blocks, like all of [`Jail`].
pub fn apply_to_dir(
    jail: &Jail,
    dir: &RelPath,
    patch: &Patch<'_>,
) -> Result<Vec<FileReport>, ApplyError> {
    let mut steps = Vec::with_capacity(patch.files.len());
    for (number, part) in patch.files.iter().enumerate() {
        steps.push(resolve(jail, dir, part, number + 1)?);
    }
    let mut plan = Plan::new(jail, &steps);
    let mut hunks = Vec::with_capacity(steps.len());
    for (step, part) in steps.iter().zip(&patch.files) {
        hunks.push(plan.add(step, part)?);
    }
    commit(jail, plan.finish())?;
    let done = steps.into_iter().zip(hunks);
    Ok(done.map(|(step, hunks)| report(step, hunks)).collect())
}

fn report(step: Step, hunks: Vec<HunkReport>) -> FileReport {
    let moved = matches!(step.action, Action::Renamed | Action::Copied);
    FileReport {
        path: step.to,
        from: moved.then_some(step.from),
        action: step.action,
        hunks,
    }
}

/// Which files a part of a patch is about.
fn resolve(
    jail: &Jail,
    dir: &RelPath,
    part: &FilePatch<'_>,
    number: usize,
) -> Result<Step, ApplyError> {
    let path = |name: &Option<String>| match name {
        Some(name) => beneath(dir, name),
        None => Err(ApplyError::Unnamed { part: number }),
    };
    let (action, from, to) = match part.change {
        Change::Create => (Action::Created, path(&part.new)?, path(&part.new)?),
        Change::Delete => (Action::Deleted, path(&part.old)?, path(&part.old)?),
        Change::Rename => (Action::Renamed, path(&part.old)?, path(&part.new)?),
        Change::Copy => (Action::Copied, path(&part.old)?, path(&part.new)?),
        Change::Modify => {
            let (old, new) = (path(&part.old)?, path(&part.new)?);
            // `--- file.orig` and `+++ file`, or the other way round: the one that is there.
            let only_old = old != new
                && matches!(jail.metadata(&new), Ok(None))
                && matches!(jail.metadata(&old), Ok(Some(_)));
            let path = if only_old { old } else { new };
            (Action::Modified, path.clone(), path)
        }
    };
    Ok(Step { action, from, to })
}

fn beneath(dir: &RelPath, name: &str) -> Result<RelPath, ApplyError> {
    RelPath::parse(name)
        .and_then(|path| dir.join(&path))
        .map_err(|why| ApplyError::Name {
            name: name.to_owned(),
            why,
        })
}
