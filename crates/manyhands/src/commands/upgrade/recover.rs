//! Finishing or undoing an upgrade that failed or was interrupted.

use std::path::Path;

use super::journal::{Journal, Lock, Step};
use super::{Target, steps};
use crate::context::CliContext;
use manyhands_terminal::output::{self, Failure};

/// Seconds that the old version has at least to become ready again.
const OLD_READY_SECONDS: u64 = 60;

/// Finishes or undoes an interrupted upgrade; whether there was one. The caller holds the lock of upgrades.
pub async fn finish(target: &Target<'_>, timeout: u64) -> Result<bool, Failure> {
    let home = &target.ctx.home;
    let Some(mut journal) = Journal::read(home)? else {
        return Ok(false);
    };
    let (from, to) = (journal.from.clone(), journal.to.clone());
    match journal.step {
        Step::Staging | Step::Stopping => undo(&journal, target, timeout).await?,
        Step::Swapping if !steps::is_swapped(&journal) => undo(&journal, target, timeout).await?,
        Step::Swapping | Step::Starting => {
            if journal.restart {
                journal.record(Step::Starting, home)?;
                if let Err(failure) = target.start(timeout).await {
                    return Err(roll_back(&mut journal, target, timeout, failure).await);
                }
            }
            Journal::remove(home)?;
            output::print_line(format!(
                "the interrupted upgrade from {from} to {to} is complete"
            ));
        }
        Step::RollingBack | Step::Returning => {
            complete_rollback(&mut journal, target, timeout).await?;
            output::print_line(format!("the failed upgrade from {from} to {to} was undone"));
        }
    }
    Ok(true)
}

async fn undo(journal: &Journal, target: &Target<'_>, timeout: u64) -> Result<(), Failure> {
    steps::discard(journal, &target.ctx.home)?;
    if journal.restart {
        target.start(timeout).await?;
    }
    output::print_line(format!(
        "the interrupted upgrade to {} was undone; {} is unchanged",
        journal.to,
        journal.program.display()
    ));
    Ok(())
}

/// Goes back to the old version and home after `why`; returns the error for the user.
pub async fn roll_back(
    journal: &mut Journal,
    target: &Target<'_>,
    timeout: u64,
    why: Failure,
) -> Failure {
    let (from, to) = (journal.from.clone(), journal.to.clone());
    let aside = journal.aside(&target.ctx.home);
    let reason = why.0;
    match complete_rollback(journal, target, timeout).await {
        Ok(()) => Failure(format!(
            "{to} did not work, and {from} was restored with its data: {reason}\n\
             what {to} made of the home is in {}",
            aside.display()
        )),
        Err(failure) => Failure(format!(
            "{to} did not work: {reason}\nand {from} could not be restored completely: {}\n\
             hint: repeat `manyhands upgrade` to go on restoring",
            failure.0
        )),
    }
}

/// Restores program and home, as far as that is not done, and starts the old version.
async fn complete_rollback(
    journal: &mut Journal,
    target: &Target<'_>,
    timeout: u64,
) -> Result<(), Failure> {
    let home = &target.ctx.home;
    if journal.step != Step::Returning {
        journal.record(Step::RollingBack, home)?;
        let _ = target.stop().await; // it may have ended by itself
        let _lock = steps::lock_home(&target.ctx).await?;
        restore(journal, home).await?;
    }
    if journal.restart {
        // Giving up early would leave no gateway at all.
        target.start(timeout.max(OLD_READY_SECONDS)).await?;
    }
    Journal::remove(home)
}

/// Restores program and home; whether the program had to be.
async fn restore(journal: &mut Journal, home: &Path) -> Result<bool, Failure> {
    let swapped_back = steps::restore_program(journal)?;
    steps::restore_home(journal, home).await?;
    // Recorded before the unpacked backup is removed: without it a restart would unpack it once more.
    journal.record(Step::Returning, home)?;
    steps::sweep(home)?;
    Ok(swapped_back)
}

/// What the gateway does about an upgrade before it starts. `true` if it completes one by becoming ready.
pub async fn before_up(ctx: &CliContext) -> Result<bool, Failure> {
    let home = &ctx.home;
    let Some(mut journal) = Journal::read(home)? else {
        return Ok(false);
    };
    let (from, to) = (journal.from.clone(), journal.to.clone());
    let Some(_lock) = Lock::attempt(home).await? else {
        return match journal.step {
            // The gateway runs on during the first, and is started by the upgrade in the others.
            Step::Staging | Step::Starting | Step::Returning => Ok(false),
            Step::Stopping | Step::Swapping | Step::RollingBack => Err(Failure(format!(
                "{} is being upgraded from {from} to {to}\nhint: wait until `manyhands upgrade` has ended",
                home.display()
            ))),
        };
    };
    match journal.step {
        Step::Staging | Step::Stopping => steps::discard(&journal, home)?,
        Step::Swapping if !steps::is_swapped(&journal) => steps::discard(&journal, home)?,
        Step::Swapping | Step::Starting => {
            output::print_note(format!(
                "note: the upgrade from {from} to {to} was interrupted, and is completed now; \
                 if {to} does not start, `manyhands upgrade` restores {from}"
            ));
            journal.record(Step::Starting, home)?;
            return Ok(true);
        }
        Step::RollingBack => {
            let home_lock = steps::lock_home(ctx).await?;
            let swapped_back = restore(&mut journal, home).await?;
            drop(home_lock);
            Journal::remove(home)?;
            if swapped_back {
                // This process may be the version that failed.
                return Err(Failure(format!(
                    "the upgrade from {from} to {to} had failed, and {from} is restored now\nhint: start it again"
                )));
            }
        }
        Step::Returning => Journal::remove(home)?,
    }
    output::print_note(format!(
        "note: the upgrade from {from} to {to} was interrupted, and was undone"
    ));
    Ok(false)
}

/// Marks the upgrade complete that the gateway has completed by becoming ready.
pub fn complete(home: &Path) {
    if let Err(failure) = Journal::remove(home) {
        tracing::warn!(event = "upgrade_journal_failed", error = %failure.0, "failed to remove the journal of a completed upgrade");
    }
}

/// Undoes an interrupted upgrade that changed nothing yet, for `doctor --fix`; returns what was done.
pub async fn repair(home: &Path) -> Result<Option<String>, Failure> {
    let Some(journal) = Journal::read(home)? else {
        return Ok(None);
    };
    let Some(_lock) = Lock::attempt(home).await? else {
        return Ok(None); // it is running
    };
    let is_unchanged = match journal.step {
        Step::Staging | Step::Stopping => true,
        Step::Swapping => !steps::is_swapped(&journal),
        _ => false,
    };
    if !is_unchanged {
        return Ok(None); // `upgrade` and `up` finish these
    }
    steps::discard(&journal, home)?;
    Ok(Some(format!(
        "removed what the interrupted upgrade to {} had left",
        journal.to
    )))
}

/// The unfinished upgrade of a home, in words.
pub async fn unfinished(home: &Path) -> Result<Option<String>, Failure> {
    let journal = Journal::read(home)?;
    let Some(journal) = journal else {
        return Ok(None);
    };
    if Lock::attempt(home).await?.is_none() {
        return Ok(Some(format!("an upgrade to {} is running", journal.to)));
    }
    Ok(Some(format!(
        "an upgrade from {} to {} was interrupted",
        journal.from, journal.to
    )))
}
