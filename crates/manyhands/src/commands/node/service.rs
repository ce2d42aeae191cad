//! A node that runs as a user service.

use std::path::PathBuf;
use std::process::ExitCode;

use manyhands_core::NodeId;

use super::identity::{self, TokenSource};
use super::sharing_of;
use crate::args::{Service, ShareOptions};
use crate::context::CliContext;
use crate::enrolment::{Enrolment, Enrolments};
use crate::remote::Remote;
use crate::sharing::{Sharing, word};
use manyhands_service_manager::{
    Definition, Manager, Name, Scope, Session, Unit, path_text, shell_word,
};
use manyhands_terminal::output::{self, Done, Failure};

/// Runs a service command.
pub async fn run(asked: Service, ctx: &CliContext) -> Done {
    let session = Session::new(ctx.environment());
    match asked {
        Service::Install { share, print } => {
            let sharing = sharing_of(&share, ctx)?;
            if print {
                return show(&share, &sharing, &session, ctx).await;
            }
            install(&share, &sharing, &session, ctx).await
        }
        Service::Uninstall(which) => {
            let node = Installed::find(which.id.as_ref(), &session, ctx)?;
            node.uninstall(ctx).await
        }
        Service::Start(which) => {
            let node = Installed::find(which.id.as_ref(), &session, ctx)?;
            node.check().await?;
            node.unit.start().await?;
            output::print_line(format!("{} is started", node.id));
            Ok(ExitCode::SUCCESS)
        }
        Service::Stop(which) => {
            let node = Installed::find(which.id.as_ref(), &session, ctx)?;
            node.check().await?;
            node.unit.stop().await?;
            output::print_line(format!("{} is stopped", node.id));
            Ok(ExitCode::SUCCESS)
        }
        Service::Status(which) => status(which.id.as_ref(), &session, ctx).await,
        Service::Logs { which, lines } => {
            let node = Installed::find(which.id.as_ref(), &session, ctx)?;
            let text = node.unit.logs(&log_file(&node.id, ctx), lines).await?;
            output::print_line(text.trim_end());
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn show(
    share: &ShareOptions,
    sharing: &Sharing,
    session: &Session,
    ctx: &CliContext,
) -> Done {
    let id = identity::name(share.id.as_ref(), ctx);
    let service = definition(&id, sharing, session, ctx).await?;
    output::print_text(&unit(&id, session, ctx)?.text(&service)?);
    Ok(ExitCode::SUCCESS)
}

async fn install(
    share: &ShareOptions,
    sharing: &Sharing,
    session: &Session,
    ctx: &CliContext,
) -> Done {
    // Checked before the enrolment: a code works only once and must not be wasted on a service that cannot be written.
    let named = identity::name(share.id.as_ref(), ctx);
    let tried = unit(&named, session, ctx)?;
    tried
        .check(&foreground(share.id.as_ref(), sharing, ctx))
        .await?;
    tried.text(&definition(&named, sharing, session, ctx).await?)?;
    let identity = identity::of(share.id.as_ref(), share.code.as_deref(), ctx).await?;
    let id = identity.id;
    if identity.source == TokenSource::Given {
        let (url, token) = (identity.url, identity.token);
        Enrolments::of(&ctx.home).write(&id, &Enrolment { url, token })?;
    }
    let unit = unit(&id, session, ctx)?;
    let text = unit.text(&definition(&id, sharing, session, ctx).await?)?;
    Enrolments::of(&ctx.home).state(&id)?; // the log file goes into the same directory
    unit.install(&text).await?;
    output::print_line(format!("{id} is installed and started ({sharing})"));
    output::print_line(format!("  service   {}", unit.file.display()));
    output::print_line(format!("  status    manyhands node status --id {id}"));
    Ok(ExitCode::SUCCESS)
}

/// The service of a node.
fn unit<'a>(id: &NodeId, session: &'a Session, ctx: &CliContext) -> Result<Unit<'a>, Failure> {
    // Never the machine's service: a node runs with the rights of its user.
    let (user, name) = (ctx.user_folder()?, Name::node(id.as_str()));
    Ok(Unit::new(
        session,
        Manager::NATIVE,
        Scope::User,
        name,
        &user,
    ))
}

/// Builds the service's command and environment.
async fn definition(
    id: &NodeId,
    sharing: &Sharing,
    session: &Session,
    ctx: &CliContext,
) -> Result<Definition, Failure> {
    let mut command = vec![path_text(&ctx.program()?)?, "node".to_owned()];
    command.extend(["--id".to_owned(), id.to_string()]);
    // Written out even where they are the defaults: a later version must not share more.
    command.extend(flags(sharing)?);
    let environment = vec![
        // A service manager starts with a minimal `PATH`, in which few tools of the user are found.
        ("PATH".to_owned(), session.login_path().await),
        ("MANYHANDS_HOME".to_owned(), path_text(&ctx.home)?),
        ("MANYHANDS_LOG".to_owned(), "info".to_owned()),
    ];
    Ok(Definition {
        description: format!("Manyhands node {id}"),
        command,
        environment,
        log: log_file(id, ctx),
        gateway: None,
    })
}

/// Options that reproduce the same sharing.
fn flags(sharing: &Sharing) -> Result<Vec<String>, Failure> {
    let mut flags = vec!["--workspace".to_owned(), path_text(&sharing.workspace)?];
    if let Some(jail) = &sharing.confinement.jail {
        flags.extend(["--jail".to_owned(), path_text(jail)?]);
    }
    let sandbox = word(sharing.confinement.sandbox).to_owned();
    flags.extend(["--sandbox".to_owned(), sandbox]);
    if sharing.terminals {
        flags.push("--terminal".to_owned());
    }
    Ok(flags)
}

fn foreground(id: Option<&NodeId>, sharing: &Sharing, ctx: &CliContext) -> String {
    let id = identity::name(id, ctx);
    let flags = flags(sharing).unwrap_or_default();
    let flags: Vec<String> = flags.iter().map(|flag| shell_word(flag)).collect();
    format!("manyhands node --id {id} {}", flags.join(" "))
}

fn log_file(id: &NodeId, ctx: &CliContext) -> PathBuf {
    let stored = Enrolments::of(&ctx.home).file(id);
    stored.with_extension("log")
}

/// A node installed as a service.
struct Installed<'a> {
    id: NodeId,
    unit: Unit<'a>,
}

impl<'a> Installed<'a> {
    fn find(id: Option<&NodeId>, session: &'a Session, ctx: &CliContext) -> Result<Self, Failure> {
        let id = identity::name(id, ctx);
        let unit = unit(&id, session, ctx)?;
        if !unit.is_installed() {
            return Err(Failure(format!(
                "{id} is not installed as a service: {} does not exist\nhint: manyhands node install --id {id}",
                unit.file.display()
            )));
        }
        Ok(Self { id, unit })
    }

    async fn check(&self) -> Result<(), Failure> {
        let foreground = format!("manyhands node --id {}", self.id);
        self.unit.check(&foreground).await
    }

    async fn uninstall(&self, ctx: &CliContext) -> Done {
        self.check().await?;
        self.unit.uninstall().await?;
        output::print_line(format!("{} is uninstalled", self.id));
        let stored = Enrolments::of(&ctx.home).file(&self.id);
        if stored.is_file() {
            output::print_note(format!("its token is still in {}", stored.display()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints whether the service is running and connected.
async fn status(id: Option<&NodeId>, session: &Session, ctx: &CliContext) -> Done {
    let id = identity::name(id, ctx);
    let installed = Installed::find(Some(&id), session, ctx);
    let state = match &installed {
        Ok(installed) => match installed.check().await {
            Ok(()) => installed.unit.state().await.map(|state| state.text),
            Err(failure) => Err(failure),
        },
        Err(_) => Ok("not installed".to_owned()),
    };
    output::print_line(format!("node      {id}"));
    match &state {
        Ok(state) => output::print_line(format!("service   {state}")),
        Err(failure) => output::print_line(format!("service   {}", failure.0)),
    }
    output::print_line(format!("gateway   {}", seen(&id, ctx).await));
    Ok(match (installed, state) {
        (Ok(_), Ok(_)) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

async fn seen(id: &NodeId, ctx: &CliContext) -> String {
    let identity = match identity::of(Some(id), None, ctx).await {
        Ok(identity) => identity,
        Err(failure) => return failure.0,
    };
    let url = identity.url;
    let listed = match Remote::new(&url, identity.token) {
        Ok(remote) => remote.get("/api/nodes").await,
        Err(failure) => Err(failure),
    };
    let listed = match listed {
        Ok(listed) => listed,
        Err(failure) => return format!("cannot query {url}: {}", failure.0),
    };
    let mut nodes = listed["nodes"].as_array().into_iter().flatten();
    match nodes.find(|node| node["nodeId"] == id.as_str()) {
        Some(node) if node["online"] == true => format!("connected to {url}"),
        Some(_) => format!("not connected to {url}"),
        None => format!("never connected to {url}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_node::{Confinement, SandboxMode};

    #[test]
    fn the_service_keeps_the_sharing_flags() {
        let sharing = Sharing {
            workspace: PathBuf::from("/work/a b"),
            confinement: Confinement {
                jail: Some(PathBuf::from("/work")),
                sandbox: SandboxMode::ReadOnly,
            },
            terminals: true,
        };
        let expect = [
            "--workspace",
            "/work/a b",
            "--jail",
            "/work",
            "--sandbox",
            "read-only",
            "--terminal",
        ];
        assert_eq!(flags(&sharing).unwrap(), expect);
    }
}
