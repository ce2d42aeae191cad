//! A node that runs as a service of the user's own.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use manyhands_core::NodeId;

use super::identity::{self, Proof};
use super::session::Session;
use super::systemd::{self, Systemd};
use super::{launchd, lending_of};
use crate::args::{Lend, Service};
use crate::enrolment::{Enrolment, Enrolments};
use crate::ground::Ground;
use crate::lending::{Lending, word};
use crate::output::{self, Done, Failure};
use crate::remote::Remote;

/// Whether services are launchd's here; elsewhere they are systemd's.
const LAUNCHD: bool = cfg!(target_os = "macos");

/// What a service starts, and in which environment. It holds no token.
#[derive(Debug)]
pub struct Blueprint {
    /// The node's name.
    pub id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its environment.
    pub environment: Vec<(String, String)>,
    /// Where it writes what it says, where the service manager keeps no log.
    pub log: PathBuf,
}

/// A word that can be written into a service's file.
pub fn plain(word: &str) -> Result<&str, Failure> {
    if word.contains(char::is_control) {
        return Err(Failure(format!(
            "{word:?} holds a line break or another control character, and cannot be written into a service's file"
        )));
    }
    Ok(word)
}

/// Sees to the service.
pub async fn run(asked: Service, ground: &Ground) -> Done {
    let session = Session::new(ground);
    match asked {
        Service::Install { lend, print } => {
            let lending = lending_of(&lend, ground)?;
            if print {
                return show(&lend, &lending, &session, ground).await;
            }
            install(&lend, &lending, &session, ground).await
        }
        Service::Uninstall(which) => {
            let node = Installed::find(which.id.as_ref(), ground)?;
            node.uninstall(&session, ground).await
        }
        Service::Start(which) => {
            let node = Installed::find(which.id.as_ref(), ground)?;
            node.start(&session).await
        }
        Service::Stop(which) => {
            let node = Installed::find(which.id.as_ref(), ground)?;
            node.stop(&session).await
        }
        Service::Status(which) => status(which.id.as_ref(), &session, ground).await,
        Service::Logs { which, lines } => {
            let node = Installed::find(which.id.as_ref(), ground)?;
            let text = match LAUNCHD {
                true => tail(&log_file(&node.id, ground), lines)?,
                false => systemd::logs(&session, &node.id, lines).await?,
            };
            output::say(text.trim_end());
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn show(lend: &Lend, lending: &Lending, session: &Session, ground: &Ground) -> Done {
    let id = identity::name(lend.id.as_ref(), ground);
    let service = blueprint(&id, lending, session, ground).await?;
    output::text(&written(&service)?);
    Ok(ExitCode::SUCCESS)
}

async fn install(lend: &Lend, lending: &Lending, session: &Session, ground: &Ground) -> Done {
    let foreground = foreground(lend.id.as_ref(), lending, ground);
    let systemd = match LAUNCHD {
        true => None,
        false => Some(Systemd::here(session, &foreground).await?),
    };
    // What cannot be written is found before a code is used up.
    let named = identity::name(lend.id.as_ref(), ground);
    written(&blueprint(&named, lending, session, ground).await?)?;
    let identity = identity::of(lend.id.as_ref(), lend.code.as_deref(), ground).await?;
    let id = identity.id;
    if identity.proof == Proof::Given {
        let (url, token) = (identity.url, identity.token);
        Enrolments::of(&ground.home).write(&id, &Enrolment { url, token })?;
    }
    let text = written(&blueprint(&id, lending, session, ground).await?)?;
    let file = file(&id, ground)?;
    let before = std::fs::read_to_string(&file).ok();
    let failed = |e| Failure(format!("{} cannot be written: {e}", file.display()));
    Enrolments::of(&ground.home).state(&id)?; // beside it goes the log
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(&file, &text).map_err(failed)?;
    match systemd {
        Some(systemd) => systemd.enable(&id, before.is_some()).await?,
        None => launchd::Launchd::here(session).start(&id, &file).await?,
    }
    output::say(format!("{id} is installed and started ({lending})"));
    output::say(format!("  service   {}", file.display()));
    output::say(format!("  status    manyhands node status --id {id}"));
    Ok(ExitCode::SUCCESS)
}

/// What the service starts.
async fn blueprint(
    id: &NodeId,
    lending: &Lending,
    session: &Session,
    ground: &Ground,
) -> Result<Blueprint, Failure> {
    let mut command = vec![text(&ground.program()?)?, "node".to_owned()];
    command.extend(["--id".to_owned(), id.to_string()]);
    command.extend(flags(lending)?);
    let environment = vec![
        ("PATH".to_owned(), session.login_path().await),
        ("MANYHANDS_HOME".to_owned(), text(&ground.home)?),
        ("MANYHANDS_LOG".to_owned(), "info".to_owned()),
    ];
    Ok(Blueprint {
        id: id.to_string(),
        command,
        environment,
        log: log_file(id, ground),
    })
}

/// The flags that lend as much again.
fn flags(lending: &Lending) -> Result<Vec<String>, Failure> {
    let mut flags = vec!["--workspace".to_owned(), text(&lending.workspace)?];
    if let Some(jail) = &lending.confinement.jail {
        flags.extend(["--jail".to_owned(), text(jail)?]);
    }
    let sandbox = word(lending.confinement.sandbox).to_owned();
    flags.extend(["--sandbox".to_owned(), sandbox]);
    Ok(flags)
}

fn foreground(id: Option<&NodeId>, lending: &Lending, ground: &Ground) -> String {
    let id = identity::name(id, ground);
    let flags = flags(lending).unwrap_or_default();
    let flags: Vec<String> = flags.iter().map(|flag| typed(flag)).collect();
    format!("manyhands node --id {id} {}", flags.join(" "))
}

/// A word as it is typed into a shell.
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
            "{} is not UTF-8, and cannot be written into a service's file",
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

fn file(id: &NodeId, ground: &Ground) -> Result<PathBuf, Failure> {
    let user = ground.user_folder()?;
    Ok(match LAUNCHD {
        true => launchd::file(id, &user),
        false => systemd::file(id, &user),
    })
}

fn log_file(id: &NodeId, ground: &Ground) -> PathBuf {
    let kept = Enrolments::of(&ground.home).file(id);
    kept.with_extension("log")
}

fn tail(file: &Path, lines: u32) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|e| Failure(format!("{} cannot be read: {e}", file.display())))?;
    let all: Vec<&str> = text.lines().collect();
    let from = all.len().saturating_sub(lines as usize);
    Ok(all[from..].join("\n"))
}

/// A node that has a service.
struct Installed {
    id: NodeId,
    file: PathBuf,
}

impl Installed {
    fn find(id: Option<&NodeId>, ground: &Ground) -> Result<Self, Failure> {
        let id = identity::name(id, ground);
        let file = file(&id, ground)?;
        if !file.is_file() {
            return Err(Failure(format!(
                "{id} is not installed as a service: there is no {}\nhint: manyhands node install --id {id}",
                file.display()
            )));
        }
        Ok(Self { id, file })
    }

    async fn uninstall(&self, session: &Session, ground: &Ground) -> Done {
        let id = &self.id;
        let remove = || {
            let gone = std::fs::remove_file(&self.file);
            gone.map_err(|e| Failure(format!("{} cannot be removed: {e}", self.file.display())))
        };
        if LAUNCHD {
            let _ = launchd::Launchd::here(session).stop(id).await; // it may be stopped already
            remove()?;
        } else {
            let systemd = self.systemd(session).await?;
            systemd.disable(id).await?;
            remove()?;
            systemd.reload().await?;
        }
        output::say(format!("{id} is no service any more"));
        let kept = Enrolments::of(&ground.home).file(id);
        if kept.is_file() {
            output::remark(format!("its token is still in {}", kept.display()));
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
        output::say(format!("{id} is started"));
        Ok(ExitCode::SUCCESS)
    }

    async fn stop(&self, session: &Session) -> Done {
        let id = &self.id;
        match LAUNCHD {
            true => launchd::Launchd::here(session).stop(id).await?,
            false => self.systemd(session).await?.stop(id).await?,
        }
        output::say(format!("{id} is stopped"));
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

/// Whether the service runs, and whether the gateway sees the node.
async fn status(id: Option<&NodeId>, session: &Session, ground: &Ground) -> Done {
    let id = identity::name(id, ground);
    let installed = Installed::find(Some(&id), ground);
    let state = match &installed {
        Ok(installed) => installed.state(session).await,
        Err(_) => Ok("not installed".to_owned()),
    };
    output::say(format!("node      {id}"));
    match &state {
        Ok(state) => output::say(format!("service   {state}")),
        Err(failure) => output::say(format!("service   {}", failure.0)),
    }
    output::say(format!("gateway   {}", seen(&id, ground).await));
    Ok(match (installed, state) {
        (Ok(_), Ok(_)) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

async fn seen(id: &NodeId, ground: &Ground) -> String {
    let identity = match identity::of(Some(id), None, ground).await {
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
        Err(failure) => return format!("{url} does not say: {}", failure.0),
    };
    let mut nodes = listed["nodes"].as_array().into_iter().flatten();
    match nodes.find(|node| node["nodeId"] == id.as_str()) {
        Some(node) if node["online"] == true => format!("{url} sees it"),
        Some(_) => format!("{url} knows it, and does not see it now"),
        None => format!("{url} has never seen it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_node::{Confinement, SandboxMode};

    #[test]
    fn the_flags_lend_as_much_again() {
        let lending = Lending {
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
        assert_eq!(flags(&lending).unwrap(), expect);
    }

    #[test]
    fn what_is_to_be_typed_is_quoted_for_a_shell() {
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
