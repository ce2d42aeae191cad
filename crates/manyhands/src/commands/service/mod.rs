//! `install`, `uninstall`, `start`, `stop`, `restart`, `status` and `logs`: the gateway as a service.

mod install;
mod phone;
mod ready;

use std::path::PathBuf;
use std::process::ExitCode;

use manyhands_store::HomeLock;

use crate::args::{ManagerOption, ServiceLogs, ServiceSelector, StartService};
use crate::context::CliContext;
use manyhands_service_manager::{Manager, Name, Scope, Session, Unit};
use manyhands_terminal::output::{self, Done, Failure};

pub use install::install;
pub use ready::{Readiness, wait_until_ready};

/// How a gateway is started where it cannot be a service.
const FOREGROUND: &str = "manyhands up";
/// Log file of the gateway, where the service manager has no log.
const LOG_FILE: &str = "gateway.log";
/// Data directory of a system service.
const SYSTEM_HOME: &str = "/var/lib/manyhands";

/// Stops and removes the service.
pub async fn uninstall(which: ServiceSelector, ctx: &CliContext) -> Done {
    let session = Session::new(ctx.environment());
    let service = Installed::find(&which, &session, ctx)?;
    if service.unit.is_packaged() {
        return Err(Failure(format!(
            "{} belongs to a package\nhint: remove the package, or run `systemctl disable --now manyhands`",
            service.unit.file.display()
        )));
    }
    service.check().await?;
    service.unit.uninstall().await?;
    output::print_line("the gateway's service is uninstalled");
    output::print_note(format!(
        "the data is still in {}",
        service.ctx.home.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Starts the service and waits until it is ready.
pub async fn start(asked: StartService, ctx: &CliContext) -> Done {
    let session = Session::new(ctx.environment());
    let service = Installed::find(&asked.which, &session, ctx)?;
    service.check().await?;
    service.refuse_foreground().await?;
    service.unit.start().await?;
    service.announce(asked.timeout).await
}

/// Stops the service.
pub async fn stop(which: ServiceSelector, ctx: &CliContext) -> Done {
    let session = Session::new(ctx.environment());
    let service = Installed::find(&which, &session, ctx)?;
    service.check().await?;
    service.unit.stop().await?;
    output::print_line("the gateway is stopped");
    Ok(ExitCode::SUCCESS)
}

/// Restarts the service and waits until it is ready.
pub async fn restart(asked: StartService, ctx: &CliContext) -> Done {
    let session = Session::new(ctx.environment());
    let service = Installed::find(&asked.which, &session, ctx)?;
    service.check().await?;
    service.refuse_foreground().await?;
    service.unit.restart().await?;
    service.announce(asked.timeout).await
}

/// Prints whether the gateway is running and answers.
pub async fn status(which: ServiceSelector, ctx: &CliContext) -> Done {
    let session = Session::new(ctx.environment());
    let found = Installed::find(&which, &session, ctx);
    let (ctx, service) = match &found {
        Ok(service) => {
            let state = match service.check().await {
                Ok(()) => service.unit.state().await.map(|state| state.text),
                Err(failure) => Err(failure),
            };
            let text = state.unwrap_or_else(|failure| failure.0);
            let file = service.unit.file.display();
            (&service.ctx, format!("{text} ({file})"))
        }
        Err(_) => (
            ctx,
            "not installed; `manyhands install` makes it one".to_owned(),
        ),
    };
    output::print_line(format!("home      {}", ctx.home.display()));
    output::print_line(format!("service   {service}"));
    let Some(holder) = HomeLock::holder(&ctx.home) else {
        output::print_line("gateway   not running");
        return Ok(ExitCode::FAILURE);
    };
    let ready = match ctx.running() {
        Some(url) => ready::probe(&url).await,
        None => Readiness::NotYet,
    };
    output::print_line(format!(
        "gateway   {} ({holder}, since {})",
        ready.word(),
        holder.started_at.rfc3339()
    ));
    Ok(match ready {
        Readiness::Ready => ExitCode::SUCCESS,
        Readiness::NotYet => ExitCode::FAILURE,
    })
}

/// Prints the service's log.
pub async fn logs(asked: ServiceLogs, ctx: &CliContext) -> Done {
    let session = Session::new(ctx.environment());
    let service = Installed::find(&asked.which, &session, ctx)?;
    let file = service.log_file();
    if asked.follow {
        service.unit.follow(&file, asked.lines).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = service.unit.logs(&file, asked.lines).await?;
    output::print_line(text.trim_end());
    Ok(ExitCode::SUCCESS)
}

/// The service manager that was asked for.
pub fn manager(option: Option<ManagerOption>) -> Manager {
    match option {
        Some(ManagerOption::Systemd) => Manager::Systemd,
        Some(ManagerOption::Launchd) => Manager::Launchd,
        None => Manager::NATIVE,
    }
}

/// The gateway's service, installed.
pub struct Installed<'a> {
    /// Its unit.
    pub unit: Unit<'a>,
    /// The context on its home, which may differ from that of the command line.
    pub ctx: CliContext,
}

impl<'a> Installed<'a> {
    /// Finds the service that was selected: without `--system` the user's, or else the machine's.
    pub fn find(
        which: &ServiceSelector,
        session: &'a Session,
        ctx: &CliContext,
    ) -> Result<Self, Failure> {
        let scopes: &[Scope] = match which.system {
            true => &[Scope::System],
            false => &[Scope::User, Scope::System],
        };
        let (manager, user) = (manager(which.manager), ctx.user_folder()?);
        let mut units = scopes
            .iter()
            .map(|scope| Unit::new(session, manager, *scope, Name::gateway(), &user));
        let Some(unit) = units.find(Unit::is_installed) else {
            return Err(Failure(not_installed(ctx)));
        };
        let home = unit.variable("MANYHANDS_HOME").map(PathBuf::from);
        let ctx = ctx.on(&home.unwrap_or_else(|| ctx.home.clone()));
        Ok(Self { unit, ctx })
    }

    /// Fails if the service manager cannot be used.
    pub async fn check(&self) -> Result<(), Failure> {
        self.unit.check(FOREGROUND).await
    }

    /// The log file, where the service manager has no log.
    pub fn log_file(&self) -> PathBuf {
        self.ctx.home.join(LOG_FILE)
    }

    /// The command that prints the log.
    pub fn logs_command(&self) -> &'static str {
        match self.unit.scope {
            Scope::User => "manyhands logs",
            Scope::System => "manyhands logs --system",
        }
    }

    /// Fails if a gateway that is not this service runs on the home: two cannot.
    async fn refuse_foreground(&self) -> Result<(), Failure> {
        ready::refuse_foreground(&self.unit, &self.ctx).await
    }

    async fn announce(&self, timeout: u64) -> Done {
        let url = wait_until_ready(self, timeout).await?;
        output::print_line(format!("the gateway is running at {url}"));
        Ok(ExitCode::SUCCESS)
    }
}

fn not_installed(ctx: &CliContext) -> String {
    match HomeLock::holder(&ctx.home) {
        Some(holder) => format!(
            "the gateway is not installed as a service; it runs in the foreground as {holder}\n\
             hint: stop it there (or `kill {}`), then `manyhands install`",
            holder.pid
        ),
        None => "the gateway is not installed as a service\nhint: manyhands install".to_owned(),
    }
}
