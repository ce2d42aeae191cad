//! A node that runs as a user service.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use manyhands_core::NodeId;

use super::identity::{self, TokenSource};
use super::session::Session;
use super::systemd::{self, Systemd};
use super::{launchd, sharing_of};
use crate::args::{Service, ShareOptions};
use crate::context::CliContext;
use crate::enrolment::{Enrolment, Enrolments};
use crate::output::{self, Done, Failure};
use crate::remote::Remote;
use crate::sharing::{Sharing, word};

/// Services are managed by launchd on macOS and by systemd elsewhere.
const LAUNCHD: bool = cfg!(target_os = "macos");

/// Command and environment of a service. Contains no token.
#[derive(Debug)]
pub struct Blueprint {
    /// Name of the node.
    pub id: String,
    /// The executable and its arguments.
    pub command: Vec<String>,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Log file, where the service manager has no log.
    pub log: PathBuf,
}

/// Refuses values that cannot be written to a service file.
pub fn plain(word: &str) -> Result<&str, Failure> {
    if word.contains(char::is_control) {
        return Err(Failure(format!(
            "{word:?} contains a control character and cannot be written to a service file"
        )));
    }
    Ok(word)
}

/// Runs a service command.
pub async fn run(asked: Service, ctx: &CliContext) -> Done {
    let session = Session::new(ctx);
    match asked {
        Service::Install { share, print } => {
            let sharing = sharing_of(&share, ctx)?;
            if print {
                return show(&share, &sharing, &session, ctx).await;
            }
            install(&share, &sharing, &session, ctx).await
        }
        Service::Uninstall(which) => {
            let node = Installed::find(which.id.as_ref(), ctx)?;
            node.uninstall(&session, ctx).await
        }
        Service::Start(which) => {
            let node = Installed::find(which.id.as_ref(), ctx)?;
            node.start(&session).await
        }
        Service::Stop(which) => {
            let node = Installed::find(which.id.as_ref(), ctx)?;
            node.stop(&session).await
        }
        Service::Status(which) => status(which.id.as_ref(), &session, ctx).await,
        Service::Logs { which, lines } => {
            let node = Installed::find(which.id.as_ref(), ctx)?;
            let text = match LAUNCHD {
                true => tail(&log_file(&node.id, ctx), lines)?,
                false => systemd::logs(&session, &node.id, lines).await?,
            };
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
    let service = blueprint(&id, sharing, session, ctx).await?;
    output::print_text(&written(&service)?);
    Ok(ExitCode::SUCCESS)
}

async fn install(
    share: &ShareOptions,
    sharing: &Sharing,
    session: &Session,
    ctx: &CliContext,
) -> Done {
    let foreground = foreground(share.id.as_ref(), sharing, ctx);
    let systemd = match LAUNCHD {
        true => None,
        false => Some(Systemd::here(session, &foreground).await?),
    };
    // Checked before the enrolment: a code works only once and must not be wasted on a service that cannot be written.
    let named = identity::name(share.id.as_ref(), ctx);
    written(&blueprint(&named, sharing, session, ctx).await?)?;
    let identity = identity::of(share.id.as_ref(), share.code.as_deref(), ctx).await?;
    let id = identity.id;
    if identity.source == TokenSource::Given {
        let (url, token) = (identity.url, identity.token);
        Enrolments::of(&ctx.home).write(&id, &Enrolment { url, token })?;
    }
    let text = written(&blueprint(&id, sharing, session, ctx).await?)?;
    let file = file(&id, ctx)?;
    // Read before it is overwritten: a changed unit needs a restart.
    let before = std::fs::read_to_string(&file).ok();
    let failed = |e| Failure(format!("cannot write {}: {e}", file.display()));
    Enrolments::of(&ctx.home).state(&id)?; // the log file goes into the same directory
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(&file, &text).map_err(failed)?;
    match systemd {
        Some(systemd) => systemd.enable(&id, before.is_some()).await?,
        None => launchd::Launchd::here(session).start(&id, &file).await?,
    }
    output::print_line(format!("{id} is installed and started ({sharing})"));
    output::print_line(format!("  service   {}", file.display()));
    output::print_line(format!("  status    manyhands node status --id {id}"));
    Ok(ExitCode::SUCCESS)
}

/// Builds the service's command and environment.
async fn blueprint(
    id: &NodeId,
    sharing: &Sharing,
    session: &Session,
    ctx: &CliContext,
) -> Result<Blueprint, Failure> {
    let mut command = vec![text(&ctx.program()?)?, "node".to_owned()];
    command.extend(["--id".to_owned(), id.to_string()]);
    // Written out even where they are the defaults: a later version must not share more.
    command.extend(flags(sharing)?);
    let environment = vec![
        // A service manager starts with a minimal `PATH`, in which few tools of the user are found.
        ("PATH".to_owned(), session.login_path().await),
        ("MANYHANDS_HOME".to_owned(), text(&ctx.home)?),
        ("MANYHANDS_LOG".to_owned(), "info".to_owned()),
    ];
    Ok(Blueprint {
        id: id.to_string(),
        command,
        environment,
        log: log_file(id, ctx),
    })
}

/// Options that reproduce the same sharing.
fn flags(sharing: &Sharing) -> Result<Vec<String>, Failure> {
    let mut flags = vec!["--workspace".to_owned(), text(&sharing.workspace)?];
    if let Some(jail) = &sharing.confinement.jail {
        flags.extend(["--jail".to_owned(), text(jail)?]);
    }
    let sandbox = word(sharing.confinement.sandbox).to_owned();
    flags.extend(["--sandbox".to_owned(), sandbox]);
    Ok(flags)
}

fn foreground(id: Option<&NodeId>, sharing: &Sharing, ctx: &CliContext) -> String {
    let id = identity::name(id, ctx);
    let flags = flags(sharing).unwrap_or_default();
    let flags: Vec<String> = flags.iter().map(|flag| typed(flag)).collect();
    format!("manyhands node --id {id} {}", flags.join(" "))
}

/// Quotes a word for the shell.
fn typed(word: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || "-_./=:+@".contains(c);
    match !word.is_empty() && word.chars().all(bare) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        Failure(format!(
            "{} is not UTF-8 and cannot be written to a service file",
            path.display()
        ))
    })
}

fn written(service: &Blueprint) -> Result<String, Failure> {
    match LAUNCHD {
        true => launchd::text(service),
        false => systemd::text(service),
    }
}

fn file(id: &NodeId, ctx: &CliContext) -> Result<PathBuf, Failure> {
    let user = ctx.user_folder()?;
    Ok(match LAUNCHD {
        true => launchd::file(id, &user),
        false => systemd::file(id, &user),
    })
}

fn log_file(id: &NodeId, ctx: &CliContext) -> PathBuf {
    let stored = Enrolments::of(&ctx.home).file(id);
    stored.with_extension("log")
}

fn tail(file: &Path, lines: u32) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|e| Failure(format!("cannot read {}: {e}", file.display())))?;
    let all: Vec<&str> = text.lines().collect();
    // launchd has no tail of its own; the file is small enough to be read as a whole.
    let from = all.len().saturating_sub(lines as usize);
    Ok(all[from..].join("\n"))
}

/// A node installed as a service.
struct Installed {
    id: NodeId,
    file: PathBuf,
}

impl Installed {
    fn find(id: Option<&NodeId>, ctx: &CliContext) -> Result<Self, Failure> {
        let id = identity::name(id, ctx);
        let file = file(&id, ctx)?;
        if !file.is_file() {
            return Err(Failure(format!(
                "{id} is not installed as a service: {} does not exist\nhint: manyhands node install --id {id}",
                file.display()
            )));
        }
        Ok(Self { id, file })
    }

    async fn uninstall(&self, session: &Session, ctx: &CliContext) -> Done {
        let id = &self.id;
        let remove = || {
            let gone = std::fs::remove_file(&self.file);
            gone.map_err(|e| Failure(format!("cannot remove {}: {e}", self.file.display())))
        };
        if LAUNCHD {
            let _ = launchd::Launchd::here(session).stop(id).await; // it may be stopped already
            remove()?;
        } else {
            let systemd = self.systemd(session).await?;
            systemd.disable(id).await?;
            remove()?;
            // systemd remembers the unit until then.
            systemd.reload().await?;
        }
        output::print_line(format!("{id} is uninstalled"));
        let stored = Enrolments::of(&ctx.home).file(id);
        // Kept, so that installing it again needs no new code.
        if stored.is_file() {
            output::print_note(format!("its token is still in {}", stored.display()));
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn start(&self, session: &Session) -> Done {
        let id = &self.id;
        match LAUNCHD {
            true => {
                let launchd = launchd::Launchd::here(session);
                launchd.start(id, &self.file).await?;
            }
            false => self.systemd(session).await?.start(id).await?,
        }
        output::print_line(format!("{id} is started"));
        Ok(ExitCode::SUCCESS)
    }

    async fn stop(&self, session: &Session) -> Done {
        let id = &self.id;
        match LAUNCHD {
            true => launchd::Launchd::here(session).stop(id).await?,
            false => self.systemd(session).await?.stop(id).await?,
        }
        output::print_line(format!("{id} is stopped"));
        Ok(ExitCode::SUCCESS)
    }

    async fn state(&self, session: &Session) -> Result<String, Failure> {
        match LAUNCHD {
            true => Ok(launchd::Launchd::here(session).state(&self.id).await),
            false => self.systemd(session).await?.state(&self.id).await,
        }
    }

    async fn systemd<'a>(&self, session: &'a Session) -> Result<Systemd<'a>, Failure> {
        Systemd::here(session, &format!("manyhands node --id {}", self.id)).await
    }
}

/// Prints whether the service is running and connected.
async fn status(id: Option<&NodeId>, session: &Session, ctx: &CliContext) -> Done {
    let id = identity::name(id, ctx);
    let installed = Installed::find(Some(&id), ctx);
    let state = match &installed {
        Ok(installed) => installed.state(session).await,
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
        };
        let expect = [
            "--workspace",
            "/work/a b",
            "--jail",
            "/work",
            "--sandbox",
            "read-only",
        ];
        assert_eq!(flags(&sharing).unwrap(), expect);
    }

    #[test]
    fn printed_commands_are_quoted_for_a_shell() {
        for (word, text) in [
            ("/work/a", "/work/a"),
            ("/a b", "'/a b'"),
            ("it's", r"'it'\''s'"),
            ("$x", "'$x'"),
            ("", "''"),
        ] {
            assert_eq!(typed(word), text);
        }
    }

    #[test]
    fn the_end_of_a_log_is_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, "1\n2\n3\n").unwrap();
        assert_eq!(tail(&log, 2).unwrap(), "2\n3");
        assert_eq!(tail(&log, 9).unwrap(), "1\n2\n3");
        assert!(tail(&folder.path().join("gone"), 1).is_err());
    }
}
