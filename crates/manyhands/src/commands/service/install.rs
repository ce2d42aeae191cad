//! `install`: defines the service, starts it, and leads its user to the page.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::phone::{self, Phone};
use super::{FOREGROUND, Installed, LOG_FILE, SYSTEM_HOME, manager, wait_until_ready};
use crate::args::{Install, ServiceSelector};
use crate::commands::link;
use crate::context::CliContext;
use manyhands_service_manager::{
    Definition, GatewayService, Name, Scope, Session, Unit, path_text,
};
use manyhands_terminal::output::{self, Done, Failure};

/// `PATH` of a system service.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Installs the gateway as a service.
pub async fn install(asked: Install, ctx: &CliContext) -> Done {
    let session = Session::new(ctx.environment());
    let scope = match asked.system {
        true => Scope::System,
        false => Scope::User,
    };
    let ctx = match asked.system && !ctx.home_is_given() {
        true => ctx.on(Path::new(SYSTEM_HOME)),
        false => ctx.on(&ctx.home),
    };
    let user = ctx.user_folder()?;
    let unit = Unit::new(
        &session,
        manager(asked.manager),
        scope,
        Name::gateway(),
        &user,
    );
    let text = unit.text(&definition(&asked, scope, &session, &ctx).await?)?;
    if asked.print {
        output::print_text(&text);
        return Ok(ExitCode::SUCCESS);
    }
    let is_root = rustix::process::geteuid().is_root();
    if scope == Scope::System && !is_root {
        return Err(Failure(
            "a system service needs root\nhint: sudo manyhands install --system, or without --system for this user only".to_owned(),
        ));
    }
    unit.check(FOREGROUND).await?;
    refuse_other(&unit, &ctx)?;
    super::ready::refuse_foreground(&unit, &ctx).await?;
    // Reported here: a service that cannot read its settings would only say so in its log.
    ctx.config().load()?;
    if scope == Scope::System {
        prepare_user(&asked.user, &ctx.home, &session).await?;
    }
    unit.install(&text).await?;
    let which = ServiceSelector {
        system: asked.system,
        manager: asked.manager,
    };
    let service = Installed::find(&which, &session, &ctx)?;
    let url = wait_until_ready(&service, asked.timeout).await?;
    output::print_line(format!(
        "manyhands {} runs as a service at {url}",
        env!("CARGO_PKG_VERSION")
    ));
    output::print_line(format!("  service   {}", service.unit.file.display()));
    output::print_line(format!("  home      {}", ctx.home.display()));
    output::print_line("  status    manyhands status");
    output::print_line(format!("  log       {} -f", service.logs_command()));
    welcome(&asked, &url, &service, &session).await
}

/// Prints and opens login links.
async fn welcome(asked: &Install, url: &str, service: &Installed<'_>, session: &Session) -> Done {
    let path = link_path(asked, service, session).await?;
    output::print_line(format!(
        "  page      {url}{path} (one-time link; `manyhands link` prints another)"
    ));
    // Each link works once, so the browser and the phone get their own.
    if !asked.no_browser {
        let path = link_path(asked, service, session).await?;
        if session.browse(&format!("{url}{path}")).await {
            output::print_note("the page was opened in your browser");
        }
    }
    let (settings, _) = service.ctx.config().load()?;
    let listens = manyhands_store::HomeLock::holder(&service.ctx.home)
        .and_then(|holder| holder.listen)
        .unwrap_or_else(|| url.to_owned());
    match phone::reach(&listens, settings.public_url.as_deref()) {
        Phone::At(base) => {
            let path = link_path(asked, service, session).await?;
            let link = format!("{base}{path}");
            output::print_line("");
            output::print_text(&phone::code(&link)?);
            output::print_line(format!(
                "  phone     scan the code, or open {link} (one-time link)"
            ));
        }
        Phone::Unknown(port) => output::print_line(format!(
            "  phone     open port {port} of this machine's address"
        )),
        Phone::OnlyHere => output::print_line(
            "  phone     only this machine can reach the gateway; set `listen` with `tls.cert` and `tls.key`, or `public_url` of a TLS proxy, then `manyhands restart`",
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// Creates a login link; returns its path.
async fn link_path(
    asked: &Install,
    service: &Installed<'_>,
    session: &Session,
) -> Result<String, Failure> {
    if service.unit.scope == Scope::User {
        return link::path(&service.ctx.remote()?).await;
    }
    // The owner's token of a system service is only for its own user, and is not read as root.
    let program = service.unit.program();
    let program = program.ok_or_else(|| Failure("the service names no program".to_owned()))?;
    let (program, home) = (path_text(&program)?, path_text(&service.ctx.home)?);
    let us = [asked.user.as_str(), "--", &program, "--home", &home, "link"];
    let printed = match cfg!(target_os = "macos") {
        true => session.run("sudo", &[&["-u"], &us[..]].concat()).await?,
        false => session.run("runuser", &[&["-u"], &us[..]].concat()).await?,
    };
    let link = url::Url::parse(printed.trim())
        .map_err(|_| Failure("`manyhands link` printed no link".to_owned()))?;
    Ok(link[url::Position::BeforePath..].to_owned())
}

/// Builds the service's command and environment.
async fn definition(
    asked: &Install,
    scope: Scope,
    session: &Session,
    ctx: &CliContext,
) -> Result<Definition, Failure> {
    let program = match &asked.program {
        Some(program) => ctx.file(program)?,
        None => ctx.program()?,
    };
    let path = match scope {
        // A service manager starts with a minimal `PATH`, in which few tools of the user are found.
        Scope::User => session.login_path().await,
        Scope::System => SYSTEM_PATH.to_owned(),
    };
    Ok(Definition {
        description: "Manyhands gateway".to_owned(),
        command: vec![path_text(&program)?, "up".to_owned()],
        environment: vec![
            ("PATH".to_owned(), path),
            ("MANYHANDS_HOME".to_owned(), path_text(&ctx.home)?),
            ("MANYHANDS_SERVICE".to_owned(), scope_word(scope).to_owned()),
        ],
        log: ctx.home.join(LOG_FILE),
        gateway: Some(GatewayService {
            home: ctx.home.clone(),
            user: (scope == Scope::System).then(|| asked.user.clone()),
        }),
    })
}

fn scope_word(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "user",
        Scope::System => "system",
    }
}

/// Refuses to replace the service of another home.
fn refuse_other(unit: &Unit<'_>, ctx: &CliContext) -> Result<(), Failure> {
    if !unit.is_installed() {
        return Ok(());
    }
    let other = unit.variable("MANYHANDS_HOME").map(PathBuf::from);
    match other {
        Some(other) if other != ctx.home => Err(Failure(format!(
            "the service already runs the gateway of {}\nhint: `manyhands uninstall` first, or use --home {}",
            other.display(),
            other.display()
        ))),
        _ => Ok(()),
    }
}

/// Creates the user of a system service and its home, if they are missing.
async fn prepare_user(user: &str, home: &Path, session: &Session) -> Result<(), Failure> {
    if session.run("id", &["-u", user]).await.is_err() {
        let folder = path_text(home)?;
        let args = [
            "--system",
            "--user-group",
            "--no-create-home",
            "--home-dir",
            &folder,
            "--shell",
            "/usr/sbin/nologin",
            user,
        ];
        session.run("useradd", &args).await.map_err(|failure| {
            Failure(format!(
                "cannot create the user {user}: {}\nhint: create it, or choose another with --user",
                failure.0
            ))
        })?;
        output::print_line(format!("created the system user {user}"));
    }
    if home.is_dir() {
        return Ok(());
    }
    let number = async |flag: &str| -> Result<u32, Failure> {
        let printed = session.run("id", &[flag, user]).await?;
        let number = printed.trim().parse();
        number.map_err(|_| Failure(format!("`id {flag} {user}` printed no number")))
    };
    let (uid, gid) = (number("-u").await?, number("-g").await?);
    let failed = |e: std::io::Error| Failure(format!("cannot create {}: {e}", home.display()));
    std::fs::create_dir_all(home).map_err(failed)?;
    std::fs::set_permissions(home, std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .map_err(failed)?;
    std::os::unix::fs::chown(home, Some(uid), Some(gid)).map_err(failed)
}
