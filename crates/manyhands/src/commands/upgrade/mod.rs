//! `upgrade`: replaces this program by another release, and goes back if that does not work.
//!
//! The order is what makes it safe. The new program is verified, unpacked beside the old one and tried on a copy of
//! the database while the gateway still runs. Then the gateway is stopped *before* the backup, so that going back
//! loses nothing that was acknowledged. The programs are exchanged by a rename, and the new version has to become
//! ready. A journal ([`journal`]) records each step, so that an interrupted upgrade is finished or undone by the next
//! `upgrade` or `up` ([`recover`]).

mod journal;
mod package;
mod recover;
mod release;
mod steps;

use std::path::PathBuf;
use std::process::ExitCode;

use manyhands_store::HomeLock;
use semver::Version;

use crate::args::{ServiceSelector, Upgrade};
use crate::commands::service::{Installed, wait_until_ready};
use crate::context::CliContext;
use journal::{Journal, Lock, Step};
use manyhands_service_manager::{Activity, Session};
use manyhands_terminal::editor::{Question, is_interactive};
use manyhands_terminal::output::{self, Done, Failure};
use release::Release;

pub use recover::{before_up, complete, repair, unfinished};

/// This version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What is upgraded.
struct Target<'a> {
    /// The program that is replaced.
    program: PathBuf,
    /// The context on its home.
    ctx: CliContext,
    /// The gateway's service, if it runs this program on this home.
    service: Option<Installed<'a>>,
    session: &'a Session,
}

/// Runs the command.
pub async fn run(asked: Upgrade, ctx: &CliContext) -> Done {
    let session = Session::new(ctx.environment());
    let target = Target::find(&asked, &session, ctx)?;
    if asked.check {
        let release = open(&asked, &target).await?;
        return Ok(compare(&release, &target));
    }
    steps::private_folder(&target.ctx.home)?;
    let _lock = Lock::take(&target.ctx.home).await?;
    let was_unfinished = recover::finish(&target, asked.timeout).await?;
    if asked.source.is_none() && was_unfinished {
        return Ok(ExitCode::SUCCESS);
    }
    package::refuse(&target.program)?;
    let release = open(&asked, &target).await?;
    let ours = Version::parse(VERSION)?;
    if release.version == ours {
        return Ok(compare(&release, &target));
    }
    if release.version < ours && !asked.allow_downgrade {
        return Err(Failure(format!(
            "{} is older than this version, {ours}\nhint: an older version may not understand the home; to try it, add --allow-downgrade",
            release.version
        )));
    }
    let was_running = target.was_running().await?;
    if !asked.yes && !confirmed(&release, &target, was_running).await {
        return Err(Failure(
            "not confirmed, so nothing was changed\nhint: answer y, or add --yes".to_owned(),
        ));
    }
    replace(&release, &target, was_running, asked.timeout).await
}

async fn open(asked: &Upgrade, target: &Target<'_>) -> Result<Release, Failure> {
    let Some(source) = &asked.source else {
        return Err(Failure(
            "no release given, and no interrupted upgrade to finish\nhint: manyhands upgrade FILE|URL; `manyhands upgrade --help` has examples".to_owned(),
        ));
    };
    Release::open(source, asked, &target.ctx).await
}

/// Prints whether a release is newer.
fn compare(release: &Release, target: &Target<'_>) -> ExitCode {
    let (new, program) = (release.version.to_string(), target.program.display());
    let text = match Version::parse(VERSION) {
        Ok(ours) if release.version > ours => format!("{new} is newer than {ours}"),
        Ok(ours) if release.version < ours => format!("{new} is older than {ours}"),
        _ => format!("{new} is already installed"),
    };
    output::print_line(format!("{text} ({program}; {})", release.verified));
    ExitCode::SUCCESS
}

async fn confirmed(release: &Release, target: &Target<'_>, was_running: bool) -> bool {
    // A script has to say `--yes`: silence is not consent.
    if !is_interactive() {
        return false;
    }
    let restart = match was_running {
        true => " and restart the gateway",
        false => "",
    };
    output::print_prompt(&format!(
        "Replace {} ({VERSION}) by {}{restart}? [y/N] ",
        target.program.display(),
        release.version
    ));
    let answer = Question::start().answer().await.unwrap_or_default();
    matches!(answer.trim(), "y" | "Y" | "yes")
}

impl<'a> Target<'a> {
    fn find(asked: &Upgrade, session: &'a Session, ctx: &CliContext) -> Result<Self, Failure> {
        let program = ctx.program()?;
        let which = ServiceSelector {
            system: false,
            manager: asked.manager,
        };
        let service = Installed::find(&which, session, ctx).ok();
        let service = service.filter(|service| {
            // Without a named home, the one of the service that runs this program is meant.
            let starts = service.unit.program();
            let is_this = starts
                .is_some_and(|starts| starts.canonicalize().ok() == program.canonicalize().ok());
            service.ctx.home == ctx.home || (is_this && !ctx.home_is_given())
        });
        let ctx = match &service {
            Some(service) => service.ctx.clone(),
            None => ctx.on(&ctx.home),
        };
        Ok(Self {
            program,
            ctx,
            service,
            session,
        })
    }

    /// Whether the gateway runs as a service. One that runs otherwise is refused: nobody could start it again.
    async fn was_running(&self) -> Result<bool, Failure> {
        if let Some(service) = &self.service
            && service.check().await.is_ok()
            && service.unit.state().await?.activity == Activity::Running
        {
            let starts = service.unit.program().unwrap_or_default();
            if starts.canonicalize().ok() != self.program.canonicalize().ok() {
                return Err(Failure(format!(
                    "the gateway's service runs {}, and this program is {}\nhint: {} upgrade …",
                    starts.display(),
                    self.program.display(),
                    starts.display()
                )));
            }
            return Ok(true);
        }
        match HomeLock::holder(&self.ctx.home) {
            None => Ok(false),
            Some(holder) => Err(Failure(format!(
                "a gateway runs on {} in the foreground, where it cannot be restarted: {holder}\n\
                 hint: stop it (`kill {}`) and repeat this; or run it as a service: manyhands install",
                self.ctx.home.display(),
                holder.pid
            ))),
        }
    }

    /// Starts the service and waits until it is ready; returns its URL.
    async fn start(&self, timeout: u64) -> Result<String, Failure> {
        let Some(service) = &self.service else {
            return Err(Failure(
                "the gateway's service is not installed any more\nhint: manyhands install"
                    .to_owned(),
            ));
        };
        service.check().await?;
        service.unit.start().await?;
        wait_until_ready(service, timeout).await
    }

    async fn stop(&self) -> Result<(), Failure> {
        match &self.service {
            Some(service) => service.unit.stop().await,
            None => Ok(()),
        }
    }
}

/// Does the upgrade.
async fn replace(release: &Release, target: &Target<'_>, was_running: bool, timeout: u64) -> Done {
    let home = &target.ctx.home;
    let mut journal = Journal {
        step: Step::Staging,
        from: VERSION.to_owned(),
        to: release.version.to_string(),
        program: target.program.clone(),
        backup: None,
        restart: was_running,
        started_at: target.ctx.clock.now(),
        pid: std::process::id(),
    };
    journal.record(Step::Staging, home)?;
    if let Err(failure) = steps::prepare(release, &journal, target).await {
        steps::discard(&journal, home)?;
        return Err(failure);
    }
    journal.record(Step::Stopping, home)?;
    if let Err(failure) = exchange(&mut journal, target).await {
        steps::discard(&journal, home)?;
        if was_running {
            target.start(timeout).await?;
        }
        return Err(failure);
    }
    if !was_running {
        Journal::remove(home)?;
        report(&journal, "not running; start it with `manyhands up`");
        return Ok(ExitCode::SUCCESS);
    }
    journal.record(Step::Starting, home)?;
    match target.start(timeout).await {
        Ok(url) => {
            Journal::remove(home)?;
            report(&journal, &format!("ready at {url}"));
            Ok(ExitCode::SUCCESS)
        }
        Err(failure) => Err(recover::roll_back(&mut journal, target, timeout, failure).await),
    }
}

/// Stops the gateway, backs up the home and exchanges the programs. If it fails, the old program is still in place.
async fn exchange(journal: &mut Journal, target: &Target<'_>) -> Result<(), Failure> {
    let home = &target.ctx.home;
    if journal.restart {
        target.stop().await?;
    }
    // Nothing may change between the backup and the exchange.
    let _lock = steps::lock_home(&target.ctx).await?;
    journal.backup = steps::backup(journal, &target.ctx).await?;
    journal.record(Step::Swapping, home)?;
    steps::swap(journal)
}

fn report(journal: &Journal, gateway: &str) {
    output::print_line(format!(
        "upgraded manyhands {} to {}",
        journal.from, journal.to
    ));
    output::print_line(format!(
        "  program   {} (the old one is {})",
        journal.program.display(),
        journal.previous().display()
    ));
    if let Some(backup) = &journal.backup {
        output::print_line(format!("  backup    {}", backup.display()));
    }
    output::print_line(format!("  gateway   {gateway}"));
}
